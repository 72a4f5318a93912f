#include "api/diff/hunks.h"
#include "api/diff/pointer.h"
#include "base/yaml.h"
#include "tests/unit/check.h"
#include "tests/unit/check_arena.h"

static struct json *parse(struct arena *a, const char *text)
{
	struct json *j;
	size_t at;
	assert_int_equal(json_parse(&j, a, str_of(text), JSON_LIMITS_DEFAULT, &at), 0);
	return j;
}

static struct json *hunks_of(struct arena *a, const struct json *from, const struct json *to, uint32_t context)
{
	struct buf out;
	buf_init(&out, HUNKS_ANSWER_MAX);
	const struct hunks h = {from, to, STR("old"), STR("new"), context};
	assert_int_equal(hunks_write(&out, &h), 0);
	struct json *hunks = parse(a, arena_dup(a, buf_str(&out)).p);
	buf_done(&out);
	return hunks;
}

static void assert_hunks(struct arena *a, const char *from, const char *to, uint32_t context, const char *expected)
{
	struct buf text;
	buf_init(&text, 1 << 20);
	json_encode(&text, json_gets(hunks_of(a, parse(a, from), parse(a, to), context), "hunks"));
	assert_str(arena_dup(a, buf_str(&text)), expected);
	buf_done(&text);
}

#define LINE(op, text, path) "{\"op\":\"" op "\",\"text\":\"" text "\",\"path\":\"" path "\"}"

static void test_hunks__name_the_value_of_each_line(void **state)
{
	assert_hunks(*state, "{\"spec\":{\"replicas\":2,\"l\":[{\"n\":\"a\",\"v\":1}]}}",
		"{\"spec\":{\"replicas\":3,\"l\":[{\"n\":\"a\",\"v\":1},{\"n\":\"b\",\"v\":[[]]}]}}", 2,
		"[{\"from\":3,\"to\":3,\"lines\":[" LINE(" ", "  - \\\"n\\\": a", "/spec/l/0/n") "," LINE(
			" ", "    v: 1", "/spec/l/0/v") "," LINE("-", "  replicas: 2", "/spec/replicas") "," LINE("+",
			"  - \\\"n\\\": b", "/spec/l/1/n") "," LINE("+", "    v:", "/spec/l/1/v") "," LINE("+", "    - []",
			"/spec/l/1/v/0") "," LINE("+", "  replicas: 3", "/spec/replicas") "]}]");
	assert_hunks(
		*state, "{}", "[]", 3, "[{\"from\":1,\"to\":1,\"lines\":[" LINE("-", "{}", "") "," LINE("+", "[]", "") "]}]");
	assert_hunks(*state, "{\"a~/b\":{\"\":1}}", "{\"a~/b\":{\"\":2}}", 0,
		"[{\"from\":2,\"to\":2,\"lines\":[" LINE("-", "  \\\"\\\": 1", "/a~0~1b/") "," LINE(
			"+", "  \\\"\\\": 2", "/a~0~1b/") "]}]");
}

/* Each line of a text of several lines is about that text. */
static void test_hunks__name_the_value_of_lines_of_texts(void **state)
{
	assert_hunks(*state, "{\"a\":{\"f\":\"1\\n\\n- x: 2\\n\"},\"b\":[\"p\\nq\"]}",
		"{\"a\":{\"f\":\"1\\n\\n- x: 3\\n\"},\"b\":[\"p\\nq\"]}", UINT32_MAX,
		"[{\"from\":1,\"to\":1,\"lines\":[" LINE(" ", "a:", "/a") "," LINE(" ", "  f: |", "/a/f") "," LINE(
			" ", "    1", "/a/f") "," LINE(" ", "", "/a/f") "," LINE("-", "    - x: 2", "/a/f") "," LINE("+",
			"    - x: 3", "/a/f") "," LINE(" ", "b:", "/b") "," LINE(" ", "- |-", "/b/0") "," LINE(" ", "  p",
			"/b/0") "," LINE(" ", "  q", "/b/0") "]}]");
}

static void test_hunks__of_equal_values_are_none(void **state)
{
	struct json *hunks =
		hunks_of(*state, parse(*state, "{\"b\":1,\"a\":1.0}"), parse(*state, "{\"a\":1,\"b\":1e0}"), UINT32_MAX);
	assert_int_equal(json_gets(hunks, "hunks")->n, 0);
	assert_str(json_text(json_gets(hunks, "kind")), "Hunks");
	assert_str(json_text(json_gets(hunks, "apiVersion")), "annals.dev/v1");
	assert_str(json_text(json_gets(hunks, "from")), "old");
	assert_str(json_text(json_gets(hunks, "to")), "new");
	assert_str(json_text(json_gets(hunks, "fromLines")), "2");
}

