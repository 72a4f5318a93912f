/* What replicas over one store come to. */
#include "storage/memory/memory.h"
#include "tests/double/fault.h"
#include "tests/unit/agreement_world.h"
#include "tests/unit/check.h"

#include <sched.h>

enum { LEASE_S = 60 };

static int open_store(void **state)
{
	*state = storage_fault_new(storage_memory_new());
	return 0;
}

static int free_store(void **state)
{
	*state = storage_free(*state);
	return 0;
}

static int64_t put(struct storage *s, const char *key, const char *value, int64_t lease)
{
	struct storage_step step = {.kind = STEP_PUT, .key = str_of(key), .value = str_of(value), .lease = lease};
	struct storage_txn txn = {.success = &step, .n_success = 1};

	assert_int_equal(storage_txn_wait(s, &txn), STORAGE_OK);
	int64_t revision = txn.op.revision;
	storage_op_clear(&txn.op);
	return revision;
}

static void delete_key(struct storage *s, struct str key)
{
	struct storage_step step = {.kind = STEP_DELETE, .key = key};
	struct storage_txn txn = {.success = &step, .n_success = 1};

	assert_int_equal(storage_txn_wait(s, &txn), STORAGE_OK);
	storage_op_clear(&txn.op);
}

static int64_t grant(struct storage *s)
{
	struct storage_lease lease = {.ttl_s = LEASE_S};

	assert_int_equal(storage_lease_grant_wait(s, &lease), STORAGE_OK);
	storage_op_clear(&lease.op);
	return lease.id;
}

/* ---- alone ---- */

static void test_agreement__one_replica_agrees_with_itself(void **state)
{
	struct replica r;
	struct buf metrics;

	replica_start(&r, *state, NULL, LEASE_S);
	assert_string_equal(replica_write(&r), "v1");
	replica_wait_common(&r, "v1");
	assert_true(agreement_is_settled(r.agreement, NULL));
	assert_true(agreement_is_certain(r.agreement));
	assert_true(agreement_can_read(r.agreement, r.kind, NULL));
	assert_true(agreement_lease(r.agreement) != 0);
	buf_init(&metrics, 65536);
	agreement_write_metrics(r.agreement, &metrics);
	assert_true(str_contains(buf_str(&metrics), STR("\nannals_storage_version_replicas 1\n")));
	assert_true(str_contains(buf_str(&metrics), STR("\nannals_storage_version_registered 1\n")));
	assert_true(str_contains(
		buf_str(&metrics), STR("\nannals_storage_version_common{resource=\"dependents.annals.dev\"} 1\n")));
	buf_done(&metrics);
	replica_stop(&r);
}

static void test_agreement__a_view_comes_to_name_the_own_registration(void **state)
{
	struct replica r;

	replica_start(&r, *state, NULL, LEASE_S);
	struct agreement_ticket ticket = replica_ticket(&r);
	int64_t revision = 0;
	pthread_mutex_lock(&r.lock);
	while (revision < ticket.revision) {
		_cleanup_(agreement_view_unrefp) struct agreement_view *v = agreement_view(r.agreement);
		revision = v->revision;
		if (revision < ticket.revision) {
			pthread_cond_wait(&r.changed, &r.lock);
		}
	}
	pthread_mutex_unlock(&r.lock);
	replica_stop(&r);
}

static void test_agreement__takes_the_registration_back(void **state)
{
	struct replica r;

	replica_start(&r, *state, NULL, LEASE_S);
	replica_write(&r);
	replica_stop(&r);
	struct storage_range range = {.key = STR("/annals/replicas"), .range_end = STR("/annals/replicat")};
	assert_int_equal(storage_range_wait(*state, &range), STORAGE_OK);
	assert_int_equal(range.n_kvs, 0);
	storage_op_clear(&range.op);
}

static void test_agreement__may_be_ended_before_it_has_begun(void **state)
{
	struct replica r;

	storage_fault_arm(*state, FAULT_DELAY, 1);
	replica_start(&r, *state, NULL, LEASE_S);
	assert_false(agreement_is_settled(r.agreement, NULL));
	assert_int_equal(replica_wait(&r, 1), STORAGE_TIMEOUT);
	storage_fault_release(*state);
	replica_stop(&r);
}

