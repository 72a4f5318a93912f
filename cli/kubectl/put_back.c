/* Computes objects and patches that lead back to an earlier state. put_back() walks through three trees at once: the object,
 * its state, and the wanted state. Where paths are ignored, the object has more than its state. The new object is built from
 * the old one, so those parts are carried over. */
#include "cli/kubectl/put_back.h"

#include "api/diff/state.h"
#include "api/model/members.h"

#include <assert.h>

/* Bytes of one JSON pointer. */
enum { POINTER_MAX = 1 << 20 };

/* The new value of a place (NULL: none), and the part of its present value that is shown. */
struct both {
	struct json *object, *shown;
};

static struct both put_back_build(
	struct put_back *p, const struct json *live, const struct json *state, const struct json *wanted);

static size_t put_back_enter(struct put_back *p, struct str segment)
{
	size_t before = p->pointer.n;
	pointer_push(&p->pointer, segment);
	return before;
}

static size_t enter_item(struct put_back *p, uint32_t i)
{
	char index[POINTER_INDEX_SIZE];
	return put_back_enter(p, pointer_index(index, i));
}

static void put_back_leave(struct put_back *p, size_t before)
{
	buf_truncate(&p->pointer, before);
}

static void put_back_note(struct put_back *p, struct json *list)
{
	json_append(p->arena, list, json_string(p->arena, arena_dup(p->arena, buf_str(&p->pointer))));
}

/* Shared nodes are never changed: a copy is changed instead. */
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

/* Notes all redacted values within; they stay. */
static void note_kept(struct put_back *p, const struct json *wanted)
{
	if (state_is_redacted(wanted)) {
		put_back_note(p, p->kept);
	}
	for (uint32_t i = 0; json_is(wanted, JSON_OBJECT) && i < wanted->n; i++) {
		size_t before = put_back_enter(p, wanted->members[i].name);
		note_kept(p, wanted->members[i].value);
		put_back_leave(p, before);
	}
	for (uint32_t i = 0; json_is(wanted, JSON_ARRAY) && i < wanted->n; i++) {
		size_t before = enter_item(p, i);
		note_kept(p, wanted->items[i]);
		put_back_leave(p, before);
	}
}

/* ---- objects ---- */

/* Removes the recorded parts of a value. The ignored parts remain; NULL: there are none. */
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
		size_t before = put_back_enter(p, name);
		struct both one = put_back_build(p, json_get(live, name), known, wanted->members[i].value);
		put_back_leave(p, before);
		set_or_remove(p, ret.object, name, one.object);
		if (known && one.shown) {
			json_set(p->arena, ret.shown, name, one.shown);
		}
	}
	return ret;
}

/* ---- lists ---- */

/* The members that identify an item, in order of precedence: Kubernetes' merge keys. */
static const char *const identities[] = {
	"name", "key", "mountPath", "devicePath", "containerPort", "port", "topologyKey", "type", "ip", "uid", "id", "host"};

static bool is_identity(const struct json *j)
{
	return (json_is(j, JSON_STRING) && !state_is_redacted(j)) || json_is(j, JSON_NUMBER);
}

/* Does every item have a unique value of the identity? *ret: from these values to the items. */
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

/* Returns NULL if no member identifies the items of both lists. */
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

/* If no member identifies the items, they become what was recorded. */
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
		struct both one = at == NOWHERE ? put_back_build(p, NULL, NULL, wanted->items[i])
						: put_back_build(p, live->items[at], state->items[at], wanted->items[i]);
		put_back_leave(p, before);
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
		put_back_note(p, p->unclear);
		return (struct both){shared(live), shared(state)};
	}
	return build_list(p, live, state, wanted, identity ? match_items(p, state, wanted, identity) : match_none(p, wanted));
}

/* ---- any value ---- */

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

static struct both put_back_build(
	struct put_back *p, const struct json *live, const struct json *state, const struct json *wanted)
{
	if (state_is_redacted(wanted)) {
		put_back_note(p, live ? p->kept : p->missing);
		return (struct both){shared(live), shared(state ? wanted : NULL)};
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
		put_back_note(p, p->unclear); /* all that is in it was ignored */
		return (struct both){shared(live), NULL};
	}
	return build_new(p, live, state, wanted);
}

