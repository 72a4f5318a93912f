/* Terms are hashes: entries of all labels have one size and compare without a look at the object. A
 * load sorts them by bytes instead of by comparing, which is linear, and stable: objects come in
 * key order, so each term's entries do, too. */
#include "storage/cache/cache_index.h"
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

uint64_t term_label(struct str key, struct str value)
{
	return term_of_value(str_hash(key), value);
}

uint64_t term_label_exists(struct str key)
{
	return term_of_key(str_hash(key));
}

uint64_t term_field(size_t field, struct str value)
{
	return term_mix(TERM_FIELD, field, str_hash(value));
}

uint64_t term_computed(struct str path)
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

/* Empty field values are not indexed: most objects have them, nobody looks for them. In any order; how many. */
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
/* Without references: the objects' tree of the same snapshot holds them. */
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

struct roots roots_share(const struct roots *r)
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

/* The index first: it compares by objects which the other tree keeps alive. */
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

/* ---- loading ---- */

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

/* By term. Stable, and they come in key order, so no object has to be looked at to put those of one term in order. */
static void entries_sort(struct entries *e)
{
	struct ptree_entry *spare = mem_array(e->n, sizeof(*spare)), *from = e->v, *to = spare, *swap;

	for (unsigned shift = 0; shift < 64; shift += 8) {
		sort_by_byte(to, from, e->n, shift);
		swap = from;
		from = to;
		to = swap;
	}
	mem_free(spare); /* eight passes: back where it began */
}

/* Two labels of one object may have the same term, by collision. */
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

struct range roots_range(const struct roots *r, struct str first, struct str last)
{
	return (struct range){
		.first = first.n ? ptree_rank(&r->objects, &first) : 0,
		.last = last.n ? ptree_rank(&r->objects, &last) : ptree_count(&r->objects),
	};
}

struct range roots_term_range(const struct roots *r, uint64_t term, struct str first, struct str last)
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
