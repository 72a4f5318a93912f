/* The parts of an event come at different moments from different phases, and the last of them is
 * sending. So they are gathered in memory that lives as long as the exchange. Bodies are
 * gathered only at levels that show them, up to the limit of an event: auditing a list of a
 * gigabyte must not take another one. */

#include "server/request/request_audit.h"

#include "base/clock.h"
#include "server/audit/audit.h"
#include "server/audit/audit_body.h"
#include "server/request/request.h"

enum {
	USER_AGENT_MAX = 1024,               /* bytes; a longer User-Agent is cut, as upstream */
	SLOW_MS = 500,                       /* slower requests tell where the time went, as upstream */
	STRIP_MAX = 256 * 1024 * 1024,       /* bytes that taking an answer apart may take */
	STRIP_VALUES_MAX = 10 * 1000 * 1000, /* values; of an answer with more, the event has no body */
};

struct request_audit {
	struct audit_decision decision;
	struct audit_event event;
	struct audit_object object;
	struct buf sent, answered;
	bool is_unrecognized, is_long_running;
	bool has_sent, is_bare, has_started, is_settled;
};

/* ---- the request ---- */

static struct str user_agent_of(struct request *q)
{
	struct str agent = http_header(q->x, "User-Agent");

	return agent.n <= USER_AGENT_MAX ? agent : arena_printf(q->a, "%.*s...TRUNCATED", USER_AGENT_MAX, agent.p);
}

static void request_audit_describe(struct request *q, struct request_audit *e, const struct authz_attributes *what)
{
	e->event = (struct audit_event){
		.level = e->decision.level,
		.id = q->audit_id,
		.uri = audit_uri(http_target(q->x), q->a),
		.verb = what->verb,
		.user = what->user,
		.user_agent = user_agent_of(q),
		.received_us = clock_wall_us() - (clock_mono_ns() - http_started_ns(q->x)) / 1000,
	};
	e->event.n_source_ips = audit_source_ips(&e->event.source_ips, http_header(q->x, "X-Forwarded-For"),
		http_header(q->x, "X-Real-Ip"), http_peer(q->x)->address, q->a);
	if (what->is_resource) {
		e->object = (struct audit_object){.resource = what->resource,
			.ns = what->ns,
			.name = what->name,
			.group = what->group,
			.version = what->version,
			.subresource = what->subresource};
		e->event.object = &e->object;
	}
}

/* Returns NULL when the policy does not want the request. */
static struct request_audit *request_audit_new(struct request *q, const struct authz_attributes *what)
{
	struct audit_decision decision = {.level = AUDIT_NONE};

	if (q->server->audit) {
		decision = audit_decide(q->server->audit, what);
	}
	if (decision.level == AUDIT_NONE) {
		return NULL;
	}
	struct request_audit *e = arena_new(q->a, struct request_audit);
	e->decision = decision;
	e->is_long_running = str_is(what->verb, "watch");
	buf_init(&e->sent, AUDIT_EVENT_MAX);
	buf_init(&e->answered, AUDIT_EVENT_MAX);
	request_audit_describe(q, e, what);
	return e;
}

static void request_audit_write(struct request *q, enum audit_stage stage)
{
	struct request_audit *e = q->audit;

	if (e->decision.omitted_stages & 1u << stage) {
		return;
	}
	e->event.stage = stage;
	e->event.stage_us = stage == AUDIT_REQUEST_RECEIVED ? e->event.received_us : clock_wall_us();
	e->event.request_object = buf_str(&e->sent);
	e->event.response_object = buf_str(&e->answered);
	audit_write(q->server->audit, &e->event);
}

int request_audit_start(struct request *q, const struct authz_attributes *what)
{
	struct request_audit *e = request_audit_new(q, what);

	if (!e) {
		return 0;
	}
	if (!audit_admits(q->server->audit)) {
		status_set(&q->st, 503, REASON_SERVICE_UNAVAILABLE,
			"failed to store audit event: too many are waiting to be written");
		q->st.retry_after_s = RETRY_AFTER_S;
		return 1;
	}
	q->audit = e;
	request_audit_write(q, AUDIT_REQUEST_RECEIVED);
	return 0;
}

void request_audit_begin_unrecognized(struct request *q, const struct authz_attributes *what)
{
	q->audit = request_audit_new(q, what);
	if (q->audit) {
		q->audit->is_unrecognized = true;
	}
}

