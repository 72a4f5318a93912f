/* Writes whose webhooks are configured otherwise while they are being asked: the server, on a store in memory, behind delegates that hold their
 * answers. A phase ends as it began, as in kube-apiserver: who was asked is obeyed, and who comes later is not asked. */
#include "api/model/members.h"
#include "base/clock.h"
#include "tests/unit/behind_world.h"
#include "tests/unit/http_client.h"

#include <pthread.h>

#define REVISIONS "/apis/annals.dev/v1/namespaces/default/controllerrevisions"
#define TYPE "\"apiVersion\":\"annals.dev/v1\",\"kind\":\"ControllerRevision\""
#define BODY(name, revision) "{" TYPE ",\"metadata\":{" name "},\"data\":{\"a\":1},\"revision\":" revision "}"
#define NEW "\"name\":\"new\""
#define PRESENT "\"name\":\"present\""
#define GENERATED "\"generateName\":\"g-\""

enum {
	PATIENCE_MS = 60 * 1000,
	QUESTIONS_MAX = 8,
};

struct scenario {
	const char *name, *method, *target, *type, *body;
	const char *operation; /* that webhooks are asked about */
	unsigned usual;
	const char *changed; /* what a mutating webhook says; NULL: there is no object to change */
};

#define JSON "application/json"
#define MERGE "application/merge-patch+json"
#define APPLY "application/apply-patch+yaml"

static const struct scenario scenarios[] = {
	{"create", "POST", REVISIONS, JSON, BODY(NEW, "7"), "CREATE", 201, BODY(NEW, "99")},
	{"create_generated", "POST", REVISIONS, JSON, BODY(GENERATED, "7"), "CREATE", 201, BODY(GENERATED, "99")},
	{"create_dry", "POST", REVISIONS "?dryRun=All", JSON, BODY(NEW, "7"), "CREATE", 201, BODY(NEW, "99")},
	{"update", "PUT", REVISIONS "/present", JSON, BODY(PRESENT, "7"), "UPDATE", 200, BODY(PRESENT, "99")},
	{"patch", "PATCH", REVISIONS "/present", MERGE, "{\"revision\":7}", "UPDATE", 200, BODY(PRESENT, "99")},
	{"patch_dry", "PATCH", REVISIONS "/present?dryRun=All", MERGE, "{\"revision\":7}", "UPDATE", 200, BODY(PRESENT, "99")},
	{"apply", "PATCH", REVISIONS "/new?fieldManager=m", APPLY, BODY(NEW, "7"), "CREATE", 201, BODY(NEW, "99")},
	{"delete", "DELETE", REVISIONS "/present", NULL, "", "DELETE", 200, NULL},
	{"delete_dry", "DELETE", REVISIONS "/present?dryRun=All", NULL, "", "DELETE", 200, NULL},
	{"delete_collection", "DELETE", REVISIONS, NULL, "", "DELETE", 200, NULL},
};

/* ---- a cluster that holds its answers ---- */

struct cluster {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	const char *operation[2];      /* that webhooks of the phase are configured for; NULL: none are */
	struct webhook_question *held; /* asked, and not answered yet */
	unsigned n_asked[2];
};

static bool is_configured(const struct cluster *c, const struct webhook_question *q)
{
	return c->operation[q->phase] && strcmp(c->operation[q->phase], q->operation) == 0;
}

static bool has_webhooks(void *ctx, const struct webhook_question *q)
{
	struct cluster *c = ctx;
	pthread_mutex_lock(&c->lock);
	bool ret = is_configured(c, q);
	pthread_mutex_unlock(&c->lock);
	return ret;
}

/* Without a webhook for it any question is answered at once. */
static bool ask_webhooks(void *ctx, struct webhook_question *q)
{
	struct cluster *c = ctx;
	pthread_mutex_lock(&c->lock);
	bool is_held = is_configured(c, q);
	if (is_held) {
		assert_null(c->held);
		c->held = q;
		c->n_asked[q->phase]++;
		pthread_cond_signal(&c->changed);
	}
	pthread_mutex_unlock(&c->lock);
	return !is_held;
}

static bool ask_access(void *ctx _unused_, struct access_question *q)
{
	q->is_allowed = true;
	return true;
}

