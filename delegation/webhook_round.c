/* A round asks all webhooks of a phase for one write. First the common part of both phases, then
 * mutating, then validating.
 *
 * Labels of the namespace are looked up when the first webhook needs them, and kept: all
 * webhooks of a round see the same. A round keeps the set it began with, even if configurations
 * change. No thread waits: the thread that brings an answer continues the round. */
#include "delegation/webhook_round.h"

#include "api/model/members.h"
#include "api/rules/validate.h"
#include "base/clock.h"
#include "client/rest.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>

enum {
	NAMESPACE_MAX = 4 << 20, /* bytes */
	PATH_MAX_BYTES = 4096,
	WARNINGS_MAX = 1024,    /* of one question; a header has room for much less */
	ANNOTATIONS_MAX = 1024, /* audit annotations of one question; further ones are left out */
};

struct webhook_round *round_new(const struct webhook_means *means, struct webhook_question *q)
{
	assert(means->client && q->base.done && q->base.arena && q->version && q->phase <= WEBHOOKS_VALIDATING);
	assert(q->n_warnings == 0 && q->n_annotations == 0); /* the round knows the room in its own lists */
	struct webhook_round *r = mem_new(struct webhook_round);
	r->means = means;
	r->q = q;
	r->object = q->object;
	list_init(&r->link);
	buf_init(&r->get_text, NAMESPACE_MAX);
	return r;
}

struct webhook_round *round_free(struct webhook_round *r)
{
	if (r) {
		assert(list_is_empty(&r->link)); /* the owner waits for it no more */
		if (r->free_own) {
			r->free_own(r);
		}
		buf_done(&r->get_text);
		mem_free(r->get_path);
		item_unref(r->ns);
		webhook_set_unref(r->set);
		mem_free(r);
	}
	return NULL;
}

/* ---- labels of the namespace ---- */

static void round_take_labels(struct webhook_round *r, const struct json *ns)
{
	r->n_labels = labels_read(&r->labels, json_gets(json_gets(ns, "metadata"), "labels"), r->q->base.arena);
	r->has_labels = true;
}

static bool on_namespace_bytes(struct exchange *x, struct str bytes)
{
	struct webhook_round *r = container_of(x, struct webhook_round, get);
	return buf_add_str(&r->get_text, bytes);
}

/* A 404 alone proves nothing: proxies answer it for every path, and in JSON, too. */
static bool round_is_without_namespace(const struct webhook_round *r, struct json *status)
{
	const struct answer answer = {.code = r->get.code, .reason = member_text(status, "reason"), .body = status};
	return answer_is_status(&answer) && answer_is_without_namespace(&answer, r->q->ns);
}

static void round_read_namespace(struct webhook_round *r)
{
	assert(!r->has_labels);
	struct arena *a = r->q->base.arena;
	struct json *ns = NULL;
	size_t at;
	bool is_read = r->get.result == EXCHANGE_OK && json_parse(&ns, a, buf_str(&r->get_text), JSON_LIMITS_DEFAULT, &at) == 0;
	r->has_labels = true;
	status_init(&r->labels_problem, a);
	if (is_read && r->get.code == 200) {
		round_take_labels(r, ns);
	} else if (is_read && round_is_without_namespace(r, ns)) {
		status_not_found(&r->labels_problem, STR(""), STR("namespaces"), r->q->ns);
	} else {
		struct str said = is_read ? member_text(ns, "message") : str_of(r->get.problem);
		said = said.n ? said : arena_printf(a, "unexpected answer with status %d", r->get.code);
		status_internal(&r->labels_problem, "Get \"%s\": " STR_FMT, r->get_path, STR_ARG(said));
	}
}

static void on_namespace(struct exchange *x)
{
	struct webhook_round *r = container_of(x, struct webhook_round, get);
	round_read_namespace(r);
	if (r->go_on(r)) {
		r->on_end(r);
	}
}

/* Gets the namespace from kube-apiserver, since the informer may be behind. The round may be
 * gone afterwards. */
