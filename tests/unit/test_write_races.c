/* Two servers on one store. A transaction of one is held while the other one writes what it should have known of: the guard of the transaction must
 * notice, whoever is faster elsewhere. Only guards can: when the transaction was decided everything was as the server said.
 *
 * The other way round, a server does not see the writes of another one: what it refuses must not rest on that. */
#include "api/model/digest.h"
#include "base/clock.h"
#include "server/request/server_state.h"
#include "server/server.h"
#include "server/write/user_notes.h"
#include "tests/double/wrapper.h"
#include "tests/unit/cache_world.h"
#include "tests/unit/check.h"
#include "tests/unit/gate.h"
#include "tests/unit/http_client.h"

#include <poll.h>
#include <pthread.h>

#define CORE "/api/v1/namespaces"
#define V1 "/apis/annals.dev/v1/namespaces/default"
#define APPS "/apis/apps/v1/namespaces/default/controllerrevisions"
#define REVISIONS V1 "/controllerrevisions"
#define PROVIDERS V1 "/providers"
#define DEPENDENTS V1 "/dependents"
#define SNAPSHOTS V1 "/snapshots"

#define PROVIDER(name) "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{\"data\":{\"a\":1}}}"
#define REFERS(name, kind, to, more)                                                                                           \
	"{\"metadata\":{\"name\":\"" name "\"},\"spec\":{\"providers\":[{\"kind\":\"" kind "\",\"name\":\"" to "\"}]" more "}" \
															   "}"
#define DEPENDENT(name, provider) REFERS(name, "Provider", provider, "")
#define PICKY(name, provider) REFERS(name, "Provider", provider, ",\"whenMissing\":\"Refuse\"")
#define OWNER "{\"apiVersion\":\"apps/v1\",\"kind\":\"StatefulSet\",\"name\":\"web\",\"uid\":\"u\",\"controller\":true}"
#define REVISION(name, number, data)                                                                                          \
	"{\"metadata\":{\"name\":\"" name "\",\"ownerReferences\":[" OWNER "]},\"revision\":" number ",\"data\":{\"x\":" data \
	"}}"
#define SNAPSHOT(data, limit) "{\"spec\":{\"owner\":" OWNER ",\"data\":{\"x\":" data "},\"historyLimit\":" limit "}}"
#define RECORDINGS "/apis/annals.dev/v1/recordings"
/* Of one object, which had that state at that version. */
#define RECORDING(version, data)                                                                                              \
	"{\"spec\":{\"sightings\":[{\"namespace\":\"default\",\"subject\":{\"kind\":\"ConfigMap\",\"namespace\":\"default\"," \
	"\"name\":\"c\"},\"found\":\"Present\",\"time\":\"2026-01-02T03:04:05Z\",\"uid\":\"u\",\"apiVersion\":\"v1\","        \
	"\"resourceVersion\":\"" version "\",\"data\":{\"x\":" data "}}]}}"
#define LABEL(key) "{\"metadata\":{\"labels\":{\"" key "\":\"\"}}}"
#define LET_GO "{\"metadata\":{\"finalizers\":null}}"
#define HOLD "{\"metadata\":{\"finalizers\":[\"example.com/hold\"]}}"

/* ---- a store at which a transaction can be stopped ---- */

struct toll {
	struct wrapper wrapper;
	const char *directory; /* the first key that a transaction compares is there, or it passes */
	bool is_owner;         /* of the inner store */
	pthread_mutex_t lock;
	unsigned countdown; /* transactions until one is held; 0: none is */
	struct storage_op *held;
	unsigned n_ranges;
};

static bool is_meant(const struct toll *t, const struct storage_op *op)
{
	const struct storage_txn *txn = container_of(op, struct storage_txn, op);

	return txn->n_compares > 0 && str_starts(txn->compares[0].key, str_of(t->directory));
}

static void toll_submit(struct wrapper *w, enum op_kind kind, struct storage_op *op)
{
	struct toll *t = container_of(w, struct toll, wrapper);

	pthread_mutex_lock(&t->lock);
	bool is_held = t->countdown > 0 && kind == OP_TXN && is_meant(t, op) && --t->countdown == 0;
	if (is_held) {
		t->held = op;
	}
	t->n_ranges += kind == OP_RANGE;
	pthread_mutex_unlock(&t->lock);
	if (!is_held) {
		op_submit(w->inner, kind, op);
	}
}

static void toll_free(struct wrapper *w)
{
	struct toll *t = container_of(w, struct toll, wrapper);

	if (t->is_owner) {
		storage_free(w->inner);
	}
	pthread_mutex_destroy(&t->lock);
	mem_free(t);
}

static struct toll *toll_new(struct storage *inner, const char *directory, bool is_owner)
{
	struct toll *t = mem_new(struct toll);

	t->directory = directory;
	t->is_owner = is_owner;
	t->wrapper = (struct wrapper){{&wrapper_ops}, inner, toll_submit, toll_free};
	pthread_mutex_init(&t->lock, NULL);
	return t;
}

/* The n-th transaction is held; 1 is the next. */
static void toll_arm(struct toll *t, unsigned n)
{
	pthread_mutex_lock(&t->lock);
	t->countdown = n;
	t->n_ranges = 0;
	pthread_mutex_unlock(&t->lock);
}

static bool toll_has_seen(struct toll *t, enum op_kind kind)
{
	pthread_mutex_lock(&t->lock);
	bool ret = kind == OP_TXN ? t->held != NULL : t->n_ranges > 0;
	pthread_mutex_unlock(&t->lock);
	return ret;
}

static void toll_release(struct toll *t)
{
	pthread_mutex_lock(&t->lock);
	struct storage_op *op = t->held;
	t->held = NULL;
	t->countdown = 0;
	pthread_mutex_unlock(&t->lock);
	if (op) {
		op_submit(t->wrapper.inner, OP_TXN, op);
	}
}

/* ---- two servers ---- */

