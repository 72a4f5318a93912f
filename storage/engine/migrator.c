/* The migrator's thread, whose turn it is to migrate, and how the migrator's own objects are written. The thread may block, so its work reads as a
 * sequence. Before it looks it waits until the cache has its own last write: else it would do everything twice. If it is unsure of that write, it waits
 * until the cache is as fresh as etcd. */
#include "api/custom/definition.h"
#include "api/rules/validate.h"
#include "base/clock.h"
#include "base/exposition.h"
#include "storage/engine/migrator_private.h"
#include "storage/keys.h"

#include <assert.h>
#include <inttypes.h>

enum {
	/* The agreement notifies of changed replicas at once. This is for changes of objects, and for retries when etcd does not answer. */
	POLL_MS = 1000,
	REPORT_MS = 10000,
	RECORD_MS = 1000, /* between two records of the progress of a migration */
	CACHE_TIMEOUT_MS = 2000,
	GIVE_UP_TIMEOUT_MS = 1000,
	PLAN_ARENA_MAX = 64 << 10, /* bytes of a transaction that takes or releases the lock */
	STORED_MAX = 1 << 20,      /* bytes of one object of ours */
};

void migrator_notice(struct migrator *m, bool is_trouble, const char *format, ...)
{
	_cleanup_(buf_done) struct buf text = {0};
	va_list ap;

	if (!m->options.on_notice) {
		return;
	}
	buf_init(&text, MIGRATION_TEXT_MAX);
	va_start(ap, format);
	buf_vprintf(&text, format, ap);
	va_end(ap);
	m->options.on_notice(m->options.ctx, is_trouble, buf_str(&text));
}

bool migrator_is_stopping(struct migrator *m)
{
	pthread_mutex_lock(&m->lock);
	bool is_stopping = m->is_stopping;
	pthread_mutex_unlock(&m->lock);
	return is_stopping;
}

bool migrator_goes_on(struct migrator *m)
{
	return m->lock_revision && !m->is_unsure && cache_revision(m->options.cache) >= m->wrote && !migrator_is_stopping(m);
}

/* ---- whose turn it is: the replica's that holds PREFIX/migrator, under the lease of its registration ---- */

void migrator_lock_lose(struct migrator *m)
{
	m->lock_revision = m->lock_lease = 0;
	m->counts.is_holding = false;
}

size_t migrator_lock_guard(const struct migrator *m, struct plan *p)
{
	assert(m->lock_revision > 0);
	return plan_guard_key(p, m->lock_key, m->lock_revision);
}

enum plan_outcome migrator_lock_judge(struct migrator *m, const struct plan *p, size_t look)
{
	bool is_refused = p->txn.op.result == STORAGE_OK && !p->txn.succeeded;

	if (is_refused && !plan_look_holds(p, look, m->lock_revision)) {
		migrator_lock_lose(m);
		return PLAN_REFUSED;
	}
	return plan_judge(p, m->options.agreement);
}

static void migrator_lock_taken(struct migrator *m, int64_t lease, int64_t revision)
{
	m->lock_revision = m->wrote = revision;
	m->lock_lease = lease;
	m->counts.is_holding = true;
}

/* A key of ours that is there already is from an attempt whose answer was lost: it counts as taken now. */
static void migrator_lock_try(struct migrator *m, int64_t lease)
{
	struct str id = agreement_id(m->options.agreement);
	_cleanup_(arena_done) struct arena a;
	struct plan p;

	arena_init(&a, PLAN_ARENA_MAX);
	plan_init(&p, &a, m->options.prefix);
	plan_guard(&p, storage_compare_mod(m->lock_key, 0));
	plan_put(&p, m->lock_key, id, lease);
	size_t look = plan_look(&p, m->lock_key, false);
	p.txn.op.timeout_ms = STORE_TIMEOUT_MS;
	if (plan_wait(&p, m->options.storage) == STORAGE_OK) {
		const struct storage_kv *kv = p.txn.succeeded ? NULL : plan_looked(&p, look);
		if (p.txn.succeeded) {
			migrator_lock_taken(m, lease, p.txn.op.revision);
		} else if (kv && str_eq(kv->value, id) && kv->lease == lease) {
			migrator_lock_taken(m, lease, kv->mod_revision);
		}
	}
	plan_clear(&p);
}

