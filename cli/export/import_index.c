/* What must come first is found when the whole file has been read: an owner may stand behind what
 * it owns. Levels are the longest ways from objects that need nothing (Kahn's algorithm). Objects
 * that own each other in a circle have no level: they come last. */
#include "cli/export/import.h"

#include "base/sha256.h"

#include <stdlib.h>

enum {
	FIRST = 1024,
	ENTRIES_MAX = 1 << 22, /* 4 million objects: half a GiB */
	EDGES_MAX = 1 << 23,
};

struct print print_of(struct str text)
{
	unsigned char digest[SHA256_SIZE];
	struct print p;
	sha256(text, digest);
	memcpy(p.bytes, digest, PRINT_SIZE);
	return p;
}

bool import_add_entry(struct import *im, const struct entry *e)
{
	if (im->n == ENTRIES_MAX) {
		return false;
	}
	if (im->n == im->cap) {
		im->cap = im->cap ? im->cap * 2 : FIRST;
		im->entries = mem_realloc_array(im->entries, im->cap, sizeof(*im->entries));
	}
	im->entries[im->n++] = *e;
	return true;
}

bool import_add_edge(struct import *im, const struct edge *e)
{
	if (im->n_edges == EDGES_MAX) {
		return false;
	}
	if (im->n_edges == im->cap_edges) {
		im->cap_edges = im->cap_edges ? im->cap_edges * 2 : FIRST;
		im->edges = mem_realloc_array(im->edges, im->cap_edges, sizeof(*im->edges));
	}
	im->edges[im->n_edges++] = *e;
	return true;
}

/* ---- by a print ---- */

void print_table_init(struct print_table *t, size_t offset)
{
	*t = (struct print_table){.offset = offset};
}

void print_table_done(struct print_table *t)
{
	t->slots = mem_free(t->slots);
}

static const struct print *print_at(const struct print_table *t, const struct entry *entries, size_t at)
{
	return (const struct print *)(const void *)((const char *)&entries[at] + t->offset);
}

static uint32_t *find_slot(const struct print_table *t, const struct entry *entries, const struct print *print)
{
	size_t at;
	memcpy(&at, print->bytes, sizeof(at));
	for (;; at++) {
		uint32_t *slot = &t->slots[at % t->cap];
		if (!*slot || memcmp(print_at(t, entries, *slot - 1), print, sizeof(*print)) == 0) {
			return slot;
		}
	}
}

int64_t print_table_find(const struct print_table *t, const struct entry *entries, const struct print *print)
{
	return t->n ? (int64_t)*find_slot(t, entries, print) - 1 : -1;
}

static void grow(struct print_table *t, const struct entry *entries)
{
	struct print_table bigger = {.cap = t->cap ? t->cap * 2 : FIRST, .n = t->n, .offset = t->offset};
	bigger.slots = mem_array(bigger.cap, sizeof(*bigger.slots));
	for (size_t i = 0; i < t->cap; i++) {
		if (t->slots[i]) {
			*find_slot(&bigger, entries, print_at(t, entries, t->slots[i] - 1)) = t->slots[i];
		}
	}
	mem_free(t->slots);
	*t = bigger;
}

bool print_table_add(struct print_table *t, const struct entry *entries, size_t at, size_t *ret_other)
{
	if (t->n * 2 >= t->cap) {
		grow(t, entries);
	}
	uint32_t *slot = find_slot(t, entries, print_at(t, entries, at));
	if (*slot) {
		*ret_other = *slot - 1;
		return false;
	}
	*slot = (uint32_t)at + 1;
	t->n++;
	return true;
}

/* ---- levels ---- */

struct way {
	uint32_t from, to;
};

static int way_cmp(const void *a, const void *b)
{
	const struct way *x = a, *y = b;
	return x->from != y->from ? (x->from < y->from ? -1 : 1) : (x->to > y->to) - (x->to < y->to);
}

