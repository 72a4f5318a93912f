/* A thread of its own may block, so its work reads as a sequence. Before it looks it waits until
 * the cache has its own last write: deciding by what it has changed itself would do everything
 * twice. After a doubt it waits until the cache is as fresh as etcd. */
#include "migration/migrator_private.h"

#include "base/clock.h"
#include "base/exposition.h"
#include "storage/keys.h"

#include <assert.h>
#include <inttypes.h>

enum {
	/* Whatever has changed of replicas is said at once; this is for objects and for etcd's
	 * troubles. */
	POLL_MS = 1000,
	REPORT_MS = 10000,
	RECORD_MS = 1000, /* between two records of the progress of a migration */
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

/* ---- the thread ---- */

static void look(struct migrator *m)
{
	_cleanup_(agreement_view_unrefp) struct agreement_view *view = agreement_view(m->options.agreement);
	struct arena a;

	m->migrations_at_ms = clock_mono_ms() + m->options.poll_ms;
	if (!view) {
		return;
	}
	arena_init(&a, SIZE_MAX);
	migrations_tend(m, view, &a);
	if (migrator_goes_on(m)) {
		reports_update(m, view, &a);
	}
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

/* What we have written ourselves is seen in the cache before anything is decided by it; also what we may have written. */
static bool is_up_to_date(struct migrator *m)
{
	if (m->is_unsure) {
		m->is_unsure = !migrator_lock_await_cache(m, 0);
	}
	return !m->is_unsure && (cache_revision(m->options.cache) >= m->wrote || migrator_lock_await_cache(m, m->wrote));
}

/* One round; until when nothing is to be done. */
static int64_t work(struct migrator *m, bool is_notified)
{
	int64_t now_ms = clock_mono_ms(), retry_ms = now_ms + m->options.poll_ms / 4, until_ms;

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
	if (is_notified || now_ms >= m->migrations_at_ms) {
		look(m);
	}
	until_ms = m->run.kind && m->lock_revision ? run_on(m) : m->migrations_at_ms;
	return MIN(until_ms, m->migrations_at_ms);
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

static void *migrate(void *ctx)
{
	struct migrator *m = ctx;
	int64_t until_ms = 0;
	bool is_notified;

	while (wait_until(m, until_ms, &is_notified)) {
		until_ms = work(m, is_notified);
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
	assert(m->versions && m->migrations);
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
	m->has_thread = pthread_create(&m->thread, NULL, migrate, m) == 0;
	if (!m->has_thread) {
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
		"Objects that were rewritten, or found changed when they were to be.");
	for (size_t i = 0; i < kind_count(); i++) {
		uint64_t n = m->counts.n_rewritten[i], n_conflicts = m->counts.n_conflicts[i];
		struct str resource = kind_group_resource(kind_at(i), &a);
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
