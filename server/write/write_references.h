/* References between objects within a write (api/model/reference.h): the index that is kept in the same transaction, and what must not happen while
 * something refers to an object.
 *
 * That nothing refers to an object is seen in the cache, as of a revision R. The transaction that rests on it compares one key, which every
 * transaction that makes a reference to the object writes: nobody has since R. So it costs the same whatever refers, or has referred, to the
 * object, and those who refer do not wait for one another. (A compare over the range of its references would cost etcd more for each that
 * there is and, until the next compaction, for each that there was.) */
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
 * that nothing has come to since that revision. */
bool references_exist(struct request *q, const struct kind *target, struct str name);
struct storage_compare references_none_since(struct request *q, const struct kind *target, struct str name, int64_t revision);

#endif
