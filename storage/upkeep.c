/* The two threads that look after etcd: one compacts its history, the other watches its alarms and its size. */
#include "storage/upkeep.h"
#include "base/clock.h"
#include "base/exposition.h"
#include "base/thread.h"
#include "storage/keys.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

/* ---- compaction ----
 *
 * Time is the version of one key, as in upstream's compact.go. Clocks of replicas need not
 * agree, and a replica that slept sees that time has gone on. A round has memory of its own,
 * because a requested round may run beside the periodic one. */

/* One round: the transaction on compact_rev_key and, if that succeeds, the compaction. Steps
 * follow one another on the completion thread. */
struct round {
	struct compactor *c;
	bool is_now; /* compacts at the present revision rather than at the last round's */
	void (*done)(void *ctx, enum storage_result r, int64_t revision);
	void *ctx;
	struct arena arena;
	struct storage_range range;
	struct storage_compare compare;
	struct storage_step put, get;
	struct storage_txn txn;
	struct storage_compact compact;
};

struct compactor {
	struct compactor_options options;
	struct arena arena; /* of the key */
	struct str key;
	pthread_t thread;

	/* Guards the fields below. No callback runs while it is held. */
	pthread_mutex_t lock;
	pthread_cond_t changed; /* on the monotonic clock */
	bool is_closing;
	unsigned n_rounds; /* under way */
	int64_t version;   /* of the key, as last seen: the logical time */
	int64_t revision;  /* of the store then: the next round compacts at it; 0: not known */
};

