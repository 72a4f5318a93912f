#include "storage/engine/agreement_table.h"
#include "tests/unit/check.h"

#define REGISTERED "/annals/replicas/"
#define SEEN "/annals/replicas-seen/"
#define VALUE "{\"kinds\":{}}"

static const struct kind *dependents(void)
{
	return kind_by_hub(STR("annals.dev"), STR("dependents"));
}

static int make(void **state)
{
	struct agreement_table *t = mem_new(struct agreement_table);

	t->registrations = STR(REGISTERED);
	t->acks = STR(SEEN);
	*state = t;
	return 0;
}

static int drop(void **state)
{
	agreement_table_done(*state);
	mem_free(*state);
	return 0;
}

static struct storage_kv kv(const char *key, const char *value, int64_t revision)
{
	return (struct storage_kv){
		.key = str_of(key), .value = str_of(value), .create_revision = revision, .mod_revision = revision, .lease = 1};
}

static void apply(struct agreement_table *t, enum storage_event_type type, const char *key, const char *value, int64_t revision)
{
	struct storage_event event = {type, kv(key, value, revision)};
	agreement_table_apply(t, &event, 1, revision);
}

/* "a@5 b@7/6": names, revisions, acknowledgements. */
static void assert_table(struct agreement_table *t, const char *expected)
{
	_cleanup_(agreement_view_unrefp) struct agreement_view *v = agreement_table_view(t);
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, 65536);
	for (size_t i = 0; i < v->n_replicas; i++) {
		const struct agreement_replica *r = &v->replicas[i];
		buf_printf(&text, "%s" STR_FMT "@%d", i ? " " : "", STR_ARG(r->id), (int)r->mod_revision);
		if (r->seen) {
			buf_printf(&text, "/%d", (int)r->seen);
		}
	}
	assert_str(buf_str(&text), expected);
}

/* ---- what it follows ---- */

static void test_agreement_table__is_what_was_read_and_what_came_then(void **state)
{
	struct agreement_table *t = *state;
	const struct storage_kv kvs[] = {
		kv(SEEN "b", "5", 8), kv(SEEN "c", "5", 8), kv(REGISTERED "a", VALUE, 5), kv(REGISTERED "b", VALUE, 7)};

	agreement_table_install(t, kvs, ARRAY_SIZE(kvs), false, 10);
	assert_table(t, "a@5 b@7/5");
	apply(t, EVENT_PUT, REGISTERED "c", VALUE, 11);
	apply(t, EVENT_PUT, SEEN "a", "11", 12);
	apply(t, EVENT_PUT, REGISTERED "b", VALUE, 13);
	assert_table(t, "a@5/11 b@13/5 c@11");
	apply(t, EVENT_DELETE, REGISTERED "a", NULL, 14);
	apply(t, EVENT_PUT, REGISTERED "a", VALUE, 15);
	assert_table(t, "a@15 b@13/5 c@11");
	assert_int_equal(t->revision, 15);
}

static void test_agreement_table__takes_nothing_twice(void **state)
{
	struct agreement_table *t = *state;
	const struct storage_kv kvs[] = {kv(REGISTERED "a", VALUE, 9)};

	agreement_table_install(t, kvs, 1, false, 10);
	apply(t, EVENT_PUT, REGISTERED "a", VALUE, 5);
	apply(t, EVENT_DELETE, REGISTERED "a", NULL, 7);
	apply(t, EVENT_PUT, REGISTERED "gone", VALUE, 8);
	assert_table(t, "a@9");
	agreement_table_install(t, NULL, 0, false, 6);
	assert_table(t, "a@9");
	agreement_table_install(t, NULL, 0, false, 10);
	assert_table(t, "");
}

