/* The last pass writes. Each object is a transaction of its own, with the index entries that follow
 * from it: what one transaction writes has one resourceVersion, and a watch that breaks among
 * several objects of one would never tell of the rest. A History alone takes the revision along
 * that it names, as servers write the two.
 *
 * The process registers as a server does (storage/agreement/agreement.h): so it writes the version
 * that running servers write, and none after its lease has ended. */
#include "cli/export/import.h"

#include "api/rules/validate.h"
#include "base/clock.h"
#include "storage/agreement/agreement.h"
#include "storage/keys.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <time.h>

enum {
	PATIENCE_MS = 60 * 1000, /* with an etcd that does not answer, or others that have yet to agree */
	PAUSE_MS = 100,
	STORED_MAX = 64 << 20,
	EVENT_TTL_S = 60 * 60, /* kube-apiserver's --event-ttl */
	LEASE_USES_MAX = 1000, /* as kube-apiserver's lease manager */
	PAIR = 2,              /* a History and its revision */
	/* the object, its index entries before and after, the marks of what it refers to; and a revision beside */
	STEPS_MAX = 1 + 3 * REFERENCES_MAX + 4 + 3,
	COMPARES_MAX = 1 + REFERENCES_MAX + 2 + 2,
};

struct writer {
	struct import *im;
	struct agreement *agreement;
	struct storage_versions versions;
	int64_t lease, n_lease_uses;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool is_over; /* under the lock: a wait */
};

/* A transaction under way. */
struct sending {
	struct item *item;
	struct item beside; /* object NULL: there is none */
	struct agreement_ticket ticket;
	struct buf stored[PAIR];
	struct storage_txn txn;
	struct storage_compare compares[COMPARES_MAX];
	struct storage_step steps[STEPS_MAX], looks[2];
	const struct object *present; /* what is replaced */
	int64_t present_revision;
	bool is_replacing;
};

/* ---- registering ---- */

static void on_agreement_change(void *ctx _unused_, struct agreement *a _unused_)
{
}

static void on_agreement_notice(void *ctx _unused_, bool is_trouble _unused_, struct str text _unused_)
{
}

static void register_writer(struct writer *w)
{
	w->agreement = agreement_new(&(struct agreement_options){.storage = w->im->options->storage,
		.prefix = w->im->options->prefix,
		.versions = w->versions,
		.is_standalone = true,
		.address = STR("annals import"),
		.on_change = on_agreement_change,
		.on_notice = on_agreement_notice,
		.ctx = w});
}

static void on_agreed(struct agreement_wait *wait);

struct waiting {
	struct agreement_wait wait;
	struct writer *writer;
};

static void on_agreed(struct agreement_wait *wait)
{
	struct writer *w = container_of(wait, struct waiting, wait)->writer;
	pthread_mutex_lock(&w->lock);
	w->is_over = true;
	pthread_cond_signal(&w->changed);
	pthread_mutex_unlock(&w->lock);
}

static void wait_for_agreement(struct writer *w, const struct kind *k)
{
	struct waiting waiting = {.wait = {.done = on_agreed, .kind = k, .timeout_ms = PATIENCE_MS}, .writer = w};
	w->is_over = false;
	agreement_wait(w->agreement, &waiting.wait);
	pthread_mutex_lock(&w->lock);
	while (!w->is_over) {
		pthread_cond_wait(&w->changed, &w->lock);
	}
	pthread_mutex_unlock(&w->lock);
}

static int take_ticket(struct writer *w, const struct kind *k, struct agreement_ticket *ret)
{
	int64_t until_ms = clock_mono_ms() + PATIENCE_MS;
	struct buf why;
	enum agreement_writing may;
	buf_init(&why, 4096);
	while ((may = agreement_write(w->agreement, k, ret, &why)) == AGREEMENT_NOT_YET && clock_mono_ms() < until_ms) {
		wait_for_agreement(w, k);
		buf_clear(&why);
	}
	if (may != AGREEMENT_MAY_WRITE) {
		buf_printf(w->im->err, "cannot write %s yet: " STR_FMT, k->resource, STR_ARG(buf_str(&why)));
	}
	buf_done(&why);
	return may == AGREEMENT_MAY_WRITE ? 0 : -EAGAIN;
}

