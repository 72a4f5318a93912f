/* The memory of a write. It goes before the request does: a tree takes thirty times the room of its text, and a write can wait
 * for seconds for its turn, the cache or etcd. So it keeps little while it waits:
 *
 *   write_keep_little()  before any wait: a large body's tree is dropped, and is read again from the text when it is needed;
 *   write_pack()         before the transaction: trees go, and what the answer or another round needs is copied;
 *   write_drop()         when the answer is made, or the request is over: all of it.
 *
 * Small writes keep everything: reading again would cost more than it saves. */
#ifndef SERVER_WRITE_WRITE_MEMORY_H
#define SERVER_WRITE_WRITE_MEMORY_H

#include "server/request/request.h"
#include "server/write/write_queue.h"

struct write;

/* Bytes. */
enum {
	WRITE_KEPT_MAX = 128 << 10,      /* kept while a write waits, rather than parsed again from text */
	WRITE_STORED_CEILING = 64 << 20, /* far beyond what etcd takes: its answer tells the client more than ours would */
};

enum write_arena {
	WRITE_PARSED,   /* what was read of the body */
	WRITE_PRESENT,  /* the object as it is */
	WRITE_DECISION, /* what one round of deciding makes */
	WRITE_PACKED,   /* what is needed until etcd has answered */
	WRITE_ASKED,    /* what webhooks were asked, and have answered; two, by phase */
	WRITE_ARENAS = WRITE_ASKED + 2,
};

/* How much of itself a write still has in memory. */
enum write_held {
	HELD_ALL,
	HELD_WITHOUT_BODY, /* the body must be read again before it is decided on */
	HELD_PACKED, /* nor are there trees: write.object is gone, and of write.present only uid and mod_revision are left */
};

struct write_memory {
	struct arena arenas[WRITE_ARENAS];
	struct buf stored; /* the value being written */
	int64_t revision;  /* of what was written in this turn; 0: nothing was */
	struct write_turn turn;
};

/* The request's; made when it is asked for first. */
struct write_memory *write_memory(struct request *q);
size_t write_memory_used(const struct write_memory *m);
/* Before a body is read that may be read again: from now on what is made belongs to the body's tree. */
void write_begin_reading(struct request *q);
/* From now on, what is made belongs to the decision. */
void write_begin_deciding(struct request *q);
/* Another round begins: nothing of what was decided or loaded before is needed. */
void write_begin_round(struct request *q, struct write *w);

void write_keep_little(struct request *q, struct write *w);
/* q->plan is what is being sent. */
void write_pack(struct request *q, struct write *w);
void write_drop(struct request *q);
/* Copies the texts of warnings, from the given one on: they may point into what is dropped. */
void write_keep_warnings(struct request *q, size_t from, struct arena *a);
/* Charges what the write holds while it waits to the budget of its class. 1 with q->st: it is more than all requests together
 * may hold. */
int write_weigh(struct request *q, size_t sent);

#endif