struct side {
	struct cache *cache;
	struct server *server;
	struct client client;
};

struct replicas {
	struct storage *memory, *gate; /* gate: the way of our events; in front of it the toll, which owns both */
	struct toll *toll;
	struct side ours, other;     /* the other one uses the memory */
	struct agreement *agreement; /* of ours; NULL: it has none */
	struct toll *registrar;      /* the agreement's way to the memory */
	struct arena a;
};

static void side_open(struct side *s, struct storage *store, struct agreement *agreement)
{
	_cleanup_(buf_done) struct buf err;
	buf_init(&err, 4096);
	s->cache = world_cache(store, (struct cache_options){0});
	const struct server_options options = {
		.http = {.bind_address = "127.0.0.1", .threads = 1},
		.storage = store,
		.cache = s->cache,
		.prefix = STR(WORLD_PREFIX),
		.agreement = agreement,
		.is_standalone = true,
		.anonymous_auth = true,
		.always_allow = true,
	};
	assert_int_equal(server_new(&s->server, &options, &err), 0);
	client_open(&s->client, server_port(s->server), NULL);
}

static void side_close(struct side *s)
{
	client_close(&s->client);
	server_free(s->server);
	cache_free(s->cache);
}

/* Its lease is one that need not be kept alive while a test runs. */
static void replicas_agree(struct replicas *p)
{
	struct agreement_options options = {
		.prefix = STR(WORLD_PREFIX), .is_standalone = true, .address = STR("127.0.0.1:1"), .lease_s = 3600};

	p->registrar = toll_new(p->memory, WORLD_PREFIX "/replicas/", false);
	options.storage = &p->registrar->wrapper.storage;
	storage_versions_init(&options.versions);
	p->agreement = agreement_new(&options);
}

static struct replicas *replicas_new(bool is_agreed)
{
	_cleanup_(buf_done) struct buf err;
	struct replicas *p = mem_new(struct replicas);
	buf_init(&err, 4096);
	arena_init(&p->a, 1 << 24);
	p->memory = storage_memory_new();
	p->gate = gate_new(p->memory);
	p->toll = toll_new(p->gate, WORLD_PREFIX "/objects/", true);
	side_open(&p->other, p->memory, NULL);
	assert_int_equal(server_bootstrap(p->other.server, &err), STORAGE_OK);
	if (is_agreed) {
		replicas_agree(p);
	}
	side_open(&p->ours, &p->toll->wrapper.storage, p->agreement);
	return p;
}

static int replicas_open(void **state)
{
	*state = replicas_new(false);
	return 0;
}

static int replicas_open_agreed(void **state)
{
	*state = replicas_new(true);
	return 0;
}

static int replicas_close(void **state)
{
	struct replicas *p = *state;
	side_close(&p->ours);
	side_close(&p->other);
	if (p->agreement) {
		agreement_free(p->agreement);
		storage_free(&p->registrar->wrapper.storage);
	}
	storage_free(&p->toll->wrapper.storage);
	arena_done(&p->a);
	mem_free(p);
	return 0;
}

struct reply {
	unsigned status;
	struct str body;
};

static void say(struct replicas *p, struct side *s, const char *method, const char *target, const char *body)
{
	const char *type = strcmp(method, "PATCH") == 0 ? "application/merge-patch+json" : "application/json";
	client_send(&s->client,
		arena_printf(&p->a, "%s %s HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n%s", method,
			target, type, strlen(body), body));
}

static struct reply hear(struct replicas *p, struct side *s)
{
	struct answer answer;
	assert_true(client_read_answer(&s->client, &answer));
	struct reply ret = {answer.status, arena_dup(&p->a, buf_str(&answer.body))};
	answer_clear(&answer);
	return ret;
}

static struct str ask(
	struct replicas *p, struct side *s, const char *method, const char *target, const char *body, unsigned status)
{
	say(p, s, method, target, body);
	struct reply reply = hear(p, s);
	if (reply.status != status) {
		fail_msg("%s %s: %u rather than %u: " STR_FMT, method, target, reply.status, status, STR_ARG(reply.body));
	}
	return reply.body;
}

static bool has(struct str text, const char *part)
{
	return str_contains(text, str_of(part));
}

/* Until ours has called the store, or answers without. */
static bool await_call(struct replicas *p, enum op_kind kind)
{
	struct pollfd fd = {.fd = p->ours.client.fd, .events = POLLIN};
	while (!toll_has_seen(p->toll, kind) && poll(&fd, 1, 1) == 0) {
	}
	return toll_has_seen(p->toll, kind);
}

/* A write of ours which has decided, and whose n-th transaction waits. */
static void begin_at(struct replicas *p, unsigned n, const char *method, const char *target, const char *body)
{
	/* Ours knows all there is. */
	ask(p, &p->ours, "GET", CORE, "", 200);
	toll_arm(p->toll, n);
	say(p, &p->ours, method, target, body);
	assert_true(await_call(p, OP_TXN));
}

static void begin(struct replicas *p, const char *method, const char *target, const char *body)
{
	begin_at(p, 1, method, target, body);
}

static void meanwhile(struct replicas *p, const char *method, const char *target, const char *body, unsigned status)
{
	ask(p, &p->other, method, target, body, status);
}

static struct str end(struct replicas *p, unsigned status)
{
	toll_release(p->toll);
	struct reply reply = hear(p, &p->ours);
	if (reply.status != status) {
		fail_msg("%u rather than %u: " STR_FMT, reply.status, status, STR_ARG(reply.body));
	}
	return reply.body;
}

static void have(struct replicas *p, const char *target, const char *body)
{
	ask(p, &p->other, "POST", target, body, 201);
}

static struct str get(struct replicas *p, const char *target)
{
	return ask(p, &p->other, "GET", target, "", 200);
}

