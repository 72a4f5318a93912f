#include "storage/cache/bases.h"

#include "base/clock.h"
#include "storage/keys.h"

#include <assert.h>
#include <errno.h>

/* A base in etcd. */
struct base_place {
	struct list in_group, in_unused;
	struct base *base; /* a reference */
	int64_t mod_revision;
	size_t n_users;
	int64_t unused_since_ms;
	uint64_t generation;
};

/* The bases of one group. */
struct base_places {
	struct list places;
};

void bases_init(struct bases *b)
{
	*b = (struct bases){0};
	pthread_mutex_init(&b->lock, NULL);
	/* etcd has as many, and larger ones. */
	map_init(&b->places, SIZE_MAX);
	map_init(&b->groups, SIZE_MAX);
	list_init(&b->unused);
}

/* Locked. */
static void place_drop(struct bases *b, struct base_place *p)
{
	struct str group = base_group(p->base);
	struct base_places *home = map_get(&b->groups, group);

	list_remove(&p->in_group);
	list_remove(&p->in_unused);
	if (list_is_empty(&home->places)) {
		map_remove(&b->groups, group);
		mem_free(home);
	}
	map_remove(&b->places, base_name(p->base));
	b->n_bytes -= base_size(p->base) + sizeof(*p);
	base_unref(p->base);
	mem_free(p);
}

static void places_drop_before(struct bases *b, uint64_t generation)
{
	for (struct map_entry *e = map_next(&b->places, NULL); e; e = map_next(&b->places, e)) {
		struct base_place *p = e->value;
		if (p->generation < generation) {
			place_drop(b, p);
		}
	}
}

void bases_done(struct bases *b)
{
	places_drop_before(b, UINT64_MAX);
	assert(b->n_bytes == 0);
	map_done(&b->places);
	map_done(&b->groups);
	pthread_mutex_destroy(&b->lock);
}

/* Locked. */
static void place_set_unused(struct bases *b, struct base_place *p)
{
	p->unused_since_ms = clock_mono_ms();
	list_remove(&p->in_unused);
	list_append(&b->unused, &p->in_unused);
}

/* Takes the reference. Locked. */
static struct base_place *place_new(struct bases *b, struct base *base)
{
	struct base_place *p = mem_new(struct base_place);
	struct base_places *home = map_get(&b->groups, base_group(base));

	if (!home) {
		home = mem_new(struct base_places);
		list_init(&home->places);
		map_set(&b->groups, base_group(base), home, NULL);
	}
	p->base = base;
	list_init(&p->in_group);
	list_init(&p->in_unused);
	list_append(&home->places, &p->in_group);
	map_set(&b->places, base_name(base), p, NULL);
	place_set_unused(b, p);
	b->n_bytes += base_size(base) + sizeof(*p);
	return p;
}

bool bases_put(struct bases *b, struct str name, struct str value, int64_t mod_revision)
{
	struct base *base = base_read(name, value);

	if (!base) {
		return false;
	}
	pthread_mutex_lock(&b->lock);
	struct base_place *p = map_get(&b->places, name);
	if (p) {
		base_unref(base);
	} else {
		p = place_new(b, base);
	}
	p->mod_revision = mod_revision;
	p->generation = b->generation;
	pthread_mutex_unlock(&b->lock);
	return true;
}

void bases_remove(struct bases *b, struct str name, int64_t revision)
{
	pthread_mutex_lock(&b->lock);
	struct base_place *p = map_get(&b->places, name);
	if (p && p->mod_revision < revision) {
		place_drop(b, p);
	}
	pthread_mutex_unlock(&b->lock);
}

void bases_load_begin(struct bases *b)
{
	pthread_mutex_lock(&b->lock);
	b->generation++;
	pthread_mutex_unlock(&b->lock);
}

void bases_load_end(struct bases *b)
{
	pthread_mutex_lock(&b->lock);
	places_drop_before(b, b->generation);
	for (struct map_entry *e = map_next(&b->places, NULL); e; e = map_next(&b->places, e)) {
		struct base_place *p = e->value;
		p->n_users = 0;
		place_set_unused(b, p);
	}
	pthread_mutex_unlock(&b->lock);
}

