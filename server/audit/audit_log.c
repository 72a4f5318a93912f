/* Bytes are counted here and not by the queue alone. The queue is empty as soon as its writer has
 * taken all of it, and a disk that hangs would make room for as much again. So what is being
 * written counts as waiting until it is written. */
#include "server/audit/audit_log.h"

#include "base/clock.h"
#include "base/line_queue.h"

#include <stdatomic.h>

enum {
	GATHER_MS = 20, /* one write for what comes together */
	/* A full disk fails every write, and the log of notices may be on that disk. */
	NOTICE_EVERY_MS = 60 * 1000,
};

struct audit_log {
	struct audit_log_options options;
	struct audit_file *file; /* the writer's */
	int64_t next_notice_ms;  /* the writer's; monotonic */
	_Atomic size_t n_waiting; /* bytes, those that are being written too */
	_Atomic uint64_t n_lost;
	struct line_queue queue;
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
	return line_queue_append(&l->queue, line); /* which has room, as what waits there waits here */
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

static void write_lines(void *ctx, struct buf *lines)
{
	struct audit_log *l = ctx;
	size_t n_lost;
	int r = audit_file_write(l->file, buf_str(lines), &n_lost);

	if (r) {
		atomic_fetch_add_explicit(&l->n_lost, n_lost, memory_order_relaxed);
		audit_log_report(l, r, n_lost);
	}
	atomic_fetch_sub_explicit(&l->n_waiting, lines->n, memory_order_relaxed);
}

/* ---- life ---- */

int audit_log_new(struct audit_log **ret, const struct audit_log_options *options, struct buf *err)
{
	struct audit_log *l = mem_new(struct audit_log);

	l->options = *options;
	int r = audit_file_open(&l->file, &options->file, err);
	if (r) {
		mem_free(l);
		return r;
	}
	r = line_queue_open(&l->queue, AUDIT_QUEUE_MAX, GATHER_MS, write_lines, l);
	if (r) {
		buf_printf(err, "cannot start the audit log's thread: %s", strerror(-r));
		audit_file_close(l->file);
		mem_free(l);
		return r;
	}
	*ret = l;
	return 0;
}

void audit_log_flush(struct audit_log *l, int64_t until_ms)
{
	line_queue_flush(&l->queue, until_ms);
}

struct audit_log *audit_log_free(struct audit_log *l)
{
	if (l) {
		line_queue_close(&l->queue);
		audit_file_close(l->file);
		mem_free(l);
	}
	return NULL;
}
