/* Lines are made by the threads of requests and written by another one, so no request waits for a
 * disk. Unlike the audit log this one may lose lines, and says how many: it is there to look at,
 * not to prove anything. */
#include "server/metrics/accesslog.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/line_queue.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

enum {
	TEXT_MAX = 512,          /* bytes of one value: clients choose them */
	LINE_WORST = 32 * 1024,  /* bytes of a line with every value full of what must be escaped */
	QUEUE_MAX = 1024 * 1024, /* bytes waiting to be written */
	LINE_USUAL = 512,        /* so that a buffer need not grow */
	GATHER_MS = 50,          /* one write for what comes together */
};

struct accesslog {
	int fd;
	enum log_format format;
	_Atomic uint64_t n_lost; /* since the writer last reported them; there is always a next line to report it behind */
	struct line_queue queue;
};

/* ---- one line ---- */

enum value_kind { VALUE_TEXT, VALUE_PATH, VALUE_STATUS, VALUE_BYTES, VALUE_NS, VALUE_MARK };

/* A member of struct accesslog_entry and its name in the line. */
struct column {
	const char *name;
	enum value_kind kind;
	size_t offset;
};

#define COLUMN(name, kind, member)                                   \
	{                                                            \
		name, kind, offsetof(struct accesslog_entry, member) \
	}

static const struct column columns[] = {
	COLUMN("method", VALUE_TEXT, method),
	COLUMN("path", VALUE_PATH, path),
	COLUMN("verb", VALUE_TEXT, verb),
	COLUMN("status", VALUE_STATUS, status),
	COLUMN("bytes", VALUE_BYTES, bytes),
	COLUMN("duration_ms", VALUE_NS, duration_ns),
	COLUMN("storage_ms", VALUE_NS, storage_ns),
	COLUMN("user", VALUE_TEXT, user),
	COLUMN("agent", VALUE_TEXT, user_agent),
	COLUMN("peer", VALUE_TEXT, peer),
	COLUMN("audit", VALUE_TEXT, audit_id),
	COLUMN("cut", VALUE_MARK, was_cut),
};

static bool is_bare(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if (c <= ' ' || c >= 0x7f || c == '"' || c == '=' || c == '\\') {
			return false;
		}
	}
	return s.n > 0;
}

static void add_text(struct buf *out, struct str s, enum log_format format)
{
	s.n = MIN(s.n, (size_t)TEXT_MAX);
	if (format == LOG_TEXT && is_bare(s)) {
		buf_add_str(out, s);
	} else {
		json_encode_string(out, s);
	}
}

/* Never a query: selectors and tokens may stand there. */
static struct str without_query(struct str path)
{
	struct str head, rest;
	str_cut(path, '?', &head, &rest);
	return head;
}

/* Milliseconds, to the microsecond. */
static void add_ms(struct buf *out, int64_t ns)
{
	int64_t us = (ns + 500) / 1000;
	char digits[] = {'.', (char)('0' + us / 100 % 10), (char)('0' + us / 10 % 10), (char)('0' + us % 10)};
	buf_add_int(out, us / 1000);
	buf_add(out, digits, sizeof(digits));
}

static void add_value(struct buf *out, enum value_kind kind, const void *value, enum log_format format)
{
	switch (kind) {
	case VALUE_TEXT:
		add_text(out, *(const struct str *)value, format);
		break;
	case VALUE_PATH:
		add_text(out, without_query(*(const struct str *)value), format);
		break;
	case VALUE_STATUS:
		buf_add_int(out, *(const unsigned *)value);
		break;
	case VALUE_BYTES:
		buf_add_int(out, (int64_t) * (const uint64_t *)value);
		break;
	case VALUE_NS:
		add_ms(out, *(const int64_t *)value);
		break;
	case VALUE_MARK:
		BUF_LITERAL(out, "true");
		break;
	}
}

static void add_column(struct buf *out, const struct column *c, const struct accesslog_entry *e, enum log_format format)
{
	const void *value = (const char *)e + c->offset;
	if (c->kind == VALUE_MARK && !*(const bool *)value) {
		return;
	}
	buf_adds(out, format == LOG_JSON ? ",\"" : " ");
	buf_adds(out, c->name);
	buf_adds(out, format == LOG_JSON ? "\":" : "=");
	add_value(out, c->kind, value, format);
}

static void add_line(struct buf *out, const struct accesslog_entry *e, enum log_format format)
{
	char time[TIME_RFC3339_MICRO_SIZE];
	time_format_rfc3339_micro(time, clock_wall_us());
	buf_printf(out, format == LOG_JSON ? "{\"ts\":\"%s\"" : "%s", time);
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		add_column(out, &columns[i], e, format);
	}
	buf_adds(out, format == LOG_JSON ? "}\n" : "\n");
	json_escape_controls(out, 0);
}

/* The writer is woken for the first line of many, not for each. */
void accesslog_write(struct accesslog *l, const struct accesslog_entry *e)
{
	struct buf line;
	buf_init(&line, LINE_WORST);
	buf_reserve(&line, LINE_USUAL);
	add_line(&line, e, l->format);
	if (!line_queue_append(&l->queue, buf_str(&line))) {
		atomic_fetch_add_explicit(&l->n_lost, 1, memory_order_relaxed);
	}
	buf_done(&line);
}

/* ---- the writer ---- */

static void write_lines(void *ctx, struct buf *lines)
{
	struct accesslog *l = ctx;
	uint64_t n_lost = atomic_exchange_explicit(&l->n_lost, 0, memory_order_relaxed);
	if (n_lost > 0) {
		buf_printf(lines, l->format == LOG_JSON ? "{\"lost\":%llu}\n" : "lost=%llu\n", (unsigned long long)n_lost);
	}
	file_write(l->fd, buf_str(lines)); /* a log that cannot be written must not stop the server */
}

/* ---- life ---- */

static int open_log(const char *path)
{
	int fd = strcmp(path, "-") == 0 ? fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)
					: open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}

int accesslog_new(struct accesslog **ret, const char *path, enum log_format format, struct buf *err)
{
	int fd = open_log(path);
	if (fd < 0) {
		buf_printf(err, "cannot open the access log %s: %s", path, strerror(-fd));
		return fd;
	}

	struct accesslog *l = mem_new(struct accesslog);
	l->fd = fd;
	l->format = format;
	int r = line_queue_open(&l->queue, "access-log", QUEUE_MAX, GATHER_MS, write_lines, l);
	if (r) {
		buf_printf(err, "cannot start the access log's thread: %s", strerror(-r));
		close(fd);
		mem_free(l);
		return r;
	}
	*ret = l;
	return 0;
}

void accesslog_flush(struct accesslog *l, int64_t until_ms)
{
	line_queue_flush(&l->queue, until_ms);
}

struct accesslog *accesslog_free(struct accesslog *l)
{
	if (l) {
		line_queue_close(&l->queue);
		close(l->fd);
		mem_free(l);
	}
	return NULL;
}
