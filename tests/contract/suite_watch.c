#include "tests/contract/contract.h"

#include <stdatomic.h>
#include <stdlib.h>

static void contract_watch__from_now_on(struct contract *c)
{
	contract_put(c, "a", "before");
	struct recorder *r = recorder_new(c, 0);
	recorder_wait_connected(r);
	int64_t revision = contract_put(c, "a", "after");
	recorder_wait_revision(r, revision);
	assert_int_equal(r->n, 1);
	assert_string_equal(recorder_event(r, c, 0), "PUT a=after");
	recorder_free(r, c->s);
}

static void contract_watch__from_an_old_revision(struct contract *c)
{
	contract_put(c, "a", "1");
	int64_t from = contract_put(c, "a", "2");
	contract_put(c, "b", "3");
	contract_delete(c, "a");
	struct recorder *r = recorder_new(c, from);
	int64_t revision = contract_put(c, "c", "4");
	recorder_wait_revision(r, revision);
	assert_int_equal(r->n, 4);
	assert_string_equal(recorder_event(r, c, 0), "PUT a=2");
	assert_string_equal(recorder_event(r, c, 1), "PUT b=3");
	assert_string_equal(recorder_event(r, c, 2), "DELETE a");
	assert_string_equal(recorder_event(r, c, 3), "PUT c=4");
	recorder_free(r, c->s);
}

static void contract_watch__from_the_beginning(struct contract *c)
{
	contract_put(c, "a", "1");
	struct storage_range all = {.key = STR("\0"), .range_end = STR("\0"), .at_revision = 1};
	enum storage_result r1 = storage_range_wait(c->s, &all);
	storage_op_clear(&all.op);
	struct recorder *r = recorder_new(c, 1);
	if (r1 == STORAGE_COMPACTED) {
		assert_int_equal(recorder_wait_end(r), STORAGE_COMPACTED); /* a store that other cases have used */
	} else {
		recorder_wait_events(r, 1);
		assert_string_equal(recorder_event(r, c, 0), "PUT a=1");
	}
	recorder_free(r, c->s);
}

static void contract_watch__from_a_revision_to_come(struct contract *c)
{
	int64_t now = contract_revision(c);
	struct recorder *r = recorder_new(c, now + 3);
	recorder_wait_connected(r);
	contract_put(c, "a", "1");
	contract_put(c, "a", "2");
	int64_t revision = contract_put(c, "a", "3");
	recorder_wait_revision(r, revision);
	assert_int_equal(r->n, 1);
	assert_string_equal(recorder_event(r, c, 0), "PUT a=3");
	recorder_free(r, c->s);
}

static void contract_watch__events_carry_the_numbers(struct contract *c)
{
	int64_t created = contract_put(c, "a", "1");
	int64_t modified = contract_put(c, "a", "2");
	int64_t deleted = contract_delete(c, "a");
	struct recorder *r = recorder_new(c, modified);
	recorder_wait_revision(r, deleted);
	assert_int_equal(r->events[0].type, EVENT_PUT);
	assert_int_equal(r->events[0].kv.create_revision, created);
	assert_int_equal(r->events[0].kv.mod_revision, modified);
	assert_int_equal(r->events[0].kv.version, 2);
	assert_int_equal(r->events[1].type, EVENT_DELETE);
	assert_int_equal(r->events[1].kv.mod_revision, deleted);
	assert_int_equal(r->events[1].kv.value.n, 0);
	recorder_free(r, c->s);
}

static void contract_watch__of_one_key(struct contract *c)
{
	struct recorder *r = recorder_new_range(c->s, contract_key(c, "a"), (struct str){NULL, 0}, contract_revision(c) + 1);
	contract_put(c, "ab", "x");
	contract_put(c, "b", "x");
	int64_t revision = contract_put(c, "a", "x");
	recorder_wait_revision(r, revision);
	assert_int_equal(r->n, 1);
	recorder_free(r, c->s);
}

