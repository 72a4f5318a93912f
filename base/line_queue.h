/* Lines on their way to a file: handed over without waiting, and written by a thread of their own, many at once. */
#ifndef BASE_LINE_QUEUE_H
#define BASE_LINE_QUEUE_H

#include "base/buf.h"

#include <pthread.h>

/* Appenders add to `queue`; the writer takes it as a whole and writes it without the lock. All
 * members are private. */
struct line_queue {
	size_t max; /* bytes that may wait */
	int64_t gather_ms;
	void (*write)(void *ctx, struct buf *lines);
	void *ctx;
	pthread_t writer;
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t wake;  /* the queue is not empty any more, or long; closing */
	struct buf queue;
	pthread_cond_t idle; /* what was taken has been written */
	bool is_closing, is_writing;
};

/* Lines wait gather_ms for others, or until there are many. The writer's thread has the name, of 15 bytes at most. It calls
 * write(), which may add to the lines that it gets; they are emptied afterwards. Returns 0 or -errno: then there is nothing to close. */
int line_queue_open(struct line_queue *q, const char *name, size_t max, int64_t gather_ms,
	void (*write)(void *ctx, struct buf *lines), void *ctx);
bool line_queue_append(struct line_queue *q, struct str line); /* false when it does not fit */
/* When what waits has been written, or at until_ms (monotonic). */
void line_queue_flush(struct line_queue *q, int64_t until_ms);
void line_queue_close(struct line_queue *q); /* when what waits has been written */

#endif
