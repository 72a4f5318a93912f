/* Two questions are kept apart: would a restart help (livez), and can this replica serve now
 * (readyz, healthz)? etcd being gone answers only the second: kubelets that restarted every replica
 * would not bring it back (docs/reference/deviations.md). All checks read what is known; none waits. */
#include "server/verbs/health.h"

#include "server/request/agreed_version.h"
#include "server/request/respond.h"

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

/* Who is told "ready" may create objects at once. */
static const char *check_namespaces(struct request *q)
{
	const struct server *s = q->server;
	bool is_missing = s->options.is_standalone && !atomic_load(&s->has_namespaces);
	return is_missing ? "the first namespaces have not been made yet" : NULL;
}

/* Of what is asked of the cluster (api/model/delegates.h), the first thing that is missing. */
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
	bool is_aggregated; /* of that mode alone */
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

void health_serve(struct request *q)
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
