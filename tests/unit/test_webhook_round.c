#include "delegation/webhook_round.h"
#include "tests/unit/api_world.h"
#include "tests/unit/delegation_world.h"

#define V1 "annals.dev/v1/controllerrevisions"
#define OBJECT                                                          \
	"{\"kind\":\"ControllerRevision\",\"apiVersion\":\"annals.dev/" \
	"v1\",\"metadata\":{\"name\":\"a\"},\"data\":{},\"revision\":1}"
#define ALLOWED "{\"response\":{\"allowed\":true}}"
#define DENIED(message) "{\"response\":{\"allowed\":false,\"status\":{\"message\":\"" message "\"}}}"
/* [{"op":"replace","path":"/revision","value":5}] */
#define CHANGES \
	"{\"response\":{\"allowed\":true,\"patch\":\"W3sib3AiOiJyZXBsYWNlIiwicGF0aCI6Ii9yZXZpc2lvbiIsInZhbHVlIjo1fV0=\"}}"
#define NAMESPACE(label) "{\"kind\":\"Namespace\",\"metadata\":{\"name\":\"n\",\"labels\":{\"a\":\"" label "\"}}}"
#define ABSENT(plural, name)                                                                                        \
	"{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":404,\"reason\":\"NotFound\",\"message\":\"because\"," \
	"\"details\":{\"kind\":\"" plural "\",\"name\":\"" name "\"}}"

/* Webhooks at a server that says what the steps say; those of v1beta1 need not repeat a uid that no test knows. */
struct stage {
	struct api_world *world;
	struct script *script;
	struct client *client;
	struct webhook_means means;
	struct webhook_set *set;
	struct asker asker;
	struct webhook_question q;
	struct user user;
};

static void open_stage(struct stage *s, struct api_world *w, size_t n_hooks, const struct script_step *steps, size_t n)
{
	static const char *const names[] = {"a.example.com", "b.example.com"};
	struct buf err, unheard;
	buf_init(&err, 4096);
	buf_init(&unheard, 4096);
	*s = (struct stage){.world = w, .script = script_start(steps, n), .user = {.name = STR("me")}};
	char *url = script_url(s->script);
	char token[] = "secret";
	assert_int_equal(client_new(&s->client, &(struct client_config){.server = url, .token = token}, &err), 0);
	s->means = (struct webhook_means){.client = s->client, .metrics = webhook_metrics_new()};
	s->set = webhook_set_new(NULL, 0, &unheard);
	struct webhook_rule *all = arena_new(&w->a, struct webhook_rule);
	webhook_rule_read(all,
		world_parse(w, "{\"operations\":[\"*\"],\"apiGroups\":[\"*\"],\"apiVersions\":[\"*\"],\"resources\":[\"*\"]}"),
		&w->a);
	for (size_t i = 0; i < n_hooks; i++) {
		struct webhook *h = &s->set->v[s->set->n++];
		*h = (struct webhook){.name = str_of(names[i]),
			.configuration = STR("c"),
			.index = i,
			.rules = all,
			.n_rules = 1,
			.review_version = "v1beta1",
			.path = STR("/x"),
			.side_effects = SIDE_EFFECTS_NONE_ON_DRY_RUN};
		assert_int_equal(peer_new(&h->peer, str_of(url), NULL, &err), 0);
	}
	mem_free(url);
	buf_done(&unheard);
	buf_done(&err);
	s->q = (struct webhook_question){
		.base = asker_init(&s->asker, LONG_MS), .operation = "CREATE", .ns = STR("n"), .user = &s->user};
	s->q.kind = world_version(V1, &s->q.version);
	s->q.object = world_decode(w, V1, OBJECT);
}

static void close_stage(struct stage *s)
{
	client_free(s->client);
	webhook_metrics_free(s->means.metrics);
	webhook_set_unref(s->set);
	asker_done(&s->asker);
	script_stop(s->script);
}

#define STAGE(s, n_hooks, ...)                             \
	const struct script_step steps_[] = {__VA_ARGS__}; \
	struct stage s;                                    \
	open_stage(&s, *state, n_hooks, steps_, ARRAY_SIZE(steps_))

