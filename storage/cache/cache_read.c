/* Look-ups in one immutable state of a kind: its trees, the index of its labels and fields, and the
 * walk that finds what a filter matches.
 *
 * Terms are hashes, so index entries of all labels have one size and compare without a look at the
 * object. A load sorts them by bytes instead of by comparing. That is linear, and stable: objects
 * come in key order, so each term's entries do, too.
 *
 * A plan costs a few searches in the index, because nodes know how many entries are below them.
 * So each term's cost is known before the walk. Terms only find candidates. The whole filter is
 * checked for each candidate, so a collision of hashes cannot show a wrong object. */
#include "storage/cache/cache_private.h"

#include <assert.h>
#include <stdlib.h>

/* ---- terms ---- */

enum term_space { TERM_LABEL = 1, TERM_LABEL_EXISTS, TERM_FIELD, TERM_COMPUTED };

/* str_hash() is keyed; this only keeps (space, a, b) apart. Never UINT64_MAX, so that term + 1 is the end of a term's range. */
static uint64_t term_mix(uint64_t space, uint64_t a, uint64_t b)
{
	uint64_t x = a ^ (b * 0x9e3779b97f4a7c15ULL + space);

	x = (x ^ x >> 32) * 0xd6e8feb86659fd93ULL;
	x = (x ^ x >> 32) * 0xd6e8feb86659fd93ULL;
	return (x ^ x >> 32) >> 1;
}

static uint64_t term_of_key(uint64_t key_hash)
{
	return term_mix(TERM_LABEL_EXISTS, key_hash, 0);
}

static uint64_t term_of_value(uint64_t key_hash, struct str value)
{
	return term_mix(TERM_LABEL, key_hash, str_hash(value));
}

/* A term is the hash of what an equality or an existence test looks for. Collisions (2^-64, and the hash is seeded) merely let an
 * iterator visit an object that its filter then refuses. */
static uint64_t term_label(struct str key, struct str value)
{
	return term_of_value(str_hash(key), value);
}

static uint64_t term_label_exists(struct str key)
{
	return term_of_key(str_hash(key));
}

static uint64_t term_field(size_t field, struct str value)
{
	return term_mix(TERM_FIELD, field, str_hash(value));
}

static uint64_t term_computed(struct str path)
{
	return term_mix(TERM_COMPUTED, str_hash(path), 0);
}

/* The terms of one object: sorted, each once. */
struct terms {
	uint64_t few[64];
	uint64_t *v;
	size_t n;
};

