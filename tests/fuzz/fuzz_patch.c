/* Patches applied to documents. The input: a letter for the type (j, m, s), the document, a line feed, the patch. Whatever
 * happens, both stay as they were, what comes out can be written and read again, a merge patch settles, and an
 * object that comes out is like any other. */
#include "api/patch/patch.h"
#include "api/patch/unstructured.h"
#include "tests/fuzz/fuzz.h"

static bool type_of(char letter, enum patch_type *ret)
{
	static const struct {
		char letter;
		enum patch_type type;
	} types[] = {{'j', PATCH_JSON}, {'m', PATCH_MERGE}, {'s', PATCH_STRATEGIC}};
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (types[i].letter == letter) {
			*ret = types[i].type;
			return true;
		}
	}
	return false;
}

static void check_result(struct arena *a, const struct json *result)
{
	struct json *again;
	size_t at;
	int error = json_parse(&again, a, fuzz_encoded(result, a), JSON_LIMITS_DEFAULT, &at);
	CHECK(error == 0 || error == JSON_E_VALUES || error == JSON_E_FULL);
	CHECK(error || json_equal(result, again));
}

/* The document is an object only if it fits its kind. */
static void check_object(enum patch_type type, const struct kind *kind, const struct version *version,
	const struct json *result, struct arena *a)
{
	struct object *o;
	struct str error = {0};
	const struct json *settled = type == PATCH_STRATEGIC ? unstructured_settle(result, kind, version, a) : result;
	if (object_decode(&o, kind, version, settled, NULL, a, NULL, &error)) {
		CHECK(error.n > 0);
		return;
	}
	fuzz_check_object(o, version, a);
	fuzz_check_validation(o, NULL, a);
}

/* A list that replaces an object keeps nulls that go when the list is replaced (api/patch/patch_json.c): the second time settles it. */
static void check_merged(const struct json *result, const struct json *patch, struct arena *a)
{
	struct json *again, *settled;
	struct status st;
	status_init(&st, a);
	CHECK(patch_merge(&settled, result, patch, a, &st) == 0);
	CHECK(patch_merge(&again, settled, patch, a, &st) == 0);
	CHECK(arena_is_full(a) || json_equal(again, settled));
}

static void apply(enum patch_type type, const struct json *doc, const struct json *patch, struct arena *a)
{
	const struct version *version;
	const struct kind *kind = fuzz_kind_of(doc, &version);
	struct str doc_before = fuzz_encoded(doc, a), patch_before = fuzz_encoded(patch, a);
	struct json *result;
	struct status st;
	status_init(&st, a);
	if (patch_apply(&result, type, doc, patch, version_type(kind, version), a, &st)) {
		CHECK(st.code >= 400);
		CHECK(st.message.n > 0);
	} else {
		check_result(a, result);
		check_object(type, kind, version, result, a);
		if (type == PATCH_MERGE) {
			check_merged(result, patch, a);
		}
	}
	CHECK(str_eq(fuzz_encoded(doc, a), doc_before));
	CHECK(str_eq(fuzz_encoded(patch, a), patch_before));
}

static void run(enum patch_type type, struct str input, struct arena *a)
{
	struct str doc_text, patch_text;
	struct decode_report report = {0};
	struct json *patch;
	struct status st;
	status_init(&st, a);
	const struct json *doc = str_cut(input, '\n', &doc_text, &patch_text) ? fuzz_parse(doc_text, a) : NULL;
	if (!json_is(doc, JSON_OBJECT)) {
		return;
	}
	if (patch_parse(&patch, type, patch_text, JSON_LIMITS_DEFAULT, a, &report, &st)) {
		CHECK(st.code == 400 || st.code == 413);
		return;
	}
	CHECK(report.n_strict <= 100);
	apply(type, doc, patch, a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	enum patch_type type;
	if (n == 0 || !type_of((char)data[0], &type)) {
		return 0;
	}
	struct arena a;
	arena_init(&a, CEILING);
	run(type, (struct str){(const char *)data + 1, n - 1}, &a);
	arena_done(&a);
	return 0;
}
