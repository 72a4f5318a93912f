/* Checks both directions: every object for its entries, every entry for its object. One
 * direction alone would overlook missing or superfluous entries. A repair is a transaction guarded
 * by the revisions of both keys, so it is safe while servers write. */
#include "cli/fsck/fsck_private.h"

#include <errno.h>

enum { REPAIR_TRIES = 32 }; /* a try fails if somebody has written the object meanwhile */

/* ---- the indexes ---- */

/* Returns the number of parts; 0: there are more than n. */
static size_t cut_parts(struct str s, struct str *parts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!str_cut(s, '/', &parts[i], &s)) {
			return i + 1;
		}
	}
	return 0;
}

static bool has_empty_part(const struct str *parts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (parts[i].n == 0) {
			return true;
		}
	}
	return false;
}

/* GROUP/RESOURCE/NAMESPACE/NAME/GROUP/RESOURCE/NAME, or with NAMESPACE/NAME at the end. Namespaces may be empty. */
static bool reference_owner(struct str rest, struct object_id *ret, struct key_parts *ret_defined)
{
	struct str parts[8];
	size_t n = cut_parts(rest, parts, ARRAY_SIZE(parts));
	if (n < 7 || has_empty_part(parts, 2) || has_empty_part(&parts[3], 3) || parts[n - 1].n == 0) {
		return false;
	}
	struct str group = str_is(parts[4], "core") ? STR("") : parts[4];
	*ret = (struct object_id){kind_by_hub(group, parts[5]), n == 8 ? parts[6] : parts[2], parts[n - 1]};
	*ret_defined = (struct key_parts){.group = group, .resource = parts[5]};
	return true;
}

/* NAMESPACE/UID/digest/DIGEST/NAME, NAMESPACE/UID/number/NUMBER/NAME */
static bool history_owner(struct str rest, struct object_id *ret, struct key_parts *ret_defined _unused_)
{
	struct str parts[5];
	if (cut_parts(rest, parts, ARRAY_SIZE(parts)) != ARRAY_SIZE(parts) || has_empty_part(parts, ARRAY_SIZE(parts)) ||
		(!str_is(parts[2], "digest") && !str_is(parts[2], "number"))) {
		return false;
	}
	*ret = (struct object_id){NULL, parts[0], parts[4]};
	for (size_t i = 0; i < kind_count() && !ret->kind; i++) {
		ret->kind = kind_at(i)->history ? kind_at(i) : NULL;
	}
	return true;
}

static const struct fsck_index indexes[] = {
	{"history", "/history/", index_history_entries, history_owner},
	{"references", "/references/", index_reference_entries, reference_owner},
};

const struct fsck_index *fsck_index_of(const struct fsck *f, struct str key, struct str *ret_rest)
{
	struct str rest = {key.p + f->prefix.n, key.n - f->prefix.n};
	for (size_t i = 0; i < ARRAY_SIZE(indexes); i++) {
		struct str directory = str_of(indexes[i].directory);
		if (str_starts(rest, directory)) {
			*ret_rest = (struct str){rest.p + directory.n, rest.n - directory.n};
			return &indexes[i];
		}
	}
	return NULL;
}

static bool wanted_value(struct fsck *f, const struct fsck_index *index, const struct subject *s, struct arena *a,
	struct str key, struct str *ret)
{
	struct index_entry entries[INDEX_ENTRIES_MAX];
	size_t n = index->entries(&s->id, s->object, f->prefix, a, entries);
	for (size_t i = 0; i < n; i++) {
		if (str_eq(entries[i].key, key)) {
			*ret = entries[i].value;
			return true;
		}
	}
	return false;
}

/* ---- repairing ---- */

/* An entry and the object it follows from, as they are now. */
struct key_pair {
	struct plan read;
	const struct storage_kv *object, *entry; /* NULL: the key does not exist */
	struct str object_key, entry_key;
	struct arena arena;
};

