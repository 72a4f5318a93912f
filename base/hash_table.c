/* Chains rather than open addressing: a removal leaves no tombs, and nodes never move. The table stays at most as full as it has slots. */
#include "base/hash_table.h"

#include <assert.h>

enum { SLOTS_FIRST = 64 };

static struct hash_node **slot_of(const struct hash_table *t, uint64_t hash)
{
	return &t->slots[hash & (t->n_slots - 1)];
}

static void slot_push(const struct hash_table *t, struct hash_node *node)
{
	struct hash_node **slot = slot_of(t, node->hash);

	node->next = *slot;
	*slot = node;
}

static void table_resize(struct hash_table *t, size_t n_slots)
{
	const struct hash_table old = *t;

	assert(n_slots >= SLOTS_FIRST && (n_slots & (n_slots - 1)) == 0);
	t->slots = mem_array(n_slots, sizeof(struct hash_node *));
	t->n_slots = n_slots;
	for (size_t i = 0; i < old.n_slots; i++) {
		for (struct hash_node *node = old.slots[i], *next; node; node = next) {
			next = node->next;
			slot_push(t, node);
		}
	}
	mem_free(old.slots);
}

void hash_table_done(struct hash_table *t)
{
	assert(t->n == 0 || t->slots);
	mem_free(t->slots);
	*t = (struct hash_table){0};
}

void hash_table_add(struct hash_table *t, struct hash_node *node, uint64_t hash)
{
	if (t->n >= t->n_slots) {
		table_resize(t, t->n_slots > 0 ? 2 * t->n_slots : SLOTS_FIRST);
	}
	node->hash = hash;
	slot_push(t, node);
	t->n++;
}

void hash_table_remove(struct hash_table *t, struct hash_node *node)
{
	assert(t->n > 0);
	struct hash_node **at = slot_of(t, node->hash);

	while (*at != node) {
		assert(*at); /* it is in this table */
		at = &(*at)->next;
	}
	*at = node->next;
	node->next = NULL;
	t->n--;
}

void hash_table_trim(struct hash_table *t)
{
	if (t->n == 0) {
		hash_table_done(t);
	} else if (t->n_slots > SLOTS_FIRST && t->n < t->n_slots / 8) {
		table_resize(t, t->n_slots / 2);
	}
}

struct hash_node *hash_table_walk(const struct hash_table *t, const struct hash_node *node)
{
	if (node && node->next) {
		return node->next;
	}
	for (size_t i = node ? (node->hash & (t->n_slots - 1)) + 1 : 0; i < t->n_slots; i++) {
		if (t->slots[i]) {
			return t->slots[i];
		}
	}
	return NULL;
}
