/* Counts the bytes of unsent answers. Each HTTP thread puts its answers into a list of its own,
 * so threads do not contend for a lock while there is room. Progress is only noted: an answer
 * that has moved goes to its new place at the next search for the oldest. */
#include "base/thread.h"
#include "server/http/http_private.h"

#include <assert.h>

enum {
	GRACE_MS = 1000, /* without progress: then an answer gives way to one that is about to be made */
	HASTE_MS = 100,  /* the same for answers of a user who is far above the share */
	WALK_MAX = 4096, /* answers of others that are passed in a shard while looking for one of a connection or user */
};

static unsigned this_shard(void)
{
	static _Atomic unsigned n_threads;
	static _Thread_local unsigned number;
	if (!number) {
		number = 1 + atomic_fetch_add_explicit(&n_threads, 1, memory_order_relaxed);
	}
	return number % UNSENT_SHARDS;
}

void unsent_init(struct unsent *u, size_t limit, size_t ceiling)
{
	u->limit = limit;
	u->ceiling = MAX(ceiling, limit);
	for (size_t i = 0; i < UNSENT_SHARDS; i++) {
		pthread_mutex_init(&u->shards[i].lock, NULL);
		list_init(&u->shards[i].answers);
	}
}

void unsent_done(struct unsent *u)
{
	for (size_t i = 0; i < UNSENT_SHARDS; i++) {
		pthread_mutex_destroy(&u->shards[i].lock);
	}
}

static struct http_exchange *exchange_at(struct list *link)
{
	return container_of(list_entry(link, struct unsent_answer, link), struct http_exchange, unsent);
}

/* Giving way. */

/* Over HTTP/1.1 libmicrohttpd sends what is in memory, and does not say how far it is. */
static int64_t moved_ms(struct http_exchange *x)
{
	_Atomic int64_t *moved = x->connection ? &x->connection->wire.moved_ms : &x->unsent.moved_ms;
	return atomic_load_explicit(moved, memory_order_relaxed);
}

/* The answer that has moved longest ago; NULL: there is none. With the shard's lock. */
static struct http_exchange *oldest_of(struct unsent_shard *shard)
{
	while (!list_is_empty(&shard->answers)) {
		struct http_exchange *x = exchange_at(shard->answers.next);
		int64_t moved = moved_ms(x);
		if (moved <= x->unsent.since_ms) {
			return x;
		}
		x->unsent.since_ms = moved;
		list_remove(&x->unsent.link);
		list_append(&shard->answers, &x->unsent.link);
	}
	return NULL;
}

/* With the shard's lock, behind which the exchange is still there. */
static void evict(struct unsent *u, struct http_exchange *x)
{
	assert_locked(&x->unsent.shard->lock);
	assert(x->unsent.n > 0 && !atomic_load_explicit(&x->unsent.is_evicted, memory_order_relaxed));
	list_remove(&x->unsent.link);
	atomic_store_explicit(&x->unsent.is_evicted, true, memory_order_relaxed);
	atomic_fetch_add_explicit(&u->leaving, x->unsent.n, memory_order_relaxed);
	atomic_fetch_add_explicit(&x->kept->leaving_n, x->unsent.n, memory_order_relaxed);
	shares_count(&u->shares, x->request.payer.user, -(ptrdiff_t)x->unsent.n);
	http_count(&x->server->answers_evicted, 1);
	x->wire->evict(x);
}

/* False: none has been still since then. */
static bool evict_oldest(struct unsent *u, int64_t still_since_ms)
{
	struct unsent_shard *best = NULL;
	int64_t oldest = still_since_ms;
	for (size_t i = 0; i < UNSENT_SHARDS; i++) {
		struct unsent_shard *shard = &u->shards[i];
		pthread_mutex_lock(&shard->lock);
		const struct http_exchange *x = oldest_of(shard);
		if (x && x->unsent.since_ms <= oldest) {
			oldest = x->unsent.since_ms;
			best = shard;
		}
		pthread_mutex_unlock(&shard->lock);
	}
	if (!best) {
		return false;
	}
	pthread_mutex_lock(&best->lock);
	struct http_exchange *x = oldest_of(best);
	bool is_still = x && x->unsent.since_ms <= still_since_ms;
	if (is_still) {
		evict(u, x);
	}
	pthread_mutex_unlock(&best->lock);
	return is_still;
}