static void round_end(struct round *r, enum storage_result result, int64_t compacted)
{
	struct compactor *c = r->c;
	if (compacted > 0 && c->options.on_compacted) {
		c->options.on_compacted(c->options.ctx, compacted);
	}
	if (r->done) {
		r->done(r->ctx, result, compacted);
	}
	arena_done(&r->arena);
	mem_free(r);

	pthread_mutex_lock(&c->lock);
	c->n_rounds--;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

static void on_compact(struct storage_op *op)
{
	struct round *r = container_of(op, struct round, compact.op);
	enum storage_result result = op->result;
	bool is_compacted = result == STORAGE_OK || result == STORAGE_COMPACTED; /* a later compaction is as good */
	storage_op_clear(op);
	round_end(r, is_compacted ? STORAGE_OK : result, is_compacted ? r->compact.at_revision : 0);
}

static void compactor_learn(struct compactor *c, int64_t version, int64_t revision)
{
	pthread_mutex_lock(&c->lock);
	c->version = version;
	c->revision = revision;
	pthread_mutex_unlock(&c->lock);
}

/* Another replica has won: reads how far it has compacted. */
static void round_lost(struct round *r)
{
	int64_t compacted = 0, version = 0;
	if (r->get.n_kvs > 0) {
		version = r->get.kvs[0].version;
		if (!str_to_int64(r->get.kvs[0].value, &compacted)) {
			compacted = 0;
		}
	}
	compactor_learn(r->c, version, r->txn.op.revision);
	storage_op_clear(&r->txn.op);
	round_end(r, STORAGE_OK, compacted);
}

static void round_won(struct round *r)
{
	struct compactor *c = r->c;
	int64_t present = r->txn.op.revision;
	compactor_learn(c, r->compare.number + 1, present);
	storage_op_clear(&r->txn.op);
	/* The first round of all knows no revision that is old enough. A future revision is of a
	 * history that a restored backup has ended. */
	if (r->compact.at_revision == 0 || r->compact.at_revision > present) {
		round_end(r, STORAGE_OK, 0);
		return;
	}
	/* At the revision of the last round, so that history is kept for at least an interval. */
	r->compact.op.done = on_compact;
	storage_compact(c->options.storage, &r->compact);
}

static void on_txn(struct storage_op *op)
{
	struct round *r = container_of(op, struct round, txn.op);
	enum storage_result result = op->result;
	if (result != STORAGE_OK) {
		storage_op_clear(op);
		round_end(r, result, 0);
	} else if (r->txn.succeeded) {
		round_won(r);
	} else {
		round_lost(r);
	}
}

static void round_submit(struct round *r, int64_t version, int64_t revision)
{
	struct compactor *c = r->c;
	r->compact.at_revision = revision;
	r->compare = (struct storage_compare){
		.target = COMPARE_VERSION,
		.result = COMPARE_EQUAL,
		.key = c->key,
		.number = version,
	};
	struct str value = arena_printf(&r->arena, "%lld", (long long)revision);
	r->put = (struct storage_step){.kind = STEP_PUT, .key = c->key, .value = value};
	r->get = (struct storage_step){.kind = STEP_GET, .key = c->key};
	r->txn = (struct storage_txn){
		.op.done = on_txn,
		.compares = &r->compare,
		.n_compares = 1,
		.success = &r->put,
		.n_success = 1,
		.failure = &r->get,
		.n_failure = 1,
	};
	storage_txn(c->options.storage, &r->txn);
}

/* A requested round does not wait for the interval: it takes the key's version and the store's
 * revision as they are. */
static void on_range(struct storage_op *op)
{
	struct round *r = container_of(op, struct round, range.op);
	enum storage_result result = op->result;
	int64_t revision = op->revision;
	int64_t version = result == STORAGE_OK && r->range.n_kvs > 0 ? r->range.kvs[0].version : 0;
	storage_op_clear(op);
	if (result == STORAGE_OK) {
		round_submit(r, version, revision);
	} else {
		round_end(r, result, 0);
	}
}

static void round_start(struct round *r)
{
	struct compactor *c = r->c;
	pthread_mutex_lock(&c->lock);
	c->n_rounds++;
	int64_t version = c->version, revision = c->revision;
	pthread_mutex_unlock(&c->lock);

	arena_init(&r->arena, SIZE_MAX);
	if (r->is_now) {
		r->range = (struct storage_range){.op.done = on_range, .key = c->key};
		storage_range(c->options.storage, &r->range);
	} else {
		round_submit(r, version, revision);
	}
}

/* Returns false when the compactor is closing. */
static bool compactor_wait(struct compactor *c)
{
	int64_t until_ms = clock_mono_ms() + c->options.interval_ms;
	int r = 0;
	pthread_mutex_lock(&c->lock);
	while (!c->is_closing && r != ETIMEDOUT) {
		r = clock_cond_wait(&c->changed, &c->lock, until_ms);
	}
	bool must_go_on = !c->is_closing;
	pthread_mutex_unlock(&c->lock);
	return must_go_on;
}

static void *compactor_run(void *p)
{
	struct compactor *c = p;
	while (compactor_wait(c)) {
		struct round *r = mem_new(struct round);
		r->c = c;
		round_start(r);
	}
	return NULL;
}

struct compactor *compactor_new(const struct compactor_options *options)
{
	assert(options->storage && options->interval_ms >= 0);
	struct compactor *c = mem_new(struct compactor);
	c->options = *options;
	arena_init(&c->arena, SIZE_MAX);
	c->key = key_compact(&c->arena, options->prefix);
	pthread_mutex_init(&c->lock, NULL);
	clock_cond_init(&c->changed);
	if (options->interval_ms > 0) {
		thread_must_start(&c->thread, "compactor", compactor_run, c);
	}
	return c;
}

static void compactor_stop(struct compactor *c)
{
	pthread_mutex_lock(&c->lock);
	c->is_closing = true;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
	if (c->options.interval_ms > 0) {
		pthread_join(c->thread, NULL);
	}
	pthread_mutex_lock(&c->lock);
	while (c->n_rounds > 0) {
		pthread_cond_wait(&c->changed, &c->lock);
	}
	pthread_mutex_unlock(&c->lock);
}

struct compactor *compactor_free(struct compactor *c)
{
	if (!c) {
		return NULL;
	}
	compactor_stop(c);
	pthread_cond_destroy(&c->changed);
	pthread_mutex_destroy(&c->lock);
	arena_done(&c->arena);
	return mem_free(c);
}

void compactor_run_now(struct compactor *c, void (*done)(void *ctx, enum storage_result r, int64_t revision), void *ctx)
{
	struct round *r = mem_new(struct round);
	r->c = c;
	r->is_now = true;
	r->done = done;
	r->ctx = ctx;
	round_start(r);
}

/* ---- alarms ----
 *
 * They are read from Maintenance/Status, which a member answers by itself. Alarm would wait for
 * the quorum, and an etcd in trouble must not keep its trouble from being reported. Only changes
 * are reported. A member that does not answer changes nothing, since the cache reports silence. */

enum { INTERVAL_MS = 5000, TIMEOUT_MS = 2000 };

enum alarm { ALARM_NOSPACE, ALARM_CORRUPT, N_ALARMS };

static const struct {
	const char *name, *meaning;
} rows[] = {
	[ALARM_NOSPACE] = {"NOSPACE",
		"etcd has no room, and refuses all writes but deletions until it is compacted, defragmented, and the alarm "
		"disarmed"},
	[ALARM_CORRUPT] = {"CORRUPT", "etcd's members differ in what they have, and it answers nothing"},
};

static const char no_room_in_memory[] =
	"the store in memory has no room, and refuses all writes but deletions until there is room again; "
	"--memory-limit-mib gives it more";

struct alarms {
	struct alarms_options options;
	pthread_t thread;
	bool has_thread;
	atomic_bool are_on[N_ALARMS];
	_Atomic int64_t size, quota; /* of the database, bytes; 0: not known */
	pthread_mutex_t lock;        /* guards is_closing */
	pthread_cond_t wake;
	bool is_closing;
};

static const char *meaning_of(const struct alarms *a, enum alarm alarm)
{
	return a->options.is_in_memory ? no_room_in_memory : rows[alarm].meaning;
}

static void alarms_tell(struct alarms *a, enum alarm alarm, bool is_on)
{
	/* Bytes of a sentence about an alarm. */
	enum { SENTENCE_MAX = 512 };
	const char *store = a->options.is_in_memory ? "the store" : "etcd";
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, SENTENCE_MAX);
	if (is_on) {
		buf_printf(&text, "%s has the alarm %s: %s", store, rows[alarm].name, meaning_of(a, alarm));
	} else {
		buf_printf(&text, "%s's alarm %s is over", store, rows[alarm].name);
	}
	if (a->options.on_notice) {
		a->options.on_notice(a->options.ctx, is_on, buf_str(&text));
	}
}

