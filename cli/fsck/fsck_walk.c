/* Walks all keys once, page by page, at one revision, so that concurrent writes cannot look like
 * a fault. A key that annals does not write is a finding too: another program uses this prefix.
 * Questions about other keys are collected and asked together: a round trip for each would be slow.
 * Millions of uids must fit into memory, so digests of one size stand for them. */
#include "api/diff/changes.h"
#include "api/model/digest.h"
#include "api/model/history.h"
#include "base/sha256.h"
#include "cli/fsck/fsck_private.h"
#include "cli/fsck/fsck_store.h"

#include <assert.h>
#include <errno.h>

void fsck_find(struct fsck *f, const char *check, struct str subject, struct str key, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	struct str text = arena_vprintf(&f->page, format, ap);
	va_end(ap);
	progress_clear(&f->progress);
	fsck_report_add(&f->report, &(struct fsck_finding){.check = check, .subject = subject, .key = key, .found = text});
}

/* ---- questions ---- */

struct question *fsck_question(struct fsck *f, struct str key, void (*answer)(struct fsck *f, struct question *q))
{
	struct question *q = arena_new(&f->page, struct question);
	q->range.key = q->key = key;
	q->range.at_revision = f->revision;
	q->answer = answer;
	return q;
}

static int read_answer(struct fsck *f, struct question *q)
{
	const struct storage_op *op = &q->range.op;
	if (op->result != STORAGE_OK) {
		buf_printf(&f->err, "cannot read " STR_FMT ": %s", STR_ARG(q->range.key), op->message);
		return -EIO;
	}
	q->answer(f, q);
	return f->err.n > 0 ? -EIO : 0; /* a base may have been read for it */
}

int fsck_answer_all(struct fsck *f)
{
	struct storage_range *ranges[QUESTIONS_AT_ONCE] = {NULL};
	size_t n = f->n_questions;
	int r = 0;
	for (size_t i = 0; i < n; i++) {
		ranges[i] = &f->questions[i]->range;
	}
	storage_ranges_wait(f->storage, ranges, n);
	f->n_questions = 0;
	for (size_t i = 0; i < n; i++) {
		r = r ? r : read_answer(f, f->questions[i]);
		storage_op_clear(&ranges[i]->op);
	}
	return r;
}

int fsck_ask(struct fsck *f, struct question *q)
{
	assert(f->n_questions < QUESTIONS_AT_ONCE && q->answer);
	f->questions[f->n_questions++] = q;
	return f->n_questions < QUESTIONS_AT_ONCE ? 0 : fsck_answer_all(f);
}

/* ---- uids ---- */

enum { UIDS_MAX = 1 << 25 }; /* beyond that, uids are not compared any more */

/* Half of a SHA-256 stands for a uid of any length: the node's hash, and the rest. */
struct seen_uid {
	struct hash_node node;
	uint64_t rest;
};

/* Returns false if the uid was seen before. */
static bool uid_is_new(struct fsck *f, struct str uid)
{
	uint64_t print[SHA256_SIZE / sizeof(uint64_t)];
	sha256(uid, (unsigned char *)print);
	for (struct hash_node *n = hash_table_first(&f->uids, print[0]); n; n = hash_node_next(n)) {
		if (container_of(n, struct seen_uid, node)->rest == print[1]) {
			return false;
		}
	}
	if (f->uids.n < UIDS_MAX) {
		struct seen_uid *seen = arena_new(&f->seen, struct seen_uid);
		seen->rest = print[1];
		hash_table_add(&f->uids, &seen->node, print[0]);
	}
	return true;
}

/* ---- checks of one object ---- */

static int check_identity(struct fsck *f, const struct subject *s)
{
	const struct meta *m = &s->object->meta;
	if (!str_eq(m->name, s->id.name) || !str_eq(m->ns, s->id.ns)) {
		fsck_find(f, "identity", s->title, s->key, "its metadata say " STR_FMT "%s" STR_FMT, STR_ARG(m->ns),
			m->ns.n ? "/" : "", STR_ARG(m->name));
	}
	if (m->uid.n == 0) {
		fsck_find(f, "identity", s->title, s->key, "it has no uid");
	}
	return 0;
}

