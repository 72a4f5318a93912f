/* A binary heap, earliest due first, of nodes that live in their owners' structs. Setting, moving
 * and removing a node cost O(log n), looking at the first costs O(1). Among nodes that are due at
 * the same time, the one set first comes first. Not thread-safe. */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include "base/base.h"

struct heap_node {
	int64_t due;
	uint64_t order; /* private from here */
	size_t place;   /* from 1; 0: in no heap */
};

struct heap {
	struct heap_node **v;
	size_t n, cap;
	uint64_t n_set;
};

/* Zeroed, it is empty. */
void heap_done(struct heap *h); /* nodes stay as they are */
/* Puts it in, or moves it if it is there. */
void heap_set(struct heap *h, struct heap_node *node, int64_t due);
void heap_remove(struct heap *h, struct heap_node *node);        /* may be in none */
static inline struct heap_node *heap_first(const struct heap *h) /* NULL: empty */
{
	return h->n ? h->v[0] : NULL;
}
static inline bool heap_has(const struct heap_node *node)
{
	return node->place > 0;
}

#endif
