/* Questions that share requests, and their answers. From the bottom up:
 *
 *   answers     answers that are kept for a while
 *   fair queue  whose request is sent next
 *   flight      one request, and all questions that wait for it
 *   running     what the client's thread does with all flights
 *   asking      look in memory, join a flight that is under way, or begin one, all under one short
 *               lock
 *
 * Any thread may ask, but sends nothing: a flight is put on a list, and the client's thread is
 * woken once for all of them. That thread alone begins, ends and frees flights, so only the lists
 * that askers see need the lock. After the client's end no thread would empty that list, so the
 * next asker does.
 *
 * A flight may outlive its askers' deadlines, but not their memory: each waiter's part is in its
 * question's arena, and is off the list before its callback runs. All callbacks run without the
 * lock, since `done` may ask the next question. */
#include "delegation/flights.h"

#include "base/clock.h"
#include "base/thread.h"

#include <assert.h>

enum {
	/* Together with the bytes: the memory that a burst of different questions can take. */
	FLIGHTS_MAX = 4096, /* under way or waiting for their turn */
	/* Bytes of their bodies and keys; a question beyond either fails at once. */
	FLIGHTS_BYTES_MAX = 32 << 20,
	WAITING_MAX = 16384, /* questions that wait for flights; a further one fails at once */
	RUNNING_MAX = 64,    /* at once: each takes a connection */
	/* So a flood of unknown tokens leaves a quarter to askers who had an answer before. */
	RUNNING_STRANGERS_MAX = 48,
};

/* ---- answers ----
 *
 * An expired entry is not given out, but stays until room is needed. It shows that its asker has
 * had a good answer before, so known clients can go first (flights.h). Keys count twice, since
 * the map has its own copy. */

struct answer_entry {
	struct list link;
	void *value;
	size_t n_bytes;
	int64_t until_ms;
	size_t n_key;
	char key[];
};

void answers_init(struct answers *a, size_t max, size_t max_bytes, void (*free_value)(void *value))
{
	assert(free_value);
	*a = (struct answers){.max = max, .max_bytes = max_bytes, .free_value = free_value};
	map_init(&a->by_key, max);
	list_init(&a->used);
}

static void answers_drop(struct answers *a, struct answer_entry *e)
{
	assert(a->n_bytes >= e->n_bytes);
	list_remove(&e->link);
	map_remove(&a->by_key, (struct str){e->key, e->n_key});
	a->n_bytes -= e->n_bytes;
	a->free_value(e->value);
	mem_free(e);
}

static struct answer_entry *answers_oldest(const struct answers *a)
{
	assert(!list_is_empty(&a->used));
	return list_entry(a->used.next, struct answer_entry, link);
}

void answers_done(struct answers *a)
{
	while (!list_is_empty(&a->used)) {
		answers_drop(a, answers_oldest(a));
	}
	assert(a->n_bytes == 0 && a->by_key.n == 0);
	map_done(&a->by_key);
}

const void *answers_get(struct answers *a, struct str key, int64_t now_ms)
{
	struct answer_entry *e = map_get(&a->by_key, key);
	if (!e || e->until_ms <= now_ms) {
		return NULL;
	}
	list_remove(&e->link);
	list_append(&a->used, &e->link);
	return e->value;
}

bool answers_remembers(const struct answers *a, struct str key)
{
	return map_get(&a->by_key, key) != NULL;
}

void answers_remove(struct answers *a, struct str key)
{
	struct answer_entry *e = map_get(&a->by_key, key);
	if (e) {
		answers_drop(a, e);
	}
}

