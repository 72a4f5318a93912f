/* Sorted arrays and linked versions: enough for a test server, and plain enough to check others
 * against. A deleted key stays with its past until compaction, since older revisions may still
 * be read. */
#include "storage/memory/mvcc.h"

#include <assert.h>
#include <stdlib.h>

enum { CAP_FIRST = 64 };

struct mvcc_key {
	struct str key; /* of its newest change */
	struct mvcc_change *newest;
};

void mvcc_init(struct mvcc *m)
{
	*m = (struct mvcc){.revision = 1}; /* as etcd's */
}

/* Returns the bytes of a change, with malloc(3)'s overhead: otherwise small values would cost
 * more than they count. */
static size_t size_of_change(size_t key_size, size_t value_size)
{
	enum { MALLOC_HEAD = 16 };
	return sizeof(struct mvcc_change) + MALLOC_HEAD + key_size + value_size;
}

int64_t mvcc_size(const struct mvcc *m)
{
	return m->size + (int64_t)(m->cap_keys * sizeof(*m->keys) + m->cap_log * sizeof(struct mvcc_change *));
}

static size_t change_size(const struct mvcc_change *change)
{
	return size_of_change(change->event.kv.key.n, change->event.kv.value.n);
}

int64_t mvcc_cost_of_put(struct str key, struct str value)
{
	return (int64_t)(size_of_change(key.n, value.n) + sizeof(struct mvcc_key) + sizeof(struct mvcc_change *));
}

static void changes_free(struct mvcc *m, struct mvcc_change *change)
{
	while (change) {
		struct mvcc_change *older = change->older;
		assert(m->size >= (int64_t)change_size(change));
		m->size -= (int64_t)change_size(change);
		mem_free(change);
		change = older;
	}
}

void mvcc_done(struct mvcc *m)
{
	for (size_t i = 0; i < m->n_keys; i++) {
		changes_free(m, m->keys[i].newest);
	}
	m->keys = mem_free(m->keys);
	m->log = mem_free(m->log);
	assert(m->size == 0);
}

static bool end_is_open(struct str range_end)
{
	return range_end.n == 1 && range_end.p[0] == '\0';
}

bool mvcc_is_in_range(struct str key, struct str range_key, struct str range_end)
{
	if (range_end.n == 0) {
		return str_eq(key, range_key);
	}
	return str_cmp(key, range_key) >= 0 && (end_is_open(range_end) || str_cmp(key, range_end) < 0);
}

