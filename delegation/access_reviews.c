/* Access reviews ask kube-apiserver who may do what: the review that is sent, which answers are
 * kept, and what they mean.
 *
 * The limits and the caching rules are upstream's webhook authorizer's. annals adds a share for
 * each user, because one client with a thousand questions must not keep all others waiting.
 * Flags set one lifetime for answers that allow, and another for the rest. */
#include "delegation/access_reviews.h"

#include "api/model/members.h"
#include "api/rules/review_schema.h"
#include "api/rules/selector.h"
#include "base/json.h"

#include <assert.h>

enum {
	TRY_MS = 10 * 1000,           /* DelegatingAuthorizationOptions.ClientTimeout */
	ANSWERS_MAX = 8192,           /* as upstream's */
	ANSWERS_BYTES_MAX = 32 << 20, /* bytes of kept answers; the least recently used ones make room */
	CONTROLLED_MAX = 10000,       /* bytes of the question's text: answers to longer ones are not kept, as upstream */
	BODY_MAX = 4 << 20,           /* bytes of a review; a longer question fails, and is not sent */
	/* Each user's share of the 64 requests that may be under way, and of the waiting
	 * questions. */
	USER_RUNNING_MAX = 32,
	USER_WAITING_MAX = 1024, /* a further question of that user fails at once */
};

/* As in client-go, the query gives the server the time limit. */
#define PATH "/apis/authorization.k8s.io/v1/subjectaccessreviews?timeout=10s"

struct access {
	struct access_options options;
	struct flights *flights;
	struct review_metrics metrics;
};

struct decision {
	bool is_allowed, is_denied;
	size_t n_reason;
	char reason[];
};

/* ---- keys ----
 *
 * A key is binary, with lengths, so that no two different questions have the same key: a
 * separator could be part of a group's name. It holds everything that the review says, selectors
 * too. An answer for one question must never be given to another. */

/* Counts at first, then writes in a second, equal pass. */
struct key_writer {
	char *p; /* NULL: only counting */
	size_t n;
};

static void key_bytes(struct key_writer *w, const void *p, size_t n)
{
	if (w->p && n) {
		memcpy(w->p + w->n, p, n);
	}
	w->n += n;
}

static void key_number(struct key_writer *w, size_t n)
{
	uint32_t short_n = (uint32_t)n;
	key_bytes(w, &short_n, sizeof(short_n));
}

static void key_text(struct key_writer *w, struct str s)
{
	key_number(w, s.n);
	key_bytes(w, s.p, s.n);
}

static void key_attributes(struct key_writer *w, const struct authz_attributes *at)
{
	const struct user *u = at->user;
	const struct str texts[] = {at->verb, at->group, at->version, at->resource, at->subresource, at->ns, at->name, at->path,
		at->field_selector, at->label_selector, u->name, u->uid};
	key_number(w, at->is_resource);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		key_text(w, texts[i]);
	}
	key_number(w, u->n_groups);
	for (size_t i = 0; i < u->n_groups; i++) {
		key_text(w, u->groups[i]);
	}
	key_number(w, u->n_extra);
	for (size_t i = 0; i < u->n_extra; i++) {
		key_text(w, u->extra[i].key);
		key_text(w, u->extra[i].value);
	}
}

struct str access_key(const struct authz_attributes *what, struct arena *a)
{
	struct key_writer w = {0};
	key_attributes(&w, what);
	w = (struct key_writer){.p = arena_text(a, w.n)};
	key_attributes(&w, what);
	return (struct str){w.p, w.n};
}

/* ---- JSON ---- */

static void review_begin_member(struct buf *out, const char *name)
{
	char last = out->n ? out->p[out->n - 1] : '{';
	if (last != '{' && last != '[') {
		buf_addc(out, ',');
	}
	json_encode_string(out, str_of(name));
	buf_addc(out, ':');
}

static void review_add_text(struct buf *out, const char *name, struct str value)
{
	if (value.n) {
		review_begin_member(out, name);
		json_encode_string(out, value);
	}
}

static void review_add_item(struct buf *out, struct str value)
{
	if (out->n && out->p[out->n - 1] != '[') {
		buf_addc(out, ',');
	}
	json_encode_string(out, value);
}

