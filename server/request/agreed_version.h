/* The server's use of the replicas' agreement on storage versions
 * (storage/engine/agreement.h): the version and the guard of a write, what may be read, the
 * hashes in discovery. A server without an agreement (tests) is alone: it stores every kind as
 * it is declared. */
#ifndef SERVER_REQUEST_AGREED_VERSION_H
#define SERVER_REQUEST_AGREED_VERSION_H

#include "server/request/request.h"

/* Gets the version and guard for writing an object of that kind. Returns 0. Returns 1 when the
 * request waits, and `again` will be called; or when it has been answered. */
int agreed_version_take(
	struct request *q, const struct kind *k, struct agreement_ticket *ret, void (*again)(struct request *q));
/* Returns the version that objects of the request's kind are written in now; NULL: not known
 * yet. */
const struct version *agreed_version_now(const struct request *q);
int agreed_version_refuse(struct request *q, struct str why); /* 1, with 503 in q->st */
/* Returns true when all objects of the kind are understood here. If called after a snapshot was
 * taken, the answer holds for that, too. Otherwise why (may be NULL) gets a sentence. */
bool agreed_version_is_readable(struct request *q, const struct kind *k, struct buf *why);
/* Returns 0; or 1 with 503 in q->st: clients would act on a list with gaps. */
int agreed_version_check_readable(struct request *q, const struct kind *k);
/* Does the same for the request's kind, and answers the request if it returns false. */
bool agreed_version_can_read(struct request *q);
/* Sets 404 in q->st; or 503, if objects of the request's kind may be unknown here. */
void agreed_version_not_found(struct request *q, struct str name);
/* Returns the cluster's discovery documents with the versions that are common now; a reference. */
struct discovery *agreed_version_discovery(struct server *s);
const char *agreed_version_check(struct request *q); /* for /readyz: NULL, or what is missing */

#endif
