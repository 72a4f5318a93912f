/* An in-memory copy of etcd's behaviour, down to its limits and error texts: tests/contract
 * checks both with the same cases. Callbacks come from a thread of its own, never from within a
 * call, as with etcd. Otherwise code that depends on it would pass here and fail there. Without
 * that thread (manual), tests decide the order of everything. */
#include "storage/memory/memory.h"

#include "base/clock.h"
#include "base/list.h"
#include "base/thread.h"
#include "storage/memory/mvcc.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

/* etcd's --max-request-bytes and --max-txn-ops, as they are by default. */
enum { REQUEST_MAX = 3 << 19, TXN_OPS_MAX = 128 };

struct lease {
	struct list node;
	int64_t id;
	int64_t ttl_s;
	int64_t expires_ms; /* clock_mono_ms() */
};

struct watcher {
	struct list node;
	struct storage_watch *owner;
	int64_t next_revision;
};

/* The completion thread is the one writer, and owns everything but the inbox. It runs jobs in
 * the order of their submission. */
struct memory {
	struct storage storage;
	pthread_t thread;
	struct mvcc mvcc;
	struct list leases;   /* lease.node */
	struct list watchers; /* watcher.node */
	int64_t last_lease_id;
	bool is_ending; /* has seen is_closing */
	bool is_manual; /* has no thread; this is its clock */
	int64_t manual_ms;
	uint64_t cluster;
	int64_t limit;       /* bytes */
	bool lacks_room;     /* a put has been refused, and there is no room yet */
	atomic_bool is_full; /* a test has ordered that puts are refused */
	pthread_mutex_t others_lock; /* guards the fields below; no other lock is taken inside it */
	int64_t (*others)(void *ctx);
	void *others_ctx;

	/* Guards the fields below. */
	pthread_mutex_t lock;
	pthread_cond_t changed; /* on the monotonic clock */
	struct list inbox;      /* job.node */
	bool is_closing;
};

struct job {
	struct list node;
	void (*run)(struct memory *m, struct job *job);
	union {
		struct {
			struct storage_op *op;
			enum storage_result (*execute)(struct memory *m, struct storage_op *op);
		};
		struct storage_watch *watch;
		struct {
			int64_t revision;
			unsigned flags;
		} restore;
	};
};

static struct memory *memory(struct storage *s)
{
	return container_of(s, struct memory, storage);
}

static int64_t memory_now_ms(const struct memory *m)
{
	return m->is_manual ? m->manual_ms : clock_mono_ms();
}

/* ---- operations ---- */

static enum storage_result storage_op_fail(struct storage_op *op, enum storage_result r, const char *message)
{
	op->message = message;
	return r;
}

static enum storage_result fail_history(struct memory *m, struct storage_op *op, enum storage_result r)
{
	if (r == STORAGE_COMPACTED) {
		op->compact_revision = m->mvcc.compacted;
		return storage_op_fail(op, r, "etcdserver: mvcc: required revision has been compacted");
	}
	return storage_op_fail(op, r, "etcdserver: mvcc: required revision is a future revision");
}

static enum storage_result execute_range(struct memory *m, struct storage_op *op)
{
	struct storage_range *r = container_of(op, struct storage_range, op);
	struct mvcc_query query = {.key = r->key,
		.range_end = r->range_end,
		.at_revision = r->at_revision,
		.limit = r->limit,
		.changed_after = r->changed_after,
		.keys_only = r->keys_only,
		.count_only = r->count_only};
	struct mvcc_answer answer;
	if (r->key.n == 0) {
		return storage_op_fail(op, STORAGE_ERROR, "etcdserver: key is not provided");
	}
	enum storage_result result = mvcc_range(&m->mvcc, &query, &op->arena, &answer);
	if (result != STORAGE_OK) {
		return fail_history(m, op, result);
	}
	r->kvs = answer.kvs;
	r->n_kvs = answer.n_kvs;
	r->count = answer.count;
	r->has_more = !r->count_only && answer.has_more;
	return STORAGE_OK;
}

static struct lease *lease_find(struct memory *m, int64_t id)
{
	list_for_each(it, &m->leases) {
		struct lease *lease = list_entry(it, struct lease, node);
		if (lease->id == id) {
			return lease;
		}
	}
	return NULL;
}

