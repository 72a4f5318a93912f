/* Flags that say where etcd is, of all commands that talk to one. */
#ifndef CLI_COMMON_ETCD_FLAGS_H
#define CLI_COMMON_ETCD_FLAGS_H

#include "base/options.h"
#include "storage/etcd/etcd.h"

/* Values point into argv. */
struct etcd_flags {
	struct option_strings servers;
	const char *cafile, *certfile, *keyfile;
	const char *prefix; /* ETCD_PREFIX by default */
};

#define ETCD_FLAGS_MAX 6      /* rows of etcd_flags_rows(); tables that take them have that much room */
#define ETCD_PREFIX "/annals" /* the default of --etcd-prefix */
void etcd_flags_init(struct etcd_flags *f);
void etcd_flags_done(struct etcd_flags *f);
/* Appends the rows to a table that has room for ETCD_FLAGS_MAX more; returns how many. */
size_t etcd_flags_rows(struct etcd_flags *f, struct option *ret);
/* Do they go together? It is no mistake to name no servers. 0, or -EINVAL with a sentence in err. */
int etcd_flags_check(const struct etcd_flags *f, struct buf *err);
/* The options live as long as the flags. */
struct storage_etcd_options etcd_flags_options(const struct etcd_flags *f);

#endif
