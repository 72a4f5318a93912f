/* A server that keeps the revisions of one namespace, and the owner of a history. */
#include "tests/unit/history_world.h"

#include "api/model/members.h"
#include "api/model/quantity.h"

#include <stdlib.h>

struct json *parsed(struct arena *a, const char *text)
{
	struct json *j = NULL;
	size_t at;
	assert_int_equal(json_parse(&j, a, str_of(text), JSON_LIMITS_DEFAULT, &at), 0);
	return j;
}

struct str encoded(struct arena *a, const struct json *j)
{
	struct buf b;
	buf_init(&b, 16 << 20);
	assert_true(json_encode(&b, j));
	struct str s = arena_dup(a, buf_str(&b));
	buf_done(&b);
	return s;
}

void world_init(struct history_world *w, const struct carrier *c, const char *name)
{
	*w = (struct history_world){.carrier = c};
	arena_init(&w->arena, (size_t)1 << 30);
	w->owner = (struct history_owner){
		.api_version = STR("apps/v1"),
		.kind = STR("StatefulSet"),
		.ns = STR("ns"),
		.name = str_of(name),
		.uid = STR("uid-of-owner"),
		.selector = &w->selector,
		.labels = parsed(&w->arena, "{\"app\":\"web\"}"),
		.normal = normal_state,
	};
	world_select(w, "{\"matchLabels\":{\"app\":\"web\"}}");
}

void world_select(struct history_world *w, const char *selector)
{
	struct str problem;
	assert_int_equal(label_selector_read(&w->selector, parsed(&w->arena, selector), &w->arena, &problem), 0);
}

void world_done(struct history_world *w)
{
	mem_free(w->objects);
	arena_done(&w->arena);
}

void world_set_state(struct history_world *w, const struct json *state)
{
	w->owner.state = state;
	w->owner.generation++;
}

void world_set(struct history_world *w, const char *state)
{
	world_set_state(w, parsed(&w->arena, state));
}

void world_add(struct history_world *w, const struct json *object)
{
	if (w->n == w->cap) {
		w->cap = w->cap ? 2 * w->cap : 16;
		w->objects = mem_realloc_array(w->objects, w->cap, sizeof(*w->objects));
	}
	w->objects[w->n++] = object;
}

static size_t index_of(const struct history_world *w, struct str name)
{
	size_t i = 0;
	while (i < w->n && !str_eq(member_text(json_gets(w->objects[i], "metadata"), "name"), name)) {
		i++;
	}
	return i;
}

void world_remove(struct history_world *w, struct str name)
{
	size_t i = index_of(w, name);
	assert_true(i < w->n);
	w->objects[i] = w->objects[--w->n];
}

void world_shuffle(struct history_world *w, unsigned seed)
{
	for (size_t i = w->n; i > 1; i--) {
		size_t j = (size_t)rand_r(&seed) % i;
		const struct json *moved = w->objects[i - 1];
		w->objects[i - 1] = w->objects[j];
		w->objects[j] = moved;
	}
}

static void on_problem(void *ctx, const struct json *object _unused_, struct str problem)
{
	struct history_world *w = ctx;
	w->n_problems++;
	w->problem = problem;
}

struct history *world_reconstruct(struct history_world *w)
{
	w->n_problems = 0;
	history_reconstruct(&w->history, w->carrier, &w->owner, w->objects, w->n, on_problem, w, &w->arena);
	return &w->history;
}

/* As it comes back from a server: read from text, with uid and version. */
static const struct json *stored(struct history_world *w, const struct json *object)
{
	struct arena *a = &w->arena;
	struct json *changed = with_meta(a, object, "uid", json_string(a, arena_printf(a, "uid-%zu", w->n_writes)));
	changed = with_meta(a, changed, "resourceVersion", json_string(a, arena_printf(a, "%zu", 100 + w->n_writes)));
	changed = with_meta(a, changed, "creationTimestamp", json_string(a, STR("2026-01-01T00:00:00Z")));
	w->n_writes++;
	struct json *read = NULL;
	size_t at;
	assert_int_equal(json_parse(&read, a, encoded(a, changed), JSON_LIMITS_DEFAULT, &at), 0);
	return read;
}