static void configure(struct cluster *c, enum webhook_phase phase, const char *operation)
{
	pthread_mutex_lock(&c->lock);
	c->operation[phase] = operation;
	pthread_mutex_unlock(&c->lock);
}

static struct webhook_question *await_question(struct cluster *c, enum webhook_phase phase)
{
	int64_t until_ms = clock_mono_ms() + PATIENCE_MS;
	pthread_mutex_lock(&c->lock);
	while (!c->held && clock_mono_ms() < until_ms) {
		clock_cond_wait(&c->changed, &c->lock, until_ms);
	}
	struct webhook_question *q = c->held;
	c->held = NULL;
	pthread_mutex_unlock(&c->lock);
	assert_non_null(q);
	assert_int_equal(q->phase, phase);
	return q;
}

static void allow(struct webhook_question *q)
{
	q->base.done(&q->base);
}

static void deny(struct webhook_question *q)
{
	status_init(&q->st, q->base.arena);
	status_set(&q->st, 418, NULL, "denied");
	q->base.done(&q->base);
}

static void change(struct webhook_question *q, const char *object)
{
	struct json *changed;
	size_t at;
	struct str text = arena_dup(q->base.arena, str_of(object));
	assert_int_equal(json_parse(&changed, q->base.arena, text, JSON_LIMITS_DEFAULT, &at), 0);
	q->changed = changed;
	q->base.done(&q->base);
}

static int64_t revision_of(const struct webhook_question *q)
{
	return member_int(object_to_json(q->object, q->version, q->base.arena), "revision");
}

/* ---- a server behind it ---- */

struct site {
	struct behind behind;
	struct client client;
	struct cluster cluster;
	struct delegates delegates;
	struct arena a;
};

static void site_say(struct site *s, const struct scenario *sc)
{
	struct str type = sc->type ? arena_printf(&s->a, "Content-Type: %s\r\n", sc->type) : STR("");
	client_send(&s->client,
		arena_printf(&s->a, "%s %s HTTP/1.1\r\nHost: x\r\n" STR_FMT "Content-Length: %zu\r\n\r\n%s", sc->method,
			sc->target, STR_ARG(type), strlen(sc->body), sc->body));
}

static void site_hear(struct site *s, unsigned status, const char *text)
{
	struct answer answer;
	assert_true(client_read_answer(&s->client, &answer));
	if (answer.status != status || !str_contains(buf_str(&answer.body), str_of(text))) {
		fail_msg("%u with \"%s\" was expected, not %u: %.*s", status, text, answer.status,
			STR_ARG(buf_str(&answer.body)));
	}
	answer_clear(&answer);
}

static void site_open(struct site *s)
{
	static const struct scenario present = {
		.method = "POST", .target = REVISIONS, .type = JSON, .body = BODY(PRESENT, "1")};
	*s = (struct site){0};
	arena_init(&s->a, 1 << 24);
	pthread_mutex_init(&s->cluster.lock, NULL);
	clock_cond_init(&s->cluster.changed);
	s->delegates = (struct delegates){
		.ctx = &s->cluster, .ask_access = ask_access, .has_webhooks = has_webhooks, .ask_webhooks = ask_webhooks};
	behind_open(&s->behind, &(struct server_options){.delegates = &s->delegates, .anonymous_auth = true});
	client_open(&s->client, server_port(s->behind.server), NULL);
	site_say(s, &present);
	site_hear(s, 201, "present");
}

static void site_close(struct site *s)
{
	client_close(&s->client);
	behind_close(&s->behind);
	pthread_cond_destroy(&s->cluster.changed);
	pthread_mutex_destroy(&s->cluster.lock);
	arena_done(&s->a);
}

/* What is stored, and in which versions. */
static struct str site_stored(struct site *s)
{
	struct str key = STR(WORLD_PREFIX "/objects/"), text = STR("");
	struct storage_range range = {.key = key, .range_end = storage_prefix_end(&s->a, key)};
	assert_int_equal(storage_range_wait(s->behind.storage, &range), STORAGE_OK);
	for (size_t i = 0; i < range.n_kvs; i++) {
		text = arena_printf(&s->a, STR_FMT STR_FMT " %lld " STR_FMT "\n", STR_ARG(text), STR_ARG(range.kvs[i].key),
			(long long)range.kvs[i].mod_revision, STR_ARG(range.kvs[i].value));
	}
	storage_op_clear(&range.op);
	return text;
}

