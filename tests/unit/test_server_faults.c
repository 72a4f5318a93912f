/* The whole server on a store that fails: for each request, in each way a store can fail, the first storage call fails, then the
 * second, third ... until the request needs no more. The answer must be truthful, nothing be done by halves, and life go on. */
#include "server/server.h"
#include "tests/double/fault.h"
#include "tests/unit/cache_world.h"
#include "tests/unit/check.h"
#include "tests/unit/http_client.h"

#include <poll.h>

#define REVISIONS "/apis/apps/v1/namespaces/default/controllerrevisions"
#define OBJECT(name, more)                                                                                     \
	"{\"apiVersion\":\"apps/v1\",\"kind\":\"ControllerRevision\",\"metadata\":{\"name\":\"" name "\"" more \
	"},\"data\":{\"a\":1},\"revision\":7}"
#define UNIQUE "/apis/annals.dev/v1/namespaces/default/controllerrevisions"
#define OWNED                                                                                                \
	"{\"metadata\":{\"name\":\"new\",\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"," \
	"\"name\":\"o\",\"uid\":\"u\",\"controller\":true}]},\"data\":{\"a\":1},\"revision\":1}"
#define OF_PRESENT ",\"resourceVersion\":\"$VERSION\""
#define JSON "application/json"
#define MERGE "application/merge-patch+json"

enum effect {
	CHANGES_NOTHING,
	CHANGES_ONE,
	CHANGES_SOME, /* one after the other: each in a transaction of its own */
};

struct scenario {
	const char *name;
	const char *method, *target, *type, *body; /* $VERSION: of the object "present" */
	unsigned usual;                            /* the answer when nothing fails */
	enum effect effect;
};

static const struct scenario scenarios[] = {
	{"get", "GET", REVISIONS "/present", NULL, "", 200, CHANGES_NOTHING},
	{"get_missing", "GET", REVISIONS "/missing", NULL, "", 404, CHANGES_NOTHING},
	{"list", "GET", REVISIONS, NULL, "", 200, CHANGES_NOTHING},
	{"create", "POST", REVISIONS, JSON, OBJECT("new", ""), 201, CHANGES_ONE},
	{"create_generated", "POST", REVISIONS, JSON, "{\"metadata\":{\"generateName\":\"g-\"},\"data\":{}}", 201, CHANGES_ONE},
	{"create_dry", "POST", REVISIONS "?dryRun=All", JSON, OBJECT("new", ""), 201, CHANGES_NOTHING},
	{"create_unique_dry", "POST", UNIQUE "?dryRun=All", JSON, OWNED, 201, CHANGES_NOTHING},
	{"create_existing", "POST", REVISIONS, JSON, OBJECT("present", ""), 409, CHANGES_NOTHING},
	{"create_nowhere", "POST", "/apis/apps/v1/namespaces/nowhere/controllerrevisions", JSON, OBJECT("new", ""), 404,
		CHANGES_NOTHING},
	{"update", "PUT", REVISIONS "/present", JSON, OBJECT("present", ""), 200, CHANGES_ONE},
	{"update_versioned", "PUT", REVISIONS "/present", JSON, OBJECT("present", OF_PRESENT), 200, CHANGES_ONE},
	{"update_outdated", "PUT", REVISIONS "/present", JSON, OBJECT("present", ",\"resourceVersion\":\"1\""), 409,
		CHANGES_NOTHING},
	{"update_missing", "PUT", REVISIONS "/missing", JSON, OBJECT("missing", ""), 404, CHANGES_NOTHING},
	{"patch", "PATCH", REVISIONS "/present", MERGE, "{\"revision\":8}", 200, CHANGES_ONE},
	{"patch_nothing", "PATCH", REVISIONS "/present", MERGE, "{\"revision\":1}", 200, CHANGES_NOTHING},
	{"patch_data", "PATCH", REVISIONS "/present", MERGE, "{\"data\":{\"a\":2}}", 422, CHANGES_NOTHING},
	{"apply_new", "PATCH", REVISIONS "/new?fieldManager=m", "application/apply-patch+yaml", OBJECT("new", ""), 201,
		CHANGES_ONE},
	{"delete", "DELETE", REVISIONS "/present", NULL, "", 200, CHANGES_ONE},
	{"delete_versioned", "DELETE", REVISIONS "/present", JSON, "{\"preconditions\":{\"resourceVersion\":\"$VERSION\"}}",
		200, CHANGES_ONE},
	{"delete_outdated", "DELETE", REVISIONS "/present", JSON, "{\"preconditions\":{\"resourceVersion\":\"1\"}}", 409,
		CHANGES_NOTHING},
	{"delete_missing", "DELETE", REVISIONS "/missing", NULL, "", 404, CHANGES_NOTHING},
	{"delete_held", "DELETE", REVISIONS "/held", NULL, "", 200, CHANGES_ONE},
	{"delete_all", "DELETE", REVISIONS, NULL, "", 200, CHANGES_SOME},
};

