#include "storage/cache/cache_private.h"
#include "tests/unit/cache_fixture.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>

/* ---- a reader that waits to be woken ---- */

struct reader {
	struct cache_watcher *watcher;
	sem_t woken;
};

static void on_wake(void *ctx)
{
	sem_post(&((struct reader *)ctx)->woken);
}

static int reader_open(
	struct reader *r, struct fixture *f, const struct kind *kind, struct cache_filter filter, int64_t from_revision)
{
	struct cache_watch_options o = {
		.kind = kind, .filter = filter, .from_revision = from_revision, .wake = on_wake, .ctx = r};
	sem_init(&r->woken, 0, 0);
	return cache_watch_open(f->cache, &r->watcher, &o);
}

static void reader_close(struct reader *r)
{
	cache_watch_close(r->watcher);
	sem_destroy(&r->woken);
}

/* Blocks until there is something. */
static enum cache_next reader_next(struct reader *r, enum watch_type *ret_type, struct cached **ret_object)
{
	enum cache_next next;
	while ((next = cache_watch_next(r->watcher, ret_type, ret_object)) == CACHE_NEXT_NONE) {
		while (sem_wait(&r->woken) != 0) {
		}
	}
	return next;
}

/* "ADDED a/x@5 ...": what is there without waiting. */
static struct str reader_drain(struct reader *r, struct arena *a)
{
	_cleanup_(buf_done) struct buf out;
	enum watch_type type;
	struct cached *o;
	buf_init(&out, 1 << 20);
	while (cache_watch_next(r->watcher, &type, &o) == CACHE_NEXT_EVENT) {
		buf_printf(&out, "%s%s " STR_FMT "@%lld", out.n ? " " : "", watch_type_name(type), STR_ARG(o->name),
			(long long)o->revision);
		cached_unref(o);
	}
	return arena_dup(a, buf_str(&out));
}

static _printf_(3, 4) void assert_events(struct fixture *f, struct reader *r, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	struct str expected = arena_vprintf(&f->a, format, ap);
	va_end(ap);
	assert_str(reader_drain(r, &f->a), expected.p);
}

/* ---- single watchers ---- */

static void test_cache_watch__tells_what_happens_in_order(void **state)
{
	struct fixture *f = *state;
	struct reader r;
	start(f, (struct cache_options){0});
	int64_t base = cache_revision(f->cache);
	assert_int_equal(reader_open(&r, f, &widget, (struct cache_filter){0}, base), CACHE_OK);
	assert_events(f, &r, "%s", "");
	world_put(f->store, &widget, "a/x", "", "red");
	world_put(f->store, &gadget, "g", "", "red");
	world_put(f->store, &widget, "a/x", "", "blue");
	catch_up(f, world_delete(f->store, &widget, "a/x"));
	assert_events(f, &r, "ADDED x@%ld MODIFIED x@%ld DELETED x@%ld", base + 1, base + 3, base + 4);
	assert_int_equal(cache_watch_revision(r.watcher), base + 4);
	reader_close(&r);
}

static void test_cache_watch__deleted_shows_the_object_as_it_was(void **state)
{
	struct fixture *f = *state;
	struct reader r, s;
	enum watch_type type;
	start(f, (struct cache_options){0});
	int64_t base = cache_revision(f->cache);
	reader_open(&r, f, &widget, (struct cache_filter){0}, base + 1);
	reader_open(&s, f, &widget, (struct cache_filter){0}, base + 1);
	world_put(f->store, &widget, "a/x", "", "red");
	catch_up(f, world_delete(f->store, &widget, "a/x"));
	_cleanup_(cached_unrefp) struct cached *o = NULL, *again = NULL;
	assert_int_equal(reader_next(&r, &type, &o), CACHE_NEXT_EVENT);
	assert_int_equal(reader_next(&s, &type, &again), CACHE_NEXT_EVENT);
	assert_int_equal(type, WATCH_DELETED);
	assert_str(cached_value(o, 0), "red");
	assert_int_equal(o->revision, base + 2);
	assert_non_null(strstr(
		arena_dup(&f->a, cached_body(o, &f->a)).p, arena_printf(&f->a, "\"resourceVersion\":\"%d\"", (int)base + 2).p));
	assert_ptr_equal(o, again); /* one for all, so that what is made of it can be shared */
	reader_close(&r);
	reader_close(&s);
}

/* matched before? matches now? */
static void test_cache_watch__selectors_make_objects_come_and_go(void **state)
{
	struct fixture *f = *state;
	struct reader r;
	start(f, (struct cache_options){0});
	struct label_selector on = world_labels("l=on", &f->a);
	int64_t base = cache_revision(f->cache);
	reader_open(&r, f, &widget, (struct cache_filter){.labels = &on}, base);
	assert_events(f, &r, "%s", "");
	world_put(f->store, &widget, "a/x", "\"l\":\"off\"", "red");
	world_put(f->store, &widget, "a/x", "\"l\":\"on\"", "red");
	world_put(f->store, &widget, "a/x", "\"l\":\"on\"", "blue");
	world_put(f->store, &widget, "a/x", "\"l\":\"off\"", "blue");
	world_put(f->store, &widget, "a/x", "\"l\":\"on\"", "blue");
	world_delete(f->store, &widget, "a/x");
	world_put(f->store, &widget, "a/y", "\"l\":\"off\"", "blue");
	catch_up(f, world_delete(f->store, &widget, "a/y"));
	assert_events(f, &r, "ADDED x@%ld MODIFIED x@%ld DELETED x@%ld ADDED x@%ld DELETED x@%ld", base + 2, base + 3, base + 4,
		base + 5, base + 6);
	assert_int_equal(cache_watch_revision(r.watcher), base + 8);
	reader_close(&r);
}

