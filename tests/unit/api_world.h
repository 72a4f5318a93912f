/* Objects from texts, for tests of api: parse, decode, print. Everything lives in one arena per test. */
#ifndef TESTS_UNIT_API_WORLD_H
#define TESTS_UNIT_API_WORLD_H

#include "tests/unit/check.h"

#include "api/model/kind.h"

#include <stdlib.h>

struct api_world {
	struct arena a;
	struct status st;
};

static inline int api_world_setup(void **state)
{
	struct api_world *w = mem_new(struct api_world);
	arena_init(&w->a, (size_t)64 << 20);
	status_init(&w->st, &w->a);
	*state = w;
	return 0;
}

static inline int api_world_teardown(void **state)
{
	struct api_world *w = *state;
	arena_done(&w->a);
	mem_free(w);
	return 0;
}

#define API_TEST(f) cmocka_unit_test_setup_teardown(f, api_world_setup, api_world_teardown)

static inline struct json *world_parse(struct api_world *w, const char *text)
{
	struct json *j = NULL;
	size_t at;
	if (json_parse(&j, &w->a, arena_dup(&w->a, str_of(text)), JSON_LIMITS_DEFAULT, &at)) {
		fail_msg("no JSON: %s", text);
	}
	return j;
}

static inline const char *world_print(struct api_world *w, const struct json *j)
{
	struct buf b;
	buf_init(&b, (size_t)64 << 20);
	assert_true(json_encode(&b, j));
	const char *text = arena_dup(&w->a, buf_str(&b)).p;
	buf_done(&b);
	return text;
}

/* Both by value, printing both texts when they differ. */
static inline void world_assert_json(struct api_world *w, const struct json *got, const char *expected)
{
	if (!json_equal(got, world_parse(w, expected))) {
		fail_msg("got      %s\nexpected %s", got ? world_print(w, got) : "nothing", expected);
	}
}

/* Through the version of a path like "apps/v1/controllerrevisions" or "/v1/namespaces". */
static inline const struct kind *world_version(const char *path, const struct version **ret_version)
{
	struct str group, version, rest;
	str_cut(str_of(path), '/', &group, &rest);
	str_cut(rest, '/', &version, &rest);
	const struct kind *k = kind_by_resource(group, version, rest, true, ret_version);
	assert_non_null(k);
	return k;
}

static inline struct object *world_decode(struct api_world *w, const char *path, const char *text)
{
	const struct version *v;
	const struct kind *k = world_version(path, &v);
	struct object *o = NULL;
	struct str error;
	if (object_decode(&o, k, v, world_parse(w, text), NULL, &w->a, NULL, &error)) {
		fail_msg("refused: " STR_FMT, STR_ARG(error));
	}
	return o;
}

#define CR "apps/v1/controllerrevisions"
#define NS "/v1/namespaces"

#endif
