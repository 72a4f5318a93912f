/* The program's log, on stderr: one line a message, text or JSON, klog-like levels. Only programs log (cli, and server's
 * access/audit files); libraries return errors. Thread-safe, a line is written with one write(2). Never pass secrets. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/str.h"

enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG };
enum log_format { LOG_TEXT, LOG_JSON };

void log_setup(enum log_format format, enum log_level verbosity);
bool log_enabled(enum log_level level);
/* log_write(LOG_INFO, "etcd.connect", "connected to " STR_FMT, ...): `what` is a stable dotted topic. */
void log_write(enum log_level level, const char *what, const char *format, ...) _printf_(3, 4);

/* A message with values that machines look for: ` name=value` behind it as text, members of the line as JSON. */
struct log_field {
	const char *name;
	enum { LOG_FIELD_TEXT, LOG_FIELD_NUMBER, LOG_FIELD_MS } kind;
	struct str text;
	int64_t number; /* LOG_FIELD_MS: nanoseconds, shown as milliseconds to the microsecond */
};
void log_write_fields(
	enum log_level level, const char *what, const char *message, const struct log_field *fields, size_t n);

#define log_error(...) log_write(LOG_ERROR, __VA_ARGS__)
#define log_warning(...) log_write(LOG_WARNING, __VA_ARGS__)
#define log_info(...) log_write(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_DEBUG, __VA_ARGS__)

#endif
