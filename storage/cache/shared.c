/* Parts that the objects and snapshots of the cache share, counted and without copies: trees of objects
 * (ptree.h), and texts that are kept once for all their users, such as managedFields (shared.h).
 *
 * Trees. A change first makes private copies of the nodes on its way, from the root down; below
 * those, no one else sees what it changes. So a reader needs a share of the root and no lock.
 * Counts stand with the parent: a rank costs one look at each level, and shared nodes are never
 * written.
 *
 * Texts. There is a table for each of a few parts of the hash, so threads rarely contend. The last
 * reference is dropped under the lock, or a lookup could return a text that is about to be freed.
 * All other operations on references cost one atomic operation. */
#include "storage/cache/shared.h"

#include "base/hash_table.h"
#include "base/thread.h"
#include "storage/cache/ptree.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* ---- trees ---- */

/* Copying an inner node touches the count of each child, copying a leaf that of each item: with wide nodes a change costs cache
 * misses, with narrow ones memory and depth. Measured at 100,000 entries, these are within 10 % of the best for both. */
enum {
	LEAF_MAX = 24,  /* entries of a leaf; a full leaf is split */
	INNER_MAX = 16, /* children of another node; a full node is split */
};

struct child {
	struct ptree_entry min; /* first entry below */
	struct ptree_node *node;
	size_t count; /* entries below */
};

struct ptree_node {
	_Atomic uint32_t refs;
	uint16_t n;
	uint16_t height; /* 0: leaf */
	union {
		struct ptree_entry entries[LEAF_MAX];
		struct child children[INNER_MAX];
	};
};

static size_t entry_size(unsigned height)
{
	return height > 0 ? sizeof(struct child) : sizeof(struct ptree_entry);
}

static size_t node_size(unsigned height)
{
	return offsetof(struct ptree_node, entries) + entry_size(height) * (height > 0 ? INNER_MAX : LEAF_MAX);
}

static struct ptree_node *node_new(unsigned height)
{
	assert(height <= UINT16_MAX);
	struct ptree_node *n = mem_alloc(node_size(height));

	atomic_init(&n->refs, 1);
	n->n = 0;
	n->height = (uint16_t)height;
	return n;
}

static void node_ref(struct ptree_node *n)
{
	atomic_fetch_add_explicit(&n->refs, 1, memory_order_relaxed);
}

static void entries_ref(const struct ptree_ops *ops, const struct ptree_entry *e, size_t n)
{
	for (size_t i = 0; ops->ref && i < n; i++) {
		ops->ref(&e[i]);
	}
}

static void entries_unref(const struct ptree_ops *ops, const struct ptree_entry *e, size_t n)
{
	for (size_t i = 0; ops->unref && i < n; i++) {
		ops->unref(&e[i]);
	}
}

static void node_unref(const struct ptree_ops *ops, struct ptree_node *n)
{
	if (atomic_fetch_sub_explicit(&n->refs, 1, memory_order_acq_rel) != 1) {
		return;
	}
	if (n->height == 0) {
		entries_unref(ops, n->entries, n->n);
	}
	for (size_t i = 0; n->height > 0 && i < n->n; i++) {
		node_unref(ops, n->children[i].node);
	}
	mem_free(n);
}

static size_t node_count(const struct ptree_node *n)
{
	size_t count = 0;

	if (n->height == 0) {
		return n->n;
	}
	for (size_t i = 0; i < n->n; i++) {
		count += n->children[i].count;
	}
	return count;
}

static struct child child_of(struct ptree_node *n)
{
	return (struct child){
		.min = n->height > 0 ? n->children[0].min : n->entries[0],
		.node = n,
		.count = node_count(n),
	};
}

static void node_hold_contents(const struct ptree_ops *ops, struct ptree_node *n)
{
	if (n->height == 0) {
		entries_ref(ops, n->entries, n->n);
	}
	for (size_t i = 0; n->height > 0 && i < n->n; i++) {
		node_ref(n->children[i].node);
	}
}

/* Makes *slot a private node; its parent is private already. */
static struct ptree_node *node_own(const struct ptree_ops *ops, struct ptree_node **slot)
{
	struct ptree_node *old = *slot, *n;

	if (atomic_load_explicit(&old->refs, memory_order_acquire) == 1) {
		return old;
	}
	n = node_new(old->height);
	n->n = old->n;
	memcpy(n->entries, old->entries, old->n * entry_size(old->height));
	node_hold_contents(ops, n);
	node_unref(ops, old);
	*slot = n;
	return n;
}

