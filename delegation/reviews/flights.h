/* Questions to kube-apiserver that many may have at once: what is known already is answered from memory, and equal questions under way share
 * one request ("single flight").
 *
 * Any thread asks; requests, their tries and deadlines run on the client's thread. One lock guards the answers and who waits; it is held for
 * look-ups only, never for a request and never while somebody is called. Ceilings: answers (number and bytes), requests under way or waiting
 * for their turn (number, bytes, share of each source), requests under way at once. Beyond these a question is turned away: who asks may come
 * again soon. */
#ifndef DELEGATION_REVIEWS_FLIGHTS_H
#define DELEGATION_REVIEWS_FLIGHTS_H

#include "api/model/delegates.h"
#include "delegation/reviews/answers.h"
#include "delegation/reviews/call.h"

#include <pthread.h>

struct flights;

/* What a server's answer means. */
struct finding {
	void *value;     /* for flights_options.give; NULL: there is none, and why not is in `failure` */
	size_t n_bytes;  /* of it, about */
	int64_t keep_ms; /* how long others may have it; 0: only those who wait */
	bool is_lesser;  /* kept apart: however many there are, they push out no others */
};

struct flights_options {
	struct client *client;
	const char *server;  /* for messages */
	const char *method, *subject; /* as in struct call */
	int64_t try_ms;      /* for each try */
	int64_t all_ms;      /* for all tries; 0: as long as somebody waits */
	size_t max_answers, max_bytes;
	size_t max_lesser; /* answers that are so; max_bytes is theirs as well */
	/* Shares of who asks; 0: no limit but those of all. */
	size_t source_running, source_waiting;
	/* Who has had an answer before, that was not lesser, is asked for first, and is a source of his own. All others together have no more than
	 * this many under way or waiting for their turn, and never all places. 0: everybody is equal. */
	size_t max_strangers;
	/* On the client's thread, for any answer that is JSON of 2xx or a Status. False: the call has failed as it says. */
	bool (*read)(void *ctx, const struct call *c, struct finding *ret, struct buf *failure);
	/* Into the question and its arena. Under the lock: quick, and calling nobody. */
	void (*give)(struct question *q, const void *value);
	void (*free_value)(void *value);
	void (*on_try)(void *ctx, int code, int64_t duration_ns); /* may be NULL */
	void (*on_wait)(void *ctx, int64_t duration_ns);          /* for each who waited; under the lock; may be NULL */
	void (*on_end)(void *ctx, bool is_answer);                /* of a flight; may be NULL */
	void *ctx;
	/* That requests fail, with why: once, until one succeeds. From the client's thread; may be NULL. */
	void (*on_notice)(void *notice_ctx, struct str text);
	void *notice_ctx;
	const char *what; /* for that: "who may do what" */
};

struct flights *flights_new(const struct flights_options *options);
/* After the client's end. */
struct flights *flights_free(struct flights *f);
/* Every question ends now, those to come too. Before client_stop(). Any thread, any number of times. */
void flights_stop(struct flights *f);

/* True: answered already. */
bool flights_find(struct flights *f, struct question *q, struct str key);
struct flight_request {
	struct str key; /* empty: shared with nobody, kept for nobody */
	struct str path, body; /* copied */
	bool is_for_once;      /* shared, but not kept */
	struct str source;     /* who asks */
};
/* As a function of struct delegates: true when the question has been answered (or has failed) already. */
bool flights_ask(struct flights *f, struct question *q, const struct flight_request *request);

struct flights_counts {
	size_t n_flights, n_waiting;
};
void flights_count(struct flights *f, struct flights_counts *ret);

#endif
