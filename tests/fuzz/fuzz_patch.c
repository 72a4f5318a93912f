/* Patches applied to documents. The input: a letter for the type (j, m, s), the document, a line feed, the patch. Whatever
 * happens, both stay as they were, and what comes out can be written and read again. */
#include "api/kind.h"
#include "api/patch.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { CEILING = 64 << 20 };

#define CHECK(condition)                                                                        \
	do {                                                                                    \
		if (!(condition)) {                                                             \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                                \
		}                                                                               \
	} while (0)

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

static struct str encoded(struct arena *a, const struct json *j)
{
	_cleanup_(buf_done) struct buf b;
	buf_init(&b, CEILING);
	CHECK(json_encode(&b, j));
	return arena_dup(a, buf_str(&b));
}

static void check_result(struct arena *a, const struct json *result)
{
	struct json *again;
	size_t at;
	int error = json_parse(&again, a, encoded(a, result), JSON_LIMITS_DEFAULT, &at);
	CHECK(error == 0 || error == JSON_E_VALUES || error == JSON_E_FULL);
	CHECK(error || json_equal(result, again));
}

static void apply(enum patch_type type, const struct json *doc, const struct json *patch, struct arena *a)
{
	const struct kind *kind = kind_by_resource(STR("apps"), STR("v1"), STR("controllerrevisions"), true, NULL);
	struct str doc_before = encoded(a, doc), patch_before = encoded(a, patch);
	struct json *result;
	struct status st;
	status_init(&st, a);
	if (patch_apply(&result, type, doc, patch, kind->type, a, &st)) {
		CHECK(st.code >= 400);
		CHECK(st.message.n > 0);
	} else {
		check_result(a, result);
	}
	CHECK(str_eq(encoded(a, doc), doc_before));
	CHECK(str_eq(encoded(a, patch), patch_before));
}

static void run(enum patch_type type, struct str input, struct arena *a)
{
	struct str doc_text, patch_text;
	struct json *doc, *patch;
	struct decode_report report = {0};
	struct status st;
	size_t at;
	status_init(&st, a);
	if (!str_cut(input, '\n', &doc_text, &patch_text) || json_parse(&doc, a, doc_text, JSON_LIMITS_DEFAULT, &at) ||
		!json_is(doc, JSON_OBJECT)) {
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