/* ---- a server ---- */

struct site {
	struct storage *memory, *store; /* store: a fault wrapper around memory, which it owns */
	struct cache *cache;
	struct server *server;
	struct client client;
	struct arena a;
};

static struct str site_send(struct site *s, const char *method, const char *target, const char *type, struct str body)
{
	struct str header = type ? arena_printf(&s->a, "Content-Type: %s\r\n", type) : STR("");
	return arena_printf(&s->a, "%s %s HTTP/1.1\r\nHost: x\r\n" STR_FMT "Content-Length: %zu\r\n\r\n" STR_FMT, method,
		target, STR_ARG(header), body.n, STR_ARG(body));
}

static void site_create(struct site *s, const char *body)
{
	struct answer answer;
	client_ask(&s->client, site_send(s, "POST", REVISIONS, JSON, str_of(body)).p, &answer);
	assert_int_equal(answer.status, 201);
	answer_clear(&answer);
}

static void site_open(struct site *s)
{
	_cleanup_(buf_done) struct buf err;
	buf_init(&err, 4096);
	*s = (struct site){.memory = storage_memory_new()};
	s->store = storage_fault_new(s->memory);
	s->cache = world_cache(s->store, (struct cache_options){0});
	arena_init(&s->a, 1 << 24);
	const struct server_options options = {
		.http = {.bind_address = "127.0.0.1", .threads = 1},
		.storage = s->store,
		.cache = s->cache,
		.prefix = STR(WORLD_PREFIX),
		.is_standalone = true,
		.anonymous_auth = true,
		.always_allow = true,
	};
	assert_int_equal(server_new(&s->server, &options, &err), 0);
	assert_int_equal(server_bootstrap(s->server, &err), STORAGE_OK);
	client_open(&s->client, server_port(s->server), NULL);
	site_create(s, "{\"metadata\":{\"name\":\"present\"},\"data\":{\"a\":1},\"revision\":1}");
	site_create(s, "{\"metadata\":{\"name\":\"held\",\"finalizers\":[\"a.b/c\"]},\"data\":{}}");
	site_create(s, "{\"metadata\":{\"name\":\"other\"},\"data\":{}}");
}

static void site_close(struct site *s)
{
	client_close(&s->client);
	server_free(s->server);
	cache_free(s->cache);
	storage_free(s->store);
	arena_done(&s->a);
}

/* ---- what is stored, without the server in between ---- */

struct stored {
	struct str name;
	int64_t revision;
};

struct inventory {
	struct stored *v;
	size_t n;
};

static struct inventory site_look(struct site *s)
{
	struct str key = STR(WORLD_PREFIX "/objects/annals.dev/controllerrevisions/default/");
	struct storage_range range = {.key = key, .range_end = storage_prefix_end(&s->a, key)};
	assert_int_equal(storage_range_wait(s->memory, &range), STORAGE_OK);
	struct inventory ret = {.v = arena_array(&s->a, struct stored, range.n_kvs + 1), .n = range.n_kvs};
	for (size_t i = 0; i < range.n_kvs; i++) {
		struct str name = {range.kvs[i].key.p + key.n, range.kvs[i].key.n - key.n};
		ret.v[i] = (struct stored){arena_dup(&s->a, name), range.kvs[i].mod_revision};
	}
	storage_op_clear(&range.op);
	return ret;
}

/* 0: there is none of that name. */
static int64_t revision_of(const struct inventory *in, struct str name)
{
	for (size_t i = 0; i < in->n; i++) {
		if (str_eq(in->v[i].name, name)) {
			return in->v[i].revision;
		}
	}
	return 0;
}

static size_t count_missing_or_changed(const struct inventory *a, const struct inventory *b)
{
	size_t n = 0;
	for (size_t i = 0; i < a->n; i++) {
		n += revision_of(b, a->v[i].name) != a->v[i].revision;
	}
	return n;
}