void put_back(struct put_back *p)
{
	assert(p->recorded && p->arena && !p->live == !p->state);
	assert(p->recorded && p->arena);
	p->kept = json_array(p->arena);
	p->missing = json_array(p->arena);
	p->unclear = json_array(p->arena);
	buf_init(&p->pointer, POINTER_MAX);
	struct both both = put_back_build(p, p->live, p->state, p->recorded);
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

/* ---- labels of Jobs ---- */

/* As generateSelector() and SetDefaults_Job() of Kubernetes have it: a Job without labels of its own shows those of its
 * template. */
static const struct str of_uid[] = {{"controller-uid", 14}, {"batch.kubernetes.io/controller-uid", 34}};
static const struct str of_name[] = {{"job-name", 8}, {"batch.kubernetes.io/job-name", 28}};

static const char *const selector_path[] = {"spec", "selector", "matchLabels", NULL};
static const char *const template_path[] = {"spec", "template", "metadata", "labels", NULL};
static const char *const own_path[] = {"metadata", "labels", NULL};

static bool is_generated(const struct json *state)
{
	return str_starts(member_text(state, "apiVersion"), STR("batch/")) && str_is(member_text(state, "kind"), "Job") &&
		!member_is_true(json_gets(state, "spec"), "manualSelector");
}

static const struct json *at_path(const struct json *value, const char *const *path)
{
	for (; *path; path++) {
		value = json_gets(value, *path);
	}
	return value;
}

static bool names_uid(const struct json *labels)
{
	return json_get(labels, of_uid[0]) || json_get(labels, of_uid[1]);
}

/* NULL: nothing is left. */
static struct json *renewed(const struct json *labels, const struct json *live, struct arena *a)
{
	struct json *ret = json_copy(a, labels);
	for (size_t i = 0; i < ARRAY_SIZE(of_uid); i++) {
		struct json *value = json_get(live, of_uid[i]);
		json_remove(ret, of_uid[i]);
		if (value) {
			json_set(a, ret, of_uid[i], value);
		}
	}
	return ret->n ? ret : NULL;
}

/* Copies the value with another value at the path. Without one, removes the path and every
 * object that becomes empty. NULL: nothing is left. */
static struct json *with(const struct json *value, const char *const *path, struct json *wanted, struct arena *a)
{
	if (!*path) {
		return wanted;
	}
	struct json *ret = json_copy(a, value), *inner = with(json_gets(value, *path), path + 1, wanted, a);
	if (inner) {
		json_set(a, ret, str_of(*path), inner);
	} else {
		json_remove(ret, str_of(*path));
	}
	return ret->n ? ret : NULL;
}

static const struct json *renew(const struct json *state, const struct json *live, const char *const *path, struct arena *a)
{
	const struct json *labels = at_path(state, path);
	return names_uid(labels) ? with(state, path, renewed(labels, at_path(live, path), a), a) : state;
}

static bool is_of_name(struct str label)
{
	return str_eq(label, of_name[0]) || str_eq(label, of_name[1]);
}

/* If nobody gave it labels, the shown ones are removed: the server shows them again once the
 * template has labels. */
static const struct json *without_shown(const struct json *state, struct arena *a)
{
	const struct json *labels = at_path(state, own_path);
	bool is_shown = names_uid(labels);
	for (uint32_t i = 0; is_shown && i < labels->n; i++) {
		struct str name = labels->members[i].name;
		is_shown = str_eq(name, of_uid[0]) || str_eq(name, of_uid[1]) || is_of_name(name);
	}
	return is_shown ? with(state, own_path, NULL, a) : state;
}

const struct json *job_labels_renew(const struct json *state, const struct json *live, struct arena *a)
{
	if (!is_generated(state)) {
		return state;
	}
	state = live ? state : without_shown(state, a);
	state = renew(state, live, own_path, a);
	state = renew(state, live, template_path, a);
	return renew(state, live, selector_path, a);
}

/* ---- the merge patch of a revision's data ----
 *
 * Only strategic merge patches know "$patch": "replace". A merge patch (RFC 7396) merges, so it has to set each member that
 * is not wanted to null. */

#define DIRECTIVE "$patch"

/* Makes members of present that are not wanted null. The rest is as wanted. Both are objects. */
static struct json *patch_replacing(const struct json *wanted, const struct json *present, struct arena *a)
{
	struct json *patch = json_object(a);
	for (uint32_t i = 0; i < wanted->n; i++) {
		const struct json *value = wanted->members[i].value, *now = json_get(present, wanted->members[i].name);
		bool is_deeper = json_is(value, JSON_OBJECT) && json_is(now, JSON_OBJECT);
		if (!str_is(wanted->members[i].name, DIRECTIVE)) {
			json_set(a, patch, wanted->members[i].name,
				is_deeper ? patch_replacing(value, now, a) : wanted->members[i].value);
		}
	}
	for (uint32_t i = 0; i < present->n; i++) {
		if (!json_get(wanted, present->members[i].name)) {
			json_set(a, patch, present->members[i].name, json_null(a));
		}
	}
	return patch;
}

struct json *undo_patch(const struct json *data, const struct json *object, struct arena *a)
{
	if (str_is(member_text(data, DIRECTIVE), "replace")) {
		const struct json *now = json_is(object, JSON_OBJECT) ? object : json_object(a);
		return patch_replacing(data, now, a);
	}
	struct json *patch = json_object(a);
	for (uint32_t i = 0; i < data->n; i++) {
		struct json *value = data->members[i].value;
		bool is_deeper = json_is(value, JSON_OBJECT);
		json_set(a, patch, data->members[i].name,
			is_deeper ? undo_patch(value, json_get(object, data->members[i].name), a) : value);
	}
	return patch;
}
