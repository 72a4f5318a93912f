/* An etcd endpoint as the command line has it, and as gRPC wants it. */
#ifndef STORAGE_ETCD_ETCD_ENDPOINT_H
#define STORAGE_ETCD_ETCD_ENDPOINT_H

#include "base/buf.h"

struct etcd_endpoint {
	char *target; /* owned: gRPC's name for it */
	bool is_tls;
};

/* http://h:p, https://h:p, unix:///path, h:p (plain). 0, or -EINVAL with a sentence in err. */
int etcd_endpoint_init(struct etcd_endpoint *e, const char *text, struct buf *err);
void etcd_endpoint_done(struct etcd_endpoint *e);

#endif