/* Of the first object that is shown. */
static struct str version_of(struct str shown)
{
	static const struct str before = {"\"resourceVersion\":\"", 19};
	const char *at = memmem(shown.p, shown.n, before.p, before.n);
	assert_non_null(at);
	struct str rest = {at + before.n, shown.n - (size_t)(at + before.n - shown.p)}, version;
	assert_true(str_cut(rest, '"', &version, &rest));
	return version;
}

/* The store's keys below a directory. */
static size_t count_keys(struct replicas *p, const char *directory)
{
	struct str key = arena_printf(&p->a, WORLD_PREFIX "%s", directory);
	struct storage_range range = {.key = key, .range_end = storage_prefix_end(&p->a, key)};
	assert_int_equal(storage_range_wait(p->memory, &range), STORAGE_OK);
	size_t n = range.n_kvs;
	storage_op_clear(&range.op);
	return n;
}

/* ---- the object itself ---- */

static void test_races__no_update_is_lost(void **state)
{
	struct replicas *p = *state;
	have(p, REVISIONS, REVISION("r", "1", "1"));
	begin(p, "PATCH", REVISIONS "/r", LABEL("ours"));
	meanwhile(p, "PATCH", REVISIONS "/r", LABEL("other"), 200);
	struct str shown = end(p, 200);
	assert_true(has(shown, "\"ours\"") && has(shown, "\"other\""));
	assert_true(has(get(p, REVISIONS "/r"), "\"other\""));
}

static void test_races__who_names_a_version_changes_no_other(void **state)
{
	struct replicas *p = *state;
	have(p, REVISIONS, REVISION("r", "1", "1"));
	struct str version = version_of(get(p, REVISIONS "/r"));
	const char *named = arena_printf(
		&p->a, "{\"metadata\":{\"resourceVersion\":\"" STR_FMT "\",\"labels\":{\"ours\":\"\"}}}", STR_ARG(version))
				    .p;
	begin(p, "PATCH", REVISIONS "/r", named);
	meanwhile(p, "PATCH", REVISIONS "/r", LABEL("other"), 200);
	end(p, 409);
	const char *options = arena_printf(
		&p->a, "{\"preconditions\":{\"resourceVersion\":\"" STR_FMT "\"}}", STR_ARG(version_of(get(p, REVISIONS "/r"))))
				      .p;
	begin(p, "DELETE", REVISIONS "/r", options);
	meanwhile(p, "PATCH", REVISIONS "/r", LABEL("another"), 200);
	end(p, 409);
	struct str shown = get(p, REVISIONS "/r");
	assert_true(!has(shown, "\"ours\"") && has(shown, "\"other\"") && has(shown, "\"another\""));
}

static void test_races__of_two_creations_one_wins(void **state)
{
	struct replicas *p = *state;
	begin(p, "POST", REVISIONS, REVISION("r", "1", "1"));
	have(p, REVISIONS, REVISION("r", "1", "2"));
	assert_true(has(end(p, 409), "AlreadyExists"));
	assert_true(has(get(p, REVISIONS "/r"), "{\"x\":2}"));
}

static void test_races__a_deletion_notices_a_finalizer(void **state)
{
	struct replicas *p = *state;
	have(p, REVISIONS, REVISION("r", "1", "1"));
	begin(p, "DELETE", REVISIONS "/r", "");
	meanwhile(p, "PATCH", REVISIONS "/r", HOLD, 200);
	end(p, 200);
	assert_true(has(get(p, REVISIONS "/r"), "deletionTimestamp"));
}

#define SOME_POD "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"

/* A pod goes in two writes. Between them somebody else may end it, and another one may have its name. */
static void test_races__a_deletion_ends_no_other_object(void **state)
{
	struct replicas *p = *state;
	have(p, CORE "/default/pods", SOME_POD);
	begin_at(p, 2, "DELETE", CORE "/default/pods/a", "");
	meanwhile(p, "DELETE", CORE "/default/pods/a?gracePeriodSeconds=0", "", 200);
	have(p, CORE "/default/pods", SOME_POD);
	end(p, 200);
	assert_false(has(get(p, CORE "/default/pods/a"), "deletionTimestamp"));
}

static void test_races__nothing_is_created_in_a_namespace_that_goes(void **state)
{
	struct replicas *p = *state;
	have(p, CORE, "{\"metadata\":{\"name\":\"n\"}}");
	begin(p, "POST", "/api/v1/namespaces/n/configmaps", "{\"metadata\":{\"name\":\"c\"}}");
	meanwhile(p, "DELETE", CORE "/n", "", 200);
	assert_true(has(end(p, 403), "because it is being terminated"));
	assert_int_equal(count_keys(p, "/objects/core/configmaps/n/"), 0);
}

/* ---- whose write it was ---- */

#define CONFIGMAPS CORE "/default/configmaps"
#define RECORDER                                                                                                   \
	"{\"metadata\":{\"name\":\"r\"},\"spec\":{\"resources\":[{\"groups\":[\"\"],\"resources\":[\"configmaps\"" \
	"]}]}}"

static struct str uid_of(struct replicas *p, struct str shown)
{
	static const struct str before = {"\"uid\":\"", 7};
	const char *at = memmem(shown.p, shown.n, before.p, before.n);
	assert_non_null(at);
	return arena_dup(&p->a, (struct str){at + before.n, 36});
}

/* The user whom the store names for the deletion of that object; empty: nobody. */
static struct str deleted_by(struct replicas *p, struct str uid)
{
	const struct user_note deletion = {.sort = NOTE_DELETION, .uid = uid, .user = STR("system:anonymous")};
	struct user_note found;
	struct str key = user_note_key(&p->a, STR(WORLD_PREFIX), &deletion);
	struct storage_range range = {.key = key};
	assert_int_equal(storage_range_wait(p->memory, &range), STORAGE_OK);
	bool is_there = range.n_kvs > 0 && user_note_read(&found, &range.kvs[0], &p->a);
	struct str user = is_there ? arena_dup(&p->a, found.user) : STR("");
	storage_op_clear(&range.op);
	return user;
}

