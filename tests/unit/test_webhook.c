#include "delegation/webhook.h"
#include "tests/unit/api_world.h"

#define RULES \
	"\"rules\":[{\"operations\":[\"*\"],\"apiGroups\":[\"annals.dev\"],\"apiVersions\":[\"*\"],\"resources\":[\"*\"]}]"
#define OTHER_RULES \
	"\"rules\":[{\"operations\":[\"*\"],\"apiGroups\":[\"apps\"],\"apiVersions\":[\"*\"],\"resources\":[\"*\"]}]"
#define NAMED(name, more) "{\"name\":\"" name "\"," more "}"
#define CONFIGURATION(name, webhooks) "{\"metadata\":{\"name\":\"" name "\"},\"webhooks\":[" webhooks "]}"

/* The set of some configurations; notices is to be done. */
static struct webhook_set *set_of(struct api_world *w, struct buf *notices, size_t n, const char *const *texts)
{
	const struct json **configurations = mem_array(n + 1, sizeof(*configurations));
	for (size_t i = 0; i < n; i++) {
		configurations[i] = world_parse(w, texts[i]);
	}
	buf_init(notices, 4096);
	struct webhook_set *set = webhook_set_new(configurations, n, notices);
	mem_free(configurations);
	return set;
}

#define SET(set, notices, ...)                      \
	struct buf notices;                         \
	const char *const texts_[] = {__VA_ARGS__}; \
	struct webhook_set *set = set_of(w, &notices, ARRAY_SIZE(texts_), texts_)

static void close_set(struct webhook_set *set, struct buf *notices)
{
	webhook_set_unref(set);
	buf_done(notices);
}

static void test_webhook_set__keeps_what_could_mean_us_with_its_place(void **state)
{
	struct api_world *w = *state;
	SET(set, notices, CONFIGURATION("a", NAMED("one", OTHER_RULES) "," NAMED("two", RULES)),
		CONFIGURATION("b", NAMED("three", RULES) "," NAMED("four", "\"rules\":[]")));
	assert_int_equal(set->n, 2);
	assert_str(set->v[0].name, "two");
	assert_str(set->v[0].configuration, "a");
	assert_int_equal(set->v[0].index, 1);
	assert_str(set->v[1].name, "three");
	assert_int_equal(set->v[1].index, 2);
	assert_int_equal(notices.n, 0);
	close_set(set, &notices);
}

static void test_webhook_set__reads_what_a_webhook_is_like(void **state)
{
	struct api_world *w = *state;
	SET(set, notices,
		CONFIGURATION("a",
			NAMED("one",
				RULES
				",\"matchPolicy\":\"Equivalent\",\"failurePolicy\":\"Ignore\",\"reinvocationPolicy\":"
				"\"IfNeeded\","
				"\"sideEffects\":\"NoneOnDryRun\",\"timeoutSeconds\":7,\"admissionReviewVersions\":[\"v2\","
				"\"v1beta1\",\"v1\"],"
				"\"namespaceSelector\":{\"matchLabels\":{\"a\":\"b\"}},\"objectSelector\":{"
				"\"matchExpressions\":[{\"key\":\"k\","
				"\"operator\":\"Near\"}]},\"clientConfig\":{\"url\":\"https://example.com:8443/a//b/\"}") "," NAMED("two",
				RULES ",\"matchPolicy\":\"Exact\",\"failurePolicy\":\"Fail\",\"sideEffects\":\"Some\","
				      "\"admissionReviewVersions\":[\"v2\"],\"objectSelector\":{}")));
	const struct webhook *h = &set->v[0];
	assert_true(h->is_equivalent && h->ignores_failure && h->is_reinvocable);
	assert_int_equal(h->side_effects, SIDE_EFFECTS_NONE_ON_DRY_RUN);
	assert_int_equal(h->timeout_s, 7);
	assert_string_equal(h->review_version, "v1beta1");
	assert_int_equal(h->namespaces.labels.n, 1);
	assert_str(h->objects.problem, "\"Near\" is not a valid label selector operator");
	assert_string_equal(h->peer->base, "https://example.com:8443");
	assert_str(h->path, "/a/b");
	h = &set->v[1];
	assert_false(h->is_equivalent || h->ignores_failure || h->is_reinvocable);
	assert_int_equal(h->side_effects, SIDE_EFFECTS_SOME);
	assert_int_equal(h->timeout_s, 0);
	assert_null(h->review_version);
	assert_true(h->namespaces.is_absent);
	assert_false(h->objects.is_absent);
	close_set(set, &notices);
}

