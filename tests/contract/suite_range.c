#include "tests/contract/contract.h"

#include <stdlib.h>

static struct storage_range *range_of_prefix(struct contract *c)
{
	struct storage_range *r = arena_new(&c->arena, struct storage_range);
	r->key = c->prefix;
	r->range_end = contract_end(c);
	return r;
}

static void put_letters(struct contract *c, const char *letters)
{
	for (const char *p = letters; *p; p++) {
		contract_put(c, (const char[]){*p, '\0'}, "x");
	}
}

/* The names found, in order, as one word. */
static const char *names(struct contract *c, const struct storage_range *r)
{
	char *word = arena_text(&c->arena, r->n_kvs + 1);
	for (size_t i = 0; i < r->n_kvs; i++) {
		word[i] = r->kvs[i].key.p[r->kvs[i].key.n - 1];
	}
	word[r->n_kvs] = '\0';
	return word;
}

static void contract_range__of_nothing_is_empty(struct contract *c)
{
	struct storage_range *r = range_of_prefix(c);
	storage_range_wait(c->s, r);
	assert_result(&r->op, STORAGE_OK);
	assert_int_equal(r->n_kvs, 0);
	assert_int_equal(r->count, 0);
	assert_false(r->has_more);
	assert_true(r->op.revision >= 1);
	storage_op_clear(&r->op);
}

static void contract_range__finds_a_key_with_its_numbers(struct contract *c)
{
	int64_t created = contract_put(c, "a", "1");
	int64_t modified = contract_put(c, "a", "2");
	assert_int_equal(modified, created + 1);

	struct storage_range r = {.key = contract_key(c, "a")};
	storage_range_wait(c->s, &r);
	assert_result(&r.op, STORAGE_OK);
	assert_int_equal(r.n_kvs, 1);
	assert_true(str_eq(r.kvs[0].key, r.key));
	assert_str(r.kvs[0].value, "2");
	assert_int_equal(r.kvs[0].create_revision, created);
	assert_int_equal(r.kvs[0].mod_revision, modified);
	assert_int_equal(r.kvs[0].version, 2);
	assert_int_equal(r.kvs[0].lease, 0);
	assert_int_equal(r.op.revision, modified);
	storage_op_clear(&r.op);
}

static void contract_range__without_end_means_that_key_only(struct contract *c)
{
	put_letters(c, "a");
	contract_put(c, "ab", "x");
	struct storage_range r = {.key = contract_key(c, "a")};
	storage_range_wait(c->s, &r);
	assert_int_equal(r.n_kvs, 1);
	storage_op_clear(&r.op);
}

static void contract_range__is_sorted_by_key(struct contract *c)
{
	put_letters(c, "cadb");
	struct storage_range *r = range_of_prefix(c);
	storage_range_wait(c->s, r);
	assert_string_equal(names(c, r), "abcd");
	assert_int_equal(r->count, 4);
	storage_op_clear(&r->op);
}

static void contract_range__end_is_exclusive(struct contract *c)
{
	put_letters(c, "abcd");
	struct storage_range r = {.key = contract_key(c, "b"), .range_end = contract_key(c, "d")};
	storage_range_wait(c->s, &r);
	assert_string_equal(names(c, &r), "bc");
	storage_op_clear(&r.op);
}

static void contract_range__to_the_end_of_all_keys(struct contract *c)
{
	put_letters(c, "ab");
	struct storage_range r = {.key = contract_key(c, "b"), .range_end = STR("\0"), .limit = 1};
	storage_range_wait(c->s, &r);
	assert_result(&r.op, STORAGE_OK);
	assert_string_equal(names(c, &r), "b");
	storage_op_clear(&r.op);
}

static void contract_range__limit_leaves_a_rest(struct contract *c)
{
	put_letters(c, "abc");
	struct storage_range *r = range_of_prefix(c);
	r->limit = 2;
	storage_range_wait(c->s, r);
	assert_string_equal(names(c, r), "ab");
	assert_true(r->has_more);
	assert_int_equal(r->count, 3);
	storage_op_clear(&r->op);
}

