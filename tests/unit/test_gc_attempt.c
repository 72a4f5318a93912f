/* The collector's attempts, request by request, against a server that says what a test has written down: an owner is what it says now, a failure ends
 * nothing, and every deletion names the version that it was decided on. */
#include "controllers/gc/gc_attempt.h"
#include "tests/unit/check.h"
#include "tests/unit/script_server.h"

/* ---- objects ---- */

#define THINGS "/api/v1/namespaces/ns/things/"
#define OWNED_BY(name) "{\"apiVersion\":\"v1\",\"kind\":\"Thing\",\"name\":\"" name "\",\"uid\":\"u-" name "\"}"
#define THING(name, more)                                                                                      \
	"{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{\"name\":\"" name \
	"\",\"namespace\":\"ns\",\"uid\":\"u-" name "\",\"resourceVersion\":\"5\"" more "}}"
#define OWNERS(list) ",\"ownerReferences\":[" list "]"
#define DELETING ",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\""
#define FINALIZER(name) ",\"finalizers\":[\"" name "\"]"
#define STATUS(code, reason, details)                                                                               \
	"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"code\":" #code ",\"reason\":\"" reason \
	"\",\"message\":\"because\"" details "}"
#define GONE(thing) STATUS(404, "NotFound", ",\"details\":{\"name\":\"" thing "\",\"kind\":\"things\"}")

#define GET(name, code, body)                                                      \
	{                                                                          \
		"GET " THINGS name " HTTP/1.1\r\n", SCRIPT_WHOLE, code, NULL, body \
	}
#define SENT(expected, code, body)                       \
	{                                                \
		expected, SCRIPT_WHOLE, code, NULL, body \
	}
/* Of exactly this object in this version. */
#define DELETION_OF(name) "\"preconditions\":{\"uid\":\"u-" name "\",\"resourceVersion\":\"5\"}"
#define LETS_GO_OF(name) "{\"$patch\":\"delete\",\"uid\":\"u-" name "\"}"

static struct gc_ref thing(const char *name, char uid[16])
{
	snprintf(uid, 16, "u-%s", name);
	return (struct gc_ref){STR("v1"), STR("Thing"), STR("ns"), str_of(name), str_of(uid)};
}

/* ---- a collector ---- */

struct scene {
	struct script *script;
	struct client *client;
	struct controller_env env;
	struct gc_core core;
};

static void ignore(void *ctx _unused_, struct str uid _unused_)
{
}

static void ignore_namespace(void *ctx _unused_, const struct gc_ref *object _unused_, const struct gc_ref *owner _unused_)
{
}

static void ignore_notice(
	void *ctx _unused_, const char *controller _unused_, bool is_problem _unused_, struct str text _unused_)
{
}

static void open_scene(struct scene *s, const struct script_step *steps, size_t n)
{
	static const struct gc_sink sink = {ignore, ignore, ignore_namespace};
	_cleanup_(gc_types_unrefp) struct gc_types *types = gc_types_new();
	_cleanup_(buf_done) struct buf err;
	buf_init(&err, 4096);
	s->script = script_start(steps, n);
	char *url = script_url(s->script);
	assert_int_equal(client_new(&s->client, &(struct client_config){.server = url}, &err), 0);
	mem_free(url);
	s->env = (struct controller_env){.client = s->client, .on_notice = ignore_notice};
	gc_core_init(&s->core, &s->env, &sink, s);
	types->found.resources = mem_new(struct api_resource);
	types->found.n = 1;
	types->found.resources[0] = (struct api_resource){.resource = {STR(""), STR("v1"), STR("things")},
		.kind = STR("Thing"),
		.is_namespaced = true,
		.is_preferred = true};
	gc_core_set_types(&s->core, types);
}

/* All that the script has was asked for, and nothing else. */
static void close_scene(struct scene *s)
{
	gc_core_done(&s->core);
	client_free(s->client);
	script_stop(s->script);
}

#define SCENE(s, ...)                                      \
	const struct script_step steps_[] = {__VA_ARGS__}; \
	struct scene s;                                    \
	open_scene(&s, steps_, ARRAY_SIZE(steps_))

