/* The server's side of auditing: the policy, the log, and what is counted of both. */
#ifndef SERVER_AUDIT_AUDIT_H
#define SERVER_AUDIT_AUDIT_H

#include "server/audit/audit_event.h"
#include "server/audit/audit_log.h"

struct audit;

struct audit_options {
	const char *policy_file; /* --audit-policy-file */
	struct audit_log_options log;
	bool truncates;          /* --audit-log-truncate-enabled */
	int64_t max_event_bytes; /* --audit-log-truncate-max-event-size */
};

enum { AUDIT_EVENT_MAX = 16 * 1024 * 1024 }; /* bytes; a longer one goes without what was sent and answered */

/* 0 with NULL where not both files are given: nothing is audited, as upstream. Or -errno with a sentence in err. */
int audit_new(struct audit **ret, const struct audit_options *options, struct buf *err);
void audit_flush(struct audit *a, int64_t until_ms); /* when the log has been written, or then */
struct audit *audit_free(struct audit *a);
void audit_write_metrics(struct audit *a, struct buf *out); /* a may be NULL */

struct audit_decision audit_decide(struct audit *a, const struct authz_attributes *what);
/* False: the log is so far behind that nothing new may begin, which is counted. */
bool audit_admits(struct audit *a);
/* An event that is too long, or for which there is no room, goes without its objects, marked as --audit-log-truncate-enabled marks it; one
 * for which there is no room even then is lost and counted. */
void audit_write(struct audit *a, const struct audit_event *e);

#endif
