#include "server/access/authn.h"
#include "tests/unit/check.h"
#include "tests/unit/fake_http.h"

#include <stdlib.h>
#include <unistd.h>

/* One request to an authenticator that knows the token "t1" (alice, of dev) and client certificates. */
struct scene {
	struct authn *authn;
	struct http_exchange x;
	struct http_peer peer; /* x's */
	struct http_header authorization;
	struct arena arena;
	struct status st;
	struct user *user;
};

static char token_path[] = "/tmp/annals-tokens-XXXXXX";

static int write_tokens(void **state _unused_)
{
	int fd = mkstemp(token_path);
	dprintf(fd, "t1,alice,u1,dev\nt2,system:anonymous,u2,system:unauthenticated\nt3,bob,u3,system:unauthenticated\n");
	close(fd);
	return 0;
}

static int remove_tokens(void **state _unused_)
{
	return unlink(token_path);
}

static void open_scene(struct scene *s, struct authn_options options)
{
	struct buf err;
	*s = (struct scene){.authn = NULL};
	s->x.request.peer = &s->peer;
	buf_init(&err, 1024);
	assert_int_equal(authn_new(&s->authn, &options, &err), 0);
	buf_done(&err);
	arena_init(&s->arena, 1 << 20);
	status_init(&s->st, &s->arena);
}

static struct authn_options usual(void)
{
	return (struct authn_options){.token_file = token_path, .anonymous = true};
}

static void close_scene(struct scene *s)
{
	authn_free(s->authn);
	arena_done(&s->arena);
}

static int ask(struct scene *s, const char *authorization)
{
	if (authorization) {
		s->authorization = (struct http_header){STR("authorization"), str_of(authorization)};
		s->x.request.head.fields = &s->authorization;
		s->x.request.head.n_fields = 1;
	}
	return authn_request(s->authn, &s->x, &(struct questions){0}, &s->user, &s->arena, &s->st);
}

static void assert_is_anonymous(struct scene *s)
{
	assert_true(str_is(s->user->name, "system:anonymous"));
	assert_int_equal(s->user->n_groups, 1);
	assert_true(user_in_group(s->user, GROUP_UNAUTHENTICATED));
}

static bool trust_is_known;

static bool knows_trust(void *ctx _unused_)
{
	return trust_is_known;
}

static void test_authn__certificate_comes_again_until_trust_is_known(void **state _unused_)
{
	const struct delegates cluster = {.knows_trust = knows_trust};
	for (int i = 0; i < 3; i++) {
		struct scene s;
		open_scene(&s, usual());
		s.peer.has_certificate = i != 1;
		trust_is_known = i == 2;
		int r = authn_request(s.authn, &s.x, &(struct questions){.delegates = &cluster}, &s.user, &s.arena, &s.st);
		assert_int_equal(r, i == 0);
		if (i == 0) {
			assert_int_equal(s.st.code, 503);
			assert_int_equal(s.st.retry_after_s, 1);
		} else {
			assert_is_anonymous(&s);
		}
		close_scene(&s);
	}
}

static void test_authn__no_credential_is_anonymous(void **state _unused_)
{
	struct scene s;
	open_scene(&s, usual());
	assert_int_equal(ask(&s, NULL), 0);
	assert_is_anonymous(&s);
	assert_false(s.x.is_vouched);
	close_scene(&s);
}

static void test_authn__no_credential_is_401_without_anonymous(void **state _unused_)
{
	struct scene s;
	struct authn_options options = usual();
	options.anonymous = false;
	open_scene(&s, options);
	assert_int_equal(ask(&s, NULL), 1);
	assert_int_equal(s.st.code, 401);
	assert_string_equal(s.st.reason, "Unauthorized");
	assert_true(str_is(s.st.message, "Unauthorized"));
	assert_false(s.st.has_details);
	close_scene(&s);
}

static void test_authn__token_names_its_user(void **state _unused_)
{
	static const char *const spellings[] = {"Bearer t1", "bearer t1", "  BEARER t1 ", "Bearer t1 rest"};
	for (size_t i = 0; i < ARRAY_SIZE(spellings); i++) {
		struct scene s;
		open_scene(&s, usual());
		assert_int_equal(ask(&s, spellings[i]), 0);
		assert_true(str_is(s.user->name, "alice") && str_is(s.user->uid, "u1"));
		assert_true(s.x.is_vouched);
		assert_int_equal(s.user->n_groups, 2);
		assert_true(user_in_group(s.user, STR("dev")) && user_in_group(s.user, GROUP_AUTHENTICATED));
		close_scene(&s);
	}
}

