#include "client/informer.h"
#include "tests/unit/check.h"
#include "tests/unit/script_server.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

enum { PATIENCE_S = 60 };

#define META(name, uid, version) \
	"{\"metadata\":{\"namespace\":\"ns\",\"name\":\"" name "\",\"uid\":\"" uid "\",\"resourceVersion\":\"" version "\"}}"
#define EVENT(type, name, uid, version) "{\"type\":\"" type "\",\"object\":" META(name, uid, version) "}\n"
#define BOOKMARK(version) "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"" version "\"}}}\n"
#define INITIAL_END(version)                                                                    \
	"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"" version "\"," \
	"\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}\n"
#define LIST(version, continue, items) \
	"{\"metadata\":{\"resourceVersion\":\"" version "\",\"continue\":\"" continue "\"},\"items\":[" items "]}"
#define STATUS(code, reason) "{\"kind\":\"Status\",\"code\":" #code ",\"reason\":\"" reason "\",\"message\":\"because\"}"
#define ERROR(code, reason) "{\"type\":\"ERROR\",\"object\":" STATUS(code, reason) "}\n"
#define TOO_LARGE                                                                                   \
	"{\"kind\":\"Status\",\"code\":504,\"message\":\"Too large resource version\",\"details\":" \
	"{\"causes\":[{\"reason\":\"ResourceVersionTooLarge\"}]}}"

/* An informer of a server that says what the steps say, and all that its handlers heard. */
struct scene {
	struct script *script;
	size_t n_steps;
	struct client *client;
	struct outage *outage; /* NULL: none */
	struct informer *informer;
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t changed;
	struct buf heard; /* "+ns/a=1! " "~ns/a=2 " "-ns/a=3? " "synced " "problem " */
};

static void hear(struct scene *s, const char *what, const struct item *i, const char *note)
{
	pthread_mutex_lock(&s->lock);
	if (i) {
		buf_printf(&s->heard, "%s" STR_FMT "=%llu%s ", what, STR_ARG(i->name), (unsigned long long)i->version, note);
	} else {
		buf_printf(&s->heard, "%s ", what);
	}
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

static void on_add(void *ctx, struct item *item, bool is_initial)
{
	hear(ctx, "+", item, is_initial ? "!" : "");
}

static void on_update(void *ctx, struct item *old, struct item *item)
{
	assert_true(old->version != item->version);
	hear(ctx, "~", item, "");
}

static void on_delete(void *ctx, struct item *item, bool is_guess)
{
	hear(ctx, "-", item, is_guess ? "?" : "");
}

static void on_synced(void *ctx)
{
	hear(ctx, "synced", NULL, "");
}

static void on_problem(void *ctx, bool is_over, struct str text)
{
	assert_int_equal(str_is(text, "following configmaps again"), is_over);
	hear(ctx, is_over ? "over" : "problem", NULL, "");
}

static void on_outage(void *ctx, bool is_over, struct str text)
{
	assert_str(text, is_over ? "all 1 watches go on again"
				 : "1 of 1 watches cannot go on, will go on trying: cannot watch configmaps: because");
	hear(ctx, is_over ? "back" : "outage", NULL, "");
}

static void open_scene_with(struct scene *s, bool has_outage, bool no_watch_list, const struct script_step *steps, size_t n)
{
	struct buf err;
	buf_init(&err, 4096);
	s->script = script_start(steps, n);
	s->n_steps = n;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	buf_init(&s->heard, 1 << 20);
	char *url = script_url(s->script);
	assert_int_equal(client_new(&s->client, &(struct client_config){.server = url}, &err), 0);
	const struct outage_options outage = {.client = s->client, .on_notice = on_outage, .ctx = s};
	s->outage = has_outage ? outage_new(&outage) : NULL;
	s->informer = informer_new(&(struct informer_options){
		.client = s->client,
		.outage = s->outage,
		.resource = {STR(""), STR("v1"), STR("configmaps")},
		.no_watch_list = no_watch_list,
		.handlers = {on_add, on_update, on_delete, on_synced, on_problem},
		.ctx = s,
	});
	mem_free(url);
	buf_done(&err);
}

static void open_scene(struct scene *s, bool no_watch_list, const struct script_step *steps, size_t n)
{
	open_scene_with(s, false, no_watch_list, steps, n);
}

static void close_scene(struct scene *s)
{
	script_await(s->script, s->n_steps);
	informer_free(s->informer);
	client_free(s->client);
	outage_free(s->outage);
	script_stop(s->script);
	buf_done(&s->heard);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
}

/* Until exactly this has been heard. Map order is nobody's business: lists of several objects are waited for by their end. */
static void await_heard(struct scene *s, const char *expected)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE_S;
	pthread_mutex_lock(&s->lock);
	int r = 0;
	while (!str_is(buf_str(&s->heard), expected) && s->heard.n < strlen(expected) && r != ETIMEDOUT) {
		r = pthread_cond_timedwait(&s->changed, &s->lock, &until);
	}
	assert_str(buf_str(&s->heard), expected);
	pthread_mutex_unlock(&s->lock);
}

