/* The reflector tells what the server says, this file what changed: it compares with the store.
 * Handlers run with no lock held, so they may ask the store. `lock` guards the end alone, for
 * which informer_free() waits. */
#include "client/informer.h"

#include "client/reflector.h"
#include "client/store.h"

/* Beyond what any cluster keeps of one kind: a ceiling against a server that sends without end. */
enum { OBJECTS_MAX = 10 * 1000 * 1000, KEY_MAX = 4096 };

struct informer {
	struct informer_options options;
	char *texts[6]; /* what options point to */
	struct store store;
	struct reflector reflector;
	struct client_task begin, end;
	_Atomic bool has_synced;
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t ended;
	bool has_ended;
};

/* ---- handlers ---- */

static void tell_add(struct informer *f, struct item *item, bool is_initial)
{
	if (f->options.handlers.on_add) {
		f->options.handlers.on_add(f->options.ctx, item, is_initial);
	}
}

static void tell_update(struct informer *f, struct item *old, struct item *item)
{
	if (f->options.handlers.on_update) {
		f->options.handlers.on_update(f->options.ctx, old, item);
	}
}

static void tell_delete(struct informer *f, struct item *item, bool is_guess)
{
	if (f->options.handlers.on_delete) {
		f->options.handlers.on_delete(f->options.ctx, item, is_guess);
	}
}

static void on_problem(void *ctx, bool is_over, struct str text)
{
	struct informer *f = ctx;
	if (f->options.handlers.on_problem) {
		f->options.handlers.on_problem(f->options.ctx, is_over, text);
	}
}

/* ---- what the reflector tells ---- */

static void take_in(struct informer *f, struct item *item)
{
	bool is_initial = !atomic_load(&f->has_synced);
	struct item *old = NULL;
	if (!store_put(&f->store, item, &old)) {
		on_problem(f, false, STR("more objects than can be kept"));
	} else if (!old) {
		tell_add(f, item, is_initial);
	/* A relist brings mostly what is known: nobody needs to hear of it. */
	} else if (old->version != item->version) {
		tell_update(f, old, item);
	}
	item_unref(old);
}

static void take_out(struct informer *f, struct item *last, bool is_guess)
{
	_cleanup_(item_unrefp) struct item *old = store_remove(&f->store, last->namespace, last->name);
	if (old) {
		tell_delete(f, last, is_guess);
	}
}

/* What the store has and the server has not. */
struct leftovers {
	const struct map *items;
	struct item **v;
	size_t n, cap;
	struct buf key;
};

static void note_leftover(void *ctx, struct item *item)
{
	struct leftovers *l = ctx;
	if (map_get(l->items, store_key(&l->key, item->namespace, item->name))) {
		return;
	}
	if (l->n == l->cap) {
		l->cap = l->cap ? 2 * l->cap : 16;
		l->v = mem_realloc_array(l->v, l->cap, sizeof(struct item *));
	}
	l->v[l->n++] = item_ref(item);
}

static void take_out_leftovers(struct informer *f, const struct map *items)
{
	struct leftovers l = {.items = items};
	buf_init(&l.key, KEY_MAX);
	store_each(&f->store, (struct str){NULL, 0}, note_leftover, &l);
	for (size_t i = 0; i < l.n; i++) {
		take_out(f, l.v[i], true);
		item_unref(l.v[i]);
	}
	mem_free(l.v);
	buf_done(&l.key);
}

static void on_all(void *ctx, struct map *items)
{
	struct informer *f = ctx;
	take_out_leftovers(f, items);
	for (struct map_entry *e = map_next(items, NULL); e; e = map_next(items, e)) {
		take_in(f, e->value);
		item_unref(e->value);
	}
	if (!atomic_exchange(&f->has_synced, true) && f->options.handlers.on_synced) {
		f->options.handlers.on_synced(f->options.ctx);
	}
}

static void on_event(void *ctx, struct item *item, bool is_gone)
{
	struct informer *f = ctx;
	if (is_gone) {
		take_out(f, item, false);
	} else {
		take_in(f, item);
	}
	item_unref(item);
}

/* ---- its life ---- */

static void run_begin(struct client_task *t)
{
	reflector_begin(&container_of(t, struct informer, begin)->reflector);
}

static void on_ended(struct reflector *r)
{
	struct informer *f = container_of(r, struct informer, reflector);
	pthread_mutex_lock(&f->lock);
	f->has_ended = true;
	pthread_cond_signal(&f->ended);
	pthread_mutex_unlock(&f->lock);
}

static void run_end(struct client_task *t)
{
	reflector_end(&container_of(t, struct informer, end)->reflector, on_ended);
}

static struct str keep(struct informer *f, size_t i, struct str text)
{
	f->texts[i] = mem_strndup(text.p ? text.p : "", text.n);
	return (struct str){f->texts[i], text.n};
}

static void keep_options(struct informer *f, const struct informer_options *o)
{
	f->options = *o;
	f->options.resource.group = keep(f, 0, o->resource.group);
	f->options.resource.version = keep(f, 1, o->resource.version);
	f->options.resource.plural = keep(f, 2, o->resource.plural);
	f->options.namespace = keep(f, 3, o->namespace);
	f->options.label_selector = keep(f, 4, o->label_selector);
	f->options.field_selector = keep(f, 5, o->field_selector);
}

struct informer *informer_new(const struct informer_options *options)
{
	struct informer *f = mem_new(struct informer);
	keep_options(f, options);
	store_init(&f->store, OBJECTS_MAX);
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->ended, NULL);
	f->begin.run = run_begin;
	f->end.run = run_end;
	reflector_init(&f->reflector, &f->options,
		&(struct reflector_sink){.on_all = on_all, .on_event = on_event, .on_problem = on_problem, .ctx = f});
	client_post(f->options.client, &f->begin);
	return f;
}

static void wait_for_end(struct informer *f)
{
	/* The client's thread has ended: nothing can run any more. */
	if (!client_post(f->options.client, &f->end)) {
		return;
	}
	pthread_mutex_lock(&f->lock);
	while (!f->has_ended) {
		pthread_cond_wait(&f->ended, &f->lock);
	}
	pthread_mutex_unlock(&f->lock);
}

struct informer *informer_free(struct informer *f)
{
	if (f) {
		wait_for_end(f);
		reflector_done(&f->reflector);
		store_done(&f->store);
		for (size_t i = 0; i < ARRAY_SIZE(f->texts); i++) {
			mem_free(f->texts[i]);
		}
		pthread_cond_destroy(&f->ended);
		pthread_mutex_destroy(&f->lock);
		mem_free(f);
	}
	return NULL;
}

/* ---- questions ---- */

bool informer_has_synced(const struct informer *f)
{
	return atomic_load(&f->has_synced);
}

uint64_t informer_version(const struct informer *f)
{
	return atomic_load(&f->reflector.version);
}

struct item *informer_get(struct informer *f, struct str namespace, struct str name)
{
	return store_get(&f->store, namespace, name);
}

struct item *informer_get_by_uid(struct informer *f, struct str uid)
{
	return store_get_by_uid(&f->store, uid);
}

size_t informer_count(struct informer *f)
{
	return store_count(&f->store);
}