static void round_get_namespace(struct webhook_round *r)
{
	assert(!r->get_path && r->q->ns.n > 0); /* one round asks once */
	static const struct resource namespaces = {{"", 0}, {"v1", 2}, {"namespaces", 10}};
	int64_t left_ms = r->q->base.deadline_ms - clock_mono_ms();
	struct buf path;
	buf_init(&path, PATH_MAX_BYTES);
	target_path(&path, &(struct target){&namespaces, .name = r->q->ns});
	r->get_path = buf_take(&path, NULL);
	r->get = (struct exchange){.method = "GET",
		.path = r->get_path,
		.timeout_ms = MAX(left_ms, 1),
		.on_bytes = on_namespace_bytes,
		.on_done = on_namespace};
	exchange_start(r->means->client, &r->get);
}

/* Returns false when the labels have yet to come. */
static bool round_need_labels(struct webhook_round *r)
{
	if (!r->has_labels) {
		r->ns = r->means->get_namespace ? r->means->get_namespace(r->means->namespace_ctx, r->q->ns) : NULL;
		if (!r->ns) {
			round_get_namespace(r);
			return false;
		}
		round_take_labels(r, r->ns->object);
	}
	return true;
}

/* ---- matching ---- */

static enum round_match round_refuse_selector(struct webhook_round *r, struct str problem)
{
	status_init(&r->q->st, r->q->base.arena);
	status_internal(&r->q->st, STR_FMT, STR_ARG(problem));
	return ROUND_REFUSED;
}

static enum round_match round_match_namespace(struct webhook_round *r, const struct webhook *h)
{
	if (!webhook_looks_at_namespace(h, r->q)) {
		return ROUND_YES;
	}
	if (h->namespaces.problem.n) {
		return round_refuse_selector(r, h->namespaces.problem);
	}
	if (!round_need_labels(r)) {
		return ROUND_WAITS;
	}
	if (r->labels_problem.code) {
		r->q->st = r->labels_problem;
		return ROUND_REFUSED;
	}
	return webhook_selects(&h->namespaces, r->labels, r->n_labels) ? ROUND_YES : ROUND_NO;
}

/* Matches a webhook. Objects come before namespaces: a missing namespace matters only to
 * webhooks that would look at this object. */
enum round_match round_match(struct webhook_round *r, const struct webhook *h, const struct version **ret)
{
	*ret = webhook_version(h, r->q);
	if (!*ret) {
		return ROUND_NO;
	}
	if (!h->objects.problem.n && !webhook_selects_object(h, r->object, r->q->old, r->q->base.arena)) {
		return ROUND_NO;
	}
	enum round_match match = round_match_namespace(r, h);
	return match == ROUND_YES && h->objects.problem.n ? round_refuse_selector(r, h->objects.problem) : match;
}

/* ---- answers ---- */

/* Makes room for one more in a list in the arena; NULL: it is full. */
static void *list_grown(struct arena *a, void *list, size_t n, size_t *cap, size_t max, size_t size)
{
	assert(n <= *cap && n <= max);
	if (n < *cap || n == max) {
		return n < max ? list : NULL;
	}
	*cap = *cap ? 2 * *cap : 8;
	void *more = arena_zalloc_array(a, *cap, size);
	return n ? memcpy(more, list, n * size) : more;
}

static void round_warn(struct webhook_round *r, struct str text)
{
	struct webhook_question *q = r->q;
	struct str *list = list_grown(q->base.arena, q->warnings, q->n_warnings, &r->cap_warnings, WARNINGS_MAX, sizeof(*list));
	if (list) {
		q->warnings = list;
		list[q->n_warnings++] = text;
	}
}

void round_annotate(struct webhook_round *r, struct str key, struct str value)
{
	struct webhook_question *q = r->q;
	struct arena *a = q->base.arena;
	struct user_extra *list =
		list_grown(a, q->annotations, q->n_annotations, &r->cap_annotations, ANNOTATIONS_MAX, sizeof(*list));
	if (list) {
		q->annotations = list;
		list[q->n_annotations++] = (struct user_extra){arena_dup(a, key), arena_dup(a, value)};
	}
}

