/* Recorders behind a cluster: the rights that they need of who writes them are asked of the cluster, about the object as it would be stored. */
#include "tests/unit/behind_world.h"
#include "tests/unit/http_client.h"

#define RECORDERS "/apis/annals.dev/v1/recorders"
#define RULE(resources) "{\"groups\":[\"\"],\"resources\":[" resources "]}"
#define BODY(resources, more)           \
	"{\"apiVersion\":\"annals.dev/" \
	"v1\",\"kind\":\"Recorder\",\"metadata\":{\"name\":\"r\"},\"spec\":{\"resources\":[" RULE(resources) "]" more "}}"
#define MAPS "\"configmaps\""
#define SECRETS "\"configmaps\",\"secrets\""

struct site {
	struct behind behind;
	struct client client;
	struct delegates delegates;
	struct arena a;
	const char *denied_verb, *denied_resource; /* to everybody */
	bool is_denied_in_namespaces;
	enum namespace_phase phase;
	bool turns_away, answers_late;
	const char *changed; /* what a mutating webhook makes of each object */
	unsigned n_asked, n_webhooks;
};

static bool ask_access(void *ctx, struct access_question *q)
{
	struct site *s = ctx;
	bool is_denied = s->denied_verb && str_is(q->what.verb, s->denied_verb) &&
		str_is(q->what.resource, s->denied_resource) && (q->what.ns.n > 0) == s->is_denied_in_namespaces;
	s->n_asked++;
	q->is_allowed = !is_denied;
	q->base.is_turned_away = s->turns_away && s->n_asked > 2;
	if (s->answers_late) {
		q->base.done(&q->base);
	}
	return !s->answers_late;
}

static bool ask_webhooks(void *ctx, struct webhook_question *q)
{
	struct site *s = ctx;
	struct json *changed;
	size_t at;
	s->n_webhooks += q->phase == WEBHOOKS_VALIDATING;
	if (q->phase == WEBHOOKS_MUTATING && s->changed) {
		struct str text = arena_dup(q->base.arena, str_of(s->changed));
		assert_int_equal(json_parse(&changed, q->base.arena, text, JSON_LIMITS_DEFAULT, &at), 0);
		q->changed = changed;
	}
	return true;
}

static enum namespace_phase phase_of(void *ctx, struct str name _unused_)
{
	return ((struct site *)ctx)->phase;
}

static bool ask_namespace(void *ctx, struct namespace_question *q)
{
	struct site *s = ctx;
	q->phase = s->phase;
	snprintf(q->uid, sizeof(q->uid), "8e4b1c52-9a0f-4f3c-8a55-4c3f6f0a8c11");
	return true;
}

static int site_open(void **state)
{
	struct site *s = mem_new(struct site);
	arena_init(&s->a, 1 << 24);
	s->delegates = (struct delegates){.ctx = s,
		.ask_access = ask_access,
		.ask_webhooks = ask_webhooks,
		.namespace_phase = phase_of,
		.ask_namespace = ask_namespace};
	behind_open(&s->behind, &(struct server_options){.delegates = &s->delegates, .anonymous_auth = true});
	client_open(&s->client, server_port(s->behind.server), NULL);
	*state = s;
	return 0;
}

static int site_close(void **state)
{
	struct site *s = *state;
	client_close(&s->client);
	behind_close(&s->behind);
	arena_done(&s->a);
	mem_free(s);
	return 0;
}

#define SITE_TEST(f) cmocka_unit_test_setup_teardown(f, site_open, site_close)

static void say(struct site *s, const char *method, const char *target, const char *type, const char *body, unsigned status,
	const char *text)
{
	struct answer answer;
	client_send(&s->client,
		arena_printf(&s->a, "%s %s HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n%s", method,
			target, type, strlen(body), body));
	assert_true(client_read_answer(&s->client, &answer));
	if (answer.status != status || !str_contains(buf_str(&answer.body), str_of(text))) {
		fail_msg("%u with \"%s\" was expected, not %u: %.*s", status, text, answer.status,
			STR_ARG(buf_str(&answer.body)));
	}
	answer_clear(&answer);
}

static void make(struct site *s, const char *body, unsigned status, const char *text)
{
	say(s, "POST", RECORDERS, "application/json", body, status, text);
}

static void deny(struct site *s, const char *verb, const char *resource)
{
	s->denied_verb = verb;
	s->denied_resource = resource;
}

