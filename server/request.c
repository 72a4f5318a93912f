#include "server/request.h"

#include "base/clock.h"
#include "base/options.h"
#include "server/diff.h"
#include "server/impersonate.h"
#include "server/versions.h"

#define STORAGE_TIMEOUT_MS 10000 /* one wait for etcd, within the request's own time */
#define REQUEST_TIMEOUT_MS 60000
#define RETRY_AFTER_S 1
/* A body is kept until the answer, in a buffer that may be twice as large; what is made of it to be stored is as large again, and so is what is sent. What
 * is charged while it comes is enough for all of that, so that who has got so far is not refused for the sake of those who have not. */
#define BODY_FACTOR 4

typedef void (*verb_fn)(struct request *q);

static verb_fn verb_function(enum verb action)
{
	static const struct {
		enum verb verb;
		verb_fn fn;
	} rows[] = {
		{VERB_GET, verb_get},       {VERB_LIST, verb_list},     {VERB_WATCH, verb_watch},
		{VERB_CREATE, verb_create}, {VERB_UPDATE, verb_update}, {VERB_PATCH, verb_patch},
		{VERB_DELETE, verb_delete}, {VERB_DELETECOLLECTION, verb_delete_collection},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].verb == action) {
			return rows[i].fn;
		}
	}
	return NULL;
}

struct str request_ns(const struct request *q)
{
	return q->route.kind && q->route.kind->is_namespaced ? q->route.ns : STR("");
}

struct str request_group(const struct request *q)
{
	return str_of(q->route.door->group);
}

struct str request_manager(const struct request *q, struct str field_manager)
{
	return field_manager.n > 0 ? field_manager : managed_default_manager(http_header(q->x, "User-Agent"), q->a);
}

void request_warn(struct request *q, struct str text)
{
	if (!q->warnings) {
		q->warnings = arena_array(http_arena(q->x), struct str, WARNINGS_MAX);
	}
	if (q->n_warnings < WARNINGS_MAX) {
		q->warnings[q->n_warnings++] = text;
	}
}

void request_on_cleanup(struct request *q, void (*cleanup)(struct request *q, void *ctx), void *ctx)
{
	q->cleanup = cleanup;
	q->cleanup_ctx = ctx;
}

bool request_is_cache_ready(struct request *q)
{
	if (cache_is_ready(q->server->options.cache)) {
		return versions_can_read(q);
	}
	status_set(&q->st, 503, REASON_SERVICE_UNAVAILABLE, "the storage is being read for the first time; try again");
	q->st.retry_after_s = RETRY_AFTER_S;
	reply_status(q);
	return false;
}

/* ---- waiting ---- */

static void request_began_waiting(struct request *q, void (*next)(struct request *q))
{
	q->next = next;
	q->wait_began_ns = clock_mono_ns();
	http_suspend(q->x);
}

static void request_wait_done(struct cache_wait *w)
{
	http_wake(container_of(w, struct request, wait)->x);
}

static void request_txn_done(struct storage_op *op)
{
	http_wake(container_of(op, struct request, txn.op)->x);
}

/* At least a millisecond: an operation without time fails by itself, with its own words. */
static int64_t request_time_left(const struct request *q, int64_t at_most_ms)
{
	int64_t left = q->deadline_ms - clock_mono_ms();

	return MAX(MIN(left, at_most_ms), (int64_t)1);
}

void request_wait_fresh(struct request *q, void (*next)(struct request *q))
{
	q->wait = (struct cache_wait){.done = request_wait_done, .timeout_ms = request_time_left(q, STORAGE_TIMEOUT_MS)};
	q->is_cache_waiter = true;
	request_began_waiting(q, next);
	cache_wait_fresh(q->server->options.cache, &q->wait);
}

void request_wait_revision(struct request *q, int64_t revision, int64_t timeout_ms, void (*next)(struct request *q))
{
	q->wait = (struct cache_wait){.done = request_wait_done, .timeout_ms = request_time_left(q, timeout_ms)};
	q->is_cache_waiter = true;
	request_began_waiting(q, next);
	cache_wait_revision(q->server->options.cache, &q->wait, revision);
}

void request_txn(struct request *q, void (*next)(struct request *q))
{
	q->has_txn = true;
	q->txn.op.done = request_txn_done;
	q->txn.op.timeout_ms = request_time_left(q, STORAGE_TIMEOUT_MS);
	request_began_waiting(q, next);
	storage_txn(q->server->options.storage, &q->txn);
}

