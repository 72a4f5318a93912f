#include "client/api_resources.h"
#include "client/rest.h"
#include "tests/unit/check.h"
#include "tests/unit/script_server.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static const struct resource configmaps = {{"", 0}, {"v1", 2}, {"configmaps", 10}};
static const struct resource deployments = {{"apps", 4}, {"v1", 2}, {"deployments", 11}};
static const struct target a_map = {&configmaps, {"ns", 2}, {"a", 1}, NULL};
static const struct target maps = {&configmaps, {"ns", 2}, {NULL, 0}, NULL};

#define MAP_PATH "/api/v1/namespaces/ns/configmaps/a HTTP/1.1\r\n"
#define OBJECT "{\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"7\"}}"
#define STATUS(code, reason) \
	"{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":" #code ",\"reason\":\"" reason "\",\"message\":\"because\"}"

/* A client of a server that says what the steps say. */
struct scene {
	struct script *script;
	struct client *client;
	struct answer a;
};

static struct client *new_client_with(const struct client_config *config)
{
	struct client *c = NULL;
	struct buf err;
	buf_init(&err, 4096);
	assert_int_equal(client_new(&c, config, &err), 0);
	buf_done(&err);
	return c;
}

static struct client *new_client(char *server, char *token)
{
	return new_client_with(&(struct client_config){.server = server, .token = token});
}

static void open_scene(struct scene *s, const struct script_step *steps, size_t n)
{
	char token[] = "secret";
	s->script = script_start(steps, n);
	char *url = script_url(s->script);
	s->client = new_client(url, token);
	answer_init(&s->a);
	mem_free(url);
}

static void close_scene(struct scene *s)
{
	answer_done(&s->a);
	client_free(s->client);
	script_stop(s->script);
}

#define SCENE(s, ...)                                      \
	const struct script_step steps_[] = {__VA_ARGS__}; \
	struct scene s;                                    \
	open_scene(&s, steps_, ARRAY_SIZE(steps_))

static void test_rest_get__gives_the_object(void **state _unused_)
{
	SCENE(s, {"GET /api/v1/namespaces/ns/configmaps/a HTTP/1.1\r\n", SCRIPT_WHOLE, 200, NULL, OBJECT},
		{"User-Agent: annals/" ANNALS_VERSION "\r\n", SCRIPT_WHOLE, 200, NULL, OBJECT},
		{"Accept: application/json\r\n", SCRIPT_WHOLE, 200, NULL, OBJECT},
		{"Authorization: Bearer secret\r\n", SCRIPT_STREAM, 200, NULL, OBJECT});
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(rest_get(s.client, &a_map, &s.a), 0);
		assert_int_equal(s.a.code, 200);
		assert_str(answer_version(&s.a), "7");
		assert_str(s.a.content_type, "application/json");
	}
	assert_int_equal(script_connections(s.script), 1);
	close_scene(&s);
}

static void test_rest__refusals_are_told_apart(void **state _unused_)
{
	SCENE(s, {NULL, SCRIPT_WHOLE, 404, NULL, STATUS(404, "NotFound")}, {NULL, SCRIPT_WHOLE, 502, NULL, "<html>bad gateway"},
		{NULL, SCRIPT_WHOLE, 500, NULL, NULL}, {NULL, SCRIPT_WHOLE, 200, NULL, "{\"kind\":"});
	assert_int_equal(rest_get(s.client, &a_map, &s.a), REST_STATUS);
	assert_true(answer_is(&s.a, 404, "NotFound"));
	assert_str(s.a.message, "because");
	assert_int_equal(rest_get(s.client, &a_map, &s.a), REST_STATUS);
	assert_str(s.a.message, "<html>bad gateway");
	assert_str(s.a.reason, "");
	assert_int_equal(rest_get(s.client, &a_map, &s.a), REST_STATUS);
	assert_int_equal(s.a.code, 500);
	assert_int_equal(rest_get(s.client, &a_map, &s.a), REST_GARBLED);
	close_scene(&s);
}