static int check_uid(struct fsck *f, const struct subject *s)
{
	struct str uid = s->object->meta.uid;
	if (uid.n > 0 && !uid_is_new(f, uid)) {
		fsck_find(f, "uid", s->title, s->key, "its uid " STR_FMT " is that of an object before it, too", STR_ARG(uid));
	}
	return 0;
}

static int check_controller(struct fsck *f, const struct subject *s)
{
	size_t n = 0;
	for (size_t i = 0; i < meta_owner_count(&s->object->meta); i++) {
		struct owner_reference owner;
		meta_owner(&s->object->meta, i, &owner);
		n += owner.is_controller;
	}
	if (n > 1) {
		fsck_find(f, "controller", s->title, s->key, "%zu of its ownerReferences say controller: true", n);
	}
	return 0;
}

static void on_references(struct fsck *f, struct question *q)
{
	long long n = q->range.count;
	if (n > 0) {
		fsck_find(f, "protection", q->subject->title, q->subject->key,
			"%lld object%s to it, but it has no finalizer " STR_FMT, n, n == 1 ? " refers" : "s refer",
			STR_ARG(FINALIZER_PROTECTION));
	}
}

static bool is_protected(const struct subject *s)
{
	const struct meta *m = &s->object->meta;
	return s->id.kind->is_protected || str_is(json_text(json_gets(m->labels, "annals.dev/protect")), "true");
}

/* An object that is being deleted may have lost its finalizer before another object came to refer to it. That one waits. */
static int check_protection(struct fsck *f, const struct subject *s)
{
	const struct meta *m = &s->object->meta;
	const struct kind *k = s->id.kind;
	if (!is_protected(s) || meta_is_deleting(m) || meta_has_finalizer(m, FINALIZER_PROTECTION)) {
		return 0;
	}
	struct str below =
		key_references(&f->page, f->prefix, str_of(k->versions[0].group), str_of(k->resource), s->id.ns, s->id.name);
	struct question *q = fsck_question(f, below, on_references);
	q->range.range_end = storage_prefix_end(&f->page, below);
	q->range.count_only = true;
	q->subject = s;
	return fsck_ask(f, q);
}

static void on_state_revision(struct fsck *f, struct question *q)
{
	if (q->range.count == 0) {
		fsck_find(f, "state", q->subject->title, q->subject->key,
			"the revision " STR_FMT " is not there, which should hold its last state", STR_ARG(q->id.name));
	}
}

/* The revision that a History names is written with it. A History that is being deleted may have lost its revisions already. */
static int check_state_revision(struct fsck *f, const struct subject *s)
{
	const struct json *named = json_gets(json_gets(s->object->fields, "status"), "revision");
	struct object_id id = {
		kind_by_hub(STR("annals.dev"), STR("controllerrevisions")), s->id.ns, json_text(json_gets(named, "name"))};
	if (strcmp(s->id.kind->kind, "History") != 0 || id.name.n == 0 || meta_is_deleting(&s->object->meta)) {
		return 0;
	}
	struct question *q = fsck_question(f, object_id_key(&id, f->prefix, &f->page), on_state_revision);
	q->range.count_only = true;
	q->subject = s;
	q->id = id;
	return fsck_ask(f, q);
}

/* ---- is what was recorded as it was recorded? ---- */

struct telling {
	struct fsck *f;
	const struct subject *subject;
};

/* Changes that annals 0.1 recorded have no digests, which is no mistake. */
static void on_doubt(void *ctx, enum record_doubt doubt, const struct json *change, const char *what)
{
	struct telling *t = ctx;
	if (doubt == RECORD_UNVERIFIED) {
		return;
	}
	if (change) {
		fsck_find(t->f, "record", t->subject->title, t->subject->key,
			"its change of " STR_FMT ", version " STR_FMT ", %s", STR_ARG(json_text(json_gets(change, "time"))),
			STR_ARG(json_text(json_gets(change, "resourceVersion"))), what);
	} else {
		fsck_find(t->f, "record", t->subject->title, t->subject->key, "%s", what);
	}
}

static void on_numbers(struct fsck *f, struct question *q)
{
	int64_t recorded = 0;
	json_to_int64(json_gets(json_gets(q->subject->object->fields, "status"), "revisions"), &recorded);
	if (q->range.count < recorded) {
		fsck_find(f, "record", q->subject->title, q->subject->key, "%lld revisions are there, and %lld were recorded",
			(long long)q->range.count, (long long)recorded);
	}
}

