/* The second pass: compares the file with the store. Nothing is written. All objects are looked
 * up before the first is judged: if one is stored already, other objects of the file will refer to
 * its stored uid. */
#include "cli/export/import.h"

#include "admission/admission.h"
#include "api/custom/custom.h"
#include "api/custom/declared.h"
#include "api/custom/definition.h"
#include "api/model/history.h"
#include "api/model/members.h"
#include "api/rules/validate.h"
#include "base/hex.h"
#include "base/ids.h"
#include "base/sha256.h"
#include "cli/export/export_form.h"
#include "cli/fsck/fsck_store.h"
#include "storage/keys.h"

#include <assert.h>
#include <errno.h>

enum {
	BATCH_BYTES = 2 << 20, /* bytes of the file */
	ARENA_BYTES = 1 << 30, /* a tree takes thirty times the room of its text, and a line may have 16 MiB */
	WHY_BYTES = 64 << 10,
	STORED_MAX = 64 << 20,   /* bytes of one encoded object: far above what any etcd takes */
	SMALL_BYTES = 256 << 10, /* bytes of the file: every etcd accepts that much */
};

/* ---- batches ---- */

void batch_init(struct batch *b)
{
	b->n = 0;
	arena_init(&b->arena, ARENA_BYTES);
}

void batch_done(struct batch *b)
{
	arena_done(&b->arena);
}

int batch_add(struct import *im, struct batch *b, size_t at)
{
	assert(b->n < BATCH_MAX && at < im->n);
	_cleanup_(buf_done) struct buf why;
	const struct entry *e = &im->entries[at];
	struct item *item = &b->items[b->n];
	struct str text;
	assert(b->n < BATCH_MAX && at < im->n);
	buf_init(&why, WHY_BYTES);
	int r = import_file_read(im, e, &b->arena, &text);
	if (!r && import_object(im, e, text, true, &b->arena, &item->object, &why)) {
		buf_printf(im->err, "line %u: the file has changed: " STR_FMT, e->line, STR_ARG(buf_str(&why)));
		r = -ESTALE;
	}
	if (!r) {
		item->at = at;
		item->key = import_key(im, item->object, &b->arena);
		b->n++;
	}
	return r;
}

int batch_fill(struct import *im, struct batch *b, size_t *at, bool (*wants)(const struct entry *e))
{
	size_t bytes = 0;
	int r = 0;
	arena_clear(&b->arena);
	import_kinds_trim(im);
	b->n = 0;
	for (; !r && *at < im->n && b->n < BATCH_MAX && bytes < BATCH_BYTES; ++*at) {
		const struct entry *e = &im->entries[im->order[*at]];
		if (b->n > 0 && (e->level != im->entries[b->items[0].at].level || import_kinds_are_full(im))) {
			break;
		}
		if (b->n > 0 && (import_entry_is_definition(e) || import_entry_is_definition(&im->entries[b->items[0].at]))) {
			break; /* each one needs the names that those before it have */
		}
		if (wants(e)) {
			/* Owners come before what they own: the order goes by level. */
			assert(b->n == 0 || e->level == im->entries[b->items[0].at].level);
			bytes += e->length;
			r = batch_add(im, b, im->order[*at]);
		}
	}
	return r;
}

/* ---- what is stored in its place ---- */

static void import_tell(struct import *im, const struct entry *e, const struct object *o, const char *format, ...)
	_printf_(4, 5);
static void import_tell(struct import *im, const struct entry *e, const struct object *o, const char *format, ...)
{
	_cleanup_(buf_done) struct buf text;
	va_list ap;
	buf_init(&text, WHY_BYTES);
	va_start(ap, format);
	buf_vprintf(&text, format, ap);
	va_end(ap);
	import_trouble(im, e->line, o, buf_str(&text));
}

/* Owners stay as in the file: the import adopts nothing. */
static bool is_deleting(void *ctx _unused_, struct str ns _unused_, const struct owner_reference *owner _unused_)
{
	return false;
}

