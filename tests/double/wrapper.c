#include "tests/double/wrapper.h"

_Static_assert(offsetof(struct storage_range, op) == 0, "");
_Static_assert(offsetof(struct storage_txn, op) == 0, "");
_Static_assert(offsetof(struct storage_compact, op) == 0, "");
_Static_assert(offsetof(struct storage_status, op) == 0, "");
_Static_assert(offsetof(struct storage_lease, op) == 0, "");

static void submit_range(struct storage *s, struct storage_op *op)
{
	storage_range(s, container_of(op, struct storage_range, op));
}

static void submit_txn(struct storage *s, struct storage_op *op)
{
	storage_txn(s, container_of(op, struct storage_txn, op));
}

static void submit_compact(struct storage *s, struct storage_op *op)
{
	storage_compact(s, container_of(op, struct storage_compact, op));
}

static void submit_status(struct storage *s, struct storage_op *op)
{
	storage_status(s, container_of(op, struct storage_status, op));
}

static void submit_lease_grant(struct storage *s, struct storage_op *op)
{
	storage_lease_grant(s, container_of(op, struct storage_lease, op));
}

static void submit_lease_keep_alive(struct storage *s, struct storage_op *op)
{
	storage_lease_keep_alive(s, container_of(op, struct storage_lease, op));
}

static void submit_lease_revoke(struct storage *s, struct storage_op *op)
{
	storage_lease_revoke(s, container_of(op, struct storage_lease, op));
}

static const struct kind_row {
	size_t size;
	void (*submit)(struct storage *s, struct storage_op *op);
} kinds[] = {
	[OP_RANGE] = {sizeof(struct storage_range), submit_range},
	[OP_TXN] = {sizeof(struct storage_txn), submit_txn},
	[OP_COMPACT] = {sizeof(struct storage_compact), submit_compact},
	[OP_STATUS] = {sizeof(struct storage_status), submit_status},
	[OP_LEASE_GRANT] = {sizeof(struct storage_lease), submit_lease_grant},
	[OP_LEASE_KEEP_ALIVE] = {sizeof(struct storage_lease), submit_lease_keep_alive},
	[OP_LEASE_REVOKE] = {sizeof(struct storage_lease), submit_lease_revoke},
};

void op_submit(struct storage *s, enum op_kind kind, struct storage_op *op)
{
	kinds[kind].submit(s, op);
}

struct shadow *shadow_new(struct wrapper *w, enum op_kind kind, struct storage_op *outer)
{
	struct shadow *shadow = mem_new(struct shadow);
	shadow->kind = kind;
	shadow->outer = outer;
	shadow->wrapper = w;
	list_init(&shadow->node);
	memcpy(&shadow->op, outer, kinds[kind].size);
	return shadow;
}

void shadow_submit(struct shadow *shadow, struct storage *s, void (*done)(struct storage_op *op))
{
	shadow->op.done = done;
	shadow->is_submitted = true;
	op_submit(s, shadow->kind, &shadow->op);
}

void shadow_fail(struct shadow *shadow, enum storage_result result, const char *message)
{
	arena_done(&shadow->op.arena);
	shadow->op.result = result;
	shadow->op.message = message;
}

/* Of what every operation begins with, `done` and `timeout_ms` stay the caller's own: it may be looking at them. */
void shadow_return(struct shadow *shadow)
{
	enum { SKIPPED = offsetof(struct storage_op, result) };
	struct storage_op *outer = shadow->outer;
	memcpy((char *)outer + SKIPPED, (char *)&shadow->op + SKIPPED, kinds[shadow->kind].size - SKIPPED);
	mem_free(shadow);
	outer->done(outer);
}

/* ---- the operations of every wrapper ---- */

static void wrapper_submit(struct storage *s, enum op_kind kind, struct storage_op *op)
{
	struct wrapper *w = wrapper_of(s);
	w->submit(w, kind, op);
}

static void wrapper_range(struct storage *s, struct storage_range *r)
{
	wrapper_submit(s, OP_RANGE, &r->op);
}

static void wrapper_txn(struct storage *s, struct storage_txn *t)
{
	wrapper_submit(s, OP_TXN, &t->op);
}

static void wrapper_compact(struct storage *s, struct storage_compact *c)
{
	wrapper_submit(s, OP_COMPACT, &c->op);
}

static void wrapper_status(struct storage *s, struct storage_status *status)
{
	wrapper_submit(s, OP_STATUS, &status->op);
}

static void wrapper_lease_grant(struct storage *s, struct storage_lease *l)
{
	wrapper_submit(s, OP_LEASE_GRANT, &l->op);
}

static void wrapper_lease_keep_alive(struct storage *s, struct storage_lease *l)
{
	wrapper_submit(s, OP_LEASE_KEEP_ALIVE, &l->op);
}

static void wrapper_lease_revoke(struct storage *s, struct storage_lease *l)
{
	wrapper_submit(s, OP_LEASE_REVOKE, &l->op);
}

static void wrapper_watch(struct storage *s, struct storage_watch *w)
{
	storage_watch(wrapper_of(s)->inner, w);
}

static void wrapper_watch_cancel(struct storage *s, struct storage_watch *w)
{
	storage_watch_cancel(wrapper_of(s)->inner, w);
}

static void wrapper_free(struct storage *s)
{
	struct wrapper *w = wrapper_of(s);
	w->free(w);
}

const struct storage_ops wrapper_ops = {
	.range = wrapper_range,
	.txn = wrapper_txn,
	.compact = wrapper_compact,
	.status = wrapper_status,
	.lease_grant = wrapper_lease_grant,
	.lease_keep_alive = wrapper_lease_keep_alive,
	.lease_revoke = wrapper_lease_revoke,
	.watch = wrapper_watch,
	.watch_cancel = wrapper_watch_cancel,
	.free = wrapper_free,
};
