/* StatefulSets: what is filled in, what each version shows and keeps, what counts as a change of the template, and what is refused.
 * tests/cluster compares apps/v1 with kube-apiserver. */
#include "api/model/protobuf.h"
#include "tests/unit/kind_world.h"

#define APPS "apps/v1/statefulsets"
#define BETA "annals.dev/v1beta1/statefulsets"
#define TEMPLATE \
	"\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"
#define SELECTOR "\"selector\":{\"matchLabels\":{\"a\":\"b\"}}"
#define PLAIN SELECTOR "," TEMPLATE

static struct object *set_of(struct api_world *w, const char *path, const char *spec)
{
	return world_decode(w, path, arena_printf(&w->a, "{\"metadata\":{\"name\":\"web\"},\"spec\":{%s}}", spec).p);
}

static struct object *created(struct api_world *w, const char *path, const char *spec)
{
	struct object *o = set_of(w, path, spec);
	o->kind->prepare_create(o, &w->a);
	return o;
}

static const struct version *version_of(const char *path)
{
	const struct version *v;
	world_version(path, &v);
	return v;
}

/* What a client makes of the object as that version shows it: members of spec are set, those of null taken out. */
static struct object *edited(struct api_world *w, const struct object *old, const char *path, const char *changes)
{
	const struct version *v = version_of(path);
	struct json *shown = object_to_json(old, v, &w->a), *spec = json_copy(&w->a, json_gets(shown, "spec"));
	struct json *wanted = world_parse(w, changes);
	struct object *o;
	struct str error;
	for (uint32_t i = 0; i < wanted->n; i++) {
		json_set(&w->a, spec, wanted->members[i].name, wanted->members[i].value);
	}
	json_set(&w->a, shown, STR("spec"), spec);
	if (object_decode(&o, old->kind, v, shown, old, &w->a, NULL, &error)) {
		fail_msg("refused: " STR_FMT, STR_ARG(error));
	}
	o->kind->prepare_update(o, old, &w->a);
	return o;
}

static void assert_spec(struct api_world *w, const struct object *o, const char *name, const char *expected)
{
	world_assert_json(w, json_gets(object_spec(o), name), expected);
}

static void assert_shown(struct api_world *w, const struct object *o, const char *path, const char *name, const char *expected)
{
	const struct json *spec = json_gets(object_to_json(o, version_of(path), &w->a), "spec"), *value = json_gets(spec, name);
	if (!expected) {
		assert_null(value);
		return;
	}
	assert_non_null(value);
	world_assert_json(w, value, expected);
}

static int64_t generation(const struct object *o)
{
	int64_t n = 0;
	const struct json *v = json_gets(object_spec(o), "templateGeneration");
	assert_true(!v || json_to_int64(v, &n));
	return n;
}

static void assert_refused(
	struct api_world *w, const struct object *o, const struct object *old, const char *field, const char *detail)
{
	struct field_errors e;
	field_errors_init(&e, &w->a);
	if (old) {
		o->kind->validate_update(o, old, &e);
	} else {
		o->kind->validate(o, &e);
	}
	if (e.n != (field ? 1 : 0)) {
		fail_msg("%zu errors, wanted %s, first %s", e.n, field ? field : "none",
			e.n ? arena_printf(&w->a, STR_FMT ": " STR_FMT, STR_ARG(e.v[0].path), STR_ARG(e.v[0].detail)).p : "");
	}
	if (field) {
		assert_str(e.v[0].path, field);
		assert_str(e.v[0].detail, detail);
	}
}

/* ---- forms ---- */

static void test_protobuf__is_for_upstreams_version(void **state)
{
	(void)state;
	assert_true(protobuf_knows(version_of(APPS)->type));
	assert_false(protobuf_knows(version_of(BETA)->type));
}

