/* From bodies to objects and back; objects as text in the storage; the digest that an object of a
 * history shows.
 *
 * The refusals are those of k8s.io/apimachinery/pkg/runtime, word for word and in its order:
 * kubectl and controllers show them to people, and parity tests compare them. */
#include "api/model/object.h"
#include "api/model/digest.h"
#include "api/model/history.h"
#include "api/model/kind.h"
#include "api/model/label.h"
#include "api/model/packed.h"
#include "api/model/patch_tree.h"
#include "base/hex.h"
#include "base/sha256.h"

#include <assert.h>
#include <stdlib.h>

/* metadata <-> struct meta, in the order of the schema. */

enum meta_form { META_TEXT, META_INT, META_GRACE, META_OBJECT, META_ARRAY };

static const struct meta_row {
	const char *name;
	enum meta_form form;
	size_t offset;
} meta_rows[] = {
	{"name", META_TEXT, offsetof(struct meta, name)},
	{"generateName", META_TEXT, offsetof(struct meta, generate_name)},
	{"namespace", META_TEXT, offsetof(struct meta, ns)},
	{"uid", META_TEXT, offsetof(struct meta, uid)},
	{"resourceVersion", META_TEXT, offsetof(struct meta, resource_version)},
	{"generation", META_INT, offsetof(struct meta, generation)},
	{"creationTimestamp", META_TEXT, offsetof(struct meta, creation_timestamp)},
	{"deletionTimestamp", META_TEXT, offsetof(struct meta, deletion_timestamp)},
	{"deletionGracePeriodSeconds", META_GRACE, offsetof(struct meta, grace_period_s)},
	{"labels", META_OBJECT, offsetof(struct meta, labels)},
	{"annotations", META_OBJECT, offsetof(struct meta, annotations)},
	{"ownerReferences", META_ARRAY, offsetof(struct meta, owner_references)},
	{"finalizers", META_ARRAY, offsetof(struct meta, finalizers)},
	{"managedFields", META_ARRAY, offsetof(struct meta, managed_fields)},
};

static void *meta_slot(const struct meta *m, const struct meta_row *row)
{
	return (char *)(uintptr_t)m + row->offset;
}

static void meta_read(struct meta *m, const struct meta_row *row, struct json *v)
{
	switch (row->form) {
	case META_TEXT:
		*(struct str *)meta_slot(m, row) = json_text(v);
		break;
	case META_INT:
		json_to_int64(v, meta_slot(m, row));
		break;
	case META_GRACE:
		m->has_grace_period = json_to_int64(v, meta_slot(m, row));
		break;
	case META_OBJECT:
	case META_ARRAY:
		if (json_is(v, row->form == META_OBJECT ? JSON_OBJECT : JSON_ARRAY) &&
			(v->n || row->offset == offsetof(struct meta, managed_fields))) {
			*(struct json **)meta_slot(m, row) = v;
		}
		break;
	}
}

/* Members mostly come in order, so looking starts behind the last one. Objects written by others
 * may have any order. */
static const struct meta_row *meta_find(struct str name, const struct meta_row *last)
{
	size_t first = last ? (size_t)(last - meta_rows) + 1 : 0;
	for (size_t i = 0; i < ARRAY_SIZE(meta_rows); i++) {
		const struct meta_row *row = &meta_rows[(first + i) % ARRAY_SIZE(meta_rows)];
		if (str_is(name, row->name)) {
			return row;
		}
	}
	return NULL;
}

static void meta_from_json(struct meta *m, const struct json *in)
{
	*m = (struct meta){0};
	const struct meta_row *last = NULL, *row;
	for (uint32_t i = 0; i < in->n; i++) {
		if ((row = meta_find(in->members[i].name, last))) {
			meta_read(m, row, in->members[i].value);
			last = row;
		}
	}
}

/* NULL where the row is left out. */
static struct json *meta_value(const struct meta *m, const struct meta_row *row, struct arena *a)
{
	const struct str *text = meta_slot(m, row);
	const int64_t *n = meta_slot(m, row);
	switch (row->form) {
	case META_TEXT:
		return text->n ? json_string(a, *text) : NULL;
	case META_INT:
		return *n ? json_int(a, *n) : NULL;
	case META_GRACE:
		return m->has_grace_period ? json_int(a, *n) : NULL;
	case META_OBJECT:
	case META_ARRAY:
		return *(struct json **)meta_slot(m, row);
	}
	return NULL;
}

