#include "delegation/namespaces.h"
#include "tests/unit/delegation_world.h"

#define NAMESPACE(name, version, phase)                                                                       \
	"{\"kind\":\"Namespace\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"" version \
	"\",\"labels\":{\"team\":\"a\"},\"managedFields\":[{\"manager\":\"m\"}]},\"status\":{\"phase\":\"" phase "\"}}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define BOOKMARK                                                                                              \
	EVENT("BOOKMARK", "{\"kind\":\"Namespace\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"9\"," \
			  "\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}")

static enum namespace_phase ask(struct scene *s, const char *name, struct buf *why)
{
	struct asker asker;
	struct namespace_question q = {.base = asker_init(&asker, LONG_MS), .name = str_of(name)};
	if (!s->delegates->ask_namespace(s->delegates->ctx, &q)) {
		asker_await(&asker);
	}
	buf_clear(why);
	buf_add_str(why, q.base.failure);
	asker_done(&asker);
	return q.phase;
}

static void test_namespaces__are_asked_live(void **state _unused_)
{
	SCENE(s, LONG_MS, {"GET /api/v1/namespaces/a HTTP/1.1\r\n", SCRIPT_WHOLE, 200, NULL, NAMESPACE("a", "1", "Active")},
		{NULL, SCRIPT_WHOLE, 200, NULL, NAMESPACE("a", "2", "Terminating")},
		{NULL, SCRIPT_WHOLE, 404, NULL, STATUS(404, "NotFound")},
		{"GET /api/v1/namespaces/a%2Fb HTTP/1.1\r\n", SCRIPT_WHOLE, 404, NULL, STATUS(404, "NotFound")});
	struct buf why;
	buf_init(&why, 4096);
	static const enum namespace_phase phases[] = {NAMESPACE_ACTIVE, NAMESPACE_TERMINATING, NAMESPACE_ABSENT};
	for (size_t i = 0; i < ARRAY_SIZE(phases); i++) {
		assert_int_equal(ask(&s, "a", &why), phases[i]);
		assert_str(buf_str(&why), "");
	}
	assert_int_equal(ask(&s, "a/b", &why), NAMESPACE_ABSENT);
	buf_done(&why);
	close_scene(&s);
}

static void test_namespaces__what_is_no_answer_is_a_failure(void **state _unused_)
{
	SCENE(s, LONG_MS, {NULL, SCRIPT_WHOLE, 404, NULL, "404 page not found"},
		{NULL, SCRIPT_WHOLE, 403, NULL, STATUS(403, "Forbidden")}, {NULL, SCRIPT_WHOLE, 200, NULL, "{\"kind\":\"Pod\"}"});
	struct buf why;
	buf_init(&why, 4096);
	ask(&s, "a", &why);
	assert_str(buf_str(&why), "the server could not find the requested resource (get namespaces)");
	ask(&s, "a", &why);
	assert_str(buf_str(&why), "because");
	ask(&s, "a", &why);
	assert_str(buf_str(&why), "the answer cannot be understood");
	ask(&s, "", &why);
	assert_str(buf_str(&why), "this is no name of a namespace");
	buf_done(&why);
	close_scene(&s);
}

/* What follows them, beside a client. */
struct watcher {
	struct script *script;
	struct client *client;
	struct namespaces *namespaces;
};

static void open_watcher(struct watcher *w, const struct script_step *steps, size_t n)
{
	struct buf err;
	buf_init(&err, 4096);
	w->script = script_start(steps, n);
	char *url = script_url(w->script);
	assert_int_equal(client_new(&w->client, &(struct client_config){.server = url}, &err), 0);
	w->namespaces = namespaces_new(&(struct namespaces_options){.client = w->client, .server = ""});
	mem_free(url);
	buf_done(&err);
}

static void close_watcher(struct watcher *w)
{
	namespaces_stop(w->namespaces);
	client_stop(w->client);
	namespaces_end(w->namespaces);
	client_free(w->client);
	namespaces_free(w->namespaces);
	script_stop(w->script);
}

static void await_phase(struct watcher *w, const char *name, enum namespace_phase phase)
{
	int64_t until_ms = clock_mono_ms() + LONG_MS;
	while (namespaces_phase(w->namespaces, str_of(name)) != phase && clock_mono_ms() < until_ms) {
		client_sleep(w->client, 1);
	}
	assert_int_equal(namespaces_phase(w->namespaces, str_of(name)), phase);
}

static void test_namespaces__are_followed(void **state _unused_)
{
	static const struct script_step steps[] = {
		{"sendInitialEvents=true", SCRIPT_HOLD, 200, NULL,
			EVENT("ADDED", NAMESPACE("a", "1", "Active")) EVENT("ADDED", NAMESPACE("b", "2", "Terminating")) BOOKMARK
				EVENT("MODIFIED", NAMESPACE("a", "10", "Terminating"))
					EVENT("DELETED", NAMESPACE("b", "11", "Terminating"))},
	};
	struct watcher w;
	open_watcher(&w, steps, ARRAY_SIZE(steps));
	assert_false(namespaces_are_known(w.namespaces));
	assert_int_equal(namespaces_phase(w.namespaces, STR("a")), NAMESPACE_ABSENT);
	assert_null(namespaces_get(w.namespaces, STR("a")));
	namespaces_start(w.namespaces);
	await_phase(&w, "a", NAMESPACE_TERMINATING);
	await_phase(&w, "b", NAMESPACE_ABSENT);
	assert_true(namespaces_are_known(w.namespaces));

	struct item *item = namespaces_get(w.namespaces, STR("a"));
	assert_str(json_text(json_gets(json_gets(item_meta(item), "labels"), "team")), "a");
	assert_false(json_is(json_gets(item_meta(item), "managedFields"), JSON_ARRAY));
	item_unref(item);
	close_watcher(&w);
}

static void test_namespaces__are_missing_until_listed(void **state _unused_)
{
	struct scene s;
	struct buf out;
	open_scene(&s, LONG_MS, NULL, 0);
	buf_init(&out, 4096);
	s.delegates->write_missing(s.delegates->ctx, &out);
	assert_true(str_contains(buf_str(&out), STR("the cluster's namespaces have not been listed yet\n")));
	buf_done(&out);
	close_scene(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_namespaces__are_asked_live),
		TEST(test_namespaces__what_is_no_answer_is_a_failure),
		TEST(test_namespaces__are_followed),
		TEST(test_namespaces__are_missing_until_listed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
