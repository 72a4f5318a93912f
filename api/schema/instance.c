/* The passes over an object before it is judged: pruning, nulls, metadata of embedded resources, defaults, and the form that is
 * written. Each pass copies on the way down to what it changes, and shares the rest. */
#include "api/schema/instance.h"

#include <assert.h>

struct pass {
	struct arena *arena;
	struct decode_report *report; /* of unknown fields, or NULL */
	bool drops_malformed;         /* metadata of stored objects */
	struct field_errors *errors;  /* gets the first of malformed metadata */
};

/* A copy that may be changed, made at the first change. */
static struct json *changeable(struct pass *p, struct json **copy, struct json *original)
{
	if (*copy == original) {
		*copy = json_copy(p->arena, original);
	}
	return *copy;
}

/* ---- Go's maps have no order, and each name once ---- */

static struct json *sorted(struct pass *p, struct json *j)
{
	struct json *made = j;
	if (j->kind == JSON_ARRAY) {
		for (uint32_t i = 0; i < j->n; i++) {
			struct json *item = sorted(p, j->items[i]);
			if (item != j->items[i]) {
				changeable(p, &made, j)->items[i] = item;
			}
		}
		return made;
	}
	if (j->kind != JSON_OBJECT) {
		return j;
	}
	struct json_member *members;
	uint32_t n;
	value_members(j, p->arena, &members, &n);
	if (members != j->members) {
		made = json_object(p->arena);
		for (uint32_t i = 0; i < n; i++) {
			json_add(p->arena, made, members[i].name, sorted(p, members[i].value));
		}
		return made;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct json *value = sorted(p, members[i].value);
		if (value != members[i].value) {
			changeable(p, &made, j)->members[i].value = value;
		}
	}
	return made;
}

/* ---- pruning ---- */

static bool is_meta_field(struct str name)
{
	return str_is(name, "apiVersion") || str_is(name, "kind") || str_is(name, "metadata");
}

static void report_unknown(struct pass *p, const struct spot *up, struct str name)
{
	if (p->report && p->report->n_strict < DECODE_REPORT_MAX) {
		struct spot at = {.up = up, .name = name, .kind = SPOT_MEMBER};
		decode_report_add(p->report, p->arena,
			arena_printf(p->arena, "unknown field \"" STR_FMT "\"", STR_ARG(spot_text(&at, false, p->arena))));
	}
}

static struct json *prune(struct pass *p, const struct node *n, struct json *j, const struct spot *at);

/* Prunes a value that has x-kubernetes-preserve-unknown-fields: unknown members stay as they are, and
 * known members are pruned by their own schemas. */
static struct json *prune_kept(struct pass *p, const struct node *n, struct json *j, const struct spot *at)
{
	struct json *made = j;
	uint32_t hint = 0;
	for (uint32_t i = 0; j->kind == JSON_OBJECT && i < j->n; i++) {
		struct spot below = {.up = at, .name = j->members[i].name, .kind = SPOT_MEMBER};
		const struct node *property = node_property(n, below.name, &hint);
		if ((n->is_embedded && is_meta_field(below.name)) || (!property && !n->has_additional)) {
			continue;
		}
		struct json *value = prune(p, property ? property : n->additional, j->members[i].value, &below);
		if (value != j->members[i].value) {
			changeable(p, &made, j)->members[i].value = value;
		}
	}
	for (uint32_t i = 0; j->kind == JSON_ARRAY && n->items && i < j->n; i++) {
		struct spot below = {.up = at, .index = i, .kind = SPOT_ITEM};
		struct json *item = prune_kept(p, n->items, j->items[i], &below);
		if (item != j->items[i]) {
			changeable(p, &made, j)->items[i] = item;
		}
	}
	return made;
}

static struct json *prune_object(struct pass *p, const struct node *n, struct json *j, const struct spot *at)
{
	struct json *made = j;
	uint32_t kept = 0, hint = 0;
	for (uint32_t i = 0; i < j->n; i++) {
		struct json_member member = j->members[i];
		struct spot below = {.up = at, .name = member.name, .kind = SPOT_MEMBER};
		const struct node *property = n ? node_property(n, member.name, &hint) : NULL;
		if (n && n->is_embedded && is_meta_field(member.name)) {
			; /* metadata has a pass of its own */
		} else if (property || (n && n->has_additional)) {
			member.value = prune(p, property ? property : n->additional, member.value, &below);
		} else {
			if (at->kind != SPOT_ROOT || !is_meta_field(member.name)) {
				report_unknown(p, at, member.name);
			}
			changeable(p, &made, j);
			continue;
		}
		if (made != j || member.value != j->members[i].value) {
			changeable(p, &made, j)->members[kept] = member;
		}
		kept++;
	}
	if (made != j) {
		made->n = kept;
		made->index = NULL;
	}
	return made;
}

