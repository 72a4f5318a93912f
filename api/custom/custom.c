/* Makes the kind of a definition. Everything that requests need is made once and kept: names,
 * columns, paths, compiled schemas. The definition's own JSON is not kept, since the cache has it. */
#include "api/custom/custom.h"

#include "api/custom/declared.h"
#include "api/custom/definition.h"
#include "api/custom/jsonpath.h"
#include "api/custom/publish.h"
#include "api/model/members.h"
#include "api/rules/selector.h"
#include "api/rules/spec_status.h"
#include "api/schema/schema.h"
#include "api/workload/scale.h"
#include "base/clock.h"

#include <assert.h>
#include <stdio.h>

enum {
	CUSTOM_MEMORY_MAX = 8 << 20, /* bytes of names, paths and columns: a definition has at most 3 MiB of text */
};

/* The subresource scale of a version, as which it shows its own members. */
struct custom_scale {
	struct view view;
	const struct version *version;
	const struct jsonpath *replicas, *status_replicas, *selector; /* selector NULL: there is none */
	struct schema_scale paths;
	struct str *steps; /* names of members: where the scale is written */
	size_t n_steps;
};

struct custom_version {
	struct schema *schema; /* NULL: nothing is pruned or refused */
	bool has_status;
	const struct custom_scale *scale; /* NULL: there is none */
	struct column *columns;
	const struct jsonpath **paths; /* of the columns; NULL: the name, or the age */
	size_t n_columns;
};

struct custom {
	struct kind kind;
	struct kind_life life;
	struct arena arena;
	int64_t generation;
	struct str accepted;             /* status.acceptedNames, as text */
	struct custom_version *versions; /* as kind.versions */
	const struct jsonpath **selectable; /* as kind.selectable */
	struct declared declared;
};

static const struct custom *custom_of(const struct kind *k)
{
	assert(k->life);
	return (const struct custom *)(const void *)((const char *)k - offsetof(struct custom, kind));
}

static const struct custom_version *custom_version_of(const struct kind *k, const struct version *v)
{
	const struct custom *c = custom_of(k);

	assert(v >= k->versions && v < k->versions + k->n_versions);
	return &c->versions[v - k->versions];
}

static void custom_free(struct kind *k)
{
	struct custom *c = (struct custom *)(uintptr_t)(const void *)custom_of(k);

	for (size_t i = 0; i < k->n_versions; i++) {
		schema_unref(c->versions[i].schema);
	}
	arena_done(&c->arena);
	mem_free(c);
}

/* ---- objects ---- */

/* The members that every kind has; the others are the schema's. */
static const struct type type_custom_head = {
	.kind = TYPE_OBJECT,
	.fields = (const struct field[]){OBJECT_FIELDS, {NULL, NULL, 0, NULL, NULL, NULL}},
};

/* The type by which patches and field ownership see an object without a schema: the fields of every
 * object, and any others. Managers own the members of an object one by one, and a list as a whole. */
static const struct type type_custom_open = {
	.kind = TYPE_OBJECT,
	.fields = (const struct field[]){OBJECT_FIELDS, {NULL, NULL, 0, NULL, NULL, NULL}},
	.elem = &type_any,
};

static bool is_head(struct str name)
{
	return str_is(name, "kind") || str_is(name, "apiVersion") || str_is(name, "metadata");
}

/* A copy of the head or of the rest of an object. */
static struct json *part_of(const struct json *in, bool wants_head, struct arena *a)
{
	struct json *out = json_object(a);

	for (uint32_t i = 0; json_is(in, JSON_OBJECT) && i < in->n; i++) {
		if (is_head(in->members[i].name) == wants_head) {
			json_add(a, out, in->members[i].name, in->members[i].value);
		}
	}
	return out;
}

/* The head of one object with the rest of the other. */
static struct json *with_fields_of(const struct json *head, const struct json *rest, struct arena *a)
{
	struct json *out = part_of(head, true, a);

	for (uint32_t i = 0; i < rest->n; i++) {
		if (!is_head(rest->members[i].name)) {
			json_add(a, out, rest->members[i].name, rest->members[i].value);
		}
	}
	return out;
}