void request_wait_turn(struct request *q, void (*next)(struct request *q))
{
	q->is_queueing = true;
	request_began_waiting(q, next);
}

static void request_lease_done(struct lease_wait *w)
{
	http_wake(container_of(w, struct request, lease)->x);
}

void request_wait_lease(struct request *q, void (*next)(struct request *q))
{
	q->lease = (struct lease_wait){.done = request_lease_done};
	request_began_waiting(q, next);
	if (leases_take(q->server->leases, &q->lease)) {
		http_wake(q->x);
	}
}

static void request_versions_done(struct agreement_wait *w)
{
	http_wake(container_of(w, struct request, versions)->x);
}

void request_wait_versions(struct request *q, void (*next)(struct request *q))
{
	q->versions = (struct agreement_wait){
		.done = request_versions_done, .kind = q->route.kind, .timeout_ms = request_time_left(q, STORAGE_TIMEOUT_MS)};
	request_began_waiting(q, next);
	agreement_wait(q->server->options.agreement, &q->versions);
}

void request_storage_failed(struct request *q, enum storage_result r, const char *message, bool is_write)
{
	bool is_unknown = is_write && !storage_result_is_certain(r);

	if (r == STORAGE_UNAVAILABLE || r == STORAGE_CANCELED) {
		status_set(&q->st, 503, REASON_SERVICE_UNAVAILABLE, "etcd is not available: %s", message);
	} else if (r == STORAGE_TIMEOUT || r == STORAGE_UNKNOWN) {
		status_set(&q->st, 504, REASON_TIMEOUT, "Timeout: %s%s", message,
			   is_unknown ? "; the outcome of the write is unknown: it may or may not have been carried out" : "");
		q->st.has_details = true;
	} else if (r == STORAGE_TOO_LARGE) {
		status_set(&q->st, 500, NULL, "%s", message);
	} else {
		status_internal(&q->st, "storage: %s: %s", storage_result_name(r), message);
	}
	if (q->st.code != 500 && !is_unknown) {
		q->st.retry_after_s = RETRY_AFTER_S;
	}
	reply_status(q);
}

/* ---- limits ---- */

static enum request_class request_class_of(const struct route *r)
{
	if (!r->is_resource || !r->kind) {
		return CLASS_NONE;
	}
	if (r->is_watch) {
		return CLASS_WATCH;
	}
	return r->method == METHOD_GET || r->method == METHOD_HEAD ? CLASS_READ : CLASS_WRITE;
}

static struct budget *request_budget(const struct request *q)
{
	return q->class == CLASS_READ ? q->server->read_budget : q->class == CLASS_WRITE ? q->server->write_budget : NULL;
}

static int request_refuse_for_now(struct request *q)
{
	request_metrics_refused(q);
	status_set(&q->st, 429, REASON_TOO_MANY_REQUESTS, "Too many requests, please try again later.");
	q->st.retry_after_s = RETRY_AFTER_S;
	return 1;
}

int request_charge(struct request *q, size_t n)
{
	struct budget *budget = request_budget(q);
	size_t body = http_body(q->x).n, wanted = MAX(BODY_FACTOR * body, 2 * body + n);

	return budget && !budget_charge(budget, &q->charged, wanted) ? request_refuse_for_now(q) : 0;
}

/* Of what is announced; what comes is charged as it comes. */
static int head_weigh(struct request *q)
{
	uint64_t length = 0;

	if (q->class != CLASS_WRITE || !str_to_uint64(http_header(q->x, "Content-Length"), &length)) {
		return 0;
	}
	return budget_has_room(q->server->write_budget, BODY_FACTOR * (size_t)length) ? 0 : request_refuse_for_now(q);
}

/* Bodies of anything but writes are of no use. */
bool request_on_body(void *server _unused_, struct http_exchange *x, size_t n)
{
	struct request *q = http_context(x);
	struct budget *budget = request_budget(q);

	if (q->class != CLASS_WRITE) {
		return false;
	}
	q->is_over_budget = !budget_charge(budget, &q->charged, BODY_FACTOR * n);
	if (q->is_over_budget) {
		budget_charge(budget, &q->charged, 0);
	}
	return !q->is_over_budget;
}