static int term_cmp(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static size_t terms_max(const struct cached *o)
{
	return o->n_labels * 2 + o->kind->n_selectable + o->n_computed;
}

/* Collects an object's terms, in any order, and returns how many. Empty field values are not
 * indexed: most objects have them, and no one searches for them. */
static size_t terms_collect(uint64_t *out, const struct cached *o)
{
	size_t n = 0;

	for (size_t i = 0; i < o->n_labels; i++) {
		struct label label = cached_label(o, i);
		uint64_t key_hash = str_hash(label.key);

		out[n++] = term_of_key(key_hash);
		out[n++] = term_of_value(key_hash, label.value);
	}
	for (size_t i = 0; i < o->kind->n_selectable; i++) {
		struct str value = cached_value(o, i);

		if (value.n > 0) {
			out[n++] = term_field(i, value);
		}
	}
	for (size_t i = 0; i < o->n_computed; i++) {
		out[n++] = term_computed(cached_computed(o, i));
	}
	return n;
}

static uint64_t *terms_room(struct terms *t, const struct cached *o)
{
	size_t max = terms_max(o);

	return max <= ARRAY_SIZE(t->few) ? t->few : mem_array(max, sizeof(*t->v));
}

static void terms_init(struct terms *t, const struct cached *o)
{
	size_t n = 0;

	t->n = 0;
	t->v = o ? terms_room(t, o) : t->few;
	if (!o) {
		return;
	}
	t->n = terms_collect(t->v, o);
	qsort(t->v, t->n, sizeof(*t->v), term_cmp);
	for (size_t i = 0; i < t->n; i++) {
		if (i == 0 || t->v[i] != t->v[i - 1]) {
			t->v[n++] = t->v[i];
		}
	}
	t->n = n;
}

static void terms_done(struct terms *t)
{
	if (t->v != t->few) {
		mem_free(t->v);
	}
}

static bool terms_have(const struct terms *t, uint64_t term)
{
	return bsearch(&term, t->v, t->n, sizeof(term), term_cmp) != NULL;
}

/* ---- trees ---- */

struct index_key {
	uint64_t term;
	struct str key;
};

static int object_cmp(const void *key, const struct ptree_entry *e)
{
	return str_cmp(*(const struct str *)key, cached_key(e->item));
}

static int index_cmp(const void *key, const struct ptree_entry *e)
{
	const struct index_key *k = key;

	if (k->term != e->tag) {
		return k->term < e->tag ? -1 : 1;
	}
	return str_cmp(k->key, cached_key(e->item));
}

static void object_ref(const struct ptree_entry *e)
{
	cached_ref(e->item);
}

static void object_unref(const struct ptree_entry *e)
{
	cached_unref(e->item);
}

static const struct ptree_ops object_ops = {object_cmp, object_ref, object_unref};
/* The index holds no references: the objects' tree of the same snapshot does. */
static const struct ptree_ops index_ops = {index_cmp, NULL, NULL};

void roots_init(struct roots *r)
{
	ptree_init(&r->objects, &object_ops);
	ptree_init(&r->index, &index_ops);
}

void roots_done(struct roots *r)
{
	ptree_done(&r->index);
	ptree_done(&r->objects);
}

static struct roots roots_share(const struct roots *r)
{
	return (struct roots){ptree_share(&r->objects), ptree_share(&r->index)};
}

struct cached *roots_get(const struct roots *r, struct str key)
{
	const struct ptree_entry *e = ptree_get(&r->objects, &key);

	return e ? e->item : NULL;
}

static void index_replace(struct ptree *index, const struct cached *old, struct cached *now)
{
	struct terms before, after;
	struct index_key k;

	terms_init(&before, old);
	terms_init(&after, now);
	for (size_t i = 0; i < before.n; i++) {
		if (!terms_have(&after, before.v[i])) {
			k = (struct index_key){before.v[i], cached_key(old)};
			ptree_remove(index, &k);
		}
	}
	for (size_t i = 0; i < after.n; i++) {
		k = (struct index_key){after.v[i], cached_key(now)};
		ptree_put(index, &k, (struct ptree_entry){now, after.v[i]});
	}
	terms_done(&before);
	terms_done(&after);
}

/* Replaces an object. The index goes first: it compares by objects that the other tree keeps
 * alive. */
void roots_replace(struct roots *r, struct cached *old, struct cached *now)
{
	struct str key;

	if (!old && !now) {
		return;
	}
	key = cached_key(now ? now : old);
	index_replace(&r->index, old, now);
	if (now) {
		ptree_put(&r->objects, &key, (struct ptree_entry){now, 0});
	} else {
		ptree_remove(&r->objects, &key);
	}
}

/* ---- building the trees of a load ---- */

struct entries {
	struct ptree_entry *v;
	size_t n;
};

static void entries_add(struct entries *e, struct cached *o)
{
	struct terms t;
	uint64_t *terms = terms_room(&t, o);
	size_t n = terms_collect(terms, o);

	for (size_t i = 0; i < n; i++) {
		e->v[e->n++] = (struct ptree_entry){o, terms[i]};
	}
	if (terms != t.few) {
		mem_free(terms);
	}
}

static struct entries entries_of(struct cached **v, size_t n)
{
	struct entries e = {NULL, 0};
	size_t max = 0;

	for (size_t i = 0; i < n; i++) {
		max += terms_max(v[i]);
	}
	e.v = mem_array(max, sizeof(*e.v));
	for (size_t i = 0; i < n; i++) {
		entries_add(&e, v[i]);
	}
	return e;
}

static void sort_by_byte(struct ptree_entry *to, const struct ptree_entry *from, size_t n, unsigned shift)
{
	size_t starts[256] = {0}, sum = 0;

	for (size_t i = 0; i < n; i++) {
		starts[from[i].tag >> shift & 0xff]++;
	}
	for (size_t b = 0; b < ARRAY_SIZE(starts); b++) {
		size_t count = starts[b];

		starts[b] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++) {
		to[starts[from[i].tag >> shift & 0xff]++] = from[i];
	}
}

/* Sorts entries by term. It is stable, and entries come in key order, so no object is needed to
 * order those of one term. */
static void entries_sort(struct entries *e)
{
	struct ptree_entry *spare = mem_array(e->n, sizeof(*spare)), *from = e->v, *to = spare, *swap;

	for (unsigned shift = 0; shift < 64; shift += 8) {
		sort_by_byte(to, from, e->n, shift);
		swap = from;
		from = to;
		to = swap;
	}
	mem_free(spare); /* after eight passes the entries are back where they began */
}

/* Removes duplicates: two labels of one object may have the same term, by collision. */
static void entries_unite_equals(struct entries *e)
{
	size_t n = 0;

	for (size_t i = 0; i < e->n; i++) {
		if (n == 0 || e->v[i].tag != e->v[n - 1].tag || e->v[i].item != e->v[n - 1].item) {
			e->v[n++] = e->v[i];
		}
	}
	e->n = n;
}

void roots_load(struct roots *r, struct cached **v, size_t n)
{
	_cleanup_(mem_freep) struct ptree_entry *objects = mem_array(n, sizeof(*objects));
	struct entries index = entries_of(v, n);

	for (size_t i = 0; i < n; i++) {
		objects[i].item = v[i];
	}
	entries_sort(&index);
	entries_unite_equals(&index);
	ptree_build(&r->objects, objects, n);
	ptree_build(&r->index, index.v, index.n);
	for (size_t i = 0; i < n; i++) {
		cached_unref(v[i]);
	}
	mem_free(index.v);
}

/* ---- ranges ---- */

static struct range roots_range(const struct roots *r, struct str first, struct str last)
{
	return (struct range){
		.first = first.n ? ptree_rank(&r->objects, &first) : 0,
		.last = last.n ? ptree_rank(&r->objects, &last) : ptree_count(&r->objects),
	};
}

static struct range roots_term_range(const struct roots *r, uint64_t term, struct str first, struct str last)
{
	struct index_key from = {term, first}, to = {last.n ? term : term + 1, last};

	return (struct range){ptree_rank(&r->index, &from), ptree_rank(&r->index, &to)};
}

/* ---- snapshots ---- */

struct cache_snapshot *snapshot_new(const struct kind *kind, int64_t revision, const struct roots *roots)
{
	struct cache_snapshot *s = mem_new(struct cache_snapshot);

	atomic_init(&s->refs, 1);
	s->kind = kind;
	s->revision = revision;
	s->roots = roots_share(roots);
	return s;
}

struct cache_snapshot *snapshot_ref(struct cache_snapshot *s)
{
	if (s) {
		atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	}
	return s;
}

struct cache_snapshot *cache_snapshot_unref(struct cache_snapshot *s)
{
	if (s && atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) == 1) {
		roots_done(&s->roots);
		mem_free(s);
	}
	return NULL;
}

