#include "tests/contract/contract.h"

#include <stdlib.h>

static void txn(struct contract *c, struct storage_txn *t)
{
	storage_txn_wait(c->s, t);
	assert_result(&t->op, STORAGE_OK);
}

/* ---- branches ---- */

static void contract_txn__create_succeeds_once_and_shows_what_is_there(struct contract *c)
{
	struct str key = contract_key(c, "a");
	struct storage_compare is_new = {.target = COMPARE_CREATE, .result = COMPARE_EQUAL, .key = key};
	struct storage_step put = {.kind = STEP_PUT, .key = key, .value = STR("1")};
	struct storage_step get = {.kind = STEP_GET, .key = key};
	struct storage_txn t = {
		.compares = &is_new, .n_compares = 1, .success = &put, .n_success = 1, .failure = &get, .n_failure = 1};
	txn(c, &t);
	assert_true(t.succeeded);
	int64_t revision = t.op.revision;
	storage_op_clear(&t.op);

	put.value = STR("2");
	txn(c, &t);
	assert_false(t.succeeded);
	assert_int_equal(get.n_kvs, 1);
	assert_int_equal(get.count, 1);
	assert_str(get.kvs[0].value, "1");
	assert_int_equal(get.kvs[0].mod_revision, revision);
	assert_true(t.op.revision >= revision); /* etcd may still carry out what a case before this one gave up */
	storage_op_clear(&t.op);
}

static void contract_txn__without_guards_succeeds(struct contract *c)
{
	struct storage_step put = {.kind = STEP_PUT, .key = contract_key(c, "a")};
	struct storage_txn t = {.success = &put, .n_success = 1};
	txn(c, &t);
	assert_true(t.succeeded);
	storage_op_clear(&t.op);
	assert_int_equal(contract_get(c, "a").version, 1);
}

static void contract_txn__all_guards_must_hold(struct contract *c)
{
	contract_put(c, "a", "1");
	struct storage_compare guards[] = {
		{.target = COMPARE_VERSION, .result = COMPARE_EQUAL, .key = contract_key(c, "a"), .number = 1},
		{.target = COMPARE_VERSION, .result = COMPARE_EQUAL, .key = contract_key(c, "b"), .number = 1},
	};
	struct storage_step put = {.kind = STEP_PUT, .key = contract_key(c, "c")};
	struct storage_txn t = {.compares = guards, .n_compares = 2, .success = &put, .n_success = 1};
	txn(c, &t);
	assert_false(t.succeeded);
	storage_op_clear(&t.op);
	assert_int_equal(contract_get(c, "c").version, 0);
}

static void contract_txn__steps_share_one_revision(struct contract *c)
{
	struct storage_step puts[] = {
		{.kind = STEP_PUT, .key = contract_key(c, "a")},
		{.kind = STEP_PUT, .key = contract_key(c, "b")},
	};
	int64_t before = contract_revision(c);
	struct storage_txn t = {.success = puts, .n_success = 2};
	txn(c, &t);
	assert_int_equal(t.op.revision, before + 1);
	storage_op_clear(&t.op);
	assert_int_equal(contract_get(c, "a").mod_revision, before + 1);
	assert_int_equal(contract_get(c, "b").mod_revision, before + 1);
}

static void contract_txn__get_sees_the_steps_before_it(struct contract *c)
{
	struct storage_step steps[] = {
		{.kind = STEP_GET, .key = c->prefix, .range_end = contract_end(c)},
		{.kind = STEP_PUT, .key = contract_key(c, "a"), .value = STR("1")},
		{.kind = STEP_GET, .key = c->prefix, .range_end = contract_end(c)},
	};
	struct storage_txn t = {.success = steps, .n_success = 3};
	txn(c, &t);
	assert_int_equal(steps[0].n_kvs, 0);
	assert_int_equal(steps[2].n_kvs, 1);
	assert_str(steps[2].kvs[0].value, "1");
	assert_int_equal(steps[2].kvs[0].mod_revision, t.op.revision);
	storage_op_clear(&t.op);
}

static void contract_txn__get_has_limit_count_and_keys_only(struct contract *c)
{
	contract_put(c, "a", "1");
	contract_put(c, "b", "2");
	struct storage_step get = {
		.kind = STEP_GET, .key = c->prefix, .range_end = contract_end(c), .limit = 1, .keys_only = true};
	struct storage_txn t = {.success = &get, .n_success = 1};
	txn(c, &t);
	assert_int_equal(get.n_kvs, 1);
	assert_int_equal(get.count, 2);
	assert_int_equal(get.kvs[0].value.n, 0);
	storage_op_clear(&t.op);
}

