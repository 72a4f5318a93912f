/* The etcd that `annals fsck`, export and import work on: one that runs, or that of the directory of an `annals up`, which is started for as long as it takes
 * where no `annals up` runs on it. */
#ifndef CLI_FSCK_FSCK_STORE_H
#define CLI_FSCK_FSCK_STORE_H

#include "cli/run/etcd_child.h"
#include "storage/etcd/etcd.h"

struct fsck_store {
	struct storage *storage;
	struct datadir dir;       /* locked, when etcd is ours */
	struct etcd_child *child; /* NULL: somebody else's */
	int folder_fd;            /* of etcd's sockets, when it is another's */
};

void fsck_store_init(struct fsck_store *s); /* nothing is open: fsck_store_done() does nothing */
/* 0, or -errno with a sentence in err; fsck_store_done() either way. */
int fsck_store_open(struct fsck_store *s, const struct storage_etcd_options *options, struct buf *err);
int fsck_store_open_dir(struct fsck_store *s, const char *dir, const char *etcd, struct buf *err);
void fsck_store_done(struct fsck_store *s);

#endif