static void test_notes__who_lost_the_race_is_not_the_author(void **state)
{
	struct replicas *p = *state;
	have(p, "/apis/annals.dev/v1/recorders", RECORDER);
	have(p, CONFIGMAPS, "{\"metadata\":{\"name\":\"won\"}}");
	have(p, CONFIGMAPS, "{\"metadata\":{\"name\":\"lost\"}}");
	struct str won = uid_of(p, get(p, CONFIGMAPS "/won")), lost = uid_of(p, get(p, CONFIGMAPS "/lost"));
	begin(p, "DELETE", CONFIGMAPS "/won", "");
	assert_str(deleted_by(p, won), ""); /* the note comes with the write */
	end(p, 200);
	assert_str(deleted_by(p, won), "system:anonymous");
	begin(p, "DELETE", CONFIGMAPS "/lost", "");
	assert_str(deleted_by(p, lost), "");
	meanwhile(p, "DELETE", CONFIGMAPS "/lost", "", 200);
	assert_str(deleted_by(p, lost), "system:anonymous"); /* the other one's */
	end(p, 404);
}

/* ---- in which version, and whether at all ---- */

static struct storage_kv only_key(struct replicas *p, const char *directory)
{
	struct str key = arena_printf(&p->a, WORLD_PREFIX "%s", directory);
	struct storage_range range = {.key = key, .range_end = storage_prefix_end(&p->a, key)};
	assert_int_equal(storage_range_wait(p->memory, &range), STORAGE_OK);
	assert_int_equal(range.n_kvs, 1);
	struct storage_kv kv = range.kvs[0];
	kv.key = arena_dup(&p->a, kv.key);
	kv.value = arena_dup(&p->a, kv.value);
	storage_op_clear(&range.op);
	return kv;
}

/* The others take it for dead: they may store another version now. It writes nothing until it is registered again. */
static void test_races__who_is_registered_no_more_writes_nothing(void **state)
{
	struct replicas *p = *state;
	ask(p, &p->ours, "POST", REVISIONS, REVISION("a", "1", "1"), 201);
	begin(p, "PATCH", REVISIONS "/a", LABEL("ours"));
	toll_arm(p->registrar, 1);
	struct storage_step step = {.kind = STEP_DELETE, .key = only_key(p, "/replicas/").key};
	struct storage_txn removal = {.success = &step, .n_success = 1};
	assert_int_equal(storage_txn_wait(p->memory, &removal), STORAGE_OK);
	storage_op_clear(&removal.op);
	toll_release(p->toll);
	toll_release(p->registrar); /* behind the write */
	assert_int_equal(hear(p, &p->ours).status, 200);
	assert_true(
		only_key(p, "/replicas/").mod_revision < only_key(p, "/objects/annals.dev/controllerrevisions/").mod_revision);
}

/* ---- references ---- */

static void test_races__who_comes_to_refer_keeps_a_provider(void **state)
{
	struct replicas *p = *state;
	have(p, PROVIDERS, PROVIDER("p"));
	begin(p, "PATCH", PROVIDERS "/p", LET_GO);
	have(p, DEPENDENTS, DEPENDENT("d", "p"));
	assert_true(has(end(p, 409), "it is in use by d"));
	assert_true(has(get(p, PROVIDERS "/p"), "provider-protection"));
	/* Nor does one go that has lost its finalizer. */
	have(p, PROVIDERS, PROVIDER("q"));
	meanwhile(p, "PATCH", PROVIDERS "/q", LET_GO, 200);
	begin(p, "DELETE", PROVIDERS "/q", "");
	have(p, DEPENDENTS, DEPENDENT("e", "q"));
	assert_true(has(end(p, 409), "it is in use by e"));
	get(p, PROVIDERS "/q");
}

static void test_races__who_needs_a_provider_is_not_created_without(void **state)
{
	struct replicas *p = *state;
	have(p, PROVIDERS, PROVIDER("p"));
	begin(p, "POST", DEPENDENTS, PICKY("d", "p"));
	meanwhile(p, "DELETE", PROVIDERS "/p", "", 200);
	assert_true(has(end(p, 409), "is being deleted"));
	begin(p, "POST", DEPENDENTS, DEPENDENT("e", "p")); /* who waits is created */
	end(p, 201);
	have(p, PROVIDERS, PROVIDER("q"));
	begin(p, "POST", DEPENDENTS, PICKY("f", "q"));
	meanwhile(p, "PATCH", PROVIDERS "/q", LET_GO, 200);
	meanwhile(p, "DELETE", PROVIDERS "/q", "", 200);
	assert_true(has(end(p, 409), "is not there"));
	assert_int_equal(count_keys(p, "/objects/annals.dev/dependents/default/"), 1);
}

static void test_references__mark_goes_with_what_was_referred_to(void **state)
{
	struct replicas *p = *state;
	have(p, PROVIDERS, PROVIDER("p"));
	have(p, DEPENDENTS, DEPENDENT("d", "p"));
	assert_int_equal(count_keys(p, "/referenced/"), 1);
	meanwhile(p, "DELETE", DEPENDENTS "/d", "", 200);
	assert_int_equal(count_keys(p, "/references/"), 0);
	meanwhile(p, "DELETE", PROVIDERS "/p", "", 200);
	assert_int_equal(count_keys(p, "/referenced/"), 1);
	meanwhile(p, "PATCH", PROVIDERS "/p", LET_GO, 200);
	assert_int_equal(count_keys(p, "/referenced/"), 0);
	assert_int_equal(count_keys(p, "/objects/annals.dev/providers/"), 0);
}

