/* One replica on a connection whose every message waits for the test: what may have happened, and what happens late. */
#include "storage/engine/agreement_private.h"
#include "storage/memory/memory.h"
#include "tests/unit/check.h"
#include "tests/unit/slow_line.h"

enum { LEASE_S = 10, LEASE_MS = LEASE_S * 1000 };

#define REGISTRATION(encodes, decodes) \
	"{\"kinds\":{\"dependents.annals.dev\":{\"encodes\":\"annals.dev/" encodes "\",\"decodes\":[" decodes "]}}}"
#define OLD REGISTRATION("v1beta1", "\"annals.dev/v1beta1\"")
#define NEW REGISTRATION("v1", "\"annals.dev/v1beta1\",\"annals.dev/v1\"")

static int64_t now_ms;

static int64_t world_now(void)
{
	return now_ms;
}

struct world {
	struct storage *store;
	struct slow_line *line;
	struct agreement *a;
	const struct kind *kind;
	int64_t lease; /* of the others */
};

/* ---- the others, by hand ---- */

static void on_done(struct storage_op *op)
{
	(void)op;
}

static int64_t run_step(struct world *w, struct storage_step *step)
{
	struct storage_txn txn = {.op.done = on_done, .success = step, .n_success = 1};

	storage_txn(w->store, &txn);
	storage_memory_run(w->store, now_ms);
	assert_int_equal(txn.op.result, STORAGE_OK);
	int64_t revision = txn.op.revision;
	storage_op_clear(&txn.op);
	return revision;
}

static void put(struct world *w, const char *key, const char *value)
{
	run_step(w, &(struct storage_step){.kind = STEP_PUT, .key = str_of(key), .value = str_of(value), .lease = w->lease});
}

static void remove_key(struct world *w, const char *key)
{
	run_step(w, &(struct storage_step){.kind = STEP_DELETE, .key = str_of(key)});
}

static void acknowledge(struct world *w, const char *key, int64_t revision)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)revision);
	put(w, key, text);
}

static struct storage_kv get(struct world *w, const char *key, struct arena *a)
{
	struct storage_range range = {.op.done = on_done, .key = str_of(key)};
	struct storage_kv kv = {0};

	storage_range(w->store, &range);
	storage_memory_run(w->store, now_ms);
	if (range.n_kvs > 0) {
		kv = range.kvs[0];
		kv.value = arena_dup(a, kv.value);
	}
	storage_op_clear(&range.op);
	return kv;
}

/* ---- the replica ---- */

static int start(void **state)
{
	struct world *w = mem_new(struct world);
	struct agreement_options options = {.prefix = STR("/annals"), .lease_s = LEASE_S};
	struct storage_lease lease = {.op.done = on_done, .ttl_s = 3600};

	now_ms = 1000;
	w->store = storage_memory_new_manual();
	w->kind = kind_by_hub(STR("annals.dev"), STR("dependents"));
	storage_lease_grant(w->store, &lease);
	storage_memory_run(w->store, now_ms);
	w->lease = lease.id;
	storage_op_clear(&lease.op);
	w->line = slow_line_new(w->store, NULL, NULL);
	options.storage = slow_line_store(w->line);
	storage_versions_init(&options.versions);
	w->a = agreement_open(&options, &(struct agreement_nature){.id = STR("a"), .now_ms = world_now});
	*state = w;
	return 0;
}

static int finish(void **state)
{
	struct world *w = *state;

	slow_line_cut(w->line);
	agreement_abandon(w->a);
	slow_line_free(w->line);
	storage_free(w->store);
	mem_free(w);
	return 0;
}

static struct buf notices = {.ceiling = 65536};

static void on_notice(void *ctx, bool is_trouble, struct str text)
{
	(void)ctx;
	(void)is_trouble;
	buf_printf(&notices, STR_FMT "\n", STR_ARG(text));
}

static void tell(struct world *w)
{
	while (slow_line_tell(w->line)) {
	}
}

/* Everything that is on its way, there and back. */
static void settle(struct world *w)
{
	agreement_run(w->a);
	while (slow_line_carry_out(w->line, 0, now_ms) || slow_line_answer(w->line, 0) || slow_line_tell(w->line)) {
	}
}

static void pass(struct world *w, int64_t ms)
{
	now_ms += ms;
	storage_memory_run(w->store, now_ms);
	agreement_run(w->a);
}

static const char *common(struct world *w)
{
	const struct version *v = agreement_common(w->a, w->kind);
	return v ? v->name : "none";
}

