/* From a request's head to the right to be served: parse the target, authenticate, authorize, take
 * a place among the requests under way, and weigh the bytes of the body.
 *
 * The steps stand in a table, and the request counts those that it has passed. A step that must ask
 * the cluster is called again once the answer is there; earlier steps are not. The route and the
 * form are judged first, but their errors are reported last: a user who may not know whether a
 * resource exists must get the same 401 or 403 as for any other. */
#include "server/request/head.h"
#include "api/model/protobuf_write.h"
#include "base/clock.h"
#include "base/options.h"
#include "base/thread.h"
#include "server/request/budget.h"
#include "server/request/limits.h"
#include "server/request/request.h"
#include "server/request/request_audit.h"
#include "server/request/respond.h"
#include "server/request/wait.h"

#include <assert.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>

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

/* Looks for the kind among those that definitions describe, and holds it. */
static bool route_find_defined(struct request *q)
{
	if (!q->server->options.is_standalone || !q->route.is_findable || q->route.kind) {
		return false;
	}
	_cleanup_(kinds_unrefp) struct kinds *defined = cache_kinds(q->server->options.cache);
	if (route_find(&q->route, defined)) {
		q->held = kind_ref(q->route.kind);
	}
	return q->held != NULL;
}

static int request_route(struct request *q)
{
	struct route *r = &q->route;

	if (!r->is_resource) {
		return 0;
	}
	route_find_defined(q);
	return route_resolve(r, &q->st);
}

void head_parse(struct request *q)
{
	int r = route_parse(&q->route, http_method(q->x), http_target(q->x), q->server->options.is_standalone, q->a, &q->st);
	q->is_late = !r && request_set_deadline(q);
	if (q->is_late) {
		return;
	}
	r = r ? r : request_route(q);
	assert((r != 0) == (q->st.code != 0));
	q->route_status = q->st;
	status_init(&q->st, q->a);
}

/* ---- the form of the answer ---- */