/* An informer shows a thing with that owner; NULL: with none. */
static void show(struct scene *s, const char *name, const char *owner_name)
{
	char uid[16], owner_uid[16];
	struct gc_owner owner = {.ref = thing(owner_name ? owner_name : "", owner_uid), .blocks = true};
	struct gc_object o = {.ref = thing(name, uid), .version = 5, .owners = &owner, .n_owners = owner_name != NULL};
	assert_int_equal(gc_core_observe(&s->core, &o), 0);
}

static void show_waiting(struct scene *s, const char *name)
{
	char uid[16];
	struct gc_object o = {.ref = thing(name, uid), .version = 5, .is_deleting = true, .has_foreground_finalizer = true};
	assert_int_equal(gc_core_observe(&s->core, &o), 0);
}

static void attempt_deletion(struct scene *s, const char *uid, enum gc_outcome expected)
{
	assert_int_equal(gc_attempt_delete(&s->core, str_of(uid)), expected);
}

/* ---- owners ---- */

static void test_attempt__object_of_a_live_owner_stays(void **state _unused_)
{
	static const char *const owners[] = {
		THING("o", ""),
		THING("o", FINALIZER("foregroundDeletion")),        /* nobody has deleted it */
		THING("o", DELETING FINALIZER("example.com/hold")), /* it waits for something else */
		THING("o", DELETING FINALIZER("orphan")),
	};
	for (size_t i = 0; i < ARRAY_SIZE(owners); i++) {
		SCENE(s, GET("d", 200, THING("d", OWNERS(OWNED_BY("o")))), GET("o", 200, owners[i]));
		show(&s, "d", "o");
		attempt_deletion(&s, "u-d", GC_DONE);
		close_scene(&s);
	}
}

static void test_attempt__object_of_an_absent_owner_goes(void **state _unused_)
{
	SCENE(s, GET("d", 200, THING("d", OWNERS(OWNED_BY("o")))), GET("o", 404, GONE("o")),
		SENT(DELETION_OF("d"), 200, THING("d", "")));
	show(&s, "d", "o");
	attempt_deletion(&s, "u-d", GC_DONE);
	close_scene(&s);
}

static void test_attempt__another_object_in_the_owners_place_owns_nothing(void **state _unused_)
{
	SCENE(s,
		GET("d", 200,
			THING("d", OWNERS("{\"apiVersion\":\"v1\",\"kind\":\"Thing\",\"name\":\"o\",\"uid\":\"before\"}"))),
		GET("o", 200, THING("o", "")), SENT(DELETION_OF("d"), 200, THING("d", "")));
	show(&s, "d", "o");
	attempt_deletion(&s, "u-d", GC_DONE);
	close_scene(&s);
}

/* The server may not serve the kind at present. */
static void test_attempt__a_404_that_names_no_object_says_nothing(void **state _unused_)
{
	static const char *const bodies[] = {
		STATUS(404, "NotFound", ""),
		STATUS(404, "NotFound", ",\"details\":{\"name\":\"o\",\"kind\":\"namespaces\"}"),
		"404 page not found",
	};
	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		SCENE(s, GET("d", 200, THING("d", OWNERS(OWNED_BY("o")))), GET("o", 404, bodies[i]));
		show(&s, "d", "o");
		attempt_deletion(&s, "u-d", GC_RETRY);
		close_scene(&s);
	}
}

/* Nor has it another uid. */
static void test_attempt__a_200_that_is_no_object_says_nothing(void **state _unused_)
{
	static const char *const bodies[] = {
		"{}", "", "<html>please log in</html>", "{\"metadata\":{\"name\":\"x\",\"uid\":\"u\"}}"};
	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		SCENE(s, GET("d", 200, THING("d", OWNERS(OWNED_BY("o")))), GET("o", 200, bodies[i]));
		show(&s, "d", "o");
		attempt_deletion(&s, "u-d", GC_RETRY);
		close_scene(&s);
	}
}