/* Whatever call fails, is lost or comes late. */
static void test_agreement__comes_about_in_spite_of_every_failure(void **state)
{
	static const enum fault_kind kinds[] = {FAULT_REFUSE, FAULT_LOSE};
	enum { CALLS = 6 };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		for (unsigned n = 1; n <= CALLS; n++) {
			struct replica a, b;
			storage_fault_arm(*state, kinds[i], n);
			replica_start(&a, *state, NULL, LEASE_S);
			replica_start(&b, *state, NULL, LEASE_S);
			assert_string_equal(replica_write(&a), "v1");
			assert_string_equal(replica_write(&b), "v1");
			replica_wait_common(&a, "v1");
			replica_wait_common(&b, "v1");
			replica_stop(&a);
			replica_stop(&b);
			storage_fault_arm(*state, kinds[i], 0);
		}
	}
}

/* ---- several ---- */

static void test_agreement__differing_replicas_have_nothing_in_common(void **state)
{
	struct replica old, new;

	replica_start(&old, *state, "dependents=v1beta1", LEASE_S);
	replica_wait_common(&old, "v1beta1");
	replica_start(&new, *state, NULL, LEASE_S);
	assert_string_equal(replica_write(&new), "v1");
	replica_wait_common(&old, NULL);
	replica_wait_common(&new, NULL);
	assert_string_equal(replica_write(&old), "v1beta1");
	assert_non_null(agreement_common(new.agreement, kind_by_hub(STR(""), STR("namespaces"))));
	replica_stop(&old);
	replica_wait_common(&new, "v1");
	replica_stop(&new);
}

/* Old, absent, new: as servers are replaced one by one. */
static void test_agreement__a_rolling_change_ends_in_the_new_version(void **state)
{
	struct replica old[3], new[3];

	for (size_t i = 0; i < 3; i++) {
		replica_start(&old[i], *state, "dependents=v1beta1", LEASE_S);
	}
	for (size_t i = 0; i < 3; i++) {
		replica_wait_count(&old[i], 3);
		replica_wait_common(&old[i], "v1beta1");
	}
	for (size_t i = 0; i < 3; i++) {
		replica_stop(&old[i]);
		replica_start(&new[i], *state, NULL, LEASE_S);
		assert_string_equal(replica_write(&new[i]), "v1");
		replica_wait_common(&new[i], i < 2 ? NULL : "v1");
	}
	for (size_t i = 0; i < 3; i++) {
		replica_wait_common(&new[i], "v1");
	}
	for (size_t i = 0; i < 3; i++) {
		replica_stop(&new[i]);
	}
}

#define REGISTRATION(encodes, decodes)                                                                           \
	"{\"address\":\"10.9.8.7:6443\",\"kinds\":{\"dependents.annals.dev\":{\"encodes\":\"annals.dev/" encodes \
	"\",\"decodes\":[" decodes "]}}}"

/* An old server that understands only what it writes: ours does as it does, and changes over when it is gone. */
static void test_agreement__waits_with_a_version_that_a_live_one_cannot_read(void **state)
{
	struct replica r;

	put(*state, "/annals/replicas/old", REGISTRATION("v1beta1", "\"annals.dev/v1beta1\""), grant(*state));
	replica_start(&r, *state, NULL, LEASE_S);
	assert_string_equal(replica_write(&r), "v1beta1");
	replica_wait_common(&r, "v1beta1");
	replica_wait_notice(&r,
		"W dependents.annals.dev is stored as annals.dev/v1beta1 rather than annals.dev/v1, which replica old "
		"(10.9.8.7:6443) "
		"cannot read\n");
	delete_key(*state, STR("/annals/replicas/old"));
	replica_wait_common(&r, "v1");
	assert_string_equal(replica_write(&r), "v1");
	replica_wait_notice(&r, "I dependents.annals.dev is stored as annals.dev/v1\n");
	replica_stop(&r);
}

