/* Whatever a client calls YAML: the JSON made of it is valid, and written as YAML it reads back as the same value. */
#include "base/yaml.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(bool ok)
{
	if (!ok) {
		abort();
	}
}

static struct json *parse(struct str text, struct arena *a)
{
	struct json *j;
	size_t at;

	check(json_parse(&j, a, text, (struct json_limits){.depth = 64, .values = SIZE_MAX}, &at) == 0);
	return j;
}

static bool has_line_separator(struct str json)
{
	return str_contains(json, STR("\\u2028")) || str_contains(json, STR("\\u2029")) || str_contains(json, STR("\xc2\x85"));
}

/* libyaml folds the line separators of single-quoted scalars. */
static void check_round_trip(struct str json, struct arena *a)
{
	struct json *j = parse(json, a);
	struct buf yaml, again;
	struct str error;

	buf_init(&yaml, 16 << 20);
	buf_init(&again, 16 << 20);
	if (!has_line_separator(json) && yaml_from_json(&yaml, j)) {
		check(yaml_to_json(&again, buf_str(&yaml), YAML_LIMITS_DEFAULT, a, &error, NULL) == 0);
		check(json_equal(j, parse(buf_str(&again), a)));
	}
	buf_done(&yaml);
	buf_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct str error, repeated;
	struct arena arena;
	struct buf json;

	arena_init(&arena, 32 << 20);
	buf_init(&json, 1 << 20);
	if (!yaml_to_json(&json, (struct str){(const char *)data, n}, (struct yaml_limits){.depth = 32, .values = 10000},
		    &arena, &error, &repeated)) {
		check_round_trip(buf_str(&json), &arena);
	} else {
		check(error.n > 0);
	}
	buf_done(&json);
	arena_done(&arena);
	return 0;
}
