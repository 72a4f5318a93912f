/* The audit log's writer: a thread of its own writes lines, many at once, within 20 ms. Requests do
 * not wait for it.
 *
 * Nothing is lost silently. While more than 16 MiB wait to be written, audit_log_has_room() is
 * false and requests are refused before they do anything. Requests under way have another 48 MiB
 * for their events. Beyond that, and when the file cannot be written, lines are lost, counted,
 * and reported. */
#ifndef SERVER_AUDIT_AUDIT_LOG_H
#define SERVER_AUDIT_AUDIT_LOG_H

#include "server/audit/audit_file.h"

enum { AUDIT_QUEUE_BUSY = 16 * 1024 * 1024, AUDIT_QUEUE_MAX = 64 * 1024 * 1024 }; /* bytes */

struct audit_log;

struct audit_log_options {
	struct audit_file_options file;
	/* May be NULL. A sentence for the operator, from any thread, at most once in a minute for one trouble. */
	void (*on_notice)(void *ctx, struct str text);
	void *notice_ctx;
};

int audit_log_new(struct audit_log **ret, const struct audit_log_options *options, struct buf *err);
bool audit_log_has_room(const struct audit_log *l);
/* Appends one line, including its newline. Returns false when there is no room even for this;
 * then nothing is counted. */
bool audit_log_append(struct audit_log *l, struct str line);
void audit_log_count_lost(struct audit_log *l); /* the caller has given one up */
uint64_t audit_log_lost(const struct audit_log *l);
void audit_log_flush(struct audit_log *l, int64_t until_ms); /* as line_queue_flush() */
struct audit_log *audit_log_free(struct audit_log *l); /* writes what waits */

#endif
