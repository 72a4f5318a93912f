/* annals import over a store that fails: in each way a store can fail, the first storage call fails, then the second, third ... until
 * the import needs no more. It must end well, or say why not; and the same command again completes it. */
#include "cli/export/import.h"
#include "storage/memory/memory.h"
#include "tests/double/fault.h"
#include "tests/double/wrapper.h"
#include "tests/unit/check.h"

#include <stdatomic.h>
#include <unistd.h>

#define PREFIX "/annals"
#define OWNER "\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"a\",\"uid\":\"uid-a\"}]"
#define META(name, more) "\"metadata\":{\"namespace\":\"ns\",\"name\":\"" name "\",\"uid\":\"uid-" name "\"" more "}"

/* Owners and owned, index keys and a lease. */
static const char objects[] = "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"," META(
	"b", "," OWNER) ",\"data\":{\"x\":\"1\"}}\n"
			"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"," META("a",
				"") ",\"data\":{\"x\":\"1\"}}\n"
				    "{\"apiVersion\":\"v1\",\"kind\":\"Event\"," META("e",
					    "") ",\"involvedObject\":{\"kind\":\"ConfigMap\",\"namespace\":\"ns\","
						"\"name\":\"a\"},\"type\":\"Normal\",\"reason\":\"R\",\"message\":\"m\"}\n"
						"{\"apiVersion\":\"annals.dev/v1\",\"kind\":\"Dependent\"," META("d",
							"") ",\"spec\":{\"providers\":[{\"kind\":\"Provider\","
							    "\"name\":\"p\"}]}}\n"
							    "{\"apiVersion\":\"annals.dev/v1\",\"kind\":\"Provider\"," META(
								    "p", "") ",\"spec\":{\"data\":{\"a\":1}}}\n";
enum { N_OBJECTS = 5 + 1 }; /* and the namespace */

static int input(struct buf *err)
{
	int fd = import_file_temporary(err);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, objects, sizeof(objects) - 1), sizeof(objects) - 1);
	return fd;
}

static int import_into(struct storage *s, struct import_counts *ret, struct buf *err)
{
	static const struct option_strings all;
	struct import_options options = {
		.storage = s, .prefix = STR(PREFIX), .creates_namespaces = true, .resources = &all, .namespaces = &all};
	for (size_t i = 0; i < kind_count(); i++) {
		options.wants[i] = true;
	}
	buf_clear(err);
	return import_run(&options, input(err), ret, err);
}

/* All keys but those of registrations, which come and go. */
struct state {
	struct arena a;
	struct str *keys;
	size_t n;
};

static void state_read(struct state *ret, struct storage *s, bool with_marks)
{
	arena_init(&ret->a, 1 << 24);
	struct str key = STR(PREFIX "/");
	struct storage_range range = {.key = key, .range_end = storage_prefix_end(&ret->a, key)};
	assert_int_equal(storage_range_wait(s, &range), STORAGE_OK);
	ret->keys = arena_array(&ret->a, struct str, range.n_kvs + 1);
	ret->n = 0;
	for (size_t i = 0; i < range.n_kvs; i++) {
		struct str found = range.kvs[i].key;
		if (!str_starts(found, STR(PREFIX "/replicas/")) &&
			(with_marks || !str_starts(found, STR(PREFIX "/imports/")))) {
			ret->keys[ret->n++] = arena_dup(&ret->a, found);
		}
	}
	storage_op_clear(&range.op);
}

/* with_marks: also that an import is under way. One whose removal failed goes with the next import of the file. */
static void assert_same_keys(struct storage *s, const struct state *expected, bool with_marks)
{
	struct state now;
	state_read(&now, s, with_marks);
	for (size_t i = 0; i < now.n && i < expected->n; i++) {
		if (!str_eq(now.keys[i], expected->keys[i])) {
			fail_msg(STR_FMT " rather than " STR_FMT, STR_ARG(now.keys[i]), STR_ARG(expected->keys[i]));
		}
	}
	assert_int_equal(now.n, expected->n);
	arena_done(&now.a);
}

/* What a whole import leaves. */
static void state_expect(struct state *ret)
{
	_cleanup_(buf_done) struct buf err;
	struct import_counts counts;
	struct storage *s = storage_memory_new();
	buf_init(&err, 64 << 10);
	assert_int_equal(import_into(s, &counts, &err), 0);
	assert_int_equal(counts.created, N_OBJECTS);
	state_read(ret, s, true);
	storage_free(s);
}

/* Returns true if the fault was met. */
static bool import_with_a_fault(enum fault_kind kind, unsigned n, const struct state *expected)
{
	_cleanup_(buf_done) struct buf err;
	struct import_counts counts;
	struct storage *memory = storage_memory_new(), *s = storage_fault_new(memory);
	buf_init(&err, 64 << 10);
	storage_fault_arm(s, kind, n);
	int r = import_into(s, &counts, &err);
	bool has_fired = storage_fault_has_fired(s);
	storage_fault_arm(s, kind, 0);
	if (r != 0) {
		assert_true(has_fired);
		assert_true(err.n > 0); /* it says why */
	} else {
		assert_int_equal(counts.created, N_OBJECTS);
		assert_same_keys(memory, expected, false);
	}
	if (import_into(s, &counts, &err) != 0) {
		fail_msg("way %d, call %u: the second import: " STR_FMT, kind, n, STR_ARG(buf_str(&err)));
	}
	assert_in_range(counts.created + counts.same, N_OBJECTS - 1, N_OBJECTS); /* a namespace that is there is not counted */
	assert_same_keys(memory, expected, true);
	storage_free(s);
	return has_fired;
}

