/* Steps in a table, and a counter in the request. A step that must ask the cluster is called again
 * once the answer is there; those before it are not. What is wrong with the route or the form is
 * found first, but told last: whoever may not know whether a resource exists must get the same 401
 * or 403 as for any other. */
#include "server/request/head.h"

#include "base/clock.h"
#include "base/options.h"
#include "server/access/impersonate.h"
#include "server/request/limits.h"
#include "server/request/request_audit.h"
#include "server/request/request_metrics.h"
#include "server/request/respond.h"

/* kube's default of --request-timeout. */
#define REQUEST_TIMEOUT_MS 60000

/* --request-timeout, or less where the client says so: ?timeout=30s, as kubectl --request-timeout sends it. */
static int request_set_deadline(struct request *q)
{
	struct str text = params_get(&q->route.params, "timeout");
	int64_t limit = q->server->options.request_timeout_ms, wanted = 0;

	if (text.n > 0 && !duration_parse_ms(text, &wanted)) {
		status_bad_request(&q->st,
			"invalid timeout specified in the request URL - time: invalid duration \"" STR_FMT "\"", STR_ARG(text));
		return 1;
	}
	limit = limit > 0 ? limit : REQUEST_TIMEOUT_MS;
	q->deadline_ms = clock_mono_ms() + (wanted > 0 ? MIN(wanted, limit) : limit);
	return 0;
}

static int request_route(struct request *q)
{
	struct route *r = &q->route;

	if (!r->is_resource) {
		return 0;
	}
	return route_resolve(r, &q->st);
}

void head_parse(struct request *q)
{
	q->is_bad_route =
		route_parse(&q->route, http_method(q->x), http_target(q->x), q->server->options.is_standalone, q->a, &q->st);
	q->is_late = !q->is_bad_route && request_set_deadline(q);
	if (q->is_late) {
		return;
	}
	q->is_bad_route = q->is_bad_route || request_route(q);
	q->route_status = q->st;
	status_init(&q->st, q->a);
}

/* Each step: 0; 1 with the refusal in q->st; or ASK_FIRST, and then the step comes again. */

static int head_authenticate(struct request *q)
{
	if (q->is_late) {
		q->what = request_attributes(q);
		request_audit_begin_unrecognized(q, &q->what);
		return 1;
	}
	int r = authn_request(q->server->authn, q->x, &q->questions, &q->user, q->a, &q->st);
	if (r == ASK_FIRST) {
		return r;
	}
	q->what = request_attributes(q);
	timing_pass(q, STEP_AUTHENTICATED);
	metrics_count_attempt(q->server->metrics, r ? ATTEMPT_ERROR : ATTEMPT_SUCCESS, r ? STR("") : q->user->name,
		q->timing.passed_ns[STEP_AUTHENTICATED] - http_started_ns(q->x));
	if (r) {
		request_audit_begin_unrecognized(q, &q->what);
	}
	return r;
}

static int head_audit(struct request *q)
{
	if (request_audit_begin(q, &q->what)) {
		return 1;
	}
	if (str_eq(q->user->name, USER_ANONYMOUS) && authn_token_is_misplaced(q->x)) {
		request_warn(q,
			STR("the provided Authorization header contains extra space before the bearer token, and is ignored"));
	}
	return 0;
}

static int head_impersonate(struct request *q)
{
	const struct user *caller = q->user;
	int r = impersonate(q->server->authz, &q->questions, q->x, &q->what, &q->user, q->a, &q->st);

	if (r == 1) {
		http_add_header(q->x, "X-Content-Type-Options", STR("nosniff"));
	}
	if (r) {
		return r;
	}
	if (q->user != caller) {
		request_audit_impersonates(q, q->user);
	}
	q->what.user = q->user;
	return 0;
}

static int head_authorize(struct request *q)
{
	struct authz_verdict verdict;
	int r = authz_check(q->server->authz, &q->what, &q->questions, &verdict, q->a, &q->st);

	if (r == ASK_FIRST) {
		return r;
	}
	bool is_undecided = verdict.failure.n > 0 || verdict.is_turned_away;
	if (verdict.is_turned_away) {
		request_metrics_refused(q);
	} else {
		request_audit_authorized(q, r == 0, verdict.reason);
	}
	timing_pass(q, STEP_AUTHORIZED);
	metrics_count_attempt(q->server->metrics,
		is_undecided ? ATTEMPT_ERROR
			: r  ? ATTEMPT_NO_OPINION
			     : ATTEMPT_ALLOWED,
		STR(""), q->timing.passed_ns[STEP_AUTHORIZED] - q->timing.passed_ns[STEP_AUTHENTICATED]);
	if (r) {
		http_add_header(q->x, "X-Content-Type-Options", STR("nosniff"));
		q->undecided = verdict.failure;
	}
	return r;
}

static int head_show_mistakes(struct request *q)
{
	if (q->is_bad_route) {
		q->st = q->route_status;
		return 1;
	}
	if (q->is_bad_media && q->route.is_resource) {
		q->st = q->media_status;
		return 1;
	}
	return request_has_too_much(q);
}

/* Who may do what is said before what is there: 401, 403, 429, then 404 and 405, then 406; and 413 before the body is sent, where its
 * length is announced. */
static int (*const head_steps[])(struct request *q) = {
	head_authenticate,
	head_audit,
	head_impersonate,
	head_authorize,
	/* Behind the questions to the cluster: who waits for one takes no place from those who need none. kube-apiserver counts before it authorizes,
	 * which shows only in which of both refusals comes first. */
	request_enter,
	head_show_mistakes,
	request_weigh_announced,
};

/* k8s.io/apiserver responsewriters.InternalError */
static void reply_undecided(struct request *q)
{
	struct str uri = go_quote(q->a, http_target(q->x));

	q->st.code = 500;
	reply_text(q, 500,
		arena_printf(q->a, "Internal Server Error: " STR_FMT ": " STR_FMT "\n", STR_ARG(uri), STR_ARG(q->undecided)));
}

/* Unknown groups are unknown paths; everything else wrong is a Status. */
static void request_refuse(struct request *q)
{
	bool is_unknown_group =
		q->st.code == 404 && q->route.is_resource && !route_group_is_known(&q->route, q->server->options.is_standalone);

	if (is_unknown_group) {
		reply_page_not_found(q);
	} else if (q->undecided.n > 0) {
		reply_undecided(q);
	} else {
		reply_status(q);
	}
}

void head_judge(struct request *q)
{
	while (q->n_head_steps < ARRAY_SIZE(head_steps)) {
		int r = head_steps[q->n_head_steps](q);
		if (r == 1) {
			request_refuse(q);
			return;
		}
		if (r == ASK_FIRST && !questions_start(&q->questions)) {
			http_suspend(q->x);
			return;
		}
		q->n_head_steps += r == 0;
	}
}
