/* The objects that Dependents name in spec.providers, as controllers see them: kinds,
 * references, and keys for queues and maps. */
#ifndef CONTROLLERS_DEPENDENTS_PROVIDER_REFERENCES_H
#define CONTROLLERS_DEPENDENTS_PROVIDER_REFERENCES_H

#include "api/model/reference.h"
#include "client/item.h"
#include "client/rest.h"

/* A kind whose objects a Dependent may name. */
struct provider_kind {
	const char *kind;         /* "Provider" */
	struct resource resource; /* providers of annals.dev/v1 */
	/* a computed field without the name, "spec.providers.": selects the Dependents that
	 * refer to an object */
	const char *field;
	const char *const *data; /* path to the provided data in an object: names of members, NULL-terminated */
	bool is_constant;        /* the data never changes: one read is enough */
};

/* An object that a Dependent names, in the Dependent's namespace. */
struct provided {
	const struct provider_kind *kind;
	struct str name;
};

/* Bytes of a kind, a namespace and a name as one key: DNS names, so 600 bytes. */
enum { PROVIDED_KEY_MAX = 4096 };

extern const struct provider_kind provider_kinds[]; /* a NULL kind ends them */
extern const struct resource dependents_resource;

/* Lists the objects that the Dependent names. Returns how many. */
size_t provider_of(const struct json *dependent, struct provided ret[REFERENCES_MAX]);
const struct json *provider_data(const struct provider_kind *kind, const struct json *object); /* NULL: none */

/* Writes "providers/NAMESPACE/NAME" into out. */
struct str provider_key(struct buf *out, const struct provider_kind *kind, struct str namespace, struct str name);
bool provider_parse_key(struct str key, const struct provider_kind **ret_kind, struct str *ret_namespace, struct str *ret_name);

#endif