static void test_import__each_call_in_its_turn_fails(void **state _unused_)
{
	static const enum fault_kind ways[] = {FAULT_REFUSE, FAULT_LOSE, FAULT_FULL, FAULT_OVERFILL};
	struct state expected;
	state_expect(&expected);
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		unsigned n = 1;
		while (import_with_a_fault(ways[i], n, &expected)) {
			n++;
		}
		assert_true(n > N_OBJECTS);
	}
	arena_done(&expected.a);
}

/* ---- a lease that ends ---- */

struct revoker {
	struct wrapper wrapper;
	_Atomic unsigned n_left; /* leases to end; each when the first object is written with it */
	_Atomic unsigned n_txns;
	_Atomic bool is_of_registrations;
};

static void revoke_first(struct storage *inner, const struct storage_txn *txn)
{
	for (size_t i = 0; i < txn->n_success; i++) {
		if (txn->success[i].lease) {
			struct storage_lease lease = {.id = txn->success[i].lease};
			storage_lease_revoke_wait(inner, &lease);
			storage_op_clear(&lease.op);
			return;
		}
	}
}

static bool has_object_with_lease(const struct storage_txn *txn)
{
	for (size_t i = 0; i < txn->n_success; i++) {
		if (txn->success[i].lease && str_starts(txn->success[i].key, STR(PREFIX "/objects/"))) {
			return true;
		}
	}
	return false;
}

/* As an etcd whose clock has gone on while the import was not running. */
static void forget_registrations(struct storage *inner)
{
	struct storage_step all = {.kind = STEP_DELETE, .key = STR(PREFIX "/replicas/"), .range_end = STR(PREFIX "/replicas0")};
	struct storage_txn txn = {.success = &all, .n_success = 1};
	assert_int_equal(storage_txn_wait(inner, &txn), STORAGE_OK);
	storage_op_clear(&txn.op);
}

static bool writes_an_object(const struct storage_txn *txn)
{
	for (size_t i = 0; i < txn->n_success; i++) {
		if (str_starts(txn->success[i].key, STR(PREFIX "/objects/core/configmaps/"))) {
			return true;
		}
	}
	return false;
}

static void revoker_submit(struct wrapper *w, enum op_kind kind, struct storage_op *op)
{
	struct revoker *r = container_of(w, struct revoker, wrapper);
	const struct storage_txn *txn = container_of(op, struct storage_txn, op);

	r->n_txns += kind == OP_TXN;
	if (kind == OP_TXN && atomic_load(&r->n_left) > 0) {
		if (atomic_load(&r->is_of_registrations) && writes_an_object(txn)) {
			forget_registrations(w->inner);
			r->n_left--;
		} else if (!atomic_load(&r->is_of_registrations) && has_object_with_lease(txn)) {
			revoke_first(w->inner, txn);
			r->n_left--;
		}
	}
	op_submit(w->inner, kind, op);
}

static void revoker_free(struct wrapper *w)
{
	storage_free(w->inner);
	mem_free(container_of(w, struct revoker, wrapper));
}

static void check_goes_on(bool is_of_registrations)
{
	_cleanup_(buf_done) struct buf err;
	struct import_counts counts;
	struct state expected;
	struct revoker *r = mem_new(struct revoker);
	state_expect(&expected);
	r->wrapper = (struct wrapper){{&wrapper_ops}, storage_memory_new(), revoker_submit, revoker_free};
	r->n_left = 2;
	r->is_of_registrations = is_of_registrations;
	buf_init(&err, 64 << 10);
	if (import_into(&r->wrapper.storage, &counts, &err) != 0) {
		fail_msg("%s", err.p);
	}
	assert_int_equal(counts.created, N_OBJECTS);
	assert_int_equal(r->n_left, 0);
	assert_in_range(r->n_txns, N_OBJECTS, 10 * N_OBJECTS); /* it does not try a lease that is gone for ever */
	assert_same_keys(r->wrapper.inner, &expected, true);
	storage_free(&r->wrapper.storage);
	arena_done(&expected.a);
}

static void test_import__takes_another_lease_where_one_has_ended(void **state _unused_)
{
	check_goes_on(false);
}

static void test_import__registers_again_between_two_objects(void **state _unused_)
{
	check_goes_on(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_import__each_call_in_its_turn_fails),
		TEST(test_import__takes_another_lease_where_one_has_ended),
		TEST(test_import__registers_again_between_two_objects),
	};
	return cmocka_run_group_tests_name("import", tests, NULL, NULL);
}