/* n: NULL where the schema says nothing, so that nothing stays in objects. */
static struct json *prune(struct pass *p, const struct node *n, struct json *j, const struct spot *at)
{
	if (j->kind != JSON_OBJECT && j->kind != JSON_ARRAY) {
		return j;
	}
	if (n && n->is_preserving) {
		return prune_kept(p, n, j, at);
	}
	if (j->kind == JSON_OBJECT) {
		return prune_object(p, n, j, at);
	}
	struct json *made = j;
	for (uint32_t i = 0; i < j->n; i++) {
		struct spot below = {.up = at, .index = i, .kind = SPOT_ITEM};
		struct json *item = prune(p, n ? n->items : NULL, j->items[i], &below);
		if (item != j->items[i]) {
			changeable(p, &made, j)->items[i] = item;
		}
	}
	return made;
}

/* ---- nulls that are neither nullable nor defaulted ---- */

static struct json *drop_nulls(struct pass *p, const struct node *n, struct json *j)
{
	struct json *made = j;
	uint32_t kept = 0, hint = 0;
	for (uint32_t i = 0; j->kind == JSON_OBJECT && n && i < j->n; i++) {
		struct json_member member = j->members[i];
		const struct node *below = node_member(n, member.name, &hint);
		if (below && member.value->kind == JSON_NULL && !below->is_nullable && !below->preset) {
			changeable(p, &made, j);
			continue;
		}
		member.value = drop_nulls(p, below, member.value);
		if (made != j || member.value != j->members[i].value) {
			changeable(p, &made, j)->members[kept] = member;
		}
		kept++;
	}
	if (made != j) {
		made->n = kept;
		made->index = NULL;
	}
	for (uint32_t i = 0; j->kind == JSON_ARRAY && n && i < j->n; i++) {
		struct json *item = drop_nulls(p, n->items, j->items[i]);
		if (item != j->items[i]) {
			changeable(p, &made, j)->items[i] = item;
		}
	}
	return made;
}

/* ---- metadata of embedded resources ---- */

static void refuse(struct pass *p, const struct spot *at, const char *child, const struct json *bad, struct str detail)
{
	struct spot below = {.up = at, .name = str_of(child), .kind = SPOT_MEMBER};
	if (!p->errors->n) {
		field_invalid(
			p->errors, spot_text(&below, true, p->arena), value_shown(bad, p->arena), STR_FMT, STR_ARG(detail));
	}
}

/* `unknown field "a.b"` of metadata alone becomes that of the object. */
static void report_metadata(struct pass *p, const struct decode_report *found, const struct spot *at)
{
	struct spot below = {.up = at, .name = STR("metadata"), .kind = SPOT_MEMBER};
	struct str path = spot_text(&below, true, p->arena);
	for (size_t i = 0; i < found->n_strict; i++) {
		struct str head, tail;
		if (str_cut(found->strict[i], '"', &head, &tail) && tail.n) {
			decode_report_add(p->report, p->arena,
				arena_printf(p->arena, "unknown field \"" STR_FMT "." STR_FMT "\"", STR_ARG(path),
					(int)tail.n - 1, tail.p));
		}
	}
}

static struct json *decode_metadata_each(struct pass *p, const struct json *metadata)
{
	struct json *kept = json_object(p->arena), *made;
	for (uint32_t i = 0; i < metadata->n; i++) {
		struct json *one = json_object(p->arena);
		struct str error = {0};
		json_add(p->arena, one, metadata->members[i].name, metadata->members[i].value);
		if (schema_decode(&made, &type_embedded_meta, one, p->arena, NULL, &error) == 0) {
			for (uint32_t k = 0; k < made->n; k++) {
				json_add(p->arena, kept, made->members[k].name, made->members[k].value);
			}
		}
	}
	return kept;
}

/* As Go reads ObjectMeta and writes it again. Returns metadata itself when there is nothing to change. */
static struct json *coerce_metadata(struct pass *p, struct json *metadata, const struct spot *at)
{
	struct decode_report found = {0};
	struct json *made = NULL;
	struct str error = {0};
	if (metadata->kind == JSON_NULL) {
		return json_object(p->arena);
	}
	if (schema_decode(&made, &type_embedded_meta, metadata, p->arena, p->report ? &found : NULL, &error) == 0) {
		if (p->report) {
			report_metadata(p, &found, at);
		}
		made = sorted(p, made);
		return json_equal(made, metadata) ? metadata : made;
	}
	if (p->drops_malformed) {
		return metadata->kind == JSON_OBJECT ? sorted(p, decode_metadata_each(p, metadata)) : metadata;
	}
	refuse(p, at, "metadata", metadata, error);
	return metadata;
}

