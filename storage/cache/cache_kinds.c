/* Kinds that definitions describe: how they come, change and go with the events of the watch.
 *
 * A definition is an object like any other, and the cache meets it in etcd's order. So a kind is
 * there before its first object, on every replica, and nobody has to wait for it by the clock. A
 * load reads all definitions first, since keys of objects may sort before them. */
#include "base/thread.h"
#include "storage/cache/cache_private.h"

#include <assert.h>

enum {
	NAME_ROOM = 512,                        /* bytes of RESOURCE.GROUP: both are names of DNS */
	DEFINITION_CEILING = 512 * 1024 * 1024, /* bytes that decoding one takes: as of any object */
};

void cache_kinds_init(struct cache *c)
{
	const struct kind *k = c->options.definitions;

	map_init(&c->defined.kinds, KINDS_DEFINED_MAX);
	map_init(&c->defined.in_load, SIZE_MAX);
	if (k) {
		assert(c->options.define);
		c->definitions_key =
			arena_printf(&c->arena, STR_FMT "%s/%s/", STR_ARG(c->objects_key), k->versions[0].group, k->resource);
		c->definitions_end = storage_prefix_end(&c->arena, c->definitions_key);
	}
}

void cache_kinds_done(struct cache *c)
{
	struct defined *d = &c->defined;

	kinds_unref(c->kinds);
	for (struct map_entry *e = map_next(&d->kinds, NULL); e; e = map_next(&d->kinds, e)) {
		kind_unref(e->value);
	}
	for (size_t i = 0; i < d->n_feeds; i++) {
		kind_unref(d->feeds[i]->kind);
	}
	mem_free(d->feeds);
	map_done(&d->kinds);
	map_done(&d->in_load);
}

struct kinds *cache_kinds(struct cache *c)
{
	pthread_mutex_lock(&c->lock);
	struct kinds *t = kinds_ref(c->kinds);
	pthread_mutex_unlock(&c->lock);
	return t;
}

bool cache_is_definition(const struct cache *c, struct str key)
{
	return c->definitions_key.n > 0 && str_starts(key, c->definitions_key);
}

/* ---- feeds ---- */

struct feed *cache_defined_feed(struct cache *c, struct str group, struct str resource)
{
	char name[NAME_ROOM];
	size_t n = resource.n + 1 + group.n;

	if (c->defined.kinds.n == 0 || n > sizeof(name)) {
		return NULL;
	}
	memcpy(name, resource.p, resource.n);
	name[resource.n] = '.';
	memcpy(name + resource.n + 1, group.p, group.n);
	const struct kind *k = map_get(&c->defined.kinds, (struct str){name, n});
	return k ? k->life->place : NULL;
}

static void feed_vacate(void *place)
{
	struct feed *f = place;

	mem_free(f->loaded);
	feed_done(f);
	mem_free(f);
}

/* Gives the kind its feed. Nothing before this revision is known of it. */
static struct feed *feed_add(struct cache *c, const struct kind *k, int64_t revision)
{
	struct defined *d = &c->defined;
	struct feed *f = mem_new(struct feed);

	feed_init(f, c, k);
	f->window.floor = revision;
	f->is_touched = true;
	k->life->place = f;
	k->life->definitions = c->options.definitions;
	k->life->vacate = feed_vacate;
	if (d->n_feeds == d->cap_feeds) {
		d->cap_feeds = MAX(d->cap_feeds * 2, (size_t)16);
		d->feeds = mem_realloc_array(d->feeds, d->cap_feeds, sizeof(*d->feeds));
	}
	d->feeds[d->n_feeds++] = f;
	kind_ref(k);
	return f;
}

/* Decodes the objects of a kind anew, as those of the kind that has taken its place. */
static void feed_take_over(struct feed *f, const struct feed *old)
{
	_cleanup_(arena_done) struct arena a;
	const struct ptree_entry *e;
	struct ptree_iter it;

	arena_init(&a, DEFINITION_CEILING);
	ptree_iter_init(&it, &old->work.objects, 0);
	while ((e = ptree_iter_next(&it))) {
		const struct cached *o = e->item;
		const struct version *v = kind_version(f->kind, version_api_version(o->stored_version, &a));
		struct str text = v ? cached_as_stored(o, &a) : cached_text(o, &a);
		struct cached *now = cached_new(f->kind, cached_key(o), text, o->create_revision, o->revision);

		if (now) {
			now->stored_version = v ? v : now->stored_version;
			now->epoch = o->epoch;
			feed_add_loaded(f, now);
		}
		arena_clear(&a);
	}
	feed_install(f);
}

static void feed_retire(struct feed *f)
{
	assert(!f->is_retiring);
	f->is_retiring = true;
	f->is_touched = true;
}

/* ---- definitions ---- */