struct trouble {
	enum script_way way;
	int status;
	const char *headers, *body;
};
static const struct trouble troubles[] = {
	{SCRIPT_WHOLE, 500, NULL, STATUS(500, "InternalError", "")},
	{SCRIPT_WHOLE, 429, NULL, STATUS(429, "TooManyRequests", "")},
	{SCRIPT_WHOLE, 503, NULL, "<html>Service Unavailable</html>"},
	{SCRIPT_WHOLE, 404, NULL, "404 page not found"},
	{SCRIPT_WHOLE, 200, NULL, "<html>please log in</html>"},
	{SCRIPT_CUT, 404, NULL, "{\"kind\":\"Status\""},
};

/* The n-th request fails, for each n and in each way: nothing is done by what it did not say, and the next attempt does it all. */
static void test_attempt__whatever_request_fails_the_next_attempt_does_it(void **state _unused_)
{
	static const struct script_step whole[] = {
		GET("d", 200, THING("d", OWNERS(OWNED_BY("w") "," OWNED_BY("gone") "," OWNED_BY("o")))),
		GET("w", 200, THING("w", DELETING FINALIZER("foregroundDeletion"))),
		GET("gone", 404, GONE("gone")),
		GET("o", 200, THING("o", "")),
		SENT(LETS_GO_OF("w") "," LETS_GO_OF("gone") "]", 200, THING("d", "")),
	};
	enum { N = ARRAY_SIZE(whole), GONE_AT = 2 };
	for (size_t at = 0; at < N; at++) {
		for (size_t k = 0; k < ARRAY_SIZE(troubles); k++) {
			const struct trouble *t = &troubles[k];
			struct script_step steps[2 * N] = {0};
			size_t n = 0;
			for (size_t i = 0; i <= at; i++) {
				steps[n++] = whole[i];
			}
			steps[at].way = t->way;
			steps[at].status = t->status;
			steps[at].headers = t->headers;
			steps[at].body = t->body;
			for (size_t i = 0; i < N; i++) {
				if (i != GONE_AT || at <= GONE_AT) { /* that it is absent is remembered */
					steps[n++] = whole[i];
				}
			}
			struct scene s;
			open_scene(&s, steps, n);
			show(&s, "d", "o");
			attempt_deletion(&s, "u-d", GC_RETRY);
			attempt_deletion(&s, "u-d", GC_DONE);
			close_scene(&s);
		}
	}
}

static void test_attempt__owners_that_go_are_let_go_of_where_another_one_stays(void **state _unused_)
{
	SCENE(s, GET("d", 200, THING("d", OWNERS(OWNED_BY("w") "," OWNED_BY("gone") "," OWNED_BY("o")))),
		GET("w", 200, THING("w", DELETING FINALIZER("foregroundDeletion"))), GET("gone", 404, GONE("gone")),
		GET("o", 200, THING("o", "")), SENT(LETS_GO_OF("w") "," LETS_GO_OF("gone") "]", 200, THING("d", "")));
	show(&s, "d", "o");
	attempt_deletion(&s, "u-d", GC_DONE);
	close_scene(&s);
}

/* Somebody has given it an owner between the look and the deletion. */
static void test_attempt__a_conflict_has_it_looked_at_again(void **state _unused_)
{
	SCENE(s, GET("d", 200, THING("d", OWNERS(OWNED_BY("o")))), GET("o", 404, GONE("o")),
		SENT(DELETION_OF("d"), 409, STATUS(409, "Conflict", "")), GET("d", 200, THING("d", OWNERS(OWNED_BY("p")))),
		GET("p", 200, THING("p", "")));
	show(&s, "d", "o");
	attempt_deletion(&s, "u-d", GC_DONE);
	close_scene(&s);
}

static void test_attempt__a_failure_is_tried_again_later(void **state _unused_)
{
	SCENE(s, GET("d", 200, THING("d", OWNERS(OWNED_BY("o")))), GET("o", 404, GONE("o")),
		SENT(DELETION_OF("d"), 403, STATUS(403, "Forbidden", "")));
	show(&s, "d", "o");
	attempt_deletion(&s, "u-d", GC_RETRY);
	close_scene(&s);
}

