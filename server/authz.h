/* What a user may do, standalone mode: system:masters may all; an ABAC policy file
 * (abac.authorization.kubernetes.io/v1beta1, one JSON object a line, reloaded when it changes) may allow more; what kube's
 * bootstrap roles give to everybody is given here (health and version to anyone, discovery and OpenAPI and self reviews to
 * system:authenticated). Nothing else. */
#ifndef SERVER_AUTHZ_H
#define SERVER_AUTHZ_H

#include "server/authn.h"

struct authz_attributes {
	const struct user *user;
	struct str verb; /* "get", "list", ...; lower-case HTTP method for non-resource requests */
	bool is_resource;
	struct str group, version, resource, subresource, ns, name;
	struct str path; /* non-resource */
};

struct authz;

struct authz_options {
	const char *policy_file; /* NULL: none */
	bool always_allow;       /* --authorization-mode=AlwaysAllow */
	struct reload_hook on_reload;
};

int authz_new(struct authz **ret, const struct authz_options *options, struct buf *err);
struct authz *authz_free(struct authz *a);
/* 0: allowed; 1: 403 in st with kube's text (`controllerrevisions.apps is forbidden: User "x" cannot list resource ...`). */
int authz_check(struct authz *authz, const struct authz_attributes *attributes, struct arena *a, struct status *st);

#endif
