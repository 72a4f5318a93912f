/* Values seen through their type, as field ownership sees them (sigs.k8s.io/structured-merge-diff, typed): objects and maps by member,
 * lists by key or value, everything atomic as one leaf. Fields that nobody can own (FIELD_UNOWNED) are merged but in no set.
 *
 * All take normal form (schema_decode) or what typed_validate() made of an applied object: members in the order of the schema, keys of
 * maps sorted. */
#ifndef API_PATCH_TYPED_H
#define API_PATCH_TYPED_H

#include "api/patch/fieldset.h"

struct comparison {
	struct field_set *added, *modified, *removed; /* NULL: empty */
};

void typed_compare(
	struct comparison *ret, const struct type *t, const struct json *before, const struct json *after, struct arena *a);

/* The fields of a value: the ones that its applier owns. */
struct field_set *typed_fields(const struct type *t, const struct json *j, struct arena *a);

/* Puts an applied object in order. 0; or 1 and why it does not fit its type, all of it in one text. */
int typed_validate(struct json **ret, const struct type *t, const struct json *applied, struct arena *a, struct str *ret_error);

/* `live` with what `applied` says. Items of lists keep live's order but where applied says another. */
struct json *typed_merge(const struct type *t, struct json *live, struct json *applied, struct arena *a);

/* Without the fields in the set; NULL when nothing is left, null for a member of which nothing is left. */
struct json *typed_remove(const struct type *t, struct json *j, const struct field_set *set, struct arena *a);

#endif