static int custom_normalize(struct json **ret, const struct kind *k, const struct version *v, const struct json *in,
	struct arena *a, struct decode_report *report, struct str *ret_error)
{
	const struct custom_version *cv = custom_version_of(k, v);
	struct json *head, *whole = json_object(a);

	if (schema_decode(&head, &type_custom_head, part_of(in, true, a), a, report, ret_error)) {
		return 1;
	}
	json_add(a, whole, STR("apiVersion"), json_string(a, version_api_version(v, a)));
	json_add(a, whole, STR("kind"), json_string(a, str_of(k->kind)));
	json_add(a, whole, STR("metadata"), json_gets(head, "metadata"));
	struct json *rest = part_of(in, false, a);
	for (uint32_t i = 0; i < rest->n; i++) {
		json_add(a, whole, rest->members[i].name, rest->members[i].value);
	}
	if (cv->schema) {
		if (schema_accept(&whole, cv->schema, whole, a, report, ret_error)) {
			return 1;
		}
		whole = schema_default(cv->schema, whole, a);
	}
	struct json *metadata = json_object(a);
	json_add(a, metadata, STR("metadata"), json_gets(head, "metadata"));
	*ret = with_fields_of(metadata, whole, a);
	return 0;
}

/* Ownership follows the list and map types of the version's schema. */
static const struct type *custom_type_of(const struct kind *k, const struct version *v)
{
	const struct schema *s = custom_version_of(k, v)->schema;

	return s ? schema_type(s) : &type_custom_open;
}

static struct json *restore_by(const struct schema *s, struct json *object, struct arena *a)
{
	return s ? schema_default(s, schema_restore(s, object, a), a) : object;
}

/* First as the version that it was stored in, which may be a former storage version, then as the present one: so it is shown as
 * the next write would store it. With a hook, versions have nothing in common: the version that it is in decides. */
static struct json *custom_restore(const struct kind *k, const struct json *stored, struct arena *a)
{
	const struct version *v = kind_version(k, json_text(json_gets(stored, "apiVersion")));
	struct json *in = (struct json *)(uintptr_t)stored;

	if (v && k->hook) {
		return restore_by(custom_version_of(k, v)->schema, in, a);
	}
	if (v && v->is_narrowed) {
		in = restore_by(custom_version_of(k, v)->schema, in, a);
	}
	return restore_by(custom_of(k)->versions[k->storage_version].schema, in, a);
}

static struct json *custom_narrow(const struct kind *k, const struct version *v, const struct json *whole, struct arena *a)
{
	const struct schema *s = custom_version_of(k, v)->schema;
	struct json *in = (struct json *)(uintptr_t)whole;

	return s ? with_fields_of(whole, schema_restore(s, in, a), a) : in;
}

static const struct version *shown_version(const struct object *o)
{
	return o->kind->hook ? object_form(o) : o->version ? o->version : kind_storage_version(o->kind);
}

/* Fields that the storage version does not know go, and its defaults come. They would come with the next reading, and a write
 * that changes nothing must find what it would write. */
static void custom_settle(struct object *o, struct arena *a)
{
	const struct version *v = kind_storage_version(o->kind);

	if (shown_version(o)->is_narrowed) {
		struct json *whole = restore_by(custom_version_of(o->kind, v)->schema, object_to_json(o, v, a), a);
		o->fields = part_of(whole, false, a);
	}
	o->fields = schema_normal(o->fields, a);
}

/* ---- rules ---- */

/* The parts that rules look at: the schema of the version that is shown, and the scale. No schema: there are no rules. */
struct judged {
	const struct schema *schema;
	const struct schema_scale *scale;
	const struct version *version;
};

static bool judged_of(struct judged *ret, const struct object *o)
{
	const struct custom_version *cv = custom_version_of(o->kind, shown_version(o));

	ret->version = shown_version(o);
	ret->schema = cv->schema;
	ret->scale = cv->scale ? &cv->scale->paths : NULL;
	return ret->schema != NULL;
}

