/* Whose turn it is: what is to be sent to kube-apiserver waits by its source (a user, a client's address, a token), and sources take turns. So
 * nobody waits for more than one of each other source's, however many one of them sends. Sources of the first class go before those of the
 * second, which never has all places. Not thread-safe. */
#ifndef DELEGATION_REVIEWS_FAIR_QUEUE_H
#define DELEGATION_REVIEWS_FAIR_QUEUE_H

#include "base/list.h"
#include "base/map.h"

enum queue_class { TURN_FIRST, TURN_SECOND, TURN_CLASSES };

/* At once, of what has begun. */
struct fair_queue_limits {
	size_t all, second_class, source;
};

struct queue_source {
	enum queue_class class;
	size_t n_waiters; /* whoever uses this counts in it who waits for answers */
	/* private */
	char *key;
	size_t n_key, n_refs, n_running;
	struct list ring; /* among those who may begin something */
	struct list queue;
};

struct turn {
	struct queue_source *source; /* a reference */
	struct list link;           /* private */
};

struct fair_queue {
	struct fair_queue_limits limits;
	struct map sources;
	struct list rings[TURN_CLASSES];
	size_t n_running, n_running_second;
};

void fair_queue_init(struct fair_queue *t, const struct fair_queue_limits *limits);
void fair_queue_done(struct fair_queue *t); /* there are no sources any more */
/* A reference to a source, perhaps a new one. Sources of different classes are different. */
struct queue_source *fair_queue_source(struct fair_queue *t, enum queue_class class, struct str key);
void fair_queue_unref(struct fair_queue *t, struct queue_source *s);

/* A turn is waiting, running or neither. */
void turn_init(struct turn *turn, struct queue_source *source); /* takes the reference; neither */
void fair_queue_wait(struct fair_queue *t, struct turn *turn);
void fair_queue_leave(struct fair_queue *t, struct turn *turn); /* waiting no more */
struct turn *fair_queue_next(struct fair_queue *t);             /* the next, running from now on; NULL: none may begin */
void fair_queue_end(struct fair_queue *t, struct turn *turn);   /* running no more */

#endif
