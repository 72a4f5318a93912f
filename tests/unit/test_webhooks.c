#include "delegation/webhooks.h"
#include "tests/unit/api_world.h"
#include "tests/unit/delegation_world.h"

/* Two lists that do not come: nothing is known. */
struct stage {
	struct script *script;
	struct client *client;
	struct webhooks *webhooks;
	struct asker asker;
	struct webhook_question q;
};

static const struct script_step silence[] = {{NULL, SCRIPT_SILENT, 0, NULL, NULL}, {NULL, SCRIPT_SILENT, 0, NULL, NULL}};

static void open_stage(struct stage *s, struct api_world *w, int64_t patience_ms)
{
	struct buf err;
	buf_init(&err, 4096);
	*s = (struct stage){.script = script_start(silence, ARRAY_SIZE(silence))};
	char *url = script_url(s->script);
	assert_int_equal(client_new(&s->client, &(struct client_config){.server = url}, &err), 0);
	s->webhooks = webhooks_new(&(struct webhooks_options){.client = s->client});
	webhooks_start(s->webhooks);
	script_await(s->script, ARRAY_SIZE(silence));
	mem_free(url);
	buf_done(&err);
	s->q = (struct webhook_question){.base = asker_init(&s->asker, patience_ms), .operation = "CREATE", .ns = STR("n")};
	s->q.kind = world_version("annals.dev/v1/controllerrevisions", &s->q.version);
	s->q.object = world_decode(w, "annals.dev/v1/controllerrevisions",
		"{\"kind\":\"ControllerRevision\",\"apiVersion\":\"annals.dev/"
		"v1\",\"metadata\":{\"generateName\":\"a-\"},\"data\":{}}");
}

static void close_stage(struct stage *s)
{
	webhooks_stop(s->webhooks);
	client_stop(s->client);
	webhooks_end(s->webhooks);
	client_free(s->client);
	webhooks_free(s->webhooks);
	asker_done(&s->asker);
	script_stop(s->script);
}

static void test_webhooks__that_are_not_known_may_be_there(void **state)
{
	struct stage s;
	struct buf missing;
	open_stage(&s, *state, LONG_MS);
	buf_init(&missing, 4096);
	assert_true(webhooks_would_ask(s.webhooks, &s.q));
	webhooks_write_missing(s.webhooks, &missing);
	assert_str(buf_str(&missing),
		"the cluster's mutating webhooks are not known yet\nthe cluster's validating webhooks are not known yet\n");
	buf_done(&missing);
	close_stage(&s);
}

static void test_webhooks__that_are_not_known_in_time_refuse(void **state)
{
	struct stage s;
	open_stage(&s, *state, 150);
	if (!webhooks_ask(s.webhooks, &s.q)) {
		asker_await(&s.asker);
	}
	assert_int_equal(s.q.st.code, 403);
	assert_str(s.q.st.message, "controllerrevisions.annals.dev \"a-\" is forbidden: not yet ready to handle request");
	assert_str(s.q.base.failure, "");
	close_stage(&s);
}

static void test_webhooks__that_are_waited_for_when_we_stop_leave_the_question_open(void **state)
{
	struct stage s;
	open_stage(&s, *state, LONG_MS);
	assert_false(webhooks_ask(s.webhooks, &s.q));
	webhooks_stop(s.webhooks);
	asker_await(&s.asker);
	assert_str(s.q.base.failure, "this server is stopping");
	close_stage(&s);
}

static void test_webhooks__are_not_asked_once_we_have_stopped(void **state)
{
	struct stage s;
	open_stage(&s, *state, LONG_MS);
	webhooks_stop(s.webhooks);
	assert_true(webhooks_ask(s.webhooks, &s.q));
	assert_str(s.q.base.failure, "this server is stopping");
	close_stage(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(test_webhooks__that_are_not_known_may_be_there),
		API_TEST(test_webhooks__that_are_not_known_in_time_refuse),
		API_TEST(test_webhooks__that_are_waited_for_when_we_stop_leave_the_question_open),
		API_TEST(test_webhooks__are_not_asked_once_we_have_stopped),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
