/* What mutating webhooks may change: no more than the user could have who sent the write. Above all, they take protection off nothing
 * that is referred to, which the guard of the transaction sees to while others come to refer to it. */
#include "api/patch/patch.h"
#include "server/server.h"
#include "tests/double/fault.h"
#include "tests/unit/cache_world.h"
#include "tests/unit/check.h"
#include "tests/unit/http_client.h"

#include <poll.h>
#include <pthread.h>

#define V1 "/apis/annals.dev/v1/namespaces/default"
#define PROVIDERS V1 "/providers"
#define DEPENDENTS V1 "/dependents"
#define REVISIONS V1 "/controllerrevisions"
#define PROTECTION "annals.dev/provider-protection"
#define LET_GO "{\"metadata\":{\"finalizers\":null}}"
#define LABEL "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}"
#define PROVIDER(name) "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{\"data\":{\"a\":1}}}"
#define DEPENDENT(name, provider) \
	"{\"metadata\":{\"name\":\"" name "\"},\"spec\":{\"providers\":[{\"name\":\"" provider "\"}]}}"
#define REFERS_TO_REVISION(name, revision)                                                                                     \
	"{\"metadata\":{\"name\":\"" name "\"},\"spec\":{\"providers\":[{\"kind\":\"ControllerRevision\",\"name\":\"" revision \
	"\"}]}}"
#define REVISION(name)                                                   \
	"{\"metadata\":{\"name\":\"" name "\",\"labels\":{\"annals.dev/" \
					  "protect\":\"true\"}},\"revision\":1,\"data\":{\"a\":1}}"

/* ---- a webhook ---- */

/* What it makes of objects: a merge patch. NULL: nothing. */
struct hook {
	pthread_mutex_t lock;
	const char *operation, *resource, *patch;
};

struct site {
	struct hook hook;
	struct delegates delegates;
	struct storage *memory, *store; /* store: a fault wrapper around memory, which it owns */
	struct cache *cache;
	struct server *server;
	struct client client;
	struct arena a;
};

static void set_hook(struct site *s, const char *operation, const char *resource, const char *patch)
{
	pthread_mutex_lock(&s->hook.lock);
	s->hook.operation = operation;
	s->hook.resource = resource;
	s->hook.patch = patch;
	pthread_mutex_unlock(&s->hook.lock);
}

static void change(struct webhook_question *q, const char *text)
{
	struct json *patch, *changed;
	struct status st;
	status_init(&st, q->base.arena);
	assert_int_equal(patch_parse(&patch, PATCH_MERGE, str_of(text), JSON_LIMITS_DEFAULT, q->base.arena, NULL, &st), 0);
	assert_int_equal(
		patch_merge(&changed, object_to_json(q->object, q->version, q->base.arena), patch, q->base.arena, &st), 0);
	q->changed = changed;
}

static bool ask_webhooks(void *ctx, struct webhook_question *q)
{
	struct hook *h = ctx;
	pthread_mutex_lock(&h->lock);
	bool is_meant = h->patch && q->phase == WEBHOOKS_MUTATING && strcmp(q->operation, h->operation) == 0 &&
		strcmp(q->kind->resource, h->resource) == 0;
	if (is_meant) {
		change(q, h->patch);
	}
	pthread_mutex_unlock(&h->lock);
	return true;
}

/* ---- a server that asks it ---- */

static int site_open(void **state)
{
	_cleanup_(buf_done) struct buf err;
	struct site *s = mem_new(struct site);
	buf_init(&err, 4096);
	pthread_mutex_init(&s->hook.lock, NULL);
	s->delegates = (struct delegates){.ctx = &s->hook, .ask_webhooks = ask_webhooks};
	s->memory = storage_memory_new();
	s->store = storage_fault_new(s->memory);
	s->cache = world_cache(s->store, (struct cache_options){0});
	arena_init(&s->a, 1 << 24);
	const struct server_options options = {
		.http = {.bind_address = "127.0.0.1", .threads = 1},
		.storage = s->store,
		.cache = s->cache,
		.prefix = STR(WORLD_PREFIX),
		.is_standalone = true,
		.delegates = &s->delegates,
		.anonymous_auth = true,
		.always_allow = true,
	};
	assert_int_equal(server_new(&s->server, &options, &err), 0);
	assert_int_equal(server_bootstrap(s->server, &err), STORAGE_OK);
	client_open(&s->client, server_port(s->server), NULL);
	*state = s;
	return 0;
}

