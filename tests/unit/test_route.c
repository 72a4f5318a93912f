#include "server/parse/route.h"
#include "tests/unit/check.h"

#define CRS "/apis/apps/v1/namespaces/ns/controllerrevisions"

struct fixture {
	struct arena a;
	struct status st;
	struct route r;
};

static int setup(void **state)
{
	struct fixture *f = mem_new(struct fixture);

	arena_init(&f->a, (size_t)1 << 20);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	arena_done(&f->a);
	mem_free(f);
	return 0;
}

/* The status code of resolving, 0 when fine. */
static int go(struct fixture *f, const char *method, const char *target)
{
	status_init(&f->st, &f->a);
	if (route_parse(&f->r, str_of(method), str_of(target), true, &f->a, &f->st)) {
		return f->st.code;
	}
	return f->r.is_resource && route_resolve(&f->r, &f->st) ? f->st.code : 0;
}

static void test_route__table_of_actions(void **state)
{
	static const struct {
		const char *method, *target, *verb;
		enum verb action;
	} rows[] = {
		{"GET", CRS, "list", VERB_LIST},
		{"GET", CRS "/", "list", VERB_LIST},
		{"GET", CRS "?watch=1", "watch", VERB_WATCH},
		{"GET", "/apis/apps/v1/controllerrevisions", "list", VERB_LIST},
		{"GET", "/apis/apps/v1/watch/namespaces/ns/controllerrevisions", "watch", VERB_WATCH},
		{"GET", "/apis/apps/v1/watch/namespaces/ns/controllerrevisions/a", "watch", VERB_WATCH},
		{"POST", CRS, "create", VERB_CREATE},
		{"DELETE", CRS, "deletecollection", VERB_DELETECOLLECTION},
		{"GET", CRS "/a", "get", VERB_GET},
		{"GET", CRS "/a?watch=1", "get", VERB_GET},
		{"PUT", CRS "/a", "update", VERB_UPDATE},
		{"PATCH", CRS "/a", "patch", VERB_PATCH},
		{"DELETE", CRS "/a", "delete", VERB_DELETE},
		{"GET", "/api/v1/namespaces", "list", VERB_LIST},
		{"GET", "/api/v1/namespaces/x", "get", VERB_GET},
		{"PUT", "/api/v1/namespaces/x/finalize", "update", VERB_UPDATE},
		{"GET", "/apis/annals.dev/v1/namespaces/ns/controllerrevisions/%61", "get", VERB_GET},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(go(f, rows[i].method, rows[i].target), 0);
		assert_string_equal(f->r.verb, rows[i].verb);
		assert_int_equal(f->r.action, rows[i].action);
	}
}

static void test_route__table_of_refusals(void **state)
{
	static const struct {
		const char *method, *target;
		int code;
	} rows[] = {
		{"POST", CRS "/a", 405},
		{"PUT", CRS, 405},
		{"PATCH", CRS, 405},
		{"HEAD", CRS, 405},
		{"OPTIONS", CRS, 405},
		{"POST", "/apis/apps/v1/controllerrevisions", 405},
		{"DELETE", "/apis/apps/v1/controllerrevisions", 405},
		{"DELETE", "/api/v1/namespaces", 405},
		{"GET", CRS "/a/status", 404},
		{"GET", CRS "/a/b/c", 404},
		{"GET", CRS "/a%2Fb", 404},
		{"GET", CRS "//a", 404},
		{"GET", "/apis/apps/v1/namespaces/ns/things", 404},
		{"GET", "/apis/apps/v2/namespaces/ns/controllerrevisions", 404},
		{"GET", "/api/v1/namespaces/ns/namespaces", 404},
		{"GET", "/apis/apps/v1/controllerrevisions/a", 404},
		{"GET", CRS "/%2e", 400},
		{"GET", CRS "/%2e%2e", 400},
		{"GET", CRS "/%zz", 400},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(go(f, rows[i].method, rows[i].target), rows[i].code);
	}
}

static void test_route__names_and_namespaces(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(go(f, "GET", CRS "/a"), 0);
	assert_true(f->r.has_ns && str_is(f->r.ns, "ns") && str_is(f->r.name, "a") && str_is(f->r.group, "apps"));
	assert_int_equal(go(f, "GET", "/api/v1/namespaces/x/status"), 0);
	assert_true(!f->r.has_ns && str_is(f->r.name, "x") && str_is(f->r.subresource, "status"));
	assert_true(str_is(f->r.ns, "x")); /* for authorization */
}

static void test_route__versions_of_standalone_mode_are_shut_elsewhere(void **state)
{
	struct fixture *f = *state;

	status_init(&f->st, &f->a);
	assert_int_equal(route_parse(&f->r, STR("GET"), STR(CRS), false, &f->a, &f->st), 0);
	assert_null(f->r.kind);
	assert_int_equal(
		route_parse(&f->r, STR("GET"), STR("/apis/annals.dev/v1/namespaces/ns/controllerrevisions"), false, &f->a, &f->st), 0);
	assert_non_null(f->r.kind);
}

static void test_route__other_paths(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(go(f, "GET", "/apis/apps/v1"), 0);
	assert_false(f->r.is_resource);
	assert_string_equal(f->r.verb, "get");
	assert_int_equal(go(f, "GET", "/livez/ping?verbose"), 0);
	assert_true(str_is(f->r.path, "/livez/ping") && params_has(&f->r.params, "verbose"));
}

#define WITH_ARENA(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* A collection to post to, and nothing else. */
static void test_route__what_is_answered_has_one_path(void **state)
{
	static const char self[] = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
	static const char local[] = "/apis/authorization.k8s.io/v1/namespaces/ns/localsubjectaccessreviews";
	static const struct {
		const char *method, *path, *more;
		int code;
	} rows[] = {
		{"POST", self, "", 0},
		{"POST", local, "", 0},
		{"GET", self, "", 405},
		{"GET", self, "?watch=1", 405},
		{"DELETE", local, "", 405},
		{"GET", self, "/x", 404},
		{"PUT", self, "/x", 404},
		{"PATCH", local, "/x", 404},
		{"POST", "/apis/authorization.k8s.io/v1/localsubjectaccessreviews", "", 404},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fixture *f = *state;
		char target[256];
		snprintf(target, sizeof(target), "%s%s", rows[i].path, rows[i].more);
		assert_int_equal(go(f, rows[i].method, target), rows[i].code);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_ARENA(test_route__table_of_actions),
		WITH_ARENA(test_route__what_is_answered_has_one_path),
		WITH_ARENA(test_route__table_of_refusals),
		WITH_ARENA(test_route__names_and_namespaces),
		WITH_ARENA(test_route__versions_of_standalone_mode_are_shut_elsewhere),
		WITH_ARENA(test_route__other_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
