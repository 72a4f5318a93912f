/* Discovery documents, made from the kinds without etcd, so they are there from the start. They are
 * counted: when a storage version changes, new ones replace them.
 *
 * There are two forms: kube's legacy documents (/api, /apis, /api/v1, /apis/G, /apis/G/V), and
 * the aggregated one (/api, /apis). Clients request the latter with Accept: media_negotiate()
 * with ALLOW_DISCOVERY reports it as AS_DISCOVERY. Only versions that are visible in the mode
 * appear. */
#ifndef SERVER_DISCOVERY_DISCOVERY_H
#define SERVER_DISCOVERY_DISCOVERY_H

#include "api/model/storage_version.h"
#include "base/bytes.h"

struct discovery;

struct discovery_options {
	bool is_standalone;
	bool storage_version_hash; /* feature gate StorageVersionHash */
	/* By kind->index: the version that is stored, of which the hash is shown; NULL: none is. Read by discovery_new() only. */
	const struct version *const *common;
	struct kinds *defined;     /* kinds that definitions describe; may be NULL */
	struct str server_address; /* "127.0.0.1:6443", for APIVersions.serverAddressByClientCIDRs */
};

struct discovery *discovery_new(const struct discovery_options *options);
struct discovery *discovery_ref(struct discovery *d);
struct discovery *discovery_unref(struct discovery *d); /* NULL */
DEFINE_CLEANUP(struct discovery *, discovery_unref)
/* Returns true when the documents show these versions, and these kinds. */
bool discovery_shows(const struct discovery *d, const struct version *const *common, const struct kinds *defined);

struct discovery_answer {
	struct bytes *body; /* compact JSON with a final newline; a reference of the callee's, valid as long as the discovery */
	struct str etag;    /* quoted; of the aggregated form, else empty */
	bool is_public;     /* Cache-Control: public, Vary: Accept */
	bool only_get;      /* 405 for other methods; otherwise all methods get the same answer */
};
/* path: "/api", "/apis", "/api/v1", "/apis/G", "/apis/G/V". False when there is no such document (404 or 406 is the
 * caller's). */
bool discovery_find(struct discovery_answer *ret, const struct discovery *d, struct str path, bool is_aggregated);
/* Whether path lies in a group that is here (or below "/api" where there are core kinds): what is missing there is a Status
 * of 404, elsewhere a plain page. */
bool discovery_has_group(const struct discovery *d, struct str path);
/* All paths, for the index at "/": for (size_t i = 0; discovery_next_path(d, &i, &path);) */
bool discovery_next_path(const struct discovery *d, size_t *i, struct str *ret);

#endif