#define SCENE(s, no_watch_list, ...)                       \
	const struct script_step steps_[] = {__VA_ARGS__}; \
	struct scene s;                                    \
	open_scene(&s, no_watch_list, steps_, ARRAY_SIZE(steps_))

#define WATCH_LIST "sendInitialEvents=true&resourceVersionMatch=NotOlderThan HTTP"
#define FROM(version) "&resourceVersion=" version " HTTP"
#define FIRST(events)                                      \
	{                                                  \
		WATCH_LIST, SCRIPT_HOLD, 200, NULL, events \
	}

/* It comes after its events. */
static void await_version(struct scene *s, uint64_t version)
{
	for (int ms = 0; informer_version(s->informer) < version && ms < PATIENCE_S * 1000; ms++) {
		nanosleep(&(struct timespec){.tv_nsec = 1000 * 1000}, NULL);
	}
	assert_int_equal(informer_version(s->informer), version);
}

static void test_informer__begins_with_a_watch_list(void **state _unused_)
{
	SCENE(s, false,
		{WATCH_LIST, SCRIPT_HOLD, 200, NULL,
			EVENT("ADDED", "a", "1", "5") EVENT("ADDED", "b", "2", "3") EVENT("DELETED", "b", "2", "8")
				INITIAL_END("9") EVENT("MODIFIED", "a", "1", "10") EVENT("ADDED", "c", "3", "11")
					EVENT("DELETED", "a", "1", "12")});
	await_heard(&s, "+a=5! synced ~a=10 +c=11 -a=12 ");
	assert_true(informer_has_synced(s.informer));
	await_version(&s, 12);
	assert_int_equal(informer_count(s.informer), 1);
	struct item *c = informer_get_by_uid(s.informer, STR("3"));
	assert_str(c->name, "c");
	item_unref(c);
	assert_null(informer_get(s.informer, STR("ns"), STR("a")));
	close_scene(&s);
}

static void test_informer__has_not_synced_before_the_initial_events_end(void **state _unused_)
{
	SCENE(s, false, {WATCH_LIST, SCRIPT_STREAM, 200, NULL, EVENT("ADDED", "a", "1", "5") BOOKMARK("6")},
		FIRST(INITIAL_END("9")));
	await_heard(&s, "problem synced over ");
	assert_int_equal(informer_count(s.informer), 0);
	close_scene(&s);
}

static void test_informer__lists_in_pages_where_there_is_no_watch_list(void **state _unused_)
{
	SCENE(s, false, {WATCH_LIST, SCRIPT_WHOLE, 422, NULL, STATUS(422, "Invalid")},
		{"?limit=500 HTTP", SCRIPT_WHOLE, 200, NULL, LIST("9", "next", META("a", "1", "5"))},
		{"?limit=500&continue=next HTTP", SCRIPT_WHOLE, 200, NULL, LIST("9", "", META("a", "1", "5"))},
		{FROM("9"), SCRIPT_HOLD, 200, NULL, EVENT("ADDED", "b", "2", "10")});
	await_heard(&s, "+a=5! synced +b=10 ");
	close_scene(&s);
}

static void test_informer__watch_resumes_where_it_was(void **state _unused_)
{
	SCENE(s, false, FIRST(INITIAL_END("9") EVENT("ADDED", "a", "1", "10")),
		{FROM("10"), SCRIPT_HOLD, 200, NULL, BOOKMARK("15")},
		{FROM("15"), SCRIPT_HOLD, 200, NULL, EVENT("DELETED", "a", "1", "16")});
	script_await(s.script, 1);
	await_heard(&s, "synced +a=10 ");
	script_release(s.script);
	script_await(s.script, 2);
	await_version(&s, 15);
	script_release(s.script);
	await_heard(&s, "synced +a=10 -a=16 ");
	close_scene(&s);
}

