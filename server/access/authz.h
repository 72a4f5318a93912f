/* Authorization.
 *
 * Aggregated mode: the cluster is asked (SubjectAccessReview), except for system:masters and the
 * paths of health. Standalone mode: system:masters may do everything. An ABAC policy file may
 * allow more (abac.authorization.kubernetes.io/v1beta1, one JSON object a line, reloaded when it
 * changes). The rights of kube's bootstrap roles are built in: health and version for anyone;
 * discovery, OpenAPI and self reviews for system:authenticated. Everything else is refused.
 *
 * Objects in the archive of a namespace (api/model/history.h) need the right at the cluster scope. */
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
	struct str reason;  /* the cluster's reason, allowed or not; for audit */
	struct str failure; /* why there is no decision; empty: there is one */
	bool is_turned_away; /* there is no decision, because too much is asked: 429 in st */
};
/* 0: allowed; 1: 403 (or 429) in st with kube's text (`controllerrevisions.apps is forbidden: User "x" cannot list resource ...`); ASK_FIRST. verdict
 * may be NULL. */
int authz_check(struct authz *authz, const struct authz_attributes *attributes, struct questions *questions,
	struct authz_verdict *verdict, struct arena *a, struct status *st);

/* Returns the sentence of a 403: `User "x" cannot list resource ...`. */
struct str authz_sentence(const struct authz_attributes *attributes, struct arena *a);

/* Standalone mode: returns the same decision as true or false. */
bool authz_allows(struct authz *authz, const struct authz_attributes *attributes);

/* The rights of a user in a namespace, as arrays of authorization.k8s.io/v1 ResourceRules and
 * NonResourceRules. */
struct authz_rules {
	struct arena *arena;
	struct json *resources, *paths;
};
void authz_rules(struct authz_rules *ret, struct authz *authz, const struct user *user, struct str ns, struct arena *a);
/* verbs: ends with NULL */
void authz_rules_add_resource(struct authz_rules *rules, const char *const *verbs, struct str group, struct str resource);
void authz_rules_add_paths(struct authz_rules *rules, const char *const *verbs, const struct str *paths, size_t n);

/* ---- impersonation ---- */

/* Acting as somebody else: Impersonate-User, -Group, -Uid and -Extra-* as k8s.io/apiserver's
 * impersonation filter has them. Replaces *user by the requested one if the caller may impersonate
 * it. what: the request itself, for the sentence of a refusal. Returns 0; 1 with 400 or 403 in st;
 * or ASK_FIRST. Without such headers: 0. */
int impersonate(struct authz *authz, struct questions *questions, const struct http_exchange *x,
	const struct authz_attributes *what, struct user **user, struct arena *a, struct status *st);

#endif
