/* The life of a request beside its verb: what phases ask of it, how it waits, where its time goes,
 * what is counted of it, and which version of its kind the replicas have agreed on. Everything that
 * follows from the route is made when somebody asks: a second copy would have to be kept in step. */
#include "server/request/request.h"
#include "api/patch/managed.h"
#include "base/clock.h"
#include "server/request/agreed_version.h"
#include "server/request/limits.h"
#include "server/request/respond.h"
#include "server/request/wait.h"

#include <assert.h>

struct str request_ns(const struct request *q)
{
	return q->route.kind && q->route.kind->is_namespaced ? q->route.ns : STR("");
}

struct str request_group(const struct request *q)
{
	return str_of(q->route.version->group);
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
	assert(!q->cleanup && cleanup);
	q->cleanup = cleanup;
	q->cleanup_ctx = ctx;
}

bool request_is_cache_ready(struct request *q)
{
	if (cache_is_ready(q->server->options.cache)) {
		return agreed_version_can_read(q);
	}
	status_set(&q->st, 503, REASON_SERVICE_UNAVAILABLE, "the storage is being read for the first time; try again");
	q->st.retry_after_s = RETRY_AFTER_S;
	reply_status(q);
	return false;
}

/* Returns the name to authorize: a list or watch of the one object that its field selector names
 * counts as of that name, as in RequestInfo. */
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
	if (field_selector_parse(&fields, text, r->kind, r->version, q->a, &ignored) ||
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
		.version = r->version_name,
		.resource = r->resource,
		.subresource = r->subresource,
		.ns = r->ns,
		.name = authorized_name(q),
		.path = r->path,
		.field_selector = selects ? params_get(&r->params, "fieldSelector") : STR(""),
		.label_selector = selects ? params_get(&r->params, "labelSelector") : STR(""),
	};
}

bool request_has_too_much(struct request *q)
{
	if (!http_body_too_large(q->x)) {
		return false;
	}
	status_set(&q->st, 413, REASON_REQUEST_ENTITY_TOO_LARGE, "Request entity too large: limit is %zu", q->server->options.http.max_body);
	return true;
}

struct str request_now(struct request *q)
{
	char text[TIME_RFC3339_SIZE];

	/* Set once: a write that is decided again must make the same object. */
	if (q->now.n == 0) {
		time_format_rfc3339(text, clock_wall_s());
		q->now = arena_dup(http_arena(q->x), str_of(text));
	}
	return q->now;
}

/* ---- waiting ---- */

/* The order is the same everywhere: fill in the operation, suspend the exchange, start the
 * operation. Started first, the operation could be over before the exchange sleeps, and its wake
 * would come to an exchange that runs. Nothing of the request may be touched behind the start:
 * another thread may have it already. */

#define STORAGE_TIMEOUT_MS 10000 /* one wait for etcd, within the request's own time */

static void request_began_waiting(struct request *q, enum request_waiting waiting, void (*next)(struct request *q))
{
	assert(waiting != WAITING_NOT && q->waiting == WAITING_NOT);
	q->waiting = waiting;
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
	http_wake(container_of(op, struct request, plan.txn.op)->x);
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
	request_began_waiting(q, WAITING_CACHE, next);
	cache_wait_fresh(q->server->options.cache, &q->wait);
}

void request_wait_revision(struct request *q, int64_t revision, int64_t timeout_ms, void (*next)(struct request *q))
{
	q->wait = (struct cache_wait){.done = request_wait_done, .timeout_ms = request_time_left(q, timeout_ms)};
	request_began_waiting(q, WAITING_CACHE, next);
	cache_wait_revision(q->server->options.cache, &q->wait, revision);
}

void request_txn(struct request *q, void (*next)(struct request *q))
{
	q->plan.txn.op.done = request_txn_done;
	q->plan.txn.op.timeout_ms = request_time_left(q, STORAGE_TIMEOUT_MS);
	request_began_waiting(q, WAITING_ETCD, next);
	plan_send(&q->plan, q->server->options.storage);
}

