#include "server/access/authz.h"
#include "tests/unit/check.h"
#include "tests/unit/fake_http.h"

#include <stdlib.h>
#include <unistd.h>

#define POLICY(spec) "{\"apiVersion\":\"abac.authorization.kubernetes.io/v1beta1\",\"kind\":\"Policy\",\"spec\":{" spec "}}\n"

/* An authorizer with a policy, and the answer to the last question. */
struct scene {
	char path[32];
	struct authz *authz;
	struct arena arena;
	struct status st;
};

static int open_authz(struct scene *s, const char *policy, bool always_allow, struct buf *err)
{
	struct authz_options options = {.always_allow = always_allow};
	*s = (struct scene){.path = "/tmp/annals-policy-XXXXXX"};
	int fd = mkstemp(s->path);
	if (policy) {
		dprintf(fd, "%s", policy);
		options.policy_file = s->path;
	}
	close(fd);
	int r = authz_new(&s->authz, &options, err);
	unlink(s->path);
	return r;
}

static void open_scene(struct scene *s, const char *policy)
{
	struct buf err;
	buf_init(&err, 1024);
	assert_int_equal(open_authz(s, policy, false, &err), 0);
	buf_done(&err);
	arena_init(&s->arena, 1 << 20);
	status_init(&s->st, &s->arena);
}

static void close_scene(struct scene *s)
{
	authz_free(s->authz);
	arena_done(&s->arena);
}

#define USER(user_name, ...)                                 \
	((struct user){.name = STR(user_name),               \
		.groups = (const struct str[]){__VA_ARGS__}, \
		.n_groups = sizeof((const struct str[]){__VA_ARGS__}) / sizeof(struct str)})
#define ANONYMOUS USER("system:anonymous", GROUP_UNAUTHENTICATED)
#define ALICE USER("alice", STR("dev"), GROUP_AUTHENTICATED)
#define ADMIN USER("admin", STR("system:masters"), GROUP_AUTHENTICATED)

static bool may_path(struct scene *s, struct user u, const char *verb, const char *path)
{
	struct authz_attributes at = {.user = &u, .verb = str_of(verb), .path = str_of(path)};
	return authz_check(s->authz, &at, NULL, NULL, &s->arena, &s->st) == 0;
}

static bool may(struct scene *s, struct user u, struct authz_attributes at)
{
	at.user = &u;
	at.is_resource = true;
	return authz_check(s->authz, &at, NULL, NULL, &s->arena, &s->st) == 0;
}

#define REVISIONS(verb_, ...)                           \
	((struct authz_attributes){.verb = STR(verb_),  \
		.group = STR("apps"),                   \
		.version = STR("v1"),                   \
		.resource = STR("controllerrevisions"), \
		__VA_ARGS__})

static void test_authz__masters_may_all(void **state _unused_)
{
	struct scene s;
	open_scene(&s, NULL);
	assert_true(may(&s, ADMIN, REVISIONS("delete", .ns = STR("x"), .name = STR("a"))));
	assert_true(may_path(&s, ADMIN, "post", "/anything"));
	close_scene(&s);
}

static void test_authz__always_allow_allows(void **state _unused_)
{
	struct scene s;
	struct buf err;
	buf_init(&err, 1024);
	assert_int_equal(open_authz(&s, NULL, true, &err), 0);
	arena_init(&s.arena, 1 << 20);
	assert_true(may_path(&s, ANONYMOUS, "delete", "/x"));
	close_scene(&s);
	buf_done(&err);
}

static void test_authz__anyone_may_see_health_and_version(void **state _unused_)
{
	static const char *const public[] = {"/healthz", "/livez", "/readyz", "/version", "/version/"};
	static const char *const private[] = {
		"/livez/ping", "/", "/openapi/v3", "/api", "/apis/apps/v1", "/metrics", "/nothing"};
	struct scene s;
	open_scene(&s, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(public); i++) {
		assert_true(may_path(&s, ANONYMOUS, "get", public[i]));
		assert_false(may_path(&s, ANONYMOUS, "post", public[i]));
	}
	for (size_t i = 0; i < ARRAY_SIZE(private); i++) {
		assert_false(may_path(&s, ANONYMOUS, "get", private[i]));
	}
	close_scene(&s);
}