static int compare_numbers(const struct storage_compare *c, const struct storage_kv *kv)
{
	assert(c->target <= COMPARE_LEASE);
	const int64_t numbers[] = {
		[COMPARE_VERSION] = kv->version,
		[COMPARE_CREATE] = kv->create_revision,
		[COMPARE_MOD] = kv->mod_revision,
		[COMPARE_VALUE] = 0,
		[COMPARE_LEASE] = kv->lease,
	};
	int64_t number = numbers[c->target];
	return (number > c->number) - (number < c->number);
}

static bool compare_holds_for(const struct storage_compare *c, const struct storage_kv *kv)
{
	int order = c->target == COMPARE_VALUE ? str_cmp(kv->value, c->value) : compare_numbers(c, kv);
	switch (c->result) {
	case COMPARE_EQUAL:
		return order == 0;
	case COMPARE_GREATER:
		return order > 0;
	case COMPARE_LESS:
		return order < 0;
	case COMPARE_NOT_EQUAL:
		return order != 0;
	}
	return false;
}

static bool compare_holds(const struct memory *m, const struct storage_compare *c)
{
	size_t at = 0;
	const struct storage_kv *kv = mvcc_next(&m->mvcc, c->key, c->range_end, &at);
	if (!kv) {
		return c->target != COMPARE_VALUE && compare_holds_for(c, &(struct storage_kv){0});
	}
	while (kv && compare_holds_for(c, kv)) {
		kv = mvcc_next(&m->mvcc, c->key, c->range_end, &at);
	}
	return !kv;
}

/* A key put by one step may only be read by the other steps of its branch. */
static bool steps_collide(const struct storage_step *put, const struct storage_step *other)
{
	return put->kind == STEP_PUT && put != other && other->kind != STEP_GET &&
		mvcc_is_in_range(put->key, other->key, other->kind == STEP_PUT ? (struct str){NULL, 0} : other->range_end);
}

static bool steps_are_disjoint(const struct storage_step *steps, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j < n; j++) {
			if (steps_collide(&steps[i], &steps[j])) {
				return false;
			}
		}
	}
	return true;
}

static size_t steps_size(const struct storage_step *steps, size_t n)
{
	size_t size = 0;
	for (size_t i = 0; i < n; i++) {
		size += steps[i].key.n + steps[i].range_end.n + steps[i].value.n;
	}
	return size;
}

static bool steps_have_keys(const struct storage_step *steps, size_t n)
{
	size_t i = 0;
	while (i < n && steps[i].key.n > 0) {
		i++;
	}
	return i == n;
}

static bool compares_have_keys(const struct storage_compare *compares, size_t n)
{
	size_t i = 0;
	while (i < n && compares[i].key.n > 0) {
		i++;
	}
	return i == n;
}

static enum storage_result txn_check(const struct storage_txn *t, struct storage_op *op)
{
	size_t size = steps_size(t->success, t->n_success) + steps_size(t->failure, t->n_failure);
	if (t->n_compares > TXN_OPS_MAX || t->n_success > TXN_OPS_MAX || t->n_failure > TXN_OPS_MAX) {
		return storage_op_fail(op, STORAGE_ERROR, "etcdserver: too many operations in txn request");
	}
	if (!compares_have_keys(t->compares, t->n_compares) || !steps_have_keys(t->success, t->n_success) ||
		!steps_have_keys(t->failure, t->n_failure)) {
		return storage_op_fail(op, STORAGE_ERROR, "etcdserver: key is not provided");
	}
	if (!steps_are_disjoint(t->success, t->n_success) || !steps_are_disjoint(t->failure, t->n_failure)) {
		return storage_op_fail(op, STORAGE_ERROR, "etcdserver: duplicate key given in txn request");
	}
	if (size > REQUEST_MAX) {
		return storage_op_fail(op, STORAGE_TOO_LARGE, "etcdserver: request is too large");
	}
	return STORAGE_OK;
}

static bool leases_exist(struct memory *m, const struct storage_step *steps, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (steps[i].kind == STEP_PUT && steps[i].lease && !lease_find(m, steps[i].lease)) {
			return false;
		}
	}
	return true;
}

/* Returns the bytes that the puts need; 0: there are none. */
static int64_t steps_cost(const struct storage_step *steps, size_t n)
{
	int64_t cost = 0;
	for (size_t i = 0; i < n; i++) {
		cost += steps[i].kind == STEP_PUT ? mvcc_cost_of_put(steps[i].key, steps[i].value) : 0;
	}
	return cost;
}