#define NOT_FOUND(details) \
	"{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":404,\"reason\":\"NotFound\",\"message\":\"m\"" details "}"
#define DETAILS(name, kind, more) ",\"details\":{\"name\":\"" name "\",\"kind\":\"" kind "\"" more "}"

/* One proof for each of two answers, and everything else is neither. */
static void test_rest_find__only_what_names_the_object_proves_anything(void **state _unused_)
{
	static const struct {
		enum script_way way;
		int status;
		const char *body;
		enum rest_found found;
	} cases[] = {
		{SCRIPT_WHOLE, 200, OBJECT, REST_FOUND},
		{SCRIPT_WHOLE, 404, NOT_FOUND(DETAILS("a", "configmaps", "")), REST_ABSENT},
		{SCRIPT_WHOLE, 404, NOT_FOUND(DETAILS("a", "configmaps", ",\"group\":\"x\"")),
			REST_ABSENT}, /* aliases of one kind */
		{SCRIPT_WHOLE, 404, NOT_FOUND(DETAILS("a", "configmaps/scale", "")), REST_ABSENT},
		/* The whole path, by a server that does not serve it, or a proxy that leads nowhere. */
		{SCRIPT_WHOLE, 404, "404 page not found\n", REST_UNKNOWN},
		{SCRIPT_WHOLE, 404, "<html><title>404 Not Found</title></html>", REST_UNKNOWN},
		{SCRIPT_WHOLE, 404, "", REST_UNKNOWN},
		{SCRIPT_WHOLE, 404, "{}", REST_UNKNOWN},
		{SCRIPT_WHOLE, 404, NOT_FOUND(""), REST_UNKNOWN},
		{SCRIPT_WHOLE, 404, NOT_FOUND(",\"details\":{}"), REST_UNKNOWN},
		/* Something else is not there. */
		{SCRIPT_WHOLE, 404, NOT_FOUND(DETAILS("b", "configmaps", "")), REST_UNKNOWN},
		{SCRIPT_WHOLE, 404, NOT_FOUND(DETAILS("a", "namespaces", "")), REST_UNKNOWN},
		{SCRIPT_WHOLE, 404, NOT_FOUND(DETAILS("a", "configmapsets", "")), REST_UNKNOWN},
		/* client-go in another server has made this of a bare 404. */
		{SCRIPT_WHOLE, 404,
			NOT_FOUND(DETAILS("a", "configmaps",
				",\"causes\":[{\"reason\":\"UnexpectedServerResponse\",\"message\":\"404 page not found\"}]")),
			REST_UNKNOWN},
		{SCRIPT_WHOLE, 410, NOT_FOUND(DETAILS("a", "configmaps", "")), REST_UNKNOWN},
		{SCRIPT_CUT, 404, NOT_FOUND(DETAILS("a", "configmaps", "")), REST_UNKNOWN},
		/* Refusals and troubles. */
		{SCRIPT_WHOLE, 401, STATUS(401, "Unauthorized"), REST_UNKNOWN},
		{SCRIPT_WHOLE, 403, STATUS(403, "Forbidden"), REST_UNKNOWN},
		{SCRIPT_WHOLE, 429, STATUS(429, "TooManyRequests"), REST_UNKNOWN},
		{SCRIPT_WHOLE, 500, STATUS(500, "InternalError"), REST_UNKNOWN},
		{SCRIPT_WHOLE, 503, "no available server", REST_UNKNOWN},
		{SCRIPT_CUT, 200, OBJECT, REST_UNKNOWN},
		/* 200, and not the object. */
		{SCRIPT_WHOLE, 200, "", REST_UNKNOWN},
		{SCRIPT_WHOLE, 200, "{}", REST_UNKNOWN},
		{SCRIPT_WHOLE, 200, "<html>please log in</html>", REST_UNKNOWN},
		{SCRIPT_WHOLE, 200, "{\"metadata\":{\"name\":\"b\"}}", REST_UNKNOWN},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		SCENE(s, {"GET " MAP_PATH, cases[i].way, cases[i].status, NULL, cases[i].body});
		assert_int_equal(rest_find(s.client, &a_map, &s.a), cases[i].found);
		close_scene(&s);
	}
}