/* A replica that cannot read what others write leaves the migration to them. */
static bool is_fit(struct migrator *m)
{
	for (size_t i = 0; i < kind_count(); i++) {
		if (!agreement_can_read(m->options.agreement, kind_at(i), NULL)) {
			return false;
		}
	}
	return true;
}

bool migrator_lock_take(struct migrator *m)
{
	int64_t lease = agreement_lease(m->options.agreement), now_ms = clock_mono_ms();

	if (m->lock_revision && m->lock_lease != lease) {
		migrator_lock_lose(m);
	}
	if (lease && !is_fit(m)) {
		migrator_lock_give_up(m);
		return false;
	}
	if (!m->lock_revision && lease && now_ms >= m->lock_at_ms) {
		m->lock_at_ms = now_ms + m->options.poll_ms;
		migrator_lock_try(m, lease);
		if (m->lock_revision) {
			migrator_notice(m, false, "it is this server's turn to migrate stored objects");
		}
	}
	return m->lock_revision != 0;
}

void migrator_lock_give_up(struct migrator *m)
{
	if (!m->lock_revision) {
		return;
	}
	_cleanup_(arena_done) struct arena a;
	struct plan p;
	arena_init(&a, PLAN_ARENA_MAX);
	plan_init(&p, &a, m->options.prefix);
	migrator_lock_guard(m, &p);
	plan_delete(&p, m->lock_key);
	p.txn.op.timeout_ms = GIVE_UP_TIMEOUT_MS;
	plan_wait(&p, m->options.storage); /* or else its lease ends */
	plan_clear(&p);
	migrator_lock_lose(m);
}

/* ---- the cache ---- */

struct waiter {
	struct cache_wait wait;
	struct migrator *m;
	bool is_done;
};

static void on_cache(struct cache_wait *w)
{
	struct waiter *waiter = container_of(w, struct waiter, wait);
	struct migrator *m = waiter->m;

	pthread_mutex_lock(&m->lock);
	waiter->is_done = true;
	pthread_cond_broadcast(&m->wake);
	pthread_mutex_unlock(&m->lock);
}

bool migrator_lock_await_cache(struct migrator *m, int64_t revision)
{
	assert(revision >= 0);
	struct waiter w = {.wait = {.done = on_cache, .timeout_ms = CACHE_TIMEOUT_MS}, .m = m};

	if (revision) {
		cache_wait_revision(m->options.cache, &w.wait, revision);
	} else {
		cache_wait_fresh(m->options.cache, &w.wait);
	}
	pthread_mutex_lock(&m->lock);
	while (!w.is_done) {
		pthread_cond_wait(&m->wake, &m->lock);
	}
	pthread_mutex_unlock(&m->lock);
	if (!revision) {
		cache_wait_settled(m->options.cache);
	}
	return w.wait.result == STORAGE_OK;
}

/* ---- StorageVersions and StorageMigrations: written directly, since they are what the server itself has to say ---- */

static bool record_may_write(struct migrator *m, const struct kind *k, struct agreement_ticket *ret)
{
	return agreement_write(m->options.agreement, k, ret, NULL) == AGREEMENT_MAY_WRITE;
}

/* Writes the change under the guards of all that is written here, and waits until the cache shows it. */
static bool record_write(struct migrator *m, const struct plan_change *c, const struct storage_compare *more, struct arena *a)
{
	struct plan p;

	plan_init(&p, a, m->options.prefix);
	plan_change(&p, c);
	size_t lock_look = migrator_lock_guard(m, &p);
	if (more) {
		plan_guard(&p, *more);
	}
	p.txn.op.timeout_ms = STORE_TIMEOUT_MS;
	enum storage_result result = plan_wait(&p, m->options.storage);
	bool is_done = migrator_lock_judge(m, &p, lock_look) == PLAN_DONE;
	if (is_done) {
		m->wrote = p.txn.op.revision;
	}
	m->has_rest |= !is_done;
	m->is_unsure |= result == STORAGE_UNAVAILABLE || !storage_result_is_certain(result);
	plan_clear(&p);
	return is_done && migrator_lock_await_cache(m, m->wrote);
}

