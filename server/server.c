/* The parts are made in an order in which each finds what it needs, and freed in reverse; HTTP goes
 * first, because its threads use all the others. HTTP must listen before the documents are made,
 * for they tell its port: requests that come in between wait at the gate. */
#include "server/server.h"

#include "api/custom/custom.h"

#include "base/clock.h"
#include "base/exposition.h"
#include "base/ids.h"
#include "server/dispatch.h"
#include "server/metrics/object_metrics.h"
#include "server/request/agreed_version.h"
#include "server/request/gzip_list.h"
#include "server/request/respond.h"
#include "server/request/server_state.h"
#include "server/write/user_notes.h"
#include "server/write/write_memory.h"
#include "storage/keys.h"

#include <assert.h>

/* kube-apiserver's --max-requests-inflight and --max-mutating-requests-inflight. */
#define READS_DEFAULT 400
#define WRITES_DEFAULT 200
#define WATCHES_DEFAULT 16384
#define READ_BYTES_DEFAULT ((size_t)64 << 20)
#define WRITE_BYTES_DEFAULT ((size_t)96 << 20)
#define EVENT_TTL_S 3600
#define PROTOBUF_BYTES ((size_t)32 << 20)  /* of messages that are kept: tens of thousands of usual objects */
#define LIST_GZIP_BYTES ((size_t)16 << 20) /* what lists of 100 MiB and more are when compressed */

/* ---- metrics that others hold ---- */

static void write_http_metrics(void *ctx, struct buf *out)
{
	struct server *s = ctx;
	struct http_stats h;

	http_server_stats(s->http, &h);
	exposition_gauge(out, "annals_http_connections", "Open connections.", (double)h.connections_open);
	exposition_gauge(out, "annals_http_streams", "Open streams.", (double)h.streams_open);
	exposition_counter(out, "annals_http_connections_total", "Connections accepted.", (double)h.connections_total);
	exposition_counter(out, "annals_http_handshakes_failed_total", "TLS handshakes that failed or took too long.",
		(double)h.handshakes_failed);
	exposition_counter(out, "apiserver_tls_handshake_errors_total",
		"[ALPHA] Number of requests dropped with 'TLS handshake error from' error", (double)h.handshakes_failed);
	exposition_counter(
		out, "annals_http_requests_invalid_total", "Requests refused for their syntax.", (double)h.requests_invalid);
	exposition_counter(out, "annals_http2_connections_total", "Connections of HTTP/2 that have shaken hands.",
		(double)h.http2_connections);
	exposition_counter(out, "annals_http2_refused_streams_total",
		"Requests over HTTP/2 beyond the limit of their connection, which clients send again.",
		(double)h.http2_refused);
	exposition_counter(out, "annals_http2_abuses_total",
		"Connections of HTTP/2 ended because their clients made work that brings nothing.", (double)h.http2_abuses);
	exposition_counter(out, "annals_http_sent_bytes_total", "Bytes of bodies sent.", (double)h.bytes_sent);
}

static void write_cache_metrics(void *ctx, struct buf *out)
{
	struct server *s = ctx;
	struct cache *c = s->options.cache;
	struct cache_stats stats;

	cache_stats(c, NULL, &stats);
	exposition_gauge(out, "annals_cache_ready", "1 when every object has been read once.", cache_is_ready(c));
	exposition_gauge(out, "annals_cache_connected", "1 while the cache follows etcd.", cache_is_connected(c));
	exposition_gauge(out, "annals_cache_revision", "The etcd revision the cache shows.", (double)cache_revision(c));
	exposition_gauge(out, "annals_cache_objects", "Objects held.", (double)stats.n_objects);
	exposition_gauge(out, "annals_cache_bytes", "Bytes of objects held.", (double)stats.n_bytes);
	exposition_gauge(out, "annals_cache_watchers", "Open watches.", (double)stats.n_watchers);
	exposition_gauge(
		out, "annals_cache_window_events", "Events kept for watches to resume from.", (double)stats.n_events_window);
	exposition_counter(out, "annals_cache_events_total", "Events received from etcd.", (double)stats.n_events);
	exposition_counter(
		out, "annals_cache_reloads_total", "Times everything had to be read again.", (double)stats.n_reloads);
	exposition_counter(out, "annals_cache_restores_total",
		"Times etcd had been restored from a backup, and everything was given up and read again.",
		(double)stats.n_restores);
	exposition_counter(out, "annals_cache_undecodable_total", "Values that are no objects.", (double)stats.n_undecodable);
	exposition_counter(out, "annals_read_index_rounds_total", "Quorum requests made for consistent reads.",
		(double)stats.n_read_index_rounds);
	exposition_counter(
		out, "annals_read_index_fences_total", "Writes made to see the cache catch up.", (double)stats.n_fences);
	exposition_counter(out, "annals_read_index_proofs_total", "Questions asked instead, where etcd took no such write.",
		(double)stats.n_proofs);
}