static int site_close(void **state)
{
	struct site *s = *state;
	client_close(&s->client);
	server_free(s->server);
	cache_free(s->cache);
	storage_free(s->store);
	arena_done(&s->a);
	pthread_mutex_destroy(&s->hook.lock);
	mem_free(s);
	return 0;
}

static void site_send(struct site *s, struct client *c, const char *method, const char *target, const char *body)
{
	const char *type = strcmp(method, "PATCH") == 0 ? "application/merge-patch+json" : "application/json";
	client_send(c,
		arena_printf(&s->a, "%s %s HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n%s", method,
			target, type, strlen(body), body));
}

/* The answer's body. */
static struct str site_read(struct site *s, struct client *c, unsigned status)
{
	struct answer answer;
	assert_true(client_read_answer(c, &answer));
	struct str body = arena_dup(&s->a, buf_str(&answer.body));
	if (answer.status != status) {
		fail_msg("%u rather than %u: " STR_FMT, answer.status, status, STR_ARG(body));
	}
	answer_clear(&answer);
	return body;
}

static struct str ask(struct site *s, const char *method, const char *target, const char *body, unsigned status)
{
	site_send(s, &s->client, method, target, body);
	return site_read(s, &s->client, status);
}

static struct str get(struct site *s, const char *target)
{
	return ask(s, "GET", target, "", 200);
}

static bool has(struct str text, const char *part)
{
	return str_contains(text, str_of(part));
}

/* ---- protection ---- */

static void test_references__a_webhook_takes_protection_off_nothing_that_is_referred_to(void **state)
{
	struct site *s = *state;
	ask(s, "POST", PROVIDERS, PROVIDER("p"), 201);
	ask(s, "POST", DEPENDENTS, DEPENDENT("d", "p"), 201);
	set_hook(s, "UPDATE", "providers", LET_GO);
	struct str refused = ask(s, "PATCH", PROVIDERS "/p", LABEL, 409);
	assert_true(has(refused, "it is in use by d") && has(refused, "metadata.finalizers"));
	struct str present = get(s, PROVIDERS "/p");
	assert_true(has(present, PROTECTION) && !has(present, "labels"));
}

static void test_references__a_webhook_takes_protection_off_as_the_user_could(void **state)
{
	struct site *s = *state;
	ask(s, "POST", PROVIDERS, PROVIDER("p"), 201);
	set_hook(s, "UPDATE", "providers", LET_GO);
	assert_false(has(ask(s, "PATCH", PROVIDERS "/p", LABEL, 200), PROTECTION));
	assert_false(has(get(s, PROVIDERS "/p"), PROTECTION));
	/* What is referred to without its finalizer does not go either. */
	ask(s, "POST", DEPENDENTS, DEPENDENT("d", "p"), 201);
	assert_true(has(ask(s, "DELETE", PROVIDERS "/p", "", 409), "it is in use by d"));
}

static void test_references__a_webhook_ends_no_deletion_of_what_is_referred_to(void **state)
{
	struct site *s = *state;
	ask(s, "POST", PROVIDERS, PROVIDER("p"), 201);
	ask(s, "POST", DEPENDENTS, DEPENDENT("d", "p"), 201);
	ask(s, "DELETE", PROVIDERS "/p", "", 200);
	set_hook(s, "UPDATE", "providers", LET_GO);
	ask(s, "PATCH", PROVIDERS "/p", LABEL, 409);
	assert_true(has(get(s, PROVIDERS "/p"), "deletionTimestamp"));
	ask(s, "DELETE", DEPENDENTS "/d", "", 200);
	ask(s, "PATCH", PROVIDERS "/p", LABEL, 200);
	ask(s, "GET", PROVIDERS "/p", "", 404);
}

