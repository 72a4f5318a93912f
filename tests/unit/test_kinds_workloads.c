/* ReplicationControllers, ReplicaSets, Deployments and DaemonSets: what is filled in, and what is refused. tests/cluster compares them
 * with kube-apiserver's. */
#include "tests/unit/kind_world.h"

#define SETS "apps/v1/replicasets"
#define DEPLOYMENTS "apps/v1/deployments"
#define DAEMONS "apps/v1/daemonsets"
#define CONTROLLERS "/v1/replicationcontrollers"
#define POD "\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}"
#define TEMPLATE "\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}}," POD "}"
#define PLAIN "\"selector\":{\"matchLabels\":{\"a\":\"b\"}}," TEMPLATE
#define WITH(spec) "{\"metadata\":{\"name\":\"q\",\"namespace\":\"default\"},\"spec\":{" spec "}}"
#define NOTED(key, value, spec)                                                                                                \
	"{\"metadata\":{\"name\":\"q\",\"namespace\":\"default\",\"annotations\":{\"" key "\":\"" value "\"}},\"spec\":{" spec \
	"}}"
#define ROLLBACK "deprecated.deployment.rollback.to"
#define GENERATION "deprecated.daemonset.template.generation"

static void test_defaults(void **state)
{
	struct api_world *w = *state;
	static const struct {
		const char *path, *object, *member, *expected;
	} rows[] = {
		{SETS, WITH(PLAIN), "replicas", "1"},
		{SETS, WITH(PLAIN ",\"replicas\":0"), "replicas", "0"},
		{CONTROLLERS, WITH(TEMPLATE), "replicas", "1"},
		{CONTROLLERS, WITH(TEMPLATE), "selector", "{\"a\":\"b\"}"},
		{CONTROLLERS, WITH("\"selector\":{\"x\":\"y\"}," TEMPLATE), "selector", "{\"x\":\"y\"}"},
		{DEPLOYMENTS, WITH(PLAIN), "replicas", "1"},
		{DEPLOYMENTS, WITH(PLAIN), "revisionHistoryLimit", "10"},
		{DEPLOYMENTS, WITH(PLAIN), "progressDeadlineSeconds", "600"},
		{DEPLOYMENTS, WITH(PLAIN), "strategy",
			"{\"type\":\"RollingUpdate\",\"rollingUpdate\":{\"maxUnavailable\":\"25%\",\"maxSurge\":\"25%\"}}"},
		{DEPLOYMENTS, WITH(PLAIN ",\"strategy\":{\"rollingUpdate\":{\"maxSurge\":3}}"), "strategy",
			"{\"type\":\"RollingUpdate\",\"rollingUpdate\":{\"maxUnavailable\":\"25%\",\"maxSurge\":3}}"},
		{DEPLOYMENTS, WITH(PLAIN ",\"strategy\":{\"type\":\"Recreate\"}"), "strategy", "{\"type\":\"Recreate\"}"},
		{DAEMONS, WITH(PLAIN), "revisionHistoryLimit", "10"},
		{DAEMONS, WITH(PLAIN), "updateStrategy",
			"{\"type\":\"RollingUpdate\",\"rollingUpdate\":{\"maxUnavailable\":1,\"maxSurge\":0}}"},
		{DAEMONS, WITH(PLAIN ",\"updateStrategy\":{\"type\":\"OnDelete\"}"), "updateStrategy",
			"{\"type\":\"OnDelete\"}"},
		{DAEMONS, WITH(PLAIN ",\"updateStrategy\":{\"type\":\"OnDelete\",\"rollingUpdate\":{}}"), "updateStrategy",
			"{\"type\":\"OnDelete\",\"rollingUpdate\":{\"maxUnavailable\":0,\"maxSurge\":0}}"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		world_assert_json(w, json_gets(object_spec(world_decode(w, rows[i].path, rows[i].object)), rows[i].member),
			rows[i].expected);
	}
}

static void test_defaults__labels_of_a_controller(void **state)
{
	struct api_world *w = *state;
	world_assert_json(w, world_decode(w, CONTROLLERS, WITH(TEMPLATE))->meta.labels, "{\"a\":\"b\"}");
	assert_null(world_decode(w, SETS, WITH(PLAIN))->meta.labels);
}

static void assert_note(const struct object *o, const char *key, const char *expected)
{
	const struct json *note = json_gets(o->meta.annotations, key);
	if (!expected) {
		assert_null(note);
		return;
	}
	assert_str(json_text(note), expected);
}

static void test_rollback__is_a_number(void **state)
{
	struct api_world *w = *state;
	assert_note(world_decode(w, DEPLOYMENTS, NOTED(ROLLBACK, "+007", PLAIN)), ROLLBACK, "7");
	assert_note(world_decode(w, DEPLOYMENTS, NOTED(ROLLBACK, "", PLAIN)), ROLLBACK, NULL);
}

static void test_generation_of_daemons__counts_changes_of_the_template(void **state)
{
	struct api_world *w = *state;
	struct object *first = world_decode(w, DAEMONS, WITH(PLAIN));
	first->kind->prepare_create(first, &w->a);
	assert_note(first, GENERATION, "1");

	struct object *same = world_decode(w, DAEMONS, NOTED(GENERATION, "9", PLAIN ",\"minReadySeconds\":5"));
	same->kind->prepare_update(same, first, &w->a);
	assert_note(same, GENERATION, "1");

	struct object *changed = world_decode(w, DAEMONS,
		WITH("\"selector\":{\"matchLabels\":{\"a\":\"b\"}},\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\",\"x\":\"y\"}}," POD
		     "}"));
	changed->kind->prepare_update(changed, first, &w->a);
	assert_note(changed, GENERATION, "2");

	struct object *stored = object_copy(changed, &w->a);
	kind_subresource(stored->kind, NULL, STR("status"))->merge(stored, same, &w->a);
	assert_note(stored, GENERATION, "2");
}

static void test_generation_of_deployments__counts_annotations(void **state)
{
	struct api_world *w = *state;
	const struct object *plain = world_decode(w, DEPLOYMENTS, WITH(PLAIN)),
			    *noted = world_decode(w, DEPLOYMENTS, NOTED("x", "y", PLAIN));
	assert_true(plain->kind->bumps_generation(noted, plain));
	assert_false(plain->kind->bumps_generation(plain, world_decode(w, DEPLOYMENTS, WITH(PLAIN))));
	const struct object *set = world_decode(w, SETS, WITH(PLAIN)),
			    *noted_set = world_decode(w, SETS, NOTED("x", "y", PLAIN));
	assert_false(set->kind->bumps_generation(noted_set, set));
}

#define MISMATCH "`selector` does not match template `labels`"
#define NEVER "\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}"

static void test_rules__of_sets(void **state)
{
	static const struct invalid_row rows[] = {
		{WITH(PLAIN), NULL, NULL},
		{WITH(PLAIN ",\"replicas\":-1"), "spec.replicas", "must be greater than or equal to 0"},
		{WITH("\"selector\":{}," TEMPLATE), "spec.selector", "empty selector is invalid for deployment"},
		{WITH("\"selector\":{\"matchLabels\":{\"a\":\"c\"}}," TEMPLATE), "spec.template.metadata.labels", MISMATCH},
		{WITH("\"selector\":{\"matchLabels\":{\"a\":\"b\"}},\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}}," NEVER
		      "}"),
			"spec.template.spec.restartPolicy", "supported values: \"Always\""},
	};
	assert_rows(*state, SETS, rows, ARRAY_SIZE(rows));
}

static void test_rules__of_deployments(void **state)
{
	static const struct invalid_row rows[] = {
		{WITH(PLAIN), NULL, NULL},
		{WITH(PLAIN ",\"strategy\":{\"rollingUpdate\":{\"maxUnavailable\":0,\"maxSurge\":\"0%\"}}"),
			"spec.strategy.rollingUpdate.maxUnavailable", "may not be 0 when `maxSurge` is 0"},
		{WITH(PLAIN ",\"strategy\":{\"rollingUpdate\":{\"maxUnavailable\":0,\"maxSurge\":\"1%\"}}"), NULL, NULL},
		{WITH(PLAIN ",\"strategy\":{\"rollingUpdate\":{\"maxUnavailable\":\"101%\"}}"),
			"spec.strategy.rollingUpdate.maxUnavailable", "must not be greater than 100%"},
		{WITH(PLAIN ",\"strategy\":{\"rollingUpdate\":{\"maxSurge\":\"101%\"}}"), NULL, NULL},
		{WITH(PLAIN ",\"strategy\":{\"type\":\"Recreate\",\"rollingUpdate\":{\"maxSurge\":1}}"),
			"spec.strategy.rollingUpdate", "may not be specified when strategy `type` is 'Recreate'"},
		{WITH(PLAIN ",\"strategy\":{\"type\":\"x\"}"), "spec.strategy",
			"supported values: \"Recreate\", \"RollingUpdate\""},
		{WITH(PLAIN ",\"minReadySeconds\":5,\"progressDeadlineSeconds\":5"), "spec.progressDeadlineSeconds",
			"must be greater than minReadySeconds"},
		{WITH(PLAIN ",\"minReadySeconds\":5,\"progressDeadlineSeconds\":6"), NULL, NULL},
		{NOTED(ROLLBACK, "-1", PLAIN), "spec.rollback.version", "must be greater than or equal to 0"},
		{NOTED(ROLLBACK, "x", PLAIN), "metadata.annotations[" ROLLBACK "]", "must be a decimal number of 64 bits"},
	};
	assert_rows(*state, DEPLOYMENTS, rows, ARRAY_SIZE(rows));
}

static void test_rules__of_daemons(void **state)
{
	static const struct invalid_row rows[] = {
		{WITH(PLAIN), NULL, NULL},
		{WITH("\"selector\":{}," TEMPLATE), "spec.selector", "empty selector is invalid for daemonset"},
		{WITH(TEMPLATE), "spec.template.metadata.labels", MISMATCH},
		{WITH(PLAIN ",\"updateStrategy\":{\"rollingUpdate\":{\"maxSurge\":1}}"),
			"spec.updateStrategy.rollingUpdate.maxSurge", "may not be set when maxUnavailable is non-zero"},
		{WITH(PLAIN ",\"updateStrategy\":{\"rollingUpdate\":{\"maxUnavailable\":0,\"maxSurge\":1}}"), NULL, NULL},
		{WITH(PLAIN ",\"updateStrategy\":{\"rollingUpdate\":{\"maxUnavailable\":0}}"),
			"spec.updateStrategy.rollingUpdate.maxUnavailable", "cannot be 0 when maxSurge is 0"},
		{WITH(PLAIN ",\"updateStrategy\":{\"type\":\"x\"}"), "spec.updateStrategy",
			"supported values: \"RollingUpdate\", \"OnDelete\""},
		{NOTED(GENERATION, "x", PLAIN), "metadata.annotations[" GENERATION "]", "must be a decimal number of 64 bits"},
	};
	assert_rows(*state, DAEMONS, rows, ARRAY_SIZE(rows));
}

static void test_rules__of_controllers(void **state)
{
	static const struct invalid_row rows[] = {
		{WITH(TEMPLATE), NULL, NULL},
		{WITH("\"template\":{" POD "}"), "spec.selector", ""},
		{WITH("\"selector\":{\"a\":\"b\"}"), "spec.template", ""},
		{WITH("\"selector\":{\"a\":\"c\"}," TEMPLATE), "spec.template.metadata.labels", MISMATCH},
	};
	assert_rows(*state, CONTROLLERS, rows, ARRAY_SIZE(rows));
}

static void test_rules__selector_stays(void **state)
{
	static const struct invalid_row rows[] = {
		{WITH(PLAIN ",\"minReadySeconds\":3"), NULL, NULL},
		{WITH("\"selector\":{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Exists\"}]}," TEMPLATE),
			"spec.selector", "field is immutable"},
	};
	assert_update_rows(*state, SETS, WITH(PLAIN), rows, ARRAY_SIZE(rows));
	assert_update_rows(*state, DEPLOYMENTS, WITH(PLAIN), rows, ARRAY_SIZE(rows));
	assert_update_rows(*state, DAEMONS, WITH(PLAIN), rows, ARRAY_SIZE(rows));
}

static struct str warning_of(struct api_world *w, const char *name)
{
	struct str ret[KIND_WARNINGS_MAX] = {{0}};
	struct object *o = world_decode(w, SETS, WITH(PLAIN));
	o->meta.name = str_of(name);
	assert_int_equal(o->kind->warn(o, o, ret), 0);
	return o->kind->warn(o, NULL, ret) ? ret[0] : STR("");
}

static void test_warning__of_names_that_are_no_labels(void **state)
{
	struct api_world *w = *state;
	const char *const long_name = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
	assert_str(warning_of(w, "a"), "");
	assert_true(str_ends(warning_of(w, "a.b"), STR("recommended: [must not contain dots]")));
	assert_true(str_ends(warning_of(w, long_name), STR("recommended: [must be no more than 63 characters]")));
}

static void test_cells(void **state)
{
	struct api_world *w = *state;
	struct object *o = world_decode(w, DEPLOYMENTS,
		"{\"metadata\":{\"name\":\"q\"},\"spec\":{" PLAIN
		",\"replicas\":5},\"status\":{\"readyReplicas\":2,\"updatedReplicas\":4}}");
	assert_cell(o, "Ready", "\"2/5\"");
	assert_cell(o, "Up-to-date", "4");
	assert_cell(o, "Selector", "\"a=b\"");
	o = world_decode(w, DAEMONS, WITH(PLAIN));
	assert_cell(o, "Node Selector", "\"\\u003cnone\\u003e\"");
	o = world_decode(w, CONTROLLERS, "{\"metadata\":{\"name\":\"q\"},\"spec\":{" TEMPLATE "},\"status\":{\"replicas\":3}}");
	assert_cell(o, "Current", "3");
	assert_cell(o, "Selector", "\"a=b\"");
	assert_selects(w, o, "status.replicas", "3");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(test_defaults),
		API_TEST(test_defaults__labels_of_a_controller),
		API_TEST(test_rollback__is_a_number),
		API_TEST(test_generation_of_daemons__counts_changes_of_the_template),
		API_TEST(test_generation_of_deployments__counts_annotations),
		API_TEST(test_rules__of_sets),
		API_TEST(test_rules__of_deployments),
		API_TEST(test_rules__of_daemons),
		API_TEST(test_rules__of_controllers),
		API_TEST(test_rules__selector_stays),
		API_TEST(test_warning__of_names_that_are_no_labels),
		API_TEST(test_cells),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
