/* The thread and its list of names. A name is looked at when its definition has changed, when any
 * other has (names may be free now), and again after a while as long as it has to wait for objects. */
#include "storage/engine/definitions.h"

#include "api/custom/custom.h"
#include "api/custom/definition.h"
#include "api/model/members.h"
#include "base/clock.h"
#include "base/thread.h"
#include "storage/engine/plan.h"

#include <assert.h>
#include <semaphore.h>

enum {
	AGAIN_MS = 300,        /* an object waits for a finalizer of somebody else, or etcd does not answer */
	TIMEOUT_MS = 5000,     /* of one transaction, and of one wait for the cache */
	NOTICE_MS = 60 * 1000, /* between two sentences about trouble */
	ARENA_MAX = 512 << 20, /* bytes that one definition or object takes while it is changed */
	STORED_MAX = 64 << 20,    /* bytes of its text, of which etcd takes 1.5 MiB by default: a larger object waits, and is reported */
};

struct definitions {
	struct definitions_options options;
	const struct kind *kind;
	pthread_t thread;
	bool has_thread;
	int64_t noticed_ms; /* the thread's */

	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct map noted;   /* names, whose definitions are not published yet */
	struct map pending; /* names, which wait for something */
	bool is_woken, is_stopping;
};

struct definitions *definitions_new(void)
{
	struct definitions *d = mem_new(struct definitions);

	d->kind = definitions_kind();
	assert(d->kind);
	pthread_mutex_init(&d->lock, NULL);
	clock_cond_init(&d->wake);
	map_init(&d->pending, SIZE_MAX);
	map_init(&d->noted, SIZE_MAX);
	return d;
}

static void pending_add(struct definitions *d, struct str name)
{
	pthread_mutex_lock(&d->lock);
	map_set(&d->pending, name, d, NULL);
	pthread_mutex_unlock(&d->lock);
}

/* The noted definitions are published now, so the thread finds them in the cache. */
static void definitions_publish(struct definitions *d)
{
	for (struct map_entry *e = map_next(&d->noted, NULL); e; e = map_next(&d->noted, e)) {
		map_set(&d->pending, e->key, d, NULL);
	}
	map_done(&d->noted);
	map_init(&d->noted, SIZE_MAX);
	d->is_woken = d->pending.n > 0;
	pthread_cond_signal(&d->wake);
}

void definitions_note(void *definitions, struct str name, const struct object *definition)
{
	struct definitions *d = definitions;

	pthread_mutex_lock(&d->lock);
	if (name.n == 0) {
		definitions_publish(d);
	} else if (definition && definition_is_pending(definition)) {
		map_set(&d->noted, name, d, NULL);
	}
	pthread_mutex_unlock(&d->lock);
}

static void definitions_notice(struct definitions *d, struct str name, const char *what)
{
	_cleanup_(buf_done) struct buf text;
	int64_t now_ms = clock_mono_ms();

	buf_init(&text, 4096);
	if (!d->options.on_notice || (d->noticed_ms && now_ms < d->noticed_ms + NOTICE_MS)) {
		return;
	}
	d->noticed_ms = now_ms;
	buf_printf(&text, "the definition " STR_FMT " cannot be carried out now, and is tried again: %s", STR_ARG(name), what);
	d->options.on_notice(d->options.ctx, buf_str(&text));
}

/* ---- one write ---- */

enum progress {
	PROGRESS_DONE, /* there is nothing to do any more */
	PROGRESS_NEWS, /* something was written: look again when the cache has it */
	PROGRESS_WAIT, /* for somebody else, or for etcd */
};

/* Waits until the cache has a revision. */
struct waiting {
	struct cache_wait wait;
	sem_t is_over;
};

static void on_over(struct cache_wait *w)
{
	sem_post(&container_of(w, struct waiting, wait)->is_over);
}

static void wait_for_cache(struct definitions *d, int64_t revision)
{
	struct waiting w = {.wait = {.done = on_over, .timeout_ms = TIMEOUT_MS}};

	sem_init(&w.is_over, 0, 0);
	cache_wait_revision(d->options.cache, &w.wait, revision);
	while (sem_wait(&w.is_over) != 0) {
	}
	sem_destroy(&w.is_over);
	cache_wait_settled(d->options.cache);
}

struct change {
	const struct kind *kind;
	const struct object *before, *after; /* after NULL: it is removed */
	const struct agreement_ticket *ticket;
	int64_t kind_revision; /* no object of the kind has changed since; 0: is not guarded */
};

static enum progress change_write(struct definitions *d, struct str definition, const struct change *c, struct arena *a)
{
	_cleanup_(buf_done) struct buf stored;
	const struct version *v = c->ticket && c->ticket->version ? c->ticket->version : kind_storage_version(c->kind);
	struct plan p;

