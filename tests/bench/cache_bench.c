/* What the watch cache costs: loading, memory, selector queries, events. Usage: cache_bench [OBJECTS [BYTES]] */
#include "base/clock.h"
#include "tests/unit/cache_world.h"
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	OBJECTS = 100000,
	OBJECT_BYTES = 1024, /* as they are stored; at least 250 or so */
	NAMESPACES = 10,
	GROUP = 10, /* objects that share a label value */
	WATCHERS = 1000,
	EVENTS = 1000,
	LARGEST_TXN = 100,
};

static size_t object_bytes = OBJECT_BYTES;

struct bench {
	struct storage *store;
	struct cache *cache;
	size_t n;
};

static void object_name(char out[64], size_t i)
{
	snprintf(out, 64, "ns-%zu/object-%06zu", i % NAMESPACES, i);
}

static struct str object_text(struct arena *a, size_t i, const char *color)
{
	char name[64], labels[128];
	struct str text;

	object_name(name, i);
	snprintf(labels, sizeof(labels), "\"app\":\"bench\",\"group\":\"g-%zu\",\"seq\":\"%zu\"", i / GROUP, i);
	text = world_text(a, &widget, name, labels, color, 0);
	return world_text(a, &widget, name, labels, color, object_bytes > text.n ? object_bytes - text.n : 0);
}

/* ---- filling the store ---- */

static void store_fill(struct storage *store, size_t n)
{
	struct storage_step steps[LARGEST_TXN];

	for (size_t i = 0; i < n; i += LARGEST_TXN) {
		struct arena a;
		struct storage_txn t = {.success = steps, .n_success = MIN(n - i, (size_t)LARGEST_TXN)};

		arena_init(&a, SIZE_MAX);
		for (size_t k = 0; k < t.n_success; k++) {
			char name[64];

			object_name(name, i + k);
			steps[k] = (struct storage_step){
				.kind = STEP_PUT,
				.key = arena_printf(&a, WORLD_PREFIX "/objects/test.annals.dev/widgets/%s", name),
				.value = object_text(&a, i + k, "red"),
			};
		}
		if (storage_txn_wait(store, &t) != STORAGE_OK) {
			abort();
		}
		storage_op_clear(&t.op);
		arena_done(&a);
	}
}

/* ---- loading ---- */

static void bench_decode(void)
{
	enum { ROUNDS = 100000 };
	struct arena a;
	struct str text;
	int64_t start;

	arena_init(&a, SIZE_MAX);
	text = object_text(&a, 1, "red");
	start = clock_cpu_ns();
	for (int64_t i = 0; i < ROUNDS; i++) {
		struct cached *o = cached_new(&widget, STR("ns-1/object-000001"), text, 5, 1000000 + i);

		if (!o) {
			abort();
		}
		cached_unref(o);
	}
	printf("decode an object of %zu bytes: %.2f us\n", text.n, (double)(clock_cpu_ns() - start) / (double)ROUNDS / 1e3);
	arena_done(&a);
}

static void bench_load(struct bench *b)
{
	size_t before = mallinfo2().uordblks + mallinfo2().hblkhd, after;
	int64_t start = clock_mono_ns(), cpu = clock_cpu_ns();
	struct cache_stats stats;

	b->cache = world_cache(b->store, (struct cache_options){0});
	printf("load %zu objects: %.1f ms, CPU %.1f ms, the store's share included", b->n,
		(double)(clock_mono_ns() - start) / 1e6, (double)(clock_cpu_ns() - cpu) / 1e6);
	after = mallinfo2().uordblks + mallinfo2().hblkhd;
	cache_stats(b->cache, &widget, &stats);
	printf(", %.0f bytes an object in all, %.0f of them the object\n", (double)(after - before) / (double)b->n,
		(double)stats.n_bytes / (double)b->n);
}

/* ---- queries ---- */

static void bench_query(struct bench *b, const char *what, const char *labels, const char *fields, const char *ns)
{
	enum { LEAST_NS = 100 * 1000 * 1000 };
	struct cache_snapshot *s = cache_snapshot(b->cache, &widget);
	int64_t start = clock_cpu_ns(), spent = 0;
	struct label_selector ls;
	struct field_selector fs;
	struct cache_filter f;
	size_t found = 0, rounds = 0;
	struct arena a;

	arena_init(&a, SIZE_MAX);
	ls = world_labels(labels, &a);
	fs = world_fields(fields, &a);
	f = (struct cache_filter){.ns = str_of(ns), .labels = &ls, .fields = &fs};
	while (spent < LEAST_NS) {
		struct cache_iter it;

		cache_iter_init(&it, s, &f, (struct str){0});
		while (cache_iter_next(&it)) {
			found++;
		}
		rounds++;
		spent = clock_cpu_ns() - start;
	}
	printf("  %-34s %6zu found: %10.2f us\n", what, found / rounds, (double)spent / (double)rounds / 1e3);
	arena_done(&a);
	cache_snapshot_unref(s);
}

static void bench_get(struct bench *b)
{
	enum { ROUNDS = 1000000 };
	int64_t start = clock_cpu_ns();

	for (size_t i = 0; i < ROUNDS; i++) {
		size_t n = (i * 7919) % b->n;
		char name[64];

		snprintf(name, sizeof(name), "object-%06zu", n);
		char ns[] = {'n', 's', '-', (char)('0' + n % NAMESPACES)};
		cached_unref(cache_get(b->cache, &widget, (struct str){ns, 4}, str_of(name)));
	}
	printf("  %-34s %6u found: %10.2f us\n", "get", 1U, (double)(clock_cpu_ns() - start) / (double)ROUNDS / 1e3);
}

