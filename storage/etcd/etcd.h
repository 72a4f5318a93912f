/* The etcd implementation of storage.h: gRPC core (only storage/etcd/etcd_client.c includes it) and
 * a subset of etcd's messages. There is one connection for calls, one for watches and leases, and
 * one completion-queue thread for both. It keeps connections alive, reconnects within seconds, and
 * puts a deadline on every call. It uses an endpoint until that fails, then the next one. Reads,
 * and writes that have certainly not been executed, are sent again there.
 * docs/explanation/storage.md has the settings and the reasons.
 *
 * An answer of more than 256 MiB is refused with STORAGE_TOO_LARGE. Calls in flight are not
 * bounded here. */
#ifndef STORAGE_ETCD_ETCD_H
#define STORAGE_ETCD_ETCD_H

#include "base/buf.h"
#include "storage/storage.h"

struct storage_etcd_options {
	const char *const *endpoints; /* http://h:p, https://h:p, unix:///path, h:p; one or more; all of one scheme family */
	size_t n_endpoints;
	const char *ca_file;          /* PEM; NULL with https: the system's roots */
	const char *cert_file, *key_file; /* PEM; these three are read again when they have changed */
	int64_t timeout_ms;           /* default deadline; 0: 10,000 */
	/* 0 is right for servers. Tests set shorter times. */
	int64_t keepalive_ms; /* a ping after so long, the end after half as long again; 0: 10,000. Etcd takes no more than its
				     --grpc-keepalive-min-time says: 5 s by default */
	int64_t backoff_max_ms;  /* between two attempts to connect or to watch; 0: 1,000 */
	int64_t look_at_files_s; /* between two looks at the files; 0: 5 */
};

/* Connects lazily. 0, or -EINVAL/-errno with a sentence in err (bad endpoint, unreadable file). */
int storage_etcd_new(struct storage **ret, const struct storage_etcd_options *options, struct buf *err);

/* Call it after the last storage_free(): waits for gRPC's own threads to end so that _exit is
 * clean. */
void storage_etcd_shutdown(void);

#endif