static void custom_validate(const struct object *o, struct field_errors *errors)
{
	struct judged j;

	if (judged_of(&j, o)) {
		schema_validate(j.schema, j.scale, object_to_json(o, j.version, errors->arena), errors);
	}
	declared_check_references(&custom_of(o->kind)->declared, o, errors);
}

static void custom_validate_update(const struct object *o, const struct object *old, struct field_errors *errors)
{
	struct judged j;

	if (judged_of(&j, o)) {
		schema_validate_update(j.schema, j.scale, object_to_json(o, j.version, errors->arena),
			object_to_json(old, j.version, errors->arena), errors);
	}
	declared_check(&custom_of(o->kind)->declared, o, old, errors);
	declared_check_references(&custom_of(o->kind)->declared, o, errors);
}

static void custom_validate_status(const struct object *o, const struct object *old, struct field_errors *errors)
{
	struct judged j;

	if (judged_of(&j, o)) {
		schema_validate_status(j.schema, j.scale, object_to_json(o, j.version, errors->arena),
			object_to_json(old, j.version, errors->arena), errors);
	}
}

static bool has_status(const struct object *o)
{
	return custom_version_of(o->kind, shown_version(o))->has_status;
}

static bool has_same_fields(const struct json *mine, const struct json *other, bool is_status_ignored)
{
	for (uint32_t i = 0; i < mine->n; i++) {
		struct str name = mine->members[i].name;
		const struct json *same = json_get(other, name);
		if (!(is_status_ignored && str_is(name, "status")) && (!same || !json_equal(mine->members[i].value, same))) {
			return false;
		}
	}
	return true;
}

/* Both as the version shows them through which the new one was sent: fields that it does not know are no change. */
static bool custom_bumps_generation(const struct object *o, const struct object *old)
{
	const struct version *v = shown_version(o);
	bool is_status_ignored = has_status(o);
	const struct json *is = o->fields, *was = old->fields;
	_cleanup_(arena_done) struct arena a;

	arena_init(&a, SIZE_MAX / 2);
	if (v->is_narrowed) {
		is = part_of(object_to_json(o, v, &a), false, &a);
		was = part_of(object_to_json(old, v, &a), false, &a);
	}
	return !has_same_fields(is, was, is_status_ignored) || !has_same_fields(was, is, is_status_ignored);
}

static void set_status(struct object *o, struct json *status, struct arena *a)
{
	o->fields = json_copy(a, o->fields);
	json_remove(o->fields, STR("status"));
	if (status) {
		json_add(a, o->fields, STR("status"), status);
	}
}

static void custom_prepare_create(struct object *o, struct arena *a)
{
	if (has_status(o)) {
		set_status(o, NULL, a);
	}
}

/* The stored fields as the version shows them, with its defaults: a client that sends them back has changed nothing. */
static const struct json *seen_fields(const struct object *stored, const struct version *v, struct arena *a)
{
	const struct schema *s = custom_version_of(stored->kind, v)->schema;

	return v->is_narrowed && s ? part_of(schema_default(s, object_to_json(stored, v, a), a), false, a) : stored->fields;
}

static void custom_prepare_update(struct object *o, const struct object *old, struct arena *a)
{
	const struct custom *c = custom_of(o->kind);

	if (has_status(o)) {
		set_status(o, object_status(old), a);
	}
	if (c->declared.n_immutable > 0) {
		declared_keep(&c->declared, o, old->fields, seen_fields(old, shown_version(o), a), a);
	}
}

static void custom_merge_status(struct object *stored, const struct object *sent, struct arena *a)
{
	set_status(stored, object_status(sent), a);
	stored->version = sent->version;
}

/* ---- references ---- */

static size_t custom_references(const struct object *o, struct reference ret[REFERENCES_MAX])
{
	return declared_references(&custom_of(o->kind)->declared, o, ret);
}

static bool custom_needs_references(const struct object *o _unused_)
{
	return true;
}

static size_t custom_needs(
	const struct object *o, const struct object *old, struct need ret[NEEDS_MAX], struct arena *a _unused_)
{
	return declared_needs(&custom_of(o->kind)->declared, o, old, ret);
}

/* ---- the subresource scale ---- */

