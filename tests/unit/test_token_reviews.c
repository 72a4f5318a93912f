#include "tests/unit/delegation_world.h"

#define REVIEW(status) "{\"kind\":\"TokenReview\",\"apiVersion\":\"authentication.k8s.io/v1\",\"status\":" status "}"
#define KNOWN                                                                                                      \
	REVIEW("{\"authenticated\":true,\"user\":{\"username\":\"ann\",\"uid\":\"u1\",\"groups\":[\"devs\",\"ops\"]," \
	       "\"extra\":{\"scopes\":[\"a\",\"b\"],\"zone\":[\"x\"]}}}")
#define UNKNOWN REVIEW("{\"user\":{}}")
#define INVALID REVIEW("{\"user\":{},\"error\":\"[invalid bearer token]\"}")

struct bearer {
	struct token_question q;
	struct asker asker;
	bool came_at_once;
};

static void ask(struct scene *s, struct bearer *b, const char *token)
{
	b->q = (struct token_question){.base = asker_init(&b->asker, LONG_MS), .token = str_of(token)};
	b->came_at_once = s->delegates->ask_token(s->delegates->ctx, &b->q);
	if (!b->came_at_once) {
		asker_await(&b->asker);
	}
}

static void bearer_done(struct bearer *b)
{
	asker_done(&b->asker);
}

static void assert_extra(const struct user *u, size_t i, const char *key, const char *value)
{
	assert_str(u->extra[i].key, key);
	assert_str(u->extra[i].value, value);
}

static void test_token_reviews__known_token_names_a_user_and_is_kept(void **state _unused_)
{
	SCENE(s, LONG_MS,
		{"POST /apis/authentication.k8s.io/v1/tokenreviews HTTP/1.1\r\n", SCRIPT_WHOLE, 201, NULL, KNOWN},
		{"\"spec\":{\"token\":\"other\"}}", SCRIPT_WHOLE, 201, NULL, KNOWN});
	for (unsigned i = 0; i < 3; i++) {
		struct bearer b;
		ask(&s, &b, "secret");
		assert_int_equal(b.came_at_once, i > 0);
		assert_true(b.q.is_known && !b.q.base.failure.n);
		assert_str(b.q.user.name, "ann");
		assert_str(b.q.user.uid, "u1");
		assert_int_equal(b.q.user.n_groups, 2);
		assert_str(b.q.user.groups[1], "ops");
		assert_int_equal(b.q.user.n_extra, 3);
		assert_extra(&b.q.user, 0, "scopes", "a");
		assert_extra(&b.q.user, 1, "scopes", "b");
		assert_extra(&b.q.user, 2, "zone", "x");
		bearer_done(&b);
	}
	struct bearer b;
	ask(&s, &b, "other");
	assert_false(b.came_at_once);
	bearer_done(&b);
	close_scene(&s);
}

static void test_token_reviews__unknown_token_is_kept_as_such(void **state _unused_)
{
	SCENE(s, LONG_MS, {NULL, SCRIPT_WHOLE, 201, NULL, UNKNOWN});
	for (unsigned i = 0; i < 2; i++) {
		struct bearer b;
		ask(&s, &b, "secret");
		assert_int_equal(b.came_at_once, i > 0);
		assert_false(b.q.is_known);
		assert_str(b.q.base.failure, "");
		bearer_done(&b);
	}
	close_scene(&s);
}

static void assert_fails(struct scene *s, const char *why)
{
	struct bearer b;
	ask(s, &b, "secret");
	assert_false(b.came_at_once || b.q.is_known);
	assert_str(b.q.base.failure, why);
	bearer_done(&b);
}

