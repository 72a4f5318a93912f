/* Validating webhooks change nothing, so all may look at once. Choosing them begins anew when
 * labels have come, and nothing is sent before all are chosen: a refusal by a selector must not
 * leave questions under way. */
#include "delegation/webhooks/webhook_round.h"

#include <stdatomic.h>
#include <stdio.h>

/* All at once; the first refusal to come is the answer, once all have answered. */
struct validation {
	struct webhook_call *calls;
	bool *is_sent;
	size_t n;
	_Atomic size_t n_left; /* calls without an answer, and one for whoever sends them */
	struct status st;      /* the first refusal */
};

static void free_validation(struct webhook_round *r)
{
	struct validation *v = r->own;
	for (size_t i = 0; i < v->n; i++) {
		webhook_call_done(&v->calls[i]);
	}
	mem_free(v->is_sent);
	mem_free(v->calls);
	mem_free(v);
}

/* Answers are taken on one thread at a time: before anything is sent, or on the client's. */
static void take(struct webhook_round *r, const struct webhook_call *c)
{
	struct validation *v = r->own;
	char key[80];
	snprintf(key, sizeof(key), "failed-open.validating.webhook.admission.k8s.io/round_0_index_%zu", (size_t)(c - v->calls));
	if (!round_take(r, c, key) && !v->st.code) {
		v->st = r->q->st;
	}
	r->q->st.code = 0;
}

/* True: that was the last. */
static bool leave(struct validation *v)
{
	return atomic_fetch_sub_explicit(&v->n_left, 1, memory_order_acq_rel) == 1;
}

static void settle(struct webhook_round *r)
{
	struct validation *v = r->own;
	r->q->st = v->st;
}

static void on_answer(struct webhook_call *c)
{
	struct webhook_round *r = c->ctx;
	take(r, c);
	if (leave(r->own)) {
		settle(r);
		r->on_end(r);
	}
}

/* True: the question is answered. */
static bool send_all(struct webhook_round *r)
{
	struct validation *v = r->own;
	atomic_store(&v->n_left, 1);
	for (size_t i = 0; i < v->n; i++) {
		if (v->is_sent[i]) {
			atomic_fetch_add(&v->n_left, 1);
		} else {
			take(r, &v->calls[i]);
		}
	}
	for (size_t i = 0; i < v->n; i++) {
		if (v->is_sent[i]) {
			webhook_call_start(&v->calls[i], r->means->client, on_answer, r);
		}
	}
	if (!leave(v)) {
		return false;
	}
	settle(r);
	return true;
}

/* The doors of those that are to be asked. WAITS: the round may be gone. */
static enum round_match choose(struct webhook_round *r, const struct door **doors)
{
	size_t n = r->set->n;
	for (size_t i = 0; i < n; i++) {
		const struct door *door;
		enum round_match match = round_match(r, &r->set->v[i], &door);
		if (match == ROUND_REFUSED || match == ROUND_WAITS) {
			return match;
		}
		doors[i] = match == ROUND_YES ? door : NULL;
	}
	return ROUND_YES;
}

static void prepare(struct webhook_round *r, const struct door *const *doors)
{
	struct validation *v = mem_new(struct validation);
	size_t n = 0;
	for (size_t i = 0; i < r->set->n; i++) {
		n += doors[i] != NULL;
	}
	v->calls = mem_array(n + 1, sizeof(*v->calls));
	v->is_sent = mem_array(n + 1, sizeof(*v->is_sent));
	r->own = v;
	r->free_own = free_validation;
	for (size_t i = 0; i < r->set->n; i++) {
		if (doors[i]) {
			struct webhook_call *c = &v->calls[v->n];
			v->is_sent[v->n++] = !webhook_call_init(c, r->q, &r->set->v[i], doors[i], r->object);
		}
	}
}

/* From the start again when the labels have come: whom to ask follows from them. */
static bool go_on(struct webhook_round *r)
{
	_cleanup_(mem_freep) const struct door **doors = mem_array(r->set->n + 1, sizeof(*doors));
	enum round_match match = choose(r, doors);
	if (match != ROUND_YES) {
		return match == ROUND_REFUSED;
	}
	prepare(r, doors);
	return send_all(r);
}

void round_validate(struct webhook_round *r)
{
	r->go_on = go_on;
}