/* A replacement keeps what no write may change: the data of revisions, and references. */
static void validate_replacement(struct object *wanted, const struct object *present, struct field_errors *errors)
{
	const struct kind *k = wanted->kind;
	const struct admission_environment environment = {.is_owner_deleting = is_deleting};
	const struct admission_attributes at = {.operation = ADMIT_UPDATE,
		.kind = k,
		.version = &k->versions[0],
		.ns = wanted->meta.ns,
		.name = wanted->meta.name,
		.object = wanted,
		.old = present,
		.environment = &environment};
	if (k->validate_update) {
		k->validate_update(wanted, present, errors);
	}
	admission_validate(&at, errors);
}

bool import_replace(struct import *im, struct object *wanted, const struct object *present, struct arena *a, struct buf *why)
{
	struct field_errors errors;
	if (im->options->is_exact && !str_eq(wanted->meta.uid, present->meta.uid)) {
		buf_printf(why, "the stored one has the uid " STR_FMT ", which no write may change: delete it first",
			STR_ARG(present->meta.uid));
		return false;
	}
	if (meta_is_deleting(&present->meta)) {
		buf_adds(why, "the stored one is being deleted");
		return false;
	}
	if (wanted->kind->hook && object_form(present) != object_form(wanted)) {
		buf_printf(why,
			"the stored one has version %s, and only a webhook can compare them: write it once, or delete it first",
			object_form(present)->name);
		return false;
	}
	if (import_is_definition(wanted) && !declared_same_references(wanted, present)) {
		buf_adds(why,
			"it changes the annotation " ANNOTATION_REFERS_TO ": delete the stored one, and its objects, first");
		return false;
	}
	wanted->meta.uid = present->meta.uid;
	wanted->meta.creation_timestamp = present->meta.creation_timestamp;
	if (meta_has_finalizer(&present->meta, FINALIZER_PROTECTION)) {
		meta_add_finalizer(&wanted->meta, a, FINALIZER_PROTECTION);
	}
	if (import_is_definition(wanted)) {
		import_settle_definition(im, wanted, present, a);
	}
	field_errors_init(&errors, a);
	validate_replacement(wanted, present, &errors);
	if (errors.n) {
		buf_printf(why, STR_FMT ": " STR_FMT, STR_ARG(errors.v[0].path), STR_ARG(errors.v[0].detail));
	}
	return errors.n == 0;
}

static void decide_other(
	struct import *im, struct entry *e, struct object *wanted, const struct object *present, struct arena *a)
{
	_cleanup_(buf_done) struct buf why;
	buf_init(&why, WHY_BYTES);
	if (export_is_momentary(wanted->kind) || im->options->on_conflict == CONFLICT_SKIP) {
		e->state = ENTRY_SKIP;
	} else if (im->options->on_conflict == CONFLICT_REFUSE) {
		import_tell(
			im, e, wanted, "another one of this name is stored; --on-conflict=skip leaves it, replace replaces it");
	} else if (import_replace(im, wanted, present, a, &why)) {
		e->state = ENTRY_REPLACE;
	} else {
		import_tell(im, e, wanted, "it cannot replace the stored one: " STR_FMT, STR_ARG(buf_str(&why)));
	}
}

/* An object with the uid that this import assigns was written by this import, even if it has
 * changed since. */
void import_decide(struct import *im, struct entry *e, struct object *wanted, const struct object *present, struct arena *a)
{
	if (import_is_definition(wanted)) {
		bool was_established = definition_is_established(wanted);
		import_settle_definition(im, wanted, present, a);
		struct str refused = import_refused_names(wanted);
		if (!present && was_established && refused.n > 0) {
			e->state = ENTRY_SKIP;
			import_tell(im, e, wanted, "its names are not accepted here: " STR_FMT, STR_ARG(refused));
			return;
		}
	}
	bool is_ours = !im->options->is_exact && !e->is_met && present && str_eq(wanted->meta.uid, present->meta.uid);
	if (!present) {
		e->state = ENTRY_NEW;
	} else if (is_ours || import_is_same(im, wanted, present, a)) {
		e->state = ENTRY_SAME;
	} else {
		decide_other(im, e, wanted, present, a);
	}
}

