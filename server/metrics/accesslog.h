/* The access log: one line per request, text or JSON, to a file or stderr. A thread of its own
 * writes many lines at once, within 50 ms, from a bounded queue. Lines that do not fit are
 * counted and dropped. No query values, headers or bodies are logged: nothing secret. */
#ifndef SERVER_METRICS_ACCESSLOG_H
#define SERVER_METRICS_ACCESSLOG_H

#include "base/buf.h"
#include "base/log.h"

struct accesslog;

struct accesslog_entry {
	struct str method, path, user, user_agent, peer, verb, audit_id;
	unsigned status;
	uint64_t bytes;
	int64_t duration_ns, storage_ns; /* whole request; time spent waiting for etcd */
	bool was_cut;
};

int accesslog_new(struct accesslog **ret, const char *path, enum log_format format, struct buf *err); /* path "-": stderr */
void accesslog_write(struct accesslog *l, const struct accesslog_entry *e);
void accesslog_flush(struct accesslog *l, int64_t until_ms); /* when all has been written, or then (monotonic) */
struct accesslog *accesslog_free(struct accesslog *l); /* flushes */

#endif
