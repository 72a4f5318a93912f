/* Questions to kube-apiserver that many requests may ask at once. A known answer comes from memory,
 * and equal questions under way share one request ("single flight").
 *
 * Any thread asks; requests, their tries and deadlines run on the client's thread. One lock
 * guards the answers and the waiters. It is held for look-ups only, never for a request or a
 * callback. There are limits on answers (number and bytes), on requests under way or waiting for
 * their turn (number, bytes, share of each source), and on requests under way at once. Beyond
 * these a question is turned away, and may be asked again soon. */
#ifndef DELEGATION_FLIGHTS_H
#define DELEGATION_FLIGHTS_H

#include "api/model/delegates.h"
#include "base/list.h"
#include "base/map.h"
#include "delegation/call.h"

#include <pthread.h>

struct flights;

/* The meaning of a server's answer. */
struct finding {
	void *value;     /* for flights_options.give; NULL: no answer, and `failure` says why */
	size_t n_bytes;  /* of it, about */
	int64_t keep_ms; /* how long others may get it; 0: only the waiting questions */
	bool is_lesser;  /* kept apart: such answers never push out others */
};

struct flights_options {
	struct client *client;
	const char *server;           /* for messages */
	const char *method, *subject; /* as in struct call */
	int64_t try_ms;               /* for each try */
	int64_t all_ms;               /* for all tries; 0: as long as somebody waits */
	size_t max_answers, max_bytes;
	size_t max_lesser; /* the lesser answers; max_bytes is theirs as well */
	/* The shares of each source; 0: only the common limits. */
	size_t source_running, source_waiting;
	/* Sources that have had an answer before that was not lesser go first, each as a source
	 * of its own. All others together have at most this many requests under way or waiting
	 * for their turn, and never all places. 0: all sources are equal. */
	size_t max_strangers;
	/* Reads any answer that is JSON of 2xx or a Status, on the client's thread. Returns
	 * false when the call has failed, with the reason in failure. */
	bool (*read)(void *ctx, const struct call *c, struct finding *ret, struct buf *failure);
	/* Copies the value into the question and its arena. It runs under the lock, so it must
	 * be quick and call nothing. */
	void (*give)(struct question *q, const void *value);
	void (*free_value)(void *value);
	void (*on_try)(void *ctx, int code, int64_t duration_ns); /* may be NULL */
	void (*on_wait)(void *ctx, int64_t duration_ns);          /* for each waiter; under the lock; may be NULL */
	void (*on_end)(void *ctx, bool is_answer);                /* of a flight; may be NULL */
	void *ctx;
	/* Reports why requests fail: once, until one succeeds. From the client's thread; may be
	 * NULL. */
	void (*on_notice)(void *notice_ctx, struct str text);
	void *notice_ctx;
	const char *what; /* the subject of that notice: "who may do what" */
};

struct flights *flights_new(const struct flights_options *options);
/* Call it after the client's end. */
struct flights *flights_free(struct flights *f);
/* Ends every question, also later ones. Call it before client_stop(). Any thread, any number of
 * times. */
void flights_stop(struct flights *f);

/* Returns true when the question is answered from memory. */
bool flights_find(struct flights *f, struct question *q, struct str key);
struct flight_request {
	struct str key;        /* empty: shared with nobody, kept for nobody */
	struct str path, body; /* copied */
	bool is_for_once;      /* shared, but not kept */
	struct str source;     /* who asks */
};
/* As a function of struct delegates: returns true when the question has been answered (or has
 * failed) already. */
bool flights_ask(struct flights *f, struct question *q, const struct flight_request *request);

struct flights_counts {
	size_t n_flights, n_waiting;
};
void flights_count(struct flights *f, struct flights_counts *ret);

/* ---- parts of it, visible for tests ---- */

/* Answers that are kept for a while: key to value, with the least recently used one dropped
 * first (after k8s.io/apimachinery's LRUExpireCache). Expired answers are not given out, but
 * stay as long as there is room: they show which askers have had an answer before. Not
 * thread-safe. */
struct answers {
	struct map by_key;
	struct list used; /* the least recently used first */
	size_t max, max_bytes, n_bytes;
	void (*free_value)(void *value);
};

/* max_bytes: of keys and values together. */
void answers_init(struct answers *a, size_t max, size_t max_bytes, void (*free_value)(void *value));
void answers_done(struct answers *a);
/* Returns NULL when there is none, or it has expired. The value stays the cache's. */
const void *answers_get(struct answers *a, struct str key, int64_t now_ms);
/* Returns true when there is an entry, expired or not. */
bool answers_remembers(const struct answers *a, struct str key);
void answers_remove(struct answers *a, struct str key);
/* Takes over value, of n_bytes, in place of the old one. */
void answers_put(struct answers *a, struct str key, void *value, size_t n_bytes, int64_t until_ms);

/* The order of requests to kube-apiserver. Requests wait by source (a user, a client's address,
 * a token), and sources take turns. So a source waits for at most one request of each other
 * source, however many that one sends. Sources of the first class go before those of the second,
 * which never has all places. Not thread-safe. */
enum queue_class { TURN_FIRST, TURN_SECOND, TURN_CLASSES };

/* The most turns that may run at once. */
struct fair_queue_limits {
	size_t all, second_class, source;
};

struct queue_source {
	enum queue_class class;
	size_t n_waiters; /* the user of this struct counts its waiting questions here */
	/* private */
	char *key;
	size_t n_key, n_refs, n_running;
	struct list ring; /* in the ring, while it may begin something */
	struct list queue;
};

struct turn {
	struct queue_source *source; /* a reference */
	struct list link;            /* private */
};

struct fair_queue {
	struct fair_queue_limits limits;
	struct map sources;
	struct list rings[TURN_CLASSES];
	size_t n_running, n_running_second;
};

void fair_queue_init(struct fair_queue *t, const struct fair_queue_limits *limits);
void fair_queue_done(struct fair_queue *t); /* all sources are gone */
/* Returns a reference to a source, perhaps a new one. Sources of different classes are
 * different. */
struct queue_source *fair_queue_source(struct fair_queue *t, enum queue_class class, struct str key);
void fair_queue_unref(struct fair_queue *t, struct queue_source *s);

/* A turn is in one of three states: waiting, running, or neither. */
void turn_init(struct turn *turn, struct queue_source *source); /* takes the caller's reference; the turn is in neither state */
void fair_queue_wait(struct fair_queue *t, struct turn *turn);
void fair_queue_leave(struct fair_queue *t, struct turn *turn); /* the turn waits no longer */
struct turn *fair_queue_next(struct fair_queue *t);             /* the next, running from now on; NULL: none may begin */
void fair_queue_end(struct fair_queue *t, struct turn *turn);   /* running no more */

#endif
