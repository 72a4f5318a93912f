/* The registry of kinds, the features that switch parts of them, and the version in which each is
 * stored.
 *
 * Constructors fill the registry before main(), so that adding a kind touches one file and no
 * list. It is never written afterwards and needs no lock. A mistake in a declaration aborts at
 * the start of any program, so no test can miss it. */
#include "api/model/kind.h"

#include "api/model/protobuf.h"
#include "api/model/protobuf_write.h"
#include "api/model/storage_version.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/sha256.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* Sorted by hub group and resource, so that nothing depends on the order in which the linker lays out constructors. Written before
 * main() only. */
static struct kind *built_in[KIND_COUNT_MAX];
static size_t n_kinds;

const char *verb_name(enum verb v)
{
	switch (v) {
	case VERB_GET:
		return "get";
	case VERB_LIST:
		return "list";
	case VERB_WATCH:
		return "watch";
	case VERB_CREATE:
		return "create";
	case VERB_UPDATE:
		return "update";
	case VERB_PATCH:
		return "patch";
	case VERB_DELETE:
		return "delete";
	case VERB_DELETECOLLECTION:
		return "deletecollection";
	case VERBS_ALL:
		break;
	}
	return "";
}

static int compare_kinds(const struct kind *a, const struct kind *b)
{
	int r = strcmp(a->versions[0].group, b->versions[0].group);
	return r ? r : strcmp(a->resource, b->resource);
}

static bool is_same_version(const struct version *a, const struct version *b)
{
	return strcmp(a->group, b->group) == 0 && strcmp(a->name, b->name) == 0;
}

/* Two kinds clash where one path, or one group, version and kind, would mean both. */
static bool clashes(const struct kind *a, const struct kind *b)
{
	if (strcmp(a->resource, b->resource) != 0 && strcmp(a->kind, b->kind) != 0) {
		return false;
	}
	for (size_t i = 0; i < a->n_versions; i++) {
		for (size_t k = 0; k < b->n_versions; k++) {
			if (is_same_version(&a->versions[i], &b->versions[k])) {
				return true;
			}
		}
	}
	return compare_kinds(a, b) == 0;
}

static _noreturn_ void die(const struct kind *k, const char *why)
{
	fprintf(stderr, "kind %s (%s/%s): %s\n", k->kind, k->versions[0].group, k->resource, why);
	abort();
}

static void check(const struct kind *k)
{
	for (size_t i = 0; i < n_kinds; i++) {
		if (clashes(built_in[i], k)) {
			die(k, "another kind has these names");
		}
	}
	if (n_kinds == KIND_COUNT_MAX) {
		die(k, "too many kinds");
	}
	if (k->n_versions == 0 || k->storage_version >= k->n_versions) {
		die(k, "there is no storage version");
	}
	if (k->n_versions > KIND_VERSIONS_MAX) {
		die(k, "too many versions");
	}
	const struct version *hub = &k->versions[0];
	if (!hub->type != !hub->from_hub || !hub->from_hub != !hub->to_hub) {
		die(k, "the first version either shows the hub form or has a form of its own");
	}
}

void kind_register(struct kind *k)
{
	assert(k->kind && k->resource);
	check(k);
	size_t at = n_kinds++;
	for (; at > 0 && compare_kinds(built_in[at - 1], k) > 0; at--) {
		built_in[at] = built_in[at - 1];
	}
	built_in[at] = k;
	for (size_t i = at; i < n_kinds; i++) {
		built_in[i]->index = (unsigned)i;
	}
}

size_t kind_count(void)
{
	return n_kinds;
}

const struct kind *kind_at(size_t i)
{
	assert(i < n_kinds);
	return built_in[i];
}

bool version_is_visible(const struct version *v, bool is_standalone)
{
	return (is_standalone || !v->standalone_only) && !v->is_unserved;
}

bool version_is_own(const struct version *v, const struct kind *k)
{
	return strcmp(v->group, k->versions[0].group) == 0;
}

/* ---- kinds that definitions describe ---- */

void kind_begin_life(struct kind *k, struct kind_life *life)
{
	static _Atomic unsigned last = KIND_COUNT_MAX;

	assert(life->free && !life->place);
	atomic_init(&life->refs, 1);
	k->life = life;
	k->index = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed);
}

