/* Applying patches in unit tests: what they make of a document, or how they are refused. */
#ifndef TESTS_UNIT_PATCHES_H
#define TESTS_UNIT_PATCHES_H

#include "api/patch/patch.h"
#include "tests/unit/tree.h"

struct attempt {
	enum patch_type type;
	const struct type *schema;
	struct status st;
	struct decode_report report;
	struct json *doc, *result;
};

static inline int attempt_run(struct attempt *t, const char *doc, struct str patch)
{
	struct json *parsed;
	t->doc = parse(doc);
	status_init(&t->st, &arena);
	if (patch_parse(&parsed, t->type, patch, JSON_LIMITS_DEFAULT, &arena, &t->report, &t->st)) {
		return 1;
	}
	struct str before = encoded(parsed);
	int failed = patch_apply(&t->result, t->type, t->doc, parsed, t->schema, &arena, &t->st);

	assert_str(encoded(t->doc), doc);
	assert_true(str_eq(encoded(parsed), before));
	return failed;
}

/* doc must be compact, since it is compared with itself afterwards. */
static inline void expect(
	enum patch_type type, const struct type *schema, const char *doc, const char *patch, const char *expected)
{
	struct attempt t = {.type = type, .schema = schema};
	if (attempt_run(&t, doc, str_of(patch))) {
		fail_msg("%s: refused: %s", patch, t.st.message.p);
	}
	assert_str(encoded(t.result), expected);
}

static inline void expect_refusal(
	enum patch_type type, const struct type *schema, const char *doc, const char *patch, int code, const char *message)
{
	struct attempt t = {.type = type, .schema = schema};
	if (!attempt_run(&t, doc, str_of(patch))) {
		fail_msg("%s: made %s", patch, encoded(t.result).p);
	}
	assert_int_equal(t.st.code, code);
	assert_str(t.st.message, message);
}

#endif