static void write_list_metrics(void *ctx, struct buf *out)
{
	struct server *s = ctx;
	uint64_t n_found, n_made;
	size_t n_bytes;

	gzip_runs_stats(s->gzip_runs, &n_bytes, &n_found, &n_made);
	exposition_gauge(
		out, "annals_list_gzip_bytes", "Compressed pieces of lists kept for the next client.", (double)n_bytes);
	exposition_counter(out, "annals_list_gzip_found_total", "Pieces of lists that were there already.", (double)n_found);
	exposition_counter(out, "annals_list_gzip_made_total", "Pieces of lists that were compressed.", (double)n_made);
	protobuf_items_stats(s->protobuf_items, &n_bytes, &n_found, &n_made);
	exposition_gauge(out, "annals_protobuf_bytes", "Objects in protobuf kept for the next client.", (double)n_bytes);
	exposition_counter(out, "annals_protobuf_found_total", "Objects that were there in protobuf already.", (double)n_found);
	exposition_counter(out, "annals_protobuf_made_total", "Objects that were made in protobuf.", (double)n_made);
}

static void write_decision_metrics(void *ctx, struct buf *out)
{
	const struct server *s = ctx;

	exposition_counter(out, "annals_write_decisions_total",
		"Times that it was decided what a write does. More than there are writes: others wrote meanwhile.",
		(double)atomic_load_explicit(&s->n_decisions, memory_order_relaxed));
}

static void write_budget_metrics(void *ctx, struct buf *out)
{
	struct server *s = ctx;
	struct http_stats h;

	http_server_stats(s->http, &h);
	exposition_gauge(out, "annals_read_request_bytes", "Memory that answers hold until clients have taken them.",
		(double)h.unsent_bytes);
	exposition_counter(out, "annals_answers_evicted_total",
		"Answers that clients did not take, cut to make room for others.", (double)h.answers_evicted);
	exposition_gauge(
		out, "annals_mutating_request_bytes", "Memory that writes under way hold.", (double)budget_used(s->write_budget));
}

static void write_object_metrics(void *ctx, struct buf *out)
{
	object_metrics_write(out, ((struct server *)ctx)->options.cache);
}

static void write_audit_metrics(void *ctx, struct buf *out)
{
	audit_write_metrics(((struct server *)ctx)->audit, out);
}

static void write_agreement_metrics(void *ctx, struct buf *out)
{
	struct server *s = ctx;

	if (s->options.alarms) {
		alarms_write_metrics(s->options.alarms, out);
	}
	if (s->options.agreement) {
		agreement_write_metrics(s->options.agreement, out);
	}
}

static void write_note_metrics(void *ctx, struct buf *out)
{
	user_notes_write_metrics(((struct server *)ctx)->user_notes, out);
}

static void write_process_metrics(void *ctx, struct buf *out)
{
	process_metrics_write(out, ((struct server *)ctx)->started_s);
}

/* ---- life ---- */

static void server_notice(void *ctx, struct str text)
{
	const struct server_options *o = &((struct server *)ctx)->options;

	if (o->on_notice) {
		o->on_notice(o->notice_ctx, text);
	}
}

static void server_reloaded(void *ctx, const char *path _unused_, const char *problem)
{
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, 4096);
	if (!problem) {
		return;
	}
	buf_printf(&text, "%s; what it said before stays in force", problem);
	server_notice(ctx, buf_str(&text));
}

