/* Jobs and CronJobs: what is filled in, and what is refused. tests/cluster compares them with kube-apiserver's. */
#include "tests/unit/kind_world.h"

#define JOBS "batch/v1/jobs"
#define CRON_JOBS "batch/v1/cronjobs"
#define POD "\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}"
#define TEMPLATE "\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}}," POD "}"
#define OWN "\"manualSelector\":true,\"selector\":{\"matchLabels\":{\"a\":\"b\"}},"
#define WITH(spec) "{\"metadata\":{\"name\":\"q\",\"namespace\":\"default\"},\"spec\":{" spec "}}"
#define PLAIN OWN TEMPLATE
#define INDEXED PLAIN ",\"completionMode\":\"Indexed\",\"completions\":5"
#define CRON(schedule, more) WITH("\"schedule\":\"" schedule "\",\"jobTemplate\":{\"spec\":{" TEMPLATE "}}" more)
#define STATUS(spec, status) \
	"{\"metadata\":{\"name\":\"q\",\"namespace\":\"default\"},\"spec\":{" spec "},\"status\":{" status "}}"
#define HOLDS(type) "{\"type\":\"" type "\",\"status\":\"True\"}"
#define START "\"startTime\":\"2024-01-01T00:00:00Z\""
#define END "\"completionTime\":\"2024-01-01T00:01:00Z\""