static void test_authz__authenticated_may_discover(void **state _unused_)
{
	static const char *const public[] = {
		"/api", "/api/v1", "/apis", "/apis/apps/v1", "/openapi/v2", "/openapi/v3/apis/apps/v1", "/livez"};
	struct scene s;
	open_scene(&s, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(public); i++) {
		assert_true(may_path(&s, ALICE, "get", public[i]));
	}
	assert_false(may_path(&s, ALICE, "get", "/apiserver"));
	assert_false(may_path(&s, ALICE, "get", "/metrics"));
	close_scene(&s);
}

static void test_authz__authenticated_may_review_themselves(void **state _unused_)
{
	struct authz_attributes review = {.verb = STR("create"),
		.group = STR("authorization.k8s.io"),
		.version = STR("v1"),
		.resource = STR("selfsubjectaccessreviews")};
	struct scene s;
	open_scene(&s, NULL);
	assert_true(may(&s, ALICE, review));
	assert_false(may(&s, ANONYMOUS, review));
	/* Nothing else of them, nor anything below. */
	review.verb = STR("list");
	assert_false(may(&s, ALICE, review));
	review.verb = STR("create");
	review.subresource = STR("status");
	assert_false(may(&s, ALICE, review));
	review.subresource = STR("");
	review.resource = STR("subjectaccessreviews");
	assert_false(may(&s, ALICE, review));
	close_scene(&s);
}

/* Texts as kube-apiserver's. */
static void assert_says(struct scene *s, const char *text)
{
	assert_int_equal(s->st.code, 403);
	assert_string_equal(s->st.reason, "Forbidden");
	assert_int_equal(s->st.message.n, strlen(text));
	assert_memory_equal(s->st.message.p, text, strlen(text));
	assert_true(s->st.has_details);
}

static void test_authz__refusal_names_everything(void **state _unused_)
{
	struct scene s;
	open_scene(&s, NULL);
	may(&s, ANONYMOUS, REVISIONS("list", .ns = STR("ns")));
	assert_says(&s,
		"controllerrevisions.apps is forbidden: User \"system:anonymous\" cannot list resource \"controllerrevisions\" "
		"in API group "
		"\"apps\" in the namespace \"ns\"");
	assert_true(str_is(s.st.kind, "controllerrevisions") && str_is(s.st.group, "apps") && s.st.name.n == 0);

	may(&s, ANONYMOUS, REVISIONS("get", .ns = STR("ns"), .name = STR("a")));
	assert_says(&s,
		"controllerrevisions.apps \"a\" is forbidden: User \"system:anonymous\" cannot get resource "
		"\"controllerrevisions\" in API "
		"group \"apps\" in the namespace \"ns\"");
	assert_true(str_is(s.st.name, "a"));

	may(&s, ANONYMOUS, (struct authz_attributes){.verb = STR("list"), .version = STR("v1"), .resource = STR("namespaces")});
	assert_says(&s,
		"namespaces is forbidden: User \"system:anonymous\" cannot list resource \"namespaces\" in API group \"\" at "
		"the cluster scope");

	may(&s, ALICE,
		(struct authz_attributes){
			.verb = STR("update"), .resource = STR("namespaces"), .subresource = STR("status"), .name = STR("x")});
	assert_says(&s,
		"namespaces \"x\" is forbidden: User \"alice\" cannot update resource \"namespaces/status\" in API group \"\" "
		"at the cluster scope");

	may_path(&s, ANONYMOUS, "get", "/openapi/v3");
	assert_says(&s, "forbidden: User \"system:anonymous\" cannot get path \"/openapi/v3\"");
	close_scene(&s);
}