static void test_hunks__of_nothing_are_all_lines(void **state)
{
	struct json *hunks = hunks_of(*state, NULL, parse(*state, "{\"a\":1}"), 3), *hunk = json_gets(hunks, "hunks")->items[0];
	assert_str(json_text(json_gets(hunks, "fromLines")), "0");
	assert_str(json_text(json_gets(hunk, "from")), "1");
	assert_str(json_text(json_gets(json_gets(hunk, "lines")->items[0], "op")), "+");
	assert_int_equal(json_gets(hunks_of(*state, NULL, NULL, 3), "hunks")->n, 0);
}

static void test_hunks__have_as_many_lines_around_as_are_wanted(void **state)
{
	static const struct {
		const char *text;
		int64_t context; /* -1: refused */
	} rows[] = {{"", 3}, {"0", 0}, {"7", 7}, {"1000000", 1000000}, {"all", UINT32_MAX}, {"1000001", -1}, {"-1", -1},
		{"3x", -1}, {"ALL", -1}, {"99999999999999999999", -1}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint32_t context;
		bool is_good = hunks_parse_context(str_of(rows[i].text), &context);
		assert_int_equal(is_good ? (int64_t)context : -1, rows[i].context);
	}
	struct json *from = parse(*state, "[1,2,3,4,5,6,7,8,9]"), *to = parse(*state, "[1,2,3,4,0,6,7,8,9]");
	for (uint32_t context = 0; context < 6; context++) {
		struct json *hunk = json_gets(hunks_of(*state, from, to, context), "hunks")->items[0];
		assert_int_equal(json_gets(hunk, "lines")->n, 2 + 2 * MIN(context, 4));
		int64_t begin;
		assert_true(json_to_int64(json_gets(hunk, "from"), &begin));
		assert_int_equal(begin, 5 - MIN(context, 4));
	}
}

/* ---- of any values ---- */

struct maker {
	struct arena *arena;
	uint64_t state;
	unsigned n_made;
	struct buf pointer; /* of the value that is being made */
	struct str *leaves; /* pointers to scalars */
	size_t n_leaves;
};

enum { LEAVES_MAX = 1000 };

static unsigned pick(struct maker *m, unsigned n)
{
	m->state = m->state * 6364136223846793005U + 1442695040888963407U;
	return (unsigned)(m->state >> 33) % n;
}

/* No two are equal. In every style that YAML has: plain, quoted, folded, blocks. But none that changes its style
 * where another one has to be escaped. */
static struct json *make_scalar(struct maker *m)
{
	static const char *const forms[] = {"w%u", "%u", "true %u", "- %u", "%u: x", " %u", "%u ", "#%u", "%u\n%u\n",
		"%u\n\n\n%u", "\n%u\n\n", "  %u\nx%u", "%u\x01", "%u\u2028", "%u\r%u", "%u\t%u", "\"%u", "'%u", "&%u", "*%u",
		"!%u", "%%%u", "? %u", "%u:%u",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa %u bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb ccccccccccccccccccc ddddd %u ee",
		"- aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa %u bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb: cccccccccc ddddd %u ee"};
	unsigned number = m->n_made++;
	struct arena *a = m->arena;
	if (pick(m, 4) == 0) {
		return json_int(a, number);
	}
	char text[256];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(text, sizeof(text), forms[pick(m, ARRAY_SIZE(forms))], number, number);
#pragma GCC diagnostic pop
	return json_string(a, str_of(arena_strdup(a, text)));
}

static struct json *make_value(struct maker *m, unsigned depth);

static struct str make_name(struct maker *m)
{
	static const char *const names[] = {
		"a", "b/c", "~", "", "1", "y", "two\nlines", "k: v", "- x", "\u202e", "? q", "null"};
	unsigned i = pick(m, ARRAY_SIZE(names) + 1);
	if (i == ARRAY_SIZE(names)) {
		return arena_printf(m->arena, "%0200u", pick(m, 10)); /* too long for a line with its value */
	}
	return str_of(names[i]);
}