static void test_cache_watch__namespace_bounds_it(void **state)
{
	struct fixture *f = *state;
	struct reader in_a, in_b;
	start(f, (struct cache_options){0});
	int64_t base = cache_revision(f->cache);
	reader_open(&in_a, f, &widget, (struct cache_filter){.ns = STR("a")}, base);
	reader_open(&in_b, f, &widget, (struct cache_filter){.ns = STR("b")}, base);
	assert_events(f, &in_a, "%s", "");
	assert_events(f, &in_b, "%s", "");
	catch_up(f, world_put(f->store, &widget, "a/x", "", "red"));
	/* a revision is shown before its events are offered, all under one lock */
	while (sem_wait(&in_a.woken) != 0) {
	}
	assert_events(f, &in_a, "ADDED x@%ld", base + 1);
	assert_int_not_equal(sem_trywait(&in_b.woken), 0);
	assert_int_equal(cache_watch_revision(in_b.watcher), base + 1);
	reader_close(&in_a);
	reader_close(&in_b);
}

static void test_cache_watch__wakes_once_until_read(void **state)
{
	struct fixture *f = *state;
	struct reader r;
	int woken = 0;
	start(f, (struct cache_options){0});
	reader_open(&r, f, &widget, (struct cache_filter){0}, cache_revision(f->cache));
	assert_events(f, &r, "%s", "");
	for (int i = 0; i < 5; i++) {
		catch_up(f, world_put(f->store, &widget, "a/x", "", "red"));
		catch_up(f, world_put(f->store, &gadget, "barrier", "", "red"));
	}
	sem_getvalue(&r.woken, &woken);
	assert_int_equal(woken, 1);
	reader_close(&r);
}

static void test_cache_watch__starts_from_any_revision_of_the_window(void **state)
{
	struct fixture *f = *state;
	struct reader r;
	start(f, (struct cache_options){0});
	int64_t base = cache_revision(f->cache);
	for (int i = 0; i < 5; i++) {
		catch_up(f, world_put(f->store, &widget, "a/x", "", "red"));
	}
	assert_int_equal(reader_open(&r, f, &widget, (struct cache_filter){0}, base + 3), CACHE_OK);
	assert_events(f, &r, "MODIFIED x@%ld MODIFIED x@%ld", base + 4, base + 5);
	reader_close(&r);
	assert_int_equal(reader_open(&r, f, &widget, (struct cache_filter){0}, base - 1), CACHE_EXPIRED);
	sem_destroy(&r.woken);
}

static void test_cache_watch__future_revisions_are_waited_for(void **state)
{
	struct fixture *f = *state;
	struct reader r;
	start(f, (struct cache_options){0});
	int64_t base = cache_revision(f->cache);
	assert_int_equal(reader_open(&r, f, &widget, (struct cache_filter){0}, base + 2), CACHE_OK);
	assert_events(f, &r, "%s", "");
	assert_int_equal(cache_watch_revision(r.watcher), base + 2);
	world_put(f->store, &widget, "a/x", "", "red");
	world_put(f->store, &widget, "a/x", "", "red");
	catch_up(f, world_put(f->store, &widget, "a/x", "", "red"));
	assert_events(f, &r, "MODIFIED x@%ld", base + 3);
	reader_close(&r);
}

static void test_cache_watch__too_slow_is_lost(void **state)
{
	struct fixture *f = *state;
	struct reader r;
	enum watch_type type;
	struct cached *o;
	start(f, (struct cache_options){.window_events = 4});
	reader_open(&r, f, &widget, (struct cache_filter){0}, cache_revision(f->cache));
	for (int i = 0; i < 10; i++) {
		catch_up(f, world_put(f->store, &widget, "a/x", "", "red"));
	}
	assert_int_equal(cache_watch_next(r.watcher, &type, &o), CACHE_NEXT_LOST);
	assert_int_equal(cache_watch_next(r.watcher, &type, &o), CACHE_NEXT_LOST);
	reader_close(&r);
}

static void test_cache_watch__whom_nothing_concerns_is_never_lost(void **state)
{
	struct fixture *f = *state;
	struct reader r;
	start(f, (struct cache_options){.window_events = 4});
	struct label_selector on = world_labels("l=on", &f->a);
	reader_open(&r, f, &widget, (struct cache_filter){.labels = &on}, cache_revision(f->cache));
	assert_events(f, &r, "%s", "");
	for (int i = 0; i < 20; i++) {
		catch_up(f, world_put(f->store, &widget, "a/x", "", "red"));
	}
	/* Nor is one that asks, although nobody has woken it. */
	enum watch_type type;
	struct cached *o;
	assert_int_equal(cache_watch_next(r.watcher, &type, &o), CACHE_NEXT_NONE);
	for (int i = 0; i < 20; i++) {
		catch_up(f, world_put(f->store, &widget, "a/x", "", "red"));
	}
	int64_t revision = world_put(f->store, &widget, "a/y", "\"l\":\"on\"", "red");
	catch_up(f, revision);
	assert_events(f, &r, "ADDED y@%ld", revision);
	reader_close(&r);
}

