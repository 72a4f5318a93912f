/* A whole migrator: a real cache and a real agreement over the store in memory. */
#include "storage/engine/migrator_private.h"
#include "tests/double/fault.h"
#include "tests/unit/migration_world.h"

#include <sched.h>

#define DEPENDENT "{\"spec\":{\"providers\":[{\"kind\":\"Provider\",\"name\":\"p\"}]}}"
#define TWO_PROVIDERS \
	"{\"spec\":{\"providers\":[{\"kind\":\"Provider\",\"name\":\"p\"},{\"kind\":\"Provider\",\"name\":\"q\"}]}}"
#define MIGRATE_DEPENDENTS "{\"spec\":{\"resource\":{\"group\":\"annals.dev\",\"resource\":\"dependents\"}}}"

static int setup(void **state)
{
	*state = storage_memory_new();
	return 0;
}

static int teardown(void **state)
{
	*state = storage_free(*state);
	return 0;
}

/* ---- wells: deeper in the hub's form than in v1beta1 ---- */

#define WELLS_PATH "wells.example.com/v1/wells"

static const struct type type_anything = {.kind = TYPE_RAW};

static const struct field well_fields[] = {
	OBJECT_FIELDS,
	{"spec", &type_anything, 0, "What is under it.", NULL, NULL},
	{0},
};

static const struct type well_type = {
	.kind = TYPE_OBJECT,
	.definition = "com.example.wells.v1.Well",
	.go_type = "v1.Well",
	.doc = "Something deep.",
	.fields = well_fields,
};

static struct json *well_from_hub(const struct json *hub, struct arena *a)
{
	struct json *shown = json_copy(a, hub), *ground = json_gets(json_gets(hub, "spec"), "ground");

	json_set(a, shown, STR("spec"), ground ? ground : json_object(a));
	return shown;
}

static struct json *well_to_hub(const struct json *sent, const struct json *stored _unused_, struct arena *a)
{
	struct json *hub = json_copy(a, sent), *spec = json_object(a);

	json_add(a, spec, STR("ground"), json_gets(sent, "spec"));
	json_set(a, hub, STR("spec"), spec);
	return hub;
}

static const struct version well_versions[] = {
	{.group = "wells.example.com", .name = "v1", .definition = "com.example.wells.v1.Well"},
	{.group = "wells.example.com",
		.name = "v1beta1",
		.definition = "com.example.wells.v1beta1.Well",
		.type = &well_type,
		.from_hub = well_from_hub,
		.to_hub = well_to_hub},
};

static const struct column well_columns[] = {COLUMN_NAME, COLUMN_AGE};

static struct kind wells = {
	.kind = "Well",
	.list_kind = "WellList",
	.resource = "wells",
	.singular = "well",
	.verbs = VERBS_ALL,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.unconditional_update = true,
	.versions = well_versions,
	.n_versions = ARRAY_SIZE(well_versions),
	.type = &well_type,
	.doc = "Something deep.",
	.columns = well_columns,
	.n_columns = ARRAY_SIZE(well_columns),
};
KIND_REGISTER(wells)

#define MIGRATOR_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static void store_dependents(struct world *w, const char *version, int from, int to)
{
	for (int i = from; i < to; i++) {
		char name[32];
		snprintf(name, sizeof(name), "ns/d%04d", i);
		world_store(w, DEPENDENTS_PATH, version, name, i % 2 ? DEPENDENT : TWO_PROVIDERS, 0);
	}
}

static struct world_stored dependent(struct world *w, int i)
{
	struct world_stored stored;
	char name[32];

	snprintf(name, sizeof(name), "ns/d%04d", i);
	assert_true(world_stored(w, DEPENDENTS_PATH, name, &stored));
	return stored;
}

static void assert_versions(struct world *w, int from, int to, const char *version)
{
	for (int i = from; i < to; i++) {
		assert_str(dependent(w, i).version, version);
	}
}

static int64_t count_of(struct world *w, const char *migration, const char *name)
{
	const struct json *status = json_gets(world_fields(w, MIGRATIONS_PATH, migration), "status");

	return member_int(json_gets(status, "objects"), name);
}

