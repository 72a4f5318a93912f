/* How an object changes on its way from the file into the store. New uids are made of the old ones and a salt, which the store keeps until the import is
 * complete. So an import that is resumed makes the same uids, without a list of them. */
#include "cli/export/import.h"

#include "api/diff/state.h"
#include "api/model/members.h"
#include "api/patch/managed.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/sha256.h"
#include "cli/export/export_form.h"
#include "storage/keys.h"

#include <errno.h>

enum { UID_BYTES = 16, UID_TEXT = 36 };

static struct object_id id_of(const struct object *o)
{
	return (struct object_id){o->kind, o->meta.ns, o->meta.name};
}

struct str import_title(const struct object *o, struct arena *a)
{
	const struct object_id id = id_of(o);
	return object_id_title(&id, a);
}

struct str import_key(struct import *im, const struct object *o, struct arena *a)
{
	const struct object_id id = id_of(o);
	return object_id_key(&id, im->options->prefix, a);
}

static bool is_kind(const struct object *o, const char *kind)
{
	return !o->kind->life && strcmp(o->kind->kind, kind) == 0;
}

struct str import_told_key(struct import *im, const struct object *o, struct str *ret_name, struct arena *a)
{
	*ret_name =
		is_kind(o, "History") ? member_text(json_gets(json_gets(o->fields, "status"), "revision"), "name") : STR("");
	return ret_name->n
		? key_object(a, im->options->prefix, STR("annals.dev"), STR("controllerrevisions"), o->meta.ns, *ret_name)
		: STR("");
}

struct str import_renamed(const struct import *im, struct str ns)
{
	for (size_t i = 0; i < im->options->n_renames; i++) {
		if (str_eq(im->options->renames[i].from, ns)) {
			return im->options->renames[i].to;
		}
	}
	return ns;
}

/* ---- reading ---- */

static int refuse(struct buf *why, const char *format, ...) _printf_(2, 3);
static int refuse(struct buf *why, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	buf_vprintf(why, format, ap);
	va_end(ap);
	return -EINVAL;
}

/* Stored objects are not checked when they are read, since only servers write them. Anybody may have written a file. So its types are checked first, and
 * a form that no server would have written is put into normal form. */
static int read_exported(const struct kind *k, struct str text, struct arena *a, struct object **ret, struct buf *why)
{
	struct decode_report report = {0};
	struct str reason = STR("");
	struct json *in, *normal;
	size_t at;
	int error = json_parse(&in, a, text, object_stored_limits(), &at);
	if (error) {
		return refuse(why, "%s", json_error_text(a, error, text, at));
	}
	if (kind_version(k, json_text(json_gets(in, "apiVersion"))) != &k->versions[0]) {
		return refuse(why, "exports have it in another version");
	}
	struct json *kept = json_gets(in, OBJECT_KEPT_MEMBER), *shown = kept ? json_copy(a, in) : in;
	if (kept) {
		json_remove(shown, STR(OBJECT_KEPT_MEMBER));
	}
	if (schema_decode(&normal, k->type, shown, a, &report, &reason)) {
		return refuse(why, STR_FMT, STR_ARG(reason));
	}
	if (report.n_strict) {
		return refuse(why, STR_FMT, STR_ARG(report.strict[0]));
	}
	if (json_equal(shown, normal)) {
		return object_decode_stored(ret, k, text, 0, a) ? refuse(why, "it is no %s", k->kind) : 0;
	}
	*ret = object_from_hub(k, normal, a);
	(*ret)->beyond = json_is(kept, JSON_OBJECT) ? kept : NULL;
	return 0;
}

/* Fields that nobody knows here are lost where a server takes them, so an export must have none. Other clusters may have some. A field with two
 * values could mean either of them. */
static int check_strict(const struct decode_report *report, bool is_export, struct buf *why)
{
	for (size_t i = 0; i < report->n_strict; i++) {
		if (is_export || str_starts(report->strict[i], STR("duplicate field "))) {
			return refuse(why, STR_FMT, STR_ARG(report->strict[i]));
		}
	}
	return 0;
}

/* Objects as clients send them, and all custom resources: an export has those in the storage version of their definition, which may be another one
 * here. */
