/* The audit of one request on its way through the phases: what the policy wants of it is gathered, and written as events.
 *
 * Where nothing is audited, or the policy does not want this request, q->audit is NULL and every function returns at once. Order, as in
 * k8s.io/apiserver pkg/endpoints/filters: the caller is known, the event RequestReceived, impersonation, limits, authorization, the verb, and
 * ResponseComplete when everything is sent; watches say ResponseStarted as well. A caller who was not recognized has ResponseStarted alone. */
#ifndef SERVER_REQUEST_REQUEST_AUDIT_H
#define SERVER_REQUEST_REQUEST_AUDIT_H

#include "api/model/object.h"
#include "server/access/authz.h"

struct request;
struct request_audit;

/* Returns 0; or 1 with 503 in q->st: the log is too far behind. */
int request_audit_begin(struct request *q, const struct authz_attributes *what);
/* For requests that are refused before their user is known. */
void request_audit_begin_unrecognized(struct request *q, const struct authz_attributes *what);
void request_audit_impersonates(struct request *q, const struct user *as);
void request_audit_authorized(struct request *q, bool is_allowed, struct str reason);
void request_audit_deprecated(struct request *q);
void request_audit_annotate(
	struct request *q, struct str key, struct str value); /* of webhooks; beyond what there is room for, left out */

/* Records the body once it is understood. The first call counts. */
void request_audit_sent_object(struct request *q, const struct object *o);
void request_audit_sent_patch(struct request *q, struct str body, bool is_yaml);
void request_audit_sent_delete_options(struct request *q, const struct json *body);

/* Records the answer, as JSON. */
void request_audit_answer_status(struct request *q, const struct json *status);
void request_audit_answer_object(struct request *q, struct str text);
struct buf *request_audit_answer_buf(struct request *q); /* for an object in pieces; NULL when it is not wanted */
void request_audit_answer_bare(
	struct request *q); /* nothing but the code: upstream makes this answer by other means than most */
void request_audit_started(struct request *q, unsigned code);
void request_audit_complete(struct request *q); /* the last; releases everything */

#endif