static struct json *coerce_member(struct pass *p, const struct json_member *member, const struct spot *at)
{
	if (str_is(member->name, "metadata")) {
		return coerce_metadata(p, member->value, at);
	}
	if (member->value->kind == JSON_STRING) {
		return member->value;
	}
	if (p->drops_malformed) {
		return NULL;
	}
	refuse(p, at, str_is(member->name, "kind") ? "kind" : "apiVersion", member->value, STR("must be a string"));
	return member->value;
}

static struct json *coerce(struct pass *p, const struct node *n, struct json *j, const struct spot *at)
{
	struct json *made = j;
	uint32_t kept = 0, hint = 0;
	if (!n || (!n->has_embedded && !n->is_embedded)) {
		return j;
	}
	for (uint32_t i = 0; j->kind == JSON_OBJECT && i < j->n; i++) {
		struct json_member member = j->members[i];
		if (n->is_embedded && is_meta_field(member.name)) {
			member.value = coerce_member(p, &member, at);
		}
		if (!member.value) {
			changeable(p, &made, j);
			continue;
		}
		bool is_property = node_property(n, member.name, &(uint32_t){hint}) != NULL;
		struct spot below = {.up = at, .name = member.name, .kind = is_property ? SPOT_MEMBER : SPOT_KEY};
		member.value = coerce(p, node_member(n, member.name, &hint), member.value, &below);
		if (made != j || member.value != j->members[i].value) {
			changeable(p, &made, j)->members[kept] = member;
		}
		kept++;
	}
	if (made != j) {
		made->n = kept;
		made->index = NULL;
	}
	for (uint32_t i = 0; j->kind == JSON_ARRAY && i < j->n; i++) {
		struct spot below = {.up = at, .index = i, .kind = SPOT_ITEM};
		struct json *item = coerce(p, n->items, j->items[i], &below);
		if (item != j->items[i]) {
			changeable(p, &made, j)->items[i] = item;
		}
	}
	return made;
}

/* ---- defaults ---- */

static struct json *set_defaults(struct pass *p, const struct node *n, struct json *j);

static bool takes_default(const struct node *n, const struct json *value)
{
	return n && value->kind == JSON_NULL && !n->is_nullable;
}

/* Defaults of absent members, in their places: the object's members are sorted, and so are properties. */
static struct json *add_defaults(struct pass *p, const struct node *n, struct json *j)
{
	struct json *made = NULL;
	uint32_t at = 0;
	for (uint32_t i = 0; i < n->n_properties; i++) {
		const struct node_property *property = &n->properties[i];
		if (!property->node->preset || json_get(j, property->name)) {
			continue;
		}
		if (!made) {
			made = json_object(p->arena);
		}
		while (at < j->n && str_cmp(j->members[at].name, property->name) < 0) {
			json_add(p->arena, made, j->members[at].name, j->members[at].value);
			at++;
		}
		json_add(p->arena, made, property->name, (struct json *)property->node->preset);
	}
	for (; made && at < j->n; at++) {
		json_add(p->arena, made, j->members[at].name, j->members[at].value);
	}
	return made ? made : j;
}

static struct json *default_value(struct pass *p, const struct node *n, struct json *value, bool is_property)
{
	if (takes_default(n, value)) {
		if (n->preset) {
			value = (struct json *)n->preset;
		} else if (!is_property) {
			value = json_null(p->arena);
		}
	}
	return set_defaults(p, n, value);
}

static struct json *set_defaults(struct pass *p, const struct node *n, struct json *j)
{
	if (!n || !n->has_defaults) {
		return j;
	}
	if (j->kind == JSON_OBJECT) {
		struct json *given = add_defaults(p, n, j), *made = given;
		uint32_t hint = 0;
		for (uint32_t i = 0; i < given->n; i++) {
			struct json_member member = given->members[i];
			const struct node *property = node_property(n, member.name, &hint);
			struct json *value =
				default_value(p, property ? property : n->additional, member.value, property != NULL);
			if (value != member.value) {
				changeable(p, &made, given)->members[i].value = value;
			}
		}
		return made;
	}
	struct json *made = j;
	for (uint32_t i = 0; j->kind == JSON_ARRAY && i < j->n; i++) {
		struct json *item = default_value(p, n->items, j->items[i], false);
		if (item != j->items[i]) {
			changeable(p, &made, j)->items[i] = item;
		}
	}
	return made;
}