static void server_set_defaults(struct server *s)
{
	struct server_options *o = &s->options;

	o->max_requests_inflight = o->max_requests_inflight ? o->max_requests_inflight : READS_DEFAULT;
	o->max_mutating_inflight = o->max_mutating_inflight ? o->max_mutating_inflight : WRITES_DEFAULT;
	o->max_requests_bytes = o->max_requests_bytes ? o->max_requests_bytes : READ_BYTES_DEFAULT;
	o->max_mutating_bytes = o->max_mutating_bytes ? o->max_mutating_bytes : WRITE_BYTES_DEFAULT;
	o->http.max_unsent = o->max_requests_bytes;
	/* Writes are answered whatever else is unsent. */
	o->http.unsent_ceiling = o->max_requests_bytes + o->max_mutating_bytes;
	o->max_watches = o->max_watches ? o->max_watches : WATCHES_DEFAULT;
	o->http.max_body = o->http.max_body ? o->http.max_body : (size_t)3 << 20;
	o->prefix = arena_dup(&s->arena, o->prefix);
	o->version = arena_dup(&s->arena, o->version);
	/* Clients must be asked for certificates before the trusted authorities are known. */
	o->http.is_trust_set_later = o->delegates != NULL;
	o->http.handler = (struct http_handler){.ctx = s,
		.on_headers = request_on_headers,
		.on_body = request_on_body,
		.on_request = request_on_request,
		.on_answered = request_on_answered,
		.on_done = request_on_done,
		.on_freed = request_on_freed,
		.on_notice = server_notice};
}

static int server_open_security(struct server *s, struct buf *err)
{
	const struct server_options *o = &s->options;
	const struct reload_hook hook = {.report = server_reloaded, .ctx = s};
	const struct authn_options authn = {
		.token_file = o->token_auth_file, .anonymous = o->anonymous_auth, .on_reload = hook};
	const struct authz_options authz = {.policy_file = o->authorization_policy_file,
		.always_allow = o->always_allow,
		.is_delegated = !o->is_standalone,
		.always_allow_paths = o->always_allow_paths,
		.on_reload = hook};
	int r = authn_new(&s->authn, &authn, err);

	return r ? r : authz_new(&s->authz, &authz, err);
}

/* Upstream audits nothing where one of the two is missing. */
static int server_open_audit(struct server *s, struct buf *err)
{
	struct audit_options options = s->options.audit;

	options.log.on_notice = server_notice;
	options.log.notice_ctx = s;
	if (!options.policy_file != !options.log.file.path) {
		server_notice(s, options.policy_file ? STR("no --audit-log-path: nothing is audited")
						      : STR("no --audit-policy-file: nothing is audited"));
	}
	return audit_new(&s->audit, &options, err);
}

static int server_open_logs(struct server *s, struct buf *err)
{
	s->metrics = metrics_new();
	metrics_add_source(s->metrics, write_http_metrics, s);
	metrics_add_source(s->metrics, write_cache_metrics, s);
	metrics_add_source(s->metrics, write_list_metrics, s);
	metrics_add_source(s->metrics, write_object_metrics, s);
	metrics_add_source(s->metrics, write_decision_metrics, s);
	metrics_add_source(s->metrics, write_budget_metrics, s);
	metrics_add_source(s->metrics, write_audit_metrics, s);
	metrics_add_source(s->metrics, write_agreement_metrics, s);
	metrics_add_source(s->metrics, write_note_metrics, s);
	metrics_add_source(s->metrics, write_process_metrics, s);
	if (s->options.write_metrics) {
		metrics_add_source(s->metrics, s->options.write_metrics, s->options.metrics_ctx);
	}
	int r = server_open_audit(s, err);
	if (r) {
		return r;
	}
	return s->options.access_log ? accesslog_new(&s->accesslog, s->options.access_log, s->options.log_format, err) : 0;
}

static struct kinds *defined_kinds(void *ctx)
{
	return cache_kinds(((struct server *)ctx)->options.cache);
}

