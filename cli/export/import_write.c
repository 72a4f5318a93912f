/* The last pass writes, by the engine that servers write by (storage/engine/plan.h). Each object is a transaction of its own: objects of one transaction
 * have one resourceVersion, and a watch that breaks among their events would miss some. Only a History is written together with the revision that it
 * names, as servers do.
 *
 * The process registers as a server does (storage/engine/agreement.h). So it writes the version that running servers write, and nothing after its
 * lease has ended. */
#include "cli/export/import.h"

#include "api/model/history.h"
#include "api/model/members.h"
#include "base/clock.h"
#include "storage/engine/agreement.h"
#include "storage/keys.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <time.h>

enum {
	PATIENCE_MS = 60 * 1000, /* with an etcd that does not answer, or others that have yet to agree */
	PAUSE_MS = 100,
	STORED_MAX = 64 << 20, /* bytes of one encoded object; a larger one fails the import */
	EVENT_TTL_S = 60 * 60, /* kube-apiserver's --event-ttl */
	LEASE_USES_MAX = 1000, /* as kube-apiserver's lease manager */
	PAIR = 2,              /* a History and its revision */
};

struct writer {
	struct import *im;
	struct agreement *agreement;
	struct storage_versions versions;
	int64_t lease, n_lease_uses;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool is_over;       /* guarded by the lock, and waited for */
	struct arena plans; /* of one attempt */
};