static void bench_queries(struct bench *b)
{
	printf("queries among %zu objects:\n", b->n);
	bench_get(b);
	bench_query(b, "label=value", "group=g-7", "", NULL);
	bench_query(b, "label=value, two terms", "app=bench,group=g-7", "", NULL);
	bench_query(b, "label=value in a namespace", "group=g-7", "", "ns-3");
	bench_query(b, "label in (a, b, c)", "group in (g-1,g-5,g-9)", "", NULL);
	bench_query(b, "field=value, none", "", "color=blue", NULL);
	bench_query(b, "metadata.name in all namespaces", "", "metadata.name=object-000123", NULL);
	bench_query(b, "label!=value (scan)", "app!=bench", "", NULL);
	bench_query(b, "everything", "", "", NULL);
}

/* ---- events ---- */

struct audience {
	struct cache_watcher *watchers[WATCHERS];
	_Atomic bool is_awake[WATCHERS];
	struct label_selector labels;
	struct arena arena;
};

static void on_wake(void *ctx)
{
	*(_Atomic bool *)ctx = true;
}

static size_t audience_drain(struct audience *au)
{
	enum watch_type type;
	struct cached *o;
	size_t n = 0;

	for (size_t i = 0; i < WATCHERS; i++) {
		while (au->is_awake[i] && cache_watch_next(au->watchers[i], &type, &o) == CACHE_NEXT_EVENT) {
			cached_unref(o);
			n++;
		}
		au->is_awake[i] = false;
	}
	return n;
}

static void audience_open(struct audience *au, struct bench *b, const char *ns, const char *labels)
{
	arena_init(&au->arena, SIZE_MAX);
	au->labels = world_labels(labels, &au->arena);
	for (size_t i = 0; i < WATCHERS; i++) {
		struct cache_watch_options o = {
			.kind = &widget,
			.filter = {.ns = str_of(ns), .labels = &au->labels},
			.from_revision = cache_revision(b->cache),
			.wake = on_wake,
			.ctx = &au->is_awake[i],
		};

		if (cache_watch_open(b->cache, &au->watchers[i], &o) != CACHE_OK) {
			abort();
		}
		au->is_awake[i] = true;
	}
	audience_drain(au);
}

static void audience_close(struct audience *au)
{
	for (size_t i = 0; i < WATCHERS; i++) {
		cache_watch_close(au->watchers[i]);
	}
	arena_done(&au->arena);
}

/* CPU of the process for each event; all of them go to ns-0. */
static double bench_events(struct bench *b, struct audience *au, size_t *ret_seen)
{
	int64_t start = clock_cpu_ns();

	*ret_seen = 0;
	for (size_t i = 0; i < EVENTS; i++) {
		char name[64];

		object_name(name, (i * 7919) % b->n / NAMESPACES * NAMESPACES);
		world_wait(b->cache,
			world_put(b->store, &widget, name, "\"app\":\"bench\",\"group\":\"g-0\",\"seq\":\"1\"", "red"), 10000);
		*ret_seen += au ? audience_drain(au) : 0;
	}
	return (double)(clock_cpu_ns() - start) / (double)EVENTS / 1e3;
}

static void bench_watchers(struct bench *b, const char *what, const char *ns, const char *labels, double alone_us)
{
	static struct audience au;
	size_t seen;
	double us;

	audience_open(&au, b, ns, labels);
	us = bench_events(b, &au, &seen);
	printf("  %-34s %8.2f us, %5.0f ns a watcher, %zu deliveries\n", what, us, (us - alone_us) * 1e3 / (double)WATCHERS,
		seen);
	audience_close(&au);
}

/* What decoding and publishing take, without the store's share. */
static void bench_batch(struct bench *b)
{
	enum { BATCH = 20000 };
	int64_t start = clock_cpu_ns(), revision;

	store_fill(b->store, MIN(b->n, (size_t)BATCH));
	revision = world_put(b->store, &gadget, "mark", "", "red");
	world_wait(b->cache, revision, 60000);
	printf("events in transactions of %d: %.2f us each, the store's share included\n", LARGEST_TXN,
		(double)(clock_cpu_ns() - start) / (double)MIN(b->n, (size_t)BATCH) / 1e3);
}

static void bench_all(size_t n)
{
	struct bench b = {.store = storage_memory_new(), .n = n};
	double alone_us;
	size_t seen;

	store_fill(b.store, n);
	bench_load(&b);
	bench_queries(&b);
	bench_events(&b, NULL, &seen);
	alone_us = bench_events(&b, NULL, &seen);
	printf("events, CPU of all threads:\n  %-34s %8.2f us\n", "no watchers", alone_us);
	bench_watchers(&b, "1,000 watchers of everything", NULL, "", alone_us);
	bench_watchers(&b, "1,000 of the namespace and a label", "ns-0", "app=bench", alone_us);
	bench_watchers(&b, "1,000 whose label does not match", NULL, "app=other", alone_us);
	bench_watchers(&b, "1,000 of another namespace", "ns-1", "", alone_us);
	bench_batch(&b);
	cache_free(b.cache);
	storage_free(b.store);
}

int main(int argc, char **argv)
{
	size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : OBJECTS;
	object_bytes = argc > 2 ? strtoul(argv[2], NULL, 10) : OBJECT_BYTES;

	bench_decode();
	bench_all(1000);
	printf("\n");
	bench_all(n);
	return 0;
}
