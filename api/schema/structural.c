/* Is a schema structural, and may it stand in a definition? Upstream's apiserver/schema (validation.go, complete.go), its defaulting's
 * validation, and the part of apis/apiextensions/validation that looks at JSONSchemaProps. Texts and paths are the same.
 *
 * Schemas here keep their JSON: several rules ask for members that mean nothing to objects. */
#include "api/schema/rules.h"

#include <assert.h>
#include <stdlib.h>

/* ---- small things ---- */

static struct str path_of(struct field_errors *e, const struct spot *at, const char *child)
{
	struct spot below = {.up = at, .name = str_of(child), .kind = SPOT_MEMBER};
	return spot_text(child ? &below : at, true, e->arena);
}

static struct spot child_of(const struct spot *at, const char *name)
{
	return (struct spot){.up = at, .name = str_of(name), .kind = SPOT_MEMBER};
}

static struct spot key_of(const struct spot *at, struct str name)
{
	return (struct spot){.up = at, .name = name, .kind = SPOT_KEY};
}

static struct spot item_of(const struct spot *at, size_t i)
{
	return (struct spot){.up = at, .index = i, .kind = SPOT_ITEM};
}

static struct str text_of(const struct node *n, const char *name)
{
	return json_text(json_gets(n->json, name));
}

/* Is the member there, and not what Go takes for nothing? */
static bool is_set(const struct json *j)
{
	if (!j) {
		return false;
	}
	switch (j->kind) {
	case JSON_NULL:
		return false;
	case JSON_BOOL:
		return j->boolean;
	case JSON_NUMBER:
		return true;
	default:
		return j->n > 0;
	}
}

static struct str type_of(const struct node *n)
{
	return text_of(n, "type");
}

/* ---- structural: invariants ---- */

enum level { LEVEL_ROOT, LEVEL_ITEM, LEVEL_FIELD };

static void check_nested(const struct node *n, bool skips_any, enum level level, const struct spot *at, struct field_errors *e);

/* {"type": NAME}, and nothing else. */
static bool is_bare_type(const struct node *n, const char *type)
{
	for (uint32_t i = 0; i < n->json->n; i++) {
		const struct json_member *m = &n->json->members[i];
		if (is_set(m->value) && !str_is(m->name, "type")) {
			return false;
		}
	}
	return str_is(type_of(n), type);
}

static bool is_int_or_string(const struct node_list_of *any)
{
	return any->n == 2 && is_bare_type(any->v[0], "integer") && is_bare_type(any->v[1], "string");
}

static void check_values(const struct node *n, bool skips_any, bool skips_first_all, enum level level, const struct spot *at,
	struct field_errors *e)
{
	const struct node_checks *c = n->checks;
	struct spot any = child_of(at, "anyOf"), all = child_of(at, "allOf"), one = child_of(at, "oneOf"),
		    not = child_of(at, "not");
	if (!c) {
		return;
	}
	for (size_t i = 0; i < c->any.n && !skips_any; i++) {
		struct spot below = item_of(&any, i);
		check_nested(c->any.v[i], false, level, &below, e);
	}
	for (size_t i = 0; i < c->all.n; i++) {
		struct spot below = item_of(&all, i);
		check_nested(c->all.v[i], skips_first_all && i == 0, level, &below, e);
	}
	for (size_t i = 0; i < c->one.n; i++) {
		struct spot below = item_of(&one, i);
		check_nested(c->one.v[i], false, level, &below, e);
	}
	if (c->not ) {
		check_nested(c->not, false, level, &not, e);
	}
	const char *error = c->pattern ? pattern_error(c->pattern) : NULL;
	if (error) {
		field_invalid_str(e, path_of(e, at, "pattern"), c->pattern_text,
			"must be a valid regular expression, but isn't: %s", error);
	}
}