static void on_end(struct webhook_round *r)
{
	struct webhook_question *q = r->q;
	round_free(r);
	q->base.done(&q->base);
}

static struct webhook_round *begin(struct stage *s, enum webhook_phase phase)
{
	s->q.phase = phase;
	s->q.n_warnings = s->q.n_annotations = 0;
	struct webhook_round *r = round_new(&s->means, &s->q);
	r->set = webhook_set_ref(s->set);
	r->on_end = on_end;
	(phase == WEBHOOKS_MUTATING ? round_mutate : round_validate)(r);
	return r;
}

static const struct webhook_question *ask(struct stage *s, enum webhook_phase phase)
{
	struct webhook_round *r = begin(s, phase);
	if (r->go_on(r)) {
		round_free(r);
	} else {
		asker_await(&s->asker);
	}
	return &s->q;
}

static void assert_annotated(const struct webhook_question *q, const char *key, const char *value)
{
	for (size_t i = 0; i < q->n_annotations; i++) {
		if (str_is(q->annotations[i].key, key)) {
			assert_str(q->annotations[i].value, value);
			return;
		}
	}
	fail_msg("no annotation %s", key);
}

static void assert_counted(struct stage *s, const char *sample)
{
	struct buf out;
	buf_init(&out, 1 << 20);
	webhook_metrics_write(s->means.metrics, &out);
	if (!str_contains(buf_str(&out), str_of(sample))) {
		fail_msg("no %s in %s", sample, out.p);
	}
	buf_done(&out);
}

static void test_mutating__each_sees_what_those_before_have_made(void **state)
{
	STAGE(s, 2, {"\"revision\":1", SCRIPT_WHOLE, 200, NULL, CHANGES}, {"\"revision\":5", SCRIPT_WHOLE, 200, NULL, ALLOWED});
	const struct webhook_question *q = ask(&s, WEBHOOKS_MUTATING);
	assert_int_equal(q->st.code, 0);
	world_assert_json(s.world, json_gets(q->changed, "revision"), "5");
	assert_annotated(q, "mutation.webhook.admission.k8s.io/round_0_index_0",
		"{\"configuration\":\"c\",\"webhook\":\"a.example.com\",\"mutated\":true}");
	assert_annotated(q, "patch.webhook.admission.k8s.io/round_0_index_0",
		"{\"configuration\":\"c\",\"webhook\":\"a.example.com\",\"patch\":[{\"op\":\"replace\",\"path\":\"/"
		"revision\",\"value\":5}],"
		"\"patchType\":\"JSONPatch\"}");
	assert_annotated(q, "mutation.webhook.admission.k8s.io/round_0_index_1",
		"{\"configuration\":\"c\",\"webhook\":\"b.example.com\",\"mutated\":false}");
	assert_int_equal(q->n_annotations, 3);
	close_stage(&s);
}

static void test_mutating__without_a_patch_nothing_has_changed(void **state)
{
	STAGE(s, 1, {"POST /x?timeout=", SCRIPT_WHOLE, 200, NULL, ALLOWED});
	const struct webhook_question *q = ask(&s, WEBHOOKS_MUTATING);
	assert_int_equal(q->st.code, 0);
	assert_null(q->changed);
	assert_counted(&s,
		"apiserver_admission_webhook_request_total{code=\"200\",name=\"a.example.com\",operation=\"CREATE\","
		"rejected=\"false\",type=\"admit\"} 1\n");
	close_stage(&s);
}

static void test_mutating__asks_again_who_wants_to_see_changes(void **state)
{
	STAGE(s, 2, {"\"revision\":1", SCRIPT_WHOLE, 200, NULL, ALLOWED}, {"\"revision\":1", SCRIPT_WHOLE, 200, NULL, CHANGES},
		{"\"revision\":5", SCRIPT_WHOLE, 200, NULL, ALLOWED});
	s.set->v[0].is_reinvocable = s.set->v[1].is_reinvocable = true;
	const struct webhook_question *q = ask(&s, WEBHOOKS_MUTATING);
	world_assert_json(s.world, json_gets(q->changed, "revision"), "5");
	assert_annotated(q, "mutation.webhook.admission.k8s.io/round_1_index_0",
		"{\"configuration\":\"c\",\"webhook\":\"a.example.com\",\"mutated\":false}");
	close_stage(&s);
}