static bool pair_read(struct fsck *f, struct key_pair *p)
{
	plan_init(&p->read, &p->arena, f->prefix);
	plan_read(&p->read, p->object_key, STR(""));
	plan_read(&p->read, p->entry_key, STR(""));
	if (plan_wait(&p->read, f->storage) != STORAGE_OK) {
		return false;
	}
	const struct storage_step *steps = p->read.txn.success;
	p->object = steps[0].n_kvs ? &steps[0].kvs[0] : NULL;
	p->entry = steps[1].n_kvs ? &steps[1].kvs[0] : NULL;
	return true;
}

/* Returns false if the object cannot be read: its entries are unknown then. */
static bool pair_decide(struct fsck *f, struct key_pair *p, const struct fsck_index *index, const struct object_id *id,
	bool *ret_is_wanted, struct str *ret_value)
{
	const struct storage_kv *kv = p->object;
	struct subject s = {.id = *id};
	*ret_is_wanted = false;
	if (!kv) {
		return true;
	}
	if (fsck_decode_at(f, &s.object, id->kind, kv, 0, &p->arena)) {
		return false;
	}
	*ret_is_wanted = wanted_value(f, index, &s, &p->arena, p->entry_key, ret_value);
	return true;
}

/* The transaction is guarded by both keys as they were read: if either has been written
 * meanwhile, nothing happens. Returns NULL to try again. */
static const char *pair_settle(struct fsck *f, struct key_pair *p, bool is_wanted, struct str value, bool *ret_is_repaired)
{
	struct plan repair;

	*ret_is_repaired = true;
	if (is_wanted ? p->entry && str_eq(p->entry->value, value) : !p->entry) {
		return "it has become right meanwhile";
	}
	plan_init(&repair, &p->arena, f->prefix);
	plan_guard(&repair, storage_compare_mod(p->object_key, p->object ? p->object->mod_revision : 0));
	plan_guard(&repair, storage_compare_mod(p->entry_key, p->entry ? p->entry->mod_revision : 0));
	if (is_wanted) {
		plan_put(&repair, p->entry_key, value, 0);
	} else {
		plan_delete(&repair, p->entry_key);
	}
	enum storage_result r = plan_wait(&repair, f->storage);
	bool is_done = r == STORAGE_OK && repair.txn.succeeded;
	plan_clear(&repair);
	if (is_done) {
		return is_wanted ? "written" : "removed";
	}
	*ret_is_repaired = false;
	return r == STORAGE_OK ? NULL : "etcd does not answer";
}

static const char *entry_try_repair(
	struct fsck *f, const struct fsck_index *index, const struct object_id *id, struct str key, bool *ret_is_repaired)
{
	struct key_pair p = {0};
	struct str value = {NULL, 0};
	bool is_wanted;
	const char *result = "etcd does not answer";
	arena_init(&p.arena, (size_t)64 << 20);
	p.object_key = object_id_key(id, f->prefix, &p.arena);
	p.entry_key = key;
	if (pair_read(f, &p)) {
		bool is_clear = pair_decide(f, &p, index, id, &is_wanted, &value);
		result = is_clear ? pair_settle(f, &p, is_wanted, value, ret_is_repaired) : "the object cannot be read";
	}
	plan_clear(&p.read);
	arena_done(&p.arena);
	return result;
}

static const char *entry_repair(
	struct fsck *f, const struct fsck_index *index, const struct object_id *id, struct str key, bool *ret_is_repaired)
{
	const char *result = NULL;
	for (int i = 0; i < REPAIR_TRIES && !result; i++) {
		result = entry_try_repair(f, index, id, key, ret_is_repaired);
	}
	return result ? result : "the object is written too often: run again";
}