static void test_agreement__takes_no_part_in_what_it_cannot_read(void **state)
{
	struct replica r;
	struct agreement_ticket ticket;
	_cleanup_(buf_done) struct buf why;
	static const char text[] =
		"replica new (10.9.8.7:6443) stores dependents.annals.dev as annals.dev/v2, which this server cannot read: "
		"it neither reads nor writes them";

	buf_init(&why, 4096);
	put(*state, "/annals/replicas/new", REGISTRATION("v2", "\"annals.dev/v2\",\"annals.dev/v1\""), grant(*state));
	replica_start(&r, *state, NULL, LEASE_S);
	assert_int_equal(replica_wait(&r, 60 * 1000), STORAGE_OK);
	assert_int_equal(agreement_write(r.agreement, r.kind, &ticket, &why), AGREEMENT_NEVER);
	assert_str(buf_str(&why), text);
	buf_clear(&why);
	assert_false(agreement_can_read(r.agreement, r.kind, &why));
	assert_str(buf_str(&why), text);
	buf_clear(&why);
	assert_false(agreement_is_settled(r.agreement, &why));
	assert_str(buf_str(&why), text);
	assert_null(agreement_common(r.agreement, r.kind));
	assert_true(agreement_can_read(r.agreement, kind_by_hub(STR(""), STR("namespaces")), NULL));
	delete_key(*state, STR("/annals/replicas/new"));
	assert_string_equal(replica_write(&r), "v1");
	assert_true(agreement_can_read(r.agreement, r.kind, NULL));
	replica_stop(&r);
}

static void test_agreement__a_registration_that_says_nothing_hides_everything(void **state)
{
	struct replica r;

	replica_start(&r, *state, NULL, LEASE_S);
	replica_wait_common(&r, "v1");
	put(*state, "/annals/replicas/odd", "what is this?", grant(*state));
	replica_wait_common(&r, NULL);
	replica_wait_notice(&r, "W the registration of replica odd cannot be understood: it is not JSON");
	assert_string_equal(replica_write(&r), "v1");
	delete_key(*state, STR("/annals/replicas/odd"));
	replica_wait_common(&r, "v1");
	replica_stop(&r);
}

/* A replica beside one that differs, and has acknowledged nothing. Returns the lease of that one. */
static int64_t start_beside_other(struct replica *r, struct storage *s)
{
	int64_t lease = grant(s);

	put(s, "/annals/replicas/other", REGISTRATION("v1beta1", "\"annals.dev/v1beta1\",\"annals.dev/v1\""), lease);
	replica_start(r, s, NULL, LEASE_S);
	replica_wait_notice(r, "I registered in etcd");
	return lease;
}

static void assert_waits(struct replica *r, const char *reason)
{
	struct agreement_ticket ticket;
	_cleanup_(buf_done) struct buf why;

	buf_init(&why, 4096);
	assert_int_equal(replica_wait(r, 1), STORAGE_TIMEOUT);
	assert_int_equal(agreement_write(r->agreement, r->kind, &ticket, &why), AGREEMENT_NOT_YET);
	assert_str(buf_str(&why), reason);
}

/* Those who differ wait for each other's acknowledgement: this one is given by hand. */
static void test_agreement__writes_when_all_have_seen_that_it_will(void **state)
{
	struct replica r;
	int64_t lease = start_beside_other(&r, *state);
	char seen[32];

	assert_waits(
		&r, "replica other (10.9.8.7:6443) has yet to see that dependents.annals.dev will be stored as annals.dev/v1");
	_cleanup_(agreement_view_unrefp) struct agreement_view *v = agreement_view(r.agreement);
	int64_t mod = v->replicas[0].mod_revision;
	assert_str(v->replicas[0].id, agreement_id(r.agreement).p);
	snprintf(seen, sizeof(seen), "%lld", (long long)mod - 1);
	put(*state, "/annals/replicas-seen/other", seen, lease);
	assert_int_equal(replica_wait(&r, 1), STORAGE_TIMEOUT);
	snprintf(seen, sizeof(seen), "%lld", (long long)mod);
	put(*state, "/annals/replicas-seen/other", seen, lease);
	assert_string_equal(replica_write(&r), "v1");
	replica_stop(&r);
}

/* What nobody but annals should do: other keys than can be read at once hide those of the server that is waited for. */
static void test_agreement__waits_for_whom_it_cannot_see(void **state)
{
	struct replica r;
	int64_t lease = start_beside_other(&r, *state);
	char key[64];

	for (int i = 0; i < 4 * AGREEMENT_REPLICAS_MAX; i++) {
		snprintf(key, sizeof(key), "/annals/replicas-seen/%03d", i);
		put(*state, key, "1", lease);
	}
	for (int i = 0; i < AGREEMENT_REPLICAS_MAX; i++) {
		snprintf(key, sizeof(key), "/annals/replicas/%02d", i);
		put(*state, key, "{\"kinds\":{}}", lease);
	}
	replica_wait_count(&r, 0);
	assert_waits(&r, "there are 64 registrations in etcd already, as many as there may be");
	replica_stop(&r);
}

