/* References between objects within a write (api/model/reference.h): the index that is kept in the same transaction, and what must not happen while
 * something refers to an object.
 *
 * That nothing refers to an object is seen in the cache, and proved by the transaction that rests on
 * it: its guard is that no key is below the object's references. The cache alone would not do, nor
 * would a revision of it: where etcd is restored from a backup, there is a moment in which the cache
 * still shows the history that was lost, in which who refers had gone already. The guard costs etcd
 * something for each that referred to the object since the last compaction.
 *
 * Who comes to refer also writes a mark, PREFIX/referenced/..., which replicas of earlier versions
 * compare in place of that range. */
#ifndef SERVER_WRITE_WRITE_REFERENCES_H
#define SERVER_WRITE_WRITE_REFERENCES_H

#include "server/write/write.h"

enum { REFERENCES_COMPARES_MAX = REFERENCES_MAX + 1, REFERENCES_STEPS_MAX = 2 * REFERENCES_MAX + 1 };

/* Looks at what was decided: 0; or 1 with 409 in q->st, since what loses its protection is referred to, or what a new object needs is not
 * there; or with 503, since objects that may refer to it, or may be needed, are stored in versions that are not known here. Decided on the cache's view, as
 * everything is; the guards make sure of it. */
int references_check(struct request *q, struct write *w);
/* For the transaction that carries the decision out. How many. */
size_t references_guards(struct request *q, struct write *w, struct storage_compare *out);
size_t references_steps(struct request *q, struct write *w, struct storage_step *out);

/* Of another object than the one that is written: does something refer to it, as far as the cache knows (yes, where it cannot know); and the guard
 * that nothing does. */
bool references_exist(struct request *q, const struct kind *target, struct str name);
struct storage_compare references_none(struct request *q, const struct kind *target, struct str name);

#endif