/* Returns the position of the first entry that does not come before key. *ret_is_equal: it
 * equals key. */
static size_t leaf_find(const struct ptree_ops *ops, const struct ptree_node *n, const void *key, bool *ret_is_equal)
{
	size_t low = 0, high = n->n;

	*ret_is_equal = false;
	while (low < high) {
		size_t mid = (low + high) / 2;
		int c = ops->cmp(key, &n->entries[mid]);

		if (c == 0) {
			*ret_is_equal = true;
			return mid;
		}
		if (c < 0) {
			high = mid;
		} else {
			low = mid + 1;
		}
	}
	return low;
}

/* Returns the child that has key, or would have it. */
static size_t inner_find(const struct ptree_ops *ops, const struct ptree_node *n, const void *key)
{
	size_t low = 1, high = n->n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (ops->cmp(key, &n->children[mid].min) < 0) {
			high = mid;
		} else {
			low = mid + 1;
		}
	}
	return low - 1;
}

static void children_insert(struct ptree_node *n, size_t at, struct child c)
{
	assert(at <= n->n && n->n < INNER_MAX && n->height > 0);
	memmove(&n->children[at + 1], &n->children[at], sizeof(c) * (n->n - at));
	n->children[at] = c;
	n->n++;
}

static void entries_insert(struct ptree_node *n, size_t at, struct ptree_entry e)
{
	assert(at <= n->n && n->n < LEAF_MAX && n->height == 0);
	memmove(&n->entries[at + 1], &n->entries[at], sizeof(e) * (n->n - at));
	n->entries[at] = e;
	n->n++;
}

/* Returns where a full node is cut when an entry is inserted at `at`. At its end nothing moves:
 * filling in ascending order, as a load does, leaves full nodes behind. */
static size_t split_point(const struct ptree_node *n, size_t at)
{
	return at == n->n ? at : n->n / 2U;
}

static struct ptree_node *leaf_insert(struct ptree_node *n, size_t at, struct ptree_entry e)
{
	assert(at <= n->n);
	struct ptree_node *right = NULL;
	size_t cut = split_point(n, at);

	if (n->n == LEAF_MAX) {
		right = node_new(0);
		right->n = (uint16_t)(n->n - cut);
		memcpy(right->entries, &n->entries[cut], sizeof(e) * right->n);
		n->n = (uint16_t)cut;
	}
	if (right && at >= cut) {
		entries_insert(right, at - cut, e);
	} else {
		entries_insert(n, at, e);
	}
	return right;
}

static struct ptree_node *inner_insert(struct ptree_node *n, size_t at, struct ptree_node *node)
{
	assert(at <= n->n && node->height + 1 == n->height);
	struct ptree_node *right = NULL;
	size_t cut = split_point(n, at);

	if (n->n == INNER_MAX) {
		right = node_new(n->height);
		right->n = (uint16_t)(n->n - cut);
		memcpy(right->children, &n->children[cut], sizeof(n->children[0]) * right->n);
		n->n = (uint16_t)cut;
	}
	if (right && at >= cut) {
		children_insert(right, at - cut, child_of(node));
	} else {
		children_insert(n, at, child_of(node));
	}
	return right;
}

struct put {
	const struct ptree_ops *ops;
	const void *key;
	struct ptree_entry entry;
	bool is_new;
};

/* Puts an entry. Returns the new node to the right of *slot if *slot had to be split, else NULL. */
static struct ptree_node *leaf_put(struct put *p, struct ptree_node *n)
{
	bool is_equal;
	size_t at = leaf_find(p->ops, n, p->key, &is_equal);

	entries_ref(p->ops, &p->entry, 1);
	p->is_new = !is_equal;
	if (!is_equal) {
		return leaf_insert(n, at, p->entry);
	}
	entries_unref(p->ops, &n->entries[at], 1);
	n->entries[at] = p->entry;
	return NULL;
}

static struct ptree_node *node_put(struct put *p, struct ptree_node **slot)
{
	struct ptree_node *n = node_own(p->ops, slot), *right;
	size_t at;