static void test_token_reviews__errors_are_told_and_not_kept(void **state _unused_)
{
	SCENE(s, LONG_MS, {NULL, SCRIPT_WHOLE, 201, NULL, INVALID}, {NULL, SCRIPT_WHOLE, 403, NULL, STATUS(403, "Forbidden")},
		{NULL, SCRIPT_WHOLE, 201, NULL, REVIEW("{\"authenticated\":true,\"user\":{\"groups\":[\"system:masters\"]}}")},
		{NULL, SCRIPT_WHOLE, 201, NULL, "{}"}, {NULL, SCRIPT_WHOLE, 403, NULL, KNOWN},
		{NULL, SCRIPT_WHOLE, 201, NULL, KNOWN});
	assert_fails(&s, "[invalid bearer token]");
	assert_fails(&s, "because");
	assert_fails(&s, "the token review names nobody");
	assert_fails(&s, "the answer is \"\" of version \"\", not TokenReview of authentication.k8s.io/v1");
	assert_fails(&s, "the server responded with the status code 403 but did not return more information (post "
			 "tokenreviews.authentication.k8s.io)");
	struct bearer b;
	ask(&s, &b, "secret");
	assert_true(b.q.is_known);
	bearer_done(&b);
	close_scene(&s);
}

#define SOMEBODY(members) REVIEW("{\"authenticated\":true,\"user\":{" members "}}")

/* As Go reads it: of another type is no answer, however well the rest looks. */
static void test_token_reviews__what_is_no_review_is_not_believed(void **state _unused_)
{
	static const struct {
		const char *answer, *why;
	} rows[] = {
		{SOMEBODY("\"username\":5"), CANNOT("number", "UserInfo.status.user.username", "string")},
		{SOMEBODY("\"username\":\"ann\",\"uid\":7"), CANNOT("number", "UserInfo.status.user.uid", "string")},
		{SOMEBODY("\"username\":\"ann\",\"groups\":\"system:masters\""),
			CANNOT("string", "UserInfo.status.user.groups", "[]string")},
		{SOMEBODY("\"username\":\"ann\",\"groups\":[\"devs\",{}]"),
			CANNOT("object", "UserInfo.status.user.groups", "string")},
		{SOMEBODY("\"username\":\"ann\",\"extra\":{\"a\":\"b\"}"),
			CANNOT("string", "UserInfo.status.user.extra", "v1.ExtraValue")},
		{SOMEBODY("\"username\":\"ann\",\"extra\":[]"),
			CANNOT("array", "UserInfo.status.user.extra", "map[string]v1.ExtraValue")},
		{REVIEW("{\"authenticated\":true,\"user\":\"ann\"}"),
			CANNOT("string", "TokenReviewStatus.status.user", "v1.UserInfo")},
		{REVIEW("{\"authenticated\":\"true\",\"user\":{\"username\":\"ann\"}}"),
			CANNOT("string", "TokenReviewStatus.status.authenticated", "bool")},
		{REVIEW("[]"), CANNOT("array", "TokenReview.status", "v1.TokenReviewStatus")},
		{"{\"kind\":\"TokenReview\",\"apiVersion\":\"authentication.k8s.io/v1\"}", "the answer has no status"},
		{"{\"apiVersion\":\"authentication.k8s.io/"
		 "v1\",\"status\":{\"authenticated\":true,\"user\":{\"username\":\"ann\"}}}",
			"the answer is \"\" of version \"authentication.k8s.io/v1\", not TokenReview of "
			"authentication.k8s.io/v1"},
		{"{\"kind\":\"TokenReview\",\"status\":{\"authenticated\":true,\"user\":{\"username\":\"ann\"}}}",
			"the answer is \"TokenReview\" of version \"\", not TokenReview of authentication.k8s.io/v1"},
		{"{\"kind\":\"SubjectAccessReview\",\"apiVersion\":\"authorization.k8s.io/"
		 "v1\",\"status\":{\"authenticated\":true}}",
			"the answer is \"SubjectAccessReview\" of version \"authorization.k8s.io/v1\", not TokenReview of "
			"authentication.k8s.io/v1"},
		{"[{\"authenticated\":true}]", "the answer cannot be understood"},
	};
	struct script_step steps[ARRAY_SIZE(rows)];
	struct scene s;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		steps[i] = (struct script_step){NULL, SCRIPT_WHOLE, 201, NULL, rows[i].answer};
	}
	open_scene(&s, LONG_MS, steps, ARRAY_SIZE(steps));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_fails(&s, rows[i].why);
	}
	close_scene(&s);
}