const struct kind *kind_ref(const struct kind *k)
{
	if (k && k->life) {
		unsigned before = atomic_fetch_add_explicit(&k->life->refs, 1, memory_order_relaxed);
		assert(before > 0);
		(void)before;
	}
	return k;
}

const struct kind *kind_unref(const struct kind *k)
{
	if (!k || !k->life || atomic_fetch_sub_explicit(&k->life->refs, 1, memory_order_acq_rel) != 1) {
		return NULL;
	}
	/* The cache's place has objects of the kind, so it goes first. */
	if (k->life->place) {
		k->life->vacate(k->life->place);
	}
	k->life->free((struct kind *)(uintptr_t)k);
	return NULL;
}

/* Sorted as the kinds of the program are. */
struct kinds {
	_Atomic uint32_t refs;
	size_t n;
	const struct kind *v[];
};

static int compare_entries(const void *a, const void *b)
{
	return compare_kinds(*(const struct kind *const *)a, *(const struct kind *const *)b);
}

struct kinds *kinds_new(const struct kind **v, size_t n)
{
	struct kinds *t = mem_alloc(sizeof(*t) + n * sizeof(t->v[0]));

	assert(n <= KINDS_DEFINED_MAX);
	atomic_init(&t->refs, 1);
	t->n = n;
	for (size_t i = 0; i < n; i++) {
		assert(v[i]->life);
		t->v[i] = kind_ref(v[i]);
	}
	if (n > 1) {
		qsort(t->v, n, sizeof(t->v[0]), compare_entries);
	}
	return t;
}

struct kinds *kinds_ref(struct kinds *t)
{
	if (t) {
		atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
	}
	return t;
}

struct kinds *kinds_unref(struct kinds *t)
{
	if (!t || atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) != 1) {
		return NULL;
	}
	for (size_t i = 0; i < t->n; i++) {
		kind_unref(t->v[i]);
	}
	return mem_free(t);
}

size_t kinds_count(const struct kinds *t)
{
	return t ? t->n : 0;
}

const struct kind *kinds_at(const struct kinds *t, size_t i)
{
	assert(i < kinds_count(t));
	return t->v[i];
}

static int compare_to_hub(struct str group, struct str resource, const struct kind *k)
{
	int r = str_cmp(group, str_of(k->versions[0].group));

	return r ? r : str_cmp(resource, str_of(k->resource));
}

const struct kind *kinds_by_hub(const struct kinds *t, struct str group, struct str resource)
{
	size_t low = 0, high = kinds_count(t);

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int r = compare_to_hub(group, resource, t->v[middle]);
		if (r == 0) {
			return t->v[middle];
		}
		if (r < 0) {
			high = middle;
		} else {
			low = middle + 1;
		}
	}
	return NULL;
}

size_t kinds_total(const struct kinds *t)
{
	return n_kinds + kinds_count(t);
}

const struct kind *kinds_nth(const struct kinds *t, size_t i)
{
	return i < n_kinds ? built_in[i] : kinds_at(t, i - n_kinds);
}

static const struct version *find_version(const struct kind *k, struct str group, struct str version)
{
	for (size_t i = 0; i < k->n_versions; i++) {
		if (str_is(group, k->versions[i].group) && str_is(version, k->versions[i].name)) {
			return &k->versions[i];
		}
	}
	return NULL;
}

const struct kind *kind_by_resource(
	struct str group, struct str version, struct str resource, bool is_standalone, const struct version **ret_version)
{
	for (size_t i = 0; i < n_kinds; i++) {
		if (!str_is(resource, built_in[i]->resource)) {
			continue;
		}
		const struct version *v = find_version(built_in[i], group, version);
		if (v && version_is_visible(v, is_standalone)) {
			if (ret_version) {
				*ret_version = v;
			}
			return built_in[i];
		}
	}
	return NULL;
}

const struct kind *kinds_by_resource(
	const struct kinds *t, struct str group, struct str version, struct str resource, const struct version **ret_version)
{
	const struct kind *k = kinds_by_hub(t, group, resource);
	const struct version *v = k ? find_version(k, group, version) : NULL;

	if (!v || !version_is_visible(v, true)) {
		return NULL;
	}
	*ret_version = v;
	return k;
}

const struct kind *kind_by_hub(struct str group, struct str resource)
{
	for (size_t i = 0; i < n_kinds; i++) {
		if (str_is(group, built_in[i]->versions[0].group) && str_is(resource, built_in[i]->resource)) {
			return built_in[i];
		}
	}
	return NULL;
}