/* What others write is what we want to write, too. */
static bool take_versions(struct writer *w)
{
	struct agreement_view *view = agreement_view(w->agreement);
	bool has_changed = false;
	for (size_t i = 0; view && i < view->n_replicas; i++) {
		const struct agreement_replica *r = &view->replicas[i];
		for (size_t k = 0; k < kind_count() && !r->problem.n && !str_eq(r->id, agreement_id(w->agreement)); k++) {
			const struct door *d = kind_door(kind_at(k), r->versions[k].wants);
			has_changed = has_changed || (d && d != w->versions.doors[k]);
			w->versions.doors[k] = d ? d : w->versions.doors[k];
		}
	}
	if (view) {
		agreement_view_unref(view);
	}
	return has_changed;
}

static void leave(struct writer *w)
{
	w->agreement = agreement_free(w->agreement);
}

static int join(struct writer *w)
{
	struct agreement_ticket ticket;
	storage_versions_init(&w->versions);
	register_writer(w);
	int r = take_ticket(w, kind_at(0), &ticket);
	if (!r && take_versions(w)) {
		leave(w);
		register_writer(w);
	}
	return r;
}

/* ---- a transaction ---- */

static struct item_entries {
	struct index_entry v[2 * INDEX_ENTRIES_MAX];
	size_t n;
} entries_of(struct writer *w, const struct object *o, struct arena *a)
{
	const struct object_id id = {o->kind, o->meta.ns, o->meta.name};
	struct item_entries all = {.n = 0};
	all.n = index_reference_entries(&id, o, w->im->options->prefix, a, all.v);
	all.n += index_history_entries(&id, o, w->im->options->prefix, a, all.v + all.n);
	return all;
}

static bool has_entry(const struct item_entries *all, struct str key)
{
	for (size_t i = 0; i < all->n; i++) {
		if (str_eq(all->v[i].key, key)) {
			return true;
		}
	}
	return false;
}

static void put(struct storage_txn *t, struct str key, struct str value, int64_t lease)
{
	t->success[t->n_success++] = (struct storage_step){.kind = STEP_PUT, .key = key, .value = value, .lease = lease};
}

/* As servers write them: the entries of the object, and a mark beside each that it refers to. */
static void put_entries(
	struct writer *w, struct storage_txn *t, const struct object *o, const struct object *old, struct arena *a)
{
	const struct item_entries is = entries_of(w, o, a), was = old ? entries_of(w, old, a) : (struct item_entries){.n = 0};
	struct reference references[REFERENCES_MAX];
	size_t n = !old && o->kind->references ? o->kind->references(o, references) : 0;
	for (size_t i = 0; i < was.n; i++) {
		if (!has_entry(&is, was.v[i].key)) {
			t->success[t->n_success++] = (struct storage_step){.kind = STEP_DELETE, .key = was.v[i].key};
		}
	}
	for (size_t i = 0; i < is.n; i++) {
		if (!old || !has_entry(&was, is.v[i].key)) {
			put(t, is.v[i].key, is.v[i].value, 0);
		}
	}
	for (size_t i = 0; i < n; i++) {
		const struct reference_field *f = references[i].field;
		put(t,
			key_referenced(a, w->im->options->prefix, str_of(f->group), str_of(f->resource), o->meta.ns,
				references[i].name),
			o->meta.uid, 0);
	}
}

static void add_guard(struct storage_txn *t, struct storage_compare guard)
{
	t->compares[t->n_compares++] = guard;
}