/* Owner references to the object of the file will name the stored one. */
static int keep_uid(struct import *im, struct item *i, const struct object *present)
{
	struct entry *e = &im->entries[i->at];
	struct object *raw;
	struct str text;
	_cleanup_(buf_done) struct buf why;
	_cleanup_(arena_done) struct arena a;
	buf_init(&why, WHY_BYTES);
	arena_init(&a, ARENA_BYTES);
	if (im->options->is_exact || !e->has_uid || str_eq(i->object->meta.uid, present->meta.uid)) {
		return 0;
	}
	int r = import_file_read(im, e, &a, &text);
	if (r || import_object_raw(im, e, text, &a, &raw, &why)) {
		return r ? r : -ESTALE;
	}
	e->is_met = true;
	struct str *uid = arena_new(&im->names, struct str);
	*uid = arena_dup(&im->names, present->meta.uid);
	if (!map_set(&im->present_uids, raw->meta.uid, uid, NULL) || arena_is_full(&im->names)) {
		buf_adds(im->err, "too many objects are stored already: import in parts, by --resources or --namespaces");
		return -EFBIG;
	}
	return 0;
}

/* ---- what must be there ---- */

/* The caller clears the range's operation. */
static int read_store(struct import *im, struct storage_range *r)
{
	return storage_range_wait(im->options->storage, r) == STORAGE_OK ? 0 : store_range_fail(r, 0, im->err);
}

static int is_stored(struct import *im, struct str key, struct str end, bool *ret)
{
	struct storage_range range = {.key = key, .range_end = end, .count_only = true};
	int r = read_store(im, &range);
	*ret = !r && range.count > 0;
	storage_op_clear(&range.op);
	return r;
}

static int is_anywhere(struct import *im, struct str key, bool *ret)
{
	struct print print = print_of(key);
	*ret = import_find(im, true, &print) >= 0;
	return *ret ? 0 : is_stored(im, key, STR(""), ret);
}

static int check_needed(struct import *im, const struct item *i, struct arena *a)
{
	struct reference references[REFERENCES_MAX];
	const struct object *o = i->object;
	bool is_there;
	int r = 0;
	size_t n = o->kind->needs_references && o->kind->needs_references(o) ? o->kind->references(o, references) : 0;
	for (size_t k = 0; k < n && !r; k++) {
		const struct reference_field *f = references[k].field;
		r = is_anywhere(im,
			key_object(a, im->options->prefix, str_of(f->group), str_of(f->resource),
				reference_ns(&references[k], o->meta.ns), references[k].name),
			&is_there);
		if (!r && !is_there) {
			import_tell(im, &im->entries[i->at], o,
				"it needs the %s " STR_FMT ", which is neither in the file nor stored",
				f->kind ? f->kind : f->resource, STR_ARG(references[k].name));
		}
	}
	return r;
}

static int check_told(struct import *im, const struct item *i, struct arena *a)
{
	const struct object *o = i->object;
	struct str told, key = import_told_key(im, o, &told, a);
	bool is_there = true;
	int r = 0;
	if (key.n && !meta_is_deleting(&o->meta)) {
		r = is_anywhere(im, key, &is_there);
	}
	if (!r && !is_there) {
		import_tell(im, &im->entries[i->at], o,
			"its newest revision " STR_FMT " is neither in the file nor stored: export controllerrevisions, too",
			STR_ARG(told));
	}
	return r;
}

/* Refuses a new object as a server does because of its definition, and a new definition because of objects. */
static int check_definition(struct import *im, const struct item *i, struct arena *a)
{
	const struct object *o = i->object;
	struct entry *e = &im->entries[i->at];
	bool is_there = false;
	int r = 0;
	if (e->state == ENTRY_NEW && o->kind->life && atomic_load(&o->kind->life->is_terminating)) {
		import_tell(im, e, o, "its definition " STR_FMT " is being deleted: nothing new can be created",
			STR_ARG(o->kind->life->definition));
	}
	if (e->state == ENTRY_NEW && import_is_definition(o)) {
		struct str plural = member_text(json_gets(object_spec(o), "names"), "plural");
		struct str directory =
			key_object(a, im->options->prefix, member_text(object_spec(o), "group"), plural, STR(""), STR(""));
		r = is_stored(im, directory, storage_prefix_end(a, directory), &is_there);
	}
	if (!r && is_there) {
		import_tell(im, e, o,
			"objects of the resource are stored, and must not come under a new definition: annals fsck names them");
	}
	return r;
}

