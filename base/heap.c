#include "base/heap.h"

static bool is_before(const struct heap_node *a, const struct heap_node *b)
{
	return a->due != b->due ? a->due < b->due : a->order < b->order;
}

static void put(struct heap *h, size_t place, struct heap_node *node)
{
	h->v[place - 1] = node;
	node->place = place;
}

/* Nearer to the first, past whatever comes later. */
static void rise(struct heap *h, struct heap_node *node)
{
	size_t place = node->place;
	while (place > 1 && is_before(node, h->v[place / 2 - 1])) {
		put(h, place, h->v[place / 2 - 1]);
		place /= 2;
	}
	put(h, place, node);
}

static void sink(struct heap *h, struct heap_node *node)
{
	size_t place = node->place;
	for (size_t below = 2 * place; below <= h->n; below = 2 * place) {
		if (below < h->n && is_before(h->v[below], h->v[below - 1])) {
			below++;
		}
		if (!is_before(h->v[below - 1], node)) {
			break;
		}
		put(h, place, h->v[below - 1]);
		place = below;
	}
	put(h, place, node);
}

void heap_done(struct heap *h)
{
	mem_free(h->v);
	*h = (struct heap){0};
}

void heap_set(struct heap *h, struct heap_node *node, int64_t due)
{
	if (!node->place) {
		if (h->n == h->cap) {
			h->cap = h->cap ? 2 * h->cap : 16;
			h->v = mem_realloc_array(h->v, h->cap, sizeof(struct heap_node *));
		}
		put(h, ++h->n, node);
	}
	node->due = due;
	node->order = h->n_set++;
	rise(h, node);
	sink(h, node);
}

void heap_remove(struct heap *h, struct heap_node *node)
{
	size_t place = node->place;
	if (!place) {
		return;
	}
	struct heap_node *last = h->v[--h->n];
	node->place = 0;
	if (last != node) {
		put(h, place, last);
		rise(h, last);
		sink(h, last);
	}
}
