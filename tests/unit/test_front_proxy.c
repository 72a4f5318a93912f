#include "server/access/authn.h"
#include "tests/unit/check.h"

#define LITERAL(s)               \
	{                        \
		s, sizeof(s) - 1 \
	}

static const struct str users[] = {LITERAL("x-remote-user"), LITERAL("X-Other-User")};
static const struct str uids[] = {LITERAL("X-Remote-Uid")};
static const struct str groups[] = {LITERAL("X-Remote-Group"), LITERAL("x-other-group")};
static const struct str prefixes[] = {LITERAL("X-Remote-Extra-"), LITERAL("X-Other-")};
static const struct trust trust = {
	.user_headers = users,
	.n_user_headers = ARRAY_SIZE(users),
	.uid_headers = uids,
	.n_uid_headers = ARRAY_SIZE(uids),
	.group_headers = groups,
	.n_group_headers = ARRAY_SIZE(groups),
	.extra_prefixes = prefixes,
	.n_extra_prefixes = ARRAY_SIZE(prefixes),
};

enum { MAX_HEADERS = 8 };

/* "NAME UID [GROUP GROUP] KEY=VALUE KEY=VALUE", or "-": nobody. */
static struct str show(struct arena *a, const struct user *u)
{
	struct str text = arena_printf(a, STR_FMT " " STR_FMT " [", STR_ARG(u->name), STR_ARG(u->uid));
	for (size_t i = 0; i < u->n_groups; i++) {
		text = arena_printf(a, STR_FMT "%s" STR_FMT, STR_ARG(text), i ? " " : "", STR_ARG(u->groups[i]));
	}
	text = arena_printf(a, STR_FMT "]", STR_ARG(text));
	for (size_t i = 0; i < u->n_extra; i++) {
		text = arena_printf(a, STR_FMT " " STR_FMT "=" STR_FMT, STR_ARG(text), STR_ARG(u->extra[i].key),
			STR_ARG(u->extra[i].value));
	}
	return text;
}

static const struct {
	const char *headers[MAX_HEADERS][2];
	const char *user;
} cases[] = {
	{{{"X-Remote-User", "alice"}}, "alice  []"},
	{{{"X-REMOTE-USER", "alice"}, {"x-remote-uid", "u1"}}, "alice u1 []"},
	{{{"Host", "x"}}, "-"},
	{{{"X-Remote-Group", "system:masters"}}, "-"},
	{{{"X-Remote-User", ""}}, "-"},
	/* smuggling */
	{{{"X_Remote_User", "evil"}}, "-"},
	{{{"X-Remote_User", "evil"}}, "-"},
	{{{"X-Remote-User2", "evil"}}, "-"},
	{{{"X-Remote-Use", "evil"}}, "-"},
	{{{"X-Remote-User", "alice"}, {"X_Remote_Group", "system:masters"}, {"X-Remote_Extra-a", "b"}}, "alice  []"},
	/* the first header of a name counts, and the first name with a value */
	{{{"X-Remote-User", "alice"}, {"X-Remote-User", "evil"}}, "alice  []"},
	{{{"X-Remote-User", "alice"}, {"x-remote-user", "evil"}}, "alice  []"},
	{{{"X-Other-User", "bob"}, {"X-Remote-User", "alice"}}, "alice  [] user=bob"},
	{{{"X-Remote-User", ""}, {"X-Remote-User", "evil"}}, "-"},
	{{{"X-Remote-User", ""}, {"X-Other-User", "bob"}}, "bob  [] user=bob"},
	{{{"X-Remote-User", "alice"}, {"X-Remote-Uid", ""}, {"X-Remote-Uid", "u2"}}, "alice  []"},
	/* all groups, name by name */
	{{{"X-Remote-User", "a"}, {"x-remote-group", "g1"}, {"X-Remote-Group", "g2,g3"}}, "a  [g1 g2,g3]"},
	{{{"X-Remote-User", "a"}, {"X-Remote-Group", ""}, {"X-Remote-Group", "g"}}, "a  [g]"},
	{{{"X-Remote-User", "a"}, {"X-Other-Group", "g2"}, {"X-Remote-Group", "g1"}}, "a  [g1 g2] group=g2"},
	/* extra: prefix by prefix, keys in lower case and unescaped, where that works */
	{{{"X-Remote-User", "a"}, {"X-Remote-Extra-Scopes", "s1"}, {"x-remote-extra-SCOPES", "s2"}},
		"a  [] scopes=s1 scopes=s2"},
	{{{"X-Remote-User", "a"}, {"X-Remote-Extra-Acme.com%2FProject", "p"}}, "a  [] acme.com/project=p"},
	{{{"X-Remote-User", "a"}, {"X-Remote-Extra-%41b%zz", "p"}}, "a  [] %41b%zz=p"},
	{{{"X-Remote-User", "a"}, {"X-Remote-Extra-%41b", "p"}}, "a  [] Ab=p"},
	{{{"X-Remote-User", "a"}, {"X-Remote-Extra-a%2", "p"}}, "a  [] a%2=p"},
	{{{"X-Remote-User", "a"}, {"X-Remote-Extra-", "p"}}, "a  [] =p"},
	{{{"X-Remote-User", "a"}, {"X-Remote-Extra-k", ""}}, "a  [] k="},
	{{{"X-Other-b", "2"}, {"X-Remote-Extra-a", "1"}, {"X-Remote-User", "a"}}, "a  [] a=1 b=2"},
	/* taken as it is: what it means is for others to say */
	{{{"X-Remote-User", "system:anonymous"}}, "system:anonymous  []"},
};

