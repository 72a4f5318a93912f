#include "tests/unit/slow_line.h"

#include "storage/memory/memory.h"
#include "tests/double/wrapper.h"

/* One call of on_events, or the watch's end. */
struct batch {
	struct list node;
	struct arena arena;
	struct storage_event *events;
	size_t n;
	int64_t revision;
	bool is_end;
	enum storage_result why;
	int64_t compact_revision;
};

/* A transaction whose caller has got "outcome unknown". */
struct straggler {
	struct list node;
	struct arena arena;
	struct storage_txn txn;
};

struct slow_line {
	struct wrapper wrapper;
	struct storage_ops ops;
	struct list requests, answers; /* shadow.node */
	struct list stragglers, batches;
	struct storage_watch watch;  /* of the inner store */
	struct storage_watch *owner; /* NULL: nobody watches */
	bool is_watching, is_interrupted;
	int64_t told; /* up to which revision the owner has got events */
	int64_t now_ms;
	void (*on_submit)(void *ctx);
	void *ctx;
};

static struct slow_line *line_of(struct storage *s)
{
	return container_of(wrapper_of(s), struct slow_line, wrapper);
}

static void inner_run(struct slow_line *l)
{
	storage_memory_run(l->wrapper.inner, l->now_ms);
}

static size_t count(const struct list *all)
{
	size_t n = 0;
	list_for_each(it, all) {
		n++;
	}
	return n;
}

static struct list *pick(struct list *all, unsigned choice)
{
	size_t n = count(all);
	struct list *it = all->next;

	for (size_t at = n ? choice % n : 0; at > 0; at--) {
		it = it->next;
	}
	return n ? it : NULL;
}

/* ---- operations ---- */

static void line_submit(struct wrapper *w, enum op_kind kind, struct storage_op *op)
{
	struct slow_line *l = container_of(w, struct slow_line, wrapper);
	struct shadow *shadow = shadow_new(w, kind, op);

	shadow->started_ns = l->now_ms;
	list_append(&l->requests, &shadow->node);
	if (l->on_submit) {
		l->on_submit(l->ctx);
	}
}

static void on_inner_done(struct storage_op *op)
{
	struct shadow *shadow = shadow_of(op);
	struct slow_line *l = container_of(shadow->wrapper, struct slow_line, wrapper);

	list_append(&l->answers, &shadow->node);
}

bool slow_line_carry_out(struct slow_line *l, unsigned choice, int64_t now_ms)
{
	struct list *node = pick(&l->requests, choice);

	l->now_ms = now_ms;
	if (node) {
		struct shadow *shadow = list_entry(node, struct shadow, node);
		list_remove(node);
		shadow_submit(shadow, l->wrapper.inner, on_inner_done);
		inner_run(l);
	}
	return node;
}

bool slow_line_answer(struct slow_line *l, unsigned choice)
{
	struct list *node = pick(&l->answers, choice);

	if (node) {
		list_remove(node);
		shadow_return(list_entry(node, struct shadow, node));
	}
	return node;
}

static struct str copy(struct arena *a, struct str s)
{
	return s.n ? arena_dup(a, s) : s;
}

static struct storage_step *copy_steps(struct arena *a, const struct storage_step *steps, size_t n)
{
	struct storage_step *v = arena_array(a, struct storage_step, n);

	for (size_t i = 0; i < n; i++) {
		v[i] = steps[i];
		v[i].key = copy(a, steps[i].key);
		v[i].range_end = copy(a, steps[i].range_end);
		v[i].value = copy(a, steps[i].value);
	}
	return v;
}