	buf_init(&stored, STORED_MAX);
	if (c->after && !object_encode_stored(&stored, c->after, v)) {
		definitions_notice(d, definition, "an object is too large");
		return PROGRESS_WAIT;
	}
	plan_init(&p, a, d->options.prefix);
	plan_change(&p,
		&(struct plan_change){.kind = c->kind,
			.ns = c->before->meta.ns,
			.name = c->before->meta.name,
			.before = c->before,
			.after = c->after,
			.revision = c->before->mod_revision,
			.stored = buf_str(&stored),
			.ticket = c->ticket,
			.namespace_guard = PLAN_NAMESPACE_ANY});
	if (c->kind_revision) {
		plan_guard_kind(&p, c->kind, c->kind_revision);
	}
	p.txn.op.timeout_ms = TIMEOUT_MS;
	enum storage_result r = plan_wait(&p, d->options.storage);
	bool is_written = r == STORAGE_OK && p.txn.succeeded;
	bool is_in_use = r == STORAGE_OK && !is_written && c->kind->life && plan_is_as_expected(&p);
	int64_t revision = p.txn.op.revision;
	if (r != STORAGE_OK) {
		definitions_notice(d, definition, p.txn.op.message);
	} else if (!is_written && c->ticket && c->ticket->key.n > 0) {
		plan_judge(&p, d->options.agreement);
	}
	plan_clear(&p);
	if (r == STORAGE_OK) {
		/* Where a guard failed, somebody else has written: the cache shows it at this revision. */
		wait_for_cache(d, revision);
	}
	/* An object that others refer to stays until they are gone. */
	if (is_in_use) {
		definitions_notice(d, definition, "an object cannot be removed, since others refer to it");
	}
	return r == STORAGE_OK && !is_in_use ? PROGRESS_NEWS : PROGRESS_WAIT;
}

static enum progress definition_write(
	struct definitions *d, const struct object *before, const struct object *after, int64_t kind_revision, struct arena *a)
{
	struct agreement_ticket ticket = {.version = kind_storage_version(d->kind)};
	struct agreement *agreement = d->options.agreement;

	if (agreement && agreement_write(agreement, d->kind, &ticket, NULL) != AGREEMENT_MAY_WRITE) {
		return PROGRESS_WAIT;
	}
	const struct change c = {
		.kind = d->kind, .before = before, .after = after, .ticket = &ticket, .kind_revision = kind_revision};
	return change_write(d, before->meta.name, &c, a);
}

static struct str time_now(struct arena *a)
{
	char text[TIME_RFC3339_SIZE];

	time_format_rfc3339(text, clock_wall_s());
	return arena_dup(a, str_of(text));
}

/* ---- the end of a definition ---- */

/* Deletes an object, or begins its deletion if it has finalizers. */
static enum progress object_remove(struct definitions *d, struct str definition, const struct cached *cached)
{
	_cleanup_(arena_done) struct arena a;
	struct object *o;

	arena_init(&a, ARENA_MAX);
	if (cached_object(&o, cached, &a)) {
		definitions_notice(d, definition, "an object cannot be read");
		return PROGRESS_WAIT;
	}
	bool is_held = o->meta.finalizers && o->meta.finalizers->n > 0;
	if (is_held && meta_is_deleting(&o->meta)) {
		return PROGRESS_WAIT;
	}
	struct object *after = NULL;
	if (is_held) {
		after = object_copy(o, &a);
		after->meta.deletion_timestamp = time_now(&a);
		after->meta.has_grace_period = true;
		after->meta.grace_period_s = 0;
		after->meta.generation++;
	}
	const struct change c = {.kind = o->kind, .before = o, .after = after};
	return change_write(d, definition, &c, &a);
}

/* Returns whether all objects are gone. */
static enum progress objects_remove(struct definitions *d, struct str definition, const struct kind *k)
{
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *s = cache_snapshot(d->options.cache, k);
	const struct cache_filter all = {0};
	enum progress progress = PROGRESS_DONE;
	const struct cached *o;
	struct cache_iter it;

	cache_iter_init(&it, s, &all, STR(""));
	while ((o = cache_iter_next(&it))) {
		enum progress r = object_remove(d, definition, o);
		progress = r == PROGRESS_NEWS || progress == PROGRESS_NEWS ? PROGRESS_NEWS : PROGRESS_WAIT;
	}
	/* Values that this server cannot read are there all the same. */
	struct cache_census census;
	cache_census(d->options.cache, k, &census);
	bool is_all_known = census.n_unknown == 0 && census.n_unreadable == 0;
	return progress == PROGRESS_DONE && !is_all_known ? PROGRESS_WAIT : progress;
}

static enum progress definition_end(struct definitions *d, const struct object *o, struct arena *a)
{
	const struct json *spec = object_spec(o);
	_cleanup_(kinds_unrefp) struct kinds *defined = cache_kinds(d->options.cache);
	const struct kind *k =
		kinds_by_hub(defined, member_text(spec, "group"), member_text(json_gets(spec, "names"), "plural"));
	enum progress progress = PROGRESS_DONE;

