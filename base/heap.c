#include "base/heap.h"

#include <assert.h>

static bool is_before(const struct heap_node *a, const struct heap_node *b)
{
	return a->due != b->due ? a->due < b->due : a->order < b->order;
}

static void heap_put(struct heap *h, size_t place, struct heap_node *node)
{
	h->v[place - 1] = node;
	node->place = place;
}

/* Moves a node towards the first place, past all that are due later. */
static void heap_rise(struct heap *h, struct heap_node *node)
{
	size_t place = node->place;
	while (place > 1 && is_before(node, h->v[place / 2 - 1])) {
		heap_put(h, place, h->v[place / 2 - 1]);
		place /= 2;
	}
	heap_put(h, place, node);
}

static void heap_sink(struct heap *h, struct heap_node *node)
{
	size_t place = node->place;
	for (size_t below = 2 * place; below <= h->n; below = 2 * place) {
		if (below < h->n && is_before(h->v[below], h->v[below - 1])) {
			below++;
		}
		if (!is_before(h->v[below - 1], node)) {
			break;
		}
		heap_put(h, place, h->v[below - 1]);
		place = below;
	}
	heap_put(h, place, node);
}

void heap_done(struct heap *h)
{
	mem_free(h->v);
	*h = (struct heap){0};
}

void heap_set(struct heap *h, struct heap_node *node, int64_t due)
{
	assert(node->place <= h->n);
	if (!node->place) {
		if (h->n == h->cap) {
			h->cap = h->cap ? 2 * h->cap : 16;
			h->v = mem_realloc_array(h->v, h->cap, sizeof(struct heap_node *));
		}
		heap_put(h, ++h->n, node);
	}
	node->due = due;
	node->order = h->n_set++;
	heap_rise(h, node);
	heap_sink(h, node);
}

void heap_remove(struct heap *h, struct heap_node *node)
{
	size_t place = node->place;
	if (!place) {
		return;
	}
	assert(place <= h->n && h->v[place - 1] == node); /* it is in this heap */
	struct heap_node *last = h->v[--h->n];
	node->place = 0;
	if (last != node) {
		heap_put(h, place, last);
		heap_rise(h, last);
		heap_sink(h, last);
	}
}