/* The own registration is known from the answer to its transaction, before the watch has come so far. */
static void test_agreement_table__knows_what_was_put_ahead_of_the_watch(void **state)
{
	struct agreement_table *t = *state;
	struct storage_kv own = kv(REGISTERED "own", VALUE, 20), seen = kv(SEEN "own", "15", 21);

	agreement_table_install(
		t, &(struct storage_kv){.key = STR(REGISTERED "a"), .mod_revision = 5, .lease = 1}, 1, false, 10);
	agreement_table_put(t, &own);
	agreement_table_put(t, &seen);
	apply(t, EVENT_DELETE, REGISTERED "a", NULL, 15);
	assert_table(t, "own@20/15");
	agreement_table_install(t, NULL, 0, false, 17);
	assert_table(t, "own@20/15");
	t->is_changed = false;
	apply(t, EVENT_PUT, REGISTERED "own", VALUE, 20);
	assert_true(t->is_changed); /* a new revision at least */
	_cleanup_(agreement_view_unrefp) struct agreement_view *v = agreement_table_view(t);
	assert_int_equal(v->revision, 20);
	apply(t, EVENT_DELETE, REGISTERED "own", NULL, 22);
	assert_table(t, "");
}

#define WITH(encodes, more) \
	"{\"kinds\":{\"histories.annals.dev\":{\"encodes\":\"" encodes "\",\"decodes\":[\"annals.dev/v1\"]" more "}}}"
#define V1 "annals.dev/v1"

/* A value in a form that a live replica cannot read would be hidden from its clients. */
static void test_agreement_table__a_form_is_known_when_all_writers_know_it(void **state)
{
	static const struct {
		const char *other;
		bool is_known;
	} rows[] = {
		{WITH(V1, ",\"forms\":[\"annals.dev/zstd\"]"), true},
		{WITH(V1, ",\"forms\":[\"annals.dev/other\",\"annals.dev/zstd\"]"), true},
		{WITH(V1, ",\"forms\":[\"annals.dev/other\"]"), false},
		{WITH(V1, ""), false},
		{WITH("", ""), true},
		{VALUE, true},
		{"what it does is unknown", false},
	};
	struct agreement_table *t = *state;
	const struct kind *k = kind_by_hub(STR("annals.dev"), STR("histories"));
	const struct agreement_self self = {.id = STR("own")};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int64_t at = 10 + 2 * (int64_t)i;
		const struct storage_kv kvs[] = {
			kv(REGISTERED "other", rows[i].other, at), kv(REGISTERED "own", WITH(V1, ""), at)};
		agreement_table_install(t, kvs, ARRAY_SIZE(kvs), false, at + 1);
		_cleanup_(agreement_view_unrefp) struct agreement_view *v = agreement_table_view(t);
		assert_int_equal(agreement_knows_form(&self, v, k, STR("annals.dev/zstd")), rows[i].is_known);
	}
}

static void test_agreement_table__has_a_ceiling(void **state)
{
	struct agreement_table *t = *state;
	char key[64];

	for (int i = 0; i < AGREEMENT_REPLICAS_MAX; i++) {
		snprintf(key, sizeof(key), REGISTERED "%02d", i);
		apply(t, EVENT_PUT, key, VALUE, 10 + i);
	}
	assert_false(t->is_overfull);
	apply(t, EVENT_PUT, REGISTERED "00", VALUE, 100);
	assert_false(t->is_overfull);
	apply(t, EVENT_PUT, REGISTERED "one more", VALUE, 101);
	assert_true(t->is_overfull);
	assert_int_equal(t->n, AGREEMENT_REPLICAS_MAX);
	agreement_table_install(
		t, &(struct storage_kv){.key = STR(REGISTERED "a"), .mod_revision = 5, .lease = 1}, 1, true, 102);
	assert_true(t->is_overfull);
	agreement_table_install(
		t, &(struct storage_kv){.key = STR(REGISTERED "a"), .mod_revision = 5, .lease = 1}, 1, false, 103);
	assert_false(t->is_overfull);
	assert_table(t, "a@5");
}

