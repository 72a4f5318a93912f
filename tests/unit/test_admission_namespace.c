#include "tests/unit/admission_world.h"

static void start(struct write *w, enum admission_operation operation, enum namespace_phase phase)
{
	write_init(w, operation, "apps", "v1", "controllerrevisions");
	w->world.phase = phase;
	w->attributes.name = STR("a");
	w->attributes.object = write_decode(w, "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"v\"}}");
	if (operation != ADMIT_CREATE) {
		w->attributes.old = w->attributes.object;
	}
}

static void test_namespace_lifecycle__active_takes_objects(void **state _unused_)
{
	struct write w;
	start(&w, ADMIT_CREATE, NAMESPACE_ACTIVE);
	assert_int_equal(write_admit(&w), 0);
}

static void test_namespace_lifecycle__absent_is_not_found(void **state _unused_)
{
	struct write w;
	start(&w, ADMIT_CREATE, NAMESPACE_ABSENT);
	assert_int_equal(write_admit(&w), 1);
	assert_str(encoded(status_to_json(&w.st, &arena)),
		"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":\"namespaces "
		"\\\"default\\\" not "
		"found\",\"reason\":\"NotFound\",\"details\":{\"name\":\"default\",\"kind\":\"namespaces\"},\"code\":404}");
}

static void test_namespace_lifecycle__terminating_is_forbidden(void **state _unused_)
{
	struct write w;
	start(&w, ADMIT_CREATE, NAMESPACE_TERMINATING);
	w.attributes.is_dry_run = true;
	assert_int_equal(write_admit(&w), 1);
	assert_str(encoded(status_to_json(&w.st, &arena)),
		"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":"
		"\"controllerrevisions.apps "
		"\\\"a\\\" is forbidden: unable to create new content in namespace default because it is being "
		"terminated\",\"reason\":\"Forbidden\",\"details\":{\"name\":\"a\",\"group\":\"apps\",\"kind\":"
		"\"controllerrevisions\","
		"\"causes\":[{\"reason\":\"NamespaceTerminating\",\"message\":\"namespace default is being "
		"terminated\",\"field\":\"metadata.namespace\"}]},\"code\":403}");
}

static void test_namespace_lifecycle__names_what_has_no_name_yet(void **state _unused_)
{
	struct write w;
	start(&w, ADMIT_CREATE, NAMESPACE_TERMINATING);
	w.attributes.name = (struct str){0};
	w.attributes.object->meta.name = (struct str){0};
	w.attributes.object->meta.generate_name = STR("g-");
	assert_int_equal(write_admit(&w), 1);
	assert_str(w.st.name, "g-");

	w.attributes.object->meta.generate_name = (struct str){0};
	assert_int_equal(write_admit(&w), 1);
	assert_str(w.st.name, "Unknown");
}

static void test_namespace_lifecycle__unknown_is_not_our_business(void **state _unused_)
{
	struct write w;
	start(&w, ADMIT_CREATE, NAMESPACE_UNKNOWN);
	assert_int_equal(write_admit(&w), 0);
}

static void test_namespace_lifecycle__what_is_there_may_change_and_go(void **state _unused_)
{
	struct write w;
	start(&w, ADMIT_UPDATE, NAMESPACE_TERMINATING);
	assert_int_equal(write_admit(&w), 0);
	start(&w, ADMIT_DELETE, NAMESPACE_ABSENT);
	w.attributes.object = NULL;
	assert_int_equal(write_admit(&w), 0);
}

static void test_namespace_lifecycle__namespaces_are_in_no_namespace(void **state _unused_)
{
	struct write w;
	write_init(&w, ADMIT_CREATE, "", "v1", "namespaces");
	w.world.phase = NAMESPACE_ABSENT;
	w.attributes.ns = (struct str){0};
	w.attributes.object = write_decode(&w, "{\"metadata\":{\"name\":\"n\"}}");
	assert_int_equal(write_admit(&w), 0);
	assert_int_equal(w.world.n_lookups, 0);
}

static int delete_namespace(struct write *w, const char *name)
{
	write_init(w, ADMIT_DELETE, "", "v1", "namespaces");
	w->attributes.ns = (struct str){0};
	w->attributes.name = str_of(name);
	return write_admit(w);
}

static void test_namespace_protection__some_never_go(void **state _unused_)
{
	struct write w;
	assert_int_equal(delete_namespace(&w, "kube-system"), 1);
	assert_int_equal(delete_namespace(&w, "kube-public"), 1);
	assert_int_equal(delete_namespace(&w, "default"), 1);
	assert_str(encoded(status_to_json(&w.st, &arena)),
		"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":\"namespaces "
		"\\\"default\\\" is "
		"forbidden: this namespace may not be "
		"deleted\",\"reason\":\"Forbidden\",\"details\":{\"name\":\"default\",\"kind\":\"namespaces\"},\"code\":403}");
	assert_int_equal(delete_namespace(&w, "defaults"), 0);
}

static void test_namespace_protection__is_about_namespaces_only(void **state _unused_)
{
	struct write w;
	start(&w, ADMIT_DELETE, NAMESPACE_ACTIVE);
	w.attributes.object = NULL;
	w.attributes.name = STR("default");
	assert_int_equal(write_admit(&w), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_TREE(test_namespace_lifecycle__active_takes_objects),
		TEST_TREE(test_namespace_lifecycle__absent_is_not_found),
		TEST_TREE(test_namespace_lifecycle__terminating_is_forbidden),
		TEST_TREE(test_namespace_lifecycle__names_what_has_no_name_yet),
		TEST_TREE(test_namespace_lifecycle__unknown_is_not_our_business),
		TEST_TREE(test_namespace_lifecycle__what_is_there_may_change_and_go),
		TEST_TREE(test_namespace_lifecycle__namespaces_are_in_no_namespace),
		TEST_TREE(test_namespace_protection__some_never_go),
		TEST_TREE(test_namespace_protection__is_about_namespaces_only),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
