/* Fills the cache from etcd, starts the watch from there, and begins again after a compaction or a
 * restore of etcd.
 *
 * Two pages are in hand at a time: two threads decode one while etcd prepares the next. All
 * pages are of the first one's revision, so the loaded state existed at one moment. Larger pages
 * are faster (19,000 objects: 0.6 s in pages of 100, 0.2 s in pages of 5,000). But etcd and
 * memory feel their size in bytes, so the limit follows from the objects seen. */
#include "storage/cache/cache_private.h"

enum {
	PAGE_FIRST = 100, /* keys; it shows how large objects are */
	/* Objects may be large, but each page costs a round trip. */
	PAGE_MIN = 50,
	PAGE_MAX = 5000,              /* objects of a page: a page of small ones must not keep others waiting */
	PAGE_BYTES = 8 * 1024 * 1024, /* the size aimed at for later pages */
	PAGE_TIMEOUT_MS = 10 * 1000,
	BACKOFF_FIRST_MS = 20, /* etcd is often started together with annals */
	BACKOFF_MAX_MS = 1000,
};

/* ---- state ---- */

static void load_set_state(struct cache *c, enum load_state state)
{
	pthread_mutex_lock(&c->lock);
	c->state = state;
	pthread_mutex_unlock(&c->lock);
}

static void load_later(struct cache *c, enum load_state state)
{
	int64_t delay_ms = c->load.backoff_ms;

	c->load.backoff_ms = MIN(delay_ms * 2, (int64_t)BACKOFF_MAX_MS);
	pthread_mutex_lock(&c->lock);
	c->state = state;
	c->retry_at_ms = clock_mono_ms() + delay_ms;
	cache_timer_by(c, c->retry_at_ms);
	pthread_mutex_unlock(&c->lock);
}

static void load_drop(struct cache *c)
{
	for (size_t i = 0; i < cache_n_feeds(c); i++) {
		struct feed *f = cache_feed(c, i);

		while (f->n_loaded > 0) {
			cached_unref(f->loaded[--f->n_loaded]);
		}
		f->loaded = mem_free(f->loaded);
		f->cap_loaded = f->n_put = 0;
		census_done(&f->loading);
		census_init(&f->loading);
	}
}

/* ---- another history: etcd has been restored from a backup, so the cached state may never have
 * existed ---- */

/* Gives up a kind's history. Differences are not sent: watchers list again. */
static void feed_give_up(struct feed *f)
{
	feed_expire_pins(f, INT64_MAX);
	pthread_mutex_lock(&f->lock);
	feed_watchers_restored(f);
	window_clear(&f->window);
	f->dispatched = f->window.end;
	pthread_mutex_unlock(&f->lock);
}

/* Refuses new watchers and readers until everything has been loaded again. */
static void history_close(struct cache *c)
{
	pthread_mutex_lock(&c->lock);
	atomic_store(&c->is_ready, false);
	atomic_store(&c->is_connected, false);
	atomic_store(&c->lost, MAX(atomic_load(&c->lost), cache_revision(c)));
	atomic_store(&c->forgotten, INT64_MAX);
	c->epoch++;
	pthread_mutex_unlock(&c->lock);
}

static void cache_give_up(struct cache *c)
{
	history_close(c);
	atomic_fetch_add(&c->n_restores, 1);
	cache_say(c,
		"etcd has been restored from a backup: its history is not the one that was followed up to revision %lld; "
		"not ready until everything has been loaded again",
		(long long)cache_revision(c));
	for (size_t i = 0; i < cache_n_feeds(c); i++) {
		feed_give_up(cache_feed(c, i));
	}
	cache_fresh_give_up(c);
}

static bool is_other_history(struct cache *c, const struct storage_op *op, int64_t floor)
{
	bool is_other = c->cluster && op->cluster && op->cluster != c->cluster;

	return op->result == STORAGE_OK && cache_is_ready(c) && (is_other || op->revision < floor);
}

static void cache_compare_history(struct cache *c, const struct storage_op *op)
{
	if (is_other_history(c, op, cache_revision(c))) {
		cache_give_up(c);
	}
}

/* Checks that an answer is of the known history. If not, the end of the watch begins a load;
 * without a watch, the load that is due does. */
