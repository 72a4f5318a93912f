/* Where `annals up` has its data: in an etcd, or in memory alone. */
#ifndef CLI_RUN_STORE_FLAGS_H
#define CLI_RUN_STORE_FLAGS_H

#include "base/options.h"

struct store_flags {
	const char *name;         /* --store: "etcd" or "memory" */
	int64_t memory_limit_mib; /* --memory-limit-mib */
	bool is_memory;           /* worked out of the name by store_flags_check() */
};
#define STORE_FLAGS_MAX 3
void store_flags_init(struct store_flags *f);
/* Appends the rows to a table that has room for STORE_FLAGS_MAX more, and for its end. */
void store_flags_rows(struct store_flags *f, struct option *ret);
/* names_etcd: other flags say which etcd. 0, or -EINVAL with a sentence in err. */
int store_flags_check(struct store_flags *f, bool names_etcd, struct buf *err);
int64_t store_flags_memory_limit(const struct store_flags *f); /* bytes; 0: data are in etcd */

#endif
