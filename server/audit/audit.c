/* Upstream audits nothing unless it has both a policy and a log. So there is no struct audit then,
 * and whoever has something to tell asks one pointer. Counters are atomic, and the log has its own
 * queue: threads of requests take no lock here. */
#include "server/audit/audit.h"

#include "base/exposition.h"
#include "base/file.h"

#include <stdatomic.h>
#include <unistd.h>

/* Bytes. LINE_USUAL: of an event without bodies, so that a buffer need not grow. */
enum { POLICY_FILE_MAX = 1024 * 1024, LINE_USUAL = 1024 };

struct audit {
	struct audit_policy *policy;
	struct audit_log *log;
	size_t max_event;
	_Atomic uint64_t n_events, n_rejected, n_levels[AUDIT_LEVELS];
};

/* ---- life ---- */

static int read_policy(struct audit *a, const char *path, struct buf *err)
{
	_cleanup_(buf_done) struct buf text, why;

	buf_init(&text, POLICY_FILE_MAX);
	buf_init(&why, 64 * 1024);
	int r = file_read_path(path, &text);
	if (r) {
		buf_printf(err, "cannot read the audit policy file %s: %s", path, strerror(-r));
		return r;
	}
	r = audit_policy_parse(&a->policy, buf_str(&text), &why);
	if (r) {
		buf_printf(err, "audit policy file %s: " STR_FMT, path, STR_ARG(buf_str(&why)));
	}
	return r;
}

int audit_new(struct audit **ret, const struct audit_options *options, struct buf *err)
{
	struct audit *a = mem_new(struct audit);
	bool is_on = options->policy_file && options->log.file.path;
	int r = options->policy_file ? read_policy(a, options->policy_file, err) : 0;

	a->max_event = options->truncates ? (size_t)MIN(options->max_event_bytes, (int64_t)AUDIT_EVENT_MAX) : AUDIT_EVENT_MAX;
	if (!r && is_on) {
		r = audit_log_new(&a->log, &options->log, err);
	}
	if (r || !is_on) {
		audit_free(a);
		return r;
	}
	*ret = a;
	return 0;
}

void audit_flush(struct audit *a, int64_t until_ms)
{
	audit_log_flush(a->log, until_ms);
}

struct audit *audit_free(struct audit *a)
{
	if (a) {
		audit_log_free(a->log);
		audit_policy_free(a->policy);
		mem_free(a);
	}
	return NULL;
}

/* ---- metrics ---- */

static uint64_t count_of(_Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static void write_vector(struct buf *out, const char *name, const char *help, const char *label, const char *const *values,
	_Atomic uint64_t *counts, size_t n)
{
	bool has_header = false;

	for (size_t i = 0; i < n; i++) {
		uint64_t count = count_of(&counts[i]);
		if (count == 0) {
			continue;
		}
		if (!has_header) {
			exposition_head(out, name, "counter", help);
			has_header = true;
		}
		buf_printf(out, "%s{%s=\"%s\"} %llu\n", name, label, values[i], (unsigned long long)count);
	}
}

void audit_write_metrics(struct audit *a, struct buf *out)
{
	static const char *const plugins[] = {"log"};
	_Atomic uint64_t lost = a ? audit_log_lost(a->log) : 0;

	if (a) {
		write_vector(out, "apiserver_audit_error_total",
			"[ALPHA] Counter of audit events that failed to be audited properly. Plugin identifies the plugin "
			"affected by "
			"the error.",
			"plugin", plugins, &lost, 1);
		write_vector(out, "apiserver_audit_level_total",
			"[ALPHA] Counter of policy levels for audit events (1 per request).", "level", audit_level_names,
			a->n_levels, AUDIT_LEVELS);
	}
	exposition_counter(out, "apiserver_audit_event_total",
		"[ALPHA] Counter of audit events generated and sent to the audit backend.",
		a ? (double)count_of(&a->n_events) : 0);
	exposition_counter(out, "apiserver_audit_requests_rejected_total",
		"[ALPHA] Counter of apiserver requests rejected due to an error in audit logging backend.",
		a ? (double)count_of(&a->n_rejected) : 0);
}

/* ---- events ---- */

struct audit_decision audit_decide(struct audit *a, const struct authz_attributes *what)
{
	struct audit_decision decision = audit_policy_decide(a->policy, what);

	atomic_fetch_add_explicit(&a->n_levels[decision.level], 1, memory_order_relaxed);
	return decision;
}

bool audit_admits(struct audit *a)
{
	if (audit_log_has_room(a->log)) {
		return true;
	}
	atomic_fetch_add_explicit(&a->n_rejected, 1, memory_order_relaxed);
	return false;
}

/* True when it was taken. */
static bool event_hand_over(struct audit *a, const struct audit_event *e, size_t max)
{
	_cleanup_(buf_done) struct buf line;

	buf_init(&line, max);
	buf_reserve(&line, MIN(max, LINE_USUAL + e->request_object.n + e->response_object.n));
	/* Control bytes are escaped: a terminal that shows the log must not obey a client. */
	return audit_event_encode(&line, e) && json_escape_controls(&line, 0) && audit_log_append(a->log, buf_str(&line));
}

void audit_write(struct audit *a, const struct audit_event *e)
{
	struct audit_event bare = *e;
	bool has_bodies = e->request_object.n > 0 || e->response_object.n > 0;

	atomic_fetch_add_explicit(&a->n_events, 1, memory_order_relaxed);
	if (event_hand_over(a, e, has_bodies ? a->max_event : AUDIT_EVENT_MAX)) {
		return;
	}
	/* Who did what is worth more than the bodies: so it is tried once more without them. */
	bare.request_object = bare.response_object = STR("");
	if (has_bodies) {
		audit_event_annotate(&bare, AUDIT_TRUNCATED, STR("true"));
	}
	if (!has_bodies || !event_hand_over(a, &bare, AUDIT_EVENT_MAX)) {
		audit_log_count_lost(a->log);
	}
}
