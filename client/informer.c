/* The reflector reports what the server sends; this file compares it with the store and reports
 * what changed. Handlers run with no lock held, so they may query the store. `lock` guards only
 * the shutdown, for which informer_free() waits. */
#include "client/informer.h"
#include "client/item.h"
#include "client/reflector.h"
#include "client/store.h"

#include <assert.h>
#include <stdlib.h>

/* Beyond what any cluster keeps of one kind: a ceiling against a server that sends without end. */
enum { OBJECTS_MAX = 10 * 1000 * 1000, KEY_MAX = 4096 };

struct informer {
	struct informer_options options;
	char *texts[6]; /* owned copies of the texts in options */
	struct store store;
	struct reflector reflector;
	struct client_task begin, end;
	_Atomic bool has_synced;
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t ended;
	bool has_ended;
};

/* ---- handlers ---- */

static void on_problem(void *ctx, bool is_over, struct str text)
{
	struct informer *f = ctx;
	if (f->options.handlers.on_problem) {
		f->options.handlers.on_problem(f->options.problem_ctx ? f->options.problem_ctx : f->options.ctx, is_over, text);
	}
}

/* ---- reports of the reflector ---- */

static void take_in(struct informer *f, struct item *item)
{
	assert(client_is_this_thread(f->options.client));
	bool is_initial = !atomic_load(&f->has_synced);
	struct item *old = NULL;
	if (!store_put(&f->store, item, &old)) {
		on_problem(f, false, STR("more objects than can be kept"));
	} else if (!old) {
		if (f->options.handlers.on_add) {
			f->options.handlers.on_add(f->options.ctx, item, is_initial);
		}
	} else if (old->version != item->version) {
		/* A relist brings mostly known versions, which need no handler. */
		if (f->options.handlers.on_update) {
			f->options.handlers.on_update(f->options.ctx, old, item);
		}
	}
	item_unref(old);
}

static void take_out(struct informer *f, struct item *last, bool is_guess)
{
	assert(client_is_this_thread(f->options.client));
	_cleanup_(item_unrefp) struct item *old = store_remove(&f->store, last->namespace, last->name);
	if (old) {
		if (f->options.handlers.on_delete) {
			f->options.handlers.on_delete(f->options.ctx, last, is_guess);
		}
	}
}

/* Items that are in the store, but not on the server. */
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
}

static void on_current(void *ctx)
{
	struct informer *f = ctx;
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

/* ---- lifetime ---- */

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

static struct str informer_keep(struct informer *f, size_t i, struct str text)
{
	f->texts[i] = mem_strndup(text.p ? text.p : "", text.n);
	return (struct str){f->texts[i], text.n};
}

static void keep_options(struct informer *f, const struct informer_options *o)
{
	f->options = *o;
	f->options.resource.group = informer_keep(f, 0, o->resource.group);
	f->options.resource.version = informer_keep(f, 1, o->resource.version);
	f->options.resource.plural = informer_keep(f, 2, o->resource.plural);
	f->options.namespace = informer_keep(f, 3, o->namespace);
	f->options.label_selector = informer_keep(f, 4, o->label_selector);
	f->options.field_selector = informer_keep(f, 5, o->field_selector);
}

struct informer *informer_new(const struct informer_options *options)
{
	assert(options->client && options->resource.plural.n > 0 && options->resource.version.n > 0);
	assert(!options->resume_from || options->stream);
	struct informer *f = mem_new(struct informer);
	keep_options(f, options);
	store_init(&f->store, OBJECTS_MAX);
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->ended, NULL);
	f->begin.run = run_begin;
	f->end.run = run_end;
	reflector_init(&f->reflector, &f->options,
		&(struct reflector_sink){
			.on_all = on_all, .on_current = on_current, .on_event = on_event, .on_problem = on_problem, .ctx = f});
	client_post(f->options.client, &f->begin);
	return f;
}

