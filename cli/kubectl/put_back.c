/* A walk through three trees at once: the object, its state, and the state that is wanted. The object
 * has more than its state where something is ignored; it is made anew from itself, so what nobody
 * looks at is carried over. */
#include "cli/kubectl/put_back.h"

#include "api/model/members.h"
#include "api/record/state.h"

enum { POINTER_MAX = 1 << 20 };

/* What something becomes, NULL: nothing; and what of it is shown as of now. */
struct both {
	struct json *object, *shown;
};

static struct both build(struct put_back *p, const struct json *live, const struct json *state, const struct json *wanted);

static size_t enter(struct put_back *p, struct str segment)
{
	size_t before = p->pointer.n;
	pointer_push(&p->pointer, segment);
	return before;
}

static size_t enter_item(struct put_back *p, uint32_t i)
{
	char index[POINTER_INDEX_SIZE];
	return enter(p, pointer_index(index, i));
}

static void leave(struct put_back *p, size_t before)
{
	buf_truncate(&p->pointer, before);
}

static void note(struct put_back *p, struct json *list)
{
	json_append(p->arena, list, json_string(p->arena, arena_dup(p->arena, buf_str(&p->pointer))));
}

/* Shared nodes are never changed: what is changed is copied first. */
static struct json *shared(const struct json *j)
{
	return (struct json *)(uintptr_t)j;
}

/* ---- values that are the same but for what is redacted ---- */

static bool is_same(const struct json *state, const struct json *wanted);

static bool has_same_members(const struct json *state, const struct json *wanted)
{
	for (uint32_t i = 0; i < wanted->n; i++) {
		const struct json *there = json_get(state, wanted->members[i].name);
		if (!there || !is_same(there, wanted->members[i].value)) {
			return false;
		}
	}
	return state->n == wanted->n;
}

static bool is_same(const struct json *state, const struct json *wanted)
{
	if (state_is_redacted(wanted)) {
		return true;
	}
	if (json_is(state, JSON_OBJECT) && json_is(wanted, JSON_OBJECT)) {
		return has_same_members(state, wanted);
	}
	if (!json_is(state, JSON_ARRAY) || !json_is(wanted, JSON_ARRAY)) {
		return json_equal(state, wanted);
	}
	bool is_so = state->n == wanted->n;
	for (uint32_t i = 0; is_so && i < wanted->n; i++) {
		is_so = is_same(state->items[i], wanted->items[i]);
	}
	return is_so;
}

static bool has_redacted(const struct json *j)
{
	bool is_there = state_is_redacted(j);
	for (uint32_t i = 0; !is_there && json_is(j, JSON_OBJECT) && i < j->n; i++) {
		is_there = has_redacted(j->members[i].value);
	}
	for (uint32_t i = 0; !is_there && json_is(j, JSON_ARRAY) && i < j->n; i++) {
		is_there = has_redacted(j->items[i]);
	}
	return is_there;
}

/* All redacted values within, which stay. */
static void note_kept(struct put_back *p, const struct json *wanted)
{
	if (state_is_redacted(wanted)) {
		note(p, p->kept);
	}
	for (uint32_t i = 0; json_is(wanted, JSON_OBJECT) && i < wanted->n; i++) {
		size_t before = enter(p, wanted->members[i].name);
		note_kept(p, wanted->members[i].value);
		leave(p, before);
	}
	for (uint32_t i = 0; json_is(wanted, JSON_ARRAY) && i < wanted->n; i++) {
		size_t before = enter_item(p, i);
		note_kept(p, wanted->items[i]);
		leave(p, before);
	}
}

/* ---- objects ---- */

/* What is left of a value when its recorded parts go: what was ignored in it. NULL: nothing. */
static struct json *stripped(struct put_back *p, const struct json *live, const struct json *state)
{
	if (!json_is(live, JSON_OBJECT) || !json_is(state, JSON_OBJECT)) {
		return NULL;
	}
	struct json *rest = json_copy(p->arena, live);
	for (uint32_t i = 0; i < state->n; i++) {
		struct str name = state->members[i].name;
		struct json *left = stripped(p, json_get(live, name), state->members[i].value);
		if (left) {
			json_set(p->arena, rest, name, left);
		} else {
			json_remove(rest, name);
		}
	}
	return rest->n ? rest : NULL;
}