static void contract_txn__delete_counts_and_starts_a_new_life(struct contract *c)
{
	contract_put(c, "a", "1");
	contract_put(c, "a", "2");
	contract_put(c, "b", "1");
	struct storage_step delete = {.kind = STEP_DELETE, .key = c->prefix, .range_end = contract_end(c)};
	struct storage_txn t = {.success = &delete, .n_success = 1};
	txn(c, &t);
	assert_int_equal(delete.count, 2);
	storage_op_clear(&t.op);

	int64_t revision = contract_put(c, "a", "3");
	struct storage_kv kv = contract_get(c, "a");
	assert_int_equal(kv.version, 1);
	assert_int_equal(kv.create_revision, revision);
}

static void contract_txn__that_changes_nothing_keeps_the_revision(struct contract *c)
{
	int64_t before = contract_revision(c);
	struct storage_step steps[] = {
		{.kind = STEP_DELETE, .key = contract_key(c, "a")},
		{.kind = STEP_GET, .key = contract_key(c, "a")},
	};
	struct storage_txn t = {.success = steps, .n_success = 2};
	txn(c, &t);
	assert_int_equal(steps[0].count, 0);
	assert_int_equal(t.op.revision, before);
	storage_op_clear(&t.op);
}

static void contract_txn__put_of_the_same_value_is_a_change(struct contract *c)
{
	int64_t before = contract_put(c, "a", "1");
	assert_int_equal(contract_put(c, "a", "1"), before + 1);
	assert_int_equal(contract_get(c, "a").version, 2);
}

/* ---- every target with every result ---- */

static bool guard_holds(struct contract *c, struct storage_compare guard)
{
	struct storage_txn t = {.compares = &guard, .n_compares = 1};
	txn(c, &t);
	bool holds = t.succeeded;
	storage_op_clear(&t.op);
	return holds;
}

static void check_number(struct contract *c, enum storage_compare_target target, struct str key, int64_t actual)
{
	static const struct {
		enum storage_compare_result result;
		bool below, same, above; /* than the actual number */
	} rows[] = {
		{COMPARE_EQUAL, false, true, false},
		{COMPARE_GREATER, true, false, false},
		{COMPARE_LESS, false, false, true},
		{COMPARE_NOT_EQUAL, true, false, true},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct storage_compare guard = {.target = target, .result = rows[i].result, .key = key, .number = actual};
		assert_int_equal(guard_holds(c, guard), rows[i].same);
		guard.number = actual - 1;
		assert_int_equal(guard_holds(c, guard), rows[i].below);
		guard.number = actual + 1;
		assert_int_equal(guard_holds(c, guard), rows[i].above);
	}
}

static void contract_compare__numbers(struct contract *c)
{
	contract_put(c, "a", "1");
	contract_put(c, "a", "2");
	struct storage_kv kv = contract_get(c, "a");
	struct str key = contract_key(c, "a");
	check_number(c, COMPARE_VERSION, key, 2);
	check_number(c, COMPARE_CREATE, key, kv.create_revision);
	check_number(c, COMPARE_MOD, key, kv.mod_revision);
	check_number(c, COMPARE_LEASE, key, 0);
}

static void contract_compare__missing_key_is_all_zeroes(struct contract *c)
{
	struct str key = contract_key(c, "missing");
	check_number(c, COMPARE_VERSION, key, 0);
	check_number(c, COMPARE_CREATE, key, 0);
	check_number(c, COMPARE_MOD, key, 0);
	check_number(c, COMPARE_LEASE, key, 0);
}

