/* Our JSON against jansson's. Where jansson accepts, we accept and see the same values; where we accept, jansson does too, but for
 * what it is known to refuse. And what we accept survives copying, encoding, compacting and indenting. */
#include "base/json.h"
#include "tests/fuzz/oracle_json.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* jansson goes 2,048 deep, on the C stack; so does check_same(). */
enum { CEILING = 64 << 20, DEPTH = 2048 };

#define CHECK(condition)                                                                        \
	do {                                                                                    \
		if (!(condition)) {                                                             \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                                \
		}                                                                               \
	} while (0)

static void check_same(const struct json *ours, const struct oracle_value *theirs);

static void check_same_integer(const struct json *ours, const struct oracle_value *theirs)
{
	int64_t n;
	CHECK(json_to_int64(ours, &n));
	CHECK(n == oracle_integer(theirs));
}

static void check_same_real(const struct json *ours, const struct oracle_value *theirs)
{
	CHECK(json_is(ours, JSON_NUMBER));
	_cleanup_(mem_freep) char *lexeme = mem_strndup(json_text(ours).p, json_text(ours).n);
	CHECK(strtod(lexeme, NULL) == oracle_real(theirs));
}

static void check_same_string(const struct json *ours, const struct oracle_value *theirs)
{
	struct str text = {NULL, 0};
	text.p = oracle_string(theirs, &text.n);
	CHECK(json_is(ours, JSON_STRING));
	CHECK(str_eq(json_text(ours), text));
}

static void check_same_array(const struct json *ours, const struct oracle_value *theirs)
{
	CHECK(json_is(ours, JSON_ARRAY));
	CHECK(ours->n == oracle_count(theirs));
	for (uint32_t i = 0; i < ours->n; i++) {
		check_same(ours->items[i], oracle_item(theirs, i));
	}
}

static void check_same_object(const struct json *ours, const struct oracle_value *theirs)
{
	uint32_t n_names = 0;
	CHECK(json_is(ours, JSON_OBJECT));
	for (uint32_t i = 0; i < ours->n; i++) {
		struct str name = ours->members[i].name;
		if (json_get(ours, name) == ours->members[i].value) { /* jansson keeps the last of a name */
			check_same(ours->members[i].value, oracle_member(theirs, name.p, name.n));
			n_names++;
		}
	}
	CHECK(n_names == oracle_count(theirs));
}

static void check_same(const struct json *ours, const struct oracle_value *theirs)
{
	CHECK(theirs);
	switch (oracle_kind(theirs)) {
	case ORACLE_NULL:
		CHECK(json_is(ours, JSON_NULL));
		break;
	case ORACLE_BOOL:
		CHECK(json_is(ours, JSON_BOOL) && ours->boolean == oracle_bool(theirs));
		break;
	case ORACLE_INTEGER:
		check_same_integer(ours, theirs);
		break;
	case ORACLE_REAL:
		check_same_real(ours, theirs);
		break;
	case ORACLE_STRING:
		check_same_string(ours, theirs);
		break;
	case ORACLE_ARRAY:
		check_same_array(ours, theirs);
		break;
	case ORACLE_OBJECT:
		check_same_object(ours, theirs);
		break;
	}
}

static struct json *parse_again(struct arena *a, const struct buf *text)
{
	struct json *j;
	size_t at;
	CHECK(!text->is_over);
	CHECK(json_parse(&j, a, buf_str(text), (struct json_limits){DEPTH, SIZE_MAX}, &at) == 0);
	return j;
}

/* compact is what json_compact() made of the text. */
static void check_indented(struct str text, const struct buf *compact)
{
	_cleanup_(buf_done) struct buf indented, again;
	buf_init(&indented, CEILING);
	buf_init(&again, CEILING);
	if (json_indent(&indented, text, 1)) {
		CHECK(json_compact(&again, buf_str(&indented)));
		CHECK(str_eq(buf_str(&again), buf_str(compact)));
	}
}

static void check_written(struct arena *a, const struct json *j, struct str text)
{
	_cleanup_(buf_done) struct buf compact, encoded, built;
	buf_init(&compact, CEILING);
	buf_init(&encoded, CEILING);
	buf_init(&built, CEILING);

	CHECK(json_compact(&compact, text));
	CHECK(json_encode(&encoded, j));
	CHECK(str_eq(buf_str(&compact), buf_str(&encoded)));
	CHECK(json_encode(&built, json_copy(a, j)));
	CHECK(json_equal(parse_again(a, &encoded), j));
	CHECK(json_equal(parse_again(a, &built), j));
	check_indented(text, &compact);
}

/* jansson swallows a NUL behind a token. */
static bool has_nul(struct str text)
{
	return text.n > 0 && memchr(text.p, '\0', text.n);
}

static void check_verdict(const struct json *ours, enum oracle_verdict verdict, const struct oracle_value *theirs, struct str text)
{
	if (ours && theirs) {
		check_same(ours, theirs);
	} else if (ours) {
		CHECK(verdict == ORACLE_CANNOT);
	} else if (theirs) {
		CHECK(has_nul(text));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct str text = {(const char *)data, n};
	_cleanup_(arena_done) struct arena a;
	arena_init(&a, CEILING);
	struct json *ours = NULL;
	size_t at = 0;
	int r = json_parse(&ours, &a, text, (struct json_limits){DEPTH, SIZE_MAX}, &at);
	if (r) {
		CHECK(at <= n);
		CHECK(*json_error_text(&a, r, text, at));
	} else {
		check_written(&a, ours, text);
	}

	struct oracle_value *theirs;
	enum oracle_verdict verdict = oracle_parse(&theirs, data, n);
	check_verdict(ours, verdict, theirs, text);
	oracle_free(theirs);
	return 0;
}
