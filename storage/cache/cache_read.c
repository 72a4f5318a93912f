/* A plan costs a few searches in the index, because nodes know how many entries are below them:
 * each term's cost is known before anything is walked. Terms are only a way to find candidates. The
 * whole filter is asked of each of them, so a collision of hashes cannot show a wrong object. */
#include "storage/cache/cache_private.h"
#include <assert.h>

enum {
	MAX_STREAMS = 20, /* values of `k in (...)` merged; with more, another term or all objects are walked */
	/* Bytes of the stack: namespace and name have 317 together. Beyond is for odd keys in
	 * etcd. */
	KEY_ROOM = 1024,
	KEY_CEILING = 16 * 1024 * 1024,
};

/* A range of one of the two trees. */
struct stream {
	struct ptree_iter it;
	size_t end;                /* rank */
	const struct cached *head; /* not handed out yet; NULL: at the end */
};

/* What struct cache_iter hides. */
struct walk {
	struct stream streams[MAX_STREAMS];
	size_t n_streams;
	const struct cached *last; /* handed out */
	struct range all;          /* of the objects tree, without regard to selectors */
	struct str name;           /* nonempty: that name in every namespace; all.first moves on */
};

static_assert(sizeof(struct walk) <= sizeof(((struct cache_iter *)NULL)->state), "state of struct cache_iter");

static bool labels_match(const struct label_selector *s, const struct cached *o)
{
	struct label few[16], *labels = few;

	if (s->n == 0) {
		return true;
	}
	if (o->n_labels > ARRAY_SIZE(few)) {
		labels = mem_array(o->n_labels, sizeof(*labels));
	}
	few[0] = (struct label){0}; /* gcc does not see that what is unset is not read */
	for (size_t i = 0; i < o->n_labels; i++) {
		labels[i] = cached_label(o, i);
	}
	bool do_match = label_selector_matches(s, labels, o->n_labels);
	if (labels != few) {
		mem_free(labels);
	}
	return do_match;
}

static bool fields_match(const struct field_selector *s, const struct cached *o)
{
	size_t n_selectable = o->kind->n_selectable, n = n_selectable + o->n_computed;
	struct str few[16], *values = few;

	if (s->n == 0) {
		return true;
	}
	if (n > ARRAY_SIZE(few)) {
		values = mem_array(n, sizeof(*values));
	}
	few[0] = (struct str){0};
	for (size_t i = 0; i < n; i++) {
		values[i] = cached_value(o, i);
	}
	struct field_values all = {values, values + n_selectable, o->n_computed};
	bool do_match = field_selector_matches(s, o->name, o->ns, &all);
	if (values != few) {
		mem_free(values);
	}
	return do_match;
}

bool cache_filter_matches(const struct cache_filter *f, const struct cached *o)
{
	if (f->ns.n > 0 && !str_eq(f->ns, o->ns)) {
		return false;
	}
	return (!f->labels || labels_match(f->labels, o)) && (!f->fields || fields_match(f->fields, o));
}

/* ---- keys ---- */

static struct str key_join(struct arena *a, struct str ns, const char *separator, struct str name)
{
	size_t n_separator = strlen(separator);
	char *p = arena_text(a, ns.n + n_separator + name.n + 1);
	struct str key = {p, ns.n + n_separator + name.n};

	memcpy(p, ns.n ? ns.p : "", ns.n);
	memcpy(p + ns.n, separator, n_separator);
	memcpy(p + ns.n + n_separator, name.n ? name.p : "", name.n);
	p[key.n] = '\0';
	return key;
}

static struct str object_key(struct arena *a, struct str ns, struct str name)
{
	return key_join(a, ns, ns.n ? "/" : "", name);
}

/* The least key behind this one. */
static struct str key_behind(struct str key)
{
	return (struct str){key.p, key.n + 1}; /* key_join() leaves a NUL there */
}

/* Between which keys to look: first is included, last is not; empty is open. */
struct bounds {
	struct str first, last;
};

static struct bounds bounds_of_namespace(struct arena *a, struct str ns)
{
	if (ns.n == 0) {
		return (struct bounds){0};
	}
	return (struct bounds){key_join(a, ns, "/", (struct str){0}), key_join(a, ns, "0", (struct str){0})};
}

static void bounds_start(struct bounds *b, struct str first)
{
	if (str_cmp(first, b->first) > 0) {
		b->first = first;
	}
}