static void test_references__a_webhook_frees_no_revision_that_is_referred_to(void **state)
{
	struct site *s = *state;
	ask(s, "POST", REVISIONS, REVISION("r"), 201);
	ask(s, "POST", DEPENDENTS, REFERS_TO_REVISION("d", "r"), 201);
	set_hook(s, "UPDATE", "controllerrevisions", LET_GO);
	assert_true(has(ask(s, "PATCH", REVISIONS "/r", LABEL, 409), "it is in use by d"));
	assert_true(has(get(s, REVISIONS "/r"), PROTECTION));
	ask(s, "DELETE", DEPENDENTS "/d", "", 200);
	assert_false(has(ask(s, "PATCH", REVISIONS "/r", LABEL, 200), PROTECTION));
}

static void test_references__a_webhook_changes_nothing_of_how_objects_are_born(void **state)
{
	struct site *s = *state;
	set_hook(s, "CREATE", "providers", LET_GO);
	assert_true(has(ask(s, "POST", PROVIDERS, PROVIDER("p"), 201), PROTECTION));
	set_hook(s, "CREATE", "controllerrevisions", LET_GO);
	assert_true(has(ask(s, "POST", REVISIONS, REVISION("r"), 201), PROTECTION));
	/* Without the label it is one that nobody wants to protect. */
	set_hook(s, "CREATE", "controllerrevisions", "{\"metadata\":{\"labels\":null}}");
	assert_false(has(ask(s, "POST", REVISIONS, REVISION("free"), 201), PROTECTION));
}

/* A Dependent comes while the n-th call of a write is under way, by which a webhook takes protection off. False: the write has no such
 * call. */
static bool race(struct site *s, unsigned n)
{
	struct client other;
	struct str name = arena_printf(&s->a, "p%u", n), path = arena_printf(&s->a, PROVIDERS "/" STR_FMT, STR_ARG(name));
	struct str provider = arena_printf(&s->a, PROVIDER("%s"), name.p);
	struct str dependent = arena_printf(&s->a, DEPENDENT("d%u", "%s"), n, name.p);
	ask(s, "POST", PROVIDERS, provider.p, 201);
	client_open(&other, server_port(s->server), NULL);
	storage_fault_arm(s->store, FAULT_DELAY, n);
	site_send(s, &s->client, "PATCH", path.p, LABEL);
	struct pollfd p = {.fd = s->client.fd, .events = POLLIN};
	while (!storage_fault_has_fired(s->store) && poll(&p, 1, 1) == 0) {
	}
	bool has_fired = storage_fault_has_fired(s->store);
	storage_fault_arm(s->store, FAULT_DELAY, 0);
	if (has_fired) {
		site_send(s, &other, "POST", DEPENDENTS, dependent.p);
		site_read(s, &other, 201);
		storage_fault_release(s->store);
	}
	struct str answer = site_read(s, &s->client, has_fired ? 409 : 200);
	assert_int_equal(has(get(s, path.p), PROTECTION), has_fired);
	assert_int_equal(has(answer, "it is in use by"), has_fired);
	client_close(&other);
	return has_fired;
}

static void test_references__who_comes_to_refer_meanwhile_is_noticed(void **state)
{
	struct site *s = *state;
	unsigned n = 1;
	set_hook(s, "UPDATE", "providers", LET_GO);
	while (race(s, n)) {
		assert_true(n++ < 16);
	}
	assert_true(n > 1);
}

/* ---- what never changes ---- */

static void test_references__a_webhook_changes_nothing_that_is_immutable(void **state)
{
	struct site *s = *state;
	ask(s, "POST", REVISIONS, REVISION("r"), 201);
	set_hook(s, "UPDATE", "controllerrevisions", "{\"data\":{\"a\":2}}");
	assert_true(has(ask(s, "PATCH", REVISIONS "/r", LABEL, 422), "data: Invalid value"));
	ask(s, "POST", DEPENDENTS, DEPENDENT("d", "p"), 201);
	set_hook(s, "UPDATE", "dependents", "{\"spec\":{\"providers\":[{\"kind\":\"Provider\",\"name\":\"q\"}]}}");
	assert_true(has(ask(s, "PATCH", DEPENDENTS "/d", LABEL, 422), "field is immutable"));
	set_hook(s, "UPDATE", "controllerrevisions", "{\"revision\":-1}");
	ask(s, "PATCH", REVISIONS "/r", LABEL, 422);
}