static enum agreement_writing may_write(struct world *w, struct agreement_ticket *ret)
{
	return agreement_write(w->a, w->kind, ret, NULL);
}

/* ---- cases ---- */

/* A change is lost on its way, and not wanted any more: until it is certain that it will not come about, nothing is shown; whoever had acknowledged what was before has
 * to do so again, for the client may have seen it happen. */
static void test_agreement__what_may_yet_happen_is_waited_out(void **state)
{
	struct world *w = *state;
	struct agreement_ticket ticket;

	put(w, "/annals/replicas/old", OLD);
	settle(w);
	assert_string_equal(common(w), "v1beta1");
	assert_int_equal(may_write(w, &ticket), AGREEMENT_MAY_WRITE);

	remove_key(w, "/annals/replicas/old");
	tell(w); /* now it would change over */
	assert_string_equal(common(w), "none");
	assert_true(slow_line_lose(w->line, 1));
	assert_string_equal(common(w), "none");
	put(w, "/annals/replicas/old", OLD);
	tell(w);
	assert_string_equal(common(w), "none");
	assert_int_equal(may_write(w, &ticket), AGREEMENT_NOT_YET);

	pass(w, 1000);
	settle(w);
	assert_string_equal(common(w), "v1beta1");
	assert_int_equal(may_write(w, &ticket), AGREEMENT_MAY_WRITE);
	remove_key(w, "/annals/replicas/old");
	assert_true(slow_line_straggle(w->line, 0, now_ms)); /* too late: another registration of ours has been made since */
	struct arena arena;
	arena_init(&arena, SIZE_MAX);
	assert_int_equal(get(w, "/annals/replicas/a", &arena).mod_revision, ticket.revision);
	arena_done(&arena);
}

static void test_agreement__acknowledgements_of_before_a_doubt_do_not_count(void **state)
{
	struct world *w = *state;
	struct agreement_ticket ticket;

	put(w, "/annals/replicas/old", OLD);
	settle(w);
	put(w, "/annals/replicas/new", NEW);
	acknowledge(w, "/annals/replicas-seen/new", w->a->mod);
	settle(w);
	assert_int_equal(may_write(w, &ticket), AGREEMENT_MAY_WRITE);
	assert_string_equal(ticket.version->name, "v1beta1");

	remove_key(w, "/annals/replicas/old");
	tell(w);
	assert_true(slow_line_lose(w->line, 1));
	put(w, "/annals/replicas/old", OLD);
	tell(w);
	pass(w, 1000);
	settle(w);
	assert_true(w->a->mod > ticket.revision);
	assert_int_equal(may_write(w, &ticket), AGREEMENT_NOT_YET);
	acknowledge(w, "/annals/replicas-seen/new", w->a->mod);
	settle(w);
	assert_int_equal(may_write(w, &ticket), AGREEMENT_MAY_WRITE);
	assert_string_equal(ticket.version->name, "v1beta1");
}

/* Carried out, but unknown to us: the watch or the next attempt shows it, and another registration makes it certain. */
static void test_agreement__what_has_happened_unknown_to_us_is_found_out(void **state)
{
	struct world *w = *state;
	struct agreement_ticket ticket;

	agreement_run(w->a);
	while (slow_line_carry_out(w->line, 0, now_ms) || slow_line_answer(w->line, 0)) {
		if (w->a->trips[ERRAND_REGISTER].is_under_way) {
			break;
		}
	}
	assert_true(slow_line_carry_out(w->line, 0, now_ms));
	assert_true(slow_line_lose(w->line, 0));
	assert_int_equal(may_write(w, &ticket), AGREEMENT_NOT_YET);
	pass(w, 1000);
	settle(w);
	assert_int_equal(may_write(w, &ticket), AGREEMENT_MAY_WRITE);
	assert_string_equal(common(w), "v1");
	assert_int_equal(w->a->n_registrations, 1);
}

/* Whoever did it: others take for ours what is there. */
static void test_agreement__shows_nothing_while_its_registration_says_something_else(void **state)
{
	struct world *w = *state;
	struct agreement_ticket ticket;

	settle(w);
	assert_string_equal(common(w), "v1");
	put(w, "/annals/replicas/a", OLD);
	tell(w);
	assert_string_equal(common(w), "none");
	assert_int_equal(may_write(w, &ticket), AGREEMENT_NOT_YET);
	settle(w);
	assert_string_equal(common(w), "v1");
	assert_int_equal(may_write(w, &ticket), AGREEMENT_MAY_WRITE);
}

