/* kube's GraphBuilder as a pure structure: events go in, uids worth an attempt come out. It
 * never decides that something is garbage, so it may be wrong for a while. Its races always end in
 * an extra attempt, never in a missing one. */
#include "controllers/gc/gc_graph.h"

#include "base/list.h"
#include "base/map.h"
#include "base/sha256.h"
#include "controllers/kit/ref.h"

#include <assert.h>
#include <stdlib.h>

/* ---- types ---- */

/* Owners are uids, but references may give one uid different names: by mistake, or by intent to
 * have an innocent object deleted. So each reference keeps its own coordinates, and one owner is
 * tried by all names that are given before it counts as absent (kube's
 * getAlternateOwnerIdentity). */
struct gc_node;

/* A struct gc_ref in less than half the memory, since each object and each reference has one. */
struct gc_name {
	char *text; /* the parts of the reference, in the order of struct gc_ref */
	uint32_t n_api_version, n_kind, n_ns, n_name, n_uid;
};

/* One owner reference of a node. If several references name one uid, the first holds the link
 * for all. */
struct gc_edge {
	struct gc_name name;              /* without a namespace: the dependent's applies */
	struct gc_node *dependent, *node; /* node: the owner; NULL: not linked */
	struct list link;                 /* in node->dependents */
	uint32_t place;                   /* index among the object's references */
	bool blocks;
};

struct gc_node {
	struct gc_name name;
	struct gc_edge *edges;  /* sorted by uid; their text follows in the same allocation */
	struct list dependents; /* of struct gc_edge */
	uint32_t n_edges, n_dependents;
	uint64_t version;
	uint32_t listing;  /* the latest list whose informer has shown it; 0: none has */
	bool is_virtual;   /* known only from references: no informer has shown it */
	bool is_deleting;  /* never reset */
	bool is_waiting;   /* being deleted in the foreground: waits for its dependents to go */
	bool is_orphaning; /* being deleted: waits for its dependents to be orphaned */
};

/* All references of a dependent to one uid: edges[0..n). */
struct gc_bundle {
	struct gc_edge *edges;
	size_t n;
};

/* Do the dependent's references to that uid name this very object? */
struct gc_matches {
	bool has_match, has_mismatch; /* may be both */
};

/* ---- names ---- */

static char *put(char *at, struct str s)
{
	if (s.n > 0) {
		memcpy(at, s.p, s.n);
	}
	return at + s.n;
}

static size_t text_size(const struct gc_ref *r)
{
	return r->api_version.n + r->kind.n + r->ns.n + r->name.n + r->uid.n;
}

/* Packs the reference into `text`, which must be large enough. */
static struct gc_name pack(const struct gc_ref *r, char *text)
{
	assert(text_size(r) <= UINT32_MAX);
	put(put(put(put(put(text, r->api_version), r->kind), r->ns), r->name), r->uid);
	return (struct gc_name){text, (uint32_t)r->api_version.n, (uint32_t)r->kind.n, (uint32_t)r->ns.n, (uint32_t)r->name.n,
		(uint32_t)r->uid.n};
}

static struct gc_ref unpack(const struct gc_name *n)
{
	const char *kind = n->text + n->n_api_version, *ns = kind + n->n_kind, *name = ns + n->n_ns;

	return (struct gc_ref){
		{n->text, n->n_api_version}, {kind, n->n_kind}, {ns, n->n_ns}, {name, n->n_name}, {name + n->n_name, n->n_uid}};
}

/* The text lives as long as the node keeps that name. */
static struct gc_ref gc_node_ref(const struct gc_node *n)
{
	return unpack(&n->name);
}

static struct gc_ref gc_edge_ref(const struct gc_edge *e)
{
	struct gc_ref r = unpack(&e->name);

	r.ns = gc_node_ref(e->dependent).ns;
	return r;
}

/* ---- edges ---- */

static void gc_edge_link(struct gc_edge *e, struct gc_node *owner)
{
	assert(!e->node);
	e->node = owner;
	list_append(&owner->dependents, &e->link);
	owner->n_dependents++;
}

