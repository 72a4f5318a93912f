/* Recorded states: revisions whose controller is a History (annals.dev). Only a user who may update the status of that History
 * writes them, by any verb and any version.
 *
 * A controller is a History by its kind, or by its uid: revisions are found by the uid alone, so a revision under another kind
 * would stand among those of the History.
 *
 * The right is not asked for where no record is left to protect. A revision may be deleted, and released by its owner, if its
 * History is gone or being deleted, or if its namespace is being deleted. So garbage collectors and namespace controllers
 * need no right to write records. */
#ifndef SERVER_WRITE_WRITE_RECORDED_H
#define SERVER_WRITE_WRITE_RECORDED_H

#include "server/access/authz.h"
#include "server/write/write.h"

/* The right to write the states of that History. */
struct authz_attributes recorded_attributes(const struct request *q, struct str history);

/* The object of the request's namespace with that uid; NULL: none. */
struct cached *object_of_uid(struct request *q, const struct kind *k, struct str uid);
/* The History of the request's namespace with that uid; NULL: none. */
struct cached *history_of_uid(struct request *q, struct str uid);
/* The kind of an owner, if it is served here; else NULL. */
const struct kind *owner_kind(const struct request *q, const struct owner_reference *owner);

/* o NULL: a deletion. old NULL: a creation. Returns 0; 1 with q->st; or ASK_FIRST. */
int write_ask_recorded(struct request *q, const struct object *o, const struct object *old);

#endif