/* Decodes the value as if a client had sent it, so that it is in normal form. */
static struct json *member_of_kind(const struct kind *k, const char *name, const struct json *value, struct arena *a)
{
	struct json *in = json_object(a);
	struct object *o;
	struct str error;

	json_add(a, in, str_of(name), json_copy(a, value));
	return object_decode(&o, k, &k->versions[0], in, NULL, a, NULL, &error) ? NULL : json_gets(o->fields, name);
}

static struct object *new_object(const struct record *r, struct arena *a)
{
	struct object *o = object_empty(r->kind, a);

	if (str_ends(r->name, STR("-"))) {
		o->meta.generate_name = r->name;
		meta_generate_name(&o->meta, a);
	} else {
		o->meta.name = r->name;
	}
	meta_prepare_create(o, STR(""), a);
	if (r->label) {
		o->meta.labels = json_object(a);
		json_add(a, o->meta.labels, str_of(r->label), json_string(a, str_of(r->value)));
	}
	if (r->spec) {
		object_set_spec(o, member_of_kind(r->kind, "spec", r->spec, a), a);
	}
	return o;
}

static struct object *record_object(const struct record *r, struct arena *a)
{
	struct object *o = NULL;

	if (!r->old) {
		o = new_object(r, a);
	} else if (cached_object(&o, r->old, a)) {
		return NULL;
	}
	object_set_status(o, member_of_kind(r->kind, "status", r->status, a), a);
	return o;
}

bool record_put(struct migrator *m, const struct record *r, struct arena *a)
{
	struct agreement_ticket ticket;
	struct object *o = record_may_write(m, r->kind, &ticket) ? record_object(r, a) : NULL;
	_cleanup_(buf_done) struct buf stored = {0};

	if (!o) {
		m->has_rest = true;
		return false;
	}
	buf_init(&stored, STORED_MAX);
	if (!object_encode_stored(&stored, o, ticket.version)) {
		return false;
	}
	const struct plan_change c = {
		.kind = r->kind,
		.name = o->meta.name,
		.after = o,
		.revision = r->old ? r->old->revision : 0,
		.stored = buf_str(&stored),
		.ticket = &ticket,
	};
	return record_write(m, &c, r->guard, a);
}

bool record_remove(struct migrator *m, const struct cached *old, struct arena *a)
{
	struct agreement_ticket ticket;
	const struct plan_change c = {.kind = old->kind, .name = old->name, .revision = old->revision, .ticket = &ticket};

	bool may = record_may_write(m, old->kind, &ticket);
	m->has_rest |= !may;
	return may && record_write(m, &c, NULL, a);
}

/* ---- bases that no object uses (storage/engine/plan.c) ---- */

/* A base that has just come, or whose object is just being replaced, may be used in a moment. */
enum {
	SWEEP_MAX = 40, /* in one round; others follow in the next one */
	UNUSED_MS = 5000,
};

/* An object that cannot be read here may use any base. */
static bool is_all_readable(struct migrator *m)
{
	for (size_t i = 0; i < kind_count(); i++) {
		struct cache_census census = {0};
		if (kind_at(i)->is_packed) {
			cache_census(m->options.cache, kind_at(i), &census);
		}
		if (census.n_unknown + census.n_unreadable > 0) {
			return false;
		}
	}
	return true;
}

/* Removes some of them. Where the guards fail, somebody has begun to use the base, or may have. Returns true
 * if there may be more. */