void bases_count(struct bases *b, const struct base *base, bool is_used)
{
	if (!base) {
		return;
	}
	pthread_mutex_lock(&b->lock);
	struct base_place *p = map_get(&b->places, base_name(base));
	if (p && is_used) {
		p->n_users++;
		list_remove(&p->in_unused);
	} else if (p && p->n_users > 0 && --p->n_users == 0) {
		place_set_unused(b, p);
	}
	pthread_mutex_unlock(&b->lock);
}

struct base *bases_newest(struct bases *b, struct str group, int64_t *ret_mod_revision)
{
	const struct base_place *newest = NULL;

	pthread_mutex_lock(&b->lock);
	struct base_places *home = map_get(&b->groups, group);
	for (struct list *it = home ? home->places.next : NULL; it && it != &home->places; it = it->next) {
		const struct base_place *p = list_entry(it, struct base_place, in_group);
		newest = newest && newest->mod_revision > p->mod_revision ? newest : p;
	}
	struct base *base = newest ? base_ref(newest->base) : NULL;
	*ret_mod_revision = newest ? newest->mod_revision : 0;
	pthread_mutex_unlock(&b->lock);
	return base;
}

int64_t bases_revision(struct bases *b, struct str name)
{
	pthread_mutex_lock(&b->lock);
	const struct base_place *p = map_get(&b->places, name);
	int64_t revision = p ? p->mod_revision : 0;
	pthread_mutex_unlock(&b->lock);
	return revision;
}

size_t bases_size(struct bases *b)
{
	pthread_mutex_lock(&b->lock);
	size_t n = b->n_bytes;
	pthread_mutex_unlock(&b->lock);
	return n;
}

size_t bases_unused(struct bases *b, int64_t for_ms, struct base_unused *ret, size_t max)
{
	int64_t until_ms = clock_mono_ms() - for_ms;
	size_t n = 0;

	pthread_mutex_lock(&b->lock);
	for (struct list *it = b->unused.next; it != &b->unused && n < max; it = it->next) {
		const struct base_place *p = list_entry(it, struct base_place, in_unused);
		if (p->unused_since_ms > until_ms) {
			break; /* the longest unused are first */
		}
		ret[n++] = (struct base_unused){base_ref(p->base), p->mod_revision};
	}
	pthread_mutex_unlock(&b->lock);
	return n;
}

/* ---- reading etcd without a cache ---- */

void base_shelf_done(struct base_shelf *s)
{
	for (size_t i = 0; i < BASE_SHELF_MAX; i++) {
		s->held[i] = base_unref(s->held[i]);
	}
}

/* Takes the reference. */
static void base_shelf_hold(struct base_shelf *s, struct base *b)
{
	base_unref(s->held[s->next]);
	s->held[s->next] = b;
	s->next = (s->next + 1) % BASE_SHELF_MAX;
}

int base_shelf_fetch(struct base_shelf *s, struct str value, int64_t at_revision)
{
	struct str name = packed_base_name(value);
	_cleanup_(base_unrefp) struct base *known = name.n > 0 ? base_find(name) : NULL;
	_cleanup_(arena_done) struct arena a;

	arena_init(&a, (size_t)64 << 10);
	if (name.n == 0 || known) {
		return 0;
	}
	struct storage_range r = {
		.key = key_below(&a, key_bases(&a, s->prefix), name),
		.at_revision = at_revision,
	};
	int error = storage_range_wait(s->storage, &r) == STORAGE_OK ? 0 : -EIO;
	struct base *b = !error && r.n_kvs > 0 ? base_read(name, r.kvs[0].value) : NULL;
	if (b) {
		base_shelf_hold(s, b);
	} else if (!error) {
		error = r.n_kvs > 0 ? -EBADMSG : -ENOENT;
	}
	storage_op_clear(&r.op);
	return error;
}
