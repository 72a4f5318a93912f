/* What Kubernetes' unit tests of schemas ask its code, and what it answers: schemas.jsonl, made by tests/cluster/schemas/record.py.
 *
 * With a file as argument, its lines are replayed: tests/cluster/schemas/random makes them of random schemas and objects. Errors are
 * compared as sets, since Go's maps have no order. */
#include "api/model/kind.h"
#include "api/schema/crd.h"
#include "api/schema/instance.h"
#include "tests/unit/tree.h"

#include <stdlib.h>

static const char *vectors;
static const struct spot top = {.kind = SPOT_ROOT};

static bool flag(const struct json *row, const char *name)
{
	const struct json *j = json_gets(row, name);
	return json_is(j, JSON_BOOL) && j->boolean;
}

static struct str show(const struct json *j)
{
	return j ? encoded(schema_normal((struct json *)j, &arena)) : STR("nothing");
}

/* "path: Invalid value: ..." of each error, sorted, one a line. */
static struct str show_errors(const struct field_errors *errors)
{
	if (!errors->n) {
		return STR("");
	}
	struct status st;
	struct str *texts = arena_array(&arena, struct str, errors->n + 1);
	_cleanup_(buf_done) struct buf out;
	status_init(&st, &arena);
	status_invalid(&st, STR(""), STR("K"), STR("n"), errors);
	for (size_t i = 0; i < st.n_causes; i++) {
		texts[i] =
			arena_printf(&arena, STR_FMT ": " STR_FMT, STR_ARG(st.causes[i].field), STR_ARG(st.causes[i].message));
	}
	str_sort(texts, st.n_causes);
	buf_init(&out, TEXT_MAX);
	for (size_t i = 0; i < st.n_causes; i++) {
		if (i == 0 || !str_eq(texts[i], texts[i - 1])) {
			buf_add_str(&out, texts[i]);
			buf_addc(&out, '\n');
		}
	}
	return arena_dup(&arena, buf_str(&out));
}

static struct str show_texts(const struct json *list)
{
	_cleanup_(buf_done) struct buf out;
	uint32_t n = list && list->kind == JSON_ARRAY ? list->n : 0;
	struct str *texts = arena_array(&arena, struct str, n + 1);
	for (uint32_t i = 0; i < n; i++) {
		texts[i] = json_text(list->items[i]);
	}
	str_sort(texts, n);
	buf_init(&out, TEXT_MAX);
	for (uint32_t i = 0; i < n; i++) {
		if (i == 0 || !str_eq(texts[i], texts[i - 1])) {
			buf_add_str(&out, texts[i]);
			buf_addc(&out, '\n');
		}
	}
	return arena_dup(&arena, buf_str(&out));
}

static struct patterns patterns;

/* Structural schemas of tests have no JSON for "no schema". */
static const struct node *read_schema(const struct json *row, struct str *ret_error)
{
	static const struct node none;
	const struct json *schema = json_gets(row, "schema");
	struct node_reader reader = {.arena = &arena, .patterns = &patterns};
	if (!schema || schema->kind == JSON_NULL) {
		return &none;
	}
	const struct node *n = node_read(&reader, schema);
	*ret_error = reader.error;
	return n;
}

/* What is different, or an empty text. */
static struct str differs(const char *what, struct str got, struct str wanted)
{
	return str_eq(got, wanted)
		? (struct str){0}
		: arena_printf(&arena, "%s\n got:    " STR_FMT "\n wanted: " STR_FMT "\n", what, STR_ARG(got), STR_ARG(wanted));
}

static struct str replay_unknown(const struct json *row, struct str *found, size_t n)
{
	struct json *list = json_array(&arena);
	for (size_t i = 0; i < n; i++) {
		struct str head, tail;
		if (str_cut(found[i], '"', &head, &tail) && tail.n) {
			json_append(&arena, list, json_string(&arena, (struct str){tail.p, tail.n - 1}));
		}
	}
	return differs("unknown fields", show_texts(list), show_texts(json_gets(row, "unknown")));
}

static struct str replay_change(const struct json *row, const struct node *n, struct str op, struct json *in)
{
	struct json *out = in;
	struct str error = {0}, wrong;
	struct decode_report report = {0};
	if (str_is(op, "prune")) {
		out = node_prune(n, in, flag(row, "root"), &arena, &report);
	} else if (str_is(op, "default")) {
		out = node_default(n, in, &arena);
	} else if (str_is(op, "nulls")) {
		out = node_drop_nulls(n, in, &arena);
	} else {
		struct field_errors errors;
		field_errors_init(&errors, &arena);
		out = node_coerce(n, in, flag(row, "root"), flag(row, "drops"), &top, &arena, &report, &errors);
		error = errors.n ? field_error_text(&errors.v[0], &arena) : error;
		wrong = differs("error", error, json_text(json_gets(row, "error")));
		if (wrong.n || error.n) {
			return wrong;
		}
	}
	wrong = differs("object", show(out), show(json_gets(row, "out")));
	return wrong.n || !flag(row, "tracked") ? wrong : replay_unknown(row, report.strict, report.n_strict);
}