static void test_agreement_table__views_stay_what_they_were(void **state)
{
	struct agreement_table *t = *state;

	apply(t, EVENT_PUT, REGISTERED "a", "{\"address\":\"here\",\"kinds\":{}}", 5);
	_cleanup_(agreement_view_unrefp) struct agreement_view *v = agreement_table_view(t);
	apply(t, EVENT_PUT, REGISTERED "a", "{\"address\":\"there\",\"kinds\":{}}", 6);
	apply(t, EVENT_DELETE, REGISTERED "a", NULL, 7);
	assert_int_equal(v->n_replicas, 1);
	assert_str(v->replicas[0].address, "here");
}

/* ---- registrations ---- */

static void test_agreement_value__says_what_is_written_and_understood(void **state)
{
	struct agreement_table *t = *state;
	struct agreement_self self = {.id = STR("a"), .address = STR("10.0.0.7:6443")};
	const struct version *encodes[KIND_COUNT_MAX] = {NULL};
	const struct kind *k = dependents();
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, AGREEMENT_VALUE_MAX);
	storage_versions_init(&self.wanted);
	for (size_t i = 0; i < kind_count(); i++) {
		self.knows[i] = 3;
	}
	encodes[k->index] = kind_version(k, STR("annals.dev/v1beta1"));
	agreement_write_value(&self, encodes, &text);
	assert_false(text.is_over);
	apply(t, EVENT_PUT, REGISTERED "a", text.p, 5);
	_cleanup_(agreement_view_unrefp) struct agreement_view *view = agreement_table_view(t);
	const struct agreement_replica *r = &view->replicas[0];
	const struct agreement_version *v = &r->versions[k->index];
	assert_str(r->problem, "");
	assert_str(r->address, "10.0.0.7:6443");
	assert_str(v->encodes, "annals.dev/v1beta1");
	assert_str(v->wants, "annals.dev/v1");
	assert_int_equal(v->n_decodes, 2);
	assert_str(v->decodes[1], "annals.dev/v1beta1");
	assert_int_equal(v->n_serves, 2);
	const struct agreement_version *namespaces = &r->versions[kind_by_hub(STR(""), STR("namespaces"))->index];
	assert_str(namespaces->encodes, "");
	assert_str(namespaces->decodes[0], "v1");
	assert_int_equal(namespaces->n_serves, 0); /* behind a kube-apiserver */
}

#define OF_KIND(text) "{\"kinds\":{\"dependents.annals.dev\":" text "}}"
#define GOOD "{\"encodes\":\"annals.dev/v1\",\"decodes\":[\"annals.dev/v1\"]}"

static const struct value_row {
	const char *value, *problem;
} value_rows[] = {
	{OF_KIND(GOOD), ""},
	{VALUE, ""},
	{"{\"kinds\":{\"x\":5},\"other\":[]}", ""},
	{OF_KIND("{\"encodes\":\"annals.dev/v9\",\"decodes\":[\"annals.dev/v9\"],\"more\":{}}"), ""},
	{OF_KIND("{}"), ""},
	{"", "it is not JSON"},
	{"{\"kinds\":{}", "it is not JSON"},
	{"[]", "it has no kinds"},
	{"{\"kinds\":[]}", "it has no kinds"},
	{"{\"kinds\":{},\"address\":5}", "its address is no name of a host"},
	{"{\"kinds\":{},\"address\":\"a\\nb\"}", "its address is no name of a host"},
	{OF_KIND("[]"), "a kind's versions are no names of versions"},
	{OF_KIND("{\"encodes\":1}"), "a kind's versions are no names of versions"},
	{OF_KIND("{\"encodes\":\"v\\n\"}"), "a kind's versions are no names of versions"},
	{OF_KIND("{\"decodes\":\"annals.dev/v1\"}"), "a kind's versions are no list of versions"},
	{OF_KIND("{\"decodes\":[\"\"]}"), "a kind's versions are no list of versions"},
	{OF_KIND("{\"decodes\":[1]}"), "a kind's versions are no list of versions"},
	{OF_KIND("{\"serves\":{}}"), "a kind's versions are no list of versions"},
	{OF_KIND("{\"encodes\":\"annals.dev/v1\"}"), "a kind's encoding is not among those that can be decoded"},
	{OF_KIND("{\"encodes\":\"annals.dev/v1\",\"decodes\":[\"annals.dev/v2\"]}"),
		"a kind's encoding is not among those that can be decoded"},
};

