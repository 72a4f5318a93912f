/* The graph against a naive model of it: tables and loops, everything looked at again for every event. */
#include "controllers/gc/gc_graph.h"
#include "tests/unit/check.h"

#include <stdlib.h>

enum { N = 7, REFS = 3, ROUNDS = 400, EVENTS = 120 };

/* ---- the model ---- */

struct node {
	bool is_there, is_virtual, is_waiting, is_orphaning;
	struct gc_ref ref;
	struct gc_owner owners[REFS];
	size_t n_owners;
};

struct model {
	struct node nodes[N];
	bool edges[N][N]; /* dependent, owner */
	char said[3][N];  /* by enum say and object: has it been said? */
};

enum say { SAY_DELETE, SAY_ORPHAN, SAY_INVALID };

static const char *const uids[N] = {"a", "b", "c", "d", "e", "f", "g"};

static int index_of(struct str uid)
{
	for (int i = 0; i < N; i++) {
		if (str_is(uid, uids[i])) {
			return i;
		}
	}
	fail();
	return -1;
}

static void say(struct model *m, enum say what, int i)
{
	m->said[what][i] = 1;
}

static bool blocks(const struct node *n, int owner)
{
	for (size_t k = 0; k < n->n_owners; k++) {
		if (n->owners[k].blocks && str_is(n->owners[k].ref.uid, uids[owner])) {
			return true;
		}
	}
	return false;
}

static bool refers(const struct gc_owner *owners, size_t n, int owner)
{
	for (size_t k = 0; k < n; k++) {
		if (str_is(owners[k].ref.uid, uids[owner])) {
			return true;
		}
	}
	return false;
}

static bool means(const struct node *dependent, const struct gc_owner *o, const struct gc_ref *owner)
{
	return gc_ref_eq_coordinates(&o->ref, owner) && (owner->ns.n == 0 || str_eq(owner->ns, dependent->ref.ns));
}

/* Does any (is_match) or does any not (!is_match) of d's references to that uid mean that owner? */
static bool any_means(const struct node *d, const struct gc_ref *owner, bool is_match)
{
	for (size_t k = 0; k < d->n_owners; k++) {
		if (str_eq(d->owners[k].ref.uid, owner->uid) && means(d, &d->owners[k], owner) == is_match) {
			return true;
		}
	}
	return false;
}

static void model_materialize(struct model *m, int i, const struct gc_ref *ref)
{
	m->nodes[i].is_virtual = false;
	for (int d = 0; d < N && !gc_ref_eq(ref, &m->nodes[i].ref); d++) {
		if (m->edges[d][i] && any_means(&m->nodes[d], ref, false)) {
			say(m, SAY_DELETE, d);
			if (ref->ns.n > 0 && !str_eq(ref->ns, m->nodes[d].ref.ns)) {
				say(m, SAY_INVALID, d);
			}
		}
	}
	m->nodes[i].ref = *ref;
}

static void model_refer(struct model *m, int i, int owner)
{
	struct node *n = &m->nodes[i], *o = &m->nodes[owner];

	for (size_t k = 0; k < n->n_owners; k++) {
		const struct gc_ref *r = &n->owners[k].ref;
		if (!str_is(r->uid, uids[owner])) {
			continue;
		}
		if (!o->is_there) {
			*o = (struct node){.is_there = true, .is_virtual = true, .ref = *r};
			say(m, SAY_DELETE, owner);
		}
		bool is_elsewhere = !str_eq(o->ref.ns, n->ref.ns);
		if (o->ref.ns.n > 0 && is_elsewhere) {
			say(m, SAY_DELETE, i);
			if (!o->is_virtual) {
				say(m, SAY_INVALID, i);
			}
		} else if (!gc_ref_eq_coordinates(r, &o->ref) || (o->is_virtual && is_elsewhere)) {
			say(m, SAY_DELETE, i);
		}
	}
	m->edges[i][owner] = true;
}

static void model_set_owners(struct model *m, int i, const struct gc_object *o)
{
	struct node old = m->nodes[i];

	memcpy(m->nodes[i].owners, o->owners, o->n_owners * sizeof(*o->owners));
	m->nodes[i].n_owners = o->n_owners;
	for (int owner = 0; owner < N; owner++) {
		bool had = refers(old.owners, old.n_owners, owner), has = refers(o->owners, o->n_owners, owner);
		if (had && m->edges[i][owner] && blocks(&old, owner) && !blocks(&m->nodes[i], owner)) {
			say(m, SAY_DELETE, owner);
		}
		if (had && !has) {
			m->edges[i][owner] = false;
		}
		if (has && !had) {
			model_refer(m, i, owner);
		}
	}
}