static void test_rest_find__a_silent_server_proves_nothing(void **state _unused_)
{
	SCENE(s, {"GET", SCRIPT_MISSED, 0, NULL, NULL});
	char *url = script_url(s.script);
	struct client *hasty = new_client_with(&(struct client_config){.server = url, .request_timeout_ms = 20});
	mem_free(url);
	assert_int_equal(rest_find(hasty, &a_map, &s.a), REST_UNKNOWN);
	assert_int_equal(s.a.code, 0);
	client_free(hasty);
	close_scene(&s);
}

/* A creation that finds no namespace names that, and not what was to be created. */
static void test_rest_create__names_a_namespace_that_is_not_there(void **state _unused_)
{
	SCENE(s, {"POST", SCRIPT_WHOLE, 404, NULL, NOT_FOUND(DETAILS("ns", "namespaces", ""))},
		{"POST", SCRIPT_WHOLE, 404, NULL, "404 page not found"});
	struct arena arena;
	arena_init(&arena, 4096);
	assert_int_equal(rest_create(s.client, &maps, json_object(&arena), &s.a), REST_STATUS);
	assert_true(answer_is_without_namespace(&s.a, STR("ns")));
	assert_false(answer_is_without_namespace(&s.a, STR("other")));
	assert_false(answer_is_without_namespace(&s.a, STR("")));
	assert_int_equal(rest_create(s.client, &maps, json_object(&arena), &s.a), REST_STATUS);
	assert_false(answer_is_without_namespace(&s.a, STR("ns")));
	arena_done(&arena);
	close_scene(&s);
}

static void test_rest_list__what_is_no_list_is_not_an_empty_one(void **state _unused_)
{
	SCENE(s, {"GET", SCRIPT_WHOLE, 200, NULL, "{}"}, {"GET", SCRIPT_WHOLE, 200, NULL, ""},
		{"GET", SCRIPT_WHOLE, 200, NULL, "{\"items\":null}"});
	const struct list_options all = {.limit = 0};
	assert_int_equal(rest_list(s.client, &maps, &all, &s.a), REST_GARBLED);
	assert_int_equal(rest_list(s.client, &maps, &all, &s.a), REST_GARBLED);
	assert_int_equal(rest_list(s.client, &maps, &all, &s.a), 0);
	close_scene(&s);
}

static void test_rest__is_asked_again_when_turned_away_for_a_while(void **state _unused_)
{
	SCENE(s, {"PUT", SCRIPT_WHOLE, 429, "Retry-After: 0\r\n", STATUS(429, "TooManyRequests")},
		{"PUT", SCRIPT_WHOLE, 503, "retry-after: 0\r\n", STATUS(503, "ServiceUnavailable")},
		{"{\"n\":1}", SCRIPT_WHOLE, 200, NULL, OBJECT});
	struct arena arena;
	arena_init(&arena, 4096);
	struct json *object = json_object(&arena);
	json_add(&arena, object, STR("n"), json_int(&arena, 1));
	assert_int_equal(rest_update(s.client, &a_map, object, &s.a), 0);
	arena_done(&arena);
	close_scene(&s);
}

static void test_rest__other_refusals_come_back_at_once(void **state _unused_)
{
	SCENE(s, {NULL, SCRIPT_WHOLE, 503, NULL, STATUS(503, "ServiceUnavailable")},
		{NULL, SCRIPT_WHOLE, 504, "Retry-After: 0\r\n", STATUS(504, "Timeout")},
		{NULL, SCRIPT_WHOLE, 429, "Retry-After: 0\r\n", STATUS(429, "TooManyRequests")});
	assert_int_equal(rest_get(s.client, &a_map, &s.a), REST_STATUS);
	assert_int_equal(rest_get(s.client, &a_map, &s.a), REST_STATUS);
	assert_int_equal(s.a.retry_after_s, 0);
	assert_int_equal(
		rest_do(s.client, &(struct rest_call){.method = "GET", .path = "/", .is_single = true}, &s.a), REST_STATUS);
	assert_int_equal(s.a.code, 429);
	close_scene(&s);
}