static void make_child(struct maker *m, struct json *parent, unsigned i, unsigned depth)
{
	size_t length = m->pointer.n;
	if (parent->kind == JSON_ARRAY) {
		char index[POINTER_INDEX_SIZE];
		pointer_push(&m->pointer, pointer_index(index, i));
		json_append(m->arena, parent, make_value(m, depth));
	} else {
		struct str name = make_name(m);
		if (!json_get(parent, name)) {
			pointer_push(&m->pointer, name);
			json_add(m->arena, parent, name, make_value(m, depth));
		}
	}
	buf_truncate(&m->pointer, length);
}

static struct json *make_value(struct maker *m, unsigned depth)
{
	unsigned what = pick(m, 4);
	if (depth == 0 || what < 2) {
		if (m->n_leaves < LEAVES_MAX) {
			m->leaves[m->n_leaves++] = arena_dup(m->arena, buf_str(&m->pointer));
		}
		return make_scalar(m);
	}
	struct json *value = what == 2 ? json_array(m->arena) : json_object(m->arena);
	unsigned n = pick(m, 5);
	for (unsigned i = 0; i < n; i++) {
		make_child(m, value, i, depth - 1);
	}
	return value;
}

static const struct json *resolve(struct arena *a, const struct json *root, struct str pointer)
{
	struct str segment;
	while (root && pointer_shift(&pointer, &segment, a)) {
		root = pointer_step(root, segment);
	}
	return root;
}

/* The same with another value there: copies along the way. */
static struct json *with(struct arena *a, const struct json *root, struct str pointer, struct json *value)
{
	struct str segment;
	uint64_t i;
	if (!pointer_shift(&pointer, &segment, a)) {
		return value;
	}
	struct json *copy = json_copy(a, root), *child = with(a, pointer_step(root, segment), pointer, value);
	if (copy->kind == JSON_ARRAY) {
		assert_true(str_to_uint64(segment, &i));
		copy->items[i] = child;
	} else {
		json_set(a, copy, segment, child);
	}
	return copy;
}

static struct str text_of(struct arena *a, const struct json *value)
{
	struct buf text;
	buf_init(&text, 1 << 20);
	assert_true(yaml_from_json_visible(&text, value));
	struct str copy = arena_dup(a, buf_str(&text));
	buf_done(&text);
	return copy;
}

/* With all lines around there is one hunk, which has both texts. */
static void check_whole(struct arena *a, const struct json *hunks, const struct json *const values[2])
{
	struct buf texts[2];
	buf_init(&texts[0], 1 << 20);
	buf_init(&texts[1], 1 << 20);
	assert_int_equal(hunks->n, 1);
	const struct json *lines = json_gets(hunks->items[0], "lines");
	for (uint32_t i = 0; i < lines->n; i++) {
		struct str op = json_text(json_gets(lines->items[i], "op")),
			   text = json_text(json_gets(lines->items[i], "text"));
		for (size_t k = 0; k < 2; k++) {
			if (op.p[0] == ' ' || op.p[0] == "-+"[k]) {
				buf_printf(&texts[k], STR_FMT "\n", STR_ARG(text));
			}
		}
		/* The value is there in the text that the line is of. */
		struct str path = json_text(json_gets(lines->items[i], "path"));
		assert_non_null(resolve(a, values[op.p[0] != '-'], path));
	}
	for (size_t k = 0; k < 2; k++) {
		assert_true(str_eq(buf_str(&texts[k]), text_of(a, values[k])));
		buf_done(&texts[k]);
	}
}

static struct maker *maker_new(struct arena *a, uint64_t seed)
{
	struct maker *m = arena_new(a, struct maker);
	m->arena = a;
	m->state = seed;
	m->leaves = arena_array(a, struct str, LEAVES_MAX);
	buf_init(&m->pointer, 1 << 20);
	return m;
}

/* Where one value becomes another, the lines that come and go are about that one. */
static void test_hunks__of_one_value_are_about_it(void **state)
{
	struct arena *a = *state;
	unsigned n = 0;
	for (uint64_t seed = 1; seed <= 1500; seed++) {
		struct maker *m = maker_new(a, seed);
		const struct json *from = make_value(m, 4);
		if (m->n_leaves > 0) {
			struct str leaf = m->leaves[pick(m, (unsigned)m->n_leaves)];
			const struct json *to = with(a, from, leaf, make_scalar(m));
			const struct json *hunks = json_gets(hunks_of(a, from, to, UINT32_MAX), "hunks");
			const struct json *const values[] = {from, to};
			check_whole(a, hunks, values);
			const struct json *lines = json_gets(hunks->items[0], "lines");
			for (uint32_t i = 0; i < lines->n; i++) {
				if (!str_is(json_text(json_gets(lines->items[i], "op")), " ")) {
					assert_true(str_eq(json_text(json_gets(lines->items[i], "path")), leaf));
					n++;
				}
			}
		}
		buf_done(&m->pointer);
		arena_clear(a);
	}
	assert_true(n > 3000);
}