/* Members that a schema within allOf and its like must not have, and the words for it. */
static void check_nested(const struct node *n, bool skips_any, enum level level, const struct spot *at, struct field_errors *e)
{
	static const struct {
		const char *name, *text;
	} forbidden[] = {
		{"type", "must be empty to be structural"},
		{"default", "must be undefined to be structural"},
		{"title", "must be empty to be structural"},
		{"description", "must be empty to be structural"},
		{"nullable", "must be false to be structural"},
		{"x-kubernetes-preserve-unknown-fields", "must be false to be structural"},
		{"x-kubernetes-embedded-resource", "must be false to be structural"},
		{"x-kubernetes-int-or-string", "must be false to be structural"},
		{"x-kubernetes-list-map-keys", "must be empty to be structural"},
		{"x-kubernetes-list-type", "must be undefined to be structural"},
		{"x-kubernetes-map-type", "must be undefined to be structural"},
		{"x-kubernetes-validations", "must be empty to be structural"},
	};
	struct spot items = child_of(at, "items"), properties = child_of(at, "properties");
	uint32_t hint = 0;
	check_values(n, skips_any, false, level, at, e);
	if (n->items) {
		check_nested(n->items, false, level, &items, e);
	}
	for (uint32_t i = 0; i < n->n_properties; i++) {
		struct spot below = key_of(&properties, n->properties[i].name);
		check_nested(n->properties[i].node, false, LEVEL_FIELD, &below, e);
	}
	if (n->has_additional && n->allows_additional) {
		field_forbidden(e, path_of(e, at, "additionalProperties"), "must be undefined to be structural");
	}
	for (size_t i = 0; i < ARRAY_SIZE(forbidden); i++) {
		const struct json *member = json_gets(n->json, forbidden[i].name);
		/* A default of nothing is a default, an empty text of a pointer is one, too. */
		bool is_pointer = member && member->kind != JSON_NULL &&
			(str_is(str_of(forbidden[i].name), "default") || member->kind == JSON_STRING);
		if (is_set(member) || (is_pointer && (i == 1 || i == 9 || i == 10))) {
			field_forbidden(e, path_of(e, at, forbidden[i].name), "%s", forbidden[i].text);
		}
	}
	if (node_property(n, STR("metadata"), &hint)) {
		struct spot below = key_of(&properties, STR("metadata"));
		field_forbidden(e, path_of(e, &below, NULL), "must not be specified in a nested context");
	}
}

/* At the root, metadata may restrict name and generateName, and nothing else. */
static bool restricts_names_only(const struct node *metadata)
{
	uint32_t hint = 0;
	uint32_t n_known = (node_property(metadata, STR("name"), &hint) != NULL) +
		(uint32_t)(node_property(metadata, STR("generateName"), &hint) != NULL);
	if (metadata->n_properties != n_known) {
		return false;
	}
	for (uint32_t i = 0; i < metadata->json->n; i++) {
		const struct json_member *m = &metadata->json->members[i];
		bool is_free = str_is(m->name, "type") || str_is(m->name, "default") || str_is(m->name, "properties");
		bool is_given = is_set(m->value) || (str_is(m->name, "additionalProperties") && m->value->kind != JSON_NULL);
		if (!is_free && is_given) {
			return false;
		}
	}
	return true;
}

static void check_metadata(
	const struct node *n, bool checks_type, enum level level, const struct spot *at, struct field_errors *e)
{
	if (checks_type && n->type != NODE_OBJECT) {
		field_invalid_str(e, path_of(e, at, "type"), type_of(n), "must be object");
	}
	if (level == LEVEL_ROOT && !restricts_names_only(n)) {
		field_forbidden(e, path_of(e, at, NULL),
			"must not specify anything other than name and generateName, but metadata is implicitly specified");
	}
}

/* Rules of types, of x-kubernetes-embedded-resource and of x-kubernetes-int-or-string. */
static void check_kind(const struct node *n, enum level level, const struct spot *at, struct field_errors *e)
{
	static const char *const missing[] = {
		[LEVEL_ROOT] = "must not be empty at the root",
		[LEVEL_ITEM] = "must not be empty for specified array items",
		[LEVEL_FIELD] = "must not be empty for specified object fields",
	};
	static const char text_embedded[] = "must be object if x-kubernetes-embedded-resource is true";
	struct str type = type_of(n), type_path = path_of(e, at, "type");
	if (n->is_int_or_string && n->is_preserving) {
		field_invalid(e, path_of(e, at, "x-kubernetes-preserve-unknown-fields"), json_bool(e->arena, true),
			"must be false if x-kubernetes-int-or-string is true");
	}
	if (n->is_int_or_string && n->is_embedded) {
		field_invalid(e, path_of(e, at, "x-kubernetes-embedded-resource"), json_bool(e->arena, true),
			"must be false if x-kubernetes-int-or-string is true");
	}
	if (n->is_embedded && n->type != NODE_OBJECT) {
		if (!type.n) {
			field_required(e, type_path, "%s", text_embedded);
		} else {
			field_invalid_str(e, type_path, type, "%s", text_embedded);
		}
	} else if (!type.n && !n->is_int_or_string && !n->is_preserving) {
		field_required(e, type_path, "%s", missing[level]);
	}
	if (n->is_embedded && n->has_additional) {
		field_forbidden(
			e, path_of(e, at, "additionalProperties"), "must not be used if x-kubernetes-embedded-resource is set");
	}
	if (level == LEVEL_ROOT && type.n && n->type != NODE_OBJECT) {
		field_invalid_str(e, type_path, type, "must be object at the root");
	}
	if (n->is_embedded && !n->is_preserving && !n->n_properties) {
		field_required(e, path_of(e, at, "properties"),
			"must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields");
	}
}