static int read_sent(const struct kind *k, const struct version *version, struct str text, bool is_export, struct arena *a,
	struct object **ret, struct buf *why)
{
	struct decode_report report = {0};
	struct json *in;
	struct str reason = STR("");
	size_t at;
	int error = json_parse(&in, a, text, is_export ? object_stored_limits() : JSON_LIMITS_DEFAULT, &at);
	if (error) {
		return refuse(why, "%s", json_error_text(a, error, text, at));
	}
	if (object_decode(ret, k, version, in, NULL, a, &report, &reason)) {
		return refuse(why, STR_FMT, STR_ARG(reason));
	}
	return check_strict(&report, is_export, why);
}

int import_object_raw(
	struct import *im, const struct entry *e, struct str text, struct arena *a, struct object **ret, struct buf *why)
{
	const struct kind *k = import_kind(im, e, why);
	int r = !k                          ? -EINVAL
		: im->is_export && !k->life ? read_exported(k, text, a, ret, why)
					    : read_sent(k, &k->versions[e->version], text, im->is_export, a, ret, why);
	if (!r && k->hook && object_form(*ret) != kind_storage_version(k)) {
		return refuse(why, "%s is stored in version %s, and only a webhook makes that of version %s", k->resource,
			kind_storage_version(k)->name, object_form(*ret)->name);
	}
	if (!r) {
		(*ret)->meta.resource_version = STR("");
	}
	return r;
}

/* ---- uids ---- */

/* RFC 9562, version 8: made of a digest. */
static struct str made_uid(const struct import *im, const char *what, struct str of, struct arena *a)
{
	unsigned char digest[SHA256_SIZE];
	const struct str parts[] = {{(const char *)im->salt, SALT_SIZE}, str_of(what), of};
	sha256_of_parts(parts, ARRAY_SIZE(parts), digest);
	digest[6] = (unsigned char)((digest[6] & 0x0f) | 0x80);
	digest[8] = (unsigned char)((digest[8] & 0x3f) | 0x80);
	char *uid = arena_text(a, UID_TEXT), hex[2 * UID_BYTES];
	hex_write(hex, digest, UID_BYTES);
	for (size_t i = 0, n = 0; i < sizeof(hex); i++) {
		uid[n++] = hex[i];
		if (n == 8 || n == 13 || n == 18 || n == 23) {
			uid[n++] = '-';
		}
	}
	return (struct str){uid, UID_TEXT};
}

/* Uids of objects that are not in the file stay: the objects may be in another cluster beside. */
static struct str new_uid(const struct import *im, struct str old, struct arena *a)
{
	struct print print = print_of(old);
	if (im->options->is_exact || old.n == 0 || import_find(im, false, &print) < 0) {
		return old;
	}
	const struct str *present = map_get(&im->present_uids, old);
	return present ? *present : made_uid(im, "uid", old, a);
}

/* ---- what refers to others ---- */

struct rewriting {
	struct import *im;
	struct arena *a;
	bool knows_uids;
};

static struct json *rewrite(const struct rewriting *w, struct json *j);

/* Data belongs to the client: even text that looks like a reference is not one. The data of a
 * ControllerRevision never changes. */
static bool is_opaque(struct str name)
{
	static const char *const names[] = {
		"annotations", "binaryData", "data", "labels", "matchLabels", "nodeSelector", "openAPIV3Schema", "stringData"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (str_is(name, names[i])) {
			return true;
		}
	}
	return false;
}

static struct json *text_in_place(struct json *was, struct str now, struct arena *a)
{
	return str_eq(json_text(was), now) ? was : json_string(a, now);
}

static struct json *rewrite_list(const struct rewriting *w, struct json *list, bool is_of_namespaces)
{
	struct json *copy = list;
	for (uint32_t i = 0; i < list->n; i++) {
		struct json *was = list->items[i];
		struct json *now = is_of_namespaces && json_is(was, JSON_STRING)
			? text_in_place(was, import_renamed(w->im, json_text(was)), w->a)
			: rewrite(w, was);
		if (now != was) {
			copy = copy == list ? json_copy(w->a, list) : copy;
			copy->items[i] = now;
		}
	}
	return copy;
}

static struct json *rewrite_member(const struct rewriting *w, const struct json_member *m)
{
	if (json_is(m->value, JSON_STRING)) {
		struct str text = json_text(m->value);
		if (str_is(m->name, "uid") && w->knows_uids) {
			return text_in_place(m->value, new_uid(w->im, text, w->a), w->a);
		}
		return str_is(m->name, "namespace") ? text_in_place(m->value, import_renamed(w->im, text), w->a) : m->value;
	}
	if (is_opaque(m->name)) {
		return m->value;
	}
	return json_is(m->value, JSON_ARRAY) ? rewrite_list(w, m->value, str_is(m->name, "namespaces")) : rewrite(w, m->value);
}