/* ---- finalizers ---- */

static void test_attempt__who_waits_is_let_go_when_nothing_blocks_it(void **state _unused_)
{
	SCENE(s, GET("o", 200, THING("o", DELETING FINALIZER("foregroundDeletion"))),
		GET("o", 200, THING("o", DELETING FINALIZER("foregroundDeletion"))),
		GET("o", 200, THING("o", DELETING FINALIZER("foregroundDeletion"))),
		SENT("{\"metadata\":{\"uid\":\"u-o\",\"resourceVersion\":\"5\",\"finalizers\":null}}", 200, THING("o", "")));
	show_waiting(&s, "o");
	show(&s, "d", "o");
	attempt_deletion(&s, "u-o", GC_DONE); /* looks, and waits */
	char uid[16];
	const struct gc_ref d = thing("d", uid);
	gc_core_forget(&s.core, &d, false);
	attempt_deletion(&s, "u-o", GC_DONE);
	close_scene(&s);
}

static void test_orphan__finalizer_goes_when_all_are_orphans(void **state _unused_)
{
	SCENE(s, SENT(LETS_GO_OF("o"), 200, THING("d", "")), SENT(LETS_GO_OF("o"), 404, GONE("e")),
		GET("o", 200, THING("o", DELETING FINALIZER("orphan"))), SENT("\"finalizers\":null", 200, THING("o", "")));
	show(&s, "o", NULL);
	show(&s, "d", "o");
	show(&s, "e", "o");
	assert_int_equal(gc_attempt_orphan(&s.core, STR("u-o")), GC_DONE);
	close_scene(&s);
}

/* Without its finalizer the owner goes, and what still refers to it is collected. */
static void test_orphan__finalizer_stays_while_one_refers(void **state _unused_)
{
	SCENE(s, SENT(LETS_GO_OF("o"), 403, STATUS(403, "Forbidden", "")), SENT(LETS_GO_OF("o"), 200, THING("e", "")));
	show(&s, "o", NULL);
	show(&s, "d", "o");
	show(&s, "e", "o");
	assert_int_equal(gc_attempt_orphan(&s.core, STR("u-o")), GC_RETRY);
	close_scene(&s);
}

/* A kind without a schema takes merge patches only. */
static void test_orphan__other_owners_stay_by_either_patch(void **state _unused_)
{
	SCENE(s, SENT(LETS_GO_OF("o"), 415, STATUS(415, "UnsupportedMediaType", "")),
		GET("d", 200, THING("d", OWNERS(OWNED_BY("o") "," OWNED_BY("p")))),
		SENT("\"ownerReferences\":[" OWNED_BY("p") "]", 200, THING("d", "")),
		GET("o", 200, THING("o", DELETING FINALIZER("orphan"))), SENT("\"finalizers\":null", 200, THING("o", "")));
	show(&s, "o", NULL);
	show(&s, "d", "o");
	assert_int_equal(gc_attempt_orphan(&s.core, STR("u-o")), GC_DONE);
	close_scene(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_attempt__object_of_a_live_owner_stays),
		TEST(test_attempt__object_of_an_absent_owner_goes),
		TEST(test_attempt__another_object_in_the_owners_place_owns_nothing),
		TEST(test_attempt__a_404_that_names_no_object_says_nothing),
		TEST(test_attempt__a_200_that_is_no_object_says_nothing),
		TEST(test_attempt__whatever_request_fails_the_next_attempt_does_it),
		TEST(test_attempt__owners_that_go_are_let_go_of_where_another_one_stays),
		TEST(test_attempt__a_conflict_has_it_looked_at_again),
		TEST(test_attempt__a_failure_is_tried_again_later),
		TEST(test_attempt__who_waits_is_let_go_when_nothing_blocks_it),
		TEST(test_orphan__finalizer_goes_when_all_are_orphans),
		TEST(test_orphan__finalizer_stays_while_one_refers),
		TEST(test_orphan__other_owners_stay_by_either_patch),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
