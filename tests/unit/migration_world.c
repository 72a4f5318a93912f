#include "tests/unit/migration_world.h"

#include "base/clock.h"
#include "storage/engine/migration_plan.h"
#include "storage/keys.h"

enum { POLL_MS = 20, LOOK_AGAIN_MS = 20 };

/* ---- life ---- */

static void signal_change(struct world *w)
{
	pthread_mutex_lock(&w->lock);
	w->has_changed = true;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
}

static void on_agreement(void *ctx, struct agreement *a _unused_)
{
	struct world *w = ctx;

	pthread_mutex_lock(&w->lock);
	if (w->migrator) {
		migrator_notify(w->migrator);
	}
	w->has_changed = true;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
}

static void on_cache(void *ctx, bool is_ready _unused_, const char *message _unused_)
{
	signal_change(ctx);
}

static void on_wake(void *ctx)
{
	signal_change(ctx);
}

static void on_notice(void *ctx, bool is_trouble _unused_, struct str text)
{
	struct world *w = ctx;

	pthread_mutex_lock(&w->lock);
	size_t n = strlen(w->notices);
	snprintf(w->notices + n, sizeof(w->notices) - n, STR_FMT "\n", STR_ARG(text));
	pthread_mutex_unlock(&w->lock);
	signal_change(w);
}

static struct storage_versions versions_of(const char *setting)
{
	struct storage_versions v;
	struct buf err;

	storage_versions_init(&v);
	buf_init(&err, 4096);
	assert_true(!setting || storage_versions_set(&v, str_of(setting), &err) == 0);
	buf_done(&err);
	return v;
}

static bool is_ready(struct world *w, const void *ctx _unused_)
{
	return cache_is_ready(w->cache) && agreement_is_settled(w->agreement, NULL);
}

static void watch(struct world *w, size_t i, const char *path)
{
	const struct version *v;
	struct cache_watch_options options = {
		.kind = world_version(path, &v), .from_revision = cache_revision(w->cache), .wake = on_wake, .ctx = w};

	assert_int_equal(cache_watch_open(w->cache, &w->watchers[i], &options), CACHE_OK);
}

struct world *world_new(struct storage *s, const char *version)
{
	struct world *w = mem_new(struct world);

	arena_init(&w->a, SIZE_MAX);
	pthread_mutex_init(&w->lock, NULL);
	clock_cond_init(&w->changed);
	w->storage = s;
	w->report_ms = 1;
	w->cache =
		cache_new(&(struct cache_options){.storage = s, .prefix = STR(WORLD_PREFIX), .on_state = on_cache, .ctx = w});
	w->agreement = agreement_new(&(struct agreement_options){.storage = s,
		.prefix = STR(WORLD_PREFIX),
		.versions = versions_of(version),
		.is_standalone = true,
		.address = STR("here:1"),
		.lease_s = 60,
		.on_change = on_agreement,
		.ctx = w});
	world_await(w, is_ready, NULL);
	watch(w, 0, MIGRATIONS_PATH);
	watch(w, 1, VERSIONS_PATH);
	return w;
}

void world_migrate(struct world *w, enum storage_migration mode, int64_t rate)
{
	struct migrator *m = migrator_new(&(struct migrator_options){.storage = w->storage,
		.cache = w->cache,
		.agreement = w->agreement,
		.prefix = STR(WORLD_PREFIX),
		.is_standalone = true,
		.mode = mode,
		.rate = rate,
		.poll_ms = POLL_MS,
		.report_ms = w->report_ms,
		.on_notice = on_notice,
		.ctx = w});

	pthread_mutex_lock(&w->lock);
	w->migrator = m;
	pthread_mutex_unlock(&w->lock);
}

struct world *world_free(struct world *w)
{
	pthread_mutex_lock(&w->lock);
	struct migrator *m = take_ptr(w->migrator);
	pthread_mutex_unlock(&w->lock);
	migrator_free(m);
	for (size_t i = 0; i < ARRAY_SIZE(w->watchers); i++) {
		cache_watch_close(w->watchers[i]);
	}
	agreement_free(w->agreement);
	cache_free(w->cache);
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->lock);
	arena_done(&w->a);
	return mem_free(w);
}

/* ---- waiting ---- */

static void drain(struct world *w)
{
	for (size_t i = 0; i < ARRAY_SIZE(w->watchers); i++) {
		enum watch_type type;
		struct cached *o;
		while (w->watchers[i] && cache_watch_next(w->watchers[i], &type, &o) == CACHE_NEXT_EVENT) {
			cached_unref(o);
		}
	}
}

void world_await(struct world *w, bool (*holds)(struct world *w, const void *ctx), const void *ctx)
{
	for (;;) {
		drain(w);
		pthread_mutex_lock(&w->lock);
		w->has_changed = false;
		pthread_mutex_unlock(&w->lock);
		if (holds(w, ctx)) {
			return;
		}
		/* Of what objects tell we hear. Metrics change without a word: those are looked at again. */
		int64_t again_ms = clock_mono_ms() + LOOK_AGAIN_MS;
		pthread_mutex_lock(&w->lock);
		for (int r = 0; !w->has_changed && !r;) {
			r = clock_cond_wait(&w->changed, &w->lock, again_ms);
		}
		pthread_mutex_unlock(&w->lock);
	}
}

/* ---- the store ---- */

static struct str key_of(struct world *w, const char *path, const char *name)
{
	const struct version *v;
	const struct kind *k = world_version(path, &v);

