/* What etcd's watch stream brings, all the way into the cache.
 *
 * First letter r: frames of any bytes, each behind its length in two bytes. Nothing may break.
 * First letter s: a script, a command in each byte, for an etcd that tells the truth but cuts it into fragments, loses connections, compacts,
 * and sends what nobody understands. Then every revision arrives once, whole and in order; the cache ends as etcd is; and what
 * a watcher received leads from the first list to the last. */
#include "proto/rpc.pb-c.h"
#include "storage/cache/cache_private.h"
#include "storage/etcd/etcd_watch.h"
#include "tests/fuzz/fuzz.h"

enum { CHANGES_MAX = 256, FRAME_EVENTS_MAX = CHANGES_MAX, N_KEYS = 8, REVISION_FIRST = 10 };

#define KEY_PREFIX "/annals/objects/annals.dev/controllerrevisions/ns/k"

struct change {
	int64_t revision;
	bool is_delete;
	bool is_gone; /* etcd does not tell it any more */
	unsigned key;
	char letter;
};

struct etcd_stream {
	const struct etcd_stream_handler *handler;
	void *ctx;
	int64_t start_revision;
	bool is_created, is_canceled;
};

/* Stands in for storage/etcd/etcd_client.c: tasks wait until the test runs them. */
struct etcd_client {
	pthread_mutex_t lock; /* the cache's timer may post */
	struct list tasks;
	struct etcd_stream *stream; /* NULL: none is open */
};

struct world {
	struct storage storage;
	struct etcd_client client;
	struct etcd_watches *watches;
	struct storage_watch watch; /* the test's own, between etcd and the cache */
	struct storage_watch *cache_watch;
	struct cache *cache;
	bool is_truthful;
	int64_t delivered; /* the newest revision the cache was given by its watch */

	struct change changes[CHANGES_MAX];
	size_t n_changes;
	int64_t revision, compacted, sent;
	int64_t told; /* the newest that anybody has received */
	struct arena arena;
};

/* ---- the client ---- */

void etcd_client_post(struct etcd_client *c, struct etcd_task *task)
{
	pthread_mutex_lock(&c->lock);
	list_append(&c->tasks, &task->node);
	pthread_mutex_unlock(&c->lock);
}

void etcd_client_schedule(struct etcd_client *c, struct etcd_task *task, int64_t delay_ms _unused_)
{
	etcd_client_post(c, task);
}

int64_t etcd_client_backoff_ms(const struct etcd_client *c _unused_, int64_t last_ms _unused_)
{
	return 0;
}

struct etcd_stream *etcd_stream_open(struct etcd_client *c, const struct etcd_method *method _unused_,
	const ProtobufCMessage *request, const struct etcd_stream_handler *handler, void *ctx)
{
	const Etcdserverpb__WatchRequest *m = container_of(request, const Etcdserverpb__WatchRequest, base);
	c->stream = mem_new(struct etcd_stream);
	*c->stream = (struct etcd_stream){.handler = handler, .ctx = ctx, .start_revision = m->create_request->start_revision};
	return c->stream;
}

void etcd_stream_cancel(struct etcd_stream *s)
{
	s->is_canceled = true;
}

static void stream_end(struct world *w, enum storage_result why)
{
	struct etcd_stream *s = w->client.stream;
	w->client.stream = NULL;
	s->handler->on_end(s->ctx, why, "over");
	mem_free(s);
}

static void stream_message(struct world *w, struct str body)
{
	w->client.stream->handler->on_message(w->client.stream->ctx, body);
	if (w->client.stream->is_canceled) {
		stream_end(w, STORAGE_CANCELED);
	}
}

static struct etcd_task *take_task(struct etcd_client *c)
{
	struct etcd_task *task = NULL;
	pthread_mutex_lock(&c->lock);
	if (!list_is_empty(&c->tasks)) {
		task = list_entry(c->tasks.next, struct etcd_task, node);
		list_remove(&task->node);
	}
	pthread_mutex_unlock(&c->lock);
	return task;
}

