/* An entry whose time is over is not given but stays, until room is needed: that its asker had a
 * good answer before is what lets known clients go first (flights.h). Keys are counted twice, for
 * the map has its own copy. */
#include "delegation/reviews/answers.h"

struct answer_entry {
	struct list link;
	void *value;
	size_t n_bytes;
	int64_t until_ms;
	size_t n_key;
	char key[];
};

void answers_init(struct answers *a, size_t max, size_t max_bytes, void (*free_value)(void *value))
{
	*a = (struct answers){.max = max, .max_bytes = max_bytes, .free_value = free_value};
	map_init(&a->by_key, max);
	list_init(&a->used);
}

static void drop(struct answers *a, struct answer_entry *e)
{
	list_remove(&e->link);
	map_remove(&a->by_key, (struct str){e->key, e->n_key});
	a->n_bytes -= e->n_bytes;
	a->free_value(e->value);
	mem_free(e);
}

static struct answer_entry *oldest(const struct answers *a)
{
	return list_entry(a->used.next, struct answer_entry, link);
}

void answers_done(struct answers *a)
{
	while (!list_is_empty(&a->used)) {
		drop(a, oldest(a));
	}
	map_done(&a->by_key);
}

const void *answers_get(struct answers *a, struct str key, int64_t now_ms)
{
	struct answer_entry *e = map_get(&a->by_key, key);
	if (!e || e->until_ms <= now_ms) {
		return NULL;
	}
	list_remove(&e->link);
	list_append(&a->used, &e->link);
	return e->value;
}

bool answers_remembers(const struct answers *a, struct str key)
{
	return map_get(&a->by_key, key) != NULL;
}

void answers_remove(struct answers *a, struct str key)
{
	struct answer_entry *e = map_get(&a->by_key, key);
	if (e) {
		drop(a, e);
	}
}

static bool has_room(const struct answers *a, size_t n_bytes)
{
	return a->by_key.n < a->max && a->n_bytes + n_bytes <= a->max_bytes;
}

void answers_put(struct answers *a, struct str key, void *value, size_t n_bytes, int64_t until_ms)
{
	struct answer_entry *old = map_get(&a->by_key, key);
	if (old) {
		drop(a, old);
	}
	n_bytes += sizeof(struct answer_entry) + 2 * key.n; /* the map has its own */
	if (n_bytes > a->max_bytes || a->max == 0) {
		a->free_value(value);
		return;
	}
	while (!has_room(a, n_bytes)) {
		drop(a, oldest(a));
	}

	struct answer_entry *e = mem_alloc(sizeof(*e) + key.n);
	*e = (struct answer_entry){.value = value, .n_bytes = n_bytes, .until_ms = until_ms, .n_key = key.n};
	memcpy(e->key, key.p, key.n);
	map_set(&a->by_key, key, e, NULL);
	list_append(&a->used, &e->link);
	a->n_bytes += n_bytes;
}

size_t answers_count(const struct answers *a)
{
	return a->by_key.n;
}
