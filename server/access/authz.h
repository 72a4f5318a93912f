/* What a user may do.
 *
 * Aggregated mode: the cluster is asked (SubjectAccessReview), but for system:masters and the paths of health.
 * Standalone mode: system:masters may all; an ABAC policy file
 * (abac.authorization.kubernetes.io/v1beta1, one JSON object a line, reloaded when it changes) may allow more; what kube's
 * bootstrap roles give to everybody is given here (health and version to anyone, discovery and OpenAPI and self reviews to
 * system:authenticated). Nothing else. */
#ifndef SERVER_ACCESS_AUTHZ_H
#define SERVER_ACCESS_AUTHZ_H

#include "server/access/authn.h"

struct authz;

struct authz_options {
	const char *policy_file; /* NULL: none */
	bool always_allow;       /* --authorization-mode=AlwaysAllow */
	bool is_delegated;       /* aggregated mode; neither of the above */
	const char *const *always_allow_paths; /* of delegated authorization; a final * matches any rest; ends with NULL */
	struct reload_hook on_reload;
};

int authz_new(struct authz **ret, const struct authz_options *options, struct buf *err);
struct authz *authz_free(struct authz *a);
struct authz_verdict {
	struct str reason;  /* of the cluster, allowed or not; for audit */
	struct str failure; /* why there is no decision; empty: there is one */
	bool is_turned_away; /* there is none, because too much is asked: 429 in st */
};
/* 0: allowed; 1: 403 (or 429) in st with kube's text (`controllerrevisions.apps is forbidden: User "x" cannot list resource ...`); ASK_FIRST. verdict
 * may be NULL. */
int authz_check(struct authz *authz, const struct authz_attributes *attributes, struct questions *questions,
	struct authz_verdict *verdict, struct arena *a, struct status *st);

/* What the user cannot do, as a 403 says it: `User "x" cannot list resource ...`. */
struct str authz_sentence(const struct authz_attributes *attributes, struct arena *a);

/* Standalone mode: the same, said as yes or no. */
bool authz_allows(struct authz *authz, const struct authz_attributes *attributes);

/* What a user may do in a namespace, as arrays of authorization.k8s.io/v1 ResourceRules and NonResourceRules. */
struct authz_rules {
	struct arena *arena;
	struct json *resources, *paths;
};
void authz_rules(struct authz_rules *ret, struct authz *authz, const struct user *user, struct str ns, struct arena *a);
/* verbs: ends with NULL */
void authz_rules_add_resource(struct authz_rules *rules, const char *const *verbs, struct str group, struct str resource);
void authz_rules_add_paths(struct authz_rules *rules, const char *const *verbs, const struct str *paths, size_t n);

#endif