static void test_informer__half_a_line_of_a_broken_stream_is_forgotten(void **state _unused_)
{
	SCENE(s, false, {WATCH_LIST, SCRIPT_CUT, 200, NULL, INITIAL_END("9") "{\"type\":\"ADDED\",\"obj"},
		{FROM("9"), SCRIPT_HOLD, 200, NULL, EVENT("ADDED", "a", "1", "10")});
	await_heard(&s, "synced problem over +a=10 ");
	close_scene(&s);
}

static void test_informer__lists_again_when_history_is_gone(void **state _unused_)
{
	SCENE(s, true,
		{"?limit=500 HTTP", SCRIPT_WHOLE, 200, NULL,
			LIST("9", "", META("a", "1", "5") "," META("b", "2", "6") "," META("c", "3", "7"))},
		{FROM("9"), SCRIPT_STREAM, 200, NULL, ERROR(410, "Expired")},
		{"?limit=500&resourceVersion=9&resourceVersionMatch=NotOlderThan HTTP", SCRIPT_WHOLE, 200, NULL,
			LIST("20", "", META("b", "2", "12") "," META("c", "3", "7") "," META("d", "4", "14"))},
		{FROM("20"), SCRIPT_HOLD, 200, NULL, BOOKMARK("21")});
	script_await(s.script, 4);
	await_version(&s, 21);
	assert_true(str_starts(str_trim(buf_str(&s.heard)), STR("+")));
	struct str heard = buf_str(&s.heard), rest = heard;
	assert_true(str_contains(heard, STR("synced -a=5? ")));
	str_cut(heard, '?', &heard, &rest);
	assert_true(str_contains(rest, STR("~b=12 ")));
	assert_true(str_contains(rest, STR("+d=14 ")));
	assert_false(str_contains(rest, STR("c=")));
	assert_int_equal(informer_count(s.informer), 3);
	close_scene(&s);
}

static void test_informer__refused_watch_of_410_lists_again_too(void **state _unused_)
{
	SCENE(s, false, FIRST(INITIAL_END("9")), {FROM("9"), SCRIPT_WHOLE, 410, NULL, STATUS(410, "Expired")},
		{"resourceVersion=9&sendInitialEvents=true", SCRIPT_HOLD, 200, NULL,
			EVENT("ADDED", "a", "1", "10") INITIAL_END("12")});
	script_await(s.script, 1);
	await_heard(&s, "synced ");
	script_release(s.script);
	await_heard(&s, "synced +a=10 ");
	close_scene(&s);
}

static void test_informer__never_goes_back_in_time(void **state _unused_)
{
	SCENE(s, true, {"?limit=500 HTTP", SCRIPT_WHOLE, 200, NULL, LIST("9", "", META("a", "1", "5"))},
		{FROM("9"), SCRIPT_STREAM, 200, NULL, EVENT("MODIFIED", "a", "1", "8") ERROR(410, "Expired")},
		{"resourceVersion=9", SCRIPT_WHOLE, 200, NULL, LIST("7", "", "")},
		{"resourceVersion=9", SCRIPT_WHOLE, 200, NULL, LIST("12", "", META("a", "1", "11"))},
		{FROM("12"), SCRIPT_HOLD, 200, NULL, ""});
	await_heard(&s, "+a=5! synced problem ~a=11 over ");
	close_scene(&s);
}

static void test_informer__starts_over_where_the_present_is_older(void **state _unused_)
{
	SCENE(s, true, {"?limit=500 HTTP", SCRIPT_WHOLE, 200, NULL, LIST("9", "", META("a", "1", "5"))},
		{FROM("9"), SCRIPT_WHOLE, 504, NULL, TOO_LARGE},
		{"?limit=500 HTTP", SCRIPT_WHOLE, 200, NULL, LIST("4", "", META("b", "2", "3"))},
		{FROM("4"), SCRIPT_HOLD, 200, NULL, ""});
	await_heard(&s, "+a=5! synced -a=5? +b=3 ");
	await_version(&s, 4);
	close_scene(&s);
}

static void test_informer__page_that_has_expired_makes_it_ask_for_all_at_once(void **state _unused_)
{
	SCENE(s, true, {"?limit=500 HTTP", SCRIPT_WHOLE, 200, NULL, LIST("9", "next", META("old", "1", "5"))},
		{"continue=next", SCRIPT_WHOLE, 410, NULL, STATUS(410, "Expired")},
		{"GET /api/v1/configmaps HTTP", SCRIPT_WHOLE, 200, NULL, LIST("12", "", META("a", "2", "11"))},
		{FROM("12"), SCRIPT_HOLD, 200, NULL, ""});
	await_heard(&s, "+a=11! synced ");
	close_scene(&s);
}