void answers_put(struct answers *a, struct str key, void *value, size_t n_bytes, int64_t until_ms)
{
	struct answer_entry *old = map_get(&a->by_key, key);
	if (old) {
		answers_drop(a, old);
	}
	n_bytes += sizeof(struct answer_entry) + 2 * key.n; /* the map has its own copy of the key */
	if (n_bytes > a->max_bytes || a->max == 0) {
		a->free_value(value);
		return;
	}
	while (a->by_key.n == a->max || a->n_bytes + n_bytes > a->max_bytes) {
		answers_drop(a, answers_oldest(a));
	}

	struct answer_entry *e = mem_alloc(sizeof(*e) + key.n);
	*e = (struct answer_entry){.value = value, .n_bytes = n_bytes, .until_ms = until_ms, .n_key = key.n};
	memcpy(e->key, key.p, key.n);
	map_set(&a->by_key, key, e, NULL);
	list_append(&a->used, &e->link);
	a->n_bytes += n_bytes;
	assert(a->by_key.n <= a->max && a->n_bytes <= a->max_bytes);
}

/* ---- fair queue ----
 *
 * The ring of a class has exactly the sources that may begin something. After its turn a source
 * goes to the end, so the next one is always the first, and nothing is searched. A source exists
 * while it is referenced. */

enum { KEY_PREFIX = 1 }; /* byte, of the class */

void fair_queue_init(struct fair_queue *t, const struct fair_queue_limits *limits)
{
	assert(limits->all > 0 && limits->source > 0 && limits->second_class <= limits->all);
	*t = (struct fair_queue){.limits = *limits};
	map_init(&t->sources, SIZE_MAX);
	for (size_t i = 0; i < TURN_CLASSES; i++) {
		list_init(&t->rings[i]);
	}
}

void fair_queue_done(struct fair_queue *t)
{
	assert(t->n_running == 0 && t->sources.n == 0);
	map_done(&t->sources);
}

/* The class is the key's first byte. */
static struct queue_source *source_new(enum queue_class class, struct str key)
{
	struct queue_source *s = mem_new(struct queue_source);
	s->class = class;
	s->n_key = KEY_PREFIX + key.n;
	s->key = mem_alloc(s->n_key);
	s->key[0] = (char)class;
	memcpy(s->key + KEY_PREFIX, key.n ? key.p : "", key.n);
	list_init(&s->ring);
	list_init(&s->queue);
	return s;
}

static void source_free(struct queue_source *s)
{
	mem_free(s->key);
	mem_free(s);
}

struct queue_source *fair_queue_source(struct fair_queue *t, enum queue_class class, struct str key)
{
	struct queue_source *fresh = source_new(class, key);
	struct str name = {fresh->key, fresh->n_key};
	struct queue_source *s = map_get(&t->sources, name);
	if (s) {
		source_free(fresh);
	} else {
		s = fresh;
		map_set(&t->sources, name, s, NULL);
	}
	assert(s->class == class);
	s->n_refs++;
	return s;
}

void fair_queue_unref(struct fair_queue *t, struct queue_source *s)
{
	assert(s->n_refs > 0);
	if (--s->n_refs == 0) {
		assert(list_is_empty(&s->queue) && s->n_running == 0);
		map_remove(&t->sources, (struct str){s->key, s->n_key});
		source_free(s);
	}
}

/* Puts a source into its class's ring, at the end, while it may begin something; otherwise takes
 * it out. */
static void source_settle(struct fair_queue *t, struct queue_source *s)
{
	if (list_is_empty(&s->queue) || s->n_running >= t->limits.source) {
		list_remove(&s->ring);
	} else if (list_is_empty(&s->ring)) {
		list_append(&t->rings[s->class], &s->ring);
	}
}

void turn_init(struct turn *turn, struct queue_source *source)
{
	turn->source = source;
	list_init(&turn->link);
}

void fair_queue_wait(struct fair_queue *t, struct turn *turn)
{
	assert(list_is_empty(&turn->link));
	list_append(&turn->source->queue, &turn->link);
	source_settle(t, turn->source);
}

void fair_queue_leave(struct fair_queue *t, struct turn *turn)
{
	list_remove(&turn->link);
	source_settle(t, turn->source);
}

