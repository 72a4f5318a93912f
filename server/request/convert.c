/* Conversions of cached objects. The owner and the question under way hold a reference each, so a watch may end at any time. */
#include "server/request/convert.h"

#include "base/clock.h"
#include "server/request/limits.h"
#include "server/request/respond.h"
#include "server/request/wait.h"

#include <assert.h>

enum {
	TREES_MAX = 256 << 20, /* bytes of one question with its answer, as trees: texts have 8 MiB at most */
	TEXTS_MAX = 64 << 20,  /* bytes of one answer's objects in their other form; a longer list gets 500 */
};

/* Converted objects are no content of the cache, so what is kept of cached objects by their revision must not find them. */
static _Atomic uint32_t last_epoch = UINT32_MAX / 2;

enum conversion_state { CONVERSION_IDLE, CONVERSION_ASKING, CONVERSION_ANSWERED };

struct conversion {
	_Atomic unsigned refs;
	const struct converter *converter;
	const struct kind *kind; /* a reference */
	const struct version *to;
	int64_t deadline_ms;
	struct cached **v; /* references: as they are stored, then as they are converted */
	size_t n, cap;
	size_t at;      /* the first that is not done with */
	size_t n_input; /* bytes */
	size_t n_bytes; /* of the converted ones */
	/* of the question under way */
	struct arena arena;
	struct conversion_question question;
	size_t *asked; /* places in v */
	struct buf failure;
	bool is_turned_away; /* a failure */
	bool is_over;
	pthread_mutex_t lock; /* guards what follows */
	enum conversion_state state;
	bool is_abandoned;
	void (*wake)(void *ctx);
	void *ctx;
};

bool conversion_is_needed(const struct request *q, const struct cached *o)
{
	bool shows_fields = q->media.as != AS_PARTIAL && q->media.as != AS_PARTIAL_LIST;

	return o->kind->hook && o->kind == q->route.kind && shows_fields && o->stored_version != q->route.version;
}

/* ---- lifetime ---- */

struct conversion *conversion_new(const struct converter *converter, const struct kind *k, const struct version *to,
	int64_t deadline_ms, void (*wake)(void *ctx), void *ctx)
{
	struct conversion *c = mem_new(struct conversion);

	assert(k->hook && wake);
	c->refs = 1;
	c->converter = converter;
	c->kind = kind_ref(k);
	c->to = to;
	c->deadline_ms = deadline_ms;
	c->wake = wake;
	c->ctx = ctx;
	arena_init(&c->arena, TREES_MAX);
	buf_init(&c->failure, TEXT_MAX);
	pthread_mutex_init(&c->lock, NULL);
	return c;
}

static void conversion_unref(struct conversion *c)
{
	if (atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) > 1) {
		return;
	}
	for (size_t i = 0; i < c->n; i++) {
		cached_unref(c->v[i]);
	}
	mem_free(c->v);
	mem_free(c->asked);
	arena_done(&c->arena);
	buf_done(&c->failure);
	pthread_mutex_destroy(&c->lock);
	kind_unref(c->kind);
	mem_free(c);
}

struct conversion *conversion_free(struct conversion *c)
{
	if (c) {
		pthread_mutex_lock(&c->lock);
		c->is_abandoned = true;
		pthread_mutex_unlock(&c->lock);
		conversion_unref(c);
	}
	return NULL;
}

/* ---- what is converted ---- */

void conversion_add(struct conversion *c, const struct cached *o)
{
	assert(o->kind == c->kind && c->at == 0);
	if (c->n == c->cap) {
		c->cap = MAX(2 * c->cap, (size_t)8);
		c->v = mem_realloc_array(c->v, c->cap, sizeof(*c->v));
	}
	c->v[c->n++] = cached_ref((struct cached *)(uintptr_t)o);
	c->n_input += cached_body_size(o);
}

size_t conversion_count(const struct conversion *c)
{
	return c->n;
}

bool conversion_is_full(const struct conversion *c)
{
	return c->n >= CONVERSION_OBJECTS || c->n_input >= CONVERSION_BYTES;
}

bool conversion_has_failed(const struct conversion *c)
{
	return c->failure.n > 0;
}

const struct cached *conversion_at(const struct conversion *c, size_t i)
{
	assert(i < c->n && c->at == c->n && c->failure.n == 0);
	return c->v[i];
}

size_t conversion_bytes(const struct conversion *c)
{
	return c->n_bytes;
}

/* ---- asking ---- */

static void conversion_answered(struct question *base)
{
	struct conversion *c = container_of(base, struct conversion, question.base);

	pthread_mutex_lock(&c->lock);
	c->state = CONVERSION_ANSWERED;
	if (!c->is_abandoned) {
		c->wake(c->ctx);
	}
	pthread_mutex_unlock(&c->lock);
	conversion_unref(c);
}

