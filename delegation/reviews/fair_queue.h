/* Whose turn it is: what is to be sent to kube-apiserver waits by its source (a user, a client's address, a token), and sources take turns. So
 * nobody waits for more than one of each other source's, however many one of them sends. Sources of the first class go before those of the
 * second, which never has all places. Not thread-safe. */
#ifndef DELEGATION_REVIEWS_FAIR_QUEUE_H
#define DELEGATION_REVIEWS_FAIR_QUEUE_H

#include "base/list.h"
#include "base/map.h"

enum turn_class { TURN_FIRST, TURN_SECOND, TURN_CLASSES };

/* At once, of what has begun. */
struct turns_limits {
	size_t all, second_class, source;
};

struct turn_source {
	enum turn_class class;
	size_t n_waiters; /* whoever uses this counts in it who waits for answers */
	/* private */
	char *key;
	size_t n_key, n_refs, n_running;
	struct list ring; /* among those who may begin something */
	struct list queue;
};

struct turn {
	struct turn_source *source; /* a reference */
	struct list link;           /* private */
};

struct turns {
	struct turns_limits limits;
	struct map sources;
	struct list rings[TURN_CLASSES];
	size_t n_running, n_running_second;
};

void turns_init(struct turns *t, const struct turns_limits *limits);
void turns_done(struct turns *t); /* there are no sources any more */
/* A reference to a source, perhaps a new one. Sources of different classes are different. */
struct turn_source *turns_source(struct turns *t, enum turn_class class, struct str key);
void turns_unref(struct turns *t, struct turn_source *s);

/* A turn is waiting, running or neither. */
void turn_init(struct turn *turn, struct turn_source *source); /* takes the reference; neither */
void turns_wait(struct turns *t, struct turn *turn);
void turns_leave(struct turns *t, struct turn *turn); /* waiting no more */
struct turn *turns_next(struct turns *t);             /* the next, running from now on; NULL: none may begin */
void turns_end(struct turns *t, struct turn *turn);   /* running no more */

#endif