/* ---- what becomes of a configuration meanwhile ---- */

static const struct fate {
	const char *operation; /* of its webhooks from now on */
} fates[] = {
	{NULL},
	{"CONNECT"},
};

static void befall(struct cluster *c, enum webhook_phase phase, const struct fate *fate)
{
	configure(c, phase, fate->operation);
}

/* The denial counts, and nothing is stored. */
static void deny_while(const struct scenario *sc, enum webhook_phase phase, const struct fate *fate, bool is_made_again)
{
	struct site s;
	site_open(&s);
	struct str before = site_stored(&s);
	configure(&s.cluster, phase, sc->operation);
	site_say(&s, sc);
	struct webhook_question *q = await_question(&s.cluster, phase);
	befall(&s.cluster, phase, fate);
	if (is_made_again) {
		configure(&s.cluster, phase, sc->operation);
	}
	deny(q);
	site_hear(&s, 418, "denied");
	assert_int_equal(s.cluster.n_asked[phase], 1);
	struct str after = site_stored(&s);
	assert_true(str_eq(before, after));
	site_close(&s);
}

static void test_write_webhooks__denial_counts_whatever_becomes_of_the_configuration(void **state)
{
	const struct scenario *sc = *state;
	for (enum webhook_phase phase = WEBHOOKS_MUTATING; phase <= WEBHOOKS_VALIDATING; phase++) {
		for (size_t i = 0; i < ARRAY_SIZE(fates); i++) {
			deny_while(sc, phase, &fates[i], false);
			deny_while(sc, phase, &fates[i], true);
		}
	}
}

/* Both phases ask; while the second does, the first one's configuration goes. What that made of the object stays, and the denial counts. */
static void test_write_webhooks__phase_that_is_over_is_not_begun_again(void **state)
{
	const struct scenario *sc = *state;
	struct site s;
	site_open(&s);
	struct str before = site_stored(&s);
	configure(&s.cluster, WEBHOOKS_MUTATING, sc->operation);
	configure(&s.cluster, WEBHOOKS_VALIDATING, sc->operation);
	site_say(&s, sc);
	struct webhook_question *q = await_question(&s.cluster, WEBHOOKS_MUTATING);
	if (sc->changed) {
		change(q, sc->changed);
	} else {
		allow(q);
	}
	q = await_question(&s.cluster, WEBHOOKS_VALIDATING);
	if (sc->changed) {
		assert_int_equal(revision_of(q), 99);
	}
	configure(&s.cluster, WEBHOOKS_MUTATING, NULL);
	configure(&s.cluster, WEBHOOKS_VALIDATING, NULL);
	deny(q);
	site_hear(&s, 418, "denied");
	assert_true(str_eq(before, site_stored(&s)));
	assert_int_equal(s.cluster.n_asked[WEBHOOKS_MUTATING], 1);
	assert_int_equal(s.cluster.n_asked[WEBHOOKS_VALIDATING], 1);
	site_close(&s);
}

/* Somebody who comes to change objects while another one looks at this: its verdict is about what is stored. */
static void test_write_webhooks__who_comes_too_late_is_not_asked(void **state)
{
	const struct scenario *sc = *state;
	struct site s;
	site_open(&s);
	configure(&s.cluster, WEBHOOKS_VALIDATING, sc->operation);
	site_say(&s, sc);
	struct webhook_question *q = await_question(&s.cluster, WEBHOOKS_VALIDATING);
	configure(&s.cluster, WEBHOOKS_MUTATING, sc->operation);
	allow(q);
	site_hear(&s, sc->usual, "");
	assert_int_equal(s.cluster.n_asked[WEBHOOKS_MUTATING], 0);
	assert_int_equal(s.cluster.n_asked[WEBHOOKS_VALIDATING], 1);
	site_close(&s);
}