static void gc_edge_unlink(struct gc_edge *e)
{
	if (e->node) {
		assert(e->node->n_dependents > 0);
		list_remove(&e->link);
		e->node->n_dependents--;
		e->node = NULL;
	}
}

static int edge_cmp(const void *a, const void *b)
{
	const struct gc_edge *left = a, *right = b;
	int order = str_cmp(unpack(&left->name).uid, unpack(&right->name).uid);
	return order ? order : (left->place > right->place) - (left->place < right->place);
}

static struct gc_edge *gc_edges_new(struct gc_node *dependent, const struct gc_owner *owners, size_t n)
{
	size_t size = 0;
	struct gc_edge *edges;
	char *text;

	assert(n <= UINT32_MAX);
	for (size_t i = 0; i < n; i++) {
		size += sizeof(*edges) + text_size(&owners[i].ref) - owners[i].ref.ns.n;
	}
	if (n == 0) {
		return NULL;
	}
	edges = mem_zalloc(size);
	text = (char *)(edges + n);
	for (size_t i = 0; i < n; i++) {
		struct gc_ref r = owners[i].ref;

		assert(str_eq(r.ns, gc_node_ref(dependent).ns));
		r.ns = (struct str){NULL, 0};
		edges[i] = (struct gc_edge){
			.name = pack(&r, text), .dependent = dependent, .place = (uint32_t)i, .blocks = owners[i].blocks};
		text += text_size(&r);
	}
	/* Sorts by uid, so that old and new references can be compared in one walk. */
	qsort(edges, n, sizeof(*edges), edge_cmp);
	for (size_t i = 0; i < n; i++) {
		list_init(&edges[i].link); /* only now, as the edges no longer move */
	}
	return edges;
}

/* Unlinks them. */
static void gc_edges_free(struct gc_edge *edges, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		gc_edge_unlink(&edges[i]);
	}
	mem_free(edges);
}

static struct gc_bundle gc_bundle_at(struct gc_edge *edges, size_t n, size_t at)
{
	struct gc_bundle b = {.edges = at < n ? edges + at : NULL};

	while (at + b.n < n && str_eq(gc_edge_ref(&b.edges[b.n]).uid, gc_edge_ref(&b.edges[0]).uid)) {
		b.n++;
	}
	return b;
}

static struct gc_bundle gc_bundle_of(const struct gc_edge *first)
{
	assert(first >= first->dependent->edges && first < first->dependent->edges + first->dependent->n_edges);
	const struct gc_node *n = first->dependent;
	return gc_bundle_at(n->edges, n->n_edges, (size_t)(first - n->edges));
}

static bool gc_bundle_blocks(struct gc_bundle b)
{
	for (size_t i = 0; i < b.n; i++) {
		if (b.edges[i].blocks) {
			return true;
		}
	}
	return false;
}

/* ---- nodes ---- */

static void gc_node_name(struct gc_node *n, const struct gc_ref *r)
{
	struct gc_name name = pack(r, mem_alloc(text_size(r)));

	/* Edges take their namespace from here. */
	assert(n->n_edges == 0);
	mem_free(n->name.text);
	n->name = name;
}

static struct gc_node *gc_node_new(const struct gc_ref *r)
{
	struct gc_node *n = mem_new(struct gc_node);

	list_init(&n->dependents);
	gc_node_name(n, r);
	return n;
}

/* Unlinks it on both sides. */
static struct gc_node *gc_node_free(struct gc_node *n)
{
	if (!n) {
		return NULL;
	}
	list_for_each_safe(it, &n->dependents) {
		gc_edge_unlink(list_entry(it, struct gc_edge, link));
	}
	assert(n->n_dependents == 0);
	gc_edges_free(n->edges, n->n_edges);
	mem_free(n->name.text);
	mem_free(n);
	return NULL;
}

/* ---- which of the names of an owner is right ---- */