const struct reference_field *kind_reference_to(
	const struct kind *k, const struct kind *target, const struct reference_field *after)
{
	const struct reference_field *f = after ? after + 1 : k->reference_fields;

	while (f && f->prefix &&
		!(strcmp(f->group, target->versions[0].group) == 0 && strcmp(f->resource, target->resource) == 0)) {
		f++;
	}
	return f && f->prefix ? f : NULL;
}

const struct kind *kind_by_any_group(struct str group, struct str resource)
{
	for (size_t i = 0; i < n_kinds; i++) {
		for (size_t k = 0; str_is(resource, built_in[i]->resource) && k < built_in[i]->n_versions; k++) {
			if (str_is(group, built_in[i]->versions[k].group)) {
				return built_in[i];
			}
		}
	}
	return NULL;
}

struct str reference_path(const struct reference_field *f, struct str ns, struct str name, struct arena *a)
{
	return f->scope == REFERENCE_NAMED ? arena_printf(a, "%s" STR_FMT "/" STR_FMT, f->prefix, STR_ARG(ns), STR_ARG(name))
					   : arena_printf(a, "%s" STR_FMT, f->prefix, STR_ARG(name));
}

static bool is_at(const uint32_t *at, size_t i, const struct kind *k, const struct version *v)
{
	assert(v >= k->versions && v < k->versions + k->n_versions);
	return !at || (at[i] & (UINT32_C(1) << (v - k->versions)));
}

const struct subresource *kind_subresource(const struct kind *k, const struct version *v, struct str name)
{
	for (size_t i = 0; i < k->n_subresources; i++) {
		const struct subresource *s = &k->subresources[i];
		if (str_is(name, s->name) && (!v || is_at(k->subresources_at, i, k, v))) {
			return s;
		}
	}
	return NULL;
}

const char *const *kind_reset_fields(const struct kind *k, const struct version *v, const struct subresource *sub)
{
	return sub ? sub->reset_fields : v->reset_fields ? v->reset_fields : k->reset_fields;
}

bool subresource_is_visible(const struct subresource *s, const struct kind *k, const struct version *v)
{
	return is_at(k->subresources_at, (size_t)(s - k->subresources), k, v) && (!s->annals_only || version_is_own(v, k));
}

bool selectable_is_visible(const struct selectable_field *f, const struct kind *k, const struct version *v)
{
	return is_at(k->selectable_at, (size_t)(f - k->selectable), k, v) && (!f->annals_only || version_is_own(v, k));
}

const struct kind *subresource_kind(const struct subresource *sub, const struct kind *k)
{
	return sub && sub->view ? sub->view->kind : k;
}

const struct version *subresource_version(const struct subresource *sub, const struct version *v)
{
	return sub && sub->view ? &sub->view->kind->versions[0] : v;
}

struct object *view_show(const struct view *v, const struct object *o, struct arena *a)
{
	struct object *shown = arena_new(a, struct object);
	*shown = (struct object){
		.kind = v->kind,
		.meta = {.name = o->meta.name,
			.ns = o->meta.ns,
			.uid = o->meta.uid,
			.resource_version = o->meta.resource_version,
			.creation_timestamp = o->meta.creation_timestamp},
		.fields = v->show(v, o, a),
		.mod_revision = o->mod_revision,
	};
	return shown;
}

const struct type *version_type(const struct kind *k, const struct version *v)
{
	return k->type_of ? k->type_of(k, v) : v->type ? v->type : k->type;
}

/* "apps/v1" is group and version, "v1" the version of the core group. */
static void split_api_version(struct str api_version, struct str *ret_group, struct str *ret_version)
{
	if (!str_cut(api_version, '/', ret_group, ret_version)) {
		*ret_version = api_version;
		*ret_group = (struct str){0};
	}
}

const struct version *kind_version(const struct kind *k, struct str api_version)
{
	struct str group, version;
	split_api_version(api_version, &group, &version);
	return find_version(k, group, version);
}

struct str version_api_version(const struct version *v, struct arena *a)
{
	size_t n_group = strlen(v->group), n_version = strlen(v->name);
	if (!n_group) {
		return (struct str){v->name, n_version};
	}
	/* by hand: every write and every list asks */
	char *text = arena_text(a, n_group + 1 + n_version);
	memcpy(text, v->group, n_group);
	text[n_group] = '/';
	memcpy(text + n_group + 1, v->name, n_version);
	return (struct str){text, n_group + 1 + n_version};
}

