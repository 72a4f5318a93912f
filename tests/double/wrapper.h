/* What stores around another store have in common. Operations come to one function; watches pass through.
 *
 * When a wrapper has to see an operation's end before its caller does, it cannot lend the inner store the caller's: it submits a
 * shadow, an operation of its own with the same request, whose results it hands back. */
#ifndef TESTS_DOUBLE_WRAPPER_H
#define TESTS_DOUBLE_WRAPPER_H

#include "base/list.h"
#include "storage/storage.h"

enum op_kind {
	OP_RANGE,
	OP_TXN,
	OP_COMPACT,
	OP_STATUS,
	OP_LEASE_GRANT,
	OP_LEASE_KEEP_ALIVE,
	OP_LEASE_REVOKE,
};

struct wrapper {
	struct storage storage;
	struct storage *inner; /* owned */
	void (*submit)(struct wrapper *w, enum op_kind kind, struct storage_op *op);
	void (*free)(struct wrapper *w); /* frees the inner one, too */
};

static inline struct wrapper *wrapper_of(struct storage *s)
{
	return container_of(s, struct wrapper, storage);
}
extern const struct storage_ops wrapper_ops;

/* Submits an operation of that kind, a shadow's or a caller's. */
void op_submit(struct storage *s, enum op_kind kind, struct storage_op *op);

struct shadow {
	enum op_kind kind;
	bool is_submitted;
	struct storage_op *outer; /* the caller's */
	union {
		struct storage_op op; /* each of the others begins with one */
		struct storage_range range;
		struct storage_txn txn;
		struct storage_compact compact;
		struct storage_status status;
		struct storage_lease lease;
	};
	/* the wrapper's */
	struct wrapper *wrapper;
	struct list node;
	int64_t started_ns;
};

struct shadow *shadow_new(struct wrapper *w, enum op_kind kind, struct storage_op *outer);
void shadow_submit(struct shadow *shadow, struct storage *s, void (*done)(struct storage_op *op));
static inline struct shadow *shadow_of(struct storage_op *op)
{
	return container_of(op, struct shadow, op);
}
/* Replaces whatever results there are by this one. */
void shadow_fail(struct shadow *shadow, enum storage_result result, const char *message);
/* Hands the results to the caller's operation, frees the shadow, calls the caller's done. */
void shadow_return(struct shadow *shadow);

#endif