static void test_mutating__a_refusal_is_the_end(void **state)
{
	STAGE(s, 2, {NULL, SCRIPT_WHOLE, 200, NULL, DENIED("no")});
	const struct webhook_question *q = ask(&s, WEBHOOKS_MUTATING);
	assert_int_equal(q->st.code, 400);
	assert_str(q->st.message, "admission webhook \"a.example.com\" denied the request: no");
	assert_counted(&s,
		"apiserver_admission_webhook_rejection_count{error_type=\"no_error\",name=\"a.example.com\","
		"operation=\"CREATE\",rejection_code=\"400\",type=\"admit\"} 1\n");
	close_stage(&s);
}

static void test_mutating__failures_are_passed_over_where_the_policy_says_so(void **state)
{
	STAGE(s, 2, {NULL, SCRIPT_WHOLE, 500, NULL, "{}"}, {NULL, SCRIPT_CUT, 200, NULL, ALLOWED});
	s.set->v[0].ignores_failure = true;
	const struct webhook_question *q = ask(&s, WEBHOOKS_MUTATING);
	assert_annotated(q, "failed-open.mutation.webhook.admission.k8s.io/round_0_index_0", "a.example.com");
	assert_int_equal(q->st.code, 500);
	assert_true(str_starts(q->st.message,
		STR("Internal error occurred: failed calling webhook \"b.example.com\": failed to call webhook: Post "
		    "\"http://127.0.0.1:")));
	assert_counted(&s, "apiserver_admission_webhook_fail_open_count{name=\"a.example.com\",type=\"admit\"} 1\n");
	assert_counted(
		&s, "error_type=\"calling_webhook_error\",name=\"b.example.com\",operation=\"CREATE\",rejection_code=\"503\"");
	close_stage(&s);
}

static void test_mutating__a_deletion_cannot_be_changed(void **state)
{
	STAGE(s, 1, {"\"object\":null,\"oldObject\":{", SCRIPT_WHOLE, 200, NULL, CHANGES});
	s.set->v[0].ignores_failure = true;
	s.q.operation = "DELETE";
	s.q.old = s.q.object;
	s.q.object = NULL;
	const struct webhook_question *q = ask(&s, WEBHOOKS_MUTATING);
	assert_str(q->st.message,
		"Internal error occurred: admission webhook \"a.example.com\" attempted to modify the object, which is not "
		"supported for this operation");
	assert_counted(&s, "error_type=\"apiserver_internal_error\"");
	close_stage(&s);
}

static void test_mutating__objects_go_through_the_version_that_is_wanted(void **state)
{
	STAGE(s, 1, {"\"requestKind\":{\"group\":\"annals.dev\",\"version\":\"v1\"", SCRIPT_WHOLE, 200, NULL, CHANGES});
	s.set->v[0].rules[0].versions.v[0] = STR("v1beta1");
	s.set->v[0].is_equivalent = true;
	const struct webhook_question *q = ask(&s, WEBHOOKS_MUTATING);
	assert_str(json_text(json_gets(q->changed, "apiVersion")), "annals.dev/v1");
	world_assert_json(s.world, json_gets(q->changed, "revision"), "5");
	close_stage(&s);
}

/* [{"op":"replace","path":"/spec/replicas","value":7}] */
#define SCALES                                                                     \
	"{\"response\":{\"allowed\":true,\"patch\":\""                             \
	"W3sib3AiOiJyZXBsYWNlIiwicGF0aCI6Ii9zcGVjL3JlcGxpY2FzIiwidmFsdWUiOjd9XQ==" \
	"\"}}"

