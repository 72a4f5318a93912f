/* What becomes of StorageMigrations, and what StorageVersions say. */
#include "storage/engine/migration_plan.h"
#include "tests/unit/api_world.h"

#define MIGRATIONS "annals.dev/v1/storagemigrations"
#define V1 "annals.dev/v1"
#define BETA "annals.dev/v1beta1"

static const struct kind *dependents(void)
{
	return kind_by_hub(STR("annals.dev"), STR("dependents"));
}

static const struct version *version(const char *version)
{
	return kind_version(dependents(), str_of(version));
}

static struct migration migration_of(struct api_world *w, const char *status)
{
	struct migration m;
	const char *text = arena_printf(&w->a,
		"{\"metadata\":{\"name\":\"m\",\"uid\":\"u\"},\"spec\":{\"resource\":{\"group\":\"annals.dev\",\"resource\":"
		"\"dependents\"}},"
		"\"status\":%s}",
		status)
				   .p;

	migration_read(&m, world_decode(w, MIGRATIONS, text));
	return m;
}

static struct migration_facts facts_now(void)
{
	return (struct migration_facts){.kind = dependents(), .common = version(V1), .n_total = 5, .n_others = 2};
}

/* ---- deciding ---- */

#define CONDITION(type, status) "{\"conditions\":[{\"type\":\"" type "\",\"status\":\"" status "\"}]}"

static void assert_verdict(struct api_world *w, const char *status, const struct migration_facts *f, enum migration_step step,
	const char *reason, const char *message)
{
	struct migration m = migration_of(w, status);
	struct migration_verdict v = migration_decide(&m, f, &w->a);

	assert_int_equal(v.step, step);
	assert_str(str_of(v.reason), reason);
	assert_str(v.message, message);
}

static void test_migration_decide__runs_when_all_agree(void **state)
{
	struct migration_facts f = facts_now();

	assert_verdict(*state, "{}", &f, MIGRATION_RUN, MIGRATION_REASON_RUNNING, "");
	assert_verdict(*state, "{\"storageVersion\":\"" V1 "\"}", &f, MIGRATION_RUN, MIGRATION_REASON_RUNNING, "");
	f.n_others = 0;
	assert_verdict(*state, "{}", &f, MIGRATION_RUN, MIGRATION_REASON_RUNNING, "");
	f.mode = STORAGE_MIGRATION_MANUAL;
	assert_verdict(*state, "{}", &f, MIGRATION_RUN, MIGRATION_REASON_RUNNING, "");
}

static void test_migration_decide__leaves_what_is_over(void **state)
{
	struct migration_facts f = facts_now();
	struct migration m = migration_of(*state, "{}");
	struct api_world *w = *state;

	assert_verdict(w, CONDITION("Succeeded", "True"), &f, MIGRATION_LEAVE, "", "");
	assert_verdict(w, CONDITION("Failed", "True"), &f, MIGRATION_LEAVE, "", "");
	assert_verdict(w, CONDITION("Failed", "False"), &f, MIGRATION_RUN, MIGRATION_REASON_RUNNING, "");
	m.is_deleting = true;
	assert_int_equal(migration_decide(&m, &f, &w->a).step, MIGRATION_LEAVE);
}

static void test_migration_decide__waits(void **state)
{
	struct migration_facts f = facts_now();

	f.common = NULL;
	f.disagreement = STR("a stores x, b stores y");
	assert_verdict(*state, "{}", &f, MIGRATION_WAIT, "StorageVersionsDiffer", "a stores x, b stores y");
	assert_verdict(*state, "{\"storageVersion\":\"" V1 "\"}", &f, MIGRATION_WAIT, "StorageVersionsDiffer",
		"a stores x, b stores y");
	f.mode = STORAGE_MIGRATION_OFF;
	assert_verdict(*state, "{}", &f, MIGRATION_WAIT, "MigrationOff",
		"the server whose turn it is to migrate runs with --storage-migration=Off");
}

static void test_migration_decide__fails(void **state)
{
	struct migration_facts f = facts_now(), nothing = {0};

	assert_verdict(*state, "{}", &nothing, MIGRATION_FAIL, MIGRATION_REASON_FAILED,
		"no objects of such a resource are stored here");
	assert_verdict(*state, "{\"storageVersion\":\"" BETA "\"}", &f, MIGRATION_FAIL, MIGRATION_REASON_SUPERSEDED,
		"it began to store objects in " BETA ", and now all replicas store " V1);
	f.n_unknown = 3;
	f.unknown = STR("annals.dev/v9");
	assert_verdict(*state, "{}", &f, MIGRATION_FAIL, MIGRATION_REASON_FAILED,
		"3 objects are stored in versions that this server does not know, such as annals.dev/v9: they must be migrated "
		"by a server "
		"that does");
}

