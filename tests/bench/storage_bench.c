/* storage_bench ENDPOINT MODE IN_FLIGHT SECONDS: what one operation on etcd costs this process.
 * MODE: get (serializable), lget (linearizable), create (a transaction), load (all keys, in pages of IN_FLIGHT). Values of 1 KiB.
 * Prints operations a second, CPU microseconds an operation, and latencies. */
#include "base/clock.h"
#include "storage/etcd/etcd.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { VALUE_SIZE = 1024, N_KEYS = 10000, FILL_IN_FLIGHT = 64, LATENCIES_MAX = 4000000, KEY_SIZE = 64 };

struct bench {
	struct storage *s;
	atomic_bool is_over;
	atomic_llong n_started, n_done, n_failed, n_in_flight;
	long long n_wanted; /* 0: until is_over */
	int64_t *latencies; /* ns; of the completion thread */
	size_t n_latencies;
	pthread_mutex_t lock;
	pthread_cond_t idle;
};

struct slot {
	struct bench *bench;
	void (*start)(struct slot *slot, long long number);
	int64_t started_ns;
	char key[KEY_SIZE];
	struct storage_range range;
	struct storage_compare is_new;
	struct storage_step put, get;
	struct storage_txn txn;
};

static char value[VALUE_SIZE];
static char run_id[32];

static void slot_leave(struct slot *slot)
{
	struct bench *b = slot->bench;
	if (atomic_fetch_sub(&b->n_in_flight, 1) == 1) {
		pthread_mutex_lock(&b->lock);
		pthread_cond_signal(&b->idle);
		pthread_mutex_unlock(&b->lock);
	}
}

static void slot_next(struct slot *slot)
{
	struct bench *b = slot->bench;
	long long number = atomic_fetch_add(&b->n_started, 1);
	if (atomic_load(&b->is_over) || (b->n_wanted > 0 && number >= b->n_wanted)) {
		slot_leave(slot);
		return;
	}
	slot->started_ns = clock_mono_ns();
	slot->start(slot, number);
}

static void slot_finish(struct slot *slot, struct storage_op *op, bool is_good)
{
	struct bench *b = slot->bench;
	if (!is_good && atomic_fetch_add(&b->n_failed, 1) == 0) {
		fprintf(stderr, "%s: %s\n", storage_result_name(op->result), op->message);
	}
	storage_op_clear(op);
	if (b->n_latencies < LATENCIES_MAX) {
		b->latencies[b->n_latencies++] = clock_mono_ns() - slot->started_ns;
	}
	atomic_fetch_add(&b->n_done, 1);
	slot_next(slot);
}

static void on_range(struct storage_op *op)
{
	struct slot *slot = container_of(op, struct slot, range.op);
	slot_finish(slot, op, op->result == STORAGE_OK && slot->range.n_kvs == 1);
}

static void on_txn(struct storage_op *op)
{
	struct slot *slot = container_of(op, struct slot, txn.op);
	slot_finish(slot, op, op->result == STORAGE_OK && slot->txn.succeeded);
}

static void start_range(struct slot *slot, long long number, bool is_serializable)
{
	snprintf(slot->key, sizeof(slot->key), "/bench/fill/%06lld", number * 7919 % N_KEYS);
	slot->range = (struct storage_range){.op.done = on_range, .key = str_of(slot->key), .is_serializable = is_serializable};
	storage_range(slot->bench->s, &slot->range);
}

static void start_get(struct slot *slot, long long number)
{
	start_range(slot, number, true);
}

static void start_lget(struct slot *slot, long long number)
{
	start_range(slot, number, false);
}

static void start_txn(struct slot *slot, size_t n_compares)
{
	struct str key = str_of(slot->key);
	slot->is_new = (struct storage_compare){.target = COMPARE_CREATE, .result = COMPARE_EQUAL, .key = key};
	slot->put = (struct storage_step){.kind = STEP_PUT, .key = key, .value = {value, sizeof(value)}};
	slot->get = (struct storage_step){.kind = STEP_GET, .key = key};
	slot->txn = (struct storage_txn){
		.op.done = on_txn,
		.compares = &slot->is_new,
		.n_compares = n_compares,
		.success = &slot->put,
		.n_success = 1,
		.failure = &slot->get,
		.n_failure = n_compares,
	};
	storage_txn(slot->bench->s, &slot->txn);
}

static void start_create(struct slot *slot, long long number)
{
	snprintf(slot->key, sizeof(slot->key), "/bench/%s/%08lld", run_id, number);
	start_txn(slot, 1);
}

static void start_fill(struct slot *slot, long long number)
{
	snprintf(slot->key, sizeof(slot->key), "/bench/fill/%06lld", number);
	start_txn(slot, 0);
}