static void test_mutating__a_view_is_of_its_own_kind(void **state)
{
	STAGE(s, 1,
		{"\"kind\":{\"group\":\"autoscaling\",\"version\":\"v1\",\"kind\":\"Scale\"},\"resource\":{\"group\":\"annals."
		 "dev\","
		 "\"version\":\"v1beta1\",\"resource\":\"statefulsets\"},\"subResource\":\"scale\",\"requestKind\":{\"group\":"
		 "\"autoscaling\",\"version\":\"v1\",\"kind\":\"Scale\"}",
			SCRIPT_WHOLE, 200, NULL, SCALES});
	s.q.kind = world_version("annals.dev/v1beta1/statefulsets", &s.q.version);
	s.q.subresource = STR("scale");
	s.q.sub = kind_subresource(s.q.kind, NULL, s.q.subresource);
	struct object *set = world_decode(
		s.world, "annals.dev/v1beta1/statefulsets", "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"replicas\":3}}");
	s.q.object = view_show(s.q.sub->view, set, &s.world->a);
	s.set->v[0].rules[0].resources.v[0] = STR("statefulsets/scale");
	const struct webhook_question *q = ask(&s, WEBHOOKS_MUTATING);
	assert_str(json_text(json_gets(q->changed, "kind")), "Scale");
	world_assert_json(s.world, json_gets(q->changed, "spec"), "{\"replicas\":7}");
	close_stage(&s);
}

/* [{"op":"test","path":"/metadata/annotations/annals.dev~1digest","value":the digest of {}}, and what CHANGES does */
#define CHANGES_WHAT_IS_SHOWN                                                                      \
	"{\"response\":{\"allowed\":true,\"patch\":\""                                             \
	"W3sib3AiOiJ0ZXN0IiwicGF0aCI6Ii9tZXRhZGF0YS9hbm5vdGF0aW9ucy9hbm5hbHMuZGV2fjFkaWdlc3QiLCJ2" \
	"YWx1ZSI6ImdqZ21ndG1za3A5N2M3OGNxbGo1bjk1NDhubGQ1ZzJtendkeGNoc3piMmM0Nmh0NTdzbmQ3NiJ9LHsi" \
	"b3AiOiJyZXBsYWNlIiwicGF0aCI6Ii9yZXZpc2lvbiIsInZhbHVlIjo1fV0="                             \
	"\"}}"

static void test_mutating__a_digest_that_a_version_shows_is_shown_and_not_kept(void **state)
{
	STAGE(s, 1, {"\"annals.dev/digest\":\"gjgmgtmskp97", SCRIPT_WHOLE, 200, NULL, CHANGES_WHAT_IS_SHOWN});
	s.set->v[0].rules[0].groups.v[0] = STR("annals.dev");
	s.set->v[0].is_equivalent = true;
	s.q.kind = world_version("apps/v1/controllerrevisions", &s.q.version);
	const struct webhook_question *q = ask(&s, WEBHOOKS_MUTATING);
	assert_non_null(q->changed);
	assert_str(json_text(json_gets(q->changed, "apiVersion")), "apps/v1");
	world_assert_json(s.world, json_gets(q->changed, "revision"), "5");
	assert_null(json_gets(json_gets(q->changed, "metadata"), "annotations"));
	close_stage(&s);
}

static void test_validating__one_refusal_refuses(void **state)
{
	STAGE(s, 2, {NULL, SCRIPT_WHOLE, 200, NULL, ALLOWED}, {NULL, SCRIPT_WHOLE, 200, NULL, DENIED("no")});
	const struct webhook_question *q = ask(&s, WEBHOOKS_VALIDATING);
	assert_int_equal(q->st.code, 400);
	close_stage(&s);
}

/* One that is not even asked, since it cannot do without side effects, refuses before the other one answers. */
static void test_validating__the_first_refusal_counts(void **state)
{
	STAGE(s, 2, {NULL, SCRIPT_WHOLE, 200, NULL, "{\"response\":{\"allowed\":false,\"status\":{\"code\":403}}}"});
	s.q.is_dry_run = true;
	s.set->v[0].side_effects = SIDE_EFFECTS_SOME;
	s.set->v[1].side_effects = SIDE_EFFECTS_NONE_ON_DRY_RUN;
	const struct webhook_question *q = ask(&s, WEBHOOKS_VALIDATING);
	assert_int_equal(q->st.code, 400);
	assert_true(str_ends(q->st.message, STR("does not support dry run")));
	close_stage(&s);
}

