/* Who owns whom: the graph on which the garbage collector decides what to look at. Events go in; out come uids that are worth an attempt.
 * Nothing is deleted because of the graph alone: whoever takes an attempt up asks the server first (controllers/gc/gc_attempt.c).
 *
 * A node is a uid. An owner that no informer has shown has a *virtual* node under the coordinates of one reference to it, and is
 * attempted at once: the attempt finds it, or denies it (gc_graph_deny). A virtual node whose dependents disagree on its
 * coordinates tries the other ones in turn, since a wrong reference says nothing of the owner others mean. Observing an
 * owner settles its coordinates; dependents that name it otherwise, or from another namespace, are attempted.
 *
 * One object may be shown by several informers (controllerrevisions of two groups). The first to show it names the node; versions only
 * go up.
 *
 * Pure: no I/O, no time. Not thread-safe; the garbage collector holds its lock around every call. The sink is called within and
 * must not call back. An owner that goes leaves its dependents in the graph, unlinked from it.
 *
 * Grows with the objects stored and with their references, up to max_nodes. */
#ifndef CONTROLLERS_GC_GC_GRAPH_H
#define CONTROLLERS_GC_GC_GRAPH_H

#include "controllers/kit/ref.h"

struct gc_graph;

struct gc_sink {
	void (*attempt_delete)(void *context, struct str uid);
	void (*attempt_orphan)(void *context, struct str uid);
	/* `object` names, by `owner`, something that is in another namespace. */
	void (*invalid_namespace)(void *context, const struct gc_ref *object, const struct gc_ref *owner);
};

enum { GC_GRAPH_FULL = 1 };

struct gc_graph *gc_graph_new(size_t max_nodes, size_t max_absent, const struct gc_sink *sink, void *context);
struct gc_graph *gc_graph_free(struct gc_graph *g);

/* An informer showed this version. GC_GRAPH_FULL: a new object, and no room for it. */
int gc_graph_observe(struct gc_graph *g, const struct gc_object *o);
/* An informer saw it go; is_guess: or did not find it, which is no proof that it is absent. */
void gc_graph_forget(struct gc_graph *g, const struct gc_ref *r, bool is_guess);
/* The server, asked for these coordinates, has no object of that uid there. A virtual node that stays has another name to be tried by. */
void gc_graph_deny(struct gc_graph *g, const struct gc_ref *r);

/* What an attempt starts from. */
struct gc_item {
	struct gc_ref ref;
	bool is_virtual, is_deleting;
	bool is_waiting;            /* being deleted in the foreground: waits for its dependents */
	bool has_waiting_dependent; /* perhaps a circle of such */
	size_t n_dependents;
};

bool gc_graph_get(const struct gc_graph *g, struct str uid, struct arena *a, struct gc_item *ret);
/* All that refer to it, linked at this moment. */
size_t gc_graph_dependents(const struct gc_graph *g, struct str uid, struct arena *a, struct gc_ref **ret);
/* How many dependents block the owner's deletion; those of them not waiting themselves are attempted. */
size_t gc_graph_attempt_blockers(struct gc_graph *g, struct str uid);

void gc_graph_note_absent(struct gc_graph *g, const struct gc_ref *r);
bool gc_graph_is_absent(struct gc_graph *g, const struct gc_ref *r);
size_t gc_graph_size(const struct gc_graph *g);

#endif