static void bench_run(struct bench *b, void (*start)(struct slot *, long long), int in_flight, int64_t ms)
{
	struct slot *slots = mem_array((size_t)in_flight, sizeof(*slots));
	atomic_store(&b->n_in_flight, in_flight);
	for (int i = 0; i < in_flight; i++) {
		slots[i].bench = b;
		slots[i].start = start;
		slot_next(&slots[i]);
	}
	if (ms > 0) {
		nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
		atomic_store(&b->is_over, true);
	}
	pthread_mutex_lock(&b->lock);
	while (atomic_load(&b->n_in_flight) > 0) {
		pthread_cond_wait(&b->idle, &b->lock);
	}
	pthread_mutex_unlock(&b->lock);
	mem_free(slots);
}

static struct bench *bench_new(struct storage *s, long long n_wanted)
{
	struct bench *b = mem_new(struct bench);
	b->s = s;
	b->n_wanted = n_wanted;
	b->latencies = mem_array(LATENCIES_MAX, sizeof(*b->latencies));
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->idle, NULL);
	return b;
}

static struct bench *bench_free(struct bench *b)
{
	pthread_cond_destroy(&b->idle);
	pthread_mutex_destroy(&b->lock);
	mem_free(b->latencies);
	return mem_free(b);
}

static int compare_latency(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

static void fill(struct storage *s)
{
	struct storage_range count = {.key = STR("/bench/fill/"), .range_end = STR("/bench/fill0"), .count_only = true};
	storage_range_wait(s, &count);
	long long n_missing = N_KEYS - count.count;
	storage_op_clear(&count.op);
	if (n_missing > 0) {
		struct bench *b = bench_new(s, N_KEYS);
		bench_run(b, start_fill, FILL_IN_FLIGHT, 0);
		bench_free(b);
	}
}

static void measure(struct storage *s, const char *mode, void (*start)(struct slot *, long long), int in_flight, int64_t ms)
{
	struct bench *b = bench_new(s, 0);
	int64_t cpu_ns = clock_cpu_ns(), started_ns = clock_mono_ns();
	bench_run(b, start, in_flight, ms);
	cpu_ns = clock_cpu_ns() - cpu_ns;
	double seconds = (double)(clock_mono_ns() - started_ns) / 1e9;
	long long n = atomic_load(&b->n_done);
	qsort(b->latencies, b->n_latencies, sizeof(*b->latencies), compare_latency);
	printf("%-6s in flight %-4d %8.0f/s  %6.1f us CPU  p50 %.2f ms  p99 %.2f ms  failed %lld\n", mode, in_flight,
		(double)n / seconds, (double)cpu_ns / 1000 / (double)n, (double)b->latencies[b->n_latencies / 2] / 1e6,
		(double)b->latencies[b->n_latencies * 99 / 100] / 1e6, (long long)atomic_load(&b->n_failed));
	bench_free(b);
}

/* What a cache does at its start. */
static void load(struct storage *s, int64_t page)
{
	struct storage_range range = {.range_end = STR("/bench0"), .limit = page};
	struct arena keys;
	arena_init(&keys, SIZE_MAX);
	int64_t cpu_ns = clock_cpu_ns(), started_ns = clock_mono_ns(), n = 0;
	struct str next = STR("/bench/");
	bool has_more = true;
	while (has_more) {
		range.key = next;
		if (storage_range_wait(s, &range) != STORAGE_OK) {
			fprintf(stderr, "%s: %s\n", storage_result_name(range.op.result), range.op.message);
			break;
		}
		n += (int64_t)range.n_kvs;
		has_more = range.has_more;
		range.at_revision = range.at_revision ? range.at_revision : range.op.revision;
		if (range.n_kvs > 0) {
			next = arena_dup(&keys, range.kvs[range.n_kvs - 1].key);
			next.n++; /* with the NUL: the key behind it */
		}
		storage_op_clear(&range.op);
	}
	printf("load   pages of %-6lld %lld keys in %.0f ms, %.0f ms CPU\n", (long long)page, (long long)n,
		(double)(clock_mono_ns() - started_ns) / 1e6, (double)(clock_cpu_ns() - cpu_ns) / 1e6);
	arena_done(&keys);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*start)(struct slot *, long long);
	} modes[] = {{"get", start_get}, {"lget", start_lget}, {"create", start_create}};
	if (argc != 5) {
		fprintf(stderr, "usage: storage_bench ENDPOINT get|lget|create|load IN_FLIGHT SECONDS\n");
		return 2;
	}
	struct storage *s;
	struct buf err;
	buf_init(&err, 1024);
	struct storage_etcd_options options = {.endpoints = (const char *const *)&argv[1], .n_endpoints = 1};
	if (storage_etcd_new(&s, &options, &err) != 0) {
		fprintf(stderr, "%s\n", err.p);
		return 1;
	}
	memset(value, 'v', sizeof(value));
	snprintf(run_id, sizeof(run_id), "%lld", (long long)clock_wall_us());
	fill(s);
	if (strcmp(argv[2], "load") == 0) {
		load(s, atoll(argv[3]));
	}
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		if (strcmp(argv[2], modes[i].name) == 0) {
			measure(s, argv[2], modes[i].start, atoi(argv[3]), (int64_t)(atof(argv[4]) * 1000));
		}
	}
	storage_free(s);
	storage_etcd_shutdown();
	fflush(NULL);
	_exit(0);
}