static void test_authz__refusal_is_harmless_in_a_browser(void **state _unused_)
{
	struct scene s;
	open_scene(&s, NULL);
	may_path(&s, ALICE, "get", "/<b>&\"");
	assert_says(&s, "forbidden: User \"alice\" cannot get path \"/&lt;b&gt;&amp;\\\"\"");
	close_scene(&s);
}

static void test_authz__policy_allows_what_its_line_says(void **state _unused_)
{
	struct scene s;
	open_scene(&s,
		"# who may what\n\n" POLICY(
			"\"user\":\"alice\",\"namespace\":\"ns\",\"resource\":\"controllerrevisions\",\"apiGroup\":\"apps\""));
	assert_true(may(&s, ALICE, REVISIONS("delete", .ns = STR("ns"), .name = STR("a"))));
	assert_false(may(&s, ALICE, REVISIONS("delete", .ns = STR("other"), .name = STR("a"))));
	assert_false(may(&s, USER("bob", GROUP_AUTHENTICATED), REVISIONS("delete", .ns = STR("ns"))));
	assert_false(may(&s, ALICE,
		(struct authz_attributes){.verb = STR("get"), .resource = STR("controllerrevisions"), .ns = STR("ns")}));
	assert_false(may_path(&s, ALICE, "get", "/metrics"));
	close_scene(&s);
}

static void test_authz__readonly_policy_allows_reading_only(void **state _unused_)
{
	struct scene s;
	open_scene(&s, POLICY("\"user\":\"*\",\"readonly\":true,\"namespace\":\"*\",\"resource\":\"*\",\"apiGroup\":\"*\""));
	assert_true(may(&s, ALICE, REVISIONS("get", .ns = STR(""))));
	assert_true(may(&s, ALICE, REVISIONS("list", .ns = STR("ns"))));
	assert_true(may(&s, ALICE, REVISIONS("watch", .ns = STR(""))));
	assert_false(may(&s, ALICE, REVISIONS("create", .ns = STR(""))));
	close_scene(&s);
}

static void test_authz__user_and_group_must_both_match(void **state _unused_)
{
	struct scene s;
	open_scene(&s,
		POLICY("\"user\":\"bob\",\"group\":\"dev\",\"nonResourcePath\":\"*\"")
			POLICY("\"nonResourcePath\":\"/nobody\""));
	assert_true(may_path(&s, USER("bob", STR("dev")), "get", "/x"));
	assert_false(may_path(&s, ALICE, "get", "/x"));
	assert_false(may_path(&s, USER("bob", STR("ops")), "get", "/x"));
	assert_false(may_path(&s, ALICE, "get", "/nobody"));
	close_scene(&s);
}

static void test_authz__policy_of_any_group_is_for_everybody(void **state _unused_)
{
	struct scene s;
	struct user nobodys = {.name = STR("bob")};
	open_scene(&s,
		POLICY("\"group\":\"*\",\"nonResourcePath\":\"/x\"")
			POLICY("\"user\":\"bob\",\"group\":\"*\",\"nonResourcePath\":\"/y\""));
	assert_true(may_path(&s, ALICE, "get", "/x") && may_path(&s, nobodys, "get", "/x"));
	assert_true(may_path(&s, nobodys, "get", "/y"));
	assert_false(may_path(&s, ALICE, "get", "/y"));
	close_scene(&s);
}

static void test_authz__policy_path_may_end_in_a_star(void **state _unused_)
{
	struct scene s;
	open_scene(&s, POLICY("\"group\":\"dev\",\"nonResourcePath\":\"/metrics*\""));
	assert_true(may_path(&s, ALICE, "get", "/metrics"));
	assert_true(may_path(&s, ALICE, "get", "/metrics/slis"));
	assert_false(may_path(&s, ALICE, "get", "/metric"));
	close_scene(&s);
}

