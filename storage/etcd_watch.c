#include "storage/etcd_watch.h"

#include "storage/etcd_codec.h"

#include <assert.h>
#include <pthread.h>

enum { BACKOFF_FIRST_MS = 100, BACKOFF_MAX_MS = 1000, REQUEST_SCRATCH = 1024 };

struct etcd_watches {
	struct etcd_client *client;
	pthread_mutex_t lock;
	struct list all; /* watch.node */
};

/* Events that wait for the rest of their revision, and what keeps their slices. */
struct held {
	struct arena arena;
	struct storage_event *events;
	size_t n;
};

struct watch {
	struct list node;
	struct etcd_watches *all;
	struct storage_watch *owner;
	struct etcd_task cancel; /* posted at most once */
	bool is_cancel_posted;   /* guarded by all->lock */

	/* of the completion thread */
	struct etcd_task open;      /* posted at the start, scheduled afterwards */
	struct etcd_stream *stream; /* NULL between two */
	bool is_canceling;
	bool must_step_back;   /* see watch_start_revision() */
	bool is_stepping_back; /* the stream is being left for that */
	bool has_told_state, is_connected;
	int64_t next_revision; /* all before it are delivered or unwanted; 0: not known yet, from now */
	int64_t backoff_ms;
	struct held held;
	/* Why the stream is being left, if its messages say so rather than its status. */
	bool must_end;
	enum storage_result end_result;
	int64_t end_compact_revision;
	char *end_message;
};

static const struct etcd_method method_watch = {
	"/etcdserverpb.Watch/Watch", LANE_STREAMS, .is_read = true, .wants_leader = true};

static struct watch *watch_free(struct watch *w)
{
	arena_done(&w->held.arena);
	mem_free(w->end_message);
	return mem_free(w);
}

static void watch_end(struct watch *w, enum storage_result why, int64_t compact_revision, const char *message)
{
	struct storage_watch *owner = w->owner;
	pthread_mutex_lock(&w->all->lock);
	list_remove(&w->node);
	bool is_cancel_under_way = w->is_cancel_posted && !w->is_canceling;
	pthread_mutex_unlock(&w->all->lock);

	owner->on_end(owner, why, compact_revision, message);
	if (is_cancel_under_way) {
		w->owner = NULL; /* watch_cancel() frees it */
	} else {
		watch_free(w);
	}
}

static void watch_tell_state(struct watch *w, bool is_connected, const char *message)
{
	bool is_news = !w->has_told_state || w->is_connected != is_connected;
	w->has_told_state = true;
	w->is_connected = is_connected;
	if (is_news && w->owner->on_state) {
		w->owner->on_state(w->owner, is_connected, message);
	}
}

/* ---- what the stream brings ---- */

/* Everything up to n goes out but what is known already; the rest is kept. */
static void watch_deliver(struct watch *w, const struct storage_event *events, size_t n)
{
	while (n > 0 && events->kv.mod_revision < w->next_revision) {
		events++;
		n--;
	}
	if (n > 0) {
		int64_t revision = events[n - 1].kv.mod_revision;
		w->owner->on_events(w->owner, events, n, revision);
		w->next_revision = revision + 1;
	}
}

static void held_clear(struct held *h)
{
	arena_clear(&h->arena);
	h->events = NULL;
	h->n = 0;
}

static void held_keep(struct held *h, const struct storage_event *events, size_t n)
{
	struct storage_event *more = arena_array(&h->arena, struct storage_event, h->n + n);
	if (h->n > 0) {
		memcpy(more, h->events, h->n * sizeof(*more));
	}
	for (size_t i = 0; i < n; i++) {
		more[h->n + i] = events[i];
		more[h->n + i].kv.key = arena_dup(&h->arena, events[i].kv.key);
		more[h->n + i].kv.value = arena_dup(&h->arena, events[i].kv.value);
	}
	h->events = more;
	h->n += n;
}

static size_t count_leading(const struct storage_event *events, size_t n, int64_t revision)
{
	size_t i = 0;
	while (i < n && events[i].kv.mod_revision == revision) {
		i++;
	}
	return i;
}

static size_t count_trailing(const struct storage_event *events, size_t n)
{
	size_t i = 0;
	while (i < n && events[n - 1 - i].kv.mod_revision == events[n - 1].kv.mod_revision) {
		i++;
	}
	return i;
}

/* etcd cuts a large answer anywhere, also within a revision. So the last revision of a fragment waits until the next one shows
 * where it ends; never more than one revision is held. */
static void watch_take_events(struct watch *w, const struct storage_event *events, size_t n, bool is_fragment)
{
	struct held *h = &w->held;
	if (h->n > 0) {
		size_t n_same = count_leading(events, n, h->events->kv.mod_revision);
		held_keep(h, events, n_same);
		events += n_same;
		n -= n_same;
		if (n > 0 || !is_fragment) {
			watch_deliver(w, h->events, h->n);
			held_clear(h);
		}
	}
	size_t n_waiting = is_fragment ? count_trailing(events, n) : 0;
	watch_deliver(w, events, n - n_waiting);
	held_keep(h, events + n - n_waiting, n_waiting);
}

static void watch_leave_stream(struct watch *w)
{
	etcd_stream_cancel(w->stream);
}

static void watch_take_creation(struct watch *w, int64_t revision)
{
	if (w->next_revision == 0) {
		w->next_revision = revision + 1;
	}
	if (w->next_revision <= revision && !w->must_step_back) {
		w->must_step_back = true;
		w->is_stepping_back = true;
		watch_leave_stream(w);
		return;
	}
	w->backoff_ms = BACKOFF_FIRST_MS;
	watch_tell_state(w, true, "");
}