static void add_count(struct json *out, const struct jsonpath *path, const struct json *whole, struct arena *a)
{
	const struct json *n = path ? jsonpath_first(path, whole) : NULL;
	int64_t count = 0;

	json_to_int64(n, &count);
	json_add(a, out, STR("replicas"), json_int(a, count));
}

static const struct custom_scale *scale_of(const struct view *v)
{
	return (const struct custom_scale *)(const void *)((const char *)v - offsetof(struct custom_scale, view));
}

static struct json *scale_show(const struct view *v, const struct object *o, struct arena *a)
{
	const struct custom_scale *c = scale_of(v);
	const struct json *whole = object_to_json(o, c->version, a), *selector;
	struct json *fields = json_object(a), *spec = json_object(a), *status = json_object(a);
	int64_t replicas = 0;

	json_to_int64(jsonpath_first(c->replicas, whole), &replicas);
	if (replicas) {
		json_add(a, spec, STR("replicas"), json_int(a, replicas));
	}
	add_count(status, c->status_replicas, whole, a);
	selector = c->selector ? jsonpath_first(c->selector, whole) : NULL;
	json_add_text(a, status, STR("selector"), json_text(selector));
	json_add(a, fields, STR("spec"), spec);
	json_add(a, fields, STR("status"), status);
	return fields;
}

static void scale_take(const struct view *v, struct object *o, const struct object *sent, struct arena *a)
{
	const struct custom_scale *c = scale_of(v);

	o->fields =
		object_with_member(o->fields, c->steps, c->n_steps, json_int(a, member_int(object_spec(sent), "replicas")), a);
}

/* ---- columns ---- */

static void write_integer(const struct json *j, struct buf *out)
{
	int64_t n;

	if (json_to_int64(j, &n)) {
		buf_add_int(out, n);
	} else {
		buf_adds(out, "null");
	}
}

static void write_text(const struct json *j, struct buf *out)
{
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, (size_t)4 << 20);
	if (json_is(j, JSON_STRING)) {
		json_encode_string(out, json_text(j));
		return;
	}
	json_encode(&text, j);
	json_encode_string(out, buf_str(&text));
}

static void write_date(const struct json *j, int64_t now_s, struct buf *out)
{
	int64_t us;

	if (!json_is(j, JSON_STRING)) {
		buf_adds(out, "null");
	} else if (time_parse_rfc3339(json_text(j), &us)) {
		column_write_since(json_text(j), now_s, out);
	} else {
		json_encode_string(out, STR("<invalid>"));
	}
}

static void custom_write_cell(const struct object *o, const struct version *v, size_t column, int64_t now_s, struct buf *out)
{
	const struct custom_version *cv = custom_version_of(o->kind, v);
	const struct column *c = &cv->columns[column];
	_cleanup_(arena_done) struct arena a;

	arena_init(&a, SIZE_MAX / 2);
	if (c->cell) {
		c->cell(o, now_s, out);
		return;
	}
	const struct json *j = jsonpath_first(cv->paths[column], object_to_json(o, v, &a));
	if (!j || j->kind == JSON_NULL) {
		buf_adds(out, "null");
	} else if (str_is(str_of(c->type), "date")) {
		write_date(j, now_s, out);
	} else if (str_is(str_of(c->type), "integer")) {
		write_integer(j, out);
	} else if (str_is(str_of(c->type), "number")) {
		buf_adds(out, json_is(j, JSON_NUMBER) ? "" : "null");
		if (json_is(j, JSON_NUMBER)) {
			json_encode(out, j);
		}
	} else if (str_is(str_of(c->type), "boolean")) {
		buf_adds(out, json_is(j, JSON_BOOL) ? (j->boolean ? "true" : "false") : "null");
	} else {
		write_text(j, out);
	}
}

static const struct column *custom_columns_of(const struct kind *k, const struct version *v, size_t *ret_n)
{
	const struct custom_version *cv = custom_version_of(k, v);

	*ret_n = cv->n_columns;
	return cv->columns;
}

/* ---- selectable fields ---- */

/* A version that names a field has it in its schema. So it shows the value that is stored, and versions share the field. */
static struct str custom_select(const struct object *o, size_t field, struct arena *a)
{
	const struct jsonpath *path = custom_of(o->kind)->selectable[field];
	const struct json *j = jsonpath_first(path, object_to_json(o, kind_storage_version(o->kind), a));

