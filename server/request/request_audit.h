/* The audit of one request on its way through the phases: what the policy wants of it is gathered, and written as events.
 *
 * Where nothing is audited, or the policy does not want this request, q->audit is NULL and every function returns at once. Order, as in
 * k8s.io/apiserver pkg/endpoints/filters: the caller is known, the event RequestReceived, impersonation, limits, authorization, the verb, and
 * ResponseComplete when everything is sent; watches say ResponseStarted as well. A caller who was not recognized has ResponseStarted alone. */
#ifndef SERVER_REQUEST_REQUEST_AUDIT_H
#define SERVER_REQUEST_REQUEST_AUDIT_H

#include "server/request/request.h"

struct request_audit;

/* ---- of audited requests, where q->audit is there: called by the functions below ---- */

int request_audit_start(struct request *q, const struct authz_attributes *what); /* q->audit is not there yet */
void request_audit_note_decision(struct request *q, bool is_allowed, struct str reason);
void request_audit_note_object(struct request *q, const struct object *o);
struct buf *request_audit_wanted_answer(struct request *q);
void request_audit_end(struct request *q);

/* ---- of all requests ---- */

/* Returns 0; or 1 with 503 in q->st: the log is too far behind. */
static inline int request_audit_begin(struct request *q, const struct authz_attributes *what)
{
	return q->server->audit ? request_audit_start(q, what) : 0;
}
/* For requests that are refused before their user is known. */
void request_audit_begin_unrecognized(struct request *q, const struct authz_attributes *what);
void request_audit_impersonates(struct request *q, const struct user *as);
static inline void request_audit_authorized(struct request *q, bool is_allowed, struct str reason)
{
	if (q->audit) {
		request_audit_note_decision(q, is_allowed, reason);
	}
}
void request_audit_deprecated(struct request *q);
/* Annotations of webhooks; left out beyond what there is room for. */
void request_audit_annotate(struct request *q, struct str key, struct str value);

/* Records the body once it is understood. The first call counts. */
static inline void request_audit_sent_object(struct request *q, const struct object *o)
{
	if (q->audit) {
		request_audit_note_object(q, o);
	}
}
void request_audit_sent_patch(struct request *q, struct str body, bool is_yaml);
void request_audit_sent_delete_options(struct request *q, const struct json *body);

/* Records the answer, as JSON. */
void request_audit_answer_status(struct request *q, const struct json *status);
/* The buffer for an object in pieces; NULL when it is not wanted. */
static inline struct buf *request_audit_answer_buf(struct request *q)
{
	return q->audit ? request_audit_wanted_answer(q) : NULL;
}
static inline void request_audit_answer_object(struct request *q, struct str text)
{
	struct buf *out = request_audit_answer_buf(q);

	if (out) {
		buf_add_str(out, text);
	}
}
/* Nothing but the code: upstream makes this answer by other means than most. */
void request_audit_answer_bare(struct request *q);
void request_audit_started(struct request *q, unsigned code);
/* The last; releases everything. */
static inline void request_audit_complete(struct request *q)
{
	if (q->audit) {
		request_audit_end(q);
	}
}

#endif