void request_wait_turn(struct request *q, void (*next)(struct request *q))
{
	request_began_waiting(q, WAITING_TURN, next);
}

void request_yield(struct request *q, void (*next)(struct request *q))
{
	request_wait_turn(q, next);
	http_wake(q->x);
}

static void request_lease_done(struct lease_wait *w)
{
	http_wake(container_of(w, struct request, lease)->x);
}

void request_wait_lease(struct request *q, struct leases *leases, void (*next)(struct request *q))
{
	q->lease = (struct lease_wait){.done = request_lease_done};
	request_began_waiting(q, WAITING_ETCD, next);
	if (leases_take(leases, &q->lease)) {
		http_wake(q->x);
	}
}

static void request_versions_done(struct agreement_wait *w)
{
	http_wake(container_of(w, struct request, versions)->x);
}

void request_wait_versions(struct request *q, const struct kind *k, void (*next)(struct request *q))
{
	q->versions = (struct agreement_wait){
		.done = request_versions_done, .kind = k, .timeout_ms = request_time_left(q, STORAGE_TIMEOUT_MS)};
	request_began_waiting(q, WAITING_ETCD, next);
	agreement_wait(q->server->options.agreement, &q->versions);
}

void request_refuse_storage(struct request *q, enum storage_result r, const char *message, bool is_write)
{
	bool is_unknown = is_write && !storage_result_is_certain(r);

	request_metrics_storage_failed(q);

	if (r == STORAGE_UNAVAILABLE || r == STORAGE_CANCELED) {
		status_set(&q->st, 503, REASON_SERVICE_UNAVAILABLE, "etcd is not available: %s", message);
	} else if (r == STORAGE_TIMEOUT || r == STORAGE_UNKNOWN) {
		status_set(&q->st, 504, REASON_TIMEOUT, "Timeout: %s%s", message,
			is_unknown ? "; the outcome of the write is unknown: it may or may not have been carried out" : "");
		q->st.has_details = true;
	} else if (r == STORAGE_TOO_LARGE || r == STORAGE_NO_SPACE) {
		/* As upstream: 500 with the storage's own text. */
		status_set(&q->st, 500, NULL, "%s", message);
	} else {
		status_internal(&q->st, "storage: %s: %s", storage_result_name(r), message);
	}
	/* A client whose write may have happened must check before it tries again. */
	if (q->st.code != 500 && !is_unknown) {
		q->st.retry_after_s = RETRY_AFTER_S;
	}
}

void request_storage_failed(struct request *q, enum storage_result r, const char *message, bool is_write)
{
	request_refuse_storage(q, r, message, is_write);
	reply_status(q);
}

void request_wait_answer(struct request *q, void (*next)(struct request *q))
{
	/* A webhook that hangs must not take the places of requests that need none. */
	if (questions_notes_access(&q->questions) || questions_notes_conversion(&q->questions) || q->converting) {
		request_step_out(q);
	}
	request_began_waiting(q, WAITING_ANSWER, next);
}

void request_waited(struct request *q)
{
	int64_t ns = clock_mono_ns() - q->wait_began_ns;

	switch (q->waiting) {
	case WAITING_ANSWER:
		questions_settle(&q->questions);
		request_step_in(q);
		break;
	case WAITING_CACHE:
		timing_waited(q, ns, true);
		break;
	case WAITING_ETCD:
		timing_waited(q, ns, false);
		request_metrics_txn(q, ns);
		break;
	case WAITING_TURN:
		break;
	case WAITING_NOT:
		assert(false);
	}
	q->waiting = WAITING_NOT;
}

/* ---- timing ---- */

/* A clock's value for each phase is all that a request pays. Only a slow request writes a line of
 * them, and the server writes at most ten lines a second: a server that is slow for everybody must
 * not be busy saying so. */

