/* A persistent ordered tree: a B+tree of 16-byte entries whose nodes are counted and copied on write.
 *
 * Sharing a tree (ptree_share) costs one counted pointer; changing it afterwards copies the nodes on the way from the root
 * to the changed leaf and leaves the other holder's tree as it was. A node whose count is one, reached through nodes whose count
 * is one, belongs to nobody else: it is changed in place, so a run of changes between two shares copies each node once at most.
 *
 * Every inner node knows how many entries lie below each child. So the n-th entry, an entry's rank, and the number of
 * entries in a range cost O(log n); an iterator is a rank and finds its next leaf by it.
 *
 * Order comes from `cmp` alone. Equal entries exist once. Iterating and looking up from any number of threads is safe as long as
 * each holds a share of its own; one thread at a time changes a tree.
 */
#ifndef STORAGE_CACHE_PTREE_H
#define STORAGE_CACHE_PTREE_H

#include "base/base.h"

struct ptree_entry {
	void *item;
	uint64_t tag;
};

struct ptree_ops {
	/* Below, at, or above 0: key comes before, is, or comes after the entry. */
	int (*cmp)(const void *key, const struct ptree_entry *e);
	/* How leaves hold their entries: both functions or neither. Inner nodes copy entries
	 * without holding them. */
	void (*ref)(const struct ptree_entry *e);
	void (*unref)(const struct ptree_entry *e);
};

struct ptree {
	const struct ptree_ops *ops;
	struct ptree_node *root; /* NULL: empty */
};

void ptree_init(struct ptree *t, const struct ptree_ops *ops);
void ptree_done(struct ptree *t);
struct ptree ptree_share(const struct ptree *t); /* to be ended by ptree_done() */
/* Fills an empty tree with n entries in ascending order, no two of them equal, faster than n times ptree_put(). */
void ptree_build(struct ptree *t, const struct ptree_entry *entries, size_t n);

bool ptree_put(struct ptree *t, const void *key, struct ptree_entry e); /* true: is new; false: replaced its equal */
bool ptree_remove(struct ptree *t, const void *key);                    /* false: was not there */

const struct ptree_entry *ptree_get(const struct ptree *t, const void *key);
size_t ptree_count(const struct ptree *t);
size_t ptree_rank(const struct ptree *t, const void *key); /* how many entries come before key */
size_t ptree_bytes(const struct ptree *t);                 /* of all nodes, shared or not; O(n) */

/* Valid while the tree is neither changed nor ended. */
struct ptree_iter {
	const struct ptree_node *root, *leaf;
	size_t rank;     /* of what comes next */
	size_t at, left; /* in leaf */
};
void ptree_iter_init(struct ptree_iter *it, const struct ptree *t, size_t rank);
const struct ptree_entry *ptree_iter_next(struct ptree_iter *it); /* NULL: at the end */

#endif