static void test_write_webhooks__change_is_stored_when_its_author_is_gone(void **state)
{
	const struct scenario *sc = *state;
	struct site s;
	if (!sc->changed) {
		return;
	}
	site_open(&s);
	configure(&s.cluster, WEBHOOKS_MUTATING, sc->operation);
	site_say(&s, sc);
	struct webhook_question *q = await_question(&s.cluster, WEBHOOKS_MUTATING);
	configure(&s.cluster, WEBHOOKS_MUTATING, NULL);
	change(q, sc->changed);
	site_hear(&s, sc->usual, "\"revision\":99");
	assert_int_equal(s.cluster.n_asked[WEBHOOKS_MUTATING], 1);
	site_close(&s);
}

/* A Scale is what the client writes, so webhooks see Scales, and change no more of the set than it can say. */
static void test_write_webhooks__see_a_scale_as_one(void **state _unused_)
{
#define SETS "/apis/annals.dev/v1beta1/namespaces/default/statefulsets"
#define SCALE(n, more)                                                                              \
	"{\"kind\":\"Scale\",\"apiVersion\":\"autoscaling/v1\",\"metadata\":{\"name\":\"web\"" more \
	"},\"spec\":{\"replicas\":" n "}}"
	static const struct scenario set = {.method = "POST",
		.target = SETS,
		.type = JSON,
		.body = "{\"metadata\":{\"name\":\"web\"},\"spec\":{\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},"
			"\"spec\":"
			"{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}"};
	static const struct scenario scaled = {
		.method = "PUT", .target = SETS "/web/scale", .type = JSON, .body = SCALE("5", "")};
	struct site s;
	site_open(&s);
	site_say(&s, &set);
	site_hear(&s, 201, "\"replicas\":1");
	configure(&s.cluster, WEBHOOKS_MUTATING, "UPDATE");
	configure(&s.cluster, WEBHOOKS_VALIDATING, "UPDATE");
	site_say(&s, &scaled);

	struct webhook_question *q = await_question(&s.cluster, WEBHOOKS_MUTATING);
	assert_string_equal(q->kind->kind, "StatefulSet");
	assert_string_equal(q->object->kind->kind, "Scale");
	assert_int_equal(member_int(object_spec(q->object), "replicas"), 5);
	assert_int_equal(member_int(object_spec(q->old), "replicas"), 1);
	change(q, SCALE("7", ",\"labels\":{\"x\":\"y\"}"));
	q = await_question(&s.cluster, WEBHOOKS_VALIDATING);
	assert_string_equal(q->object->kind->kind, "Scale");
	assert_int_equal(member_int(object_spec(q->object), "replicas"), 7);
	allow(q);
	site_hear(&s, 200, "\"kind\":\"Scale\"");
	struct str stored = site_stored(&s);
	assert_true(str_contains(stored, STR("\"replicas\":7")));
	assert_false(str_contains(stored, STR("\"x\":\"y\"")));
	site_close(&s);
}

int main(void)
{
	static const struct {
		const char *name;
		CMUnitTestFunction run;
	} stories[] = {
		{"denial_counts_whatever_becomes_of_the_configuration",
			test_write_webhooks__denial_counts_whatever_becomes_of_the_configuration},
		{"phase_that_is_over_is_not_begun_again", test_write_webhooks__phase_that_is_over_is_not_begun_again},
		{"who_comes_too_late_is_not_asked", test_write_webhooks__who_comes_too_late_is_not_asked},
		{"change_is_stored_when_its_author_is_gone", test_write_webhooks__change_is_stored_when_its_author_is_gone},
	};
	enum { N = ARRAY_SIZE(stories) * ARRAY_SIZE(scenarios) };
	struct CMUnitTest tests[N + 1];
	char names[N][128];
	for (size_t i = 0; i < N; i++) {
		const struct scenario *sc = &scenarios[i % ARRAY_SIZE(scenarios)];
		snprintf(names[i], sizeof(names[i]), "test_write_webhooks__%s: %s", stories[i / ARRAY_SIZE(scenarios)].name,
			sc->name);
		tests[i] = (struct CMUnitTest){
			names[i], stories[i / ARRAY_SIZE(scenarios)].run, NULL, NULL, (void *)(uintptr_t)sc};
	}
	tests[N] = (struct CMUnitTest)cmocka_unit_test(test_write_webhooks__see_a_scale_as_one);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