bool cache_check_history(struct cache *c, const struct storage_op *op, int64_t floor)
{
	if (!is_other_history(c, op, floor)) {
		return true;
	}
	cache_give_up(c);
	pthread_mutex_lock(&c->lock);
	c->is_given_up = true;
	if (c->state == LOAD_WATCH) {
		storage_watch_cancel(c->storage, &c->watch);
	}
	pthread_mutex_unlock(&c->lock);
	return false;
}

/* ---- watching ---- */

static struct cache *cache_of_watch(struct storage_watch *w)
{
	return container_of(w, struct cache, watch);
}

static void on_connection(struct storage_watch *w, bool is_connected, const char *message)
{
	struct cache *c = cache_of_watch(w);

	if (c->is_given_up) {
		return;
	}
	atomic_store(&c->is_connected, is_connected);
	if (is_connected) {
		c->load.backoff_ms = BACKOFF_FIRST_MS;
		cache_say(c, "following etcd from revision %lld on", (long long)cache_revision(c));
	} else {
		cache_say(c, "lost etcd at revision %lld: %s", (long long)cache_revision(c), message);
	}
}

static void on_watch_end(struct storage_watch *w, enum storage_result why, int64_t compact_revision, const char *message)
{
	struct cache *c = cache_of_watch(w);

	atomic_store(&c->is_connected, false);
	if (why == STORAGE_RESTORED && !c->is_given_up) {
		cache_give_up(c);
		cache_load_start(c);
	} else if (c->is_given_up) {
		c->is_given_up = false;
		cache_load_start(c);
	} else if (why == STORAGE_COMPACTED) {
		cache_say(c, "etcd has compacted history up to %lld, which is needed from %lld on: loading everything again",
			(long long)compact_revision, (long long)cache_revision(c));
		atomic_fetch_add(&c->n_reloads, 1);
		cache_load_start(c);
	} else if (why != STORAGE_CANCELED) {
		cache_say(c, "etcd ended the watch: %s", message);
		load_later(c, LOAD_REWATCH);
	}
	cache_idle(c);
}

static void watch_start(struct cache *c)
{
	c->watch = (struct storage_watch){
		.key = c->prefix_key,
		.range_end = c->prefix_end,
		.from_revision = cache_revision(c) + 1,
		.cluster = c->cluster,
		.on_events = cache_on_events,
		.on_state = on_connection,
		.on_end = on_watch_end,
	};
	pthread_mutex_lock(&c->lock);
	bool must_load = c->is_given_up;
	c->is_given_up = false;
	if (!c->is_closing && !must_load) {
		c->n_busy++;
		c->state = LOAD_WATCH;
		storage_watch(c->storage, &c->watch);
	}
	pthread_mutex_unlock(&c->lock);
	if (must_load) {
		cache_load_start(c);
	}
}

/* ---- loading ---- */

/* Installs what was loaded. is_fenced: the next revision is the fence, which changes no object.
 * Then the watch begins behind it: etcd serves one that begins in its past up to 100 ms late. */
static void load_install(struct cache *c, bool is_fenced)
{
	cache_install(c, c->load.revision);
	load_drop(c);
	cache_say(c, "loaded at revision %lld", (long long)c->load.revision);
	if (is_fenced) {
		cache_apply(c, NULL, 0, c->load.revision + 1);
	}
	watch_start(c);
}

bool load_is_cut(const struct load *l, const struct feed *f)
{
	return l->n_deleted > 1 || f->n_put + l->n_deleted > 1;
}

static void load_fence_done(struct storage_op *op)
{
	struct cache *c = container_of(container_of(op, struct storage_txn, op), struct cache, load.fence);
	bool is_fenced = op->result == STORAGE_OK && op->revision == c->load.revision + 1;

	storage_op_clear(op);
	load_install(c, is_fenced);
	cache_idle(c);
}

/* Installs the load, or writes a fence first: no client can resume at a revision that is cut, so
 * lists need a later one. Where etcd takes no writes, clients list again until it does. */
static void load_step_over(struct cache *c)
{
	struct load *l = &c->load;
	bool is_cut = false;

	for (size_t i = 0; i < cache_n_feeds(c); i++) {
		is_cut |= load_is_cut(l, cache_feed(c, i));
	}
	if (!is_cut) {
		load_install(c, false);
		return;
	}
	l->fence_step = (struct storage_step){.kind = STEP_PUT, .key = c->fence_key};
	l->fence = (struct storage_txn){
		.op = {.done = load_fence_done, .timeout_ms = PAGE_TIMEOUT_MS}, .success = &l->fence_step, .n_success = 1};
	if (cache_busy(c)) {
		storage_txn(c->storage, &l->fence);
	}
}

