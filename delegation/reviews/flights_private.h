/* Flights from within: flight.c is one of them, flights_run.c what the client's thread does with all, flights.c who asks. */
#ifndef DELEGATION_REVIEWS_FLIGHTS_PRIVATE_H
#define DELEGATION_REVIEWS_FLIGHTS_PRIVATE_H

#include "delegation/reviews/fair_queue.h"
#include "delegation/reviews/flights.h"

enum { WHY_MAX = 4096 };

/* Somebody who waits for a flight; in the arena of the question. */
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
	int64_t until_ms, soonest_ms; /* soonest: of those who ever waited; under the lock */
	bool is_for_once, is_running;
	struct call call;
};

struct flights {
	struct flights_options options;
	pthread_mutex_t lock; /* guards what follows, and who waits */
	struct answers answers, lesser;
	struct map by_key; /* flights that may be joined */
	struct list starting;
	struct fair_queue fair_queue;
	size_t n_flights, n_waiting, n_bytes;
	size_t n_second;    /* flights of the second class */
	int64_t soonest_ms; /* of the deadlines that came since the client's thread looked */
	bool is_posted, is_stopped;
	/* The client's thread's own. */
	struct client_task wake;
	struct client_timer patience;
	struct list queue, running;
	int64_t armed_ms;
	bool has_told; /* that requests fail, since the last that did not */
};

/* ---- one ---- */

/* Takes the reference to the source. Under the lock. */
struct flight *flight_new(struct flights *f, const struct flight_request *r, struct queue_source *source);
static inline size_t flight_bytes(const struct flight_request *r)
{
	return sizeof(struct flight) + r->key.n + r->path.n + r->body.n;
}
static inline struct str flight_key(const struct flight *flight)
{
	return (struct str){flight->key, flight->n_key};
}
static inline int64_t flight_deadline(const struct flight *flight, const struct question *q)
{
	return MIN(flight->until_ms, q->deadline_ms);
}
/* Nobody joins it any more. Under the lock. */
void flight_close(struct flights *f, struct flight *flight);
/* Somebody does not wait any more. Under the lock. */
void flight_count_out(struct flights *f, const struct waiting *w);
/* Tells those on a list of struct waiting, who are on no other, that it failed. */
void flight_fail_all(struct list *waiting, struct str why);
/* Gives what was found, or why there is nothing, to everybody who waits, and frees it. It is on no list of flights any more. */
void flight_land(struct flights *f, struct flight *flight, struct finding *found, struct str why);
void flight_land_stopped(struct flights *f, struct flight *flight);

/* ---- all, on the client's thread ---- */

void flights_on_wake(struct client_task *t);
void flights_on_patience(struct client_timer *t);
void flights_on_call_done(struct call *c);

#endif