static void renumber(struct history_world *w, const struct revision *r)
{
	size_t i = index_of(w, r->name), at;
	struct buf patch;
	struct json *parsed_patch = NULL;
	assert_true(i < w->n);
	buf_init(&patch, 1 << 16);
	history_renumber(r, r->number, &patch);
	assert_int_equal(
		json_parse(&parsed_patch, &w->arena, arena_dup(&w->arena, buf_str(&patch)), JSON_LIMITS_DEFAULT, &at), 0);
	buf_done(&patch);

	const struct json *meta = json_gets(parsed_patch, "metadata"), *old = json_gets(w->objects[i], "metadata");
	assert_true(str_eq(member_text(meta, "uid"), member_text(old, "uid")));
	assert_true(str_eq(member_text(meta, "resourceVersion"), member_text(old, "resourceVersion")));
	struct json *changed = json_copy(&w->arena, w->objects[i]);
	json_set(&w->arena, changed, STR("revision"), json_gets(parsed_patch, "revision"));
	w->objects[i] = changed;
	w->n_writes++;
}

enum history_action world_pass(struct history_world *w, struct revision *ret)
{
	struct history_choice choice;
	bool is_taken = true;
	world_reconstruct(w);
	for (int64_t collisions = 0; is_taken; collisions++) {
		assert_true(collisions < 1000);
		assert_true(history_choose(&choice, w->carrier, &w->owner, &w->history, collisions, &w->arena));
		is_taken = choice.action == HISTORY_CREATED && index_of(w, choice.revision.name) < w->n;
	}
	if (choice.action == HISTORY_CREATED) {
		world_add(w, stored(w, choice.revision.object));
	} else if (choice.action == HISTORY_RENUMBERED) {
		renumber(w, &choice.revision);
	}
	*ret = choice.revision;
	return choice.action;
}

struct json *with_meta(struct arena *a, const struct json *object, const char *name, struct json *value)
{
	struct json *changed = json_copy(a, object), *meta = json_copy(a, json_gets(object, "metadata"));
	if (value) {
		json_set(a, meta, str_of(name), value);
	} else {
		json_remove(meta, str_of(name));
	}
	json_set(a, changed, STR("metadata"), meta);
	return changed;
}

struct json *with_label(struct arena *a, const struct json *object, const char *name, struct json *value)
{
	struct json *labels = json_copy(a, json_gets(json_gets(object, "metadata"), "labels"));
	if (value) {
		json_set(a, labels, str_of(name), value);
	} else {
		json_remove(labels, str_of(name));
	}
	return with_meta(a, object, "labels", labels);
}

struct json *controlled_by(struct arena *a, const char *uid)
{
	struct json *refs = json_array(a), *ref = json_object(a);
	json_add_text(a, ref, STR("uid"), str_of(uid));
	json_add(a, ref, STR("controller"), json_bool(a, true));
	json_append(a, refs, ref);
	return refs;
}

static struct json *normal_amounts(const struct json *amounts, struct arena *a)
{
	struct json *normal = json_object(a);
	for (uint32_t i = 0; i < amounts->n; i++) {
		struct quantity q;
		assert_null(quantity_parse(&q, json_text(amounts->members[i].value), a));
		q.spelling = (struct str){NULL, 0};
		json_add(a, normal, amounts->members[i].name, json_string(a, quantity_text(&q, a)));
	}
	return normal;
}

struct json *normal_state(const struct json *state, struct arena *a)
{
	const struct json *spec = json_gets(state, "spec"), *amounts = json_gets(spec, "requests");
	struct json *changed = json_copy(a, state);
	if (json_is(spec, JSON_OBJECT)) {
		struct json *filled = json_copy(a, spec);
		if (!json_gets(spec, "restartPolicy")) {
			json_add(a, filled, STR("restartPolicy"), json_string(a, STR("Always")));
		}
		if (json_is(amounts, JSON_OBJECT)) {
			json_set(a, filled, STR("requests"), normal_amounts(amounts, a));
		}
		json_set(a, changed, STR("spec"), filled);
	}
	return changed;
}