/* ---- what etcd says ---- */

static void send_answer(struct world *w, const Etcdserverpb__WatchResponse *m)
{
	_cleanup_(mem_freep) uint8_t *body = mem_alloc(etcdserverpb__watch_response__get_packed_size(m) + 1);
	size_t n = etcdserverpb__watch_response__pack(m, body);
	stream_message(w, (struct str){(const char *)body, n});
}

static struct str key_text(struct world *w, unsigned key)
{
	return arena_printf(&w->arena, KEY_PREFIX "%u", key);
}

static struct str value_text(struct world *w, const struct change *c)
{
	return arena_printf(&w->arena,
		"{\"kind\":\"ControllerRevision\",\"apiVersion\":\"annals.dev/"
		"v1\",\"metadata\":{\"name\":\"k%u\",\"namespace\":\"ns\",\"uid\":\"u\","
		"\"creationTimestamp\":\"2026-01-01T00:00:00Z\",\"labels\":{\"l\":\"%c\"}},\"data\":{},\"revision\":%lld}",
		c->key, c->letter, (long long)c->revision);
}

static ProtobufCBinaryData bytes_of(struct str s)
{
	return (ProtobufCBinaryData){s.n, (uint8_t *)(uintptr_t)s.p};
}

static Mvccpb__Event *event_of(struct world *w, const struct change *c)
{
	Mvccpb__Event *event = arena_array(&w->arena, Mvccpb__Event, 1);
	Mvccpb__KeyValue *kv = arena_array(&w->arena, Mvccpb__KeyValue, 1);
	mvccpb__event__init(event);
	mvccpb__key_value__init(kv);
	kv->key = bytes_of(key_text(w, c->key));
	kv->mod_revision = c->revision;
	kv->create_revision = c->is_delete ? 0 : c->revision;
	event->type = c->is_delete ? MVCCPB__EVENT__EVENT_TYPE__DELETE : MVCCPB__EVENT__EVENT_TYPE__PUT;
	kv->value = c->is_delete ? (ProtobufCBinaryData){0} : bytes_of(value_text(w, c));
	event->kv = kv;
	return event;
}

static void send_events(struct world *w, const struct change *changes, size_t n, bool is_fragment)
{
	Etcdserverpb__WatchResponse m = ETCDSERVERPB__WATCH_RESPONSE__INIT;
	Etcdserverpb__ResponseHeader header = ETCDSERVERPB__RESPONSE_HEADER__INIT;
	Mvccpb__Event *events[FRAME_EVENTS_MAX];
	header.revision = w->revision;
	for (size_t i = 0; i < n; i++) {
		events[i] = event_of(w, &changes[i]);
	}
	m.header = &header;
	m.events = events;
	m.n_events = n;
	m.fragment = is_fragment;
	send_answer(w, &m);
}

/* Up to n revisions, in pieces of so many events; 0: in one. */
static void send_revisions(struct world *w, size_t n, size_t piece)
{
	struct etcd_stream *s = w->client.stream;
	size_t begin = 0, end;
	while (begin < w->n_changes && (w->changes[begin].revision <= w->sent || w->changes[begin].is_gone)) {
		begin++;
	}
	for (end = begin; end < w->n_changes && n > 0; n--) {
		int64_t revision = w->changes[end].revision;
		while (end < w->n_changes && w->changes[end].revision == revision) {
			end++;
		}
		w->sent = revision;
		w->told = MAX(w->told, revision);
	}
	while (begin < end && w->client.stream == s) {
		size_t now = piece ? MIN(piece, end - begin) : end - begin;
		send_events(w, &w->changes[begin], now, begin + now < end);
		begin += now;
	}
}

