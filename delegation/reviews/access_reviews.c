/* The ceilings and what is kept are upstream's webhook authorizer's; shares for each user are ours,
 * because one client with a thousand questions must not keep all others waiting. Answers that allow
 * and others have a time each, as flags say. */
#include "delegation/reviews/access_reviews.h"

#include "api/model/members.h"
#include "delegation/reviews/review_answer.h"
#include "delegation/reviews/review_metrics.h"
#include "delegation/reviews/review_text.h"

enum {
	TRY_MS = 10 * 1000, /* DelegatingAuthorizationOptions.ClientTimeout */
	ANSWERS_MAX = 8192, /* as upstream's */
	ANSWERS_BYTES_MAX = 32 << 20,
	CONTROLLED_MAX = 10000, /* bytes of what is asked for: longer ones are not kept, as upstream */
	BODY_MAX = 4 << 20,
	/* Each user's share: of the 64 requests that may be under way, and of those who wait for them. */
	USER_RUNNING_MAX = 32,
	USER_WAITING_MAX = 1024,
};

/* kube-apiserver is told how long we wait, as client-go does. */
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
	return at->ns.n + at->verb.n + at->group.n + at->version.n + at->resource.n + at->subresource.n + at->name.n + at->path.n <
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

/* ---- life ---- */

struct access *access_new(const struct access_options *options)
{
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