	if (!meta_has_finalizer(&o->meta, STR(DEFINITION_FINALIZER))) {
		return PROGRESS_DONE;
	}
	if (k && str_eq(k->life->definition_uid, o->meta.uid)) {
		progress = atomic_load(&k->life->is_terminating) ? objects_remove(d, o->meta.name, k) : PROGRESS_WAIT;
	} else if (definition_is_established(o)) {
		progress = PROGRESS_WAIT; /* its kind is not known here: too many, or from a newer server */
	}
	if (progress != PROGRESS_DONE) {
		return progress;
	}
	struct object *after = object_copy(o, a);
	meta_remove_finalizer(&after->meta, a, STR(DEFINITION_FINALIZER));
	return definition_write(d, o, after->meta.finalizers ? after : NULL, 0, a);
}

/* ---- names that were taken ---- */

static enum progress definition_name(struct definitions *d, const struct object *o, struct arena *a)
{
	/* The revision first: the kinds are as of that one, or newer. */
	int64_t seen = cache_revision(d->options.cache);
	_cleanup_(kinds_unrefp) struct kinds *defined = cache_kinds(d->options.cache);
	struct object *after = object_copy(o, a);

	definition_settle(after, defined, time_now(a), a);
	return object_equal(o, after) ? PROGRESS_WAIT : definition_write(d, o, after, seen, a);
}

/* ---- the thread ---- */

static enum progress definition_look(struct definitions *d, struct str name)
{
	_cleanup_(arena_done) struct arena a;
	struct object *o;

	arena_init(&a, ARENA_MAX);
	if (!cache_is_ready(d->options.cache)) {
		return PROGRESS_WAIT;
	}
	_cleanup_(cached_unrefp) struct cached *cached = cache_get(d->options.cache, d->kind, STR(""), name);
	if (!cached) {
		return PROGRESS_DONE;
	}
	if (cached_object(&o, cached, &a)) {
		definitions_notice(d, name, "it cannot be read");
		return PROGRESS_WAIT;
	}
	if (!definition_is_pending(o)) {
		return PROGRESS_DONE;
	}
	return meta_is_deleting(&o->meta) ? definition_end(d, o, &a) : definition_name(d, o, &a);
}

/* Looks at each pending name once. Returns whether to look again at once, later, or when there is news. */
static enum progress definitions_pass(struct definitions *d)
{
	enum progress progress = PROGRESS_DONE;
	struct map now;

	pthread_mutex_lock(&d->lock);
	now = d->pending;
	map_init(&d->pending, SIZE_MAX);
	d->is_woken = false;
	pthread_mutex_unlock(&d->lock);
	for (struct map_entry *e = map_next(&now, NULL); e; e = map_next(&now, e)) {
		pthread_mutex_lock(&d->lock);
		bool is_stopping = d->is_stopping;
		pthread_mutex_unlock(&d->lock);
		enum progress r = is_stopping ? PROGRESS_WAIT : definition_look(d, e->key);
		if (r != PROGRESS_DONE) {
			pending_add(d, e->key);
		}
		progress = r == PROGRESS_NEWS || progress == PROGRESS_NEWS ? PROGRESS_NEWS : MAX(r, progress);
	}
	map_done(&now);
	return progress;
}

static void *definitions_run(void *arg)
{
	struct definitions *d = arg;
	enum progress progress = PROGRESS_WAIT;

	pthread_mutex_lock(&d->lock);
	while (!d->is_stopping) {
		if (progress != PROGRESS_NEWS && !d->is_woken) {
			if (progress == PROGRESS_WAIT && d->pending.n > 0) {
				clock_cond_wait(&d->wake, &d->lock, clock_mono_ms() + AGAIN_MS);
			} else {
				pthread_cond_wait(&d->wake, &d->lock);
			}
			if (d->is_stopping || d->pending.n == 0) {
				d->is_woken = false;
				continue;
			}
		}
		pthread_mutex_unlock(&d->lock);
		progress = definitions_pass(d);
		pthread_mutex_lock(&d->lock);
	}
	pthread_mutex_unlock(&d->lock);
	return NULL;
}

void definitions_start(struct definitions *d, const struct definitions_options *options)
{
	assert(!d->has_thread && options->storage && options->cache);
	d->options = *options;
	thread_must_start(&d->thread, "definitions", definitions_run, d);
	d->has_thread = true;
}

void definitions_stop(struct definitions *d)
{
	if (!d || !d->has_thread) {
		return;
	}
	pthread_mutex_lock(&d->lock);
	d->is_stopping = true;
	pthread_cond_signal(&d->wake);
	pthread_mutex_unlock(&d->lock);
	pthread_join(d->thread, NULL);
	d->has_thread = false;
}

struct definitions *definitions_free(struct definitions *d)
{
	if (!d) {
		return NULL;
	}
	definitions_stop(d);
	map_done(&d->pending);
	map_done(&d->noted);
	pthread_cond_destroy(&d->wake);
	pthread_mutex_destroy(&d->lock);
	return mem_free(d);
}