static void count_done(struct storage_op *op);

/* Asks how many keys there were just before a revision. etcd looks at each key for that, deleted
 * ones too, so it counts while it reads pages. */
static void count_request(struct cache *c, int64_t revision)
{
	c->load.before = (struct storage_range){
		.op = {.done = count_done, .timeout_ms = PAGE_TIMEOUT_MS},
		.key = c->objects_key,
		.range_end = c->objects_end,
		.at_revision = revision - 1,
		.count_only = true,
	};
	if (revision > 1 && cache_busy(c)) {
		c->load.is_counting = true;
		storage_range(c->storage, &c->load.before);
	}
}

/* Ends a load. Clients may resume at the loaded revision, although its events are unknown. That
 * is wrong only if there were several: puts have been seen, and the number of keys gives the
 * deletions. */
static void load_finish(struct cache *c)
{
	struct load *l = &c->load;

	if (l->is_counting) {
		l->is_read = true;
	} else if (l->revision <= 1) {
		l->n_deleted = 0;
		load_install(c, false);
	} else if (l->before.at_revision == l->revision - 1) {
		l->n_deleted = l->n_before >= 0 ? (size_t)MAX(l->n_before + l->n_new - c->n_keys, 0) : SIZE_MAX;
		load_step_over(c);
	} else {
		count_request(c, l->revision); /* something was written before the first page was read */
		l->is_read = true;
	}
}

static void count_done(struct storage_op *op)
{
	struct storage_range *r = container_of(op, struct storage_range, op);
	struct cache *c = container_of(r, struct cache, load.before);
	struct load *l = &c->load;

	l->is_counting = false;
	l->n_before = op->result == STORAGE_OK ? r->count : -1;
	storage_op_clear(op);
	if (l->has_failed) {
		load_later(c, LOAD_RETRY);
	} else if (l->is_read) {
		load_finish(c);
	}
	cache_idle(c);
}

/* Returns how many keys make a page of the wanted size, judging by this page. */
static int64_t page_next_limit(const struct storage_range *r)
{
	size_t bytes = 1;

	for (size_t i = 0; i < r->n_kvs; i++) {
		bytes += r->kvs[i].key.n + r->kvs[i].value.n;
	}
	return (int64_t)MAX(MIN(PAGE_BYTES * r->n_kvs / bytes, (size_t)PAGE_MAX), (size_t)PAGE_MIN);
}

void feed_add_loaded(struct feed *f, struct cached *o)
{
	if (f->n_loaded == f->cap_loaded) {
		f->cap_loaded = MAX(f->cap_loaded * 2, (size_t)64);
		f->loaded = mem_realloc_array(f->loaded, f->cap_loaded, sizeof(struct cached *));
	}
	f->loaded[f->n_loaded++] = o;
}

/* Grows the heap in large steps. glibc grows a thread's heap by a page at a time, one system
 * call each: a quarter of the time of a load. A larger piece that is allocated and freed at once
 * stays at the heap's end. Below 128 KiB it is neither trimmed nor mapped apart. */
static void heap_grow(void)
{
	enum { HEAP_STEP = 120 * 1024 };

	mem_free(mem_alloc(HEAP_STEP));
}

/* A page that two threads decode: each takes the next few objects when it is done. The results
 * are in key order. */
struct decoding {
	struct cache *c;
	const struct storage_range *r;
	struct cached **objects; /* NULL: not an object of a known kind, or cannot be decoded */
	_Atomic size_t next;
};

static void *decoding_run(void *ctx)
{
	enum { OBJECTS_A_STEP = 64 };
	struct decoding *d = ctx;
	const struct storage_range *r = d->r;
	size_t from;

	while ((from = atomic_fetch_add_explicit(&d->next, OBJECTS_A_STEP, memory_order_relaxed)) < r->n_kvs) {
		heap_grow();
		for (size_t i = from; i < MIN(from + OBJECTS_A_STEP, r->n_kvs); i++) {
			struct str rest;
			const struct feed *f = cache_feed_of_key(d->c, r->kvs[i].key, &rest);

			d->objects[i] = f ? cache_decode_only(f, rest, &r->kvs[i]) : NULL;
		}
	}
	return NULL;
}