/* Reads the alarms. An etcd that does not answer leaves them unchanged. */
static void alarms_look(struct alarms *a)
{
	struct storage_status status = {.op.timeout_ms = TIMEOUT_MS};

	if (storage_status_wait(a->options.storage, &status) == STORAGE_OK) {
		const bool are_on[N_ALARMS] = {[ALARM_NOSPACE] = status.has_nospace, [ALARM_CORRUPT] = status.has_corrupt};

		atomic_store(&a->size, status.db_size);
		atomic_store(&a->quota, status.db_quota);
		for (enum alarm i = 0; i < N_ALARMS; i++) {
			if (atomic_exchange(&a->are_on[i], are_on[i]) != are_on[i]) {
				alarms_tell(a, i, are_on[i]);
			}
		}
	}
	storage_op_clear(&status.op);
}

/* Waits for the interval. Returns false when the alarms are being freed. */
static bool alarms_pause(struct alarms *a)
{
	int64_t until_ms = clock_mono_ms() + a->options.interval_ms;
	int r = 0;

	pthread_mutex_lock(&a->lock);
	while (!a->is_closing && r != ETIMEDOUT) {
		r = clock_cond_wait(&a->wake, &a->lock, until_ms);
	}
	bool goes_on = !a->is_closing;
	pthread_mutex_unlock(&a->lock);
	return goes_on;
}

static void *alarms_run(void *ctx)
{
	struct alarms *a = ctx;

	pthread_setname_np(pthread_self(), "etcd-alarms");
	do {
		alarms_look(a);
	} while (alarms_pause(a));
	return NULL;
}

struct alarms *alarms_new(const struct alarms_options *options)
{
	assert(options->storage && options->interval_ms >= 0);
	struct alarms *a = mem_new(struct alarms);

	a->options = *options;
	a->options.interval_ms = options->interval_ms ? options->interval_ms : INTERVAL_MS;
	pthread_mutex_init(&a->lock, NULL);
	clock_cond_init(&a->wake);
	a->has_thread = pthread_create(&a->thread, NULL, alarms_run, a) == 0;
	if (!a->has_thread && a->options.on_notice) {
		a->options.on_notice(a->options.ctx, true, STR("cannot start a thread: etcd's alarms are not watched"));
	}
	return a;
}

struct alarms *alarms_free(struct alarms *a)
{
	if (!a) {
		return NULL;
	}
	pthread_mutex_lock(&a->lock);
	a->is_closing = true;
	pthread_cond_broadcast(&a->wake);
	pthread_mutex_unlock(&a->lock);
	if (a->has_thread) {
		pthread_join(a->thread, NULL);
	}
	pthread_cond_destroy(&a->wake);
	pthread_mutex_destroy(&a->lock);
	return mem_free(a);
}

const char *alarms_explain(const struct alarms *a)
{
	for (enum alarm i = 0; i < N_ALARMS; i++) {
		if (atomic_load(&a->are_on[i])) {
			return meaning_of(a, i);
		}
	}
	return NULL;
}

/* The size has kube-apiserver's name and label. etcd 3.6 and later report the quota. */
static void alarms_write_size(const struct alarms *a, struct buf *out)
{
	int64_t size = atomic_load(&a->size), quota = atomic_load(&a->quota);

	if (size > 0) {
		exposition_head(out, "apiserver_storage_size_bytes", "gauge",
			"[STABLE] Size of the storage database file physically allocated in bytes.");
		exposition_sample(out, "apiserver_storage_size_bytes", "storage_cluster_id=\"etcd-0\"", (double)size);
	}
	if (quota > 0) {
		exposition_gauge(out, "annals_etcd_quota_bytes",
			"How large etcd lets its database become, as etcd 3.6 and later say.", (double)quota);
	}
}

void alarms_write_metrics(const struct alarms *a, struct buf *out)
{
	exposition_head(out, "annals_etcd_alarm", "gauge", "1 while etcd has that alarm.");
	for (enum alarm i = 0; i < N_ALARMS; i++) {
		buf_printf(out, "annals_etcd_alarm{type=\"%s\"} %d\n", rows[i].name, atomic_load(&a->are_on[i]));
	}
	alarms_write_size(a, out);
}