static bool round_has_annotation(const struct webhook_round *r, struct str key)
{
	for (size_t i = 0; i < r->q->n_annotations; i++) {
		if (str_eq(r->q->annotations[i].key, key)) {
			return true;
		}
	}
	return false;
}

/* Keeps the webhook's own annotations as NAME/KEY; the first of a key stays. */
static void round_annotate_for(struct webhook_round *r, const struct webhook *h, const struct json *annotations)
{
	const char *messages[VALIDATE_MESSAGES_MAX];
	for (uint32_t i = 0; json_is(annotations, JSON_OBJECT) && i < annotations->n; i++) {
		struct str name = annotations->members[i].name;
		struct str key = arena_printf(r->q->base.arena, STR_FMT "/" STR_FMT, STR_ARG(h->name), STR_ARG(name));
		if (!validate_qualified_name(key, messages) && !round_has_annotation(r, key)) {
			round_annotate(r, key, json_text(annotations->members[i].value));
		}
	}
}

static bool round_has_time(struct webhook_round *r)
{
	if (clock_mono_ms() < r->q->base.deadline_ms) {
		return true;
	}
	status_init(&r->q->st, r->q->base.arena);
	status_set(&r->q->st, 504, REASON_TIMEOUT, "Timeout: request did not complete within requested timeout");
	r->q->st.has_details = true;
	return false;
}

bool round_take(struct webhook_round *r, const struct webhook_call *c, const char *fail_open_key)
{
	if (c->is_stopped) {
		r->q->base.failure = STR("this server is stopping");
		return false;
	}
	const struct json *warning;
	round_annotate_for(r, c->hook, c->answer.annotations);
	for (uint32_t i = 0; (warning = list_item(c->answer.warnings, i)); i++) {
		round_warn(r, json_text(warning));
	}
	webhook_metrics_count(r->means->metrics, c->hook, r->q, &c->answer, c->duration_ns);
	assert((c->answer.outcome == OUTCOME_ALLOWED) == (c->answer.status.code == 0));
	if (c->answer.outcome == OUTCOME_ALLOWED) {
		return true;
	}
	if (c->answer.outcome == OUTCOME_FAILED && c->hook->ignores_failure) {
		round_annotate(r, str_of(fail_open_key), c->hook->name);
		return round_has_time(r);
	}
	r->q->st = c->answer.status;
	return false;
}

/* ---- mutating ----
 *
 * Webhooks are asked one after the other, ordered by configuration name as in upstream, and each
 * sees the earlier changes. If something has changed, webhooks that want to see later changes
 * are asked a second time (k8s.io/apiserver's reinvocation). Annotations are numbered by round
 * and place as upstream's, so audit logs can be compared. */

struct mutation {
	size_t at; /* in the set */
	unsigned round;
	bool is_dirty, has_changed;
	bool *were_asked,
		*are_wanted; /* by place in the set: reinvocable ones asked before the last change; those to be asked again */
	struct webhook_call call;
	bool has_call;
};

static void mutation_drop_call(struct mutation *m)
{
	if (m->has_call) {
		webhook_call_done(&m->call);
		m->has_call = false;
	}
}

static void mutation_free(struct webhook_round *r)
{
	struct mutation *m = r->own;
	mutation_drop_call(m);
	mem_free(m->are_wanted);
	mem_free(m->were_asked);
	mem_free(m);
}

/* ---- annotations ---- */

static struct str mutation_annotation_key(struct webhook_round *r, const char *prefix)
{
	const struct mutation *m = r->own;
	return arena_printf(
		r->q->base.arena, "%s.webhook.admission.k8s.io/round_%u_index_%zu", prefix, m->round, m->call.hook->index);
}

static void mutation_annotate(struct webhook_round *r, const char *prefix, struct json *value)
{
	struct buf text;
	buf_init(&text, PATCH_NOTE_MAX);
	if (json_encode(&text, value)) {
		round_annotate(r, mutation_annotation_key(r, prefix), buf_str(&text));
	}
	buf_done(&text);
}