/* etcd before 3.4.36 and 3.5.18: the very revision of a compaction may be watched, but for its deletions, which are gone. */
static void send_creation(struct world *w)
{
	Etcdserverpb__WatchResponse m = ETCDSERVERPB__WATCH_RESPONSE__INIT;
	Etcdserverpb__ResponseHeader header = ETCDSERVERPB__RESPONSE_HEADER__INIT;
	struct etcd_stream *s = w->client.stream;
	bool is_refused = s->start_revision > 0 && s->start_revision < w->compacted;
	s->is_created = true;
	header.revision = is_refused ? 0 : w->revision;
	m.header = &header;
	m.created = true;
	w->sent = s->start_revision > 0 ? s->start_revision - 1 : w->revision;
	send_answer(w, &m);
	if (is_refused && w->client.stream == s) {
		m.created = false;
		m.canceled = true;
		m.compact_revision = w->compacted;
		send_answer(w, &m);
	}
}

static const struct change *newest_of(const struct world *w, unsigned key)
{
	const struct change *found = NULL;
	for (size_t i = 0; i < w->n_changes; i++) {
		if (w->changes[i].key == key) {
			found = &w->changes[i];
		}
	}
	return found && !found->is_delete ? found : NULL;
}

static void compact(struct world *w, int64_t revision)
{
	w->compacted = MAX(w->compacted, revision);
	for (size_t i = 0; i < w->n_changes; i++) {
		struct change *c = &w->changes[i];
		c->is_gone = c->is_gone || c->revision < w->compacted || (c->revision == w->compacted && c->is_delete);
	}
}

struct question {
	struct etcd_task task;
	struct world *world;
	struct str key; /* in the world's arena */
	int64_t at_revision;
	void (*done)(void *ctx, const struct etcd_reply *reply);
	void *ctx;
};

/* What the key was then, or how far etcd is. */
static void answer_question(struct etcd_task *task)
{
	struct question *q = container_of(task, struct question, task);
	struct world *w = q->world;
	Etcdserverpb__RangeResponse m = ETCDSERVERPB__RANGE_RESPONSE__INIT;
	Etcdserverpb__ResponseHeader header = ETCDSERVERPB__RESPONSE_HEADER__INIT;
	Mvccpb__KeyValue kv = MVCCPB__KEY_VALUE__INIT, *kvs[] = {&kv};
	const struct change *found = NULL;
	for (size_t i = 0; i < w->n_changes && w->changes[i].revision <= q->at_revision; i++) {
		found = str_eq(key_text(w, w->changes[i].key), q->key) ? &w->changes[i] : found;
	}
	header.revision = w->revision;
	m.header = &header;
	kv.mod_revision = found ? found->revision : 0;
	m.kvs = kvs;
	m.n_kvs = found && !found->is_delete;
	_cleanup_(mem_freep) uint8_t *body = mem_alloc(etcdserverpb__range_response__get_packed_size(&m) + 1);
	size_t n = etcdserverpb__range_response__pack(&m, body);
	bool is_compacted = q->at_revision > 0 && q->at_revision < w->compacted;
	bool is_future = q->at_revision > w->revision;
	enum storage_result result = is_future ? STORAGE_FUTURE : is_compacted ? STORAGE_COMPACTED : STORAGE_OK;
	q->done(q->ctx, &(struct etcd_reply){.result = result, .message = "", .body = {(const char *)body, n}});
	mem_free(q);
}

void etcd_client_call(struct etcd_client *c, const struct etcd_method *method _unused_, const ProtobufCMessage *request,
	int64_t timeout_ms _unused_, void (*done)(void *ctx, const struct etcd_reply *reply), void *ctx)
{
	const Etcdserverpb__RangeRequest *m = container_of(request, const Etcdserverpb__RangeRequest, base);
	struct world *w = container_of(c, struct world, client);
	struct question *q = mem_new(struct question);
	*q = (struct question){.task.run = answer_question, .world = w, .at_revision = m->revision, .done = done, .ctx = ctx};
	q->key = arena_dup(&w->arena, (struct str){(const char *)m->key.data, m->key.len});
	etcd_client_post(c, &q->task);
}