	if (json_is(j, JSON_BOOL)) {
		return j->boolean ? STR("true") : STR("false");
	}
	return json_is(j, JSON_STRING) || json_is(j, JSON_NUMBER) ? json_text(j) : STR("");
}

/* ---- making a kind ---- */

struct maker {
	struct custom *c;
	struct arena *a; /* the kind's */
	const struct json *spec, *names;
};

static const char *keep(struct maker *m, struct str s)
{
	char *text = arena_text(m->a, s.n + 1);

	memcpy(text, s.n ? s.p : "", s.n);
	text[s.n] = '\0';
	return text;
}

static const char *keep_name(struct maker *m, const char *name)
{
	return keep(m, member_text(m->names, name));
}

/* NULL-terminated, or NULL where there are none. */
static const char *const *keep_list(struct maker *m, const char *name)
{
	const struct json *list = json_gets(m->names, name);
	uint32_t n = json_is(list, JSON_ARRAY) ? list->n : 0;
	const char **v = arena_zalloc_array(m->a, (size_t)n + 1, sizeof(*v));

	for (uint32_t i = 0; i < n; i++) {
		v[i] = keep(m, json_text(list->items[i]));
	}
	return n ? v : NULL;
}

static void make_version_rules(struct maker *m, struct custom_version *cv, const struct json *in)
{
	static const struct column first = COLUMN_NAME, age = {"Age", "date", "", COLUMN_AGE_TEXT, 0, column_write_age, false};
	const struct json *columns = json_gets(in, "additionalPrinterColumns");
	const struct json *schema = json_gets(json_gets(in, "schema"), "openAPIV3Schema");
	uint32_t n = json_is(columns, JSON_ARRAY) ? columns->n : 0;
	struct arena scratch;
	struct str problem;

	arena_init(&scratch, SIZE_MAX / 2);
	if (!schema || schema_compile(&cv->schema, schema, &scratch, &problem)) {
		cv->schema = NULL;
	}
	arena_done(&scratch);
	cv->columns = arena_zalloc_array(m->a, (size_t)n + 2, sizeof(*cv->columns));
	cv->paths = arena_zalloc_array(m->a, (size_t)n + 2, sizeof(*cv->paths));
	cv->columns[cv->n_columns++] = first;
	if (n == 0) {
		cv->columns[cv->n_columns++] = age;
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct json *c = columns->items[i];
		cv->paths[cv->n_columns] = jsonpath_parse(member_text(c, "jsonPath"), m->a);
		cv->columns[cv->n_columns++] = (struct column){
			.name = keep(m, member_text(c, "name")),
			.type = keep(m, member_text(c, "type")),
			.format = keep(m, member_text(c, "format")),
			.doc = keep(m, member_text(c, "description")),
			.priority = (int)member_int(c, "priority"),
		};
	}
}

/* Upstream's words, where the definition has none. */
static const char *deprecation_of(struct maker *m, const struct json *in)
{
	struct str text = member_text(in, "deprecationWarning");

	if (!member_is_true(in, "deprecated")) {
		return NULL;
	}
	return keep(m,
		text.n ? text
		       : arena_printf(m->a, STR_FMT "/" STR_FMT " " STR_FMT " is deprecated",
				 STR_ARG(member_text(m->spec, "group")), STR_ARG(member_text(in, "name")),
				 STR_ARG(member_text(m->names, "kind"))));
}

/* "com.example.v1.Widget": the group's labels come in reverse, as upstream names types. */
static const char *definition_name(struct maker *m, const struct version *v)
{
	struct str rest = str_of(v->group), label;
	struct str reversed = STR("");

	while (rest.n > 0) {
		str_cut(rest, '.', &label, &rest);
		reversed = reversed.n ? arena_printf(m->a, STR_FMT "." STR_FMT, STR_ARG(label), STR_ARG(reversed)) : label;
	}
	return keep(m, arena_printf(m->a, STR_FMT ".%s.%s", STR_ARG(reversed), v->name, m->c->kind.kind));
}