static void wait_for_end(struct informer *f)
{
	assert(!client_is_this_thread(f->options.client));
	/* The client's thread has ended, so nothing can run any more. */
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

/* ---- the store ---- */

/* One mutex guards both maps, since look-ups are short. It is the last lock to be taken; only
 * store_each()'s callback runs under it. */

void store_init(struct store *s, size_t max)
{
	pthread_mutex_init(&s->lock, NULL);
	map_init(&s->by_name, max);
	map_init(&s->by_uid, max);
}

void store_done(struct store *s)
{
	for (struct map_entry *e = map_next(&s->by_name, NULL); e; e = map_next(&s->by_name, e)) {
		item_unref(e->value);
	}
	map_done(&s->by_name);
	map_done(&s->by_uid);
	pthread_mutex_destroy(&s->lock);
}

struct str store_key(struct buf *out, struct str namespace, struct str name)
{
	buf_clear(out);
	buf_add_str(out, namespace);
	buf_addc(out, '/');
	buf_add_str(out, name);
	return buf_str(out);
}

/* Removes an item from the uid index, unless a new object with the same name has already taken
 * its place. */
static void forget_uid(struct store *s, const struct item *item)
{
	if (map_get(&s->by_uid, item->uid) == item) {
		map_remove(&s->by_uid, item->uid);
	}
}

bool store_put(struct store *s, struct item *item, struct item **ret_old)
{
	assert(item->name.n > 0);
	void *old = NULL;
	_cleanup_(buf_done) struct buf key;
	buf_init(&key, KEY_MAX);
	store_key(&key, item->namespace, item->name);

	pthread_mutex_lock(&s->lock);
	bool is_kept = !key.is_over && map_set(&s->by_name, buf_str(&key), item, &old);
	if (is_kept) {
		item_ref(item);
		if (old) {
			forget_uid(s, old);
		}
		if (item->uid.n) {
			map_set(&s->by_uid, item->uid, item, NULL);
		}
		*ret_old = old;
	}
	pthread_mutex_unlock(&s->lock);
	return is_kept;
}

struct item *store_remove(struct store *s, struct str namespace, struct str name)
{
	_cleanup_(buf_done) struct buf key;
	buf_init(&key, KEY_MAX);
	store_key(&key, namespace, name);

	pthread_mutex_lock(&s->lock);
	struct item *item = map_remove(&s->by_name, buf_str(&key));
	if (item) {
		forget_uid(s, item);
	}
	pthread_mutex_unlock(&s->lock);
	return item;
}

static struct item *look_up(struct store *s, const struct map *map, struct str key)
{
	pthread_mutex_lock(&s->lock);
	struct item *item = map_get(map, key);
	item = item ? item_ref(item) : NULL;
	pthread_mutex_unlock(&s->lock);
	return item;
}

struct item *store_get(struct store *s, struct str namespace, struct str name)
{
	_cleanup_(buf_done) struct buf key;
	buf_init(&key, KEY_MAX);
	return look_up(s, &s->by_name, store_key(&key, namespace, name));
}

struct item *store_get_by_uid(struct store *s, struct str uid)
{
	return look_up(s, &s->by_uid, uid);
}

size_t store_count(struct store *s)
{
	pthread_mutex_lock(&s->lock);
	size_t n = s->by_name.n;
	pthread_mutex_unlock(&s->lock);
	return n;
}

void store_each(struct store *s, struct str namespace, void (*each)(void *ctx, struct item *item), void *ctx)
{
	pthread_mutex_lock(&s->lock);
	for (struct map_entry *e = map_next(&s->by_name, NULL); e; e = map_next(&s->by_name, e)) {
		struct item *item = e->value;
		if (!namespace.n || str_eq(namespace, item->namespace)) {
			each(ctx, item);
		}
	}
	pthread_mutex_unlock(&s->lock);
}

/* ---- items ---- */

/* Each object is parsed twice: once in scratch memory to learn the size, once into memory of
 * just that size. An informer of 100,000 objects would otherwise hold the slack of as many
 * arenas. */
enum {
	/* Bytes of one object as a tree; an object that needs more cannot be read, and its list is
	 * tried again. */
	TREE_MAX = 256 << 20,
	VALUES_MAX = 4 << 20,     /* values in one object; an object with more cannot be read */
	DEPTH_MAX = 512,          /* levels in one object; a deeper one cannot be read either */
	SCRATCH_SIZE = 64 * 1024, /* most objects' trees fit */
};

static struct json *parse(struct arena *a, struct str text)
{
	size_t at;
	struct json *root;
	const struct json_limits limits = {.depth = DEPTH_MAX, .values = VALUES_MAX};
	return json_parse(&root, a, arena_dup(a, text), limits, &at) == 0 ? root : NULL;
}

const char *const item_managers[] = {"metadata.managedFields", NULL};

static const struct json *find(const struct json *object, struct str path)
{
	struct str name;

	while (object && path.n) {
		str_cut(path, '.', &name, &path);
		object = json_get(object, name);
	}
	return object;
}

static int by_place(const void *a, const void *b)
{
	const struct str *x = a, *y = b;
	return x->p < y->p ? -1 : x->p > y->p;
}

/* Returns the object's text with null in place of the members at those paths. */
static struct str leave_out(struct arena *a, const struct json *object, const char *const *paths)
{
	struct str places[ITEM_LEFT_OUT_MAX], all = object->source;
	size_t n = 0;
	struct buf out;

	for (; *paths && n < ITEM_LEFT_OUT_MAX; paths++) {
		const struct json *member = find(object, str_of(*paths));
		if (member) {
			places[n++] = member->source;
		}
	}
	if (!n) {
		return all;
	}
	qsort(places, n, sizeof(places[0]), by_place);
	buf_init(&out, all.n + n * sizeof("null"));
	const char *from = all.p;
	for (size_t i = 0; i < n; i++) {
		buf_add(&out, from, (size_t)(places[i].p - from));
		buf_adds(&out, "null");
		from = places[i].p + places[i].n;
	}
	buf_add(&out, from, (size_t)(all.p + all.n - from));
	struct str text = arena_dup(a, buf_str(&out));
	buf_done(&out);
	return text;
}

/* Allocates an item with n bytes for its tree. If the tree does not fit, its arena grows. */
static struct item *item_of_size(size_t n)
{
	struct item *i = mem_alloc(sizeof(*i) + n);
	*i = (struct item){.refs = 1};
	if (n) {
		arena_init_with(&i->arena, TREE_MAX, i->storage, n);
	} else {
		arena_init(&i->arena, TREE_MAX);
	}
	return i;
}

/* Returns how much scratch memory parsing takes; 0 when it takes more than there is. */
static size_t measure(struct str text)
{
	_Alignas(16) char scratch[SCRATCH_SIZE];
	struct arena a;
	arena_init_with(&a, TREE_MAX, scratch, sizeof(scratch));
	parse(&a, text);
	size_t n = a.blocks ? 0 : sizeof(scratch) - a.left;
	arena_done(&a);
	return n;
}

/* Reads the metadata, and checks that it has what every object has. */
static bool read_meta(struct item *i)
{
	const struct json *meta = item_meta(i);
	i->namespace = json_text(json_gets(meta, "namespace"));
	i->name = json_text(json_gets(meta, "name"));
	i->uid = json_text(json_gets(meta, "uid"));
	bool has_version = str_to_uint64(json_text(json_gets(meta, "resourceVersion")), &i->version);
	return has_version && i->name.n;
}

static struct item *item_of_text(struct str text)
{
	_cleanup_(item_unrefp) struct item *i = item_of_size(measure(text));
	i->object = parse(&i->arena, text);
	return i->object && read_meta(i) ? take_ptr(i) : NULL;
}

struct item *item_new(struct str text, const char *const *left_out)
{
	struct arena a;
	if (!left_out) {
		return item_of_text(text);
	}
	arena_init(&a, TREE_MAX);
	const struct json *object = parse(&a, text);
	struct item *i = object ? item_of_text(leave_out(&a, object, left_out)) : NULL;
	arena_done(&a);
	return i;
}

struct item *item_ref(struct item *i)
{
	atomic_fetch_add_explicit(&i->refs, 1, memory_order_relaxed);
	return i;
}

struct item *item_unref(struct item *i)
{
	if (i && atomic_fetch_sub_explicit(&i->refs, 1, memory_order_acq_rel) == 1) {
		arena_done(&i->arena);
		mem_free(i);
	}
	return NULL;
}

const struct json *item_meta(const struct item *i)
{
	return json_gets(i->object, "metadata");
}

bool item_is_deleting(const struct item *i)
{
	return json_text(json_gets(item_meta(i), "deletionTimestamp")).n > 0;
}
