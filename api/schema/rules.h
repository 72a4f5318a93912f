/* Rules of schemas in definitions: private to the room. */
#ifndef API_SCHEMA_RULES_H
#define API_SCHEMA_RULES_H

#include "api/model/object.h"
#include "api/schema/instance.h"

/* Which rules hold: what a stored definition violates already is not refused again. */
struct crd_options {
	bool requires_versions; /* one that is known, of conversion reviews */
	bool requires_names;    /* scope and kind stay: the definition is established */
	bool requires_schema;
	bool requires_types; /* OpenAPI's, nothing else */
	bool requires_structural;
	bool requires_pruned; /* defaults */
	bool requires_atomic_sets;
	bool requires_map_keys;
	bool allows_bad_bundle; /* of conversion's certificates */
	struct patterns *patterns; /* the caller's; of the whole definition */
};

/* Nodes that keep their JSON. Return how many errors they have added. */
size_t structural_check(const struct node *n, const struct spot *at, struct field_errors *errors);
size_t defaults_check(const struct node *n, const struct spot *at, bool must_be_pruned, struct field_errors *errors);
void props_check(const struct node *n, const struct crd_options *options, const struct spot *at, struct field_errors *errors);

/* The schema of a field path (".spec.a['b']"); without `brackets` only names behind dots. NULL where it leads nowhere, with the reason
 * in *ret_error. *ret_path, unless NULL, is the path as field.Path prints it. */
const struct node *node_at_path(
	const struct node *n, struct str path, bool brackets, struct arena *a, struct str *ret_path, struct str *ret_error);

/* ---- members of definitions ---- */

/* A member that is not null, or NULL. */
static inline const struct json *crd_member(const struct json *j, const char *name)
{
	const struct json *found = json_gets(j, name);
	return found && found->kind != JSON_NULL ? found : NULL;
}
static inline struct str crd_text(const struct json *j, const char *name)
{
	return json_text(json_gets(j, name));
}
static inline bool crd_is_true(const struct json *j, const char *name)
{
	const struct json *found = json_gets(j, name);
	return json_is(found, JSON_BOOL) && found->boolean;
}
static inline uint32_t crd_count(const struct json *list)
{
	return json_is(list, JSON_ARRAY) ? list->n : 0;
}

/* Where all versions have the same schema, subresources or columns, upstream keeps them once, above the versions. */
struct form {
	const struct json *spec, *versions;
	const struct json *schema, *subresources, *columns, *selectable; /* of all versions, or NULL */
	bool one_schema, one_subresources, one_columns, one_selectable;
	bool preserves; /* spec.preserveUnknownFields */
};

struct form crd_form(const struct object *o);
/* The definition's schemas one after the other, each once. *at: 0 at first. */
const struct json *form_next_schema(const struct form *f, uint32_t *at);
const struct json *form_version(const struct form *f, struct str name); /* NULL: none of that name. f may be NULL */
const struct json *version_schema(const struct json *version);          /* or NULL */
const struct node *schema_node(const struct json *schema, struct patterns *patterns, struct arena *a, struct str *ret_error);
/* old: NULL on create. */
void crd_check_spec(const struct form *f, const struct form *old, struct crd_options options, struct field_errors *e);
void crd_check_names(const struct json *names, struct str path, struct field_errors *e);
void crd_check_conversion(const struct json *conversion, const struct crd_options *options, struct field_errors *e);
void crd_check_choice(struct field_errors *e, struct str path, struct str value, const char *const *choices, size_t n);
struct str crd_lower(struct str s, struct arena *a);

#endif