/* Decodes a page with a second thread, which lives as long as the page: a load has few of them.
 * If none can be started, this thread decodes everything. */
static void decoding_share(struct decoding *d)
{
	enum { WORTH_A_THREAD = 256 }; /* objects: 1 ms */
	pthread_t other;
	bool is_shared = d->r->n_kvs >= WORTH_A_THREAD && pthread_create(&other, NULL, decoding_run, d) == 0;

	if (is_shared) {
		pthread_setname_np(other, "cache-load");
	}
	decoding_run(d);
	if (is_shared) {
		pthread_join(other, NULL);
	}
}

static void page_decode(struct cache *c, const struct storage_range *r)
{
	_cleanup_(mem_freep) struct cached **objects = mem_array(r->n_kvs, sizeof(*objects));
	struct decoding d = {.c = c, .r = r, .objects = objects};

	/* Keys of bases come before those of all objects. */
	for (size_t i = 0; i < r->n_kvs; i++) {
		cache_take_base(c, &r->kvs[i]);
	}
	decoding_share(&d);
	for (size_t i = 0; i < r->n_kvs; i++) {
		struct str rest;
		struct feed *f = cache_feed_of_key(c, r->kvs[i].key, &rest);

		c->load.n_new += r->kvs[i].create_revision == c->load.revision;
		if (f) {
			f->n_put += r->kvs[i].mod_revision == c->load.revision;
		}
		if (f && cache_take_decoded(c, f, &f->loading, rest, &r->kvs[i], objects[i])) {
			feed_add_loaded(f, objects[i]);
		}
	}
}

static void page_done(struct storage_op *op);

static void page_submit(struct cache *c, struct load_page *p, struct str key)
{
	p->range = (struct storage_range){
		.op = {.done = page_done, .timeout_ms = PAGE_TIMEOUT_MS},
		.key = key,
		.range_end = c->load.is_defining ? c->definitions_end : c->objects_end,
		.at_revision = c->load.revision,
		.limit = c->load.limit,
	};
	if (cache_busy(c)) {
		storage_range(c->storage, &p->range);
	}
}

/* Requests everything from `from` on, at the revision of the first page. */
static void page_request(struct cache *c, struct load_page *p, struct str from)
{
	char *key;

	arena_clear(&p->arena);
	key = arena_text(&p->arena, from.n + 1);
	memcpy(key, from.p, from.n);
	key[from.n] = '\0';
	/* A first page includes `from`, others do not. */
	page_submit(c, p, (struct str){key, c->load.revision ? from.n + 1 : from.n});
}

static void page_request_next(struct cache *c, const struct storage_range *r)
{
	c->load.page ^= 1;
	c->load.limit = page_next_limit(r);
	page_request(c, &c->load.pages[c->load.page], r->kvs[r->n_kvs - 1].key);
}

/* Takes definitions. When all are there, the objects are requested, at the same revision. */
static void page_define(struct cache *c, const struct storage_range *r, bool is_last)
{
	struct load *l = &c->load;

	for (size_t i = 0; i < r->n_kvs; i++) {
		cache_define(c, r->kvs[i].key, r->kvs[i].value, r->kvs[i].mod_revision);
	}
	if (is_last) {
		cache_kinds_load_end(c, l->revision);
		l->is_defining = false;
		l->limit = PAGE_FIRST;
		page_request(c, &l->pages[l->page ^= 1], c->objects_key);
	}
}

/* Takes a page. The next one is requested before this one is decoded, so etcd works meanwhile. */
static void page_take(struct cache *c, const struct storage_range *r)
{
	bool is_last = !r->has_more || r->n_kvs == 0;

	if (c->load.revision == 0) {
		cache_compare_history(c, &r->op);
		c->load.revision = r->op.revision;
		c->cluster = r->op.cluster;
	}
	if (!is_last) {
		page_request_next(c, r);
	}
	if (c->load.is_defining) {
		page_define(c, r, is_last);
		return;
	}
	if (c->load.n_keys_unknown) {
		/* Counts all keys, also those that are no objects: proofs compare with it. */
		c->n_keys = r->count;
		c->load.n_keys_unknown = false;
	}
	page_decode(c, r);
	if (is_last) {
		load_finish(c);
	}
}