static struct str namespace_key(struct import *im, struct str name, struct arena *a)
{
	return key_object(a, im->options->prefix, STR(""), STR("namespaces"), STR(""), name);
}

static int look_up_namespace(struct import *im, const struct item *i, struct arena *a, uintptr_t *ret)
{
	struct str key = namespace_key(im, i->object->meta.ns, a);
	struct print print = print_of(key);
	bool is_there;
	int r = is_stored(im, key, STR(""), &is_there);
	bool is_in_file = import_find(im, true, &print) >= 0;
	*ret = is_there                           ? NAMESPACE_THERE
		: is_in_file                      ? NAMESPACE_IN_FILE
		: im->options->creates_namespaces ? NAMESPACE_TO_MAKE
						  : NAMESPACE_MISSING;
	return r;
}

static int check_namespace(struct import *im, const struct item *i, struct arena *a)
{
	struct str ns = i->object->meta.ns;
	uintptr_t state;
	if (!ns.n || !im->has_namespaces || namespace_is_archive(ns) || map_get(&im->namespaces, ns)) {
		return 0;
	}
	int r = look_up_namespace(im, i, a, &state);
	if (!r && !map_set(&im->namespaces, ns, (void *)state, NULL)) {
		buf_adds(im->err, "there are too many namespaces: import in parts, by --namespaces");
		return -EFBIG;
	}
	if (!r && state == NAMESPACE_MISSING) {
		import_tell(im, &im->entries[i->at], i->object,
			"the namespace " STR_FMT " is neither in the file nor stored; --create-namespaces makes it",
			STR_ARG(ns));
	}
	return r;
}

/* If the store has no Namespaces, a kube-apiserver in front of it keeps them. */
static int look_for_namespaces(struct import *im, struct arena *a)
{
	struct str directory = namespace_key(im, STR(""), a);
	int r = is_stored(im, directory, storage_prefix_end(a, directory), &im->has_namespaces);
	im->has_namespaces = im->has_namespaces || im->options->creates_namespaces;
	for (size_t i = 0; i < im->n && !im->has_namespaces; i++) {
		im->has_namespaces = import_entry_is_namespace(&im->entries[i]);
	}
	return r;
}

/* ---- the salt ---- */

struct str import_salt_key(const struct import *im, struct arena *a)
{
	unsigned char digest[SHA256_SIZE];
	const struct import_options *o = im->options;
	struct str *parts = arena_array(a, struct str, 1 + 2 * o->n_renames);
	char *hex = arena_text(a, sizeof(digest) * 2);
	parts[0] = (struct str){(const char *)im->digest, sizeof(im->digest)};
	for (size_t i = 0; i < o->n_renames; i++) {
		parts[1 + 2 * i] = o->renames[i].from;
		parts[2 + 2 * i] = o->renames[i].to;
	}
	sha256_of_parts(parts, 1 + 2 * o->n_renames, digest);
	hex_write(hex, digest, sizeof(digest));
	return key_below(a, key_imports(a, o->prefix), (struct str){hex, sizeof(digest) * 2});
}

/* Takes the salt of an earlier import of the same file that did not complete, or makes a new one. */
static int find_salt(struct import *im, struct arena *a)
{
	struct storage_range range = {.key = import_salt_key(im, a)};
	int r = read_store(im, &range);
	im->has_salt = !r && range.n_kvs > 0 && range.kvs[0].value.n == SALT_SIZE;
	if (im->has_salt) {
		memcpy(im->salt, range.kvs[0].value.p, SALT_SIZE);
	} else {
		random_bytes(im->salt, SALT_SIZE);
	}
	storage_op_clear(&range.op);
	return r;
}

/* How much etcd takes is a flag of its own. So it is shown what would be written, in a transaction that never holds: the size is looked at
 * first, and nothing is changed. */
