#include "delegation/flights.h"

#include "base/clock.h"

enum {
	FLIGHTS_MAX = 4096, /* under way or waiting for their turn */
	WAITING_MAX = 16384,
	RUNNING_MAX = 64, /* at once: each takes a connection */
	WHY_MAX = 4096,
	FLIGHT_MAX_MS = 60 * 60 * 1000,
	KEPT_KEY_MAX = 64 << 10,
};

/* Somebody who waits for a flight; in the arena of the question. */
struct waiting {
	struct list link;
	struct question *q;
	int64_t began_ns;
};

struct flight {
	struct flights *owner;
	struct list link;    /* of starting, queue or running */
	struct list waiting; /* under the lock */
	struct list doomed;
	char *key, *path, *body;
	size_t n_key;
	int64_t until_ms, soonest_ms; /* soonest: of those who ever waited; under the lock */
	bool is_for_once, is_running;
	struct call call;
};

struct flights {
	struct flights_options options;
	pthread_mutex_t lock; /* guards what follows, and who waits */
	struct answers answers;
	struct map by_key; /* flights that may be joined */
	struct list starting;
	size_t n_flights, n_waiting;
	int64_t soonest_ms; /* of the deadlines that came since the client's thread looked */
	bool is_posted, is_stopped;
	/* The client's thread's own. */
	struct client_task wake;
	struct client_timer patience;
	struct list queue, running;
	size_t n_running;
	int64_t armed_ms;
};

/* ---- who waits ---- */

static void fail(struct question *q, struct str why)
{
	q->failure = arena_dup(q->arena, why);
}

/* Somebody does not wait any more. Under the lock. */
static void count_out(struct flights *f, const struct waiting *w)
{
	f->n_waiting--;
	if (f->options.on_wait) {
		f->options.on_wait(f->options.ctx, clock_mono_ns() - w->began_ns);
	}
}

static struct waiting *first_of(struct list *waiting)
{
	return list_entry(waiting->next, struct waiting, link);
}

/* They may be gone afterwards. */
static void tell_all(struct list *waiting)
{
	while (!list_is_empty(waiting)) {
		struct question *q = first_of(waiting)->q;
		list_remove(waiting->next);
		q->done(q);
	}
}

static void fail_all(struct list *waiting, struct str why)
{
	list_for_each(it, waiting) {
		fail(list_entry(it, struct waiting, link)->q, why);
	}
	tell_all(waiting);
}

static struct str timeout_text(struct buf *out, const struct flights *f, const struct flight *flight)
{
	buf_printf(out, "%s%s: context deadline exceeded (%s)", f->options.server, flight->path, f->options.subject);
	return buf_str(out);
}

/* ---- a flight's life ---- */

static struct str key_of(const struct flight *flight)
{
	return (struct str){flight->key, flight->n_key};
}

/* Nobody joins it any more. Under the lock. */
static void close_flight(struct flights *f, struct flight *flight)
{
	if (flight->n_key && map_get(&f->by_key, key_of(flight)) == flight) {
		map_remove(&f->by_key, key_of(flight));
	}
}

/* Those who wait for it, who are the caller's now. Under the lock. */
static void take_waiting(struct flights *f, struct flight *flight, struct list *ret)
{
	list_init(ret);
	list_splice(ret, &flight->waiting);
	list_for_each(it, ret) {
		count_out(f, list_entry(it, struct waiting, link));
	}
}

static void free_flight(struct flight *flight)
{
	call_done(&flight->call);
	mem_free(flight->body);
	mem_free(flight->path);
	mem_free(flight->key);
	mem_free(flight);
}

static void keep(struct flights *f, const struct flight *flight, struct finding *found)
{
	bool is_kept = found->keep_ms > 0 && flight->n_key > 0 && flight->n_key <= KEPT_KEY_MAX && !flight->is_for_once;
	if (is_kept) {
		answers_put(&f->answers, key_of(flight), found->value, found->n_bytes, clock_mono_ms() + found->keep_ms);
	} else {
		f->options.free_value(found->value);
	}
}

