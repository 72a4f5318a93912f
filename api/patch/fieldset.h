/* Sets of field paths, as tries (sigs.k8s.io/structured-merge-diff, fieldpath.Set). A path is a sequence of elements: a member of an
 * object, an item of a list known by its keys, by its value, or by its position. "a.b" being in a set says nothing about "a".
 *
 * Sets share parts of each other and live in arenas; all functions but field_set_insert() leave their arguments alone. NULL is
 * the empty set everywhere. */
#ifndef API_PATCH_FIELDSET_H
#define API_PATCH_FIELDSET_H

#include "api/model/schema.h"

enum path_kind { PATH_FIELD, PATH_KEY, PATH_VALUE, PATH_INDEX }; /* in the order of sets */

struct path_element {
	enum path_kind kind;
	struct str text; /* a name; keys as a JSON object sorted by name; a value as JSON; a number */
};

/* A path from its end to its beginning, on the stack of the code that walks an object. */
struct path {
	const struct path *up; /* NULL: this is the first element */
	struct path_element element;
};

struct field_set;

struct field_node {
	struct path_element element;
	bool is_member;             /* the path that ends here is in the set */
	struct field_set *children; /* NULL: none of the paths that lead on from here is */
};

struct field_set {
	struct field_node *v; /* sorted by element, each with a member below it */
	uint32_t n, cap;
};

static inline bool field_set_is_empty(const struct field_set *s)
{
	return !s || s->n == 0;
}

int path_element_cmp(struct path_element a, struct path_element b);
/* ".metadata.labels.app", ".ownerReferences[uid=\"x\"]", as messages show it. */
struct str path_print(const struct path *p, struct arena *a);
/* The element of an item of a LIST_MAP or LIST_SET. False, and why in *ret_error, where the item has none. */
bool path_element_of_item(
	struct path_element *ret, const struct type *list, const struct json *item, struct arena *a, struct str *ret_error);

struct field_set *field_set_new(struct arena *a);
void field_set_insert(struct field_set *s, const struct path *p, struct arena *a); /* p NULL: the root, which no set has */
const struct field_node *field_set_find(const struct field_set *s, struct path_element e);

/* NULL when nothing remains. */
struct field_set *field_set_union(struct field_set *x, struct field_set *y, struct arena *a);
struct field_set *field_set_intersection(const struct field_set *x, const struct field_set *y, struct arena *a);
struct field_set *field_set_difference(struct field_set *x, const struct field_set *y, struct arena *a);
/* Without the named fields and all below them, each as its path: "status", "spec.size"; names ends with NULL, and may be NULL. */
struct field_set *field_set_without(struct field_set *s, const char *const *names, struct arena *a);
/* Where a path leads through a declared field of an object, the field itself is added. */
struct field_set *field_set_with_fields(const struct field_set *s, const struct type *type, struct arena *a);

/* Calls for each path: members of one object before what is below them. */
void field_set_each(const struct field_set *s, void (*each)(void *data, const struct path *p), void *data);

/* metadata.managedFields[].fieldsV1. */
struct json *field_set_to_json(const struct field_set *s, struct arena *a);
bool field_set_from_json(struct field_set **ret, const struct json *in, struct arena *a);

#endif