static void test_migration_is_due__when_all_agree_on_another_version(void **state)
{
	struct api_world *w = *state;
	struct migration_facts f = facts_now();
	struct migration same = migration_of(w, "{\"storageVersion\":\"" V1 "\",\"completionTime\":\"2026-01-01T00:00:00Z\"}");
	struct migration other =
		migration_of(w, "{\"storageVersion\":\"" BETA "\",\"completionTime\":\"2026-01-01T00:00:00Z\"}");
	const int64_t then_s = 1767225600;

	assert_true(migration_is_due(&f, NULL, then_s));
	assert_true(migration_is_due(&f, &other, then_s + 1));
	assert_false(migration_is_due(&f, &same, then_s + MIGRATION_RETRY_S - 1));
	assert_true(migration_is_due(&f, &same, then_s + MIGRATION_RETRY_S));
	assert_true(migration_is_due(&f, &same, then_s - 1)); /* it failed where the clock was ahead */
	same.is_superseded = true;
	assert_true(migration_is_due(&f, &same, then_s + 1));
	f.n_unknown = 1;
	assert_false(migration_is_due(&f, NULL, then_s));
	f = facts_now();
	f.n_others = 0;
	assert_false(migration_is_due(&f, NULL, then_s));
	f = facts_now();
	f.common = NULL;
	assert_false(migration_is_due(&f, NULL, then_s));
	f = facts_now();
	f.mode = STORAGE_MIGRATION_MANUAL;
	assert_false(migration_is_due(&f, NULL, then_s));
	f.mode = STORAGE_MIGRATION_OFF;
	assert_false(migration_is_due(&f, NULL, then_s));
}

/* ---- saying ---- */

static void test_migration_status__of_each_state(void **state)
{
	struct api_world *w = *state;
	struct migration m = migration_of(w, "{}");
	struct migration_report r = {.state = MIGRATION_WAITING, .reason = "Because", .message = STR("of that")};

	world_assert_json(w, migration_status(&m, &r, 0, &w->a),
		"{\"conditions\":[{\"type\":\"Running\",\"status\":\"False\",\"lastTransitionTime\":\"1970-01-01T00:00:00Z\","
		"\"reason\":"
		"\"Because\",\"message\":\"of "
		"that\"}],\"objects\":{\"total\":0,\"migrated\":0,\"remaining\":0,\"conflicts\":0}}");
	r = (struct migration_report){.state = MIGRATION_RUNNING,
		.version = STR(V1),
		.n_total = 5,
		.n_migrated = 1,
		.n_remaining = 4,
		.n_conflicts = 2,
		.progress = STR("ns/a")};
	world_assert_json(w, migration_status(&m, &r, 60, &w->a),
		"{\"conditions\":[{\"type\":\"Running\",\"status\":\"True\",\"lastTransitionTime\":\"1970-01-01T00:01:00Z\","
		"\"reason\":"
		"\"StorageVersionMigrationInProgress\",\"message\":\"\"}],\"storageVersion\":\"" V1
		"\",\"objects\":{\"total\":5,\"migrated\":1,"
		"\"remaining\":4,\"conflicts\":2},\"progressKey\":\"ns/a\",\"startTime\":\"1970-01-01T00:01:00Z\"}");
	m = migration_of(w,
		"{\"startTime\":\"1970-01-01T00:00:07Z\",\"conditions\":[{\"type\":\"Running\",\"status\":\"True\","
		"\"lastTransitionTime\":"
		"\"1970-01-01T00:00:07Z\"}]}");
	r.state = MIGRATION_FAILED;
	r.message = STR("too bad");
	world_assert_json(w, migration_status(&m, &r, 60, &w->a),
		"{\"conditions\":[{\"type\":\"Running\",\"status\":\"False\",\"lastTransitionTime\":\"1970-01-01T00:01:00Z\","
		"\"reason\":"
		"\"StorageVersionMigrationFailed\",\"message\":\"too "
		"bad\"},{\"type\":\"Failed\",\"status\":\"True\",\"lastTransitionTime\":"
		"\"1970-01-01T00:01:00Z\",\"reason\":\"StorageVersionMigrationFailed\",\"message\":\"too "
		"bad\"}],\"storageVersion\":\"" V1 "\",\"objects\":{\"total\":5,\"migrated\":1,\"remaining\":4,\"conflicts\":2}"
						   ",\"startTime\":\"1970-01-01T00:00:07Z\","
		"\"completionTime\":\"1970-01-01T00:01:00Z\"}");
}