static bool bases_sweep(struct migrator *m)
{
	/* Taken before the reads below, so that the transaction is refused if a later write changed them. */
	int64_t revision = cache_revision(m->options.cache);
	struct base_unused unused[SWEEP_MAX];
	struct plan plans[SWEEP_MAX], *all[SWEEP_MAX];
	struct arena a;

	size_t n = is_all_readable(m) ? bases_unused(cache_bases(m->options.cache), UNUSED_MS, unused, SWEEP_MAX) : 0;
	bool is_done = n > 0;
	arena_init(&a, (size_t)1 << 20);
	for (size_t i = 0; i < n; i++) {
		all[i] = &plans[i];
		plan_init(&plans[i], &a, m->options.prefix);
		plan_remove_base(&plans[i], &unused[i], revision);
		plans[i].txn.op.timeout_ms = STORE_TIMEOUT_MS;
	}
	plans_wait(all, n, m->options.storage);
	for (size_t i = 0; i < n; i++) {
		is_done &= plans[i].txn.op.result == STORAGE_OK && plans[i].txn.succeeded;
		plan_clear(&plans[i]);
		base_unref(unused[i].base);
	}
	arena_done(&a);
	return n == SWEEP_MAX && is_done;
}

/* ---- compressed values that are to be plain text ---- */

enum {
	UNPACK_MAX = 40,          /* objects in one round, all at once; others follow in the next one */
	UNPACK_BYTES = 512 << 10, /* bytes of their texts; the object that crosses it is the last one of the round */
};

/* Plans the next objects of the kind. Returns their number. */
static size_t unpack_plan(struct migrator *m, const struct kind *k, struct plan *plans, size_t max, struct arena *a)
{
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *s = cache_snapshot(m->options.cache, k);
	const struct cache_filter all = {0};
	struct agreement_ticket ticket;
	const struct cached *c;
	struct cache_iter it;
	size_t n = 0, bytes = 0;

	if (!record_may_write(m, k, &ticket) || ticket.may_pack) {
		return 0;
	}
	cache_iter_init(&it, s, &all, STR(""));
	while (n < max && bytes < UNPACK_BYTES && (c = cache_iter_next(&it))) {
		_cleanup_(buf_done) struct buf stored = {0};
		struct object *o;
		buf_init(&stored, 2 * PACKED_TEXT_MAX);
		if (!c->is_packed || cached_object(&o, c, a) || !object_encode_stored(&stored, o, ticket.version)) {
			continue;
		}
		bytes += stored.n;
		plan_init(&plans[n], a, m->options.prefix);
		plan_change(&plans[n],
			&(struct plan_change){.kind = k,
				.ns = arena_dup(a, c->ns),
				.name = arena_dup(a, c->name),
				.before = o,
				.after = o,
				.revision = c->revision,
				.stored = arena_dup(a, buf_str(&stored)),
				.ticket = &ticket});
		plans[n++].txn.op.timeout_ms = STORE_TIMEOUT_MS;
	}
	return n;
}

/* Rewrites some of them. Returns true if there may be more. */
static bool values_unpack(struct migrator *m)
{
	struct plan plans[UNPACK_MAX], *all[UNPACK_MAX];
	int64_t written = 0;
	struct arena a;
	size_t n = 0;

	arena_init(&a, SIZE_MAX);
	for (size_t i = 0; m->options.is_plain && i < kind_count(); i++) {
		n += kind_at(i)->is_packed ? unpack_plan(m, kind_at(i), plans + n, UNPACK_MAX - n, &a) : 0;
	}
	for (size_t i = 0; i < n; i++) {
		all[i] = &plans[i];
	}
	plans_wait(all, n, m->options.storage);
	for (size_t i = 0; i < n; i++) {
		bool is_done = plan_judge(&plans[i], m->options.agreement) == PLAN_DONE;
		written = is_done ? MAX(written, plans[i].txn.op.revision) : written;
		plan_clear(&plans[i]);
	}
	arena_done(&a);
	return written > 0 && migrator_lock_await_cache(m, written);
}

/* ---- the thread ---- */

static void migrator_look(struct migrator *m)
{
	_cleanup_(agreement_view_unrefp) struct agreement_view *view = agreement_view(m->options.agreement);
	struct arena a;

	m->counts.n_looks++;
	m->looked_at = cache_revision(m->options.cache);
	m->has_rest = !view;
	if (!view) {
		return;
	}
	arena_init(&a, SIZE_MAX);
	m->defined = cache_kinds(m->options.cache);
	migrations_tend(m, view, &a);
	if (migrator_goes_on(m)) {
		reports_update(m, view, &a);
	}
	m->defined = kinds_unref(m->defined);
	arena_done(&a);
}

