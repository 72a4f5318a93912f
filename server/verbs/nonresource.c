/* What is not about objects: discovery, OpenAPI, version, health, metrics. None of it depends on etcd, but for what health says of it. */
#include "server/verbs/verbs.h"

#include "server/request/agreed_version.h"
#include "server/request/request.h"
#include "server/request/request_audit.h"
#include "server/request/respond.h"
#include "server/verbs/health.h"

#include <stdlib.h>
#include <sys/utsname.h>

typedef void (*path_fn)(struct request *q);

static bool is_read(const struct request *q)
{
	return q->route.method == METHOD_GET || q->route.method == METHOD_HEAD;
}

static struct str path_without_slash(const struct request *q)
{
	struct str path = q->route.path;

	if (path.n > 1 && path.p[path.n - 1] == '/') {
		path.n--;
	}
	return path;
}

/* ---- documents kept as bytes ---- */

struct document {
	struct bytes *body, *body_gzip;
	const struct media *media;   /* may change its form; NULL: sent as it is */
	struct str content_type, etag;
	const char *cache_control;
	bool varies;
};

/* A reference. */
static struct bytes *document_in_form(const struct document *d)
{
	struct buf shown;

	buf_init(&shown, RESPONSE_CEILING);
	media_write(&shown, d->media, bytes_str(d->body));
	struct bytes *body = bytes_dup(buf_str(&shown));
	buf_done(&shown);
	return body;
}

static void reply_document(struct request *q, const struct document *d)
{
	bool is_known = d->etag.n > 0 && str_eq(http_header(q->x, "If-None-Match"), d->etag);
	bool is_packed = d->body_gzip && q->media.accepts_gzip;
	struct bytes *body;

	http_add_header(q->x, "Audit-Id", q->audit_id);
	http_add_header(q->x, "Cache-Control", str_of(d->cache_control));
	http_add_header(q->x, "Content-Type", d->content_type);
	if (d->varies) {
		http_add_header(q->x, "Vary", STR("Accept"));
	}
	if (d->etag.n > 0) {
		http_add_header(q->x, "ETag", d->etag);
	}
	if (is_known) {
		http_reply(q->x, 304, STR(""));
		return;
	}
	if (d->media) {
		request_audit_answer_object(q, bytes_str(d->body));
	}
	if (d->media && (d->media->pretty || d->media->format != MEDIA_JSON)) {
		body = document_in_form(d);
	} else {
		body = bytes_ref(is_packed ? d->body_gzip : d->body);
		if (is_packed) {
			http_add_header(q->x, "Content-Encoding", STR("gzip"));
			http_add_header(q->x, "Vary", STR("Accept-Encoding"));
		}
	}
	http_reply_bytes(q->x, 200, &body, 1);
}

static int negotiate(struct request *q, unsigned allowed)
{
	return media_negotiate(&q->media, http_header(q->x, "Accept"), http_header(q->x, "Accept-Encoding"), http_header(q->x, "User-Agent"),
			       params_get(&q->route.params, "pretty"), allowed, q->a, &q->st);
}

static void discovery_not_found(struct request *q, const struct discovery *d)
{
	if (!discovery_has_group(d, path_without_slash(q))) {
		reply_page_not_found(q);
		return;
	}
	status_route_not_found(&q->st);
	reply_status(q);
}

/* The aggregated form exists of the roots only: of a group or version it is not acceptable. */
static void serve_discovery(struct request *q)
{
	_cleanup_(discovery_unrefp) struct discovery *d = agreed_version_discovery(q->server);
	struct str path = path_without_slash(q);
	struct discovery_answer answer;

	if (!discovery_find(&answer, d, path, false)) {
		discovery_not_found(q, d);
		return;
	}
	if (answer.only_get && q->route.method != METHOD_GET) {
		status_method_not_allowed(&q->st);
		reply_status(q);
		return;
	}
	bool has_aggregated = discovery_find(&answer, d, path, true);
	/* Upstream's aggregator answers for the groups, without a router's look at Accept. */
	unsigned unrouted = answer.only_get || str_is(path, "/api") ? 0 : ALLOW_UNROUTED;
	if (negotiate(q, unrouted | (has_aggregated ? ALLOW_DISCOVERY : 0))) {
		reply_status(q);
		return;
	}
	discovery_find(&answer, d, path, q->media.as == AS_DISCOVERY);
	struct document document = {.body = answer.body,
				    .media = &q->media,
				    .content_type = media_content_type(&q->media),
				    .etag = answer.etag,
				    .cache_control = answer.is_public ? "public" : "no-cache, private",
				    .varies = answer.is_public};
	reply_document(q, &document);
}

/* Upstream has no body for those. */
static void reply_empty(struct request *q, unsigned code)
{
	http_add_header(q->x, "Audit-Id", q->audit_id);
	http_add_header(q->x, "Cache-Control", STR("no-cache, private"));
	http_reply(q->x, code, STR(""));
}