/* The schema is made of the definition, which the cache has. */
static bool publish_kind(
	void *ctx, struct json **ret, const struct kind *k, const struct version *v, bool is_v2, struct arena *a)
{
	struct cache *c = ((struct server *)ctx)->options.cache;
	_cleanup_(cached_unrefp) struct cached *cached = cache_get(c, k->life->definitions, STR(""), k->life->definition);
	struct object *definition;

	return cached && !cached_object(&definition, cached, a) && custom_publish(ret, k, v, is_v2, definition, a);
}

static void server_open_documents(struct server *s)
{
	const struct server_options *o = &s->options;
	s->discovery_options = (struct discovery_options){
		.is_standalone = o->is_standalone,
		.storage_version_hash = o->storage_version_hash,
		.server_address = arena_printf(&s->arena, "%s:%u", o->http.bind_address, http_server_port(s->http)),
	};

	s->openapi = openapi_new(o->is_standalone, o->version);
	if (o->is_standalone) {
		openapi_set_source(s->openapi,
			&(struct openapi_source){
				.kinds = defined_kinds, .publish = publish_kind, .identify = custom_identify, .ctx = s});
	}
}

DEFINE_CLEANUP(struct server *, server_free)

int server_new(struct server **ret, const struct server_options *options, struct buf *err)
{
	_cleanup_(server_freep) struct server *s = mem_new(struct server);
	int r;

	s->options = *options;
	s->started_s = clock_wall_s();
	pthread_mutex_init(&s->gate, NULL);
	pthread_mutex_init(&s->discovery_lock, NULL);
	arena_init(&s->arena, (size_t)1 << 20);
	server_set_defaults(s);
	s->gzip_runs = gzip_runs_new(LIST_GZIP_BYTES);
	s->protobuf_items = protobuf_items_new(PROTOBUF_BYTES);
	s->write_queue = write_queue_new();
	s->write_budget = budget_new(s->options.max_mutating_bytes);
	s->leases = leases_new(s->options.storage, s->options.event_ttl_s ? s->options.event_ttl_s : EVENT_TTL_S);
	s->user_notes = user_notes_new();
	s->note_leases = leases_new(s->options.storage, USER_NOTES_TTL_S);
	leases_set_patience(s->note_leases, USER_NOTES_STORE_PATIENCE_MS);
	s->recorders = s->options.is_standalone ? kind_by_hub(STR("annals.dev"), STR("recorders")) : NULL;
	s->namespaces = s->options.is_standalone ? kind_by_hub(STR(""), STR("namespaces")) : NULL;
	r = server_open_security(s, err);
	if (r) {
		return r;
	}
	r = server_open_logs(s, err);
	if (r) {
		return r;
	}
	/* Requests may come before the port is known here, which discovery tells: they wait at the gate. */
	pthread_mutex_lock(&s->gate);
	r = http_server_new(&s->http, &s->options.http, err);
	if (!r) {
		server_open_documents(s);
		atomic_store(&s->is_open, true);
	}
	pthread_mutex_unlock(&s->gate);
	if (r) {
		return r;
	}
	*ret = take_ptr(s);
	return 0;
}

uint16_t server_port(const struct server *s)
{
	return http_server_port(s->http);
}

void server_set_trust(struct server *s, const struct trust *trust)
{
	http_server_set_trust(s->http, trust);
}

bool server_drain(struct server *s, int64_t delay_ms, int64_t timeout_ms)
{
	struct timespec delay = {.tv_sec = delay_ms / 1000, .tv_nsec = delay_ms % 1000 * 1000000};

	/* Before anything is refused: load balancers need time to hear of it. */
	atomic_store(&s->is_draining, true);
	http_server_leave(s->http);
	while (delay_ms > 0 && nanosleep(&delay, &delay)) {
	}
	return http_server_drain(s->http, timeout_ms);
}

void server_flush_logs(struct server *s, int64_t until_ms)
{
	if (s->audit) {
		audit_flush(s->audit, until_ms);
	}
	if (s->accesslog) {
		accesslog_flush(s->accesslog, until_ms);
	}
}

