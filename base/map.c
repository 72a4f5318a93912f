/* Linear probing over one array. The hash is kept beside the key, so that growing needs no
 * hashing and probing few comparisons. `max` is given at birth since keys often come from
 * clients. */
#include "base/map.h"

#include <assert.h>

enum { MAP_FIRST = 16 };

/* The key of a removed entry, over which probing must go on. */
static const char tomb[1];

static bool is_tomb(const struct map_entry *e)
{
	return e->key.p == tomb;
}

static bool is_free(const struct map_entry *e)
{
	return !e->key.p;
}

static bool is_used(const struct map_entry *e)
{
	return !is_free(e) && !is_tomb(e);
}

void map_init(struct map *m, size_t max)
{
	*m = (struct map){.max = max};
}

static void key_free(struct str *key)
{
	mem_free((char *)(uintptr_t)key->p);
}

void map_done(struct map *m)
{
	for (struct map_entry *e = map_next(m, NULL); e; e = map_next(m, e)) {
		key_free(&e->key);
	}
	mem_free(m->entries);
	*m = (struct map){.max = m->max};
}

/* The entry of that key, or NULL. Ends: at most three quarters of the entries are not free. */
static struct map_entry *map_find(const struct map *m, struct str key, uint64_t hash)
{
	if (m->n == 0) {
		return NULL;
	}
	for (size_t i = hash & (m->cap - 1);; i = (i + 1) & (m->cap - 1)) {
		struct map_entry *e = &m->entries[i];
		if (is_free(e)) {
			return NULL;
		}
		if (!is_tomb(e) && e->hash == hash && str_eq(e->key, key)) {
			return e;
		}
	}
}

static struct map_entry *map_find_free(struct map *m, uint64_t hash)
{
	assert(m->n + m->n_tombs < m->cap); /* or it would not end */
	size_t i = hash & (m->cap - 1);
	while (!is_free(&m->entries[i])) {
		i = (i + 1) & (m->cap - 1);
	}
	return &m->entries[i];
}

/* Makes room for one more; entries that are merely tombs give theirs first. */
static void map_make_room(struct map *m)
{
	if ((m->n + m->n_tombs + 1) * 4 <= m->cap * 3) {
		return;
	}

	struct map old = *m;
	/* When tombs alone fill the table, it is made anew at its size: coming and going must
	 * not make it grow. */
	m->cap = old.cap == 0 ? MAP_FIRST : (old.n + 1) * 2 <= old.cap ? old.cap : old.cap * 2;
	m->entries = mem_array(m->cap, sizeof(*m->entries));
	m->n_tombs = 0;
	for (struct map_entry *e = map_next(&old, NULL); e; e = map_next(&old, e)) {
		*map_find_free(m, e->hash) = *e;
	}
	mem_free(old.entries);
}

void *map_get(const struct map *m, struct str key)
{
	struct map_entry *e = map_find(m, key, str_hash(key));
	return e ? e->value : NULL;
}

static void *map_replace(struct map_entry *e, void *value)
{
	void *old = e->value;
	e->value = value;
	return old;
}

bool map_set(struct map *m, struct str key, void *value, void **ret_old)
{
	assert(value);
	void *old = NULL;
	uint64_t hash = str_hash(key);
	struct map_entry *e = map_find(m, key, hash);
	if (e) {
		old = map_replace(e, value);
	} else if (m->n >= m->max) {
		return false;
	} else {
		map_make_room(m);
		*map_find_free(m, hash) = (struct map_entry){hash, {mem_strndup(key.p, key.n), key.n}, value};
		m->n++;
	}
	if (ret_old) {
		*ret_old = old;
	}
	return true;
}

void *map_remove(struct map *m, struct str key)
{
	struct map_entry *e = map_find(m, key, str_hash(key));
	if (!e) {
		return NULL;
	}

	assert(m->n > 0);
	void *value = e->value;
	key_free(&e->key);
	*e = (struct map_entry){.key = {tomb, 0}};
	m->n--;
	m->n_tombs++;
	return value;
}

struct map_entry *map_next(const struct map *m, struct map_entry *e)
{
	for (e = e ? e + 1 : m->entries; e && e < m->entries + m->cap; e++) {
		if (is_used(e)) {
			return e;
		}
	}
	return NULL;
}