/* Returns the bytes of the store, and of what other code holds because of it. */
static int64_t bytes_held(struct memory *m)
{
	pthread_mutex_lock(&m->others_lock);
	int64_t others = m->others ? m->others(m->others_ctx) : 0;
	pthread_mutex_unlock(&m->others_lock);
	return mvcc_size(&m->mvcc) + others;
}

/* Compacts the older half of the history, and again, until that many bytes fit. Returns false
 * when they do not fit even then. */
static bool make_room(struct memory *m, int64_t bytes)
{
	struct mvcc *data = &m->mvcc;
	bool has_room = bytes_held(m) <= m->limit - bytes;
	while (!has_room && data->compacted < data->revision) {
		mvcc_compact(data, data->revision - (data->revision - data->compacted) / 2);
		has_room = bytes_held(m) <= m->limit - bytes;
	}
	return has_room;
}

/* Returns the free bytes that end a refusal: once a put has been refused, all are, as by etcd,
 * until there is some more room. */
static int64_t room_to_go_on(const struct memory *m)
{
	return m->lacks_room ? MIN(m->limit / 4, (int64_t)REQUEST_MAX) : 0;
}

static enum storage_result txn_make_room(struct memory *m, struct storage_op *op, int64_t cost)
{
	bool has_room = make_room(m, MAX(cost, room_to_go_on(m)));
	if (cost == 0) {
		return STORAGE_OK;
	}
	m->lacks_room = !has_room;
	if (!has_room || atomic_load(&m->is_full)) {
		return storage_op_fail(op, STORAGE_NO_SPACE, "etcdserver: mvcc: database space exceeded");
	}
	return STORAGE_OK;
}

static void step_run(struct memory *m, struct storage_step *step, struct arena *a)
{
	struct mvcc_query query = {
		.key = step->key, .range_end = step->range_end, .limit = step->limit, .keys_only = step->keys_only};
	struct mvcc_answer answer;
	enum storage_result r;
	switch (step->kind) {
	case STEP_GET:
		r = mvcc_range(&m->mvcc, &query, a, &answer);
		assert(r == STORAGE_OK);
		step->kvs = answer.kvs;
		step->n_kvs = answer.n_kvs;
		step->count = answer.count;
		break;
	case STEP_PUT:
		mvcc_put(&m->mvcc, step->key, step->value, step->lease);
		break;
	case STEP_DELETE:
		step->count = mvcc_delete(&m->mvcc, step->key, step->range_end);
		break;
	}
}

static void watchers_notify(struct memory *m);

static enum storage_result execute_txn(struct memory *m, struct storage_op *op)
{
	struct storage_txn *t = container_of(op, struct storage_txn, op);
	enum storage_result r = txn_check(t, op);
	if (r != STORAGE_OK) {
		return r;
	}
	size_t n_held = 0;
	while (n_held < t->n_compares && compare_holds(m, &t->compares[n_held])) {
		n_held++;
	}
	bool succeeded = n_held == t->n_compares;
	struct storage_step *steps = succeeded ? t->success : t->failure;
	size_t n = succeeded ? t->n_success : t->n_failure;
	if (!leases_exist(m, steps, n)) {
		return storage_op_fail(op, STORAGE_LEASE_GONE, "etcdserver: requested lease not found");
	}
	r = txn_make_room(m, op, steps_cost(steps, n));
	if (r != STORAGE_OK) {
		return r;
	}
	for (size_t i = 0; i < n; i++) {
		step_run(m, &steps[i], &op->arena);
	}
	t->succeeded = succeeded;
	if (mvcc_commit(&m->mvcc)) {
		watchers_notify(m);
	}
	return STORAGE_OK;
}

static enum storage_result execute_compact(struct memory *m, struct storage_op *op)
{
	const struct storage_compact *c = container_of(op, struct storage_compact, op);
	enum storage_result r = mvcc_compact(&m->mvcc, c->at_revision);
	return r == STORAGE_OK ? r : fail_history(m, op, r);
}

static enum storage_result execute_status(struct memory *m, struct storage_op *op)
{
	struct storage_status *s = container_of(op, struct storage_status, op);
	m->lacks_room = m->lacks_room && !make_room(m, room_to_go_on(m)); /* deletions may have made room */
	s->version = "memory";
	s->db_size = bytes_held(m);
	s->db_quota = m->limit < INT64_MAX ? m->limit : 0;
	s->leader = 1;
	s->has_nospace = m->lacks_room || atomic_load(&m->is_full);
	return STORAGE_OK;
}

/* ---- leases ---- */