static void watch_take_cancellation(struct watch *w, const struct etcd_watch_answer *answer)
{
	w->must_end = true;
	w->end_result = answer->compact_revision > 0 ? STORAGE_COMPACTED : STORAGE_ERROR;
	w->end_compact_revision = answer->compact_revision;
	w->end_message = mem_strdup(answer->compact_revision > 0 ? "etcdserver: mvcc: required revision has been compacted"
								 : answer->cancel_reason);
	watch_leave_stream(w);
}

static void watch_take_answer(struct watch *w, const struct etcd_watch_answer *answer)
{
	bool is_leaving = w->must_end || w->is_canceling || w->is_stepping_back;
	if (is_leaving || answer->is_progress) {
		return;
	}
	if (answer->is_canceled) {
		watch_take_cancellation(w, answer);
	} else if (answer->is_created) {
		watch_take_creation(w, answer->revision);
	} else if (answer->n_events > 0 || w->held.n > 0) {
		watch_take_events(w, answer->events, answer->n_events, answer->is_fragment);
	}
}

static void watch_on_message(void *ctx, struct str body)
{
	struct watch *w = ctx;
	struct arena arena;
	arena_init(&arena, SIZE_MAX);
	struct etcd_watch_answer answer;
	if (etcd_decode_watch(&answer, &arena, body)) {
		watch_take_answer(w, &answer);
	} else {
		watch_leave_stream(w); /* asks again, from where this was */
	}
	arena_done(&arena);
}

/* ---- opening and reopening ---- */

/* Up to 3.4.35 and 3.5.17 etcd accepts a watch from the very revision it has compacted at, although a deletion of that revision is
 * gone (etcd issue 19179). Asking for one revision more turns that into the refusal it should be; watch_deliver() drops what comes
 * twice. Not so at first, unless etcd turns out to be ahead: a watch that begins in the past starts up to 100 ms late. */
static int64_t watch_start_revision(const struct watch *w)
{
	return w->must_step_back ? MAX(w->next_revision - 1, 1) : w->next_revision;
}

static void watch_on_stream_end(void *ctx, enum storage_result why, const char *message)
{
	struct watch *w = ctx;
	bool is_stepping_back = why == STORAGE_CANCELED && w->is_stepping_back;
	w->is_stepping_back = false;
	w->stream = NULL;
	held_clear(&w->held);
	if (w->must_end) {
		watch_end(w, w->end_result, w->end_compact_revision, w->end_message);
		return;
	}
	if (w->is_canceling) {
		watch_end(w, STORAGE_CANCELED, 0, "canceled");
		return;
	}
	if (is_stepping_back) {
		etcd_client_schedule(w->all->client, &w->open, 0);
		return;
	}
	watch_tell_state(w, false, message);
	w->must_step_back = w->next_revision > 0;
	etcd_client_schedule(w->all->client, &w->open, w->backoff_ms);
	w->backoff_ms = MIN(w->backoff_ms * 2, BACKOFF_MAX_MS);
}

static void watch_open(struct etcd_task *task)
{
	static const struct etcd_stream_handler handler = {watch_on_message, watch_on_stream_end};
	struct watch *w = container_of(task, struct watch, open);
	char scratch[REQUEST_SCRATCH];
	struct arena arena;
	arena_init_with(&arena, SIZE_MAX, scratch, sizeof(scratch));
	const ProtobufCMessage *request = etcd_encode_watch(&arena, w->owner, watch_start_revision(w));
	w->stream = etcd_stream_open(w->all->client, &method_watch, request, &handler, w);
	arena_done(&arena);
	if (!w->stream) {
		watch_end(w, STORAGE_CANCELED, 0, "the store is being closed");
	}
}

static void watch_cancel(struct etcd_task *task)
{
	struct watch *w = container_of(task, struct watch, cancel);
	if (!w->owner) {
		watch_free(w);
		return;
	}
	w->is_canceling = true;
	if (w->stream) {
		watch_leave_stream(w);
	} else {
		list_remove(&w->open.node);
		watch_end(w, STORAGE_CANCELED, 0, "canceled");
	}
}

/* ---- from any thread ---- */

struct etcd_watches *etcd_watches_new(struct etcd_client *client)
{
	struct etcd_watches *all = mem_new(struct etcd_watches);
	all->client = client;
	pthread_mutex_init(&all->lock, NULL);
	list_init(&all->all);
	return all;
}

struct etcd_watches *etcd_watches_free(struct etcd_watches *all)
{
	if (all) {
		assert(list_is_empty(&all->all));
		pthread_mutex_destroy(&all->lock);
	}
	return mem_free(all);
}

void etcd_watch_start(struct etcd_watches *all, struct storage_watch *owner)
{
	struct watch *w = mem_new(struct watch);
	w->all = all;
	w->owner = owner;
	w->open.run = watch_open;
	w->cancel.run = watch_cancel;
	w->next_revision = owner->from_revision;
	w->backoff_ms = BACKOFF_FIRST_MS;
	arena_init(&w->held.arena, SIZE_MAX);

	pthread_mutex_lock(&all->lock);
	list_append(&all->all, &w->node);
	pthread_mutex_unlock(&all->lock);
	etcd_client_post(all->client, &w->open);
}

void etcd_watch_cancel(struct etcd_watches *all, struct storage_watch *owner)
{
	struct watch *found = NULL;
	pthread_mutex_lock(&all->lock);
	list_for_each(it, &all->all) {
		struct watch *w = list_entry(it, struct watch, node);
		if (w->owner == owner && !w->is_cancel_posted) {
			w->is_cancel_posted = true;
			found = w;
		}
	}
	pthread_mutex_unlock(&all->lock);
	if (found) {
		etcd_client_post(all->client, &found->cancel);
	}
}
