/* kube's GraphBuilder, as a pure structure: events in, uids worth an attempt out. It never
 * decides that something is garbage. That is why it may be wrong for a while, and why all its
 * races end in an attempt too many, never in one too few. */
#include "controllers/gc/gc_graph.h"

#include "base/map.h"
#include "controllers/gc/gc_absent.h"
#include "controllers/gc/gc_node.h"

struct gc_graph {
	struct map nodes; /* by uid */
	struct gc_absent absent;
	const struct gc_sink *sink;
	void *context;
};

struct gc_graph *gc_graph_new(size_t max_nodes, size_t max_absent, const struct gc_sink *sink, void *context)
{
	struct gc_graph *g = mem_new(struct gc_graph);

	map_init(&g->nodes, max_nodes);
	gc_absent_init(&g->absent, max_absent);
	g->sink = sink;
	g->context = context;
	return g;
}

struct gc_graph *gc_graph_free(struct gc_graph *g)
{
	if (!g) {
		return NULL;
	}
	for (struct map_entry *e = map_next(&g->nodes, NULL); e; e = map_next(&g->nodes, e)) {
		gc_node_free(e->value);
	}
	map_done(&g->nodes);
	gc_absent_done(&g->absent);
	mem_free(g);
	return NULL;
}

static struct gc_node *graph_find(const struct gc_graph *g, struct str uid)
{
	return map_get(&g->nodes, uid);
}

/* NULL: there is no room. */
static struct gc_node *graph_add(struct gc_graph *g, const struct gc_ref *r)
{
	struct gc_node *n = gc_node_new(r);

	return map_set(&g->nodes, r->uid, n, NULL) ? n : gc_node_free(n);
}

static void attempt(struct gc_graph *g, const struct gc_node *n)
{
	g->sink->attempt_delete(g->context, n->ref.uid);
}

static void attempt_dependents(struct gc_graph *g, const struct gc_node *n)
{
	list_for_each(it, &n->dependents) {
		attempt(g, list_entry(it, struct gc_edge, link)->dependent);
	}
}

static void complain_of_namespace(struct gc_graph *g, const struct gc_edge *e)
{
	g->sink->invalid_namespace(g->context, &e->dependent->ref, &e->owner.ref);
}

/* ---- a new reference ---- */

/* May the reference mean something else than the owner that is in the graph by that uid? Then its dependent has to be looked at. */
static bool is_doubtful(struct gc_graph *g, const struct gc_edge *e, const struct gc_node *owner)
{
	bool is_same_namespace = str_eq(owner->ref.ns, e->dependent->ref.ns);

	if (owner->ref.ns.n > 0 && !is_same_namespace) {
		if (!owner->is_virtual) {
			complain_of_namespace(g, e);
		}
		return true;
	}
	/* A virtual owner without namespace may be an object in a namespace which a cluster-scoped dependent refers to by mistake. */
	return !gc_ref_eq_coordinates(&owner->ref, &e->owner.ref) || (owner->is_virtual && !is_same_namespace);
}

/* No object has such a uid, and queues have keys without NUL. */
static bool is_possible(struct str uid)
{
	return uid.n > 0 && !memchr(uid.p, 0, uid.n);
}

static struct gc_node *add_virtual(struct gc_graph *g, const struct gc_ref *r)
{
	struct gc_node *owner = is_possible(r->uid) ? graph_add(g, r) : NULL;

	if (owner) {
		owner->is_virtual = true;
		attempt(g, owner);
	}
	return owner;
}

/* Returns whether the dependent should be looked at. */
static bool refer(struct gc_graph *g, struct gc_bundle b)
{
	struct gc_node *owner = graph_find(g, b.edges->owner.ref.uid);

	if (!owner) {
		owner = add_virtual(g, &b.edges->owner.ref);
	}
	if (!owner) {
		return true; /* nothing will tell of the owner; at least look whether it is there now */
	}
	gc_edge_link(b.edges, owner);
	for (size_t i = 0; i < b.n; i++) {
		if (is_doubtful(g, &b.edges[i], owner)) {
			return true;
		}
	}
	return false;
}

/* ---- an object's references replace those that it had ---- */

static void take_over(struct gc_graph *g, struct gc_bundle old, struct gc_bundle new)
{
	struct gc_node *owner = old.edges[0].node;

	if (!owner) {
		return; /* it is gone */
	}
	gc_edge_unlink(old.edges);
	gc_edge_link(new.edges, owner);
	if (gc_bundle_blocks(old) && !gc_bundle_blocks(new)) {
		attempt(g, owner);
	}
}

