#include "client/store.h"
#include "tests/unit/check.h"

static struct item *make(const char *namespace, const char *name, const char *uid, unsigned version)
{
	_cleanup_(mem_freep) char *text =
		mem_printf("{\"metadata\":{\"namespace\":\"%s\",\"name\":\"%s\",\"uid\":\"%s\",\"resourceVersion\":\"%u\"}}",
			namespace, name, uid, version);
	struct item *i = item_new(str_of(text), NULL);
	assert_non_null(i);
	return i;
}

/* Puts it and lets go of it. What was there before is let go of, too; whether there was. */
static bool put(struct store *s, struct item *i)
{
	struct item *old = NULL;
	assert_true(store_put(s, i, &old));
	item_unref(i);
	bool was_there = old;
	item_unref(old);
	return was_there;
}

static void assert_version(struct item *i, uint64_t version)
{
	assert_non_null(i);
	assert_int_equal(i->version, version);
	item_unref(i);
}

static void test_store__finds_by_name_and_by_uid(void **state _unused_)
{
	struct store s;
	store_init(&s, 10);
	assert_false(put(&s, make("ns", "a", "u1", 1)));
	assert_false(put(&s, make("", "a", "u2", 2)));
	assert_version(store_get(&s, STR("ns"), STR("a")), 1);
	assert_version(store_get(&s, STR(""), STR("a")), 2);
	assert_version(store_get_by_uid(&s, STR("u2")), 2);
	assert_null(store_get(&s, STR("ns"), STR("b")));
	assert_null(store_get_by_uid(&s, STR("u3")));
	assert_int_equal(store_count(&s), 2);
	store_done(&s);
}

static void test_store__new_object_of_a_name_replaces_the_old_uid(void **state _unused_)
{
	struct store s;
	store_init(&s, 10);
	put(&s, make("ns", "a", "u1", 1));
	assert_true(put(&s, make("ns", "a", "u2", 2)));
	assert_null(store_get_by_uid(&s, STR("u1")));
	assert_version(store_get_by_uid(&s, STR("u2")), 2);
	assert_int_equal(store_count(&s), 1);
	store_done(&s);
}

static void test_store__removed_is_gone_from_both(void **state _unused_)
{
	struct store s;
	store_init(&s, 10);
	put(&s, make("ns", "a", "u1", 1));
	assert_version(store_remove(&s, STR("ns"), STR("a")), 1);
	assert_null(store_remove(&s, STR("ns"), STR("a")));
	assert_null(store_get_by_uid(&s, STR("u1")));
	store_done(&s);
}

static void test_store__item_outlives_its_place(void **state _unused_)
{
	struct store s;
	store_init(&s, 10);
	put(&s, make("ns", "a", "u1", 1));
	struct item *mine = store_get(&s, STR("ns"), STR("a"));
	store_done(&s);
	assert_str(mine->name, "a");
	item_unref(mine);
}

static void test_store__is_full_at_its_ceiling(void **state _unused_)
{
	struct store s;
	struct item *old = NULL, *more = make("ns", "b", "u2", 2);
	store_init(&s, 1);
	put(&s, make("ns", "a", "u1", 1));
	assert_false(store_put(&s, more, &old));
	assert_null(store_get_by_uid(&s, STR("u2")));
	assert_true(put(&s, make("ns", "a", "u1", 3)));
	item_unref(more);
	store_done(&s);
}

static void count(void *ctx, struct item *item _unused_)
{
	++*(unsigned *)ctx;
}

static void test_store_each__takes_all_or_one_namespace(void **state _unused_)
{
	struct store s;
	unsigned all = 0, some = 0;
	store_init(&s, 10);
	put(&s, make("x", "a", "u1", 1));
	put(&s, make("x", "b", "u2", 2));
	put(&s, make("y", "a", "u3", 3));
	store_each(&s, STR(""), count, &all);
	store_each(&s, STR("x"), count, &some);
	assert_int_equal(all, 3);
	assert_int_equal(some, 2);
	store_done(&s);
}

