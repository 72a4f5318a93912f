/* Discovery: all groups, versions and resources that a server serves, with their verbs. */
#ifndef CLIENT_API_RESOURCES_H
#define CLIENT_API_RESOURCES_H

#include "client/rest.h"

enum api_verb {
	API_CREATE = 1 << 0,
	API_DELETE = 1 << 1,
	API_DELETECOLLECTION = 1 << 2,
	API_GET = 1 << 3,
	API_LIST = 1 << 4,
	API_PATCH = 1 << 5,
	API_UPDATE = 1 << 6,
	API_WATCH = 1 << 7,
};

struct api_resource {
	struct resource resource;
	struct str kind, singular;
	struct str short_names; /* "sts,statefuls" */
	bool is_namespaced;
	bool is_preferred; /* the version to use: the group's preferred one, or the first that has the resource */
	unsigned verbs;    /* api_verb */
};

/* A group's version that could not be read. Its resources are unknown, which does not mean that
 * it has none. */
struct discovery_failure {
	struct str group, version, message;
};

struct discovery {
	struct api_resource *resources; /* subresources are left out; in the server's order */
	size_t n;
	struct discovery_failure *failures;
	size_t n_failures;
	struct arena arena;
};

void discovery_init(struct discovery *d);
void discovery_done(struct discovery *d);
/* Empties d and asks the server, in the aggregated form (two requests) or, where that is
 * missing, group by group. Returns 0, also when d has failures. Otherwise returns a rest_error
 * with the reason in ret_answer, and d stays empty. */
int discovery_fetch(struct client *c, struct discovery *d, struct answer *ret_answer);

/* Finds a resource by the apiVersion ("apps/v1") and kind that objects and owner references
 * have. Returns NULL when it is not served. */
const struct api_resource *discovery_find_kind(const struct discovery *d, struct str api_version, struct str kind);
const struct api_resource *discovery_find_resource(const struct discovery *d, const struct resource *r);
/* Returns true when discovery_find_*() may be wrong because this group's version could not be
 * read. */
bool discovery_has_failed(const struct discovery *d, struct str group, struct str version);

#endif