static void test_defaults(void **state)
{
	struct api_world *w = *state;
	static const struct {
		const char *path, *object, *member, *expected;
	} rows[] = {
		{JOBS, WITH(TEMPLATE), "parallelism", "1"},
		{JOBS, WITH(TEMPLATE), "completions", "1"},
		{JOBS, WITH(TEMPLATE), "backoffLimit", "6"},
		{JOBS, WITH(TEMPLATE ",\"backoffLimitPerIndex\":1"), "backoffLimit", "2147483647"},
		{JOBS, WITH(TEMPLATE), "completionMode", "\"NonIndexed\""},
		{JOBS, WITH(TEMPLATE), "suspend", "false"},
		{JOBS, WITH(TEMPLATE), "manualSelector", "false"},
		{JOBS, WITH(TEMPLATE), "podReplacementPolicy", "\"TerminatingOrFailed\""},
		{JOBS, WITH(TEMPLATE ",\"podFailurePolicy\":{\"rules\":[]}"), "podReplacementPolicy", "\"Failed\""},
		{JOBS, WITH(TEMPLATE ",\"completions\":4"), "parallelism", "1"},
		{CRON_JOBS, CRON("@daily", ""), "concurrencyPolicy", "\"Allow\""},
		{CRON_JOBS, CRON("@daily", ""), "suspend", "false"},
		{CRON_JOBS, CRON("@daily", ""), "successfulJobsHistoryLimit", "3"},
		{CRON_JOBS, CRON("@daily", ""), "failedJobsHistoryLimit", "1"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		world_assert_json(w, json_gets(object_spec(world_decode(w, rows[i].path, rows[i].object)), rows[i].member),
			rows[i].expected);
	}
	assert_null(json_gets(object_spec(world_decode(w, JOBS, WITH(TEMPLATE ",\"parallelism\":4"))), "completions"));
}

#define GENERATED                                                                                                        \
	"{\"a\":\"b\",\"batch.kubernetes.io/controller-uid\":\"u\",\"batch.kubernetes.io/job-name\":\"q\",\"controller-" \
	"uid\":\"u\",\"job-name\":\"q\"}"

static void test_selector__is_generated(void **state)
{
	struct api_world *w = *state;
	struct object *o = world_decode(w, JOBS, WITH(TEMPLATE));
	world_assert_json(w, o->meta.labels, "{\"a\":\"b\"}");
	o->meta.uid = STR("u");
	o->kind->prepare_create(o, &w->a);
	world_assert_json(
		w, json_gets(object_spec(o), "selector"), "{\"matchLabels\":{\"batch.kubernetes.io/controller-uid\":\"u\"}}");
	world_assert_json(w, json_gets(json_gets(json_gets(object_spec(o), "template"), "metadata"), "labels"), GENERATED);
	world_assert_json(w, o->meta.labels, GENERATED);
	struct field_errors e = errors_of(w, o, NULL);
	assert_int_equal(e.n, 0);
}

static void test_selector__is_the_clients(void **state)
{
	struct api_world *w = *state;
	struct object *o = world_decode(w, JOBS, WITH(PLAIN));
	o->meta.uid = STR("u");
	o->kind->prepare_create(o, &w->a);
	world_assert_json(w, json_gets(object_spec(o), "selector"), "{\"matchLabels\":{\"a\":\"b\"}}");
}

static void test_rules__of_jobs(void **state)
{
	static const struct invalid_row rows[] = {
		{WITH(PLAIN), NULL, NULL},
		{WITH(PLAIN ",\"parallelism\":-1"), "spec.parallelism", "must be greater than or equal to 0"},
		{WITH("\"manualSelector\":true,\"selector\":{\"matchLabels\":{\"a\":\"c\"}}," TEMPLATE),
			"spec.template.metadata.labels", "`selector` does not match template `labels`"},
		{WITH(PLAIN ",\"completionMode\":\"x\""), "spec.completionMode",
			"supported values: \"NonIndexed\", \"Indexed\""},
		{WITH(PLAIN ",\"completionMode\":\"Indexed\",\"parallelism\":2"), "spec.completions",
			"when completion mode is Indexed"},
		{WITH(INDEXED), NULL, NULL},
		{WITH(INDEXED ",\"parallelism\":100001"), "spec.parallelism",
			"must be less than or equal to 100000 when completion mode is Indexed"},
		{WITH(PLAIN ",\"backoffLimitPerIndex\":1"), "spec.backoffLimitPerIndex", "requires indexed completion mode"},
		{WITH(PLAIN ",\"managedBy\":\"x\""), "spec.managedBy",
			"must be a domain-prefixed path (such as \"acme.io/foo\")"},
		{WITH(PLAIN ",\"managedBy\":\"a.io/b\""), NULL, NULL},
		{WITH(PLAIN ",\"podReplacementPolicy\":\"x\""), "spec.podReplacementPolicy",
			"supported values: \"Failed\", \"TerminatingOrFailed\""},
		{WITH(OWN "\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"containers\":[{\"name\":\"c\","
			  "\"image\":\"i\"}]}}"),
			"spec.template.spec.restartPolicy", "valid values: \"OnFailure\", \"Never\""},
		{WITH(PLAIN ",\"podFailurePolicy\":{\"rules\":[{\"action\":\"Count\"}]}"), "spec.podFailurePolicy.rules[0]",
			"specifying one of OnExitCodes and OnPodConditions is required"},
		{WITH(PLAIN ",\"podFailurePolicy\":{\"rules\":[{\"action\":\"Count\",\"onExitCodes\":{\"operator\":\"In\","
			    "\"values\":[2,1]}}]}"),
			"spec.podFailurePolicy.rules[0].onExitCodes.values", "must be ordered"},
		{WITH(PLAIN ",\"podFailurePolicy\":{\"rules\":[{\"action\":\"Count\",\"onExitCodes\":{\"operator\":\"In\","
			    "\"values\":[1,1]}}]}"),
			"spec.podFailurePolicy.rules[0].onExitCodes.values[1]", ""},
		{WITH(INDEXED ",\"successPolicy\":{\"rules\":[{\"succeededIndexes\":\"0,2-4\",\"succeededCount\":4}]}"), NULL,
			NULL},
		{WITH(INDEXED ",\"successPolicy\":{\"rules\":[{\"succeededIndexes\":\"0,2-4\",\"succeededCount\":5}]}"),
			"spec.successPolicy.rules[0].succeededCount",
			"must be less than or equal to 4 (the number of indexes in the specified succeededIndexes field)"},
		{WITH(INDEXED ",\"successPolicy\":{\"rules\":[{\"succeededIndexes\":\"3,2\"}]}"),
			"spec.successPolicy.rules[0].succeededIndexes",
			"error parsing succeededIndexes: non-increasing order, previous: 3, current: 2"},
		{WITH(INDEXED ",\"successPolicy\":{\"rules\":[{\"succeededIndexes\":\"5\"}]}"),
			"spec.successPolicy.rules[0].succeededIndexes",
			"error parsing succeededIndexes: too large index: \"5\""},
	};
	assert_rows(*state, JOBS, rows, ARRAY_SIZE(rows));
}

static void test_rules__of_cron_jobs(void **state)
{
	static const struct invalid_row rows[] = {
		{CRON("*/5 1-5/2 ? JAN mon,3", ""), NULL, NULL},
		{CRON("@every 1h30m", ""), NULL, NULL},
		{CRON("5/10 * * * *", ""), NULL, NULL},
		{CRON("@never", ""), "spec.schedule", "unrecognized descriptor: @never"},
		{CRON("* * * *", ""), "spec.schedule", "expected exactly 5 fields, found 4: [* * * *]"},
		{CRON("* * * * * *", ""), "spec.schedule", "expected exactly 5 fields, found 6: [* * * * * *]"},
		{CRON("60 * * * *", ""), "spec.schedule", "end of range (60) above maximum (59): 60"},
		{CRON("* * 0 * *", ""), "spec.schedule", "beginning of range (0) below minimum (1): 0"},
		{CRON("5-1 * * * *", ""), "spec.schedule", "beginning of range (5) beyond end of range (1): 5-1"},
		{CRON("*/0 * * * *", ""), "spec.schedule", "step of range should be a positive number: */0"},
		{CRON("1-2-3 * * * *", ""), "spec.schedule", "too many hyphens: 1-2-3"},
		{CRON("1/2/3 * * * *", ""), "spec.schedule", "too many slashes: 1/2/3"},
		{CRON("x * * * *", ""), "spec.schedule",
			"failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax"},
		{CRON("TZ=UTC * * * * *", ""), "spec.schedule",
			"cannot use TZ or CRON_TZ in schedule, use timeZone field instead"},
		{CRON("@daily", ",\"timeZone\":\"Etc/UTC\""), NULL, NULL},
		{CRON("@daily", ",\"timeZone\":\"\""), "spec.timeZone", "timeZone must be nil or non-empty string"},
		{CRON("@daily", ",\"timeZone\":\"a/../b\""), "spec.timeZone", "unknown time zone a/../b"},
		{CRON("@daily", ",\"timeZone\":\"Local\""), "spec.timeZone",
			"timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"},
		{CRON("@daily", ",\"concurrencyPolicy\":\"x\""), "spec.concurrencyPolicy",
			"supported values: \"Allow\", \"Forbid\", \"Replace\""},
		{CRON("@daily", ",\"failedJobsHistoryLimit\":-1"), "spec.failedJobsHistoryLimit",
			"must be greater than or equal to 0"},
		{WITH("\"schedule\":\"@daily\",\"jobTemplate\":{\"spec\":{" TEMPLATE ",\"manualSelector\":true}}"),
			"spec.jobTemplate.spec.manualSelector", "supported values: \"nil\", \"false\""},
	};
	assert_rows(*state, CRON_JOBS, rows, ARRAY_SIZE(rows));
}

static void test_rules__what_stays(void **state)
{
	static const struct invalid_row rows[] = {
		{WITH(PLAIN ",\"suspend\":true,\"parallelism\":3,\"completions\":1"), NULL, NULL},
		{WITH(PLAIN ",\"completions\":3"), "spec.completions", "field is immutable"},
		{WITH(PLAIN ",\"managedBy\":\"a.io/b\""), "spec.managedBy", "field is immutable"},
		{WITH(OWN "\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\",\"x\":\"y\"}}," POD "}"), "spec.template",
			"field is immutable"},
		{WITH("\"manualSelector\":true,\"selector\":{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Exists\"}]}," TEMPLATE),
			"spec.selector", "field is immutable"},
	};
	assert_update_rows(*state, JOBS, WITH(PLAIN), rows, ARRAY_SIZE(rows));
}

static void test_rules__suspended_jobs_may_move(void **state)
{
#define POD_WITH(more)                                                                                                                                        \
	"\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]," more \
	"}}"
	static const struct invalid_row rows[] = {
		{WITH(OWN "\"suspend\":true," POD_WITH("\"nodeSelector\":{\"x\":\"y\"}")), NULL, NULL},
		{WITH(OWN "\"suspend\":true," POD_WITH("\"affinity\":{\"nodeAffinity\":{}}")), NULL, NULL},
		{WITH(OWN "\"suspend\":true," POD_WITH("\"hostname\":\"h\"")), "spec.template.spec", "field is immutable"},
	};
	assert_update_rows(*state, JOBS, WITH(PLAIN ",\"suspend\":true"), rows, ARRAY_SIZE(rows));
}

static void test_rules__completions_and_parallelism_change_together(void **state)
{
	static const struct invalid_row rows[] = {
		{WITH(PLAIN ",\"completionMode\":\"Indexed\",\"completions\":3,\"parallelism\":3"), NULL, NULL},
		{WITH(PLAIN ",\"completionMode\":\"Indexed\",\"completions\":3,\"parallelism\":2"), "spec.completions",
			"can only be modified in tandem with spec.parallelism"},
	};
	assert_update_rows(*state, JOBS, WITH(INDEXED), rows, ARRAY_SIZE(rows));
}

static void test_rules__of_status(void **state)
{
	struct api_world *w = *state;
	static const struct {
		const char *spec, *before;
		struct invalid_row row;
	} rows[] = {
		{PLAIN, "", {"\"active\":1," START, NULL, NULL}},
		{PLAIN, "", {"\"active\":-1", "status.active", "must be greater than or equal to 0"}},
		{PLAIN, "\"failed\":2", {"\"failed\":1", "status.failed", "cannot decrease the failed counter"}},
		{PLAIN, START,
			{START "," END, "status.completionTime",
				"cannot set completionTime when there is no Complete=True condition"}},
		{PLAIN, "",
			{START "," END ",\"conditions\":[" HOLDS("Complete") "]", "status.conditions",
				"cannot set Complete=True condition without the SuccessCriteriaMet=true condition"}},
		{PLAIN, "",
			{START "," END ",\"conditions\":[" HOLDS("Complete") "," HOLDS("SuccessCriteriaMet") "]", NULL, NULL}},
		{PLAIN, START ",\"conditions\":[" HOLDS("FailureTarget") "]",
			{START, "status.conditions", "cannot disable the terminal FailureTarget=True condition"}},
		{PLAIN, START, {"", "status.startTime", "field is immutable for unsuspended job once set"}},
		{PLAIN, "",
			{"\"completedIndexes\":\"0\"", "status.completedIndexes",
				"cannot set non-empty completedIndexes when non-indexed completion mode"}},
		{INDEXED, "", {"\"completedIndexes\":\"0,2-4\"", NULL, NULL}},
		{INDEXED ",\"backoffLimitPerIndex\":1", "",
			{"\"completedIndexes\":\"0,2-4\",\"failedIndexes\":\"1,3\"", "status.failedIndexes",
				"failedIndexes and completedIndexes overlap at index: 3"}},
		{PLAIN, "", {"\"active\":1,\"ready\":2", "status.ready", "cannot set more ready pods than active"}},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct object *old, *o;
		struct field_errors e;
		old = world_decode(w, JOBS, arena_printf(&w->a, STATUS("%s", "%s"), rows[i].spec, rows[i].before).p);
		o = world_decode(w, JOBS, arena_printf(&w->a, STATUS("%s", "%s"), rows[i].spec, rows[i].row.object).p);
		field_errors_init(&e, &w->a);
		kind_subresource(o->kind, NULL, STR("status"))->validate_update(o, old, &e);
		assert_row(&rows[i].row, &e);
	}
}

static void test_cells(void **state)
{
	struct api_world *w = *state;
	struct object *o = world_decode(w, JOBS, STATUS(PLAIN ",\"completions\":5", START "," END ",\"succeeded\":2"));
	assert_cell(o, "Status", "\"Running\"");
	assert_cell(o, "Completions", "\"2/5\"");
	assert_cell(o, "Duration", "\"60s\"");
	assert_cell(o, "Selector", "\"a=b\"");
	assert_selects(w, o, "status.successful", "2");
	o = world_decode(w, JOBS, STATUS(PLAIN ",\"parallelism\":3", "\"conditions\":[" HOLDS("Suspended") "]"));
	assert_cell(o, "Status", "\"Suspended\"");
	assert_cell(o, "Completions", "\"0/1 of 3\"");
	assert_cell(o, "Duration", "\"\"");
	o = world_decode(w, CRON_JOBS, CRON("@daily", ",\"timeZone\":\"Etc/UTC\""));
	assert_cell(o, "Schedule", "\"@daily\"");
	assert_cell(o, "Timezone", "\"Etc/UTC\"");
	assert_cell(o, "Suspend", "\"False\"");
	assert_cell(o, "Active", "0");
	assert_cell(o, "Last Schedule", "\"\\u003cnone\\u003e\"");
	assert_cell(o, "Containers", "\"c\"");
}

static void test_rules__of_nothing(void **state)
{
	struct api_world *w = *state;
	static const char *const paths[] = {JOBS, CRON_JOBS},
				 *const objects[] = {"{\"metadata\":{\"name\":\"q\"}}",
					 "{\"metadata\":{\"name\":\"q\"},\"spec\":null}",
					 WITH("\"template\":null,\"jobTemplate\":null"),
					 WITH("\"jobTemplate\":{\"spec\":null}")};
	for (size_t i = 0; i < ARRAY_SIZE(paths) * ARRAY_SIZE(objects); i++) {
		struct object *o = world_decode(w, paths[i % 2], objects[i / 2]);
		o->meta.uid = STR("u");
		o->kind->prepare_create(o, &w->a);
		struct field_errors e = errors_of(w, o, NULL);
		assert_true(e.n > 1);
		assert_str(e.v[e.n - 1].detail, "valid values: \"OnFailure\", \"Never\"");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(test_defaults),
		API_TEST(test_selector__is_generated),
		API_TEST(test_selector__is_the_clients),
		API_TEST(test_rules__of_jobs),
		API_TEST(test_rules__of_cron_jobs),
		API_TEST(test_rules__what_stays),
		API_TEST(test_rules__suspended_jobs_may_move),
		API_TEST(test_rules__completions_and_parallelism_change_together),
		API_TEST(test_rules__of_status),
		API_TEST(test_rules__of_nothing),
		API_TEST(test_cells),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
