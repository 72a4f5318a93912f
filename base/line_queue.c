/* Two buffers that are swapped, not a list of lines: appending is one copy under the lock, and
 * the lock is never held during a write to disk. Memory is twice `max` at most.
 *
 * One lock, taken alone. The writer is woken for the first line and for the one that fills
 * GATHER_BYTES; lines between need no system call. */
#include "base/line_queue.h"

#include "base/clock.h"

/* As much as is worth one write(2): beyond it, waiting for more gains nothing. */
enum { GATHER_BYTES = 256 * 1024 };

bool line_queue_append(struct line_queue *q, struct str line)
{
	pthread_mutex_lock(&q->lock);
	size_t before = q->queue.n;
	bool fits = before + line.n <= q->max;
	if (fits) {
		buf_add_str(&q->queue, line);
	}
	if (fits && (before == 0 || (before < GATHER_BYTES && q->queue.n >= GATHER_BYTES))) {
		pthread_cond_signal(&q->wake);
	}
	pthread_mutex_unlock(&q->lock);
	return fits;
}

/* ---- the writer ---- */

/* Lock held. */
static void gather(struct line_queue *q)
{
	int64_t until_ms = clock_mono_ms() + q->gather_ms;
	while (q->queue.n < GATHER_BYTES && !q->is_closing && clock_cond_wait(&q->wake, &q->lock, until_ms) == 0) {
	}
}

/* Takes what waits; false when there will be no more. */
static bool take(struct line_queue *q, struct buf *ret)
{
	pthread_mutex_lock(&q->lock);
	/* Only here, back under the lock, are the lines of the last round known to be written. */
	q->is_writing = false;
	pthread_cond_broadcast(&q->idle);
	while (q->queue.n == 0 && !q->is_closing) {
		pthread_cond_wait(&q->wake, &q->lock);
	}
	gather(q);
	/* The emptied buffer becomes the queue, with its memory. */
	struct buf taken = q->queue;
	q->queue = *ret;
	*ret = taken;
	q->is_writing = true;
	pthread_mutex_unlock(&q->lock);
	return ret->n > 0;
}

static void *write_lines(void *ctx)
{
	struct line_queue *q = ctx;
	struct buf lines;
	buf_init(&lines, q->max);
	while (take(q, &lines)) {
		q->write(q->ctx, &lines);
		buf_clear(&lines);
	}
	buf_done(&lines);
	return NULL;
}

/* ---- life ---- */

static void discard(struct line_queue *q)
{
	buf_done(&q->queue);
	pthread_cond_destroy(&q->wake);
	pthread_cond_destroy(&q->idle);
	pthread_mutex_destroy(&q->lock);
}

int line_queue_open(struct line_queue *q, size_t max, int64_t gather_ms, void (*write)(void *ctx, struct buf *lines), void *ctx)
{
	*q = (struct line_queue){.max = max, .gather_ms = gather_ms, .write = write, .ctx = ctx};
	pthread_mutex_init(&q->lock, NULL);
	clock_cond_init(&q->wake);
	clock_cond_init(&q->idle);
	buf_init(&q->queue, max);
	int r = -pthread_create(&q->writer, NULL, write_lines, q);
	if (r) {
		discard(q);
	}
	return r;
}

void line_queue_flush(struct line_queue *q, int64_t until_ms)
{
	pthread_mutex_lock(&q->lock);
	while ((q->queue.n > 0 || q->is_writing) && clock_cond_wait(&q->idle, &q->lock, until_ms) == 0) {
	}
	pthread_mutex_unlock(&q->lock);
}

void line_queue_close(struct line_queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->is_closing = true;
	pthread_cond_signal(&q->wake);
	pthread_mutex_unlock(&q->lock);
	pthread_join(q->writer, NULL);
	discard(q);
}
