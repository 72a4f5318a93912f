#include "tests/unit/admission_world.h"

static int admit(struct write *w, const char *spec)
{
	write_init(w, ADMIT_CREATE, "", "v1", "pods");
	w->attributes.name = STR("a");
	w->attributes.object = write_decode(w, arena_printf(&arena, "{\"metadata\":{\"name\":\"a\"},\"spec\":{%s}}", spec).p);
	return write_admit(w);
}

static void test_pod_classes__are_those_that_every_cluster_has(void **state _unused_)
{
	static const char *const good[] = {
		"",
		"\"priority\":0,\"preemptionPolicy\":\"PreemptLowerPriority\"",
		"\"priorityClassName\":\"system-cluster-critical\"",
		"\"priorityClassName\":\"system-node-critical\",\"priority\":2000001000",
	};
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct write w;
		assert_int_equal(admit(&w, good[i]), 0);
	}
}

static void test_pod_classes__others_are_forbidden(void **state _unused_)
{
	static const struct {
		const char *spec, *sentence;
	} rows[] = {
		{"\"priorityClassName\":\"mine\"", "no PriorityClass with name mine was found"},
		{"\"priority\":7",
			"the integer value of priority (7) must not be provided in pod spec; priority admission "
			"controller computed 0 from the given PriorityClass name"},
		{"\"priorityClassName\":\"system-node-critical\",\"priority\":0",
			"the integer value of priority (0) must not be provided in pod spec; priority admission controller "
			"computed 2000001000 from the given PriorityClass name"},
		{"\"preemptionPolicy\":\"Never\"",
			"the string value of PreemptionPolicy (Never) must not be provided in pod "
			"spec"},
		{"\"runtimeClassName\":\"gvisor\"", "pod rejected: RuntimeClass \"gvisor\" not found"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct write w;
		assert_int_equal(admit(&w, rows[i].spec), 1);
		assert_int_equal(w.st.code, 403);
		assert_str(w.st.kind, "pods");
		assert_true(str_contains(w.st.message, str_of(rows[i].sentence)));
	}
}

/* A binding is no pod, and what is there already may say what it says. */
static void test_pod_classes__are_looked_at_where_pods_are_made(void **state _unused_)
{
	struct write w;
	assert_int_equal(admit(&w, "\"priority\":7"), 1);
	w.attributes.subresource = STR("binding");
	assert_int_equal(write_admit(&w), 0);
	w.attributes.subresource = STR("");
	w.attributes.operation = ADMIT_UPDATE;
	w.attributes.old = w.attributes.object;
	assert_int_equal(write_admit(&w), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_TREE(test_pod_classes__are_those_that_every_cluster_has),
		TEST_TREE(test_pod_classes__others_are_forbidden),
		TEST_TREE(test_pod_classes__are_looked_at_where_pods_are_made),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
