/* Replicas over a real etcd: what it takes for them to agree, and what happens when leases end, when etcd goes and comes back, and when it forgets. */
#include "base/clock.h"
#include "tests/contract/contract.h"
#include "tests/contract/etcd_process.h"
#include "tests/double/wrapper.h"
#include "tests/unit/agreement_world.h"

#include <signal.h>
#include <stdatomic.h>

enum { LEASE_S = 2, N = 3 };

static const char *binary;

/* ---- a store that can be made to renew no lease, nor to get another one, as that of a process which stands still ---- */

struct idler {
	struct wrapper wrapper;
	atomic_bool is_idle;
};

static void idler_submit(struct wrapper *w, enum op_kind kind, struct storage_op *op)
{
	struct idler *i = container_of(w, struct idler, wrapper);
	bool is_of_leases = kind == OP_LEASE_KEEP_ALIVE || kind == OP_LEASE_GRANT;

	if (is_of_leases && atomic_load(&i->is_idle)) {
		struct shadow *shadow = shadow_new(w, kind, op);
		shadow_fail(shadow, STORAGE_UNAVAILABLE, "idle");
		shadow_return(shadow);
	} else {
		op_submit(w->inner, kind, op);
	}
}

static void idler_free(struct wrapper *w)
{
	struct idler *i = container_of(w, struct idler, wrapper);

	storage_free(w->inner);
	mem_free(i);
}

static struct idler *idler_new(struct storage *inner)
{
	struct idler *i = mem_new(struct idler);

	i->wrapper = (struct wrapper){{&wrapper_ops}, inner, idler_submit, idler_free};
	return i;
}

/* ---- replicas, each with a connection of its own ---- */

struct world {
	struct etcd_process *etcd;
	struct idler *stores[N];
	struct replica replicas[N];
};

static int start(void **state)
{
	struct world *w = mem_new(struct world);

	w->etcd = etcd_process_new(binary, ETCD_PLAIN, NULL);
	etcd_process_start(w->etcd);
	etcd_process_wait_ready(w->etcd);
	for (size_t i = 0; i < N; i++) {
		w->stores[i] = idler_new(etcd_process_open(w->etcd, 0));
	}
	*state = w;
	return 0;
}

static int finish(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < N; i++) {
		if (w->replicas[i].agreement) {
			replica_stop(&w->replicas[i]);
		}
		storage_free(&w->stores[i]->wrapper.storage);
	}
	etcd_process_free(w->etcd);
	mem_free(w);
	return 0;
}

static struct replica *join(struct world *w, size_t i, const char *setting)
{
	replica_start(&w->replicas[i], &w->stores[i]->wrapper.storage, setting, LEASE_S);
	return &w->replicas[i];
}

static void leave(struct world *w, size_t i)
{
	replica_stop(&w->replicas[i]);
}

/* ---- cases ---- */

static void test_agreement__is_registered_at_once(void **state)
{
	struct world *w = *state;
	struct storage_range range = {.key = STR("/x")};

	storage_range_wait(&w->stores[0]->wrapper.storage, &range); /* connects */
	storage_op_clear(&range.op);
	int64_t started_ns = clock_mono_ns();
	struct replica *a = join(w, 0, NULL);
	replica_ticket(a);
	print_message("registered after %lld us\n", (long long)(clock_mono_ns() - started_ns) / 1000);
	replica_wait_common(a, "v1");
	assert_string_equal(replica_write(a), "v1");
}

static void test_agreement__two_come_to_agree(void **state)
{
	struct world *w = *state;
	struct replica *a = join(w, 0, "dependents=v1beta1"), *b = join(w, 1, NULL);

	replica_wait_count(a, 2);
	assert_string_equal(replica_write(a), "v1beta1");
	assert_string_equal(replica_write(b), "v1");
	replica_wait_common(a, NULL);
	replica_wait_common(b, NULL);
	leave(w, 0);
	replica_wait_common(b, "v1");
	a = join(w, 0, NULL);
	replica_wait_common(a, "v1");
	assert_string_equal(replica_write(a), "v1");
	replica_wait_count(b, 2);
	replica_wait_common(b, "v1");
}

static void test_agreement__three_change_over_one_by_one(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < N; i++) {
		join(w, i, "dependents=v1beta1");
	}
	for (size_t i = 0; i < N; i++) {
		replica_wait_count(&w->replicas[i], N);
		replica_wait_common(&w->replicas[i], "v1beta1");
	}
	for (size_t i = 0; i < N; i++) {
		leave(w, i);
		assert_string_equal(replica_write(join(w, i, NULL)), "v1");
		replica_wait_common(&w->replicas[i], i < N - 1 ? NULL : "v1");
	}
	for (size_t i = 0; i < N; i++) {
		replica_wait_common(&w->replicas[i], "v1");
	}
}