void request_audit_impersonates(struct request *q, const struct user *as)
{
	if (q->audit) {
		q->audit->event.impersonated = as;
	}
}

/* For system:masters and a policy file the reason is empty, as upstream. */
void request_audit_note_decision(struct request *q, bool is_allowed, struct str reason)
{
	audit_event_annotate(&q->audit->event, "authorization.k8s.io/decision", is_allowed ? STR("allow") : STR("forbid"));
	audit_event_annotate(&q->audit->event, "authorization.k8s.io/reason", reason);
}

/* A patch shows what was sent, so it is kept only at levels that log that
 * (PatchAuditAnnotationPrefix). */
static bool request_audit_shows(const struct request_audit *e, struct str key)
{
	return e->event.level >= AUDIT_REQUEST || !str_starts(key, STR("patch.webhook.admission.k8s.io/"));
}

void request_audit_annotate(struct request *q, struct str key, struct str value)
{
	struct arena *a = http_arena(q->x);
	struct request_audit *e = q->audit;

	if (e && e->event.n_annotations < AUDIT_ANNOTATIONS_OF_WEBHOOKS_MAX && request_audit_shows(e, key)) {
		audit_event_annotate(&e->event, arena_dup(a, key).p, arena_dup(a, value));
	}
}

void request_audit_deprecated(struct request *q)
{
	if (q->audit) {
		audit_event_annotate(&q->audit->event, "k8s.io/deprecated", STR("true"));
	}
}

/* ---- what was sent ---- */

/* Returns true once: a verb that decides again sends the same body. */
static bool request_audit_takes_sent(struct request *q)
{
	bool is_first = !q->audit->has_sent;

	if (is_first) {
		q->audit->has_sent = true;
	}
	return is_first;
}

static bool request_audit_at_least(const struct request *q, enum audit_level level)
{
	return q->audit->decision.level >= level;
}

static void fill(struct request *q, struct str *field, struct str text)
{
	if (field->n == 0 && text.n > 0) {
		*field = arena_dup(http_arena(q->x), text);
	}
}

void request_audit_note_object(struct request *q, const struct object *o)
{
	struct request_audit *e = q->audit;

	if (!request_audit_takes_sent(q)) {
		return;
	}
	fill(q, &e->object.ns, o->meta.ns);
	fill(q, &e->object.name, o->meta.name);
	fill(q, &e->object.uid, o->meta.uid);
	fill(q, &e->object.resource_version, o->meta.resource_version);
	if (request_audit_at_least(q, AUDIT_REQUEST)) {
		struct json *j = object_to_json(o, q->route.body_version, q->a);
		json_encode(&e->sent, e->decision.omits_managed_fields ? audit_without_managed_fields(q->a, j) : j);
	}
}

void request_audit_sent_patch(struct request *q, struct str body, bool is_yaml)
{
	if (q->audit && request_audit_takes_sent(q) && request_audit_at_least(q, AUDIT_REQUEST)) {
		audit_patch_body(&q->audit->sent, body, is_yaml, q->a);
	}
}

void request_audit_sent_delete_options(struct request *q, const struct json *body)
{
	if (q->audit && request_audit_takes_sent(q) && request_audit_at_least(q, AUDIT_REQUEST)) {
		json_encode(&q->audit->sent, audit_delete_options(q->a, body));
	}
}

/* ---- what is answered ---- */

void request_audit_answer_bare(struct request *q)
{
	if (q->audit) {
		q->audit->is_bare = true;
	}
}

void request_audit_answer_status(struct request *q, const struct json *status)
{
	static const char *const members[] = {"status", "message", "reason", "details"};
	_cleanup_(buf_done) struct buf out;

	buf_init(&out, AUDIT_EVENT_MAX);
	if (!q->audit || q->audit->is_bare) {
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		const struct json *value = json_gets(status, members[i]);
		if (value) {
			buf_printf(&out, "\"%s\":", members[i]);
			json_encode(&out, value);
			buf_addc(&out, ',');
		}
	}
	q->audit->event.status = arena_dup(http_arena(q->x), buf_str(&out));
}

struct buf *request_audit_wanted_answer(struct request *q)
{
	bool is_wanted = request_audit_at_least(q, AUDIT_REQUEST_RESPONSE) && !q->audit->is_bare && q->audit->answered.n == 0;

