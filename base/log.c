/* Each line is one write(2), so no lock is needed. There is no buffer that could be lost when
 * the process dies: its last line is the one that matters. */
#include "base/log.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
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

static void add_text_line(struct buf *line, const char *time, enum log_level level, const char *what, struct str message)
{
	buf_printf(line, "%s %-7s %s: ", time, level_names[level], what);
	add_printable(line, message);
}

static void add_json_line(struct buf *line, const char *time, enum log_level level, const char *what, struct str message)
{
	buf_printf(line, "{\"ts\":\"%s\",\"level\":\"%s\",\"what\":", time, level_names[level]);
	json_encode_string(line, str_of(what));
	BUF_LITERAL(line, ",\"msg\":");
	json_encode_string(line, message);
	buf_addc(line, '}');
}

/* There is nobody to tell when stderr cannot be written. */
static void write_line(struct str line)
{
	ssize_t written _unused_ = write(STDERR_FILENO, line.p, line.n);
}

/* What needs no quotes as a value behind '=': then a line is easy to read, and to split at
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
	bool is_json = atomic_load_explicit(&log_form, memory_order_relaxed) == LOG_JSON;
	char time[TIME_RFC3339_MICRO_SIZE];
	_cleanup_(buf_done) struct buf line;

	time_format_rfc3339_micro(time, clock_wall_us());
	buf_init(&line, LOG_LINE_MAX);
	if (is_json) {
		add_json_line(&line, time, level, what, message);
		buf_truncate(&line, line.n - 1);
	} else {
		add_text_line(&line, time, level, what, message);
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