static void lease_renew(const struct memory *m, struct lease *lease)
{
	assert(lease->ttl_s > 0);
	lease->expires_ms = memory_now_ms(m) + lease->ttl_s * 1000;
}

static enum storage_result execute_grant(struct memory *m, struct storage_op *op)
{
	struct storage_lease *l = container_of(op, struct storage_lease, op);
	if (l->id && lease_find(m, l->id)) {
		return storage_op_fail(op, STORAGE_ERROR, "etcdserver: lease already exists");
	}
	while (!l->id || lease_find(m, l->id)) {
		l->id = ++m->last_lease_id;
	}
	l->ttl_s = MAX(l->ttl_s, 1);
	struct lease *lease = mem_new(struct lease);
	lease->id = l->id;
	lease->ttl_s = l->ttl_s;
	lease_renew(m, lease);
	list_append(&m->leases, &lease->node);
	return STORAGE_OK;
}

static enum storage_result execute_keep_alive(struct memory *m, struct storage_op *op)
{
	struct storage_lease *l = container_of(op, struct storage_lease, op);
	struct lease *lease = lease_find(m, l->id);
	if (!lease) {
		return storage_op_fail(op, STORAGE_LEASE_GONE, "etcdserver: requested lease not found");
	}
	lease_renew(m, lease);
	l->ttl_s = lease->ttl_s;
	return STORAGE_OK;
}

/* Drops a lease and its keys, in one revision. */
static void lease_drop(struct memory *m, struct lease *lease)
{
	const struct storage_kv *kv;
	size_t at = 0;
	while ((kv = mvcc_next(&m->mvcc, STR("\0"), STR("\0"), &at))) {
		if (kv->lease == lease->id) {
			mvcc_delete(&m->mvcc, kv->key, (struct str){NULL, 0});
		}
	}
	list_remove(&lease->node);
	mem_free(lease);
	if (mvcc_commit(&m->mvcc)) {
		watchers_notify(m);
	}
}

static enum storage_result execute_revoke(struct memory *m, struct storage_op *op)
{
	const struct storage_lease *l = container_of(op, struct storage_lease, op);
	struct lease *lease = lease_find(m, l->id);
	if (!lease) {
		return storage_op_fail(op, STORAGE_LEASE_GONE, "etcdserver: requested lease not found");
	}
	lease_drop(m, lease);
	return STORAGE_OK;
}

static void leases_expire(struct memory *m)
{
	int64_t now_ms = memory_now_ms(m);
	list_for_each_safe(it, &m->leases) {
		struct lease *lease = list_entry(it, struct lease, node);
		if (lease->expires_ms <= now_ms) {
			lease_drop(m, lease);
		}
	}
}

/* ---- watches ---- */

static void watcher_notify(struct watcher *w, const struct mvcc *m)
{
	size_t from = mvcc_log_since(m, w->next_revision);
	assert(from <= m->n_log);
	struct storage_event *events = mem_array(m->n_log - from, sizeof(*events));
	size_t n = 0;
	for (size_t i = from; i < m->n_log; i++) {
		if (mvcc_is_in_range(m->log[i]->event.kv.key, w->owner->key, w->owner->range_end)) {
			events[n++] = m->log[i]->event;
		}
	}
	w->next_revision = MAX(w->next_revision, m->revision + 1);
	if (n > 0) {
		w->owner->on_events(w->owner, events, n, events[n - 1].kv.mod_revision);
	}
	mem_free(events);
}

static void watchers_notify(struct memory *m)
{
	list_for_each(it, &m->watchers) {
		watcher_notify(list_entry(it, struct watcher, node), &m->mvcc);
	}
}

static void watcher_end(struct watcher *w, enum storage_result why, const char *message)
{
	struct storage_watch *owner = w->owner;
	list_remove(&w->node);
	mem_free(w);
	owner->on_end(owner, why, 0, message);
}

static void run_watch(struct memory *m, struct job *job)
{
	struct storage_watch *owner = job->watch;
	assert(owner->on_events && owner->on_end);
	if (m->is_ending) {
		owner->on_end(owner, STORAGE_CANCELED, 0, "the store is being closed");
		return;
	}
	if (owner->from_revision > 0 && owner->from_revision <= m->mvcc.compacted) {
		owner->on_end(
			owner, STORAGE_COMPACTED, m->mvcc.compacted, "etcdserver: mvcc: required revision has been compacted");
		return;
	}
	struct watcher *w = mem_new(struct watcher);
	w->owner = owner;
	w->next_revision = owner->from_revision > 0 ? owner->from_revision : m->mvcc.revision + 1;
	list_append(&m->watchers, &w->node);
	if (owner->on_state) {
		owner->on_state(owner, true, "");
	}
	watcher_notify(w, &m->mvcc);
}