static bool request_enter(struct request *q, enum request_class class)
{
	struct server *s = q->server;
	_Atomic size_t *counters[] = {[CLASS_READ] = &s->n_reads, [CLASS_WRITE] = &s->n_writes, [CLASS_WATCH] = &s->n_watches};
	const size_t limits[] = {[CLASS_READ] = s->options.max_requests_inflight,
				 [CLASS_WRITE] = s->options.max_mutating_inflight,
				 [CLASS_WATCH] = s->options.max_watches};

	if (class == CLASS_NONE) {
		return true;
	}
	if (atomic_fetch_add_explicit(counters[class], 1, memory_order_relaxed) >= limits[class]) {
		atomic_fetch_sub_explicit(counters[class], 1, memory_order_relaxed);
		request_refuse_for_now(q);
		return false;
	}
	q->class = class;
	if (class == CLASS_WATCH) {
		request_metrics_longrunning(q, 1);
	} else {
		metrics_inflight(s->metrics, class == CLASS_WRITE, 1);
	}
	return true;
}

static void request_count(struct request *q, int delta)
{
	struct server *s = q->server;
	_Atomic size_t *counters[] = {[CLASS_READ] = &s->n_reads, [CLASS_WRITE] = &s->n_writes, [CLASS_WATCH] = &s->n_watches};

	atomic_fetch_add_explicit(counters[q->class], (size_t)delta, memory_order_relaxed);
	if (q->class == CLASS_WATCH) {
		request_metrics_longrunning(q, delta);
	} else {
		metrics_inflight(s->metrics, q->class == CLASS_WRITE, delta);
	}
}

static void request_leave(struct request *q)
{
	if (q->class == CLASS_NONE) {
		return;
	}
	if (q->charged > 0) {
		budget_charge(request_budget(q), &q->charged, 0);
	}
	if (!q->is_outside) {
		request_count(q, -1);
	}
}

/* While the cluster is asked who may do what, a request takes no place, but is charged for its bytes. It gets its place back whoever has come
 * meanwhile: it has been let in. */
static void request_step_out(struct request *q)
{
	q->is_outside = q->class != CLASS_NONE;
	if (q->is_outside) {
		request_count(q, -1);
	}
}

static void request_step_in(struct request *q)
{
	if (q->is_outside) {
		q->is_outside = false;
		request_count(q, 1);
	}
}

void request_wait_answer(struct request *q, void (*next)(struct request *q))
{
	q->is_asking = true;
	if (asked_notes_access(&q->asked)) {
		request_step_out(q);
	}
	request_began_waiting(q, next);
}

/* ---- phases before the body ---- */

static unsigned media_allowed(const struct route *r)
{
	if (!r->is_resource || !r->kind || r->kind->is_answered) {
		return 0;
	}
	switch (r->action) {
	case VERB_WATCH:
		return ALLOW_TABLE | ALLOW_PARTIAL | ALLOW_STREAM_ONLY;
	case VERB_LIST:
	case VERB_DELETECOLLECTION:
		return ALLOW_TABLE | ALLOW_PARTIAL_LIST;
	default:
		return ALLOW_TABLE | ALLOW_PARTIAL;
	}
}

/* A list or watch of the one object that its field selector names is authorized as of that name, as RequestInfo has it. */
static struct str authorized_name(struct request *q)
{
	const struct route *r = &q->route;
	struct str text = params_get(&r->params, "fieldSelector"), name;
	struct field_selector fields;
	struct status ignored;

	if (r->name.n > 0 || text.n == 0 || !r->kind || r->method != METHOD_GET) {
		return r->name;
	}
	status_init(&ignored, q->a);
	if (field_selector_parse(&fields, text, r->kind, r->door, q->a, &ignored) ||
	    !field_selector_requires(&fields, FIELD_TERM_NAME, &name)) {
		return r->name;
	}
	return name;
}

struct authz_attributes request_attributes(struct request *q)
{
	const struct route *r = &q->route;
	bool selects = r->kind && r->name.n == 0 && (r->action & (VERB_LIST | VERB_WATCH | VERB_DELETECOLLECTION));

	return (struct authz_attributes){
		.user = q->user,
		.verb = str_of(r->verb),
		.is_resource = r->is_resource,
		.group = r->group,
		.version = r->version,
		.resource = r->resource,
		.subresource = r->subresource,
		.ns = r->ns,
		.name = authorized_name(q),
		.path = r->path,
		.field_selector = selects ? params_get(&r->params, "fieldSelector") : STR(""),
		.label_selector = selects ? params_get(&r->params, "labelSelector") : STR(""),
	};
}