/* ---- the store ---- */

struct answer {
	struct etcd_task task;
	struct world *world;
	struct storage_range *range;
	struct storage_txn *txn;
};

/* Of how many keys there were. */
static void answer_count(struct world *w, struct storage_range *r)
{
	bool is_there[N_KEYS] = {0};
	for (size_t i = 0; i < w->n_changes && w->changes[i].revision <= r->at_revision; i++) {
		is_there[w->changes[i].key] = !w->changes[i].is_delete;
	}
	for (unsigned key = 0; key < N_KEYS; key++) {
		r->count += is_there[key];
	}
	r->op.result = r->at_revision < w->compacted ? STORAGE_COMPACTED : STORAGE_OK;
	r->op.message = "";
	r->op.revision = w->revision;
	r->op.done(&r->op);
}

static void answer_range(struct etcd_task *task)
{
	struct answer *answer = container_of(task, struct answer, task);
	struct world *w = answer->world;
	struct storage_range *r = answer->range;
	mem_free(answer);
	if (r->count_only) {
		answer_count(w, r);
		return;
	}
	r->kvs = arena_array(&w->arena, struct storage_kv, N_KEYS);
	r->n_kvs = 0;
	for (unsigned key = 0; key < N_KEYS; key++) {
		const struct change *c = newest_of(w, key);
		if (c) {
			r->kvs[r->n_kvs++] = (struct storage_kv){.key = key_text(w, key),
				.value = value_text(w, c),
				.create_revision = c->revision,
				.mod_revision = c->revision};
		}
	}
	r->count = (int64_t)r->n_kvs;
	r->op.result = STORAGE_OK;
	r->op.message = "";
	r->op.revision = w->revision;
	w->delivered = w->told = w->revision;
	r->op.done(&r->op);
}

static struct world *world_of(struct storage *s)
{
	return container_of(s, struct world, storage);
}

static void world_range(struct storage *s, struct storage_range *op)
{
	struct answer *answer = mem_new(struct answer);
	*answer = (struct answer){.task.run = answer_range, .world = world_of(s), .range = op};
	arena_init(&op->op.arena, 0);
	etcd_client_post(&world_of(s)->client, &answer->task);
}

/* This etcd takes no writes. */
static void answer_txn(struct etcd_task *task)
{
	struct answer *answer = container_of(task, struct answer, task);
	struct storage_txn *t = answer->txn;
	mem_free(answer);
	t->op.result = STORAGE_ERROR;
	t->op.message = "";
	t->op.done(&t->op);
}

static void world_txn(struct storage *s, struct storage_txn *op)
{
	struct answer *answer = mem_new(struct answer);
	*answer = (struct answer){.task.run = answer_txn, .world = world_of(s), .txn = op};
	arena_init(&op->op.arena, 0);
	etcd_client_post(&world_of(s)->client, &answer->task);
}

static void on_events(struct storage_watch *watch, const struct storage_event *events, size_t n, int64_t revision)
{
	struct world *w = container_of(watch, struct world, watch);
	CHECK(n > 0 && revision == events[n - 1].kv.mod_revision);
	for (size_t i = 0; i < n; i++) {
		CHECK(events[i].kv.mod_revision > w->delivered);
		CHECK(i == 0 || events[i].kv.mod_revision >= events[i - 1].kv.mod_revision);
	}
	w->delivered = revision;
	w->cache_watch->on_events(w->cache_watch, events, n, revision);
}

static void on_state(struct storage_watch *watch, bool is_connected, const char *message)
{
	struct world *w = container_of(watch, struct world, watch);
	w->cache_watch->on_state(w->cache_watch, is_connected, message);
}

static void on_end(struct storage_watch *watch, enum storage_result why, int64_t compact_revision, const char *message)
{
	struct world *w = container_of(watch, struct world, watch);
	w->cache_watch->on_end(w->cache_watch, why, compact_revision, message);
}