static struct json *meta_to_json(const struct meta *m, struct arena *a)
{
	struct json *out = json_object(a);
	for (size_t i = 0; i < ARRAY_SIZE(meta_rows); i++) {
		struct json *v = meta_value(m, &meta_rows[i], a);
		if (v) {
			json_add(a, out, str_of(meta_rows[i].name), v);
		}
	}
	return out;
}

size_t meta_owner_count(const struct meta *m)
{
	return m->owner_references ? m->owner_references->n : 0;
}

static bool is_true(const struct json *j)
{
	return json_is(j, JSON_BOOL) && j->boolean;
}

void meta_owner(const struct meta *m, size_t i, struct owner_reference *ret)
{
	assert(i < meta_owner_count(m));
	const struct json *owner = m->owner_references->items[i];
	*ret = (struct owner_reference){
		.api_version = json_text(json_gets(owner, "apiVersion")),
		.kind = json_text(json_gets(owner, "kind")),
		.name = json_text(json_gets(owner, "name")),
		.uid = json_text(json_gets(owner, "uid")),
		.is_controller = is_true(json_gets(owner, "controller")),
		.blocks_deletion = is_true(json_gets(owner, "blockOwnerDeletion")),
	};
}

bool meta_controller(const struct meta *m, struct owner_reference *ret)
{
	for (size_t i = 0; i < meta_owner_count(m); i++) {
		meta_owner(m, i, ret);
		if (ret->is_controller) {
			return true;
		}
	}
	return false;
}

static bool is_finalizer(const struct meta *m, uint32_t i, struct str name)
{
	return str_eq(json_text(m->finalizers->items[i]), name);
}

bool meta_has_finalizer(const struct meta *m, struct str name)
{
	for (uint32_t i = 0; m->finalizers && i < m->finalizers->n; i++) {
		if (is_finalizer(m, i, name)) {
			return true;
		}
	}
	return false;
}

void meta_add_finalizer(struct meta *m, struct arena *a, struct str name)
{
	if (meta_has_finalizer(m, name)) {
		return;
	}
	m->finalizers = m->finalizers ? json_copy(a, m->finalizers) : json_array(a);
	json_append(a, m->finalizers, json_string(a, name));
}

void meta_remove_finalizer(struct meta *m, struct arena *a, struct str name)
{
	if (!meta_has_finalizer(m, name)) {
		return;
	}
	struct json *kept = json_array(a);
	for (uint32_t i = 0; i < m->finalizers->n; i++) {
		if (!is_finalizer(m, i, name)) {
			json_append(a, kept, m->finalizers->items[i]);
		}
	}
	m->finalizers = kept->n ? kept : NULL;
}

void meta_set_annotation(struct meta *m, struct arena *a, struct str name, struct json *value)
{
	m->annotations = m->annotations ? open_copy(a, m->annotations) : json_object(a);
	open_set(a, m->annotations, name, value);
}

/* Whole objects. */

static bool object_is_type_member(struct str name)
{
	return str_is(name, "kind") || str_is(name, "apiVersion") || str_is(name, "metadata");
}

struct object *object_from_hub(const struct kind *kind, const struct json *hub, struct arena *a)
{
	assert(json_is(hub, JSON_OBJECT));
	struct object *o = arena_new(a, struct object);
	o->kind = kind;
	o->fields = json_object(a);
	for (uint32_t i = 0; i < hub->n; i++) {
		const struct json_member *m = &hub->members[i];
		if (str_is(m->name, "metadata") && json_is(m->value, JSON_OBJECT)) {
			meta_from_json(&o->meta, m->value);
		} else if (!object_is_type_member(m->name)) {
			json_add(a, o->fields, m->name, m->value);
		}
	}
	return o;
}

