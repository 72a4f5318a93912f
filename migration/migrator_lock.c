/* Whose turn it is to migrate: who holds PREFIX/migrator, as long as the lease of its registration lives. */
#include "migration/migrator_private.h"

#include "base/clock.h"

enum { CACHE_TIMEOUT_MS = 2000, GIVE_UP_TIMEOUT_MS = 1000 };

void migrator_lock_lose(struct migrator *m)
{
	m->lock_revision = m->lock_lease = 0;
	m->counts.is_holding = false;
}

static struct storage_compare migrator_lock_guard(const struct migrator *m)
{
	return storage_compare_mod(m->lock_key, m->lock_revision);
}

void migrator_lock_guards(const struct migrator *m, const struct agreement_ticket *ticket,
	struct storage_compare guards[TURN_GUARDS], struct storage_step looks[TURN_GUARDS])
{
	guards[0] = migrator_lock_guard(m);
	guards[1] = agreement_guard(ticket);
	for (size_t i = 0; i < TURN_GUARDS; i++) {
		looks[i] = (struct storage_step){.kind = STEP_GET, .key = guards[i].key, .keys_only = true};
	}
}

bool migrator_lock_is_over(
	struct migrator *m, const struct agreement_ticket *ticket, const struct storage_step looks[TURN_GUARDS])
{
	if (!storage_step_has(&looks[0], m->lock_revision)) {
		migrator_lock_lose(m);
		return true;
	}
	if (!storage_step_has(&looks[1], ticket->revision)) {
		agreement_doubt(m->options.agreement, ticket);
		return true;
	}
	return false;
}

static void take(struct migrator *m, int64_t lease, int64_t revision)
{
	m->lock_revision = m->wrote = revision;
	m->lock_lease = lease;
	m->counts.is_holding = true;
}

/* Ours from an attempt whose answer was lost is as good as a new one. */
static void try_to_take(struct migrator *m, int64_t lease)
{
	struct str id = agreement_id(m->options.agreement);
	struct storage_compare absent = {.target = COMPARE_CREATE, .result = COMPARE_EQUAL, .key = m->lock_key};
	struct storage_step put = {.kind = STEP_PUT, .key = m->lock_key, .value = id, .lease = lease};
	struct storage_step get = {.kind = STEP_GET, .key = m->lock_key};
	struct storage_txn txn = {.op.timeout_ms = STORE_TIMEOUT_MS,
		.compares = &absent,
		.n_compares = 1,
		.success = &put,
		.n_success = 1,
		.failure = &get,
		.n_failure = 1};

	if (storage_txn_wait(m->options.storage, &txn) == STORAGE_OK) {
		const struct storage_kv *kv = txn.succeeded || get.n_kvs == 0 ? NULL : &get.kvs[0];
		if (txn.succeeded) {
			take(m, lease, txn.op.revision);
		} else if (kv && str_eq(kv->value, id) && kv->lease == lease) {
			take(m, lease, kv->mod_revision);
		}
	}
	storage_op_clear(&txn.op);
}

/* Who cannot read what others write leaves it to them. */
static bool is_fit(struct migrator *m)
{
	for (size_t i = 0; i < kind_count(); i++) {
		if (!agreement_can_read(m->options.agreement, kind_at(i), NULL)) {
			return false;
		}
	}
	return true;
}

bool migrator_lock_take(struct migrator *m)
{
	int64_t lease = agreement_lease(m->options.agreement), now_ms = clock_mono_ms();

	if (m->lock_revision && m->lock_lease != lease) {
		migrator_lock_lose(m);
	}
	if (lease && !is_fit(m)) {
		migrator_lock_give_up(m);
		return false;
	}
	if (!m->lock_revision && lease && now_ms >= m->lock_at_ms) {
		m->lock_at_ms = now_ms + m->options.poll_ms;
		try_to_take(m, lease);
		if (m->lock_revision) {
			migrator_notice(m, false, "it is this server's turn to migrate stored objects");
		}
	}
	return m->lock_revision != 0;
}

void migrator_lock_give_up(struct migrator *m)
{
	struct storage_compare ours = migrator_lock_guard(m);
	struct storage_step remove = {.kind = STEP_DELETE, .key = m->lock_key};
	struct storage_txn txn = {
		.op.timeout_ms = GIVE_UP_TIMEOUT_MS, .compares = &ours, .n_compares = 1, .success = &remove, .n_success = 1};

	if (m->lock_revision) {
		storage_txn_wait(m->options.storage, &txn); /* or else its lease ends */
		storage_op_clear(&txn.op);
		migrator_lock_lose(m);
	}
}

/* ---- the cache ---- */

struct waiter {
	struct cache_wait wait;
	struct migrator *m;
	bool is_done;
};

static void on_cache(struct cache_wait *w)
{
	struct waiter *waiter = container_of(w, struct waiter, wait);
	struct migrator *m = waiter->m;

	pthread_mutex_lock(&m->lock);
	waiter->is_done = true;
	pthread_cond_broadcast(&m->wake);
	pthread_mutex_unlock(&m->lock);
}

bool migrator_lock_await_cache(struct migrator *m, int64_t revision)
{
	struct waiter w = {.wait = {.done = on_cache, .timeout_ms = CACHE_TIMEOUT_MS}, .m = m};

	if (revision) {
		cache_wait_revision(m->options.cache, &w.wait, revision);
	} else {
		cache_wait_fresh(m->options.cache, &w.wait);
	}
	pthread_mutex_lock(&m->lock);
	while (!w.is_done) {
		pthread_cond_wait(&m->wake, &m->lock);
	}
	pthread_mutex_unlock(&m->lock);
	if (!revision) {
		cache_wait_settled(m->options.cache);
	}
	return w.wait.result == STORAGE_OK;
}