/* What must not go while this appears. */
static void guard_needed(struct writer *w, struct storage_txn *t, const struct object *o, struct arena *a)
{
	struct reference references[REFERENCES_MAX];
	struct str prefix = w->im->options->prefix;
	size_t n = o->kind->needs_references && o->kind->needs_references(o) ? o->kind->references(o, references) : 0;
	for (size_t i = 0; i < n; i++) {
		const struct reference_field *f = references[i].field;
		add_guard(t,
			storage_compare_exists(
				key_object(a, prefix, str_of(f->group), str_of(f->resource), o->meta.ns, references[i].name)));
	}
	if (o->meta.ns.n && w->im->has_namespaces) {
		add_guard(t, storage_compare_exists(key_object(a, prefix, STR(""), STR("namespaces"), STR(""), o->meta.ns)));
	}
}

static int encode(struct writer *w, struct buf *out, const struct object *o, const struct door *version)
{
	buf_init(out, STORED_MAX);
	if (!object_encode_stored(out, o, version)) {
		buf_printf(w->im->err, "%s " STR_FMT " cannot be encoded", o->kind->resource, STR_ARG(o->meta.name));
		return -EFBIG;
	}
	return 0;
}

static int take_lease(struct writer *w)
{
	struct storage_lease grant = {.ttl_s = EVENT_TTL_S};
	if (w->lease && w->n_lease_uses++ < LEASE_USES_MAX) {
		return 0;
	}
	enum storage_result result = storage_lease_grant_wait(w->im->options->storage, &grant);
	w->lease = grant.id;
	w->n_lease_uses = 0;
	if (result != STORAGE_OK) {
		buf_printf(w->im->err, "etcd gives no lease: %s", grant.op.message);
	}
	storage_op_clear(&grant.op);
	return result == STORAGE_OK ? 0 : -EIO;
}

static int build_beside(struct writer *w, struct sending *s, struct arena *a)
{
	struct agreement_ticket ticket;
	const struct object *o = s->beside.object;
	int r = take_ticket(w, o->kind, &ticket);
	r = r ? r : encode(w, &s->stored[1], o, ticket.version);
	if (!r) {
		add_guard(&s->txn, storage_compare_mod(s->beside.key, 0));
		put(&s->txn, s->beside.key, buf_str(&s->stored[1]), 0);
		put_entries(w, &s->txn, o, NULL, a);
	}
	return r;
}

static int build(struct writer *w, struct sending *s, struct arena *a)
{
	const struct object *o = s->item->object;
	int r = take_ticket(w, o->kind, &s->ticket);
	r = r ? r : encode(w, &s->stored[0], o, s->ticket.version);
	r = r || !o->kind->expires ? r : take_lease(w);
	if (r) {
		return r;
	}
	s->looks[0] = (struct storage_step){.kind = STEP_GET, .key = s->item->key};
	s->looks[1] = (struct storage_step){.kind = STEP_GET, .key = s->ticket.key, .keys_only = true};
	s->txn = (struct storage_txn){
		.compares = s->compares, .success = s->steps, .failure = s->looks, .n_failure = ARRAY_SIZE(s->looks)};
	add_guard(&s->txn, storage_compare_mod(s->item->key, s->present_revision));
	add_guard(&s->txn, agreement_guard(&s->ticket));
	guard_needed(w, &s->txn, o, a);
	put(&s->txn, s->item->key, buf_str(&s->stored[0]), o->kind->expires ? w->lease : 0);
	put_entries(w, &s->txn, o, s->present, a);
	return s->beside.object ? build_beside(w, s, a) : 0;
}

static void sending_clear(struct sending *s)
{
	storage_op_clear(&s->txn.op);
	buf_done(&s->stored[0]);
	buf_done(&s->stored[1]);
}

/* ---- what came of it ---- */

static void finish(struct writer *w, struct sending *s)
{
	struct import *im = w->im;
	im->entries[s->item->at].state = ENTRY_DONE;
	*(s->is_replacing ? &im->counts.replaced : &im->counts.created) += 1;
	if (s->beside.object) {
		im->entries[s->beside.at].state = ENTRY_DONE;
		im->counts.created++;
		progress_add(&im->progress, 1);
	}
	progress_add(&im->progress, 1);
}

