/* Kinds that CustomResourceDefinitions describe, for an import. A definition may be in the file, in the store, or in both. So all of them are looked at
 * before any other object, and one of the two is in force: the stored one, unless the file's is new or will replace it. A definition is settled as a
 * server settles it: its names must be free among all kinds, and the transaction that writes it requires that no definition has changed since.
 *
 * Names of kinds are kept, without schemas. A kind with its schemas is made when an object needs it, and once more after it had to give way to others:
 * a file may have ten thousand of them. */
#include "api/custom/custom.h"
#include "api/custom/definition.h"
#include "api/model/members.h"
#include "api/rules/spec_status.h"
#include "base/clock.h"
#include "cli/export/export_form.h"
#include "cli/export/import.h"
#include "cli/fsck/fsck_store.h"
#include "storage/keys.h"

#include <assert.h>
#include <errno.h>

enum {
	FIRST = 64,
	TREE_BYTES = 256 << 20,      /* of one definition: its tree takes thirty times the bytes of its text */
	KINDS_BYTES_MAX = 256 << 20, /* kinds with their schemas that are kept at a time; one batch may take as much again */
	KIND_BYTES = 64 << 10,       /* of a kind, beside its schemas */
	SCHEMA_PART = 12,            /* a compiled schema takes at most this times the bytes of its text */
	NAME_BYTES = 1024,           /* of GROUP/KIND: both are names of DNS */
};

bool import_is_definition(const struct object *o)
{
	return o->kind == definitions_kind();
}

/* ---- the table ---- */

static struct import_custom *custom_find(struct import *im, struct str name)
{
	uintptr_t place = (uintptr_t)map_get(&im->customs_by_name, name);

	return place > 0 ? &im->customs[place - 1] : NULL;
}

/* "GROUP/KIND" */
static struct str kind_key(char room[NAME_BYTES], struct str group, struct str kind)
{
	size_t n = group.n + 1 + kind.n;

	if (n > NAME_BYTES) {
		return STR("");
	}
	memcpy(room, group.p, group.n);
	room[group.n] = '/';
	memcpy(room + group.n + 1, kind.p, kind.n);
	return (struct str){room, n};
}

static void custom_name(struct import *im, struct import_custom *c, const struct kind *names)
{
	char room[NAME_BYTES];

	if (c->names) {
		map_remove(&im->customs_by_kind, kind_key(room, str_of(c->names->versions[0].group), str_of(c->names->kind)));
	}
	c->names = kind_unref(c->names);
	c->names = names;
	if (names) {
		map_set(&im->customs_by_kind, kind_key(room, str_of(names->versions[0].group), str_of(names->kind)),
			(void *)(uintptr_t)(c - im->customs + 1), NULL);
	}
}

/* NULL with a sentence in err: there are too many. */
static struct import_custom *custom_add(struct import *im, struct str name)
{
	if (im->n_customs == KINDS_DEFINED_MAX) {
		buf_printf(im->err, "there are more than %d definitions in the file and the store: no server serves so many",
			KINDS_DEFINED_MAX);
		return NULL;
	}
	if (im->n_customs == im->cap_customs) {
		im->cap_customs = MAX(2 * im->cap_customs, (size_t)FIRST);
		im->customs = mem_realloc_array(im->customs, im->cap_customs, sizeof(*im->customs));
	}
	struct import_custom *c = &im->customs[im->n_customs++];
	*c = (struct import_custom){.name = arena_dup(&im->names, name)};
	map_set(&im->customs_by_name, name, (void *)(uintptr_t)im->n_customs, NULL);
	return c;
}

void import_definitions_done(struct import *im)
{
	for (size_t i = 0; i < im->n_customs; i++) {
		kind_unref(im->customs[i].names);
		kind_unref(im->customs[i].kind);
	}
	map_done(&im->customs_by_kind);
	map_done(&im->customs_by_name);
	mem_free(im->customs);
}

/* The kind of a definition without its schemas: its names, and its versions. NULL: the definition is not established. */
static const struct kind *names_of(const struct object *definition, struct arena *a)
{
	struct object *o = object_copy(definition, a);
	struct json *spec = json_copy(a, object_spec(o)), *versions = json_gets(spec, "versions"), *each;

	if (json_is(versions, JSON_ARRAY)) {
		versions = json_copy(a, versions);
		for (uint32_t i = 0; (each = list_item(versions, i)); i++) {
			if (json_is(each, JSON_OBJECT)) {
				versions->items[i] = json_copy(a, each);
				json_remove(versions->items[i], STR("schema"));
			}
		}
		json_set(a, spec, STR("versions"), versions);
	}
	object_set_spec(o, spec, a);
	return custom_define(o, NULL);
}

/* ---- settling ---- */

/* The kinds of the group: others cannot have the same names. */
static struct kinds *kinds_of_group(const struct import *im, struct str group)
{
	const struct kind **v = mem_array(im->n_customs + 1, sizeof(const struct kind *));
	size_t n = 0;

