/* From the HTTP front end's calls to the phases of a request. The same functions are called again
 * after each wait: `next` says where a request goes on, and the state that it needs is in the
 * request. Everything that must happen once, however a request ends, is in request_on_done(). */
#include "server/dispatch.h"

#include "base/clock.h"
#include "base/ids.h"
#include "server/request/agreed_version.h"
#include "server/request/budget.h"
#include "server/request/convert.h"
#include "server/request/head.h"
#include "server/request/limits.h"
#include "server/request/request.h"
#include "server/request/request_audit.h"
#include "server/request/respond.h"
#include "server/request/wait.h"
#include "server/verbs/verbs.h"
#include "server/write/write.h"

#include <assert.h>

/* ---- the verb ---- */

typedef void (*verb_fn)(struct request *q);

static verb_fn verb_function(enum verb action)
{
	static const struct {
		enum verb verb;
		verb_fn fn;
	} rows[] = {
		{VERB_GET, verb_get},
		{VERB_LIST, verb_list},
		{VERB_WATCH, verb_watch},
		{VERB_CREATE, verb_create},
		{VERB_UPDATE, verb_update},
		{VERB_PATCH, verb_patch},
		{VERB_DELETE, verb_delete},
		{VERB_DELETECOLLECTION, verb_delete_collection},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].verb == action) {
			return rows[i].fn;
		}
	}
	return NULL;
}

static void request_dispatch(struct request *q)
{
	assert(q->user && q->waiting == WAITING_NOT);
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
	if (request_return(q)) {
		reply_status(q);
		return;
	}
	if (!q->route.is_resource) {
		nonresource(q);
		return;
	}
	if (q->route.version->deprecation) {
		request_warn(q, str_of(q->route.version->deprecation));
		request_audit_deprecated(q);
	}
	if (extension_of(&q->route)) {
		extension_answer(q);
		return;
	}
	verb_function(q->route.action)(q);
}

/* ---- before the body ---- */

/* Errors found here are answered later, when the user is known to be allowed to see them. */
static void dispatch_negotiate(struct request *q)
{
	status_init(&q->media_status, q->a);
	if (q->is_late) {
		return;
	}
	int r;
	if (q->route.kind && extension_of(&q->route) != EXTENSION_NONE && extension_negotiate(q, &r)) {
		assert((r != 0) == (q->media_status.code != 0));
		return;
	}
	request_negotiate(q);
}

/* A request may come before its server is whole. */
static void dispatch_wait_open(struct server *s)
{
	if (!atomic_load_explicit(&s->is_open, memory_order_acquire)) {
		pthread_mutex_lock(&s->gate);
		pthread_mutex_unlock(&s->gate);
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
	assert(!http_context(x));
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
	dispatch_negotiate(q);
	q->questions = (struct questions){.delegates = s->options.delegates,
		.converter = s->options.converter,
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
		questions_settle(&q->questions);
	} else {
		dispatch_wait_open(server);
		q = request_new(server, x);
	}
	head_judge(q);
}

bool request_on_body(void *server _unused_, struct http_exchange *x, size_t n)
{
	return request_charge_body(http_context(x), n);
}

void request_on_request(void *server, struct http_exchange *x)
{
	struct request *q = http_context(x);
	assert(q->server == server && q->next);
	bool was_cache_waiter = q->waiting == WAITING_CACHE;

	if (q->waiting != WAITING_NOT) {
		request_waited(q);
	} else {
		timing_pass(q, STEP_RECEIVED);
	}
	/* Meanwhile the cache may have met objects in versions that this server does not know. */
	if (!was_cache_waiter || q->wait.result != STORAGE_OK || agreed_version_can_read(q)) {
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

/* A watch is under way for as long as it lasts. */
void request_on_answered(void *server _unused_, struct http_exchange *x)
{
	struct request *q = http_context(x);

	if (q && (q->class != CLASS_WATCH || http_status(x) != 200)) {
		request_leave(q);
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
	if (q->waiting == WAITING_CACHE) { /* the client went away meanwhile */
		cache_wait_settled(q->server->options.cache);
	}
	request_leave(q);
	request_audit_complete(q);
	request_metrics_count(q, duration_ns);
	request_log(q, duration_ns);
	timing_report(q, duration_ns);
	plan_clear(&q->plan);
	reply_drop(q); /* the client went away between two slices */
	if (q->writing) {
		request_end_write(q);
	}
	if (q->cleanup) {
		q->cleanup(q, q->cleanup_ctx);
	}
	q->converting = conversion_free(q->converting);
	q->held = kind_unref(q->held);
}

/* Memory of answers comes back in bursts, too. */
void request_on_freed(void *server, size_t n)
{
	enum { WORTH_IT = 16 << 10 };

	if (n > WORTH_IT) {
		budget_note_freed(((struct server *)server)->write_budget, n);
	}
}
