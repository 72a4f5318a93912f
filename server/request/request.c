/* Small questions that all phases ask of their request. What follows from the route is made from it
 * when it is asked for: a second copy would have to be kept in step. */
#include "server/request/request.h"

#include "api/apply/managed.h"
#include "base/clock.h"
#include "server/request/agreed_version.h"
#include "server/request/respond.h"

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
		return agreed_version_can_read(q);
	}
	status_set(&q->st, 503, REASON_SERVICE_UNAVAILABLE, "the storage is being read for the first time; try again");
	q->st.retry_after_s = RETRY_AFTER_S;
	reply_status(q);
	return false;
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

	/* Once: a write that is decided again must make the same object. */
	if (q->now.n == 0) {
		time_format_rfc3339(text, clock_wall_s());
		q->now = arena_dup(http_arena(q->x), str_of(text));
	}
	return q->now;
}