/* Returns the value itself if nothing in it changes. Recursion is bounded by the parser's limit
 * on depth. */
static struct json *rewrite(const struct rewriting *w, struct json *j)
{
	struct json *copy = j;
	if (json_is(j, JSON_ARRAY)) {
		return rewrite_list(w, j, false);
	}
	for (uint32_t i = 0; json_is(j, JSON_OBJECT) && i < j->n; i++) {
		struct json *now = rewrite_member(w, &j->members[i]);
		if (now != j->members[i].value) {
			copy = copy == j ? json_copy(w->a, j) : copy;
			copy->members[i].value = now;
		}
	}
	return copy;
}

/* ---- names that follow from namespaces ---- */

static struct history_subject subject_of(const struct object *o)
{
	const struct json *s = json_gets(json_gets(o->fields, "spec"), "subject");
	return (struct history_subject){
		member_text(s, "group"), member_text(s, "kind"), member_text(s, "namespace"), member_text(s, "name")};
}

static struct str place(struct arena *a, struct str ns, struct str name)
{
	return arena_printf(a, STR_FMT "/" STR_FMT, STR_ARG(ns), STR_ARG(name));
}

/* A History's name has a digest of its subject's namespace in it. Its revisions are found by the map, when all have been read. */
static void rename_history(struct import *im, struct object *o, struct history_subject was, struct str old_ns, struct arena *a)
{
	const struct history_subject is = subject_of(o);
	struct str old_name = o->meta.name;
	if (str_eq(was.namespace, is.namespace) || !str_eq(old_name, history_name(&was, a))) {
		return;
	}
	o->meta.name = history_name(&is, a);
	struct str key = place(a, old_ns, old_name);
	if (!map_get(&im->histories, key)) {
		struct str *name = arena_new(&im->names, struct str);
		*name = arena_dup(&im->names, o->meta.name);
		map_set(&im->histories, key, name, NULL);
	}
}

static struct str renamed_owner(struct import *im, const struct json *owner, struct str old_ns, struct arena *a)
{
	struct str name = member_text(owner, "name"), kind = member_text(owner, "kind");
	if (str_is(kind, "Namespace")) {
		return import_renamed(im, name);
	}
	const struct str *renamed = str_is(kind, "History") ? map_get(&im->histories, place(a, old_ns, name)) : NULL;
	return renamed ? *renamed : name;
}

static void rename_owners(struct import *im, struct object *o, struct str old_ns, struct arena *a)
{
	struct json *owners = o->meta.owner_references, *owner;
	for (uint32_t i = 0; (owner = list_item(owners, i)); i++) {
		struct str name = renamed_owner(im, owner, old_ns, a);
		if (!str_eq(name, member_text(owner, "name"))) {
			struct json *copy = json_copy(a, owner);
			json_set(a, copy, STR("name"), json_string(a, name));
			if (o->meta.owner_references == owners) {
				o->meta.owner_references = json_copy(a, owners);
			}
			o->meta.owner_references->items[i] = copy;
		}
	}
}

static void rename_label(struct object *o, struct str label, struct str value, bool fits, struct arena *a)
{
	o->meta.labels = json_copy(a, o->meta.labels);
	json_remove(o->meta.labels, label);
	if (fits) {
		json_set(a, o->meta.labels, label, json_string(a, value));
	}
}

static void rename_labels(struct import *im, struct object *o, struct str old_ns, struct arena *a)
{
	struct str told = json_text(json_get(o->meta.labels, HISTORY_LABEL));
	const struct str *renamed = told.n ? map_get(&im->histories, place(a, old_ns, told)) : NULL;
	if (renamed) {
		rename_label(o, HISTORY_LABEL, *renamed, history_name_fits_label(*renamed), a);
	}
	if (is_kind(o, "Namespace") && json_get(o->meta.labels, STR("kubernetes.io/metadata.name"))) {
		rename_label(o, STR("kubernetes.io/metadata.name"), o->meta.name, true, a);
	}
}