static struct str required_field(const struct cache_filter *f, int field)
{
	for (size_t i = 0; f->fields && i < f->fields->n; i++) {
		if (f->fields->v[i].field == field && !f->fields->v[i].is_not) {
			return f->fields->v[i].value;
		}
	}
	return (struct str){NULL, 0};
}

/* ---- planning ---- */

/* What to walk: all objects in bounds, or the union of some terms' entries in bounds. */
struct plan {
	uint64_t terms[MAX_STREAMS];
	struct range ranges[MAX_STREAMS];
	size_t n_terms; /* 0: objects */
	size_t cost;    /* objects visited */
};

static void plan_add(struct plan *p, const struct roots *r, const struct bounds *b, uint64_t term)
{
	struct range range = roots_term_range(r, term, b->first, b->last);

	p->terms[p->n_terms] = term;
	p->ranges[p->n_terms++] = range;
	p->cost += range.last > range.first ? range.last - range.first : 0;
}

static bool plan_requirement(struct plan *p, const struct roots *r, const struct bounds *b, const struct requirement *q)
{
	if (q->op == SELECTOR_EXISTS) {
		plan_add(p, r, b, term_label_exists(q->key));
		return true;
	}
	if (q->op != SELECTOR_IN || q->n_values > MAX_STREAMS) {
		return false;
	}
	for (size_t i = 0; i < q->n_values; i++) {
		plan_add(p, r, b, term_label(q->key, q->values[i]));
	}
	return true;
}

static bool plan_field(struct plan *p, const struct roots *r, const struct bounds *b, const struct field_term *t)
{
	if (t->field == FIELD_TERM_COMPUTED && !t->is_not && str_is(t->value, "true")) {
		plan_add(p, r, b, term_computed(t->path));
		return true;
	}
	if (t->is_not || t->field < 0 || t->value.n == 0) {
		return false;
	}
	plan_add(p, r, b, term_field((size_t)t->field, t->value));
	return true;
}

static void plan_take_better(struct plan *best, const struct plan *other)
{
	if (other->cost < best->cost) {
		*best = *other;
	}
}

/* The cheapest way to visit everything that can match. Other terms are checked object by object. */
static struct plan plan_make(const struct roots *r, const struct bounds *b, const struct cache_filter *f, size_t n_objects)
{
	struct plan best = {.cost = n_objects}, other;

	for (size_t i = 0; f->labels && i < f->labels->n; i++) {
		other = (struct plan){0};
		if (plan_requirement(&other, r, b, &f->labels->v[i])) {
			plan_take_better(&best, &other);
		}
	}
	for (size_t i = 0; f->fields && i < f->fields->n; i++) {
		other = (struct plan){0};
		if (plan_field(&other, r, b, &f->fields->v[i])) {
			plan_take_better(&best, &other);
		}
	}
	return best;
}

/* ---- walking ---- */

static void stream_advance(struct stream *s)
{
	const struct ptree_entry *e = s->it.rank < s->end ? ptree_iter_next(&s->it) : NULL;

	s->head = e ? e->item : NULL;
}

static void walk_add(struct walk *w, const struct ptree *tree, struct range range)
{
	struct stream *s = &w->streams[w->n_streams++];

	ptree_iter_init(&s->it, tree, range.first);
	s->end = range.last;
	stream_advance(s);
}

static void walk_plan(struct walk *w, const struct roots *r, const struct bounds *b, const struct cache_filter *f)
{
	struct range objects = roots_range(r, b->first, b->last);
	size_t n_objects = objects.last > objects.first ? objects.last - objects.first : 0;
	struct plan p = plan_make(r, b, f, n_objects);

	for (size_t i = 0; i < p.n_terms; i++) {
		walk_add(w, &r->index, p.ranges[i]);
	}
	if (p.n_terms == 0) {
		walk_add(w, &r->objects, objects);
	}
}

static const struct cached *object_at(const struct roots *r, size_t rank)
{
	struct ptree_iter it;
	const struct ptree_entry *e;

	ptree_iter_init(&it, &r->objects, rank);
	e = ptree_iter_next(&it);
	return e ? e->item : NULL;
}

/* One namespace after the other: jump to the name in it, then behind the namespace. */
static const struct cached *walk_next_named(struct walk *w, const struct roots *r)
{
	while (w->all.first < w->all.last) {
		const struct cached *o = object_at(r, w->all.first), *named;
		_cleanup_(arena_done) struct arena a;
		char room[KEY_ROOM];
		struct str key, end;
		size_t rank;

		arena_init_with(&a, KEY_CEILING, room, sizeof(room));
		key = object_key(&a, o->ns, w->name);
		end = key_join(&a, o->ns, "0", (struct str){0});
		rank = ptree_rank(&r->objects, &key);
		named = rank >= w->all.first ? object_at(r, rank) : NULL;
		w->all.first = ptree_rank(&r->objects, &end);
		if (named && str_eq(cached_key(named), key)) {
			return named;
		}
	}
	return NULL;
}