static void contract_watch__a_transaction_comes_whole(struct contract *c)
{
	struct storage_step puts[] = {
		{.kind = STEP_PUT, .key = contract_key(c, "b")},
		{.kind = STEP_PUT, .key = contract_key(c, "a")},
	};
	struct recorder *r = recorder_new(c, contract_revision(c) + 1);
	recorder_wait_connected(r);
	struct storage_txn txn = {.success = puts, .n_success = 2};
	storage_txn_wait(c->s, &txn);
	assert_result(&txn.op, STORAGE_OK);
	recorder_wait_revision(r, txn.op.revision);
	storage_op_clear(&txn.op);
	assert_int_equal(r->n, 2);
	assert_int_equal(r->n_calls, 1);
	assert_string_equal(recorder_event(r, c, 0), "PUT b=");
	assert_string_equal(recorder_event(r, c, 1), "PUT a=");
	recorder_free(r, c->s);
}

/* More than etcd sends in one piece, in revisions of many keys: recorders check that no call begins within a revision. */
enum { N_BIG_TXNS = 12, N_BIG_STEPS = 100, BIG_VALUE = 10000 };

static int64_t put_big_transactions(struct contract *c)
{
	char *value = arena_text(&c->arena, BIG_VALUE);
	memset(value, 'v', BIG_VALUE);
	int64_t revision = 0;
	for (int i = 0; i < N_BIG_TXNS; i++) {
		struct storage_step *puts = arena_array(&c->arena, struct storage_step, N_BIG_STEPS);
		for (int j = 0; j < N_BIG_STEPS; j++) {
			puts[j] = (struct storage_step){
				.kind = STEP_PUT,
				.key = contract_key(c, arena_printf(&c->arena, "%d", j).p),
				.value = {value, BIG_VALUE},
			};
		}
		struct storage_txn txn = {.success = puts, .n_success = N_BIG_STEPS};
		storage_txn_wait(c->s, &txn);
		assert_result(&txn.op, STORAGE_OK);
		revision = txn.op.revision;
		storage_op_clear(&txn.op);
	}
	return revision;
}

static void contract_watch__large_histories_come_in_whole_revisions(struct contract *c)
{
	int64_t from = contract_revision(c) + 1;
	int64_t revision = put_big_transactions(c);
	struct recorder *r = recorder_new(c, from);
	recorder_wait_revision(r, revision);
	assert_int_equal(r->n, N_BIG_TXNS * N_BIG_STEPS);
	assert_int_equal(r->events[r->n - 1].kv.value.n, BIG_VALUE);
	recorder_free(r, c->s);
}

static void contract_watch__large_transactions_come_whole(struct contract *c)
{
	struct recorder *r = recorder_new(c, contract_revision(c) + 1);
	recorder_wait_connected(r);
	int64_t revision = put_big_transactions(c);
	recorder_wait_revision(r, revision);
	assert_int_equal(r->n, N_BIG_TXNS * N_BIG_STEPS);
	recorder_free(r, c->s);
}

/* ---- concurrent writers ---- */

enum { N_WRITERS = 4, N_WRITES = 150, N_WATCHES = 5 };

struct writer {
	struct contract *c;
	pthread_t thread;
	struct str key;
	int64_t revisions[N_WRITES];
};

/* Every fourth write deletes. */
static void *writer_run(void *p)
{
	struct writer *w = p;
	for (int i = 0; i < N_WRITES; i++) {
		struct storage_step step = {.kind = i % 4 == 3 ? STEP_DELETE : STEP_PUT, .key = w->key, .value = STR("v")};
		struct storage_txn txn = {.success = &step, .n_success = 1};
		w->revisions[i] = storage_txn_wait(w->c->s, &txn) == STORAGE_OK ? txn.op.revision : -1;
		storage_op_clear(&txn.op);
	}
	return NULL;
}

static void check_is_one_of_the_writes(const struct writer *writers, const struct storage_event *event, int done[N_WRITERS])
{
	int index = event->kv.key.p[event->kv.key.n - 1] - '0';
	assert_in_range(index, 0, N_WRITERS - 1);
	int i = done[index]++;
	assert_int_equal(event->kv.mod_revision, writers[index].revisions[i]);
	assert_int_equal(event->type, i % 4 == 3 ? EVENT_DELETE : EVENT_PUT);
}