	if (n->height == 0) {
		return leaf_put(p, n);
	}
	at = inner_find(p->ops, n, p->key);
	right = node_put(p, &n->children[at].node);
	n->children[at] = child_of(n->children[at].node);
	return right ? inner_insert(n, at + 1, right) : NULL;
}

bool ptree_put(struct ptree *t, const void *key, struct ptree_entry e)
{
	struct put p = {.ops = t->ops, .key = key, .entry = e};
	struct ptree_node *right, *root;

	if (!t->root) {
		t->root = node_new(0);
	}
	right = node_put(&p, &t->root);
	if (right) {
		root = node_new(t->root->height + 1U);
		children_insert(root, 0, child_of(t->root));
		children_insert(root, 1, child_of(right));
		t->root = root;
	}
	return p.is_new;
}

static void children_remove(struct ptree_node *n, size_t at)
{
	assert(at < n->n);
	n->n--;
	memmove(&n->children[at], &n->children[at + 1], sizeof(n->children[0]) * (n->n - at));
}

/* Appends the entries of `from` to n, which is private. */
static void node_append(const struct ptree_ops *ops, struct ptree_node *n, const struct ptree_node *from)
{
	assert(n->height == from->height && n->n + from->n <= (n->height > 0 ? INNER_MAX : LEAF_MAX));
	if (n->height == 0) {
		entries_ref(ops, from->entries, from->n);
		memcpy(&n->entries[n->n], from->entries, sizeof(n->entries[0]) * from->n);
	}
	for (size_t i = 0; n->height > 0 && i < from->n; i++) {
		node_ref(from->children[i].node);
		n->children[n->n + i] = from->children[i];
	}
	n->n = (uint16_t)(n->n + from->n);
}

/* Joins child `at` with the next one when both fit into three quarters of a node. The gap to the
 * splitting point keeps a tree that changes at one place from splitting and joining forever. */
static bool children_join(const struct ptree_ops *ops, struct ptree_node *n, size_t at)
{
	struct ptree_node *left, *right;
	unsigned max = n->height == 1 ? LEAF_MAX : INNER_MAX;

	if (at + 1U >= n->n || 4U * (n->children[at].node->n + n->children[at + 1].node->n) > 3U * max) {
		return false;
	}
	left = node_own(ops, &n->children[at].node);
	right = n->children[at + 1].node;
	node_append(ops, left, right);
	node_unref(ops, right);
	n->children[at] = child_of(left);
	children_remove(n, at + 1);
	return true;
}

static void leaf_remove(const struct ptree_ops *ops, struct ptree_node *n, const void *key)
{
	bool is_equal;
	size_t at = leaf_find(ops, n, key, &is_equal);

	assert(is_equal);
	entries_unref(ops, &n->entries[at], 1);
	n->n--;
	memmove(&n->entries[at], &n->entries[at + 1], sizeof(n->entries[0]) * (n->n - at));
}

/* Removes key, which must be there. May leave *slot empty. */
static void node_remove(const struct ptree_ops *ops, struct ptree_node **slot, const void *key)
{
	struct ptree_node *n = node_own(ops, slot);
	size_t at;

	if (n->height == 0) {
		leaf_remove(ops, n, key);
		return;
	}
	at = inner_find(ops, n, key);
	node_remove(ops, &n->children[at].node, key);
	if (n->children[at].node->n == 0) {
		node_unref(ops, n->children[at].node);
		children_remove(n, at);
		return;
	}
	n->children[at] = child_of(n->children[at].node);
	if (!children_join(ops, n, at) && at > 0) {
		children_join(ops, n, at - 1);
	}
}

/* Replaces a root that is empty, or has only one child, by what is below it. */
static void root_shrink(struct ptree *t)
{
	struct ptree_node *root = t->root;

	while (root && (root->n == 0 || (root->height > 0 && root->n == 1))) {
		t->root = root->n == 0 ? NULL : root->children[0].node;
		mem_free(root);
		root = t->root;
		if (root && atomic_load_explicit(&root->refs, memory_order_acquire) != 1) {
			return;
		}
	}
}

bool ptree_remove(struct ptree *t, const void *key)
{
	/* Looked up first, so that removing a missing key does not copy the whole path. */
	if (!ptree_get(t, key)) {
		return false;
	}
	node_remove(t->ops, &t->root, key);
	root_shrink(t);
	return true;
}