/* The mark is as new as what was looked at, and no newer: nobody has come to refer since. */
static void test_references__mark_of_the_present_moment_holds_nobody_up(void **state)
{
	struct replicas *p = *state;
	have(p, PROVIDERS, PROVIDER("p"));
	have(p, DEPENDENTS, DEPENDENT("d", "p"));
	struct storage_step steps[] = {
		{.kind = STEP_PUT, .key = only_key(p, "/referenced/").key, .value = STR("u")},
		{.kind = STEP_DELETE, .key = only_key(p, "/references/").key},
		{.kind = STEP_DELETE, .key = only_key(p, "/objects/annals.dev/dependents/").key},
	};
	struct storage_txn txn = {.success = steps, .n_success = ARRAY_SIZE(steps)};
	assert_int_equal(storage_txn_wait(p->memory, &txn), STORAGE_OK);
	storage_op_clear(&txn.op);
	begin(p, "PATCH", PROVIDERS "/p", LET_GO);
	end(p, 200);
}

static int64_t revision_of(struct storage *s)
{
	struct storage_range range = {.key = STR(WORLD_PREFIX), .limit = 1};
	assert_int_equal(storage_range_wait(s, &range), STORAGE_OK);
	int64_t revision = range.op.revision;
	storage_op_clear(&range.op);
	return revision;
}

/* Who referred had gone, and is there again: the provider has the version that was seen, and the cache knows nothing of it. */
static void test_references__nothing_is_let_go_that_a_restored_backup_refers_to(void **state)
{
	struct replicas *p = *state;
	have(p, PROVIDERS, PROVIDER("p"));
	have(p, DEPENDENTS, DEPENDENT("d", "p"));
	int64_t backup = revision_of(p->memory);
	ask(p, &p->ours, "DELETE", DEPENDENTS "/d", "", 200);
	begin(p, "PATCH", PROVIDERS "/p", LET_GO);
	storage_memory_restore(p->memory, backup, 0);
	end(p, 503);
	assert_int_equal(count_keys(p, "/objects/annals.dev/dependents/default/"), 1);
	assert_true(has(only_key(p, "/objects/annals.dev/providers/default/").value, "provider-protection"));
}

/* An object in a version that nobody here knows might say anything. */
static void put_unknown(struct replicas *p, const char *rest, const char *kind)
{
	world_put_raw(p->memory, arena_printf(&p->a, WORLD_PREFIX "/objects/%s", rest).p,
		arena_printf(&p->a,
			"{\"kind\":\"%s\",\"apiVersion\":\"%sv9\",\"metadata\":{\"name\":\"x\",\"namespace\":\"default\"}}",
			kind, strcmp(kind, "Pod") == 0 ? "" : "annals.dev/")
			.p);
}

static void test_references__nothing_is_let_go_while_dependents_cannot_be_read(void **state)
{
	struct replicas *p = *state;
	have(p, PROVIDERS, PROVIDER("p"));
	put_unknown(p, "annals.dev/dependents/default/x", "Dependent");
	struct str refused = ask(p, &p->other, "PATCH", PROVIDERS "/p", LET_GO, 503);
	assert_true(has(refused, "dependents.annals.dev is stored in a version that this server does not know"));
	assert_true(has(get(p, PROVIDERS "/p"), "provider-protection"));
}

/* ---- histories ---- */

static void test_races__numbers_and_states_stay_apart(void **state)
{
	struct replicas *p = *state;
	begin(p, "POST", REVISIONS, REVISION("a", "1", "1"));
	have(p, REVISIONS, REVISION("b", "1", "2"));
	struct str refused = end(p, 409);
	assert_true(has(refused, "\\\"b\\\" of the same controller has revision 1") && has(refused, "\"field\":\"revision\""));
	begin(p, "POST", REVISIONS, REVISION("c", "3", "3"));
	have(p, REVISIONS, REVISION("d", "4", "3"));
	refused = end(p, 409);
	assert_true(has(refused, "\\\"d\\\" of the same controller has the same data") && has(refused, "\"field\":\"data\""));
	begin(p, "PATCH", REVISIONS "/b", "{\"revision\":7}");
	have(p, REVISIONS, REVISION("e", "7", "5"));
	assert_true(has(end(p, 409), "\\\"e\\\" of the same controller has revision 7"));
	/* Upstream's controllers find their own way, and who asks for duplicates has them. */
	have(p, APPS, REVISION("f", "7", "5"));
	have(p, REVISIONS, REVISION("g\",\"annotations\":{\"annals.dev/allow-duplicates\":\"true\"},\"uid\":\"", "7", "5"));
	assert_int_equal(count_keys(p, "/history/default/u/number/"), 5);
	assert_int_equal(count_keys(p, "/history/default/u/digest/"), 5);
}

/* What is found in its place is the object itself, which another one has given the number meanwhile. */
static void test_races__nothing_is_its_own_duplicate(void **state)
{
	struct replicas *p = *state;
	have(p, REVISIONS, REVISION("a", "1", "1"));
	begin(p, "PATCH", REVISIONS "/a", "{\"revision\":2}");
	meanwhile(p, "PATCH", REVISIONS "/a", "{\"revision\":2}", 200);
	assert_true(has(end(p, 200), "\"revision\":2"));
	assert_int_equal(count_keys(p, "/history/default/u/number/"), 1);
}

/* ---- snapshots ---- */

static struct str snapshot(struct replicas *p, const char *body)
{
	return ask(p, &p->other, "POST", SNAPSHOTS, body, 201);
}

static struct str name_of(struct replicas *p, struct str snapshot)
{
	static const struct str before = {"\"revision\":{\"name\":\"", 20};
	const char *at = memmem(snapshot.p, snapshot.n, before.p, before.n);
	assert_non_null(at);
	struct str rest = {at + before.n, snapshot.n - (size_t)(at + before.n - snapshot.p)}, name;
	assert_true(str_cut(rest, '"', &name, &rest));
	return arena_printf(&p->a, REVISIONS "/" STR_FMT, STR_ARG(name));
}

