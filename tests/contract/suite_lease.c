#include "tests/contract/contract.h"

static int64_t grant(struct contract *c, int64_t ttl_s)
{
	struct storage_lease lease = {.ttl_s = ttl_s};
	storage_lease_grant_wait(c->s, &lease);
	assert_result(&lease.op, STORAGE_OK);
	assert_true(lease.id != 0);
	assert_true(lease.ttl_s >= ttl_s);
	storage_op_clear(&lease.op);
	return lease.id;
}

static enum storage_result put_with_lease(struct contract *c, const char *name, int64_t lease)
{
	struct storage_step put = {.kind = STEP_PUT, .key = contract_key(c, name), .lease = lease};
	struct storage_txn txn = {.success = &put, .n_success = 1};
	enum storage_result r = storage_txn_wait(c->s, &txn);
	storage_op_clear(&txn.op);
	return r;
}

static enum storage_result keep_alive(struct contract *c, int64_t id, int64_t *ret_ttl_s)
{
	struct storage_lease lease = {.id = id};
	enum storage_result r = storage_lease_keep_alive_wait(c->s, &lease);
	*ret_ttl_s = lease.ttl_s;
	storage_op_clear(&lease.op);
	return r;
}

static void revoke(struct contract *c, int64_t id)
{
	struct storage_lease lease = {.id = id};
	storage_lease_revoke_wait(c->s, &lease);
	assert_result(&lease.op, STORAGE_OK);
	storage_op_clear(&lease.op);
}

static void contract_lease__shows_on_its_keys(struct contract *c)
{
	int64_t id = grant(c, 60);
	assert_int_equal(put_with_lease(c, "a", id), STORAGE_OK);
	assert_int_equal(contract_get(c, "a").lease, id);
	struct storage_compare guard = {
		.target = COMPARE_LEASE, .result = COMPARE_EQUAL, .key = contract_key(c, "a"), .number = id};
	struct storage_txn txn = {.compares = &guard, .n_compares = 1};
	storage_txn_wait(c->s, &txn);
	assert_true(txn.succeeded);
	storage_op_clear(&txn.op);
	revoke(c, id);
}

static void contract_lease__id_may_be_chosen_once(struct contract *c)
{
	struct storage_lease lease = {.id = 4711, .ttl_s = 60};
	storage_lease_grant_wait(c->s, &lease);
	assert_result(&lease.op, STORAGE_OK);
	assert_int_equal(lease.id, 4711);
	storage_op_clear(&lease.op);
	storage_lease_grant_wait(c->s, &lease);
	assert_result(&lease.op, STORAGE_ERROR);
	storage_op_clear(&lease.op);
	revoke(c, 4711);
}

static void contract_lease__revocation_deletes_its_keys_in_one_revision(struct contract *c)
{
	int64_t id = grant(c, 60);
	assert_int_equal(put_with_lease(c, "a", id), STORAGE_OK);
	assert_int_equal(put_with_lease(c, "b", id), STORAGE_OK);
	int64_t before = contract_put(c, "c", "stays");
	struct recorder *r = recorder_new(c, before + 1);
	recorder_wait_connected(r);
	revoke(c, id);
	recorder_wait_events(r, 2);
	assert_int_equal(r->n_calls, 1);
	assert_int_equal(r->revision, before + 1);
	assert_string_equal(recorder_event(r, c, 0), "DELETE a");
	assert_string_equal(recorder_event(r, c, 1), "DELETE b");
	recorder_free(r, c->s);
	assert_int_equal(contract_get(c, "a").version, 0);
	assert_int_equal(contract_get(c, "c").version, 1);
}

/* On a busy machine it may have ended before anything was put under it. */
static void contract_lease__expires(struct contract *c)
{
	int64_t now = contract_revision(c), id;
	struct recorder *r = recorder_new(c, now + 1);
	enum storage_result put;
	recorder_wait_connected(r);
	do {
		id = grant(c, 1);
		put = put_with_lease(c, "a", id);
	} while (put == STORAGE_LEASE_GONE);
	assert_int_equal(put, STORAGE_OK);
	recorder_wait_events(r, 2);
	assert_string_equal(recorder_event(r, c, 1), "DELETE a");
	recorder_free(r, c->s);
	int64_t ttl_s;
	assert_int_equal(keep_alive(c, id, &ttl_s), STORAGE_LEASE_GONE);
}

static void contract_lease__keep_alive_renews(struct contract *c)
{
	int64_t id = grant(c, 60), ttl_s;
	assert_int_equal(keep_alive(c, id, &ttl_s), STORAGE_OK);
	assert_int_equal(ttl_s, 60);
	revoke(c, id);
	assert_int_equal(keep_alive(c, id, &ttl_s), STORAGE_LEASE_GONE);
}

static void contract_lease__unknown_one_stops_the_transaction(struct contract *c)
{
	int64_t before = contract_revision(c);
	struct storage_step steps[] = {
		{.kind = STEP_PUT, .key = contract_key(c, "a")},
		{.kind = STEP_PUT, .key = contract_key(c, "b"), .lease = 815},
	};
	struct storage_txn txn = {.success = steps, .n_success = 2};
	storage_txn_wait(c->s, &txn);
	assert_result(&txn.op, STORAGE_LEASE_GONE);
	assert_true(storage_result_is_certain(txn.op.result));
	storage_op_clear(&txn.op);
	assert_int_equal(contract_revision(c), before);
}

static void contract_lease__unknown_one_cannot_be_revoked(struct contract *c)
{
	struct storage_lease lease = {.id = 815};
	storage_lease_revoke_wait(c->s, &lease);
	assert_result(&lease.op, STORAGE_LEASE_GONE);
	storage_op_clear(&lease.op);
}

static void contract_lease__put_without_it_sets_free(struct contract *c)
{
	int64_t id = grant(c, 60);
	assert_int_equal(put_with_lease(c, "a", id), STORAGE_OK);
	contract_put(c, "a", "free");
	assert_int_equal(contract_get(c, "a").lease, 0);
	revoke(c, id);
	assert_int_equal(contract_get(c, "a").version, 2);
}

static const struct contract_case cases[] = {
	CASE(contract_lease__shows_on_its_keys),
	CASE(contract_lease__id_may_be_chosen_once),
	CASE(contract_lease__revocation_deletes_its_keys_in_one_revision),
	CASE(contract_lease__expires),
	CASE(contract_lease__keep_alive_renews),
	CASE(contract_lease__unknown_one_stops_the_transaction),
	CASE(contract_lease__unknown_one_cannot_be_revoked),
	CASE(contract_lease__put_without_it_sets_free),
};
const struct contract_suite contract_lease_suite = {cases, ARRAY_SIZE(cases)};
