/* References: an object needs another one of its namespace to stay, as a Dependent needs the
 * objects in spec.providers.
 *
 * References never change. They are kept in an index beside the objects (storage/keys.h). The
 * transactions that create and remove the referring objects also write it. Each reference is shown
 * as a computed field that field selectors can ask for: PREFIX<name>=true.
 */
#ifndef API_MODEL_REFERENCE_H
#define API_MODEL_REFERENCE_H

#include "base/str.h"

/* The finalizer that keeps an object which is referred to. Objects are born with it; it cannot be taken off while anything refers to them. */
#define FINALIZER_PROTECTION STR("annals.dev/provider-protection")

enum { REFERENCES_MAX = 32 }; /* of one object; a transaction of etcd has 128 operations */

struct reference_field {
	const char *prefix;           /* "spec.providers." */
	const char *group, *resource; /* hub of what is referred to */
	const char *kind;             /* "Provider" */
};

struct reference {
	const struct reference_field *field;
	struct str name;
};

#endif
