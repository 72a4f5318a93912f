/* The API server of one process with what is under it: store, watch cache, compaction. Listens at once; comes up in the
 * background, as often as it takes, while etcd is not there. */
#ifndef CLI_RUN_INSTANCE_H
#define CLI_RUN_INSTANCE_H

#include "cli/common/command.h"
#include "cli/run/loop.h"
#include "delegation/delegation.h"
#include "storage/etcd/etcd.h"

struct instance;

struct instance_options {
	const struct loop *loop;          /* is told when something below has become true */
	const struct common_flags *flags; /* outlive the instance, like all text here */
	int64_t memory_limit;             /* bytes: a store in memory, which keeps nothing. 0: in etcd */
	struct storage_etcd_options etcd;
	const char *prefix; /* of all keys */
	const char *bind_address;
	uint16_t port; /* 0: any */
	const char *cert_file, *key_file, *client_ca_file;
	const char *front_ca_file;                         /* of front proxies; NULL: none, or what the cluster tells */
	const struct trust *front;                         /* with it: their names and headers */
	const struct delegation_options *delegation;       /* aggregated mode; its callbacks are set here. NULL: standalone */
	const char *const *always_allow_paths;             /* aggregated mode; ends with NULL */
	void (*write_metrics)(void *ctx, struct buf *out); /* standalone: more for /metrics, from any thread; NULL: nothing */
	void *metrics_ctx;
};

/* 0, or -errno with a sentence in err; -EADDRINUSE where another process has the port. */
int instance_new(struct instance **ret, const struct instance_options *options, struct buf *err);
struct instance *instance_free(struct instance *i);
/* When it is drained, frees it. False: there are connections that do not end, and stopping libmicrohttpd would abort. Then what is durable has
 * been closed: the registration among the replicas is taken back, logs are written. Nothing is left to be done but _exit(). */
bool instance_close(struct instance *i);

uint16_t instance_port(const struct instance *i);
bool instance_is_ready(const struct instance *i); /* every object has been read, and the namespaces of a new store exist */
void instance_drain(struct instance *i);          /* begins to: not ready any more, then no new connections, then no requests */
bool instance_is_drained(const struct instance *i);

#endif