/* The object's tree in hub form, calling itself of that version. */
static struct json *object_to_hub(const struct object *o, struct str api_version, struct arena *a)
{
	struct json *out = json_object(a);
	json_add(a, out, STR("kind"), json_string(a, str_of(o->kind->kind)));
	json_add(a, out, STR("apiVersion"), json_string(a, api_version));
	json_add(a, out, STR("metadata"), meta_to_json(&o->meta, a));
	for (uint32_t i = 0; i < o->fields->n; i++) {
		json_add(a, out, o->fields->members[i].name, o->fields->members[i].value);
	}
	return out;
}

struct json *object_to_json(const struct object *o, const struct version *version, struct arena *a)
{
	struct json *hub = object_to_hub(o, version_api_version(version, a), a);
	/* An object that was sent through a narrowed version may have fields that the hub lacks, until it settles. */
	if (o->version && o->version->is_narrowed && !version->is_narrowed) {
		return o->kind->narrow(o->kind, version, hub, a);
	}
	return version_show(o->kind, version, hub, a);
}

const struct version *object_form(const struct object *o)
{
	assert(o->kind->hook);
	return o->version ? o->version : o->stored_version ? o->stored_version : kind_storage_version(o->kind);
}

struct object *object_copy(const struct object *o, struct arena *a)
{
	struct object *copy = arena_new(a, struct object);
	*copy = *o;
	copy->fields = json_copy(a, o->fields);
	return copy;
}

/* The kind and version that a body claims to have; those of the version where the body says
 * nothing. */
struct claim {
	struct str kind, api_version;
};

static const char no_type_prefix[] = "couldn't get version/kind; json parse error: ";

static bool read_claim_text(const struct json *in, const char *name, struct str *ret)
{
	const struct json *v = json_gets(in, name);
	*ret = json_is(v, JSON_STRING) ? json_text(v) : (struct str){0};
	return !v || v->kind == JSON_NULL || v->kind == JSON_STRING;
}

/* "/v1" is "v1", and "apps/" is apps in this version. */
static void claim_default(struct claim *c, const struct kind *kind, const struct version *version, struct arena *a)
{
	struct str group, name;
	if (!c->kind.n) {
		c->kind = str_of(kind->kind);
	}
	if (str_cut(c->api_version, '/', &group, &name)) {
		bool is_own_group = !name.n && str_is(group, version->group);
		c->api_version = is_own_group ? (struct str){0} : !group.n ? name : c->api_version;
	}
	if (!c->api_version.n) {
		c->api_version = version_api_version(version, a);
	}
}

/* Objects of definitions must say what they are. */
static int claim_of_definition(const struct claim *c, const struct json *in, struct arena *a, struct str *ret_error)
{
	struct buf text;

	if (c->kind.n && c->api_version.n) {
		return 0;
	}
	buf_init(&text, TEXT_MAX);
	json_encode(&text, in);
	*ret_error = arena_printf(
		a, "Object '%s' is missing in '" STR_FMT "'", c->kind.n ? "apiVersion" : "Kind", STR_ARG(buf_str(&text)));
	buf_done(&text);
	return OBJECT_UNRECOGNIZED;
}

static int claim_read(struct claim *c, const struct kind *kind, const struct version *version, const struct json *in,
	struct arena *a, struct str *ret_error)
{
	if (in->kind != JSON_OBJECT && in->kind != JSON_NULL) {
		*ret_error = arena_printf(a,
			"%sjson: cannot unmarshal %s into Go value of type struct { APIVersion string "
			"\"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }",
			no_type_prefix, json_kind_name(in->kind));
		return OBJECT_UNRECOGNIZED;
	}
	static const char *const names[] = {"apiVersion", "kind"};
	struct str *const texts[] = {&c->api_version, &c->kind};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!read_claim_text(in, names[i], texts[i])) {
			*ret_error = arena_printf(a, "%sjson: cannot unmarshal %s into Go struct field .%s of type string",
				no_type_prefix, json_kind_name(json_gets(in, names[i])->kind), names[i]);
			return OBJECT_UNRECOGNIZED;
		}
	}
	if (kind->life) {
		return claim_of_definition(c, in, a, ret_error);
	}
	claim_default(c, kind, version, a);
	return 0;
}

