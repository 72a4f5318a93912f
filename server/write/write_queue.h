/* Writers of one key take turns, in the order in which they came.
 *
 * Without turns all of them decide against the same version, one transaction succeeds, and the work of all
 * others is lost: with big objects that costs seconds and gigabytes. A turn is a courtesy, not a lock: what
 * guards an object is its transaction, which other servers' writers race with in any case. So nobody waits for
 * somebody who waits for a stranger: whoever has been asking the cluster (webhooks, say, which may themselves
 * write this very object) for more than two seconds is passed by.
 *
 * Nothing blocks. A write that must wait is woken and tries again, at least once a second: its client may have
 * gone, or its time may be over. Any thread; `wake` is called without locks. There are at most as many turns as
 * there may be writes under way. */
#ifndef SERVER_WRITE_WRITE_QUEUE_H
#define SERVER_WRITE_WRITE_QUEUE_H

#include "base/list.h"
#include "base/str.h"

struct write_queue;

/* A writer's place, in the writer's memory; zeroed before the first use. Private. */
struct write_turn {
	struct list node; /* of a bucket */
	struct str key;
	void (*wake)(void *ctx);
	void *ctx;
	bool is_linked; /* the writer's own; what follows is the queue's */
	bool is_asleep, is_passed;
	int64_t asking_since_ms; /* 0: not asking */
	int64_t after; /* a revision that holds what those before it have written; 0: none known */
	struct write_turn *next_woken;
};

struct write_queue *write_queue_new(void);
struct write_queue *write_queue_free(struct write_queue *s); /* when there are no turns left */

/* True: it is this writer's turn, until it leaves; *ret_after is a revision that holds what those before it have written, or 0. False:
 * wake(ctx) will be called once, and then this is asked again. The key must stay. */
bool write_turn_take(struct write_queue *s, struct write_turn *turn, struct str key, void (*wake)(void *ctx), void *ctx,
	int64_t *ret_after);
/* From its turn, or from the queue (when awake). Harmless where it has neither. revision: of what it has written, or 0. */
void write_turn_leave(struct write_queue *s, struct write_turn *turn, int64_t revision);
/* The writer begins or ceases to wait for an answer of the cluster. */
void write_turn_set_asking(struct write_queue *s, struct write_turn *turn, bool is_asking);

#endif
