/* A state machine on the completion thread. It opens a stream, proves that its history is the
 * one that was followed, and delivers. When the stream breaks, it begins again behind what was
 * delivered. The lock guards only the list, in which a cancel from another thread looks for a
 * watch that may have ended. Answers of a stream that is being left are ignored. */
#include "storage/etcd/etcd_watch.h"

#include "storage/etcd/etcd_codec.h"

#include <assert.h>
#include <pthread.h>

enum { CHECK_AGAIN_MS = 100, REQUEST_SCRATCH = 1024, CHECK_TIMEOUT_MS = 5000 };

struct etcd_watches {
	struct etcd_client *client;
	pthread_mutex_t lock;
	struct list all; /* watch.node */
};

/* Events that wait for the rest of their revision, and the memory of their slices. */
struct held {
	struct arena arena;
	struct storage_event *events;
	size_t n;
};

/* A fingerprint of one revision. Etcd forgets the deletions of the revision that it compacts at,
 * but no puts, so they are counted apart. */
struct print {
	int64_t revision; /* 0: nothing has been seen yet */
	size_t n_puts, n_deletes;
	uint64_t puts, deletes;
};

/* The proof that etcd shows the history that was followed. A restored backup has another history
 * behind some revision, and nothing says so. Its id may be the same, and its revision may have
 * passed the followed one before the watch reconnects. So a reconnected watch has etcd show the
 * last delivered revision again, and compares. Until then nothing is delivered. A quorum read of
 * the latest changes then distinguishes a member that lags behind from a history that is shorter
 * or different. */
enum proof {
	PROOF_DONE,
	PROOF_AWAITED, /* etcd has yet to show the last revision */
	PROOF_ASKED,   /* the member is behind that revision, and the quorum is being asked */
};

/* One key of the last revision. A history that has overtaken the followed one may have nothing
 * at that revision: so the quorum is asked for this key, too. */
struct witness {
	struct buf key;
	bool is_deleted;
};

struct watch {
	struct list node;
	struct etcd_watches *all;
	struct storage_watch *owner; /* NULL: its end has been reported */
	struct etcd_task cancel; /* posted at most once */
	bool is_cancel_posted;   /* guarded by all->lock */

	/* used by the completion thread */
	unsigned n_users;           /* of this struct: the owner, posted tasks, requests under way */
	struct etcd_task open;      /* posted at the start, scheduled afterwards */
	struct etcd_stream *stream; /* NULL between two streams */
	bool is_canceling;
	bool is_leaving;       /* the stream is being left: its later answers are ignored */
	bool must_step_back;   /* see watch_start_revision() */
	bool is_stepping_back; /* the stream is being left for that */
	bool has_told_state, is_connected;
	int64_t next_revision; /* all before it are delivered or unwanted; 0: not known yet, the watch begins now */
	int64_t backoff_ms;    /* the last wait; 0: none since the stream last worked */
	struct held held;
	uint64_t cluster;       /* 0: not known */
	struct print last;      /* delivered */
	struct witness witness; /* of the last revision */
	enum proof proof;
	bool is_checking, is_check_due;
	int64_t check_at;          /* the requested revision; 0: the present one */
	struct etcd_task check;    /* once more */
	const char *leave_message; /* the reason, where the status would not say it */
	/* Why the stream is being left, if its messages say so rather than its status. */
	bool must_end;
	enum storage_result end_result;
	int64_t end_compact_revision;
	char *end_message;
};

static const struct etcd_method method_watch = {
	"/etcdserverpb.Watch/Watch", LANE_STREAMS, .is_read = true, .wants_leader = true};

static const struct etcd_method method_range = {"/etcdserverpb.KV/Range", LANE_CALLS, .is_read = true};

static void watch_unref(struct watch *w)
{
	assert(w->n_users > 0);
	if (--w->n_users > 0) {
		return;
	}
	assert(!w->owner && !w->stream);
	arena_done(&w->held.arena);
	buf_done(&w->witness.key);
	mem_free(w->end_message);
	mem_free(w);
}