static void assert_policy_refused(const char *policy, const char *why)
{
	struct scene s;
	struct buf err;
	buf_init(&err, 1024);
	assert_true(open_authz(&s, policy, false, &err) < 0);
	assert_non_null(strstr(err.p, why));
	buf_done(&err);
}

static void assert_rules(struct scene *s, struct user u, const char *resources, const char *paths)
{
	struct authz_rules rules;
	struct buf text;
	authz_rules(&rules, s->authz, &u, STR("default"), &s->arena);
	buf_init(&text, 4096);
	json_encode(&text, rules.resources);
	assert_str(buf_str(&text), resources);
	buf_clear(&text);
	json_encode(&text, rules.paths);
	assert_str(buf_str(&text), paths);
	buf_done(&text);
}

#define PUBLIC "{\"verbs\":[\"get\"],\"nonResourceURLs\":[\"/healthz\",\"/livez\",\"/readyz\",\"/version\",\"/version/\""
#define DISCOVERY ",\"/api\",\"/api/*\",\"/apis\",\"/apis/*\",\"/openapi\",\"/openapi/*\""
#define REVIEW(group, resource) "{\"verbs\":[\"create\"],\"apiGroups\":[\"" group ".k8s.io\"],\"resources\":[\"" resource "\"]}"
#define BASIC                                          \
	REVIEW("authentication", "selfsubjectreviews") \
	"," REVIEW("authorization", "selfsubjectaccessreviews") "," REVIEW("authorization", "selfsubjectrulesreviews")

static void test_authz__tells_what_one_may_do(void **state _unused_)
{
	struct scene s;
	open_scene(&s,
		POLICY("\"group\":\"dev\",\"apiGroup\":\"apps\",\"resource\":\"*\",\"namespace\":\"default\",\"readonly\":true")
			POLICY("\"user\":\"alice\",\"nonResourcePath\":\"/metrics\",\"namespace\":\"*\"") POLICY(
				"\"user\":\"alice\",\"apiGroup\":\"apps\",\"resource\":\"*\",\"namespace\":\"other\"")
				POLICY("\"user\":\"bob\",\"apiGroup\":\"apps\",\"resource\":\"*\",\"namespace\":\"*\""));
	assert_rules(&s, ANONYMOUS, "[]", "[" PUBLIC "]}]");
	assert_rules(&s, ADMIN, "[" BASIC ",{\"verbs\":[\"*\"],\"apiGroups\":[\"*\"],\"resources\":[\"*\"]}]",
		"[" PUBLIC DISCOVERY "]},{\"verbs\":[\"*\"],\"nonResourceURLs\":[\"*\"]}]");
	assert_rules(&s, ALICE,
		"[" BASIC ",{\"verbs\":[\"get\",\"list\",\"watch\"],\"apiGroups\":[\"apps\"],\"resources\":[\"*\"]}]",
		"[" PUBLIC DISCOVERY "]},{\"verbs\":[\"*\"],\"nonResourceURLs\":[\"/metrics\"]}]");
	close_scene(&s);
}

static void test_authz__a_name_alone_is_not_anyone(void **state _unused_)
{
	struct scene s;
	struct user nobody = {.name = STR("bob")};
	open_scene(&s, NULL);
	assert_false(may_path(&s, nobody, "get", "/version"));
	close_scene(&s);
}

static void test_authz__broken_policy_names_the_line(void **state _unused_)
{
	assert_policy_refused("\n{", "line 2: unexpected end of JSON input");
	assert_policy_refused("{\"user\":\"alice\"}", "line 1: not a Policy of abac.authorization.kubernetes.io/v1beta1");
	assert_policy_refused(POLICY("\"verb\":\"get\""), "line 1: unknown member spec.verb");
	assert_policy_refused(POLICY("") POLICY("\"readonly\":\"yes\""), "line 2: spec.readonly must be a boolean");
}

/* ---- impersonation ---- */

