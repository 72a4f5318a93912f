/* The asking half: look in memory, join a flight that is under way, or begin one, all under one
 * short lock. Nothing is sent here. A flight is put on a list, and the client's thread is woken
 * once for however many. After the client's end nobody would come for that list, so whoever finds
 * that out ends it. */
#include "delegation/reviews/flights_private.h"

#include "base/clock.h"

enum {
	/* Together with the bytes: what a burst of different questions can take of memory. */
	FLIGHTS_MAX = 4096, /* under way or waiting for their turn */
	FLIGHTS_BYTES_MAX = 32 << 20,
	WAITING_MAX = 16384,
	RUNNING_MAX = 64, /* at once: each takes a connection */
	/* So a flood of unknown tokens leaves a quarter to those who had an answer before. */
	RUNNING_STRANGERS_MAX = 48,
};

/* ---- waking the client's thread ---- */

/* The client's thread has ended, and with it everything that had begun. */
static void end_starting(struct flights *f)
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

static void post(struct flights *f)
{
	if (!client_post(f->options.client, &f->wake)) {
		end_starting(f);
	}
}

/* Whether post() is to be called, without the lock. Under the lock. */
static bool must_post(struct flights *f)
{
	bool was_posted = f->is_posted;
	f->is_posted = true;
	return !was_posted;
}

/* ---- asking ---- */

static bool find(struct flights *f, struct question *q, struct str key)
{
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
	bool is_found = find(f, q, key);
	pthread_mutex_unlock(&f->lock);
	return is_found;
}

static struct queue_source *source_of(struct flights *f, const struct flight_request *r)
{
	bool is_stranger = f->options.max_strangers && !answers_remembers(&f->answers, r->key);
	bool is_known = f->options.max_strangers && !is_stranger;
	return fair_queue_source(&f->fair_queue, is_stranger ? TURN_SECOND : TURN_FIRST, is_known ? r->key : r->source);
}

/* Is there room for one more flight? Under the lock. */
static bool has_room(const struct flights *f, const struct flight_request *r, const struct queue_source *source)
{
	bool has_place = source->class == TURN_FIRST || f->n_second < f->options.max_strangers;
	return has_place && f->n_flights < FLIGHTS_MAX && f->n_bytes + flight_bytes(r) <= FLIGHTS_BYTES_MAX;
}

/* Is there room for one more who waits? Under the lock. */
static bool may_wait(const struct flights *f, const struct queue_source *source)
{
	return f->n_waiting < WAITING_MAX && (!f->options.source_waiting || source->n_waiters < f->options.source_waiting);
}

/* NULL: there is no room. Under the lock. */
static struct flight *begin_flight(struct flights *f, const struct flight_request *r)
{
	struct queue_source *source = source_of(f, r);
	if (!has_room(f, r, source) || !may_wait(f, source)) {
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

/* The flight to wait for, perhaps a new one; or NULL. Under the lock. */
static struct flight *join(struct flights *f, const struct flight_request *r)
{
	struct flight *flight = r->key.n ? map_get(&f->by_key, r->key) : NULL;
	if (f->is_stopped) {
		return NULL;
	}
	if (!flight) {
		return begin_flight(f, r);
	}
	return may_wait(f, flight->turn.source) ? flight : NULL;
}

/* Under the lock. */
static void refuse(const struct flights *f, struct question *q)
{
	q->is_turned_away = !f->is_stopped;
	q->failure = f->is_stopped ? STR("this server is stopping") : STR("too many reviews are under way");
}

/* A new flight, or a deadline before all others of it: the client's thread does not know yet. Under the lock. */
static bool is_sooner(struct flights *f, struct flight *flight, int64_t deadline_ms)
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
	struct waiting *w = arena_new(q->arena, struct waiting);
	bool must_wake = false;
	*w = (struct waiting){.q = q, .began_ns = clock_mono_ns()};
	pthread_mutex_lock(&f->lock);
	bool is_answered = !request->is_for_once && find(f, q, request->key);
	struct flight *flight = is_answered ? NULL : join(f, request);
	if (flight) {
		list_append(&flight->waiting, &w->link);
		w->source = flight->turn.source;
		w->source->n_waiters++;
		f->n_waiting++;
		must_wake = is_sooner(f, flight, flight_deadline(flight, q)) && must_post(f);
	}
	if (!flight && !is_answered) {
		refuse(f, q);
	}
	pthread_mutex_unlock(&f->lock);

	if (must_wake) {
		post(f);
	}
	return !flight;
}

void flights_count(struct flights *f, struct flights_counts *ret)
{
	pthread_mutex_lock(&f->lock);
	*ret = (struct flights_counts){f->n_flights, f->n_waiting};
	pthread_mutex_unlock(&f->lock);
}

/* ---- life ---- */

struct flights *flights_new(const struct flights_options *options)
{
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
	bool must_wake = must_post(f);
	pthread_mutex_unlock(&f->lock);
	if (must_wake) {
		post(f);
	}
}

struct flights *flights_free(struct flights *f)
{
	if (f) {
		map_done(&f->by_key);
		answers_done(&f->answers);
		answers_done(&f->lesser);
		fair_queue_done(&f->fair_queue);
		pthread_mutex_destroy(&f->lock);
		mem_free(f);
	}
	return NULL;
}