/* It knows before etcd does that it shows nothing any more; then etcd refuses what it writes. */
static void test_agreement__a_lease_that_is_not_renewed_ends(void **state)
{
	struct world *w = *state;
	struct replica *idle = join(w, 0, "dependents=v1beta1"), *other = join(w, 1, "dependents=v1beta1");

	replica_wait_count(idle, 2);
	replica_wait_count(other, 2);
	replica_wait_common(idle, "v1beta1");
	struct agreement_ticket ticket = replica_ticket(idle);
	atomic_store(&w->stores[0]->is_idle, true);
	replica_wait_common(idle, NULL);
	assert_false(agreement_is_certain(idle->agreement));
	replica_wait_count(other, 1);
	replica_wait_common(other, "v1beta1");
	assert_false(replica_put(idle, &ticket));
	atomic_store(&w->stores[0]->is_idle, false);
	assert_string_equal(replica_write(idle), "v1beta1");
	replica_wait_common(idle, "v1beta1");
	assert_false(replica_put(idle, &ticket));
	replica_wait_count(other, 2);
}

static void test_agreement__outlasts_a_restart_of_etcd(void **state)
{
	struct world *w = *state;
	struct replica *a = join(w, 0, NULL), *b = join(w, 1, NULL);

	replica_wait_count(a, 2);
	replica_wait_count(b, 2);
	for (int i = 0; i < 2; i++) {
		etcd_process_stop(w->etcd, SIGKILL);
		if (i == 1) {
			replica_wait_common(a, NULL); /* for as long as a lease would take */
			replica_wait_common(b, NULL);
		}
		etcd_process_start(w->etcd);
		etcd_process_wait_ready(w->etcd);
		assert_string_equal(replica_write(a), "v1");
		assert_string_equal(replica_write(b), "v1");
		replica_wait_common(a, "v1");
		replica_wait_common(b, "v1");
	}
	struct replica *c = join(w, 2, "dependents=v1beta1");
	assert_string_equal(replica_write(c), "v1beta1");
	replica_wait_common(a, NULL);
	replica_wait_common(b, NULL);
	assert_string_equal(replica_write(a), "v1");
}

/* The same data at an address that nobody else knows. */
static struct etcd_process *etcd_move(struct etcd_process *p, char **ret_dir)
{
	struct etcd_process *moved = etcd_process_new(p->binary, ETCD_UNIX, NULL);

	*ret_dir = moved->dir;
	moved->dir = p->dir;
	mem_free(moved->endpoint);
	moved->endpoint = mem_printf("unix://%s/etcd.sock:0", p->dir);
	etcd_process_start(moved);
	etcd_process_wait_ready(moved);
	return moved;
}

static void etcd_move_back(struct etcd_process *moved, char *dir)
{
	etcd_process_stop(moved, SIGTERM);
	moved->dir = dir;
	etcd_process_free(moved);
}

/* Of a replica that stores v1beta1, and acknowledges whatever comes. */
static void register_by_hand(struct storage *s)
{
	static const char registration[] = "{\"kinds\":{\"dependents.annals.dev\":{\"encodes\":\"annals.dev/v1beta1\","
					   "\"decodes\":[\"annals.dev/v1\",\"annals.dev/v1beta1\"]}}}";
	struct storage_lease lease = {.ttl_s = 600};

	assert_int_equal(storage_lease_grant_wait(s, &lease), STORAGE_OK);
	struct storage_step puts[] = {
		{.kind = STEP_PUT, .key = STR("/annals/replicas/other"), .value = STR(registration), .lease = lease.id},
		{.kind = STEP_PUT, .key = STR("/annals/replicas-seen/other"), .value = STR("1000000"), .lease = lease.id},
	};
	struct storage_txn txn = {.success = puts, .n_success = ARRAY_SIZE(puts)};
	assert_int_equal(storage_txn_wait(s, &txn), STORAGE_OK);
	struct storage_compact compact = {.at_revision = txn.op.revision};
	assert_int_equal(storage_compact_wait(s, &compact), STORAGE_OK);
	storage_op_clear(&compact.op);
	storage_op_clear(&txn.op);
	storage_op_clear(&lease.op);
}

/* What happened while one could not look is gone from etcd's history. */
static void test_agreement__reads_everything_again_after_a_compaction(void **state)
{
	struct world *w = *state;
	struct replica *a = join(w, 0, NULL);
	char *dir;

	replica_wait_common(a, "v1");
	etcd_process_stop(w->etcd, SIGKILL);
	struct etcd_process *moved = etcd_move(w->etcd, &dir);
	struct storage *s = etcd_process_open(moved, 0);
	register_by_hand(s);
	storage_free(s);
	etcd_move_back(moved, dir);

	etcd_process_start(w->etcd);
	replica_wait_count(a, 2);
	replica_wait_common(a, NULL);
	assert_string_equal(replica_write(a), "v1");
}

#define AGREEMENT_CASE(f) cmocka_unit_test_setup_teardown(f, start, finish)

static int run_with(const char *name)
{
	const struct CMUnitTest tests[] = {
		AGREEMENT_CASE(test_agreement__is_registered_at_once),
		AGREEMENT_CASE(test_agreement__two_come_to_agree),
		AGREEMENT_CASE(test_agreement__three_change_over_one_by_one),
		AGREEMENT_CASE(test_agreement__a_lease_that_is_not_renewed_ends),
		AGREEMENT_CASE(test_agreement__outlasts_a_restart_of_etcd),
		AGREEMENT_CASE(test_agreement__reads_everything_again_after_a_compaction),
	};
	binary = name;
	return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}

int main(void)
{
	return etcd_run_with_each(run_with);
}