static int fail(struct writer *w, const struct sending *s, const char *why)
{
	const struct object *o = s->item->object;
	_cleanup_(arena_done) struct arena a;
	arena_init(&a, 64 << 10);
	buf_printf(w->im->err, "line %u: " STR_FMT ": %s", w->im->entries[s->item->at].line, STR_ARG(import_title(o, &a)), why);
	return -EIO;
}

/* Somebody has written it, or was it us, and the answer was lost? */
static void judge_present(struct writer *w, struct sending *s, struct arena *a)
{
	struct import *im = w->im;
	struct entry *e = &im->entries[s->item->at];
	const struct storage_step *look = &s->looks[0];
	struct object *present = NULL;
	if (look->n_kvs &&
		object_decode_stored(&present, s->item->object->kind, look->kvs[0].value, look->kvs[0].mod_revision, a)) {
		e->state = ENTRY_SKIP;
		import_trouble(
			im, e->line, s->item->object, STR("what is stored of this name cannot be read: see annals fsck"));
		return;
	}
	e->state = ENTRY_SKIP; /* where nothing else is decided: it is a trouble */
	import_decide(im, e, s->item->object, present, a);
	if (e->state == ENTRY_SAME || e->state == ENTRY_SKIP) {
		*(e->state == ENTRY_SAME ? &im->counts.created : &im->counts.skipped) += 1;
		progress_add(&im->progress, 1);
	}
}

/* The guards did not hold. */
static void judge(struct writer *w, struct sending *s, struct arena *a)
{
	const struct storage_step *look = &s->looks[0];
	int64_t revision = look->n_kvs ? look->kvs[0].mod_revision : 0;
	if (!storage_step_has(&s->looks[1], s->ticket.revision)) {
		agreement_doubt(w->agreement, &s->ticket);
	} else if (revision != s->present_revision) {
		judge_present(w, s, a);
	} else if (s->beside.object) {
		w->im->entries[s->beside.at].is_told = false; /* that one is there: each for itself */
	} else {
		w->im->entries[s->item->at].state = ENTRY_SKIP;
		import_trouble(w->im, w->im->entries[s->item->at].line, s->item->object,
			STR("its namespace, or what it needs, has gone meanwhile"));
	}
}

/* 0, done with or to be tried again, as the entry's state says; or -errno. */
static int settle(struct writer *w, struct sending *s, struct arena *a, bool *ret_must_pause)
{
	switch (s->txn.op.result) {
	case STORAGE_OK:
		if (s->txn.succeeded) {
			finish(w, s);
		} else {
			judge(w, s, a);
		}
		return 0;
	case STORAGE_LEASE_GONE:
		w->lease = 0;
		return 0;
	case STORAGE_UNAVAILABLE:
	case STORAGE_TIMEOUT:
	case STORAGE_UNKNOWN:
		*ret_must_pause = true;
		return 0;
	case STORAGE_TOO_LARGE:
		return fail(w, s, "etcd refuses it for its size: see its --max-request-bytes");
	default:
		return fail(w, s, s->txn.op.message);
	}
}

/* ---- a batch ---- */

static int read_present(struct writer *w, struct sending *s, struct arena *a)
{
	struct storage_range r = {.key = s->item->key};
	struct object *present = NULL;
	enum storage_result result = storage_range_wait(w->im->options->storage, &r);
	struct buf why;
	int error = 0;
	buf_init(&why, 4096);
	if (result != STORAGE_OK) {
		error = fail(w, s, r.op.message);
	} else if (r.n_kvs == 0) {
		w->im->entries[s->item->at].state = ENTRY_NEW;
	} else if (object_decode_stored(
			   &present, s->item->object->kind, arena_dup(a, r.kvs[0].value), r.kvs[0].mod_revision, a)) {
		error = fail(w, s, "what is stored of this name cannot be read");
	} else if (!import_replace(w->im, s->item->object, present, a, &why)) {
		buf_addc(&why, '\0');
		error = fail(w, s, why.p);
	} else {
		s->present = present;
		s->present_revision = present->mod_revision;
		s->is_replacing = true;
	}
	buf_done(&why);
	storage_op_clear(&r.op);
	return error;
}