static bool is_group_version(struct str api_version)
{
	const char *slash = memchr(api_version.p, '/', api_version.n);
	return !slash || !memchr(slash + 1, '/', (size_t)(api_version.p + api_version.n - slash - 1));
}

static bool is_listed(const char *const *list, struct str s)
{
	for (; list && *list; list++) {
		if (str_is(s, *list)) {
			return true;
		}
	}
	return false;
}

static bool is_registered(const struct claim *c)
{
	for (size_t i = 0; i < kind_count(); i++) {
		if (str_is(c->kind, kind_at(i)->kind) && kind_version(kind_at(i), c->api_version)) {
			return true;
		}
	}
	return false;
}

/* A group's name in Go: "apps", "core". */
static struct str go_package(const char *group)
{
	struct str head, tail;
	str_cut(str_of(group), '.', &head, &tail);
	return head.n ? head : STR("core");
}

static struct str claim_version(const struct claim *c)
{
	struct str group, version;
	return str_cut(c->api_version, '/', &group, &version) ? version : c->api_version;
}

/* Is this what the version takes? */
static int claim_check(
	const struct claim *c, const struct kind *kind, const struct version *version, struct arena *a, struct str *ret_error)
{
	struct str expected = version_api_version(version, a);
	bool is_kind = str_is(c->kind, kind->kind);
	if (is_kind && str_eq(c->api_version, expected)) {
		return 0;
	}
	if (!is_group_version(c->api_version)) {
		*ret_error = arena_printf(a, "unexpected GroupVersion string: " STR_FMT, STR_ARG(c->api_version));
		return OBJECT_UNRECOGNIZED;
	}
	/* kube knows the version and says which one the path wants. */
	if (is_kind &&
		(kind->life || kind_version(kind, c->api_version) || is_listed(kind->retired_versions, c->api_version))) {
		*ret_error = arena_printf(a,
			"the API version in the data (" STR_FMT ") does not match the expected API version (" STR_FMT ")",
			STR_ARG(c->api_version), STR_ARG(expected));
		return OBJECT_WRONG_VERSION;
	}
	if (is_registered(c)) {
		*ret_error = arena_printf(a, "converting (" STR_FMT "." STR_FMT ") to (" STR_FMT ".%s): unknown conversion",
			STR_ARG(claim_version(c)), STR_ARG(c->kind), STR_ARG(go_package(version->group)), kind->kind);
		return OBJECT_MISMATCH;
	}
	*ret_error = arena_printf(a,
		"no kind " STR_FMT " is registered for version " STR_FMT " in scheme \"pkg/runtime/scheme.go:111\"",
		STR_ARG(go_quote(a, c->kind)), STR_ARG(go_quote(a, c->api_version)));
	return OBJECT_MISMATCH;
}

int object_decode(struct object **ret, const struct kind *kind, const struct version *version, const struct json *in,
	const struct object *stored, struct arena *a, struct decode_report *report, struct str *ret_error)
{
	struct claim claim;
	int r = claim_read(&claim, kind, version, in, a, ret_error);
	if (r) {
		return r;
	}
	r = claim_check(&claim, kind, version, a, ret_error);
	if (r) {
		return r;
	}
	struct json *normal;
	r = kind->normalize ? kind->normalize(&normal, kind, version, in, a, report, ret_error)
			    : schema_decode(&normal, version_type(kind, version), in, a, report, ret_error);
	if (r) {
		return OBJECT_MISMATCH;
	}
	if (version->to_hub) {
		normal = version->to_hub(normal, stored ? object_to_hub(stored, version_api_version(version, a), a) : NULL, a);
	}
	struct object *o = object_from_hub(kind, normal, a);
	o->version = version;
	o->beyond = stored ? stored->beyond : NULL;
	if (kind->set_defaults) {
		kind->set_defaults(o, a);
	}
	*ret = o;
	return 0;
}