static struct str replay_errors(const struct json *row, const struct node *n, struct str op, const struct json *in)
{
	struct field_errors errors;
	const struct json *old = json_gets(row, "old");
	struct str path = json_text(json_gets(row, "path"));
	const struct spot below = {.name = path, .kind = path.n ? SPOT_MEMBER : SPOT_ROOT};
	field_errors_init(&errors, &arena);
	if (str_is(op, "values")) {
		value_validate(n, in, flag(row, "ratchets") ? old : NULL, path, &errors);
	} else if (str_is(op, "embedded")) {
		value_validate_embedded(n, in, flag(row, "root"), &top, &errors);
	} else {
		assert_true(str_is(op, "lists"));
		value_validate_lists(n, in, &below, &errors);
	}
	return differs("errors", show_errors(&errors), show_texts(json_gets(row, "errors")));
}

/* Is the error one of metadata, or of what a rule says? The first are judged elsewhere, and rules are not evaluated. */
static bool is_beyond(struct str error)
{
	static const char *const rules[] = {"].rule: Invalid", "].rule: Forbidden", "].messageExpression: Invalid",
		"].messageExpression: Forbidden", "].optionalOldSelf: ", "failed rule: ", "estimated rule cost",
		"rule: Required value: ", "evaluating rule: "};
	bool is_metadata = str_starts(error, STR("metadata.")) && !str_contains(error, STR("spec.names.plural")) &&
		!str_starts(error, STR("metadata.annotations["));
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		if (str_contains(error, str_of(rules[i])) && !str_contains(error, STR("rule is not specified"))) {
			return true;
		}
	}
	return is_metadata;
}

static struct json *within(const struct json *errors)
{
	struct json *kept = json_array(&arena);
	for (uint32_t i = 0; json_is(errors, JSON_ARRAY) && i < errors->n; i++) {
		if (!is_beyond(json_text(errors->items[i]))) {
			json_append(&arena, kept, errors->items[i]);
		}
	}
	return kept;
}

static struct str replay_definition(const struct json *row)
{
	static const struct kind kind = {.kind = "CustomResourceDefinition"};
	struct field_errors errors;
	struct json *old = json_gets(row, "old");
	struct object *o = object_from_hub(&kind, json_gets(row, "in"), &arena);
	field_errors_init(&errors, &arena);
	if (old) {
		crd_validate_update(o, object_from_hub(&kind, old, &arena), &errors);
	} else {
		crd_validate(o, &errors);
	}
	return differs("errors", show_errors(&errors), show_texts(within(json_gets(row, "errors"))));
}

/* Returns how the answer differs, or an empty text. */
static struct str replay(const struct json *row)
{
	struct str op = json_text(json_gets(row, "op")), error = {0};
	struct json *in = json_gets(row, "in");
	static const char *const changes[] = {"prune", "default", "nulls", "coerce"};
	if (str_is(op, "crd")) {
		return replay_definition(row);
	}
	const struct node *n = read_schema(row, &error);
	if (error.n) {
		return error;
	}
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		if (str_is(op, changes[i])) {
			return replay_change(row, n, op, in);
		}
	}
	return replay_errors(row, n, op, in);
}

static void test_vectors__same_answers(void **state _unused_)
{
	FILE *file = fopen(vectors, "r");
	char *line = NULL;
	size_t cap = 0, n = 0, n_wrong = 0;
	ssize_t length;
	assert_non_null(file);
	while ((length = getline(&line, &cap, file)) > 0) {
		struct json *row;
		size_t at;
		assert_int_equal(
			json_parse(&row, &arena, (struct str){line, (size_t)length}, (struct json_limits){2000, 10000000}, &at),
			0);
		struct str wrong = replay(row);
		if (wrong.n) {
			n_wrong++;
			fprintf(stderr, "line %zu: " STR_FMT " %.*s\n", n + 1, STR_ARG(wrong), (int)MIN(length, 3000), line);
		}
		n++;
		patterns_done(&patterns); /* they lie in the arena */
		arena_clear(&arena);
	}
	free(line);
	fclose(file);
	assert_true(n > 0);
	if (n_wrong) {
		fail_msg("%zu of %zu answers differ", n_wrong, n);
	}
}

int main(int argc, char **argv)
{
	vectors = argc > 1 ? argv[1] : VECTORS;
	const struct CMUnitTest tests[] = {
		TEST_TREE(test_vectors__same_answers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
