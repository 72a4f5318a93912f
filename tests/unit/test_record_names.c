#include "api/diff/state.h"
#include "tests/unit/tree.h"

static struct str name_of(const char *group, const char *kind, const char *namespace, const char *name)
{
	const struct history_subject subject = {str_of(group), str_of(kind), str_of(namespace), str_of(name)};
	return history_name(&subject, &arena);
}

/* They never change: another name would begin another history. */
static void test_name__published_names(void **state _unused_)
{
	assert_str(name_of("apps", "Deployment", "prod", "web"), "deployment.web-fnlkdbwbng");
	assert_str(
		name_of("rbac.authorization.k8s.io", "ClusterRole", "", "system:node"), "clusterrole.system-node-q4m8x7vphh");
	assert_str(name_of("", "ConfigMap", "prod", "kube-root-ca.crt"), "configmap.kube-root-ca.crt-lxgqrpf6zv");
}

static void test_name__tells_subjects_apart(void **state _unused_)
{
	const struct str names[] = {name_of("a", "K", "n", "x"), name_of("b", "K", "n", "x"), name_of("a", "K", "m", "x"),
		name_of("a", "K", "n", "X"), name_of("a", "K", "", "x"), name_of("a", "K", "n", "x:"),
		name_of("", "K", "an", "x")};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		for (size_t k = 0; k < i; k++) {
			assert_false(str_eq(names[i], names[k]));
		}
	}
}

static bool is_subdomain(struct str s)
{
	bool is_good = s.n > 0, is_edge = true;
	for (size_t i = 0; is_good && i <= s.n; i++) {
		char c = i < s.n ? s.p[i] : '.';
		bool is_letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
		char before = i ? s.p[i - 1] : '.';
		is_good = is_letter || (c == '-' && !is_edge) || (c == '.' && before != '.' && before != '-');
		is_edge = c == '.';
	}
	return is_good;
}

static void test_name__is_a_subdomain_whatever_the_subject_is_called(void **state _unused_)
{
	static const char *const names[] = {
		"a", ":", "::a", "a:", "a..b", "a.-b", "a-.b", ".", "A.B", "\303\251", "a.", "-", "a/b"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_true(is_subdomain(name_of("g", "Kind", "", names[i])));
	}
	assert_false(is_subdomain(STR("a.-b")));
}

static void test_name__leaves_room_for_revisions(void **state _unused_)
{
	char name[254];
	for (size_t dot = 200; dot < 240; dot++) {
		memset(name, 'n', sizeof(name) - 1);
		name[sizeof(name) - 1] = '\0';
		name[dot] = '.';
		struct str history = name_of("g", "CustomResourceDefinition", "", name);
		assert_int_equal(history.n, HISTORY_NAME_MAX);
		assert_true(is_subdomain(history));
	}
	assert_false(history_name_fits_label(name_of("g", "K", "", name)));
	assert_true(history_name_fits_label(name_of("apps", "Deployment", "prod", "web")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_TREE(test_name__published_names),
		TEST_TREE(test_name__tells_subjects_apart),
		TEST_TREE(test_name__is_a_subdomain_whatever_the_subject_is_called),
		TEST_TREE(test_name__leaves_room_for_revisions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