static void test_condition__keeps_its_time_while_the_status_is_the_same(void **state)
{
	struct api_world *w = *state;
	struct json *list = json_array(&w->a);

	json_append(&w->a, list, condition_new(NULL, "Running", true, "A", STR(""), 1, &w->a));
	assert_str(json_text(json_gets(condition_new(list, "Running", true, "B", STR("b"), 2, &w->a), "lastTransitionTime")),
		"1970-01-01T00:00:01Z");
	assert_str(json_text(json_gets(condition_new(list, "Running", false, "B", STR("b"), 2, &w->a), "lastTransitionTime")),
		"1970-01-01T00:00:02Z");
}

/* ---- views ---- */

struct replica {
	const char *id, *encodes; /* NULL: does not know the kind; "": takes no part in it */
	const char *problem;
	int64_t mod_revision;
};

static struct agreement_view *view_of(struct api_world *w, const struct replica *replicas, size_t n)
{
	static const struct str versions[] = {{V1, sizeof(V1) - 1}, {BETA, sizeof(BETA) - 1}};
	struct agreement_view *v = arena_new(&w->a, struct agreement_view);
	struct agreement_replica *all = arena_array(&w->a, struct agreement_replica, n);

	for (size_t i = 0; i < n; i++) {
		struct agreement_version *by_kind = arena_array(&w->a, struct agreement_version, KIND_COUNT_MAX);
		if (replicas[i].encodes) {
			by_kind[dependents()->index] = (struct agreement_version){.encodes = str_of(replicas[i].encodes),
				.wants = STR(V1),
				.decodes = versions,
				.n_decodes = 2,
				.serves = versions,
				.n_serves = 1};
		}
		all[i] = (struct agreement_replica){.id = str_of(replicas[i].id),
			.address = STR("h:1"),
			.problem = str_of(replicas[i].problem),
			.mod_revision = replicas[i].mod_revision,
			.lease = 1,
			.versions = by_kind};
	}
	v->revision = 7;
	v->replicas = all;
	v->n_replicas = n;
	return v;
}

static void test_view_common__is_what_all_who_write_it_write(void **state)
{
	static const struct {
		struct replica replicas[3];
		size_t n;
		const char *common;
	} rows[] = {
		{{{.id = "a", .encodes = V1}}, 1, V1},
		{{{.id = "a", .encodes = V1}, {.id = "b", .encodes = V1}}, 2, V1},
		{{{.id = "a", .encodes = V1}, {.id = "b", .encodes = BETA}}, 2, NULL},
		{{{.id = "a", .encodes = V1}, {.id = "b"}, {.id = "c", .encodes = ""}}, 3, V1},
		{{{.id = "a", .encodes = V1}, {.id = "b", .problem = "it is no JSON"}}, 2, NULL},
		{{{.id = "a", .encodes = ""}}, 1, NULL},
		{{{.id = "a", .encodes = "annals.dev/v9"}}, 1, NULL},
		{{{0}}, 0, NULL},
	};
	struct api_world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct agreement_view *v = view_of(w, rows[i].replicas, rows[i].n);
		const struct version *expected = rows[i].common ? version(rows[i].common) : NULL;
		assert_ptr_equal(view_common(v, dependents()), expected);
		v->is_overfull = true;
		assert_null(view_common(v, dependents()));
	}
}

static void test_view_disagreement__names_who_stores_what(void **state)
{
	static const struct replica replicas[] = {{.id = "a", .encodes = V1}, {.id = "b", .encodes = BETA}, {.id = "c"},
		{.id = "d", .encodes = ""}, {.id = "e", .problem = "it is odd"}};
	struct api_world *w = *state;

	assert_str(view_disagreement(view_of(w, replicas, ARRAY_SIZE(replicas)), dependents(), &w->a),
		"replica a (h:1) stores annals.dev/v1, replica b (h:1) stores annals.dev/v1beta1, replica d (h:1) stores none, "
		"replica e (h:1) "
		"cannot be understood: it is odd");
	assert_str(view_disagreement(view_of(w, NULL, 0), dependents(), &w->a), "no server is registered");
}

/* Our own registration, made at 9, in a view of the others as of 7. */
static void test_view_revision__is_that_of_the_newest_registration(void **state)
{
	static const struct replica replicas[] = {{.id = "a", .mod_revision = 9}, {.id = "b", .mod_revision = 3}};

	assert_int_equal(view_revision(view_of(*state, replicas, 2)), 9);
	assert_int_equal(view_revision(view_of(*state, replicas + 1, 1)), 7);
}

/* ---- StorageVersions ---- */

