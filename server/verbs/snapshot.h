/* POST of a Snapshot: the history of a controller gets a state, and stays within its limit, in one etcd transaction.
 *
 * What is to be done is decided on the cache (server/verbs/snapshot_plan.h) and carried out by the engine of all writes (server/write/write.h): the
 * revision that is made or renumbered is its object, with the rules and guards of any write. Beside them the transaction is guarded by: no
 * revision has come into the history, or to another number, since the cache's revision; what is trimmed is as it was, and nothing has come
 * to refer to it. A guard that fails makes the engine read again and decide again. */
#ifndef SERVER_VERBS_SNAPSHOT_H
#define SERVER_VERBS_SNAPSHOT_H

#include "server/request/request.h"

bool snapshot_is(const struct kind *k);
void snapshot_answer(struct request *q, struct object *sent, struct str manager);

#endif