/* Fields of such a line: the functions below add fewer. */
enum { FIELDS_MAX = 24, LINES_A_SECOND = 10 };

void timing_pass(struct request *q, enum step step)
{
	q->timing.passed_ns[step] = clock_mono_ns();
	q->timing.waited_before_ns[step] = q->timing.cache_ns + q->timing.etcd_ns;
}

void timing_waited(struct request *q, int64_t ns, bool is_for_cache)
{
	*(is_for_cache ? &q->timing.cache_ns : &q->timing.etcd_ns) += ns;
	*(is_for_cache ? &q->timing.n_cache_waits : &q->timing.n_txns) += 1;
}

/* ---- the line ---- */

struct fields {
	struct log_field v[FIELDS_MAX];
	size_t n;
};

static void add_text(struct fields *f, const char *name, struct str text)
{
	assert(f->n < FIELDS_MAX);
	f->v[f->n++] = (struct log_field){.name = name, .kind = LOG_FIELD_TEXT, .text = text};
}

static void add_number(struct fields *f, const char *name, int64_t n)
{
	assert(f->n < FIELDS_MAX);
	f->v[f->n++] = (struct log_field){.name = name, .kind = LOG_FIELD_NUMBER, .number = n};
}

static void add_ms(struct fields *f, const char *name, int64_t ns)
{
	assert(f->n < FIELDS_MAX);
	f->v[f->n++] = (struct log_field){.name = name, .kind = LOG_FIELD_MS, .number = ns};
}

/* Adds the time of each phase by itself; waiting for cache and etcd is counted apart. Together
 * they are the whole. */
static void add_phases(struct fields *f, const struct request *q, int64_t duration_ns)
{
	static const char *const names[STEPS] = {
		"authenticate_ms", "authorize_ms", "receive_ms", "decode_ms", "admit_ms", "encode_ms"};
	const struct timing *t = &q->timing;
	int64_t began = http_started_ns(q->x), before = began, waited = 0;

	for (size_t i = 0; i < STEPS; i++) {
		if (t->passed_ns[i] < before) {
			continue;
		}
		add_ms(f, names[i], t->passed_ns[i] - before - (t->waited_before_ns[i] - waited));
		before = t->passed_ns[i];
		waited = t->waited_before_ns[i];
	}
	add_ms(f, "cache_wait_ms", t->cache_ns);
	add_number(f, "cache_waits", t->n_cache_waits);
	add_ms(f, "etcd_ms", t->etcd_ns);
	add_number(f, "etcd_txns", t->n_txns);
	add_ms(f, "send_ms", began + duration_ns - before - (t->cache_ns + t->etcd_ns - waited));
}

/* Limits the lines: a server that is slow for everybody must not be made slower by its log. */
static bool may_report(struct server *s, int64_t *ret_n_left_out)
{
	int64_t second = clock_mono_ns() / 1000000000, seen = atomic_load_explicit(&s->slow_second, memory_order_relaxed);

	if (seen != second &&
		atomic_compare_exchange_strong_explicit(
			&s->slow_second, &seen, second, memory_order_relaxed, memory_order_relaxed)) {
		atomic_store_explicit(&s->n_slow_lines, 0, memory_order_relaxed);
	}
	if (atomic_fetch_add_explicit(&s->n_slow_lines, 1, memory_order_relaxed) >= LINES_A_SECOND) {
		atomic_fetch_add_explicit(&s->n_slow_left_out, 1, memory_order_relaxed);
		return false;
	}
	*ret_n_left_out = atomic_exchange_explicit(&s->n_slow_left_out, 0, memory_order_relaxed);
	return true;
}