static void test_validating__all_are_waited_for(void **state)
{
	STAGE(s, 2, {NULL, SCRIPT_WHOLE, 200, NULL, DENIED("no")},
		{NULL, SCRIPT_WHOLE, 200, NULL,
			"{\"response\":{\"allowed\":true,\"warnings\":[\"take care\"],\"auditAnnotations\":{\"k\":\"v\"}}}"});
	const struct webhook_question *q = ask(&s, WEBHOOKS_VALIDATING);
	assert_int_equal(q->st.code, 400);
	assert_int_equal(q->n_warnings, 1);
	assert_str(q->warnings[0], "take care");
	assert_int_equal(q->n_annotations, 1);
	assert_str(q->annotations[0].value, "v");
	close_stage(&s);
}

static void test_validating__nobody_is_asked_where_nobody_is_meant(void **state)
{
	STAGE(s, 2, {NULL, SCRIPT_WHOLE, 200, NULL, ALLOWED});
	s.set->v[0].objects = (struct webhook_selector){.is_absent = true};
	assert_int_equal(ask(&s, WEBHOOKS_VALIDATING)->st.code, 0);
	close_stage(&s);
}

static void test_webhooks__that_are_silent_are_given_up(void **state)
{
	STAGE(s, 1, {NULL, SCRIPT_MISSED, 0, NULL, NULL});
	s.set->v[0].timeout_s = 1;
	const struct webhook_question *q = ask(&s, WEBHOOKS_VALIDATING);
	assert_int_equal(q->st.code, 500);
	assert_true(str_ends(q->st.message, STR("/x?timeout=1s\": context deadline exceeded")));
	close_stage(&s);
}

static void test_webhooks__are_given_no_more_time_than_the_request_has(void **state)
{
	STAGE(s, 1, {NULL, SCRIPT_MISSED, 0, NULL, NULL});
	s.set->v[0].ignores_failure = true;
	s.q.base.deadline_ms = clock_mono_ms() + 200;
	const struct webhook_question *q = ask(&s, WEBHOOKS_VALIDATING);
	assert_int_equal(q->st.code, 504);
	assert_str(q->st.message, "Timeout: request did not complete within requested timeout");
	close_stage(&s);
}

static void test_webhooks__that_are_asked_when_we_stop_leave_the_question_open(void **state)
{
	STAGE(s, 1, {NULL, SCRIPT_SILENT, 0, NULL, NULL});
	s.set->v[0].ignores_failure = true;
	struct webhook_round *r = begin(&s, WEBHOOKS_VALIDATING);
	assert_false(r->go_on(r));
	script_await(s.script, 1);
	client_stop(s.client);
	asker_await(&s.asker);
	assert_str(s.q.base.failure, "this server is stopping");
	close_stage(&s);
}

static void look_at_namespace(struct stage *s, const char *label)
{
	const char *text = arena_printf(&s->world->a, "{\"matchLabels\":{\"a\":\"%s\"}}", label).p;
	struct str problem;
	label_selector_read(&s->set->v[0].namespaces.labels, world_parse(s->world, text), &s->world->a, &problem);
}

static void test_namespaces__are_asked_for_when_they_are_not_known(void **state)
{
	STAGE(s, 1, {"GET /api/v1/namespaces/n HTTP/1.1", SCRIPT_WHOLE, 200, NULL, NAMESPACE("b")},
		{"POST /x", SCRIPT_WHOLE, 200, NULL, DENIED("no")});
	look_at_namespace(&s, "b");
	assert_int_equal(ask(&s, WEBHOOKS_MUTATING)->st.code, 400);
	close_stage(&s);
}

static void test_namespaces__that_are_not_selected_are_left_alone(void **state)
{
	STAGE(s, 1, {NULL, SCRIPT_WHOLE, 200, NULL, NAMESPACE("c")});
	look_at_namespace(&s, "b");
	assert_int_equal(ask(&s, WEBHOOKS_VALIDATING)->st.code, 0);
	close_stage(&s);
}