/* Returns the first key that is not less. */
static size_t keys_find(const struct mvcc *m, struct str key)
{
	size_t low = 0, high = m->n_keys;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (str_cmp(m->keys[middle].key, key) < 0) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

static const struct mvcc_change *change_at(const struct mvcc_change *newest, int64_t revision)
{
	while (newest && newest->event.kv.mod_revision > revision) {
		newest = newest->older;
	}
	return newest;
}

static const struct storage_kv *next_kv(
	const struct mvcc *m, struct str key, struct str range_end, int64_t revision, size_t *at)
{
	if (*at == 0) {
		*at = keys_find(m, key) + 1; /* one ahead: 0 stands for the start */
	}
	for (; *at <= m->n_keys && mvcc_is_in_range(m->keys[*at - 1].key, key, range_end); ++*at) {
		const struct mvcc_change *change = change_at(m->keys[*at - 1].newest, revision);
		if (change && change->event.type == EVENT_PUT) {
			++*at;
			return &change->event.kv;
		}
	}
	return NULL;
}

const struct storage_kv *mvcc_next(const struct mvcc *m, struct str key, struct str range_end, size_t *at)
{
	return next_kv(m, key, range_end, INT64_MAX, at);
}

static struct storage_kv kv_copy(const struct storage_kv *kv, struct arena *a, bool keys_only)
{
	struct storage_kv copy = *kv;
	copy.key = arena_dup(a, kv->key);
	copy.value = keys_only ? (struct str){NULL, 0} : arena_dup(a, kv->value);
	return copy;
}

static int64_t count_range(const struct mvcc *m, const struct mvcc_query *query, int64_t revision)
{
	int64_t count = 0;
	size_t at = 0;
	while (next_kv(m, query->key, query->range_end, revision, &at)) {
		count++;
	}
	return count;
}

static int compare_newest_first(const void *p, const void *q)
{
	const struct storage_kv *a = p, *b = q;
	return (a->mod_revision < b->mod_revision) - (a->mod_revision > b->mod_revision);
}

enum storage_result mvcc_range(const struct mvcc *m, const struct mvcc_query *query, struct arena *a, struct mvcc_answer *ret)
{
	if (query->at_revision > m->revision) {
		return STORAGE_FUTURE;
	}
	if (query->at_revision > 0 && query->at_revision < m->compacted) {
		return STORAGE_COMPACTED;
	}
	int64_t revision = query->at_revision > 0 ? query->at_revision : INT64_MAX;
	int64_t count = count_range(m, query, revision);
	bool is_cut = query->limit > 0 && query->changed_after == 0;
	size_t n = (size_t)(query->count_only ? 0 : is_cut ? MIN(query->limit, count) : count), n_found = 0, at = 0;
	struct storage_kv *kvs = arena_array(a, struct storage_kv, n);
	for (size_t i = 0; i < n; i++) {
		const struct storage_kv *kv = next_kv(m, query->key, query->range_end, revision, &at);
		if (kv->mod_revision > query->changed_after) {
			kvs[n_found++] = *kv;
		}
	}
	if (query->changed_after > 0) {
		qsort(kvs, n_found, sizeof(*kvs), compare_newest_first);
	}
	size_t n_kvs = query->limit > 0 ? MIN(n_found, (size_t)query->limit) : n_found;
	for (size_t i = 0; i < n_kvs; i++) {
		kvs[i] = kv_copy(&kvs[i], a, query->keys_only);
	}
	*ret = (struct mvcc_answer){
		.kvs = kvs, .n_kvs = n_kvs, .has_more = n_kvs < n_found || (is_cut && (int64_t)n < count), .count = count};
	return STORAGE_OK;
}

/* ---- changes ---- */

static struct mvcc_change *change_new(struct str key, struct str value)
{
	struct mvcc_change *change = mem_zalloc(sizeof(*change) + key.n + value.n);
	char *text = (char *)(change + 1);
	if (key.n) {
		memcpy(text, key.p, key.n);
	}
	if (value.n) {
		memcpy(text + key.n, value.p, value.n);
	}
	change->event.kv.key = (struct str){text, key.n};
	change->event.kv.value = (struct str){text + key.n, value.n};
	return change;
}

static void log_append(struct mvcc *m, struct mvcc_change *change)
{
	if (m->n_log == m->cap_log) {
		m->cap_log = MAX(m->cap_log * 2, (size_t)CAP_FIRST);
		m->log = mem_realloc_array(m->log, m->cap_log, sizeof(*m->log));
	}
	assert(m->n_log == 0 || m->log[m->n_log - 1]->event.kv.mod_revision <= change->event.kv.mod_revision);
	m->log[m->n_log++] = change;
}

static void key_add_change(struct mvcc *m, struct mvcc_key *key, struct mvcc_change *change)
{
	change->event.kv.mod_revision = m->revision + 1;
	assert(!key->newest || key->newest->event.kv.mod_revision <= m->revision + 1);
	change->older = key->newest;
	key->newest = change;
	key->key = change->event.kv.key;
	m->size += (int64_t)change_size(change);
	log_append(m, change);
}

static struct mvcc_key *key_insert(struct mvcc *m, size_t at, struct str key)
{
	assert(at <= m->n_keys);
	if (m->n_keys == m->cap_keys) {
		m->cap_keys = MAX(m->cap_keys * 2, (size_t)CAP_FIRST);
		m->keys = mem_realloc_array(m->keys, m->cap_keys, sizeof(*m->keys));
	}
	memmove(&m->keys[at + 1], &m->keys[at], (m->n_keys - at) * sizeof(*m->keys));
	m->n_keys++;
	m->keys[at] = (struct mvcc_key){.key = key};
	return &m->keys[at];
}

void mvcc_put(struct mvcc *m, struct str key, struct str value, int64_t lease)
{
	assert(key.n > 0);
	size_t at = keys_find(m, key);
	bool is_known = at < m->n_keys && str_eq(m->keys[at].key, key);
	struct mvcc_key *entry = is_known ? &m->keys[at] : key_insert(m, at, key);
	const struct mvcc_change *before = entry->newest;
	/* Points to something in either case: gcc 14 reads a version before it has checked that
	 * there is one. */
	static const struct storage_kv never;
	const struct storage_kv *was = before && before->event.type == EVENT_PUT ? &before->event.kv : &never;

	struct mvcc_change *change = change_new(key, value);
	struct storage_kv *kv = &change->event.kv;
	change->event.type = EVENT_PUT;
	kv->create_revision = was->version > 0 ? was->create_revision : m->revision + 1;
	kv->version = was->version + 1;
	kv->lease = lease;
	key_add_change(m, entry, change);
}

int64_t mvcc_delete(struct mvcc *m, struct str key, struct str range_end)
{
	int64_t n = 0;
	for (size_t i = keys_find(m, key); i < m->n_keys && mvcc_is_in_range(m->keys[i].key, key, range_end); i++) {
		if (m->keys[i].newest->event.type == EVENT_PUT) {
			struct mvcc_change *change = change_new(m->keys[i].key, (struct str){NULL, 0});
			change->event.type = EVENT_DELETE;
			key_add_change(m, &m->keys[i], change);
			n++;
		}
	}
	return n;
}

bool mvcc_commit(struct mvcc *m)
{
	bool is_changed = m->n_log > 0 && m->log[m->n_log - 1]->event.kv.mod_revision > m->revision;
	m->revision += is_changed;
	assert(m->revision >= m->compacted);
	return is_changed;
}

/* ---- history ---- */

size_t mvcc_log_since(const struct mvcc *m, int64_t revision)
{
	size_t low = 0, high = m->n_log;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (m->log[middle]->event.kv.mod_revision < revision) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

/* Frees all but what a read at that revision, or later, can see. Returns false when nothing is
 * left. */
static bool key_compact(struct mvcc *m, struct mvcc_key *key, int64_t at_revision)
{
	struct mvcc_change **link = &key->newest;
	while (*link && (*link)->event.kv.mod_revision > at_revision) {
		link = &(*link)->older;
	}
	/* The value that a read at that very revision shows is kept; a deletion shows nothing. */
	if (*link && (*link)->event.type == EVENT_PUT) {
		link = &(*link)->older;
	}
	changes_free(m, *link);
	*link = NULL;
	return key->newest != NULL;
}

/* Shrinks the arrays when less than a quarter is used, since their bytes count. */
static void arrays_shrink(struct mvcc *m)
{
	if (m->cap_keys / 4 > MAX(m->n_keys, (size_t)CAP_FIRST)) {
		m->cap_keys = MAX(m->n_keys * 2, (size_t)CAP_FIRST);
		m->keys = mem_realloc_array(m->keys, m->cap_keys, sizeof(*m->keys));
	}
	if (m->cap_log / 4 > MAX(m->n_log, (size_t)CAP_FIRST)) {
		m->cap_log = MAX(m->n_log * 2, (size_t)CAP_FIRST);
		m->log = mem_realloc_array(m->log, m->cap_log, sizeof(struct mvcc_change *));
	}
}

enum storage_result mvcc_compact(struct mvcc *m, int64_t at_revision)
{
	if (at_revision > m->revision) {
		return STORAGE_FUTURE;
	}
	if (at_revision <= m->compacted) {
		return STORAGE_COMPACTED;
	}
	size_t n_gone = mvcc_log_since(m, at_revision + 1);
	m->n_log -= n_gone;
	if (m->n_log > 0) {
		memmove(m->log, m->log + n_gone, m->n_log * sizeof(*m->log));
	}
	size_t n_kept = 0;
	for (size_t i = 0; i < m->n_keys; i++) {
		if (key_compact(m, &m->keys[i], at_revision)) {
			m->keys[n_kept++] = m->keys[i];
		}
	}
	m->n_keys = n_kept;
	m->compacted = at_revision;
	arrays_shrink(m);
	return STORAGE_OK;
}

void mvcc_rewind(struct mvcc *m, int64_t revision)
{
	assert(revision >= m->compacted && revision <= m->revision);
	size_t n = 0;
	m->n_log = mvcc_log_since(m, revision + 1);
	for (size_t i = 0; i < m->n_keys; i++) {
		struct mvcc_key *key = &m->keys[i];
		while (key->newest && key->newest->event.kv.mod_revision > revision) {
			struct mvcc_change *undone = key->newest;
			key->newest = undone->older;
			m->size -= (int64_t)change_size(undone);
			mem_free(undone);
		}
		if (key->newest) {
			key->key = key->newest->event.kv.key;
			m->keys[n++] = *key;
		}
	}
	m->n_keys = n;
	m->revision = revision;
}