static size_t count_changes(const struct inventory *before, const struct inventory *after)
{
	size_t n = count_missing_or_changed(before, after);
	for (size_t i = 0; i < after->n; i++) {
		n += revision_of(before, after->v[i].name) == 0;
	}
	return n;
}

/* ---- asking, with a fault on the way ---- */

/* Delayed calls go on as soon as one waits; everything else is answered without help. */
static void client_await(struct client *c, struct storage *fault)
{
	struct pollfd p = {.fd = c->fd, .events = POLLIN};
	while (poll(&p, 1, 1) == 0) {
		if (storage_fault_has_fired(fault)) {
			storage_fault_release(fault);
		}
	}
}

static struct str fill_in(struct site *s, const char *body, const struct inventory *in)
{
	struct str text = str_of(body), head, tail;
	const char *at = strstr(body, "$VERSION");
	if (!at) {
		return text;
	}
	head = (struct str){body, (size_t)(at - body)};
	tail = str_of(at + strlen("$VERSION"));
	return arena_printf(
		&s->a, STR_FMT "%lld" STR_FMT, STR_ARG(head), (long long)revision_of(in, STR("present")), STR_ARG(tail));
}

static void ask(struct site *s, const struct scenario *sc, const struct inventory *in, struct answer *ret)
{
	client_send(&s->client, site_send(s, sc->method, sc->target, sc->type, fill_in(s, sc->body, in)));
	client_await(&s->client, s->store);
	assert_true(client_read_answer(&s->client, ret));
}

/* ---- what must be true ---- */

static bool is_among(size_t n, size_t least, size_t most)
{
	return n >= least && n <= most;
}

/* How many changes an answer may mean. */
static bool is_truthful(const struct scenario *sc, unsigned status, size_t n_changes, size_t n_before)
{
	size_t all = sc->effect == CHANGES_NOTHING ? 0 : sc->effect == CHANGES_ONE ? 1 : n_before;
	if (status == sc->usual) {
		return n_changes == all;
	}
	if (status == 503 || status == 500) {
		return is_among(n_changes, 0, sc->effect == CHANGES_SOME ? all : 0);
	}
	return status == 504 && is_among(n_changes, 0, all);
}

/* What was stored is what the answer shows. */
static void check_shown(struct site *s, const struct scenario *sc, const struct answer *answer, const struct inventory *after)
{
	struct str version;
	if (answer->status != sc->usual || sc->effect != CHANGES_ONE || strcmp(sc->method, "DELETE") == 0) {
		return;
	}
	for (size_t i = 0; i < after->n; i++) {
		version = arena_printf(&s->a, "\"resourceVersion\":\"%lld\"", (long long)after->v[i].revision);
		if (str_contains(buf_str(&answer->body), version)) {
			return;
		}
	}
	fail_msg("stored is not what is shown: %.*s", STR_ARG(buf_str(&answer->body)));
}

/* What writes nothing has certainly written nothing. */
static void check_certain(const struct scenario *sc, const struct answer *answer)
{
	if (sc->effect == CHANGES_NOTHING && str_contains(buf_str(&answer->body), STR("the outcome of the write is unknown"))) {
		fail_msg("%s leaves open what has happened: %.*s", sc->name, STR_ARG(buf_str(&answer->body)));
	}
}

/* Every object is shown as it is stored, and the same request is answered as if nothing had been. */
static void check_life_goes_on(struct site *s, const struct scenario *sc)
{
	struct inventory in = site_look(s);
	struct answer answer;
	for (size_t i = 0; i < in.n; i++) {
		client_get(&s->client, arena_printf(&s->a, REVISIONS "/" STR_FMT, STR_ARG(in.v[i].name)).p, &answer);
		assert_int_equal(answer.status, 200);
		assert_true(str_contains(buf_str(&answer.body),
			arena_printf(&s->a, "\"resourceVersion\":\"%lld\"", (long long)in.v[i].revision)));
		answer_clear(&answer);
	}
	ask(s, sc, &in, &answer);
	assert_true(answer.status < 500);
	answer_clear(&answer);
}