static void check_text_property(const struct node *n, const char *name, const struct spot *properties, struct field_errors *e)
{
	uint32_t hint = 0;
	const struct node *property = node_property(n, str_of(name), &hint);
	if (property && property->type != NODE_STRING) {
		struct spot below = key_of(properties, str_of(name));
		field_invalid_str(e, path_of(e, &below, "type"), type_of(property), "must be string");
	}
}

static void check_invariants(const struct node *n, enum level level, const struct spot *at, struct field_errors *e)
{
	struct spot items = child_of(at, "items"), properties = child_of(at, "properties"),
		    additional = child_of(at, "additionalProperties");
	bool checks_metadata = level == LEVEL_ROOT || n->is_embedded;
	uint32_t hint = 0;
	if (n->type == NODE_ARRAY && !n->items) {
		field_required(e, path_of(e, at, "items"), "must be specified");
	}
	if (n->items) {
		check_invariants(n->items, LEVEL_ITEM, &items, e);
	}
	for (uint32_t i = 0; i < n->n_properties; i++) {
		struct spot below = key_of(&properties, n->properties[i].name);
		check_invariants(n->properties[i].node, LEVEL_FIELD, &below, e);
	}
	if (n->has_additional && level == LEVEL_ROOT) {
		field_forbidden(e, path_of(e, at, "additionalProperties"), "must not be used at the root");
	}
	if (n->additional) {
		check_invariants(n->additional, LEVEL_FIELD, &additional, e);
	}
	const struct node_checks *c = n->checks;
	bool skips_any = c && is_int_or_string(&c->any);
	bool skips_first = c && c->all.n && c->all.v[0]->checks && is_int_or_string(&c->all.v[0]->checks->any);
	check_values(n, skips_any, skips_first, level, at, e);
	check_kind(n, level, at, e);
	if (checks_metadata) {
		check_text_property(n, "kind", &properties, e);
		check_text_property(n, "apiVersion", &properties, e);
	}
	const struct node *metadata = node_property(n, STR("metadata"), &hint);
	if (metadata) {
		struct spot below = key_of(&properties, STR("metadata"));
		check_metadata(metadata, checks_metadata, level, &below, e);
	}
}

/* ---- structural: each part that is validated is specified ---- */

static void check_complete(const struct node *value, const struct node *n, const struct spot *n_at, const struct spot *value_at,
	struct field_errors *e);

static void check_complete_nested(const struct node *value, const struct node *n, const struct spot *n_at,
	const struct spot *value_at, struct field_errors *e)
{
	if (!value) {
		return;
	}
	if (!n) {
		field_required(
			e, path_of(e, n_at, NULL), "because it is defined in " STR_FMT, STR_ARG(path_of(e, value_at, NULL)));
		return;
	}
	struct spot n_items = child_of(n_at, "items"), value_items = child_of(value_at, "items"),
		    n_properties = child_of(n_at, "properties"), value_properties = child_of(value_at, "properties");
	uint32_t hint = 0;
	check_complete(value, n, n_at, value_at, e);
	check_complete_nested(value->items, n->items, &n_items, &value_items, e);
	for (uint32_t i = 0; i < value->n_properties; i++) {
		struct str name = value->properties[i].name;
		struct spot n_below = key_of(&n_properties, name), value_below = key_of(&value_properties, name);
		check_complete_nested(value->properties[i].node, node_property(n, name, &hint), &n_below, &value_below, e);
	}
}

