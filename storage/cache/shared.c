/* Texts that are kept once for all their users, such as managedFields, and the structs made from
 * them.
 *
 * There is a table for each of a few parts of the hash, so threads rarely contend. The last
 * reference is dropped under the lock, or a lookup could return a text that is about to be
 * freed. All other operations on references cost one atomic operation. */
#include "storage/cache/shared.h"

#include "base/hash_table.h"
#include "base/thread.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { N_SHARDS = 16 };

struct shared {
	struct hash_node node;
	_Atomic uint32_t refs;
	uint32_t n_content;
	uint32_t n_made;
	/* n_made bytes, aligned as this struct; then the content */
};

struct shard {
	pthread_mutex_t lock;
	struct hash_table table;
	size_t n_bytes;
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

/* ---- a shard, locked ---- */

static struct shared *shard_find(const struct shard *shard, uint64_t hash, struct str content)
{
	for (struct hash_node *n = hash_table_first(&shard->table, hash); n; n = hash_node_next(n)) {
		struct shared *s = container_of(n, struct shared, node);
		if (str_eq((struct str){content_of(s), s->n_content}, content)) {
			return s;
		}
	}
	return NULL;
}

static void shard_add(struct shard *shard, struct shared *s, uint64_t hash)
{
	assert_locked(&shard->lock);
	hash_table_add(&shard->table, &s->node, hash);
	shard->n_bytes += size_of(s);
}

/* Removes a text, and frees slots once many texts have gone. */
static void shard_remove(struct shard *shard, struct shared *s)
{
	assert_locked(&shard->lock);
	assert(shard->n_bytes >= size_of(s));
	hash_table_remove(&shard->table, &s->node);
	hash_table_trim(&shard->table);
	shard->n_bytes -= size_of(s);
}

static struct shared *shared_new(struct str content, size_t n_made, shared_make_fn *make)
{
	assert(content.n <= UINT32_MAX && n_made <= UINT32_MAX && n_made % sizeof(void *) == 0);
	struct shared *s = mem_alloc(sizeof(*s) + n_made + content.n);

	atomic_init(&s->refs, 1);
	s->n_content = (uint32_t)content.n;
	s->n_made = (uint32_t)n_made;
	if (content.n > 0) {
		memcpy(content_of(s), content.p, content.n);
	}
	make(made_of(s), (struct str){content_of(s), content.n});
	return s;
}

/* ---- references ---- */

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
		s = shared_new(content, n_made, make);
		shard_add(shard, s, hash);
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

/* Drops a reference. Returns false, and drops nothing, when it is the last one. */
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
	struct shard *shard = shard_of(s->node.hash);

	pthread_mutex_lock(&shard->lock);
	/* Another thread may have taken a reference meanwhile. */
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
		stats.n += shards[i].table.n;
		stats.n_bytes += shards[i].n_bytes + shards[i].table.n_slots * sizeof(struct hash_node *);
		pthread_mutex_unlock(&shards[i].lock);
	}
	return stats;
}

/* ---- managedFields ----
 *
 * In the shared content a NUL stands for each time. JSON has none, so no other content can be
 * equal. */

#define TIME_OPENING STR("\"time\":\"")

static void fields_make(void *made, struct str content)
{
	struct fields *f = made;

	*f = (struct fields){0};
	for (size_t i = 0; i < content.n; i++) {
		if (content.p[i] == '\0') {
			f->at[f->n_times++] = (uint32_t)i;
		}
	}
}

/* Returns where the next time begins: behind p, with a quote after it. NULL: there is none. */
static const char *next_time(const char *p, const char *end)
{
	while ((p = memmem(p, (size_t)(end - p), TIME_OPENING.p, TIME_OPENING.n)) != NULL) {
		p += TIME_OPENING.n;
		if (end - p > FIELDS_TIME_SIZE && p[FIELDS_TIME_SIZE] == '"') {
			return p;
		}
	}
	return NULL;
}

static char *put(char *to, const char *p, size_t n)
{
	memcpy(to, p, n);
	return to + n;
}

const struct fields *fields_share(struct str text, struct arena *a, struct str *ret_times)
{
	const char *p = text.p, *end = text.p + text.n, *time;

	if (text.n == 0 || memchr(text.p, '\0', text.n)) {
		return NULL;
	}
	char *content = arena_text(a, text.n), *to = content;
	char *times = arena_text(a, (size_t)FIELDS_TIMES_MAX * FIELDS_TIME_SIZE), *times_end = times;
	for (size_t n = 0; n < FIELDS_TIMES_MAX && (time = next_time(p, end)); n++) {
		to = put(to, p, (size_t)(time - p));
		*to++ = '\0';
		times_end = put(times_end, time, FIELDS_TIME_SIZE);
		p = time + FIELDS_TIME_SIZE;
	}
	to = put(to, p, (size_t)(end - p));
	*ret_times = (struct str){times, (size_t)(times_end - times)};
	return shared_get((struct str){content, (size_t)(to - content)}, sizeof(struct fields), fields_make);
}

struct str fields_part(const struct fields *f, size_t i)
{
	struct str content = shared_content(f);
	size_t from = i > 0 ? f->at[i - 1] + 1U : 0, to = i < f->n_times ? f->at[i] : content.n;

	return (struct str){content.p + from, to - from};
}

size_t fields_size(const struct fields *f)
{
	return f ? shared_content(f).n - f->n_times : 0;
}