/* Absent is null is empty, in Go: nobody is named, but that is an answer. */
static void test_token_reviews__nulls_say_nothing(void **state _unused_)
{
	SCENE(s, LONG_MS,
		{NULL, SCRIPT_WHOLE, 201, NULL,
			SOMEBODY("\"username\":\"ann\",\"uid\":null,\"groups\":null,\"extra\":null,\"unheard\":[1]")});
	struct bearer b;
	ask(&s, &b, "secret");
	assert_true(b.q.is_known);
	assert_str(b.q.user.name, "ann");
	assert_int_equal(b.q.user.n_groups + b.q.user.n_extra, 0);
	bearer_done(&b);
	close_scene(&s);
}

static void test_token_reviews__too_long_a_token_is_no_question(void **state _unused_)
{
	SCENE(s, LONG_MS, {NULL, SCRIPT_WHOLE, 201, NULL, KNOWN});
	struct bearer b;
	static char token[(1 << 20) + 1];
	memset(token, 't', sizeof(token) - 1);
	ask(&s, &b, token);
	assert_true(b.came_at_once);
	assert_str(b.q.base.failure, "the token is too long");
	bearer_done(&b);
	ask(&s, &b, "secret");
	bearer_done(&b);
	close_scene(&s);
}

static void test_token_reviews__are_counted(void **state _unused_)
{
	SCENE(s, LONG_MS, {NULL, SCRIPT_WHOLE, 201, NULL, KNOWN}, {NULL, SCRIPT_WHOLE, 201, NULL, INVALID});
	static const char *const tokens[] = {"a", "a", "b"};
	static const char *const lines[] = {
		"authentication_token_cache_active_fetch_count{status=\"blocked\"} 0\n",
		"authentication_token_cache_active_fetch_count{status=\"in_flight\"} 0\n",
		"authentication_token_cache_fetch_total{status=\"error\"} 1\n",
		"authentication_token_cache_fetch_total{status=\"ok\"} 1\n",
		"authentication_token_cache_request_duration_seconds_count{status=\"hit\"} 1\n",
		"authentication_token_cache_request_total{status=\"hit\"} 1\n",
		"authentication_token_cache_request_total{status=\"miss\"} 2\n",
		"apiserver_delegated_authn_request_total{code=\"201\"} 2\n",
	};
	struct buf out;
	buf_init(&out, 1 << 20);
	for (size_t i = 0; i < ARRAY_SIZE(tokens); i++) {
		struct bearer b;
		ask(&s, &b, tokens[i]);
		bearer_done(&b);
	}
	struct str text = scene_metrics(&s, &out);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		assert_true(str_contains(text, str_of(lines[i])));
	}
	buf_done(&out);
	close_scene(&s);
}

/* ---- shares ---- */

enum { SOURCE_RUNNING = 16, SOURCE_WAITING = 256, STRANGERS = 1024, STRANGERS_RUNNING = 48 };

/* Many who show tokens of their own, which nobody answers. */
struct crowd {
	struct bearer *v;
	char (*tokens)[16];
	size_t n;
};

static bool ask_from(struct scene *s, struct bearer *b, const char *token, const char *source)
{
	b->q = (struct token_question){
		.base = asker_init(&b->asker, LONG_MS), .token = str_of(token), .source = str_of(source)};
	return s->delegates->ask_token(s->delegates->ctx, &b->q);
}

static void crowd_init(struct crowd *c)
{
	*c = (struct crowd){
		.v = mem_array(2 * STRANGERS, sizeof(*c->v)), .tokens = mem_array(2 * STRANGERS, sizeof(*c->tokens))};
}