static void contract_compare__values(struct contract *c)
{
	contract_put(c, "a", "m");
	struct storage_compare guard = {.target = COMPARE_VALUE, .key = contract_key(c, "a")};
	static const struct {
		enum storage_compare_result result;
		const char *value;
		bool holds;
	} rows[] = {
		{COMPARE_EQUAL, "m", true},
		{COMPARE_EQUAL, "mm", false},
		{COMPARE_GREATER, "l", true},
		{COMPARE_GREATER, "m", false},
		{COMPARE_LESS, "ma", true},
		{COMPARE_LESS, "a", false},
		{COMPARE_NOT_EQUAL, "n", true},
		{COMPARE_NOT_EQUAL, "m", false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		guard.result = rows[i].result;
		guard.value = str_of(rows[i].value);
		assert_int_equal(guard_holds(c, guard), rows[i].holds);
	}
}

static void contract_compare__no_value_compares_with_a_missing_key(struct contract *c)
{
	struct storage_compare guard = {.target = COMPARE_VALUE, .key = contract_key(c, "missing"), .value = STR("")};
	for (enum storage_compare_result r = COMPARE_EQUAL; r <= COMPARE_NOT_EQUAL; r++) {
		guard.result = r;
		assert_false(guard_holds(c, guard));
	}
}

static void contract_compare__range_must_hold_for_every_key(struct contract *c)
{
	int64_t first = contract_put(c, "a", "1");
	int64_t second = contract_put(c, "b", "1");
	struct storage_compare guard = {
		.target = COMPARE_MOD, .result = COMPARE_LESS, .key = c->prefix, .range_end = contract_end(c)};
	guard.number = second + 1;
	assert_true(guard_holds(c, guard));
	guard.number = first + 1;
	assert_false(guard_holds(c, guard));
	guard.range_end = contract_key(c, "b");
	assert_true(guard_holds(c, guard));
}

static void contract_compare__nothing_is_there(struct contract *c)
{
	struct storage_compare guard = {
		.target = COMPARE_CREATE, .result = COMPARE_EQUAL, .key = c->prefix, .range_end = contract_end(c)};
	assert_true(guard_holds(c, guard));
	contract_put(c, "a", "1");
	assert_false(guard_holds(c, guard));
	contract_delete(c, "a");
	assert_true(guard_holds(c, guard));
}

static void contract_compare__empty_range_is_one_key_of_zeroes(struct contract *c)
{
	struct storage_compare guard = {
		.target = COMPARE_VERSION, .result = COMPARE_GREATER, .key = c->prefix, .range_end = contract_end(c)};
	assert_false(guard_holds(c, guard));
}

/* ---- what is refused changes nothing ---- */

static void check_refused(struct contract *c, struct storage_txn *t, enum storage_result expected, const char *text)
{
	int64_t before = contract_revision(c);
	storage_txn_wait(c->s, t);
	assert_result(&t->op, expected);
	assert_true(storage_result_is_certain(t->op.result));
	if (!strstr(t->op.message, text)) {
		fail_msg("\"%s\" does not say \"%s\"", t->op.message, text);
	}
	storage_op_clear(&t->op);
	assert_int_equal(contract_revision(c), before);
}

static void contract_txn__may_not_put_a_key_twice(struct contract *c)
{
	struct storage_step steps[] = {
		{.kind = STEP_PUT, .key = contract_key(c, "a")},
		{.kind = STEP_PUT, .key = contract_key(c, "a")},
	};
	struct storage_txn t = {.success = steps, .n_success = 2};
	check_refused(c, &t, STORAGE_ERROR, "duplicate key");
}

static void contract_txn__may_not_put_and_delete_a_key(struct contract *c)
{
	struct storage_step steps[] = {
		{.kind = STEP_DELETE, .key = c->prefix, .range_end = contract_end(c)},
		{.kind = STEP_PUT, .key = contract_key(c, "a")},
	};
	struct storage_txn t = {.success = steps, .n_success = 2};
	check_refused(c, &t, STORAGE_ERROR, "duplicate key");
}

static void contract_txn__may_put_a_key_in_both_branches(struct contract *c)
{
	struct storage_step step = {.kind = STEP_PUT, .key = contract_key(c, "a")}, other = step;
	struct storage_txn t = {.success = &step, .n_success = 1, .failure = &other, .n_failure = 1};
	txn(c, &t);
	storage_op_clear(&t.op);
}

enum { MOST_STEPS = 128 };

static void contract_txn__has_at_most_128_steps(struct contract *c)
{
	struct storage_step *steps = arena_array(&c->arena, struct storage_step, MOST_STEPS + 1);
	for (int i = 0; i <= MOST_STEPS; i++) {
		steps[i] = (struct storage_step){.kind = STEP_PUT, .key = contract_key(c, arena_printf(&c->arena, "%d", i).p)};
	}
	struct storage_txn t = {.success = steps, .n_success = MOST_STEPS + 1};
	check_refused(c, &t, STORAGE_ERROR, "too many operations");
	t.n_success = MOST_STEPS;
	txn(c, &t);
	storage_op_clear(&t.op);
}

static struct str letters(struct contract *c, size_t n)
{
	char *text = arena_text(&c->arena, n);
	for (size_t i = 0; i < n; i++) {
		text[i] = (char)('a' + i % 26);
	}
	return (struct str){text, n};
}

static void contract_txn__takes_big_values(struct contract *c)
{
	struct storage_step put = {.kind = STEP_PUT, .key = contract_key(c, "a"), .value = letters(c, 1400 << 10)};
	struct storage_txn t = {.success = &put, .n_success = 1};
	txn(c, &t);
	storage_op_clear(&t.op);
	assert_true(str_eq(contract_get(c, "a").value, put.value));
}

static void contract_txn__refuses_bigger_ones(struct contract *c)
{
	static const size_t sizes[] = {1600 << 10, 2 << 20, 5 << 20};
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct storage_step put = {.kind = STEP_PUT, .key = contract_key(c, "a"), .value = letters(c, sizes[i])};
		struct storage_txn t = {.success = &put, .n_success = 1};
		check_refused(c, &t, STORAGE_TOO_LARGE, "large");
	}
}