#define CANNOT_LIST                                                                                                        \
	"recorders.annals.dev \\\"r\\\" is forbidden: User \\\"system:anonymous\\\" cannot list resource \\\"secrets\\\" " \
	"in API group \\\"\\\" at the cluster scope, which spec.resources[0].resources[1] needs\""

static void test_needs__are_asked_of_the_cluster(void **state)
{
	struct site *s = *state;
	deny(s, "list", "secrets");
	make(s, BODY(SECRETS, ""), 403, CANNOT_LIST);
	s->answers_late = true;
	make(s, BODY(SECRETS, ""), 403, CANNOT_LIST);
	assert_int_equal(s->n_webhooks, 0);
	make(s, BODY(MAPS, ""), 201, "\"salt\"");
	assert_int_equal(s->n_webhooks, 1);
}

static void test_needs__are_those_of_what_webhooks_have_made(void **state)
{
	struct site *s = *state;
	deny(s, "list", "secrets");
	s->changed = BODY(SECRETS, "");
	make(s, BODY(MAPS, ""), 403, CANNOT_LIST);
	s->changed = BODY(MAPS, "");
	make(s, BODY(SECRETS, ""), 201, "configmaps");
}

static void test_needs__of_a_change_are_all_and_of_none_nothing(void **state)
{
	struct site *s = *state;
	make(s, BODY(SECRETS, ""), 201, "");
	deny(s, "list", "secrets");
	say(s, "PATCH", RECORDERS "/r", "application/merge-patch+json", "{\"spec\":{\"historyLimit\":3}}", 403, CANNOT_LIST);
	s->n_asked = 0;
	say(s, "PATCH", RECORDERS "/r", "application/merge-patch+json", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", 200, "");
	say(s, "PATCH", RECORDERS "/r/status", "application/merge-patch+json", "{\"status\":{\"observedGeneration\":3}}", 200,
		"");
	assert_int_equal(s->n_asked, 2); /* for the requests themselves */
}

static void test_needs__showing_secrets_is_a_right_of_its_own(void **state)
{
	struct site *s = *state;
	deny(s, "unredact", "recorders");
	make(s, BODY(MAPS, ",\"secretData\":\"Record\""), 403,
		"User \\\"system:anonymous\\\" cannot unredact resource \\\"recorders\\\" in API group \\\"annals.dev\\\" at "
		"the cluster "
		"scope, which spec.secretData needs");
	make(s, BODY(MAPS, ""), 201, "Redact");
	say(s, "PATCH", RECORDERS "/r", "application/merge-patch+json", "{\"spec\":{\"secretData\":\"Record\"}}", 403,
		"unredact");
	deny(s, "unredact", "others");
	say(s, "PATCH", RECORDERS "/r", "application/merge-patch+json", "{\"spec\":{\"secretData\":\"Record\"}}", 200,
		"Record");
}

/* As many questions as there may be, and none of what is refused for naming more. */
static void test_needs__are_bounded(void **state)
{
	struct site *s = *state;
	struct str list = STR("\"a0\"");
	for (int i = 1; i < 128; i++) {
		list = arena_printf(&s->a, STR_FMT ",\"a%d\"", STR_ARG(list), i);
	}
	struct str body = arena_printf(&s->a, BODY(STR_FMT, ",\"secretData\":\"Record\""), STR_ARG(list));
	make(s, body.p, 201, "a127");
	assert_int_equal(s->n_asked, 1 + 2 * 128 + 1);
	s->n_asked = 0;
	body = arena_printf(&s->a, BODY(STR_FMT ",\"more\"", ""), STR_ARG(list));
	make(s, body.p, 422, "must name at most 128 resources");
	assert_int_equal(s->n_asked, 1);
}

static void test_needs__of_whom_too_much_is_asked_is_no_denial(void **state)
{
	struct site *s = *state;
	s->turns_away = true;
	make(s, BODY(SECRETS, ""), 429, "too many questions about rights");
}

/* ---- recorded states ---- */

#define HISTORIES "/apis/annals.dev/v1/namespaces/n/histories"
#define REVISIONS "/apis/annals.dev/v1/namespaces/n/controllerrevisions"
#define OWNER(kind, name, uid)                                                                          \
	"[{\"apiVersion\":\"annals.dev/v1\",\"kind\":\"" kind "\",\"name\":\"" name "\",\"uid\":\"" uid \
	"\",\"controller\":true}]"
#define REVISION(name, owners)                                                                             \
	"{\"apiVersion\":\"annals.dev/v1\",\"kind\":\"ControllerRevision\",\"metadata\":{\"name\":\"" name \
	"\",\"ownerReferences\":" owners "},\"revision\":1,\"data\":{\"a\":1}}"
#define CANNOT_RECORD                                                                                                  \
	"cannot update resource \\\"histories/status\\\" in API group \\\"annals.dev\\\" in the namespace \\\"n\\\", " \
	"which a state of the History \\\"h\\\" needs"

static void deny_recording(struct site *s, bool is_late)
{
	deny(s, "update", "histories");
	s->is_denied_in_namespaces = true;
	s->answers_late = is_late;
	s->phase = NAMESPACE_ACTIVE;
}

static void post(struct site *s, const char *path, const char *body, unsigned status, const char *text)
{
	say(s, "POST", path, "application/json", body, status, text);
}

static void erase(struct site *s, const char *path, unsigned status, const char *text)
{
	say(s, "DELETE", path, "application/json", "", status, text);
}

static void test_recorded__rights_are_asked_of_the_cluster(void **state)
{
	struct site *s = *state;
	static const char history[] =
		"{\"metadata\":{\"name\":\"h\"},\"spec\":{\"subject\":{\"group\":\"\",\"kind\":\"ConfigMap\",\"name\":\"c\"}}}";
	for (int is_late = 0; is_late < 2; is_late++) {
		deny_recording(s, is_late != 0);
		post(s, REVISIONS, REVISION("r", OWNER("History", "h", "u")), 403, CANNOT_RECORD);
		post(s, REVISIONS "?dryRun=All", REVISION("r", OWNER("History", "h", "u")), 403, CANNOT_RECORD);
	}
	post(s, REVISIONS, REVISION("other", OWNER("Set", "h", "u")), 201, "other");
	erase(s, REVISIONS "/other", 200, "");
	deny(s, NULL, NULL);
	post(s, HISTORIES, history, 201, "");
	post(s, REVISIONS, REVISION("r", OWNER("History", "h", "u")), 201, "");
	deny_recording(s, true);
	erase(s, REVISIONS "/r", 200, ""); /* no History has that uid */
}

static struct str uid_of_history(struct site *s)
{
	struct cached *o = cache_get(s->behind.cache, kind_by_hub(STR("annals.dev"), STR("histories")), STR("n"), STR("h"));
	assert_non_null(o);
	struct str uid = arena_dup(&s->a, o->uid);
	cached_unref(o);
	return uid;
}

static void test_recorded__states_go_with_their_namespace(void **state)
{
	struct site *s = *state;
	s->phase = NAMESPACE_ACTIVE;
	post(s, HISTORIES,
		"{\"metadata\":{\"name\":\"h\"},\"spec\":{\"subject\":{\"group\":\"\",\"kind\":\"ConfigMap\",\"name\":\"c\"}}}",
		201, "");
	struct str uid = uid_of_history(s);
	struct str body = arena_printf(&s->a, REVISION("r", OWNER("History", "h", STR_FMT)), STR_ARG(uid));
	post(s, REVISIONS, body.p, 201, "");
	deny_recording(s, true);
	erase(s, REVISIONS "/r", 403, CANNOT_RECORD);
	erase(s, REVISIONS, 403, CANNOT_RECORD);
	/* By its uid alone. */
	body = arena_printf(&s->a, REVISION("f", OWNER("Set", "s", STR_FMT)), STR_ARG(uid));
	post(s, REVISIONS, body.p, 403, CANNOT_RECORD);
	s->phase = NAMESPACE_TERMINATING;
	erase(s, REVISIONS, 200, "\"r\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SITE_TEST(test_needs__are_asked_of_the_cluster),
		SITE_TEST(test_needs__are_those_of_what_webhooks_have_made),
		SITE_TEST(test_needs__of_a_change_are_all_and_of_none_nothing),
		SITE_TEST(test_needs__showing_secrets_is_a_right_of_its_own),
		SITE_TEST(test_needs__are_bounded),
		SITE_TEST(test_needs__of_whom_too_much_is_asked_is_no_denial),
		SITE_TEST(test_recorded__rights_are_asked_of_the_cluster),
		SITE_TEST(test_recorded__states_go_with_their_namespace),
	};
	return cmocka_run_group_tests_name("write_needs", tests, NULL, NULL);
}