/* Stopped, as by SIGSTOP: when it wakes, nothing has run yet, and it shows nothing. */
static void test_agreement__who_wakes_late_shows_nothing(void **state)
{
	struct world *w = *state;
	struct agreement_ticket before, after;

	settle(w);
	assert_int_equal(may_write(w, &before), AGREEMENT_MAY_WRITE);
	assert_string_equal(common(w), "v1");
	now_ms += LEASE_MS - LEASE_MS / 5 - 1;
	assert_string_equal(common(w), "v1");
	assert_true(agreement_is_certain(w->a));
	now_ms += 1;
	assert_string_equal(common(w), "none");
	assert_false(agreement_is_certain(w->a));
	now_ms += LEASE_MS;
	storage_memory_run(w->store, now_ms);
	settle(w);
	assert_string_equal(common(w), "v1");
	assert_int_equal(may_write(w, &after), AGREEMENT_MAY_WRITE);
	assert_true(after.revision > before.revision);
	assert_int_equal(w->a->n_losses, 1);
}

/* Said once, and in the answers to those who ask. */
static void test_agreement__says_what_etcd_says(void **state)
{
	struct world *w = *state;
	struct agreement_ticket ticket;
	struct buf why;

	w->a->options.on_notice = on_notice;
	agreement_run(w->a);
	while (!w->a->trips[ERRAND_REGISTER].is_under_way) {
		assert_true(slow_line_carry_out(w->line, 0, now_ms) || slow_line_answer(w->line, 0));
	}
	for (int i = 0; i < 3; i++) {
		assert_true(slow_line_refuse(w->line, 0));
		pass(w, 1000);
	}
	assert_str(buf_str(&notices), "cannot register in etcd, will go on trying: refused on the line\n");
	buf_init(&why, 4096);
	assert_int_equal(agreement_write(w->a, w->kind, &ticket, &why), AGREEMENT_NOT_YET);
	assert_str(buf_str(&why), "this server is not registered in etcd yet: refused on the line");
	buf_done(&why);
	settle(w);
	assert_int_equal(may_write(w, &ticket), AGREEMENT_MAY_WRITE);
	assert_true(str_contains(buf_str(&notices), STR("\nregistered in etcd as a: ")));
	buf_done(&notices);
}

/* A lease is as old as the request that renewed it, not as the answer. */
static void test_agreement__counts_from_when_it_asked(void **state)
{
	struct world *w = *state;

	settle(w);
	pass(w, LEASE_MS / 3); /* it asks */
	now_ms += LEASE_MS / 3;
	assert_true(slow_line_carry_out(w->line, 0, now_ms));
	assert_true(slow_line_answer(w->line, 0));
	assert_int_equal(atomic_load(&w->a->certain_until_ms), 1000 + LEASE_MS / 3 + LEASE_MS - LEASE_MS / 5);
}

/* One that was late has overwritten a later one, for which somebody still waits. */
static void test_agreement__acknowledges_again_what_was_overwritten(void **state)
{
	struct world *w = *state;
	struct arena arena;

	arena_init(&arena, SIZE_MAX);
	settle(w);
	put(w, "/annals/replicas/new", NEW);
	settle(w);
	put(w, "/annals/replicas/newer", NEW);
	settle(w);
	struct storage_kv newest = get(w, "/annals/replicas/newer", &arena), seen = get(w, "/annals/replicas-seen/a", &arena);
	char text[32];
	snprintf(text, sizeof(text), "%lld", (long long)newest.mod_revision);
	assert_str(seen.value, text);
	acknowledge(w, "/annals/replicas-seen/a", newest.mod_revision - 1);
	settle(w);
	assert_str(get(w, "/annals/replicas-seen/a", &arena).value, text);
	int64_t revision = w->a->table.revision;
	settle(w);
	assert_int_equal(w->a->table.revision, revision); /* and no more than once */
	arena_done(&arena);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, start, finish)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_agreement__what_may_yet_happen_is_waited_out),
		CASE(test_agreement__acknowledgements_of_before_a_doubt_do_not_count),
		CASE(test_agreement__what_has_happened_unknown_to_us_is_found_out),
		CASE(test_agreement__shows_nothing_while_its_registration_says_something_else),
		CASE(test_agreement__who_wakes_late_shows_nothing),
		CASE(test_agreement__says_what_etcd_says),
		CASE(test_agreement__counts_from_when_it_asked),
		CASE(test_agreement__acknowledges_again_what_was_overwritten),
	};
	return cmocka_run_group_tests_name("agreement_slow", tests, NULL, NULL);
}
