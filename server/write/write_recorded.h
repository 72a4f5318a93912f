/* Recorded states: revisions whose controller is a History (annals.dev). Only a user who may update the status of that History
 * writes them, by any verb and any version.
 *
 * A controller is a History by its kind, or by its uid: revisions are found by the uid alone, so a revision under another kind
 * would stand among those of the History.
 *
 * The right is not asked for where no record is left to protect. A revision may be deleted, and released by its owner, if its
 * History is gone or being deleted. So garbage collectors need no right to write records.
 *
 * While a namespace is being deleted, the deletion of a History or a recorded state moves it into the archive of the namespace
 * (api/model/history.h), in the same transaction. So namespace controllers need no such right either, and nothing is lost. A History
 * moves before its states, or with the first of them: a garbage collector takes no state whose History is there. */
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

/* Finds the latest of the Histories of that name in the archives of a namespace that is wanted; NULL: none is. */
struct cached *history_in_archive(struct request *q, struct str ns, struct str name,
	bool (*is_wanted)(const struct cached *o, const void *ctx), const void *ctx);

/* Is it a state whose controller is a History? o may be NULL. */
bool write_is_recorded(const struct object *o);

/* For decide, of a deletion: sets w->moved if the object is to move. Returns 0; 1 with q->st; or ASK_FIRST. */
int write_archive(struct request *q, struct write *w);

/* The index of a selectable field that the kind has. */
int selectable_index(const struct kind *k, const char *path);

/* Returns 1 with 409 in q->st if another revision of the same History holds the state that a recorded state gets. The index does
 * not have the states of values in compressed form, so the cache is asked. Otherwise recorded_guard() adds to the plan that no
 * revision has joined the history since. */
int recorded_check_unique(struct request *q, struct write *w);
void recorded_guard(const struct request *q, const struct write *w, struct plan *p);

/* Gives a new Recorder that has no salt the one that follows from its name, its resources, and a key that only servers and etcd know. So
 * a Recorder that is deleted and recreated hides equal values in the same way, and they do not seem to have changed. Nobody gets the
 * salt of other resources: who makes a Recorder must be allowed to list and watch all that it names. */
void write_fill_salt(struct request *q, struct object *o);

/* o NULL: a deletion. old NULL: a creation. Returns 0; 1 with q->st; or ASK_FIRST. */
int write_ask_recorded(struct request *q, const struct object *o, const struct object *old);

#endif