	for (size_t i = 0; i < im->n_customs; i++) {
		const struct kind *k = im->customs[i].names;
		if (k && str_is(group, k->versions[0].group)) {
			v[n++] = k;
		}
	}
	struct kinds *kinds = kinds_new(v, n);
	mem_free(v);
	return kinds;
}

/* The names that the source has accepted are judged anew. Its conditions and stored versions stay. */
static void settle_exactly(struct object *o, struct arena *a)
{
	const struct json *status = object_status(o);
	struct object *old = object_copy(o, a);
	struct json *kept = json_is(status, JSON_OBJECT) ? json_copy(a, status) : json_object(a);

	json_remove(kept, STR("acceptedNames"));
	object_set_status(old, kept, a);
	o->kind->prepare_update(o, old, a);
}

void import_settle_definition(struct import *im, struct object *o, const struct object *present, struct arena *a)
{
	char text[TIME_RFC3339_SIZE];

	assert(import_is_definition(o));
	time_format_rfc3339(text, clock_wall_s());
	if (present) {
		o->kind->prepare_update(o, present, a);
		o->meta.generation = present->meta.generation + o->kind->bumps_generation(o, present);
	} else if (im->options->is_exact) {
		settle_exactly(o, a);
	} else {
		o->kind->prepare_create(o, a);
	}
	_cleanup_(kinds_unrefp) struct kinds *others = kinds_of_group(im, member_text(object_spec(o), "group"));
	definition_settle(o, others, arena_dup(a, str_of(text)), a);
}

struct str import_refused_names(const struct object *o)
{
	const struct json *accepted = condition_find(json_gets(object_status(o), "conditions"), "NamesAccepted");
	const struct json *names = json_gets(object_status(o), "acceptedNames");
	bool is_served = definition_is_established(o) && member_text(names, "plural").n > 0 && member_text(names, "kind").n > 0;

	return is_served ? STR("") : member_text(accepted, "message");
}

/* ---- the store's definitions ---- */

static int store_get(struct import *im, struct str name, struct arena *a, struct object **ret)
{
	const struct object_id id = {.kind = definitions_kind(), .name = name};
	struct storage_range range = {.key = object_id_key(&id, im->options->prefix, a)};
	int r = storage_range_wait(im->options->storage, &range) == STORAGE_OK ? 0 : store_range_fail(&range, 0, im->err);

	*ret = NULL;
	if (!r && range.n_kvs > 0 && import_decode(im, ret, id.kind, &range.kvs[0], a)) {
		buf_printf(im->err, "the definition " STR_FMT " cannot be read: see annals fsck", STR_ARG(name));
		r = -EBADMSG;
	}
	storage_op_clear(&range.op);
	return r;
}

static int take_stored(void *ctx, const struct storage_range *page)
{
	struct import *im = ctx;
	_cleanup_(arena_done) struct arena a;
	int r = 0;

	arena_init(&a, TREE_BYTES);
	for (size_t i = 0; i < page->n_kvs && !r; i++) {
		const struct storage_kv *kv = &page->kvs[i];
		struct object *o;
		arena_clear(&a);
		if (import_decode(im, &o, definitions_kind(), kv, &a)) {
			continue; /* as for servers, it describes nothing */
		}
		struct import_custom *c = custom_add(im, o->meta.name);
		r = c ? 0 : -EFBIG;
		if (c) {
			c->revision = kv->mod_revision;
			c->bytes = kv->value.n;
			custom_name(im, c, names_of(o, &a));
		}
	}
	return r;
}

int import_definitions_load(struct import *im)
{
	_cleanup_(arena_done) struct arena a;

	arena_init(&a, NAME_BYTES * 4);
	if (im->definitions_seen) {
		return 0;
	}
	const struct kind *k = definitions_kind();
	struct str directory =
		key_object(&a, im->options->prefix, str_of(k->versions[0].group), str_of(k->resource), STR(""), STR(""));
	return store_pages_each(im->options->storage, directory, storage_prefix_end(&a, directory), &im->definitions_seen,
		take_stored, im, im->err);
}

/* ---- the file's definitions ---- */

int import_definition_take(struct import *im, const struct entry *e, struct object *o, struct arena *a)
{
	struct object *present = NULL;
	int r = import_definitions_load(im);
	struct import_custom *c = r ? NULL : custom_find(im, o->meta.name);

	if (!r && c && c->revision > 0) {
		r = store_get(im, o->meta.name, a, &present);
	}
	if (r) {
		return r;
	}
	import_settle_definition(im, o, present, a);
	/* Where another one is refused, the import ends with that: objects are judged as if it had not been. */
	bool stays = present && (im->options->on_conflict == CONFLICT_SKIP || json_equal(object_spec(o), object_spec(present)));
	if (stays) {
		c->revision = present->mod_revision;
		return 0;
	}
	c = c ? c : custom_add(im, o->meta.name);
	if (!c) {
		return -EFBIG;
	}
	c->revision = present ? present->mod_revision : 0;
	c->entry = *e;
	c->bytes = e->length;
	custom_name(im, c, names_of(o, a));
	return 0;
}

