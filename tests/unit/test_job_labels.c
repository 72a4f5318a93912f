#include "cli/kubectl/put_back.h"

#include "tests/unit/tree.h"

#define TYPE "\"apiVersion\":\"batch/v1\",\"kind\":\"Job\""
#define UIDS(uid) "\"batch.kubernetes.io/controller-uid\":\"" uid "\",\"controller-uid\":\"" uid "\""
#define NAMES "\"batch.kubernetes.io/job-name\":\"j\",\"job-name\":\"j\""

static void check(const char *state, const char *live, const char *wanted)
{
	const struct json *before = parse(state);
	const struct json *after = job_labels_renew(before, live ? parse(live) : NULL, &arena);
	if (!json_equal(after, parse(wanted))) {
		assert_str(encoded(after), wanted);
	}
	assert_str(encoded(before), encoded(parse(state)).p);
}

static void as_it_is(const char *state)
{
	const struct json *before = parse(state);
	assert_ptr_equal(job_labels_renew(before, NULL, &arena), before);
}

static void test_labels__of_a_job_that_is_gone_are_left_out(void **state _unused_)
{
	check("{" TYPE ",\"metadata\":{\"name\":\"j\",\"labels\":{\"a\":\"1\"," UIDS(
		      "old") "}},\"spec\":{\"selector\":"
			     "{\"matchLabels\":{" UIDS("old") "}},\"template\":{\"metadata\":{\"labels\":{\"a\":\"1\"," UIDS(
				     "old") "," NAMES "}},\"spec\":{\"x\":1}}}}",
		NULL,
		"{" TYPE
		",\"metadata\":{\"name\":\"j\",\"labels\":{\"a\":\"1\"}},\"spec\":{\"template\":{\"metadata\":{\"labels\":"
		"{\"a\":\"1\"," NAMES "}},\"spec\":{\"x\":1}}}}");
}

static void test_labels__that_only_show_those_of_the_template_go(void **state _unused_)
{
	check("{" TYPE ",\"metadata\":{\"name\":\"j\",\"labels\":{" UIDS("old") "," NAMES "}},\"spec\":{\"template\":"
										"{\"metadata\":{\"labels\":{" UIDS(
											"old") "}},\"spec\":{}}}}",
		NULL, "{" TYPE ",\"metadata\":{\"name\":\"j\"},\"spec\":{\"template\":{\"spec\":{}}}}");
}

static void test_labels__of_a_job_that_is_there_are_its_own(void **state _unused_)
{
	check("{" TYPE ",\"spec\":{\"parallelism\":2,\"selector\":{\"matchLabels\":{" UIDS("old") "}}}}",
		"{" TYPE ",\"spec\":{\"selector\":{\"matchLabels\":{\"batch.kubernetes.io/controller-uid\":\"new\"}}}}",
		"{" TYPE ",\"spec\":{\"parallelism\":2,\"selector\":{\"matchLabels\":{\"batch.kubernetes.io/controller-uid\":"
		"\"new\"}}}}");
}

static void test_labels__that_somebody_chose_stay(void **state _unused_)
{
	as_it_is("{" TYPE ",\"spec\":{\"manualSelector\":true,\"selector\":{\"matchLabels\":{" UIDS("mine") "}}}}");
	as_it_is("{" TYPE ",\"metadata\":{\"name\":\"j\",\"labels\":{" NAMES "}},\"spec\":{\"selector\":{\"matchLabels\":"
		 "{\"a\":\"1\"}}}}");
	as_it_is("{\"apiVersion\":\"apps/v1\",\"kind\":\"Job\",\"spec\":{\"selector\":{\"matchLabels\":{" UIDS("x") "}}}}");
	as_it_is(
		"{\"apiVersion\":\"batch/v1\",\"kind\":\"CronJob\",\"spec\":{\"selector\":{\"matchLabels\":{" UIDS("x") "}}}}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_TREE(test_labels__of_a_job_that_is_gone_are_left_out),
		TEST_TREE(test_labels__that_only_show_those_of_the_template_go),
		TEST_TREE(test_labels__of_a_job_that_is_there_are_its_own),
		TEST_TREE(test_labels__that_somebody_chose_stay),
	};
	return cmocka_run_group_tests_name("job_labels", tests, NULL, NULL);
}