static void report_entry(
	struct fsck *f, const struct fsck_index *index, const struct object_id *id, struct str key, struct str found_text)
{
	struct fsck_finding finding = {
		.check = index->name, .subject = object_id_title(id, &f->page), .key = key, .found = found_text};
	if (f->repairs) {
		finding.repair = entry_repair(f, index, id, key, &finding.is_repaired);
	}
	fsck_report_add(&f->report, &finding);
}

/* ---- from objects to entries ---- */

static void on_entry(struct fsck *f, struct question *q)
{
	const struct storage_range *r = &q->range;
	if (r->n_kvs == 0 && !q->is_optional) {
		report_entry(f, q->index, &q->subject->id, q->key,
			arena_printf(&f->page, "its entry " STR_FMT " is missing", STR_ARG(q->key)));
	} else if (r->n_kvs > 0 && !str_eq(r->kvs[0].value, q->value) && !(q->may_be_bare && r->kvs[0].value.n == 0)) {
		report_entry(f, q->index, &q->subject->id, q->key,
			arena_printf(&f->page, "its entry " STR_FMT " says " STR_FMT " instead of " STR_FMT, STR_ARG(q->key),
				STR_ARG(r->kvs[0].value), STR_ARG(q->value)));
	}
}

static int ask_entries(struct fsck *f, const struct fsck_index *index, const struct subject *s)
{
	struct index_entry entries[INDEX_ENTRIES_MAX];
	size_t n = index->entries(&s->id, s->object, f->prefix, &f->page, entries);
	int r = 0;
	for (size_t i = 0; i < n && !r; i++) {
		struct question *q = fsck_question(f, entries[i].key, on_entry);
		q->index = index;
		q->subject = s;
		q->value = entries[i].value;
		q->is_optional = s->is_packed && entries[i].is_for_plain;
		q->may_be_bare = s->is_packed && entries[i].may_be_bare;
		r = fsck_ask(f, q);
	}
	return r;
}

int fsck_check_entries(struct fsck *f, const struct subject *s)
{
	int r = 0;
	for (size_t i = 0; i < ARRAY_SIZE(indexes) && !r; i++) {
		r = ask_entries(f, &indexes[i], s);
	}
	return r;
}

/* ---- from entries to objects ---- */

/* Receives the owner of an index entry. Only its presence counts here: the check of the owner itself
 * compares the entry's value. */
static void on_owner(struct fsck *f, struct question *q)
{
	const struct storage_range *r = &q->range;
	struct subject s = {.id = q->id};
	struct str value;
	if (r->n_kvs == 0) {
		report_entry(f, q->index, &q->id, q->key,
			arena_printf(&f->page, "there is no such object, but the entry " STR_FMT, STR_ARG(q->key)));
		return;
	}
	if (fsck_decode(f, &s.object, q->id.kind, &r->kvs[0], &f->page)) {
		return; /* reported as a finding of the object */
	}
	if (!wanted_value(f, q->index, &s, &f->page, q->key, &value)) {
		report_entry(f, q->index, &q->id, q->key,
			arena_printf(&f->page, "it has the entry " STR_FMT ", which does not follow from it", STR_ARG(q->key)));
	}
}

int fsck_check_entry(struct fsck *f, const struct fsck_index *index, const struct storage_kv *kv, struct str rest)
{
	struct key_parts defined = {.resource = STR("")};
	struct object_id id;
	if (!index->owner(rest, &id, &defined)) {
		fsck_find(f, index->name, kv->key, kv->key, "it is not shaped like an entry of the index");
		return 0;
	}
	if (!id.kind && defined.resource.n > 0 && fsck_defined_kind(f, &defined, &id.kind)) {
		return -EIO;
	}
	if (!id.kind) {
		fsck_find(f, index->name, kv->key, kv->key, "it is the entry of an object whose kind is not known here");
		return 0;
	}
	struct question *q = fsck_question(f, object_id_key(&id, f->prefix, &f->page), on_owner);
	q->index = index;
	q->id = id;
	q->key = kv->key;
	return fsck_ask(f, q);
}