/* Of other operations nobody minds whether they happen late. */
static void straggle(struct slow_line *l, const struct shadow *shadow)
{
	struct straggler *s;

	if (shadow->kind != OP_TXN) {
		return;
	}
	s = mem_new(struct straggler);
	arena_init(&s->arena, SIZE_MAX);
	s->txn = shadow->txn;
	s->txn.compares = arena_array(&s->arena, struct storage_compare, shadow->txn.n_compares);
	for (size_t i = 0; i < shadow->txn.n_compares; i++) {
		s->txn.compares[i] = shadow->txn.compares[i];
		s->txn.compares[i].key = copy(&s->arena, shadow->txn.compares[i].key);
		s->txn.compares[i].range_end = copy(&s->arena, shadow->txn.compares[i].range_end);
	}
	s->txn.success = copy_steps(&s->arena, shadow->txn.success, shadow->txn.n_success);
	s->txn.failure = copy_steps(&s->arena, shadow->txn.failure, shadow->txn.n_failure);
	list_append(&l->stragglers, &s->node);
}

static void shadow_give_up(struct slow_line *l, struct shadow *shadow, enum storage_result result)
{
	list_remove(&shadow->node);
	if (!shadow->is_submitted) {
		straggle(l, shadow);
	}
	shadow_fail(shadow, result, "lost on the line");
	shadow_return(shadow);
}

bool slow_line_refuse(struct slow_line *l, unsigned choice)
{
	struct list *node = pick(&l->requests, choice);

	if (node) {
		struct shadow *shadow = list_entry(node, struct shadow, node);
		list_remove(node);
		shadow_fail(shadow, STORAGE_UNAVAILABLE, "refused on the line");
		shadow_return(shadow);
	}
	return node;
}

bool slow_line_lose(struct slow_line *l, unsigned choice)
{
	struct list *node = pick(choice & 1 ? &l->requests : &l->answers, choice >> 1);

	if (node) {
		shadow_give_up(l, list_entry(node, struct shadow, node), STORAGE_UNKNOWN);
	}
	return node;
}

static void on_straggled(struct storage_op *op)
{
	struct straggler *s = container_of(op, struct straggler, txn.op);

	storage_op_clear(op);
	arena_done(&s->arena);
	mem_free(s);
}

bool slow_line_straggle(struct slow_line *l, unsigned choice, int64_t now_ms)
{
	struct list *node = pick(&l->stragglers, choice);

	l->now_ms = now_ms;
	if (node) {
		struct straggler *s = list_entry(node, struct straggler, node);
		list_remove(node);
		s->txn.op.done = on_straggled;
		storage_txn(l->wrapper.inner, &s->txn);
		inner_run(l);
	}
	return node;
}

static void time_out(struct slow_line *l, struct list *all)
{
	list_for_each_safe(it, all) {
		struct shadow *shadow = list_entry(it, struct shadow, node);
		if (l->now_ms - shadow->started_ns > shadow->op.timeout_ms) {
			shadow_give_up(l, shadow, STORAGE_TIMEOUT);
		}
	}
}

void slow_line_time_out(struct slow_line *l, int64_t now_ms)
{
	l->now_ms = now_ms;
	time_out(l, &l->answers);
	time_out(l, &l->requests);
}

/* ---- the watch ---- */

static void batch_free(struct batch *b)
{
	list_remove(&b->node);
	arena_done(&b->arena);
	mem_free(b);
}

static struct batch *batch_new(struct slow_line *l)
{
	struct batch *b = mem_new(struct batch);

	arena_init(&b->arena, SIZE_MAX);
	list_append(&l->batches, &b->node);
	return b;
}

static void on_inner_events(struct storage_watch *w, const struct storage_event *events, size_t n, int64_t revision)
{
	struct slow_line *l = container_of(w, struct slow_line, watch);
	struct batch *b = batch_new(l);

	b->events = arena_array(&b->arena, struct storage_event, n);
	b->n = n;
	b->revision = revision;
	for (size_t i = 0; i < n; i++) {
		b->events[i] = events[i];
		b->events[i].kv.key = copy(&b->arena, events[i].kv.key);
		b->events[i].kv.value = copy(&b->arena, events[i].kv.value);
	}
}

static void inner_watch(struct slow_line *l)
{
	l->watch.from_revision = l->told + 1;
	l->is_watching = true;
	storage_watch(l->wrapper.inner, &l->watch);
	inner_run(l);
}