static struct json *mutation_note(struct webhook_round *r)
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
		struct json *note = mutation_note(r);
		json_add(a, note, STR("patch"), patched->operations);
		json_add(a, note, STR("patchType"), json_string(a, STR("JSONPatch")));
		mutation_annotate(r, "patch", note);
	}
	struct json *note = mutation_note(r);
	json_add(a, note, STR("mutated"), json_bool(a, patched->has_changed));
	mutation_annotate(r, "mutation", note);
}

/* ---- what an answer does ---- */

/* Takes the answer. Returns false when the question is answered. */
static bool mutation_take_answer(struct webhook_round *r)
{
	struct mutation *m = r->own;
	assert(m->has_call && m->at < r->set->n);
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
		/* Only those that saw the object before the change: later ones see it anyway. */
		for (size_t i = 0; i < r->set->n; i++) {
			m->are_wanted[i] = m->are_wanted[i] || m->were_asked[i];
			m->were_asked[i] = false;
		}
	}
	m->were_asked[m->at] = m->were_asked[m->at] || c->hook->is_reinvocable;
	m->at++;
	struct str key = mutation_annotation_key(r, "failed-open.mutation");
	bool goes_on = round_take(r, c, key.p);
	mutation_drop_call(m);
	return goes_on;
}

static void mutation_on_answer(struct webhook_call *c)
{
	struct webhook_round *r = c->ctx;
	if (!mutation_take_answer(r) || r->go_on(r)) {
		r->on_end(r);
	}
}

/* ---- one after the other ---- */

/* Finds the next webhook to look at. Returns false when there is none. */
static bool mutation_find_next(struct webhook_round *r)
{
	struct mutation *m = r->own;
	assert(m->at <= r->set->n && m->round <= 1);
	if (m->at == r->set->n && m->round == 0 && m->has_changed) {
		m->round = 1;
		m->at = 0;
	}
	return m->at < r->set->n;
}

static bool mutation_is_wanted(const struct mutation *m)
{
	return m->round == 0 || m->are_wanted[m->at];
}

static void mutation_finish(struct webhook_round *r)
{
	const struct mutation *m = r->own;
	if (m->is_dirty) {
		r->q->changed = object_to_json(r->object, subresource_version(r->q->sub, r->q->version), r->q->base.arena);
	}
}

static bool mutation_go_on(struct webhook_round *r)
{
	struct mutation *m = r->own;
	assert(!m->has_call); /* one after the other */
	while (mutation_find_next(r)) {
		const struct webhook *h = &r->set->v[m->at];
		const struct version *version;
		enum round_match match = round_match(r, h, &version);
		if (match == ROUND_REFUSED || match == ROUND_WAITS) {
			return match == ROUND_REFUSED;
		}
		if (match == ROUND_NO || !mutation_is_wanted(m)) {
			m->at++;
			continue;
		}
		m->has_call = true;
		if (!webhook_call_init(&m->call, r->q, h, version, r->object)) {
			webhook_call_start(&m->call, r->means->client, mutation_on_answer, r);
			return false;
		}
		if (!mutation_take_answer(r)) {
			return true;
		}
	}
	mutation_finish(r);
	return true;
}

void round_mutate(struct webhook_round *r)
{
	assert(r->set && !r->own);
	struct mutation *m = mem_new(struct mutation);
	m->were_asked = mem_array(r->set->n + 1, sizeof(bool));
	m->are_wanted = mem_array(r->set->n + 1, sizeof(bool));
	r->own = m;
	r->free_own = mutation_free;
	r->go_on = mutation_go_on;
}

/* ---- validating ----
 *
 * Validating webhooks change nothing, so all are asked at once. The choice begins anew when
 * labels have come, and nothing is sent before all are chosen: a refusal by a selector must not
 * leave questions under way. */

/* All calls at once. The first refusal to come is the answer, once all have answered. */
struct validation {
	struct webhook_call *calls;
	bool *is_sent;
	size_t n;
	_Atomic size_t n_left; /* calls without an answer, and one for the sender */
	struct status st;      /* the first refusal */
};