static void contract_watch__misses_nothing_of_concurrent_writers(struct contract *c)
{
	struct recorder *recorders[N_WATCHES];
	int64_t from = contract_revision(c) + 1;
	for (int i = 0; i < N_WATCHES - 1; i++) {
		recorders[i] = recorder_new(c, from);
	}
	struct writer writers[N_WRITERS];
	for (int i = 0; i < N_WRITERS; i++) {
		writers[i] = (struct writer){.c = c, .key = contract_key(c, (const char[]){(char)('0' + i), '\0'})};
		assert_int_equal(pthread_create(&writers[i].thread, NULL, writer_run, &writers[i]), 0);
	}
	recorder_wait_events(recorders[0], N_WRITES);
	recorders[N_WATCHES - 1] = recorder_new(c, from); /* into the middle */
	for (int i = 0; i < N_WRITERS; i++) {
		pthread_join(writers[i].thread, NULL);
	}
	for (int i = 0; i < N_WATCHES; i++) {
		int done[N_WRITERS] = {0};
		recorder_wait_events(recorders[i], (size_t)N_WRITERS * N_WRITES);
		for (size_t j = 0; j < recorders[i]->n; j++) {
			check_is_one_of_the_writes(writers, &recorders[i]->events[j], done);
		}
		recorder_free(recorders[i], c->s);
	}
}

/* ---- ends ---- */

static void contract_watch__cancel_ends_it(struct contract *c)
{
	struct recorder *r = recorder_new(c, 0);
	recorder_wait_connected(r);
	storage_watch_cancel(c->s, &r->watch);
	assert_int_equal(recorder_wait_end(r), STORAGE_CANCELED);
	storage_watch_cancel(c->s, &r->watch); /* of one that is over: nothing */
	contract_put(c, "a", "1");
	assert_int_equal(r->n, 0);
	recorder_free(r, c->s);
}

static void contract_watch__cancel_may_come_at_once_and_twice(struct contract *c)
{
	struct recorder *r = recorder_new(c, 0);
	storage_watch_cancel(c->s, &r->watch);
	storage_watch_cancel(c->s, &r->watch);
	assert_int_equal(recorder_wait_end(r), STORAGE_CANCELED);
	recorder_free(r, c->s);
}

static void contract_watch__ends_with_its_store(struct contract *c)
{
	struct recorder *connected = recorder_new(c, 0), *fresh;
	recorder_wait_connected(connected);
	fresh = recorder_new(c, 0);
	c->s = storage_free(c->s);
	assert_int_equal(recorder_wait_end(connected), STORAGE_CANCELED);
	assert_int_equal(recorder_wait_end(fresh), STORAGE_CANCELED);
	recorder_free(connected, NULL);
	recorder_free(fresh, NULL);
}

static void contract_watch__of_compacted_history_ends(struct contract *c)
{
	int64_t old = contract_put(c, "a", "1");
	int64_t compacted = contract_put(c, "a", "2");
	contract_put(c, "a", "3");
	contract_compact(c, compacted);
	struct recorder *r = recorder_new(c, old);
	assert_int_equal(recorder_wait_end(r), STORAGE_COMPACTED);
	assert_int_equal(r->compact_revision, compacted);
	assert_int_equal(r->n, 0);
	recorder_free(r, c->s);
}

static void contract_watch__above_compacted_history_is_complete(struct contract *c)
{
	contract_put(c, "a", "1");
	int64_t compacted = contract_put(c, "a", "2");
	int64_t last = contract_put(c, "a", "3");
	contract_compact(c, compacted);
	struct recorder *r = recorder_new(c, compacted + 1);
	recorder_wait_revision(r, last);
	assert_int_equal(r->n, 1);
	assert_string_equal(recorder_event(r, c, 0), "PUT a=3");
	recorder_free(r, c->s);
}

