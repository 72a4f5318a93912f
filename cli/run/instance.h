/* The API server of one process and the parts under it: store, watch cache, compaction, agreement, migrator. It listens
 * at once, and comes up in the background, while it waits for etcd. The main thread calls all of this.
 *
 * The room is `annals serve`, `annals up` and `annals controllers`. loop.h waits for signals, the
 * keyboard and children, on the main thread. server_flags.h has the flags that the commands share.
 * `annals up` adds a child etcd (etcd_child.h), certificates, controllers on its own server
 * (control.h), a line for programs that wait (ready.h), and a directory that goes with the process
 * (scratch.h). Parts end in the order of instance_free(), and a thread ends the process
 * if that takes too long (deadline_start()). */
#ifndef CLI_RUN_INSTANCE_H
#define CLI_RUN_INSTANCE_H

#include "cli/run/loop.h"
#include "cli/run/server_flags.h"
#include "delegation/delegation.h"
#include "storage/etcd/etcd.h"

struct instance;

struct instance_options {
	const struct loop *loop;          /* woken when a state below changes */
	const struct server_flags *flags; /* outlive the instance, like all text here */
	int64_t memory_limit;             /* bytes: a store in memory, which keeps nothing. 0: in etcd */
	struct storage_etcd_options etcd;
	const char *prefix; /* of all keys */
	const char *bind_address;
	uint16_t port; /* 0: any */
	const char *cert_file, *key_file, *client_ca_file;
	/* the CA of front proxies; NULL: none, or the one in the cluster's ConfigMap */
	const char *front_ca_file;
	const struct trust *front;                         /* with front_ca_file: names and headers of the proxies */
	const struct delegation_options *delegation;       /* aggregated mode; its callbacks are set here. NULL: standalone */
	const char *const *always_allow_paths;             /* aggregated mode; ends with NULL */
	void (*write_metrics)(void *ctx, struct buf *out); /* standalone: more for /metrics, from any thread; NULL: nothing */
	void *metrics_ctx;
};

/* 0, or -errno with a sentence in err; -EADDRINUSE if another process has the port,
 * which the sentence names. */
int instance_new(struct instance **ret, const struct instance_options *options, struct buf *err);
/* Frees an instance that is drained, or was never ready. Returns false if some connections do
 * not end: stopping libmicrohttpd would abort. Then everything durable has been closed (logs, and
 * the registration among the replicas), and the caller has to call _exit(). */
bool instance_close(struct instance *i);

uint16_t instance_port(const struct instance *i);
bool instance_is_ready(const struct instance *i); /* every object has been read, and the namespaces of a new store exist */
/* begins to drain: first it is not ready any more, then it takes no new connections, then no
 * requests */
void instance_drain(struct instance *i);
bool instance_is_drained(const struct instance *i);

#endif
