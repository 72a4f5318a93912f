/* Owners are uids, but references may give one uid different names: by mistake, or by intent to
 * have an innocent object deleted. So each reference keeps its own coordinates, and one owner is
 * tried by all names that are given before it counts as absent (kube's
 * getAlternateOwnerIdentity). */
#include "controllers/gc/gc_node.h"

#include <stdlib.h>

/* ---- edges ---- */

void gc_edge_link(struct gc_edge *e, struct gc_node *owner)
{
	e->node = owner;
	list_append(&owner->dependents, &e->link);
	owner->n_dependents++;
}

void gc_edge_unlink(struct gc_edge *e)
{
	if (e->node) {
		list_remove(&e->link);
		e->node->n_dependents--;
		e->node = NULL;
	}
}

static int edge_cmp(const void *a, const void *b)
{
	const struct gc_edge *left = a, *right = b;
	int order = str_cmp(left->owner.ref.uid, right->owner.ref.uid);
	return order ? order : (left->place > right->place) - (left->place < right->place);
}

struct gc_edge *gc_edges_new(struct gc_node *dependent, const struct gc_owner *owners, size_t n)
{
	struct gc_edge *edges = mem_array(n, sizeof(*edges));

	for (size_t i = 0; i < n; i++) {
		edges[i].owner.blocks = owners[i].blocks;
		edges[i].text = gc_ref_pack(&owners[i].ref, &edges[i].owner.ref);
		edges[i].dependent = dependent;
		edges[i].place = i;
	}
	/* By uid, so that old and new references can be compared in one walk. */
	qsort(edges, n, sizeof(*edges), edge_cmp);
	for (size_t i = 0; i < n; i++) {
		list_init(&edges[i].link); /* only now that they stay where they are */
	}
	return edges;
}

void gc_edges_free(struct gc_edge *edges, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		gc_edge_unlink(&edges[i]);
		mem_free(edges[i].text);
	}
	mem_free(edges);
}

struct gc_bundle gc_bundle_at(struct gc_edge *edges, size_t n, size_t at)
{
	struct gc_bundle b = {.edges = at < n ? edges + at : NULL};

	while (at + b.n < n && str_eq(b.edges[b.n].owner.ref.uid, b.edges[0].owner.ref.uid)) {
		b.n++;
	}
	return b;
}

struct gc_bundle gc_bundle_of(const struct gc_edge *first)
{
	const struct gc_node *n = first->dependent;
	return gc_bundle_at(n->edges, n->n_edges, (size_t)(first - n->edges));
}

bool gc_bundle_blocks(struct gc_bundle b)
{
	for (size_t i = 0; i < b.n; i++) {
		if (b.edges[i].owner.blocks) {
			return true;
		}
	}
	return false;
}

/* ---- nodes ---- */

void gc_node_name(struct gc_node *n, const struct gc_ref *r)
{
	char *text = gc_ref_pack(r, &n->ref);

	mem_free(n->text);
	n->text = text;
}

struct gc_node *gc_node_new(const struct gc_ref *r)
{
	struct gc_node *n = mem_new(struct gc_node);

	list_init(&n->dependents);
	gc_node_name(n, r);
	return n;
}

struct gc_node *gc_node_free(struct gc_node *n)
{
	if (!n) {
		return NULL;
	}
	list_for_each_safe(it, &n->dependents) {
		gc_edge_unlink(list_entry(it, struct gc_edge, link));
	}
	gc_edges_free(n->edges, n->n_edges);
	mem_free(n->text);
	mem_free(n);
	return NULL;
}

/* ---- which of the names of an owner is right ---- */

struct gc_matches gc_edge_matches(const struct gc_edge *first, const struct gc_ref *owner)
{
	struct gc_bundle b = gc_bundle_of(first);
	struct gc_matches m = {0};

	if (owner->ns.n > 0 && !str_eq(owner->ns, first->dependent->ref.ns)) {
		return (struct gc_matches){.has_mismatch = true};
	}
	for (size_t i = 0; i < b.n; i++) {
		if (gc_ref_eq_coordinates(&b.edges[i].owner.ref, owner)) {
			m.has_match = true;
		} else {
			m.has_mismatch = true;
		}
	}
	return m;
}

bool gc_node_has_mismatch(const struct gc_node *n, const struct gc_ref *owner)
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
		r.ns = s->absent->ns; /* of this kind it is known now that it has no namespace */
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

bool gc_node_alternate(const struct gc_node *n, const struct gc_ref *absent, struct gc_ref *ret)
{
	struct alternates s = {.absent = absent};

	list_for_each(it, &n->dependents) {
		struct gc_bundle b = gc_bundle_of(list_entry(it, struct gc_edge, link));
		for (size_t i = 0; i < b.n; i++) {
			alternates_add(&s, &b.edges[i].owner.ref);
		}
	}
	*ret = s.has_next ? s.next : s.first;
	return s.has_first;
}