static int64_t run_on(struct migrator *m)
{
	if (clock_mono_ms() >= m->run.next_ms) {
		run_step(m);
	}
	if (m->run.kind && m->lock_revision && clock_mono_ms() >= m->run.recorded_ms + RECORD_MS) {
		migrations_report(m, MIGRATION_RUNNING, STR(""), NULL);
	}
	return m->run.kind ? m->run.next_ms : 0;
}

/* The cache must show our own last write before anything is decided by it; and a write whose outcome is unknown, too. */
static bool is_up_to_date(struct migrator *m)
{
	if (m->is_unsure) {
		m->is_unsure = !migrator_lock_await_cache(m, 0);
	}
	return !m->is_unsure && (cache_revision(m->options.cache) >= m->wrote || migrator_lock_await_cache(m, m->wrote));
}

/* With Off nothing becomes due as time passes, but what the last look has left. So as long as nothing has been written, another look would find
 * the same. */
static bool may_find_news(const struct migrator *m)
{
	return m->options.mode != STORAGE_MIGRATION_OFF || m->has_rest || cache_revision(m->options.cache) != m->looked_at;
}

/* Does one round of work. Returns the time of the next one. */
static int64_t migrator_work(struct migrator *m, bool is_notified)
{
	int64_t now_ms = clock_mono_ms(), retry_ms = now_ms + m->options.poll_ms / 4, until_ms;

	m->counts.n_rounds++;
	if (!cache_is_ready(m->options.cache)) {
		return retry_ms;
	}
	if (!migrator_lock_take(m)) {
		run_end(m);
		return MAX(m->lock_at_ms, retry_ms);
	}
	if (!is_up_to_date(m)) {
		return retry_ms;
	}
	if (now_ms >= m->migrations_at_ms || is_notified) {
		m->migrations_at_ms = now_ms + m->options.poll_ms;
		if (is_notified || may_find_news(m)) {
			migrator_look(m);
		}
	}
	if (now_ms >= m->sweep_at_ms) {
		bool goes_on = values_unpack(m);
		goes_on |= bases_sweep(m);
		m->sweep_at_ms = goes_on ? now_ms : now_ms + m->options.poll_ms;
	}
	until_ms = m->run.kind && m->lock_revision ? run_on(m) : m->migrations_at_ms;
	return MIN(until_ms, MIN(m->migrations_at_ms, m->sweep_at_ms));
}

static bool wait_until(struct migrator *m, int64_t until_ms, bool *ret_notified)
{
	int r = 0;

	pthread_mutex_lock(&m->lock);
	while (!m->is_stopping && !m->is_notified && !r) {
		r = clock_cond_wait(&m->wake, &m->lock, until_ms);
	}
	*ret_notified = m->is_notified;
	m->is_notified = false;
	bool goes_on = !m->is_stopping;
	pthread_mutex_unlock(&m->lock);
	return goes_on;
}

static void *migrator_run(void *ctx)
{
	struct migrator *m = ctx;
	int64_t until_ms = 0;
	bool is_notified;

	while (wait_until(m, until_ms, &is_notified)) {
		until_ms = migrator_work(m, is_notified);
	}
	run_end(m);
	migrator_lock_give_up(m);
	return NULL;
}

/* ---- life ---- */

static size_t field_of(const struct kind *k, const char *path)
{
	size_t i = 0;

	while (strcmp(k->selectable[i].path, path)) {
		i++;
		assert(i < k->n_selectable);
	}
	return i;
}

static void find_kinds(struct migrator *m)
{
	m->versions = kind_by_hub(STR("annals.dev"), STR("storageversions"));
	m->migrations = kind_by_hub(STR("annals.dev"), STR("storagemigrations"));
	m->definitions = definitions_kind();
	assert(m->versions && m->migrations && m->definitions);
	m->fields[FIELD_GROUP] = field_of(m->migrations, "spec.resource.group");
	m->fields[FIELD_RESOURCE] = field_of(m->migrations, "spec.resource.resource");
	m->fields[FIELD_STATE] = field_of(m->migrations, "status.state");
}