#define CONDITION                                                                                                 \
	"{\"status\":{\"conditions\":[{\"type\":\"Known\",\"status\":\"True\",\"reason\":\"R\",\"message\":\"\"," \
	"\"lastTransitionTime\":\"2020-01-01T00:00:00Z\"}]}}"

static void test_references__a_webhook_changes_by_a_status_no_more_than_a_client(void **state)
{
	struct site *s = *state;
	ask(s, "POST", PROVIDERS, PROVIDER("p"), 201);
	ask(s, "POST", PROVIDERS, PROVIDER("q"), 201);
	ask(s, "POST", DEPENDENTS, DEPENDENT("d", "p"), 201);
	set_hook(s, "UPDATE", "dependents",
		"{\"spec\":{\"providers\":[{\"kind\":\"Provider\",\"name\":\"q\"}]},\"status\":{\"phase\":\"Pending\"}}");
	struct str shown = ask(s, "PATCH", DEPENDENTS "/d/status", CONDITION, 200);
	assert_true(has(shown, "\"name\":\"p\"") && !has(shown, "\"name\":\"q\""));
	assert_true(has(shown, "Known") && has(shown, "\"phase\":\"Pending\""));
	assert_true(has(get(s, DEPENDENTS "/d"), "\"name\":\"p\""));
	set_hook(s, "UPDATE", "providers", "{\"spec\":{\"data\":{\"a\":2}}}");
	assert_true(has(ask(s, "PATCH", PROVIDERS "/p/status", CONDITION, 200), "\"a\":1"));
	set_hook(s, "UPDATE", "providers", LET_GO);
	ask(s, "PATCH", PROVIDERS "/p/status", "{\"status\":{\"observedGeneration\":5}}", 409);
	assert_false(has(ask(s, "PATCH", PROVIDERS "/q/status", CONDITION, 200), PROTECTION));
}

static void test_references__follow_what_webhooks_have_made_of_a_new_object(void **state)
{
	struct site *s = *state;
	ask(s, "POST", PROVIDERS, PROVIDER("p"), 201);
	ask(s, "POST", PROVIDERS, PROVIDER("q"), 201);
	set_hook(s, "CREATE", "dependents", "{\"spec\":{\"providers\":[{\"kind\":\"Provider\",\"name\":\"q\"}]}}");
	ask(s, "POST", DEPENDENTS, DEPENDENT("d", "p"), 201);
	ask(s, "PATCH", PROVIDERS "/p", LET_GO, 200);
	assert_true(has(ask(s, "PATCH", PROVIDERS "/q", LET_GO, 409), "it is in use by d"));
	set_hook(s, "CREATE", "dependents", "{\"spec\":{\"providers\":[]}}");
	ask(s, "POST", DEPENDENTS, DEPENDENT("e", "p"), 422);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, site_open, site_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_references__a_webhook_takes_protection_off_nothing_that_is_referred_to),
		CASE(test_references__a_webhook_takes_protection_off_as_the_user_could),
		CASE(test_references__a_webhook_ends_no_deletion_of_what_is_referred_to),
		CASE(test_references__a_webhook_frees_no_revision_that_is_referred_to),
		CASE(test_references__a_webhook_changes_nothing_of_how_objects_are_born),
		CASE(test_references__who_comes_to_refer_meanwhile_is_noticed),
		CASE(test_references__a_webhook_changes_nothing_that_is_immutable),
		CASE(test_references__a_webhook_changes_by_a_status_no_more_than_a_client),
		CASE(test_references__follow_what_webhooks_have_made_of_a_new_object),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
