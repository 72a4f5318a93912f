#include "tests/double/trace.h"

#include "base/buf.h"
#include "base/clock.h"
#include "tests/double/wrapper.h"

enum { LINE_MAX_BYTES = 4096 };

struct trace {
	struct wrapper wrapper;
	void (*line)(void *ctx, const char *text);
	void *ctx;
};

/* Ends of prefixes are not for reading. */
static void describe_key(struct buf *b, struct str key, struct str range_end)
{
	buf_printf(b, " " STR_FMT "%s", STR_ARG(key), range_end.n ? "..." : "");
}

static void describe_range(struct buf *b, const struct shadow *shadow)
{
	const struct storage_range *r = &shadow->range;
	describe_key(b, r->key, r->range_end);
	if (r->op.result == STORAGE_OK) {
		buf_printf(b, ", %zu of %lld", r->n_kvs, (long long)r->count);
	}
}

static void describe_steps(struct buf *b, const struct storage_step *steps, size_t n)
{
	static const char *const verbs[] = {[STEP_GET] = "get", [STEP_PUT] = "put", [STEP_DELETE] = "delete"};
	for (size_t i = 0; i < n; i++) {
		buf_printf(b, ", %s", verbs[steps[i].kind]);
		describe_key(b, steps[i].key, steps[i].range_end);
	}
}

static void describe_txn(struct buf *b, const struct shadow *shadow)
{
	const struct storage_txn *t = &shadow->txn;
	buf_printf(b, " %zu guards", t->n_compares);
	if (t->op.result != STORAGE_OK || t->succeeded) {
		describe_steps(b, t->success, t->n_success);
	} else {
		buf_adds(b, " failed");
		describe_steps(b, t->failure, t->n_failure);
	}
}

static void describe_compact(struct buf *b, const struct shadow *shadow)
{
	buf_printf(b, " at %lld", (long long)shadow->compact.at_revision);
}

static void describe_lease(struct buf *b, const struct shadow *shadow)
{
	buf_printf(b, " %lld, %lld s", (long long)shadow->lease.id, (long long)shadow->lease.ttl_s);
}

static void describe_nothing(struct buf *b, const struct shadow *shadow)
{
	(void)b;
	(void)shadow;
}

static void (*const describers[])(struct buf *b, const struct shadow *shadow) = {
	[OP_RANGE] = describe_range,
	[OP_TXN] = describe_txn,
	[OP_COMPACT] = describe_compact,
	[OP_STATUS] = describe_nothing,
	[OP_LEASE_GRANT] = describe_lease,
	[OP_LEASE_KEEP_ALIVE] = describe_lease,
	[OP_LEASE_REVOKE] = describe_lease,
};

static void on_done(struct storage_op *op)
{
	struct shadow *shadow = shadow_of(op);
	const struct trace *t = container_of(shadow->wrapper, struct trace, wrapper);
	struct buf line;
	buf_init(&line, LINE_MAX_BYTES);
	buf_adds(&line, op_kind_name(shadow->kind));
	describers[shadow->kind](&line, shadow);
	buf_printf(&line, " -> %s, revision %lld, %lld us", storage_result_name(op->result), (long long)op->revision,
		(long long)(clock_mono_ns() - shadow->started_ns) / 1000);
	if (op->message[0]) {
		buf_printf(&line, ": %s", op->message);
	}
	t->line(t->ctx, line.p);
	buf_done(&line);
	shadow_return(shadow);
}

static void trace_submit(struct wrapper *w, enum op_kind kind, struct storage_op *op)
{
	struct shadow *shadow = shadow_new(w, kind, op);
	shadow->started_ns = clock_mono_ns();
	shadow_submit(shadow, w->inner, on_done);
}

static void trace_free(struct wrapper *w)
{
	storage_free(w->inner);
	mem_free(container_of(w, struct trace, wrapper));
}

struct storage *storage_trace_new(struct storage *inner, void (*line)(void *ctx, const char *text), void *ctx)
{
	struct trace *t = mem_new(struct trace);
	*t = (struct trace){.wrapper = {{&wrapper_ops}, inner, trace_submit, trace_free}, .line = line, .ctx = ctx};
	return &t->wrapper.storage;
}