static void test_authn__user_of_the_unauthenticated_does_not_become_authenticated(void **state _unused_)
{
	struct scene s;
	open_scene(&s, usual());
	assert_int_equal(ask(&s, "Bearer t2"), 0);
	assert_is_anonymous(&s);
	assert_int_equal(ask(&s, "Bearer t3"), 0);
	assert_true(str_is(s.user->name, "bob"));
	assert_int_equal(s.user->n_groups, 1);
	close_scene(&s);
}

/* The cluster knows a user for every token; what else it says is the test's. */
static bool review_token(void *ctx, struct token_question *q)
{
	const struct token_question *review = ctx;
	q->is_known = review->is_known;
	q->base.failure = review->base.failure;
	q->base.is_turned_away = review->base.is_turned_away;
	q->user = (struct user){.name = STR("carol"), .uid = STR("u4")};
	return true;
}

static void test_authn__cluster_is_believed_only_where_it_has_decided(void **state _unused_)
{
	static const struct {
		struct token_question review;
		unsigned code; /* 0: carol */
	} rows[] = {
		{{.is_known = true}, 0},
		{{.is_known = false}, 401},
		{{.is_known = true, .base.failure = {"lost", 4}}, 401},
		{{.is_known = true, .base.failure = {"busy", 4}, .base.is_turned_away = true}, 429},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct token_question review = rows[i].review;
		const struct delegates cluster = {.ctx = &review, .ask_token = review_token};
		struct scene s;
		open_scene(&s, usual());
		struct questions questions = {.delegates = &cluster, .arena = &s.arena, .deadline_ms = INT64_MAX};
		s.authorization = (struct http_header){STR("authorization"), STR("Bearer of-the-cluster")};
		s.x.request.head.fields = &s.authorization;
		s.x.request.head.n_fields = 1;
		int r;
		while ((r = authn_request(s.authn, &s.x, &questions, &s.user, &s.arena, &s.st)) == ASK_FIRST) {
			assert_true(questions_start(&questions));
		}
		assert_int_equal(r, rows[i].code != 0);
		assert_int_equal(s.st.code, rows[i].code);
		if (r == 0) {
			assert_true(str_is(s.user->name, "carol") && str_is(s.user->uid, "u4"));
			assert_true(user_in_group(s.user, GROUP_AUTHENTICATED));
		}
		close_scene(&s);
	}
}

static void test_authn__wrong_token_is_401(void **state _unused_)
{
	static const char *const wrong[] = {"Bearer wrong", "Bearer t", "Bearer t1x", "Bearer x.y.z"};
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct scene s;
		open_scene(&s, usual());
		assert_int_equal(ask(&s, wrong[i]), 1);
		assert_int_equal(s.st.code, 401);
		close_scene(&s);
	}
}

static void test_authn__token_without_a_token_file_is_401(void **state _unused_)
{
	struct scene s;
	open_scene(&s, (struct authn_options){.anonymous = true});
	assert_int_equal(ask(&s, "Bearer t1"), 1);
	close_scene(&s);
}

static void test_authn__other_authorization_is_anonymous(void **state _unused_)
{
	static const char *const other[] = {"Basic YTpi", "Bearer", "Bearer ", "Bearer  t1", "", "t1"};
	for (size_t i = 0; i < ARRAY_SIZE(other); i++) {
		struct scene s;
		open_scene(&s, usual());
		assert_int_equal(ask(&s, other[i]), 0);
		assert_is_anonymous(&s);
		close_scene(&s);
	}
}

static const struct str masters[] = {{"system:masters", 14}, {"ops", 3}};

static const struct str user_headers[] = {{"X-Remote-User", 13}}, group_headers[] = {{"X-Remote-Group", 14}};
static const struct str front_names[] = {{"front", 5}};

/* Authorities of users, of both kinds, of front proxies. */
static const struct trust for_users = {.client_ca = {"PEM", 3}};
static const struct trust for_both = {.client_ca = {"PEM", 3},
	.front_ca = {"PEM", 3},
	.front_names = front_names,
	.n_front_names = 1,
	.user_headers = user_headers,
	.n_user_headers = 1,
	.group_headers = group_headers,
	.n_group_headers = 1};

static void show_certificate(struct scene *s, bool is_verified, const char *common_name)
{
	s->peer = (struct http_peer){.is_tls = true,
		.has_certificate = true,
		.is_verified = is_verified,
		.trust = &for_users,
		.common_name = str_of(common_name),
		.organizations = masters,
		.n_organizations = ARRAY_SIZE(masters)};
}

static void test_authn__certificate_names_user_and_groups(void **state _unused_)
{
	struct scene s;
	open_scene(&s, usual());
	show_certificate(&s, true, "admin");
	assert_int_equal(ask(&s, NULL), 0);
	assert_true(str_is(s.user->name, "admin"));
	assert_int_equal(s.user->n_groups, 3);
	assert_true(user_in_group(s.user, STR("system:masters")) && user_in_group(s.user, GROUP_AUTHENTICATED));
	close_scene(&s);
}