static void set_revision(const struct kind *k, int64_t revision)
{
	atomic_store_explicit(&k->life->revision, revision, memory_order_release);
}

/* Replaces the kind of that definition. The reference `now` passes to the cache. */
static void kind_replace(struct cache *c, struct str name, const struct kind *present, const struct kind *now, int64_t revision)
{
	struct defined *d = &c->defined;
	bool is_full = now && !present && d->kinds.n >= KINDS_DEFINED_MAX;

	if (is_full) {
		cache_say(c, "there are more than %d definitions of kinds: " STR_FMT " is not served", KINDS_DEFINED_MAX,
			STR_ARG(name));
		kind_unref(now);
		return;
	}
	if (now) {
		struct feed *f = feed_add(c, now, revision);

		set_revision(now, revision);
		if (present && !d->is_loading && str_eq(present->life->definition_uid, now->life->definition_uid)) {
			feed_take_over(f, present->life->place);
		}
		map_set(&d->kinds, name, (void *)(uintptr_t)now, NULL);
	} else {
		map_remove(&d->kinds, name);
	}
	if (present) {
		feed_retire(present->life->place);
		kind_unref(present);
	}
	d->has_changed = true;
}

void cache_define(struct cache *c, struct str key, struct str value, int64_t revision)
{
	struct defined *d = &c->defined;
	struct str name = {key.p + c->definitions_key.n, key.n - c->definitions_key.n};
	const struct kind *present = map_get(&d->kinds, name), *now = NULL;
	_cleanup_(arena_done) struct arena a;
	struct object *definition = NULL;

	arena_init(&a, DEFINITION_CEILING);
	d->is_touched = true;
	if (d->is_loading) {
		map_set(&d->in_load, name, d, NULL);
	}
	/* Text that is no definition is reported as any other object; it does not end a kind. */
	if (value.n > 0 && object_decode_stored(&definition, c->options.definitions, value, revision, &a) != 0) {
		return;
	}
	if (definition) {
		now = c->options.define(definition, present);
	}
	if (c->options.on_definition) {
		c->options.on_definition(c->options.definitions_ctx, name, definition);
	}
	if (now && now == present) {
		set_revision(now, revision);
		kind_unref(now);
	} else if (now || present) {
		kind_replace(c, name, present, now, revision);
	}
}

void cache_kinds_load_begin(struct cache *c)
{
	struct defined *d = &c->defined;

	map_done(&d->in_load);
	map_init(&d->in_load, SIZE_MAX);
	d->is_loading = c->definitions_key.n > 0;
}

void cache_kinds_load_end(struct cache *c, int64_t revision)
{
	struct defined *d = &c->defined;

	for (struct map_entry *e = map_next(&d->kinds, NULL); e; e = map_next(&d->kinds, e)) {
		if (!map_get(&d->in_load, e->key)) {
			kind_replace(c, e->key, e->value, NULL, revision);
		}
	}
	map_done(&d->in_load);
	map_init(&d->in_load, SIZE_MAX);
	d->is_loading = false;
	d->is_touched = true;
}

/* ---- publishing ---- */

struct kinds *cache_kinds_prepare(struct cache *c)
{
	struct defined *d = &c->defined;
	size_t n = 0;

	if (!d->has_changed) {
		return NULL;
	}
	_cleanup_(mem_freep) const struct kind **v = mem_array(d->kinds.n, sizeof(*v));
	for (struct map_entry *e = map_next(&d->kinds, NULL); e; e = map_next(&d->kinds, e)) {
		v[n++] = e->value;
	}
	return kinds_new(v, n);
}

struct kinds *cache_kinds_commit(struct cache *c, struct kinds *fresh)
{
	struct defined *d = &c->defined;
	struct kinds *old = NULL;

	assert_locked(&c->lock);
	if (d->has_changed) {
		old = c->kinds;
		c->kinds = fresh;
		for (size_t i = 0; i < d->n_feeds; i++) {
			if (d->feeds[i]->is_retiring) {
				atomic_store_explicit(&d->feeds[i]->kind->life->is_over, true, memory_order_release);
			}
		}
	}
	return old;
}

void cache_kinds_finish(struct cache *c)
{
	struct defined *d = &c->defined;
	size_t n = 0;

	for (size_t i = 0; d->has_changed && i < d->n_feeds; i++) {
		struct feed *f = d->feeds[i];

		if (f->is_retiring) {
			feed_end(f);
			kind_unref(f->kind);
		} else {
			d->feeds[n++] = f;
		}
	}
	d->n_feeds = d->has_changed ? n : d->n_feeds;
	d->has_changed = false;
	if (d->is_touched && c->options.on_definition) {
		c->options.on_definition(c->options.definitions_ctx, STR(""), NULL);
	}
	d->is_touched = false;
}