static int check_history(struct fsck *f, const struct subject *s)
{
	struct telling t = {f, s};
	if (strcmp(s->id.kind->kind, "History") != 0) {
		return 0;
	}
	record_check_changes(json_gets(s->object->fields, "status"), &(struct record_report){on_doubt, &t}, &f->page);
	if (meta_is_deleting(&s->object->meta)) {
		return 0;
	}
	struct str numbers = arena_printf(
		&f->page, STR_FMT "number/", STR_ARG(key_history(&f->page, f->prefix, s->id.ns, s->object->meta.uid)));
	struct question *q = fsck_question(f, numbers, on_numbers);
	q->range.range_end = storage_prefix_end(&f->page, numbers);
	q->range.count_only = true;
	q->subject = s;
	return fsck_ask(f, q);
}

/* The History of a revision; another one of that name has no say. */
static void on_history(struct fsck *f, struct question *q)
{
	const struct object *revision = q->subject->object;
	struct telling t = {f, q->subject};
	struct owner_reference owner;
	struct object *history;
	char digest[DIGEST_SIZE];
	if (q->range.n_kvs == 0 || !meta_controller(&revision->meta, &owner) ||
		fsck_decode(f, &history, q->id.kind, &q->range.kvs[0], &f->page) || !str_eq(history->meta.uid, owner.uid)) {
		return;
	}
	digest_of(digest, json_gets(revision->fields, "data"), &f->page);
	struct record_state state = {.name = revision->meta.name, .digest = str_of(digest)};
	json_to_int64(json_gets(revision->fields, "revision"), &state.number);
	record_check_state(json_gets(history->fields, "status"), &state, &(struct record_report){on_doubt, &t});
}

static int check_digest(struct fsck *f, const struct subject *s)
{
	const struct json *data = json_gets(s->object->fields, "data");
	struct str said = json_text(json_get(s->object->meta.annotations, ANNOTATION_DIGEST));
	char digest[DIGEST_SIZE];
	if (said.n == 0 || !data) {
		return 0;
	}
	digest_of(digest, data, &f->page);
	if (!str_is(said, digest)) {
		fsck_find(f, "record", s->title, s->key, "its annotation " STR_FMT " is not the digest of its data",
			STR_ARG(ANNOTATION_DIGEST));
	}
	return 0;
}

static int check_revision(struct fsck *f, const struct subject *s)
{
	struct owner_reference owner;
	if (!s->id.kind->history) {
		return 0;
	}
	int r = check_digest(f, s);
	if (r || !meta_controller(&s->object->meta, &owner) || !history_is_owner(owner.api_version, owner.kind)) {
		return r;
	}
	struct object_id id = {kind_by_hub(STR("annals.dev"), STR("histories")), s->id.ns, owner.name};
	struct question *q = fsck_question(f, object_id_key(&id, f->prefix, &f->page), on_history);
	q->subject = s;
	q->id = id;
	return fsck_ask(f, q);
}

static int (*const checks[])(struct fsck *f, const struct subject *s) = {
	check_identity,
	check_uid,
	check_controller,
	check_protection,
	check_state_revision,
	check_history,
	check_revision,
	fsck_check_definition,
	fsck_check_entries,
};

int fsck_check_object(struct fsck *f, const struct subject *s)
{
	int r = 0;
	for (size_t i = 0; i < ARRAY_SIZE(checks) && !r; i++) {
		r = checks[i](f, s);
	}
	return r;
}

/* ---- one key ---- */

static bool read_id(const struct kind *k, struct str rest, struct object_id *ret)
{
	struct str ns = {NULL, 0}, name = rest;
	if (k->is_namespaced && (!str_cut(rest, '/', &ns, &name) || ns.n == 0)) {
		return false;
	}
	*ret = (struct object_id){k, ns, name};
	return name.n > 0 && !str_contains(name, STR("/"));
}

static struct fsck_counts *counts_of(struct fsck *f, const struct kind *k)
{
	assert(k->life ? k == f->definition.kind : k->index < KIND_COUNT_MAX);
	return k->life ? &f->definition.counts : &f->report.census[k->index];
}

