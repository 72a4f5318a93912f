#include "tests/double/fault.h"

#include "tests/double/wrapper.h"

#include <pthread.h>

struct fault {
	struct wrapper wrapper;
	pthread_mutex_t lock;
	enum fault_kind kind;
	unsigned countdown; /* calls until it strikes; 0: disarmed */
	bool has_fired;
	bool is_released; /* since it was armed */
	struct list held; /* shadow.node */
};

/* Brings an answer that the inner store did not give to its completion thread: with the answer to a harmless question. */
struct courier {
	struct storage_status status;
	struct shadow *shadow;
};

static struct fault *fault(struct storage *s)
{
	return container_of(wrapper_of(s), struct fault, wrapper);
}

static void on_courier(struct storage_op *op)
{
	struct courier *courier = container_of(op, struct courier, status.op);
	struct shadow *shadow = courier->shadow;
	storage_op_clear(op);
	mem_free(courier);
	shadow_return(shadow);
}

static void send_courier(struct fault *f, struct shadow *shadow)
{
	struct courier *courier = mem_new(struct courier);
	courier->status.op.done = on_courier;
	courier->shadow = shadow;
	storage_status(f->wrapper.inner, &courier->status);
}

/* False when delayed calls need not wait any more. */
static bool fault_hold(struct fault *f, struct shadow *shadow)
{
	pthread_mutex_lock(&f->lock);
	bool must_wait = !f->is_released;
	if (must_wait) {
		list_append(&f->held, &shadow->node);
	}
	pthread_mutex_unlock(&f->lock);
	return must_wait;
}

/* ---- one function for each kind of fault ---- */

static void refuse(struct fault *f, struct shadow *shadow)
{
	shadow_fail(shadow, STORAGE_UNAVAILABLE, "refused by the fault store");
	send_courier(f, shadow);
}

static void on_lost(struct storage_op *op)
{
	shadow_fail(shadow_of(op), STORAGE_UNKNOWN, "lost by the fault store");
	shadow_return(shadow_of(op));
}

static void lose(struct fault *f, struct shadow *shadow)
{
	shadow_submit(shadow, f->wrapper.inner, on_lost);
}

static void on_plain(struct storage_op *op)
{
	shadow_return(shadow_of(op));
}

static bool has_put(const struct storage_step *steps, size_t n)
{
	while (n > 0 && steps[n - 1].kind != STEP_PUT) {
		n--;
	}
	return n > 0;
}

static bool shadow_puts(const struct shadow *shadow)
{
	return shadow->kind == OP_TXN && has_put(shadow->txn.success, shadow->txn.n_success);
}

static void refuse_full(struct fault *f, struct shadow *shadow)
{
	if (shadow_puts(shadow)) {
		shadow_fail(shadow, STORAGE_NO_SPACE, "etcdserver: mvcc: database space exceeded");
		send_courier(f, shadow);
	} else {
		shadow_submit(shadow, f->wrapper.inner, on_plain);
	}
}

static void on_overfilled(struct storage_op *op)
{
	struct shadow *shadow = shadow_of(op);

	if (shadow_puts(shadow) && op->result == STORAGE_OK && shadow->txn.succeeded) {
		shadow_fail(shadow, STORAGE_NO_SPACE, "etcdserver: mvcc: database space exceeded");
	}
	shadow_return(shadow);
}

static void overfill(struct fault *f, struct shadow *shadow)
{
	shadow_submit(shadow, f->wrapper.inner, on_overfilled);
}

static void let_go(struct fault *f, struct shadow *shadow)
{
	if (shadow->is_submitted) {
		send_courier(f, shadow);
	} else {
		shadow_submit(shadow, f->wrapper.inner, on_plain);
	}
}

static void delay(struct fault *f, struct shadow *shadow)
{
	if (!fault_hold(f, shadow)) {
		let_go(f, shadow);
	}
}

static void on_delayed(struct storage_op *op)
{
	struct shadow *shadow = shadow_of(op);
	if (!fault_hold(container_of(shadow->wrapper, struct fault, wrapper), shadow)) {
		shadow_return(shadow);
	}
}

static void delay_done(struct fault *f, struct shadow *shadow)
{
	shadow_submit(shadow, f->wrapper.inner, on_delayed);
}

static void (*const strikes[])(struct fault *f, struct shadow *shadow) = {
	[FAULT_REFUSE] = refuse,
	[FAULT_LOSE] = lose,
	[FAULT_FULL] = refuse_full,
	[FAULT_OVERFILL] = overfill,
	[FAULT_DELAY] = delay,
	[FAULT_DELAY_DONE] = delay_done,
};

/* ---- the store ---- */

static bool fault_must_strike(struct fault *f, enum fault_kind *ret)
{
	pthread_mutex_lock(&f->lock);
	bool must_strike = f->countdown > 0 && --f->countdown == 0;
	f->has_fired |= must_strike;
	*ret = f->kind;
	pthread_mutex_unlock(&f->lock);
	return must_strike;
}

static void fault_submit(struct wrapper *w, enum op_kind kind, struct storage_op *op)
{
	struct fault *f = container_of(w, struct fault, wrapper);
	enum fault_kind what;
	if (fault_must_strike(f, &what)) {
		strikes[what](f, shadow_new(w, kind, op));
	} else {
		op_submit(w->inner, kind, op);
	}
}

static void fault_take_held(struct fault *f, struct list *ret)
{
	pthread_mutex_lock(&f->lock);
	f->is_released = true;
	list_splice(ret, &f->held);
	pthread_mutex_unlock(&f->lock);
}

static struct shadow *held_pop(struct list *held)
{
	struct shadow *shadow = list_entry(held->next, struct shadow, node);
	list_remove(&shadow->node);
	return shadow;
}

static void fault_free(struct wrapper *w)
{
	struct fault *f = container_of(w, struct fault, wrapper);
	struct list held = LIST_INIT(held);
	fault_take_held(f, &held);
	while (!list_is_empty(&held)) {
		struct shadow *shadow = held_pop(&held);
		shadow_fail(shadow, STORAGE_CANCELED, "the store is being closed");
		send_courier(f, shadow);
	}
	storage_free(w->inner);
	pthread_mutex_destroy(&f->lock);
	mem_free(f);
}

struct storage *storage_fault_new(struct storage *inner)
{
	struct fault *f = mem_new(struct fault);
	f->wrapper = (struct wrapper){{&wrapper_ops}, inner, fault_submit, fault_free};
	pthread_mutex_init(&f->lock, NULL);
	list_init(&f->held);
	return &f->wrapper.storage;
}

void storage_fault_arm(struct storage *s, enum fault_kind kind, unsigned n)
{
	struct fault *f = fault(s);
	pthread_mutex_lock(&f->lock);
	f->kind = kind;
	f->countdown = n;
	f->has_fired = false;
	f->is_released = false;
	pthread_mutex_unlock(&f->lock);
}

bool storage_fault_has_fired(struct storage *s)
{
	struct fault *f = fault(s);
	pthread_mutex_lock(&f->lock);
	bool has_fired = f->has_fired;
	pthread_mutex_unlock(&f->lock);
	return has_fired;
}

void storage_fault_release(struct storage *s)
{
	struct fault *f = fault(s);
	struct list held = LIST_INIT(held);
	fault_take_held(f, &held);
	while (!list_is_empty(&held)) {
		let_go(f, held_pop(&held));
	}
}
