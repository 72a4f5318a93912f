/* How many requests of each class may be under way, and how many bytes they may hold (budget.h). A request is under way until its answer is
 * made, a watch until its end: how long a client takes to read is no concern of others. */
#ifndef SERVER_REQUEST_LIMITS_H
#define SERVER_REQUEST_LIMITS_H

#include "server/request/request.h"

/* A place in the class that the route has. A write is let in, but takes no place until its body is there: its client may never send it.
 * 0, or 1 with 429 in q->st. */
int request_enter(struct request *q);
void request_leave(struct request *q);
/* The body is there, and the write needs a place again. 0, or 1 with 429 in q->st. */
int request_return(struct request *q);
/* While the cluster is asked who may do what, or a webhook converts objects, a request takes no place, but is charged for its bytes. It gets its place back whoever has come
 * meanwhile: it has been let in. */
void request_step_out(struct request *q);
void request_step_in(struct request *q);
/* Is there room for the body that the head announces? The body is charged as it comes. 0, or 1 with 429 in q->st. */
int request_weigh_announced(struct request *q);
/* n bytes of the body are there. False: the rest is of no use, or too much (q->is_over_budget). */
bool request_charge_body(struct request *q, size_t n);
/* From now on the write holds this many bytes, and its body. 0, or 1 with 429 in q->st where that is too much; less is always granted. */
int request_charge(struct request *q, size_t n);
/* An answer of so many bytes, or a stream that holds them, is about to be made. False: 429 is in q->st. Writes have happened: they are
 * always answered. */
bool request_may_answer(struct request *q, size_t n);
/* 429 in q->st, counted; 1. */
int request_refuse_for_now(struct request *q);

#endif