/* Evicts one answer in the shard: of the connection, or where there is none of the user. */
static bool evict_in(
	struct unsent *u, struct unsent_shard *shard, const struct keeper_connection *c, uint64_t user, int64_t still_since_ms)
{
	unsigned n_passed = 0;
	bool is_found = false;
	pthread_mutex_lock(&shard->lock);
	oldest_of(shard);
	list_for_each_safe(it, &shard->answers) {
		struct http_exchange *x = exchange_at(it);
		if (is_found || ++n_passed > WALK_MAX || x->unsent.since_ms > still_since_ms) {
			break;
		}
		bool is_meant = c ? x->kept == c : x->request.payer.user == user && !x->request.payer.is_privileged;
		if (is_meant && moved_ms(x) <= still_since_ms) {
			evict(u, x);
			is_found = true;
		}
	}
	pthread_mutex_unlock(&shard->lock);
	return is_found;
}

/* All answers of a connection belong to this thread, so they are in its shard. */
static bool evict_of_connection(struct unsent *u, const struct keeper_connection *c, int64_t still_since_ms)
{
	return evict_in(u, &u->shards[this_shard()], c, 0, still_since_ms);
}

/* Looks in this thread's shard first, where others wait least for the lock. */
static bool evict_of_user(struct unsent *u, uint64_t user, int64_t still_since_ms)
{
	for (size_t i = 0; i < UNSENT_SHARDS; i++) {
		struct unsent_shard *shard = &u->shards[(this_shard() + i) % UNSENT_SHARDS];
		if (evict_in(u, shard, NULL, user, still_since_ms)) {
			return true;
		}
	}
	return false;
}

/* Counting. */

static size_t used(const struct unsent *u)
{
	return atomic_load_explicit(&u->used, memory_order_relaxed);
}

/* Bytes without those that have been asked to give way: they will be gone soon. */
static size_t staying(const struct unsent *u)
{
	size_t n = used(u), leaving = atomic_load_explicit(&u->leaving, memory_order_relaxed);
	return n - MIN(n, leaving);
}

static size_t staying_on(const struct keeper_connection *c)
{
	size_t leaving = atomic_load_explicit(&c->leaving_n, memory_order_relaxed);
	return c->unsent_n - MIN(c->unsent_n, leaving);
}

void unsent_count(struct unsent *u, uint64_t user, ptrdiff_t n)
{
	atomic_fetch_add_explicit(&u->used, (size_t)n, memory_order_relaxed);
	shares_count(&u->shares, user, n);
}

enum above { BY_ANYTHING, BY_HALF };

/* Nobody privileged is. */
static bool is_above_share(const struct unsent *u, const struct payer *payer, enum above above)
{
	size_t mine = shares_held(&u->shares, payer->user);
	size_t share = share_of(share_limit(u->limit, false), staying(u), mine);

	return !payer->is_privileged && mine > share + (above == BY_HALF ? share / 2 : 0);
}

bool unsent_is_full(const struct unsent *u, const struct payer *payer)
{
	return staying(u) > share_limit(u->limit, false) || is_above_share(u, payer, BY_ANYTHING);
}

bool unsent_has_room_for_writes(const struct unsent *u, const struct payer *payer)
{
	bool has_room = staying(u) <= u->limit + share_limit(u->ceiling - u->limit, false);

	return payer->is_privileged || (has_room && !is_above_share(u, payer, BY_ANYTHING));
}

