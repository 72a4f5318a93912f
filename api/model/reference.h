/* References: an object needs another one to stay, as a Dependent needs the objects in spec.providers.
 *
 * They are kept in an index beside the objects (storage/keys.h). The transactions that write and
 * remove the referring objects also write it. Each reference is shown as a computed field that field
 * selectors can ask for: PREFIX<name>=true, or PREFIX<namespace>/<name>=true where it names one.
 *
 * Dependents' references never change, and their Providers are kept by a finalizer. References that
 * a definition declares (api/custom/declared.h) may change, and what they name cannot be deleted.
 */
#ifndef API_MODEL_REFERENCE_H
#define API_MODEL_REFERENCE_H

#include "base/str.h"

/* The finalizer that keeps an object which is referred to. Objects are born with it; it cannot be taken off while anything refers to them. */
#define FINALIZER_PROTECTION STR("annals.dev/provider-protection")

enum { REFERENCES_MAX = 32 }; /* of one object; a transaction of etcd has 128 operations */

/* The namespace of what is referred to. */
enum reference_scope {
	REFERENCE_BESIDE,  /* that of the referring object; none if it has none */
	REFERENCE_CLUSTER, /* none */
	REFERENCE_NAMED,   /* the reference says */
};

struct reference_field {
	const char *prefix;           /* "spec.providers." */
	const char *group, *resource; /* hub of what is referred to */
	const char *kind; /* "Provider"; NULL: a definition declares the reference, so nothing that it names may go */
	enum reference_scope scope;
};

struct reference {
	const struct reference_field *field;
	struct str name;
	struct str ns; /* where the field says REFERENCE_NAMED */
};

/* own: the namespace of the referring object. */
static inline struct str reference_ns(const struct reference *r, struct str own)
{
	return r->field->scope == REFERENCE_NAMED ? r->ns : r->field->scope == REFERENCE_CLUSTER ? STR("") : own;
}

static inline bool reference_is_declared(const struct reference_field *f)
{
	return !f->kind;
}

/* Do two references of one object name the same thing? */
static inline bool reference_is_same(const struct reference *a, const struct reference *b, struct str own)
{
	return str_is(str_of(a->field->group), b->field->group) && str_is(str_of(a->field->resource), b->field->resource) &&
		str_eq(a->name, b->name) && str_eq(reference_ns(a, own), reference_ns(b, own));
}

static inline bool references_have(const struct reference *list, size_t n, const struct reference *r, struct str own)
{
	for (size_t i = 0; i < n; i++) {
		if (reference_is_same(&list[i], r, own)) {
			return true;
		}
	}
	return false;
}

#endif