static void check_complete(const struct node *value, const struct node *n, const struct spot *n_at, const struct spot *value_at,
	struct field_errors *e)
{
	const struct node_checks *c = value->checks;
	struct spot not = child_of(value_at, "not");
	if (!c) {
		return;
	}
	check_complete_nested(c->not, n, n_at, &not, e);
	const struct node_list_of *lists[] = {&c->all, &c->any, &c->one};
	const char *const names[] = {"allOf", "anyOf", "oneOf"};
	for (size_t k = 0; k < ARRAY_SIZE(lists); k++) {
		struct spot list = child_of(value_at, names[k]);
		for (size_t i = 0; i < lists[k]->n; i++) {
			struct spot below = item_of(&list, i);
			check_complete_nested(lists[k]->v[i], n, n_at, &below, e);
		}
	}
}

/* Upstream sorts these errors by their texts. */
struct sorted_error {
	struct str text;
	struct field_error error;
};

static int cmp_errors(const void *a, const void *b)
{
	const struct sorted_error *x = a, *y = b;
	return str_cmp(x->text, y->text);
}

static void errors_sort(struct field_errors *e)
{
	struct sorted_error *sorted = arena_array(e->arena, struct sorted_error, e->n + 1);
	for (size_t i = 0; i < e->n; i++) {
		sorted[i] = (struct sorted_error){field_error_text(&e->v[i], e->arena), e->v[i]};
	}
	qsort(sorted, e->n, sizeof(*sorted), cmp_errors);
	for (size_t i = 0; i < e->n; i++) {
		e->v[i] = sorted[i].error;
	}
}

size_t structural_check(const struct node *n, const struct spot *at, struct field_errors *errors)
{
	struct field_errors found;
	field_errors_init(&found, errors->arena);
	check_invariants(n, LEVEL_ROOT, at, &found);
	check_complete(n, n, at, at, &found);
	errors_sort(&found);
	field_errors_add_below(errors, (struct str){0}, (struct str){0}, &found);
	return found.n;
}

/* ---- defaults ---- */

struct defaults {
	const struct node *root; /* the definition's, or that of the embedded resource around */
	struct field_errors *errors;
	bool must_be_pruned;
	size_t n_found;
};

/* The object of the root in which `value` is at `inner`: {"metadata":{"labels":VALUE}}. `inner` ends at `outer`. */
static struct json *surround(const struct spot *inner, const struct spot *outer, struct json *value, struct arena *a)
{
	for (const struct spot *at = inner; at != outer; at = at->up) {
		struct json *around = at->kind == SPOT_ITEM ? json_array(a) : json_object(a);
		if (at->kind == SPOT_ITEM) {
			json_append(a, around, value);
		} else {
			json_add(a, around, at->name, value);
		}
		value = around;
	}
	if (!json_gets(value, "kind")) {
		json_add(a, value, STR("kind"), json_string(a, STR("Validation")));
	}
	if (!json_gets(value, "apiVersion")) {
		json_add(a, value, STR("apiVersion"), json_string(a, STR("validation/v1")));
	}
	return value;
}

/* As field.ErrorList's aggregate prints several errors. */
static struct str aggregate(const struct field_errors *e)
{
	struct buf out;
	buf_init(&out, TEXT_MAX);
	for (size_t i = 0; i < e->n; i++) {
		buf_adds(&out, i ? ", " : "");
		buf_add_str(&out, field_error_text(&e->v[i], e->arena));
	}
	struct str text =
		e->n > 1 ? arena_printf(e->arena, "[" STR_FMT "]", STR_ARG(buf_str(&out))) : arena_dup(e->arena, buf_str(&out));
	buf_done(&out);
	return text;
}

static void check_default_in_metadata(
	struct defaults *d, const struct node *n, const struct spot *at, const struct spot *inner, const struct spot *outer)
{
	struct field_errors found, *e = d->errors;
	const struct spot top = {.kind = SPOT_ROOT};
	struct str path = path_of(e, at, "default");
	const struct json *shown = value_shown(n->preset, e->arena);
	struct json *object = surround(inner, outer, (struct json *)n->preset, e->arena);
	field_errors_init(&found, e->arena);
	node_coerce(d->root, object, true, false, &top, e->arena, NULL, &found);
	if (!found.n) {
		value_validate_embedded(d->root, object, true, &top, &found);
	}
	if (found.n) {
		field_invalid(e, path, shown, "must result in valid metadata: " STR_FMT, STR_ARG(aggregate(&found)));
		return;
	}
	value_validate(n, n->preset, NULL, path, e);
}