static int act_as(struct scene *s, struct user *who, const struct http_header *headers, size_t n, struct user **ret)
{
	struct http_exchange x = {.request.head = {.fields = headers, .n_fields = n}};
	struct authz_attributes what = {.verb = STR("get"), .path = STR("/version")};
	*ret = who;
	return impersonate(s->authz, NULL, &x, &what, ret, &s->arena, &s->st);
}

#define ACT_AS(s, who, ret, ...)                                       \
	act_as((s), &(who), (const struct http_header[]){__VA_ARGS__}, \
		sizeof((const struct http_header[]){__VA_ARGS__}) / sizeof(struct http_header), (ret))
#define HEADER(name, value)                    \
	{                                      \
		{(name), strlen(name)},        \
		{                              \
			(value), strlen(value) \
		}                              \
	}

static void test_impersonate__without_headers_changes_nothing(void **state _unused_)
{
	struct scene s;
	struct user admin = ADMIN, *as;
	open_scene(&s, NULL);
	assert_int_equal(ACT_AS(&s, admin, &as, HEADER("Accept", "*/*")), 0);
	assert_ptr_equal(as, &admin);
	close_scene(&s);
}

static void test_impersonate__gives_name_groups_and_extra(void **state _unused_)
{
	struct scene s;
	struct user admin = ADMIN, *as;
	open_scene(&s, NULL);
	assert_int_equal(ACT_AS(&s, admin, &as, HEADER("impersonate-user", "bob"), HEADER("Impersonate-Group", "dev"),
				 HEADER("Impersonate-Uid", "7"), HEADER("Impersonate-Extra-Acme.COM%2fScope", "a")),
		0);
	assert_true(str_is(as->name, "bob") && str_is(as->uid, "7"));
	assert_int_equal(as->n_groups, 2);
	assert_true(user_in_group(as, STR("dev")) && user_in_group(as, GROUP_AUTHENTICATED));
	assert_int_equal(as->n_extra, 1);
	assert_true(str_is(as->extra[0].key, "acme.com/scope") && str_is(as->extra[0].value, "a"));
	close_scene(&s);
}

static void test_impersonate__service_account_brings_its_groups(void **state _unused_)
{
	struct scene s;
	struct user admin = ADMIN, *as;
	open_scene(&s, NULL);
	assert_int_equal(ACT_AS(&s, admin, &as, HEADER("Impersonate-User", "system:serviceaccount:ns:builder")), 0);
	assert_true(user_in_group(as, STR("system:serviceaccounts")) && user_in_group(as, STR("system:serviceaccounts:ns")));
	assert_true(user_in_group(as, GROUP_AUTHENTICATED));
	close_scene(&s);
}

static void test_impersonate__service_account_has_only_the_groups_that_are_asked_for(void **state _unused_)
{
	struct scene s;
	struct user admin = ADMIN, *as;
	open_scene(&s, NULL);
	assert_int_equal(ACT_AS(&s, admin, &as, HEADER("Impersonate-User", "system:serviceaccount:ns:builder"),
				 HEADER("Impersonate-Group", "dev")),
		0);
	assert_int_equal(as->n_groups, 2);
	assert_true(user_in_group(as, STR("dev")) && user_in_group(as, GROUP_AUTHENTICATED));
	/* Half a service account is an ordinary user, who belongs to none of its groups. */
	assert_int_equal(ACT_AS(&s, admin, &as, HEADER("Impersonate-User", "system:serviceaccount:ns:")), 0);
	assert_int_equal(as->n_groups, 1);
	close_scene(&s);
}

static void test_impersonate__anonymous_is_unauthenticated(void **state _unused_)
{
	struct scene s;
	struct user admin = ADMIN, *as;
	open_scene(&s, NULL);
	assert_int_equal(ACT_AS(&s, admin, &as, HEADER("Impersonate-User", "system:anonymous")), 0);
	assert_int_equal(as->n_groups, 1);
	assert_true(user_in_group(as, GROUP_UNAUTHENTICATED));
	/* Nobody is both. */
	assert_int_equal(ACT_AS(&s, admin, &as, HEADER("Impersonate-User", "bob"),
				 HEADER("Impersonate-Group", "system:unauthenticated")),
		0);
	assert_int_equal(as->n_groups, 1);
	close_scene(&s);
}