const struct ptree_entry *ptree_get(const struct ptree *t, const void *key)
{
	const struct ptree_node *n = t->root;
	bool is_equal;
	size_t at;

	while (n && n->height > 0) {
		n = n->children[inner_find(t->ops, n, key)].node;
	}
	if (!n) {
		return NULL;
	}
	at = leaf_find(t->ops, n, key, &is_equal);
	return is_equal ? &n->entries[at] : NULL;
}

size_t ptree_count(const struct ptree *t)
{
	return t->root ? node_count(t->root) : 0;
}

size_t ptree_rank(const struct ptree *t, const void *key)
{
	const struct ptree_node *n = t->root;
	size_t rank = 0, at;
	bool is_equal;

	while (n && n->height > 0) {
		at = inner_find(t->ops, n, key);
		for (size_t i = 0; i < at; i++) {
			rank += n->children[i].count;
		}
		n = n->children[at].node;
	}
	return n ? rank + leaf_find(t->ops, n, key, &is_equal) : 0;
}

static size_t node_bytes(const struct ptree_node *n)
{
	size_t bytes = node_size(n->height);

	for (size_t i = 0; n->height > 0 && i < n->n; i++) {
		bytes += node_bytes(n->children[i].node);
	}
	return bytes;
}

size_t ptree_bytes(const struct ptree *t)
{
	return t->root ? node_bytes(t->root) : 0;
}

static struct ptree_node *leaf_build(const struct ptree_ops *ops, const struct ptree_entry *v, size_t n)
{
	assert(n > 0 && n <= LEAF_MAX);
	struct ptree_node *leaf = node_new(0);

	leaf->n = (uint16_t)n;
	memcpy(leaf->entries, v, n * sizeof(*v));
	entries_ref(ops, v, n);
	return leaf;
}

/* Builds the nodes above one level, in place. Returns how many there are then. */
static size_t level_build(struct child *nodes, size_t n, unsigned height)
{
	size_t n_above = 0;

	for (size_t i = 0; i < n; i += INNER_MAX) {
		struct ptree_node *inner = node_new(height);

		inner->n = (uint16_t)MIN(n - i, (size_t)INNER_MAX);
		memcpy(inner->children, &nodes[i], inner->n * sizeof(*nodes));
		nodes[n_above++] = child_of(inner);
	}
	return n_above;
}

void ptree_build(struct ptree *t, const struct ptree_entry *entries, size_t n)
{
	_cleanup_(mem_freep) struct child *nodes = mem_array(n / LEAF_MAX + 1, sizeof(*nodes));
	size_t n_nodes = 0;

	assert(!t->root);
	for (size_t i = 0; i < n; i += LEAF_MAX) {
		nodes[n_nodes++] = child_of(leaf_build(t->ops, &entries[i], MIN(n - i, (size_t)LEAF_MAX)));
	}
	for (unsigned height = 1; n_nodes > 1; height++) {
		n_nodes = level_build(nodes, n_nodes, height);
	}
	t->root = n_nodes ? nodes[0].node : NULL;
}

void ptree_init(struct ptree *t, const struct ptree_ops *ops)
{
	assert(ops);
	*t = (struct ptree){.ops = ops};
}

void ptree_done(struct ptree *t)
{
	if (t->root) {
		node_unref(t->ops, t->root);
		t->root = NULL;
	}
}

struct ptree ptree_share(const struct ptree *t)
{
	if (t->root) {
		node_ref(t->root);
	}
	return *t;
}

void ptree_iter_init(struct ptree_iter *it, const struct ptree *t, size_t rank)
{
	*it = (struct ptree_iter){.root = t->root, .rank = rank};
}

static bool iter_find_leaf(struct ptree_iter *it)
{
	const struct ptree_node *n = it->root;
	size_t rank = it->rank, i;

	while (n && n->height > 0) {
		for (i = 0; i < n->n && rank >= n->children[i].count; i++) {
			rank -= n->children[i].count;
		}
		n = i < n->n ? n->children[i].node : NULL;
	}
	if (!n || rank >= n->n) {
		return false;
	}
	it->leaf = n;
	it->at = rank;
	it->left = n->n - rank;
	return true;
}

const struct ptree_entry *ptree_iter_next(struct ptree_iter *it)
{
	if (it->left == 0 && !iter_find_leaf(it)) {
		return NULL;
	}
	it->left--;
	it->rank++;
	return &it->leaf->entries[it->at++];
}

/* ---- texts ---- */

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