void timing_report(struct request *q, int64_t duration_ns)
{
	const struct server_options *o = &q->server->options;
	struct fields f = {.n = 0};
	int64_t n_left_out = 0;

	if (o->slow_request_ms <= 0 || duration_ns <= o->slow_request_ms * 1000000 || q->class == CLASS_WATCH || !o->on_slow ||
		!may_report(q->server, &n_left_out)) {
		return;
	}
	add_text(&f, "method", http_method(q->x));
	add_text(&f, "path", q->route.path);
	add_text(&f, "verb", str_of(q->route.verb));
	add_number(&f, "status", http_status(q->x));
	add_text(&f, "user", q->user ? q->user->name : STR(""));
	add_text(&f, "agent", http_header(q->x, "User-Agent"));
	add_text(&f, "peer", http_peer(q->x)->address);
	add_text(&f, "audit", q->audit_id);
	add_ms(&f, "total_ms", duration_ns);
	add_phases(&f, q, duration_ns);
	if (n_left_out > 0) {
		add_number(&f, "left_out", n_left_out);
	}
	o->on_slow(o->notice_ctx, f.v, f.n);
}

/* ---- metrics ---- */

/* A request is counted when it is over, with kube-apiserver's labels. There, only requests that a
 * route has taken count. So those that are refused before (401, 403, unknown paths and resources,
 * 405, 406) do not count, but those that are too many (429) do. */

/* k8s.io/apiserver CleanVerb. */
static struct str verb_label(const struct request *q)
{
	static const char *const methods[] = {"GET", "GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "other"};
	const struct route *r = &q->route;

	if (r->is_watch || (r->is_resource && r->method == METHOD_GET && params_bool(&r->params, "watch"))) {
		return STR("WATCH");
	}
	if (r->is_resource && r->name.n == 0 && (r->method == METHOD_GET || r->method == METHOD_HEAD)) {
		return STR("LIST");
	}
	if (r->method == METHOD_PATCH && str_is(http_header(q->x, "Content-Type"), "application/apply-patch+yaml")) {
		return STR("APPLY");
	}
	return str_of(methods[r->method]);
}

/* As in RequestInfo: a creation is about one resource, even of a namespace. */
static struct str scope_label(const struct route *r)
{
	if (r->name.n > 0 || str_is(str_of(r->verb), "create")) {
		return STR("resource");
	}
	return r->ns.n > 0 ? STR("namespace") : STR("cluster");
}

static struct str dry_run_label(const struct route *r)
{
	struct str value = params_get(&r->params, "dryRun");

	return value.n == 0 || str_is(value, "All") ? value : STR("invalid");
}

struct metrics_labels request_metrics_labels(const struct request *q)
{
	const struct route *r = &q->route;