static void test_defaults__of_apps(void **state)
{
	struct api_world *w = *state;
	struct object *o = set_of(w, APPS, PLAIN);
	assert_spec(w, o, "updateStrategy", "{\"type\":\"RollingUpdate\",\"rollingUpdate\":{\"partition\":0}}");
	assert_spec(w, o, "podManagementPolicy", "\"OrderedReady\"");
	assert_spec(w, o, "persistentVolumeClaimRetentionPolicy", "{\"whenDeleted\":\"Retain\",\"whenScaled\":\"Retain\"}");
	assert_spec(w, o, "replicas", "1");
	assert_spec(w, o, "revisionHistoryLimit", "10");
}

/* A type without settings stays without, settings without a type get one, and halves are filled in by themselves. */
static void test_defaults__of_halves(void **state)
{
	struct api_world *w = *state;
	static const struct {
		const char *given, *expected;
	} strategies[] = {
		{"{\"type\":\"RollingUpdate\"}", "{\"type\":\"RollingUpdate\"}"},
		{"{\"type\":\"RollingUpdate\",\"rollingUpdate\":{}}",
			"{\"type\":\"RollingUpdate\",\"rollingUpdate\":{\"partition\":0}}"},
		{"{\"rollingUpdate\":{\"partition\":3}}", "{\"type\":\"RollingUpdate\",\"rollingUpdate\":{\"partition\":3}}"},
		{"{\"type\":\"OnDelete\"}", "{\"type\":\"OnDelete\"}"},
		{"{\"type\":\"OnDelete\",\"rollingUpdate\":{}}", "{\"type\":\"OnDelete\",\"rollingUpdate\":{}}"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(strategies); i++) {
		const char *spec = arena_printf(&w->a, PLAIN ",\"updateStrategy\":%s", strategies[i].given).p;
		assert_spec(w, set_of(w, APPS, spec), "updateStrategy", strategies[i].expected);
	}
	struct object *o = set_of(w, APPS, PLAIN ",\"persistentVolumeClaimRetentionPolicy\":{\"whenScaled\":\"Delete\"}");
	assert_spec(w, o, "persistentVolumeClaimRetentionPolicy", "{\"whenDeleted\":\"Retain\",\"whenScaled\":\"Delete\"}");
}

static void test_beta__leaves_out_what_it_cannot_say(void **state)
{
	struct api_world *w = *state;
	struct object *o = created(w, APPS,
		PLAIN ",\"podManagementPolicy\":\"Parallel\",\"minReadySeconds\":5,\"ordinals\":{\"start\":7},"
		      "\"updateStrategy\":{\"rollingUpdate\":{\"partition\":3}}");
	assert_shown(w, o, BETA, "generationPartition", "3");
	assert_shown(w, o, BETA, "templateGeneration", "1");
	assert_shown(w, o, BETA, "podManagementPolicy", NULL);
	assert_shown(w, o, APPS, "templateGeneration", NULL);

	struct object *changed = edited(w, o, BETA, "{\"replicas\":9,\"generationPartition\":4}");
	assert_shown(w, changed, APPS, "podManagementPolicy", "\"Parallel\"");
	assert_shown(w, changed, APPS, "minReadySeconds", "5");
	assert_shown(w, changed, APPS, "ordinals", "{\"start\":7}");
	assert_shown(w, changed, APPS, "replicas", "9");
	assert_shown(w, changed, APPS, "updateStrategy", "{\"type\":\"RollingUpdate\",\"rollingUpdate\":{\"partition\":4}}");
	assert_shown(w, changed, BETA, "templateGeneration", "1");
}

/* No partition and 0 are the same but in JSON. */
static void test_beta__partition_comes_and_goes(void **state)
{
	struct api_world *w = *state;
	struct object *o = created(w, BETA, PLAIN ",\"replicas\":3");
	assert_spec(w, o, "updateStrategy", "{\"type\":\"RollingUpdate\"}");
	assert_shown(w, o, BETA, "generationPartition", NULL);
	struct object *one = edited(w, o, BETA, "{\"generationPartition\":1}");
	assert_spec(w, one, "updateStrategy", "{\"type\":\"RollingUpdate\",\"rollingUpdate\":{\"partition\":1}}");
	assert_spec(
		w, edited(w, one, BETA, "{\"generationPartition\":null}"), "updateStrategy", "{\"type\":\"RollingUpdate\"}");
	struct object *zero = edited(w, one, BETA, "{\"generationPartition\":0}");
	assert_spec(w, zero, "updateStrategy", "{\"type\":\"RollingUpdate\",\"rollingUpdate\":{\"partition\":0}}");
}

static void test_beta__selector_is_that_of_the_template(void **state)
{
	struct api_world *w = *state;
	struct object *o = created(w, BETA, TEMPLATE);
	assert_spec(w, o, "selector", "{\"matchLabels\":{\"a\":\"b\"}}");
	assert_spec(w, edited(w, o, BETA, "{\"selector\":null}"), "selector", "{\"matchLabels\":{\"a\":\"b\"}}");
	assert_spec(w, set_of(w, APPS, TEMPLATE), "selector", "null");
}

static void test_beta__asks_for_broken_pods_to_be_replaced(void **state)
{
	struct api_world *w = *state;
	const struct object *beta = created(w, BETA, PLAIN), *apps = created(w, APPS, PLAIN);
	world_assert_json(w, beta->meta.annotations, "{\"annals.dev/replace-broken-pods\":\"true\"}");
	assert_null(apps->meta.annotations);
	struct object *old = object_copy(beta, &w->a), *sent = edited(w, beta, BETA, "{}");
	sent->meta.annotations = NULL;
	sent->kind->prepare_update(sent, old, &w->a);
	world_assert_json(w, sent->meta.annotations, "{\"annals.dev/replace-broken-pods\":\"true\"}");
	sent = edited(w, beta, APPS, "{}");
	sent->meta.annotations = NULL;
	sent->kind->prepare_update(sent, old, &w->a);
	assert_null(sent->meta.annotations);
}

/* ---- status ---- */

static struct object *with_status(struct api_world *w, const struct object *o, const char *status)
{
	struct object *changed = object_copy(o, &w->a);
	json_set(&w->a, changed->fields, STR("status"), world_parse(w, status));
	return changed;
}

static const struct json *shown_status(struct api_world *w, const struct object *o, const char *path)
{
	return json_gets(object_to_json(o, version_of(path), &w->a), "status");
}

#define COUNTS "\"replicas\":3,\"readyReplicas\":3,\"currentReplicas\":3,\"updatedReplicas\":3,"
#define COMPLETE COUNTS "\"currentRevision\":\"web-a\",\"updateRevision\":\"web-a\",\"availableReplicas\":3"

/* seeds: U16 U68 */
static void test_status__of_a_complete_update(void **state)
{
	struct api_world *w = *state;
	struct object *o = with_status(
		w, created(w, BETA, PLAIN), "{" COMPLETE ",\"templateGeneration\":2,\"targetTemplateGeneration\":2}");
	assert_null(json_gets(shown_status(w, o, BETA), "updatedReplicas"));
	assert_non_null(json_gets(shown_status(w, o, BETA), "templateGeneration"));
	assert_non_null(json_gets(shown_status(w, o, APPS), "updatedReplicas"));
	assert_null(json_gets(shown_status(w, o, APPS), "templateGeneration"));

	static const char *const not_complete[] = {
		"{" COMPLETE ",\"templateGeneration\":2,\"targetTemplateGeneration\":3}",
		"{" COMPLETE ",\"targetTemplateGeneration\":3}",
		"{" COUNTS "\"currentRevision\":\"web-a\",\"updateRevision\":\"web-b\",\"availableReplicas\":3}",
	};
	for (size_t i = 0; i < ARRAY_SIZE(not_complete); i++) {
		assert_non_null(json_gets(shown_status(w, with_status(w, o, not_complete[i]), BETA), "updatedReplicas"));
	}
}

static const struct json *sent_status(struct api_world *w, const struct object *old, const char *path, const char *status)
{
	struct json *sent = object_to_json(old, version_of(path), &w->a);
	struct object *o;
	struct str error;
	json_set(&w->a, sent, STR("status"), world_parse(w, status));
	assert_int_equal(object_decode(&o, old->kind, version_of(path), sent, old, &w->a, NULL, &error), 0);
	return object_status(o);
}

/* Neither does who writes back what was shown lose a number that was hidden, nor does apps/v1 lose generations. */
static void test_status__is_kept_where_it_cannot_be_said(void **state)
{
	struct api_world *w = *state;
	const char *complete = "{" COMPLETE ",\"templateGeneration\":2,\"targetTemplateGeneration\":2}";
	struct object *o = with_status(w, created(w, BETA, PLAIN), complete);
	const char *as_shown = "{\"replicas\":3,\"readyReplicas\":3,\"currentReplicas\":3,\"currentRevision\":\"web-a\","
			       "\"updateRevision\":\"web-a\",\"availableReplicas\":3,\"templateGeneration\":2,"
			       "\"targetTemplateGeneration\":2}";
	world_assert_json(w, sent_status(w, o, BETA, as_shown), complete);
	world_assert_json(w, sent_status(w, o, APPS, "{" COMPLETE "}"), complete);
	const char *scaled =
		"{\"replicas\":0,\"currentRevision\":\"web-a\",\"updateRevision\":\"web-a\",\"availableReplicas\":0,"
		"\"templateGeneration\":2,\"targetTemplateGeneration\":2}";
	world_assert_json(w, sent_status(w, o, BETA, scaled), scaled);
}

/* ---- generations ---- */

/* seeds: U77 */
static void test_generation__counts_changes_of_the_template(void **state)
{
	struct api_world *w = *state;
	static const struct {
		const char *path, *changes;
		int64_t expected;
	} edits[] = {
		{BETA, "{\"templateGeneration\":77}", 1},
		{BETA, "{\"templateGeneration\":null}", 1},
		{APPS, "{\"replicas\":5,\"updateStrategy\":{\"type\":\"OnDelete\"}}", 1},
		{BETA, "{" TEMPLATE "}", 1},
		{APPS,
			"{\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"},\"annotations\":null},\"spec\":{"
			"\"restartPolicy\":null,"
			"\"volumes\":[],\"containers\":[{\"image\":\"i\",\"name\":\"c\",\"imagePullPolicy\":\"Always\"}]}}}",
			1},
		{APPS,
			"{\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"containers\":[{\"name\":\"c\","
			"\"image\":\"j\"}]}}}",
			2},
		{BETA,
			"{\"templateGeneration\":1,\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},"
			"\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"j\"}]}}}",
			2},
	};
	struct object *o = created(w, BETA, PLAIN ",\"templateGeneration\":9");
	assert_int_equal(generation(o), 1);
	for (size_t i = 0; i < ARRAY_SIZE(edits); i++) {
		assert_int_equal(generation(edited(w, o, edits[i].path, edits[i].changes)), edits[i].expected);
	}
}