static void test_agreement__registers_when_it_is_told_to(void **state)
{
	struct agreement_options options = {
		.storage = *state, .prefix = STR("/annals"), .is_standalone = true, .registers_later = true};
	storage_versions_init(&options.versions);
	struct agreement *a = agreement_new(&options);
	struct agreement_view *v = NULL;
	struct replica r;

	replica_start(&r, *state, NULL, LEASE_S);
	replica_wait_count(&r, 1);
	while (!v || v->n_replicas == 0) { /* of the other one */
		agreement_view_unref(v);
		sched_yield();
		v = agreement_view(a);
	}
	assert_int_equal(v->n_replicas, 1);
	assert_null(agreement_view_find(v, agreement_id(a)));
	assert_false(agreement_is_settled(a, NULL));
	agreement_view_unref(v);

	agreement_register_now(a);
	agreement_register_now(a);
	replica_wait_count(&r, 2);
	replica_stop(&r);
	agreement_free(a);
}

/* A machine may be called anything. */
static void test_agreement__an_odd_address_can_be_shown(void **state)
{
	struct agreement_options options = {
		.storage = *state, .prefix = STR("/annals"), .is_standalone = true, .address = STR("my\nhost\xff:1")};
	storage_versions_init(&options.versions);
	struct agreement *a = agreement_new(&options);
	const struct kind *k = kind_by_hub(STR("annals.dev"), STR("dependents"));
	struct replica r;

	replica_start(&r, *state, NULL, LEASE_S);
	replica_wait_count(&r, 2);
	replica_wait_common(&r, "v1");
	_cleanup_(agreement_view_unrefp) struct agreement_view *v = agreement_view(r.agreement);
	const struct agreement_replica *odd = agreement_view_find(v, agreement_id(a));
	assert_str(odd->problem, "");
	assert_str(odd->address, "my?host?:1");
	assert_true(odd->versions[k->index].n_decodes > 0);
	replica_stop(&r);
	agreement_free(a);
}

static void test_agreement__has_a_ceiling_of_replicas(void **state)
{
	struct replica r;
	_cleanup_(buf_done) struct buf why;
	int64_t lease = grant(*state);
	char key[64];

	buf_init(&why, 4096);
	for (int i = 0; i < AGREEMENT_REPLICAS_MAX; i++) {
		snprintf(key, sizeof(key), "/annals/replicas/%02d", i);
		put(*state, key, "{\"kinds\":{}}", lease);
	}
	replica_start(&r, *state, NULL, LEASE_S);
	replica_wait_count(&r, AGREEMENT_REPLICAS_MAX);
	assert_int_equal(replica_wait(&r, 1), STORAGE_TIMEOUT);
	assert_false(agreement_is_settled(r.agreement, &why));
	assert_str(buf_str(&why), "there are 64 registrations in etcd already, as many as there may be");
	delete_key(*state, STR("/annals/replicas/07"));
	assert_string_equal(replica_write(&r), "v1");
	replica_wait_common(&r, "v1");
	put(*state, "/annals/replicas/zz", "{\"kinds\":{}}", lease);
	replica_wait_common(&r, NULL);
	replica_wait_notice(&r, "W there are more registrations in etcd than servers can be");
	assert_string_equal(replica_write(&r), "v1");
	delete_key(*state, STR("/annals/replicas/zz"));
	replica_wait_common(&r, "v1");
	replica_stop(&r);
}

/* ---- losing the registration ---- */

static void test_agreement__joins_again_when_its_registration_is_gone(void **state)
{
	struct replica r;

	replica_start(&r, *state, NULL, LEASE_S);
	struct agreement_ticket ticket = replica_ticket(&r);
	delete_key(*state, ticket.key);
	assert_string_equal(replica_write(&r), "v1");
	assert_false(replica_put(&r, &ticket));
	replica_wait_notice(&r, "W the registration in etcd is gone");
	replica_wait_common(&r, "v1");
	replica_stop(&r);
}