static void test_rest__no_server_silences_us_for_long(void **state _unused_)
{
	static const struct {
		const char *header;
		int64_t seconds;
	} rows[] = {{"Retry-After: 59\r\n", 59}, {"Retry-After: 86400\r\n", RETRY_AFTER_MAX_S},
		{"Retry-After: 9223372036854775807\r\n", RETRY_AFTER_MAX_S}, {"Retry-After: 9223372036854775808\r\n", -1},
		{"Retry-After: -1\r\n", -1}, {"Retry-After: Wed, 21 Oct 2099 07:28:00 GMT\r\n", -1}};
	struct script_step steps[ARRAY_SIZE(rows)];
	struct scene s;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		steps[i] = (struct script_step){"GET", SCRIPT_WHOLE, 503, rows[i].header, STATUS(503, "ServiceUnavailable")};
	}
	open_scene(&s, steps, ARRAY_SIZE(steps));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		rest_do(s.client, &(struct rest_call){.method = "GET", .path = "/", .is_single = true}, &s.a);
		assert_int_equal(s.a.retry_after_s, rows[i].seconds);
	}
	close_scene(&s);
}

static void test_rest__gives_up_after_ten_tries(void **state _unused_)
{
	struct script_step steps[10];
	struct scene s;
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		steps[i] = (struct script_step){"GET", SCRIPT_WHOLE, 429, "Retry-After: 0\r\n", STATUS(429, "TooManyRequests")};
	}
	open_scene(&s, steps, ARRAY_SIZE(steps));
	assert_int_equal(rest_get(s.client, &a_map, &s.a), REST_STATUS);
	assert_int_equal(s.a.code, 429);
	close_scene(&s);
}

static void test_rest__writes_say_what_they_are(void **state _unused_)
{
	SCENE(s, {"POST /api/v1/namespaces/ns/configmaps HTTP/1.1\r\n", SCRIPT_WHOLE, 201, NULL, OBJECT},
		{"Content-Type: application/merge-patch+json\r\n", SCRIPT_WHOLE, 200, NULL, OBJECT},
		{"{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"propagationPolicy\":\"Orphan\",\"gracePeriodSeconds\":0,"
		 "\"preconditions\":{\"uid\":\"u\",\"resourceVersion\":\"7\"}}",
			SCRIPT_WHOLE, 200, NULL, OBJECT},
		{"DELETE /api/v1/namespaces/ns/configmaps?labelSelector=a%3Db HTTP/1.1\r\n", SCRIPT_WHOLE, 200, NULL, OBJECT});
	struct arena arena;
	arena_init(&arena, 4096);
	assert_int_equal(rest_create(s.client, &maps, json_object(&arena), &s.a), 0);
	assert_int_equal(rest_patch(s.client, &a_map, PATCH_MERGE, STR("{}"), &s.a), 0);
	assert_int_equal(rest_delete(s.client, &a_map,
				 &(struct delete_options){
					 .uid = STR("u"), .resource_version = STR("7"), .propagation = "Orphan", .grace_s = 0},
				 &s.a),
		0);
	struct delete_options selected = DELETE_OPTIONS_DEFAULT;
	selected.label_selector = STR("a=b");
	assert_int_equal(rest_delete(s.client, &maps, &selected, &s.a), 0);
	arena_done(&arena);
	close_scene(&s);
}