static void world_watch(struct storage *s, struct storage_watch *watch)
{
	struct world *w = world_of(s);
	w->cache_watch = watch;
	w->watch = *watch;
	w->watch.on_events = on_events;
	w->watch.on_state = on_state;
	w->watch.on_end = on_end;
	etcd_watch_start(w->watches, &w->watch);
}

static void world_watch_cancel(struct storage *s, struct storage_watch *watch _unused_)
{
	etcd_watch_cancel(world_of(s)->watches, &world_of(s)->watch);
}

static const struct storage_ops ops = {
	.range = world_range, .txn = world_txn, .watch = world_watch, .watch_cancel = world_watch_cancel};

/* ---- the test ---- */

static void settle(struct world *w)
{
	struct etcd_task *task;
	while ((task = take_task(&w->client))) {
		task->run(task);
		if (w->client.stream && w->client.stream->is_canceled) {
			stream_end(w, STORAGE_CANCELED);
		}
		if (w->is_truthful && w->client.stream && !w->client.stream->is_created) {
			send_creation(w);
		}
	}
}

static void change(struct world *w, bool is_same_revision, bool is_delete, unsigned key, char letter)
{
	bool is_written = w->n_changes > 0 && w->changes[w->n_changes - 1].revision == w->revision && w->told < w->revision;
	if (w->n_changes == CHANGES_MAX || (is_delete && !newest_of(w, key))) {
		return;
	}
	for (size_t i = 0; i < w->n_changes; i++) {
		is_written = is_written && (w->changes[i].revision != w->revision || w->changes[i].key != key);
	}
	if (!is_same_revision || !is_written) {
		w->revision++;
	}
	w->changes[w->n_changes++] =
		(struct change){.revision = w->revision, .is_delete = is_delete, .key = key, .letter = letter};
}