void version_write_api_version(const struct version *v, struct buf *out)
{
	buf_printf(out, "%s%s%s", v->group, *v->group ? "/" : "", v->name);
}

bool version_stores_hub(const struct version *v, const struct kind *k)
{
	return v == &k->versions[0] || !v->from_hub;
}

bool version_shows_hub(const struct version *v)
{
	return !v->from_hub && !v->is_narrowed;
}

struct json *version_show(const struct kind *k, const struct version *v, const struct json *hub, struct arena *a)
{
	assert(!v->is_narrowed || (k->narrow && !v->from_hub));
	if (v->is_narrowed) {
		return k->narrow(k, v, hub, a);
	}
	return v->from_hub ? v->from_hub(hub, a) : (struct json *)(uintptr_t)hub;
}

bool version_knows(const struct kind *k, const struct version *v, const struct json *whole, struct arena *a)
{
	assert(k->narrow);
	return json_equal(k->narrow(k, v, whole, a), whole);
}

bool kind_is_stored(const struct kind *k)
{
	return !k->extension;
}

const struct version *kind_storage_version(const struct kind *k)
{
	return &k->versions[k->storage_version];
}

void column_write_name(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	json_encode_string(out, o->meta.name);
}

void column_write_since(struct str time, int64_t now_s, struct buf *out)
{
	char age[32] = "<unknown>";
	int64_t us;
	if (time_parse_rfc3339(time, &us)) {
		duration_format_human(age, now_s - us / 1000000);
	}
	json_encode_string(out, str_of(age));
}

void column_write_age(const struct object *o, int64_t now_s, struct buf *out)
{
	column_write_since(o->meta.creation_timestamp, now_s, out);
}

void column_write_object(struct str kind, struct str group, struct str name, struct buf *out)
{
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, 65536);
	for (size_t i = 0; i < kind.n; i++) {
		char c = kind.p[i];
		buf_addc(&text, c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c);
	}
	if (group.n) {
		buf_printf(&text, "." STR_FMT, STR_ARG(group));
	}
	buf_printf(&text, "/" STR_FMT, STR_ARG(name));
	json_encode_string(out, buf_str(&text));
}

void column_write_live(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)o;
	(void)now_s;
	json_encode_string(out, STR("<unknown>"));
}

/* ---- features: one process serves one set of them, like upstream's DefaultFeatureGate ---- */

static bool features[FEATURES];

bool feature_is_enabled(enum feature f)
{
	return features[f];
}

void feature_enable(enum feature f, bool is_enabled)
{
	features[f] = is_enabled;
}

/* ---- stored versions ----
 *
 * Flags set here in which version a kind is stored. Writers follow the replicas' agreement, since all
 * replicas must read it. Names are upstream's GroupResource, so that flags, metrics and objects
 * call a kind alike. */

enum {
	/* As k8s.io/apiserver's discovery.StorageVersionHash: the beginning of a SHA-256, in
	 * base64. */
	HASHED_BYTES = 8,
	/* Bytes of GROUP/VERSION/KIND: names of DNS, so 400 bytes are never reached. */
	HASHED_TEXT_MAX = 4096,
};

void storage_versions_init(struct storage_versions *v)
{
	*v = (struct storage_versions){0};
	for (size_t i = 0; i < kind_count(); i++) {
		v->versions[i] = kind_storage_version(kind_at(i));
	}
}

/* ---- settings ---- */

static bool is_named(const struct kind *k, struct str resource, struct str group, bool has_group)
{
	return kind_is_stored(k) && str_is(resource, k->resource) && (!has_group || str_is(group, k->versions[0].group));
}

/* The one kind of that name; NULL with a sentence in err. */
static const struct kind *find_kind(struct str name, struct buf *err)
{
	const struct kind *found = NULL;
	struct str resource, group;
	bool has_group = str_cut(name, '.', &resource, &group);

	for (size_t i = 0; i < kind_count(); i++) {
		if (!is_named(kind_at(i), has_group ? resource : name, group, has_group)) {
			continue;
		}
		if (found) {
			buf_printf(err, STR_FMT ": there are several such resources; give the group, too: %s.GROUP",
				STR_ARG(name), found->resource);
			return NULL;
		}
		found = kind_at(i);
	}
	if (!found) {
		buf_printf(err, STR_FMT ": there is no such resource", STR_ARG(name));
	}
	return found;
}