static void test_migrator__rewrites_what_is_stored_otherwise(void **state)
{
	struct world *w = world_new(*state, NULL);

	store_dependents(w, "v1beta1", 0, 100);
	store_dependents(w, "v1", 100, 110);
	struct world_stored old = dependent(w, 0), untouched = dependent(w, 105);
	world_migrate(w, STORAGE_MIGRATION_AUTO, 0);
	const char *name = world_await_state(w, "dependents", "Succeeded");
	assert_versions(w, 0, 110, "annals.dev/v1");
	assert_int_equal(dependent(w, 105).mod_revision, untouched.mod_revision);
	assert_int_equal(count_of(w, name, "migrated"), 100);
	assert_int_equal(count_of(w, name, "total"), 110);
	assert_int_equal(count_of(w, name, "remaining"), 0);
	assert_int_equal(count_of(w, name, "conflicts"), 0);
	assert_str(member_text(world_condition(w, name, "Succeeded"), "reason"), "StorageVersionMigrationSucceeded");
	assert_str(member_text(world_condition(w, name, "Running"), "status"), "False");

	const struct kind *k = kind_by_hub(STR("annals.dev"), STR("dependents"));
	struct object *before, *after;
	assert_int_equal(object_decode_stored(&before, k, old.value, 1, &w->a), 0);
	assert_int_equal(object_decode_stored(&after, k, dependent(w, 0).value, 1, &w->a), 0);
	assert_true(object_equal(before, after));
	assert_int_equal(member_count(object_spec(after), "providers"), 2);
	world_free(w);
}

/* ---- StorageVersions ---- */

static size_t n_stored_kinds(void)
{
	size_t n = 0;

	for (size_t i = 0; i < kind_count(); i++) {
		n += !kind_at(i)->extension;
	}
	return n;
}

static struct json *version_status_of(struct world *w, const char *name)
{
	return json_gets(world_fields(w, VERSIONS_PATH, name), "status");
}

static bool says_all_are_v1(struct world *w, const void *ctx _unused_)
{
	const struct json *stored = json_gets(version_status_of(w, "dependents.annals.dev"), "storedObjects");

	return member_count(version_status_of(w, "dependents.annals.dev"), "storedObjects") == 1 &&
		member_int(list_item(stored, 0), "count") == 10;
}

static void test_migrator__says_what_is_stored(void **state)
{
	struct world *w = world_new(*state, NULL);

	store_dependents(w, "v1beta1", 0, 10);
	world_migrate(w, STORAGE_MIGRATION_AUTO, 0);
	world_await_state(w, "dependents", "Succeeded");
	world_await(w, says_all_are_v1, NULL);
	assert_int_equal(world_count(w, VERSIONS_PATH), n_stored_kinds());
	const struct json *status = version_status_of(w, "dependents.annals.dev");
	const struct json *server = list_item(json_gets(status, "storageVersions"), 0);
	assert_str(member_text(status, "commonEncodingVersion"), "annals.dev/v1");
	assert_int_equal(member_text(status, "storageVersionHash").n, 12);
	assert_true(str_eq(member_text(server, "apiServerID"), agreement_id(w->agreement)));
	assert_str(member_text(server, "encodingVersion"), "annals.dev/v1");
	assert_null(json_gets(server, "wantedVersion"));
	assert_int_equal(member_count(server, "decodableVersions"), 2);
	const struct json *condition = list_item(json_gets(status, "conditions"), 0);
	assert_str(member_text(condition, "type"), "AllEncodingVersionsEqual");
	assert_str(member_text(condition, "status"), "True");
	assert_str(member_text(condition, "reason"), "CommonEncodingVersionSet");
	world_free(w);
}

static bool lacks_toys(struct world *w, const void *ctx _unused_)
{
	return !world_fields(w, VERSIONS_PATH, "toys.example.com") && world_count(w, VERSIONS_PATH) == n_stored_kinds() + 1;
}

/* Of kinds that no live server knows; another one's are left alone. */
static bool is_reported(struct world *w, const void *ctx _unused_)
{
	return version_status_of(w, "dependents.annals.dev") != NULL;
}

/* Though numbers are otherwise written hours apart. */
static void test_migrator__says_soon_that_the_first_objects_have_come(void **state)
{
	struct world *w = world_new(*state, NULL);

	w->report_ms = INT64_C(3600000);
	world_migrate(w, STORAGE_MIGRATION_AUTO, 0);
	world_await(w, is_reported, NULL);
	assert_int_equal(member_count(version_status_of(w, "dependents.annals.dev"), "storedObjects"), 0);
	store_dependents(w, "v1", 0, 10);
	world_await(w, says_all_are_v1, NULL);
	world_free(w);
}