/* Gives what was found, or why there is nothing, to everybody who waits. */
static void land(struct flights *f, struct flight *flight, struct finding *found, struct str why)
{
	struct list waiting;
	pthread_mutex_lock(&f->lock);
	close_flight(f, flight);
	take_waiting(f, flight, &waiting);
	f->n_flights--;
	if (found->value) {
		list_for_each(it, &waiting) {
			f->options.give(list_entry(it, struct waiting, link)->q, found->value);
		}
		keep(f, flight, found);
	}
	pthread_mutex_unlock(&f->lock);

	if (why.n) {
		fail_all(&waiting, why);
	} else {
		tell_all(&waiting);
	}
}

static void land_stopped(struct flights *f, struct flight *flight)
{
	land(f, flight, &(struct finding){0}, STR("this server is stopping"));
	free_flight(flight);
}

static void begin_some(struct flights *f);

static void judge(struct flights *f, const struct call *c, struct finding *ret, struct buf *why)
{
	bool is_found = c->answer && f->options.read(f->options.ctx, c, ret, why);
	if (!is_found && !why->n) {
		buf_add_str(why, c->failure.n ? buf_str(&c->failure) : STR("the answer cannot be understood"));
	}
}

static void on_call_done(struct call *c)
{
	struct flight *flight = container_of(c, struct flight, call);
	struct flights *f = flight->owner;
	struct finding found = {0};
	_cleanup_(buf_done) struct buf why;
	buf_init(&why, WHY_MAX);
	judge(f, c, &found, &why);
	if (f->options.on_end) {
		f->options.on_end(f->options.ctx, found.value != NULL);
	}

	list_remove(&flight->link);
	f->n_running--;
	land(f, flight, &found, buf_str(&why));
	free_flight(flight);
	begin_some(f);
}

static void on_try(struct call *c, int code, int64_t duration_ns)
{
	struct flights *f = container_of(c, struct flight, call)->owner;
	f->options.on_try(f->options.ctx, code, duration_ns);
}

static void begin_some(struct flights *f)
{
	while (f->n_running < RUNNING_MAX && !list_is_empty(&f->queue)) {
		struct flight *flight = list_entry(f->queue.next, struct flight, link);
		list_remove(&flight->link);
		list_append(&f->running, &flight->link);
		flight->is_running = true;
		f->n_running++;
		call_begin(&flight->call);
	}
}

/* One that nobody waits for, or that is to end. */
static void end_flight(struct flights *f, struct flight *flight)
{
	if (flight->is_running) {
		call_cancel(&flight->call);
	} else {
		list_remove(&flight->link);
		land_stopped(f, flight);
	}
}

static void end_doomed(struct flights *f, struct list *doomed)
{
	while (!list_is_empty(doomed)) {
		struct flight *flight = list_entry(doomed->next, struct flight, doomed);
		list_remove(&flight->doomed);
		end_flight(f, flight);
	}
}

/* ---- deadlines ---- */

struct look {
	int64_t now_ms, soonest_ms;
	struct list doomed;
};

static int64_t deadline_of(const struct flight *flight, const struct question *q)
{
	return MIN(flight->until_ms, q->deadline_ms);
}

/* Ends the waiting of those whose time is up. */
static void look_at(struct flights *f, struct flight *flight, struct look *look)
{
	struct list late;
	_cleanup_(buf_done) struct buf why;
	list_init(&late);
	pthread_mutex_lock(&f->lock);
	list_for_each_safe(it, &flight->waiting) {
		int64_t deadline_ms = deadline_of(flight, list_entry(it, struct waiting, link)->q);
		if (deadline_ms <= look->now_ms) {
			list_remove(it);
			list_append(&late, it);
			count_out(f, list_entry(it, struct waiting, link));
		} else {
			look->soonest_ms = MIN(look->soonest_ms, deadline_ms);
		}
	}
	if (list_is_empty(&flight->waiting)) {
		close_flight(f, flight);
		list_remove(&flight->doomed);
		list_append(&look->doomed, &flight->doomed);
	}
	pthread_mutex_unlock(&f->lock);

	buf_init(&why, WHY_MAX);
	if (!list_is_empty(&late)) {
		fail_all(&late, timeout_text(&why, f, flight));
	}
}

static void arm(struct flights *f, int64_t soonest_ms)
{
	if (soonest_ms < f->armed_ms) {
		f->armed_ms = soonest_ms;
		client_timer_set(f->options.client, &f->patience, MAX(0, soonest_ms - clock_mono_ms()));
	}
}

