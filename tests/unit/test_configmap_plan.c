#include "controllers/dependents/configmap_plan.h"

#include "tests/unit/items.h"

#include <string.h>

#define OWNED(uid) ",\"ownerReferences\":[{\"uid\":\"u0\"},{\"uid\":\"" uid "\",\"controller\":true}]"
#define MADE_FROM(sources) ",\"annotations\":{\"annals.dev/made-from\":\"" sources "\"}"
#define MAP(more) "{" META("d", "m", "9", more) "}"

static void test_state__tells_whose_it_is_and_whether_it_means_anything(void **state _unused_)
{
	static const struct {
		const char *configmap, *uid;
		enum place_state state;
	} cases[] = {
		{MAP(OWNED("u")), "u", PLACE_EMPTY},
		{MAP(OWNED("u") MADE_FROM("Provider/p/1")), "u", PLACE_FILLED},
		{MAP(OWNED("other") MADE_FROM("Provider/p/1")), "u", PLACE_TAKEN},
		{MAP(MADE_FROM("Provider/p/1")), "u", PLACE_TAKEN},
		{MAP(",\"ownerReferences\":[{\"uid\":\"u\"}]"), "u", PLACE_TAKEN},
		{MAP(""), "", PLACE_TAKEN},
	};
	struct arena a;
	arena_init(&a, 1 << 20);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(configmap_state(make_json(&a, cases[i].configmap), str_of(cases[i].uid)), cases[i].state);
	}
	arena_done(&a);
}

static void test_sources__are_looked_for_by_kind_name_and_uid(void **state _unused_)
{
	const struct provided p = {&provider_kinds[0], STR("p")}, r = {&provider_kinds[1], STR("r")};
	struct arena a;
	arena_init(&a, 1 << 20);
	const struct json *map = make_json(&a, MAP(MADE_FROM("Provider/p/1 ControllerRevision/r/2")));
	assert_true(configmap_is_made_from(map, &p, STR("1")));
	assert_true(configmap_is_made_from(map, &r, STR("2")));
	assert_false(configmap_is_made_from(map, &p, STR("2")));
	assert_false(configmap_is_made_from(map, &p, STR("")));
	assert_false(configmap_is_made_from(make_json(&a, MAP("")), &p, STR("1")));
	arena_done(&a);
}

static void test_empty__is_owned_and_means_nothing(void **state _unused_)
{
	_cleanup_(item_unrefp) struct item *d = make_item(DEPENDENT("d", "u", "7", TO_PROVIDER("p")));
	_cleanup_(buf_done) struct buf text;
	struct arena a;
	arena_init(&a, 1 << 20);
	buf_init(&text, 1 << 20);
	const struct json *map = configmap_empty(&a, d);
	json_encode(&text, map);
	assert_str(buf_str(&text),
		"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"d\",\"namespace\":\"ns\",\"labels\":{"
		"\"annals.dev/implements\":\"Dependent\"},\"ownerReferences\":[{\"apiVersion\":\"annals.dev/v1\",\"kind\":"
		"\"Dependent\",\"name\":\"d\",\"uid\":\"u\",\"controller\":true,\"blockOwnerDeletion\":true}]}}");
	assert_int_equal(configmap_state(map, STR("u")), PLACE_EMPTY);
	arena_done(&a);
}

static const struct json *fill(struct arena *a, const struct json *map, const struct provision *v, size_t n)
{
	const struct json *filled = NULL;
	_cleanup_(buf_done) struct buf why;
	buf_init(&why, 4096);
	assert_true(configmap_filled(a, map, v, n, &filled, &why));
	return filled;
}

static void test_filled__has_a_key_for_each_and_is_written_once(void **state _unused_)
{
	_cleanup_(item_unrefp) struct item *p = make_item("{" META("p", "1", "5", "") ",\"spec\":{\"data\":{\"a\": 1}}}");
	_cleanup_(item_unrefp) struct item *q = make_item("{" META("q", "3", "5", "") ",\"spec\":{}}");
	_cleanup_(item_unrefp) struct item *r = make_item("{" META("r", "2", "6", "") ",\"data\":{\"b\":[]}}");
	const struct provision v[] = {
		{{&provider_kinds[0], STR("p")}, p}, {{&provider_kinds[0], STR("q")}, q}, {{&provider_kinds[1], STR("r")}, r}};
	_cleanup_(buf_done) struct buf text;
	struct arena a;
	arena_init(&a, 1 << 20);
	buf_init(&text, 1 << 20);
	const struct json *filled = fill(&a, make_json(&a, MAP(OWNED("u"))), v, 3);
	json_encode(&text, json_gets(filled, "data"));
	assert_str(buf_str(&text), "{\"p\":\"{\\\"a\\\":1}\",\"q\":\"{}\",\"revision_r\":\"{\\\"b\\\":[]}\"}");
	assert_str(json_text(json_gets(json_gets(json_gets(filled, "metadata"), "annotations"), CONFIGMAP_MADE_FROM)),
		"Provider/p/1 Provider/q/3 ControllerRevision/r/2");
	assert_int_equal(configmap_state(filled, STR("u")), PLACE_FILLED);
	assert_null(fill(&a, filled, v, 3));
	assert_non_null(fill(&a, filled, v, 1));
	arena_done(&a);
}

static void test_filled__refuses_what_has_no_room(void **state _unused_)
{
	enum { LONG = (1 << 20) + 1, NAME = 250 };
	char *text = mem_alloc(LONG + 256), name[NAME + 1];
	int n = snprintf(text, 256, "{%s,\"spec\":{\"data\":{\"a\":\"", META("p", "1", "5", ""));
	memset(text + n, 'x', LONG);
	memcpy(text + n + LONG, "\"}}}", 5);
	memset(name, 'r', NAME);
	name[NAME] = 0;
	_cleanup_(item_unrefp) struct item *big = make_item(text);
	_cleanup_(item_unrefp) struct item *r = make_item("{" META("r", "2", "6", "") "}");
	const struct provision cases[] = {{{&provider_kinds[0], STR("p")}, big}, {{&provider_kinds[1], str_of(name)}, r}};
	struct arena a;
	arena_init(&a, 8 << 20);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct json *filled = NULL;
		_cleanup_(buf_done) struct buf why;
		buf_init(&why, 4096);
		assert_false(configmap_filled(&a, make_json(&a, MAP("")), &cases[i], 1, &filled, &why));
		assert_true(why.n > 0);
	}
	arena_done(&a);
	mem_free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_state__tells_whose_it_is_and_whether_it_means_anything),
		TEST(test_sources__are_looked_for_by_kind_name_and_uid),
		TEST(test_empty__is_owned_and_means_nothing),
		TEST(test_filled__has_a_key_for_each_and_is_written_once),
		TEST(test_filled__refuses_what_has_no_room),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
