/* What the server makes of the replicas' agreement on storage versions (storage/agreement/agreement.h): the version and the guard of a write, what may be read, the
 * hashes in discovery. A server without one (tests) is alone: it stores every kind as it is declared. */
#ifndef SERVER_REQUEST_AGREED_VERSION_H
#define SERVER_REQUEST_AGREED_VERSION_H

#include "server/request/request.h"

/* For an object of that kind to be written: the version and guard into *ret. 0; or 1: the request waits, and `again` will be called; or it has
 * been answered. */
int agreed_version_take(
	struct request *q, const struct kind *k, struct agreement_ticket *ret, void (*again)(struct request *q));
/* The version that objects of the request's kind are written in now; NULL: not to be said yet. */
const struct door *agreed_version_now(const struct request *q);
/* Of a ticket: has the transaction to be guarded by it? */
bool agreed_version_is_guarded(const struct agreement_ticket *ticket);
int agreed_version_refuse(struct request *q, struct str why); /* 1, with 503 in q->st */
/* Are all objects of the kind understood here? Asked when a snapshot has been taken it speaks of that one, too. why (may be NULL) gets a sentence if not. */
bool agreed_version_is_readable(struct request *q, const struct kind *k, struct buf *why);
/* 0; or 1 with 503 in q->st: what has holes would be acted on. */
int agreed_version_check_readable(struct request *q, const struct kind *k);
/* The same of the request's kind; if not, it has been answered. */
bool agreed_version_can_read(struct request *q);
/* 404 in q->st; or 503, if that cannot be told of an object of the request's kind. */
void agreed_version_not_found(struct request *q, struct str name);
/* Of the cluster's discovery documents those that tell what is common now; a reference. */
struct discovery *agreed_version_discovery(struct server *s);
const char *agreed_version_check(struct request *q); /* for /readyz: NULL, or what is missing */

#endif
