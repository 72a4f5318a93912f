#include "tests/contract/contract.h"

#include <stdatomic.h>
#include <stdlib.h>

static const struct contract_suite *const suites[] = {
	&contract_range_suite,
	&contract_txn_suite,
	&contract_history_suite,
	&contract_watch_suite,
	&contract_lease_suite,
};

/* What one cmocka test gets: the case and where its store comes from. */
struct run {
	const struct contract_case *test;
	struct storage *(*open)(void *ctx);
	void *ctx;
	char *name;
};

static void run_case(void **state)
{
	const struct run *run = *state;
	struct contract *c = contract_new(run->open(run->ctx));
	run->test->run(c);
	contract_free(c);
}

static size_t count_cases(void)
{
	size_t n = 0;
	for (size_t i = 0; i < ARRAY_SIZE(suites); i++) {
		n += suites[i]->n;
	}
	return n;
}

int contract_run(const char *store, struct storage *(*open)(void *ctx), void *ctx)
{
	size_t n = 0, n_cases = count_cases();
	struct run *runs = mem_array(n_cases, sizeof(*runs));
	struct CMUnitTest *tests = mem_array(n_cases, sizeof(*tests));
	for (size_t i = 0; i < ARRAY_SIZE(suites); i++) {
		for (size_t j = 0; j < suites[i]->n; j++, n++) {
			const struct contract_case *test = &suites[i]->cases[j];
			runs[n] = (struct run){test, open, ctx, mem_printf("%s (%s)", test->name, store)};
			tests[n] = (struct CMUnitTest){.name = runs[n].name, .test_func = run_case, .initial_state = &runs[n]};
		}
	}
	int n_failed = _cmocka_run_group_tests(store, tests, n_cases, NULL, NULL);
	for (size_t i = 0; i < n_cases; i++) {
		mem_free(runs[i].name);
	}
	mem_free(runs);
	mem_free(tests);
	return n_failed;
}

struct contract *contract_new(struct storage *s)
{
	static atomic_uint n_made;
	struct contract *c = mem_new(struct contract);
	c->s = s;
	arena_init(&c->arena, SIZE_MAX);
	c->prefix = arena_printf(&c->arena, "/contract/%u/", atomic_fetch_add(&n_made, 1));
	return c;
}

struct contract *contract_free(struct contract *c)
{
	storage_free(c->s);
	arena_done(&c->arena);
	return mem_free(c);
}

void assert_result_at(const struct storage_op *op, enum storage_result expected, const char *file, int line)
{
	if (op->result != expected) {
		fprintf(stderr, "got %s (%s), expected %s\n", storage_result_name(op->result), op->message,
			storage_result_name(expected));
		_fail(file, line);
	}
	assert_non_null(op->message);
}

/* ---- short forms ---- */

struct str contract_key(struct contract *c, const char *name)
{
	return arena_printf(&c->arena, STR_FMT "%s", STR_ARG(c->prefix), name);
}

struct str contract_end(struct contract *c)
{
	return storage_prefix_end(&c->arena, c->prefix);
}

static int64_t run_step(struct contract *c, struct storage_step *step)
{
	struct storage_txn txn = {.success = step, .n_success = 1};
	storage_txn_wait(c->s, &txn);
	assert_result(&txn.op, STORAGE_OK);
	int64_t revision = txn.op.revision;
	storage_op_clear(&txn.op);
	return revision;
}

int64_t contract_put(struct contract *c, const char *name, const char *value)
{
	struct storage_step put = {.kind = STEP_PUT, .key = contract_key(c, name), .value = str_of(value)};
	return run_step(c, &put);
}

int64_t contract_delete(struct contract *c, const char *name)
{
	struct storage_step delete = {.kind = STEP_DELETE, .key = contract_key(c, name)};
	int64_t revision = run_step(c, &delete);
	assert_int_equal(delete.count, 1);
	return revision;
}

struct storage_kv contract_get(struct contract *c, const char *name)
{
	struct storage_range range = {.key = contract_key(c, name)};
	storage_range_wait(c->s, &range);
	assert_result(&range.op, STORAGE_OK);
	struct storage_kv kv = {0};
	if (range.n_kvs > 0) {
		kv = range.kvs[0];
		kv.key = arena_dup(&c->arena, kv.key);
		kv.value = arena_dup(&c->arena, kv.value);
	}
	storage_op_clear(&range.op);
	return kv;
}

int64_t contract_revision(struct contract *c)
{
	struct storage_range range = {.key = c->prefix, .count_only = true};
	storage_range_wait(c->s, &range);
	assert_result(&range.op, STORAGE_OK);
	int64_t revision = range.op.revision;
	storage_op_clear(&range.op);
	return revision;
}

void contract_compact(struct contract *c, int64_t revision)
{
	struct storage_compact compact = {.at_revision = revision};
	storage_compact_wait(c->s, &compact);
	assert_result(&compact.op, STORAGE_OK);
	storage_op_clear(&compact.op);
}

