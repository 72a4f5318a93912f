/* How many objects there are, by kind and by the version they are stored in. */
#ifndef SERVER_METRICS_OBJECT_METRICS_H
#define SERVER_METRICS_OBJECT_METRICS_H

#include "base/buf.h"
#include "storage/cache/cache.h"

/* apiserver_resource_objects, apiserver_storage_objects, annals_stored_objects. */
void object_metrics_write(struct buf *out, struct cache *c);

#endif
