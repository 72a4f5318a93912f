/* What is counted of a request when it is over, with kube-apiserver's labels: only requests that a route has taken count there, so those
 * that are refused before (401, 403, unknown paths and resources, 405, 406) do not, but for those that are too many. */
#include "server/request/request_metrics.h"

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

/* Of RequestInfo: what is created is one resource, a namespace too. */
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
		.version = r->version,
		.resource = r->resource,
		.subresource = r->sub ? r->subresource : STR(""),
		.scope = scope_label(r),
		.dry_run = dry_run_label(r),
		.component = STR("apiserver"),
	};
}

/* Of paths that are no resources, upstream counts health and OpenAPI v3. */
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
		counted.is_deprecated = r->door->deprecation != NULL;
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
	} rows[] = {{VERB_CREATE, "create"}, {VERB_UPDATE | VERB_PATCH, "update"}, {VERB_DELETE | VERB_DELETECOLLECTION, "delete"},
		{VERB_GET, "get"}, {VERB_LIST | VERB_WATCH, "list"}};

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