static void on_inner_end(struct storage_watch *w, enum storage_result why, int64_t compact_revision, const char *message)
{
	struct slow_line *l = container_of(w, struct slow_line, watch);
	(void)message;

	l->is_watching = false;
	if (l->owner && !l->is_interrupted) {
		struct batch *b = batch_new(l);
		b->is_end = true;
		b->why = why;
		b->compact_revision = compact_revision;
	}
}

static void line_watch(struct storage *s, struct storage_watch *w)
{
	struct slow_line *l = line_of(s);

	l->owner = w;
	l->told = w->from_revision - 1;
	l->watch = (struct storage_watch){
		.key = w->key, .range_end = w->range_end, .on_events = on_inner_events, .on_end = on_inner_end};
	inner_watch(l);
}

static void line_watch_cancel(struct storage *s, struct storage_watch *w)
{
	struct slow_line *l = line_of(s);

	if (l->owner == w && l->is_watching) {
		storage_watch_cancel(l->wrapper.inner, &l->watch);
		inner_run(l);
	}
}

bool slow_line_tell(struct slow_line *l)
{
	struct storage_watch *owner = l->owner;
	struct batch *b = list_is_empty(&l->batches) ? NULL : list_entry(l->batches.next, struct batch, node);

	if (!b) {
		return false;
	}
	list_remove(&b->node);
	if (b->is_end) {
		l->owner = NULL;
		owner->on_end(owner, b->why, b->compact_revision, "over");
	} else {
		l->told = b->revision;
		owner->on_events(owner, b->events, b->n, b->revision);
	}
	batch_free(b);
	return true;
}

static void batches_drop(struct slow_line *l)
{
	while (!list_is_empty(&l->batches)) {
		batch_free(list_entry(l->batches.next, struct batch, node));
	}
}

static void inner_unwatch(struct slow_line *l)
{
	l->is_interrupted = true;
	if (l->is_watching) {
		storage_watch_cancel(l->wrapper.inner, &l->watch);
		inner_run(l);
	}
	l->is_interrupted = false;
	batches_drop(l);
}

void slow_line_interrupt(struct slow_line *l, int64_t now_ms)
{
	l->now_ms = now_ms;
	if (l->owner && l->is_watching) {
		inner_unwatch(l);
		inner_watch(l);
	}
}

/* ---- the line ---- */

struct slow_line *slow_line_new(struct storage *inner, void (*on_submit)(void *ctx), void *ctx)
{
	struct slow_line *l = mem_new(struct slow_line);

	l->on_submit = on_submit;
	l->ctx = ctx;

	l->ops = wrapper_ops;
	l->ops.watch = line_watch;
	l->ops.watch_cancel = line_watch_cancel;
	l->wrapper = (struct wrapper){{&l->ops}, inner, line_submit, NULL};
	list_init(&l->requests);
	list_init(&l->answers);
	list_init(&l->stragglers);
	list_init(&l->batches);
	return l;
}

struct storage *slow_line_store(struct slow_line *l)
{
	return &l->wrapper.storage;
}

static void shadows_drop(struct list *all)
{
	list_for_each_safe(it, all) {
		struct shadow *shadow = list_entry(it, struct shadow, node);
		list_remove(it);
		arena_done(&shadow->op.arena);
		mem_free(shadow);
	}
}

void slow_line_cut(struct slow_line *l)
{
	list_for_each(it, &l->requests) {
		straggle(l, list_entry(it, struct shadow, node));
	}
	shadows_drop(&l->requests);
	shadows_drop(&l->answers);
	l->owner = NULL;
	inner_unwatch(l);
}

struct slow_line *slow_line_free(struct slow_line *l)
{
	list_for_each_safe(it, &l->stragglers) {
		struct straggler *s = list_entry(it, struct straggler, node);
		list_remove(it);
		arena_done(&s->arena);
		mem_free(s);
	}
	return mem_free(l);
}
