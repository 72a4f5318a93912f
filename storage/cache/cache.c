/* Whatever the store is asked counts as busy until it has called back: so freeing waits for the
 * last callback and needs no promise of the store. A kind is given a new snapshot only when it has
 * events, or when somebody asks: revisions of other kinds cost it nothing. */
#include "storage/cache/cache_private.h"
#include "storage/cache/shared.h"
#include <stdarg.h>
#include <stdio.h>

enum { MESSAGE_MAX = 512 }; /* bytes of a line in the log */

void cache_say(struct cache *c, const char *format, ...)
{
	char message[MESSAGE_MAX];
	va_list ap;

	if (!c->options.on_state) {
		return;
	}
	va_start(ap, format);
	vsnprintf(message, sizeof(message), format, ap);
	va_end(ap);
	c->options.on_state(c->options.ctx, cache_is_ready(c) && cache_is_connected(c), message);
}

bool cache_busy(struct cache *c)
{
	bool may_start;

	pthread_mutex_lock(&c->lock);
	may_start = !c->is_closing;
	c->n_busy += may_start;
	pthread_mutex_unlock(&c->lock);
	return may_start;
}

void cache_idle(struct cache *c)
{
	pthread_mutex_lock(&c->lock);
	if (--c->n_busy == 0) {
		pthread_cond_broadcast(&c->idle);
	}
	pthread_mutex_unlock(&c->lock);
}

/* ---- life ---- */

static void options_fill(struct cache_options *o)
{
	o->window_events = o->window_events ? o->window_events : CACHE_WINDOW_EVENTS;
	o->window_bytes = o->window_bytes ? o->window_bytes : CACHE_WINDOW_BYTES;
	o->fence_after_ms = o->fence_after_ms ? o->fence_after_ms : CACHE_FENCE_AFTER_MS;
	o->max_watchers = o->max_watchers ? o->max_watchers : CACHE_MAX_WATCHERS;
}

static void cache_init_keys(struct cache *c)
{
	struct str prefix = c->options.prefix;

	c->prefix_key = arena_printf(&c->arena, STR_FMT "/", STR_ARG(prefix));
	c->prefix_end = storage_prefix_end(&c->arena, c->prefix_key);
	c->objects_key = key_objects_prefix(&c->arena, prefix);
	c->objects_end = storage_prefix_end(&c->arena, c->objects_key);
	c->compact_key = key_compact(&c->arena, prefix);
	c->fence_key = key_fence(&c->arena, prefix);
}

static void cache_init_feeds(struct cache *c)
{
	c->n_feeds = kind_count();
	c->feeds = mem_array(c->n_feeds, sizeof(*c->feeds));
	for (size_t i = 0; i < c->n_feeds; i++) {
		feed_init(&c->feeds[i], c, kind_at(i));
	}
}

struct cache *cache_new(const struct cache_options *options)
{
	struct cache *c = mem_new(struct cache);

	c->storage = options->storage;
	c->options = *options;
	options_fill(&c->options);
	arena_init(&c->arena, SIZE_MAX);
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->idle, NULL);
	c->pins_at_ms = INT64_MAX;
	cache_init_keys(c);
	cache_init_feeds(c);
	cache_load_init(c);
	cache_fresh_init(c);
	cache_timer_start(c);
	cache_load_start(c);
	return c;
}

/* Whatever is under way must call back once more; nothing new is started. */
static void cache_wind_up(struct cache *c)
{
	pthread_mutex_lock(&c->lock);
	c->is_closing = true;
	storage_watch_cancel(c->storage, &c->watch); /* harmless where there is none */
	while (c->n_busy > 0) {
		pthread_cond_wait(&c->idle, &c->lock);
	}
	pthread_mutex_unlock(&c->lock);
	cache_timer_stop(c);
}

struct cache *cache_free(struct cache *c)
{
	if (!c) {
		return NULL;
	}
	cache_wind_up(c);
	cache_load_done(c);
	for (size_t i = 0; i < c->n_feeds; i++) {
		feed_done(&c->feeds[i]);
	}
	mem_free(c->feeds);
	arena_done(&c->arena);
	pthread_cond_destroy(&c->idle);
	pthread_mutex_destroy(&c->lock);
	return mem_free(c);
}

/* ---- state ---- */

bool cache_is_ready(const struct cache *c)
{
	return atomic_load(&c->is_ready);
}

bool cache_is_connected(const struct cache *c)
{
	return atomic_load(&c->is_connected);
}

int64_t cache_revision(const struct cache *c)
{
	return atomic_load(&c->revision);
}

/* A kind without events since does not get a new snapshot with each revision of others, but when somebody asks for one. */
struct cache_snapshot *cache_snapshot(struct cache *c, const struct kind *kind)
{
	struct feed *f = &c->feeds[kind->index];
	struct cache_snapshot *s, *old = NULL;
	int64_t revision;

	pthread_mutex_lock(&c->lock);
	revision = cache_revision(c);
	if (f->newest && f->newest->revision != revision) {
		old = f->newest;
		f->newest = snapshot_new(kind, revision, &old->roots);
	}
	s = snapshot_ref(f->newest);
	pthread_mutex_unlock(&c->lock);
	cache_snapshot_unref(old);
	return s;
}

static void feed_add_stats(struct feed *f, struct cache_stats *s)
{
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *newest = cache_snapshot(f->cache, f->kind);

	s->n_objects += newest ? ptree_count(&newest->roots.objects) : 0;
	s->n_bytes += atomic_load(&f->n_bytes);
	pthread_mutex_lock(&f->lock);
	s->n_events_window += (size_t)(f->window.end - f->window.first);
	pthread_mutex_unlock(&f->lock);
}

void cache_stats(struct cache *c, const struct kind *kind_or_null, struct cache_stats *ret)
{
	*ret = (struct cache_stats){
		.n_watchers = atomic_load(&c->n_watchers),
		.n_events = atomic_load(&c->n_events),
		.n_reloads = atomic_load(&c->n_reloads),
		.n_restores = atomic_load(&c->n_restores),
		.n_undecodable = atomic_load(&c->n_undecodable),
		.n_read_index_rounds = atomic_load(&c->n_rounds),
		.n_fences = atomic_load(&c->n_fences),
		.n_proofs = atomic_load(&c->n_proofs),
	};
	if (!kind_or_null) {
		ret->n_bytes = shared_stats().n_bytes;
	}
	for (size_t i = 0; i < c->n_feeds; i++) {
		if (!kind_or_null || c->feeds[i].kind == kind_or_null) {
			feed_add_stats(&c->feeds[i], ret);
		}
	}
}
