/* A table for each of a few parts of the hash, so that threads which take at once rarely meet.
 * The last reference is given back under the lock, or a taker could find what is about to be freed;
 * all others cost one atomic operation. */
#include "storage/cache/shared.h"

#include "base/base.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum {
	N_SHARDS = 16,
	SLOTS_FIRST = 64, /* of a shard; a power of two */
};

struct shared {
	struct shared *next; /* in its slot */
	uint64_t hash;
	_Atomic uint32_t refs;
	uint32_t n_content;
	uint32_t n_made;
	/* n_made bytes, aligned as this struct; then the content */
};

struct shard {
	pthread_mutex_t lock;
	struct shared **slots;
	size_t n_slots, n, n_bytes;
};

#define SHARD                                     \
	{                                         \
		.lock = PTHREAD_MUTEX_INITIALIZER \
	}
#define FOUR_SHARDS SHARD, SHARD, SHARD, SHARD

static struct shard shards[] = {FOUR_SHARDS, FOUR_SHARDS, FOUR_SHARDS, FOUR_SHARDS};
_Static_assert(ARRAY_SIZE(shards) == N_SHARDS, "");

static struct shared *shared_of(const void *made)
{
	return (struct shared *)(uintptr_t)made - 1;
}

static void *made_of(struct shared *s)
{
	return s + 1;
}

static char *content_of(struct shared *s)
{
	return (char *)(s + 1) + s->n_made;
}

static size_t size_of(const struct shared *s)
{
	return sizeof(*s) + s->n_made + s->n_content;
}

static struct shard *shard_of(uint64_t hash)
{
	return &shards[hash >> 60];
}
_Static_assert(N_SHARDS == 1 << 4, "what is left of a hash after >> 60");

static struct shared **slot_of(const struct shard *shard, uint64_t hash)
{
	return &shard->slots[hash & (shard->n_slots - 1)];
}

/* ---- a shard, locked ---- */

static void shard_resize(struct shard *shard, size_t n_slots)
{
	struct shard old = *shard;

	shard->slots = mem_array(n_slots, sizeof(struct shared *));
	shard->n_slots = n_slots;
	for (size_t i = 0; i < old.n_slots; i++) {
		for (struct shared *s = old.slots[i], *next; s; s = next) {
			struct shared **slot = slot_of(shard, s->hash);

			next = s->next;
			s->next = *slot;
			*slot = s;
		}
	}
	mem_free(old.slots);
}

static struct shared *shard_find(const struct shard *shard, uint64_t hash, struct str content)
{
	struct shared *s = shard->n_slots > 0 ? *slot_of(shard, hash) : NULL;

	while (s && (s->hash != hash || !str_eq((struct str){content_of(s), s->n_content}, content))) {
		s = s->next;
	}
	return s;
}

static void shard_add(struct shard *shard, struct shared *s)
{
	if (shard->n >= shard->n_slots) {
		shard_resize(shard, MAX(shard->n_slots * 2, (size_t)SLOTS_FIRST));
	}
	struct shared **slot = slot_of(shard, s->hash);

	s->next = *slot;
	*slot = s;
	shard->n++;
	shard->n_bytes += size_of(s);
}

/* Gives slots back, too: after many objects have gone. */
static void shard_remove(struct shard *shard, struct shared *s)
{
	struct shared **at = slot_of(shard, s->hash);

	while (*at != s) {
		at = &(*at)->next;
	}
	*at = s->next;
	shard->n--;
	shard->n_bytes -= size_of(s);
	if (shard->n == 0) {
		shard->slots = mem_free(shard->slots);
		shard->n_slots = 0;
	} else if (shard->n_slots > SLOTS_FIRST && shard->n < shard->n_slots / 8) {
		shard_resize(shard, shard->n_slots / 2);
	}
}

static struct shared *shared_new(uint64_t hash, struct str content, size_t n_made, shared_make_fn *make)
{
	assert(content.n <= UINT32_MAX && n_made <= UINT32_MAX && n_made % sizeof(void *) == 0);
	struct shared *s = mem_alloc(sizeof(*s) + n_made + content.n);

	s->hash = hash;
	atomic_init(&s->refs, 1);
	s->n_content = (uint32_t)content.n;
	s->n_made = (uint32_t)n_made;
	if (content.n > 0) {
		memcpy(content_of(s), content.p, content.n);
	}
	make(made_of(s), (struct str){content_of(s), content.n});
	return s;
}

/* ---- for all ---- */

const void *shared_get(struct str content, size_t n_made, shared_make_fn *make)
{
	uint64_t hash = str_hash(content);
	struct shard *shard = shard_of(hash);

	pthread_mutex_lock(&shard->lock);
	struct shared *s = shard_find(shard, hash, content);
	if (s) {
		assert(s->n_made == n_made);
		atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	} else {
		s = shared_new(hash, content, n_made, make);
		shard_add(shard, s);
	}
	pthread_mutex_unlock(&shard->lock);
	return made_of(s);
}

const void *shared_ref(const void *made)
{
	if (made) {
		atomic_fetch_add_explicit(&shared_of(made)->refs, 1, memory_order_relaxed);
	}
	return made;
}

/* False: it is the last reference. */
static bool give_back_another(struct shared *s)
{
	uint32_t refs = atomic_load_explicit(&s->refs, memory_order_relaxed);

	while (refs > 1) {
		if (atomic_compare_exchange_weak_explicit(
			    &s->refs, &refs, refs - 1, memory_order_release, memory_order_relaxed)) {
			return true;
		}
	}
	return false;
}

void shared_unref(const void *made)
{
	if (!made || give_back_another(shared_of(made))) {
		return;
	}
	struct shared *s = shared_of(made);
	struct shard *shard = shard_of(s->hash);

	pthread_mutex_lock(&shard->lock);
	/* Somebody may have taken it meanwhile. */
	bool is_last = atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) == 1;
	if (is_last) {
		shard_remove(shard, s);
	}
	pthread_mutex_unlock(&shard->lock);
	if (is_last) {
		mem_free(s);
	}
}

struct str shared_content(const void *made)
{
	struct shared *s = shared_of(made);

	return (struct str){content_of(s), s->n_content};
}

size_t shared_size(const void *made)
{
	return made ? size_of(shared_of(made)) : 0;
}

struct shared_stats shared_stats(void)
{
	struct shared_stats stats = {0};

	for (size_t i = 0; i < N_SHARDS; i++) {
		pthread_mutex_lock(&shards[i].lock);
		stats.n += shards[i].n;
		stats.n_bytes += shards[i].n_bytes + shards[i].n_slots * sizeof(struct shared *);
		pthread_mutex_unlock(&shards[i].lock);
	}
	return stats;
}