/* Logs a failure once, not for each attempt. */
static void load_complain(struct cache *c, const char *message)
{
	if (c->load.backoff_ms == BACKOFF_FIRST_MS) {
		cache_say(c, "cannot load from etcd, will go on trying: %s", message);
	}
}

/* Begins again later, but not while etcd still counts for this load. */
static void load_fail(struct cache *c)
{
	c->load.has_failed = c->load.is_counting;
	if (!c->load.is_counting) {
		load_later(c, LOAD_RETRY);
	}
}

/* Returns true when the page was too large and can be smaller: its objects are larger than those
 * before. */
static bool page_can_shrink(const struct cache *c, const struct storage_op *op)
{
	return op->result == STORAGE_TOO_LARGE && c->load.limit > 1;
}

static void page_shrink(struct cache *c, struct load_page *p)
{
	enum { SHRINK = 8 };

	c->load.limit = MAX(c->load.limit / SHRINK, (int64_t)1);
	page_submit(c, p, p->range.key);
}

static void page_done(struct storage_op *op)
{
	struct storage_range *r = container_of(op, struct storage_range, op);
	struct load_page *p = container_of(r, struct load_page, range);
	struct cache *c = p->cache;
	bool is_ok = op->result == STORAGE_OK, can_shrink = page_can_shrink(c, op);

	/* Each page must come from the same store as the first one. */
	bool is_other = is_ok && c->load.revision > 0 && (op->revision < c->load.revision || op->cluster != c->cluster);
	is_ok &= !is_other;
	if (is_ok) {
		page_take(c, r);
	} else if (!can_shrink) {
		load_complain(c, op->message);
		load_drop(c);
	}
	storage_op_clear(op);
	if (can_shrink) {
		page_shrink(c, p);
	} else if (!is_ok) {
		load_fail(c);
	}
	cache_idle(c);
}

static void present_done(struct storage_op *op)
{
	struct storage_range *r = container_of(op, struct storage_range, op);
	struct cache *c = container_of(r, struct cache, load.present);
	bool is_ok = op->result == STORAGE_OK;
	int64_t revision = op->revision;

	if (!is_ok) {
		load_complain(c, op->message);
	}
	storage_op_clear(op);
	if (is_ok) {
		struct str first = c->load.is_defining ? c->definitions_key : c->objects_key;

		page_request(c, &c->load.pages[c->load.page ^= 1], first);
		count_request(c, revision);
	} else {
		load_fail(c);
	}
	cache_idle(c);
}

/* Begins with etcd's revision, which is usually that of the first page too: so etcd can count
 * while it reads. */
void cache_load_start(struct cache *c)
{
	struct load *l = &c->load;

	l->revision = l->n_new = l->before.at_revision = 0;
	bases_load_begin(&c->bases);
	l->limit = PAGE_FIRST;
	l->is_read = l->has_failed = false;
	l->n_keys_unknown = true;
	l->is_defining = c->definitions_key.n > 0;
	cache_kinds_load_begin(c);
	l->present = (struct storage_range){
		.op = {.done = present_done, .timeout_ms = PAGE_TIMEOUT_MS}, .key = c->fence_key, .keys_only = true};
	load_set_state(c, LOAD_PAGES);
	if (cache_busy(c)) {
		storage_range(c->storage, &l->present);
	}
}

void cache_load_init(struct cache *c)
{
	for (size_t i = 0; i < ARRAY_SIZE(c->load.pages); i++) {
		c->load.pages[i].cache = c;
		arena_init(&c->load.pages[i].arena, SIZE_MAX);
	}
	c->load.backoff_ms = BACKOFF_FIRST_MS;
}

void cache_load_done(struct cache *c)
{
	load_drop(c);
	for (size_t i = 0; i < ARRAY_SIZE(c->load.pages); i++) {
		arena_done(&c->load.pages[i].arena);
	}
}

int64_t cache_load_tick(struct cache *c, int64_t now_ms)
{
	enum load_state state = c->state;

	if (state != LOAD_RETRY && state != LOAD_REWATCH) {
		return INT64_MAX;
	}
	if (now_ms < c->retry_at_ms) {
		return c->retry_at_ms;
	}
	c->state = LOAD_IDLE;
	pthread_mutex_unlock(&c->lock);
	if (state == LOAD_RETRY) {
		cache_load_start(c);
	} else {
		watch_start(c);
	}
	pthread_mutex_lock(&c->lock);
	return INT64_MAX;
}