static void check_default(struct defaults *d, const struct node *n, const struct spot *at)
{
	struct field_errors *e = d->errors;
	struct spot place = child_of(at, "default");
	struct json *preset = (struct json *)n->preset;
	bool is_root = n->is_embedded;
	if (d->must_be_pruned && !value_equal(node_prune(n, preset, is_root, e->arena, NULL), preset)) {
		field_invalid(e, path_of(e, &place, NULL), value_shown(preset, e->arena), "must not have unknown fields");
	}
	size_t before = e->n;
	node_coerce(n, preset, is_root, false, &place, e->arena, NULL, e);
	if (e->n == before) {
		value_validate_embedded(n, preset, is_root, &place, e);
	}
	if (e->n == before) {
		value_validate(n, preset, NULL, path_of(e, &place, NULL), e);
	}
}

/* inner: the place of a value within the object of `outer`; at: that of the schema. */
static void check_defaults(struct defaults *d, const struct node *n, const struct spot *at, const struct spot *inner,
	const struct spot *outer, bool is_in_metadata)
{
	const struct node *root = d->root;
	if (!n->has_defaults) {
		return;
	}
	if (n->is_embedded) {
		is_in_metadata = false;
		outer = inner;
		d->root = n;
	}
	if (n->preset && is_in_metadata) {
		check_default_in_metadata(d, n, at, inner, outer);
	} else if (n->preset) {
		check_default(d, n, at);
	}
	if (n->items) {
		struct spot items = child_of(at, "items"), below = item_of(inner, 0);
		check_defaults(d, n->items, &items, &below, outer, is_in_metadata);
	}
	struct spot properties = child_of(at, "properties");
	bool is_object = n->is_embedded || inner->kind == SPOT_ROOT;
	for (uint32_t i = 0; i < n->n_properties; i++) {
		struct str name = n->properties[i].name;
		struct spot property = key_of(&properties, name), below = {.up = inner, .name = name, .kind = SPOT_MEMBER};
		bool is_meta = is_object && (str_is(name, "metadata") || str_is(name, "apiVersion") || str_is(name, "kind"));
		check_defaults(d, n->properties[i].node, &property, &below, outer, is_in_metadata || is_meta);
	}
	d->root = root;
}

size_t defaults_check(const struct node *n, const struct spot *at, bool must_be_pruned, struct field_errors *errors)
{
	struct defaults d = {.root = n, .errors = errors, .must_be_pruned = must_be_pruned};
	const struct spot top = {.kind = SPOT_ROOT};
	size_t before = errors->n;
	check_defaults(&d, n, at, &top, &top, false);
	return errors->n - before;
}

/* ---- JSONSchemaProps ---- */

/* The rules that hold at a place in a schema. */
struct props {
	const struct crd_options *options;
	const char *no_defaults; /* why defaults are forbidden here, or NULL */
	bool is_in_meta;         /* of the object or of an embedded resource */
};

static void check_props(const struct node *n, bool is_root, struct props p, const struct spot *at, struct field_errors *e);

static bool is_given(const struct node *n, const char *name)
{
	const struct json *j = json_gets(n->json, name);
	return j && j->kind != JSON_NULL;
}

/* Members that JSONSchemaProps has, and no definition may use. */
static void check_forbidden(const struct node *n, struct props p, const struct spot *at, struct field_errors *e)
{
	static const char *const types[] = {"array", "boolean", "integer", "number", "object", "string"};
	struct str type = type_of(n);
	if (p.options->requires_types && type.n && n->type == NODE_ODD) {
		field_not_supported(e, path_of(e, at, "type"), type, types, ARRAY_SIZE(types));
	}
	if (n->preset && p.no_defaults) {
		field_forbidden(e, path_of(e, at, "default"), "must not be set %s", p.no_defaults);
	}
	if (text_of(n, "id").n) {
		field_forbidden(e, path_of(e, at, "id"), "id is not supported");
	}
	if (is_given(n, "additionalItems")) {
		field_forbidden(e, path_of(e, at, "additionalItems"), "additionalItems is not supported");
	}
	if (is_set(json_gets(n->json, "patternProperties"))) {
		field_forbidden(e, path_of(e, at, "patternProperties"), "patternProperties is not supported");
	}
	if (is_set(json_gets(n->json, "definitions"))) {
		field_forbidden(e, path_of(e, at, "definitions"), "definitions is not supported");
	}
	if (is_set(json_gets(n->json, "dependencies"))) {
		field_forbidden(e, path_of(e, at, "dependencies"), "dependencies is not supported");
	}
	if (is_given(n, "$ref")) {
		field_forbidden(e, path_of(e, at, "$ref"), "$ref is not supported");
	}
	if (str_is(type, "null")) {
		field_forbidden(e, path_of(e, at, "type"), "type cannot be set to null, use nullable as an alternative");
	}
	const struct json *items = json_gets(n->json, "items");
	if (json_is(items, JSON_ARRAY) && items->n) {
		field_forbidden(e, path_of(e, at, "items"), "items must be a schema object and not an array");
	}
	if (p.is_in_meta && n->is_embedded) {
		field_forbidden(
			e, path_of(e, at, "x-kubernetes-embedded-resource"), "must not be used inside of resource meta");
	}
	if (n->checks && n->checks->flags & CHECK_UNIQUE) {
		field_forbidden(e, path_of(e, at, "uniqueItems"),
			"uniqueItems cannot be set to true since the runtime complexity becomes quadratic");
	}
}

