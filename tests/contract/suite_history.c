#include "tests/contract/contract.h"

static enum storage_result read_at(struct contract *c, int64_t revision, struct str *ret_value)
{
	struct storage_range r = {.key = contract_key(c, "a"), .at_revision = revision};
	enum storage_result result = storage_range_wait(c->s, &r);
	*ret_value = result == STORAGE_OK && r.n_kvs > 0 ? arena_dup(&c->arena, r.kvs[0].value) : (struct str){NULL, 0};
	storage_op_clear(&r.op);
	return result;
}

static void contract_history__can_be_read(struct contract *c)
{
	int64_t first = contract_put(c, "a", "1");
	int64_t second = contract_put(c, "a", "2");
	int64_t third = contract_delete(c, "a");
	struct str value;
	assert_int_equal(read_at(c, first - 1, &value), STORAGE_OK);
	assert_null(value.p);
	assert_int_equal(read_at(c, first, &value), STORAGE_OK);
	assert_str(value, "1");
	assert_int_equal(read_at(c, second, &value), STORAGE_OK);
	assert_str(value, "2");
	assert_int_equal(read_at(c, third, &value), STORAGE_OK);
	assert_null(value.p);
}

static void contract_history__the_future_cannot(struct contract *c)
{
	struct storage_range r = {.key = contract_key(c, "a"), .at_revision = contract_revision(c) + 1000};
	storage_range_wait(c->s, &r);
	assert_result(&r.op, STORAGE_FUTURE);
	storage_op_clear(&r.op);
}

static void contract_compact__forgets_what_is_below(struct contract *c)
{
	int64_t first = contract_put(c, "a", "1");
	int64_t second = contract_put(c, "a", "2");
	contract_put(c, "a", "3");
	contract_compact(c, second);

	struct storage_range r = {.key = contract_key(c, "a"), .at_revision = first};
	storage_range_wait(c->s, &r);
	assert_result(&r.op, STORAGE_COMPACTED);
	assert_true(r.op.compact_revision == 0 || r.op.compact_revision == second);
	storage_op_clear(&r.op);

	struct str value;
	assert_int_equal(read_at(c, second, &value), STORAGE_OK);
	assert_str(value, "2");
	assert_int_equal(read_at(c, 0, &value), STORAGE_OK);
	assert_str(value, "3");
}

static void contract_compact__keeps_what_is_alive(struct contract *c)
{
	int64_t created = contract_put(c, "a", "1");
	contract_put(c, "b", "1");
	contract_delete(c, "b");
	int64_t now = contract_put(c, "z", "1");
	contract_compact(c, now);
	struct storage_kv kv = contract_get(c, "a");
	assert_int_equal(kv.create_revision, created);
	assert_int_equal(kv.mod_revision, created);
	assert_int_equal(contract_get(c, "b").version, 0);
	assert_int_equal(contract_revision(c), now);
}

static void contract_compact__life_goes_on(struct contract *c)
{
	contract_put(c, "a", "1");
	contract_compact(c, contract_put(c, "a", "2"));
	int64_t revision = contract_put(c, "a", "3");
	struct storage_kv kv = contract_get(c, "a");
	assert_int_equal(kv.version, 3);
	assert_int_equal(kv.mod_revision, revision);
	contract_delete(c, "a");
	contract_put(c, "a", "4");
	assert_int_equal(contract_get(c, "a").version, 1);
}

static void contract_compact__cannot_be_repeated(struct contract *c)
{
	int64_t revision = contract_put(c, "a", "1");
	contract_compact(c, revision);
	struct storage_compact again = {.at_revision = revision};
	storage_compact_wait(c->s, &again);
	assert_result(&again.op, STORAGE_COMPACTED);
	storage_op_clear(&again.op);
	again.at_revision = revision - 1;
	storage_compact_wait(c->s, &again);
	assert_result(&again.op, STORAGE_COMPACTED);
	storage_op_clear(&again.op);
}

static void contract_compact__cannot_be_ahead(struct contract *c)
{
	struct storage_compact compact = {.at_revision = contract_revision(c) + 1000};
	storage_compact_wait(c->s, &compact);
	assert_result(&compact.op, STORAGE_FUTURE);
	storage_op_clear(&compact.op);
}

static const struct contract_case cases[] = {
	CASE(contract_history__can_be_read),
	CASE(contract_history__the_future_cannot),
	CASE(contract_compact__forgets_what_is_below),
	CASE(contract_compact__keeps_what_is_alive),
	CASE(contract_compact__life_goes_on),
	CASE(contract_compact__cannot_be_repeated),
	CASE(contract_compact__cannot_be_ahead),
};
const struct contract_suite contract_history_suite = {cases, ARRAY_SIZE(cases)};