static void test_informer__same_name_with_another_uid_is_an_update(void **state _unused_)
{
	SCENE(s, false, FIRST(EVENT("ADDED", "a", "1", "5") INITIAL_END("9")),
		{FROM("9"), SCRIPT_STREAM, 200, NULL, ERROR(410, "Expired")},
		{"sendInitialEvents=true", SCRIPT_HOLD, 200, NULL, EVENT("ADDED", "a", "2", "10") INITIAL_END("12")});
	await_heard(&s, "+a=5! synced ");
	script_release(s.script);
	await_heard(&s, "+a=5! synced ~a=10 ");
	assert_null(informer_get_by_uid(s.informer, STR("1")));
	close_scene(&s);
}

static void test_informer__trouble_is_told_once_and_got_over(void **state _unused_)
{
	SCENE(s, false, {WATCH_LIST, SCRIPT_WHOLE, 500, NULL, NULL}, {WATCH_LIST, SCRIPT_CUT, 200, NULL, ""},
		FIRST(INITIAL_END("9") "no JSON\n"), {FROM("9"), SCRIPT_HOLD, 200, NULL, EVENT("ADDED", "a", "1", "10")});
	await_heard(&s, "problem synced over problem over +a=10 ");
	close_scene(&s);
}

/* It resumes a watch that has nothing to say: that it stays open is enough. */
static void test_informer__watch_that_is_silent_is_followed_again(void **state _unused_)
{
	SCENE(s, false, FIRST(INITIAL_END("9")), {FROM("9"), SCRIPT_WHOLE, 403, NULL, STATUS(403, "Forbidden")},
		{FROM("9"), SCRIPT_HOLD, 200, NULL, ""});
	await_heard(&s, "synced ");
	script_release(s.script);
	await_heard(&s, "synced problem over ");
	close_scene(&s);
}

static void test_informer__what_ails_the_server_is_an_outage(void **state _unused_)
{
	static const struct script_step steps[] = {FIRST(INITIAL_END("9")),
		{FROM("9"), SCRIPT_WHOLE, 503, "Retry-After: 4\r\n", STATUS(503, "ServiceUnavailable")},
		{FROM("9"), SCRIPT_WHOLE, 403, NULL, STATUS(403, "Forbidden")}, {FROM("9"), SCRIPT_HOLD, 200, NULL, ""}};
	struct scene s;
	open_scene_with(&s, true, false, steps, ARRAY_SIZE(steps));
	await_heard(&s, "synced ");
	script_release(s.script);
	await_heard(&s, "synced outage problem over back ");
	close_scene(&s);
}

static void open_waiting(struct scene *s, const struct script_step steps[2])
{
	open_scene(s, false, steps, 2);
	s->n_steps = 1;
	await_heard(s, "problem ");
}

static void test_informer_free__ends_it_in_any_state(void **state _unused_)
{
	/* It waits before it asks again, which it may do where this test is held up. */
	static const struct script_step steps[] = {{NULL, SCRIPT_WHOLE, 500, NULL, NULL}, {NULL, SCRIPT_MISSED, 0, NULL, NULL}};
	struct scene waiting, stopped;
	open_waiting(&waiting, steps);
	close_scene(&waiting);

	open_waiting(&stopped, steps);
	client_stop(stopped.client);
	close_scene(&stopped);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_informer__begins_with_a_watch_list),
		TEST(test_informer__has_not_synced_before_the_initial_events_end),
		TEST(test_informer__lists_in_pages_where_there_is_no_watch_list),
		TEST(test_informer__watch_resumes_where_it_was),
		TEST(test_informer__half_a_line_of_a_broken_stream_is_forgotten),
		TEST(test_informer__lists_again_when_history_is_gone),
		TEST(test_informer__refused_watch_of_410_lists_again_too),
		TEST(test_informer__never_goes_back_in_time),
		TEST(test_informer__starts_over_where_the_present_is_older),
		TEST(test_informer__page_that_has_expired_makes_it_ask_for_all_at_once),
		TEST(test_informer__same_name_with_another_uid_is_an_update),
		TEST(test_informer__trouble_is_told_once_and_got_over),
		TEST(test_informer__watch_that_is_silent_is_followed_again),
		TEST(test_informer__what_ails_the_server_is_an_outage),
		TEST(test_informer_free__ends_it_in_any_state),
	};
	return cmocka_run_group_tests_name("informer", tests, NULL, NULL);
}