static void test_impersonate__nothing_goes_without_a_user(void **state _unused_)
{
	const struct http_header headers[] = {
		HEADER("Impersonate-Group", "dev"), HEADER("Impersonate-Uid", "7"), HEADER("Impersonate-Extra-Scope", "a")};
	struct user admin = ADMIN, *as;
	for (size_t i = 0; i < ARRAY_SIZE(headers); i++) {
		struct scene s;
		open_scene(&s, NULL);
		assert_int_equal(act_as(&s, &admin, &headers[i], 1, &as), 1);
		assert_int_equal(s.st.code, 400);
		close_scene(&s);
	}
}

/* One line of a policy allows one part. The others, together, do not. */
static void test_impersonate__every_part_needs_permission(void **state _unused_)
{
#define IDENTITY(resource) POLICY("\"user\":\"alice\",\"apiGroup\":\"authentication.k8s.io\",\"resource\":\"" resource "\"")
#define USERS POLICY("\"user\":\"alice\",\"resource\":\"users\"")
#define ACCOUNTS POLICY("\"user\":\"alice\",\"namespace\":\"ns\",\"resource\":\"serviceaccounts\"")
#define GROUPS POLICY("\"user\":\"alice\",\"resource\":\"groups\"")
	const struct {
		const char *user;
		struct http_header part; /* beside the user */
		const char *policy, *others;
	} rows[] = {
		{"bob", HEADER("Accept", "x"), USERS, GROUPS ACCOUNTS IDENTITY("uids") IDENTITY("userextras")},
		{"system:serviceaccount:ns:a", HEADER("Accept", "x"), ACCOUNTS,
			USERS GROUPS IDENTITY("uids") IDENTITY("userextras")},
		{"bob", HEADER("Impersonate-Group", "system:masters"), USERS GROUPS,
			USERS IDENTITY("uids") IDENTITY("userextras")},
		{"bob", HEADER("Impersonate-Uid", "7"), USERS IDENTITY("uids"), USERS GROUPS IDENTITY("userextras")},
		{"bob", HEADER("Impersonate-Extra-Scope", "a"), USERS IDENTITY("userextras"), USERS GROUPS IDENTITY("uids")},
	};
	struct user alice = ALICE, *as;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct http_header headers[] = {{STR("Impersonate-User"), str_of(rows[i].user)}, rows[i].part};
		struct scene s;
		open_scene(&s, rows[i].policy);
		assert_int_equal(act_as(&s, &alice, headers, 2, &as), 0);
		assert_string_equal(as->name.p, rows[i].user);
		close_scene(&s);
		open_scene(&s, rows[i].others);
		assert_int_equal(act_as(&s, &alice, headers, 2, &as), 1);
		assert_ptr_equal(as, &alice);
		assert_int_equal(s.st.code, 403);
		close_scene(&s);
	}
}

static void test_impersonate__refusal_tells_what_constrained_impersonation_needs(void **state _unused_)
{
	static const struct {
		const char *user, *sentence;
	} rows[] = {
		{"bob", "forbidden: User \"alice\" cannot impersonate-on:user-info:get path \"/version\""},
		{"system:node:n", "forbidden: User \"alice\" cannot impersonate-on:arbitrary-node:get path \"/version\""},
		{"system:serviceaccount:a:b", "forbidden: User \"alice\" cannot impersonate-on:serviceaccount:get path \"/version\""},
	};
	struct user alice = ALICE, *as;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct scene s;
		open_scene(&s, "");
		assert_int_equal(ACT_AS(&s, alice, &as, HEADER("Impersonate-User", rows[i].user)), 1);
		assert_says(&s, rows[i].sentence);
		close_scene(&s);
	}
}