/* The revision that a History names is written with it, unless it is there already. */
static int read_beside(struct writer *w, struct sending *s, struct batch *b)
{
	struct import *im = w->im;
	int64_t told = import_told(im, s->item->at);
	struct batch one = {.arena = b->arena};
	if (told < 0 || !im->entries[told].is_told || im->entries[told].state != ENTRY_NEW) {
		return 0;
	}
	int r = batch_add(im, &one, (size_t)told);
	b->arena = one.arena;
	s->beside = one.items[0];
	return r;
}

static int prepare(struct writer *w, struct sending *s, struct item *item, struct batch *b)
{
	*s = (struct sending){.item = item};
	int r = w->im->entries[item->at].state == ENTRY_REPLACE ? read_present(w, s, &b->arena) : 0;
	r = r ? r : read_beside(w, s, b);
	return r ? r : build(w, s, &b->arena);
}

static bool is_to_be_written(const struct entry *e)
{
	return e->state == ENTRY_NEW || e->state == ENTRY_REPLACE;
}

static int write_once(struct writer *w, struct batch *b, struct sending *all, bool *ret_must_pause)
{
	struct storage_txn *txns[BATCH_MAX];
	size_t n = 0;
	int r = 0;
	for (size_t i = 0; i < b->n && !r; i++) {
		if (is_to_be_written(&w->im->entries[b->items[i].at])) {
			r = prepare(w, &all[n], &b->items[i], b);
			txns[n] = &all[n].txn;
			n++;
		}
	}
	if (!r) {
		storage_txns_wait(w->im->options->storage, txns, n);
	}
	for (size_t i = 0; i < n; i++) {
		r = r ? r : settle(w, &all[i], &b->arena, ret_must_pause);
		sending_clear(&all[i]);
	}
	return r;
}

static bool is_done(struct writer *w, const struct batch *b)
{
	for (size_t i = 0; i < b->n; i++) {
		if (is_to_be_written(&w->im->entries[b->items[i].at])) {
			return false;
		}
	}
	return true;
}

/* Whatever could not be told is tried again: what has been written is recognised. */
static int write_batch(struct writer *w, struct batch *b, struct sending *all)
{
	int64_t until_ms = clock_mono_ms() + PATIENCE_MS;
	while (!is_done(w, b)) {
		bool must_pause = false;
		int r = write_once(w, b, all, &must_pause);
		if (r) {
			return r;
		}
		if (must_pause && clock_mono_ms() > until_ms) {
			buf_adds(w->im->err, "etcd does not answer: run the same command again, and it goes on where it was");
			return -ETIMEDOUT;
		}
		if (must_pause) {
			nanosleep(&(struct timespec){.tv_nsec = PAUSE_MS * 1000000L}, NULL);
		}
	}
	return 0;
}

/* ---- what is there before ---- */

static int keep_salt(struct import *im)
{
	_cleanup_(arena_done) struct arena a;
	arena_init(&a, 64 << 10);
	struct storage_step step = {
		.kind = STEP_PUT, .key = import_salt_key(im, &a), .value = {(const char *)im->salt, SALT_SIZE}};
	struct storage_compare guard = storage_compare_mod(step.key, 0);
	struct storage_txn txn = {.compares = &guard, .n_compares = 1, .success = &step, .n_success = 1};
	int r = 0;
	if (storage_txn_wait(im->options->storage, &txn) != STORAGE_OK || !txn.succeeded) {
		buf_printf(im->err, "cannot note that the import begins: %s",
			txn.op.result == STORAGE_OK ? "another import of the same file has begun" : txn.op.message);
		r = -EIO;
	}
	storage_op_clear(&txn.op);
	return r;
}