static void run_command(struct world *w, unsigned command, unsigned argument)
{
	bool is_open = w->client.stream != NULL;
	switch (command) {
	case 0:
	case 1:
		change(w, command == 1, false, argument % N_KEYS, (char)('a' + argument / N_KEYS));
		break;
	case 2:
		change(w, argument >= N_KEYS, true, argument % N_KEYS, '\0');
		break;
	case 3:
		w->revision += argument % 4; /* of others */
		break;
	case 4:
		if (is_open) {
			send_revisions(w, argument % 4 + 1, argument / 4);
		}
		break;
	case 5:
		if (is_open) {
			stream_message(w,
				argument % 2 ? STR("\xff\xff")
					     : STR("\x0a\x02\x18\x05\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
		}
		break;
	case 6:
		if (is_open) {
			stream_end(w, STORAGE_UNAVAILABLE);
		}
		break;
	default:
		if (is_open) {
			send_revisions(w, CHANGES_MAX, 0); /* whoever follows closely has seen what goes */
		}
		compact(w, w->revision - argument);
	}
}

static void check_state(struct world *w, const struct kind *kind)
{
	_cleanup_(cache_snapshot_unrefp) struct cache_snapshot *s = cache_snapshot(w->cache, kind);
	const struct cache_filter all = {0};
	struct cache_iter it;
	const struct cached *o;
	unsigned n = 0, shown = 0;
	for (unsigned key = 0; key < N_KEYS; key++) {
		n += newest_of(w, key) != NULL;
	}
	cache_iter_init(&it, s, &all, STR(""));
	while ((o = cache_iter_next(&it))) {
		const struct change *c = newest_of(w, (unsigned)(o->name.p[1] - '0'));
		CHECK(c && o->revision == c->revision && o->n_labels == 1 && cached_label(o, 0).value.p[0] == c->letter);
		shown++;
	}
	CHECK(shown == n && cache_snapshot_count(s, STR("")) == n);
}

/* Applies the events of the watcher of label l=a to nothing, which is what there was. */
static void check_watcher(struct world *w, struct cache_watcher *watcher)
{
	int64_t at[N_KEYS] = {0}, newest = 0;
	enum watch_type type;
	struct cached *o;
	enum cache_next next;
	while ((next = cache_watch_next(watcher, &type, &o)) == CACHE_NEXT_EVENT) {
		int64_t *seen = &at[o->name.p[1] - '0'];
		CHECK((*seen == 0) == (type == WATCH_ADDED));
		CHECK(o->revision >= newest && o->revision > *seen);
		newest = o->revision;
		*seen = type == WATCH_DELETED ? 0 : o->revision;
		cached_unref(o);
	}
	for (unsigned key = 0; next == CACHE_NEXT_NONE && key < N_KEYS; key++) {
		const struct change *c = newest_of(w, key);
		CHECK(at[key] == (c && c->letter == 'a' ? c->revision : 0));
	}
}

static void nobody_wakes(void *ctx _unused_)
{
}

static void run_script(struct world *w, struct str script)
{
	const struct kind *kind = kind_by_hub(STR("annals.dev"), STR("controllerrevisions"));
	struct label_selector labels;
	struct status st;
	status_init(&st, &w->arena);
	CHECK(label_selector_parse(&labels, STR("l=a"), &w->arena, &st) == 0);
	const struct cache_watch_options options = {
		.kind = kind, .filter.labels = &labels, .from_revision = w->revision, .wake = nobody_wakes};
	struct cache_watcher *watcher;
	CHECK(cache_watch_open(w->cache, &watcher, &options) == CACHE_OK);
	for (size_t i = 0; i < script.n; i++) {
		run_command(w, (uint8_t)script.p[i] >> 5, script.p[i] & 31);
		settle(w);
	}
	send_revisions(w, CHANGES_MAX, 0);
	settle(w);
	check_state(w, kind);
	check_watcher(w, watcher);
	cache_watch_close(watcher);
}

static void run_frames(struct world *w, struct str frames)
{
	while (frames.n >= 2 && w->client.stream) {
		size_t n = MIN((size_t)(uint8_t)frames.p[0] << 8 | (uint8_t)frames.p[1], frames.n - 2);
		stream_message(w, (struct str){frames.p + 2, n});
		frames = (struct str){frames.p + 2 + n, frames.n - 2 - n};
		settle(w);
	}
}

static void world_start(struct world *w, bool is_truthful)
{
	*w = (struct world){
		.storage.ops = &ops, .is_truthful = is_truthful, .revision = REVISION_FIRST, .sent = REVISION_FIRST};
	arena_init(&w->arena, SIZE_MAX);
	pthread_mutex_init(&w->client.lock, NULL);
	list_init(&w->client.tasks);
	w->watches = etcd_watches_new(&w->client);
	w->cache = cache_new(
		&(struct cache_options){.storage = &w->storage, .prefix = STR("/annals"), .window_events = CHANGES_MAX});
	settle(w);
}

static void world_stop(struct world *w)
{
	pthread_mutex_lock(&w->cache->lock);
	w->cache->is_closing = true; /* so that its timer starts no other watch */
	pthread_mutex_unlock(&w->cache->lock);
	etcd_watch_cancel(w->watches, &w->watch);
	settle(w);
	if (w->client.stream) {
		stream_end(w, STORAGE_CANCELED);
	}
	w->cache = cache_free(w->cache);
	w->watches = etcd_watches_free(w->watches);
	pthread_mutex_destroy(&w->client.lock);
	arena_done(&w->arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct world w;
	if (n == 0 || (data[0] != 's' && data[0] != 'r')) {
		return 0;
	}
	struct str rest = {(const char *)data + 1, n - 1};
	world_start(&w, data[0] == 's');
	if (w.is_truthful) {
		run_script(&w, rest);
	} else {
		run_frames(&w, rest);
	}
	world_stop(&w);
	return 0;
}