static void set(struct http_exchange *x, size_t n)
{
	struct unsent *u = &x->server->unsent;
	ptrdiff_t more = (ptrdiff_t)n - (ptrdiff_t)x->unsent.n;
	if (more == 0) {
		return;
	}
	x->unsent.n = n;
	x->kept->unsent_n += (size_t)more;
	atomic_fetch_add_explicit(&u->used, (size_t)more, memory_order_relaxed);
	if (!atomic_load_explicit(&x->unsent.is_evicted, memory_order_relaxed)) {
		shares_count(&u->shares, x->request.payer.user, more);
	}
}

static bool fits_user(const struct unsent *u, const struct payer *payer, size_t n)
{
	return payer->is_privileged ||
		share_fits(share_limit(u->limit, false), staying(u), shares_held(&u->shares, payer->user), n);
}

bool unsent_grant(struct http_exchange *x, size_t n)
{
	struct unsent *u = &x->server->unsent;
	const struct payer *payer = &x->request.payer;
	size_t limit = share_limit(u->limit, payer->is_privileged), share = u->limit / 2;
	int64_t still_since_ms = clock_mono_ms() - GRACE_MS;
	set(x, 0);
	/* An answer larger than a connection's share is granted to one at a time. */
	bool fits_share = n <= share || staying_on(x->kept) <= share / 4;
	size_t wanted = n <= share ? n : 0;
	while (staying_on(x->kept) + wanted > share && evict_of_connection(u, x->kept, still_since_ms)) {
	}
	while (!fits_user(u, payer, n) && evict_of_user(u, payer->user, still_since_ms)) {
	}
	if (!fits_user(u, payer, n)) {
		return false;
	}
	while (staying(u) + n > limit && evict_oldest(u, still_since_ms)) {
	}
	fits_share &= staying_on(x->kept) + wanted <= share;
	set(x, n);
	bool is_alone = staying(u) - n <= u->limit / 8;
	bool has_room = staying(u) <= limit && used(u) <= u->limit + u->limit / 8;
	if (fits_share && (is_alone || has_room)) {
		return true;
	}
	set(x, 0);
	return false;
}

void unsent_add(struct http_exchange *x, size_t n)
{
	assert(!x->unsent.shard);
	struct unsent *u = &x->server->unsent;
	struct unsent_shard *shard = &u->shards[this_shard()];
	int64_t now_ms = clock_mono_ms();
	set(x, n);
	while (is_above_share(u, &x->request.payer, BY_ANYTHING) &&
		evict_of_user(u, x->request.payer.user, now_ms - GRACE_MS)) {
	}
	while (is_above_share(u, &x->request.payer, BY_HALF) && evict_of_user(u, x->request.payer.user, now_ms - HASTE_MS)) {
	}
	while (staying(u) > u->ceiling && evict_oldest(u, now_ms)) {
	}
	pthread_mutex_lock(&shard->lock);
	x->unsent.shard = shard;
	x->unsent.since_ms = now_ms;
	list_append(&shard->answers, &x->unsent.link);
	pthread_mutex_unlock(&shard->lock);
}

void unsent_remove(struct http_exchange *x)
{
	struct unsent *u = &x->server->unsent;
	struct unsent_shard *shard = x->unsent.shard;
	size_t n = x->unsent.n;
	if (shard) {
		pthread_mutex_lock(&shard->lock);
		list_remove(&x->unsent.link);
		x->unsent.shard = NULL;
		pthread_mutex_unlock(&shard->lock);
	}
	if (n == 0) {
		return;
	}
	if (atomic_load_explicit(&x->unsent.is_evicted, memory_order_relaxed)) {
		atomic_fetch_sub_explicit(&u->leaving, n, memory_order_relaxed);
		atomic_fetch_sub_explicit(&x->kept->leaving_n, n, memory_order_relaxed);
	}
	set(x, 0);
	if (x->server->options.handler.on_freed) {
		x->server->options.handler.on_freed(x->server->options.handler.ctx, n);
	}
}