/* The beginning of a body, as kube shows it: objects as they are, anything else in hex. */
static struct str summarize_body(struct str body, struct arena *a)
{
	enum { SHOWN = 30 };
	const char *more = body.n > SHOWN ? " ..." : "";
	struct str head = {body.p, MIN(body.n, (size_t)SHOWN)};
	if (!head.n) {
		return STR("<empty>");
	}
	if (head.p[0] == '{') {
		return arena_printf(a, STR_FMT "%s", STR_ARG(head), more);
	}
	char hex[2 * SHOWN];
	hex_write(hex, head.p, head.n);
	return arena_printf(a, "%.*s%s", (int)(2 * head.n), hex, more);
}

static void refuse_unrecognized(
	struct status *st, const struct kind *kind, struct str body, const char *prefix, struct str reason)
{
	status_bad_request(st, "the object provided is unrecognized (must be of type %s): %s" STR_FMT " (" STR_FMT ")",
		kind->kind, prefix, STR_ARG(reason), STR_ARG(summarize_body(body, st->arena)));
}

void object_refuse_body(struct status *st, const struct kind *kind, struct str body, struct str reason)
{
	refuse_unrecognized(st, kind, body, no_type_prefix, reason);
}

static void refuse_claim(struct status *st, const struct kind *kind, const struct version *version, const struct json *in,
	const char *prefix, struct str reason)
{
	struct claim claim = {0};
	claim_read(&claim, kind, version, in, st->arena, &(struct str){0});
	claim_default(&claim, kind, version, st->arena);
	status_bad_request(st, STR_FMT " in version " STR_FMT " cannot be handled as a %s: %s" STR_FMT, STR_ARG(claim.kind),
		STR_ARG(go_quote(st->arena, claim_version(&claim))), kind->kind, prefix, STR_ARG(reason));
}

void object_refuse(struct status *st, const struct kind *kind, const struct version *version, struct str body,
	const struct json *in, int error, struct str reason)
{
	switch (error) {
	case OBJECT_UNRECOGNIZED:
		refuse_unrecognized(st, kind, body, "", reason);
		break;
	case OBJECT_MISMATCH:
		refuse_claim(st, kind, version, in, "", reason);
		break;
	case OBJECT_WRONG_VERSION:
		status_bad_request(st, STR_FMT, STR_ARG(reason));
		break;
	}
}

void object_refuse_strict(struct status *st, const struct kind *kind, const struct version *version, const struct json *in,
	const struct decode_report *report)
{
	struct buf list;
	buf_init(&list, TEXT_MAX);
	for (size_t i = 0; i < report->n_strict; i++) {
		buf_adds(&list, i ? ", " : "");
		buf_add_str(&list, report->strict[i]);
	}
	refuse_claim(st, kind, version, in, "strict decoding error: ", buf_str(&list));
	buf_done(&list);
}

/* Comparing. */

static bool is_same(const struct json *a, const struct json *b)
{
	return (!a && !b) || json_equal(a, b);
}

static bool meta_row_equal(const struct meta *a, const struct meta *b, const struct meta_row *row)
{
	const void *x = meta_slot(a, row), *y = meta_slot(b, row);
	switch (row->form) {
	case META_TEXT:
		return str_eq(*(const struct str *)x, *(const struct str *)y);
	case META_GRACE:
		return a->has_grace_period == b->has_grace_period &&
			(!a->has_grace_period || *(const int64_t *)x == *(const int64_t *)y);
	case META_INT:
		return *(const int64_t *)x == *(const int64_t *)y;
	case META_OBJECT:
	case META_ARRAY:
		return is_same(*(struct json *const *)x, *(struct json *const *)y);
	}
	return false;
}

static bool managed_entry_equal(const struct json *a, const struct json *b)
{
	for (const struct field *f = type_managed_fields_entry.fields; f->name; f++) {
		if (f->type != &type_time && !is_same(json_gets(a, f->name), json_gets(b, f->name))) {
			return false;
		}
	}
	return true;
}

static bool managed_fields_equal(const struct json *a, const struct json *b)
{
	uint32_t n = a ? a->n : 0;
	if (n != (b ? b->n : 0)) {
		return false;
	}
	for (uint32_t i = 0; i < n; i++) {
		if (!managed_entry_equal(a->items[i], b->items[i])) {
			return false;
		}
	}
	return true;
}