static void test_agreement__makes_good_what_somebody_else_has_written_for_it(void **state)
{
	struct replica r;

	replica_start(&r, *state, NULL, LEASE_S);
	struct agreement_ticket ticket = replica_ticket(&r);
	char key[128];
	snprintf(key, sizeof(key), STR_FMT, STR_ARG(ticket.key));
	int64_t revision = put(*state, key, REGISTRATION("v1beta1", "\"annals.dev/v1beta1\""), agreement_lease(r.agreement));
	assert_string_equal(replica_write(&r), "v1");
	assert_true(replica_ticket(&r).revision > revision);
	replica_wait_common(&r, "v1");
	replica_stop(&r);
}

/* A doubt that has no reason: nothing is lost by it. */
static void test_agreement__a_doubt_is_looked_into(void **state)
{
	struct replica r;

	replica_start(&r, *state, NULL, LEASE_S);
	struct agreement_ticket ticket = replica_ticket(&r);
	agreement_doubt(r.agreement, &ticket);
	assert_int_equal(replica_ticket(&r).revision, ticket.revision);
	assert_true(replica_put(&r, &ticket));
	replica_stop(&r);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, open_store, free_store)

/* ---- etcd is restored from a backup ---- */

/* The backup knows the first replica, and not the second. */
static void restore_below(struct storage *memory, unsigned flags, bool are_asked)
{
	struct replica first, second;

	replica_start(&first, memory, NULL, LEASE_S);
	replica_wait_common(&first, "v1");
	int64_t backup = put(memory, "/other/user", "x", 0);
	replica_start(&second, memory, NULL, LEASE_S);
	replica_wait_count(&first, 2);
	replica_wait_common(&second, "v1");
	while (put(memory, "/other/user", "x", 0) < backup + 100) {
	}
	storage_memory_restore(memory, backup, flags);
	if (are_asked) {
		assert_string_equal(replica_write(&second), "v1");
	}
	replica_wait_notice(&second, "is gone, joining again");
	replica_wait_count(&second, 2);
	replica_wait_common(&second, "v1");
	assert_string_equal(replica_write(&second), "v1");
	assert_string_equal(replica_write(&first), "v1");
	if (!are_asked) {
		replica_wait_count(&first, 2);
		replica_wait_common(&first, "v1");
	}
	replica_stop(&first);
	replica_stop(&second);
}

static void test_agreement__all_join_again_when_etcd_is_restored(void **state)
{
	struct storage *memory = storage_memory_new();

	(void)state;
	restore_below(memory, RESTORE_NOTICED, false);
	storage_free(memory);
}

/* Its write is refused; where the registration is looked for, the revision says why it is not there. */
static void test_agreement__whom_a_backup_does_not_know_notices(void **state)
{
	struct storage *memory = storage_memory_new();

	(void)state;
	restore_below(memory, 0, true);
	storage_free(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_agreement__one_replica_agrees_with_itself),
		CASE(test_agreement__a_view_comes_to_name_the_own_registration),
		CASE(test_agreement__takes_the_registration_back),
		CASE(test_agreement__may_be_ended_before_it_has_begun),
		CASE(test_agreement__comes_about_in_spite_of_every_failure),
		CASE(test_agreement__differing_replicas_have_nothing_in_common),
		CASE(test_agreement__a_rolling_change_ends_in_the_new_version),
		CASE(test_agreement__waits_with_a_version_that_a_live_one_cannot_read),
		CASE(test_agreement__takes_no_part_in_what_it_cannot_read),
		CASE(test_agreement__a_registration_that_says_nothing_hides_everything),
		CASE(test_agreement__writes_when_all_have_seen_that_it_will),
		CASE(test_agreement__waits_for_whom_it_cannot_see),
		CASE(test_agreement__registers_when_it_is_told_to),
		CASE(test_agreement__an_odd_address_can_be_shown),
		CASE(test_agreement__has_a_ceiling_of_replicas),
		CASE(test_agreement__joins_again_when_its_registration_is_gone),
		CASE(test_agreement__makes_good_what_somebody_else_has_written_for_it),
		CASE(test_agreement__a_doubt_is_looked_into),
		CASE(test_agreement__all_join_again_when_etcd_is_restored),
		CASE(test_agreement__whom_a_backup_does_not_know_notices),
	};
	return cmocka_run_group_tests_name("agreement", tests, NULL, NULL);
}