static void contract_range__limit_that_suffices_leaves_none(struct contract *c)
{
	put_letters(c, "abc");
	struct storage_range *r = range_of_prefix(c);
	r->limit = 3;
	storage_range_wait(c->s, r);
	assert_string_equal(names(c, r), "abc");
	assert_false(r->has_more);
	storage_op_clear(&r->op);
}

static void contract_range__keys_only_has_numbers_but_no_values(struct contract *c)
{
	int64_t revision = contract_put(c, "a", "1");
	struct storage_range *r = range_of_prefix(c);
	r->keys_only = true;
	storage_range_wait(c->s, r);
	assert_int_equal(r->n_kvs, 1);
	assert_int_equal(r->kvs[0].value.n, 0);
	assert_int_equal(r->kvs[0].mod_revision, revision);
	storage_op_clear(&r->op);
}

static void contract_range__count_only_brings_no_keys(struct contract *c)
{
	put_letters(c, "abc");
	struct storage_range *r = range_of_prefix(c);
	r->count_only = true;
	storage_range_wait(c->s, r);
	assert_int_equal(r->n_kvs, 0);
	assert_int_equal(r->count, 3);
	assert_false(r->has_more);
	storage_op_clear(&r->op);
}

static void contract_range__serializable_sees_what_was_written_here(struct contract *c)
{
	put_letters(c, "a");
	struct storage_range *r = range_of_prefix(c);
	r->is_serializable = true;
	storage_range_wait(c->s, r);
	assert_result(&r->op, STORAGE_OK);
	assert_string_equal(names(c, r), "a");
	storage_op_clear(&r->op);
}

static void contract_range__needs_a_key(struct contract *c)
{
	struct storage_range r = {.range_end = STR("\0")};
	storage_range_wait(c->s, &r);
	assert_result(&r.op, STORAGE_ERROR);
	assert_non_null(strstr(r.op.message, "key is not provided"));
	storage_op_clear(&r.op);
}

static void contract_range__keys_and_values_are_any_bytes(struct contract *c)
{
	struct str key = arena_printf(&c->arena, STR_FMT "%c\xff", STR_ARG(c->prefix), 0);
	struct storage_step put = {.kind = STEP_PUT, .key = key, .value = STR("a\0\xff\n")};
	struct storage_txn txn = {.success = &put, .n_success = 1};
	storage_txn_wait(c->s, &txn);
	assert_result(&txn.op, STORAGE_OK);
	storage_op_clear(&txn.op);

	struct storage_range *r = range_of_prefix(c);
	storage_range_wait(c->s, r);
	assert_int_equal(r->n_kvs, 1);
	assert_true(str_eq(r->kvs[0].key, key));
	assert_true(str_eq(r->kvs[0].value, put.value));
	storage_op_clear(&r->op);
}

static void contract_range__operation_may_be_used_again(struct contract *c)
{
	put_letters(c, "a");
	struct storage_range *r = range_of_prefix(c);
	for (int i = 0; i < 3; i++) {
		storage_range_wait(c->s, r);
		assert_result(&r->op, STORAGE_OK);
		assert_string_equal(names(c, r), "a");
		storage_op_clear(&r->op);
	}
}

enum { PAGE = 100, N_PAGED = 1050 };

static void contract_range__pages_at_one_revision_add_up(struct contract *c)
{
	for (int i = 0; i < N_PAGED; i++) {
		contract_put(c, arena_printf(&c->arena, "%04d", i).p, "x");
	}
	struct storage_range r = {.key = c->prefix, .range_end = contract_end(c), .limit = PAGE};
	int64_t n = 0;
	bool has_more = true;
	while (has_more) {
		storage_range_wait(c->s, &r);
		assert_result(&r.op, STORAGE_OK);
		n += (int64_t)r.n_kvs;
		has_more = r.has_more;
		if (n == PAGE) {
			r.at_revision = r.op.revision;
			contract_put(c, "9999", "after the first page");
		}
		struct str last = r.kvs[r.n_kvs - 1].key;
		char *next = arena_text(&c->arena, last.n + 1);
		memcpy(next, last.p, last.n);
		next[last.n] = '\0';
		r.key = (struct str){next, last.n + 1};
		storage_op_clear(&r.op);
	}
	assert_int_equal(n, N_PAGED);
}