bool object_equal(const struct object *a, const struct object *b)
{
	for (size_t i = 0; i < ARRAY_SIZE(meta_rows); i++) {
		size_t offset = meta_rows[i].offset;
		/* A version differs always, and managedFields differ in their times only. */
		bool is_compared =
			offset != offsetof(struct meta, resource_version) && offset != offsetof(struct meta, managed_fields);
		if (is_compared && !meta_row_equal(&a->meta, &b->meta, &meta_rows[i])) {
			return false;
		}
	}
	return managed_fields_equal(a->meta.managed_fields, b->meta.managed_fields) && json_equal(a->fields, b->fields);
}

struct object *object_empty(const struct kind *kind, struct arena *a)
{
	return object_from_hub(kind, schema_zero(kind->type, a), a);
}

/* ---- text in the storage, in any version of the kind ---- */

/* The member that holds what the version itself cannot say, because no version may lose anything.
 * It is an object of the hub's top-level members that would come back changed, each kept whole.
 * With a member "kind" it holds all top-level members, because others would come back, or in
 * another order.
 *
 * A build from before that hub does not know these members and leaves them as they are (struct
 * object's beyond). It may add such a member of its own. If that build has changed the object, its
 * values count, as do those of a client that writes through this version.
 */
static const char kept_name[] = OBJECT_KEPT_MEMBER;

/* The kept member is one level deeper than clients may send. Beside it, the version repeats as much
 * as it can say. */
enum { STORED_DEPTH_MORE = 1, STORED_VALUES_MORE = 64 };

struct json_limits object_stored_limits(void)
{
	const struct json_limits sent = JSON_LIMITS_DEFAULT;

	return (struct json_limits){.depth = sent.depth + STORED_DEPTH_MORE, .values = 2 * sent.values + STORED_VALUES_MORE};
}

/* ---- writing ---- */

/* To the byte: numbers and strings may be spelled in many ways. */
static bool is_identical(const struct json *x, const struct json *y)
{
	_cleanup_(buf_done) struct buf first = {0}, second = {0};

	if (x == y || !x || !y) {
		return x == y;
	}
	buf_init(&first, SIZE_MAX / 2);
	buf_init(&second, SIZE_MAX / 2);
	return json_encode(&first, x) && json_encode(&second, y) && str_eq(buf_str(&first), buf_str(&second));
}

static bool has_same_members(const struct json *x, const struct json *y)
{
	for (uint32_t i = 0; i < x->n && x->n == y->n; i++) {
		const struct json_member *m = &x->members[i], *other = &y->members[i];

		if (!str_eq(m->name, other->name) || !is_identical(m->value, other->value)) {
			return false;
		}
	}
	return x->n == y->n;
}

/* Puts back the members that were kept beside a version that shows this. */
static struct json *with_kept(const struct json *shown, const struct json *kept, struct arena *a)
{
	bool is_all = json_gets(kept, "kind") != NULL;
	struct json *hub = is_all ? json_object(a) : json_copy(a, shown);

	for (uint32_t i = 0; is_all && i < shown->n; i++) {
		if (object_is_type_member(shown->members[i].name)) {
			json_add(a, hub, shown->members[i].name, shown->members[i].value);
		}
	}
	for (uint32_t i = 0; i < kept->n; i++) {
		if (!object_is_type_member(kept->members[i].name)) {
			(is_all ? json_add : json_set)(a, hub, kept->members[i].name, kept->members[i].value);
		}
	}
	return hub;
}

static struct json *keep_all(const struct json *hub, struct arena *a)
{
	struct json *kept = json_object(a);

	json_add(a, kept, STR("kind"), json_gets(hub, "kind"));
	for (uint32_t i = 0; i < hub->n; i++) {
		if (!object_is_type_member(hub->members[i].name)) {
			json_add(a, kept, hub->members[i].name, hub->members[i].value);
		}
	}
	return kept;
}

/* Collects the members of `hub` that the version loses. `again` is the hub form that the version
 * alone gives back. */
static struct json *keep_lost(const struct json *hub, const struct json *again, struct arena *a)
{
	struct json *kept = json_object(a);

