#include "base/log.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

/* A longer message is cut: a log line must not be a way to make us hold or write much. */
enum { LOG_LINE_MAX = 16 * 1024, LOG_MESSAGE_MAX = 2 * 1024 };

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
		if (c < 0x20 || c == 0x7f) {
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

	char time[TIME_RFC3339_MICRO_SIZE];
	time_format_rfc3339_micro(time, clock_wall_us());

	_cleanup_(buf_done) struct buf line;
	buf_init(&line, LOG_LINE_MAX);
	if (atomic_load_explicit(&log_form, memory_order_relaxed) == LOG_JSON) {
		add_json_line(&line, time, level, what, text);
	} else {
		add_text_line(&line, time, level, what, text);
	}
	buf_addc(&line, '\n');
	write_line(buf_str(&line));
}