static struct object *without(struct api_world *w, const struct object *o, const char *name)
{
	struct object *changed = object_copy(o, &w->a);
	struct json *spec = json_copy(&w->a, object_spec(o));
	json_remove(spec, str_of(name));
	json_set(&w->a, changed->fields, STR("spec"), spec);
	return changed;
}

/* As a build from before stored it: its history begins at the first change. */
static void test_generation__begins_with_the_first_change(void **state)
{
	struct api_world *w = *state;
	struct object *old = without(w, created(w, APPS, PLAIN), "templateGeneration");
	assert_null(json_gets(object_spec(edited(w, old, BETA, "{\"replicas\":4}")), "templateGeneration"));
	struct object *changed = edited(w, old, APPS,
		"{\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"containers\":[{\"name\":\"d\",\"image\":"
		"\"j\"}]}}}");
	assert_int_equal(generation(changed), 1);
}

/* A default that came with a later build is no change. */
static void test_generation__stays_where_defaults_were_missing(void **state)
{
	struct api_world *w = *state;
	struct object *old = created(w, APPS, PLAIN);
	json_set(&w->a, old->fields, STR("spec"), json_copy(&w->a, object_spec(old)));
	json_set(&w->a, object_spec(old), STR("template"),
		world_parse(w,
			"{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}"
			"}"));
	assert_int_equal(generation(edited(w, old, APPS, "{\"replicas\":4}")), 1);
}