static void run_cancel(struct memory *m, struct job *job)
{
	list_for_each_safe(it, &m->watchers) {
		struct watcher *w = list_entry(it, struct watcher, node);
		if (w->owner == job->watch) {
			watcher_end(w, STORAGE_CANCELED, "canceled");
			return;
		}
	}
}

static void watchers_restored(struct memory *m)
{
	struct list all = LIST_INIT(all);
	list_splice(&all, &m->watchers);
	while (!list_is_empty(&all)) {
		watcher_end(list_entry(all.next, struct watcher, node), STORAGE_RESTORED, "a backup has been restored");
	}
}

static void run_restore(struct memory *m, struct job *job)
{
	mvcc_rewind(&m->mvcc, job->restore.revision);
	m->cluster += (job->restore.flags & RESTORE_OTHER_CLUSTER) != 0;
	if (job->restore.flags & RESTORE_NOTICED) {
		watchers_restored(m);
	}
}

/* ---- the completion thread ---- */

static void run_op(struct memory *m, struct job *job)
{
	struct storage_op *op = job->op;
	assert(op->done && job->execute);
	arena_init(&op->arena, SIZE_MAX);
	op->message = "";
	op->compact_revision = 0;
	op->result = m->is_ending ? storage_op_fail(op, STORAGE_CANCELED, "the store is being closed") : job->execute(m, op);
	op->revision = m->mvcc.revision;
	op->cluster = m->cluster;
	assert(op->message);
	op->done(op);
}

/* Returns when the next lease expires; INT64_MAX: never. */
static int64_t next_expiry(const struct memory *m)
{
	int64_t next_ms = INT64_MAX;
	list_for_each(it, &m->leases) {
		next_ms = MIN(next_ms, list_entry(it, struct lease, node)->expires_ms);
	}
	return next_ms;
}

/* Waits until there are jobs (moved to `ret`), or a lease may have expired. Returns false at the
 * end. */
static bool memory_wait(struct memory *m, struct list *ret)
{
	int64_t until_ms = next_expiry(m);
	int r = 0;
	pthread_mutex_lock(&m->lock);
	while (list_is_empty(&m->inbox) && !m->is_closing && r != ETIMEDOUT) {
		r = until_ms != INT64_MAX ? clock_cond_wait(&m->changed, &m->lock, until_ms)
					  : pthread_cond_wait(&m->changed, &m->lock);
	}
	m->is_ending = m->is_closing;
	list_splice(ret, &m->inbox);
	pthread_mutex_unlock(&m->lock);
	return !m->is_ending || !list_is_empty(ret) || !list_is_empty(&m->watchers);
}

static void jobs_run(struct memory *m, struct list *jobs)
{
	while (!list_is_empty(jobs)) {
		struct job *job = list_entry(jobs->next, struct job, node);
		list_remove(&job->node);
		job->run(m, job);
		mem_free(job);
	}
}

static void memory_turn(struct memory *m, struct list *jobs)
{
	leases_expire(m);
	jobs_run(m, jobs);
	while (m->is_ending && !list_is_empty(&m->watchers)) {
		watcher_end(list_entry(m->watchers.next, struct watcher, node), STORAGE_CANCELED, "canceled");
	}
}

static void *memory_run(void *p)
{
	struct memory *m = p;
	struct list jobs = LIST_INIT(jobs);
	while (memory_wait(m, &jobs)) {
		memory_turn(m, &jobs);
	}
	return NULL;
}

/* ---- from any thread ---- */

static void memory_post(struct storage *s, struct job job)
{
	struct memory *m = memory(s);
	struct job *posted = mem_dup(&job, sizeof(job));
	pthread_mutex_lock(&m->lock);
	list_append(&m->inbox, &posted->node);
	pthread_cond_signal(&m->changed);
	pthread_mutex_unlock(&m->lock);
}

static void memory_range(struct storage *s, struct storage_range *r)
{
	memory_post(s, (struct job){.run = run_op, .op = &r->op, .execute = execute_range});
}

static void memory_txn(struct storage *s, struct storage_txn *t)
{
	memory_post(s, (struct job){.run = run_op, .op = &t->op, .execute = execute_txn});
}

static void memory_compact(struct storage *s, struct storage_compact *c)
{
	memory_post(s, (struct job){.run = run_op, .op = &c->op, .execute = execute_compact});
}

