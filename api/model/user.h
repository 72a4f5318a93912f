/* The user and the purpose of a request: authentication finds them out, and authorization decides
 * on them (k8s.io/apiserver user.Info, authorizer.Attributes). */
#ifndef API_MODEL_USER_H
#define API_MODEL_USER_H

#include "base/json.h"

#define USER_ANONYMOUS STR("system:anonymous")
#define GROUP_AUTHENTICATED STR("system:authenticated")
#define GROUP_UNAUTHENTICATED STR("system:unauthenticated")

struct user_extra {
	struct str key, value;
};

struct user {
	struct str name, uid;
	const struct str *groups;
	size_t n_groups;
	const struct user_extra *extra; /* keys may repeat: one row for each value, in order */
	size_t n_extra;
};

struct authz_attributes {
	const struct user *user;
	struct str verb; /* "get", "list", ...; lower-case HTTP method for non-resource requests */
	bool is_resource;
	struct str group, version, resource, subresource, ns, name;
	struct str path; /* non-resource */
	struct str field_selector, label_selector; /* as the client wrote them, of list, watch and deletecollection; empty: none */
};

static inline bool user_in_group(const struct user *u, struct str group)
{
	for (size_t i = 0; i < u->n_groups; i++) {
		if (str_eq(u->groups[i], group)) {
			return true;
		}
	}
	return false;
}

#endif