/* The feature gate is off. */
static void test_max_unavailable__is_kept_where_it_was(void **state)
{
	struct api_world *w = *state;
	struct object *o = created(w, APPS, PLAIN ",\"updateStrategy\":{\"rollingUpdate\":{\"maxUnavailable\":2}}");
	assert_spec(w, o, "updateStrategy", "{\"type\":\"RollingUpdate\",\"rollingUpdate\":{\"partition\":0}}");
	const char *strategy = "{\"type\":\"RollingUpdate\",\"rollingUpdate\":{\"partition\":0,\"maxUnavailable\":2}}";
	struct object *had = object_copy(o, &w->a);
	struct json *spec = json_copy(&w->a, object_spec(o));
	json_set(&w->a, spec, STR("updateStrategy"), world_parse(w, strategy));
	json_set(&w->a, had->fields, STR("spec"), spec);
	assert_spec(w, edited(w, had, APPS, "{\"replicas\":3}"), "updateStrategy", strategy);
	assert_spec(w, edited(w, had, BETA, "{\"generationPartition\":1}"), "updateStrategy",
		"{\"type\":\"RollingUpdate\",\"rollingUpdate\":{\"partition\":1,\"maxUnavailable\":2}}");
}

/* ---- what is refused ---- */

/* seeds: U73 U74 */
static void test_beta__rules_of_new_sets(void **state)
{
	struct api_world *w = *state;
	static const struct {
		const char *more, *field, *detail;
	} rows[] = {
		{"\"replicas\":3,\"generationPartition\":2", NULL, NULL},
		{"\"replicas\":3,\"generationPartition\":3", "spec.generationPartition", "must be less than spec.replicas"},
		{"\"replicas\":3,\"generationPartition\":-1", "spec.generationPartition", "must be greater than or equal to 0"},
		{"\"replicas\":0,\"generationPartition\":0", NULL, NULL},
		{"\"replicas\":0,\"generationPartition\":1", "spec.generationPartition", "must be less than spec.replicas"},
		{"\"generationPartition\":1", "spec.generationPartition", "must be less than spec.replicas"},
		{"\"revisionHistoryLimit\":2", NULL, NULL},
		{"\"revisionHistoryLimit\":1", "spec.revisionHistoryLimit", "must be greater than or equal to 2"},
		{"\"revisionHistoryLimit\":-1", "spec.revisionHistoryLimit", "must be greater than or equal to 2"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *spec = arena_printf(&w->a, PLAIN ",%s", rows[i].more).p;
		assert_refused(w, created(w, BETA, spec), NULL, rows[i].field, rows[i].detail);
	}
}

/* What was set at apps/v1, and is no more than left alone here, is nobody's mistake. */
/* seeds: U72 U74 U94 */
static void test_beta__rules_of_updates(void **state)
{
	struct api_world *w = *state;
	static const struct {
		const char *changes, *field, *detail;
	} rows[] = {
		{"{}", NULL, NULL},
		{"{\"replicas\":9}", NULL, NULL},
		{"{\"replicas\":2}", "spec.generationPartition", "must be less than spec.replicas"},
		{"{\"generationPartition\":4}", "spec.generationPartition", "must be less than spec.replicas"},
		{"{\"generationPartition\":2}", NULL, NULL},
		{"{\"generationPartition\":null}", NULL, NULL},
		{"{\"revisionHistoryLimit\":0}", "spec.revisionHistoryLimit", "must be greater than or equal to 2"},
		{"{\"revisionHistoryLimit\":2}", NULL, NULL},
		{"{\"serviceName\":\"m\"}", "spec.serviceName", "field is immutable"},
		{"{\"volumeClaimTemplates\":[{\"metadata\":{\"name\":\"x\"}}]}", "spec.volumeClaimTemplates",
			"field is immutable"},
		{"{\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":"
		 "\"j\"}]}}}",
			NULL, NULL},
		{"{\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\",\"x\":\"y\"}},\"spec\":{\"containers\":[{\"name\":\"c\","
		 "\"image\":\"i\"}]}}}",
			"spec.template.metadata.labels", "field is immutable"},
		{"{\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"initContainers\":[{\"name\":\"d\","
		 "\"image\":\"i\"}],"
		 "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}",
			"spec.template.spec.initContainers", "field is immutable"},
		{"{\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"terminationGracePeriodSeconds\":5,"
		 "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}",
			"spec.template.spec.terminationGracePeriodSeconds", "field is immutable"},
	};
	struct object *old = created(w, APPS,
		PLAIN ",\"serviceName\":\"n\",\"replicas\":3,\"revisionHistoryLimit\":1,"
		      "\"updateStrategy\":{\"rollingUpdate\":{\"partition\":5}}");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_refused(w, edited(w, old, BETA, rows[i].changes), old, rows[i].field, rows[i].detail);
	}
}

