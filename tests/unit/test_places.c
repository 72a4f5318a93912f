/* Who waits for an answer of the cluster takes no place from those who need none: a server with two places for reads, behind delegates that hold
 * their answers. */
#include "base/clock.h"
#include "tests/unit/behind_world.h"
#include "tests/unit/http_client.h"

#include <pthread.h>

#define REVISIONS "/apis/annals.dev/v1/namespaces/default/controllerrevisions"

enum {
	PATIENCE_MS = 60 * 1000,
	HELD_MAX = 8,
};

/* Tokens are users' names. */
struct cluster {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct access_question *held[HELD_MAX];
	size_t n_held;
	struct delegates delegates;
	struct behind behind;
};

static bool ask_token(void *ctx _unused_, struct token_question *q)
{
	static const struct str masters = {"system:masters", 14};
	q->is_known = true;
	q->user = (struct user){.name = q->token};
	if (str_is(q->token, "stranger")) {
		q->base.is_turned_away = true;
		q->base.failure = STR("too much");
	}
	if (str_is(q->token, "master")) {
		q->user.groups = &masters;
		q->user.n_groups = 1;
	}
	return true;
}

/* "known" may do all; what others may is held, but for who asks too much; of "half" it is known of the object a. */
static bool ask_access(void *ctx, struct access_question *q)
{
	struct cluster *c = ctx;
	struct str user = q->what.user->name;
	bool is_at_once = str_is(user, "known") || str_is(user, "busy") || (str_is(user, "half") && str_is(q->what.name, "a"));
	q->is_allowed = true;
	q->base.is_turned_away = str_is(user, "busy");
	if (is_at_once) {
		return true;
	}
	pthread_mutex_lock(&c->lock);
	assert_true(c->n_held < HELD_MAX);
	c->held[c->n_held++] = q;
	pthread_cond_signal(&c->changed);
	pthread_mutex_unlock(&c->lock);
	return false;
}

static void await_held(struct cluster *c, size_t n)
{
	int64_t until_ms = clock_mono_ms() + PATIENCE_MS;
	pthread_mutex_lock(&c->lock);
	while (c->n_held < n && clock_mono_ms() < until_ms) {
		clock_cond_wait(&c->changed, &c->lock, until_ms);
	}
	assert_int_equal(c->n_held, n);
	pthread_mutex_unlock(&c->lock);
}

static void open_cluster(struct cluster *c)
{
	*c = (struct cluster){0};
	pthread_mutex_init(&c->lock, NULL);
	clock_cond_init(&c->changed);
	c->delegates = (struct delegates){.ctx = c, .ask_token = ask_token, .ask_access = ask_access};
	behind_open(&c->behind, &(struct server_options){.delegates = &c->delegates, .max_requests_inflight = 2});
}

static void close_cluster(struct cluster *c)
{
	behind_close(&c->behind);
	pthread_cond_destroy(&c->changed);
	pthread_mutex_destroy(&c->lock);
}

static void say(struct cluster *c, struct client *client, const char *token, const char *target)
{
	char request[512];
	client_open(client, server_port(c->behind.server), NULL);
	snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", target, token);
	client_say(client, request);
}

static void hear(struct client *client, unsigned status, const char *retry_after)
{
	struct answer answer;
	assert_true(client_read_answer(client, &answer));
	assert_int_equal(answer.status, status);
	assert_str(answer_header(&answer, "Retry-After"), retry_after);
	answer_clear(&answer);
	client_close(client);
}

static void test_places__are_not_held_by_who_waits_for_rights(void **state _unused_)
{
	struct cluster c;
	struct client waiting[4], other;
	open_cluster(&c);
	for (size_t i = 0; i < ARRAY_SIZE(waiting); i++) {
		say(&c, &waiting[i], "unknown", REVISIONS);
		await_held(&c, i + 1);
	}
	say(&c, &other, "master", REVISIONS);
	hear(&other, 200, "");
	say(&c, &other, "known", REVISIONS);
	hear(&other, 200, "");
	for (size_t i = 0; i < ARRAY_SIZE(waiting); i++) {
		c.held[i]->base.done(&c.held[i]->base);
		hear(&waiting[i], 200, "");
	}
	close_cluster(&c);
}

/* Who has been let in, and must ask again. */
static void test_places__are_left_while_more_rights_are_asked_about(void **state _unused_)
{
	struct cluster c;
	struct client waiting[2], other;
	open_cluster(&c);
	for (size_t i = 0; i < ARRAY_SIZE(waiting); i++) {
		say(&c, &waiting[i], "half", REVISIONS "/a/diff?from=b");
		await_held(&c, i + 1);
	}
	say(&c, &other, "master", REVISIONS);
	hear(&other, 200, "");
	for (size_t i = 0; i < ARRAY_SIZE(waiting); i++) {
		c.held[i]->base.done(&c.held[i]->base);
		hear(&waiting[i], 404, "");
	}
	say(&c, &other, "master", REVISIONS);
	hear(&other, 200, "");
	close_cluster(&c);
}

static void test_places__who_asks_too_much_may_come_again(void **state _unused_)
{
	struct cluster c;
	struct client client;
	open_cluster(&c);
	say(&c, &client, "stranger", REVISIONS);
	hear(&client, 429, "1");
	say(&c, &client, "busy", REVISIONS);
	hear(&client, 429, "1");
	close_cluster(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_places__are_not_held_by_who_waits_for_rights),
		TEST(test_places__are_left_while_more_rights_are_asked_about),
		TEST(test_places__who_asks_too_much_may_come_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
