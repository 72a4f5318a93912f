/* What Dependents name in spec.providers, as controllers see it: kinds, references, and keys for queues and maps. */
#ifndef CONTROLLERS_DEPENDENTS_PROVIDER_REFERENCES_H
#define CONTROLLERS_DEPENDENTS_PROVIDER_REFERENCES_H

#include "api/model/reference.h"
#include "client/item.h"
#include "client/rest.h"

/* A kind whose objects may be named. */
struct provider_kind {
	const char *kind;         /* "Provider" */
	struct resource resource; /* providers of annals.dev/v1 */
	const char *field;        /* the computed field that selects who refers to it, but for the name: "spec.providers." */
	const char *const *data;  /* where an object has what it provides: names of members, NULL-terminated */
	bool is_constant;         /* and that never changes: what was read once can be relied on */
};

/* An object that is named; of the namespace of whoever names it. */
struct provided {
	const struct provider_kind *kind;
	struct str name;
};

enum { PROVIDED_KEY_MAX = 4096 };

extern const struct provider_kind provider_kinds[]; /* a NULL kind ends them */
extern const struct resource dependents_resource;

/* What the Dependent names. How many. */
size_t provider_of(const struct json *dependent, struct provided ret[REFERENCES_MAX]);
const struct json *provider_data(const struct provider_kind *kind, const struct json *object); /* NULL: none */

/* "providers/NAMESPACE/NAME", which out is made to hold. */
struct str provider_key(struct buf *out, const struct provider_kind *kind, struct str namespace, struct str name);
bool provider_parse_key(struct str key, const struct provider_kind **ret_kind, struct str *ret_namespace, struct str *ret_name);

#endif