/* Without what whole objects have. */
static unsigned forms_allowed(const struct route *r)
{
	if (r->sub ? r->sub->extension : r->kind->extension) {
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

static unsigned media_allowed(const struct route *r)
{
	if (!r->is_resource || !r->kind) {
		return 0;
	}
	/* No version: there is no such subresource, which is said before anything is answered. */
	bool is_only_text = r->body_version && !protobuf_has_objects(r->body_kind, r->body_version);
	return forms_allowed(r) | (is_only_text ? ALLOW_ONLY_TEXT : 0);
}

void request_negotiate(struct request *q)
{
	media_negotiate(&q->media, http_header(q->x, "Accept"), http_header(q->x, "Accept-Encoding"),
		http_header(q->x, "User-Agent"), params_get(&q->route.params, "pretty"), media_allowed(&q->route), q->a,
		&q->media_status);
}

/* A client that speaks for others takes from their shares. */
static void head_set_payer(struct request *q)
{
	/* system:masters: the administrators, and annals' own controllers. */
	const struct payer payer = {
		.user = str_hash(q->user->name), .is_privileged = user_in_group(q->user, STR("system:masters"))};

	http_set_payer(q->x, &payer);
}

/* Each step returns 0; 1 with the refusal in q->st; ASK_FIRST, and then the step is called again; or
 * HEAD_WAITS, which is the same for a request that waits already. */
enum { HEAD_WAITS = ASK_FIRST + 1 };

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
	} else {
		head_set_payer(q);
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
	head_set_payer(q);
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

/* ---- kinds that this replica may not know yet ----
 *
 * A definition may have been created at another replica a moment ago. So before an authenticated
 * user gets a 404, one read index makes sure that this replica has seen all definitions. All
 * requests of a round share it. Their number is limited, so that nobody can make a load of them. */

enum { LOOKS_A_SECOND = 200 };

static bool may_look(struct server *s)
{
	int64_t second = clock_mono_ns() / 1000000000, seen = atomic_load_explicit(&s->unknown_second, memory_order_relaxed);

	if (seen != second &&
		atomic_compare_exchange_strong_explicit(
			&s->unknown_second, &seen, second, memory_order_relaxed, memory_order_relaxed)) {
		atomic_store_explicit(&s->n_unknown, 0, memory_order_relaxed);
	}
	return atomic_fetch_add_explicit(&s->n_unknown, 1, memory_order_relaxed) < LOOKS_A_SECOND;
}

/* The replica is as fresh as etcd now: is the kind there? */
static int head_look_again(struct request *q)
{
	request_waited(q);
	cache_wait_settled(q->server->options.cache);
	if (q->wait.result != STORAGE_OK) {
		request_refuse_storage(q, q->wait.result, q->wait.message, false);
		return 1;
	}
	if (route_find_defined(q)) {
		status_init(&q->route_status, q->a);
		if (route_resolve(&q->route, &q->route_status) == 0) {
			q->what = request_attributes(q);
			request_negotiate(q);
		}
	}
	return 0;
}

static int head_find_kind(struct request *q)
{
	bool is_unknown = q->server->options.is_standalone && q->route.is_resource && q->route.is_findable && !q->route.kind;

	if (!is_unknown || str_eq(q->user->name, USER_ANONYMOUS)) {
		return 0;
	}
	if (q->has_looked) {
		return head_look_again(q);
	}
	if (!may_look(q->server)) {
		return request_refuse_for_now(q);
	}
	q->has_looked = true;
	request_wait_fresh(q, q->next);
	return HEAD_WAITS;
}

static int head_show_mistakes(struct request *q)
{
	if (q->route_status.code) {
		q->st = q->route_status;
		return 1;
	}
	if (q->media_status.code && q->route.is_resource) {
		q->st = q->media_status;
		return 1;
	}
	return request_has_too_much(q);
}

/* The order keeps rights ahead of contents: 401, 403, 429, then 404 and 405, then 406. 413 comes
 * before the body is sent, if its length is announced. */
static int (*const head_steps[])(struct request *q) = {
	head_authenticate,
	head_audit,
	head_impersonate,
	head_authorize,
	head_find_kind,
	/* After the questions to the cluster: a request that waits for one takes no place from
	 * others. kube-apiserver counts before it authorizes, which shows only in the order of
	 * both refusals. */
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

/* Answers an unknown path with plain text, as Go's router does, and all other refusals with a Status. */
static void request_refuse(struct request *q)
{
	if (q->st.code == 404 && route_is_no_path(&q->route, q->server->options.is_standalone)) {
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
		if (r == HEAD_WAITS) {
			return;
		}
		if (r == ASK_FIRST && !questions_start(&q->questions)) {
			http_suspend(q->x);
			return;
		}
		q->n_head_steps += r == 0;
	}
}

/* ---- requests under way ---- */

/* Classes have separate limits, so that lists cannot keep out writes, nor either of them
 * watches. Unlike upstream, watches are limited, and so is system:masters, which has a reserve:
 * the limits bound memory, and an administrator's request takes as much. Counting adds first and
 * takes back afterwards, so there is no lock. At worst a request that would just fit is refused. */

/* A body is kept until the answer, in a buffer that may be twice as large. Its stored form is as
 * large again, and so is the transaction. The charge while it arrives covers all of that, so a
 * request that has come so far is not refused later. */
#define BODY_FACTOR 4

/* Places beyond the limit for administrators, who have to repair things. */
enum { RESERVE_PART = 8 };

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

enum { LARGE_ANSWER = 16 << 10 }; /* bytes: smaller ones are only counted */

static struct budget *request_budget(const struct request *q)
{
	return q->class == CLASS_WRITE ? q->server->write_budget : NULL;
}

static bool is_privileged(const struct request *q)
{
	return http_payer(q->x)->is_privileged;
}

int request_refuse_for_now(struct request *q)
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

	if (budget && !budget_charge(budget, &q->charged, wanted, is_privileged(q))) {
		http_hurry_bodies(q->x);
		return request_refuse_for_now(q);
	}
	return 0;
}

bool request_may_answer(struct request *q, size_t n)
{
	if (http_grant(q->x, n) || n < LARGE_ANSWER || q->class != CLASS_READ) {
		return true;
	}
	request_refuse_for_now(q);
	return false;
}

int request_weigh_announced(struct request *q)
{
	uint64_t length = 0;

	if (q->class != CLASS_WRITE || !str_to_uint64(http_header(q->x, "Content-Length"), &length)) {
		return 0;
	}
	if (!budget_has_room(q->server->write_budget, BODY_FACTOR * (size_t)length, is_privileged(q))) {
		http_hurry_bodies(q->x);
		return request_refuse_for_now(q);
	}
	return 0;
}

/* Charges a body. Only writes have use for one. */
bool request_charge_body(struct request *q, size_t n)
{
	struct budget *budget = request_budget(q);

	if (q->class != CLASS_WRITE) {
		return false;
	}
	q->is_over_budget = !budget_charge(budget, &q->charged, BODY_FACTOR * n, is_privileged(q));
	if (q->is_over_budget) {
		budget_charge(budget, &q->charged, 0, true);
		http_hurry_bodies(q->x);
	}
	return !q->is_over_budget;
}

/* Returns how many requests of its class were under way before. */
static size_t request_count(struct request *q, int delta)
{
	assert(q->class != CLASS_NONE);
	struct server *s = q->server;
	_Atomic size_t *counters[] = {[CLASS_READ] = &s->n_reads, [CLASS_WRITE] = &s->n_writes, [CLASS_WATCH] = &s->n_watches};

	return atomic_fetch_add_explicit(counters[q->class], (size_t)delta, memory_order_relaxed);
}

static void request_show_count(struct request *q, int delta)
{
	if (q->class == CLASS_WATCH) {
		request_metrics_longrunning(q, delta);
	} else {
		metrics_inflight(q->server->metrics, q->class == CLASS_WRITE, delta);
	}
}

static void request_recount(struct request *q, int delta)
{
	request_count(q, delta);
	request_show_count(q, delta);
}

/* Returns false when all places are taken. */
static bool take_place(struct request *q)
{
	assert(q->class != CLASS_NONE);
	const struct server *s = q->server;
	const size_t limits[] = {[CLASS_READ] = s->options.max_requests_inflight,
		[CLASS_WRITE] = s->options.max_mutating_inflight,
		[CLASS_WATCH] = s->options.max_watches};
	size_t limit = limits[q->class];
	limit += is_privileged(q) ? limit / RESERVE_PART : 0;
	if (request_count(q, 1) >= limit) {
		request_count(q, -1);
		return false;
	}
	request_show_count(q, 1);
	return true;
}

int request_enter(struct request *q)
{
	assert(q->class == CLASS_NONE && q->place == PLACE_NONE);
	q->class = request_class_of(&q->route);
	if (q->class == CLASS_NONE) {
		return 0;
	}
	bool has_room = q->class != CLASS_WRITE || http_has_room(q->x);
	if (!has_room || !take_place(q)) {
		q->class = CLASS_NONE;
		return request_refuse_for_now(q);
	}
	q->place = PLACE_INSIDE;
	if (q->class == CLASS_WRITE) {
		request_step_out(q);
	}
	return 0;
}

int request_return(struct request *q)
{
	if (q->place != PLACE_OUTSIDE) {
		return 0;
	}
	if (!take_place(q)) {
		return request_refuse_for_now(q);
	}
	q->place = PLACE_INSIDE;
	return 0;
}

void request_leave(struct request *q)
{
	if (q->place == PLACE_NONE || q->place == PLACE_LEFT) {
		return;
	}
	if (q->charged > 0) {
		budget_charge(request_budget(q), &q->charged, 0, true);
	}
	if (q->place == PLACE_INSIDE) {
		request_recount(q, -1);
	}
	q->place = PLACE_LEFT;
}

void request_step_out(struct request *q)
{
	if (q->place == PLACE_INSIDE) {
		q->place = PLACE_OUTSIDE;
		request_recount(q, -1);
	}
}

void request_step_in(struct request *q)
{
	if (q->place == PLACE_OUTSIDE) {
		q->place = PLACE_INSIDE;
		request_recount(q, 1);
	}
}

/* ---- memory of writes ---- */

/* Bytes are granted or refused at once: a request that waited for memory would hold what it has.
 * The thread is there because malloc_trim() walks the whole heap. It is called without the lock, so
 * nobody who charges waits for it. */

enum {
	TRIM_AFTER = 8 << 20, /* bytes given back by requests: then it is worth it */
	TRIM_LOOK_MS = 5000,  /* how often is it looked what others have let go of: connections, questions about tokens */
	TRIM_DELAY_MS = 1000, /* after a burst rather than all along */
};

struct budget {
	size_t limit;
	pthread_mutex_t lock;
	pthread_cond_t cond; /* enough was given back, or it is over */
	size_t used, returned;
	bool is_closing;
	pthread_t thread;
};

/* Counts returned bytes. It wakes the thread once when there are enough, and not again until the
 * burst is over: each wake costs the caller a system call, and two context switches. */
static void give_back(struct budget *b, size_t n)
{
	assert_locked(&b->lock);
	bool was_enough = b->returned >= TRIM_AFTER;
	b->returned += n;
	if (!was_enough && b->returned >= TRIM_AFTER) {
		pthread_cond_signal(&b->cond);
	}
}

void budget_note_freed(struct budget *b, size_t n)
{
	pthread_mutex_lock(&b->lock);
	give_back(b, n);
	pthread_mutex_unlock(&b->lock);
}

bool budget_charge(struct budget *b, size_t *charged, size_t wanted, bool is_privileged)
{
	size_t limit = share_limit(b->limit, is_privileged);
	pthread_mutex_lock(&b->lock);
	assert(b->used >= *charged);
	size_t others = b->used - *charged;
	/* A smaller charge is always granted, and so is any to a request that is alone. */
	bool is_granted = wanted <= *charged || others == 0 || (others <= limit && wanted <= limit - others);
	if (is_granted) {
		give_back(b, *charged > wanted ? *charged - wanted : 0);
		b->used = others + wanted;
		*charged = wanted;
	}
	pthread_mutex_unlock(&b->lock);
	return is_granted;
}

bool budget_has_room(struct budget *b, size_t wanted, bool is_privileged)
{
	size_t limit = share_limit(b->limit, is_privileged);
	pthread_mutex_lock(&b->lock);
	bool has_room = b->used == 0 || (b->used <= limit && wanted <= limit - b->used);
	pthread_mutex_unlock(&b->lock);
	return has_room;
}

size_t budget_used(struct budget *b)
{
	pthread_mutex_lock(&b->lock);
	size_t used = b->used;
	pthread_mutex_unlock(&b->lock);
	return used;
}

/* Returns the bytes that the C library holds unused, whether the kernel has their pages or not. */
static size_t heap_free(void)
{
#ifdef __GLIBC__
	return mallinfo2().fordblks;
#else
	return 0;
#endif
}

/* The C library keeps freed memory between used pieces: all of a burst, for good. *trimmed:
 * heap_free() after the last trim, or the least since: only more than that justifies another
 * walk through the heap. */
static bool is_worth_a_trim(size_t *trimmed)
{
	size_t now = heap_free();

	*trimmed = MIN(*trimmed, now);
	return now - *trimmed >= TRIM_AFTER;
}

static void *trim(void *arg)
{
	struct budget *b = arg;
	size_t trimmed = heap_free();

	pthread_mutex_lock(&b->lock);
	while (!b->is_closing) {
		if (b->returned < TRIM_AFTER) {
			int r = clock_cond_wait(&b->cond, &b->lock, clock_mono_ms() + TRIM_LOOK_MS);
			if (r != ETIMEDOUT) {
				continue;
			}
			pthread_mutex_unlock(&b->lock);
			bool is_worth_it = is_worth_a_trim(&trimmed);
			pthread_mutex_lock(&b->lock);
			if (!is_worth_it) {
				continue;
			}
		}
		int64_t until_ms = clock_mono_ms() + TRIM_DELAY_MS;
		while (!b->is_closing && clock_mono_ms() < until_ms) {
			clock_cond_wait(&b->cond, &b->lock, until_ms);
		}
		b->returned = 0;
		pthread_mutex_unlock(&b->lock);
#ifdef __GLIBC__
		malloc_trim(0);
#endif
		trimmed = heap_free();
		pthread_mutex_lock(&b->lock);
	}
	pthread_mutex_unlock(&b->lock);
	return NULL;
}

struct budget *budget_new(size_t limit)
{
	struct budget *b = mem_new(struct budget);

	b->limit = limit;
	pthread_mutex_init(&b->lock, NULL);
	clock_cond_init(&b->cond);
	thread_must_start(&b->thread, "budget", trim, b);
	return b;
}

struct budget *budget_free(struct budget *b)
{
	if (!b) {
		return NULL;
	}
	pthread_mutex_lock(&b->lock);
	b->is_closing = true;
	pthread_cond_signal(&b->cond);
	pthread_mutex_unlock(&b->lock);
	pthread_join(b->thread, NULL);
	pthread_cond_destroy(&b->cond);
	pthread_mutex_destroy(&b->lock);
	return mem_free(b);
}