static void test_webhook_set__knows_where_webhooks_are(void **state)
{
	static const struct {
		const char *config, *base, *path;
	} cases[] = {
		{"{\"url\":\"https://example.com\"}", "https://example.com", "/"},
		{"{\"url\":\"https://[::1]:1/\"}", "https://[::1]:1", "/"},
		{"{\"url\":\"https://example.com/a@b\"}", "https://example.com", "/a@b"},
		{"{\"service\":{\"namespace\":\"n\",\"name\":\"s\"}}", "https://s.n.svc:443", "/"},
		{"{\"service\":{\"namespace\":\"n\",\"name\":\"s\",\"port\":8443,\"path\":\"/x\"}}", "https://s.n.svc:8443",
			"/x"},
		{"{\"url\":\"http://example.com\"}", NULL, "the webhook's URL is no plain https URL"},
		{"{\"url\":\"https://user@example.com\"}", NULL, "the webhook's URL is no plain https URL"},
		{"{\"url\":\"https://example.com/?a=b\"}", NULL, "the webhook's URL is no plain https URL"},
		{"{\"url\":\"https://example.com/#a\"}", NULL, "the webhook's URL is no plain https URL"},
		{"{\"url\":\"https://example.com/a b\"}", NULL, "the webhook's URL is no plain https URL"},
		{"{\"url\":\"file:///etc/passwd\"}", NULL, "the webhook's URL is no plain https URL"},
		{"{\"service\":{\"namespace\":\"n\\r\\n\",\"name\":\"s\"}}", NULL,
			"the webhook's service has no name that could be looked up"},
		{"{}", NULL, "webhook configuration must have either service or URL"},
		{"{\"url\":\"https://example.com\",\"caBundle\":\"?\"}", NULL, "the webhook's caBundle is no base64"},
	};
	struct api_world *w = *state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		SET(set, notices,
			arena_printf(&w->a, CONFIGURATION("a", NAMED("one", RULES ",\"clientConfig\":%s")), cases[i].config).p);
		const struct webhook *h = &set->v[0];
		if (cases[i].base) {
			assert_string_equal(h->peer->base, cases[i].base);
			assert_str(h->path, cases[i].path);
		} else {
			assert_null(h->peer);
			assert_str(h->target_problem, cases[i].path);
		}
		close_set(set, &notices);
	}
}

static void test_webhook_set__says_that_conditions_are_not_looked_at(void **state)
{
	struct api_world *w = *state;
	SET(set, notices,
		CONFIGURATION("a",
			NAMED("one", RULES ",\"matchConditions\":[{\"name\":\"x\",\"expression\":\"false\"}]") "," NAMED(
				"two", RULES ",\"matchConditions\":[]")));
	assert_int_equal(set->n, 2);
	assert_str(buf_str(&notices),
		"webhook \"one\" of configuration \"a\" has matchConditions, which are not evaluated here: it is called as if "
		"they were true\n");
	close_set(set, &notices);
}

static void test_webhook_set__that_is_over_says_so(void **state)
{
	struct api_world *w = *state;
	struct buf many;
	buf_init(&many, (size_t)1 << 20);
	for (int i = 0; i <= WEBHOOKS_MAX; i++) {
		buf_adds(&many, i ? "," NAMED("one", RULES) : NAMED("one", RULES));
	}
	SET(set, notices, arena_printf(&w->a, CONFIGURATION("a", STR_FMT), STR_ARG(buf_str(&many))).p);
	assert_true(set->is_over);
	assert_int_equal(set->n, WEBHOOKS_MAX);
	assert_true(notices.n > 0);
	close_set(set, &notices);
	buf_done(&many);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(test_webhook_set__keeps_what_could_mean_us_with_its_place),
		API_TEST(test_webhook_set__reads_what_a_webhook_is_like),
		API_TEST(test_webhook_set__knows_where_webhooks_are),
		API_TEST(test_webhook_set__says_that_conditions_are_not_looked_at),
		API_TEST(test_webhook_set__that_is_over_says_so),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