static void make_version(struct maker *m, struct version *v, struct custom_version *cv, const struct json *in)
{
	*v = (struct version){
		.group = keep(m, member_text(m->spec, "group")),
		.name = keep(m, member_text(in, "name")),
		.is_unserved = !member_is_true(in, "served"),
		.deprecation = deprecation_of(m, in),
	};
	v->definition = definition_name(m, v);
	cv->has_status = json_gets(json_gets(in, "subresources"), "status") != NULL;
	v->reset_fields = cv->has_status ? resets_status : NULL;
	v->is_narrowed = !m->c->kind.hook &&
		!json_equal(json_gets(in, "schema"), json_gets(definition_stored_version(m->spec), "schema"));
	m->c->kind.narrow = v->is_narrowed ? custom_narrow : m->c->kind.narrow;
	make_version_rules(m, cv, in);
}

/* The version that is stored comes first: its group and resource name the key. */
static bool make_versions(struct maker *m)
{
	const struct json *in = json_gets(m->spec, "versions"), *each;
	struct kind *k = &m->c->kind;
	uint32_t n = json_is(in, JSON_ARRAY) ? in->n : 0;
	struct version *versions = arena_zalloc_array(m->a, (size_t)n + 1, sizeof(*versions));

	m->c->versions = arena_zalloc_array(m->a, (size_t)n + 1, sizeof(*m->c->versions));
	k->versions = versions;
	for (int wants_stored = 1; wants_stored >= 0; wants_stored--) {
		for (uint32_t i = 0; (each = list_item(in, i)); i++) {
			if (member_is_true(each, "storage") == (bool)wants_stored && k->n_versions < KIND_VERSIONS_MAX) {
				make_version(m, &versions[k->n_versions], &m->c->versions[k->n_versions], each);
				k->n_versions++;
			}
		}
	}
	return k->n_versions > 0 && k->n_versions == n;
}

static size_t selectable_find(const struct kind *k, const char *path)
{
	size_t i = 0;

	while (i < k->n_selectable && strcmp(k->selectable[i].path, path)) {
		i++;
	}
	return i;
}

/* With a webhook, the cache knows the stored form alone. */
static const struct json *selectable_spec(const struct maker *m, const struct version *v)
{
	return json_gets(m->c->kind.hook ? definition_stored_version(m->spec) : definition_version(m->spec, str_of(v->name)),
		"selectableFields");
}

/* A field of several versions is listed once: each object in the cache keeps a value for each. */
static void make_selectable(struct maker *m)
{
	struct kind *k = &m->c->kind;
	size_t max = 0;

	for (size_t v = 0; v < k->n_versions; v++) {
		const struct json *in = selectable_spec(m, &k->versions[v]);
		max += json_is(in, JSON_ARRAY) ? in->n : 0;
	}
	struct selectable_field *fields = arena_zalloc_array(m->a, max + 1, sizeof(*fields));
	uint32_t *at_versions = arena_zalloc_array(m->a, max + 1, sizeof(*at_versions));
	m->c->selectable = arena_zalloc_array(m->a, max + 1, sizeof(*m->c->selectable));
	k->selectable = fields;
	k->selectable_at = at_versions;
	for (size_t v = 0; v < k->n_versions; v++) {
		const struct json *in = selectable_spec(m, &k->versions[v]), *each;
		for (uint32_t i = 0; (each = list_item(in, i)); i++) {
			struct str path = member_text(each, "jsonPath");
			const char *name = keep(m, str_starts(path, STR(".")) ? (struct str){path.p + 1, path.n - 1} : path);
			size_t at = selectable_find(k, name);
			if (at == k->n_selectable) {
				m->c->selectable[at] = jsonpath_parse(path, m->a);
				fields[k->n_selectable++].path = name;
			}
			at_versions[at] |= UINT32_C(1) << v;
		}
	}
}