static struct gc_matches gc_edge_matches(const struct gc_edge *first, const struct gc_ref *owner)
{
	struct gc_bundle b = gc_bundle_of(first);
	struct gc_matches m = {0};

	if (owner->ns.n > 0 && !str_eq(owner->ns, gc_node_ref(first->dependent).ns)) {
		return (struct gc_matches){.has_mismatch = true};
	}
	for (size_t i = 0; i < b.n; i++) {
		const struct gc_ref given = gc_edge_ref(&b.edges[i]);

		if (gc_ref_eq_coordinates(&given, owner)) {
			m.has_match = true;
		} else {
			m.has_mismatch = true;
		}
	}
	return m;
}

/* Does any dependent name another object by that uid? */
static bool gc_node_has_mismatch(const struct gc_node *n, const struct gc_ref *owner)
{
	list_for_each(it, &n->dependents) {
		if (gc_edge_matches(list_entry(it, struct gc_edge, link), owner).has_mismatch) {
			return true;
		}
	}
	return false;
}

struct alternates {
	const struct gc_ref *absent;
	struct gc_ref first, next;
	bool has_first, has_next;
};

static void alternates_add(struct alternates *s, const struct gc_ref *given)
{
	struct gc_ref r = *given;
	int order;

	if (s->absent->ns.n == 0 && str_eq(r.api_version, s->absent->api_version) && str_eq(r.kind, s->absent->kind)) {
		r.ns = s->absent->ns; /* the denial showed that this kind has no namespace */
	}
	order = gc_ref_cmp(&r, s->absent);
	if (order != 0 && (!s->has_first || gc_ref_cmp(&r, &s->first) < 0)) {
		s->first = r;
		s->has_first = true;
	}
	if (order > 0 && (!s->has_next || gc_ref_cmp(&r, &s->next) < 0)) {
		s->next = r;
		s->has_next = true;
	}
}

/* Gives the coordinates to try once `absent` has been denied: the next in gc_ref_cmp() order
 * that a dependent names, wrapping to the first. The text belongs to the node. Returns false if no
 * dependent names others. */
static bool gc_node_alternate(const struct gc_node *n, const struct gc_ref *absent, struct gc_ref *ret)
{
	struct alternates s = {.absent = absent};

	list_for_each(it, &n->dependents) {
		struct gc_bundle b = gc_bundle_of(list_entry(it, struct gc_edge, link));
		for (size_t i = 0; i < b.n; i++) {
			const struct gc_ref given = gc_edge_ref(&b.edges[i]);
			alternates_add(&s, &given);
		}
	}
	*ret = s.has_next ? s.next : s.first;
	return s.has_first;
}