static int decode(struct fsck *f, struct subject *s, const struct storage_kv *kv)
{
	const struct kind *k = s->id.kind;
	int r = fsck_decode(f, &s->object, k, kv, &f->page);
	struct str base = packed_base_name(kv->value);
	s->is_packed = packed_is(kv->value);
	if (r == -EIO) {
		return r;
	}
	if (r == -ENOENT || r == -EBADMSG) {
		fsck_find(f, "base", s->title, kv->key, "its value continues the base " STR_FMT ", which %s", STR_ARG(base),
			r == -ENOENT ? "does not exist" : "is damaged");
	} else if (r == OBJECT_WRONG_VERSION) {
		struct str version = object_stored_version(kv->value, &f->page);
		counts_of(f, k)->unknown++;
		fsck_find(f, "version", s->title, kv->key, "it is stored as \"" STR_FMT "\", a version that is not known here",
			STR_ARG(version));
	} else if (r) {
		fsck_find(f, "value", s->title, kv->key, "its value is no %s", k->kind);
	}
	return r;
}

int fsck_decode_at(struct fsck *f, struct object **ret, const struct kind *k, const struct storage_kv *kv, int64_t revision,
	struct arena *a)
{
	int r = base_shelf_fetch(&f->shelf, kv->value, revision);
	return r ? r : object_decode_stored(ret, k, kv->value, kv->mod_revision, a);
}

int fsck_decode(struct fsck *f, struct object **ret, const struct kind *k, const struct storage_kv *kv, struct arena *a)
{
	int r = fsck_decode_at(f, ret, k, kv, f->revision, a);
	if (r == -EIO) {
		buf_printf(&f->err, "etcd does not answer when it is asked for what " STR_FMT " continues", STR_ARG(kv->key));
	}
	return r;
}

/* Bases that no object uses are no mistake: the servers remove them. */
static void check_base(struct fsck *f, const struct storage_kv *kv, struct str name)
{
	_cleanup_(base_unrefp) struct base *b = base_read(name, kv->value);
	if (!b) {
		fsck_find(f, "base", kv->key, kv->key, "its value is no base of that name: it is damaged");
	}
}

static void find_no_kind(struct fsck *f, struct str key)
{
	const struct fsck_definition *d = &f->definition;
	if (d->problem) {
		fsck_find(f, "shape", key, key, "no kind is stored there: the CustomResourceDefinition " STR_FMT " %s",
			STR_ARG(buf_str(&d->name)), d->problem);
	} else {
		fsck_find(f, "shape", key, key, "no kind is stored there");
	}
}

static int check_object_key(struct fsck *f, const struct storage_kv *kv, struct str directory)
{
	struct subject *s = arena_new(&f->page, struct subject);
	struct key_parts parts;
	f->report.n_objects++;
	if (!key_split(kv->key, directory, &parts)) {
		fsck_find(f, "shape", kv->key, kv->key, "it is not shaped like the key of an object");
		return 0;
	}
	const struct kind *k = kind_by_hub(parts.group, parts.resource);
	if (!k && fsck_defined_kind(f, &parts, &k)) {
		return -EIO;
	}
	if (!k) {
		find_no_kind(f, kv->key);
		return 0;
	}
	if (!read_id(k, parts.rest, &s->id)) {
		fsck_find(f, "shape", kv->key, kv->key, "%s are stored as %s", k->resource,
			k->is_namespaced ? "NAMESPACE/NAME" : "NAME");
		return 0;
	}
	s->key = kv->key;
	s->title = object_id_title(&s->id, &f->page);
	int r = decode(f, s, kv);
	if (r) {
		return r == -EIO ? r : 0;
	}
	counts_of(f, k)->stored[s->object->stored_version - k->versions]++;
	return fsck_check_object(f, s);
}

/* GROUP/RESOURCE/NAMESPACE/NAME; it may be there without the object, and without anything that refers to it. */
static bool is_marker(struct fsck *f, struct str key)
{
	struct object_id id;
	struct key_parts parts;
	if (!key_split(key, arena_printf(&f->page, STR_FMT "/referenced/", STR_ARG(f->prefix)), &parts)) {
		return false;
	}
	const struct kind *k = kind_by_hub(parts.group, parts.resource);
	return k && read_id(k, parts.rest, &id);
}