static void test_front_proxy__headers_name_the_user(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct http_header headers[MAX_HEADERS];
		struct arena a;
		struct user u;
		size_t n = 0;
		arena_init(&a, 1 << 20);
		for (; n < MAX_HEADERS && cases[i].headers[n][0]; n++) {
			headers[n] = (struct http_header){str_of(cases[i].headers[n][0]), str_of(cases[i].headers[n][1])};
		}
		assert_str(front_proxy_read(&trust, headers, n, &a, &u) ? show(&a, &u) : STR("-"), cases[i].user);
		arena_done(&a);
	}
}

static void test_front_proxy__without_header_names_nobody_is_named(void **state _unused_)
{
	static const struct http_header headers[] = {{LITERAL("X-Remote-User"), LITERAL("alice")}, {LITERAL(""), LITERAL("evil")}};
	const struct trust none = {.n_user_headers = 0};
	struct arena a;
	struct user u;
	arena_init(&a, 1 << 20);
	assert_false(front_proxy_read(&none, headers, ARRAY_SIZE(headers), &a, &u));
	arena_done(&a);
}

static void test_front_proxy__name_of_the_certificate_is_exact(void **state _unused_)
{
	static const struct str names[] = {LITERAL("front-proxy-client"), LITERAL("aggregator")};
	const struct trust some = {.front_names = names, .n_front_names = ARRAY_SIZE(names)}, any = {.n_front_names = 0};
	assert_true(front_proxy_may_have(&some, STR("front-proxy-client")));
	assert_true(front_proxy_may_have(&some, STR("aggregator")));
	assert_false(front_proxy_may_have(&some, STR("Aggregator")));
	assert_false(front_proxy_may_have(&some, STR("aggregator2")));
	assert_false(front_proxy_may_have(&some, STR("front-proxy")));
	assert_false(front_proxy_may_have(&some, STR("")));
	assert_true(front_proxy_may_have(&any, STR("whoever")));
	assert_true(front_proxy_may_have(&any, STR("")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_front_proxy__headers_name_the_user),
		TEST(test_front_proxy__without_header_names_nobody_is_named),
		TEST(test_front_proxy__name_of_the_certificate_is_exact),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