/* What a bookmark says: up to where a watcher has got all its events. */
static void test_cache_watch__vouches_for_whole_revisions_that_were_read(void **state)
{
	struct fixture *f = *state;
	struct reader r, all;
	start(f, (struct cache_options){0});
	struct label_selector on = world_labels("l=on", &f->a);
	int64_t base = cache_revision(f->cache);
	reader_open(&r, f, &widget, (struct cache_filter){.labels = &on}, base);
	reader_open(&all, f, &widget, (struct cache_filter){0}, base);
	assert_events(f, &r, "%s", "");
	assert_events(f, &all, "%s", "");
	/* Woken, but it has not read. */
	world_put(f->store, &widget, "a/x", "\"l\":\"on\"", "red");
	while (sem_wait(&r.woken) != 0) {
	}
	assert_int_equal(cache_watch_revision(r.watcher), base);
	assert_events(f, &r, "ADDED x@%ld", base + 1);
	assert_int_equal(cache_watch_revision(r.watcher), base + 1);
	assert_events(f, &all, "ADDED x@%ld", base + 1);
	/* Of two events of one revision the dispatcher has offered the first. */
	struct storage_step steps[2];
	for (size_t i = 0; i < 2; i++) {
		const char *rest = i == 0 ? "a/y" : "a/z";
		steps[i] = (struct storage_step){.kind = STEP_PUT,
			.key = arena_printf(&f->a, WORLD_PREFIX "/objects/test.annals.dev/widgets/%s", rest),
			.value = world_text(&f->a, &widget, rest, "", "red", 0)};
	}
	struct storage_txn t = {.success = steps, .n_success = 2};
	assert_int_equal(storage_txn_wait(f->store, &t), STORAGE_OK);
	storage_op_clear(&t.op);
	while (cache_watch_revision(r.watcher) < base + 2) {
		sched_yield();
	}
	struct feed *feed = &f->cache->feeds[widget.index];
	pthread_mutex_lock(&feed->lock);
	feed->dispatched--;
	pthread_mutex_unlock(&feed->lock);
	assert_int_equal(cache_watch_revision(r.watcher), base + 1);
	pthread_mutex_lock(&feed->lock);
	feed->dispatched++;
	pthread_mutex_unlock(&feed->lock);
	assert_int_equal(cache_watch_revision(r.watcher), base + 2);
	reader_close(&all);
	reader_close(&r);
}

static void test_cache_watch__a_batch_beyond_the_window_is_noticed(void **state)
{
	enum { PUTS = 20 };
	struct fixture *f = *state;
	struct reader r;
	enum watch_type type;
	struct cached *o;
	struct storage_step steps[PUTS];
	start(f, (struct cache_options){.window_events = 4});
	reader_open(&r, f, &widget, (struct cache_filter){0}, cache_revision(f->cache));
	assert_events(f, &r, "%s", "");
	for (int i = 0; i < PUTS; i++) {
		const char *rest = arena_printf(&f->a, "a/x%d", i).p;
		steps[i] = (struct storage_step){
			.kind = STEP_PUT,
			.key = arena_printf(&f->a, WORLD_PREFIX "/objects/test.annals.dev/widgets/%s", rest),
			.value = world_text(&f->a, &widget, rest, "", "red", 0),
		};
	}
	struct storage_txn t = {.success = steps, .n_success = PUTS};
	assert_int_equal(storage_txn_wait(f->store, &t), STORAGE_OK);
	storage_op_clear(&t.op);
	assert_int_equal(reader_next(&r, &type, &o), CACHE_NEXT_LOST);
	reader_close(&r);
}

/* ---- resuming at a revision that changed several objects ---- */

