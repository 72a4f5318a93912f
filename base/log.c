/* The log, the queue of lines for files that are written behind callers' backs, and threads that
 * must start. Each line of the log is one write(2), so it needs no lock. There is no buffer that
 * could be lost when the process dies: its last line is the one that matters. */
#include "base/log.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/line_queue.h"
#include "base/thread.h"

#include <assert.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A longer message is cut: a log line must not be a way to make us hold or write much. */
enum { LOG_LINE_MAX = 64 * 1024, LOG_MESSAGE_MAX = 2 * 1024, LOG_FIELD_TEXT_MAX = 512 };

/* Relaxed atomics: set once at the start, and read by all threads. */
static _Atomic enum log_level log_verbosity = LOG_INFO;
static _Atomic enum log_format log_form = LOG_TEXT;

static const char *const level_names[] = {
	[LOG_ERROR] = "error",
	[LOG_WARNING] = "warning",
	[LOG_INFO] = "info",
	[LOG_DEBUG] = "debug",
};

void log_setup(enum log_format format, enum log_level verbosity)
{
	atomic_store_explicit(&log_form, format, memory_order_relaxed);
	atomic_store_explicit(&log_verbosity, verbosity, memory_order_relaxed);
}

bool log_enabled(enum log_level level)
{
	return level <= atomic_load_explicit(&log_verbosity, memory_order_relaxed);
}

/* A client's text must not be able to start a line of its own. */
static void add_printable(struct buf *line, struct str message)
{
	for (size_t i = 0; i < message.n; i++) {
		unsigned char c = (unsigned char)message.p[i];
		bool is_c1 = c == 0xc2 && i + 1 < message.n && (unsigned char)message.p[i + 1] >= 0x80 &&
			(unsigned char)message.p[i + 1] < 0xa0;
		if (c < 0x20 || c == 0x7f || is_c1) {
			c = is_c1 ? (unsigned char)message.p[++i] : c;
			buf_printf(line, "\\x%02x", c);
		} else {
			buf_addc(line, (char)c);
		}
	}
}

/* Ignores a failed write: when stderr cannot be written, the failure cannot be reported either. */
static void write_line(struct str line)
{
	ssize_t written _unused_ = write(STDERR_FILENO, line.p, line.n);
}

/* Returns whether a value behind '=' needs no quotes: lines stay easy to read, and to split at
 * blanks. */
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

static void add_field_text(struct buf *line, struct str text, bool is_json)
{
	text.n = MIN(text.n, (size_t)LOG_FIELD_TEXT_MAX);
	if (!is_json && is_bare(text)) {
		buf_add_str(line, text);
	} else {
		json_encode_string(line, text);
	}
}

static void add_field(struct buf *line, const struct log_field *f, bool is_json)
{
	int64_t us = (f->number + 500) / 1000;

	buf_printf(line, is_json ? ",\"%s\":" : " %s=", f->name);
	switch (f->kind) {
	case LOG_FIELD_TEXT:
		add_field_text(line, f->text, is_json);
		break;
	case LOG_FIELD_NUMBER:
		buf_add_int(line, f->number);
		break;
	case LOG_FIELD_MS:
		buf_printf(line, "%lld.%03lld", (long long)(us / 1000), (long long)(us % 1000));
		break;
	}
}

static void log_line(enum log_level level, const char *what, struct str message, const struct log_field *fields, size_t n)
{
	assert(level < ARRAY_SIZE(level_names));
	bool is_json = atomic_load_explicit(&log_form, memory_order_relaxed) == LOG_JSON;
	char time[TIME_RFC3339_MICRO_SIZE];
	_cleanup_(buf_done) struct buf line;

	time_format_rfc3339_micro(time, clock_wall_us());
	buf_init(&line, LOG_LINE_MAX);
	if (is_json) {
		buf_printf(&line, "{\"ts\":\"%s\",\"level\":\"%s\",\"what\":", time, level_names[level]);
		json_encode_string(&line, str_of(what));
		BUF_LITERAL(&line, ",\"msg\":");
		json_encode_string(&line, message);
		buf_addc(&line, '}');
		buf_truncate(&line, line.n - 1);
	} else {
		buf_printf(&line, "%s %-7s %s: ", time, level_names[level], what);
		add_printable(&line, message);
	}
	for (size_t i = 0; i < n; i++) {
		add_field(&line, &fields[i], is_json);
	}
	buf_adds(&line, is_json ? "}\n" : "\n");
	json_escape_controls(&line, 0);
	write_line(buf_str(&line));
}

void log_write(enum log_level level, const char *what, const char *format, ...)
{
	if (!log_enabled(level)) {
		return;
	}

	char message[LOG_MESSAGE_MAX];
	va_list ap;
	va_start(ap, format);
	int n = vsnprintf(message, sizeof(message), format, ap);
	va_end(ap);
	struct str text = {message, n < 0 ? 0 : MIN((size_t)n, sizeof(message) - 1)};
	log_line(level, what, text, NULL, 0);
}