int64_t cache_snapshot_revision(const struct cache_snapshot *s)
{
	return s->revision;
}

/* ---- filters ---- */

enum {
	MAX_STREAMS = 20, /* values of `k in (...)` merged; with more, another term or all objects are walked */
	/* Bytes of the stack: namespace and name have 317 together. Only odd keys in etcd need
	 * more. */
	KEY_ROOM = 1024,
	/* Bytes of a key: of a namespace and a name, so that none comes near. */
	KEY_CEILING = 16 * 1024 * 1024,
};

/* A range of one of the two trees. */
struct stream {
	struct ptree_iter it;
	size_t end;                /* rank */
	const struct cached *head; /* the next object to return; NULL: at the end */
};

/* The private part of struct cache_iter. */
struct walk {
	struct stream streams[MAX_STREAMS];
	size_t n_streams;
	const struct cached *last; /* the last object returned */
	struct range all;          /* the range in the objects tree, without selectors */
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
	few[0] = (struct label){0}; /* gcc does not see that unset members are not read */
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

/* Returns the least key behind this one. */
static struct str key_behind(struct str key)
{
	return (struct str){key.p, key.n + 1}; /* key_join() leaves a NUL there */
}

/* The keys to walk: first is included, last is not; empty is open. */
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

/* The way to walk: all objects in bounds, or the union of some terms' entries in bounds. */
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

/* Returns the cheapest way to visit everything that can match. Other terms are checked object by
 * object. */
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

/* Returns the object with the wanted name in the next namespace: jumps to the name in it, then
 * behind the namespace. */
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