static void check_children(const struct node *n, bool is_root, struct props p, const struct spot *at, struct field_errors *e)
{
	struct spot properties = child_of(at, "properties");
	if (n->has_additional) {
		struct spot additional = child_of(at, "additionalProperties");
		if (n->n_properties && (!n->allows_additional || n->additional)) {
			field_forbidden(
				e, path_of(e, &additional, NULL), "additionalProperties and properties are mutual exclusive");
		}
		struct props below = p;
		if (p.is_in_meta) {
			below.no_defaults = "inside additionalProperties applying to object metadata";
		}
		if (n->additional) {
			check_props(n->additional, false, below, &additional, e);
		}
	}
	for (uint32_t i = 0; i < n->n_properties; i++) {
		struct str name = n->properties[i].name;
		struct spot property = key_of(&properties, name);
		struct props below = p;
		bool is_meta = str_is(name, "metadata") || str_is(name, "kind") || str_is(name, "apiVersion");
		if ((is_root || n->is_embedded) && is_meta) {
			below.is_in_meta = true;
			if (is_root) {
				below.no_defaults = str_is(name, "metadata") ? "in top-level metadata"
					: str_is(name, "kind")               ? "in top-level kind"
									     : "in top-level apiVersion";
			}
		}
		check_props(n->properties[i].node, false, below, &property, e);
	}
	if (n->checks) {
		const struct node_checks *c = n->checks;
		struct spot not = child_of(at, "not");
		if (c->not ) {
			check_props(c->not, false, p, &not, e);
		}
		const struct node_list_of *lists[] = {&c->all, &c->one, &c->any};
		const char *const names[] = {"allOf", "oneOf", "anyOf"};
		for (size_t k = 0; k < ARRAY_SIZE(lists); k++) {
			struct spot list = child_of(at, names[k]);
			for (size_t i = 0; i < lists[k]->n; i++) {
				struct spot below = item_of(&list, i);
				check_props(lists[k]->v[i], false, p, &below, e);
			}
		}
	}
	if (n->items) {
		struct spot items = child_of(at, "items");
		check_props(n->items, false, p, &items, e);
	}
}

/* Lists that are sets need items that are one thing each. */
static void check_set_items(const struct node *n, const struct spot *at, struct field_errors *e)
{
	static const char text[] = "must be atomic as item of a list with x-kubernetes-list-type=set";
	struct spot items = child_of(at, "items");
	const struct json *list_type = json_gets(n->items->json, "x-kubernetes-list-type");
	if (n->items->type == NODE_ARRAY && n->items->list != NODE_LIST_NONE && n->items->list != NODE_LIST_ATOMIC) {
		field_invalid(e, path_of(e, &items, "x-kubernetes-list-type"), list_type, "%s", text);
	}
	if (n->items->type == NODE_OBJECT && n->items->map != NODE_MAP_ATOMIC) {
		field_invalid(e, path_of(e, &items, "x-kubernetes-map-type"), list_type, "%s", text);
	}
}