/* etcd before 3.4.36 and 3.5.18 accepts such a watch and has lost the deletion. */
static void contract_watch__does_not_miss_a_deletion_compacted_at(struct contract *c)
{
	contract_put(c, "a", "1");
	int64_t deleted = contract_delete(c, "a");
	contract_put(c, "b", "1");
	contract_compact(c, deleted);
	struct recorder *r = recorder_new(c, deleted);
	assert_int_equal(recorder_wait_end(r), STORAGE_COMPACTED);
	recorder_free(r, c->s);
}

static void contract_watch__compaction_does_not_disturb_one_under_way(struct contract *c)
{
	struct recorder *r = recorder_new(c, contract_revision(c) + 1);
	recorder_wait_connected(r);
	for (int i = 0; i < 20; i++) {
		int64_t revision = contract_put(c, "a", "x");
		recorder_wait_revision(r, revision);
		contract_compact(c, revision);
	}
	assert_int_equal(r->n, 20);
	recorder_free(r, c->s);
}

/* ---- from within callbacks ---- */

struct restless {
	struct storage_watch watch;
	struct storage *s;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int n_left; /* times to begin again */
	bool is_over;
};

static void restless_on_events(struct storage_watch *w, const struct storage_event *events, size_t n, int64_t revision)
{
	struct restless *r = container_of(w, struct restless, watch);
	(void)events;
	(void)n;
	(void)revision;
	storage_watch_cancel(r->s, w);
}

static void restless_on_end(struct storage_watch *w, enum storage_result why, int64_t compact_revision, const char *message)
{
	struct restless *r = container_of(w, struct restless, watch);
	(void)why;
	(void)compact_revision;
	(void)message;
	if (r->n_left-- > 0) {
		storage_watch(r->s, w);
		return;
	}
	pthread_mutex_lock(&r->lock);
	r->is_over = true;
	pthread_cond_signal(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

static void contract_watch__may_be_canceled_and_used_again_from_within(struct contract *c)
{
	int64_t from = contract_put(c, "a", "1");
	struct restless r = {
		.watch = {.key = c->prefix, .range_end = contract_end(c), .from_revision = from},
		.s = c->s,
		.n_left = 3,
	};
	r.watch.on_events = restless_on_events;
	r.watch.on_end = restless_on_end;
	pthread_mutex_init(&r.lock, NULL);
	pthread_cond_init(&r.changed, NULL);
	storage_watch(c->s, &r.watch);
	pthread_mutex_lock(&r.lock);
	while (!r.is_over) {
		pthread_cond_wait(&r.changed, &r.lock);
	}
	pthread_mutex_unlock(&r.lock);
	pthread_cond_destroy(&r.changed);
	pthread_mutex_destroy(&r.lock);
}

static const struct contract_case cases[] = {
	CASE(contract_watch__from_now_on),
	CASE(contract_watch__from_an_old_revision),
	CASE(contract_watch__from_the_beginning),
	CASE(contract_watch__from_a_revision_to_come),
	CASE(contract_watch__events_carry_the_numbers),
	CASE(contract_watch__of_one_key),
	CASE(contract_watch__a_transaction_comes_whole),
	CASE(contract_watch__large_histories_come_in_whole_revisions),
	CASE(contract_watch__large_transactions_come_whole),
	CASE(contract_watch__misses_nothing_of_concurrent_writers),
	CASE(contract_watch__cancel_ends_it),
	CASE(contract_watch__cancel_may_come_at_once_and_twice),
	CASE(contract_watch__ends_with_its_store),
	CASE(contract_watch__of_compacted_history_ends),
	CASE(contract_watch__above_compacted_history_is_complete),
	CASE(contract_watch__does_not_miss_a_deletion_compacted_at),
	CASE(contract_watch__compaction_does_not_disturb_one_under_way),
	CASE(contract_watch__may_be_canceled_and_used_again_from_within),
};
const struct contract_suite contract_watch_suite = {cases, ARRAY_SIZE(cases)};
