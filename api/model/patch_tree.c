/* Patches look up members one by one, and clients choose both object and patch. With members in
 * order each look-up is logarithmic; without, a patch of 10,000 operations on a large object
 * would be quadratic. Merge sort, since it is stable and has no bad case. */
#include "api/model/patch_tree.h"

#include <assert.h>

static bool is_sorted(const struct json *object)
{
	for (uint32_t i = 1; i < object->n; i++) {
		if (str_cmp(object->members[i - 1].name, object->members[i].name) >= 0) {
			return false;
		}
	}
	return true;
}

/* Merges two sorted runs, as a step of a merge sort. Of equal names, the one from the left comes
 * first. */
static void merge_runs(const struct json_member *from, struct json_member *to, size_t middle, size_t end)
{
	size_t left = 0, right = middle;
	for (size_t i = 0; i < end; i++) {
		bool takes_left = right == end || (left < middle && str_cmp(from[left].name, from[right].name) <= 0);
		to[i] = takes_left ? from[left++] : from[right++];
	}
}

/* Stable, so that the last of equal names stays the last. */
static void sort_members(struct arena *a, struct json *object)
{
	size_t n = object->n;
	struct json_member *from = object->members, *to = arena_array(a, struct json_member, n);
	for (size_t run = 1; run < n; run *= 2) {
		for (size_t at = 0; at < n; at += 2 * run) {
			size_t middle = MIN(run, n - at), end = MIN(2 * run, n - at);
			merge_runs(from + at, to + at, middle, end);
		}
		struct json_member *sorted = to;
		to = from;
		from = sorted;
	}
	object->members = from;
}

static void drop_repetitions(struct json *object)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < object->n; i++) {
		bool is_last = i + 1 == object->n || !str_eq(object->members[i].name, object->members[i + 1].name);
		if (is_last) {
			object->members[kept++] = object->members[i];
		}
	}
	object->n = kept;
}

struct json *open_copy(struct arena *a, const struct json *j)
{
	struct json *copy = json_copy(a, j);
	if (json_is(copy, JSON_OBJECT) && !is_sorted(copy)) {
		sort_members(a, copy);
		drop_repetitions(copy);
	}
	return copy;
}

/* Finds the place where a member of that name is, or would be. */
static uint32_t find_place(const struct json *object, struct str name, bool *ret_found)
{
	assert(object->kind == JSON_OBJECT);
	uint32_t low = 0, high = object->n;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		int order = str_cmp(object->members[middle].name, name);
		if (order == 0) {
			*ret_found = true;
			return middle;
		}
		if (order < 0) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	*ret_found = false;
	return low;
}

struct json **open_find(const struct json *object, struct str name)
{
	bool is_found;
	uint32_t at = find_place(object, name, &is_found);
	return is_found ? &object->members[at].value : NULL;
}

struct json *open_get(const struct json *object, struct str name)
{
	struct json **value = open_find(object, name);
	return value ? *value : NULL;
}

void open_set(struct arena *a, struct json *object, struct str name, struct json *value)
{
	bool is_found;
	uint32_t at = find_place(object, name, &is_found);
	if (is_found) {
		object->members[at].value = value;
		return;
	}

	json_add(a, object, name, value);
	struct json_member added = object->members[object->n - 1];
	memmove(object->members + at + 1, object->members + at, (object->n - 1 - at) * sizeof(added));
	object->members[at] = added;
	/* An object that was not opened by open_copy() may be in any order. */
	assert(at == 0 || str_cmp(object->members[at - 1].name, name) < 0);
	assert(at + 1 == object->n || str_cmp(name, object->members[at + 1].name) < 0);
}

bool open_remove(struct json *object, struct str name)
{
	bool is_found;
	uint32_t at = find_place(object, name, &is_found);
	if (is_found) {
		object->n--;
		memmove(object->members + at, object->members + at + 1, (object->n - at) * sizeof(*object->members));
	}
	return is_found;
}

static struct json *open_deep_object(struct arena *a, const struct json *j, bool prune)
{
	struct json *copy = open_copy(a, j);
	uint32_t kept = 0;
	for (uint32_t i = 0; i < copy->n; i++) {
		struct json_member m = copy->members[i];
		if (!prune || !json_is(m.value, JSON_NULL)) {
			copy->members[kept++] = (struct json_member){m.name, open_deep(a, m.value, prune)};
		}
	}
	copy->n = kept;
	return copy;
}

static struct json *open_deep_array(struct arena *a, const struct json *j, bool prune)
{
	struct json *copy = json_copy(a, j);
	for (uint32_t i = 0; i < copy->n; i++) {
		copy->items[i] = open_deep(a, copy->items[i], prune);
	}
	return copy;
}

struct json *open_deep(struct arena *a, struct json *j, bool prune)
{
	switch (j->kind) {
	case JSON_OBJECT:
		return open_deep_object(a, j, prune);
	case JSON_ARRAY:
		return open_deep_array(a, j, prune);
	default:
		return j;
	}
}