struct server *server_free(struct server *s)
{
	if (!s) {
		return NULL;
	}
	/* First: from here on no request is under way. */
	s->http = http_server_free(s->http);
	s->accesslog = accesslog_free(s->accesslog);
	s->audit = audit_free(s->audit);
	s->openapi = openapi_free(s->openapi);
	s->discovery = discovery_unref(s->discovery);
	s->metrics = metrics_free(s->metrics);
	s->gzip_runs = gzip_runs_free(s->gzip_runs);
	s->protobuf_items = protobuf_items_free(s->protobuf_items);
	s->leases = leases_free(s->leases);
	s->note_leases = leases_free(s->note_leases);
	s->user_notes = user_notes_free(s->user_notes);
	s->write_queue = write_queue_free(s->write_queue);
	s->write_budget = budget_free(s->write_budget);
	s->authz = authz_free(s->authz);
	s->authn = authn_free(s->authn);
	arena_done(&s->arena);
	pthread_mutex_destroy(&s->discovery_lock);
	pthread_mutex_destroy(&s->gate);
	return mem_free(s);
}

/* ---- what is there from the start ---- */

/* Creates the namespace if it is absent. Another replica may create it at the same time. */
static int bootstrap_namespace(struct server *s, const struct agreement_ticket *ticket, const char *name, struct buf *err)
{
	struct arena a;
	struct plan p;
	struct str why;

	arena_init(&a, (size_t)1 << 20);
	plan_init(&p, &a, s->options.prefix);
	int r = plan_new_namespace(&p, str_of(name), ticket, &why);
	assert(!r);
	r = (int)plan_wait(&p, s->options.storage);
	if (r) {
		buf_printf(err, "namespace %s: %s: %s", name, storage_result_name(p.txn.op.result), p.txn.op.message);
	} else if (plan_judge(&p, s->options.agreement) == PLAN_UNREGISTERED && !plan_present(&p)) {
		buf_printf(err, "namespace %s: this server is no longer registered with the others", name);
		r = (int)STORAGE_LEASE_GONE;
	}
	plan_clear(&p);
	arena_done(&a);
	return r;
}

int server_read_salt_key(struct server *s, struct buf *err)
{
	unsigned char made[RECORDER_SALT_KEY_BYTES];
	struct arena a;
	struct plan p;

	if (atomic_load(&s->has_salt_key)) {
		return 0;
	}
	arena_init(&a, 64 << 10);
	plan_init(&p, &a, s->options.prefix);
	random_bytes(made, sizeof(made));
	struct str key = key_recorder_salts(&a, s->options.prefix), value = {(const char *)made, sizeof(made)};
	plan_guard(&p, storage_compare_mod(key, 0));
	size_t look = plan_look(&p, key, false);
	plan_put(&p, key, value, 0);
	int r = (int)plan_wait(&p, s->options.storage);
	const struct storage_kv *stored = !r && !p.txn.succeeded ? plan_looked(&p, look) : NULL;
	value = stored ? stored->value : value;
	if (r) {
		buf_printf(err, "the key of salts: %s: %s", storage_result_name(p.txn.op.result), p.txn.op.message);
	} else if ((!p.txn.succeeded && !stored) || value.n != sizeof(s->salt_key)) {
		buf_printf(err, "the key of salts, " STR_FMT ", has not %zu bytes", STR_ARG(key), sizeof(s->salt_key));
		r = (int)STORAGE_UNAVAILABLE;
	} else {
		memcpy(s->salt_key, value.p, value.n);
		atomic_store(&s->has_salt_key, true);
	}
	plan_clear(&p);
	arena_done(&a);
	return r;
}

int server_bootstrap(struct server *s, struct buf *err)
{
	static const char *const names[] = {"default", "kube-node-lease", "kube-public", "kube-system"};
	struct agreement_ticket ticket = {.version = kind_storage_version(s->namespaces)};

	if (s->options.agreement && agreement_write(s->options.agreement, s->namespaces, &ticket, err) != AGREEMENT_MAY_WRITE) {
		return (int)STORAGE_UNAVAILABLE;
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		int r = bootstrap_namespace(s, &ticket, names[i], err);
		if (r) {
			return r;
		}
	}
	atomic_store(&s->has_namespaces, true);
	return 0;
}