static void model_observe(struct model *m, const struct gc_object *o)
{
	int i = index_of(o->ref.uid);
	struct node *n = &m->nodes[i];

	if (!n->is_there) {
		*n = (struct node){.is_there = true, .ref = o->ref};
	} else if (n->is_virtual) {
		model_materialize(m, i, &o->ref);
	}
	model_set_owners(m, i, o);
	bool was_orphaning = n->is_orphaning, was_waiting = n->is_waiting;
	n->is_orphaning = o->is_deleting && o->has_orphan_finalizer;
	n->is_waiting = o->is_deleting && o->has_foreground_finalizer;
	if (n->is_orphaning && !was_orphaning) {
		say(m, SAY_ORPHAN, i);
	} else if (n->is_waiting && !was_waiting) {
		say(m, SAY_DELETE, i);
		for (int d = 0; d < N; d++) {
			if (m->edges[d][i]) {
				say(m, SAY_DELETE, d);
			}
		}
	}
}

static void model_remove(struct model *m, int i)
{
	for (int k = 0; k < N; k++) {
		if (m->edges[k][i]) {
			say(m, SAY_DELETE, k);
		}
		if (m->edges[i][k] && m->nodes[k].is_waiting) {
			say(m, SAY_DELETE, k);
		}
	}
	for (int k = 0; k < N; k++) {
		m->edges[k][i] = m->edges[i][k] = false;
	}
	m->nodes[i] = (struct node){0};
}

/* Every name that a dependent gives but the denied one: the least behind it, or else the least. */
static bool model_next_name(const struct model *m, int i, const struct gc_ref *denied, struct gc_ref *ret)
{
	const struct gc_ref none = {.kind = STR("zzz")};
	struct gc_ref first = none, next = none;

	for (int d = 0; d < N; d++) {
		for (size_t k = 0; m->edges[d][i] && k < m->nodes[d].n_owners; k++) {
			struct gc_ref r = m->nodes[d].owners[k].ref;
			if (!str_eq(r.uid, denied->uid)) {
				continue;
			}
			if (denied->ns.n == 0 && str_eq(r.kind, denied->kind) && str_eq(r.api_version, denied->api_version)) {
				r.ns = (struct str){NULL, 0};
			}
			int order = gc_ref_cmp(&r, denied);
			first = order != 0 && gc_ref_cmp(&r, &first) < 0 ? r : first;
			next = order > 0 && gc_ref_cmp(&r, &next) < 0 ? r : next;
		}
	}
	*ret = str_is(next.kind, "zzz") ? first : next;
	return !str_is(ret->kind, "zzz");
}

static void model_deny(struct model *m, const struct gc_ref *denied)
{
	int i = index_of(denied->uid);
	struct node *n = &m->nodes[i];
	bool has_mismatch = false;

	for (int d = 0; d < N; d++) {
		has_mismatch |= m->edges[d][i] && any_means(&m->nodes[d], denied, false);
	}
	bool is_denied_name = gc_ref_eq(&n->ref, denied);
	if (n->is_virtual ? !has_mismatch : is_denied_name) {
		model_remove(m, i);
		return;
	}
	for (int d = 0; d < N; d++) {
		if (m->edges[d][i] && any_means(&m->nodes[d], denied, true)) {
			say(m, SAY_DELETE, d);
		}
	}
	struct gc_ref next;
	if (n->is_virtual && is_denied_name && model_next_name(m, i, denied, &next)) {
		n->ref = next;
	}
}

/* ---- both ---- */

struct both {
	struct gc_graph *graph;
	struct model model;
	char said[3][N];
	uint64_t version;
	unsigned seed;
};

static void on_delete(void *context, struct str uid)
{
	((struct both *)context)->said[SAY_DELETE][index_of(uid)] = 1;
}

static void on_orphan(void *context, struct str uid)
{
	((struct both *)context)->said[SAY_ORPHAN][index_of(uid)] = 1;
}

static void on_invalid_namespace(void *context, const struct gc_ref *object, const struct gc_ref *owner _unused_)
{
	((struct both *)context)->said[SAY_INVALID][index_of(object->uid)] = 1;
}

static const struct gc_sink sink = {on_delete, on_orphan, on_invalid_namespace};

static int pick(struct both *b, int n)
{
	return rand_r(&b->seed) % n;
}