/* A transaction under way. */
struct sending {
	struct item *item;
	struct item beside; /* object NULL: there is none */
	struct buf stored[PAIR];
	struct plan plan;
	const struct object *present; /* the object that is replaced */
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

/* Takes over the versions that other replicas want to write. */
static bool take_versions(struct writer *w)
{
	struct agreement_view *view = agreement_view(w->agreement);
	bool has_changed = false;
	for (size_t i = 0; view && i < view->n_replicas; i++) {
		const struct agreement_replica *r = &view->replicas[i];
		for (size_t k = 0; k < kind_count() && !r->problem.n && !str_eq(r->id, agreement_id(w->agreement)); k++) {
			const struct version *v = kind_version(kind_at(k), r->versions[k].wants);
			has_changed = has_changed || (v && v != w->versions.versions[k]);
			w->versions.versions[k] = v ? v : w->versions.versions[k];
		}
	}
	if (view) {
		agreement_view_unref(view);
	}
	return has_changed;
}

static void writer_leave(struct writer *w)
{
	w->agreement = agreement_free(w->agreement);
}

static int writer_join(struct writer *w)
{
	struct agreement_ticket ticket;
	storage_versions_init(&w->versions);
	register_writer(w);
	int r = take_ticket(w, kind_at(0), &ticket);
	if (!r && take_versions(w)) {
		writer_leave(w);
		register_writer(w);
	}
	return r;
}

/* ---- a transaction ---- */

static int encode_object(struct writer *w, struct buf *out, const struct object *o, const struct version *version)
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

/* Plans one of the two objects. */
static int sending_plan_item(
	struct writer *w, struct sending *s, const struct item *item, struct buf *stored, struct plan_change c)
{
	/* The version of a custom resource is in its definition, which guards the write (storage/engine/plan.h). */
	struct agreement_ticket ticket = {.version = kind_storage_version(item->object->kind)};
	const struct object *o = item->object;
	int r = o->kind->life ? 0 : take_ticket(w, o->kind, &ticket);
	r = r ? r : encode_object(w, stored, o, ticket.version);
	if (!r) {
		c.kind = o->kind;
		c.ns = o->meta.ns;
		c.name = o->meta.name;
		c.after = o;
		c.stored = buf_str(stored);
		c.ticket = &ticket;
		plan_change(&s->plan, &c);
	}
	return r;
}

/* Its names were judged by the definitions of that revision. Objects that a lost definition has left behind must not come under a new one. */
static void sending_guard_definition(struct writer *w, struct sending *s)
{
	const struct object *o = s->item->object;
	const struct json *spec = object_spec(o);
	assert(w->im->definitions_seen > 0);
	plan_guard_kind(&s->plan, o->kind, w->im->definitions_seen);
	if (!s->present) {
		plan_guard_no_objects(&s->plan, member_text(spec, "group"), member_text(json_gets(spec, "names"), "plural"));
	}
}

/* Plans an object. A History also takes along the revision that it names, which is new. */
static int sending_plan(struct writer *w, struct sending *s, struct arena *a)
{
	const struct object *o = s->item->object;
	bool needs_namespace = o->meta.ns.n && w->im->has_namespaces && !namespace_is_archive(o->meta.ns);
	int r = o->kind->expires ? take_lease(w) : 0;
	plan_init(&s->plan, a, w->im->options->prefix);
	r = r ? r
	      : sending_plan_item(w, s, s->item, &s->stored[0],
			(struct plan_change){
				.before = s->present,
				.revision = s->present ? s->present->mod_revision : 0,
				.lease = o->kind->expires ? w->lease : 0,
				.namespace_guard = needs_namespace ? PLAN_NAMESPACE_EXISTS : PLAN_NAMESPACE_ANY,
				.guards_needed = o->kind->needs_references && o->kind->needs_references(o),
				.wants_present = true,
			});
	if (!r && import_is_definition(o)) {
		sending_guard_definition(w, s);
	}
	return r || !s->beside.object ? r : sending_plan_item(w, s, &s->beside, &s->stored[1], (struct plan_change){0});
}

/* ---- what came of it ---- */

static void sending_finish(struct writer *w, struct sending *s)
{
	struct import *im = w->im;
	im->entries[s->item->at].state = ENTRY_DONE;
	if (import_is_definition(s->item->object)) {
		import_definition_written(im, s->item->object->meta.name, s->plan.txn.op.revision, true);
	}
	*(s->is_replacing ? &im->counts.replaced : &im->counts.created) += 1;
	if (s->beside.object) {
		im->entries[s->beside.at].state = ENTRY_DONE;
		im->counts.created++;
		progress_add(&im->progress, 1);
	}
	progress_add(&im->progress, 1);
}

static int sending_fail(struct writer *w, const struct sending *s, const char *why)
{
	const struct object *o = s->item->object;
	_cleanup_(arena_done) struct arena a;
	arena_init(&a, 64 << 10);
	buf_printf(w->im->err, "line %u: " STR_FMT ": %s", w->im->entries[s->item->at].line, STR_ARG(import_title(o, &a)), why);
	return -EIO;
}

/* Somebody has written the object meanwhile, or our own answer was lost. In that case the object
 * is the same. */
static void sending_judge_present(struct writer *w, struct sending *s, struct arena *a)
{
	struct import *im = w->im;
	struct entry *e = &im->entries[s->item->at];
	const struct storage_kv *kv = plan_present(&s->plan);
	struct object *present = NULL;
	if (kv && import_decode(im, &present, s->item->object->kind, kv, a)) {
		e->state = ENTRY_SKIP;
		import_trouble(
			im, e->line, s->item->object, STR("what is stored of this name cannot be read: see annals fsck"));
		return;
	}
	bool is_ours = present && str_eq(present->meta.uid, s->item->object->meta.uid);
	e->state = ENTRY_SKIP; /* unless import_decide() finds another state */
	import_decide(im, e, s->item->object, present, a);
	if (present && e->state == ENTRY_SAME && import_is_definition(s->item->object)) {
		import_definition_written(im, present->meta.name, kv->mod_revision, is_ours);
	}
	if (e->state == ENTRY_SAME || e->state == ENTRY_SKIP) {
		*(e->state == ENTRY_SAME ? &im->counts.created : &im->counts.skipped) += 1;
		progress_add(&im->progress, 1);
	}
}

/* The History's revision exists already, or an object that it needs has gone. */
static void sending_judge_refused(struct writer *w, struct sending *s)
{
	struct import *im = w->im;
	if (s->beside.object) {
		im->entries[s->beside.at].is_told = false; /* from now on each is written alone */
		return;
	}
	const struct object *o = s->item->object;
	im->entries[s->item->at].state = ENTRY_SKIP;
	import_trouble(im, im->entries[s->item->at].line, o,
		import_is_definition(o) ? STR("another definition has changed meanwhile: run the import again")
			: o->kind->life ? STR("its definition has changed, or its namespace has gone meanwhile")
					: STR("its namespace, or what it needs, has gone meanwhile"));
}

static int sending_settle_failed(struct writer *w, struct sending *s, bool *ret_must_pause)
{
	switch (s->plan.txn.op.result) {
	case STORAGE_LEASE_GONE:
		w->lease = 0;
		return 0;
	case STORAGE_UNAVAILABLE:
	case STORAGE_TIMEOUT:
	case STORAGE_UNKNOWN:
	case STORAGE_NO_SPACE:
		*ret_must_pause = true;
		return 0;
	case STORAGE_TOO_LARGE:
		return sending_fail(w, s, "etcd refuses it for its size: see its --max-request-bytes");
	default:
		return sending_fail(w, s, s->plan.txn.op.message);
	}
}

/* Returns 0, with the result or the need for another try in the entry's state; or -errno. */
static int sending_settle(struct writer *w, struct sending *s, struct arena *a, bool *ret_must_pause)
{
	switch (plan_judge(&s->plan, w->agreement)) {
	case PLAN_DONE:
		sending_finish(w, s);
		return 0;
	case PLAN_CONFLICT:
		sending_judge_present(w, s, a);
		return 0;
	case PLAN_REFUSED:
		sending_judge_refused(w, s);
		return 0;
	case PLAN_UNREGISTERED:
		return 0;
	case PLAN_FAILED:
		break;
	}
	return sending_settle_failed(w, s, ret_must_pause);
}

/* ---- a batch ---- */

static int sending_read_present(struct writer *w, struct sending *s, struct arena *a)
{
	struct storage_range r = {.key = s->item->key};
	struct object *present = NULL;
	enum storage_result result = storage_range_wait(w->im->options->storage, &r);
	struct buf why;
	int error = 0;
	buf_init(&why, 4096);
	if (result != STORAGE_OK) {
		error = sending_fail(w, s, r.op.message);
	} else if (r.n_kvs == 0) {
		w->im->entries[s->item->at].state = ENTRY_NEW;
	} else if (import_decode(w->im, &present, s->item->object->kind, &r.kvs[0], a)) {
		error = sending_fail(w, s, "what is stored of this name cannot be read");
	} else if (!import_replace(w->im, s->item->object, present, a, &why)) {
		buf_addc(&why, '\0');
		error = sending_fail(w, s, why.p);
	} else {
		s->present = present;
		s->is_replacing = true;
	}
	buf_done(&why);
	storage_op_clear(&r.op);
	return error;
}

/* The revision that a History names is written with it, unless it is there already. */
static int sending_read_beside(struct writer *w, struct sending *s, struct batch *b)
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

static int sending_prepare(struct writer *w, struct sending *s, struct item *item, struct batch *b)
{
	*s = (struct sending){.item = item};
	int r = w->im->entries[item->at].state == ENTRY_REPLACE ? sending_read_present(w, s, &b->arena) : 0;
	if (!r && !s->present && import_is_definition(item->object)) {
		import_settle_definition(w->im, item->object, NULL, &b->arena);
	}
	r = r ? r : sending_read_beside(w, s, b);
	return r ? r : sending_plan(w, s, &w->plans);
}

static bool is_to_be_written(const struct entry *e)
{
	return e->state == ENTRY_NEW || e->state == ENTRY_REPLACE;
}

/* A definition that somebody else has changed while the import ran was reported, and is not written. So its objects are not, either. */
static bool has_definition(struct writer *w, const struct item *item)
{
	const struct kind *k = item->object->kind;
	struct entry *e = &w->im->entries[item->at];
	if (k->life && atomic_load(&k->life->revision) == 0) {
		e->state = ENTRY_SKIP;
		import_trouble(w->im, e->line, item->object, STR("its definition is not stored"));
		return false;
	}
	return true;
}

static int batch_write_once(struct writer *w, struct batch *b, struct sending *all, bool *ret_must_pause)
{
	struct plan *plans[BATCH_MAX];
	size_t n = 0;
	int r = 0;
	arena_clear(&w->plans);
	for (size_t i = 0; i < b->n && !r; i++) {
		if (is_to_be_written(&w->im->entries[b->items[i].at]) && has_definition(w, &b->items[i])) {
			assert(n < BATCH_MAX);
			r = sending_prepare(w, &all[n], &b->items[i], b);
			plans[n] = &all[n].plan;
			n++;
		}
	}
	if (!r) {
		plans_wait(plans, n, w->im->options->storage);
	}
	for (size_t i = 0; i < n; i++) {
		r = r ? r : sending_settle(w, &all[i], &b->arena, ret_must_pause);
		plan_clear(&all[i].plan);
		buf_done(&all[i].stored[0]);
		buf_done(&all[i].stored[1]);
	}
	return r;
}

static bool batch_is_done(struct writer *w, const struct batch *b)
{
	for (size_t i = 0; i < b->n; i++) {
		if (is_to_be_written(&w->im->entries[b->items[i].at])) {
			return false;
		}
	}
	return true;
}

/* Writes with an unknown outcome are tried again: those that succeeded are recognised. */
static int batch_write(struct writer *w, struct batch *b, struct sending *all)
{
	int64_t until_ms = clock_mono_ms() + PATIENCE_MS;
	while (!batch_is_done(w, b)) {
		bool must_pause = false;
		int r = batch_write_once(w, b, all, &must_pause);
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
	struct str key = import_salt_key(im, &a);
	struct plan p;
	int r = 0;
	plan_init(&p, &a, im->options->prefix);
	plan_guard(&p, storage_compare_mod(key, 0));
	plan_put(&p, key, (struct str){(const char *)im->salt, SALT_SIZE}, 0);
	if (plan_wait(&p, im->options->storage) != STORAGE_OK || !p.txn.succeeded) {
		buf_printf(im->err, "cannot note that the import begins: %s",
			p.txn.op.result == STORAGE_OK ? "another import of the same file has begun" : p.txn.op.message);
		r = -EIO;
	}
	plan_clear(&p);
	return r;
}

static void forget_salt(struct import *im)
{
	_cleanup_(arena_done) struct arena a;
	arena_init(&a, 64 << 10);
	struct plan p;
	plan_init(&p, &a, im->options->prefix);
	plan_delete(&p, import_salt_key(im, &a));
	plan_wait(&p, im->options->storage); /* one that stays costs a key */
	plan_clear(&p);
}

/* ret_is_there: false if it is not sure. Another one may be making it at the same time: then ret_is_ours is false. */
static int make_namespace(struct writer *w, struct str name, struct arena *a, bool *ret_is_there, bool *ret_is_ours)
{
	struct agreement_ticket ticket;
	struct plan p;
	struct str why;
	int r = take_ticket(w, kind_by_hub(STR(""), STR("namespaces")), &ticket);
	if (r) {
		return r;
	}
	plan_init(&p, a, w->im->options->prefix);
	r = plan_new_namespace(&p, name, &ticket, &why);
	if (r) {
		buf_printf(w->im->err, "namespace " STR_FMT ": " STR_FMT, STR_ARG(name), STR_ARG(why));
		return r;
	}
	enum storage_result result = plan_wait(&p, w->im->options->storage);
	enum plan_outcome outcome = plan_judge(&p, w->agreement);
	*ret_is_there = outcome == PLAN_DONE || (outcome != PLAN_FAILED && plan_present(&p));
	*ret_is_ours = outcome == PLAN_DONE;
	bool may_pass = result == STORAGE_UNAVAILABLE || result == STORAGE_TIMEOUT || result == STORAGE_UNKNOWN;
	if (outcome == PLAN_FAILED && !may_pass) {
		buf_printf(w->im->err, "namespace " STR_FMT ": %s", STR_ARG(name), p.txn.op.message);
		r = -EIO;
	}
	plan_clear(&p);
	return r;
}

/* Makes a namespace. It tries again, as for other objects, when this replica's registration has ended
 * before the write, and when etcd's answer was lost. */
static int make_namespace_surely(struct writer *w, struct str name, struct arena *a)
{
	int64_t until_ms = clock_mono_ms() + PATIENCE_MS;
	bool is_there = false, is_ours = false, was_uncertain = false;
	int r = make_namespace(w, name, a, &is_there, &is_ours);
	while (!r && !is_there) {
		if (clock_mono_ms() > until_ms) {
			buf_printf(w->im->err,
				"namespace " STR_FMT ": etcd does not answer, or this import cannot register with the servers: "
				"run the same command again",
				STR_ARG(name));
			return -ETIMEDOUT;
		}
		nanosleep(&(struct timespec){.tv_nsec = PAUSE_MS * 1000000L}, NULL);
		arena_clear(a);
		was_uncertain = true;
		r = make_namespace(w, name, a, &is_there, &is_ours);
	}
	w->im->counts.created += is_ours || was_uncertain; /* as of objects whose answer was lost */
	return r;
}

static int make_namespaces(struct writer *w)
{
	_cleanup_(arena_done) struct arena a;
	arena_init(&a, 1 << 20);
	int r = 0;
	for (struct map_entry *e = map_next(&w->im->namespaces, NULL); e && !r; e = map_next(&w->im->namespaces, e)) {
		r = (uintptr_t)e->value == NAMESPACE_TO_MAKE ? make_namespace_surely(w, e->key, &a) : 0;
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
		r = batch_write(w, &b, all);
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
	arena_init(&w.plans, 16 << 20);
	progress_init(&im->progress, "imported", "objects", n);
	int r = writer_join(&w);
	r = r ? r : write_all(&w);
	progress_clear(&im->progress);
	writer_leave(&w);
	arena_done(&w.plans);
	pthread_cond_destroy(&w.changed);
	pthread_mutex_destroy(&w.lock);
	return r;
}