static void test_migrator__removes_versions_of_lost_kinds(void **state)
{
	struct world *w = world_new(*state, NULL);
	char alive[512];

	snprintf(alive, sizeof(alive), "{\"status\":{\"storageVersions\":[{\"apiServerID\":\"" STR_FMT "\"}]}}",
		STR_ARG(agreement_id(w->agreement)));
	world_store(w, VERSIONS_PATH, "v1", "toys.example.com",
		"{\"status\":{\"storageVersions\":[{\"apiServerID\":\"gone\"}]}}", 0);
	world_store(w, VERSIONS_PATH, "v1", "games.example.com", alive, 0);
	world_migrate(w, STORAGE_MIGRATION_OFF, 0);
	world_await(w, lacks_toys, NULL);
	assert_non_null(world_fields(w, VERSIONS_PATH, "games.example.com"));
	world_free(w);
}

/* ---- modes ---- */

static bool has_all_versions(struct world *w, const void *ctx _unused_)
{
	return world_count(w, VERSIONS_PATH) == n_stored_kinds();
}

static void test_migrator__manual_waits_to_be_asked(void **state)
{
	struct world *w = world_new(*state, NULL);

	store_dependents(w, "v1beta1", 0, 10);
	world_migrate(w, STORAGE_MIGRATION_MANUAL, 0);
	world_await(w, has_all_versions, NULL);
	assert_int_equal(world_count(w, MIGRATIONS_PATH), 0);
	assert_versions(w, 0, 10, "annals.dev/v1beta1");
	world_store(w, MIGRATIONS_PATH, "v1", "mine", MIGRATE_DEPENDENTS, 0);
	assert_string_equal(world_await_state(w, "dependents", "Succeeded"), "mine");
	assert_versions(w, 0, 10, "annals.dev/v1");
	assert_int_equal(count_of(w, "mine", "migrated"), 10);
	world_free(w);
}

static void test_migrator__off_says_so(void **state)
{
	struct world *w = world_new(*state, NULL);

	store_dependents(w, "v1beta1", 0, 10);
	world_migrate(w, STORAGE_MIGRATION_OFF, 0);
	world_await(w, has_all_versions, NULL);
	world_store(w, MIGRATIONS_PATH, "v1", "mine", MIGRATE_DEPENDENTS, 0);
	world_await_state(w, "dependents", "Waiting");
	assert_str(member_text(world_condition(w, "mine", "Running"), "reason"), "MigrationOff");
	assert_versions(w, 0, 10, "annals.dev/v1beta1");
	world_free(w);
}

/* Until the thread has made that many rounds more; how often it has looked at everything meanwhile. */
static uint64_t looks_in_rounds(struct world *w, uint64_t n_rounds)
{
	struct migration_counts *c = &w->migrator->counts;
	uint64_t n_looks = c->n_looks, until = c->n_rounds + n_rounds;

	while (c->n_rounds < until) {
		sched_yield();
	}
	return c->n_looks - n_looks;
}

static bool has_five_versions(struct world *w, const void *ctx _unused_)
{
	struct json *fields = world_fields(w, VERSIONS_PATH, "dependents.annals.dev");
	const struct json *stored = list_item(json_gets(json_gets(fields, "status"), "storedObjects"), 0);

	return member_int(stored, "count") == 5;
}

static void test_migrator__off_looks_only_when_something_was_written(void **state)
{
	struct world *w = world_new(*state, NULL);
	int n_tries = 0;

	store_dependents(w, "v1", 0, 4);
	world_migrate(w, STORAGE_MIGRATION_OFF, 0);
	world_await(w, has_all_versions, NULL);
	while (looks_in_rounds(w, 20) > 0) {
		assert_true(++n_tries < 20); /* its own first writes are news, too */
	}
	assert_int_equal(looks_in_rounds(w, 5), 0);
	store_dependents(w, "v1", 4, 5);
	world_await(w, has_five_versions, NULL);
	world_free(w);
}

/* ---- what cannot be done ---- */

static void test_migrator__leaves_unknown_versions_to_who_knows_them(void **state)
{
	struct world *w = world_new(*state, NULL);

	store_dependents(w, "v1beta1", 0, 10);
	world_put(w, DEPENDENTS_PATH, "ns/newer",
		"{\"kind\":\"Dependent\",\"apiVersion\":\"annals.dev/"
		"v9\",\"metadata\":{\"name\":\"newer\",\"namespace\":\"ns\",\"uid\":\"u\"}}");
	world_migrate(w, STORAGE_MIGRATION_AUTO, 0);
	world_await(w, has_all_versions, NULL);
	assert_int_equal(world_count(w, MIGRATIONS_PATH), 0);
	world_store(w, MIGRATIONS_PATH, "v1", "mine", MIGRATE_DEPENDENTS, 0);
	world_await_state(w, "dependents", "Failed");
	assert_str(member_text(world_condition(w, "mine", "Failed"), "message"),
		"1 objects are stored in versions that this server does not know, such as annals.dev/v9: they must be migrated "
		"by a server "
		"that does");
	assert_versions(w, 0, 10, "annals.dev/v1beta1");
	world_free(w);
}