static void test_beta__partition_is_for_rolling_updates(void **state)
{
	struct api_world *w = *state;
	struct object *old = created(w, APPS, PLAIN ",\"replicas\":3,\"updateStrategy\":{\"type\":\"OnDelete\"}");
	assert_refused(w, edited(w, old, BETA, "{\"replicas\":4}"), old, NULL, NULL);
	assert_refused(w, edited(w, old, BETA, "{\"generationPartition\":1}"), old, "spec.generationPartition",
		"only allowed where the update strategy is RollingUpdate");
}

/* seeds: D3 */
static void test_apps__partition_has_no_upper_bound(void **state)
{
	struct api_world *w = *state;
	struct object *o = created(w, APPS, PLAIN ",\"updateStrategy\":{\"rollingUpdate\":{\"partition\":50}}");
	assert_refused(w, o, NULL, NULL, NULL);
	assert_refused(w, edited(w, o, APPS, "{\"replicas\":0,\"revisionHistoryLimit\":-1}"), o, NULL, NULL);
	assert_refused(w, edited(w, o, APPS, "{\"podManagementPolicy\":\"Parallel\"}"), o, "spec",
		"updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
		"'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden");
}

static void test_cells(void **state)
{
	struct api_world *w = *state;
	struct object *o = with_status(w, created(w, APPS, PLAIN ",\"replicas\":5"), "{\"readyReplicas\":2}");
	assert_cell(o, "Ready", "\"2/5\"");
	assert_cell(o, "Containers", "\"c\"");
	assert_cell(o, "Images", "\"i\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(test_protobuf__is_for_upstreams_version),
		API_TEST(test_defaults__of_apps),
		API_TEST(test_defaults__of_halves),
		API_TEST(test_beta__leaves_out_what_it_cannot_say),
		API_TEST(test_beta__partition_comes_and_goes),
		API_TEST(test_beta__selector_is_that_of_the_template),
		API_TEST(test_beta__asks_for_broken_pods_to_be_replaced),
		API_TEST(test_status__of_a_complete_update),
		API_TEST(test_status__is_kept_where_it_cannot_be_said),
		API_TEST(test_generation__counts_changes_of_the_template),
		API_TEST(test_generation__begins_with_the_first_change),
		API_TEST(test_generation__stays_where_defaults_were_missing),
		API_TEST(test_max_unavailable__is_kept_where_it_was),
		API_TEST(test_beta__rules_of_new_sets),
		API_TEST(test_beta__rules_of_updates),
		API_TEST(test_beta__partition_is_for_rolling_updates),
		API_TEST(test_apps__partition_has_no_upper_bound),
		API_TEST(test_cells),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