static void test_hunks__lead_from_any_value_to_another(void **state)
{
	struct arena *a = *state;
	for (uint64_t seed = 1; seed <= 1000; seed++) {
		struct maker *m = maker_new(a, seed * 1000003);
		const struct json *const values[] = {make_value(m, 4), make_value(m, 4)};
		const struct json *hunks = json_gets(hunks_of(a, values[0], values[1], UINT32_MAX), "hunks");
		if (hunks->n > 0) {
			check_whole(a, hunks, values);
		}
		buf_done(&m->pointer);
		arena_clear(a);
	}
}

/* ---- too much ---- */

static int write_hunks(const struct json *from, const struct json *to)
{
	struct buf out;
	buf_init(&out, HUNKS_ANSWER_MAX);
	int r = hunks_write(&out, &(struct hunks){from, to, STR("old"), STR("new"), 3});
	buf_done(&out);
	return r;
}

/* Little JSON can be much YAML: each line is indented. */
static void test_hunks__refuse_texts_that_are_too_long(void **state)
{
	struct arena *a = *state;
	struct json *value = json_array(a), *member = json_object(a);
	json_add(a, member, STR("m"), json_int(a, 1));
	for (int i = 0; i < 100000; i++) {
		json_append(a, value, member);
	}
	assert_int_equal(write_hunks(value, json_null(a)), 0);
	for (int i = 0; i < 200; i++) {
		struct json *outer = json_object(a);
		json_add(a, outer, STR("d"), value);
		value = outer;
	}
	assert_int_equal(write_hunks(json_null(a), value), HUNKS_TOO_LARGE);
	assert_int_equal(write_hunks(value, json_null(a)), HUNKS_TOO_LARGE);
}

static void test_hunks__refuse_too_many_lines(void **state)
{
	struct arena *a = *state;
	struct buf text;
	buf_init(&text, HUNKS_LINES_MAX + 2);
	for (int i = 0; i <= HUNKS_LINES_MAX; i++) {
		buf_addc(&text, '\n');
	}
	assert_int_equal(write_hunks(json_string(a, buf_str(&text)), json_null(a)), HUNKS_TOO_LARGE);
	assert_int_equal(write_hunks(json_string(a, (struct str){text.p, 1000}), json_null(a)), 0);
	buf_done(&text);
}

/* A long name is in the path of each member below it. */
static void test_hunks__refuse_paths_that_are_too_long(void **state)
{
	struct arena *a = *state;
	struct json *values[2];
	char *name = arena_text(a, 400000);
	memset(name, '/', 400000);
	for (int k = 0; k < 2; k++) {
		struct json *members = json_object(a);
		for (int i = 0; i < 20000; i++) {
			json_add(a, members, arena_printf(a, "m%d", i), json_int(a, k));
		}
		values[k] = json_object(a);
		json_add(a, values[k], (struct str){name, 400000}, members);
	}
	assert_int_equal(write_hunks(values[0], values[1]), HUNKS_TOO_LARGE);
	assert_int_equal(write_hunks(values[0], values[0]), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_hunks__name_the_value_of_each_line, start_arena, free_arena),
		cmocka_unit_test_setup_teardown(test_hunks__name_the_value_of_lines_of_texts, start_arena, free_arena),
		cmocka_unit_test_setup_teardown(test_hunks__of_equal_values_are_none, start_arena, free_arena),
		cmocka_unit_test_setup_teardown(test_hunks__of_nothing_are_all_lines, start_arena, free_arena),
		cmocka_unit_test_setup_teardown(test_hunks__have_as_many_lines_around_as_are_wanted, start_arena, free_arena),
		cmocka_unit_test_setup_teardown(test_hunks__of_one_value_are_about_it, start_arena, free_arena),
		cmocka_unit_test_setup_teardown(test_hunks__lead_from_any_value_to_another, start_arena, free_arena),
		cmocka_unit_test_setup_teardown(test_hunks__refuse_texts_that_are_too_long, start_arena, free_arena),
		cmocka_unit_test_setup_teardown(test_hunks__refuse_too_many_lines, start_arena, free_arena),
		cmocka_unit_test_setup_teardown(test_hunks__refuse_paths_that_are_too_long, start_arena, free_arena),
	};
	return cmocka_run_group_tests_name("hunks", tests, NULL, NULL);
}