static void validation_free(struct webhook_round *r)
{
	struct validation *v = r->own;
	for (size_t i = 0; i < v->n; i++) {
		webhook_call_done(&v->calls[i]);
	}
	mem_free(v->is_sent);
	mem_free(v->calls);
	mem_free(v);
}

/* Takes an answer. Only one thread at a time does so: before anything is sent, or the client's. */
static void validation_take_answer(struct webhook_round *r, const struct webhook_call *c)
{
	struct validation *v = r->own;
	assert(c >= v->calls && c < v->calls + v->n);
	char key[80];
	snprintf(key, sizeof(key), "failed-open.validating.webhook.admission.k8s.io/round_0_index_%zu", (size_t)(c - v->calls));
	if (!round_take(r, c, key) && !v->st.code) {
		v->st = r->q->st;
	}
	r->q->st.code = 0;
}

/* Returns true for the last one. */
static bool validation_leave(struct validation *v)
{
	return atomic_fetch_sub_explicit(&v->n_left, 1, memory_order_acq_rel) == 1;
}

static void validation_settle(struct webhook_round *r)
{
	struct validation *v = r->own;
	r->q->st = v->st;
}

static void validation_on_answer(struct webhook_call *c)
{
	struct webhook_round *r = c->ctx;
	validation_take_answer(r, c);
	if (validation_leave(r->own)) {
		validation_settle(r);
		r->on_end(r);
	}
}

/* Sends all calls. Returns true when the question is answered. */
static bool validation_send_all(struct webhook_round *r)
{
	struct validation *v = r->own;
	atomic_store(&v->n_left, 1);
	for (size_t i = 0; i < v->n; i++) {
		if (v->is_sent[i]) {
			atomic_fetch_add(&v->n_left, 1);
		} else {
			validation_take_answer(r, &v->calls[i]);
		}
	}
	for (size_t i = 0; i < v->n; i++) {
		if (v->is_sent[i]) {
			webhook_call_start(&v->calls[i], r->means->client, validation_on_answer, r);
		}
	}
	if (!validation_leave(v)) {
		return false;
	}
	validation_settle(r);
	return true;
}

/* Chooses the webhooks to ask, and their versions. WAITS: the round may be gone. */
static enum round_match validation_choose(struct webhook_round *r, const struct version **versions)
{
	size_t n = r->set->n;
	for (size_t i = 0; i < n; i++) {
		const struct version *version;
		enum round_match match = round_match(r, &r->set->v[i], &version);
		if (match == ROUND_REFUSED || match == ROUND_WAITS) {
			return match;
		}
		versions[i] = match == ROUND_YES ? version : NULL;
	}
	return ROUND_YES;
}

static void validation_prepare(struct webhook_round *r, const struct version *const *versions)
{
	struct validation *v = mem_new(struct validation);
	size_t n = 0;
	assert(!r->own);
	for (size_t i = 0; i < r->set->n; i++) {
		n += versions[i] != NULL;
	}
	v->calls = mem_array(n + 1, sizeof(*v->calls));
	v->is_sent = mem_array(n + 1, sizeof(*v->is_sent));
	r->own = v;
	r->free_own = validation_free;
	for (size_t i = 0; i < r->set->n; i++) {
		if (versions[i]) {
			struct webhook_call *c = &v->calls[v->n];
			v->is_sent[v->n++] = !webhook_call_init(c, r->q, &r->set->v[i], versions[i], r->object);
		}
	}
}

/* Starts again when the labels have come, since they decide which webhooks to ask. */
static bool validation_go_on(struct webhook_round *r)
{
	_cleanup_(mem_freep) const struct version **versions = mem_array(r->set->n + 1, sizeof(*versions));
	enum round_match match = validation_choose(r, versions);
	if (match != ROUND_YES) {
		return match == ROUND_REFUSED;
	}
	validation_prepare(r, versions);
	return validation_send_all(r);
}

void round_validate(struct webhook_round *r)
{
	assert(r->set && !r->own);
	r->go_on = validation_go_on;
}