static void contract_range__status_names_the_server(struct contract *c)
{
	contract_put(c, "a", "1");
	struct storage_status status = {0};
	storage_status_wait(c->s, &status);
	assert_result(&status.op, STORAGE_OK);
	assert_true(strlen(status.version) > 0);
	assert_true(status.db_size > 0);
	assert_true(status.leader != 0);
	storage_op_clear(&status.op);
}

/* ---- the end of a store ---- */

enum { N_UNDER_WAY = 200 };

struct counted_op {
	struct storage_txn txn;
	struct storage_step put;
	int *n_done; /* of the completion thread, then of this one */
	char key[64];
};

static void count_done(struct storage_op *op)
{
	struct counted_op *counted = container_of(op, struct counted_op, txn.op);
	(*counted->n_done)++;
	storage_op_clear(op);
}

static void contract_free__ends_what_is_under_way(struct contract *c)
{
	int n_done = 0;
	struct counted_op *ops = mem_array(N_UNDER_WAY, sizeof(*ops));
	for (int i = 0; i < N_UNDER_WAY; i++) {
		struct counted_op *op = &ops[i];
		snprintf(op->key, sizeof(op->key), STR_FMT "%d", STR_ARG(c->prefix), i);
		op->put = (struct storage_step){.kind = STEP_PUT, .key = str_of(op->key)};
		op->n_done = &n_done;
		op->txn = (struct storage_txn){.op.done = count_done, .success = &op->put, .n_success = 1};
		storage_txn(c->s, &op->txn);
	}
	c->s = storage_free(c->s);
	assert_int_equal(n_done, N_UNDER_WAY);
	mem_free(ops);
}

/* How the newest change of a range is found, and how many keys it has, in one question. */
static void contract_range__of_later_changes_has_the_last_one_first(struct contract *c)
{
	put_letters(c, "abcd");
	int64_t before = contract_revision(c);
	contract_put(c, "c", "y");
	contract_delete(c, "d");
	contract_put(c, "a", "y");
	struct storage_range *r = range_of_prefix(c);
	r->changed_after = before;
	r->keys_only = true;
	storage_range_wait(c->s, r);
	assert_result(&r->op, STORAGE_OK);
	assert_string_equal(names(c, r), "ac");
	assert_int_equal(r->count, 3);
	storage_op_clear(&r->op);
	r->limit = 1;
	storage_range_wait(c->s, r);
	assert_string_equal(names(c, r), "a");
	assert_int_equal(r->count, 3);
	assert_true(r->has_more);
	storage_op_clear(&r->op);
	r->changed_after = contract_revision(c);
	storage_range_wait(c->s, r);
	assert_int_equal(r->n_kvs, 0);
	assert_int_equal(r->count, 3);
	assert_false(r->has_more);
	storage_op_clear(&r->op);
}

static const struct contract_case cases[] = {
	CASE(contract_range__of_nothing_is_empty),
	CASE(contract_range__finds_a_key_with_its_numbers),
	CASE(contract_range__without_end_means_that_key_only),
	CASE(contract_range__is_sorted_by_key),
	CASE(contract_range__end_is_exclusive),
	CASE(contract_range__to_the_end_of_all_keys),
	CASE(contract_range__limit_leaves_a_rest),
	CASE(contract_range__limit_that_suffices_leaves_none),
	CASE(contract_range__keys_only_has_numbers_but_no_values),
	CASE(contract_range__count_only_brings_no_keys),
	CASE(contract_range__serializable_sees_what_was_written_here),
	CASE(contract_range__needs_a_key),
	CASE(contract_range__keys_and_values_are_any_bytes),
	CASE(contract_range__operation_may_be_used_again),
	CASE(contract_range__pages_at_one_revision_add_up),
	CASE(contract_range__of_later_changes_has_the_last_one_first),
	CASE(contract_range__status_names_the_server),
	CASE(contract_free__ends_what_is_under_way),
};
const struct contract_suite contract_range_suite = {cases, ARRAY_SIZE(cases)};