static bool is_below(struct str key, struct str directory)
{
	return str_starts(key, directory) && key.n > directory.n && !memchr(key.p + directory.n, '/', key.n - directory.n);
}

/* UID/VERSION/WHAT.USER, or one part only, as servers before this release wrote. */
static bool is_note(struct fsck *f, struct str key)
{
	struct str directory = key_user_notes(&f->page, f->prefix);
	size_t n_slashes = 0;

	for (size_t i = directory.n; i < key.n; i++) {
		n_slashes += key.p[i] == '/';
	}
	return str_starts(key, directory) && key.n > directory.n && (n_slashes == 0 || n_slashes == 2);
}

static bool is_known(struct fsck *f, struct str key)
{
	const struct str single[] = {key_compact(&f->page, f->prefix), key_fence(&f->page, f->prefix),
		key_migrator(&f->page, f->prefix), key_recorder_salts(&f->page, f->prefix)};
	for (size_t i = 0; i < ARRAY_SIZE(single); i++) {
		if (str_eq(key, single[i])) {
			return true;
		}
	}
	return is_marker(f, key) || is_below(key, key_replicas(&f->page, f->prefix)) ||
		is_below(key, key_replicas_seen(&f->page, f->prefix)) || is_note(f, key) ||
		is_below(key, key_imports(&f->page, f->prefix));
}

static int check_key(struct fsck *f, const struct storage_kv *kv)
{
	struct str objects = key_objects_prefix(&f->page, f->prefix), bases = key_bases(&f->page, f->prefix), rest;
	f->report.n_keys++;
	if (str_starts(kv->key, bases)) {
		check_base(f, kv, (struct str){kv->key.p + bases.n, kv->key.n - bases.n});
		return 0;
	}
	if (str_starts(kv->key, objects)) {
		return check_object_key(f, kv, objects);
	}
	const struct fsck_index *index = fsck_index_of(f, kv->key, &rest);
	if (index) {
		return fsck_check_entry(f, index, kv, rest);
	}
	if (!is_known(f, kv->key)) {
		fsck_find(f, "unknown", kv->key, kv->key, "annals writes no such key");
	}
	return 0;
}

/* ---- all of them ---- */

static int check_page(void *ctx, const struct storage_range *range)
{
	struct fsck *f = ctx;
	int r = 0;
	f->progress.total = f->progress.total ? f->progress.total : (uint64_t)range->count;
	for (size_t i = 0; i < range->n_kvs && !r; i++) {
		r = check_key(f, &range->kvs[i]);
	}
	r = r ? r : fsck_answer_all(f);
	progress_add(&f->progress, range->n_kvs);
	arena_clear(&f->page);
	return r;
}

static int fsck_read_all(struct fsck *f, struct str directory)
{
	_cleanup_(arena_done) struct arena ends;
	arena_init(&ends, 64 * 1024);
	return store_pages_each(
		f->storage, directory, storage_prefix_end(&ends, directory), &f->revision, check_page, f, &f->err);
}

int fsck_walk(const struct fsck_options *options, struct fsck_report *report, int64_t *ret_revision, struct buf *err)
{
	struct fsck f = {.storage = options->storage,
		.prefix = options->prefix,
		.repairs = options->repairs,
		.report = *report,
		.shelf = {.storage = options->storage, .prefix = options->prefix}};
	_cleanup_(mem_freep) char *directory = mem_printf(STR_FMT "/", STR_ARG(options->prefix));
	buf_init(&f.err, 64 * 1024);
	fsck_definition_init(&f.definition);
	arena_init(&f.page, (size_t)256 << 20);
	arena_init(&f.seen, (size_t)2 << 30);
	progress_init(&f.progress, "checked", "keys", 0);
	int r = fsck_read_all(&f, str_of(directory));
	f.n_questions = 0; /* of a page that was not read to its end */
	fsck_definition_done(&f);
	progress_clear(&f.progress);
	buf_add_str(err, buf_str(&f.err));
	*report = f.report;
	*ret_revision = f.revision;
	base_shelf_done(&f.shelf);
	hash_table_done(&f.uids);
	arena_done(&f.seen);
	arena_done(&f.page);
	buf_done(&f.err);
	return r;
}