static struct queue_source *fair_queue_next_source(const struct fair_queue *t)
{
	if (t->n_running >= t->limits.all) {
		return NULL;
	}
	if (!list_is_empty(&t->rings[TURN_FIRST])) {
		return list_entry(t->rings[TURN_FIRST].next, struct queue_source, ring);
	}
	bool has_place = t->n_running_second < t->limits.second_class && !list_is_empty(&t->rings[TURN_SECOND]);
	return has_place ? list_entry(t->rings[TURN_SECOND].next, struct queue_source, ring) : NULL;
}

struct turn *fair_queue_next(struct fair_queue *t)
{
	struct queue_source *s = fair_queue_next_source(t);
	if (!s) {
		return NULL;
	}
	assert(!list_is_empty(&s->queue)); /* source_settle() keeps the others out of the rings */
	struct turn *turn = list_entry(s->queue.next, struct turn, link);
	list_remove(&turn->link);
	list_remove(&s->ring);
	s->n_running++;
	t->n_running++;
	t->n_running_second += s->class == TURN_SECOND;
	source_settle(t, s);
	return turn;
}

void fair_queue_end(struct fair_queue *t, struct turn *turn)
{
	struct queue_source *s = turn->source;
	assert(s->n_running > 0 && t->n_running > 0);
	s->n_running--;
	t->n_running--;
	t->n_running_second -= s->class == TURN_SECOND;
	source_settle(t, s);
}

/* ---- flight ---- */

/* Bytes of the sentence that says why a question failed. */
enum { WHY_MAX = 4096 };

/* A question that waits for a flight; in the question's arena. */
struct waiting {
	struct list link;
	struct question *q;
	struct queue_source *source; /* the flight's */
	int64_t began_ns;
};

struct flight {
	struct flights *owner;
	struct list link;    /* of starting, queue or running */
	struct list waiting; /* under the lock */
	struct list doomed;
	struct turn turn; /* under the lock */
	char *key, *path, *body;
	size_t n_key, n_bytes;
	int64_t until_ms, soonest_ms; /* soonest: the earliest deadline of all that ever waited; under the lock */
	bool is_for_once, is_running;
	struct call call;
};

struct flights {
	struct flights_options options;
	pthread_mutex_t lock; /* guards the fields below, and who waits */
	struct answers answers, lesser;
	struct map by_key; /* flights that may be joined */
	struct list starting;
	struct fair_queue fair_queue;
	size_t n_flights, n_waiting, n_bytes;
	size_t n_second;    /* flights of the second class */
	int64_t soonest_ms; /* the earliest deadline that came since the client's thread looked */
	bool is_posted, is_stopped;
	/* Used by the client's thread alone. */
	struct client_task wake;
	struct client_timer patience;
	struct list queue, running;
	int64_t armed_ms;
	bool has_told; /* a failure has been reported since the last success */
};

static size_t flight_bytes(const struct flight_request *r)
{
	return sizeof(struct flight) + r->key.n + r->path.n + r->body.n;
}

static struct str flight_key(const struct flight *flight)
{
	return (struct str){flight->key, flight->n_key};
}

static int64_t flight_deadline(const struct flight *flight, const struct question *q)
{
	return MIN(flight->until_ms, q->deadline_ms);
}

static void flights_on_call_done(struct call *c);

enum {
	/* The limit for all tries where none is set: deadlines of the askers end a flight long
	 * before. */
	FLIGHT_MAX_MS = 60 * 60 * 1000,
	KEPT_KEY_MAX = 64 << 10, /* bytes: questions with longer keys are answered, but not remembered */
};

/* Counts a waiter out. Under the lock. */
static void flight_count_out(struct flights *f, const struct waiting *w)
{
	assert_locked(&f->lock);
	assert(f->n_waiting > 0 && w->source->n_waiters > 0);
	f->n_waiting--;
	w->source->n_waiters--;
	if (f->options.on_wait) {
		f->options.on_wait(f->options.ctx, clock_mono_ns() - w->began_ns);
	}
}