/* NULL where the path to the replicas leads nowhere. */
static const struct custom_scale *make_scale(struct maker *m, const struct version *v, const struct json *in)
{
	struct custom_scale *c = arena_zalloc(m->a, sizeof(*c));
	struct str rest, step;

	c->version = v;
	c->paths = (struct schema_scale){
		.spec_replicas = arena_dup(m->a, member_text(in, "specReplicasPath")),
		.status_replicas = arena_dup(m->a, member_text(in, "statusReplicasPath")),
		.label_selector = arena_dup(m->a, member_text(in, "labelSelectorPath")),
	};
	c->replicas = jsonpath_parse(c->paths.spec_replicas, m->a);
	c->status_replicas = jsonpath_parse(c->paths.status_replicas, m->a);
	c->selector = c->paths.label_selector.n ? jsonpath_parse(c->paths.label_selector, m->a) : NULL;
	rest = c->paths.spec_replicas;
	c->steps = arena_zalloc_array(m->a, rest.n + 1, sizeof(struct str));
	const char **path = arena_zalloc_array(m->a, rest.n + 1, sizeof(*path));
	str_cut(rest, '.', &step, &rest); /* it begins with a dot */
	while (rest.n > 0) {
		str_cut(rest, '.', &step, &rest);
		path[c->n_steps] = keep(m, step);
		c->steps[c->n_steps++] = step;
	}
	c->view = (struct view){.kind = scale_view.kind, .path = path, .show = scale_show, .take = scale_take};
	return c->n_steps > 0 ? c : NULL;
}

/* The status of all versions that have it, then the scale of each. */
static void make_subresources(struct maker *m)
{
	static const char *const resets_beside_status[] = {"spec", "metadata", NULL};
	static const unsigned verbs = VERB_GET | VERB_UPDATE | VERB_PATCH;
	struct kind *k = &m->c->kind;
	struct subresource *subs = arena_zalloc_array(m->a, k->n_versions + 1, sizeof(*subs));
	uint32_t with_status = 0, *at_versions = arena_zalloc_array(m->a, k->n_versions + 1, sizeof(*at_versions));

	for (size_t i = 0; i < k->n_versions; i++) {
		with_status |= (uint32_t)m->c->versions[i].has_status << i;
	}
	k->subresources = subs;
	k->subresources_at = at_versions;
	k->bumps_generation = custom_bumps_generation;
	if (with_status) {
		at_versions[0] = with_status;
		subs[k->n_subresources++] = (struct subresource){.name = "status",
			.verbs = verbs,
			.merge = custom_merge_status,
			.validate_update = custom_validate_status,
			.reset_fields = resets_beside_status};
		k->prepare_create = custom_prepare_create;
	}
	for (size_t i = 0; i < k->n_versions; i++) {
		const struct json *in =
			json_gets(json_gets(definition_version(m->spec, str_of(k->versions[i].name)), "subresources"), "scale");
		const struct custom_scale *scale = in ? make_scale(m, &k->versions[i], in) : NULL;
		m->c->versions[i].scale = scale;
		if (scale) {
			at_versions[k->n_subresources] = UINT32_C(1) << i;
			subs[k->n_subresources++] = (struct subresource){
				.name = "scale", .verbs = verbs, .validate_update = custom_validate_update, .view = &scale->view};
		}
	}
}

static struct str text_of(const struct json *j, struct arena *a)
{
	_cleanup_(buf_done) struct buf out;

	buf_init(&out, CUSTOM_MEMORY_MAX);
	if (j) {
		json_encode(&out, j);
	}
	return arena_dup(a, buf_str(&out));
}

static void make_hook(struct maker *m)
{
	static const char *const known[] = {"v1", "v1beta1"};
	const struct json *conversion = json_gets(m->spec, "conversion"), *webhook = json_gets(conversion, "webhook");
	struct kind_hook *h;

	if (!str_is(member_text(conversion, "strategy"), "Webhook")) {
		return;
	}
	h = arena_new(m->a, struct kind_hook);
	h->config = text_of(json_gets(webhook, "clientConfig"), m->a);
	h->review_version = list_first_known(json_gets(webhook, "conversionReviewVersions"), known, ARRAY_SIZE(known));
	m->c->kind.hook = h;
}