	return is_wanted ? &q->audit->answered : NULL;
}

static void request_audit_strip_answer(struct request_audit *e)
{
	struct arena a;
	struct json *j;
	struct buf out;
	size_t at;

	if (!e->decision.omits_managed_fields || e->answered.n == 0 || e->answered.is_over) {
		return;
	}
	arena_init(&a, STRIP_MAX);
	buf_init(&out, AUDIT_EVENT_MAX);
	/* An answer nests deeper than what is stored in it: a list, or a table's row, is around
	 * it. */
	const struct json_limits limits = {.depth = JSON_LIMITS_DEFAULT.depth * 2, .values = STRIP_VALUES_MAX};
	if (json_parse(&j, &a, buf_str(&e->answered), limits, &at) == 0) {
		json_encode(&out, audit_without_managed_fields(&a, j));
	} else {
		out.is_over = true;
	}
	buf_done(&e->answered);
	e->answered = out;
	arena_done(&a);
}

/* A text that did not fit is no JSON. */
static void request_audit_settle(struct request_audit *e)
{
	struct buf *const bodies[] = {&e->sent, &e->answered};
	bool is_cut = false;

	if (e->is_settled) {
		return;
	}
	e->is_settled = true;
	/* Cuts the newline at the answer's end: in an event it is not part of the object. */
	struct buf *b = &e->answered;

	if (b->n > 0 && b->p[b->n - 1] == '\n') {
		buf_truncate(b, b->n - 1);
	}
	request_audit_strip_answer(e);
	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		if (bodies[i]->is_over) {
			buf_done(bodies[i]);
			is_cut = true;
		}
	}
	if (is_cut) {
		audit_event_annotate(&e->event, AUDIT_TRUNCATED, STR("true"));
	}
}

static void request_audit_set_code(struct request_audit *e, unsigned code)
{
	e->event.has_status = true;
	e->event.code = code;
}

void request_audit_started(struct request *q, unsigned code)
{
	struct request_audit *e = q->audit;

	if (!e || e->has_started || !(e->is_long_running || e->is_unrecognized)) {
		return;
	}
	e->has_started = true;
	request_audit_set_code(e, code);
	request_audit_settle(e);
	request_audit_write(q, AUDIT_RESPONSE_STARTED);
}

/* As Go prints a duration of half a second and more. */
static struct str duration_text(struct request *q, int64_t ns)
{
	double seconds = (double)ns / 1e9;

	if (ns < 1000000000) {
		return arena_printf(q->a, "%.9gms", (double)ns / 1e6);
	}
	int64_t minutes = ns / 60000000000;
	if (minutes == 0) {
		return arena_printf(q->a, "%.10gs", seconds);
	}
	return arena_printf(q->a, "%lldm%.10gs", (long long)minutes, seconds - 60.0 * (double)minutes);
}

static void request_audit_explain_slowness(struct request *q)
{
	struct request_audit *e = q->audit;
	int64_t total_ns = clock_mono_ns() - http_started_ns(q->x);

	if (e->is_long_running || total_ns <= SLOW_MS * 1000000LL) {
		return;
	}
	int64_t etcd_ns = q->timing.cache_ns + q->timing.etcd_ns;
	if (etcd_ns > 0) {
		audit_event_annotate(&e->event, "apiserver.latency.k8s.io/etcd", duration_text(q, etcd_ns));
	}
	audit_event_annotate(&e->event, "apiserver.latency.k8s.io/total", duration_text(q, total_ns));
}

/* Completes the event of a client that went away before there was an answer, as upstream does. */
static void request_audit_finish(struct request *q)
{
	struct request_audit *e = q->audit;
	unsigned code = http_status(q->x);

	if (code == 0) {
		e->event.status = STR("\"status\":\"Success\",\"message\":\"Connection closed early\",");
		code = 200;
	}
	request_audit_started(q, code);
	if (e->is_unrecognized) {
		return;
	}
	request_audit_set_code(e, code);
	request_audit_settle(e);
	request_audit_explain_slowness(q);
	request_audit_write(q, AUDIT_RESPONSE_COMPLETE);
}

void request_audit_end(struct request *q)
{
	request_audit_finish(q);
	buf_done(&q->audit->sent);
	buf_done(&q->audit->answered);
}