static void contract_txn__needs_keys(struct contract *c)
{
	struct storage_step put = {.kind = STEP_PUT};
	struct storage_txn t = {.success = &put, .n_success = 1};
	check_refused(c, &t, STORAGE_ERROR, "key is not provided");
}

/* ---- races ---- */

enum { N_THREADS = 6, N_ROUNDS = 20 };

struct racer {
	struct contract *c;
	struct arena arena;
	pthread_t thread;
	int index;
	void (*run)(struct racer *racer);
	int n_won[N_ROUNDS];
};

static void *racer_run(void *p)
{
	struct racer *racer = p;
	racer->run(racer);
	return NULL;
}

static void race(struct contract *c, struct racer racers[N_THREADS], void (*run)(struct racer *racer))
{
	for (int i = 0; i < N_THREADS; i++) {
		racers[i] = (struct racer){.c = c, .index = i, .run = run};
		arena_init(&racers[i].arena, SIZE_MAX);
		assert_int_equal(pthread_create(&racers[i].thread, NULL, racer_run, &racers[i]), 0);
	}
	for (int i = 0; i < N_THREADS; i++) {
		pthread_join(racers[i].thread, NULL);
		arena_done(&racers[i].arena);
	}
}

/* cmocka's assertions belong to the main thread: what a racer cannot do shows as a round nobody won. */
static bool racer_txn(struct racer *racer, struct storage_txn *t)
{
	enum storage_result r = storage_txn_wait(racer->c->s, t);
	storage_op_clear(&t->op);
	return r == STORAGE_OK && t->succeeded;
}

static void claim_an_empty_range(struct racer *racer)
{
	for (int round = 0; round < N_ROUNDS; round++) {
		struct str prefix = arena_printf(&racer->arena, STR_FMT "%d/", STR_ARG(racer->c->prefix), round);
		struct str key = arena_printf(&racer->arena, STR_FMT "%d", STR_ARG(prefix), racer->index);
		struct storage_compare nothing = {.target = COMPARE_CREATE, .result = COMPARE_EQUAL, .key = prefix};
		nothing.range_end = storage_prefix_end(&racer->arena, prefix);
		struct storage_step put = {.kind = STEP_PUT, .key = key};
		struct storage_txn t = {.compares = &nothing, .n_compares = 1, .success = &put, .n_success = 1};
		racer->n_won[round] = racer_txn(racer, &t);
	}
}

static void contract_race__one_claims_an_empty_range(struct contract *c)
{
	struct racer racers[N_THREADS];
	race(c, racers, claim_an_empty_range);
	for (int round = 0; round < N_ROUNDS; round++) {
		int n_won = 0;
		for (int i = 0; i < N_THREADS; i++) {
			n_won += racers[i].n_won[round];
		}
		assert_int_equal(n_won, 1);
	}
}

/* Even racers delete the provider unless something refers to it; odd ones refer to it unless it is gone. */
static void refer_or_delete(struct racer *racer)
{
	for (int round = 0; round < N_ROUNDS; round++) {
		struct str provider = arena_printf(&racer->arena, STR_FMT "provider/%d", STR_ARG(racer->c->prefix), round);
		struct str refs = arena_printf(&racer->arena, STR_FMT "refs/%d/", STR_ARG(racer->c->prefix), round);
		struct str ref = arena_printf(&racer->arena, STR_FMT "%d", STR_ARG(refs), racer->index);
		bool is_deleter = racer->index % 2 == 0;
		struct storage_compare guards[] = {
			{.target = COMPARE_CREATE, .result = COMPARE_GREATER, .key = provider},
			{.target = COMPARE_CREATE, .result = COMPARE_EQUAL, .key = refs},
		};
		guards[1].range_end = storage_prefix_end(&racer->arena, refs);
		struct storage_step delete = {.kind = STEP_DELETE, .key = provider};
		struct storage_step put = {.kind = STEP_PUT, .key = ref};
		struct storage_txn t = {
			.compares = guards,
			.n_compares = is_deleter ? 2 : 1,
			.success = is_deleter ? &delete : &put,
			.n_success = 1,
		};
		racer->n_won[round] = racer_txn(racer, &t);
	}
}