static void watch_end(struct watch *w, enum storage_result why, int64_t compact_revision, const char *message)
{
	assert(w->owner && !w->stream);
	struct storage_watch *owner = w->owner;
	pthread_mutex_lock(&w->all->lock);
	list_remove(&w->node);
	w->n_users += w->is_cancel_posted && !w->is_canceling; /* watch_cancel() is on its way */
	pthread_mutex_unlock(&w->all->lock);

	w->owner = NULL;
	owner->on_end(owner, why, compact_revision, message);
	watch_unref(w);
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

/* Leaves the stream. Answers already received may still come from it, perhaps ones that etcd
 * sent behind something that was missed. */
static void watch_leave_stream(struct watch *w)
{
	assert(w->stream);
	w->is_leaving = true;
	etcd_stream_cancel(w->stream);
}

/* Leaves the stream for good. The owner gets this end when the stream has ended. */
static void watch_leave(struct watch *w, enum storage_result why, int64_t compact_revision, const char *message)
{
	assert(!w->must_end);
	w->must_end = true;
	w->end_result = why;
	w->end_compact_revision = compact_revision;
	w->end_message = mem_strdup(message);
	watch_leave_stream(w);
}

/* ---- proof of the history ---- */

static void watch_find_restored(struct watch *w)
{
	watch_leave(w, STORAGE_RESTORED, 0, "its history is not the one that was followed: a backup has been restored");
}

static void watch_settle(struct watch *w)
{
	assert(w->owner);
	w->proof = PROOF_DONE;
	w->backoff_ms = 0;
	watch_tell_state(w, true, "");
}

static void watch_ask(struct watch *w, int64_t at_revision);

static void watch_find_compacted(struct watch *w, int64_t revision)
{
	watch_leave(w, STORAGE_COMPACTED, revision, "etcdserver: mvcc: required revision has been compacted");
}

/* Compares the key of the last revision, as the quorum has it at that revision. A key that was
 * deleted then is also compared as it was before. */
static void watch_take_witness(struct watch *w, const struct storage_range *r)
{
	bool is_there = r->n_kvs > 0, is_before = w->check_at < w->last.revision;
	bool is_changed = is_there && r->kvs[0].mod_revision == w->last.revision;
	bool is_as_known = w->witness.is_deleted ? is_there == is_before : is_changed;

	if (!is_as_known) {
		watch_find_restored(w);
	} else if (w->witness.is_deleted && !is_before) {
		watch_ask(w, w->check_at - 1);
	}
}

static void watch_take_check(struct watch *w, const struct storage_range *r)
{
	bool is_other = w->cluster && r->op.cluster && r->op.cluster != w->cluster;

	if (is_other || r->op.revision + 1 < w->next_revision) { /* which existed before the question */
		watch_find_restored(w);
	} else if (w->proof == PROOF_ASKED) {
		watch_settle(w);
	} else if (w->check_at > 0) {
		watch_take_witness(w, r);
	}
}

static void on_check(void *ctx, const struct etcd_reply *reply)
{
	struct watch *w = ctx;
	struct storage_range answer = {.op.result = reply->result};
	enum storage_result result = reply->result;

	w->is_checking = false;
	if (!w->owner || !w->stream || w->is_leaving || w->proof == PROOF_DONE) {
		watch_unref(w); /* a later stream asks again */
		return;
	}
	arena_init(&answer.op.arena, SIZE_MAX);
	if (result == STORAGE_OK) {
		result = etcd_decode_range(&answer.op, reply->body);
	}
	if (result == STORAGE_OK) {
		watch_take_check(w, &answer);
	} else if (result == STORAGE_FUTURE) {
		watch_find_restored(w);
	} else if (result == STORAGE_COMPACTED && w->check_at < w->last.revision) {
		watch_find_compacted(w, w->last.revision); /* the stream cannot report this: it begins behind that revision */
	} else if (result == STORAGE_COMPACTED) {
		/* the stream will report it, and up to which revision */
	} else if (!w->is_check_due && result != STORAGE_CANCELED) {
		w->is_check_due = true;
		w->n_users++;
		etcd_client_schedule(w->all->client, &w->check, CHECK_AGAIN_MS);
	}
	arena_done(&answer.op.arena);
	watch_unref(w);
}

/* Asks the quorum, not the member that is followed. */
static void watch_ask(struct watch *w, int64_t at_revision)
{
	assert(w->owner && !w->is_checking && w->proof != PROOF_DONE);
	char scratch[REQUEST_SCRATCH];
	struct arena arena;
	const struct storage_range range = {
		.key = at_revision > 0 ? buf_str(&w->witness.key) : w->owner->key,
		.at_revision = at_revision,
		.keys_only = true,
	};
	w->is_checking = true;
	w->check_at = at_revision;
	w->n_users++;
	arena_init_with(&arena, SIZE_MAX, scratch, sizeof(scratch));
	const ProtobufCMessage *request = etcd_encode_range(&arena, &range.op);
	etcd_client_call(w->all->client, &method_range, request, CHECK_TIMEOUT_MS, on_check, w);
	arena_done(&arena);
}

static void watch_check(struct watch *w)
{
	if (!w->is_checking) {
		watch_ask(w, w->proof == PROOF_AWAITED ? w->last.revision : 0);
	}
}

static void watch_check_again(struct etcd_task *task)
{
	struct watch *w = container_of(task, struct watch, check);
	w->is_check_due = false;
	if (w->owner && w->stream && !w->is_leaving && w->proof != PROOF_DONE) {
		watch_check(w);
	}
	watch_unref(w);
}

static void print_add(uint64_t *print, const struct storage_event *e)
{
	enum { LOOK_AT = 4096 }; /* bytes: differences show there, or in the size */
	struct str start = {e->kv.value.p, MIN(e->kv.value.n, (size_t)LOOK_AT)};
	uint64_t parts[] = {*print, str_hash(e->kv.key), e->kv.value.n, str_hash(start)};
	*print = str_hash((struct str){(const char *)parts, sizeof(parts)});
}

/* Returns the fingerprint of the events of one revision. */
static struct print print_of(const struct storage_event *events, size_t n)
{
	struct print p = {.revision = events->kv.mod_revision};
	for (size_t i = 0; i < n; i++) {
		bool is_put = events[i].type == EVENT_PUT;
		*(is_put ? &p.n_puts : &p.n_deletes) += 1;
		print_add(is_put ? &p.puts : &p.deletes, &events[i]);
	}
	return p;
}

static bool prints_are_equal(const struct print *a, const struct print *b)
{
	return a->n_puts == b->n_puts && a->puts == b->puts && a->n_deletes == b->n_deletes && a->deletes == b->deletes;
}

/* ---- answers of the stream ---- */

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

/* Compares events with the known revision. Returns false when neither these nor later events of
 * this stream may be delivered. */
static bool watch_prove(struct watch *w, const struct storage_event *events, size_t n)
{
	const struct print *known = &w->last;
	assert(n > 0 && known->revision > 0);
	size_t n_shown = count_leading(events, n, known->revision);
	struct print shown = n_shown > 0 ? print_of(events, n_shown) : (struct print){.revision = known->revision};
	if (prints_are_equal(&shown, known)) {
		watch_settle(w);
		return true;
	}
	bool may_be_compacted = shown.n_deletes == 0 && shown.n_puts == known->n_puts && shown.puts == known->puts;
	if (may_be_compacted && shown.n_puts > 0) {
		watch_settle(w);
		return true;
	}
	if (may_be_compacted) {
		watch_find_compacted(w, known->revision);
	} else {
		watch_find_restored(w);
	}
	return false;
}

static void watch_remember(struct watch *w, const struct storage_event *events, size_t n)
{
	size_t n_last = count_trailing(events, n);
	const struct storage_event *last = events + n - n_last;
	w->last = print_of(last, n_last);
	w->witness.is_deleted = last->type == EVENT_DELETE;
	buf_clear(&w->witness.key);
	buf_add_str(&w->witness.key, last->kv.key);
}

/* Delivers all unknown events up to n, and keeps the rest. */
static void watch_deliver(struct watch *w, const struct storage_event *events, size_t n)
{
	if (w->is_leaving || (n > 0 && w->proof == PROOF_AWAITED && !watch_prove(w, events, n))) {
		return;
	}
	while (n > 0 && events->kv.mod_revision < w->next_revision) {
		events++;
		n--;
	}
	if (n > 0) {
		int64_t revision = events[n - 1].kv.mod_revision;
		assert(revision >= w->next_revision);
		watch_remember(w, events, n);
		w->next_revision = revision + 1;
		w->owner->on_events(w->owner, events, n, revision);
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

/* Takes events. etcd cuts a large answer anywhere, also within a revision. So the last revision
 * of a fragment waits until the next one shows where it ends; only one revision is held. */
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

static void watch_take_creation(struct watch *w, const struct etcd_watch_answer *answer)
{
	if (w->cluster && answer->cluster && answer->cluster != w->cluster) {
		watch_find_restored(w);
		return;
	}
	w->cluster = answer->cluster ? answer->cluster : w->cluster;
	if (w->next_revision == 0) {
		w->next_revision = answer->revision + 1;
	}
	if (w->next_revision <= answer->revision && !w->must_step_back) {
		w->must_step_back = true;
		w->is_stepping_back = true;
		watch_leave_stream(w);
		return;
	}
	bool has_last = w->last.revision > 0 && w->last.revision + 1 == w->next_revision;
	/* the start is a known revision, not a future one that a client chose */
	bool is_known = w->owner->cluster || w->last.revision > 0;
	bool is_behind = is_known && answer->revision + 1 < w->next_revision;
	w->proof = has_last ? PROOF_AWAITED : is_behind ? PROOF_ASKED : PROOF_DONE;
	if (w->proof == PROOF_DONE) {
		watch_settle(w);
	} else {
		watch_check(w);
	}
}

static void watch_take_cancellation(struct watch *w, const struct etcd_watch_answer *answer)
{
	bool is_compacted = answer->compact_revision > 0;
	watch_leave(w, is_compacted ? STORAGE_COMPACTED : STORAGE_ERROR, answer->compact_revision,
		is_compacted ? "etcdserver: mvcc: required revision has been compacted" : answer->cancel_reason);
}

static void watch_take_answer(struct watch *w, const struct etcd_watch_answer *answer)
{
	if (answer->is_progress) {
		return;
	}
	if (answer->is_canceled) {
		watch_take_cancellation(w, answer);
	} else if (answer->is_created) {
		watch_take_creation(w, answer);
	} else if (answer->n_events > 0 || w->held.n > 0) {
		watch_take_events(w, answer->events, answer->n_events, answer->is_fragment);
	}
}

static void watch_on_message(void *ctx, struct str body)
{
	struct watch *w = ctx;
	struct arena arena;
	if (w->is_leaving) {
		return;
	}
	arena_init(&arena, SIZE_MAX);
	struct etcd_watch_answer answer;
	if (etcd_decode_watch(&answer, &arena, body)) {
		watch_take_answer(w, &answer);
	} else {
		w->leave_message = "etcd sent what cannot be understood";
		watch_leave_stream(w); /* asks again, from where this stream began */
	}
	arena_done(&arena);
}

/* ---- opening and reopening ---- */

/* Returns where to start. Up to 3.4.35 and 3.5.17 etcd accepts a watch from the very revision it
 * has compacted at, although a deletion of that revision is gone (etcd issue 19179). Starting
 * one revision earlier turns that into the proper refusal; watch_deliver() drops duplicates. The
 * first stream does so only when etcd turns out to be ahead. A watch that begins in the past
 * starts up to 100 ms late. */
static int64_t watch_start_revision(const struct watch *w)
{
	return w->must_step_back ? MAX(w->next_revision - 1, 1) : w->next_revision;
}

static void watch_on_stream_end(void *ctx, enum storage_result why, const char *message)
{
	struct watch *w = ctx;
	assert(w->owner && w->stream);
	bool is_stepping_back = why == STORAGE_CANCELED && w->is_stepping_back;
	message = w->leave_message ? w->leave_message : message;
	w->is_stepping_back = w->is_leaving = false;
	w->leave_message = NULL;
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
	w->backoff_ms = etcd_client_backoff_ms(w->all->client, w->backoff_ms);
	etcd_client_schedule(w->all->client, &w->open, w->backoff_ms);
}

static void watch_open(struct etcd_task *task)
{
	static const struct etcd_stream_handler handler = {watch_on_message, watch_on_stream_end};
	struct watch *w = container_of(task, struct watch, open);
	assert(w->owner && !w->stream);
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
		watch_unref(w);
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
	assert(owner->on_events && owner->on_end && owner->from_revision >= 0);
	struct watch *w = mem_new(struct watch);
	w->all = all;
	w->owner = owner;
	w->open.run = watch_open;
	w->cancel.run = watch_cancel;
	w->check.run = watch_check_again;
	buf_init(&w->witness.key, SIZE_MAX / 2);
	w->n_users = 1;
	w->cluster = owner->cluster;
	w->next_revision = owner->from_revision;
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
