/* Certificates as manifests for `kubectl apply -f -`: the Secrets that deploy/ mounts, and the APIServices, which have the CA within. */
#ifndef CLI_CERTS_CERTS_MANIFESTS_H
#define CLI_CERTS_CERTS_MANIFESTS_H

#include "cli/common/datadir.h"

struct manifests_options {
	const char *service, *ns; /* both plain labels */
	bool has_etcd;
	bool has_services; /* APIServices, too */
};

/* Appends to out. 0, or -errno with a sentence in err. */
int certs_write_manifests(const struct datadir *d, const struct manifests_options *options, struct buf *out, struct buf *err);

#endif