static void test_item__needs_a_name_and_a_version(void **state _unused_)
{
	static const char *const refused[] = {"", "[]", "{", "{\"metadata\":{\"name\":\"a\"}}",
		"{\"metadata\":{\"resourceVersion\":\"1\"}}", "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"x\"}}",
		"{\"metadata\":{\"name\":\"a\",\"resourceVersion\":1.5}}"};
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		assert_null(item_new(str_of(refused[i]), i % 2 ? item_managers : NULL));
	}
}

#define WITH(managers) \
	"{\"metadata\":{\"name\":\"a\"," managers "\"resourceVersion\":\"7\",\"deletionTimestamp\":\"x\"},\"data\":1.50}"

static void assert_item(const char *text, const char *const *left_out, const char *expected)
{
	struct item *i = item_new(str_of(text), left_out);
	struct buf encoded;
	buf_init(&encoded, 1 << 20);
	json_encode(&encoded, i->object);
	assert_str(buf_str(&encoded), expected);
	assert_str(i->name, "a");
	assert_int_equal(i->version, 7);
	assert_true(item_is_deleting(i));
	buf_done(&encoded);
	item_unref(i);
}

static void test_item__leaves_out_managers_where_nobody_wants_them(void **state _unused_)
{
	assert_item(WITH("\"managedFields\":[{\"x\": 1}],"), NULL, WITH("\"managedFields\":[{\"x\":1}],"));
	assert_item(WITH("\"managedFields\":[{\"x\": 1}],"), item_managers, WITH("\"managedFields\":null,"));
	assert_item(WITH(""), item_managers, WITH(""));
}

static void test_item__leaves_out_what_it_is_told(void **state _unused_)
{
	static const char *const left_out[] = {"data", "status.none", "spec.b", "metadata.managedFields", "spec.a.x", "kind.no", NULL};
	struct item *i = item_new(STR("{\"kind\":\"K\",\"spec\":{\"a\":{\"x\":[1],\"y\":2},\"b\":7,\"c\":3},"
				      "\"metadata\":{\"managedFields\":[],\"name\":\"a\",\"resourceVersion\":\"7\"},\"data\":\"a long text\"}"),
		left_out);
	struct buf encoded;
	buf_init(&encoded, 1 << 20);
	json_encode(&encoded, i->object);
	assert_str(buf_str(&encoded),
		"{\"kind\":\"K\",\"spec\":{\"a\":{\"x\":null,\"y\":2},\"b\":null,\"c\":3},"
		"\"metadata\":{\"managedFields\":null,\"name\":\"a\",\"resourceVersion\":\"7\"},\"data\":null}");
	buf_done(&encoded);
	item_unref(i);
}

static void test_item__may_be_big(void **state _unused_)
{
	struct buf text;
	buf_init(&text, 1 << 20);
	buf_adds(&text, "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"7\"},\"data\":[0");
	for (unsigned i = 1; i < 20000; i++) {
		buf_printf(&text, ",%u", i);
	}
	buf_adds(&text, "]}");
	struct item *i = item_new(buf_str(&text), NULL);
	assert_int_equal(json_gets(i->object, "data")->n, 20000);
	item_unref(i);
	buf_done(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_store__finds_by_name_and_by_uid),
		TEST(test_store__new_object_of_a_name_replaces_the_old_uid),
		TEST(test_store__removed_is_gone_from_both),
		TEST(test_store__item_outlives_its_place),
		TEST(test_store__is_full_at_its_ceiling),
		TEST(test_store_each__takes_all_or_one_namespace),
		TEST(test_item__needs_a_name_and_a_version),
		TEST(test_item__leaves_out_managers_where_nobody_wants_them),
		TEST(test_item__leaves_out_what_it_is_told),
		TEST(test_item__may_be_big),
	};
	return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