static void test_races__a_snapshot_has_the_highest_number(void **state)
{
	struct replicas *p = *state;
	snapshot(p, SNAPSHOT("1", "9"));
	begin(p, "POST", SNAPSHOTS, SNAPSHOT("2", "9"));
	have(p, REVISIONS, REVISION("later", "5", "5"));
	assert_true(has(end(p, 201), "\"revision\":6"));
	/* So has one that is found again. */
	begin(p, "POST", SNAPSHOTS, SNAPSHOT("1", "9"));
	have(p, REVISIONS, REVISION("latest", "8", "8"));
	struct str shown = end(p, 201);
	assert_true(has(shown, "RolledBack") && has(shown, "\"revision\":9"));
}

static void test_races__what_comes_to_be_needed_is_not_trimmed(void **state)
{
	struct replicas *p = *state;
	struct str first = name_of(p, snapshot(p, SNAPSHOT("1", "9"))), second = name_of(p, snapshot(p, SNAPSHOT("2", "9")));
	const char *dependent =
		arena_printf(&p->a, REFERS("d", "ControllerRevision", "%s", ""), first.p + strlen(REVISIONS "/")).p;
	begin(p, "POST", SNAPSHOTS, SNAPSHOT("3", "0"));
	have(p, DEPENDENTS, dependent);
	end(p, 201);
	get(p, first.p);
	ask(p, &p->other, "GET", second.p, "", 404);
}

static void test_races__what_somebody_holds_on_to_is_not_trimmed(void **state)
{
	struct replicas *p = *state;
	struct str first = name_of(p, snapshot(p, SNAPSHOT("1", "9"))), second = name_of(p, snapshot(p, SNAPSHOT("2", "9")));
	begin(p, "POST", SNAPSHOTS, SNAPSHOT("3", "0"));
	meanwhile(p, "PATCH", first.p, HOLD, 200);
	end(p, 201);
	get(p, first.p);
	ask(p, &p->other, "GET", second.p, "", 404);
}

/* Nothing is written but what goes. */
static void test_races__a_state_that_is_gone_is_not_unchanged(void **state)
{
	struct replicas *p = *state;
	struct str first, second;
	first = name_of(p, snapshot(p, SNAPSHOT("1", "9")));
	second = name_of(p, snapshot(p, SNAPSHOT("2", "9")));
	begin(p, "POST", SNAPSHOTS, SNAPSHOT("2", "0"));
	meanwhile(p, "DELETE", second.p, "", 200);
	struct str shown = end(p, 201);
	assert_true(has(shown, "Created"));
	get(p, name_of(p, shown).p);
	ask(p, &p->other, "GET", first.p, "", 404);
}

/* ---- recordings ---- */

static void test_races__what_two_recorders_have_seen_is_recorded_once(void **state)
{
	struct replicas *p = *state;
	begin(p, "POST", RECORDINGS, RECORDING("1", "1")); /* the History is made */
	have(p, RECORDINGS, RECORDING("1", "1"));
	struct str shown = end(p, 201);
	assert_true(has(shown, "\"Equal\"") && has(shown, "\"revision\":1"));
	begin(p, "POST", RECORDINGS, RECORDING("2", "2"));
	have(p, RECORDINGS, RECORDING("2", "2"));
	shown = end(p, 201);
	assert_true(has(shown, "\"Equal\"") && has(shown, "\"revision\":2"));
	assert_true(has(get(p, V1 "/histories"), "\"totalChanges\":2"));
	assert_int_equal(count_keys(p, "/objects/annals.dev/controllerrevisions/"), 2);
}

static void test_races__nothing_is_recorded_behind_what_is_newer(void **state)
{
	struct replicas *p = *state;
	have(p, RECORDINGS, RECORDING("1", "1"));
	begin(p, "POST", RECORDINGS, RECORDING("2", "2"));
	have(p, RECORDINGS, RECORDING("3", "3"));
	assert_true(has(end(p, 201), "\"Overtaken\""));
	assert_true(has(get(p, V1 "/histories"), "\"totalChanges\":2"));
}

static void test_snapshots__trim_nothing_while_pods_cannot_be_read(void **state)
{
	struct replicas *p = *state;
	struct str first = name_of(p, snapshot(p, SNAPSHOT("1", "9")));
	put_unknown(p, "core/pods/default/x", "Pod");
	struct str shown = snapshot(p, SNAPSHOT("2", "0"));
	assert_true(has(shown, "Created") && !has(shown, "trimmed"));
	get(p, first.p);
}

static const char *revision_made_of(struct replicas *p, const char *data, struct str *ret_name)
{
	struct str path = name_of(p, snapshot(p, arena_printf(&p->a, SNAPSHOT("%s", "9"), data).p));
	*ret_name = (struct str){path.p + strlen(REVISIONS "/"), path.n - strlen(REVISIONS "/")};
	return path.p;
}

#define POD(name, label)                                                                         \
	"{\"metadata\":{\"name\":\"" name "\",\"labels\":{\"controller-revision-hash\":\"" label \
	"\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"

static void test_snapshots__spare_what_is_needed_and_nothing_else(void **state)
{
	struct replicas *p = *state;
	struct str by_name, by_hash, owned, idle;
	revision_made_of(p, "1", &by_name);
	const char *hashed = revision_made_of(p, "2", &by_hash), *shared = revision_made_of(p, "3", &owned);
	revision_made_of(p, "4", &idle);
	meanwhile(p, "POST", CORE "/default/pods", arena_printf(&p->a, POD("a", "%s"), by_name.p).p, 201);
	meanwhile(p, "PATCH", hashed, "{\"metadata\":{\"labels\":{\"controller-revision-hash\":\"h\"}}}", 200);
	meanwhile(p, "POST", CORE "/default/pods", POD("b", "h"), 201);
	meanwhile(p, "POST", CORE "/default/pods", POD("c", ""), 201); /* of no revision */
	meanwhile(p, "PATCH", shared,
		"{\"metadata\":{\"ownerReferences\":[" OWNER
		",{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"a\",\"uid\":\"x\"}]}}",
		200);
	struct str shown = snapshot(p, SNAPSHOT("5", "0"));
	assert_true(has(shown, arena_printf(&p->a, "\"trimmed\":[\"" STR_FMT "\"]", STR_ARG(idle)).p));
}