static void forget_salt(struct import *im)
{
	_cleanup_(arena_done) struct arena a;
	arena_init(&a, 64 << 10);
	struct storage_step step = {.kind = STEP_DELETE, .key = import_salt_key(im, &a)};
	struct storage_txn txn = {.success = &step, .n_success = 1};
	storage_txn_wait(im->options->storage, &txn); /* one that stays costs a key */
	storage_op_clear(&txn.op);
}

static int make_namespace(struct writer *w, struct str name, struct arena *a)
{
	const struct kind *k = kind_by_hub(STR(""), STR("namespaces"));
	struct agreement_ticket ticket;
	struct json *in = json_object(a), *meta = json_object(a);
	struct object *o;
	struct str reason;
	struct buf stored;
	json_add(a, meta, STR("name"), json_string(a, name));
	json_add(a, in, STR("metadata"), meta);
	if (object_decode(&o, k, &k->doors[0], in, NULL, a, NULL, &reason)) {
		buf_printf(w->im->err, "namespace " STR_FMT ": " STR_FMT, STR_ARG(name), STR_ARG(reason));
		return -EINVAL;
	}
	meta_prepare_create(o, STR(""), a);
	k->prepare_create(o, a);
	int r = take_ticket(w, k, &ticket);
	r = r ? r : encode(w, &stored, o, ticket.version);
	if (r) {
		return r;
	}
	struct storage_step step = {.kind = STEP_PUT, .key = import_key(w->im, o, a), .value = buf_str(&stored)};
	struct storage_compare guards[] = {storage_compare_mod(step.key, 0), agreement_guard(&ticket)};
	struct storage_txn txn = {.compares = guards, .n_compares = 2, .success = &step, .n_success = 1};
	if (storage_txn_wait(w->im->options->storage, &txn) != STORAGE_OK) {
		buf_printf(w->im->err, "namespace " STR_FMT ": %s", STR_ARG(name), txn.op.message);
		r = -EIO;
	}
	w->im->counts.created += !r && txn.succeeded;
	storage_op_clear(&txn.op);
	buf_done(&stored);
	return r;
}

static int make_namespaces(struct writer *w)
{
	_cleanup_(arena_done) struct arena a;
	arena_init(&a, 1 << 20);
	int r = 0;
	for (struct map_entry *e = map_next(&w->im->namespaces, NULL); e && !r; e = map_next(&w->im->namespaces, e)) {
		r = (uintptr_t)e->value == NAMESPACE_TO_MAKE ? make_namespace(w, e->key, &a) : 0;
		arena_clear(&a);
	}
	return r;
}

/* ---- the pass ---- */

static int write_all(struct writer *w)
{
	struct import *im = w->im;
	struct sending *all = mem_array(BATCH_MAX, sizeof(*all));
	struct batch b;
	size_t at = 0;
	batch_init(&b);
	int r = im->options->is_exact || im->has_salt ? 0 : keep_salt(im);
	r = r ? r : make_namespaces(w);
	while (!r && at < im->n && !(r = batch_fill(im, &b, &at, is_to_be_written))) {
		r = write_batch(w, &b, all);
	}
	if (!r && !im->options->is_exact && im->n_troubles == 0) {
		forget_salt(im);
	}
	batch_done(&b);
	mem_free(all);
	return r;
}

int import_write(struct import *im)
{
	struct writer w = {.im = im};
	uint64_t n = 0;
	for (size_t i = 0; i < im->n; i++) {
		n += is_to_be_written(&im->entries[i]);
		im->counts.same += im->entries[i].state == ENTRY_SAME;
		im->counts.skipped += im->entries[i].state == ENTRY_SKIP;
	}
	if (n == 0 && im->namespaces.n == 0) {
		return 0;
	}
	pthread_mutex_init(&w.lock, NULL);
	pthread_cond_init(&w.changed, NULL);
	progress_init(&im->progress, "imported", "objects", n);
	int r = join(&w);
	r = r ? r : write_all(&w);
	progress_clear(&im->progress);
	leave(&w);
	pthread_cond_destroy(&w.changed);
	pthread_mutex_destroy(&w.lock);
	return r;
}
