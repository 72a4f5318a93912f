/* Order matters here as in upstream: configurations by name, and each webhook sees what those
 * before it made. A call is one step of the round. It goes on wherever the answer came, so no
 * thread waits. Annotations are numbered by round and place, as upstream's, which lets audit logs
 * be compared. */
#include "delegation/webhooks/webhook_patch.h"
#include "delegation/webhooks/webhook_round.h"

#include <stdio.h>

/* One after the other, each seeing what those before it have made of the object; then, if something has changed, a second time those that
 * want to see what came after them (k8s.io/apiserver's reinvocation). */
struct mutation {
	size_t at; /* in the set */
	unsigned round;
	bool is_dirty, has_changed;
	bool *were_asked,
		*are_wanted; /* by place in the set: reinvocable ones asked before the last change; those to be asked again */
	struct webhook_call call;
	bool has_call;
};

static void drop_call(struct mutation *m)
{
	if (m->has_call) {
		webhook_call_done(&m->call);
		m->has_call = false;
	}
}

static void free_mutation(struct webhook_round *r)
{
	struct mutation *m = r->own;
	drop_call(m);
	mem_free(m->are_wanted);
	mem_free(m->were_asked);
	mem_free(m);
}

/* ---- annotations ---- */

static struct str annotation_key(struct webhook_round *r, const char *prefix)
{
	const struct mutation *m = r->own;
	return arena_printf(
		r->q->base.arena, "%s.webhook.admission.k8s.io/round_%u_index_%zu", prefix, m->round, m->call.hook->index);
}

static void annotate(struct webhook_round *r, const char *prefix, struct json *value)
{
	struct buf text;
	buf_init(&text, PATCH_NOTE_MAX);
	if (json_encode(&text, value)) {
		round_annotate(r, annotation_key(r, prefix), buf_str(&text));
	}
	buf_done(&text);
}

static struct json *note_of(struct webhook_round *r)
{
	const struct mutation *m = r->own;
	struct arena *a = r->q->base.arena;
	struct json *note = json_object(a);
	json_add(a, note, STR("configuration"), json_string(a, m->call.hook->configuration));
	json_add(a, note, STR("webhook"), json_string(a, m->call.hook->name));
	return note;
}

static void note_mutation(struct webhook_round *r, const struct webhook_patched *patched)
{
	struct arena *a = r->q->base.arena;
	if (patched->operations) {
		struct json *note = note_of(r);
		json_add(a, note, STR("patch"), patched->operations);
		json_add(a, note, STR("patchType"), json_string(a, STR("JSONPatch")));
		annotate(r, "patch", note);
	}
	struct json *note = note_of(r);
	json_add(a, note, STR("mutated"), json_bool(a, patched->has_changed));
	annotate(r, "mutation", note);
}

/* ---- what an answer does ---- */

static void want_again(struct mutation *m, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		m->are_wanted[i] = m->are_wanted[i] || m->were_asked[i];
		m->were_asked[i] = false;
	}
}

/* False: the question is answered. */
static bool take(struct webhook_round *r)
{
	struct mutation *m = r->own;
	struct webhook_call *c = &m->call;
	struct webhook_patched patched = {0};
	if (c->answer.patch.n) {
		webhook_patch(&patched, c, r->q, r->object);
	}
	if (!c->is_stopped) {
		note_mutation(r, &patched);
	}
	if (patched.object) {
		r->object = patched.object;
		m->is_dirty = true;
	}
	if (patched.has_changed) {
		m->has_changed = true;
		/* Only those that saw the object before: who comes later sees it anyway. */
		want_again(m, r->set->n);
	}
	m->were_asked[m->at] = m->were_asked[m->at] || c->hook->is_reinvocable;
	m->at++;
	struct str key = annotation_key(r, "failed-open.mutation");
	bool goes_on = round_take(r, c, key.p);
	drop_call(m);
	return goes_on;
}

static void on_answer(struct webhook_call *c)
{
	struct webhook_round *r = c->ctx;
	if (!take(r) || r->go_on(r)) {
		r->on_end(r);
	}
}

/* ---- one after the other ---- */

/* True: there is one to look at. */
static bool find_next(struct webhook_round *r)
{
	struct mutation *m = r->own;
	if (m->at == r->set->n && m->round == 0 && m->has_changed) {
		m->round = 1;
		m->at = 0;
	}
	return m->at < r->set->n;
}

static bool is_wanted(const struct mutation *m)
{
	return m->round == 0 || m->are_wanted[m->at];
}

static void finish(struct webhook_round *r)
{
	const struct mutation *m = r->own;
	if (m->is_dirty) {
		r->q->changed = object_to_json(r->object, subresource_door(r->q->sub, r->q->door), r->q->base.arena);
	}
}

static bool go_on(struct webhook_round *r)
{
	struct mutation *m = r->own;
	while (find_next(r)) {
		const struct webhook *h = &r->set->v[m->at];
		const struct door *door;
		enum round_match match = round_match(r, h, &door);
		if (match == ROUND_REFUSED || match == ROUND_WAITS) {
			return match == ROUND_REFUSED;
		}
		if (match == ROUND_NO || !is_wanted(m)) {
			m->at++;
			continue;
		}
		m->has_call = true;
		if (!webhook_call_init(&m->call, r->q, h, door, r->object)) {
			webhook_call_start(&m->call, r->means->client, on_answer, r);
			return false;
		}
		if (!take(r)) {
			return true;
		}
	}
	finish(r);
	return true;
}

void round_mutate(struct webhook_round *r)
{
	struct mutation *m = mem_new(struct mutation);
	m->were_asked = mem_array(r->set->n + 1, sizeof(bool));
	m->are_wanted = mem_array(r->set->n + 1, sizeof(bool));
	r->own = m;
	r->free_own = free_mutation;
	r->go_on = go_on;
}