static void set_or_remove(struct put_back *p, struct json *object, struct str name, struct json *value)
{
	if (!value) {
		json_remove(object, name);
	} else if (json_get(object, name) != value) {
		json_set(p->arena, object, name, value);
	}
}

static void drop_unwanted(
	struct put_back *p, struct json *object, const struct json *live, const struct json *state, const struct json *wanted)
{
	for (uint32_t i = 0; json_is(state, JSON_OBJECT) && i < state->n; i++) {
		struct str name = state->members[i].name;
		if (!json_get(wanted, name)) {
			set_or_remove(p, object, name, stripped(p, json_get(live, name), state->members[i].value));
		}
	}
}

static struct both build_object(
	struct put_back *p, const struct json *live, const struct json *state, const struct json *wanted)
{
	struct both ret;
	ret.object = json_is(live, JSON_OBJECT) ? json_copy(p->arena, live) : json_object(p->arena);
	ret.shown = json_is(state, JSON_OBJECT) ? json_copy(p->arena, state) : shared(state);
	drop_unwanted(p, ret.object, live, state, wanted);
	for (uint32_t i = 0; i < wanted->n; i++) {
		struct str name = wanted->members[i].name;
		const struct json *known = json_get(state, name);
		size_t before = enter(p, name);
		struct both one = build(p, json_get(live, name), known, wanted->members[i].value);
		leave(p, before);
		set_or_remove(p, ret.object, name, one.object);
		if (known && one.shown) {
			json_set(p->arena, ret.shown, name, one.shown);
		}
	}
	return ret;
}

/* ---- lists ---- */

/* What identifies items, first of all names: kube's merge keys. */
static const char *const identities[] = {
	"name", "key", "mountPath", "devicePath", "containerPort", "port", "topologyKey", "type", "ip", "uid", "id", "host"};

static bool is_identity(const struct json *j)
{
	return (json_is(j, JSON_STRING) && !state_is_redacted(j)) || json_is(j, JSON_NUMBER);
}

/* Has each item one that no other has? *ret: their places and one, by it. */
static bool index_items(const struct json *list, const char *identity, struct map *ret)
{
	map_init(ret, list->n);
	for (uint32_t i = 0; i < list->n; i++) {
		const struct json *id = json_gets(list->items[i], identity);
		if (!is_identity(id) || map_get(ret, json_text(id))) {
			return false;
		}
		map_set(ret, json_text(id), &list->items[i], NULL);
	}
	return true;
}

/* NULL: nothing identifies the items of both lists. */
static const char *identity_of(const struct json *state, const struct json *wanted)
{
	for (size_t i = 0; i < ARRAY_SIZE(identities); i++) {
		struct map of_state, of_wanted;
		bool is_one = index_items(state, identities[i], &of_state);
		is_one = index_items(wanted, identities[i], &of_wanted) && is_one;
		map_done(&of_state);
		map_done(&of_wanted);
		if (is_one) {
			return identities[i];
		}
	}
	return NULL;
}

#define NOWHERE UINT32_MAX

/* Where each wanted item is in the state. */
static uint32_t *match_items(struct put_back *p, const struct json *state, const struct json *wanted, const char *identity)
{
	uint32_t *ret = arena_array(p->arena, uint32_t, wanted->n + 1);
	struct map known;
	index_items(state, identity, &known);
	for (uint32_t i = 0; i < wanted->n; i++) {
		struct json **at = map_get(&known, json_text(json_gets(wanted->items[i], identity)));
		ret[i] = at ? (uint32_t)(at - state->items) : NOWHERE;
	}
	map_done(&known);
	return ret;
}

static bool is_whole(const struct json *live, const struct json *state)
{
	return live->n == state->n && json_equal(live, state);
}

/* Items that nothing identifies are wanted as they were recorded. */
static uint32_t *match_none(struct put_back *p, const struct json *wanted)
{
	uint32_t *ret = arena_array(p->arena, uint32_t, wanted->n + 1);
	for (uint32_t i = 0; i < wanted->n; i++) {
		ret[i] = NOWHERE;
	}
	return ret;
}

