/* A flight outlives its askers' patience and not their memory: each who waits has his part in his
 * question's arena, and is off the list before he is told. Everybody is told without the lock, for
 * `done` may ask the next question at once. */
#include "delegation/reviews/flights_private.h"

#include "base/clock.h"

enum {
	/* Where there is no limit for all tries: deadlines of those who wait end it long before. */
	FLIGHT_MAX_MS = 60 * 60 * 1000,
	KEPT_KEY_MAX = 64 << 10, /* bytes: others are answered, but not remembered */
};

/* ---- who waits ---- */

void flight_count_out(struct flights *f, const struct waiting *w)
{
	f->n_waiting--;
	w->source->n_waiters--;
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

void flight_fail_all(struct list *waiting, struct str why)
{
	list_for_each(it, waiting) {
		struct question *q = list_entry(it, struct waiting, link)->q;
		q->failure = arena_dup(q->arena, why);
	}
	tell_all(waiting);
}

/* ---- a flight's life ---- */

void flight_close(struct flights *f, struct flight *flight)
{
	if (flight->n_key && map_get(&f->by_key, flight_key(flight)) == flight) {
		map_remove(&f->by_key, flight_key(flight));
	}
}

/* Those who wait for it, who are the caller's now. Under the lock. */
static void take_waiting(struct flights *f, struct flight *flight, struct list *ret)
{
	list_init(ret);
	list_splice(ret, &flight->waiting);
	list_for_each(it, ret) {
		flight_count_out(f, list_entry(it, struct waiting, link));
	}
}

static void on_try(struct call *c, int code, int64_t duration_ns)
{
	struct flights *f = container_of(c, struct flight, call)->owner;
	f->options.on_try(f->options.ctx, code, duration_ns);
}

struct flight *flight_new(struct flights *f, const struct flight_request *r, struct queue_source *source)
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
		.on_try = o->on_try ? on_try : NULL,
		.on_done = flights_on_call_done};
	call_init(&flight->call);
	return flight;
}

/* Under the lock. */
static void count_out(struct flights *f, struct flight *flight)
{
	f->n_flights--;
	f->n_bytes -= flight->n_bytes;
	f->n_second -= flight->turn.source->class == TURN_SECOND;
	fair_queue_unref(&f->fair_queue, flight->turn.source);
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
		answers_remove(found->is_lesser ? &f->answers : &f->lesser, flight_key(flight));
		answers_put(found->is_lesser ? &f->lesser : &f->answers, flight_key(flight), found->value, found->n_bytes,
			clock_mono_ms() + found->keep_ms);
	} else {
		f->options.free_value(found->value);
	}
}

void flight_land(struct flights *f, struct flight *flight, struct finding *found, struct str why)
{
	struct list waiting;
	pthread_mutex_lock(&f->lock);
	flight_close(f, flight);
	take_waiting(f, flight, &waiting);
	count_out(f, flight);
	if (found->value) {
		list_for_each(it, &waiting) {
			f->options.give(list_entry(it, struct waiting, link)->q, found->value);
		}
		keep(f, flight, found);
	}
	pthread_mutex_unlock(&f->lock);

	if (why.n) {
		flight_fail_all(&waiting, why);
	} else {
		tell_all(&waiting);
	}
	free_flight(flight);
}

void flight_land_stopped(struct flights *f, struct flight *flight)
{
	flight_land(f, flight, &(struct finding){0}, STR("this server is stopping"));
}
