/* Refuses a write because of other objects: references to it (api/model/reference.h), objects that
 * it needs, and other revisions of the same history (api/model/history.h).
 *
 * The cache shows that nothing refers to an object, and the transaction proves it: its guard is
 * that no key is below the object's references. Neither the cache nor a revision of it would
 * suffice. Where etcd is restored from a backup, the cache shows the lost history for a moment, in
 * which the referring object may be gone already. The guard costs etcd something for each object
 * that referred since the last compaction.
 *
 * A new reference also writes a mark, PREFIX/referenced/..., which replicas of earlier versions
 * compare in place of that range. */
#ifndef SERVER_WRITE_WRITE_REFERENCES_H
#define SERVER_WRITE_WRITE_REFERENCES_H

#include "server/write/write.h"

/* Looks at what was decided: 0; or 1 with 409 in q->st, since what loses its protection is referred to, or what a new object needs is not
 * there; or with 503, since objects that may refer to it, or may be needed, are stored in versions that are not known here. Decided on the cache's view, as
 * everything is; the guards make sure of it. */
int references_check(struct request *q, struct write *w);
/* Does something refer to another object than the one that is written? By the cache: yes, where it cannot know. */
bool references_exist(struct request *q, const struct kind *target, struct str name);

/* Must no other revision of the history have the state or number that the object comes to have? Through the group of the hub nobody makes such
 * duplicates. */
bool history_is_unique(const struct request *q, const struct write *w);
/* Call it when the guards have failed. Returns 0; or 1 with 409 in q->st, which names the other
 * revision. */
int history_refuse(struct request *q, const struct write *w);

#endif