/* ---- asking the cluster ---- */

/* A stand-in that lists the questions, one line each, and gives the answers of the test. */
struct cluster {
	struct buf questions;
	struct access_question answer;
};

static bool answer_access(void *ctx, struct access_question *q)
{
	struct cluster *c = ctx;
	buf_printf(&c->questions, STR_FMT " " STR_FMT "/" STR_FMT "/" STR_FMT " " STR_FMT "\n", STR_ARG(q->what.verb),
		STR_ARG(q->what.group), STR_ARG(q->what.resource), STR_ARG(q->what.subresource), STR_ARG(q->what.name));
	q->is_allowed = c->answer.is_allowed;
	q->is_denied = c->answer.is_denied;
	q->base.failure = c->answer.base.failure;
	return true;
}

struct delegated {
	struct scene scene;
	struct cluster cluster;
	struct delegates delegates;
	struct questions questions;
};

static void open_delegated(struct delegated *d, struct access_question answer)
{
	static const char *const open_paths[] = {"/healthz", "/live*", NULL};
	const struct authz_options options = {.is_delegated = true, .always_allow_paths = open_paths};
	struct buf err;
	*d = (struct delegated){.cluster.answer = answer};
	buf_init(&err, 1024);
	assert_int_equal(authz_new(&d->scene.authz, &options, &err), 0);
	buf_done(&err);
	buf_init(&d->cluster.questions, 4096);
	arena_init(&d->scene.arena, 1 << 20);
	status_init(&d->scene.st, &d->scene.arena);
	d->delegates = (struct delegates){.ctx = &d->cluster, .ask_access = answer_access};
	d->questions = (struct questions){.delegates = &d->delegates, .arena = &d->scene.arena, .deadline_ms = INT64_MAX};
}

static void close_delegated(struct delegated *d)
{
	buf_done(&d->cluster.questions);
	close_scene(&d->scene);
}

static bool is_granted(struct delegated *d, const struct authz_attributes *at)
{
	int r;
	while ((r = authz_check(d->scene.authz, at, &d->questions, NULL, &d->scene.arena, &d->scene.st)) == ASK_FIRST) {
		assert_true(questions_start(&d->questions));
	}
	return r == 0;
}

static void test_authz__cluster_decides(void **state _unused_)
{
	static const struct {
		struct access_question answer;
		bool is_granted;
	} rows[] = {
		{{.is_allowed = true}, true},
		{{.is_allowed = false}, false},
		{{.is_denied = true}, false},
		{{.is_allowed = true, .is_denied = true}, false},
		{{.is_allowed = true, .base.failure = {"lost", 4}}, false},
	};
	struct user alice = ALICE, admin = ADMIN;
	struct authz_attributes at = REVISIONS("get", .ns = STR("ns"), .name = STR("a"));
	at.is_resource = true;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct delegated d;
		open_delegated(&d, rows[i].answer);
		at.user = &alice;
		assert_int_equal(is_granted(&d, &at), rows[i].is_granted);
		assert_str(buf_str(&d.cluster.questions), "get apps/controllerrevisions/ a\n");
		buf_clear(&d.cluster.questions);
		at.user = &admin;
		assert_true(is_granted(&d, &at));
		assert_str(buf_str(&d.cluster.questions), "");
		close_delegated(&d);
	}
}

/* Nobody is asked about paths that are open to all: but only about paths. */
static void test_authz__open_paths_open_no_resource(void **state _unused_)
{
	struct delegated d;
	struct user alice = ALICE;
	struct authz_attributes at = {.user = &alice, .verb = STR("get"), .path = STR("/livez")};
	open_delegated(&d, (struct access_question){.is_allowed = false});
	assert_true(is_granted(&d, &at));
	at.path = STR("/healthz");
	assert_true(is_granted(&d, &at));
	at.is_resource = true;
	at.resource = STR("pods");
	assert_false(is_granted(&d, &at));
	at = (struct authz_attributes){.user = &alice, .verb = STR("get"), .path = STR("/healthz/etcd")};
	assert_false(is_granted(&d, &at));
	close_delegated(&d);
}