/* ---- recorders ---- */

static void recorder_keep(struct recorder *r, const struct storage_event *event)
{
	if (r->n == r->cap) {
		r->cap = MAX(r->cap * 2, (size_t)64);
		r->events = mem_realloc_array(r->events, r->cap, sizeof(*r->events));
	}
	int64_t before = r->n > 0 ? r->events[r->n - 1].kv.mod_revision : 0;
	r->is_out_of_order |= event->kv.mod_revision < before;
	r->events[r->n] = *event;
	r->events[r->n].kv.key = arena_dup(&r->arena, event->kv.key);
	r->events[r->n].kv.value = arena_dup(&r->arena, event->kv.value);
	r->n++;
}

static void on_events(struct storage_watch *w, const struct storage_event *events, size_t n, int64_t revision)
{
	struct recorder *r = container_of(w, struct recorder, watch);
	pthread_mutex_lock(&r->lock);
	r->is_out_of_order |= n == 0 || events[0].kv.mod_revision <= r->revision || events[n - 1].kv.mod_revision != revision;
	for (size_t i = 0; i < n; i++) {
		recorder_keep(r, &events[i]);
	}
	r->revision = revision;
	r->n_calls++;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

static void on_state(struct storage_watch *w, bool is_connected, const char *message)
{
	struct recorder *r = container_of(w, struct recorder, watch);
	(void)message;
	pthread_mutex_lock(&r->lock);
	r->is_connected = is_connected;
	r->n_interruptions += !is_connected;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

static void on_end(struct storage_watch *w, enum storage_result why, int64_t compact_revision, const char *message)
{
	struct recorder *r = container_of(w, struct recorder, watch);
	(void)message;
	pthread_mutex_lock(&r->lock);
	r->is_over = true;
	r->why = why;
	r->compact_revision = compact_revision;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

struct recorder *recorder_new_range(struct storage *s, struct str key, struct str range_end, int64_t from_revision)
{
	struct recorder *r = mem_new(struct recorder);
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->changed, NULL);
	arena_init(&r->arena, SIZE_MAX);
	r->watch = (struct storage_watch){
		.key = arena_dup(&r->arena, key),
		.range_end = arena_dup(&r->arena, range_end),
		.from_revision = from_revision,
		.on_events = on_events,
		.on_state = on_state,
		.on_end = on_end,
	};
	storage_watch(s, &r->watch);
	return r;
}

struct recorder *recorder_new(struct contract *c, int64_t from_revision)
{
	return recorder_new_range(c->s, c->prefix, contract_end(c), from_revision);
}

struct recorder *recorder_free(struct recorder *r, struct storage *s)
{
	pthread_mutex_lock(&r->lock);
	bool is_over = r->is_over;
	pthread_mutex_unlock(&r->lock);
	if (!is_over) {
		storage_watch_cancel(s, &r->watch);
		recorder_wait_end(r);
	}
	assert_false(r->is_out_of_order);
	pthread_cond_destroy(&r->changed);
	pthread_mutex_destroy(&r->lock);
	arena_done(&r->arena);
	mem_free(r->events);
	return mem_free(r);
}

/* A watch that is over without being asked to is a failure wherever something else is waited for. */
#define RECORDER_WAIT(r, condition)                                   \
	do {                                                          \
		pthread_mutex_lock(&(r)->lock);                       \
		while (!(condition) && !(r)->is_over) {               \
			pthread_cond_wait(&(r)->changed, &(r)->lock); \
		}                                                     \
		bool is_met_ = (condition);                           \
		pthread_mutex_unlock(&(r)->lock);                     \
		assert_true(is_met_);                                 \
	} while (0)

void recorder_wait_connected(struct recorder *r)
{
	RECORDER_WAIT(r, r->is_connected);
}

void recorder_wait_interrupted(struct recorder *r, unsigned n)
{
	RECORDER_WAIT(r, r->n_interruptions >= n);
}

void recorder_wait_events(struct recorder *r, size_t n)
{
	RECORDER_WAIT(r, r->n >= n);
}

void recorder_wait_revision(struct recorder *r, int64_t revision)
{
	RECORDER_WAIT(r, r->revision >= revision);
}

enum storage_result recorder_wait_end(struct recorder *r)
{
	RECORDER_WAIT(r, r->is_over);
	return r->why;
}

const char *recorder_event(struct recorder *r, struct contract *c, size_t i)
{
	assert_true(i < r->n);
	const struct storage_event *event = &r->events[i];
	struct str name = {event->kv.key.p + c->prefix.n, event->kv.key.n - c->prefix.n};
	if (event->type == EVENT_DELETE) {
		return arena_printf(&c->arena, "DELETE " STR_FMT, STR_ARG(name)).p;
	}
	return arena_printf(&c->arena, "PUT " STR_FMT "=" STR_FMT, STR_ARG(name), STR_ARG(event->kv.value)).p;
}