static void review_add_list(struct buf *out, const char *name, const struct str *values, size_t n)
{
	if (n) {
		review_begin_member(out, name);
		buf_addc(out, '[');
		for (size_t i = 0; i < n; i++) {
			review_add_item(out, values[i]);
		}
		buf_addc(out, ']');
	}
}

static void review_add_requirement(struct buf *out, struct str key, const char *op, const struct str *values, size_t n)
{
	if (out->n && out->p[out->n - 1] != '[') {
		buf_addc(out, ',');
	}
	buf_addc(out, '{');
	review_add_text(out, "key", key);
	review_add_text(out, "operator", str_of(op));
	review_add_list(out, "values", values, n);
	buf_addc(out, '}');
}

/* Adds the field selector. An unreadable one is left out, as are requirements with an operator
 * unknown to reviews: the question is wider then. */
static void review_add_field_selector(struct buf *out, struct str text, struct arena *a)
{
	struct field_selector s;
	if (!text.n || !field_selector_read(&s, text, a) || !s.n) {
		return;
	}
	review_begin_member(out, "fieldSelector");
	BUF_LITERAL(out, "{\"requirements\":[");
	for (size_t i = 0; i < s.n; i++) {
		review_add_requirement(out, s.v[i].path, s.v[i].is_not ? "NotIn" : "In", &s.v[i].value, 1);
	}
	BUF_LITERAL(out, "]}");
}

static const char *const label_operators[] = {
	[SELECTOR_IN] = "In",
	[SELECTOR_NOT_IN] = "NotIn",
	[SELECTOR_EXISTS] = "Exists",
	[SELECTOR_NOT_EXISTS] = "DoesNotExist",
	[SELECTOR_GREATER] = NULL,
	[SELECTOR_LESS] = NULL,
};

static void review_add_label_selector(struct buf *out, struct str text, struct arena *a)
{
	struct label_selector s;
	struct status ignored;
	size_t n = 0;
	status_init(&ignored, a);
	if (!text.n || label_selector_parse(&s, text, a, &ignored)) {
		return;
	}
	for (size_t i = 0; i < s.n; i++) {
		const char *op = label_operators[s.v[i].op];
		if (!op) {
			continue;
		}
		if (n++ == 0) {
			review_begin_member(out, "labelSelector");
			BUF_LITERAL(out, "{\"requirements\":[");
		}
		review_add_requirement(out, s.v[i].key, op, s.v[i].values, s.v[i].n_values);
	}
	buf_adds(out, n ? "]}" : "");
}

static void review_add_resource(struct buf *out, const struct authz_attributes *at, struct arena *a)
{
	review_begin_member(out, "resourceAttributes");
	buf_addc(out, '{');
	review_add_text(out, "namespace", at->ns);
	review_add_text(out, "verb", at->verb);
	review_add_text(out, "group", at->group);
	review_add_text(out, "version", at->version);
	review_add_text(out, "resource", at->resource);
	review_add_text(out, "subresource", at->subresource);
	review_add_text(out, "name", at->name);
	review_add_field_selector(out, at->field_selector, a);
	review_add_label_selector(out, at->label_selector, a);
	buf_addc(out, '}');
}

bool access_body(struct buf *out, const struct authz_attributes *at, struct arena *a)
{
	BUF_LITERAL(
		out, "{\"kind\":\"SubjectAccessReview\",\"apiVersion\":\"authorization.k8s.io/v1\",\"metadata\":{},\"spec\":{");
	if (at->is_resource) {
		review_add_resource(out, at, a);
	} else {
		review_begin_member(out, "nonResourceAttributes");
		buf_addc(out, '{');
		review_add_text(out, "path", at->path);
		review_add_text(out, "verb", at->verb);
		buf_addc(out, '}');
	}
	review_add_text(out, "user", at->user->name);
	review_add_list(out, "groups", at->user->groups, at->user->n_groups);
	if (at->user->n_extra) {
		review_begin_member(out, "extra");
		json_encode(out, user_extra_json(at->user, a));
	}
	review_add_text(out, "uid", at->user->uid);
	return BUF_LITERAL(out, "}}");
}