static void on_patience(struct client_timer *t)
{
	struct flights *f = container_of(t, struct flights, patience);
	struct look look = {.now_ms = clock_mono_ms(), .soonest_ms = INT64_MAX};
	list_init(&look.doomed);
	list_for_each(it, &f->queue) {
		look_at(f, list_entry(it, struct flight, link), &look);
	}
	list_for_each(it, &f->running) {
		look_at(f, list_entry(it, struct flight, link), &look);
	}
	f->armed_ms = INT64_MAX;
	arm(f, look.soonest_ms);
	end_doomed(f, &look.doomed);
}

/* ---- what other threads leave for the client's ---- */

static void doom_all(struct list *flights, struct list *doomed)
{
	list_for_each(it, flights) {
		struct flight *flight = list_entry(it, struct flight, link);
		list_remove(&flight->doomed);
		list_append(doomed, &flight->doomed);
	}
}

static void end_all(struct flights *f)
{
	struct list doomed;
	list_init(&doomed);
	doom_all(&f->queue, &doomed);
	doom_all(&f->running, &doomed);
	end_doomed(f, &doomed);
}

static void on_wake(struct client_task *t)
{
	struct flights *f = container_of(t, struct flights, wake);
	pthread_mutex_lock(&f->lock);
	list_splice(&f->queue, &f->starting);
	int64_t soonest_ms = f->soonest_ms;
	f->soonest_ms = INT64_MAX;
	f->is_posted = false;
	bool is_stopped = f->is_stopped;
	pthread_mutex_unlock(&f->lock);

	if (is_stopped) {
		end_all(f);
		return;
	}
	begin_some(f);
	arm(f, soonest_ms);
}

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
		land_stopped(f, flight);
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
	const void *value = key.n ? answers_get(&f->answers, key, clock_mono_ms()) : NULL;
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

static struct flight *new_flight(struct flights *f, const struct flight_request *r)
{
	const struct flights_options *o = &f->options;
	struct flight *flight = mem_new(struct flight);
	flight->owner = f;
	list_init(&flight->link);
	list_init(&flight->waiting);
	list_init(&flight->doomed);
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
		.on_try = o->on_try ? on_try : NULL,
		.on_done = on_call_done};
	call_init(&flight->call);
	return flight;
}

/* The flight to wait for, perhaps a new one; or NULL with why not. Under the lock. */
static struct flight *join(struct flights *f, const struct flight_request *r, const char **ret_why)
{
	struct flight *flight = r->key.n ? map_get(&f->by_key, r->key) : NULL;
	if (f->is_stopped) {
		*ret_why = "this server is stopping";
		return NULL;
	}
	if (f->n_waiting >= WAITING_MAX || (!flight && f->n_flights >= FLIGHTS_MAX)) {
		*ret_why = "too many reviews are under way";
		return NULL;
	}
	if (!flight) {
		flight = new_flight(f, r);
		f->n_flights++;
		list_append(&f->starting, &flight->link);
		if (r->key.n) {
			map_set(&f->by_key, r->key, flight, NULL);
		}
	}
	return flight;
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
	const char *why = NULL;
	bool must_wake = false;
	*w = (struct waiting){.q = q, .began_ns = clock_mono_ns()};
	pthread_mutex_lock(&f->lock);
	bool is_answered = !request->is_for_once && find(f, q, request->key);
	struct flight *flight = is_answered ? NULL : join(f, request, &why);
	if (flight) {
		list_append(&flight->waiting, &w->link);
		f->n_waiting++;
		must_wake = is_sooner(f, flight, deadline_of(flight, q)) && must_post(f);
	}
	pthread_mutex_unlock(&f->lock);

	if (why) {
		fail(q, str_of(why));
		return true;
	}
	if (must_wake) {
		post(f);
	}
	return is_answered;
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
	map_init(&f->by_key, FLIGHTS_MAX);
	list_init(&f->starting);
	list_init(&f->queue);
	list_init(&f->running);
	f->wake.run = on_wake;
	client_timer_init(&f->patience, on_patience);
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
		pthread_mutex_destroy(&f->lock);
		mem_free(f);
	}
	return NULL;
}
