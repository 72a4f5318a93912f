/* What /livez, /readyz and /healthz say while the store is being read for the first time, and afterwards. */
#include "base/clock.h"
#include "server/server.h"
#include "tests/double/fault.h"
#include "tests/unit/cache_world.h"
#include "tests/unit/check.h"
#include "tests/unit/http_client.h"

#include <sched.h>

enum { LOAD_PATIENCE_MS = 60000 };

struct site {
	struct storage *store; /* a fault wrapper around one in memory */
	struct cache *cache;
	struct server *server;
	struct client client;
};

/* The first call to the store, which reads it, waits until the test lets it go. */
static int open_site(void **state)
{
	static struct site s;
	struct buf err;
	buf_init(&err, 4096);
	s = (struct site){.store = storage_fault_new(storage_memory_new())};
	storage_fault_arm(s.store, FAULT_DELAY, 1);
	s.cache = cache_new(&(struct cache_options){.storage = s.store, .prefix = STR(WORLD_PREFIX)});
	const struct server_options options = {
		.http = {.bind_address = "127.0.0.1", .threads = 1},
		.storage = s.store,
		.cache = s.cache,
		.prefix = STR(WORLD_PREFIX),
		.is_standalone = true,
		.anonymous_auth = true,
		.always_allow = true,
	};
	assert_int_equal(server_new(&s.server, &options, &err), 0);
	client_open(&s.client, server_port(s.server), NULL);
	buf_done(&err);
	*state = &s;
	return 0;
}

static void finish_loading(struct site *s)
{
	storage_fault_release(s->store);
	assert_int_equal(world_wait_fresh(s->cache, LOAD_PATIENCE_MS), STORAGE_OK);
	int64_t until_ms = clock_mono_ms() + LOAD_PATIENCE_MS;
	while (!cache_is_connected(s->cache)) { /* what there is has been read; the watch of what comes may be on its way */
		assert_true(clock_mono_ms() < until_ms);
		sched_yield();
	}
}

static void make_namespaces(struct site *s)
{
	_cleanup_(buf_done) struct buf err;
	buf_init(&err, 4096);
	assert_int_equal(server_bootstrap(s->server, &err), STORAGE_OK);
}

static int close_site(void **state)
{
	struct site *s = *state;
	if (!cache_is_ready(s->cache)) {
		finish_loading(s);
	}
	client_close(&s->client);
	server_free(s->server);
	cache_free(s->cache);
	storage_free(s->store);
	return 0;
}

struct expected {
	const char *target;
	unsigned status;
	const char *body;
};

static void check_answers(struct site *s, const struct expected *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct answer answer;
		client_get(&s->client, rows[i].target, &answer);
		if (answer.status != rows[i].status) {
			fail_msg("%s: %u", rows[i].target, answer.status);
		}
		assert_str(buf_str(&answer.body), rows[i].body);
		answer_clear(&answer);
	}
}

#define NOT_READ "etcd has not been read yet\n"
#define NO_NAMESPACES "the first namespaces have not been made yet\n"

static void test_health__is_alive_but_not_ready_while_loading(void **state)
{
	static const struct expected rows[] = {
		{"/livez", 200, "ok"},
		{"/livez/etcd", 200, "ok"},
		{"/readyz", 500,
			"[+]ping ok\n"
			"[-]etcd failed: " NOT_READ "[-]etcd-readiness failed: " NOT_READ
			"[+]etcd-alarms ok\n[-]namespaces failed: " NO_NAMESPACES
			"[+]storage-versions ok\n[+]shutdown ok\nreadyz check failed\n"},
		{"/readyz/etcd", 500, "internal server error: " NOT_READ},
		{"/readyz/ping", 200, "ok"},
		{"/readyz?exclude=etcd&exclude=etcd-readiness&exclude=namespaces", 200, "ok"},
		{"/readyz?exclude=etcd&exclude=namespaces", 500,
			"[+]ping ok\n[+]etcd excluded: ok\n"
			"[-]etcd-readiness failed: " NOT_READ "[+]etcd-alarms ok\n"
			"[+]namespaces excluded: ok\n[+]storage-versions ok\n[+]shutdown ok\nreadyz check failed\n"},
		{"/healthz", 500, "[+]ping ok\n[-]etcd failed: " NOT_READ "healthz check failed\n"},
	};
	check_answers(*state, rows, ARRAY_SIZE(rows));
}

static void test_health__is_not_ready_without_the_first_namespaces(void **state)
{
	static const struct expected rows[] = {
		{"/healthz", 200, "ok"},
		{"/readyz/etcd", 200, "ok"},
		{"/readyz/namespaces", 500, "internal server error: " NO_NAMESPACES},
		{"/readyz", 500,
			"[+]ping ok\n[+]etcd ok\n[+]etcd-readiness ok\n[+]etcd-alarms ok\n[-]namespaces failed: " NO_NAMESPACES
			"[+]storage-versions ok\n[+]shutdown ok\nreadyz check failed\n"},
	};
	finish_loading(*state);
	check_answers(*state, rows, ARRAY_SIZE(rows));
}

static void test_health__resources_are_unavailable_while_loading(void **state)
{
	struct site *s = *state;
	struct answer answer;
	client_get(&s->client, "/apis/apps/v1/controllerrevisions", &answer);
	assert_int_equal(answer.status, 503);
	assert_str(answer_header(&answer, "Retry-After"), "1");
	answer_clear(&answer);
	client_get(&s->client, "/apis/apps/v1", &answer);
	assert_int_equal(answer.status, 200);
	answer_clear(&answer);
}

static void test_health__is_ready_when_everything_is_there(void **state)
{
	static const struct expected rows[] = {
		{"/livez", 200, "ok"},
		{"/readyz", 200, "ok"},
		{"/healthz", 200, "ok"},
		{"/healthz/", 404, "404 page not found\n"},
		{"/readyz?verbose", 200,
			"[+]ping ok\n[+]etcd ok\n[+]etcd-readiness ok\n[+]etcd-alarms ok\n[+]namespaces "
			"ok\n[+]storage-versions ok\n[+]shutdown "
			"ok\nreadyz check "
			"passed\n"},
		{"/livez?verbose=false", 200, "[+]ping ok\n[+]etcd ok\nlivez check passed\n"},
		{"/livez?exclude=nothing", 200, "ok"},
		{"/livez?verbose&exclude=nothing", 200,
			"[+]ping ok\n[+]etcd ok\nwarn: some health checks cannot be excluded: no matches for \"nothing\"\n"
			"livez check passed\n"},
		{"/livez/nothing", 404, "404 page not found\n"},
		{"/livez/ping/more", 404, "404 page not found\n"},
		{"/livezz", 404, "404 page not found\n"},
	};
	finish_loading(*state);
	make_namespaces(*state);
	check_answers(*state, rows, ARRAY_SIZE(rows));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, open_site, close_site)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_health__is_alive_but_not_ready_while_loading),
		CASE(test_health__is_not_ready_without_the_first_namespaces),
		CASE(test_health__resources_are_unavailable_while_loading),
		CASE(test_health__is_ready_when_everything_is_there),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
