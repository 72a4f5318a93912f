/* Why exact: "nothing has changed" decides whether a write is made at all, and whether data is
 * immutable. Order of members and spelling do not count, values do. Work is linear in both
 * trees; nothing is sorted. */
#include "base/json.h"

#include "base/json_index.h"

/* Pairs of which nobody knows yet whether they are equal. A list, not recursion: built trees can be deeper than any stack. */
struct pair {
	const struct json *a, *b;
};

struct pairs {
	struct pair *v;
	size_t n, cap;
	struct arena scratch; /* indexes of big built objects */
};

static void pairs_done(struct pairs *todo)
{
	mem_free(todo->v);
	arena_done(&todo->scratch);
}

static void pairs_add(struct pairs *todo, const struct json *a, const struct json *b)
{
	/* Trees of one request share what a patch did not touch, often nearly all. */
	if (a == b) {
		return;
	}
	if (todo->n == todo->cap) {
		todo->cap = MAX(todo->cap * 2, (size_t)64);
		todo->v = mem_realloc_array(todo->v, todo->cap, sizeof(*todo->v));
	}
	todo->v[todo->n++] = (struct pair){a, b};
}

static bool compare_arrays(struct pairs *todo, const struct json *a, const struct json *b)
{
	if (a->n != b->n) {
		return false;
	}
	/* Backwards, so that they come off the stack in order. */
	for (uint32_t i = a->n; i > 0; i--) {
		pairs_add(todo, a->items[i - 1], b->items[i - 1]);
	}
	return true;
}

/* An object as it is, or a view of it that has the index it lacks. */
static struct json with_index(struct pairs *todo, const struct json *object)
{
	struct json view = *object;
	if (!view.index && view.n > JSON_INDEX_ABOVE) {
		json_index_build(&todo->scratch, &view);
	}
	return view;
}

/* A member that a later one of the same name hides does not count. */
static bool counts(const struct json *object, const struct json_member *member)
{
	return json_find(object, member->name) == member;
}

static uint32_t count_names(const struct json *object)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < object->n; i++) {
		n += counts(object, &object->members[i]);
	}
	return n;
}

static bool compare_objects(struct pairs *todo, const struct json *a_given, const struct json *b_given)
{
	const struct json a = with_index(todo, a_given), b = with_index(todo, b_given);
	uint32_t n_names = 0;
	for (uint32_t i = 0; i < a.n; i++) {
		const struct json_member *mine = &a.members[i];
		if (!counts(&a, mine)) {
			continue;
		}
		const struct json_member *other = json_find(&b, mine->name);
		if (!other) {
			return false;
		}
		pairs_add(todo, mine->value, other->value);
		n_names++;
	}
	return n_names == count_names(&b);
}

/* Whether they are equal, but for pairs added. */
static bool compare(struct pairs *todo, const struct json *a, const struct json *b)
{
	if (!a || !b || a->kind != b->kind) {
		return false;
	}
	switch (a->kind) {
	case JSON_NULL:
		return true;
	case JSON_BOOL:
		return a->boolean == b->boolean;
	case JSON_NUMBER:
		return json_number_cmp(json_text(a), json_text(b)) == 0;
	case JSON_STRING:
		return str_eq(json_text(a), json_text(b));
	case JSON_ARRAY:
		return compare_arrays(todo, a, b);
	case JSON_OBJECT:
		return compare_objects(todo, a, b);
	}
	return false;
}

static bool have_same_source(const struct json *a, const struct json *b)
{
	return a && b && a->source.n > 0 && str_eq(a->source, b->source);
}

bool json_equal(const struct json *a, const struct json *b)
{
	if (have_same_source(a, b)) {
		return true;
	}

	_cleanup_(pairs_done) struct pairs todo = {0};
	arena_init(&todo.scratch, SIZE_MAX);
	bool is_equal = true;
	pairs_add(&todo, a, b);
	while (is_equal && todo.n > 0) {
		struct pair pair = todo.v[--todo.n];
		is_equal = compare(&todo, pair.a, pair.b);
	}
	return is_equal;
}
