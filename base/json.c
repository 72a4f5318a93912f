/* Building and looking. Nodes never move and are never freed singly: all memory is the arena's.
 * What was parsed is frozen by a flag that asserts check, since its text is what gets written
 * back. */
#include "base/json.h"

#include "base/json_index.h"

#include <assert.h>

static struct json *node_new(struct arena *a, enum json_kind kind)
{
	struct json *j = arena_new(a, struct json);
	j->kind = kind;
	return j;
}

struct json *json_null(struct arena *a)
{
	return node_new(a, JSON_NULL);
}

struct json *json_bool(struct arena *a, bool b)
{
	struct json *j = node_new(a, JSON_BOOL);
	j->boolean = b;
	return j;
}

static struct json *text_new(struct arena *a, enum json_kind kind, struct str text)
{
	assert(text.n <= UINT32_MAX);
	struct json *j = node_new(a, kind);
	j->text = text.p;
	j->n = (uint32_t)text.n;
	return j;
}

struct json *json_int(struct arena *a, int64_t n)
{
	return text_new(a, JSON_NUMBER, arena_printf(a, "%lld", (long long)n));
}

struct json *json_number(struct arena *a, struct str lexeme)
{
	return text_new(a, JSON_NUMBER, lexeme);
}

struct json *json_string(struct arena *a, struct str s)
{
	return text_new(a, JSON_STRING, s);
}

struct json *json_array(struct arena *a)
{
	return node_new(a, JSON_ARRAY);
}

struct json *json_object(struct arena *a)
{
	return node_new(a, JSON_OBJECT);
}

static void *dup_array(struct arena *a, const void *from, uint32_t n, size_t size)
{
	return n ? memcpy(arena_alloc(a, n * size), from, n * size) : NULL;
}

struct json *json_copy(struct arena *a, const struct json *j)
{
	struct json *copy = node_new(a, j->kind);
	copy->boolean = j->boolean;
	copy->n = j->n;
	if (j->kind == JSON_ARRAY) {
		copy->items = dup_array(a, j->items, j->n, sizeof(*j->items));
		copy->cap = j->n;
	} else if (j->kind == JSON_OBJECT) {
		copy->members = dup_array(a, j->members, j->n, sizeof(*j->members));
		copy->cap = j->n;
	} else {
		copy->text = j->text;
	}
	return copy;
}

static void assert_changeable(const struct json *j, enum json_kind kind)
{
	assert(j->kind == kind);
	assert(!j->is_frozen);
}

/* The elements again, with room for one more at least; what held them stays in the arena, so capacity doubles. */
static void *make_room(struct arena *a, void *elements, struct json *j, size_t size)
{
	if (j->n < j->cap) {
		return elements;
	}
	assert(j->cap < UINT32_MAX / 2);
	j->cap = MAX(j->cap * 2, 4U);
	void *bigger = arena_alloc(a, j->cap * size);
	if (j->n) {
		memcpy(bigger, elements, j->n * size);
	}
	return bigger;
}

void json_append(struct arena *a, struct json *array, struct json *value)
{
	json_insert(a, array, array->n, value);
}

void json_insert(struct arena *a, struct json *array, uint32_t at, struct json *value)
{
	assert_changeable(array, JSON_ARRAY);
	assert(at <= array->n);
	array->items = make_room(a, array->items, array, sizeof(*array->items));
	memmove(array->items + at + 1, array->items + at, (array->n - at) * sizeof(*array->items));
	array->items[at] = value;
	array->n++;
}

void json_remove_at(struct json *array, uint32_t at)
{
	assert_changeable(array, JSON_ARRAY);
	assert(at < array->n);
	array->n--;
	memmove(array->items + at, array->items + at + 1, (array->n - at) * sizeof(*array->items));
}

void json_add(struct arena *a, struct json *object, struct str name, struct json *value)
{
	assert_changeable(object, JSON_OBJECT);
	object->members = make_room(a, object->members, object, sizeof(*object->members));
	object->members[object->n++] = (struct json_member){name, value};
	if (object->index) {
		json_index_add(a, object);
	}
}

void json_set(struct arena *a, struct json *object, struct str name, struct json *value)
{
	assert_changeable(object, JSON_OBJECT);
	/* A copy comes without an index, and is what patches fill member by member. */
	if (object->n > JSON_INDEX_ABOVE && !object->index) {
		json_index_build(a, object);
	}
	struct json_member *member = json_find(object, name);
	if (member) {
		member->value = value;
	} else {
		json_add(a, object, name, value);
	}
}

void json_add_text(struct arena *a, struct json *object, struct str name, struct str text)
{
	if (text.n > 0) {
		json_add(a, object, name, json_string(a, text));
	}
}

bool json_remove(struct json *object, struct str name)
{
	assert_changeable(object, JSON_OBJECT);
	uint32_t kept = 0;
	for (uint32_t i = 0; i < object->n; i++) {
		if (!str_eq(object->members[i].name, name)) {
			object->members[kept++] = object->members[i];
		}
	}
	bool is_removed = kept < object->n;
	if (is_removed) {
		object->n = kept;
		/* The index counts members by their number, which has changed for all behind the
		 * first that went. */
		object->index = NULL;
	}
	return is_removed;
}

struct json *json_get(const struct json *j, struct str name)
{
	if (!json_is(j, JSON_OBJECT)) {
		return NULL;
	}
	struct json_member *member = json_find(j, name);
	return member ? member->value : NULL;
}

struct json *json_gets(const struct json *j, const char *name)
{
	return json_get(j, str_of(name));
}

const char *json_kind_name(enum json_kind kind)
{
	static const char *const names[] = {
		[JSON_NULL] = "null",
		[JSON_BOOL] = "bool",
		[JSON_NUMBER] = "number",
		[JSON_STRING] = "string",
		[JSON_ARRAY] = "array",
		[JSON_OBJECT] = "object",
	};
	return names[kind];
}

bool json_is(const struct json *j, enum json_kind kind)
{
	return j && j->kind == kind;
}

struct str json_text(const struct json *j)
{
	if (!json_is(j, JSON_STRING) && !json_is(j, JSON_NUMBER)) {
		return (struct str){NULL, 0};
	}
	return (struct str){j->text, j->n};
}

bool json_to_int64(const struct json *j, int64_t *ret)
{
	return json_is(j, JSON_NUMBER) && str_to_int64(json_text(j), ret);
}