bool import_knows_definition(struct import *im, struct str name)
{
	return custom_find(im, name) != NULL;
}

void import_definition_written(struct import *im, struct str name, int64_t revision, bool is_ours)
{
	struct import_custom *c = custom_find(im, name);

	if (c) {
		c->revision = revision;
		c->entry.length = 0; /* what is stored is in force */
	}
	if (is_ours) {
		assert(revision >= im->definitions_seen);
		im->definitions_seen = revision;
	}
}

/* ---- kinds of entries ---- */

bool import_find_custom(struct import *im, struct str kind, struct str api_version, struct entry *ret)
{
	char room[NAME_BYTES];
	struct str group, version;

	if (!str_cut(api_version, '/', &group, &version)) {
		return false;
	}
	uintptr_t place = (uintptr_t)map_get(&im->customs_by_kind, kind_key(room, group, kind));
	const struct kind *names = place > 0 ? im->customs[place - 1].names : NULL;
	const struct version *v = names ? kind_version(names, api_version) : NULL;
	if (v) {
		ret->kind = (uint16_t)(KIND_COUNT_MAX + place - 1);
		ret->version = (uint8_t)(v - names->versions);
	}
	return v != NULL;
}

static struct import_custom *custom_of(struct import *im, const struct entry *e)
{
	assert(e->kind >= KIND_COUNT_MAX && e->kind < KIND_COUNT_MAX + im->n_customs);
	return &im->customs[e->kind - KIND_COUNT_MAX];
}

const struct kind *import_kind_names(struct import *im, const struct entry *e)
{
	return e->kind < KIND_COUNT_MAX ? kind_at(e->kind) : custom_of(im, e)->names;
}

bool import_entry_is_definition(const struct entry *e)
{
	return e->kind < KIND_COUNT_MAX && kind_at(e->kind) == definitions_kind();
}

bool import_entry_is_namespace(const struct entry *e)
{
	return e->kind < KIND_COUNT_MAX && export_is_namespace(kind_at(e->kind));
}

/* The definition that is in force. */
static int custom_read(struct import *im, const struct import_custom *c, struct arena *a, struct object **ret, struct buf *why)
{
	struct object *present = NULL;
	struct str text;

	if (c->revision > 0 && store_get(im, c->name, a, &present)) {
		return -EIO;
	}
	if ((present ? present->mod_revision : 0) != c->revision) {
		buf_printf(why, "its definition " STR_FMT " has changed meanwhile: run the import again", STR_ARG(c->name));
		return -ESTALE;
	}
	*ret = present;
	if (c->entry.length == 0) {
		return 0;
	}
	if (import_file_read(im, &c->entry, a, &text) || import_object(im, &c->entry, text, false, a, ret, why)) {
		return -EIO;
	}
	import_settle_definition(im, *ret, present, a);
	return 0;
}

/* At most so many bytes. */
static uint64_t kind_cost(const struct import_custom *c)
{
	return KIND_BYTES + SCHEMA_PART * c->bytes;
}

static void custom_make(struct import *im, struct import_custom *c, struct buf *why)
{
	_cleanup_(arena_done) struct arena a;
	struct object *o;

	arena_init(&a, TREE_BYTES);
	if (custom_read(im, c, &a, &o, why)) {
		if (why->n == 0) {
			buf_printf(why, "its definition " STR_FMT " cannot be read", STR_ARG(c->name));
		}
		return;
	}
	c->kind = custom_define(o, NULL);
	im->kinds_bytes += c->kind ? kind_cost(c) : 0;
	if (!c->kind) {
		buf_printf(why, "its definition " STR_FMT " describes no kind", STR_ARG(c->name));
	}
}

const struct kind *import_kind(struct import *im, const struct entry *e, struct buf *why)
{
	if (e->kind < KIND_COUNT_MAX) {
		return kind_at(e->kind);
	}
	struct import_custom *c = custom_of(im, e);
	if (!c->kind) {
		custom_make(im, c, why);
	}
	if (c->kind) {
		c->kind->life->definitions = definitions_kind();
		atomic_store(&c->kind->life->revision, c->revision);
	}
	return c->kind;
}

bool import_kinds_are_full(const struct import *im)
{
	return im->kinds_bytes > KINDS_BYTES_MAX;
}

void import_kinds_trim(struct import *im)
{
	for (size_t i = 0; import_kinds_are_full(im) && i < im->n_customs; i++) {
		struct import_custom *c = &im->customs[i];
		im->kinds_bytes -= c->kind ? kind_cost(c) : 0;
		c->kind = kind_unref(c->kind);
	}
}
