#include "tests/unit/cache_world.h"
#include <assert.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

static const struct version versions[] = {{.group = "test.annals.dev", .name = "v1"}};

static struct str color_of(const struct object *o, struct arena *a _unused_)
{
	return json_text(json_gets(o->fields, "color"));
}

static struct str shape_of(const struct object *o, struct arena *a)
{
	struct str color = color_of(o, a);

	return color.n ? arena_printf(a, "shape-of-" STR_FMT, STR_ARG(color)) : color;
}

static const struct selectable_field selectable[] = {
	{.path = "color", .value = color_of}, {.path = "shape", .value = shape_of}};

struct kind widget = {
	.kind = "Widget",
	.list_kind = "WidgetList",
	.resource = "widgets",
	.singular = "widget",
	.is_namespaced = true,
	.versions = versions,
	.n_versions = ARRAY_SIZE(versions),
	.selectable = selectable,
	.n_selectable = ARRAY_SIZE(selectable),
};
KIND_REGISTER(widget)

struct kind gadget = {
	.kind = "Gadget",
	.list_kind = "GadgetList",
	.resource = "gadgets",
	.singular = "gadget",
	.versions = versions,
	.n_versions = ARRAY_SIZE(versions),
};
KIND_REGISTER(gadget)

/* ---- the store ---- */

static struct str world_key(struct arena *a, const struct kind *kind, const char *rest)
{
	return arena_printf(a, WORLD_PREFIX "/objects/test.annals.dev/%s/%s", kind->resource, rest);
}

static int64_t world_step(struct storage *s, struct storage_step step)
{
	struct storage_txn t = {.success = &step, .n_success = 1};
	enum storage_result r = storage_txn_wait(s, &t);
	int64_t revision = t.op.revision;

	if (r != STORAGE_OK) {
		fprintf(stderr, "%s: %s\n", storage_result_name(r), t.op.message);
		abort();
	}
	storage_op_clear(&t.op);
	return revision;
}

int64_t world_put_raw(struct storage *s, const char *key, const char *value)
{
	return world_step(s, (struct storage_step){.kind = STEP_PUT, .key = str_of(key), .value = str_of(value)});
}

struct str world_text(
	struct arena *a, const struct kind *kind, const char *rest, const char *labels, const char *color, size_t filler)
{
	const char *slash = strchr(rest, '/'), *name = slash ? slash + 1 : rest;
	char *data = mem_zalloc(filler + 1);
	struct str ns = slash ? arena_printf(a, ",\"namespace\":\"%.*s\"", (int)(slash - rest), rest) : STR("");
	struct str text;

	memset(data, 'x', filler);
	text = arena_printf(a,
		"{\"kind\":\"%s\",\"apiVersion\":\"test.annals.dev/v1\",\"metadata\":{\"name\":\"%s\"" STR_FMT
		",\"uid\":\"uid-of-%s\",\"creationTimestamp\":\"2026-01-01T00:00:00Z\",\"labels\":{%s}}"
		",\"data\":\"%s\",\"color\":\"%s\"}",
		kind->kind, name, STR_ARG(ns), name, labels, data, color);
	mem_free(data);
	return text;
}

int64_t world_put(struct storage *s, const struct kind *kind, const char *rest, const char *labels, const char *color)
{
	_cleanup_(arena_done) struct arena a;

	arena_init(&a, SIZE_MAX);
	return world_step(s,
		(struct storage_step){.kind = STEP_PUT,
			.key = world_key(&a, kind, rest),
			.value = world_text(&a, kind, rest, labels, color, 8)});
}

int64_t world_delete(struct storage *s, const struct kind *kind, const char *rest)
{
	_cleanup_(arena_done) struct arena a;

	arena_init(&a, SIZE_MAX);
	return world_step(s, (struct storage_step){.kind = STEP_DELETE, .key = world_key(&a, kind, rest)});
}

void world_compact(struct storage *s, int64_t revision)
{
	struct storage_compact op = {.at_revision = revision};
	enum storage_result r = storage_compact_wait(s, &op);

	assert(r == STORAGE_OK || r == STORAGE_COMPACTED);
	storage_op_clear(&op.op);
}

/* ---- the cache ---- */

struct waiting {
	struct cache_wait wait;
	sem_t is_over;
};

static void on_over(struct cache_wait *w)
{
	sem_post(&container_of(w, struct waiting, wait)->is_over);
}

static enum storage_result waiting_result(struct waiting *w, struct cache *c)
{
	while (sem_wait(&w->is_over) != 0) {
	}
	sem_destroy(&w->is_over);
	cache_wait_settled(c);
	return w->wait.result;
}

enum storage_result world_wait(struct cache *c, int64_t revision, int64_t timeout_ms)
{
	struct waiting w = {.wait = {.done = on_over, .timeout_ms = timeout_ms}};

	sem_init(&w.is_over, 0, 0);
	cache_wait_revision(c, &w.wait, revision);
	return waiting_result(&w, c);
}

enum storage_result world_wait_fresh(struct cache *c, int64_t timeout_ms)
{
	struct waiting w = {.wait = {.done = on_over, .timeout_ms = timeout_ms}};

	sem_init(&w.is_over, 0, 0);
	cache_wait_fresh(c, &w.wait);
	return waiting_result(&w, c);
}

struct cache *world_cache(struct storage *s, struct cache_options options)
{
	struct cache *c;

	options.storage = s;
	options.prefix = STR(WORLD_PREFIX);
	c = cache_new(&options);
	if (world_wait_fresh(c, 30000) != STORAGE_OK) {
		abort();
	}
	return c;
}

struct label_selector world_labels(const char *text, struct arena *a)
{
	struct label_selector s;
	struct status st;

	status_init(&st, a);
	if (label_selector_parse(&s, str_of(text), a, &st) != 0) {
		abort();
	}
	return s;
}

struct field_selector world_fields(const char *text, struct arena *a)
{
	struct field_selector s;
	struct status st;

	status_init(&st, a);
	if (field_selector_parse(&s, str_of(text), &widget, &versions[0], a, &st) != 0) {
		abort();
	}
	return s;
}

struct str world_list(const struct cache_snapshot *s, const struct cache_filter *f, struct arena *a)
{
	_cleanup_(buf_done) struct buf out;
	const struct cached *o;
	struct cache_iter it;

	buf_init(&out, 1 << 30);
	cache_iter_init(&it, s, f, (struct str){0});
	while ((o = cache_iter_next(&it))) {
		buf_printf(&out, "%s" STR_FMT "%s" STR_FMT, out.n ? " " : "", STR_ARG(o->ns), o->ns.n ? "/" : "",
			STR_ARG(o->name));
	}
	return arena_dup(a, buf_str(&out));
}