static void check_map_keys(const struct node *n, const struct spot *at, struct field_errors *e)
{
	struct spot items = child_of(at, "items"), properties = child_of(&items, "properties");
	struct str keys_path = path_of(e, at, "x-kubernetes-list-map-keys");
	const struct json *keys = json_gets(n->json, "x-kubernetes-list-map-keys"), *item_schemas = json_gets(n->json, "items");
	uint32_t hint = 0;
	if (!n->list_keys) {
		field_required(e, keys_path, "must not be empty if x-kubernetes-list-type is map");
	}
	if (!n->items) {
		if (json_is(item_schemas, JSON_ARRAY)) {
			field_invalid(e, path_of(e, at, "items"), item_schemas,
				"must only have a single schema if x-kubernetes-list-type is map");
		} else {
			field_required(e, path_of(e, at, "items"), "must have a schema if x-kubernetes-list-type is map");
		}
		return;
	}
	if (n->items->type != NODE_OBJECT) {
		field_invalid_str(e, path_of(e, &items, "type"), type_of(n->items),
			"must be object if parent array's x-kubernetes-list-type is map");
		return;
	}
	for (size_t i = 0; n->list_keys && i < n->list_keys->n; i++) {
		struct str key = n->list_keys->v[i];
		const struct node *property = node_property(n->items, key, &hint);
		if (!property) {
			field_invalid(e, keys_path, keys, "entries must all be names of item properties");
		} else if (property->type == NODE_ARRAY || property->type == NODE_OBJECT) {
			struct spot below = key_of(&properties, key);
			field_invalid_str(e, path_of(e, &below, "type"), type_of(n->items),
				"must be a scalar type if parent array's x-kubernetes-list-type is map");
		}
		for (size_t k = 0; k < i; k++) {
			if (str_eq(key, n->list_keys->v[k])) {
				field_invalid(e, keys_path, keys, "must not contain duplicate entries");
				break;
			}
		}
	}
}

static bool is_required(const struct node *n, struct str name)
{
	for (size_t i = 0; n->checks && i < n->checks->required.n; i++) {
		if (str_eq(n->checks->required.v[i], name)) {
			return true;
		}
	}
	return false;
}

/* Items of sets and maps are no nulls, and keys of maps are always there. */
static void check_keys_are_there(const struct node *n, const struct spot *at, struct field_errors *e)
{
	struct spot items = child_of(at, "items"), properties = child_of(&items, "properties");
	uint32_t hint = 0;
	if (!n->items || (n->list != NODE_LIST_SET && n->list != NODE_LIST_MAP)) {
		return;
	}
	if (n->items->is_nullable) {
		field_forbidden(e, path_of(e, &items, "nullable"), "cannot be nullable when x-kubernetes-list-type is %s",
			n->list == NODE_LIST_SET ? "set" : "map");
	}
	for (size_t i = 0; n->list == NODE_LIST_MAP && n->list_keys && i < n->list_keys->n; i++) {
		struct str key = n->list_keys->v[i];
		const struct node *property = node_property(n->items, key, &hint);
		struct spot below = key_of(&properties, key);
		if (property && !is_required(n->items, key) && !property->preset) {
			field_required(e, path_of(e, &below, "default"),
				"this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property");
		}
		if (property && property->is_nullable) {
			field_forbidden(e, path_of(e, &below, "nullable"),
				"this property is in x-kubernetes-list-map-keys, so it cannot be nullable");
		}
	}
}

/* Checks x-kubernetes-preserve-unknown-fields, -map-type, -list-type and -list-map-keys. */
static void check_extensions(const struct node *n, struct props p, const struct spot *at, struct field_errors *e)
{
	static const char *const maps[] = {"atomic", "granular"}, *const lists[] = {"atomic", "set", "map"};
	static const char text_map[] = "must be object if x-kubernetes-map-type is specified",
			  text_list[] = "must be array if x-kubernetes-list-type is specified",
			  text_keys[] = "must be map if x-kubernetes-list-map-keys is non-empty";
	const struct json *preserve = json_gets(n->json, "x-kubernetes-preserve-unknown-fields");
	struct str type = type_of(n), list = text_of(n, "x-kubernetes-list-type"), map = text_of(n, "x-kubernetes-map-type");
	if (json_is(preserve, JSON_BOOL) && !preserve->boolean) {
		field_invalid(e, path_of(e, at, "x-kubernetes-preserve-unknown-fields"), preserve, "must be true or undefined");
	}
	if (n->map && n->type != NODE_OBJECT) {
		if (!type.n) {
			field_required(e, path_of(e, at, "type"), "%s", text_map);
		} else {
			field_invalid_str(e, path_of(e, at, "type"), type, "%s", text_map);
		}
	}
	if (n->map == NODE_MAP_ODD) {
		field_not_supported(e, path_of(e, at, "x-kubernetes-map-type"), map, maps, ARRAY_SIZE(maps));
	}
	if (n->list && n->type != NODE_ARRAY) {
		if (!type.n) {
			field_required(e, path_of(e, at, "type"), "%s", text_list);
		} else {
			field_invalid_str(e, path_of(e, at, "type"), type, "%s", text_list);
		}
	} else if (p.options->requires_atomic_sets && n->list == NODE_LIST_SET && n->items) {
		check_set_items(n, at, e);
	}
	if (n->list == NODE_LIST_ODD) {
		field_not_supported(e, path_of(e, at, "x-kubernetes-list-type"), list, lists, ARRAY_SIZE(lists));
	}
	if (n->list_keys && !n->list) {
		field_required(e, path_of(e, at, "x-kubernetes-list-type"), "%s", text_keys);
	} else if (n->list_keys && n->list != NODE_LIST_MAP) {
		field_invalid_str(e, path_of(e, at, "x-kubernetes-list-type"), list, "%s", text_keys);
	}
	if (n->list == NODE_LIST_MAP) {
		check_map_keys(n, at, e);
	}
	if (p.options->requires_map_keys) {
		check_keys_are_there(n, at, e);
	}
}

