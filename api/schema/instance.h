/* Passes over objects, by node: private to the room. api/schema/schema.h says what each is for. */
#ifndef API_SCHEMA_INSTANCE_H
#define API_SCHEMA_INSTANCE_H

#include "api/schema/node.h"

int node_accept(struct json **ret, const struct node *n, struct json *object, struct arena *a, struct decode_report *report,
	struct str *ret_error);
struct json *node_restore(const struct node *n, struct json *object, struct arena *a);
/* One pass each. is_root: the root counts as an embedded resource. report may be NULL. */
struct json *node_prune(const struct node *n, struct json *j, bool is_root, struct arena *a, struct decode_report *report);
struct json *node_drop_nulls(const struct node *n, struct json *j, struct arena *a);
/* errors get the first malformed metadata. */
struct json *node_coerce(const struct node *n, struct json *j, bool is_root, bool drops_malformed, const struct spot *at,
	struct arena *a, struct decode_report *report, struct field_errors *errors);
struct json *node_default(const struct node *n, struct json *object, struct arena *a);

/* Checks a value; `old` (or NULL) is the one before an update. Paths of errors begin with `parent`. */
void value_validate(
	const struct node *n, const struct json *j, const struct json *old, struct str parent, struct field_errors *errors);
/* Checks apiVersion, kind and metadata of embedded resources. is_root: of the object itself, too. */
void value_validate_embedded(
	const struct node *n, const struct json *j, bool is_root, const struct spot *at, struct field_errors *errors);
/* Refuses what lists that are sets or maps have twice. */
void value_validate_lists(const struct node *n, const struct json *j, const struct spot *at, struct field_errors *errors);
void value_validate_scale(
	const struct schema_scale *scale, bool is_status, const struct json *object, struct field_errors *errors);

/* Ratcheting: the items of a list map before, by their keys (k8s.io/apiserver/pkg/cel/common). All zero: none correspond. */
struct old_items {
	const struct node *node;
	const struct json *list;
	struct map *by_key;
	struct arena *arena;
};
void old_items_init(struct old_items *o, const struct node *n, const struct json *old, struct arena *a);
void old_items_done(struct old_items *o);
const struct json *old_items_find(struct old_items *o, const struct json *item); /* NULL: none */
/* Are both equal, list maps in any order? Members that the schema does not know make them different. */
bool node_is_unchanged(const struct node *n, const struct json *j, const struct json *old, struct arena *a);

#endif