	return (struct metrics_labels){
		.verb = verb_label(q),
		.group = r->group,
		.version = r->version_name,
		.resource = r->resource,
		.subresource = r->sub ? r->subresource : STR(""),
		.scope = scope_label(r),
		.dry_run = dry_run_label(r),
		.component = STR("apiserver"),
	};
}

/* Labels of paths that are no resources: upstream counts health and OpenAPI v3. */
static bool path_labels(const struct request *q, struct metrics_labels *ret)
{
	static const char *const counted[] = {"/healthz", "/livez", "/readyz"};
	struct str path = q->route.path;

	*ret = (struct metrics_labels){.verb = verb_label(q), .subresource = path};
	for (size_t i = 0; i < ARRAY_SIZE(counted); i++) {
		if (str_is(path, counted[i])) {
			return true;
		}
	}
	ret->subresource = STR("openapi/v3");
	return str_starts(path, STR("/openapi/v3")) && http_status(q->x) != 404;
}

void request_metrics_count(struct request *q, int64_t duration_ns)
{
	const struct route *r = &q->route;
	struct metrics_request counted = {
		.code = http_status(q->x),
		.duration_ns = duration_ns,
		.bytes = http_sent(q->x),
		.is_watch = r->is_watch,
	};

	if (q->is_routed) {
		counted.labels = request_metrics_labels(q);
		counted.is_read =
			r->action == VERB_GET || r->action == VERB_LIST || (r->action == VERB_WATCH && !r->is_old_watch);
		counted.is_deprecated = r->version->deprecation != NULL;
	} else if (path_labels(q, &counted.labels)) {
		counted.is_read = true;
	} else {
		return;
	}
	metrics_count_request(q->server->metrics, &counted);
	if (q->timing.n_cache_waits > 0) {
		metrics_count_read_wait(q->server->metrics, r->group, r->resource, q->timing.cache_ns);
	}
}

void request_metrics_refused(struct request *q)
{
	struct metrics_labels labels = request_metrics_labels(q);

	metrics_count_refused(q->server->metrics, &labels, q->route.method != METHOD_GET);
}

void request_metrics_longrunning(struct request *q, int delta)
{
	struct metrics_labels labels = request_metrics_labels(q);

	labels.dry_run = STR("");
	metrics_longrunning(q->server->metrics, &labels, delta);
}

/* As upstream names what is asked of etcd. */
static struct str operation_label(const struct request *q)
{
	static const struct {
		unsigned verbs;
		const char *operation;
	} rows[] = {{VERB_CREATE, "create"}, {VERB_UPDATE | VERB_PATCH, "update"},
		{VERB_DELETE | VERB_DELETECOLLECTION, "delete"}, {VERB_GET, "get"}, {VERB_LIST | VERB_WATCH, "list"}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (q->route.action & rows[i].verbs) {
			return str_of(rows[i].operation);
		}
	}
	return STR("");
}

void request_metrics_txn(struct request *q, int64_t duration_ns)
{
	enum { WRITES = VERB_CREATE | VERB_UPDATE | VERB_PATCH | VERB_DELETE | VERB_DELETECOLLECTION };

	if (q->route.action & WRITES) {
		metrics_count_etcd(q->server->metrics, operation_label(q), q->route.group, q->route.resource, duration_ns);
	}
}

void request_metrics_storage_failed(struct request *q)
{
	metrics_count_etcd_error(q->server->metrics, operation_label(q), q->route.group, q->route.resource);
}

/* ---- the version that replicas agree on ---- */

/* A request asks at different moments whether its kind may be written, whether it can be read, and
 * which version is shown. Each time the agreement is asked anew, since it may have changed. Only a
 * ticket is kept: it guards the very transaction, so etcd refuses a write whose ticket is out of
 * date. */

enum { RETRY_S = 1 };

/* ---- writing ---- */

int agreed_version_refuse(struct request *q, struct str why)
{
	status_set(&q->st, 503, REASON_SERVICE_UNAVAILABLE, STR_FMT, STR_ARG(why));
	q->st.retry_after_s = RETRY_S;
	return 1;
}

int agreed_version_take(struct request *q, const struct kind *k, struct agreement_ticket *ret, void (*again)(struct request *q))
{
	struct agreement *a = q->server->options.agreement;
	_cleanup_(buf_done) struct buf why;

	buf_init(&why, 4096);
	/* The version of a kind with a definition is in the definition, which guards the write (storage/engine/plan.h). */
	if (!a || q->is_dry_run || k->life) {
		*ret = (struct agreement_ticket){.version = kind_storage_version(k)};
		return 0;
	}
	enum agreement_writing may = agreement_write(a, k, ret, &why);
	if (may == AGREEMENT_MAY_WRITE) {
		return 0;
	}
	/* A request that has waited in vain gets 503. */
	if (may == AGREEMENT_NOT_YET && q->versions.result == STORAGE_OK) {
		request_wait_versions(q, k, again);
	} else {
		agreed_version_refuse(q, buf_str(&why));
		reply_status(q);
	}
	return 1;
}

const struct version *agreed_version_now(const struct request *q)
{
	struct agreement *a = q->server->options.agreement;
	const struct kind *k = q->route.kind;
	struct agreement_ticket ticket;

	if (!a || k->life) {
		return kind_storage_version(k);
	}
	return agreement_write(a, k, &ticket, NULL) == AGREEMENT_MAY_WRITE ? ticket.version : NULL;
}

/* ---- reading ---- */

static bool is_all_known(struct request *q, const struct kind *k, struct buf *why)
{
	struct cache *c = q->server->options.cache;
	struct cache_census census;

	if (!cache_has_unknown(c, k)) {
		return true;
	}
	if (why) {
		cache_census(c, k, &census);
		bool is_one = census.n_unknown == 1;
		buf_printf(why, "%zu %s of ", census.n_unknown, is_one ? "object" : "objects");
		kind_write_group_resource(k, why);
		buf_printf(why, " %s stored in %s that this server does not know%s%s", is_one ? "is" : "are",
			is_one ? "a version" : "versions", is_one ? ": " : ", such as ", census.unknown_version);
	}
	return false;
}

bool agreed_version_is_readable(struct request *q, const struct kind *k, struct buf *why)
{
	struct agreement *a = q->server->options.agreement;

	return is_all_known(q, k, why) && (!a || k->life || agreement_can_read(a, k, why));
}

int agreed_version_check_readable(struct request *q, const struct kind *k)
{
	_cleanup_(buf_done) struct buf why;

	buf_init(&why, 4096);
	/* As upstream says it. A client that tries again gets the kind that is in force. */
	if (kind_is_over(k)) {
		status_set(&q->st, 429, REASON_TOO_MANY_REQUESTS, "storage is (re)initializing");
		q->st.retry_after_s = RETRY_S;
		return 1;
	}
	return agreed_version_is_readable(q, k, &why) ? 0 : agreed_version_refuse(q, buf_str(&why));
}

void agreed_version_not_found(struct request *q, struct str name)
{
	if (!agreed_version_check_readable(q, q->route.kind)) {
		status_not_found(&q->st, request_group(q), q->route.resource, name);
	}
}

bool agreed_version_can_read(struct request *q)
{
	if (agreed_version_check_readable(q, q->route.kind)) {
		reply_status(q);
		return false;
	}
	return true;
}

const char *agreed_version_check(struct request *q)
{
	struct agreement *a = q->server->options.agreement;
	_cleanup_(buf_done) struct buf why;

	buf_init(&why, 4096);
	bool is_fine = !a || agreement_is_settled(a, &why);
	for (size_t i = 0; is_fine && i < kind_count(); i++) {
		is_fine = is_all_known(q, kind_at(i), &why);
	}
	if (is_fine) {
		return NULL;
	}
	return arena_dup(q->a, buf_str(&why)).p;
}

/* ---- discovery ---- */

static void read_common(struct server *s, const struct version *ret[KIND_COUNT_MAX])
{
	for (size_t i = 0; i < kind_count(); i++) {
		const struct kind *k = kind_at(i);
		ret[i] = s->options.agreement ? agreement_common(s->options.agreement, k) : kind_storage_version(k);
	}
}

struct discovery *agreed_version_discovery(struct server *s)
{
	const struct version *common[KIND_COUNT_MAX] = {NULL};

	/* Guards the pointer. The common versions are read from atomics, the kinds under the cache's lock alone. */
	pthread_mutex_lock(&s->discovery_lock);
	read_common(s, common); /* under the lock: what is shown never goes back to what was read before */
	_cleanup_(kinds_unrefp) struct kinds *defined = s->options.is_standalone ? cache_kinds(s->options.cache) : NULL;
	if (!s->discovery || !discovery_shows(s->discovery, common, defined)) {
		struct discovery_options options = s->discovery_options;
		options.common = common;
		options.defined = defined;
		discovery_unref(s->discovery);
		s->discovery = discovery_new(&options);
	}
	struct discovery *d = discovery_ref(s->discovery);
	pthread_mutex_unlock(&s->discovery_lock);
	return d;
}