static void store_padded(struct world *w, const char *name, size_t n)
{
	char *padding = mem_zalloc(n + 1);

	memset(padding, 'x', n);
	world_store(w, DEPENDENTS_PATH, "v1beta1", name,
		arena_printf(&w->a,
			"{\"metadata\":{\"annotations\":{\"a\":\"%s\"}},\"spec\":{\"providers\":[{\"name\":\"p\"}]}}", padding)
			.p,
		0);
	mem_free(padding);
}

/* As large as etcd takes it; with what a migration asks in the same transaction it is too large. */
static void store_large(struct world *w, const char *name)
{
	enum { REQUEST_MAX = 3 << 19 };
	struct world_stored small;

	store_padded(w, name, 1);
	assert_true(world_stored(w, DEPENDENTS_PATH, name, &small));
	store_padded(w, name,
		REQUEST_MAX - small.value.n + 1 - strlen(WORLD_PREFIX "/objects/annals.dev/dependents/") - strlen(name));
}

static void test_migrator__names_what_is_too_large(void **state)
{
	struct world *w = world_new(*state, NULL);
	struct world_stored stored;

	store_dependents(w, "v1beta1", 0, 10);
	store_large(w, "ns/d0004-large");
	world_migrate(w, STORAGE_MIGRATION_AUTO, 0);
	const char *name = world_await_state(w, "dependents", "Failed");
	assert_str(member_text(world_condition(w, name, "Failed"), "message"),
		"1 objects are too large to be written again, such as ns/d0004-large");
	assert_versions(w, 0, 10, "annals.dev/v1");
	assert_true(world_stored(w, DEPENDENTS_PATH, "ns/d0004-large", &stored));
	assert_str(stored.version, "annals.dev/v1beta1");
	assert_int_equal(count_of(w, name, "migrated"), 10);
	assert_int_equal(count_of(w, name, "remaining"), 1);
	world_free(w);
}

/* Stored as deep as may be, and deeper in the hub's form: it is served, and cannot be read back from the cache. */
static void store_too_deep(struct world *w, const char *name)
{
	enum { DEPTH = 513 - 2 };
	char *open = mem_zalloc(DEPTH + 1), *close = mem_zalloc(DEPTH + 1);

	memset(open, '[', DEPTH);
	memset(close, ']', DEPTH);
	world_put(w, WELLS_PATH, name,
		arena_printf(&w->a,
			"{\"kind\":\"Well\",\"apiVersion\":\"wells.example.com/v1beta1\",\"metadata\":{\"name\":\"%s\",\"uid\":\"u\"},"
			"\"spec\":{\"water\":%s%s}}",
			name, open, close)
			.p);
	mem_free(open);
	mem_free(close);
}

static void test_migrator__names_what_cannot_be_encoded(void **state)
{
	struct world *w = world_new(*state, NULL);
	struct world_stored stored;

	world_store(w, WELLS_PATH, "v1beta1", "a-shallow", "{\"spec\":{\"ground\":{\"water\":[]}}}", 0);
	store_too_deep(w, "b-deep");
	store_too_deep(w, "c-deep");
	world_migrate(w, STORAGE_MIGRATION_AUTO, 0);
	const char *name = world_await_state(w, "wells", "Failed");
	assert_str(member_text(world_condition(w, name, "Failed"), "message"),
		"2 objects cannot be encoded in another version, such as b-deep");
	assert_true(world_stored(w, WELLS_PATH, "a-shallow", &stored));
	assert_str(stored.version, "wells.example.com/v1");
	assert_int_equal(count_of(w, name, "migrated"), 1);
	assert_int_equal(count_of(w, name, "remaining"), 2);
	world_free(w);
}

/* ---- one after another ---- */