static int check_size(struct import *im, struct item *i, struct arena *a)
{
	struct entry *e = &im->entries[i->at];
	_cleanup_(buf_done) struct buf stored;
	int r = 0;
	buf_init(&stored, STORED_MAX);
	if (e->length <= SMALL_BYTES) {
		return 0;
	}
	if (!object_encode_stored(&stored, i->object, &i->object->kind->versions[0])) {
		import_tell(im, e, i->object, "it cannot be encoded");
		return 0;
	}
	struct plan p;
	plan_init(&p, a, im->options->prefix);
	plan_guard(&p, storage_compare_mod(i->key, 0));
	plan_guard(&p, storage_compare_exists(i->key));
	plan_put(&p, i->key, buf_str(&stored), 0);
	enum storage_result result = plan_wait(&p, im->options->storage);
	if (result == STORAGE_TOO_LARGE) {
		import_tell(im, e, i->object, "it has %zu bytes, and etcd refuses it for its size: see its --max-request-bytes",
			stored.n);
	} else if (result != STORAGE_OK) {
		buf_printf(im->err, "cannot ask etcd about the size of an object: %s", p.txn.op.message);
		r = -EIO;
	}
	plan_clear(&p);
	return r;
}

/* ---- the pass ---- */

/* First look at an object: notes what later objects need to know. */
static int meet_item(struct import *im, struct item *i, const struct storage_step *got, struct arena *a)
{
	struct object *present = NULL;
	if (got->n_kvs && import_decode(im, &present, i->object->kind, &got->kvs[0], a)) {
		return 0; /* the next look reports it */
	}
	return present ? keep_uid(im, i, present) : 0;
}

static int compare_item(struct import *im, struct item *i, const struct storage_step *got, struct arena *a)
{
	struct entry *e = &im->entries[i->at];
	struct object *present = NULL;
	int r = check_namespace(im, i, a);
	if (got->n_kvs && import_decode(im, &present, i->object->kind, &got->kvs[0], a)) {
		import_tell(im, e, i->object, "what is stored of this name cannot be read: see annals fsck");
		return r;
	}
	import_decide(im, e, i->object, present, a);
	bool is_written = e->state == ENTRY_NEW || e->state == ENTRY_REPLACE;
	r = r || !is_written ? r : check_definition(im, i, a);
	r = r || !is_written ? r : check_size(im, i, a);
	r = r || !is_written ? r : check_needed(im, i, a);
	return r || !is_written ? r : check_told(im, i, a);
}

typedef int look_fn(struct import *im, struct item *i, const struct storage_step *got, struct arena *a);

static int look_at_batch(struct import *im, struct batch *b, look_fn *look)
{
	struct plan plans[BATCH_MAX], *all[BATCH_MAX];
	struct storage_step *gets[BATCH_MAX];
	int r = 0;
	for (size_t i = 0; i < b->n; i++) {
		all[i] = &plans[i];
		plan_init(all[i], &b->arena, im->options->prefix);
		gets[i] = plan_read(all[i], b->items[i].key, STR(""));
	}
	plans_wait(all, b->n, im->options->storage);
	for (size_t i = 0; i < b->n; i++) {
		const struct storage_op *op = &plans[i].txn.op;
		if (!r && op->result != STORAGE_OK) {
			buf_printf(im->err, "cannot read etcd: %s", op->message);
			r = -EIO;
		}
		r = r ? r : look(im, &b->items[i], gets[i], &b->arena);
		plan_clear(&plans[i]);
	}
	progress_add(&im->progress, b->n);
	return r;
}

static bool is_any(const struct entry *e _unused_)
{
	return true;
}

static int look_at_all(struct import *im, struct batch *b, look_fn *look)
{
	size_t at = 0;
	int r = 0;
	while (!r && at < im->n && !(r = batch_fill(im, b, &at, is_any))) {
		r = look_at_batch(im, b, look);
	}
	return r;
}

/* Only without --exact do objects come to have other uids than in the file. */
int import_compare(struct import *im)
{
	struct batch b;
	bool is_exact = im->options->is_exact;
	batch_init(&b);
	progress_init(&im->progress, "compared", "objects", is_exact ? im->n : 2 * im->n);
	int r = look_for_namespaces(im, &b.arena);
	r = r || is_exact ? r : find_salt(im, &b.arena);
	r = r || is_exact ? r : look_at_all(im, &b, meet_item);
	r = r ? r : look_at_all(im, &b, compare_item);
	progress_clear(&im->progress);
	batch_done(&b);
	return r;
}
