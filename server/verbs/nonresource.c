/* Paths that are not about objects: discovery, OpenAPI, version, health, metrics. Only health looks at etcd's state. */
#include "server/verbs/verbs.h"

#include "server/request/agreed_version.h"
#include "server/request/request_audit.h"
#include "server/request/respond.h"

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
	struct str path = path_without_slash(q), rest = path, group = STR("");

	if (str_starts(path, STR("/apis/"))) {
		str_cut((struct str){path.p + strlen("/apis/"), path.n - strlen("/apis/")}, '/', &group, &rest);
	}
	if (!discovery_has_group(d, path) || !group_is_of_program(group, q->server->options.is_standalone)) {
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
	struct openapi_answer answer = {0};
	enum openapi_result result = openapi_find(&answer, q->server->openapi, q->route.path,
						  params_get(&q->route.params, "hash"), http_header(q->x, "Accept"));

	if (result == OPENAPI_NOT_ACCEPTABLE) {
		http_add_header(q->x, "Vary", STR("Accept"));
	}
	if (result != OPENAPI_OK) {
		reply_empty(q, result == OPENAPI_NOT_FOUND ? 404 : 406);
		return;
	}
	http_add_header(q->x, "Last-Modified", answer.last_modified);
	struct document d = {.body = answer.body,
		.body_gzip = answer.body_gzip,
		.content_type = answer.content_type,
		.etag = arena_dup(q->a, answer.etag),
		.cache_control = answer.is_immutable ? "public, immutable" : "no-cache, private",
		.varies = answer.etag.n > 0};
	reply_document(q, &d);
	openapi_answer_done(&answer);
}

/* ---- version, metrics, the index ---- */

/* Upstream's route looks for JSON among the types that are accepted, and ignores their order and parameters. It writes indented JSON. */
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
	if (!media_accepts_json(http_header(q->x, "Accept"))) {
		status_set(&q->st, 406, REASON_NOT_ACCEPTABLE, "406: Not Acceptable\n\nAvailable representations: application/json");
		q->st.has_details = true;
		return 1;
	}
	q->media = (struct media){.format = MEDIA_JSON, .pretty = true};
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

/* Paths of groups and versions that / lists; there are two for each version. */
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
	q->media = (struct media){.format = MEDIA_JSON, .pretty = true}; /* whatever is accepted */
	reply_json(q, 200, o);
}

/* ---- health: /livez, /readyz, /healthz and their single checks, with ?verbose and ?exclude as kube-apiserver has them ---- */

/* Two questions are kept apart: would a restart help (livez), and can this replica serve now
 * (readyz, healthz)? etcd being gone answers only the second: kubelets that restarted every replica
 * would not bring it back (docs/reference/deviations.md). All checks read what is known; none waits. */
enum health_endpoint { HEALTHZ = 1 << 0, LIVEZ = 1 << 1, READYZ = 1 << 2 };

/* NULL: fine; else what is wrong. */
static const char *check_ping(struct request *q)
{
	(void)q;
	return NULL;
}

static const char *check_etcd(struct request *q)
{
	const struct server *s = q->server;

	if (!cache_is_ready(s->options.cache)) {
		return "etcd has not been read yet";
	}
	return cache_is_connected(s->options.cache) ? NULL : "the connection to etcd is lost";
}

static const char *check_etcd_alive(struct request *q)
{
	/* Restarting this server would not bring etcd back. */
	(void)q;
	return NULL;
}

/* After "ready" a client may create objects at once. */
static const char *check_namespaces(struct request *q)
{
	const struct server *s = q->server;
	bool is_missing = s->options.is_standalone && !atomic_load(&s->has_namespaces);
	return is_missing ? "the first namespaces have not been made yet" : NULL;
}

/* Names the first thing that the cluster has not answered yet (api/model/delegates.h). */
static const char *check_cluster(struct request *q)
{
	const struct delegates *d = q->server->options.delegates;
	struct buf missing;
	struct str line, rest;

	if (!d || !d->write_missing) {
		return NULL;
	}
	buf_init(&missing, 65536);
	d->write_missing(d->ctx, &missing);
	str_cut(buf_str(&missing), '\n', &line, &rest);
	const char *ret = line.n > 0 ? arena_dup(q->a, line).p : NULL;
	buf_done(&missing);
	return ret;
}

static const char *check_shutdown(struct request *q)
{
	return atomic_load(&q->server->is_draining) ? "the server is shutting down" : NULL;
}

/* Reads go on, and another replica would have no more room: that is to be seen, and no reason to send anybody elsewhere. */
static const char *inform_alarms(struct request *q)
{
	const struct alarms *a = q->server->options.alarms;
	return a ? alarms_explain(a) : NULL;
}

