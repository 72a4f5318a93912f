/* Counted by the one writer as objects come and go, so the numbers are exact at a revision and cost
 * no walk. What cannot be decoded is remembered by its key alone: when that is written again or
 * deleted, the count must go down by the right one. */
#include "storage/cache/cache_census.h"

#include "storage/cache/cache_private.h"

/* A key of the kind whose value is not in the cache. There are as many as etcd has: what the cache would keep of each, if it could, is larger. */
struct unread {
	struct list node; /* of those in an unknown version */
	bool is_unknown;
	char version[CACHE_VERSION_SIZE];
};

void census_init(struct census *s)
{
	*s = (struct census){0};
	map_init(&s->unread, SIZE_MAX);
	list_init(&s->unknown);
}

static struct unread *unread_free(struct unread *u)
{
	if (u && u->is_unknown) {
		list_remove(&u->node);
	}
	return mem_free(u);
}

void census_done(struct census *s)
{
	for (struct map_entry *e = map_next(&s->unread, NULL); e; e = map_next(&s->unread, e)) {
		unread_free(e->value);
	}
	map_done(&s->unread);
}

void census_move(struct census *to, struct census *from)
{
	census_done(to);
	*to = *from;
	list_init(&to->unknown);
	list_splice(&to->unknown, &from->unknown);
	census_init(from);
}

void census_count(struct census *s, const struct cached *old, const struct cached *now)
{
	if (old) {
		s->stored[old->stored_version - old->kind->doors]--;
	}
	if (now) {
		s->stored[now->stored_version - now->kind->doors]++;
	}
}

/* It is shown to people, and put into StorageVersions, perhaps cut: nothing in it may come back as something else. */
static void version_copy(char ret[CACHE_VERSION_SIZE], struct str version)
{
	size_t n = MIN(version.n, (size_t)CACHE_VERSION_SIZE - 1);

	for (size_t i = 0; i < n; i++) {
		ret[i] = char_shown(version.p[i]);
	}
	ret[n] = '\0';
}

/* False: it is no object of the kind at all. */
static bool version_read(char ret[CACHE_VERSION_SIZE], const struct kind *kind, struct str value)
{
	enum { CEILING = 64 * 1024 * 1024 };
	struct arena a;
	struct object *object;

	arena_init(&a, CEILING);
	bool is_of_kind = object_decode_stored(&object, kind, value, 0, &a) == OBJECT_WRONG_VERSION;
	struct str version = is_of_kind ? object_stored_version(value, &a) : STR("");
	bool is_unknown = version.n > 0;
	version_copy(ret, version);
	arena_done(&a);
	return is_unknown;
}

const char *census_note(struct census *s, const struct kind *kind, struct str key, struct str value)
{
	struct unread *u = mem_new(struct unread);

	u->is_unknown = version_read(u->version, kind, value);
	if (u->is_unknown) {
		s->n_unknown++;
		list_append(&s->unknown, &u->node);
	} else {
		s->n_unreadable++;
	}
	map_set(&s->unread, key, u, NULL);
	return u->is_unknown ? u->version : NULL;
}

bool census_forget(struct census *s, struct str key)
{
	struct unread *u = map_remove(&s->unread, key);

	if (!u) {
		return false;
	}
	(*(u->is_unknown ? &s->n_unknown : &s->n_unreadable))--;
	unread_free(u);
	return true;
}

void census_show(const struct census *s, struct cache_census *ret)
{
	*ret = (struct cache_census){.n_unknown = s->n_unknown, .n_unreadable = s->n_unreadable};
	memcpy(ret->stored, s->stored, sizeof(ret->stored));
	if (s->n_unknown > 0) {
		memcpy(ret->unknown_version, list_entry(s->unknown.next, struct unread, node)->version, CACHE_VERSION_SIZE);
	}
}

bool cache_has_unknown(const struct cache *c, const struct kind *kind)
{
	return atomic_load_explicit(&c->feeds[kind->index].has_unknown, memory_order_acquire);
}

void cache_census(struct cache *c, const struct kind *kind, struct cache_census *ret)
{
	struct feed *f = &c->feeds[kind->index];

	pthread_mutex_lock(&c->lock);
	*ret = f->shown_census;
	ret->revision = cache_revision(c);
	pthread_mutex_unlock(&c->lock);
}
