/* The graph of owners and dependents, by which the garbage collector decides what to look at. Events go in; out
 * come uids that are worth an attempt. Nothing is deleted because of the graph alone: whoever takes an attempt
 * up asks the server first (controllers/gc/gc_attempt.c).
 *
 * A node is a uid. An owner that no informer has shown has a *virtual* node under the coordinates of one reference to it, and is
 * attempted at once: the attempt finds it, or denies it (gc_graph_deny). A virtual node whose dependents disagree on its
 * coordinates tries the other ones in turn, since a wrong reference says nothing of the owner others mean. Observing an
 * owner settles its coordinates; dependents that name it otherwise, or from another namespace, are attempted.
 *
 * One object may be shown by several informers (controllerrevisions of two groups). The first to show it names
 * the node; versions only go up.
 *
 * Pure: no I/O, no time. Not thread-safe; the garbage collector holds its lock around every call. The sink is
 * called within and must not call back. An owner that goes leaves its dependents in the graph, unlinked from
 * it.
 *
 * Grows with the objects stored and with their references, up to max_nodes: about 350 bytes for an object and 150 for a reference
 * (test_gc_graph.c measures that). It is all that the collector keeps of them. */
#ifndef CONTROLLERS_GC_GC_GRAPH_H
#define CONTROLLERS_GC_GC_GRAPH_H

#include "controllers/kit/ref.h"

struct gc_graph;

struct gc_sink {
	void (*attempt_delete)(void *context, struct str uid);
	void (*attempt_orphan)(void *context, struct str uid);
	/* `object` refers to `owner`, which is in another namespace. */
	void (*invalid_namespace)(void *context, const struct gc_ref *object, const struct gc_ref *owner);
};

enum { GC_GRAPH_FULL = 1 };

struct gc_graph *gc_graph_new(size_t max_nodes, size_t max_absent, const struct gc_sink *sink, void *context);
struct gc_graph *gc_graph_free(struct gc_graph *g);

/* An informer showed this version of the object. Returns GC_GRAPH_FULL if the object is new and
 * there is no room. */
int gc_graph_observe(struct gc_graph *g, const struct gc_object *o);
/* An informer saw the deletion. is_guess: a list no longer showed the object, which does not
 * prove that it is absent. */
void gc_graph_forget(struct gc_graph *g, const struct gc_ref *r, bool is_guess);
/* Starts a list of one kind and returns its number. The caller puts it into gc_object.listing of
 * what the informer shows from now on. If the list was not the informer's first, its end forgets
 * the objects of that kind that it did not show, as guesses. */
uint32_t gc_graph_begin_list(struct gc_graph *g);
void gc_graph_end_list(struct gc_graph *g, struct str api_version, struct str kind, uint32_t listing);
/* The server has no object with that uid at these coordinates. A virtual node that stays gets
 * another name to try. */
void gc_graph_deny(struct gc_graph *g, const struct gc_ref *r);

/* All that the graph knows of an object when an attempt starts. */
struct gc_item {
	struct gc_ref ref;
	bool is_virtual, is_deleting;
	bool is_waiting;            /* being deleted in the foreground: waits for its dependents */
	bool has_waiting_dependent; /* a dependent waits too, so they may wait for each other in a circle */
	size_t n_dependents;
};

bool gc_graph_get(const struct gc_graph *g, struct str uid, struct arena *a, struct gc_item *ret);
/* All dependents linked to it at this moment. */
size_t gc_graph_dependents(const struct gc_graph *g, struct str uid, struct arena *a, struct gc_ref **ret);
/* Counts the dependents that block the owner's deletion, and attempts those that are not waiting
 * themselves. */
size_t gc_graph_attempt_blockers(struct gc_graph *g, struct str uid);

void gc_graph_note_absent(struct gc_graph *g, const struct gc_ref *r);
bool gc_graph_is_absent(struct gc_graph *g, const struct gc_ref *r);
/* Is it of a kind that annals keeps as data, without a controller? Histories come from clusters, by
 * import or by Snapshots, and their owners stay there. So a read that does not find such an owner
 * does not prove that it is gone: only its deletion here does. */
bool gc_ref_may_live_elsewhere(const struct gc_ref *r);
size_t gc_graph_size(const struct gc_graph *g);

#endif