static bool is_namespace(const struct entry *e)
{
	return strcmp(kind_at(e->kind)->kind, "Namespace") == 0;
}

/* Of edges whose other end is in the file. */
static size_t resolve(struct import *im, struct way *ret)
{
	size_t n = 0;
	im->told_of = mem_array(2 * im->n_edges + 2, sizeof(*im->told_of));
	for (size_t i = 0; i < im->n_edges; i++) {
		const struct edge *e = &im->edges[i];
		int64_t at = print_table_find(e->is_key ? &im->by_key : &im->by_uid, im->entries, &e->print);
		if (at < 0 || at == (int64_t)e->entry) {
			continue;
		}
		if (e->is_told) {
			im->told_of[2 * im->n_told] = e->entry;
			im->told_of[2 * im->n_told++ + 1] = (uint32_t)at;
			im->entries[at].is_told = true;
		} else {
			ret[n++] = (struct way){(uint32_t)at, e->entry};
		}
	}
	qsort(ret, n, sizeof(*ret), way_cmp);
	return n;
}

static size_t first_way(const struct way *ways, size_t n, uint32_t from)
{
	size_t low = 0, high = n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (ways[middle].from < from) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

/* Namespaces come first, and then everything else. */
static void find_levels(struct import *im, const struct way *ways, size_t n_ways)
{
	uint32_t *waiting = mem_array(im->n + 1, sizeof(*waiting)), *queue = mem_array(im->n + 1, sizeof(*queue));
	size_t head = 0, tail = 0;
	uint32_t deepest = 1;
	for (size_t i = 0; i < n_ways; i++) {
		waiting[ways[i].to]++;
	}
	for (size_t i = 0; i < im->n; i++) {
		im->entries[i].level = is_namespace(&im->entries[i]) ? 0 : 1;
		if (!waiting[i]) {
			queue[tail++] = (uint32_t)i;
		}
	}
	while (head < tail) {
		uint32_t from = queue[head++], next = im->entries[from].level + 1;
		for (size_t i = first_way(ways, n_ways, from); i < n_ways && ways[i].from == from; i++) {
			struct entry *to = &im->entries[ways[i].to];
			to->level = MAX(to->level, next);
			deepest = MAX(deepest, to->level);
			if (--waiting[ways[i].to] == 0) {
				queue[tail++] = ways[i].to;
			}
		}
	}
	for (size_t i = 0; i < im->n; i++) {
		im->entries[i].level = waiting[i] ? deepest + 1 : im->entries[i].level;
	}
	mem_free(waiting);
	mem_free(queue);
}

/* A counting sort keeps the order of the file within a level. */
static void find_order(struct import *im)
{
	uint32_t deepest = 0;
	im->order = mem_array(im->n + 1, sizeof(*im->order));
	for (size_t i = 0; i < im->n; i++) {
		deepest = MAX(deepest, im->entries[i].level);
	}
	size_t *starts = mem_array((size_t)deepest + 2, sizeof(*starts));
	for (size_t i = 0; i < im->n; i++) {
		starts[im->entries[i].level + 1]++;
	}
	for (size_t i = 0; i <= deepest; i++) {
		starts[i + 1] += starts[i];
	}
	for (size_t i = 0; i < im->n; i++) {
		im->order[starts[im->entries[i].level]++] = (uint32_t)i;
	}
	mem_free(starts);
}

void import_arrange(struct import *im)
{
	struct way *ways = mem_array(im->n_edges + 1, sizeof(*ways));
	size_t n = resolve(im, ways);
	find_levels(im, ways, n);
	find_order(im);
	mem_free(ways);
}

int64_t import_told(const struct import *im, size_t history)
{
	size_t low = 0, high = im->n_told;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (im->told_of[2 * middle] < history) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low < im->n_told && im->told_of[2 * low] == history ? (int64_t)im->told_of[2 * low + 1] : -1;
}