/* Calls `done` of the questions, which may free them. */
static void waiting_tell_all(struct list *waiting)
{
	while (!list_is_empty(waiting)) {
		struct question *q = list_entry(waiting->next, struct waiting, link)->q;
		list_remove(waiting->next);
		q->done(q);
	}
}

/* Reports failure to all questions of a list; they are on no other. */
static void flight_fail_all(struct list *waiting, struct str why)
{
	list_for_each(it, waiting) {
		struct question *q = list_entry(it, struct waiting, link)->q;
		q->failure = arena_dup(q->arena, why);
	}
	waiting_tell_all(waiting);
}

/* Closes a flight: no question joins it any more. Under the lock. */
static void flight_close(struct flights *f, struct flight *flight)
{
	assert_locked(&f->lock);
	if (flight->n_key && map_get(&f->by_key, flight_key(flight)) == flight) {
		map_remove(&f->by_key, flight_key(flight));
	}
}

static void flight_on_try(struct call *c, int code, int64_t duration_ns)
{
	struct flights *f = container_of(c, struct flight, call)->owner;
	f->options.on_try(f->options.ctx, code, duration_ns);
}

/* Makes a flight, which takes over the reference to the source. Under the lock. */
static struct flight *flight_new(struct flights *f, const struct flight_request *r, struct queue_source *source)
{
	const struct flights_options *o = &f->options;
	struct flight *flight = mem_new(struct flight);
	flight->owner = f;
	list_init(&flight->link);
	list_init(&flight->waiting);
	list_init(&flight->doomed);
	turn_init(&flight->turn, source);
	flight->n_bytes = flight_bytes(r);
	f->n_flights++;
	f->n_bytes += flight->n_bytes;
	f->n_second += source->class == TURN_SECOND;
	flight->key = mem_strndup(r->key.p, r->key.n);
	flight->n_key = r->key.n;
	flight->path = mem_strndup(r->path.p, r->path.n);
	flight->body = mem_strndup(r->body.p, r->body.n);
	flight->is_for_once = r->is_for_once;
	flight->soonest_ms = INT64_MAX;
	flight->until_ms = clock_mono_ms() + (o->all_ms ? o->all_ms : FLIGHT_MAX_MS);
	flight->call = (struct call){.client = o->client,
		.server = o->server,
		.method = o->method,
		.path = flight->path,
		.subject = o->subject,
		.body = {flight->body, r->body.n},
		.try_ms = o->try_ms,
		.on_try = o->on_try ? flight_on_try : NULL,
		.on_done = flights_on_call_done};
	call_init(&flight->call);
	return flight;
}

static void flight_uncount(struct flights *f, struct flight *flight)
{
	assert_locked(&f->lock);
	assert(f->n_flights > 0 && f->n_bytes >= flight->n_bytes);
	f->n_flights--;
	f->n_bytes -= flight->n_bytes;
	f->n_second -= flight->turn.source->class == TURN_SECOND;
	fair_queue_unref(&f->fair_queue, flight->turn.source);
}

static void flight_free(struct flight *flight)
{
	assert(list_is_empty(&flight->link) && list_is_empty(&flight->waiting) && list_is_empty(&flight->doomed));
	call_done(&flight->call);
	mem_free(flight->body);
	mem_free(flight->path);
	mem_free(flight->key);
	mem_free(flight);
}

static void flight_keep_answer(struct flights *f, const struct flight *flight, struct finding *found)
{
	assert_locked(&f->lock);
	bool is_kept = found->keep_ms > 0 && flight->n_key > 0 && flight->n_key <= KEPT_KEY_MAX && !flight->is_for_once;
	if (is_kept) {
		answers_remove(found->is_lesser ? &f->answers : &f->lesser, flight_key(flight));
		answers_put(found->is_lesser ? &f->lesser : &f->answers, flight_key(flight), found->value, found->n_bytes,
			clock_mono_ms() + found->keep_ms);
	} else {
		f->options.free_value(found->value);
	}
}