static void test_authn__certificate_goes_before_a_wrong_token(void **state _unused_)
{
	struct scene s;
	open_scene(&s, usual());
	show_certificate(&s, true, "admin");
	assert_int_equal(ask(&s, "Bearer wrong"), 0);
	assert_true(str_is(s.user->name, "admin"));
	close_scene(&s);
}

static void test_authn__unverified_certificate_is_401_but_a_token_helps(void **state _unused_)
{
	struct scene s;
	open_scene(&s, usual());
	show_certificate(&s, false, "");
	assert_int_equal(ask(&s, NULL), 1);
	assert_int_equal(s.st.code, 401);
	assert_int_equal(ask(&s, "Bearer t1"), 0);
	assert_true(str_is(s.user->name, "alice"));
	close_scene(&s);
}

static void test_authn__certificate_without_a_name_is_anonymous(void **state _unused_)
{
	struct scene s;
	open_scene(&s, usual());
	show_certificate(&s, true, "");
	assert_int_equal(ask(&s, NULL), 0);
	assert_is_anonymous(&s);
	close_scene(&s);
}

static void test_authn__certificates_count_only_where_wanted(void **state _unused_)
{
	struct scene s;
	const struct trust nobody = {.n_front_names = 0};
	open_scene(&s, usual());
	show_certificate(&s, false, "");
	s.peer.trust = &nobody;
	assert_int_equal(ask(&s, NULL), 0);
	assert_is_anonymous(&s);
	close_scene(&s);
}

#define LITERAL(s)               \
	{                        \
		s, sizeof(s) - 1 \
	}

/* A front proxy called so, and what it says. */
static void speak_for(struct scene *s, const char *common_name, const struct http_header *headers, size_t n)
{
	show_certificate(s, false, common_name);
	s->peer.trust = &for_both;
	s->peer.is_front_proxy = true;
	s->x.request.head.fields = headers;
	s->x.request.head.n_fields = n;
}

static const struct http_header names_bob[] = {
	{LITERAL("X-Remote-User"), LITERAL("bob")}, {LITERAL("X-Remote-Group"), LITERAL("dev")}};
static const struct http_header names_anonymous[] = {{LITERAL("X-Remote-User"), LITERAL("system:anonymous")}};

static void test_authn__front_proxy_names_the_user(void **state _unused_)
{
	struct scene s;
	open_scene(&s, usual());
	speak_for(&s, "front", names_bob, ARRAY_SIZE(names_bob));
	assert_int_equal(ask(&s, NULL), 0);
	assert_true(str_is(s.user->name, "bob"));
	assert_int_equal(s.user->n_groups, 2);
	assert_true(user_in_group(s.user, STR("dev")) && user_in_group(s.user, GROUP_AUTHENTICATED));
	assert_int_equal(s.user->n_extra, 0);
	close_scene(&s);
}

/* Upstream adds no group to system:anonymous, whoever says it. */
static void test_authn__front_proxy_may_speak_for_nobody(void **state _unused_)
{
	struct scene s;
	open_scene(&s, usual());
	speak_for(&s, "front", names_anonymous, ARRAY_SIZE(names_anonymous));
	assert_int_equal(ask(&s, NULL), 0);
	assert_true(str_is(s.user->name, "system:anonymous"));
	assert_int_equal(s.user->n_groups, 0);
	close_scene(&s);
}

static void test_authn__front_proxy_goes_before_the_certificate(void **state _unused_)
{
	struct scene s;
	open_scene(&s, usual());
	speak_for(&s, "front", names_bob, ARRAY_SIZE(names_bob));
	s.peer.is_verified = true;
	assert_int_equal(ask(&s, NULL), 0);
	assert_true(str_is(s.user->name, "bob"));
	s.x.request.head.n_fields = 0;
	assert_int_equal(ask(&s, NULL), 0);
	assert_true(str_is(s.user->name, "front"));
	close_scene(&s);
}

/* Its certificate is none of a user then, and that is wrong. */
static void test_authn__front_proxy_that_names_nobody_is_401_but_a_token_helps(void **state _unused_)
{
	struct scene s;
	open_scene(&s, usual());
	speak_for(&s, "front", NULL, 0);
	assert_int_equal(ask(&s, NULL), 1);
	assert_int_equal(s.st.code, 401);
	assert_int_equal(ask(&s, "Bearer t1"), 0);
	assert_true(str_is(s.user->name, "alice"));
	close_scene(&s);
}

