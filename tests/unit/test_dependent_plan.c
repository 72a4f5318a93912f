#include "controllers/dependents/dependent_plan.h"

#include "tests/unit/items.h"

#define PROVIDER(uid, more) "{" META("p", uid, "5", more) "}"

static void test_use__is_allowed_of_what_stays(void **state _unused_)
{
	static const struct {
		const char *object;
		bool is_used;
		enum use use;
	} cases[] = {
		{PROVIDER("u", PROTECTED), false, USE_ALLOWED},
		{PROVIDER("u", PROTECTED DELETED), false, USE_TERMINATING},
		{PROVIDER("u", PROTECTED DELETED), true, USE_ALLOWED},
		{PROVIDER("u", DELETED), false, USE_TERMINATING},
		{PROVIDER("u", ""), false, USE_UNPROTECTED},
		{NULL, false, USE_ABSENT},
		{NULL, true, USE_ABSENT},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(item_unrefp) struct item *object = cases[i].object ? make_item(cases[i].object) : NULL;
		assert_int_equal(provider_use(object, cases[i].is_used), cases[i].use);
	}
}

static void test_verdict__says_the_worst(void **state _unused_)
{
	static const struct {
		enum use uses[2];
		enum dependent_phase phase;
		const char *reason, *message;
	} cases[] = {
		{{USE_ALLOWED, USE_ALLOWED}, DEPENDENT_IMPLEMENTED, "Implemented", ""},
		{{USE_ALLOWED, USE_ABSENT}, DEPENDENT_PENDING, "ProviderAbsent", "ControllerRevision \"r\" is not there"},
		{{USE_ABSENT, USE_ABSENT}, DEPENDENT_PENDING, "ProviderAbsent",
			"Provider \"p\" is not there; ControllerRevision \"r\" is not there"},
		{{USE_ABSENT, USE_TERMINATING}, DEPENDENT_BROKEN, "ProviderTerminating",
			"ControllerRevision \"r\" is being deleted"},
		{{USE_ALLOWED, USE_UNPROTECTED}, DEPENDENT_PENDING, "ProviderUnprotected",
			"ControllerRevision \"r\" can be deleted at any time: it lacks the finalizer "
			"annals.dev/provider-protection"},
	};
	const struct provided provided[] = {{&provider_kinds[0], STR("p")}, {&provider_kinds[1], STR("r")}};
	struct arena a;
	arena_init(&a, 1 << 20);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct verdict v = verdict_of(&a, provided, cases[i].uses, 2);
		assert_int_equal(v.phase, cases[i].phase);
		assert_str(v.reason, cases[i].reason);
		assert_str(v.message, cases[i].message);
	}
	arena_done(&a);
}

static void test_finalizer__is_added_behind_the_others(void **state _unused_)
{
	_cleanup_(item_unrefp) struct item *d = make_item("{" META("d", "u", "7", ",\"finalizers\":[\"x.io/y\"]") "}");
	_cleanup_(buf_done) struct buf patch;
	buf_init(&patch, 1 << 20);
	assert_false(dependent_has_finalizer(d));
	dependent_add_finalizer(&patch, d);
	assert_str(buf_str(&patch),
		"{\"metadata\":{\"uid\":\"u\",\"resourceVersion\":\"7\",\"finalizers\":[\"x.io/y\","
		"\"annals.dev/dependent-implementation\"]}}");
}

#define CONDITION(type, status, since, reason, message)                                                                   \
	"{\"type\":\"" type "\",\"status\":\"" status "\",\"observedGeneration\":1,\"lastTransitionTime\":\"" since       \
	"\",\"reason\":\"" reason "\",\"message\":\"" message "\"}"
#define STATUS(members) \
	"{" META("d", "u", "7", ",\"generation\":1") ",\"status\":{" members "}}"
#define OLD "2023-11-14T22:13:10Z"
#define NOW "2023-11-14T22:13:20Z"
#define NOT_BROKEN(since) CONDITION("Broken", "False", since, "NotBroken", "")
#define OTHER CONDITION("Nice", "True", OLD, "So", "")

static void test_status__is_written_when_it_changes(void **state _unused_)
{
	static const struct {
		const char *before;
		enum dependent_phase phase;
		const char *reason, *status; /* NULL: nothing is written */
	} cases[] = {
		{STATUS(""), DEPENDENT_PENDING, "R",
			"\"phase\":\"Pending\",\"implementation\":null,\"observedGeneration\":1,\"conditions\":[" CONDITION(
				"Ready", "False", NOW, "R", "m") "," NOT_BROKEN(NOW) "]"},
		{STATUS("\"conditions\":[" OTHER "," CONDITION("Ready", "False", OLD, "Q", "m") "]"), DEPENDENT_BROKEN, "R",
			"\"phase\":\"Broken\",\"implementation\":null,\"observedGeneration\":1,\"conditions\":[" CONDITION("Ready",
				"False", OLD, "R", "m") "," CONDITION("Broken", "True", NOW, "R", "m") "," OTHER "]"},
		{STATUS("\"phase\":\"Implemented\",\"implementation\":{\"kind\":\"K\",\"name\":\"d\"},\"observedGeneration\":1,"
			"\"conditions\":[" CONDITION("Ready", "True", OLD, "R", "m") "," NOT_BROKEN(OLD) "]"),
			DEPENDENT_IMPLEMENTED, "R", NULL},
		{STATUS("\"phase\":\"Pending\",\"observedGeneration\":1,"
			"\"conditions\":[" CONDITION("Ready", "False", OLD, "R", "m") "," NOT_BROKEN(OLD) "]"),
			DEPENDENT_PENDING, "R", NULL},
		{STATUS("\"phase\":\"Pending\",\"observedGeneration\":1,"
			"\"conditions\":[" CONDITION("Ready", "False", OLD, "R", "m") "," NOT_BROKEN(OLD) "]"),
			DEPENDENT_IMPLEMENTED, "R",
			"\"phase\":\"Implemented\",\"implementation\":{\"kind\":\"K\",\"name\":\"d\"},\"observedGeneration\":1,"
			"\"conditions\":[" CONDITION("Ready", "True", NOW, "R", "m") "," NOT_BROKEN(OLD) "]"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(item_unrefp) struct item *d = make_item(cases[i].before);
		_cleanup_(buf_done) struct buf patch, expected;
		const struct verdict v = {cases[i].phase, str_of(cases[i].reason), STR("m")};
		buf_init(&patch, 1 << 20);
		buf_init(&expected, 1 << 20);
		assert_int_equal(dependent_patch_status(&patch, d, &v, "K", 1700000000), cases[i].status != NULL);
		if (cases[i].status) {
			buf_printf(&expected, "{\"metadata\":{\"uid\":\"u\",\"resourceVersion\":\"7\"},\"status\":{%s}}",
				cases[i].status);
			assert_str(buf_str(&patch), expected.p);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_use__is_allowed_of_what_stays),
		TEST(test_verdict__says_the_worst),
		TEST(test_finalizer__is_added_behind_the_others),
		TEST(test_status__is_written_when_it_changes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
