/* Which store a command is about that reads or writes it without a server: fsck, export, import. */
#ifndef CLI_FSCK_DATA_FLAGS_H
#define CLI_FSCK_DATA_FLAGS_H

#include "cli/common/etcd_flags.h"
#include "cli/fsck/fsck_store.h"

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
/* That they go together. 0, or -EINVAL with a sentence in err. */
int data_flags_check(const struct data_flags *f, struct buf *err);
/* Where no flag says which: the store of `annals up` in its default directory. 0, or -errno with a sentence in err; fsck_store_done()
 * either way. */
int data_flags_open(const struct data_flags *f, struct fsck_store *ret, struct buf *err);

#endif
