/* Intrusive hash table: its nodes are members of what is looked up, so an entry costs no allocation of its own. It grows by doubling.
 *
 *     for (struct hash_node *n = hash_table_first(&t, hash); n; n = hash_node_next(n)) {
 *             struct thing *found = container_of(n, struct thing, node);
 *             ...compare keys...
 *     }
 *
 * The caller makes the hash (str_hash() where clients choose the keys), compares keys, owns what the nodes are in, and locks. */
#ifndef BASE_HASH_TABLE_H
#define BASE_HASH_TABLE_H

#include "base/base.h"

struct hash_node {
	struct hash_node *next; /* in its slot */
	uint64_t hash;
};

/* All zero: empty. */
struct hash_table {
	struct hash_node **slots;
	size_t n_slots; /* a power of two, or 0 */
	size_t n;
};

void hash_table_done(struct hash_table *t); /* entries are the caller's: walk the table first */
void hash_table_add(struct hash_table *t, struct hash_node *node, uint64_t hash); /* in no table yet; keys may repeat */
void hash_table_remove(struct hash_table *t, struct hash_node *node);             /* in this table */
void hash_table_trim(struct hash_table *t); /* gives back slots after many entries have gone; not while walking */

/* The nodes with exactly this hash, newest first (until the table grows). */
static inline struct hash_node *hash_node_matching(struct hash_node *node, uint64_t hash)
{
	while (node && node->hash != hash) {
		node = node->next;
	}
	return node;
}
static inline struct hash_node *hash_table_first(const struct hash_table *t, uint64_t hash)
{
	return t->n_slots > 0 ? hash_node_matching(t->slots[hash & (t->n_slots - 1)], hash) : NULL;
}
static inline struct hash_node *hash_node_next(const struct hash_node *node)
{
	return hash_node_matching(node->next, node->hash);
}

/* All nodes, in no order; NULL begins and ends. A node may be removed once the one behind it has been asked for. None may be added. */
struct hash_node *hash_table_walk(const struct hash_table *t, const struct hash_node *node);

#endif
