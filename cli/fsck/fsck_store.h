/* The etcd that `annals fsck`, export and import work on: one that runs, or that of the directory of an `annals up`, which is started for as long as it takes
 * where no `annals up` runs on it. */
#ifndef CLI_FSCK_FSCK_STORE_H
#define CLI_FSCK_FSCK_STORE_H

#include "cli/common/etcd_flags.h"
#include "cli/run/etcd_child.h"
#include "storage/etcd/etcd.h"

struct fsck_store {
	struct storage *storage;
	struct datadir dir;       /* locked if this process started etcd */
	struct etcd_child *child; /* NULL: another process started etcd */
	int folder_fd;            /* of etcd's sockets, when it is another's */
};

void fsck_store_init(struct fsck_store *s); /* nothing is open: fsck_store_done() does nothing */
/* 0, or -errno with a sentence in err; fsck_store_done() either way. */
int fsck_store_open(struct fsck_store *s, const struct storage_etcd_options *options, struct buf *err);
int fsck_store_open_dir(struct fsck_store *s, const char *dir, const char *etcd, struct buf *err);
void fsck_store_done(struct fsck_store *s);

/* ---- flags that say which store ---- */

/* Values point into argv. */
struct data_flags {
	struct etcd_flags etcd_flags;
	const char *data_dir, *etcd;
};

#define DATA_FLAGS_MAX (3 + ETCD_FLAGS_MAX)
void data_flags_init(struct data_flags *f);
void data_flags_done(struct data_flags *f);
/* Appends the rows to a table that has room for DATA_FLAGS_MAX more; returns how many. */
size_t data_flags_rows(struct data_flags *f, struct option *ret);
/* Checks that the flags go together. 0, or -EINVAL with a sentence in err. */
int data_flags_check(const struct data_flags *f, struct buf *err);
/* Opens the store that the flags name; without flags, that of `annals up` in its default directory. 0, or -errno with a sentence in err; fsck_store_done()
 * either way. */
int data_flags_open(const struct data_flags *f, struct fsck_store *ret, struct buf *err);

/* ---- pages of keys, all at one revision: memory holds one page, however many there are ---- */

/* Visits a page, which is valid until it returns. 0, or -errno with a sentence reported: it is the last one. */
typedef int store_page_fn(void *ctx, const struct storage_range *page);

/* *revision: 0, and the first page names that of all. 0, what visit returned, or -EIO with a sentence in err. */
int store_pages_each(struct storage *storage, struct str key, struct str end, int64_t *revision, store_page_fn *visit,
	void *ctx, struct buf *err);
/* The sentence for a range that failed: -EIO. */
int store_range_fail(const struct storage_range *r, int64_t revision, struct buf *err);

#endif