bool gc_ref_may_live_elsewhere(const struct gc_ref *r)
{
	static const struct {
		const char *api_version, *kind;
	} kinds[] = {
		{"apps/v1", "DaemonSet"},
		{"apps/v1", "Deployment"},
		{"apps/v1", "ReplicaSet"},
		{"batch/v1", "CronJob"},
		{"batch/v1", "Job"},
		{"v1", "ReplicationController"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (str_is(r->api_version, kinds[i].api_version) && str_is(r->kind, kinds[i].kind)) {
			return true;
		}
	}
	return false;
}

/* ---- absent owners ---- */

/* kube's absentOwnerCache. Thousands of dependents may name the same owner that is gone; without
 * this each would cost a request. A uid is never used again, so what is absent stays absent and
 * entries need no time to live; `max` alone bounds them. */
struct gc_absent {
	struct map by_key;  /* of struct gc_absent_entry */
	struct list by_use; /* longest unused first */
	size_t max;
};

struct gc_absent_entry {
	struct list link;
	uint8_t key[SHA256_SIZE];
};

static struct str key_str(const uint8_t key[SHA256_SIZE])
{
	return (struct str){(const char *)key, SHA256_SIZE};
}

static void gc_absent_init(struct gc_absent *c, size_t max)
{
	map_init(&c->by_key, max);
	list_init(&c->by_use);
	c->max = max;
}

static void entry_remove(struct gc_absent *c, struct gc_absent_entry *e)
{
	map_remove(&c->by_key, key_str(e->key));
	list_remove(&e->link);
	mem_free(e);
}

static void gc_absent_done(struct gc_absent *c)
{
	list_for_each_safe(it, &c->by_use) {
		entry_remove(c, list_entry(it, struct gc_absent_entry, link));
	}
	assert(c->by_key.n == 0);
	map_done(&c->by_key);
}

static bool gc_absent_has(struct gc_absent *c, const struct gc_ref *r)
{
	uint8_t key[SHA256_SIZE];
	struct gc_absent_entry *e;

	gc_ref_key(r, key);
	e = map_get(&c->by_key, key_str(key));
	if (e) {
		list_remove(&e->link);
		list_append(&c->by_use, &e->link);
	}
	return e != NULL;
}

static void gc_absent_add(struct gc_absent *c, const struct gc_ref *r)
{
	struct gc_absent_entry *e;

	if (gc_absent_has(c, r)) {
		return;
	}
	if (c->by_key.n == c->max) {
		assert(!list_is_empty(&c->by_use));
		entry_remove(c, list_entry(c->by_use.next, struct gc_absent_entry, link));
	}
	e = mem_new(struct gc_absent_entry);
	gc_ref_key(r, e->key);
	list_append(&c->by_use, &e->link);
	map_set(&c->by_key, key_str(e->key), e, NULL);
}

/* ---- the graph ---- */

struct gc_graph {
	struct map nodes; /* by uid */
	struct gc_absent absent;
	const struct gc_sink *sink;
	void *context;
	uint32_t n_listings;
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

/* Returns NULL if the graph is full. */
static struct gc_node *graph_add(struct gc_graph *g, const struct gc_ref *r)
{
	struct gc_node *n = gc_node_new(r);

	return map_set(&g->nodes, r->uid, n, NULL) ? n : gc_node_free(n);
}

static void gc_graph_attempt(struct gc_graph *g, const struct gc_node *n)
{
	g->sink->attempt_delete(g->context, gc_node_ref(n).uid);
}

static void attempt_dependents(struct gc_graph *g, const struct gc_node *n)
{
	list_for_each(it, &n->dependents) {
		gc_graph_attempt(g, list_entry(it, struct gc_edge, link)->dependent);
	}
}

static void complain_of_namespace(struct gc_graph *g, const struct gc_edge *e)
{
	const struct gc_ref dependent = gc_node_ref(e->dependent), owner = gc_edge_ref(e);

	g->sink->invalid_namespace(g->context, &dependent, &owner);
}

/* ---- a new reference ---- */

/* May the reference mean another object than the owner that the graph has under that uid? Then
 * the dependent needs an attempt. */
static bool is_doubtful(struct gc_graph *g, const struct gc_edge *e, const struct gc_node *owner)
{
	const struct gc_ref found = gc_node_ref(owner), given = gc_edge_ref(e);
	bool is_same_namespace = str_eq(found.ns, given.ns);

	if (found.ns.n > 0 && !is_same_namespace) {
		if (!owner->is_virtual) {
			complain_of_namespace(g, e);
		}
		return true;
	}
	/* A virtual owner without a namespace may be a namespaced object that a cluster-scoped
	 * dependent names by mistake. */
	return !gc_ref_eq_coordinates(&found, &given) || (owner->is_virtual && !is_same_namespace);
}

/* No object has an empty uid or one with NUL, and queue keys cannot contain NUL. */
static bool is_possible(struct str uid)
{
	return uid.n > 0 && !memchr(uid.p, 0, uid.n);
}

static struct gc_node *add_virtual(struct gc_graph *g, const struct gc_ref *r)
{
	struct gc_node *owner = is_possible(r->uid) ? graph_add(g, r) : NULL;

	if (owner) {
		owner->is_virtual = true;
		gc_graph_attempt(g, owner);
	}
	return owner;
}

/* Returns whether the dependent needs an attempt. */
static bool gc_graph_refer(struct gc_graph *g, struct gc_bundle b)
{
	assert(b.n > 0);
	const struct gc_ref given = gc_edge_ref(b.edges);
	struct gc_node *owner = graph_find(g, given.uid);

	if (!owner) {
		owner = add_virtual(g, &given);
	}
	if (!owner) {
		return true; /* no event will report the owner, so at least try it once */
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
	assert(old.n > 0 && new.n > 0);
	struct gc_node *owner = old.edges[0].node;

	if (!owner) {
		return; /* the owner is gone */
	}
	gc_edge_unlink(old.edges);
	gc_edge_link(new.edges, owner);
	if (gc_bundle_blocks(old) && !gc_bundle_blocks(new)) {
		gc_graph_attempt(g, owner);
	}
}

static void gc_graph_drop(struct gc_graph *g, struct gc_bundle old)
{
	assert(old.n > 0);
	struct gc_node *owner = old.edges[0].node;

	gc_edge_unlink(old.edges);
	if (owner && gc_bundle_blocks(old)) {
		gc_graph_attempt(g, owner);
	}
}

static bool have_same_owners(const struct gc_node *n, const struct gc_edge *edges, size_t n_edges)
{
	if (n->n_edges != n_edges) {
		return false;
	}
	for (size_t i = 0; i < n_edges; i++) {
		const struct gc_ref a = gc_edge_ref(&n->edges[i]), b = gc_edge_ref(&edges[i]);
		if (n->edges[i].blocks != edges[i].blocks || !gc_ref_eq(&a, &b)) {
			return false;
		}
	}
	return true;
}

/* Both lists are sorted: one walk finds new, kept and removed references. */
static void set_edges(struct gc_graph *g, struct gc_node *n, struct gc_edge *edges, size_t n_edges)
{
	struct gc_edge *old = n->edges;
	size_t n_old = n->n_edges, i = 0, j = 0;
	bool is_doubted = false;

	n->edges = edges;
	n->n_edges = (uint32_t)n_edges;
	while (i < n_old || j < n_edges) {
		int order = i == n_old ? 1 : j == n_edges ? -1 : str_cmp(gc_edge_ref(&old[i]).uid, gc_edge_ref(&edges[j]).uid);
		struct gc_bundle gone = gc_bundle_at(old, n_old, i), here = gc_bundle_at(edges, n_edges, j);

		if (order < 0) {
			gc_graph_drop(g, gone);
		} else if (order == 0) {
			take_over(g, gone, here);
		} else {
			is_doubted |= gc_graph_refer(g, here);
		}
		i += order <= 0 ? gone.n : 0;
		j += order >= 0 ? here.n : 0;
	}
	gc_edges_free(old, n_old);
	if (is_doubted) {
		gc_graph_attempt(g, n);
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

/* An informer now shows an owner known only from references: dependents that meant another
 * object need an attempt. */
static void materialize(struct gc_graph *g, struct gc_node *n, const struct gc_ref *r)
{
	const struct gc_ref known = gc_node_ref(n);

	n->is_virtual = false;
	if (gc_ref_eq(&known, r)) {
		return;
	}
	list_for_each(it, &n->dependents) {
		const struct gc_edge *e = list_entry(it, struct gc_edge, link);
		if (!gc_edge_matches(e, r).has_mismatch) {
			continue;
		}
		if (r->ns.n > 0 && !str_eq(gc_edge_ref(e).ns, r->ns)) {
			complain_of_namespace(g, e);
		}
		gc_graph_attempt(g, e->dependent);
	}
	gc_node_name(n, r);
}

static void set_state(struct gc_graph *g, struct gc_node *n, const struct gc_object *o)
{
	bool was_orphaning = n->is_orphaning, was_waiting = n->is_waiting;

	/* A deletion is never undone, even if an older event says otherwise. */
	n->is_deleting |= o->is_deleting;
	n->is_orphaning = o->is_deleting && o->has_orphan_finalizer;
	n->is_waiting = o->is_deleting && o->has_foreground_finalizer;
	if (n->is_orphaning && !was_orphaning) {
		g->sink->attempt_orphan(g->context, gc_node_ref(n).uid);
	} else if (n->is_waiting && !was_waiting) {
		attempt_dependents(g, n);
		gc_graph_attempt(g, n);
	}
}

int gc_graph_observe(struct gc_graph *g, const struct gc_object *o)
{
	struct gc_node *n = graph_find(g, o->ref.uid);

	if (n) {
		n->listing = MAX(n->listing, o->listing);
	}
	/* Informers of two groups may show the same object: the slower one must not bring back
	 * its old owners. */
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
	n->listing = MAX(n->listing, o->listing);
	set_owners(g, n, o);
	set_state(g, n, o);
	return 0;
}

/* The node owns nothing any more: its dependents need an attempt, and so do owners that waited
 * for it. */
static void remove_node(struct gc_graph *g, struct gc_node *n)
{
	map_remove(&g->nodes, gc_node_ref(n).uid);
	attempt_dependents(g, n);
	for (size_t i = 0; i < n->n_edges; i++) {
		const struct gc_node *owner = n->edges[i].node;
		if (owner && owner->is_waiting) {
			gc_graph_attempt(g, owner);
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

uint32_t gc_graph_begin_list(struct gc_graph *g)
{
	return ++g->n_listings;
}

void gc_graph_end_list(struct gc_graph *g, struct str api_version, struct str kind, uint32_t listing)
{
	assert(listing > 0 && listing <= g->n_listings);
	for (struct map_entry *e = map_next(&g->nodes, NULL); e; e = map_next(&g->nodes, e)) {
		struct gc_node *n = e->value;

		if (n->is_virtual || n->listing >= listing) {
			continue;
		}
		const struct gc_ref ref = gc_node_ref(n);

		if (str_eq(ref.kind, kind) && str_eq(ref.api_version, api_version)) {
			if (gc_ref_may_live_elsewhere(&ref)) {
				remove_absent(g, n, &ref); /* a read that does not find it will prove nothing */
			} else {
				remove_node(g, n);
			}
		}
	}
}

/* Attempts the dependents whose references name exactly this absent object. */
static void attempt_matches(struct gc_graph *g, const struct gc_node *n, const struct gc_ref *absent)
{
	list_for_each(it, &n->dependents) {
		const struct gc_edge *e = list_entry(it, struct gc_edge, link);
		if (gc_edge_matches(e, absent).has_match) {
			gc_absent_add(&g->absent, absent);
			gc_graph_attempt(g, e->dependent);
		}
	}
}

/* Other dependents mean another object by this uid, so the node stays. If it had the denied
 * name, it takes the next one. */
static void rename_virtual(struct gc_graph *g, struct gc_node *n, const struct gc_ref *denied)
{
	assert(n->is_virtual);
	const struct gc_ref known = gc_node_ref(n);
	struct gc_ref next;

	attempt_matches(g, n, denied);
	if (gc_ref_eq(&known, denied) && gc_node_alternate(n, denied, &next)) {
		gc_node_name(n, &next);
	}
}

void gc_graph_deny(struct gc_graph *g, const struct gc_ref *r)
{
	struct gc_node *n = graph_find(g, r->uid);

	if (!n) {
		return;
	}
	const struct gc_ref known = gc_node_ref(n);

	if (n->is_virtual && gc_node_has_mismatch(n, r)) {
		rename_virtual(g, n, r);
	} else if (!n->is_virtual && !gc_ref_eq(&known, r)) {
		attempt_matches(g, n, r); /* the request named the uid with another name than the object has */
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
	const struct gc_ref ref = gc_node_ref(n);

	*ret = (struct gc_item){
		.ref = gc_ref_dup(&ref, a),
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
		const struct gc_ref ref = gc_node_ref(list_entry(it, struct gc_edge, link)->dependent);
		(*ret)[i++] = gc_ref_dup(&ref, a);
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
			gc_graph_attempt(g, e->dependent);
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
