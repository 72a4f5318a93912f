/* What objects were made from a revision and still need it: it is live (seed 000). */
#ifndef SERVER_REQUEST_LIVE_H
#define SERVER_REQUEST_LIVE_H

#include "storage/cache/cache.h"

/* Of pods; they name it, or the hash that it has as a label. */
bool live_is_generated_from(struct cache_snapshot *pods, const struct cached *o);
/* How many objects of all kinds refer to one of this kind and name. False: not all that may refer to it can be read. */
bool live_count_referrers(struct cache *c, const struct kind *kind, struct str ns, struct str name, size_t *ret);

enum liveness { LIVE_NO, LIVE_YES, LIVE_UNKNOWN };

/* By its pods and by what refers to it. pods: their kind; NULL: they are not kept here, but in the cluster before this server. */
enum liveness live_find(struct cache *c, const struct cached *o, const struct kind *pods);

#endif