/* A server has died in the middle: what its StorageMigration says is where the next one begins. */
static void test_migrator__goes_on_where_another_stopped(void **state)
{
	struct world *w = world_new(*state, NULL);

	store_dependents(w, "v1beta1", 0, 200);
	world_store(w, MIGRATIONS_PATH, "v1", "mine",
		"{\"spec\":{\"resource\":{\"group\":\"annals.dev\",\"resource\":\"dependents\"}},\"status\":{\"conditions\":[{"
		"\"type\":"
		"\"Running\",\"status\":\"True\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\",\"reason\":\"x\",\"message\":"
		"\"\"}],"
		"\"storageVersion\":\"annals.dev/v1\",\"objects\":{\"migrated\":7},\"startTime\":\"2026-01-01T00:00:00Z\","
		"\"progressKey\":\"ns/d0099\"}}",
		0);
	world_migrate(w, STORAGE_MIGRATION_AUTO, 0);
	assert_string_equal(world_await_state(w, "dependents", "Succeeded"), "mine");
	assert_versions(w, 0, 200, "annals.dev/v1");
	assert_true(dependent(w, 100).mod_revision < dependent(w, 0).mod_revision);
	assert_true(dependent(w, 199).mod_revision < dependent(w, 0).mod_revision);
	assert_int_equal(count_of(w, "mine", "migrated"), 207);
	assert_str(member_text(json_gets(world_fields(w, MIGRATIONS_PATH, "mine"), "status"), "startTime"),
		"2026-01-01T00:00:00Z");
	world_free(w);
}

static bool has_said(struct world *w, const void *text)
{
	pthread_mutex_lock(&w->lock);
	bool has_said = strstr(w->notices, text) != NULL;
	pthread_mutex_unlock(&w->lock);
	return has_said;
}

static bool has_taken_turn(struct world *w, const void *ctx _unused_)
{
	return has_said(w, "turn to migrate");
}

static void test_migrator__stops_with_its_migration(void **state)
{
	struct world *w = world_new(*state, NULL);

	store_dependents(w, "v1beta1", 0, 100);
	world_migrate(w, STORAGE_MIGRATION_MANUAL, 2);
	world_store(w, MIGRATIONS_PATH, "v1", "mine", MIGRATE_DEPENDENTS, 0);
	world_await_state(w, "dependents", "Running");
	world_remove(w, MIGRATIONS_PATH, "mine");
	world_await(w, has_said, "StorageMigration mine is not wanted any more");
	assert_str(dependent(w, 99).version, "annals.dev/v1beta1");
	assert_int_equal(world_count(w, MIGRATIONS_PATH), 0);
	world_free(w);
}

/* What somebody's finalizer keeps is not under way. */
static void test_migrator__does_not_wait_for_what_is_being_deleted(void **state)
{
	struct world *w = world_new(*state, NULL);

	store_dependents(w, "v1beta1", 0, 10);
	world_store(w, MIGRATIONS_PATH, "v1", "kept",
		"{\"metadata\":{\"deletionTimestamp\":\"2026-01-01T00:00:00Z\",\"deletionGracePeriodSeconds\":0,"
		"\"finalizers\":[\"example.com/look\"]},"
		"\"spec\":{\"resource\":{\"group\":\"annals.dev\",\"resource\":\"dependents\"}}}",
		0);
	world_migrate(w, STORAGE_MIGRATION_AUTO, 0);
	assert_string_not_equal(world_await_state(w, "dependents", "Succeeded"), "kept");
	assert_versions(w, 0, 10, "annals.dev/v1");
	assert_int_equal(world_count(w, MIGRATIONS_PATH), 2);
	world_free(w);
}

static void *stop(void *migrator)
{
	return migrator_free(migrator);
}

/* It may be the first of very many that it was about to write, each of which etcd may be waited for in vain. */
static void test_migrator__stops_behind_what_it_writes(void **state _unused_)
{
	enum { MIGRATIONS = 3, TAKES_ITS_TURN = 1 };
	struct storage *fault = storage_fault_new(storage_memory_new());
	struct world *w = world_new(fault, NULL);
	unsigned n_told = 0;
	pthread_t stopper;

	for (int i = 0; i < MIGRATIONS; i++) {
		char name[32];
		snprintf(name, sizeof(name), "m%d", i);
		world_store(w, MIGRATIONS_PATH, "v1", name, MIGRATE_DEPENDENTS, 0);
	}
	storage_fault_arm(fault, FAULT_DELAY, TAKES_ITS_TURN + 1);
	world_migrate(w, STORAGE_MIGRATION_OFF, 0);
	while (!storage_fault_has_fired(fault)) {
		sched_yield();
	}
	struct migrator *m = take_ptr(w->migrator);
	assert_int_equal(pthread_create(&stopper, NULL, stop, m), 0);
	while (!migrator_is_stopping(m)) {
		sched_yield();
	}
	storage_fault_release(fault);
	pthread_join(stopper, NULL);
	for (int i = 0; i < MIGRATIONS; i++) {
		struct world_stored stored;
		char name[32];
		snprintf(name, sizeof(name), "m%d", i);
		assert_true(world_stored(w, MIGRATIONS_PATH, name, &stored));
		n_told += str_contains(stored.value, STR("MigrationOff"));
	}
	assert_int_equal(n_told, 1);
	world_free(w);
	storage_free(fault);
}