static const struct version *version_find(const struct kind *k, struct str version)
{
	struct arena a;
	bool has_group = memchr(version.p, '/', version.n) != NULL;

	arena_init(&a, SIZE_MAX);
	const char *group = k->versions[0].group;
	struct str api_version = has_group || !*group ? version : arena_printf(&a, "%s/" STR_FMT, group, STR_ARG(version));
	const struct version *v = kind_version(k, api_version);
	arena_done(&a);
	return v;
}

static void list_versions(struct buf *out, const struct kind *k)
{
	for (size_t i = 0; i < k->n_versions; i++) {
		buf_adds(out, i ? ", " : "");
		version_write_api_version(&k->versions[i], out);
	}
}

int storage_versions_set(struct storage_versions *v, struct str setting, struct buf *err)
{
	struct str name, version;

	if (!str_cut(setting, '=', &name, &version) || name.n == 0 || version.n == 0) {
		buf_printf(err, STR_FMT ": must be RESOURCE=VERSION", STR_ARG(setting));
		return -EINVAL;
	}
	const struct kind *k = find_kind(name, err);
	if (!k) {
		return -EINVAL;
	}
	const struct version *d = version_find(k, version);
	if (!d) {
		buf_printf(err, STR_FMT ": %s has no such version; it has ", STR_ARG(setting), k->resource);
		list_versions(err, k);
		return -EINVAL;
	}
	v->versions[k->index] = d;
	return 0;
}

bool storage_migration_parse(enum storage_migration *ret, struct str name)
{
	static const char *const names[] = {
		[STORAGE_MIGRATION_AUTO] = "Auto", [STORAGE_MIGRATION_MANUAL] = "Manual", [STORAGE_MIGRATION_OFF] = "Off"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (str_is(name, names[i])) {
			*ret = (enum storage_migration)i;
			return true;
		}
	}
	return false;
}

/* ---- names ---- */

struct str kind_group_resource(const struct kind *k, struct arena *a)
{
	const char *group = k->versions[0].group;

	return *group ? arena_printf(a, "%s.%s", k->resource, group) : str_of(k->resource);
}

void kind_write_group_resource(const struct kind *k, struct buf *out)
{
	const char *group = k->versions[0].group;

	buf_printf(out, "%s%s%s", k->resource, *group ? "." : "", group);
}

void storage_version_hash(const struct kind *k, const struct version *v, char out[STORAGE_VERSION_HASH_SIZE])
{
	unsigned char sum[SHA256_SIZE];
	struct buf text;

	buf_init(&text, HASHED_TEXT_MAX);
	buf_printf(&text, "%s/%s/%s", v->group, v->name, k->kind);
	sha256(buf_str(&text), sum);
	buf_done(&text);
	base64_encode(out, (struct str){(const char *)sum, HASHED_BYTES});
	out[STORAGE_VERSION_HASH_SIZE - 1] = 0;
}

/* ---- protobuf ---- */

/* Looking at all fields of a pod takes longer than a whole answer, so the result is remembered. Types are static: an address names the
 * type, and its last bit has the result. */
bool protobuf_has_objects(const struct kind *k, const struct version *v)
{
	enum { REMEMBERED = 256, KNOWS = 1 };
	static _Atomic uintptr_t remembered[REMEMBERED];
	const struct type *type = version_type(k, v);
	/* Clients ask for protobuf wherever they may have it. For our own group nobody has the generated code that would read it. */
	if (str_is(str_of(v->group), "annals.dev")) {
		return false;
	}
	/* Types of definitions come and go, and so do their addresses. */
	if (k->life) {
		return false;
	}
	uintptr_t name = (uintptr_t)type;
	_Atomic uintptr_t *place = &remembered[name / _Alignof(struct type) % REMEMBERED];
	uintptr_t found = atomic_load_explicit(place, memory_order_relaxed);

	if ((found & ~(uintptr_t)KNOWS) != name) {
		found = name | (protobuf_knows(type) ? KNOWS : 0);
		atomic_store_explicit(place, found, memory_order_relaxed);
	}
	return found & KNOWS;
}