static void drop(struct gc_graph *g, struct gc_bundle old)
{
	struct gc_node *owner = old.edges[0].node;

	gc_edge_unlink(old.edges);
	if (owner && gc_bundle_blocks(old)) {
		attempt(g, owner);
	}
}

static bool have_same_owners(const struct gc_node *n, const struct gc_edge *edges, size_t n_edges)
{
	if (n->n_edges != n_edges) {
		return false;
	}
	for (size_t i = 0; i < n_edges; i++) {
		const struct gc_owner *a = &n->edges[i].owner, *b = &edges[i].owner;
		if (a->blocks != b->blocks || !gc_ref_eq(&a->ref, &b->ref)) {
			return false;
		}
	}
	return true;
}

/* Both lists are in order: one walk finds what is new, what stays, and what is gone. */
static void set_edges(struct gc_graph *g, struct gc_node *n, struct gc_edge *edges, size_t n_edges)
{
	struct gc_edge *old = n->edges;
	size_t n_old = n->n_edges, i = 0, j = 0;
	bool is_doubted = false;

	n->edges = edges;
	n->n_edges = n_edges;
	while (i < n_old || j < n_edges) {
		int order = i == n_old ? 1 : j == n_edges ? -1 : str_cmp(old[i].owner.ref.uid, edges[j].owner.ref.uid);
		struct gc_bundle gone = gc_bundle_at(old, n_old, i), here = gc_bundle_at(edges, n_edges, j);

		if (order < 0) {
			drop(g, gone);
		} else if (order == 0) {
			take_over(g, gone, here);
		} else {
			is_doubted |= refer(g, here);
		}
		i += order <= 0 ? gone.n : 0;
		j += order >= 0 ? here.n : 0;
	}
	gc_edges_free(old, n_old);
	if (is_doubted) {
		attempt(g, n);
	}
}

static void set_owners(struct gc_graph *g, struct gc_node *n, const struct gc_object *o)
{
	struct gc_edge *edges = gc_edges_new(n, o->owners, o->n_owners);

	if (have_same_owners(n, edges, o->n_owners)) {
		gc_edges_free(edges, o->n_owners);
	} else {
		set_edges(g, n, edges, o->n_owners);
	}
}

/* ---- events ---- */

/* The owner that was only known from references is here: whoever meant another one has to be looked at. */
static void materialize(struct gc_graph *g, struct gc_node *n, const struct gc_ref *r)
{
	n->is_virtual = false;
	if (gc_ref_eq(&n->ref, r)) {
		return;
	}
	list_for_each(it, &n->dependents) {
		const struct gc_edge *e = list_entry(it, struct gc_edge, link);
		if (!gc_edge_matches(e, r).has_mismatch) {
			continue;
		}
		if (r->ns.n > 0 && !str_eq(e->dependent->ref.ns, r->ns)) {
			complain_of_namespace(g, e);
		}
		attempt(g, e->dependent);
	}
	gc_node_name(n, r);
}

static void set_state(struct gc_graph *g, struct gc_node *n, const struct gc_object *o)
{
	bool was_orphaning = n->is_orphaning, was_waiting = n->is_waiting;

	/* A deletion is never taken back, whatever an older event says. */
	n->is_deleting |= o->is_deleting;
	n->is_orphaning = o->is_deleting && o->has_orphan_finalizer;
	n->is_waiting = o->is_deleting && o->has_foreground_finalizer;
	if (n->is_orphaning && !was_orphaning) {
		g->sink->attempt_orphan(g->context, n->ref.uid);
	} else if (n->is_waiting && !was_waiting) {
		attempt_dependents(g, n);
		attempt(g, n);
	}
}

int gc_graph_observe(struct gc_graph *g, const struct gc_object *o)
{
	struct gc_node *n = graph_find(g, o->ref.uid);

	/* Informers of two groups show the same object: the slower one must not bring back its
	 * old owners. */
	if (n && o->version && o->version < n->version) {
		return 0;
	}
	if (!n) {
		n = graph_add(g, &o->ref);
	} else if (n->is_virtual) {
		materialize(g, n, &o->ref);
	}
	if (!n) {
		return GC_GRAPH_FULL;
	}
	n->version = o->version;
	set_owners(g, n, o);
	set_state(g, n, o);
	return 0;
}