static const struct cached *walk_next(struct walk *w)
{
	struct stream *least = NULL;
	const struct cached *o;

	for (size_t i = 0; i < w->n_streams; i++) {
		struct stream *s = &w->streams[i];

		if (s->head && (!least || str_cmp(cached_key(s->head), cached_key(least->head)) < 0)) {
			least = s;
		}
	}
	if (!least) {
		return NULL;
	}
	o = least->head;
	stream_advance(least);
	return o;
}

static struct walk *iter_walk(const struct cache_iter *it)
{
	return (struct walk *)(uintptr_t)it->state;
}

void cache_iter_init(struct cache_iter *it, const struct cache_snapshot *s, const struct cache_filter *f, struct str from)
{
	struct str name = required_field(f, FIELD_TERM_NAME), ns = f->ns.n ? f->ns : required_field(f, FIELD_TERM_NAMESPACE);
	_cleanup_(arena_done) struct arena a;
	struct walk *w = iter_walk(it);
	char room[KEY_ROOM];
	struct bounds b;

	arena_init_with(&a, KEY_CEILING, room, sizeof(room));
	it->snapshot = s;
	it->filter = *f;
	*w = (struct walk){0};
	b = bounds_of_namespace(&a, f->ns);
	if (from.n > 0) {
		bounds_start(&b, from);
	}
	w->all = roots_range(&s->roots, b.first, b.last);
	if (name.n > 0 && ns.n == 0 && s->kind->is_namespaced) {
		w->name = name;
		return;
	}
	if (ns.n > 0 && f->ns.n == 0) {
		struct str first = b.first;

		b = bounds_of_namespace(&a, ns);
		bounds_start(&b, first);
	}
	if (name.n > 0) {
		struct str key = object_key(&a, ns, name);

		bounds_start(&b, key);
		b.last = key_behind(key);
	}
	walk_plan(w, &s->roots, &b, f);
}

const struct cached *cache_iter_next(struct cache_iter *it)
{
	const struct roots *r = &it->snapshot->roots;
	struct walk *w = iter_walk(it);
	const struct cached *o;

	do {
		o = w->name.n > 0 ? walk_next_named(w, r) : walk_next(w);
	} while (o && (o == w->last || !cache_filter_matches(&it->filter, o)));
	if (o) {
		w->last = o;
	}
	return o;
}

size_t cache_iter_remaining(const struct cache_iter *it)
{
	const struct walk *w = iter_walk(it);
	struct str key;
	size_t rank;

	if (!w->last) {
		return w->all.last > w->all.first ? w->all.last - w->all.first : 0;
	}
	key = cached_key(w->last);
	rank = ptree_rank(&it->snapshot->roots.objects, &key);
	return w->all.last > rank ? w->all.last - rank - 1 : 0;
}

size_t cache_snapshot_count(const struct cache_snapshot *s, struct str ns)
{
	_cleanup_(arena_done) struct arena a;
	struct range range;
	char room[KEY_ROOM];
	struct bounds b;

	arena_init_with(&a, KEY_CEILING, room, sizeof(room));
	b = bounds_of_namespace(&a, ns);
	range = roots_range(&s->roots, b.first, b.last);
	return range.last - range.first;
}

size_t cache_snapshot_count_computed(const struct cache_snapshot *s, struct str ns, struct str path)
{
	_cleanup_(arena_done) struct arena a;
	char room[KEY_ROOM];

	arena_init_with(&a, KEY_CEILING, room, sizeof(room));
	struct bounds b = bounds_of_namespace(&a, ns);
	struct range range = roots_term_range(&s->roots, term_computed(path), b.first, b.last);
	return range.last - range.first;
}

/* ---- one object ---- */

struct cached *cache_get(struct cache *c, const struct kind *kind, struct str ns, struct str name)
{
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *s = cache_snapshot(c, kind);
	_cleanup_(arena_done) struct arena a;
	char room[KEY_ROOM];

	arena_init_with(&a, KEY_CEILING, room, sizeof(room));
	return s ? cached_ref(roots_get(&s->roots, object_key(&a, ns, name))) : NULL;
}
