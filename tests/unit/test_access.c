#include "base/clock.h"
#include "delegation/delegation.h"
#include "tests/unit/check.h"
#include "tests/unit/script_server.h"

#include <pthread.h>

enum { PATIENCE_MS = 60 * 1000, LONG_MS = 60 * 1000 };

#define REVIEW(status) "{\"kind\":\"SubjectAccessReview\",\"apiVersion\":\"authorization.k8s.io/v1\",\"status\":" status "}"
#define ALLOWED REVIEW("{\"allowed\":true,\"reason\":\"RBAC: allowed by X\"}")
#define REFUSED REVIEW("{\"allowed\":false}")
#define DENIED REVIEW("{\"allowed\":false,\"denied\":true,\"reason\":\"never\"}")
#define STATUS(code, reason) "{\"kind\":\"Status\",\"code\":" #code ",\"reason\":\"" reason "\",\"message\":\"because\"}"

/* Somebody who asks, and waits for the answer where it does not come at once. */
struct asker {
	struct access_question q;
	struct arena arena;
	struct user user;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	unsigned n_done;
};

static void on_done(struct question *q)
{
	struct asker *a = q->ctx;
	pthread_mutex_lock(&a->lock);
	a->n_done++;
	pthread_cond_signal(&a->wake);
	pthread_mutex_unlock(&a->lock);
}

static void asker_init(struct asker *a, const char *name)
{
	*a = (struct asker){.user = {.name = str_of(name)}};
	arena_init(&a->arena, 1 << 20);
	pthread_mutex_init(&a->lock, NULL);
	clock_cond_init(&a->wake);
	a->q = (struct access_question){
		.base = {.done = on_done, .ctx = a, .arena = &a->arena, .deadline_ms = clock_mono_ms() + LONG_MS},
		.what = {.user = &a->user,
			.verb = STR("get"),
			.is_resource = true,
			.group = STR("apps"),
			.version = STR("v1"),
			.resource = STR("controllerrevisions"),
			.ns = STR("ns"),
			.name = STR("n")}};
}

static void asker_done(struct asker *a)
{
	pthread_cond_destroy(&a->wake);
	pthread_mutex_destroy(&a->lock);
	arena_done(&a->arena);
}

static void await(struct asker *a)
{
	int64_t until_ms = clock_mono_ms() + PATIENCE_MS;
	pthread_mutex_lock(&a->lock);
	while (!a->n_done && clock_mono_ms() < until_ms) {
		clock_cond_wait(&a->wake, &a->lock, until_ms);
	}
	assert_int_equal(a->n_done, 1);
	pthread_mutex_unlock(&a->lock);
}

/* A delegation to a server that says what the steps say. */
struct scene {
	struct script *script;
	struct delegation *delegation;
	const struct delegates *delegates;
};

static struct delegation *new_delegation(char *url, int64_t ttl_ms)
{
	struct delegation *d = NULL;
	struct buf err;
	buf_init(&err, 4096);
	struct client_config config = {.server = url};
	const struct delegation_options options = {.core = &config, .allowed_ttl_ms = ttl_ms, .not_allowed_ttl_ms = ttl_ms};
	assert_int_equal(delegation_new(&d, &options, &err), 0);
	buf_done(&err);
	return d;
}

static void open_scene(struct scene *s, int64_t ttl_ms, const struct script_step *steps, size_t n)
{
	s->script = script_start(steps, n);
	char *url = script_url(s->script);
	s->delegation = new_delegation(url, ttl_ms);
	s->delegates = delegation_delegates(s->delegation);
	mem_free(url);
}

static void close_scene(struct scene *s)
{
	delegation_free(s->delegation);
	script_stop(s->script);
}

#define SCENE(s, ttl_ms, ...)                              \
	const struct script_step steps_[] = {__VA_ARGS__}; \
	struct scene s;                                    \
	open_scene(&s, ttl_ms, steps_, ARRAY_SIZE(steps_))

static bool ask(struct scene *s, struct asker *a)
{
	return s->delegates->ask_access(s->delegates->ctx, &a->q);
}

enum said { ALLOWS, REFUSES, DENIES, FAILS };

static enum said said_of(const struct asker *a)
{
	assert_false(a->q.is_allowed && (a->q.is_denied || a->q.base.failure.n));
	return a->q.base.failure.n ? FAILS : a->q.is_denied ? DENIES : a->q.is_allowed ? ALLOWS : REFUSES;
}

/* Asks as somebody of that name; has_asked: whether the cluster had to be. */
static enum said say(struct scene *s, const char *name, bool has_asked)
{
	struct asker a;
	asker_init(&a, name);
	bool is_answered = ask(s, &a);
	assert_int_equal(is_answered, !has_asked);
	if (!is_answered) {
		await(&a);
	}
	enum said said = said_of(&a);
	asker_done(&a);
	return said;
}

static void test_access__what_was_decided_is_kept(void **state _unused_)
{
	SCENE(s, LONG_MS, {"\"user\":\"ann\"", SCRIPT_WHOLE, 201, NULL, ALLOWED},
		{"\"user\":\"ben\"", SCRIPT_WHOLE, 201, NULL, REFUSED}, {"\"user\":\"cid\"", SCRIPT_WHOLE, 201, NULL, DENIED});
	assert_int_equal(say(&s, "ann", true), ALLOWS);
	assert_int_equal(say(&s, "ben", true), REFUSES);
	assert_int_equal(say(&s, "cid", true), DENIES);
	assert_int_equal(say(&s, "ann", false), ALLOWS);
	assert_int_equal(say(&s, "ben", false), REFUSES);
	assert_int_equal(say(&s, "cid", false), DENIES);
	close_scene(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_access__what_was_decided_is_kept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