/* The objects of the next question. Returns how many: 0 at the end. */
static size_t conversion_gather(struct conversion *c)
{
	struct str *texts = arena_array(&c->arena, struct str, CONVERSION_OBJECTS);
	size_t n = 0, n_bytes = 0, at;

	c->asked = c->asked ? c->asked : mem_array(CONVERSION_OBJECTS, sizeof(*c->asked));
	for (at = c->at; at < c->n && n < CONVERSION_OBJECTS && n_bytes < CONVERSION_BYTES; at++) {
		if (c->v[at]->stored_version != c->to) {
			texts[n] = cached_text(c->v[at], &c->arena);
			n_bytes += texts[n].n;
			c->asked[n++] = at;
		} else {
			c->n_bytes += cached_body_size(c->v[at]);
		}
	}
	c->at = at;
	c->question = (struct conversion_question){
		.base = {.done = conversion_answered, .arena = &c->arena, .deadline_ms = c->deadline_ms},
		.kind = c->kind,
		.to = c->to,
		.objects = texts,
		.n = n,
	};
	return n;
}

static struct cached *cached_of(const struct object *o, const struct cached *was, struct arena *a)
{
	struct str rest =
		was->ns.n > 0 ? arena_printf(a, STR_FMT "/" STR_FMT, STR_ARG(was->ns), STR_ARG(was->name)) : was->name;
	_cleanup_(buf_done) struct buf text;
	struct cached *made = NULL;

	buf_init(&text, RESPONSE_CEILING);
	if (object_encode_stored(&text, o, object_form(o))) {
		made = cached_new(o->kind, rest, buf_str(&text), was->create_revision, was->revision);
	}
	if (made) {
		made->epoch = atomic_fetch_add(&last_epoch, 1);
		made->is_gone = was->is_gone;
	}
	return made;
}

static void conversion_take(struct conversion *c)
{
	const struct conversion_question *q = &c->question;

	if (q->base.failure.n > 0) {
		buf_add_str(&c->failure, q->base.failure);
		c->is_turned_away = q->base.is_turned_away;
	}
	for (size_t i = 0; c->failure.n == 0 && i < q->n; i++) {
		struct cached **o = &c->v[c->asked[i]];
		struct cached *made = cached_of(q->converted[i], *o, &c->arena);

		if (!made) {
			buf_adds(&c->failure, "the object that the conversion webhook has made cannot be read");
			break;
		}
		cached_unref(*o);
		*o = made;
		c->n_bytes += cached_body_size(made);
	}
	if (c->failure.n == 0 && c->n_bytes > TEXTS_MAX && c->at < c->n) {
		buf_printf(&c->failure,
			"the objects are too many to be converted for one answer (%d MiB): ask for fewer with limit, or in the "
			"version that is stored",
			TEXTS_MAX >> 20);
	}
	arena_clear(&c->arena);
}

/* Returns true when the answer is there. */
static bool conversion_ask(struct conversion *c)
{
	c->state = CONVERSION_ASKING; /* nobody else looks yet */
	atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
	if (!c->converter->ask(c->converter->ctx, &c->question)) {
		return false;
	}
	atomic_fetch_sub_explicit(&c->refs, 1, memory_order_relaxed);
	c->state = CONVERSION_ANSWERED;
	return true;
}

bool conversion_step(struct conversion *c)
{
	if (c->is_over) {
		return true;
	}
	pthread_mutex_lock(&c->lock);
	enum conversion_state state = c->state;
	pthread_mutex_unlock(&c->lock);

	if (state == CONVERSION_ASKING) {
		return false;
	}
	if (state == CONVERSION_ANSWERED) {
		conversion_take(c);
		c->state = CONVERSION_IDLE;
	}
	while (c->failure.n == 0 && conversion_gather(c) > 0) {
		if (!conversion_ask(c)) {
			return false;
		}
		conversion_take(c);
		c->state = CONVERSION_IDLE;
	}
	c->is_over = true;
	return true;
}

/* ---- for a request ---- */

void conversion_refuse(const struct conversion *c, struct request *q)
{
	assert(c->failure.n > 0);
	if (c->is_turned_away) {
		request_refuse_for_now(q);
	} else {
		status_set(&q->st, 500, NULL, STR_FMT, STR_ARG(arena_dup(q->a, buf_str(&c->failure))));
	}
}

static void request_wake(void *ctx)
{
	http_wake(ctx);
}

struct conversion *request_conversion(struct request *q)
{
	return conversion_new(
		q->server->options.converter, q->route.kind, q->route.version, q->deadline_ms, request_wake, q->x);
}

/* Suspended first: the answer may come before the step has returned. */
static void request_go_on_converting(struct request *q)
{
	struct conversion *c = q->converting;

	if (!c->is_over) {
		request_wait_answer(q, request_go_on_converting);
		if (conversion_step(c)) {
			http_wake(q->x);
		}
		return;
	}
	if (c->failure.n > 0) {
		conversion_refuse(c, q);
	}
	q->after_converting(q);
}

void request_convert(struct request *q, struct conversion *c, void (*next)(struct request *q))
{
	assert(!q->converting && next);
	q->converting = c;
	q->after_converting = next;
	request_go_on_converting(q);
}

struct conversion *request_converted(struct request *q)
{
	assert(q->converting && q->converting->is_over);
	return take_ptr(q->converting);
}
