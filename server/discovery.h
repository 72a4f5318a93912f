/* Discovery documents, made once from the kinds at start: no etcd, there from the first millisecond. */
#ifndef SERVER_DISCOVERY_H
#define SERVER_DISCOVERY_H

#include "base/bytes.h"
#include "api/kind.h"

struct discovery;

struct discovery_options {
	bool is_standalone;
	bool storage_version_hash;   /* feature gate StorageVersionHash */
	struct str server_address;   /* "127.0.0.1:6443", for APIVersions.serverAddressByClientCIDRs */
};

struct discovery *discovery_new(const struct discovery_options *options);
struct discovery *discovery_free(struct discovery *d);

struct discovery_answer {
	struct bytes *body;          /* JSON, compact; a reference of the callee's, valid as long as the discovery */
	struct str content_type;
	struct str etag;             /* aggregated form; else empty */
	bool is_public;              /* Cache-Control: public, Vary: Accept */
};
/* path: "/api", "/apis", "/api/v1", "/apis/G", "/apis/G/V". 0; 1 when there is no such document (404 is the caller's);
 * 2 with 406 in st (aggregated form asked of a group). accept: as sent. */
int discovery_find(struct discovery_answer *ret, struct discovery *d, struct str path, struct str accept, struct arena *a,
		   struct status *st);

#endif