/* ---- numbers as Go writes them ---- */

static struct json *respell(struct pass *p, struct json *j)
{
	struct json *made = j;
	if (j->kind == JSON_NUMBER) {
		struct value v = value_of(j);
		struct str text =
			v.kind == VALUE_INT ? json_text(json_int(p->arena, v.integer)) : go_float_json(v.number, p->arena);
		return str_eq(text, json_text(j)) ? j : json_number(p->arena, text);
	}
	for (uint32_t i = 0; j->kind == JSON_OBJECT && i < j->n; i++) {
		struct json *value = respell(p, j->members[i].value);
		if (value != j->members[i].value) {
			changeable(p, &made, j)->members[i].value = value;
		}
	}
	for (uint32_t i = 0; j->kind == JSON_ARRAY && i < j->n; i++) {
		struct json *item = respell(p, j->items[i]);
		if (item != j->items[i]) {
			changeable(p, &made, j)->items[i] = item;
		}
	}
	return made;
}

/* ---- the passes ---- */

/* The root is an embedded resource in all but metadata, which its owner decodes. */
static struct node as_root(const struct node *n)
{
	struct node root = *n;
	root.is_embedded = true;
	return root;
}

static struct json *node_settle(struct pass *p, const struct node *n, struct json *object)
{
	struct decode_report pruned = {0}, coerced = {0}, *wanted = p->report;
	const struct spot root = {.kind = SPOT_ROOT};
	struct node first = as_root(n);
	object = sorted(p, object);
	p->report = wanted ? &pruned : NULL;
	object = prune(p, &first, object, &root);
	object = drop_nulls(p, n, object);
	p->report = wanted ? &coerced : NULL;
	object = coerce(p, n, object, &root);
	if (wanted) {
		str_sort(pruned.strict, pruned.n_strict);
		str_sort(coerced.strict, coerced.n_strict);
		for (size_t i = 0; i < pruned.n_strict; i++) {
			decode_report_add(wanted, p->arena, pruned.strict[i]);
		}
		for (size_t i = 0; i < coerced.n_strict; i++) {
			decode_report_add(wanted, p->arena, coerced.strict[i]);
		}
	}
	p->report = wanted;
	return object;
}

int node_accept(struct json **ret, const struct node *n, struct json *object, struct arena *a, struct decode_report *report,
	struct str *ret_error)
{
	struct field_errors errors;
	assert(object->kind == JSON_OBJECT);
	field_errors_init(&errors, a);
	struct pass p = {.arena = a, .report = report, .errors = &errors};
	object = node_settle(&p, n, object);
	if (errors.n) {
		*ret_error = field_error_text(&errors.v[0], a);
		return 1;
	}
	*ret = object;
	return 0;
}

struct json *node_restore(const struct node *n, struct json *object, struct arena *a)
{
	assert(object->kind == JSON_OBJECT);
	struct pass p = {.arena = a, .drops_malformed = true};
	return node_settle(&p, n, object);
}

struct json *node_prune(const struct node *n, struct json *j, bool is_root, struct arena *a, struct decode_report *report)
{
	struct pass p = {.arena = a, .report = report};
	const struct spot root = {.kind = SPOT_ROOT};
	struct node first = as_root(n);
	return prune(&p, is_root ? &first : n, sorted(&p, j), &root);
}

struct json *node_drop_nulls(const struct node *n, struct json *j, struct arena *a)
{
	struct pass p = {.arena = a};
	return drop_nulls(&p, n, j);
}

struct json *node_coerce(const struct node *n, struct json *j, bool is_root, bool drops_malformed, const struct spot *at,
	struct arena *a, struct decode_report *report, struct field_errors *errors)
{
	struct field_errors found;
	field_errors_init(&found, a);
	struct pass p = {.arena = a, .drops_malformed = drops_malformed, .report = report, .errors = &found};
	struct node first = as_root(n);
	j = coerce(&p, is_root ? &first : n, sorted(&p, j), at);
	field_errors_add_below(errors, (struct str){0}, (struct str){0}, &found);
	return j;
}

struct json *node_default(const struct node *n, struct json *object, struct arena *a)
{
	struct pass p = {.arena = a};
	return n->has_defaults ? set_defaults(&p, n, sorted(&p, object)) : object;
}

struct json *schema_normal(struct json *object, struct arena *a)
{
	struct pass p = {.arena = a};
	return respell(&p, sorted(&p, object));
}
