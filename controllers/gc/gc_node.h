/* A node of the garbage collector's graph and its edges: what gc_graph.c is made of, and what can be said of one node alone. */
#ifndef CONTROLLERS_GC_GC_NODE_H
#define CONTROLLERS_GC_GC_NODE_H

#include "base/list.h"
#include "controllers/kit/ref.h"

struct gc_node;

/* One owner reference of a node. Of several to one uid the first has the link for all. */
struct gc_edge {
	struct gc_owner owner;
	char *text;                       /* of owner.ref */
	struct gc_node *dependent, *node; /* node: the owner; NULL: not linked */
	struct list link;                 /* in node->dependents */
	size_t place;                     /* among the object's references */
};

struct gc_node {
	struct gc_ref ref;
	char *text;            /* of ref */
	struct gc_edge *edges; /* by uid */
	size_t n_edges;
	struct list dependents; /* of struct gc_edge */
	size_t n_dependents;
	uint64_t version;
	bool is_virtual;   /* no informer has shown it */
	bool is_deleting;  /* for good */
	bool is_waiting;   /* being deleted in the foreground: for its dependents to go */
	bool is_orphaning; /* likewise: for its dependents to be told */
};

struct gc_node *gc_node_new(const struct gc_ref *r);
struct gc_node *gc_node_free(struct gc_node *n);              /* unlinks it on both sides */
void gc_node_name(struct gc_node *n, const struct gc_ref *r); /* r may be part of the node */

struct gc_edge *gc_edges_new(struct gc_node *dependent, const struct gc_owner *owners, size_t n);
void gc_edges_free(struct gc_edge *edges, size_t n);
void gc_edge_link(struct gc_edge *e, struct gc_node *owner);
void gc_edge_unlink(struct gc_edge *e);

/* All references of a dependent to one uid: edges[0..n). */
struct gc_bundle {
	struct gc_edge *edges;
	size_t n;
};

struct gc_bundle gc_bundle_at(struct gc_edge *edges, size_t n, size_t at);
struct gc_bundle gc_bundle_of(const struct gc_edge *first);
bool gc_bundle_blocks(struct gc_bundle b);

/* Does the dependent mean, by its references to that uid, this very object? */
struct gc_matches {
	bool has_match, has_mismatch; /* may be both */
};
struct gc_matches gc_edge_matches(const struct gc_edge *first, const struct gc_ref *owner);
bool gc_node_has_mismatch(const struct gc_node *n, const struct gc_ref *owner); /* has any dependent? */
/* The coordinates to try when `absent` has been denied: the next in order (gc_ref_cmp) that a dependent gives, and behind the last
 * again the first. Memory of the node's. False: nobody gives others. */
bool gc_node_alternate(const struct gc_node *n, const struct gc_ref *absent, struct gc_ref *ret);

#endif