	for (uint32_t i = 0; i < hub->n; i++) {
		const struct json_member *m = &hub->members[i];

		if (!object_is_type_member(m->name) && !is_identical(m->value, json_get(again, m->name))) {
			json_add(a, kept, m->name, m->value);
		}
	}
	return has_same_members(hub, with_kept(again, kept, a)) ? kept : keep_all(hub, a);
}

static struct json *stored_form(const struct json *hub, const struct version *version, struct json *beyond, struct arena *a)
{
	struct json *shown = json_copy(a, version->from_hub(hub, a));

	json_remove(shown, STR(kept_name)); /* one that somebody else has invented: it is lost, and kept, like any other */
	struct json *kept = keep_lost(hub, version->to_hub(shown, NULL, a), a);

	if (beyond) {
		json_add(a, kept, STR(kept_name), beyond);
	}
	if (kept->n > 0) {
		json_set(a, shown, STR(kept_name), kept);
	}
	return shown;
}

bool object_encode_stored(struct buf *out, const struct object *o, const struct version *version)
{
	assert(kind_is_stored(o->kind));
	struct object stored = *o;
	stored.meta.resource_version = (struct str){0};

	struct arena a;
	_Alignas(16) char first[8192];
	arena_init_with(&a, SIZE_MAX, first, sizeof(first));
	struct json *hub = object_to_hub(&stored, version_api_version(version, &a), &a);
	bool is_hub = version_stores_hub(version, o->kind);
	if (o->beyond && is_hub) {
		json_add(&a, hub, STR(kept_name), o->beyond);
	}
	bool fits = json_encode(out, is_hub ? hub : stored_form(hub, version, o->beyond, &a));
	arena_done(&a);
	return fits;
}

/* ---- reading ---- */

/* Takes the kept members out of *from, which becomes a copy. */
static struct json *take_kept(struct json **from, struct arena *a)
{
	struct json *kept = json_gets(*from, kept_name);

	if (kept) {
		*from = json_copy(a, *from);
		json_remove(*from, STR(kept_name));
	}
	return json_is(kept, JSON_OBJECT) ? kept : NULL;
}

static struct json *hub_form(const struct json *shown, const struct json *kept, const struct version *version, struct arena *a)
{
	struct json *hub = version->to_hub(shown, NULL, a);

	if (!kept) {
		return hub;
	}
	hub = with_kept(hub, kept, a);
	return has_same_members(version->from_hub(hub, a), shown) ? hub : version->to_hub(shown, hub, a);
}

struct str object_stored_version(struct str value, struct arena *a)
{
	struct json *stored;
	size_t at;

	if (packed_open(&value, value, a) || json_parse(&stored, a, value, object_stored_limits(), &at)) {
		return STR("");
	}
	return json_text(json_gets(stored, "apiVersion"));
}

int object_decode_stored(struct object **ret, const struct kind *kind, struct str value, int64_t mod_revision, struct arena *a)
{
	struct json *stored;
	size_t at;
	if (packed_open(&value, value, a) || json_parse(&stored, a, value, object_stored_limits(), &at) ||
		stored->kind != JSON_OBJECT || !str_is(json_text(json_gets(stored, "kind")), kind->kind)) {
		return OBJECT_UNRECOGNIZED;
	}
	const struct version *version = kind_version(kind, json_text(json_gets(stored, "apiVersion")));
	if (!version) {
		return OBJECT_WRONG_VERSION;
	}
	bool is_hub = version_stores_hub(version, kind);
	struct json *shown = kind->restore ? kind->restore(kind, stored, a) : stored;
	bool is_restored = shown != stored && !json_equal(shown, stored);
	stored = is_restored ? shown : stored;
	struct json *kept = take_kept(&stored, a), *beyond = !is_hub && kept ? take_kept(&kept, a) : kept;
	*ret = object_from_hub(kind, is_hub ? stored : hub_form(stored, kept, version, a), a);
	(*ret)->beyond = beyond;
	(*ret)->is_restored = is_restored;
	if (arena_is_full(a)) {
		return OBJECT_UNRECOGNIZED;
	}
	(*ret)->stored_version = version;
	(*ret)->mod_revision = mod_revision;
	(*ret)->meta.resource_version = arena_printf(a, "%lld", (long long)mod_revision);
	return 0;
}