struct migrator *migrator_new(const struct migrator_options *options)
{
	struct migrator *m = mem_new(struct migrator);

	m->options = *options;
	m->options.poll_ms = options->poll_ms ? options->poll_ms : POLL_MS;
	m->options.report_ms = options->report_ms ? options->report_ms : REPORT_MS;
	arena_init(&m->arena, (size_t)1 << 20);
	m->options.prefix = arena_dup(&m->arena, options->prefix);
	m->lock_key = key_migrator(&m->arena, m->options.prefix);
	m->replicas_key = key_replicas(&m->arena, m->options.prefix);
	m->replicas_end = storage_prefix_end(&m->arena, m->replicas_key);
	find_kinds(m);
	pthread_mutex_init(&m->lock, NULL);
	clock_cond_init(&m->wake);
	m->has_thread = pthread_create(&m->thread, NULL, migrator_run, m) == 0;
	if (m->has_thread) {
		pthread_setname_np(m->thread, "migrator");
	} else {
		migrator_notice(m, true, "cannot start a thread: nothing is migrated by this server");
	}
	return m;
}

struct migrator *migrator_free(struct migrator *m)
{
	if (!m) {
		return NULL;
	}
	pthread_mutex_lock(&m->lock);
	m->is_stopping = true;
	pthread_cond_broadcast(&m->wake);
	pthread_mutex_unlock(&m->lock);
	if (m->has_thread) {
		pthread_join(m->thread, NULL);
	}
	pthread_cond_destroy(&m->wake);
	pthread_mutex_destroy(&m->lock);
	arena_done(&m->arena);
	return mem_free(m);
}

void migrator_notify(struct migrator *m)
{
	pthread_mutex_lock(&m->lock);
	m->is_notified = true;
	pthread_cond_broadcast(&m->wake);
	pthread_mutex_unlock(&m->lock);
}

/* ---- metrics ---- */

static void write_objects(struct migrator *m, struct buf *out)
{
	struct arena a;

	arena_init(&a, SIZE_MAX);
	exposition_head(out, "annals_storage_migration_objects_total", "counter",
		"Objects that were rewritten, or found changed when they were to be. Custom resources count together.");
	for (size_t i = 0; i < SLOTS; i++) {
		uint64_t n = m->counts.n_rewritten[i], n_conflicts = m->counts.n_conflicts[i];
		struct str resource = i == SLOT_CUSTOM ? STR("custom") : n || n_conflicts ? kind_group_resource(kind_at(i), &a) : STR("");
		if (n || n_conflicts) {
			buf_printf(out,
				"annals_storage_migration_objects_total{resource=\"" STR_FMT "\",result=\"rewritten\"} %" PRIu64
				"\n"
				"annals_storage_migration_objects_total{resource=\"" STR_FMT "\",result=\"conflict\"} %" PRIu64
				"\n",
				STR_ARG(resource), n, STR_ARG(resource), n_conflicts);
		}
	}
	arena_done(&a);
}

void migrator_write_metrics(struct migrator *m, struct buf *out)
{
	const struct migration_counts *c = &m->counts;

	write_objects(m, out);
	exposition_gauge(
		out, "annals_storage_migrator", "1 while it is this server's turn to migrate stored objects.", c->is_holding);
	exposition_gauge(
		out, "annals_storage_migration_running", "1 while this server carries out a StorageMigration.", c->is_running);
	exposition_counter(
		out, "annals_storage_migration_batches_total", "Rounds in which objects were rewritten.", (double)c->n_batches);
	exposition_counter(out, "annals_storage_migration_seconds_total",
		"How long StorageMigrations that are not under way any more ran.", (double)c->running_ms / 1000);
	exposition_counter(
		out, "annals_storage_migrations_succeeded_total", "StorageMigrations that succeeded.", (double)c->n_succeeded);
	exposition_counter(
		out, "annals_storage_migrations_failed_total", "StorageMigrations that failed.", (double)c->n_failed);
}