void log_write_fields(enum log_level level, const char *what, const char *message, const struct log_field *fields, size_t n)
{
	if (log_enabled(level)) {
		log_line(level, what, str_of(message), fields, n);
	}
}

/* ---- threads ---- */

void thread_must_start(pthread_t *ret, const char *name, void *(*run)(void *ctx), void *ctx)
{
	assert(strlen(name) < 16 && run);
	int r = pthread_create(ret, NULL, run, ctx);

	if (r) {
		log_error("threads",
			"cannot start a thread for %s: %s; is there a limit of processes or of memory (ulimit -u, -v)?", name,
			strerror(r));
		_exit(EXIT_FAILURE); /* other threads run: nothing can be taken down in order */
	}
	pthread_setname_np(*ret, name);
}

/* ---- lines for a file ---- */

/* Two buffers that are swapped, not a list of lines: appending is one copy under the lock, and
 * nobody holds the lock during a write to disk. Memory is twice `max` at most.
 *
 * The one lock is taken alone. The writer is woken for the first line and for the one that fills
 * GATHER_BYTES; lines between need no system call. */

/* As much as is worth one write(2): beyond it, waiting for more gains nothing. */
enum { GATHER_BYTES = 256 * 1024 };

bool line_queue_append(struct line_queue *q, struct str line)
{
	pthread_mutex_lock(&q->lock);
	size_t before = q->queue.n;
	bool fits = before + line.n <= q->max;
	if (fits) {
		buf_add_str(&q->queue, line);
	}
	if (fits && (before == 0 || (before < GATHER_BYTES && q->queue.n >= GATHER_BYTES))) {
		pthread_cond_signal(&q->wake);
	}
	pthread_mutex_unlock(&q->lock);
	return fits;
}

/* ---- the writer ---- */

/* Takes what waits; false when there will be no more. */
static bool line_queue_take(struct line_queue *q, struct buf *ret)
{
	pthread_mutex_lock(&q->lock);
	/* Only here, back under the lock, are the lines of the last round known to be written. */
	q->is_writing = false;
	pthread_cond_broadcast(&q->idle);
	while (q->queue.n == 0 && !q->is_closing) {
		pthread_cond_wait(&q->wake, &q->lock);
	}
	int64_t until_ms = clock_mono_ms() + q->gather_ms;
	while (q->queue.n < GATHER_BYTES && !q->is_closing && clock_cond_wait(&q->wake, &q->lock, until_ms) == 0) {
	}
	/* The emptied buffer becomes the queue, with its memory. */
	struct buf taken = q->queue;
	q->queue = *ret;
	*ret = taken;
	q->is_writing = true;
	pthread_mutex_unlock(&q->lock);
	return ret->n > 0;
}

static void *write_lines(void *ctx)
{
	struct line_queue *q = ctx;
	struct buf lines;
	buf_init(&lines, q->max);
	while (line_queue_take(q, &lines)) {
		q->write(q->ctx, &lines);
		buf_clear(&lines);
	}
	buf_done(&lines);
	return NULL;
}

/* ---- life ---- */

static void line_queue_discard(struct line_queue *q)
{
	buf_done(&q->queue);
	pthread_cond_destroy(&q->wake);
	pthread_cond_destroy(&q->idle);
	pthread_mutex_destroy(&q->lock);
}

int line_queue_open(struct line_queue *q, const char *name, size_t max, int64_t gather_ms,
	void (*write)(void *ctx, struct buf *lines), void *ctx)
{
	assert(strlen(name) < 16 && max > 0 && write);
	*q = (struct line_queue){.max = max, .gather_ms = gather_ms, .write = write, .ctx = ctx};
	pthread_mutex_init(&q->lock, NULL);
	clock_cond_init(&q->wake);
	clock_cond_init(&q->idle);
	buf_init(&q->queue, max);
	int r = -pthread_create(&q->writer, NULL, write_lines, q);
	if (r) {
		line_queue_discard(q);
		return r;
	}
	pthread_setname_np(q->writer, name);
	return 0;
}

void line_queue_flush(struct line_queue *q, int64_t until_ms)
{
	pthread_mutex_lock(&q->lock);
	while ((q->queue.n > 0 || q->is_writing) && clock_cond_wait(&q->idle, &q->lock, until_ms) == 0) {
	}
	pthread_mutex_unlock(&q->lock);
}

void line_queue_close(struct line_queue *q)
{
	assert(!q->is_closing);
	pthread_mutex_lock(&q->lock);
	q->is_closing = true;
	pthread_cond_signal(&q->wake);
	pthread_mutex_unlock(&q->lock);
	pthread_join(q->writer, NULL);
	line_queue_discard(q);
}
