/* JSON trees: building them, looking into them, comparing them. Nodes never move and are never
 * freed singly: all memory is the arena's. A parsed node is frozen by a flag that asserts check,
 * since its text is what gets written back. */
#include "base/json.h"

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

/* ---- looking up by name ---- */

/* Large objects have an index. Without it a client could send an object of 100,000 members and have
 * each looked up: quadratic work for linear bytes. str_hash() is keyed, so nobody can choose names
 * that collide. */

/* Open addressing over member numbers plus one; 0 is free. Half of it stays free. */
struct json_index {
	uint32_t mask;
	uint32_t n_used;
	uint32_t slots[];
};

static uint32_t *find_slot(const struct json *object, struct json_index *index, struct str name)
{
	uint32_t at = (uint32_t)str_hash(name) & index->mask;
	while (index->slots[at] && !str_eq(object->members[index->slots[at] - 1].name, name)) {
		at = (at + 1) & index->mask;
	}
	return &index->slots[at];
}

static void index_put(const struct json *object, uint32_t member)
{
	uint32_t *slot = find_slot(object, object->index, object->members[member].name);
	object->index->n_used += *slot == 0;
	/* A later member of a name takes over its slot: the last one counts. */
	*slot = member + 1;
}

void json_index_build(struct arena *a, struct json *object)
{
	size_t n_slots = 64;
	while (n_slots < (size_t)object->n * 2 + 2) { /* json_index_add() needs a free slot */
		n_slots *= 2;
	}
	object->index = arena_zalloc(a, sizeof(struct json_index) + n_slots * sizeof(uint32_t));
	object->index->mask = (uint32_t)(n_slots - 1);
	for (uint32_t i = 0; i < object->n; i++) {
		index_put(object, i);
	}
}

void json_index_add(struct arena *a, struct json *object)
{
	if ((size_t)object->index->n_used * 2 > object->index->mask) {
		json_index_build(a, object);
	} else {
		index_put(object, object->n - 1);
	}
}

struct json_member *json_find(const struct json *object, struct str name)
{
	if (object->index) {
		uint32_t slot = *find_slot(object, object->index, name);
		return slot ? &object->members[slot - 1] : NULL;
	}
	for (uint32_t i = object->n; i > 0; i--) {
		if (str_eq(object->members[i - 1].name, name)) {
			return &object->members[i - 1];
		}
	}
	return NULL;
}

/* ---- equality ---- */

/* Equality is exact: "nothing has changed" decides whether a write is made at all, and whether data
 * is immutable. Values count; the order of members and the spelling do not. Work is linear in both
 * trees, and nothing is sorted. */

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

/* ---- numbers ---- */

/* Numbers are compared by their decimal spelling. A double would make 2^53 and 2^53+1 equal, and a
 * big integer of 1e999999999 would be as big as it says. Digits and exponents as text are exact and
 * cost what was sent. */

/* 0.d1d2d3... * 10^(point + exponent), d1 not 0. */
struct decimal {
	int sign;                        /* 0 for zero, whatever else is here */
	const char *digits, *digits_end; /* may contain a '.' */
	int64_t point;
	int exponent_sign;
	struct str exponent; /* digits */
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static void decimal_take_exponent(struct decimal *d, const char *p, const char *end)
{
	d->exponent_sign = 1;
	if (p < end) {
		p++; /* e */
		d->exponent_sign = *p == '-' ? -1 : 1;
		p += !is_digit(*p);
	}
	d->exponent = (struct str){p, (size_t)(end - p)};
}

static struct decimal decimal_of(struct str lexeme)
{
	struct decimal d = {.sign = 1};
	const char *p = lexeme.p, *end = lexeme.p + lexeme.n;
	if (p < end && *p == '-') {
		d.sign = -1;
		p++;
	}

	const char *first = NULL, *dot = NULL;
	for (; p < end && (*p == '.' || is_digit(*p)); p++) {
		if (*p == '.') {
			dot = p;
		} else if (*p != '0' && !first) {
			first = p;
		}
	}
	if (!first) {
		d.sign = 0;
		return d;
	}

	const char *point = dot ? dot : p;
	d.digits = first;
	d.digits_end = p;
	d.point = point > first ? point - first : point - first + 1;
	decimal_take_exponent(&d, p, end);
	return d;
}

/* The digit that counts 10^(column - 1), for columns from longest down to 1; 0 where the number has none. */
static int digit_at(struct str digits, size_t column)
{
	return column <= digits.n ? digits.p[digits.n - column] - '0' : 0;
}

/* a's exponent minus b's, or a bound of the same sign when that is more than the length of any text could outweigh: once the
 * difference of the leading digits is this big, no further digits can bring it back. */
static int64_t exponent_difference(const struct decimal *a, const struct decimal *b)
{
	const int64_t bound = (int64_t)1 << 50;
	int64_t difference = 0;
	for (size_t column = MAX(a->exponent.n, b->exponent.n); column > 0; column--) {
		difference = difference * 10 + a->exponent_sign * digit_at(a->exponent, column) -
			b->exponent_sign * digit_at(b->exponent, column);
		if (difference > bound || difference < -bound) {
			break;
		}
	}
	return difference;
}

/* The digits in turn, without the point, then zeros. */
static int next_digit(const char **p, const char *end)
{
	if (*p < end && **p == '.') {
		++*p;
	}
	return *p < end ? *(*p)++ - '0' : 0;
}

static int compare_digits(const struct decimal *a, const struct decimal *b)
{
	const char *p = a->digits, *q = b->digits;
	while (p < a->digits_end || q < b->digits_end) {
		int difference = next_digit(&p, a->digits_end) - next_digit(&q, b->digits_end);
		if (difference) {
			return difference;
		}
	}
	return 0;
}

static int compare_magnitudes(const struct decimal *a, const struct decimal *b)
{
	int64_t order = exponent_difference(a, b) + a->point - b->point;
	return order ? (order > 0) - (order < 0) : compare_digits(a, b);
}

int json_number_cmp(struct str a, struct str b)
{
	struct decimal x = decimal_of(a), y = decimal_of(b);
	if (x.sign != y.sign || x.sign == 0) {
		return x.sign - y.sign;
	}
	return x.sign * compare_magnitudes(&x, &y);
}