static void test_rest_list__goes_page_by_page(void **state _unused_)
{
	SCENE(s,
		{"GET /api/v1/namespaces/ns/configmaps?labelSelector=a%21%3Db&limit=500 HTTP/1.1\r\n", SCRIPT_WHOLE, 200, NULL,
			"{\"metadata\":{\"continue\":\"a/b+c\"},\"items\":[]}"},
		{"limit=500&continue=a%2Fb%2Bc HTTP/1.1\r\n", SCRIPT_WHOLE, 200, NULL, "{\"metadata\":{},\"items\":[]}"},
		{"as=PartialObjectMetadataList;", SCRIPT_WHOLE, 200, NULL, "{\"metadata\":{},\"items\":[]}"});
	struct list_options options = {.label_selector = STR("a!=b"), .limit = LIST_PAGE};
	assert_int_equal(rest_list(s.client, &maps, &options, &s.a), 0);
	options.continue_token = STR("a/b+c");
	assert_str(list_continue(s.a.body), "a/b+c");
	assert_int_equal(rest_list(s.client, &maps, &options, &s.a), 0);
	assert_str(list_continue(s.a.body), "");
	assert_int_equal(rest_list(s.client, &maps, &(struct list_options){.metadata_only = true}, &s.a), 0);
	close_scene(&s);
}

static bool count_one(void *ctx, const struct json *object _unused_)
{
	++*(unsigned *)ctx;
	return true;
}

/* The rest of the list is unknown, which is not the end of the list. */
static void test_rest_each__continue_token_that_is_too_long_is_an_error(void **state _unused_)
{
	static char page[128 * 1024];
	unsigned n = 0;
	memset(page, 'x', sizeof(page));
	static const char head[] =
		"{\"kind\":\"ConfigMapList\",\"items\":[{\"metadata\":{\"name\":\"a\"}}],\"metadata\":{\"continue\":\"";
	static const char tail[] = "\"}}";
	memcpy(page, head, sizeof(head) - 1);
	memcpy(page + sizeof(page) - sizeof(tail), tail, sizeof(tail));
	SCENE(s, {NULL, SCRIPT_WHOLE, 200, NULL, page});
	assert_int_equal(rest_each(s.client, &maps, false, count_one, &n, &s.a), REST_TOO_BIG);
	assert_int_equal(n, 1);
	close_scene(&s);
}

static void test_rest__server_that_is_silent_is_unreachable(void **state _unused_)
{
	SCENE(s, {NULL, SCRIPT_MISSED, 0, NULL, NULL});
	assert_int_equal(
		rest_do(s.client, &(struct rest_call){.method = "GET", .path = "/", .timeout_ms = 20}, &s.a), REST_UNREACHABLE);
	assert_true(str_contains(s.a.message, STR("timed out")));
	close_scene(&s);
}

/* What the user says goes before what the caller does. */
static void test_rest__user_says_how_long_it_may_take(void **state _unused_)
{
	SCENE(s, {NULL, SCRIPT_MISSED, 0, NULL, NULL});
	char *url = script_url(s.script);
	struct client *impatient = new_client_with(&(struct client_config){.server = url, .request_timeout_ms = 20});
	const struct rest_call slow = {.method = "GET", .path = "/", .timeout_ms = 3600 * 1000};
	assert_int_equal(rest_do(impatient, &slow, &s.a), REST_UNREACHABLE);
	assert_true(str_contains(s.a.message, STR("timed out")));
	client_free(impatient);
	mem_free(url);
	close_scene(&s);
}

static void *release_late(void *script)
{
	script_await(script, 1);
	usleep(50 * 1000);
	script_release(script);
	return NULL;
}

static void test_rest__user_says_that_it_may_take_as_long_as_it_takes(void **state _unused_)
{
	SCENE(s, {NULL, SCRIPT_HOLD, 200, NULL, OBJECT});
	char *url = script_url(s.script);
	struct client *patient =
		new_client_with(&(struct client_config){.server = url, .request_timeout_ms = CLIENT_NO_TIMEOUT});
	const struct rest_call hasty = {.method = "GET", .path = "/", .timeout_ms = 1};
	pthread_t releasing;
	assert_int_equal(pthread_create(&releasing, NULL, release_late, s.script), 0);
	assert_int_equal(rest_do(patient, &hasty, &s.a), 0);
	pthread_join(releasing, NULL);
	client_free(patient);
	mem_free(url);
	close_scene(&s);
}