/* ---- what is refused at once ---- */

#define MAP(name) "{\"metadata\":{\"name\":\"" name "\",\"finalizers\":[\"example.com/hold\"]}}"
#define OWNED_BY_MAP(name, uid)                                                                              \
	"{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"" name \
	"\",\"uid\":\"" uid "\",\"controller\":true}]}}"

static void test_writes__who_is_being_deleted_adopts_nothing(void **state)
{
	struct replicas *p = *state;
	struct str live = uid_of(p, ask(p, &p->other, "POST", CORE "/default/configmaps", MAP("live"), 201));
	struct str going = uid_of(p, ask(p, &p->other, "POST", CORE "/default/configmaps", MAP("going"), 201));
	meanwhile(p, "DELETE", CORE "/default/configmaps/going", "", 200);
	have(p, REVISIONS, "{\"metadata\":{\"name\":\"r\"},\"revision\":1,\"data\":{\"x\":1}}");
	struct str refused =
		ask(p, &p->other, "PATCH", REVISIONS "/r", arena_printf(&p->a, OWNED_BY_MAP("going", "%s"), going.p).p, 422);
	assert_true(has(refused, "ConfigMap/going is being deleted and cannot adopt"));
	/* One that had this name before is another one. */
	meanwhile(p, "PATCH", REVISIONS "/r", OWNED_BY_MAP("going", "before"), 200);
	meanwhile(p, "PATCH", REVISIONS "/r", arena_printf(&p->a, OWNED_BY_MAP("live", "%s"), live.p).p, 200);
}

static void test_writes__what_is_new_has_no_version(void **state)
{
	struct replicas *p = *state;
	struct str refused = ask(p, &p->other, "POST", REVISIONS, REVISION("r\",\"resourceVersion\":\"1", "1", "1"), 400);
	assert_true(has(refused, "resourceVersion should not be set on objects to be created"));
	have(p, REVISIONS, REVISION("r\",\"resourceVersion\":\"0", "1", "1"));
}

static void test_writes__preconditions_name_the_object(void **state)
{
	struct replicas *p = *state;
	have(p, REVISIONS, REVISION("r", "1", "1"));
	meanwhile(p, "DELETE", REVISIONS "/r", "{\"preconditions\":{\"uid\":\"another\"}}", 409);
	meanwhile(p, "PUT", REVISIONS "/r", REVISION("r\",\"uid\":\"another", "1", "1"), 409);
	struct str uid = uid_of(p, get(p, REVISIONS "/r"));
	meanwhile(p, "PUT", REVISIONS "/r", arena_printf(&p->a, REVISION("r\",\"uid\":\"%s", "1", "1"), uid.p).p, 200);
	meanwhile(p, "DELETE", REVISIONS "/r", arena_printf(&p->a, "{\"preconditions\":{\"uid\":\"%s\"}}", uid.p).p, 200);
	ask(p, &p->other, "GET", REVISIONS "/r", "", 404);
}

/* ---- late events ---- */

/* Ours hears of nothing any more. What it would refuse it must look at again, which it cannot before it hears. */
static struct str ask_behind(struct replicas *p, const char *method, const char *target, const char *body, unsigned status)
{
	toll_arm(p->toll, 1);
	say(p, &p->ours, method, target, body);
	await_call(p, OP_RANGE);
	gate_open(p->gate);
	return end(p, status);
}

static void test_late__what_is_not_known_may_be_there(void **state)
{
	struct replicas *p = *state;
	ask(p, &p->ours, "GET", CORE, "", 200);
	gate_close(p->gate);
	have(p, REVISIONS, REVISION("r", "1", "1"));
	assert_true(has(ask_behind(p, "PATCH", REVISIONS "/r", LABEL("ours"), 200), "\"ours\""));
}

static void test_late__no_answer_is_older_than_the_question(void **state)
{
	struct replicas *p = *state;
	ask(p, &p->ours, "GET", CORE, "", 200);
	gate_close(p->gate);
	have(p, REVISIONS, REVISION("r", "1", "1"));
	ask_behind(p, "GET", REVISIONS "/r", "", 200);
	gate_close(p->gate);
	have(p, REVISIONS, REVISION("s", "2", "2"));
	assert_true(has(ask_behind(p, "GET", REVISIONS, "", 200), "\"name\":\"s\""));
	/* Who asks for anything is answered from what is known. */
	gate_close(p->gate);
	have(p, REVISIONS, REVISION("t", "3", "3"));
	ask(p, &p->ours, "GET", REVISIONS "/t?resourceVersion=0", "", 404);
	assert_false(has(ask(p, &p->ours, "GET", REVISIONS "?resourceVersion=0", "", 200), "\"name\":\"t\""));
	gate_open(p->gate);
}

static void test_late__a_refusal_rests_on_what_is(void **state)
{
	struct replicas *p = *state;
	have(p, REVISIONS, REVISION("r", "1", "1"));
	meanwhile(p, "PATCH", REVISIONS "/r", LABEL("a"), 200);
	ask(p, &p->ours, "GET", CORE, "", 200);
	gate_close(p->gate);
	struct str sent = ask(p, &p->other, "PATCH", REVISIONS "/r", "{\"metadata\":{\"labels\":{\"a\":null}}}", 200);
	const char *named = arena_printf(&p->a, "{\"metadata\":{\"resourceVersion\":\"" STR_FMT "\",\"labels\":{\"a\":\"\"}}}",
		STR_ARG(version_of(sent)))
				    .p;
	/* Of the version that ours knows it would be a conflict. */
	assert_true(has(ask_behind(p, "PATCH", REVISIONS "/r", named, 200), "\"a\""));
	gate_close(p->gate);
	ask(p, &p->other, "PATCH", REVISIONS "/r", "{\"metadata\":{\"labels\":{\"a\":null}}}", 200);
	/* And nothing that would change nothing. */
	assert_true(has(ask_behind(p, "PATCH", REVISIONS "/r", LABEL("a"), 200), "\"a\""));
	assert_true(has(get(p, REVISIONS "/r"), "\"a\""));
}