/* Gives the finding, or the reason of its absence, to all waiters, and frees the flight. It is
 * on no list any more. */
static void flight_land(struct flights *f, struct flight *flight, struct finding *found, struct str why)
{
	assert(found->value ? why.n == 0 : why.n > 0); /* an answer, or a reason why there is none */
	struct list waiting;
	pthread_mutex_lock(&f->lock);
	flight_close(f, flight);
	list_init(&waiting);
	list_splice(&waiting, &flight->waiting);
	list_for_each(it, &waiting) {
		flight_count_out(f, list_entry(it, struct waiting, link));
	}
	flight_uncount(f, flight);
	if (found->value) {
		list_for_each(it, &waiting) {
			f->options.give(list_entry(it, struct waiting, link)->q, found->value);
		}
		flight_keep_answer(f, flight, found);
	}
	pthread_mutex_unlock(&f->lock);

	if (why.n) {
		flight_fail_all(&waiting, why);
	} else {
		waiting_tell_all(&waiting);
	}
	flight_free(flight);
}

static void flight_land_stopped(struct flights *f, struct flight *flight)
{
	flight_land(f, flight, &(struct finding){0}, STR("this server is stopping"));
}

/* ---- running ----
 *
 * One timer serves all deadlines, armed for the earliest. Flights to be ended are collected first: ending one calls its
 * askers back, who may ask again. */

static void flights_begin_some(struct flights *f)
{
	assert(client_is_this_thread(f->options.client));
	for (struct turn *turn;;) {
		pthread_mutex_lock(&f->lock);
		turn = fair_queue_next(&f->fair_queue);
		pthread_mutex_unlock(&f->lock);
		if (!turn) {
			return;
		}
		struct flight *flight = container_of(turn, struct flight, turn);
		list_remove(&flight->link);
		list_append(&f->running, &flight->link);
		flight->is_running = true;
		call_begin(&flight->call);
	}
}

static void flight_judge(struct flights *f, const struct call *c, struct finding *ret, struct buf *why)
{
	bool is_found = c->answer && f->options.read(f->options.ctx, c, ret, why);
	if (!is_found && !why->n) {
		buf_clear(why); /* it may be over its ceiling */
		buf_add_str(why, c->failure.n ? buf_str(&c->failure) : STR("the answer cannot be understood"));
	}
}

static bool flight_has_failed(const struct flights *f, const struct call *c, const struct finding *found)
{
	bool is_cut_short = c->is_ending || client_is_stopped(f->options.client);
	return c->failure.n > 0 && !found->value && !is_cut_short;
}

static void flights_tell_failure(struct flights *f, const struct call *c)
{
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, WHY_MAX);
	buf_printf(&text, "cannot ask the cluster %s: " STR_FMT, f->options.what, STR_ARG(buf_str(&c->failure)));
	if (f->options.on_notice && !f->has_told) {
		f->options.on_notice(f->options.notice_ctx, buf_str(&text));
	}
	f->has_told = true;
}

static void flights_on_call_done(struct call *c)
{
	struct flight *flight = container_of(c, struct flight, call);
	struct flights *f = flight->owner;
	assert(flight->is_running);
	struct finding found = {0};
	_cleanup_(buf_done) struct buf why;
	buf_init(&why, WHY_MAX);
	flight_judge(f, c, &found, &why);
	if (flight_has_failed(f, c, &found)) {
		flights_tell_failure(f, c);
	} else if (!c->failure.n) {
		f->has_told = false;
	}
	if (f->options.on_end) {
		f->options.on_end(f->options.ctx, found.value != NULL);
	}

	list_remove(&flight->link);
	pthread_mutex_lock(&f->lock);
	fair_queue_end(&f->fair_queue, &flight->turn);
	pthread_mutex_unlock(&f->lock);
	flight_land(f, flight, &found, buf_str(&why));
	/* The place of this flight is free now. */
	flights_begin_some(f);
}