/* A slash at the end is one too many, also behind /openapi/v3. */
static void serve_openapi(struct request *q)
{
	struct openapi_answer answer;
	enum openapi_result result = openapi_find(&answer, q->server->openapi, q->route.path,
						  params_get(&q->route.params, "hash"), http_header(q->x, "Accept"));

	if (result != OPENAPI_OK) {
		reply_empty(q, result == OPENAPI_NOT_FOUND ? 404 : 406);
		return;
	}
	http_add_header(q->x, "Last-Modified", answer.last_modified);
	struct document d = {.body = answer.body,
			     .body_gzip = answer.body_gzip,
			     .content_type = answer.content_type,
			     .etag = answer.etag,
			     .cache_control = answer.is_immutable ? "public, immutable" : "no-cache, private",
			     .varies = answer.etag.n > 0};
	reply_document(q, &d);
}

/* ---- version, metrics, the index ---- */

/* Upstream's route makes JSON only, and writes it indented. */
static int version_admit(struct request *q)
{
	if (q->route.path.n > strlen("/version/")) {
		status_route_not_found(&q->st);
		return 1;
	}
	if (q->route.method != METHOD_GET) {
		status_method_not_allowed(&q->st);
		return 1;
	}
	if (negotiate(q, 0) || q->media.format != MEDIA_JSON) {
		status_set(&q->st, 406, REASON_NOT_ACCEPTABLE, "406: Not Acceptable\n\nAvailable representations: application/json");
		q->st.has_details = true;
		return 1;
	}
	q->media.pretty = true;
	return 0;
}

static void serve_version(struct request *q)
{
	struct utsname machine;
	struct json *v = json_object(q->a);
	struct str version = q->server->options.version;

	if (version_admit(q)) {
		reply_status(q);
		return;
	}
	request_audit_answer_bare(q);
	uname(&machine);
	const struct {
		const char *name;
		struct str value;
	} rows[] = {
		{"major", STR("1")},
		{"minor", STR("36")},
		{"emulationMajor", STR("1")},
		{"emulationMinor", STR("36")},
		{"minCompatibilityMajor", STR("1")},
		{"minCompatibilityMinor", STR("35")},
		{"gitVersion", version},
		{"gitCommit", STR(ANNALS_COMMIT)},
		{"gitTreeState", STR("clean")},
		{"buildDate", STR(ANNALS_BUILD_DATE)},
		{"goVersion", STR("none")},
		{"compiler", STR(__VERSION__)},
		{"platform", arena_printf(q->a, "linux/%s", str_is(str_of(machine.machine), "x86_64") ? "amd64" : machine.machine)},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_add(q->a, v, str_of(rows[i].name), json_string(q->a, rows[i].value));
	}
	reply_json(q, 200, v);
}

static void serve_metrics(struct request *q)
{
	struct buf out;

	buf_init(&out, (size_t)16 << 20);
	metrics_write(q->server->metrics, &out);
	reply_headers(q, STR("text/plain; version=0.0.4; charset=utf-8"));
	reply_buf(q, 200, &out);
}

enum { DISCOVERY_PATHS_MAX = 256 };

static int path_cmp(const void *a, const void *b)
{
	const struct str *x = a, *y = b;

	return str_cmp(*x, *y);
}

static void serve_index(struct request *q)
{
	static const char *const fixed[] = {"/healthz", "/livez", "/metrics", "/openapi/v2", "/openapi/v3", "/readyz", "/version"};
	_cleanup_(discovery_unrefp) struct discovery *d = agreed_version_discovery(q->server);
	struct json *o = json_object(q->a), *list = json_array(q->a);
	struct str found[DISCOVERY_PATHS_MAX + ARRAY_SIZE(fixed)];
	size_t n = 0;

	for (size_t i = 0; n < DISCOVERY_PATHS_MAX && discovery_next_path(d, &i, &found[n]);) {
		n++;
	}
	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++) {
		found[n++] = str_of(fixed[i]);
	}
	request_audit_answer_bare(q);
	qsort(found, n, sizeof(found[0]), path_cmp);
	for (size_t i = 0; i < n; i++) {
		json_append(q->a, list, json_string(q->a, found[i]));
	}
	json_add(q->a, o, STR("paths"), list);
	reply_json(q, 200, o);
}

/* ---- dispatch ---- */

static const struct {
	const char *path;
	bool is_prefix;              /* also what is below it */
	bool any_method;             /* kube answers every method alike (surprises.md 62) */
	path_fn fn;
} paths[] = {
	{"/", false, true, serve_index},
	{"/index.html", false, true, serve_index},
	{"/api", true, true, serve_discovery},
	{"/apis", true, true, serve_discovery},
	{"/openapi/v2", false, true, serve_openapi},
	{"/openapi/v3", true, true, serve_openapi},
	{"/version", true, true, serve_version},
	{"/metrics", false, true, serve_metrics},
	{"/healthz", true, true, health_serve},
	{"/livez", true, true, health_serve},
	{"/readyz", true, true, health_serve},
};

static bool path_is_below(struct str path, struct str prefix)
{
	return str_starts(path, prefix) && path.n > prefix.n && path.p[prefix.n] == '/';
}

void nonresource(struct request *q)
{
	struct str path = path_without_slash(q);

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		struct str own = str_of(paths[i].path);
		bool is_it = paths[i].is_prefix ? str_eq(path, own) || path_is_below(path, own) : str_eq(q->route.path, own);
		if (is_it && (paths[i].any_method || is_read(q))) {
			paths[i].fn(q);
			return;
		}
	}
	reply_page_not_found(q);
}