static void test_rest__server_that_breaks_off_is_unreachable(void **state _unused_)
{
	SCENE(s, {NULL, SCRIPT_CUT, 200, NULL, OBJECT});
	assert_int_equal(rest_get(s.client, &a_map, &s.a), REST_UNREACHABLE);
	close_scene(&s);
}

static void test_rest__nobody_there_is_unreachable(void **state _unused_)
{
	SCENE(s, {NULL, SCRIPT_WHOLE, 200, NULL, OBJECT});
	assert_int_equal(rest_get(s.client, &a_map, &s.a), 0);
	char *url = script_url(s.script);
	script_stop(s.script);
	struct client *late = new_client(url, NULL);
	assert_int_equal(rest_get(late, &a_map, &s.a), REST_UNREACHABLE);
	assert_true(s.a.message.n > 0);
	client_free(late);
	mem_free(url);
	answer_done(&s.a);
	client_free(s.client);
}

static void test_rest__proxies_are_not_for_what_is_on_this_machine(void **state _unused_)
{
	setenv("http_proxy", "http://127.0.0.1:1", 1);
	SCENE(s, {NULL, SCRIPT_WHOLE, 200, NULL, OBJECT});
	assert_int_equal(rest_get(s.client, &a_map, &s.a), 0);
	close_scene(&s);
	unsetenv("http_proxy");
}

struct caller {
	struct client *client;
	pthread_t thread;
	int result;
};

static void *call(void *ctx)
{
	struct caller *c = ctx;
	struct answer a;
	answer_init(&a);
	c->result = rest_get(c->client, &a_map, &a);
	answer_done(&a);
	return NULL;
}

static void test_client_stop__wakes_everybody_at_once(void **state _unused_)
{
	SCENE(s, {NULL, SCRIPT_SILENT, 0, NULL, NULL}, {NULL, SCRIPT_SILENT, 0, NULL, NULL},
		{NULL, SCRIPT_WHOLE, 503, "Retry-After: 1000\r\n", NULL});
	struct caller callers[3];
	for (size_t i = 0; i < ARRAY_SIZE(callers); i++) {
		callers[i].client = s.client;
		pthread_create(&callers[i].thread, NULL, call, &callers[i]);
	}
	script_await(s.script, 3);
	client_stop(s.client);
	unsigned n_stopped = 0, n_refused = 0;
	for (size_t i = 0; i < ARRAY_SIZE(callers); i++) {
		pthread_join(callers[i].thread, NULL);
		n_stopped += callers[i].result == REST_STOPPED;
		n_refused += callers[i].result == REST_STATUS;
	}
	assert_true(n_stopped >= 2 && n_stopped + n_refused == 3); /* the third had its 503 already, or not yet */
	assert_int_equal(rest_get(s.client, &a_map, &s.a), REST_STOPPED);
	assert_false(client_sleep(s.client, 1000 * 1000));
	close_scene(&s);
}

static void assert_path(struct target t, const char *expected)
{
	struct buf path;
	buf_init(&path, 4096);
	assert_true(target_path(&path, &t));
	assert_str(buf_str(&path), expected);
	buf_done(&path);
}

static void test_target_path__is_kubes_and_escaped(void **state _unused_)
{
	assert_path((struct target){&configmaps, {NULL, 0}, {NULL, 0}, NULL}, "/api/v1/configmaps");
	assert_path((struct target){&deployments, {"ns", 2}, {"d", 1}, "status"},
		"/apis/apps/v1/namespaces/ns/deployments/d/status");
	assert_path((struct target){&deployments, {"a/b", 3}, {"..?", 3}, NULL},
		"/apis/apps/v1/namespaces/a%2Fb/deployments/..%3F");
}

