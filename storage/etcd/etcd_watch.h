/* A storage_watch over etcd: one stream at a time, reopened behind the last delivered revision until it is canceled or history is
 * gone. After etcd_watch_start() everything happens on the completion thread. */
#ifndef STORAGE_ETCD_ETCD_WATCH_H
#define STORAGE_ETCD_ETCD_WATCH_H

#include "storage/etcd/etcd_client.h"

/* The watches of a store. A cancel that comes too late finds nothing here, rather than freed
 * memory. */
struct etcd_watches;

struct etcd_watches *etcd_watches_new(struct etcd_client *client);
/* Call it after the client is freed, which has ended all watches. */
struct etcd_watches *etcd_watches_free(struct etcd_watches *all);
void etcd_watch_start(struct etcd_watches *all, struct storage_watch *w);
void etcd_watch_cancel(struct etcd_watches *all, struct storage_watch *w);

#endif