static bool can_read_dependents(struct world *w, const void *ctx _unused_)
{
	return agreement_can_read(w->agreement, kind_by_hub(STR("annals.dev"), STR("dependents")), NULL);
}

static bool cannot_read_dependents(struct world *w, const void *ctx)
{
	return !can_read_dependents(w, ctx);
}

/* One that is newer writes what this one cannot decode. */
static void test_migrator__leaves_its_turn_to_who_can_read(void **state)
{
	struct world *w = world_new(*state, NULL);
	struct storage_lease lease = {.ttl_s = 3600};
	struct storage_range lock = {.key = STR(WORLD_PREFIX "/migrator")};
	struct storage_step join = {.kind = STEP_PUT,
		.key = STR(WORLD_PREFIX "/replicas/newer"),
		.value = STR("{\"address\":\"there:1\",\"kinds\":{\"dependents.annals.dev\":{\"encodes\":\"annals.dev/"
			     "v9\",\"wants\":"
			     "\"annals.dev/v9\",\"decodes\":[\"annals.dev/v9\"],\"serves\":[\"annals.dev/v9\"]}}}")};

	world_migrate(w, STORAGE_MIGRATION_AUTO, 0);
	world_await(w, has_taken_turn, NULL);
	assert_int_equal(storage_lease_grant_wait(w->storage, &lease), STORAGE_OK);
	join.lease = lease.id;
	world_step(w, join);
	world_await(w, cannot_read_dependents, NULL);
	do {
		storage_op_clear(&lock.op);
		assert_int_equal(storage_range_wait(w->storage, &lock), STORAGE_OK);
	} while (lock.n_kvs > 0);
	storage_op_clear(&lock.op);
	pthread_mutex_lock(&w->lock);
	w->notices[0] = 0;
	pthread_mutex_unlock(&w->lock);
	world_step(w, (struct storage_step){.kind = STEP_DELETE, .key = join.key});
	world_await(w, can_read_dependents, NULL);
	world_await(w, has_taken_turn, NULL);
	storage_op_clear(&lease.op);
	world_free(w);
}

static bool has_two_migrations(struct world *w, const void *ctx _unused_)
{
	return world_count(w, MIGRATIONS_PATH) == 2;
}

static void test_migrator__one_migrates_at_a_time(void **state)
{
	struct world *first = world_new(*state, NULL), *second = world_new(*state, NULL);

	world_migrate(first, STORAGE_MIGRATION_AUTO, 0);
	world_await(first, has_taken_turn, NULL);
	world_migrate(second, STORAGE_MIGRATION_AUTO, 0);
	store_dependents(first, "v1beta1", 0, 10);
	world_await_state(second, "dependents", "Succeeded");
	assert_false(has_taken_turn(second, NULL));
	first = world_free(first);
	world_await(second, has_taken_turn, NULL);
	store_dependents(second, "v1beta1", 20, 30);
	world_await(second, has_two_migrations, NULL);
	world_await_state(second, "dependents", "Succeeded");
	assert_versions(second, 20, 30, "annals.dev/v1");
	world_free(second);
}

static void test_migrator__waits_for_agreement(void **state)
{
	struct world *new = world_new(*state, NULL), *old;

	store_dependents(new, "v1beta1", 0, 10);
	old = world_new(*state, "dependents=v1beta1");
	world_migrate(new, STORAGE_MIGRATION_AUTO, 0);
	world_await(new, has_all_versions, NULL);
	assert_int_equal(world_count(new, MIGRATIONS_PATH), 0);
	world_store(new, MIGRATIONS_PATH, "v1", "mine", MIGRATE_DEPENDENTS, 0);
	world_await_state(new, "dependents", "Waiting");
	const struct json *running = world_condition(new, "mine", "Running");
	assert_str(member_text(running, "reason"), "StorageVersionsDiffer");
	assert_true(str_contains(member_text(running, "message"), agreement_id(old->agreement)));
	assert_true(str_contains(member_text(running, "message"), STR("stores annals.dev/v1beta1")));
	const struct json *status = version_status_of(new, "dependents.annals.dev");
	assert_null(json_gets(status, "commonEncodingVersion"));
	assert_int_equal(member_count(status, "storageVersions"), 2);
	assert_versions(new, 0, 10, "annals.dev/v1beta1");
	world_free(old);
	world_await_state(new, "dependents", "Succeeded");
	assert_versions(new, 0, 10, "annals.dev/v1");
	world_free(new);
}