/* ---- what is served ---- */

#define APIS "{\"kind\":\"APIGroupList\",\"groups\":[{\"name\":\"apps\",\"versions\":[{\"version\":\"v1\"}]}]}"
#define APPS                                                                                                                  \
	"{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"deployments\",\"kind\":\"Deployment\",\"namespaced\":true," \
	"\"verbs\":[\"list\"]}]}"

/* What depends on it would stop to watch Pods, or remove a namespace with Pods in it. */
static void test_discovery__nothing_ceases_to_be_served_by_a_bare_404(void **state _unused_)
{
	SCENE(s, {"GET /api ", SCRIPT_WHOLE, 404, NULL, "404 page not found"}, {"GET /apis ", SCRIPT_WHOLE, 200, NULL, APIS},
		{"GET /apis/apps/v1 ", SCRIPT_WHOLE, 200, NULL, APPS});
	struct discovery d;
	discovery_init(&d);
	assert_int_equal(discovery_fetch(s.client, &d, &s.a), 0);
	assert_int_equal(d.n, 1);
	assert_true(discovery_has_failed(&d, STR(""), STR("v1")));
	assert_false(discovery_has_failed(&d, STR("apps"), STR("v1")));
	discovery_done(&d);
	close_scene(&s);
}

static void test_discovery__what_is_no_document_lists_nothing(void **state _unused_)
{
	SCENE(s, {"GET /api ", SCRIPT_WHOLE, 200, NULL, "{\"kind\":\"APIVersions\",\"versions\":[]}"},
		{"GET /apis ", SCRIPT_WHOLE, 200, NULL, APIS}, {"GET /apis/apps/v1 ", SCRIPT_WHOLE, 200, NULL, "{}"},
		{"GET /api ", SCRIPT_WHOLE, 200, NULL, "{}"});
	struct discovery d;
	discovery_init(&d);
	assert_int_equal(discovery_fetch(s.client, &d, &s.a), 0);
	assert_true(discovery_has_failed(&d, STR("apps"), STR("v1")));
	assert_int_equal(discovery_fetch(s.client, &d, &s.a), REST_GARBLED);
	discovery_done(&d);
	close_scene(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_rest_get__gives_the_object),
		TEST(test_rest__refusals_are_told_apart),
		TEST(test_rest_find__only_what_names_the_object_proves_anything),
		TEST(test_rest_find__a_silent_server_proves_nothing),
		TEST(test_rest_create__names_a_namespace_that_is_not_there),
		TEST(test_rest_list__what_is_no_list_is_not_an_empty_one),
		TEST(test_rest__is_asked_again_when_turned_away_for_a_while),
		TEST(test_rest__other_refusals_come_back_at_once),
		TEST(test_rest__no_server_silences_us_for_long),
		TEST(test_rest__gives_up_after_ten_tries),
		TEST(test_rest__writes_say_what_they_are),
		TEST(test_rest_list__goes_page_by_page),
		TEST(test_rest_each__continue_token_that_is_too_long_is_an_error),
		TEST(test_rest__server_that_is_silent_is_unreachable),
		TEST(test_rest__user_says_how_long_it_may_take),
		TEST(test_rest__user_says_that_it_may_take_as_long_as_it_takes),
		TEST(test_rest__server_that_breaks_off_is_unreachable),
		TEST(test_rest__nobody_there_is_unreachable),
		TEST(test_rest__proxies_are_not_for_what_is_on_this_machine),
		TEST(test_client_stop__wakes_everybody_at_once),
		TEST(test_target_path__is_kubes_and_escaped),
		TEST(test_discovery__nothing_ceases_to_be_served_by_a_bare_404),
		TEST(test_discovery__what_is_no_document_lists_nothing),
	};
	return cmocka_run_group_tests_name("rest", tests, NULL, NULL);
}