#define SERVER(id, more)                                                                                    \
	"{\"apiServerID\":\"" id "\",\"address\":\"h:1\"," more "\"decodableVersions\":[\"" V1 "\",\"" BETA \
	"\"],\"servedVersions\":[\"" V1 "\"]}"

static void test_version_status__shows_replicas_and_objects(void **state)
{
	static const struct replica replicas[] = {{.id = "a", .encodes = V1}, {.id = "b", .encodes = BETA}, {.id = "c"}};
	struct api_world *w = *state;
	struct cache_census census = {.stored = {3, 0}, .n_unknown = 2, .unknown_version = "annals.dev/v9"};
	struct agreement_view *v = view_of(w, replicas, 3);

	world_assert_json(w, version_status(v, dependents(), NULL, &census, NULL, 60, &w->a),
		"{\"storageVersions\":[" SERVER("a", "\"encodingVersion\":\"" V1 "\",") "," SERVER("b",
			"\"encodingVersion\":\"" BETA "\",\"wantedVersion\":\"" V1
			"\",") "],\"storedObjects\":[{\"version\":\"" V1
			       "\",\"count\":3},{\"version\":\"annals.dev/"
			       "v9\",\"count\":2}],\"conditions\":[{\"type\":\"AllEncodingVersionsEqual\",\"status\":"
			       "\"False\",\"lastTransitionTime\":\"1970-01-01T00:01:00Z\",\"reason\":"
			       "\"CommonEncodingVersionUnset\",\"message\":\"Common "
			       "encoding version unset\"}]}");
}

static struct str since(const struct json *status)
{
	return json_text(json_gets(json_gets(status, "conditions")->items[0], "lastTransitionTime"));
}

static void test_version_status__is_news_when_versions_change(void **state)
{
	static const struct replica replicas[] = {{.id = "a", .encodes = V1}};
	struct api_world *w = *state;
	struct cache_census few = {.stored = {3, 0}}, many = {.stored = {4, 0}};
	struct agreement_view *v = view_of(w, replicas, 1);
	struct json *old = version_status(v, dependents(), version(V1), &few, NULL, 1, &w->a);
	struct json *same = version_status(v, dependents(), version(V1), &few, old, 2, &w->a);
	struct json *more = version_status(v, dependents(), version(V1), &many, old, 2, &w->a);
	struct json *other = version_status(v, dependents(), version(BETA), &few, old, 2, &w->a);

	assert_str(json_text(json_gets(old, "commonEncodingVersion")), V1);
	assert_int_equal(json_text(json_gets(old, "storageVersionHash")).n, 12);
	assert_true(json_equal(old, same));
	assert_false(version_status_is_news(same, old));
	assert_false(json_equal(old, more));
	assert_false(version_status_is_news(more, old));
	assert_true(version_status_is_news(other, old));
	assert_str(since(same), "1970-01-01T00:00:01Z");
	assert_str(since(other), "1970-01-01T00:00:02Z");
}

static void test_census__counts_others(void **state _unused_)
{
	const struct cache_census c = {.stored = {3, 4}, .n_unknown = 2, .n_unreadable = 1};

	assert_int_equal(census_total(&c, dependents()), 9);
	assert_int_equal(census_others(&c, dependents(), version(V1)), 6);
	assert_int_equal(census_others(&c, dependents(), version(BETA)), 5);
}

static void test_kind_has_version__where_it_is_stored_and_served(void **state _unused_)
{
	assert_true(kind_has_version(dependents(), false));
	assert_false(kind_has_version(kind_by_hub(STR("annals.dev"), STR("snapshots")), true));
	assert_true(kind_has_version(kind_by_hub(STR(""), STR("namespaces")), true));
	assert_false(kind_has_version(kind_by_hub(STR(""), STR("namespaces")), false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(test_migration_decide__runs_when_all_agree),
		API_TEST(test_migration_decide__leaves_what_is_over),
		API_TEST(test_migration_decide__waits),
		API_TEST(test_migration_decide__fails),
		API_TEST(test_migration_is_due__when_all_agree_on_another_version),
		API_TEST(test_migration_status__of_each_state),
		API_TEST(test_condition__keeps_its_time_while_the_status_is_the_same),
		API_TEST(test_view_common__is_what_all_who_write_it_write),
		API_TEST(test_view_disagreement__names_who_stores_what),
		API_TEST(test_view_revision__is_that_of_the_newest_registration),
		API_TEST(test_version_status__shows_replicas_and_objects),
		API_TEST(test_version_status__is_news_when_versions_change),
		API_TEST(test_census__counts_others),
		API_TEST(test_kind_has_version__where_it_is_stored_and_served),
	};
	return cmocka_run_group_tests_name("migration_plan", tests, NULL, NULL);
}