/* ---- leases ---- */

static void test_migrator__objects_keep_their_lease(void **state)
{
	struct world *w = world_new(*state, NULL);
	struct storage_lease lease = {.ttl_s = 3600};
	struct world_stored stored;

	assert_int_equal(storage_lease_grant_wait(w->storage, &lease), STORAGE_OK);
	world_store(w, "/v1/events", "v1", "ns/plain", "{\"involvedObject\":{\"namespace\":\"ns\"}}", 0);
	world_store(w, "/v1/events", "v1", "ns/leased", "{\"involvedObject\":{\"namespace\":\"ns\"}}", lease.id);
	w = world_free(w);
	w = world_new(*state, "events=events.k8s.io/v1");
	world_migrate(w, STORAGE_MIGRATION_AUTO, 0);
	world_await_state(w, "events", "Succeeded");
	assert_true(world_stored(w, "/v1/events", "ns/leased", &stored));
	assert_str(stored.version, "events.k8s.io/v1");
	assert_int_equal(stored.lease, lease.id);
	assert_true(world_stored(w, "/v1/events", "ns/plain", &stored));
	assert_str(stored.version, "events.k8s.io/v1");
	assert_int_equal(stored.lease, 0);
	world_free(w);
	storage_op_clear(&lease.op);
}

/* ---- how many are kept ---- */

static bool has_kept_five(struct world *w, const void *ctx _unused_)
{
	return world_count(w, MIGRATIONS_PATH) == 6 && !world_fields(w, MIGRATIONS_PATH, "dependents.annals.dev-0");
}

static void test_migrator__keeps_the_last_five(void **state)
{
	struct world *w = world_new(*state, NULL);

	world_store(w, MIGRATIONS_PATH, "v1", "mine", MIGRATE_DEPENDENTS, 0);
	for (int i = 0; i < 7; i++) {
		char name[64];
		snprintf(name, sizeof(name), "dependents.annals.dev-%d", i);
		world_store(w, MIGRATIONS_PATH, "v1", name,
			"{\"metadata\":{\"labels\":{\"annals.dev/"
			"storage-migration\":\"Auto\"}},\"spec\":{\"resource\":{\"group\":"
			"\"annals.dev\",\"resource\":\"dependents\"}},\"status\":{\"conditions\":[{\"type\":\"Succeeded\","
			"\"status\":\"True\"}]}}",
			0);
	}
	world_migrate(w, STORAGE_MIGRATION_MANUAL, 0);
	world_await(w, has_kept_five, NULL);
	assert_null(world_fields(w, MIGRATIONS_PATH, "dependents.annals.dev-1"));
	assert_non_null(world_fields(w, MIGRATIONS_PATH, "dependents.annals.dev-2"));
	assert_non_null(world_fields(w, MIGRATIONS_PATH, "mine"));
	world_free(w);
}

/* ---- metrics ---- */

static bool has_metric(struct world *w, const void *line)
{
	struct buf out;

	buf_init(&out, 65536);
	migrator_write_metrics(w->migrator, &out);
	bool has = str_contains(buf_str(&out), str_of(line));
	buf_done(&out);
	return has;
}

static void test_migrator__counts(void **state)
{
	struct world *w = world_new(*state, NULL);

	store_dependents(w, "v1beta1", 0, 81);
	world_migrate(w, STORAGE_MIGRATION_AUTO, 0);
	world_await_state(w, "dependents", "Succeeded");
	world_await(w, has_metric, "annals_storage_migration_running 0\n");
	assert_true(has_metric(w, "objects_total{resource=\"dependents.annals.dev\",result=\"rewritten\"} 81\n"));
	assert_true(has_metric(w, "objects_total{resource=\"dependents.annals.dev\",result=\"conflict\"} 0\n"));
	assert_true(has_metric(w, "annals_storage_migration_batches_total 3\n"));
	assert_true(has_metric(w, "annals_storage_migrations_succeeded_total 1\n"));
	assert_true(has_metric(w, "annals_storage_migrations_failed_total 0\n"));
	assert_true(has_metric(w, "annals_storage_migrator 1\n"));
	world_free(w);
}

/* ---- faults ---- */

enum { CALLS_MIN = 10 }; /* of a migration: otherwise nothing has been tried */

typedef void check_function(struct world *w, unsigned *count);