static bool make(struct maker *m, const struct object *definition)
{
	struct kind *k = &m->c->kind;

	k->kind = keep_name(m, "kind");
	k->list_kind = keep_name(m, "listKind");
	k->resource = keep_name(m, "plural");
	k->singular = keep_name(m, "singular");
	k->short_names = keep_list(m, "shortNames");
	k->categories = keep_list(m, "categories");
	k->is_namespaced = str_is(member_text(m->spec, "scope"), "Namespaced");
	k->verbs = VERBS_ALL;
	k->name_rule = NAME_DNS_SUBDOMAIN;
	k->any_finalizer = true;
	k->type = &type_custom_open;
	k->type_of = custom_type_of;
	k->doc = "";
	k->normalize = custom_normalize;
	k->settle = custom_settle;
	k->columns_of = custom_columns_of;
	k->write_cell = custom_write_cell;
	k->select = custom_select;
	k->validate = custom_validate;
	k->validate_update = custom_validate_update;
	k->prepare_update = custom_prepare_update;
	m->c->generation = definition->meta.generation;
	m->c->accepted = text_of(m->names, m->a);
	declared_read(&m->c->declared, definition, m->a);
	if (m->c->declared.n_references > 0) {
		k->reference_fields = m->c->declared.fields;
		k->references = custom_references;
		k->needs_references = custom_needs_references;
		k->needs = custom_needs;
	}
	m->c->life.definition = arena_dup(m->a, definition->meta.name);
	m->c->life.definition_uid = arena_dup(m->a, definition->meta.uid);
	make_hook(m);
	if (!*k->kind || !*k->resource || !make_versions(m)) {
		return false;
	}
	k->restore = m->c->versions[0].schema || k->narrow || k->hook ? custom_restore : NULL;
	make_selectable(m);
	make_subresources(m);
	return true;
}

static const struct kind *custom_new(const struct object *definition)
{
	struct custom *c = mem_new(struct custom);
	struct maker m = {.c = c,
		.a = &c->arena,
		.spec = object_spec(definition),
		.names = json_gets(object_status(definition), "acceptedNames")};

	arena_init(&c->arena, CUSTOM_MEMORY_MAX);
	c->life.free = custom_free;
	kind_begin_life(&c->kind, &c->life);
	if (!make(&m, definition) || arena_is_full(&c->arena)) {
		return kind_unref(&c->kind);
	}
	atomic_store(&c->life.is_terminating, meta_is_deleting(&definition->meta));
	return &c->kind;
}

static bool is_same(const struct object *definition, const struct kind *present)
{
	const struct custom *c = custom_of(present);
	_cleanup_(arena_done) struct arena a;

	arena_init(&a, CUSTOM_MEMORY_MAX);
	return str_eq(definition->meta.uid, present->life->definition_uid) && definition->meta.generation == c->generation &&
		str_eq(declared_text(definition, &a), c->declared.text) &&
		str_eq(text_of(json_gets(object_status(definition), "acceptedNames"), &a), c->accepted);
}

const struct kind *custom_define(const struct object *definition, const struct kind *present)
{
	if (!definition_is_established(definition)) {
		return NULL;
	}
	if (present && is_same(definition, present)) {
		if (meta_is_deleting(&definition->meta)) {
			atomic_store(&present->life->is_terminating, true);
		}
		return kind_ref(present);
	}
	return custom_new(definition);
}

void custom_identify(const struct kind *k, struct buf *out)
{
	const struct custom *c = custom_of(k);

	buf_printf(out, STR_FMT " %lld " STR_FMT " " STR_FMT, STR_ARG(k->life->definition_uid), (long long)c->generation,
		STR_ARG(c->accepted), STR_ARG(c->declared.text));
}

/* ---- OpenAPI ---- */

bool custom_publish(struct json **ret, const struct kind *k, const struct version *v, bool is_v2,
	const struct object *definition, struct arena *a)
{
	const struct json *in = definition_version(object_spec(definition), str_of(v->name));

	if (!in || !is_same(definition, k)) {
		return false;
	}
	bool is_structural = custom_version_of(k, v)->schema != NULL;
	*ret = publish_schema(is_structural ? json_gets(json_gets(in, "schema"), "openAPIV3Schema") : NULL, is_v2, a);
	return true;
}