/* Cancels a flight without waiters, or at the end of all. */
static void flight_cancel(struct flights *f, struct flight *flight)
{
	if (flight->is_running) {
		call_cancel(&flight->call);
	} else {
		list_remove(&flight->link);
		pthread_mutex_lock(&f->lock);
		fair_queue_leave(&f->fair_queue, &flight->turn);
		pthread_mutex_unlock(&f->lock);
		flight_land_stopped(f, flight);
	}
}

static void flights_end_doomed(struct flights *f, struct list *doomed)
{
	while (!list_is_empty(doomed)) {
		struct flight *flight = list_entry(doomed->next, struct flight, doomed);
		list_remove(&flight->doomed);
		flight_cancel(f, flight);
	}
}

struct look {
	int64_t now_ms, soonest_ms;
	struct list doomed;
};

/* Ends waits whose deadline has passed. */
static void flight_look_at(struct flights *f, struct flight *flight, struct look *look)
{
	struct list late;
	_cleanup_(buf_done) struct buf why;
	list_init(&late);
	pthread_mutex_lock(&f->lock);
	list_for_each_safe(it, &flight->waiting) {
		int64_t deadline_ms = flight_deadline(flight, list_entry(it, struct waiting, link)->q);
		if (deadline_ms <= look->now_ms) {
			list_remove(it);
			list_append(&late, it);
			flight_count_out(f, list_entry(it, struct waiting, link));
		} else {
			look->soonest_ms = MIN(look->soonest_ms, deadline_ms);
		}
	}
	/* No question waits any more, so the answer is not needed. */
	if (list_is_empty(&flight->waiting)) {
		flight_close(f, flight);
		list_remove(&flight->doomed);
		list_append(&look->doomed, &flight->doomed);
	}
	pthread_mutex_unlock(&f->lock);

	buf_init(&why, WHY_MAX + strlen(flight->path));
	if (!list_is_empty(&late)) {
		buf_printf(&why, "%s%s: context deadline exceeded (%s)", f->options.server, flight->path, f->options.subject);
		flight_fail_all(&late, buf_str(&why));
	}
}

static void flights_arm(struct flights *f, int64_t soonest_ms)
{
	assert(client_is_this_thread(f->options.client));
	if (soonest_ms < f->armed_ms) {
		f->armed_ms = soonest_ms;
		client_timer_set(f->options.client, &f->patience, MAX(0, soonest_ms - clock_mono_ms()));
	}
}

static void flights_on_patience(struct client_timer *t)
{
	struct flights *f = container_of(t, struct flights, patience);
	struct look look = {.now_ms = clock_mono_ms(), .soonest_ms = INT64_MAX};
	list_init(&look.doomed);
	list_for_each(it, &f->queue) {
		flight_look_at(f, list_entry(it, struct flight, link), &look);
	}
	list_for_each(it, &f->running) {
		flight_look_at(f, list_entry(it, struct flight, link), &look);
	}
	f->armed_ms = INT64_MAX;
	flights_arm(f, look.soonest_ms);
	flights_end_doomed(f, &look.doomed);
}

static void flights_doom(struct list *flights, struct list *doomed)
{
	list_for_each(it, flights) {
		struct flight *flight = list_entry(it, struct flight, link);
		list_remove(&flight->doomed);
		list_append(doomed, &flight->doomed);
	}
}