static void memory_status(struct storage *s, struct storage_status *status)
{
	memory_post(s, (struct job){.run = run_op, .op = &status->op, .execute = execute_status});
}

static void memory_grant(struct storage *s, struct storage_lease *l)
{
	memory_post(s, (struct job){.run = run_op, .op = &l->op, .execute = execute_grant});
}

static void memory_keep_alive(struct storage *s, struct storage_lease *l)
{
	memory_post(s, (struct job){.run = run_op, .op = &l->op, .execute = execute_keep_alive});
}

static void memory_revoke(struct storage *s, struct storage_lease *l)
{
	memory_post(s, (struct job){.run = run_op, .op = &l->op, .execute = execute_revoke});
}

static void memory_watch(struct storage *s, struct storage_watch *w)
{
	memory_post(s, (struct job){.run = run_watch, .watch = w});
}

static void memory_watch_cancel(struct storage *s, struct storage_watch *w)
{
	memory_post(s, (struct job){.run = run_cancel, .watch = w});
}

static void leases_free(struct list *leases)
{
	list_for_each_safe(it, leases) {
		mem_free(list_entry(it, struct lease, node));
	}
}

static void memory_free(struct storage *s)
{
	struct memory *m = memory(s);
	pthread_mutex_lock(&m->lock);
	m->is_closing = true;
	pthread_cond_signal(&m->changed);
	pthread_mutex_unlock(&m->lock);
	if (m->is_manual) {
		storage_memory_run(s, m->manual_ms);
	} else {
		pthread_join(m->thread, NULL);
	}

	assert(list_is_empty(&m->inbox) && list_is_empty(&m->watchers));
	leases_free(&m->leases);
	mvcc_done(&m->mvcc);
	pthread_cond_destroy(&m->changed);
	pthread_mutex_destroy(&m->lock);
	pthread_mutex_destroy(&m->others_lock);
	mem_free(m);
}

static const struct storage_ops memory_ops = {
	.range = memory_range,
	.txn = memory_txn,
	.compact = memory_compact,
	.status = memory_status,
	.lease_grant = memory_grant,
	.lease_keep_alive = memory_keep_alive,
	.lease_revoke = memory_revoke,
	.watch = memory_watch,
	.watch_cancel = memory_watch_cancel,
	.free = memory_free,
};

static struct memory *memory_new(int64_t limit)
{
	struct memory *m = mem_new(struct memory);
	m->storage.ops = &memory_ops;
	m->limit = limit;
	m->cluster = 1;
	mvcc_init(&m->mvcc);
	list_init(&m->leases);
	list_init(&m->watchers);
	list_init(&m->inbox);
	pthread_mutex_init(&m->lock, NULL);
	pthread_mutex_init(&m->others_lock, NULL);
	clock_cond_init(&m->changed);
	return m;
}

void storage_memory_count_others(struct storage *s, int64_t (*others)(void *ctx), void *ctx)
{
	struct memory *m = memory(s);

	pthread_mutex_lock(&m->others_lock);
	m->others = others;
	m->others_ctx = ctx;
	pthread_mutex_unlock(&m->others_lock);
}

void storage_memory_set_full(struct storage *s, bool is_full)
{
	atomic_store(&memory(s)->is_full, is_full);
}

void storage_memory_restore(struct storage *s, int64_t revision, unsigned flags)
{
	memory_post(s, (struct job){.run = run_restore, .restore = {revision, flags}});
}

struct storage *storage_memory_new_limited(int64_t limit)
{
	struct memory *m = memory_new(limit);
	thread_must_start(&m->thread, "memory-store", memory_run, m);
	return &m->storage;
}

struct storage *storage_memory_new(void)
{
	return storage_memory_new_limited(INT64_MAX);
}

struct storage *storage_memory_new_manual(void)
{
	struct memory *m = memory_new(INT64_MAX);
	m->is_manual = true;
	return &m->storage;
}

/* Runs all jobs, also those that callbacks submit. */
void storage_memory_run(struct storage *s, int64_t now_ms)
{
	struct memory *m = memory(s);
	assert(m->is_manual); /* the others have a thread for it */
	struct list jobs = LIST_INIT(jobs);
	m->is_ending = m->is_closing;
	m->manual_ms = now_ms;
	do {
		list_splice(&jobs, &m->inbox);
		memory_turn(m, &jobs);
	} while (!list_is_empty(&m->inbox));
}