/* --request-timeout, or less where the client says so: ?timeout=30s, as kubectl --request-timeout sends it. */
static int request_set_deadline(struct request *q)
{
	struct str text = params_get(&q->route.params, "timeout");
	int64_t limit = q->server->options.request_timeout_ms, wanted = 0;

	if (text.n > 0 && !duration_parse_ms(text, &wanted)) {
		status_bad_request(&q->st, "invalid timeout specified in the request URL - time: invalid duration \"" STR_FMT "\"",
				   STR_ARG(text));
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

static bool request_has_too_much(struct request *q)
{
	if (!http_body_too_large(q->x)) {
		return false;
	}
	status_set(&q->st, 413, REASON_REQUEST_ENTITY_TOO_LARGE, "Request entity too large: limit is %zu", q->server->options.http.max_body);
	return true;
}

/* ---- the head, step by step ---- */

/* Each step: 0; 1 with the refusal in q->st; or ASK_FIRST, and then the step comes again. */

static int head_negotiate(struct request *q)
{
	if (q->route.sub && q->route.sub->is_diff) {
		return diff_negotiate(q);
	}
	return media_negotiate(&q->media, http_header(q->x, "Accept"), http_header(q->x, "Accept-Encoding"),
		http_header(q->x, "User-Agent"), params_get(&q->route.params, "pretty"), media_allowed(&q->route), q->a,
		&q->media_status);
}

static void head_parse(struct request *q)
{
	q->is_bad_route =
		route_parse(&q->route, http_method(q->x), http_target(q->x), q->server->options.is_standalone, q->a, &q->st);
	q->is_late = !q->is_bad_route && request_set_deadline(q);
	if (q->is_late) {
		return;
	}
	q->is_bad_route = q->is_bad_route || request_route(q);
	q->route_status = q->st;
	status_init(&q->media_status, q->a);
	q->is_bad_media = head_negotiate(q);
	status_init(&q->st, q->a);
}

static int head_authenticate(struct request *q)
{
	if (q->is_late) {
		q->what = request_attributes(q);
		audited_begin_unrecognized(q, &q->what);
		return 1;
	}
	int r = authn_request(q->server->authn, q->x, &q->asked, &q->user, q->a, &q->st);
	if (r == ASK_FIRST) {
		return r;
	}
	q->what = request_attributes(q);
	timing_pass(q, STEP_AUTHENTICATED);
	metrics_count_attempt(q->server->metrics, r ? ATTEMPT_ERROR : ATTEMPT_SUCCESS, r ? STR("") : q->user->name,
		q->timing.passed_ns[STEP_AUTHENTICATED] - http_started_ns(q->x));
	if (r) {
		audited_begin_unrecognized(q, &q->what);
	}
	return r;
}

static int head_audit(struct request *q)
{
	if (audited_begin(q, &q->what)) {
		return 1;
	}
	if (str_eq(q->user->name, USER_ANONYMOUS) && authn_token_is_misplaced(q->x)) {
		request_warn(q, STR("the provided Authorization header contains extra space before the bearer token, and is ignored"));
	}
	return 0;
}

static int head_impersonate(struct request *q)
{
	const struct user *caller = q->user;
	int r = impersonate(q->server->authz, &q->asked, q->x, &q->what, &q->user, q->a, &q->st);

	if (r == 1) {
		http_add_header(q->x, "X-Content-Type-Options", STR("nosniff"));
	}
	if (r) {
		return r;
	}
	if (q->user != caller) {
		audited_impersonates(q, q->user);
	}
	q->what.user = q->user;
	return 0;
}

static int head_authorize(struct request *q)
{
	struct authz_verdict verdict;
	int r = authz_check(q->server->authz, &q->what, &q->asked, &verdict, q->a, &q->st);

	if (r == ASK_FIRST) {
		return r;
	}
	bool is_undecided = verdict.failure.n > 0 || verdict.is_turned_away;
	if (verdict.is_turned_away) {
		request_metrics_refused(q);
	} else {
		audited_authorized(q, r == 0, verdict.reason);
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

/* Behind the questions to the cluster: who waits for one takes no place from those who need none. kube-apiserver counts before it authorizes,
 * which shows only in which of both refusals comes first. */
static int head_enter(struct request *q)
{
	return !request_enter(q, request_class_of(&q->route));
}

static int head_judge(struct request *q)
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
	head_enter,
	head_judge,
	head_weigh,
};

static void request_dispatch(struct request *q)
{
	q->is_routed = q->route.is_resource;
	if (request_has_too_much(q)) {
		reply_status(q);
		return;
	}
	if (q->is_over_budget) {
		request_refuse_for_now(q);
		reply_status(q);
		return;
	}
	if (!q->route.is_resource) {
		nonresource(q);
		return;
	}
	if (q->route.door->deprecation) {
		request_warn(q, str_of(q->route.door->deprecation));
		audited_deprecated(q);
	}
	verb_function(q->route.action)(q);
}

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

/* The client's Audit-ID as it is, so that its log and ours can be put together. */
static struct str request_audit_id(struct request *q)
{
	struct str sent = http_header(q->x, "Audit-ID");

	if (sent.n > 0) {
		return sent;
	}
	char *id = arena_text(q->a, UUID_SIZE);
	uuid_new(id);
	return (struct str){id, UUID_SIZE - 1};
}

static void request_answered(struct question *question)
{
	http_wake(question->ctx);
}

static struct request *request_new(struct server *s, struct http_exchange *x)
{
	struct arena *a = http_arena(x);
	struct request *q = arena_new(a, struct request);

	q->server = s;
	q->x = x;
	q->a = a;
	q->next = request_dispatch;
	q->audit_id = request_audit_id(q);
	status_init(&q->st, a);
	http_set_context(x, q);
	head_parse(q);
	q->asked = (struct asked){.delegates = s->options.delegates,
		.arena = a,
		.deadline_ms = q->deadline_ms,
		.done = request_answered,
		.ctx = x};
	return q;
}

void request_on_headers(void *server, struct http_exchange *x)
{
	struct request *q = http_context(x);

	if (q) {
		asked_settle(&q->asked);
	} else {
		server_wait_open(server);
		q = request_new(server, x);
	}
	while (q->n_head_steps < ARRAY_SIZE(head_steps)) {
		int r = head_steps[q->n_head_steps](q);
		if (r == 1) {
			request_refuse(q);
			return;
		}
		if (r == ASK_FIRST && !asked_start(&q->asked)) {
			http_suspend(x);
			return;
		}
		q->n_head_steps += r == 0;
	}
}

static void request_waited(struct request *q, int64_t ns)
{
	q->wait_began_ns = 0;
	if (q->is_asking) {
		q->is_asking = false;
		asked_settle(&q->asked);
		request_step_in(q);
		return;
	}
	if (q->is_queueing) {
		q->is_queueing = false;
		return;
	}
	timing_waited(q, ns, q->is_cache_waiter);
	if (!q->is_cache_waiter) {
		request_metrics_txn(q, ns);
	}
}

void request_on_request(void *server, struct http_exchange *x)
{
	struct request *q = http_context(x);
	bool was_cache_waiter = q->is_cache_waiter;

	if (q->wait_began_ns) {
		request_waited(q, clock_mono_ns() - q->wait_began_ns);
	} else {
		timing_pass(q, STEP_RECEIVED);
	}
	q->is_cache_waiter = false;
	/* What the cache has learnt meanwhile may be that it does not know all there is. */
	if (!was_cache_waiter || q->wait.result != STORAGE_OK || versions_can_read(q)) {
		q->next(q);
	}
	if (was_cache_waiter) {
		cache_wait_settled(((struct server *)server)->options.cache);
	}
}

/* ---- afterwards ---- */

static void request_log(struct request *q, int64_t duration_ns)
{
	struct accesslog_entry entry = {
		.method = http_method(q->x),
		.path = q->route.path,
		.user = q->user ? q->user->name : STR(""),
		.user_agent = http_header(q->x, "User-Agent"),
		.peer = http_peer(q->x)->address,
		.verb = str_of(q->route.verb),
		.audit_id = q->audit_id,
		.status = http_status(q->x),
		.bytes = http_sent(q->x),
		.duration_ns = duration_ns,
		.storage_ns = q->timing.cache_ns + q->timing.etcd_ns,
		.was_cut = http_was_cut(q->x),
	};

	if (q->server->accesslog) {
		accesslog_write(q->server->accesslog, &entry);
	}
}

void request_on_done(void *server, struct http_exchange *x)
{
	struct request *q = http_context(x);
	int64_t duration_ns;

	(void)server;
	if (!q) {
		return;
	}
	duration_ns = clock_mono_ns() - http_started_ns(x);
	if (q->is_cache_waiter) { /* the client went away meanwhile */
		cache_wait_settled(q->server->options.cache);
	}
	request_leave(q);
	audited_complete(q);
	request_metrics_count(q, duration_ns);
	request_log(q, duration_ns);
	timing_report(q, duration_ns);
	if (q->has_txn) {
		storage_op_clear(&q->txn.op);
	}
	request_end_write(q);
	if (q->cleanup) {
		q->cleanup(q, q->cleanup_ctx);
	}
}