static void test_namespaces__that_are_not_there_refuse(void **state)
{
	STAGE(s, 1, {NULL, SCRIPT_WHOLE, 404, NULL, ABSENT("namespaces", "n")});
	look_at_namespace(&s, "b");
	const struct webhook_question *q = ask(&s, WEBHOOKS_VALIDATING);
	assert_int_equal(q->st.code, 404);
	assert_str(q->st.message, "namespaces \"n\" not found");
	close_stage(&s);
}

/* Of a proxy, of a server whose resources are still being registered, or of another object. */
static void test_namespaces__are_not_absent_for_any_404(void **state)
{
	static const char *const texts[] = {"{}", "{\"error\":\"not found\"}", STATUS(404, ""), STATUS(404, "NotFound"),
		ABSENT("namespaces", "m"), ABSENT("pods", "n")};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		STAGE(s, 1, {NULL, SCRIPT_WHOLE, 404, NULL, texts[i]});
		look_at_namespace(&s, "b");
		const struct webhook_question *q = ask(&s, WEBHOOKS_VALIDATING);
		assert_int_equal(q->st.code, 500);
		assert_true(str_starts(q->st.message, STR("Internal error occurred: Get \"/api/v1/namespaces/n\": ")));
		assert_false(str_ends(q->st.message, STR(": ")));
		close_stage(&s);
	}
}

static void test_namespaces__that_cannot_be_asked_for_refuse(void **state)
{
	STAGE(s, 1, {NULL, SCRIPT_WHOLE, 403, NULL, STATUS(403, "Forbidden")});
	look_at_namespace(&s, "b");
	assert_int_equal(ask(&s, WEBHOOKS_VALIDATING)->st.code, 500);
	close_stage(&s);
}

static void test_dry_runs__are_refused_where_there_are_effects(void **state)
{
	STAGE(s, 1, {NULL, SCRIPT_WHOLE, 200, NULL, ALLOWED});
	s.q.is_dry_run = true;
	assert_int_equal(ask(&s, WEBHOOKS_MUTATING)->st.code, 0);
	s.set->v[0].side_effects = SIDE_EFFECTS_SOME;
	const struct webhook_question *q = ask(&s, WEBHOOKS_MUTATING);
	assert_str(q->st.message, "admission webhook \"a.example.com\" does not support dry run");
	close_stage(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(test_mutating__each_sees_what_those_before_have_made),
		API_TEST(test_mutating__without_a_patch_nothing_has_changed),
		API_TEST(test_mutating__asks_again_who_wants_to_see_changes),
		API_TEST(test_mutating__a_refusal_is_the_end),
		API_TEST(test_mutating__failures_are_passed_over_where_the_policy_says_so),
		API_TEST(test_mutating__a_deletion_cannot_be_changed),
		API_TEST(test_mutating__objects_go_through_the_version_that_is_wanted),
		API_TEST(test_mutating__a_view_is_of_its_own_kind),
		API_TEST(test_mutating__a_digest_that_a_version_shows_is_shown_and_not_kept),
		API_TEST(test_validating__one_refusal_refuses),
		API_TEST(test_validating__the_first_refusal_counts),
		API_TEST(test_validating__all_are_waited_for),
		API_TEST(test_validating__nobody_is_asked_where_nobody_is_meant),
		API_TEST(test_webhooks__that_are_silent_are_given_up),
		API_TEST(test_webhooks__are_given_no_more_time_than_the_request_has),
		API_TEST(test_webhooks__that_are_asked_when_we_stop_leave_the_question_open),
		API_TEST(test_namespaces__are_asked_for_when_they_are_not_known),
		API_TEST(test_namespaces__that_are_not_selected_are_left_alone),
		API_TEST(test_namespaces__that_are_not_there_refuse),
		API_TEST(test_namespaces__are_not_absent_for_any_404),
		API_TEST(test_namespaces__that_cannot_be_asked_for_refuse),
		API_TEST(test_dry_runs__are_refused_where_there_are_effects),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