/* One transaction: puts "ns/name" of widgets with label l=NAME, or deletes "-ns/name". Returns its revision. */
static int64_t change_together(struct fixture *f, const char *const *rests, size_t n)
{
	struct storage_step steps[8];
	assert_true(n <= ARRAY_SIZE(steps));
	for (size_t i = 0; i < n; i++) {
		bool is_delete = rests[i][0] == '-';
		const char *rest = rests[i] + is_delete;
		const char *label = arena_printf(&f->a, "\"l\":\"%s\"", strchr(rest, '/') + 1).p;
		steps[i] = (struct storage_step){.kind = is_delete ? STEP_DELETE : STEP_PUT,
			.key = arena_printf(&f->a, WORLD_PREFIX "/objects/test.annals.dev/widgets/%s", rest)};
		if (!is_delete) {
			steps[i].value = world_text(&f->a, &widget, rest, label, "red", 0);
		}
	}
	struct storage_txn t = {.success = steps, .n_success = n};
	assert_int_equal(storage_txn_wait(f->store, &t), STORAGE_OK);
	int64_t revision = t.op.revision;
	storage_op_clear(&t.op);
	return revision;
}
#define TOGETHER(f, ...) \
	change_together(f, (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static int reader_resume(struct reader *r, struct fixture *f, struct cache_filter filter, int64_t revision)
{
	struct cache_watch_options o = {
		.kind = &widget, .filter = filter, .from_revision = revision, .resumes = true, .wake = on_wake, .ctx = r};
	sem_init(&r->woken, 0, 0);
	return cache_watch_open(f->cache, &r->watcher, &o);
}

/* A watch from there shows these events, and the next one. */
static _printf_(4, 5) void assert_resumed(
	struct fixture *f, struct cache_filter filter, int64_t revision, const char *format, ...)
{
	struct reader r;
	va_list ap;
	va_start(ap, format);
	struct str expected = arena_vprintf(&f->a, format, ap);
	va_end(ap);
	assert_int_equal(reader_resume(&r, f, filter, revision), CACHE_OK);
	assert_str(reader_drain(&r, &f->a), expected.p);
	assert_int_equal(cache_watch_revision(r.watcher), cache_revision(f->cache));
	reader_close(&r);
}

static void test_cache_watch__resuming_shows_all_events_of_one_revision_again(void **state)
{
	struct fixture *f = *state;
	struct cache_filter all = {0};
	struct reader r;
	start(f, (struct cache_options){0});
	struct label_selector some = world_labels("l in (x,y)", &f->a), one = world_labels("l=x", &f->a);
	int64_t base = TOGETHER(f, "a/z"), together = TOGETHER(f, "a/x", "b/y", "-a/z"), last = TOGETHER(f, "a/v");
	catch_up(f, last);
	assert_resumed(f, all, base, "ADDED x@%ld ADDED y@%ld DELETED z@%ld ADDED v@%ld", together, together, together, last);
	assert_resumed(
		f, all, together, "ADDED x@%ld ADDED y@%ld DELETED z@%ld ADDED v@%ld", together, together, together, last);
	assert_resumed(f, all, last, "%s", "");
	/* Only events that concern the watcher count: it has seen the only one. */
	assert_resumed(f, (struct cache_filter){.labels = &some}, together, "ADDED x@%ld ADDED y@%ld", together, together);
	assert_resumed(f, (struct cache_filter){.labels = &one}, together, "%s", "");
	assert_resumed(f, (struct cache_filter){.ns = STR("b")}, together, "%s", "");
	/* A snapshot has all of them. */
	reader_open(&r, f, &widget, all, together);
	assert_events(f, &r, "ADDED v@%ld", last);
	reader_close(&r);
}

/* Another replica has shown the revision, and this one has yet to see it. */
static void test_cache_watch__resuming_in_the_future(void **state)
{
	struct fixture *f = *state;
	struct reader r[4];
	start(f, (struct cache_options){0});
	struct label_selector some = world_labels("l in (x,y)", &f->a), one = world_labels("l=x", &f->a);
	const struct cache_filter filters[] = {{.ns = STR("")}, {.labels = &some}, {.labels = &one}, {.ns = STR("")}};
	int64_t base = cache_revision(f->cache);
	for (size_t i = 0; i < ARRAY_SIZE(r); i++) {
		assert_int_equal(reader_resume(&r[i], f, filters[i], i < 3 ? base + 2 : base + 1), CACHE_OK);
		/* The last two are at work when the revision comes, and the others wait for it. */
		if (i % 2) {
			assert_events(f, &r[i], "%s", "");
		}
	}
	TOGETHER(f, "a/v");
	TOGETHER(f, "a/x", "a/y", "a/z");
	catch_up(f, TOGETHER(f, "-a/x"));
	assert_events(f, &r[0], "ADDED x@%ld ADDED y@%ld ADDED z@%ld DELETED x@%ld", base + 2, base + 2, base + 2, base + 3);
	assert_events(f, &r[1], "ADDED x@%ld ADDED y@%ld DELETED x@%ld", base + 2, base + 2, base + 3);
	assert_events(f, &r[2], "DELETED x@%ld", base + 3);
	assert_events(f, &r[3], "ADDED x@%ld ADDED y@%ld ADDED z@%ld DELETED x@%ld", base + 2, base + 2, base + 2, base + 3);
	for (size_t i = 0; i < ARRAY_SIZE(r); i++) {
		reader_close(&r[i]);
	}
}

/* Refused, and a client that lists again is not refused for ever, although nobody writes. */
static void assert_cut(struct fixture *f, int64_t revision)
{
	struct reader r;
	assert_int_equal(cache_revision(f->cache), revision);
	assert_int_equal(reader_resume(&r, f, (struct cache_filter){0}, revision), CACHE_EXPIRED);
	sem_destroy(&r.woken);
	catch_up(f, revision + 1);
	assert_resumed(f, (struct cache_filter){0}, revision + 1, "%s", "");
}

static void test_cache_watch__nobody_resumes_where_the_window_lacks_events(void **state)
{
	struct fixture *f = *state;
	struct reader r;
	start(f, (struct cache_options){.window_events = 2});
	int64_t revision = TOGETHER(f, "a/x", "a/y", "a/z");
	catch_up(f, revision);
	assert_int_equal(reader_open(&r, f, &widget, (struct cache_filter){0}, revision), CACHE_OK);
	assert_events(f, &r, "%s", "");
	reader_close(&r);
	assert_cut(f, revision);
	/* All of them have left. */
	revision = TOGETHER(f, "a/x", "a/y");
	TOGETHER(f, "a/v");
	catch_up(f, TOGETHER(f, "a/w"));
	assert_int_equal(reader_resume(&r, f, (struct cache_filter){0}, revision), CACHE_EXPIRED);
	sem_destroy(&r.woken);
	/* Of single changes, none is missing behind the revision. */
	revision = TOGETHER(f, "a/u");
	int64_t next = TOGETHER(f, "a/v");
	catch_up(f, TOGETHER(f, "a/w"));
	assert_resumed(f, (struct cache_filter){0}, revision, "MODIFIED v@%ld MODIFIED w@%ld", next, next + 1);
}

static void restart(struct fixture *f)
{
	f->cache = cache_free(f->cache);
	start(f, (struct cache_options){0});
}

/* After the restart nobody can resume at the revision, and lists have a later one. */
static void assert_cut_at_start(struct fixture *f, int64_t revision)
{
	struct reader r;
	catch_up(f, revision);
	restart(f);
	assert_int_equal(reader_resume(&r, f, (struct cache_filter){0}, revision), CACHE_EXPIRED);
	sem_destroy(&r.woken);
	assert_int_equal(world_wait_fresh(f->cache, 30000), STORAGE_OK);
	/* By one fence, or by two, if that of the load had not arrived yet. */
	assert_true(cache_revision(f->cache) > revision);
	/* Behind the fence of the load, which is in the store by then. */
	assert_int_equal(gate_watched_from(f->store), revision + 2);
	assert_resumed(f, (struct cache_filter){0}, cache_revision(f->cache), "%s", "");
}

static void assert_whole_at_start(struct fixture *f, int64_t revision)
{
	catch_up(f, revision);
	restart(f);
	assert_int_equal(cache_revision(f->cache), revision);
	assert_resumed(f, (struct cache_filter){0}, revision, "%s", "");
}

/* What a server loads has no events. */
static void test_cache_watch__nobody_resumes_where_a_load_began_among_several(void **state)
{
	struct fixture *f = *state;
	start(f, (struct cache_options){0});
	assert_cut_at_start(f, TOGETHER(f, "a/x", "a/y", "a/z", "a/w"));
	assert_cut_at_start(f, TOGETHER(f, "-a/x", "-a/y"));
	assert_cut_at_start(f, TOGETHER(f, "a/x", "-a/z"));
	assert_whole_at_start(f, TOGETHER(f, "a/x"));
	assert_whole_at_start(f, TOGETHER(f, "a/y"));
	assert_whole_at_start(f, TOGETHER(f, "-a/x"));
	assert_whole_at_start(f, world_put(f->store, &gadget, "g", "", "red"));
	/* Nobody knows what the revision deleted. */
	int64_t revision = TOGETHER(f, "a/x");
	world_compact(f->store, revision);
	assert_cut_at_start(f, revision);
}

static void test_cache_watch__watchers_have_a_ceiling(void **state)
{
	struct fixture *f = *state;
	struct reader r[3];
	start(f, (struct cache_options){.max_watchers = 2});
	int64_t base = cache_revision(f->cache);
	assert_int_equal(reader_open(&r[0], f, &widget, (struct cache_filter){0}, base), CACHE_OK);
	assert_int_equal(reader_open(&r[1], f, &gadget, (struct cache_filter){0}, base), CACHE_OK);
	assert_int_equal(reader_open(&r[2], f, &widget, (struct cache_filter){0}, base), -EMFILE);
	sem_destroy(&r[2].woken);
	reader_close(&r[1]);
	assert_int_equal(reader_open(&r[2], f, &widget, (struct cache_filter){0}, base), CACHE_OK);
	reader_close(&r[0]);
	reader_close(&r[2]);
}

static void test_cache_watch__forgotten_history_cannot_be_watched(void **state)
{
	struct fixture *f = *state;
	struct reader r, old;
	start(f, (struct cache_options){0});
	int64_t base = cache_revision(f->cache);
	reader_open(&old, f, &widget, (struct cache_filter){0}, base);
	catch_up(f, world_put(f->store, &widget, "a/x", "", "red"));
	catch_up(f, world_put(f->store, &widget, "a/x", "", "red"));
	cache_forget(f->cache, base + 1);
	assert_int_equal(reader_open(&r, f, &widget, (struct cache_filter){0}, base), CACHE_EXPIRED);
	sem_destroy(&r.woken);
	assert_int_equal(reader_open(&r, f, &widget, (struct cache_filter){0}, base + 1), CACHE_OK);
	assert_events(f, &r, "MODIFIED x@%ld", base + 2);
	/* existing watchers have their filters */
	assert_events(f, &old, "ADDED x@%ld MODIFIED x@%ld", base + 1, base + 2);
	reader_close(&r);
	reader_close(&old);
}

/* ---- interruptions ---- */

static void test_cache_watch__an_interruption_leaves_no_gap(void **state)
{
	struct fixture *f = *state;
	struct reader r;
	start(f, (struct cache_options){0});
	int64_t base = cache_revision(f->cache);
	reader_open(&r, f, &widget, (struct cache_filter){0}, base);
	gate_close(f->store);
	assert_false(cache_is_connected(f->cache));
	world_put(f->store, &widget, "a/x", "", "red");
	int64_t last = world_delete(f->store, &widget, "a/x");
	gate_open(f->store);
	catch_up(f, last);
	assert_true(cache_is_connected(f->cache));
	assert_events(f, &r, "ADDED x@%ld DELETED x@%ld", base + 1, base + 2);
	reader_close(&r);
}

/* Interrupts, lets `away` happen, compacts everything, resumes. */
static void lose_history(struct fixture *f, void (*away)(struct fixture *f))
{
	gate_close(f->store);
	away(f);
	int64_t last = world_put(f->store, &gadget, "last", "", "red");
	world_compact(f->store, last);
	gate_open(f->store);
	catch_up(f, last);
}

static void away_changes(struct fixture *f)
{
	world_delete(f->store, &widget, "a/deleted");
	world_put(f->store, &widget, "a/changed", "", "green");
	world_put(f->store, &widget, "a/created", "", "blue");
}

static void assert_lost(struct reader *r)
{
	enum watch_type type;
	struct cached *o;
	assert_int_equal(reader_next(r, &type, &o), CACHE_NEXT_LOST);
}

/* The end of a gap is sent to nobody: a client that resumes elsewhere would miss the deletions in it. */
static void test_cache_reload__ends_watchers_who_miss_something(void **state)
{
	struct fixture *f = *state;
	struct reader before, within, after;
	struct cache_stats stats;
	world_put(f->store, &widget, "a/deleted", "", "red");
	world_put(f->store, &widget, "a/changed", "", "red");
	start(f, (struct cache_options){0});
	int64_t base = cache_revision(f->cache);
	reader_open(&before, f, &widget, (struct cache_filter){0}, base);
	reader_open(&within, f, &widget, (struct cache_filter){0}, base + 1);
	reader_open(&after, f, &widget, (struct cache_filter){0}, base + 4);
	assert_events(f, &before, "%s", "");
	lose_history(f, away_changes);
	assert_lost(&before);
	assert_lost(&within);
	assert_events(f, &after, "%s", "");
	int64_t revision = world_put(f->store, &widget, "a/changed", "", "blue");
	catch_up(f, revision);
	assert_events(f, &after, "MODIFIED changed@%ld", revision);
	cache_stats(f->cache, &widget, &stats);
	assert_int_equal(stats.n_reloads, 1);
	assert_int_equal(stats.n_objects, 2);
	reader_close(&before);
	reader_close(&within);
	reader_close(&after);
}

static void test_cache_reload__lost_history_is_not_served(void **state)
{
	struct fixture *f = *state;
	struct reader late;
	struct cache_snapshot *s = NULL;
	world_put(f->store, &widget, "a/deleted", "", "red");
	start(f, (struct cache_options){0});
	int64_t base = cache_revision(f->cache);
	lose_history(f, away_changes);
	assert_int_equal(reader_open(&late, f, &widget, (struct cache_filter){0}, base), CACHE_EXPIRED);
	sem_destroy(&late.woken);
	assert_int_equal(reader_open(&late, f, &widget, (struct cache_filter){0}, base + 3), CACHE_EXPIRED);
	sem_destroy(&late.woken);
	assert_int_equal(cache_snapshot_at(f->cache, &widget, base + 3, &s), CACHE_EXPIRED);
	assert_int_equal(reader_open(&late, f, &widget, (struct cache_filter){0}, base + 4), CACHE_OK);
	assert_events(f, &late, "%s", "");
	reader_close(&late);
}

/* ---- many writers, many watchers ---- */

/* cmocka's assertions jump back to the test's thread; others have to end the program. */
#define must(claim) must_at((claim), #claim, __LINE__)

static void must_at(bool is_true, const char *claim, int line)
{
	if (!is_true) {
		fprintf(stderr, "line %d: not so: %s\n", line, claim);
		abort();
	}
}

enum {
	WRITERS = 4,
	WATCHERS = 8,
	WRITES = 1500,
	OBJECTS = 40,
	NAMESPACES = 2,
	LINE_MAX_ = 64,
};

struct storm {
	struct fixture *f;
	_Atomic bool is_over;
	_Atomic int64_t end; /* revision at which an informer may leave */
	int64_t base;
};

struct writer {
	struct storm *storm;
	unsigned seed;
};

static void *write_at_random(void *arg)
{
	struct writer *w = arg;
	struct storage *s = w->storm->f->store;
	for (int i = 0; i < WRITES; i++) {
		char rest[LINE_MAX_], labels[LINE_MAX_];
		snprintf(rest, sizeof(rest), "ns-%d/o-%02d", rand_r(&w->seed) % NAMESPACES, rand_r(&w->seed) % OBJECTS);
		snprintf(labels, sizeof(labels), "\"l\":\"%d\"", rand_r(&w->seed) % 3);
		if (rand_r(&w->seed) % 4 == 0) {
			world_delete(s, &widget, rest);
		} else {
			world_put(s, &widget, rest, labels, "red");
		}
	}
	return NULL;
}

static void storm_write(struct storm *storm)
{
	pthread_t threads[WRITERS];
	struct writer writers[WRITERS];
	for (unsigned i = 0; i < WRITERS; i++) {
		writers[i] = (struct writer){storm, i + 1};
		pthread_create(&threads[i], NULL, write_at_random, &writers[i]);
	}
	for (unsigned i = 0; i < WRITERS; i++) {
		pthread_join(threads[i], NULL);
	}
}

/* One watcher's filter and its events, one line each. */
struct witness {
	struct storm *storm;
	struct cache_filter filter;
	struct buf told;
	int64_t last;
	unsigned n_losses;
};

static void witness_line(struct buf *out, int64_t revision, const char *type, struct str ns, struct str name)
{
	buf_printf(out, "%lld %s " STR_FMT "/" STR_FMT "\n", (long long)revision, type, STR_ARG(ns), STR_ARG(name));
}

/* Until the event of the marker object, which every filter lets pass. */
static void *witness_all(void *arg)
{
	struct witness *w = arg;
	struct reader r;
	bool is_over = false;
	must(reader_open(&r, w->storm->f, &widget, w->filter, w->storm->base) == CACHE_OK);
	while (!is_over) {
		enum watch_type type;
		struct cached *o = NULL;
		must(reader_next(&r, &type, &o) == CACHE_NEXT_EVENT);
		must(o->revision > w->last);
		w->last = o->revision;
		is_over = str_is(o->name, "end");
		if (!is_over) {
			witness_line(&w->told, o->revision, watch_type_name(type), o->ns, o->name);
		}
		cached_unref(o);
	}
	reader_close(&r);
	return NULL;
}

/* The expected events, computed from the store's own history. */
struct history {
	struct storage_watch watch;
	struct cached *now[NAMESPACES][OBJECTS];
	struct witness *expected;
	size_t n_expected;
	sem_t is_complete, has_ended; /* the former is posted for each marker */
};

static void history_tell(struct witness *w, struct cached *old, struct cached *now, int64_t revision)
{
	static const char *const types[2][2] = {{NULL, "ADDED"}, {"DELETED", "MODIFIED"}};
	bool before = old && cache_filter_matches(&w->filter, old), after = now && cache_filter_matches(&w->filter, now);
	struct cached *o = now ? now : old;
	if (types[before][after]) {
		witness_line(&w->told, revision, types[before][after], o->ns, o->name);
	}
}

static void history_take(struct history *h, const struct storage_event *e)
{
	int ns, number;
	struct str rest = {e->kv.key.p + e->kv.key.n - strlen("ns-0/o-00"), strlen("ns-0/o-00")};
	if (sscanf(rest.p, "ns-%1d/o-%2d", &ns, &number) != 2) {
		sem_post(&h->is_complete);
		return;
	}
	struct cached **slot = &h->now[ns][number], *old = *slot;
	struct cached *now =
		e->type == EVENT_PUT ? cached_new(&widget, rest, e->kv.value, e->kv.create_revision, e->kv.mod_revision) : NULL;
	for (size_t i = 0; i < h->n_expected; i++) {
		history_tell(&h->expected[i], old, now, e->kv.mod_revision);
	}
	cached_unref(old);
	*slot = now;
}

static void on_history(struct storage_watch *w, const struct storage_event *events, size_t n, int64_t revision _unused_)
{
	for (size_t i = 0; i < n; i++) {
		history_take(container_of(w, struct history, watch), &events[i]);
	}
}

static void on_history_end(
	struct storage_watch *w, enum storage_result why _unused_, int64_t at _unused_, const char *m _unused_)
{
	sem_post(&container_of(w, struct history, watch)->has_ended);
}

static void history_compute(struct history *h, struct storm *storm, struct witness *expected, size_t n)
{
	struct storage *s = gate_inner(storm->f->store);
	*h = (struct history){.expected = expected, .n_expected = n};
	sem_init(&h->is_complete, 0, 0);
	sem_init(&h->has_ended, 0, 0);
	h->watch = (struct storage_watch){
		.key = STR(WORLD_PREFIX "/objects/"),
		.range_end = STR(WORLD_PREFIX "/objects0"),
		.from_revision = storm->base + 1,
		.on_events = on_history,
		.on_end = on_history_end,
	};
	storage_watch(s, &h->watch);
	sem_wait(&h->is_complete);
	storage_watch_cancel(s, &h->watch);
	sem_wait(&h->has_ended);
	sem_destroy(&h->is_complete);
	sem_destroy(&h->has_ended);
	for (size_t i = 0; i < NAMESPACES * OBJECTS; i++) {
		cached_unref(h->now[i / OBJECTS][i % OBJECTS]);
	}
}

static void storm_filters(struct storm *storm, struct witness *witnesses, const struct label_selector selectors[3])
{
	static const char *const namespaces[] = {NULL, "ns-0", "ns-1"};
	for (size_t i = 0; i < WATCHERS; i++) {
		witnesses[i] = (struct witness){.storm = storm};
		witnesses[i].filter.ns = str_of(namespaces[i % 3]);
		witnesses[i].filter.labels = i % 2 ? &selectors[i / 2 % 3] : NULL;
		buf_init(&witnesses[i].told, 1 << 30);
	}
}

static void test_cache_watch__each_history_equals_the_stores(void **state)
{
	struct fixture *f = *state;
	struct storm storm = {.f = f};
	struct witness told[WATCHERS], expected[WATCHERS];
	struct history history;
	pthread_t threads[WATCHERS];
	/* the marker has no label and must pass */
	struct label_selector selectors[3] = {
		world_labels("l!=0", &f->a), world_labels("l notin (1,2)", &f->a), world_labels("l!=2", &f->a)};
	start(f, (struct cache_options){0});
	storm.base = cache_revision(f->cache);
	storm_filters(&storm, told, selectors);
	storm_filters(&storm, expected, selectors);
	for (size_t i = 0; i < WATCHERS; i++) {
		pthread_create(&threads[i], NULL, witness_all, &told[i]);
	}
	storm_write(&storm);
	world_put(f->store, &widget, "ns-0/end", "", "red");
	world_put(f->store, &widget, "ns-1/end", "", "red");
	for (size_t i = 0; i < WATCHERS; i++) {
		pthread_join(threads[i], NULL);
	}
	history_compute(&history, &storm, expected, WATCHERS);
	for (size_t i = 0; i < WATCHERS; i++) {
		assert_string_equal(told[i].told.p, expected[i].told.p);
		buf_done(&told[i].told);
		buf_done(&expected[i].told);
	}
}

/* ---- the same with interruptions and lost history: what an informer does ---- */

struct informer {
	struct storm *storm;
	struct cache_filter filter;
	int64_t seen[NAMESPACES][OBJECTS]; /* revision; 0: not there */
	int64_t revision;
	unsigned n_lists, n_events;
};

static int64_t *informer_slot(struct informer *in, const struct cached *o)
{
	return &in->seen[o->ns.p[3] - '0'][(o->name.p[2] - '0') * 10 + o->name.p[3] - '0'];
}

static void informer_list(struct informer *in)
{
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *s = cache_snapshot(in->storm->f->cache, &widget);
	const struct cached *o;
	struct cache_iter it;
	memset(in->seen, 0, sizeof(in->seen));
	cache_iter_init(&it, s, &in->filter, STR(""));
	while ((o = cache_iter_next(&it))) {
		*informer_slot(in, o) = o->revision;
	}
	in->revision = cache_snapshot_revision(s);
	in->n_lists++;
}

static void informer_take(struct informer *in, enum watch_type type, const struct cached *o)
{
	int64_t *slot = informer_slot(in, o);
	must((*slot != 0) == (type != WATCH_ADDED));
	must(o->revision > *slot);
	must(o->revision >= in->revision);
	*slot = type == WATCH_DELETED ? 0 : o->revision;
	in->revision = o->revision;
	in->n_events++;
}

/* True: history was lost, or the watch has lasted long enough and is to be taken up again. */
static bool informer_watch(struct informer *in, struct reader *r)
{
	enum watch_type type;
	struct cached *o;
	enum cache_next next = CACHE_NEXT_NONE;
	unsigned patience = in->n_events + 200;
	while (next != CACHE_NEXT_LOST) {
		next = cache_watch_next(r->watcher, &type, &o);
		if (next == CACHE_NEXT_EVENT) {
			informer_take(in, type, o);
			cached_unref(o);
		} else if (next == CACHE_NEXT_NONE) {
			in->revision = MAX(in->revision, cache_watch_revision(r->watcher));
			if (in->revision >= atomic_load(&in->storm->end)) {
				return false;
			}
			if (in->n_events >= patience) {
				return true;
			}
			while (sem_wait(&r->woken) != 0) {
			}
		}
	}
	return true;
}

static void *informer_run(void *arg)
{
	struct informer *in = arg;
	bool goes_on = true;
	informer_list(in);
	while (goes_on) {
		struct reader r;
		if (reader_open(&r, in->storm->f, &widget, in->filter, in->revision) == CACHE_OK) {
			goes_on = informer_watch(in, &r);
			reader_close(&r);
		} else {
			sem_destroy(&r.woken);
			informer_list(in);
		}
	}
	return NULL;
}

static void *interrupt_and_compact(void *arg)
{
	struct storm *storm = arg;
	struct fixture *f = storm->f;
	while (!atomic_load(&storm->is_over)) {
		gate_close(f->store);
		int64_t last = 0;
		for (int i = 0; i < 20; i++) {
			last = world_put(f->store, &gadget, "g", "", "red");
		}
		if (last % 3 > 0) {
			world_compact(f->store, last - 1);
		}
		gate_open(f->store);
		must(world_wait(f->cache, last, 30000) == STORAGE_OK);
	}
	return NULL;
}

/* One revision, in all namespaces. */
static void write_for_everybody(struct fixture *f, enum storage_step_kind kind)
{
	struct storage_step steps[NAMESPACES];
	for (int ns = 0; ns < NAMESPACES; ns++) {
		const char *rest = arena_printf(&f->a, "ns-%d/o-00", ns).p;
		steps[ns] = (struct storage_step){
			.kind = kind,
			.key = arena_printf(&f->a, WORLD_PREFIX "/objects/test.annals.dev/widgets/%s", rest),
			.value = kind == STEP_PUT ? world_text(&f->a, &widget, rest, "\"l\":\"3\"", "red", 0) : STR(""),
		};
	}
	struct storage_txn t = {.success = steps, .n_success = NAMESPACES};
	assert_int_equal(storage_txn_wait(f->store, &t), STORAGE_OK);
	storage_op_clear(&t.op);
}

static void test_cache_watch__informers_agree_with_the_store_after_all(void **state)
{
	struct fixture *f = *state;
	struct storm storm = {.f = f};
	static struct informer informers[WATCHERS];
	pthread_t threads[WATCHERS], breaker;
	struct label_selector selectors[3] = {
		world_labels("l!=0", &f->a), world_labels("l notin (1,2)", &f->a), world_labels("l!=2", &f->a)};
	struct witness filters[WATCHERS];
	struct cache_stats stats;
	start(f, (struct cache_options){.window_events = 512});
	storm_filters(&storm, filters, selectors);
	atomic_store(&storm.end, INT64_MAX);
	for (size_t i = 0; i < WATCHERS; i++) {
		informers[i] = (struct informer){.storm = &storm, .filter = filters[i].filter};
		pthread_create(&threads[i], NULL, informer_run, &informers[i]);
	}
	pthread_create(&breaker, NULL, interrupt_and_compact, &storm);
	storm_write(&storm);
	atomic_store(&storm.is_over, true);
	pthread_join(breaker, NULL);
	assert_int_equal(world_wait_fresh(f->cache, 30000), STORAGE_OK);
	atomic_store(&storm.end, cache_revision(f->cache) + 2);
	write_for_everybody(f, STEP_PUT);
	write_for_everybody(f, STEP_DELETE);
	for (size_t i = 0; i < WATCHERS; i++) {
		pthread_join(threads[i], NULL);
	}
	cache_stats(f->cache, &widget, &stats);
	assert_true(stats.n_reloads > 0);
	for (size_t i = 0; i < WATCHERS; i++) {
		struct informer now = {.storm = &storm, .filter = informers[i].filter};
		informer_list(&now);
		assert_memory_equal(informers[i].seen, now.seen, sizeof(now.seen));
		buf_done(&filters[i].told);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_STORE(test_cache_watch__tells_what_happens_in_order),
		WITH_STORE(test_cache_watch__deleted_shows_the_object_as_it_was),
		WITH_STORE(test_cache_watch__selectors_make_objects_come_and_go),
		WITH_STORE(test_cache_watch__namespace_bounds_it),
		WITH_STORE(test_cache_watch__wakes_once_until_read),
		WITH_STORE(test_cache_watch__starts_from_any_revision_of_the_window),
		WITH_STORE(test_cache_watch__future_revisions_are_waited_for),
		WITH_STORE(test_cache_watch__too_slow_is_lost),
		WITH_STORE(test_cache_watch__whom_nothing_concerns_is_never_lost),
		WITH_STORE(test_cache_watch__vouches_for_whole_revisions_that_were_read),
		WITH_STORE(test_cache_watch__a_batch_beyond_the_window_is_noticed),
		WITH_STORE(test_cache_watch__resuming_shows_all_events_of_one_revision_again),
		WITH_STORE(test_cache_watch__resuming_in_the_future),
		WITH_STORE(test_cache_watch__nobody_resumes_where_the_window_lacks_events),
		WITH_STORE(test_cache_watch__nobody_resumes_where_a_load_began_among_several),
		WITH_STORE(test_cache_watch__watchers_have_a_ceiling),
		WITH_STORE(test_cache_watch__forgotten_history_cannot_be_watched),
		WITH_STORE(test_cache_watch__an_interruption_leaves_no_gap),
		WITH_STORE(test_cache_reload__ends_watchers_who_miss_something),
		WITH_STORE(test_cache_reload__lost_history_is_not_served),
		WITH_STORE(test_cache_watch__each_history_equals_the_stores),
		WITH_STORE(test_cache_watch__informers_agree_with_the_store_after_all),
	};
	return cmocka_run_group_tests_name("cache_watch", tests, NULL, NULL);
}
