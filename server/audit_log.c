#include "server/audit_log.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
	GATHER_MS = 20,            /* lines wait this long for others to be written with, */
	GATHER_BYTES = 256 * 1024, /* or until there are so many */
	NOTICE_EVERY_MS = 60 * 1000,
};

/* Requests append to `queue`; the writer takes it as a whole and writes it without the lock. */
struct audit_log {
	struct audit_log_options options;
	struct audit_file *file; /* the writer's */
	int64_t next_notice_ms;  /* the writer's; monotonic */
	pthread_t writer;
	_Atomic size_t n_waiting; /* bytes, those that are being written too */
	_Atomic uint64_t n_lost;
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t wake;  /* the queue is not empty any more, or long; closing */
	struct buf queue;
	bool is_closing;
};

/* ---- from requests ---- */

bool audit_log_has_room(const struct audit_log *l)
{
	return atomic_load_explicit(&l->n_waiting, memory_order_relaxed) < AUDIT_QUEUE_BUSY;
}

bool audit_log_append(struct audit_log *l, struct str line)
{
	size_t waiting = atomic_fetch_add_explicit(&l->n_waiting, line.n, memory_order_relaxed) + line.n;

	if (waiting > AUDIT_QUEUE_MAX) {
		atomic_fetch_sub_explicit(&l->n_waiting, line.n, memory_order_relaxed);
		return false;
	}
	pthread_mutex_lock(&l->lock);
	size_t before = l->queue.n;
	buf_add_str(&l->queue, line);
	if (before == 0 || (before < GATHER_BYTES && l->queue.n >= GATHER_BYTES)) {
		pthread_cond_signal(&l->wake);
	}
	pthread_mutex_unlock(&l->lock);
	return true;
}

void audit_log_count_lost(struct audit_log *l)
{
	atomic_fetch_add_explicit(&l->n_lost, 1, memory_order_relaxed);
}

uint64_t audit_log_lost(const struct audit_log *l)
{
	return atomic_load_explicit(&l->n_lost, memory_order_relaxed);
}

/* ---- the writer ---- */

/* Lock held. */
static void audit_log_gather(struct audit_log *l)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += GATHER_MS * 1000000L;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	while (l->queue.n < GATHER_BYTES && !l->is_closing && pthread_cond_timedwait(&l->wake, &l->lock, &until) == 0) {
	}
}

/* Takes what waits; false when there will be no more. */
static bool audit_log_take(struct audit_log *l, struct buf *ret)
{
	pthread_mutex_lock(&l->lock);
	while (l->queue.n == 0 && !l->is_closing) {
		pthread_cond_wait(&l->wake, &l->lock);
	}
	audit_log_gather(l);
	struct buf taken = l->queue;
	l->queue = *ret;
	*ret = taken;
	pthread_mutex_unlock(&l->lock);
	return ret->n > 0;
}

static void audit_log_report(struct audit_log *l, int r, size_t n_lost)
{
	int64_t now = clock_mono_ms();
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, 4096);
	if (!l->options.on_notice || now < l->next_notice_ms) {
		return;
	}
	l->next_notice_ms = now + NOTICE_EVERY_MS;
	if (n_lost > 0) {
		buf_printf(&text, "the audit log %s cannot be written: %s; %llu events have been lost so far",
			l->options.file.path, strerror(-r), (unsigned long long)audit_log_lost(l));
	} else {
		buf_printf(&text, "the audit log %s cannot be set aside, so it grows beyond its size: %s", l->options.file.path,
			strerror(-r));
	}
	l->options.on_notice(l->options.notice_ctx, buf_str(&text));
}

static void audit_log_write(struct audit_log *l, struct str lines)
{
	size_t n_lost;
	int r = audit_file_write(l->file, lines, &n_lost);

	if (r) {
		atomic_fetch_add_explicit(&l->n_lost, n_lost, memory_order_relaxed);
		audit_log_report(l, r, n_lost);
	}
	atomic_fetch_sub_explicit(&l->n_waiting, lines.n, memory_order_relaxed);
}

static void *write_lines(void *ctx)
{
	struct audit_log *l = ctx;
	struct buf lines;

	buf_init(&lines, AUDIT_QUEUE_MAX);
	while (audit_log_take(l, &lines)) {
		audit_log_write(l, buf_str(&lines));
		buf_clear(&lines);
	}
	buf_done(&lines);
	return NULL;
}

/* ---- life ---- */

static int audit_log_start(struct audit_log *l)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
	buf_init(&l->queue, AUDIT_QUEUE_MAX);
	return -pthread_create(&l->writer, NULL, write_lines, l);
}

static void audit_log_discard(struct audit_log *l)
{
	buf_done(&l->queue);
	pthread_cond_destroy(&l->wake);
	pthread_mutex_destroy(&l->lock);
	audit_file_close(l->file);
	mem_free(l);
}

int audit_log_new(struct audit_log **ret, const struct audit_log_options *options, struct buf *err)
{
	struct audit_log *l = mem_new(struct audit_log);

	l->options = *options;
	int r = audit_file_open(&l->file, &options->file, err);
	if (r) {
		mem_free(l);
		return r;
	}
	r = audit_log_start(l);
	if (r) {
		buf_printf(err, "cannot start the audit log's thread: %s", strerror(-r));
		audit_log_discard(l);
		return r;
	}
	*ret = l;
	return 0;
}

struct audit_log *audit_log_free(struct audit_log *l)
{
	if (l) {
		pthread_mutex_lock(&l->lock);
		l->is_closing = true;
		pthread_cond_signal(&l->wake);
		pthread_mutex_unlock(&l->lock);
		pthread_join(l->writer, NULL);
		audit_log_discard(l);
	}
	return NULL;
}