/* How many are turned away at once. */
static size_t crowd_come(struct crowd *c, struct scene *s, const char *source, size_t n)
{
	size_t n_turned_away = 0;
	for (size_t i = 0; i < n; i++, c->n++) {
		snprintf(c->tokens[c->n], sizeof(c->tokens[c->n]), "random%zu", c->n);
		if (ask_from(s, &c->v[c->n], c->tokens[c->n], source)) {
			assert_true(c->v[c->n].q.base.is_turned_away);
			assert_str(c->v[c->n].q.base.failure, "too many reviews are under way");
			n_turned_away++;
		}
	}
	return n_turned_away;
}

static void crowd_leave(struct crowd *c, struct scene *s)
{
	delegation_stop(s->delegation);
	for (size_t i = 0; i < c->n; i++) {
		if (!c->v[i].q.base.is_turned_away) {
			asker_await(&c->v[i].asker);
			assert_false(c->v[i].q.base.is_turned_away || c->v[i].q.is_known);
		}
		bearer_done(&c->v[i]);
	}
	mem_free(c->v);
	mem_free(c->tokens);
}

static void fill(struct script_step *steps, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		steps[i] = (struct script_step){"\"token\":\"random", SCRIPT_SILENT, 0, NULL, NULL};
	}
}

static void test_token_reviews__strangers_leave_places_to_who_is_known(void **state _unused_)
{
	struct script_step steps[STRANGERS_RUNNING + 2];
	struct scene s;
	struct crowd crowd;
	struct bearer b;
	steps[0] = (struct script_step){"\"token\":\"secret\"", SCRIPT_WHOLE, 201, NULL, KNOWN};
	fill(steps + 1, STRANGERS_RUNNING);
	steps[STRANGERS_RUNNING + 1] = steps[0];
	open_scene(&s, 1, steps, ARRAY_SIZE(steps));
	ask(&s, &b, "secret");
	bearer_done(&b);
	crowd_init(&crowd);
	for (size_t i = 0; i < 8; i++) {
		static const char *const sources[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
		assert_int_equal(crowd_come(&crowd, &s, sources[i], STRANGERS / 8), 0);
	}
	script_await(s.script, 1 + STRANGERS_RUNNING);
	assert_int_equal(crowd_come(&crowd, &s, "i", 1), 1);

	/* Its answer's time is over. */
	int64_t until_ms = clock_mono_ms() + 2;
	while (clock_mono_ms() < until_ms) {
	}
	assert_false(ask_from(&s, &b, "secret", "a"));
	asker_await(&b.asker);
	assert_true(b.q.is_known);
	bearer_done(&b);
	crowd_leave(&crowd, &s);
	close_scene(&s);
}

static void test_token_reviews__each_source_has_its_share(void **state _unused_)
{
	struct script_step steps[SOURCE_RUNNING + 1];
	struct scene s;
	struct crowd crowd;
	struct bearer b;
	fill(steps, SOURCE_RUNNING);
	steps[SOURCE_RUNNING] = (struct script_step){"\"token\":\"secret\"", SCRIPT_WHOLE, 201, NULL, KNOWN};
	open_scene(&s, LONG_MS, steps, ARRAY_SIZE(steps));
	crowd_init(&crowd);
	assert_int_equal(crowd_come(&crowd, &s, "192.0.2.1", SOURCE_WAITING), 0);
	assert_int_equal(crowd_come(&crowd, &s, "192.0.2.1", 10), 10);
	script_await(s.script, SOURCE_RUNNING);
	assert_false(ask_from(&s, &b, "secret", "192.0.2.2"));
	asker_await(&b.asker);
	assert_true(b.q.is_known);
	bearer_done(&b);
	crowd_leave(&crowd, &s);
	close_scene(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_token_reviews__known_token_names_a_user_and_is_kept),
		TEST(test_token_reviews__unknown_token_is_kept_as_such),
		TEST(test_token_reviews__errors_are_told_and_not_kept),
		TEST(test_token_reviews__what_is_no_review_is_not_believed),
		TEST(test_token_reviews__nulls_say_nothing),
		TEST(test_token_reviews__too_long_a_token_is_no_question),
		TEST(test_token_reviews__are_counted),
		TEST(test_token_reviews__strangers_leave_places_to_who_is_known),
		TEST(test_token_reviews__each_source_has_its_share),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