/* A state that ours takes for the last one is a change, if another one came between. */
static void test_late__what_is_recorded_is_equal_to_what_is(void **state)
{
	struct replicas *p = *state;
	have(p, RECORDINGS, RECORDING("1", "1"));
	ask(p, &p->ours, "GET", CORE, "", 200);
	gate_close(p->gate);
	have(p, RECORDINGS, RECORDING("2", "2"));
	struct str shown = ask_behind(p, "POST", RECORDINGS, RECORDING("3", "1"), 201);
	assert_true(has(shown, "\"Changed\"") && has(shown, "\"revision\":3"));
	assert_true(has(get(p, V1 "/histories"), "\"totalChanges\":3"));
}

static int64_t decisions(struct replicas *p)
{
	struct str text = ask(p, &p->ours, "GET", "/metrics", "", 200), rest, line;
	int64_t n = -1;
	for (rest = text; n < 0 && str_cut(rest, '\n', &line, &rest);) {
		struct str name, number;
		if (str_cut(line, ' ', &name, &number) && str_is(name, "annals_write_decisions_total")) {
			assert_true(str_to_int64(number, &n));
		}
	}
	assert_true(n >= 0);
	return n;
}

/* What is refused, or changes nothing, is looked at again behind a read index. Where that has nothing new to tell, the first look
 * counts. */
static void test_late__what_was_decided_holds_where_nothing_has_happened(void **state)
{
	struct replicas *p = *state;
	have(p, REVISIONS, REVISION("r", "1", "1"));
	ask(p, &p->ours, "PATCH", REVISIONS "/r", LABEL("a"), 200);
	ask(p, &p->ours, "GET", REVISIONS "/r", "", 200);
	int64_t before = decisions(p);
	struct str refusal = ask(p, &p->ours, "PATCH", REVISIONS "/r", "{\"data\":{\"x\":2}}", 422);
	assert_true(has(refusal, "Invalid value"));
	assert_true(has(ask(p, &p->ours, "PATCH", REVISIONS "/r", LABEL("a"), 200), "\"a\""));
	ask(p, &p->ours, "PATCH", REVISIONS "/r?dryRun=All", LABEL("b"), 200);
	assert_int_equal(decisions(p) - before, 3);
	assert_false(has(get(p, REVISIONS "/r"), "\"b\""));
}

/* Ours cannot make sure, but what it would have refused does not show in what it says of that. */
static void test_late__a_refusal_that_nobody_can_confirm_is_not_one(void **state)
{
	struct replicas *p = *state;
	have(p, REVISIONS, REVISION("r", "1", "1"));
	meanwhile(p, "PATCH", REVISIONS "/r", LABEL("a"), 200);
	ask(p, &p->ours, "GET", CORE, "", 200);
	gate_close(p->gate);
	ask(p, &p->other, "PATCH", REVISIONS "/r", LABEL("b"), 200);
	struct str said = ask(p, &p->ours, "PATCH", REVISIONS "/r?timeout=1s", "{\"data\":{\"x\":2}}", 504);
	assert_false(has(said, "Invalid"));
	assert_false(has(said, "field"));
	gate_open(p->gate);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, replicas_open, replicas_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_races__no_update_is_lost),
		CASE(test_races__who_names_a_version_changes_no_other),
		CASE(test_races__of_two_creations_one_wins),
		CASE(test_races__a_deletion_notices_a_finalizer),
		CASE(test_races__a_deletion_ends_no_other_object),
		CASE(test_races__nothing_is_created_in_a_namespace_that_goes),
		CASE(test_notes__who_lost_the_race_is_not_the_author),
		cmocka_unit_test_setup_teardown(
			test_races__who_is_registered_no_more_writes_nothing, replicas_open_agreed, replicas_close),
		CASE(test_races__who_comes_to_refer_keeps_a_provider),
		CASE(test_races__who_needs_a_provider_is_not_created_without),
		CASE(test_references__mark_goes_with_what_was_referred_to),
		CASE(test_references__mark_of_the_present_moment_holds_nobody_up),
		CASE(test_references__nothing_is_let_go_that_a_restored_backup_refers_to),
		CASE(test_references__nothing_is_let_go_while_dependents_cannot_be_read),
		CASE(test_races__numbers_and_states_stay_apart),
		CASE(test_races__nothing_is_its_own_duplicate),
		CASE(test_races__a_snapshot_has_the_highest_number),
		CASE(test_races__what_comes_to_be_needed_is_not_trimmed),
		CASE(test_races__what_somebody_holds_on_to_is_not_trimmed),
		CASE(test_races__a_state_that_is_gone_is_not_unchanged),
		CASE(test_races__what_two_recorders_have_seen_is_recorded_once),
		CASE(test_races__nothing_is_recorded_behind_what_is_newer),
		CASE(test_snapshots__trim_nothing_while_pods_cannot_be_read),
		CASE(test_snapshots__spare_what_is_needed_and_nothing_else),
		CASE(test_writes__who_is_being_deleted_adopts_nothing),
		CASE(test_writes__what_is_new_has_no_version),
		CASE(test_writes__preconditions_name_the_object),
		CASE(test_late__what_is_not_known_may_be_there),
		CASE(test_late__no_answer_is_older_than_the_question),
		CASE(test_late__a_refusal_rests_on_what_is),
		CASE(test_late__what_is_recorded_is_equal_to_what_is),
		CASE(test_late__what_was_decided_holds_where_nothing_has_happened),
		CASE(test_late__a_refusal_that_nobody_can_confirm_is_not_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