static void test_agreement_value__problems(void **state)
{
	struct agreement_table *t = *state;

	for (size_t i = 0; i < ARRAY_SIZE(value_rows); i++) {
		apply(t, EVENT_PUT, REGISTERED "a", value_rows[i].value, 5 + (int64_t)i);
		_cleanup_(agreement_view_unrefp) struct agreement_view *v = agreement_table_view(t);
		assert_str(v->replicas[0].problem, value_rows[i].problem);
		bool is_empty = v->replicas[0].versions[dependents()->index].n_decodes == 0;
		assert_true(is_empty || v->replicas[0].problem.n == 0);
		assert_str(v->replicas[0].address, "");
	}
}

static void test_agreement_value__is_under_a_lease_and_not_large(void **state)
{
	struct agreement_table *t = *state;
	struct storage_kv forever = kv(REGISTERED "a", OF_KIND(GOOD), 5), large = kv(REGISTERED "b", VALUE, 6);
	char *text = mem_zalloc(AGREEMENT_VALUE_MAX + 1);

	forever.lease = 0;
	large.value = (struct str){memset(text, ' ', AGREEMENT_VALUE_MAX + 1), AGREEMENT_VALUE_MAX + 1};
	agreement_table_put(t, &forever);
	agreement_table_put(t, &large);
	_cleanup_(agreement_view_unrefp) struct agreement_view *v = agreement_table_view(t);
	assert_str(v->replicas[0].problem, "it is under no lease");
	assert_str(v->replicas[1].problem, "it is too large");
	mem_free(text);
}

/* It is shown to people, and put into StorageVersions. */
static void test_agreement_value__is_that_of_a_server_with_a_name(void **state)
{
	static const char *const keys[] = {REGISTERED, REGISTERED "a b", REGISTERED "a\n", REGISTERED "a\xff"};
	struct agreement_table *t = *state;
	_cleanup_(buf_done) struct buf key;

	buf_init(&key, 65536);
	buf_adds(&key, REGISTERED);
	for (size_t i = 0; i < 253; i++) {
		buf_addc(&key, 'b');
	}
	apply(t, EVENT_PUT, key.p, OF_KIND(GOOD), 4);
	buf_addc(&key, 'b');
	apply(t, EVENT_PUT, key.p, OF_KIND(GOOD), 5);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		apply(t, EVENT_PUT, keys[i], OF_KIND(GOOD), 6 + (int64_t)i);
	}
	_cleanup_(agreement_view_unrefp) struct agreement_view *v = agreement_table_view(t);
	assert_int_equal(v->n_replicas, ARRAY_SIZE(keys) + 2);
	for (size_t i = 0; i < v->n_replicas; i++) {
		assert_str(v->replicas[i].problem,
			v->replicas[i].mod_revision == 4 ? "" : "its key does not end in the name of a server");
	}
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, make, drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_agreement_table__is_what_was_read_and_what_came_then),
		CASE(test_agreement_table__takes_nothing_twice),
		CASE(test_agreement_table__knows_what_was_put_ahead_of_the_watch),
		CASE(test_agreement_table__a_form_is_known_when_all_writers_know_it),
		CASE(test_agreement_table__has_a_ceiling),
		CASE(test_agreement_table__views_stay_what_they_were),
		CASE(test_agreement_value__says_what_is_written_and_understood),
		CASE(test_agreement_value__problems),
		CASE(test_agreement_value__is_under_a_lease_and_not_large),
		CASE(test_agreement_value__is_that_of_a_server_with_a_name),
	};
	return cmocka_run_group_tests_name("agreement_table", tests, NULL, NULL);
}