static void flights_on_wake(struct client_task *t)
{
	struct flights *f = container_of(t, struct flights, wake);
	pthread_mutex_lock(&f->lock);
	list_for_each(it, &f->starting) {
		fair_queue_wait(&f->fair_queue, &list_entry(it, struct flight, link)->turn);
	}
	list_splice(&f->queue, &f->starting);
	int64_t soonest_ms = f->soonest_ms;
	f->soonest_ms = INT64_MAX;
	f->is_posted = false;
	bool is_stopped = f->is_stopped;
	pthread_mutex_unlock(&f->lock);

	if (is_stopped) {
		struct list doomed;
		list_init(&doomed);
		flights_doom(&f->queue, &doomed);
		flights_doom(&f->running, &doomed);
		flights_end_doomed(f, &doomed);
		return;
	}
	flights_begin_some(f);
	flights_arm(f, soonest_ms);
}

/* ---- asking ---- */

/* Ends all flights that have not begun, since the client's thread has ended. */
static void flights_end_starting(struct flights *f)
{
	struct list all;
	list_init(&all);
	pthread_mutex_lock(&f->lock);
	f->is_stopped = true;
	list_splice(&all, &f->starting);
	pthread_mutex_unlock(&f->lock);
	while (!list_is_empty(&all)) {
		struct flight *flight = list_entry(all.next, struct flight, link);
		list_remove(&flight->link);
		flight_land_stopped(f, flight);
	}
}

static void flights_post(struct flights *f)
{
	if (!client_post(f->options.client, &f->wake)) {
		flights_end_starting(f);
	}
}

/* Returns true when the caller must call post(), after releasing the lock. Under the lock. */
static bool flights_must_post(struct flights *f)
{
	bool was_posted = f->is_posted;
	f->is_posted = true;
	return !was_posted;
}

static bool flights_look_up(struct flights *f, struct question *q, struct str key)
{
	assert_locked(&f->lock);
	int64_t now_ms = clock_mono_ms();
	const void *value = key.n ? answers_get(&f->answers, key, now_ms) : NULL;
	value = key.n && !value ? answers_get(&f->lesser, key, now_ms) : value;
	if (value) {
		f->options.give(q, value);
	}
	return value != NULL;
}

bool flights_find(struct flights *f, struct question *q, struct str key)
{
	pthread_mutex_lock(&f->lock);
	bool is_found = flights_look_up(f, q, key);
	pthread_mutex_unlock(&f->lock);
	return is_found;
}

static struct queue_source *flights_source(struct flights *f, const struct flight_request *r)
{
	bool is_stranger = f->options.max_strangers && !answers_remembers(&f->answers, r->key);
	bool is_known = f->options.max_strangers && !is_stranger;
	return fair_queue_source(&f->fair_queue, is_stranger ? TURN_SECOND : TURN_FIRST, is_known ? r->key : r->source);
}

/* Returns true when there is room for one more flight. Under the lock. */
static bool flights_have_room(const struct flights *f, const struct flight_request *r, const struct queue_source *source)
{
	bool has_place = source->class == TURN_FIRST || f->n_second < f->options.max_strangers;
	return has_place && f->n_flights < FLIGHTS_MAX && f->n_bytes + flight_bytes(r) <= FLIGHTS_BYTES_MAX;
}

/* Returns true when there is room for one more waiter. Under the lock. */
static bool may_wait(const struct flights *f, const struct queue_source *source)
{
	return f->n_waiting < WAITING_MAX && (!f->options.source_waiting || source->n_waiters < f->options.source_waiting);
}

/* Begins a flight; NULL: there is no room. Under the lock. */
static struct flight *flights_begin(struct flights *f, const struct flight_request *r)
{
	assert_locked(&f->lock);
	struct queue_source *source = flights_source(f, r);
	if (!flights_have_room(f, r, source) || !may_wait(f, source)) {
		fair_queue_unref(&f->fair_queue, source);
		return NULL;
	}
	struct flight *flight = flight_new(f, r, source);
	list_append(&f->starting, &flight->link);
	if (r->key.n) {
		map_set(&f->by_key, r->key, flight, NULL);
	}
	return flight;
}