/* ---- answers ---- */

static struct decision *new_decision(const struct json *status)
{
	struct str reason = member_text(status, "reason");
	struct decision *d = mem_alloc(sizeof(*d) + reason.n);
	*d = (struct decision){.is_allowed = member_is_true(status, "allowed"),
		.is_denied = member_is_true(status, "denied"),
		.n_reason = reason.n};
	memcpy(d->reason, reason.n ? reason.p : "", reason.n);
	return d;
}

static bool read_answer(void *ctx, const struct call *c, struct finding *ret, struct buf *failure)
{
	const struct access *a = ctx;
	struct arena scratch;
	if (c->failure.n) {
		return false;
	}
	arena_init(&scratch, REVIEW_TREE_MAX);
	const struct json *status = review_answer_status(&access_review_form, c->answer, &scratch, failure);
	if (status) {
		struct decision *d = new_decision(status);
		ret->value = d;
		ret->n_bytes = sizeof(*d) + d->n_reason;
		ret->keep_ms = d->is_allowed ? a->options.allowed_ttl_ms : a->options.other_ttl_ms;
	}
	arena_done(&scratch);
	return status != NULL;
}

static void give(struct question *base, const void *value)
{
	struct access_question *q = container_of(base, struct access_question, base);
	const struct decision *d = value;
	q->is_allowed = d->is_allowed && !d->is_denied;
	q->is_denied = d->is_denied;
	q->reason = arena_dup(base->arena, (struct str){d->reason, d->n_reason});
	if (d->is_allowed && d->is_denied) {
		base->failure = STR("webhook subject access review returned both allow and deny response");
	}
}

static void free_decision(void *value)
{
	mem_free(value);
}

static void on_try(void *ctx, int code, int64_t duration_ns)
{
	struct access *a = ctx;
	review_metrics_count(&a->metrics, code, duration_ns);
}

/* ---- asking ---- */

static bool may_be_kept(const struct authz_attributes *at)
{
	return at->ns.n + at->verb.n + at->group.n + at->version.n + at->resource.n + at->subresource.n + at->name.n +
		at->path.n <
		CONTROLLED_MAX;
}

bool access_ask(struct access *a, struct access_question *q)
{
	struct flight_request request = {.key = access_key(&q->what, q->base.arena),
		.path = STR(PATH),
		.is_for_once = !may_be_kept(&q->what),
		.source = q->what.user->name};
	if (flights_find(a->flights, &q->base, request.key)) {
		return true;
	}

	_cleanup_(buf_done) struct buf body;
	buf_init(&body, BODY_MAX);
	if (!access_body(&body, &q->what, q->base.arena)) {
		q->base.failure = STR("the review is too big");
		return true;
	}
	request.body = buf_str(&body);
	return flights_ask(a->flights, &q->base, &request);
}

/* ---- lifetime ---- */

struct access *access_new(const struct access_options *options)
{
	assert(options->allowed_ttl_ms >= 0 && options->other_ttl_ms >= 0);
	struct access *a = mem_new(struct access);
	a->options = *options;
	review_metrics_init(&a->metrics);
	a->flights = flights_new(&(struct flights_options){.client = options->client,
		.server = options->server,
		.method = "POST",
		.subject = "post subjectaccessreviews.authorization.k8s.io",
		.try_ms = TRY_MS,
		.max_answers = ANSWERS_MAX,
		.max_bytes = ANSWERS_BYTES_MAX,
		.source_running = USER_RUNNING_MAX,
		.source_waiting = USER_WAITING_MAX,
		.read = read_answer,
		.give = give,
		.free_value = free_decision,
		.on_try = on_try,
		.ctx = a,
		.on_notice = options->on_notice,
		.notice_ctx = options->ctx,
		.what = "who may do what"});
	return a;
}

struct access *access_free(struct access *a)
{
	if (a) {
		flights_free(a->flights);
		review_metrics_done(&a->metrics);
		mem_free(a);
	}
	return NULL;
}

void access_stop(struct access *a)
{
	flights_stop(a->flights);
}

void access_write_metrics(struct access *a, struct buf *out)
{
	review_metrics_write(&a->metrics, "apiserver_delegated_authz", out);
}