/* Nobody owns through n any more: dependents are looked at, and owners that wait for the last of theirs. */
static void remove_node(struct gc_graph *g, struct gc_node *n)
{
	map_remove(&g->nodes, n->ref.uid);
	attempt_dependents(g, n);
	for (size_t i = 0; i < n->n_edges; i++) {
		const struct gc_node *owner = n->edges[i].node;
		if (owner && owner->is_waiting) {
			attempt(g, owner);
		}
	}
	gc_node_free(n);
}

static void remove_absent(struct gc_graph *g, struct gc_node *n, const struct gc_ref *absent)
{
	if (n->n_dependents > 0) {
		gc_absent_add(&g->absent, absent);
	}
	remove_node(g, n);
}

void gc_graph_forget(struct gc_graph *g, const struct gc_ref *r, bool is_guess)
{
	struct gc_node *n = graph_find(g, r->uid);

	if (n && is_guess) {
		remove_node(g, n);
	} else if (n) {
		remove_absent(g, n, r);
	}
}

/* Those who mean an object that is not there. */
static void attempt_matches(struct gc_graph *g, const struct gc_node *n, const struct gc_ref *absent)
{
	list_for_each(it, &n->dependents) {
		const struct gc_edge *e = list_entry(it, struct gc_edge, link);
		if (gc_edge_matches(e, absent).has_match) {
			gc_absent_add(&g->absent, absent);
			attempt(g, e->dependent);
		}
	}
}

/* Others mean something else by this uid: it stays, under the next of its names if it had the denied one. */
static void rename_virtual(struct gc_graph *g, struct gc_node *n, const struct gc_ref *denied)
{
	struct gc_ref next;

	attempt_matches(g, n, denied);
	if (gc_ref_eq(&n->ref, denied) && gc_node_alternate(n, denied, &next)) {
		gc_node_name(n, &next);
	}
}

void gc_graph_deny(struct gc_graph *g, const struct gc_ref *r)
{
	struct gc_node *n = graph_find(g, r->uid);

	if (!n) {
		return;
	}
	if (n->is_virtual && gc_node_has_mismatch(n, r)) {
		rename_virtual(g, n, r);
	} else if (!n->is_virtual && !gc_ref_eq(&n->ref, r)) {
		attempt_matches(g, n, r); /* it was asked for by a name that it does not have */
	} else {
		remove_absent(g, n, r);
	}
}

/* ---- looking ---- */

bool gc_graph_get(const struct gc_graph *g, struct str uid, struct arena *a, struct gc_item *ret)
{
	const struct gc_node *n = graph_find(g, uid);

	if (!n) {
		return false;
	}
	*ret = (struct gc_item){
		.ref = gc_ref_dup(&n->ref, a),
		.is_virtual = n->is_virtual,
		.is_deleting = n->is_deleting,
		.is_waiting = n->is_waiting,
		.n_dependents = n->n_dependents,
	};
	list_for_each(it, &n->dependents) {
		ret->has_waiting_dependent |= list_entry(it, struct gc_edge, link)->dependent->is_waiting;
	}
	return true;
}

size_t gc_graph_dependents(const struct gc_graph *g, struct str uid, struct arena *a, struct gc_ref **ret)
{
	const struct gc_node *n = graph_find(g, uid);
	size_t i = 0;

	if (!n) {
		return 0;
	}
	*ret = arena_array(a, struct gc_ref, n->n_dependents);
	list_for_each(it, &n->dependents) {
		(*ret)[i++] = gc_ref_dup(&list_entry(it, struct gc_edge, link)->dependent->ref, a);
	}
	return i;
}

size_t gc_graph_attempt_blockers(struct gc_graph *g, struct str uid)
{
	const struct gc_node *n = graph_find(g, uid);
	size_t n_blockers = 0;

	if (!n) {
		return 0;
	}
	list_for_each(it, &n->dependents) {
		const struct gc_edge *e = list_entry(it, struct gc_edge, link);
		if (!gc_bundle_blocks(gc_bundle_of(e))) {
			continue;
		}
		n_blockers++;
		if (!e->dependent->is_waiting) {
			attempt(g, e->dependent);
		}
	}
	return n_blockers;
}

void gc_graph_note_absent(struct gc_graph *g, const struct gc_ref *r)
{
	gc_absent_add(&g->absent, r);
}

bool gc_graph_is_absent(struct gc_graph *g, const struct gc_ref *r)
{
	return gc_absent_has(&g->absent, r);
}

size_t gc_graph_size(const struct gc_graph *g)
{
	return g->nodes.n;
}
