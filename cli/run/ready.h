/* The output of `annals up` when it is ready: people learn how to go on, programs where the
 * server is. */
#ifndef CLI_RUN_READY_H
#define CLI_RUN_READY_H

#include "base/options.h"
#include "cli/common/datadir.h"

struct ready_flags {
	const char *output; /* --output: "text" or "json" */
	int64_t fd;         /* 0: none */
	const char *kubeconfig_out;
};
#define READY_FLAGS_MAX 5
void ready_flags_init(struct ready_flags *f);
/* Appends the rows to a table that has room for READY_FLAGS_MAX more, and for its end. */
void ready_flags_rows(struct ready_flags *f, struct option *ret);
/* has_link: a link for people is printed, too. 0, or -EINVAL with a sentence in err. */
int ready_flags_check(const struct ready_flags *f, bool has_link, struct buf *err);

/* The server that is ready. */
struct ready_server {
	const struct datadir *dir; /* its certificates and its kubeconfig */
	const char *url;
	const char *kubeconfig; /* the one that the user asked for, or the directory's; absolute */
	const char *token; /* of an administrator; NULL: there is none */
	const char *store; /* "etcd" or "memory" */
	bool is_ephemeral; /* the directory is removed in the end */
	bool has_etcd;     /* of its own, in the directory */
};

/* The kubeconfig, for --kubeconfig-out as well. 0, or -errno with a sentence in err. */
int ready_write_kubeconfig(const struct ready_flags *f, const struct datadir *dir, const char *url, struct buf *err);
/* Prints it; call it once. Returns 0, or -errno with a sentence in err. */
int ready_tell(const struct ready_flags *f, const struct ready_server *s, struct buf *err);

#endif