static void test_authn__front_proxy_of_another_name_is_not_listened_to(void **state _unused_)
{
	struct scene s;
	open_scene(&s, usual());
	speak_for(&s, "frontier", names_bob, ARRAY_SIZE(names_bob));
	assert_int_equal(ask(&s, NULL), 1);
	assert_int_equal(s.st.code, 401);
	s.peer.is_verified = true;
	assert_int_equal(ask(&s, NULL), 0);
	assert_true(str_is(s.user->name, "frontier"));
	close_scene(&s);
}

static void note(void *ctx, struct str text)
{
	struct buf *notices = ctx;
	buf_add_str(notices, text);
	buf_addc(notices, '\n');
}

static void test_authn__why_a_certificate_is_refused_is_told_now_and_then(void **state _unused_)
{
	static const struct {
		const char *common_name, *problem;
		bool is_front_proxy;
		const char *notice;
	} rows[] = {
		{"", "It has expired.", false, "401 to 10.0.0.1:1 for its client certificate: It has expired.\n"},
		{"", "", false, "401 to 10.0.0.1:1 for its client certificate: It names nobody.\n"},
		{"frontier", "", true,
			"401 to 10.0.0.1:1 for its client certificate: It is signed by the CA of front proxies, but "
			"\"frontier\" is "
			"no name that they may have.\n"},
		{"front", "", true,
			"401 to 10.0.0.1:1 for its client certificate: It is a front proxy's, but no header names a user.\n"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct scene s;
		struct buf notices;
		struct authn_options options = usual();
		buf_init(&notices, 4096);
		options.on_notice = note;
		options.notice_ctx = &notices;
		open_scene(&s, options);
		s.peer = (struct http_peer){.address = STR("10.0.0.1:1"),
			.has_certificate = true,
			.is_front_proxy = rows[i].is_front_proxy,
			.trust = &for_both,
			.common_name = str_of(rows[i].common_name),
			.problem = str_of(rows[i].problem)};
		for (unsigned k = 0; k < 3; k++) {
			assert_int_equal(ask(&s, NULL), 1);
			assert_int_equal(ask(&s, "Bearer wrong"), 1);
		}
		assert_str(buf_str(&notices), rows[i].notice);
		buf_done(&notices);
		close_scene(&s);
	}
}

static void test_authn__others_are_not_listened_to(void **state _unused_)
{
	struct scene s;
	open_scene(&s, usual());
	speak_for(&s, "front", names_bob, ARRAY_SIZE(names_bob));
	s.peer.is_front_proxy = false;
	assert_int_equal(ask(&s, NULL), 1);
	s.peer = (struct http_peer){.is_tls = true};
	assert_int_equal(ask(&s, NULL), 0);
	assert_is_anonymous(&s);
	close_scene(&s);
}

static void test_authn__broken_token_file_is_refused_at_birth(void **state _unused_)
{
	char path[] = "/tmp/annals-tokens-XXXXXX", expected[128];
	int fd = mkstemp(path);
	dprintf(fd, "only,two\n");
	close(fd);
	struct authn *authn;
	struct buf err;
	buf_init(&err, 1024);
	assert_true(authn_new(&authn, &(struct authn_options){.token_file = path}, &err) < 0);
	snprintf(expected, sizeof(expected), "token file %s: line 1: a user has at least 3 columns: token, user name, user uid",
		path);
	assert_string_equal(err.p, expected);
	buf_done(&err);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_authn__no_credential_is_anonymous),
		TEST(test_authn__no_credential_is_401_without_anonymous),
		TEST(test_authn__token_names_its_user),
		TEST(test_authn__user_of_the_unauthenticated_does_not_become_authenticated),
		TEST(test_authn__cluster_is_believed_only_where_it_has_decided),
		TEST(test_authn__wrong_token_is_401),
		TEST(test_authn__token_without_a_token_file_is_401),
		TEST(test_authn__other_authorization_is_anonymous),
		TEST(test_authn__certificate_names_user_and_groups),
		TEST(test_authn__certificate_goes_before_a_wrong_token),
		TEST(test_authn__unverified_certificate_is_401_but_a_token_helps),
		TEST(test_authn__certificate_without_a_name_is_anonymous),
		TEST(test_authn__certificates_count_only_where_wanted),
		TEST(test_authn__front_proxy_names_the_user),
		TEST(test_authn__front_proxy_may_speak_for_nobody),
		TEST(test_authn__front_proxy_goes_before_the_certificate),
		TEST(test_authn__front_proxy_that_names_nobody_is_401_but_a_token_helps),
		TEST(test_authn__front_proxy_of_another_name_is_not_listened_to),
		TEST(test_authn__why_a_certificate_is_refused_is_told_now_and_then),
		TEST(test_authn__others_are_not_listened_to),
		TEST(test_authn__certificate_comes_again_until_trust_is_known),
		TEST(test_authn__broken_token_file_is_refused_at_birth),
	};
	return cmocka_run_group_tests(tests, write_tokens, remove_tokens);
}