static struct both build_list(struct put_back *p, const struct json *live, const struct json *state, const struct json *wanted,
	const uint32_t *places)
{
	struct both ret = {json_array(p->arena), json_copy(p->arena, state)};
	for (uint32_t i = 0; i < wanted->n; i++) {
		uint32_t at = places[i];
		size_t before = enter_item(p, i);
		struct both one = at == NOWHERE ? build(p, NULL, NULL, wanted->items[i])
						: build(p, live->items[at], state->items[at], wanted->items[i]);
		leave(p, before);
		if (one.object) {
			json_append(p->arena, ret.object, one.object);
		}
		if (at != NOWHERE && one.shown) {
			ret.shown->items[at] = one.shown;
		}
	}
	return ret;
}

static struct both build_array(struct put_back *p, const struct json *live, const struct json *state, const struct json *wanted)
{
	if (is_same(state, wanted)) {
		note_kept(p, wanted);
		return (struct both){shared(live), shared(wanted)};
	}
	const char *identity = identity_of(state, wanted);
	if (live->n != state->n || (!identity && !is_whole(live, state))) {
		note(p, p->unclear);
		return (struct both){shared(live), shared(state)};
	}
	return build_list(p, live, state, wanted, identity ? match_items(p, state, wanted, identity) : match_none(p, wanted));
}

/* ---- any value ---- */

static struct both build_redacted(
	struct put_back *p, const struct json *live, const struct json *state, const struct json *wanted)
{
	note(p, live ? p->kept : p->missing);
	return (struct both){shared(live), shared(state ? wanted : NULL)};
}

/* In place of nothing, or of something else. */
static struct both build_new(struct put_back *p, const struct json *live, const struct json *state, const struct json *wanted)
{
	if (!has_redacted(wanted)) {
		return (struct both){shared(wanted), shared(state)};
	}
	struct json *object;
	if (json_is(wanted, JSON_ARRAY)) {
		struct json *nothing = json_array(p->arena);
		object = build_list(p, nothing, nothing, wanted, match_none(p, wanted)).object;
	} else {
		object = build_object(p, json_is(live, JSON_OBJECT) ? live : NULL, NULL, wanted).object;
	}
	return (struct both){object, shared(state)};
}

static struct both build(struct put_back *p, const struct json *live, const struct json *state, const struct json *wanted)
{
	if (state_is_redacted(wanted)) {
		return build_redacted(p, live, state, wanted);
	}
	if (state && json_equal(state, wanted)) {
		return (struct both){shared(live), shared(state)};
	}
	if (json_is(wanted, JSON_OBJECT) && json_is(live, JSON_OBJECT)) {
		return build_object(p, live, state, wanted);
	}
	if (json_is(wanted, JSON_ARRAY) && json_is(live, JSON_ARRAY) && json_is(state, JSON_ARRAY)) {
		return build_array(p, live, state, wanted);
	}
	if (json_is(wanted, JSON_ARRAY) && json_is(live, JSON_ARRAY) && live->n > 0) {
		note(p, p->unclear); /* all that is in it was ignored */
		return (struct both){shared(live), NULL};
	}
	return build_new(p, live, state, wanted);
}

void put_back(struct put_back *p)
{
	p->kept = json_array(p->arena);
	p->missing = json_array(p->arena);
	p->unclear = json_array(p->arena);
	buf_init(&p->pointer, POINTER_MAX);
	struct both both = build(p, p->live, p->state, p->recorded);
	p->object = both.object;
	p->shown = both.shown;
	buf_done(&p->pointer);
}

/* ---- Secrets ---- */

static struct json *masked(const struct json *values, const struct json *others, const char *when, struct arena *a)
{
	struct json *ret = json_object(a);
	for (uint32_t i = 0; i < values->n; i++) {
		const struct json *other = json_get(others, values->members[i].name);
		bool is_same_value = other && json_equal(other, values->members[i].value);
		json_set(a, ret, values->members[i].name, json_string(a, is_same_value ? STR("***") : str_of(when)));
	}
	return ret;
}

static void mask(struct json **object, const struct json *values, const struct json *others, struct str name, const char *when,
	struct arena *a)
{
	if (json_is(values, JSON_OBJECT)) {
		*object = json_copy(a, *object);
		json_set(a, *object, name, masked(values, others, when, a));
	}
}

void put_back_mask_secret(struct json **before, struct json **after, struct arena *a)
{
	static const char *const members[] = {"data", "stringData"};
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		const struct json *old = json_gets(*before, members[i]), *new = json_gets(*after, members[i]);
		mask(before, old, new, str_of(members[i]), "*** (before)", a);
		mask(after, new, old, str_of(members[i]), "*** (after)", a);
	}
}