static const struct check {
	const char *name;
	unsigned endpoints;
	const char *(*run)(struct request *q);
	bool is_aggregated;                       /* of that mode alone */
	const char *(*inform)(struct request *q); /* what is not well, and no failure */
} checks[] = {
	{"ping", HEALTHZ | LIVEZ | READYZ, check_ping, false, NULL},
	{"etcd", LIVEZ, check_etcd_alive, false, NULL},
	{"etcd", HEALTHZ | READYZ, check_etcd, false, NULL},
	{"etcd-readiness", READYZ, check_etcd, false, NULL},
	{"etcd-alarms", READYZ, check_ping, false, inform_alarms},
	{"namespaces", READYZ, check_namespaces, false, NULL},
	{"storage-versions", READYZ, agreed_version_check, false, NULL},
	{"cluster", READYZ, check_cluster, true, NULL},
	{"shutdown", READYZ, check_shutdown, false, NULL},
};

static bool is_excluded(struct request *q, const char *name)
{
	struct str *excluded;
	size_t n = params_all(&q->route.params, "exclude", q->a, &excluded);

	for (size_t i = 0; i < n; i++) {
		if (str_is(excluded[i], name)) {
			return true;
		}
	}
	return false;
}

static bool is_check(struct str name, unsigned endpoint)
{
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		if ((checks[i].endpoints & endpoint) && str_is(name, checks[i].name)) {
			return true;
		}
	}
	return false;
}

static void warn_unknown_exclusions(struct request *q, unsigned endpoint, struct buf *report)
{
	struct str *excluded;
	size_t n = params_all(&q->route.params, "exclude", q->a, &excluded);

	for (size_t i = 0; i < n; i++) {
		if (!is_check(excluded[i], endpoint)) {
			buf_printf(report, "warn: some health checks cannot be excluded: no matches for \"" STR_FMT "\"\n",
				STR_ARG(excluded[i]));
		}
	}
}

static void reply_health(struct request *q, unsigned code, struct str text)
{
	http_add_header(q->x, "X-Content-Type-Options", STR("nosniff"));
	reply_text(q, code, text);
}

static void serve_all(struct request *q, unsigned endpoint, const char *name)
{
	bool is_verbose = params_has(&q->route.params, "verbose"), is_healthy = true;
	struct buf report;

	buf_init(&report, 65536);
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		const struct check *c = &checks[i];
		const char *problem;
		if (!(c->endpoints & endpoint) || (c->is_aggregated && q->server->options.is_standalone)) {
			continue;
		}
		if (is_excluded(q, c->name)) {
			buf_printf(&report, "[+]%s excluded: ok\n", c->name);
			continue;
		}
		problem = c->run(q);
		is_healthy &= !problem;
		if (!problem && c->inform && c->inform(q)) {
			buf_printf(&report, "[+]%s ok, but %s\n", c->name, c->inform(q));
			continue;
		}
		buf_printf(&report, problem ? "[-]%s failed: %s\n" : "[+]%s ok\n", c->name, problem);
	}
	warn_unknown_exclusions(q, endpoint, &report);
	buf_printf(&report, "%s check %s\n", name, is_healthy ? "passed" : "failed");
	struct str text = arena_dup(q->a, buf_str(&report));
	buf_done(&report);
	reply_health(q, is_healthy ? 200 : 500, is_healthy && !is_verbose ? STR("ok") : text);
}

static void serve_one(struct request *q, unsigned endpoint, struct str name)
{
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		if ((checks[i].endpoints & endpoint) && str_is(name, checks[i].name)) {
			const char *problem = checks[i].run(q);
			if (problem) {
				reply_text(q, 500, arena_printf(q->a, "internal server error: %s\n", problem));
			} else {
				reply_text(q, 200, STR("ok"));
			}
			return;
		}
	}
	reply_page_not_found(q);
}

static void serve_health(struct request *q)
{
	static const struct {
		const char *path;
		unsigned endpoint;
	} rows[] = {{"healthz", HEALTHZ}, {"livez", LIVEZ}, {"readyz", READYZ}};
	struct str path = {q->route.path.p + 1, q->route.path.n - 1}, head, rest;

	bool is_one = str_cut(path, '/', &head, &rest);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!str_is(head, rows[i].path)) {
			continue;
		}
		if (is_one) {
			serve_one(q, rows[i].endpoint, rest);
		} else {
			serve_all(q, rows[i].endpoint, rows[i].path);
		}
		return;
	}
	reply_page_not_found(q);
}

/* ---- which path is served by what ---- */

static const struct {
	const char *path;
	bool is_prefix;              /* also what is below it */
	bool any_method;             /* kube answers every method alike as long as the path is right */
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
	{"/healthz", true, true, serve_health},
	{"/livez", true, true, serve_health},
	{"/readyz", true, true, serve_health},
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