static void test_impersonate__cluster_is_asked_about_every_part(void **state _unused_)
{
	const struct http_header headers[] = {HEADER("Impersonate-User", "bob"), HEADER("Impersonate-Group", "dev"),
		HEADER("Impersonate-Uid", "7"), HEADER("Impersonate-Extra-Acme.com%2fscope", "a"),
		HEADER("Impersonate-Extra-Acme.com%2fscope", "b")};
	struct http_exchange x = {.request.head = {.fields = headers, .n_fields = ARRAY_SIZE(headers)}};
	const struct authz_attributes what = {.verb = STR("get"), .path = STR("/version")};
	struct user alice = ALICE, *as = &alice;
	struct delegated d;
	int r;
	open_delegated(&d, (struct access_question){.is_allowed = true});
	while ((r = impersonate(d.scene.authz, &d.questions, &x, &what, &as, &d.scene.arena, &d.scene.st)) == ASK_FIRST) {
		assert_true(questions_start(&d.questions));
	}
	assert_int_equal(r, 0);
	assert_str(buf_str(&d.cluster.questions),
		"impersonate /users/ bob\n"
		"impersonate authentication.k8s.io/uids/ 7\n"
		"impersonate /groups/ dev\n"
		"impersonate authentication.k8s.io/userextras/acme.com/scope a\n"
		"impersonate authentication.k8s.io/userextras/acme.com/scope b\n");
	close_delegated(&d);
}

/* Constrained impersonation is more than the cluster has been asked for here: whoever may do so is refused all the same. */
static void test_impersonate__constrained_permission_is_not_enough(void **state _unused_)
{
	struct scene s;
	struct user alice = ALICE, *as;
	open_scene(&s, POLICY("\"user\":\"alice\",\"nonResourcePath\":\"*\""));
	assert_int_equal(ACT_AS(&s, alice, &as, HEADER("Impersonate-User", "bob")), 1);
	assert_ptr_equal(as, &alice);
	close_scene(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_authz__masters_may_all),
		TEST(test_authz__always_allow_allows),
		TEST(test_authz__anyone_may_see_health_and_version),
		TEST(test_authz__authenticated_may_discover),
		TEST(test_authz__authenticated_may_review_themselves),
		TEST(test_authz__refusal_names_everything),
		TEST(test_authz__refusal_is_harmless_in_a_browser),
		TEST(test_authz__policy_allows_what_its_line_says),
		TEST(test_authz__readonly_policy_allows_reading_only),
		TEST(test_authz__user_and_group_must_both_match),
		TEST(test_authz__policy_of_any_group_is_for_everybody),
		TEST(test_authz__policy_path_may_end_in_a_star),
		TEST(test_authz__tells_what_one_may_do),
		TEST(test_authz__a_name_alone_is_not_anyone),
		TEST(test_authz__broken_policy_names_the_line),
		TEST(test_impersonate__without_headers_changes_nothing),
		TEST(test_impersonate__gives_name_groups_and_extra),
		TEST(test_impersonate__service_account_brings_its_groups),
		TEST(test_impersonate__service_account_has_only_the_groups_that_are_asked_for),
		TEST(test_impersonate__anonymous_is_unauthenticated),
		TEST(test_impersonate__nothing_goes_without_a_user),
		TEST(test_impersonate__every_part_needs_permission),
		TEST(test_impersonate__refusal_tells_what_constrained_impersonation_needs),
		TEST(test_authz__cluster_decides),
		TEST(test_authz__open_paths_open_no_resource),
		TEST(test_impersonate__cluster_is_asked_about_every_part),
		TEST(test_impersonate__constrained_permission_is_not_enough),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