/* a to d live in two namespaces, the others in none. */
static struct gc_ref true_name(int i)
{
	const char *ns = i >= 4 ? "" : i % 2 ? "odd" : "even";
	return (struct gc_ref){STR("v1"), i >= 4 ? STR("Box") : STR("Thing"), str_of(ns), str_of(uids[i]), str_of(uids[i])};
}

/* As a dependent in that namespace names it: mostly rightly. */
static struct gc_ref some_name(struct both *b, int i, struct str ns)
{
	struct gc_ref r = true_name(i);

	r.ns = ns;
	if (pick(b, 6) == 0) {
		r.name = pick(b, 2) ? STR("x") : STR("y");
	}
	if (pick(b, 8) == 0) {
		r.kind = pick(b, 2) ? STR("Box") : STR("Thing");
	}
	return r;
}

static void step_observe(struct both *b, int i)
{
	struct gc_owner owners[REFS];
	struct gc_object o = {
		.ref = true_name(i), .version = ++b->version, .owners = owners, .n_owners = (size_t)pick(b, REFS + 1)};

	for (size_t k = 0; k < o.n_owners; k++) {
		owners[k] = (struct gc_owner){some_name(b, pick(b, N), o.ref.ns), pick(b, 2)};
	}
	o.is_deleting = pick(b, 3) == 0;
	o.has_orphan_finalizer = pick(b, 4) == 0;
	o.has_foreground_finalizer = pick(b, 2) == 0;
	model_observe(&b->model, &o);
	assert_int_equal(gc_graph_observe(b->graph, &o), 0);
}

static void step_forget(struct both *b, int i)
{
	struct gc_ref r = true_name(i);

	if (b->model.nodes[i].is_there) {
		model_remove(&b->model, i);
	}
	gc_graph_forget(b->graph, &r, pick(b, 2));
}

static void step_deny(struct both *b, int i)
{
	const struct node *n = &b->model.nodes[i];
	const struct gc_ref r = pick(b, 3) ? n->ref : some_name(b, i, pick(b, 2) ? n->ref.ns : STR("odd"));

	if (n->is_there) {
		gc_graph_deny(b->graph, &r);
		model_deny(&b->model, &r);
	}
}

static void compare_node(struct both *b, int i)
{
	_cleanup_(arena_done) struct arena a;
	const struct node *n = &b->model.nodes[i];
	struct gc_item item;
	struct gc_ref *dependents = NULL;
	size_t n_dependents, n_wanted = 0, n_blockers = 0;
	arena_init(&a, 1 << 20);

	assert_int_equal(gc_graph_get(b->graph, str_of(uids[i]), &a, &item), n->is_there);
	if (!n->is_there) {
		return;
	}
	assert_true(gc_ref_eq(&item.ref, &n->ref));
	assert_int_equal(item.is_virtual, n->is_virtual);
	assert_int_equal(item.is_waiting, n->is_waiting);
	n_dependents = gc_graph_dependents(b->graph, str_of(uids[i]), &a, &dependents);
	for (size_t k = 0; k < n_dependents; k++) {
		assert_true(b->model.edges[index_of(dependents[k].uid)][i]);
	}
	for (int d = 0; d < N; d++) {
		n_wanted += b->model.edges[d][i];
		n_blockers += b->model.edges[d][i] && blocks(&b->model.nodes[d], i);
	}
	assert_int_equal(n_dependents, n_wanted);
	assert_int_equal(item.n_dependents, n_wanted);
	assert_int_equal(gc_graph_attempt_blockers(b->graph, str_of(uids[i])), n_blockers);
}

static void step(struct both *b)
{
	static void (*const steps[])(struct both *, int) = {step_observe, step_observe, step_observe, step_forget, step_deny};

	memset(b->said, 0, sizeof(b->said));
	memset(b->model.said, 0, sizeof(b->model.said));
	steps[pick(b, ARRAY_SIZE(steps))](b, pick(b, N));
	assert_memory_equal(b->said, b->model.said, sizeof(b->said));
	for (int i = 0; i < N; i++) {
		compare_node(b, i);
	}
}

static void test_gc_graph__is_what_a_naive_model_says(void **state _unused_)
{
	for (unsigned seed = 1; seed <= ROUNDS; seed++) {
		struct both b = {.seed = seed};
		b.graph = gc_graph_new(SIZE_MAX, 4, &sink, &b);
		for (int i = 0; i < EVENTS; i++) {
			step(&b);
		}
		gc_graph_free(b.graph);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_gc_graph__is_what_a_naive_model_says),
	};
	return cmocka_run_group_tests_name("gc_random", tests, NULL, NULL);
}