static void contract_race__nothing_in_use_is_deleted(struct contract *c)
{
	for (int round = 0; round < N_ROUNDS; round++) {
		contract_put(c, arena_printf(&c->arena, "provider/%d", round).p, "");
	}
	struct racer racers[N_THREADS];
	race(c, racers, refer_or_delete);
	for (int round = 0; round < N_ROUNDS; round++) {
		bool is_deleted = contract_get(c, arena_printf(&c->arena, "provider/%d", round).p).version == 0;
		struct storage_range refs = {
			.key = contract_key(c, arena_printf(&c->arena, "refs/%d/", round).p),
			.range_end = contract_key(c, arena_printf(&c->arena, "refs/%d0", round).p),
		};
		storage_range_wait(c->s, &refs);
		assert_int_equal(is_deleted, refs.n_kvs == 0);
		storage_op_clear(&refs.op);
	}
}

/* Optimistic, as every update of an object is: what fails comes back with the present state and goes again. */
static void count_up(struct racer *racer)
{
	struct str key = arena_printf(&racer->arena, STR_FMT "counter", STR_ARG(racer->c->prefix));
	int64_t revision = 0, number = 0;
	for (int n = 0; n < N_ROUNDS;) {
		struct str value = arena_printf(&racer->arena, "%lld", (long long)number + 1);
		struct storage_compare same = {.target = COMPARE_MOD, .result = COMPARE_EQUAL, .key = key, .number = revision};
		struct storage_step put = {.kind = STEP_PUT, .key = key, .value = value};
		struct storage_step get = {.kind = STEP_GET, .key = key};
		struct storage_txn t = {
			.compares = &same, .n_compares = 1, .success = &put, .n_success = 1, .failure = &get, .n_failure = 1};
		if (storage_txn_wait(racer->c->s, &t) != STORAGE_OK) {
			storage_op_clear(&t.op);
			return;
		}
		if (t.succeeded) {
			racer->n_won[n++] = 1;
			number++;
			revision = t.op.revision;
		} else {
			str_to_int64(get.kvs[0].value, &number);
			revision = get.kvs[0].mod_revision;
		}
		storage_op_clear(&t.op);
	}
}

static void contract_race__no_update_is_lost(struct contract *c)
{
	struct racer racers[N_THREADS];
	race(c, racers, count_up);
	struct storage_kv kv = contract_get(c, "counter");
	int64_t number;
	assert_true(str_to_int64(kv.value, &number));
	assert_int_equal(number, N_THREADS * N_ROUNDS);
	assert_int_equal(kv.version, N_THREADS * N_ROUNDS);
}

static const struct contract_case cases[] = {
	CASE(contract_txn__create_succeeds_once_and_shows_what_is_there),
	CASE(contract_txn__without_guards_succeeds),
	CASE(contract_txn__all_guards_must_hold),
	CASE(contract_txn__steps_share_one_revision),
	CASE(contract_txn__get_sees_the_steps_before_it),
	CASE(contract_txn__get_has_limit_count_and_keys_only),
	CASE(contract_txn__delete_counts_and_starts_a_new_life),
	CASE(contract_txn__that_changes_nothing_keeps_the_revision),
	CASE(contract_txn__put_of_the_same_value_is_a_change),
	CASE(contract_compare__numbers),
	CASE(contract_compare__missing_key_is_all_zeroes),
	CASE(contract_compare__values),
	CASE(contract_compare__no_value_compares_with_a_missing_key),
	CASE(contract_compare__range_must_hold_for_every_key),
	CASE(contract_compare__nothing_is_there),
	CASE(contract_compare__empty_range_is_one_key_of_zeroes),
	CASE(contract_txn__may_not_put_a_key_twice),
	CASE(contract_txn__may_not_put_and_delete_a_key),
	CASE(contract_txn__may_put_a_key_in_both_branches),
	CASE(contract_txn__has_at_most_128_steps),
	CASE(contract_txn__takes_big_values),
	CASE(contract_txn__refuses_bigger_ones),
	CASE(contract_txn__needs_keys),
	CASE(contract_race__one_claims_an_empty_range),
	CASE(contract_race__nothing_in_use_is_deleted),
	CASE(contract_race__no_update_is_lost),
};
const struct contract_suite contract_txn_suite = {cases, ARRAY_SIZE(cases)};