/* ---- objects of a history ----
 *
 * The digest that an object shows is taken as it is: hashing a megabyte again for each look-up
 * would cost more than the look-up. It is checked when it is written. */

bool history_is_owner(struct str api_version, struct str kind)
{
	return str_is(kind, "History") && str_starts(api_version, STR("annals.dev/"));
}

bool namespace_is_archive(struct str ns)
{
	return archive_origin(ns).n < ns.n;
}

struct str archive_origin(struct str ns)
{
	struct str origin, rest;

	/* A segment "." of a path has no name before it. */
	return str_cut(ns, '.', &origin, &rest) && origin.n && rest.n ? origin : ns;
}

struct str archive_of(struct str ns, struct str uid, struct arena *a)
{
	assert(!namespace_is_archive(ns) && uid.n > 0);
	return arena_printf(a, STR_FMT "." STR_FMT, STR_ARG(ns), STR_ARG(uid));
}

/* In the form of a UUID of version 8, whose other bits are free (RFC 9562). */
struct str archive_uid(struct str archive, struct str uid, struct arena *a)
{
	const struct str parts[] = {STR("archived"), archive, uid};
	unsigned char d[SHA256_SIZE];

	sha256_of_parts(parts, ARRAY_SIZE(parts), d);
	d[6] = (unsigned char)(0x80 | (d[6] & 0x0f));
	d[8] = (unsigned char)(0x80 | (d[8] & 0x3f));
	return arena_printf(a, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", d[0], d[1], d[2], d[3],
		d[4], d[5], d[6], d[7], d[8], d[9], d[10], d[11], d[12], d[13], d[14], d[15]);
}

struct str history_digest(const struct object *o, struct arena *a)
{
	struct str shown = json_text(json_get(o->meta.annotations, ANNOTATION_DIGEST));
	const struct json *data = json_gets(o->fields, "data");
	char digest[DIGEST_SIZE];

	if (shown.n > 0 || !data) {
		return shown;
	}
	digest_of(digest, data, a);
	return arena_dup(a, str_of(digest));
}

bool history_hides_digest(const struct object *o)
{
	return o->kind->history && !json_get(o->meta.annotations, ANNOTATION_DIGEST) &&
		json_is(json_gets(o->fields, "data"), JSON_OBJECT);
}

static bool is_shown_only(const struct object *o, const struct version *v)
{
	return o && history_hides_digest(o) && version_is_own(v, o->kind);
}

const struct object *history_shown(const struct object *o, const struct version *v, struct arena *a)
{
	if (!is_shown_only(o, v)) {
		return o;
	}
	struct object *copy = object_copy(o, a);
	meta_set_annotation(&copy->meta, a, ANNOTATION_DIGEST, json_string(a, history_digest(o, a)));
	return copy;
}

void history_take_back(struct object *o, const struct object *from, const struct version *v, struct arena *a)
{
	if (!is_shown_only(from, v) || !json_get(o->meta.annotations, ANNOTATION_DIGEST)) {
		return;
	}
	struct json *annotations = json_copy(a, o->meta.annotations);
	json_remove(annotations, ANNOTATION_DIGEST);
	o->meta.annotations = annotations->n > 0 ? annotations : NULL;
}

bool history_allows_duplicates(const struct object *o)
{
	return str_is(json_text(json_get(o->meta.annotations, ANNOTATION_DUPLICATES)), "true");
}

/* ---- labels ---- */

static int compare_labels(const void *a, const void *b)
{
	return str_cmp(((const struct label *)a)->key, ((const struct label *)b)->key);
}

size_t labels_read(const struct label **ret, const struct json *object, struct arena *a)
{
	size_t n = json_is(object, JSON_OBJECT) ? object->n : 0;
	struct label *labels = arena_array(a, struct label, n + 1);
	for (size_t i = 0; i < n; i++) {
		labels[i] = (struct label){object->members[i].name, json_text(object->members[i].value)};
	}
	qsort(labels, n, sizeof(*labels), compare_labels);
	*ret = labels;
	return n;
}