	return key_object(&w->a, STR(WORLD_PREFIX), str_of(k->versions[0].group), str_of(k->resource), STR(""), str_of(name));
}

int64_t world_step(struct world *w, struct storage_step s)
{
	struct storage_txn t = {.success = &s, .n_success = 1};

	assert_int_equal(storage_txn_wait(w->storage, &t), STORAGE_OK);
	int64_t revision = t.op.revision;
	storage_op_clear(&t.op);
	return revision;
}

static const struct version *version_named(const struct kind *k, const char *version)
{
	for (size_t i = 0; i < k->n_versions; i++) {
		if (strcmp(k->versions[i].name, version) == 0) {
			return &k->versions[i];
		}
	}
	fail_msg("no version %s", version);
	return NULL;
}

int64_t world_store(struct world *w, const char *path, const char *version, const char *name, const char *text, int64_t lease)
{
	struct api_world parser = {.a = w->a};
	struct object *o = world_decode(&parser, path, text);
	struct str ns, last;
	struct buf b;

	w->a = parser.a;
	bool has_ns = str_cut(str_of(name), '/', &ns, &last);
	o->meta.name = has_ns ? last : str_of(name);
	o->meta.ns = has_ns ? ns : STR("");
	o->meta.uid = arena_printf(&w->a, "uid-of-%s", name);
	o->meta.creation_timestamp = STR("2026-01-01T00:00:00Z");
	buf_init(&b, SIZE_MAX / 2);
	assert_true(object_encode_stored(&b, o, version_named(o->kind, version)));
	int64_t revision = world_step(
		w, (struct storage_step){.kind = STEP_PUT, .key = key_of(w, path, name), .value = buf_str(&b), .lease = lease});
	buf_done(&b);
	return revision;
}

void world_put(struct world *w, const char *path, const char *name, const char *value)
{
	world_step(w, (struct storage_step){.kind = STEP_PUT, .key = key_of(w, path, name), .value = str_of(value)});
}

void world_remove(struct world *w, const char *path, const char *name)
{
	world_step(w, (struct storage_step){.kind = STEP_DELETE, .key = key_of(w, path, name)});
}

bool world_stored(struct world *w, const char *path, const char *name, struct world_stored *ret)
{
	struct storage_range r = {.key = key_of(w, path, name)};
	struct json *j;
	size_t at;

	assert_int_equal(storage_range_wait(w->storage, &r), STORAGE_OK);
	bool is_there = r.n_kvs > 0;
	if (is_there) {
		*ret = (struct world_stored){.value = arena_dup(&w->a, r.kvs[0].value),
			.mod_revision = r.kvs[0].mod_revision,
			.lease = r.kvs[0].lease};
		assert_int_equal(json_parse(&j, &w->a, ret->value, JSON_LIMITS_DEFAULT, &at), 0);
		ret->version = member_text(j, "apiVersion");
	}
	storage_op_clear(&r.op);
	return is_there;
}

/* ---- the cache ---- */

struct json *world_fields(struct world *w, const char *path, const char *name)
{
	const struct version *v;
	struct cached *c = cache_get(w->cache, world_version(path, &v), STR(""), str_of(name));
	struct object *o = NULL;

	if (c) {
		assert_int_equal(cached_object(&o, c, &w->a), 0);
		cached_unref(c);
	}
	return o ? o->fields : NULL;
}

const char *world_migration(struct world *w, const char *resource)
{
	const struct version *v;
	struct cache_snapshot *s = cache_snapshot(w->cache, world_version(MIGRATIONS_PATH, &v));
	const struct cache_filter all = {0};
	const struct cached *each, *found = NULL;
	struct cache_iter it;

	cache_iter_init(&it, s, &all, STR(""));
	while ((each = cache_iter_next(&it))) {
		bool is_newer = !found || each->create_revision > found->create_revision;
		struct str wanted = arena_printf(&w->a, "\"resource\":\"%s\"", resource);
		found = is_newer && str_contains(cached_body(each, &w->a), wanted) ? each : found;
	}
	const char *name = found ? arena_dup(&w->a, found->name).p : NULL;
	cache_snapshot_unref(s);
	return name;
}

size_t world_count(struct world *w, const char *path)
{
	const struct version *v;
	struct cache_snapshot *s = cache_snapshot(w->cache, world_version(path, &v));
	size_t n = cache_snapshot_count(s, STR(""));

	cache_snapshot_unref(s);
	return n;
}

struct json *world_condition(struct world *w, const char *migration, const char *type)
{
	const struct json *status = json_gets(world_fields(w, MIGRATIONS_PATH, migration), "status");
	const struct json *found = condition_find(json_gets(status, "conditions"), type);

	return found ? json_copy(&w->a, found) : NULL;
}

struct wanted_state {
	const char *resource, *state;
};

static bool is_in_state(struct world *w, const void *ctx)
{
	const struct wanted_state *wanted = ctx;
	const char *name = world_migration(w, wanted->resource);
	const struct version *v;

	if (!name) {
		return false;
	}
	struct cached *c = cache_get(w->cache, world_version(MIGRATIONS_PATH, &v), STR(""), str_of(name));
	bool is_so = c && str_is(cached_value(c, c->kind->n_selectable - 1), wanted->state);
	cached_unref(c);
	return is_so;
}

const char *world_await_state(struct world *w, const char *resource, const char *state)
{
	world_await(w, is_in_state, &(struct wanted_state){resource, state});
	return world_migration(w, resource);
}