static bool has_line_break(struct str s)
{
	return s.n && (memchr(s.p, '\n', s.n) || memchr(s.p, '\r', s.n));
}

/* The form of x-kubernetes-validations. The rules themselves are not judged: this server does not evaluate them. */
static void check_rules(const struct node *n, const struct spot *at, struct field_errors *e)
{
	static const char *const reasons[] = {
		"FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"};
	const struct json *rules = json_gets(n->json, "x-kubernetes-validations");
	struct spot list = child_of(at, "x-kubernetes-validations");
	for (uint32_t i = 0; json_is(rules, JSON_ARRAY) && i < rules->n; i++) {
		struct spot below = item_of(&list, i);
		const struct json *reason = json_gets(rules->items[i], "reason");
		struct str rule = str_trim(json_text(json_gets(rules->items[i], "rule"))),
			   message = json_text(json_gets(rules->items[i], "message")),
			   expression = json_text(json_gets(rules->items[i], "messageExpression")),
			   path = json_text(json_gets(rules->items[i], "fieldPath"));
		if (!rule.n) {
			field_required(e, path_of(e, &below, "rule"), "rule is not specified");
		} else if (message.n && !str_trim(message).n) {
			field_invalid_str(e, path_of(e, &below, "message"), message, "must be non-empty if specified");
		} else if (has_line_break(str_trim(message))) {
			field_invalid_str(e, path_of(e, &below, "message"), message, "must not contain line breaks");
		} else if (has_line_break(rule) && !message.n) {
			field_required(
				e, path_of(e, &below, "message"), "message must be specified if rule contains line breaks");
		}
		if (expression.n && !str_trim(expression).n) {
			field_required(
				e, path_of(e, &below, "messageExpression"), "messageExpression must be non-empty if specified");
		}
		bool is_known = !json_is(reason, JSON_STRING);
		for (size_t k = 0; k < ARRAY_SIZE(reasons); k++) {
			is_known |= str_is(json_text(reason), reasons[k]);
		}
		if (!is_known) {
			field_not_supported(e, path_of(e, &below, "reason"), json_text(reason), reasons, ARRAY_SIZE(reasons));
		}
		if (path.n && !str_trim(path).n) {
			field_invalid_str(e, path_of(e, &below, "fieldPath"), path, "must be non-empty if specified");
		}
		if (has_line_break(path)) {
			field_invalid_str(e, path_of(e, &below, "fieldPath"), path, "must not contain line breaks");
		}
		struct str error = {0};
		if (path.n && !node_unsupported(n) && !node_at_path(n, path, true, e->arena, NULL, &error)) {
			field_invalid_str(e, path_of(e, &below, "fieldPath"), path, "must be a valid path");
		}
	}
}

static void check_props(const struct node *n, bool is_root, struct props p, const struct spot *at, struct field_errors *e)
{
	check_forbidden(n, p, at, e);
	check_children(n, is_root, p, at, e);
	check_extensions(n, p, at, e);
	check_rules(n, at, e);
}

void props_check(const struct node *n, const struct crd_options *options, const struct spot *at, struct field_errors *errors)
{
	check_props(n, true, (struct props){.options = options}, at, errors);
}