/* The Dependent controller notes of which Providers, by their uids, it has made a ConfigMap: "Provider/NAME/UID Provider/NAME/UID". */
static void rename_sources(struct import *im, struct object *o, struct arena *a)
{
	static const struct str name = {"annals.dev/made-from", sizeof("annals.dev/made-from") - 1};
	struct str rest = json_text(json_get(o->meta.annotations, name)), one;
	_cleanup_(buf_done) struct buf sources;
	buf_init(&sources, EXPORT_LINE_MAX);
	if (!rest.n) {
		return;
	}
	while (rest.n) {
		str_cut(rest, ' ', &one, &rest);
		size_t at = one.n;
		while (at > 0 && one.p[at - 1] != '/') {
			at--;
		}
		const struct str uid = new_uid(im, (struct str){one.p + at, one.n - at}, a);
		buf_printf(&sources, "%s%.*s" STR_FMT, sources.n ? " " : "", (int)at, one.p, STR_ARG(uid));
	}
	o->meta.annotations = json_copy(a, o->meta.annotations);
	json_set(a, o->meta.annotations, name, json_string(a, arena_dup(a, buf_str(&sources))));
}

static void rename_all(struct import *im, struct object *o, bool knows_uids, struct arena *a)
{
	const struct rewriting w = {im, a, knows_uids};
	const struct history_subject was = is_kind(o, "History") ? subject_of(o) : (struct history_subject){0};
	struct str old_ns = o->meta.ns;
	o->fields = rewrite(&w, o->fields);
	o->meta.owner_references = o->meta.owner_references ? rewrite(&w, o->meta.owner_references) : NULL;
	o->meta.ns = import_renamed(im, old_ns);
	if (is_kind(o, "Namespace")) {
		o->meta.name = import_renamed(im, o->meta.name);
	}
	if (is_kind(o, "History")) {
		rename_history(im, o, was, old_ns, a);
	}
	rename_owners(im, o, old_ns, a);
	rename_labels(im, o, old_ns, a);
	if (knows_uids) {
		rename_sources(im, o, a);
	}
}

/* ---- an object of its own ---- */

/* Prepares the object as if a client had created it: metadata is set as on creation, and a
 * deletion under way is forgotten. Everything else stays as in the file, including status. An
 * object that was being deleted gets the status of a new one. */
static void begin_anew(struct object *o, struct arena *a)
{
	bool was_deleting = meta_is_deleting(&o->meta);
	char *now = arena_text(a, TIME_RFC3339_SIZE);
	time_format_rfc3339(now, clock_wall_s());
	o->meta.creation_timestamp = str_of(now);
	o->meta.deletion_timestamp = STR("");
	o->meta.has_grace_period = false;
	o->meta.managed_fields = NULL;
	managed_update(o, NULL, &o->kind->versions[0], STR(""), STR("annals-import"), str_of(now), a);
	if (o->kind->prepare_create) {
		struct object *born = object_copy(o, a);
		o->kind->prepare_create(born, a);
		o->meta = born->meta;
		o->fields = was_deleting ? born->fields : o->fields;
	}
}

int import_object(struct import *im, const struct entry *e, struct str text, bool is_final, struct arena *a,
	struct object **ret, struct buf *why)
{
	int r = import_object_raw(im, e, text, a, ret, why);
	if (r) {
		return r;
	}
	struct object *o = *ret;
	bool is_exact = im->options->is_exact;
	if (im->options->n_renames || !is_exact) {
		rename_all(im, o, is_final && !is_exact, a);
	}
	if (is_final && o->kind->settle) {
		o->kind->settle(o, a); /* the rules of the version that was sent have been applied by the scan */
		o->version = NULL;
	}
	if (!is_exact) {
		begin_anew(o, a);
	}
	if (is_final && !is_exact) {
		o->meta.uid = o->meta.uid.n ? new_uid(im, o->meta.uid, a) : made_uid(im, "key", import_key(im, o, a), a);
	}
	return 0;
}

/* ---- comparing ---- */

/* Compares by content unless --exact is given. Namespaces are always compared by content:
 * nothing refers to their uids, and every server makes the first ones with new uids. */
bool import_is_same(const struct import *im, const struct object *wanted, const struct object *present, struct arena *a)
{
	if (im->options->is_exact && !is_kind(wanted, "Namespace")) {
		return object_equal(wanted, present);
	}
	struct object *as_present = object_copy(wanted, a);
	as_present->meta.uid = present->meta.uid;
	as_present->meta.creation_timestamp = present->meta.creation_timestamp;
	as_present->meta.generation = present->meta.generation;
	as_present->meta.managed_fields = present->meta.managed_fields;
	return object_equal(as_present, present);
}