/* A migration of so many objects during which the n-th call fails, and what is to be seen then; false: it needs fewer than n. */
static bool migrate_with_fault(enum fault_kind kind, unsigned n, int n_objects, check_function *check, unsigned *count)
{
	struct storage *fault = storage_fault_new(storage_memory_new());
	struct world *w = world_new(fault, NULL);

	store_dependents(w, "v1beta1", 0, n_objects);
	storage_fault_arm(fault, kind, n);
	world_migrate(w, STORAGE_MIGRATION_AUTO, 0);
	world_await_state(w, "dependents", "Succeeded");
	bool has_fired = storage_fault_has_fired(fault);
	storage_fault_arm(fault, kind, 0);
	check(w, count);
	world_free(w);
	storage_free(fault);
	return has_fired;
}

/* Each call fails once. */
static void sweep(enum fault_kind kind, int n_objects, check_function *check, unsigned *count)
{
	unsigned n = 1;

	while (migrate_with_fault(kind, n, n_objects, check, count)) {
		n++;
	}
	assert_true(n > CALLS_MIN);
}

static void check_all(struct world *w, unsigned *count _unused_)
{
	assert_versions(w, 0, 50, "annals.dev/v1");
	assert_int_equal(world_count(w, MIGRATIONS_PATH), 1);
	world_await(w, has_all_versions, NULL);
}

static void test_migrator__survives_any_call_that_fails(void **state _unused_)
{
	sweep(FAULT_REFUSE, 50, check_all, NULL);
}

static void test_migrator__survives_any_answer_that_is_lost(void **state _unused_)
{
	sweep(FAULT_LOSE, 50, check_all, NULL);
}

static unsigned count_said(struct world *w, const char *text)
{
	unsigned n = 0;

	pthread_mutex_lock(&w->lock);
	for (const char *at = w->notices; (at = strstr(at, text)); at++) {
		n++;
	}
	pthread_mutex_unlock(&w->lock);
	return n;
}

/* *n_told: how often it was said that etcd refuses to write. */
static void check_told(struct world *w, unsigned *n_told)
{
	assert_true(has_metric(w, "annals_storage_migration_batches_total 1\n"));
	*n_told += count_said(w, "cannot rewrite objects, will go on trying: ");
}

/* What is tried in vain is no round in which objects were rewritten, and somebody wants to know. */
static void test_migrator__says_that_etcd_refuses_to_write(void **state _unused_)
{
	enum { SWEEPS_MAX = 20 }; /* which call rewrites the object is not quite the same each time */
	unsigned n_told = 0;

	for (unsigned i = 0; i < SWEEPS_MAX && n_told == 0; i++) {
		sweep(FAULT_REFUSE, 1, check_told, &n_told);
	}
	assert_true(n_told > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MIGRATOR_TEST(test_migrator__rewrites_what_is_stored_otherwise),
		MIGRATOR_TEST(test_migrator__says_what_is_stored),
		MIGRATOR_TEST(test_migrator__says_soon_that_the_first_objects_have_come),
		MIGRATOR_TEST(test_migrator__removes_versions_of_lost_kinds),
		MIGRATOR_TEST(test_migrator__manual_waits_to_be_asked),
		MIGRATOR_TEST(test_migrator__off_says_so),
		MIGRATOR_TEST(test_migrator__off_looks_only_when_something_was_written),
		MIGRATOR_TEST(test_migrator__leaves_unknown_versions_to_who_knows_them),
		MIGRATOR_TEST(test_migrator__names_what_is_too_large),
		MIGRATOR_TEST(test_migrator__names_what_cannot_be_encoded),
		MIGRATOR_TEST(test_migrator__goes_on_where_another_stopped),
		MIGRATOR_TEST(test_migrator__stops_with_its_migration),
		MIGRATOR_TEST(test_migrator__does_not_wait_for_what_is_being_deleted),
		TEST(test_migrator__stops_behind_what_it_writes),
		MIGRATOR_TEST(test_migrator__leaves_its_turn_to_who_can_read),
		MIGRATOR_TEST(test_migrator__one_migrates_at_a_time),
		MIGRATOR_TEST(test_migrator__waits_for_agreement),
		MIGRATOR_TEST(test_migrator__objects_keep_their_lease),
		MIGRATOR_TEST(test_migrator__keeps_the_last_five),
		MIGRATOR_TEST(test_migrator__counts),
		TEST(test_migrator__survives_any_call_that_fails),
		TEST(test_migrator__survives_any_answer_that_is_lost),
		TEST(test_migrator__says_that_etcd_refuses_to_write),
	};
	return cmocka_run_group_tests_name("migrator", tests, NULL, NULL);
}