/* Returns the flight to wait for, perhaps a new one; or NULL. Under the lock. */
static struct flight *flights_join(struct flights *f, const struct flight_request *r)
{
	assert_locked(&f->lock);
	struct flight *flight = r->key.n ? map_get(&f->by_key, r->key) : NULL;
	if (f->is_stopped) {
		return NULL;
	}
	if (!flight) {
		return flights_begin(f, r);
	}
	return may_wait(f, flight->turn.source) ? flight : NULL;
}

/* Returns true when the client's thread does not know of this deadline: the flight is new, or
 * the deadline is its earliest. Under the lock. */
static bool is_deadline_sooner(struct flights *f, struct flight *flight, int64_t deadline_ms)
{
	if (deadline_ms >= flight->soonest_ms) {
		return false;
	}
	flight->soonest_ms = deadline_ms;
	f->soonest_ms = MIN(f->soonest_ms, deadline_ms);
	return true;
}

bool flights_ask(struct flights *f, struct question *q, const struct flight_request *request)
{
	assert(q->done && q->arena);
	struct waiting *w = arena_new(q->arena, struct waiting);
	bool must_wake = false;
	*w = (struct waiting){.q = q, .began_ns = clock_mono_ns()};
	pthread_mutex_lock(&f->lock);
	bool is_answered = !request->is_for_once && flights_look_up(f, q, request->key);
	struct flight *flight = is_answered ? NULL : flights_join(f, request);
	if (flight) {
		list_append(&flight->waiting, &w->link);
		w->source = flight->turn.source;
		w->source->n_waiters++;
		f->n_waiting++;
		must_wake = is_deadline_sooner(f, flight, flight_deadline(flight, q)) && flights_must_post(f);
	}
	if (!flight && !is_answered) {
		q->is_turned_away = !f->is_stopped;
		q->failure = f->is_stopped ? STR("this server is stopping") : STR("too many reviews are under way");
	}
	pthread_mutex_unlock(&f->lock);

	if (must_wake) {
		flights_post(f);
	}
	return !flight;
}

void flights_count(struct flights *f, struct flights_counts *ret)
{
	pthread_mutex_lock(&f->lock);
	*ret = (struct flights_counts){f->n_flights, f->n_waiting};
	pthread_mutex_unlock(&f->lock);
}

/* ---- lifetime ---- */

struct flights *flights_new(const struct flights_options *options)
{
	assert(options->client && options->read && options->give && options->free_value);
	struct flights *f = mem_new(struct flights);
	f->options = *options;
	pthread_mutex_init(&f->lock, NULL);
	answers_init(&f->answers, options->max_answers, options->max_bytes, options->free_value);
	answers_init(&f->lesser, options->max_lesser, options->max_bytes, options->free_value);
	fair_queue_init(&f->fair_queue,
		&(struct fair_queue_limits){.all = RUNNING_MAX,
			.second_class = RUNNING_STRANGERS_MAX,
			.source = options->source_running ? options->source_running : RUNNING_MAX});
	map_init(&f->by_key, FLIGHTS_MAX);
	list_init(&f->starting);
	list_init(&f->queue);
	list_init(&f->running);
	f->wake.run = flights_on_wake;
	client_timer_init(&f->patience, flights_on_patience);
	f->soonest_ms = f->armed_ms = INT64_MAX;
	return f;
}

void flights_stop(struct flights *f)
{
	pthread_mutex_lock(&f->lock);
	f->is_stopped = true;
	bool must_wake = flights_must_post(f);
	pthread_mutex_unlock(&f->lock);
	if (must_wake) {
		flights_post(f);
	}
}

struct flights *flights_free(struct flights *f)
{
	if (f) {
		assert(f->n_flights == 0 && f->n_waiting == 0 && f->n_bytes == 0);
		map_done(&f->by_key);
		answers_done(&f->answers);
		answers_done(&f->lesser);
		fair_queue_done(&f->fair_queue);
		pthread_mutex_destroy(&f->lock);
		mem_free(f);
	}
	return NULL;
}