/* False: the request has been answered before the n-th call. */
static bool try_fault(const struct scenario *sc, enum fault_kind kind, unsigned n)
{
	struct site s;
	struct answer answer;
	site_open(&s);
	struct inventory before = site_look(&s);
	storage_fault_arm(s.store, kind, n);
	ask(&s, sc, &before, &answer);
	bool has_fired = storage_fault_has_fired(s.store);
	storage_fault_arm(s.store, kind, 0);

	struct inventory after = site_look(&s);
	size_t n_changes = count_changes(&before, &after);
	bool may_fail = has_fired && (kind == FAULT_REFUSE || kind == FAULT_LOSE || kind == FAULT_FULL);
	if (!is_truthful(sc, answer.status, n_changes, before.n) || (!may_fail && answer.status != sc->usual)) {
		fail_msg("%s, fault %d of call %u: %zu changes, but the answer is %u: %.*s", sc->name, (int)kind, n, n_changes,
			answer.status, STR_ARG(buf_str(&answer.body)));
	}
	check_shown(&s, sc, &answer, &after);
	check_certain(sc, &answer);
	answer_clear(&answer);
	check_life_goes_on(&s, sc);
	site_close(&s);
	return has_fired;
}

static void sweep(void **state)
{
	static const enum fault_kind kinds[] = {
		FAULT_REFUSE, FAULT_LOSE, FAULT_FULL, FAULT_OVERFILL, FAULT_DELAY, FAULT_DELAY_DONE};
	enum { CALLS_MAX = 64 };
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		unsigned n = 1;
		while (try_fault(*state, kinds[i], n)) {
			assert_true(n++ < CALLS_MAX);
		}
	}
}

/* ---- a deletion in two writes ---- */

#define PODS "/api/v1/namespaces/default/pods"
#define POD "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"

static unsigned ask_plainly(struct site *s, const char *method, const char *target, const char *body)
{
	struct answer answer;
	client_ask(&s->client, site_send(s, method, target, JSON, str_of(body)).p, &answer);
	unsigned status = answer.status;
	answer_clear(&answer);
	return status;
}

/* Whatever fails in between, the pod is there, or there and marked, or gone, and another DELETE ends it. */
static bool try_pod(enum fault_kind kind, unsigned n, const char *target)
{
	struct site s;
	struct answer answer;
	site_open(&s);
	assert_int_equal(ask_plainly(&s, "POST", PODS, POD), 201);
	storage_fault_arm(s.store, kind, n);
	client_send(&s.client, site_send(&s, "DELETE", target, NULL, STR("")));
	client_await(&s.client, s.store);
	assert_true(client_read_answer(&s.client, &answer));
	bool has_fired = storage_fault_has_fired(s.store), is_done = answer.status == 200;
	storage_fault_arm(s.store, kind, 0);
	assert_true(is_done || ((answer.status == 503 || answer.status == 504) && has_fired));
	answer_clear(&answer);
	if (is_done) {
		assert_int_equal(ask_plainly(&s, "GET", PODS "/p", ""), 404);
	} else {
		unsigned again = ask_plainly(&s, "DELETE", PODS "/p", "");
		assert_true(again == 200 || again == 404);
	}
	assert_int_equal(ask_plainly(&s, "GET", PODS "/p", ""), 404);
	site_close(&s);
	return has_fired;
}

static void test_server_faults__pods_go_in_the_end(void **state _unused_)
{
	static const enum fault_kind kinds[] = {FAULT_REFUSE, FAULT_LOSE, FAULT_DELAY, FAULT_DELAY_DONE};
	static const char *const targets[] = {PODS "/p", PODS};
	for (size_t i = 0; i < ARRAY_SIZE(kinds) * ARRAY_SIZE(targets); i++) {
		unsigned n = 1;
		while (try_pod(kinds[i % ARRAY_SIZE(kinds)], n, targets[i / ARRAY_SIZE(kinds)])) {
			assert_true(n++ < 64);
		}
		assert_true(n > 2);
	}
}

int main(void)
{
	struct CMUnitTest tests[ARRAY_SIZE(scenarios) + 1];
	char names[ARRAY_SIZE(scenarios)][64];
	for (size_t i = 0; i < ARRAY_SIZE(scenarios); i++) {
		snprintf(names[i], sizeof(names[i]), "test_server_faults__%s", scenarios[i].name);
		tests[i] = (struct CMUnitTest){names[i], sweep, NULL, NULL, (void *)(uintptr_t)&scenarios[i]};
	}
	tests[ARRAY_SIZE(scenarios)] = (struct CMUnitTest)cmocka_unit_test(test_server_faults__pods_go_in_the_end);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
