/* Counters of requests, and the gauges that a scrape asks for: the process, objects, certificates.
 * Requests are counted by atomic additions alone; the one lock is for the list of sources. Nobody
 * cares about the order between counters, so all of them are relaxed. Only a few user names are
 * distinguished, as upstream does: a label for each user would be a series for each. */
#include "server/metrics/metrics.h"
#include "api/model/storage_version.h"
#include "base/clock.h"
#include "base/exposition.h"
#include "base/file.h"
#include "server/metrics/certificate_metrics.h"
#include "server/metrics/object_metrics.h"

#include <assert.h>
#include <dirent.h>
#include <gnutls/x509.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- series ----
 *
 * A slot of the table changes once, from NULL to a series that stays, so neither counting nor
 * writing needs a lock. If two threads add the same labels, the loser frees its own. Half of the
 * slots stay free, which keeps searches short; labels beyond that count in one series for the
 * rest. */

enum {
	SERIES_MAX = 4096, /* a power of two */
	CODES_MAX = 24,    /* HTTP codes of one label set; further ones count under the last */
};

struct code_count {
	_Atomic unsigned code; /* 0: free */
	_Atomic uint64_t n;
};

/* A published series stays until the table is freed. A set of labels has only a few of them: requests have those of a request, events of watches
 * those of a resource's version, etcd those of an operation. */
struct series {
	struct metrics_labels labels; /* owned text */
	struct code_count codes[CODES_MAX];
	struct histogram durations, indicators, sizes, event_sizes, etcd, read_waits;
	_Atomic uint64_t n_terminated, n_initial, n_terminated_watches, n_etcd_errors;
	_Atomic int64_t longrunning;
	_Atomic bool was_longrunning, is_deprecated;
};

struct series_table {
	_Atomic(struct series *) slots[SERIES_MAX]; /* open addressing; entries are added, never removed */
	_Atomic size_t n;
	struct series other; /* when the table is full */
};

enum { LABELS_MAX = 4096 }; /* bytes of one set as written */

/* ---- kube-apiserver's bounds (pkg/endpoints/metrics, pkg/endpoints/filters), so that its dashboards and recording rules fit ---- */

static const double seconds[] = {
	0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60};
static const double sizes[] = {1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
static const double event_sizes[] = {1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072};
static const double attempts[] = {
	0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096, 8.192, 16.384};
static const double read_waits[] = {0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3};

static const struct bounds duration_bounds = {seconds, ARRAY_SIZE(seconds), 1e9};
static const struct bounds indicator_bounds = {seconds + 2, ARRAY_SIZE(seconds) - 2, 1e9};
static const struct bounds size_bounds = {sizes, ARRAY_SIZE(sizes), 1};
static const struct bounds event_size_bounds = {event_sizes, ARRAY_SIZE(event_sizes), 1};
static const struct bounds attempt_bounds = {attempts, ARRAY_SIZE(attempts), 1e9};
static const struct bounds read_wait_bounds = {read_waits, ARRAY_SIZE(read_waits), 1e9};

/* ---- label sets ---- */

enum series_label { COMPONENT, DRY_RUN, GROUP, RESOURCE, SCOPE, SUBRESOURCE, VERB, VERSION, LABELS };

struct label_field {
	const char *name;
	size_t offset; /* in struct metrics_labels */
};

/* In Prometheus' customary order: by name. */
static const struct label_field label_fields[LABELS] = {
	[COMPONENT] = {"component", offsetof(struct metrics_labels, component)},
	[DRY_RUN] = {"dry_run", offsetof(struct metrics_labels, dry_run)},
	[GROUP] = {"group", offsetof(struct metrics_labels, group)},
	[RESOURCE] = {"resource", offsetof(struct metrics_labels, resource)},
	[SCOPE] = {"scope", offsetof(struct metrics_labels, scope)},
	[SUBRESOURCE] = {"subresource", offsetof(struct metrics_labels, subresource)},
	[VERB] = {"verb", offsetof(struct metrics_labels, verb)},
	[VERSION] = {"version", offsetof(struct metrics_labels, version)},
};

static struct str *label(const struct metrics_labels *l, size_t i)
{
	return (struct str *)(void *)((char *)(uintptr_t)l + label_fields[i].offset);
}

static uint64_t labels_hash(const struct metrics_labels *l)
{
	uint64_t hash = 0;
	for (size_t i = 0; i < LABELS; i++) {
		hash = hash * 0x100000001b3 + str_hash(*label(l, i));
	}
	return hash ^ hash >> 32;
}

static bool labels_equal(const struct metrics_labels *a, const struct metrics_labels *b)
{
	bool is_equal = true;
	for (size_t i = 0; i < LABELS && is_equal; i++) {
		is_equal = str_eq(*label(a, i), *label(b, i));
	}
	return is_equal;
}

static struct series *series_new(const struct metrics_labels *labels)
{
	struct series *s = mem_new(struct series);
	for (size_t i = 0; i < LABELS; i++) {
		struct str text = *label(labels, i);
		*label(&s->labels, i) = (struct str){mem_strndup(text.p, text.n), text.n};
	}
	return s;
}

static struct series *series_free(struct series *s)
{
	if (s) {
		for (size_t i = 0; i < LABELS; i++) {
			mem_free((void *)(uintptr_t)label(&s->labels, i)->p);
		}
		mem_free(s);
	}
	return NULL;
}

/* Puts a new series into a free slot; whoever else did so first is returned instead. */
static struct series *slot_fill(struct series_table *t, _Atomic(struct series *) *slot, const struct metrics_labels *labels)
{
	struct series *fresh, *there = NULL;
	if (atomic_fetch_add_explicit(&t->n, 1, memory_order_relaxed) >= SERIES_MAX / 2) {
		atomic_fetch_sub_explicit(&t->n, 1, memory_order_relaxed);
		return &t->other;
	}
	fresh = series_new(labels);
	if (atomic_compare_exchange_strong_explicit(slot, &there, fresh, memory_order_acq_rel, memory_order_acquire)) {
		return fresh;
	}
	atomic_fetch_sub_explicit(&t->n, 1, memory_order_relaxed);
	series_free(fresh);
	return there;
}

static struct series *series_find(struct series_table *t, const struct metrics_labels *labels)
{
	for (uint64_t at = labels_hash(labels);; at++) {
		_Atomic(struct series *) *slot = &t->slots[at % SERIES_MAX];
		struct series *s = atomic_load_explicit(slot, memory_order_acquire);
		if (!s) {
			/* Somebody else may have filled it meanwhile, with other labels: then the
			 * search goes on. */
			s = slot_fill(t, slot, labels);
		}
		if (s == &t->other || labels_equal(&s->labels, labels)) {
			return s;
		}
	}
}

static void series_count_code(struct series *s, unsigned code)
{
	for (size_t i = 0; i < CODES_MAX; i++) {
		struct code_count *c = &s->codes[i];
		unsigned there = atomic_load_explicit(&c->code, memory_order_relaxed);
		if (there == 0 &&
			atomic_compare_exchange_strong_explicit(
				&c->code, &there, code, memory_order_relaxed, memory_order_relaxed)) {
			there = code;
		}
		/* A code takes a free place for good, as labels take a slot. */
		if (there == code || i == CODES_MAX - 1) {
			atomic_fetch_add_explicit(&c->n, 1, memory_order_relaxed);
			return;
		}
	}
}

/* ---- writing ---- */

static void add_label_value(struct buf *out, struct str value)
{
	for (size_t i = 0; i < value.n; i++) {
		char c = value.p[i];
		if (c == '\n') {
			BUF_LITERAL(out, "\\n");
			continue;
		}
		if (c == '"' || c == '\\') {
			buf_addc(out, '\\');
		}
		buf_addc(out, c);
	}
}

static uint64_t loaded(const _Atomic uint64_t *n)
{
	return atomic_load_explicit(n, memory_order_relaxed);
}

static void write_codes(struct buf *out, const char *name, const struct series *s, const char *labels)
{
	for (size_t i = 0; i < CODES_MAX; i++) {
		uint64_t n = loaded(&s->codes[i].n);
		if (n > 0) {
			buf_printf(out, "%s{code=\"%u\",%s} %llu\n", name,
				atomic_load_explicit(&s->codes[i].code, memory_order_relaxed), labels, (unsigned long long)n);
		}
	}
}

static void write_durations(struct buf *out, const char *name, const struct series *s, const char *labels)
{
	histogram_write(out, name, &s->durations, &duration_bounds, labels);
}

static void write_indicators(struct buf *out, const char *name, const struct series *s, const char *labels)
{
	histogram_write(out, name, &s->indicators, &indicator_bounds, labels);
}

static void write_sizes(struct buf *out, const char *name, const struct series *s, const char *labels)
{
	histogram_write(out, name, &s->sizes, &size_bounds, labels);
}

static void write_event_sizes(struct buf *out, const char *name, const struct series *s, const char *labels)
{
	histogram_write(out, name, &s->event_sizes, &event_size_bounds, labels);
}

static void write_etcd(struct buf *out, const char *name, const struct series *s, const char *labels)
{
	histogram_write(out, name, &s->etcd, &duration_bounds, labels);
}

static void write_count(struct buf *out, const char *name, uint64_t n, const char *labels)
{
	if (n > 0) {
		buf_printf(out, "%s{%s} %llu\n", name, labels, (unsigned long long)n);
	}
}

static void write_events(struct buf *out, const char *name, const struct series *s, const char *labels)
{
	write_count(out, name, histogram_count(&s->event_sizes, &event_size_bounds), labels);
}

static void write_initial(struct buf *out, const char *name, const struct series *s, const char *labels)
{
	write_count(out, name, loaded(&s->n_initial), labels);
}

static void write_terminated_watches(struct buf *out, const char *name, const struct series *s, const char *labels)
{
	write_count(out, name, loaded(&s->n_terminated_watches), labels);
}

static void write_read_waits(struct buf *out, const char *name, const struct series *s, const char *labels)
{
	histogram_write(out, name, &s->read_waits, &read_wait_bounds, labels);
}

static void write_etcd_errors(struct buf *out, const char *name, const struct series *s, const char *labels)
{
	write_count(out, name, loaded(&s->n_etcd_errors), labels);
}

static void write_etcd_requests(struct buf *out, const char *name, const struct series *s, const char *labels)
{
	write_count(out, name, histogram_count(&s->etcd, &duration_bounds), labels);
}

static void write_deprecated(struct buf *out, const char *name, const struct series *s, const char *labels)
{
	write_count(out, name, atomic_load_explicit(&s->is_deprecated, memory_order_relaxed), labels);
}

static void write_terminations(struct buf *out, const char *name, const struct series *s, const char *labels)
{
	uint64_t n = loaded(&s->n_terminated);
	if (n > 0) {
		buf_printf(out, "%s{code=\"429\",%s} %llu\n", name, labels, (unsigned long long)n);
	}
}

static void write_longrunning(struct buf *out, const char *name, const struct series *s, const char *labels)
{
	if (atomic_load_explicit(&s->was_longrunning, memory_order_relaxed)) {
		buf_printf(out, "%s{%s} %lld\n", name, labels,
			(long long)atomic_load_explicit(&s->longrunning, memory_order_relaxed));
	}
}

#define OF_EVENT (1u << GROUP | 1u << RESOURCE | 1u << VERSION)
#define OF_RESOURCE (OF_EVENT | 1u << SUBRESOURCE)
#define OF_REQUEST (OF_RESOURCE | 1u << COMPONENT | 1u << SCOPE | 1u << VERB)
#define OF_ETCD (1u << GROUP | 1u << RESOURCE)

/* The metrics that are written for each label set, and their labels. */
struct family {
	const char *name, *type, *help;
	unsigned labels; /* a bit for each enum series_label */
	void (*write)(struct buf *out, const char *name, const struct series *s, const char *labels);
	const char *
		after_group; /* a label that is no other family's: the operation, which is in place of a verb; one that is empty */
};

static const struct family series_families[] = {
	{"apiserver_request_total", "counter",
		"[STABLE] Counter of apiserver requests broken out for each verb, dry run value, group, version, resource, "
		"scope, component, "
		"and HTTP response code.",
		OF_REQUEST | 1u << DRY_RUN, write_codes, NULL},
	{"apiserver_request_duration_seconds", "histogram",
		"[STABLE] Response latency distribution in seconds for each verb, dry run value, group, version, resource, "
		"subresource, "
		"scope and component.",
		OF_REQUEST | 1u << DRY_RUN, write_durations, NULL},
	{"apiserver_request_sli_duration_seconds", "histogram",
		"[ALPHA] Response latency distribution (not counting webhook duration and priority & fairness queue wait "
		"times) in seconds "
		"for each verb, group, version, resource, subresource, scope and component.",
		OF_REQUEST, write_indicators, NULL},
	{"apiserver_response_sizes", "histogram",
		"[STABLE] Response size distribution in bytes for each group, version, verb, resource, subresource, scope and "
		"component.",
		OF_REQUEST, write_sizes, NULL},
	{"apiserver_longrunning_requests", "gauge",
		"[STABLE] Gauge of all active long-running apiserver requests broken out by verb, group, version, resource, "
		"scope and "
		"component. Not all requests are tracked this way.",
		OF_REQUEST, write_longrunning, NULL},
	{"apiserver_request_terminations_total", "counter",
		"[ALPHA] Number of requests which apiserver terminated in self-defense.", OF_REQUEST, write_terminations, NULL},
	{"apiserver_requested_deprecated_apis", "gauge",
		"[STABLE] Gauge of deprecated APIs that have been requested, broken out by API group, version, resource, "
		"subresource, and "
		"removed_release.",
		OF_RESOURCE, write_deprecated, "removed_release"},
	{"apiserver_watch_events_total", "counter", "[ALPHA] Number of events sent in watch clients", OF_EVENT, write_events,
		NULL},
	{"apiserver_watch_events_sizes", "histogram", "[ALPHA] Watch event size distribution in bytes", OF_EVENT,
		write_event_sizes, NULL},
	{"apiserver_init_events_total", "counter",
		"[ALPHA] Counter of init events processed in watch cache broken by resource type.", OF_EVENT & ~(1u << VERSION),
		write_initial, NULL},
	{"apiserver_terminated_watchers_total", "counter",
		"[ALPHA] Counter of watchers closed due to unresponsiveness broken by resource type.",
		OF_EVENT & ~(1u << VERSION), write_terminated_watches, NULL},
	{"apiserver_watch_cache_read_wait_seconds", "histogram",
		"[ALPHA] Histogram of time spent waiting for a watch cache to become fresh.", OF_EVENT & ~(1u << VERSION),
		write_read_waits, NULL},
	{"etcd_requests_total", "counter", "[ALPHA] Etcd request counts for each operation and object type.", OF_ETCD,
		write_etcd_requests, "operation"},
	{"etcd_request_duration_seconds", "histogram",
		"[ALPHA] Etcd request latency in seconds for each operation and object type.", OF_ETCD, write_etcd,
		"operation"},
	{"etcd_request_errors_total", "counter", "[ALPHA] Etcd failed request counts for each operation and object type.",
		OF_ETCD, write_etcd_errors, "operation"},
};

static void add_label(struct buf *out, const char *name, struct str value)
{
	buf_printf(out, "%s%s=\"", out->n > 0 ? "," : "", name);
	add_label_value(out, value);
	buf_addc(out, '"');
}

static void add_labels(struct buf *out, const struct series *s, const struct family *f)
{
	for (size_t i = 0; i < LABELS; i++) {
		if (f->labels & 1u << i) {
			add_label(out, label_fields[i].name, *label(&s->labels, i));
		}
		if (i == GROUP && f->after_group) {
			add_label(out, f->after_group, str_is(str_of(f->after_group), "operation") ? s->labels.verb : STR(""));
		}
	}
}

static void write_one(struct buf *out, const struct family *f, const struct series *s)
{
	_cleanup_(buf_done) struct buf labels;
	buf_init(&labels, LABELS_MAX);
	add_labels(&labels, s, f);
	if (!labels.is_over) {
		f->write(out, f->name, s, labels.p);
	}
}

static void write_family(struct buf *out, const struct family *f, struct series_table *t)
{
	size_t start = out->n;
	exposition_head(out, f->name, f->type, f->help);
	size_t headed = out->n;
	for (size_t i = 0; i < SERIES_MAX; i++) {
		const struct series *s = atomic_load_explicit(&t->slots[i], memory_order_acquire);
		if (s) {
			write_one(out, f, s);
		}
	}
	write_one(out, f, &t->other);
	if (out->n == headed) {
		buf_truncate(out, start);
	}
}

/* ---- requests, users, sources ---- */

/* Parts of the program that add metrics of their own; a further one is a mistake of the developer. */
enum { SOURCES_MAX = 16, USERS = 7 };

struct source {
	void (*write)(void *ctx, struct buf *out);
	void *ctx;
};

struct metrics {
	struct series_table table;
	struct histogram attempts[ATTEMPTS];
	_Atomic uint64_t users[USERS];
	_Atomic int64_t inflight[2]; /* [is_mutating] */
	_Atomic uint64_t rejected[2];
	pthread_mutex_t lock; /* guards the sources */
	struct source sources[SOURCES_MAX];
	size_t n_sources;
};

/* ---- counting ---- */

static uint64_t ns_of(int64_t ns)
{
	return ns > 0 ? (uint64_t)ns : 0;
}

/* A family's values stand in the series that has its labels and no others: in two series they would come twice. */
static struct series *series_of_resource(struct metrics *m, const struct metrics_labels *l)
{
	const struct metrics_labels labels = {
		.group = l->group, .version = l->version, .resource = l->resource, .subresource = l->subresource};

	return series_find(&m->table, &labels);
}

void metrics_count_request(struct metrics *m, const struct metrics_request *r)
{
	struct series *s = series_find(&m->table, &r->labels);

	series_count_code(s, r->code);
	histogram_add(&s->durations, &duration_bounds, ns_of(r->duration_ns));
	if (!r->is_watch && r->labels.dry_run.n == 0) {
		histogram_add(&s->indicators, &indicator_bounds, ns_of(r->duration_ns));
	}
	if (r->is_read) {
		histogram_add(&s->sizes, &size_bounds, r->bytes);
	}
	if (r->is_deprecated) {
		atomic_store_explicit(&series_of_resource(m, &r->labels)->is_deprecated, true, memory_order_relaxed);
	}
}

void metrics_count_refused(struct metrics *m, const struct metrics_labels *labels, bool is_mutating)
{
	struct metrics_labels without_dry_run = *labels;

	without_dry_run.dry_run = STR("");
	series_count_code(series_find(&m->table, labels), 429);
	atomic_fetch_add_explicit(&series_find(&m->table, &without_dry_run)->n_terminated, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&m->rejected[is_mutating], 1, memory_order_relaxed);
}

void metrics_inflight(struct metrics *m, bool is_mutating, int delta)
{
	assert(delta == 1 || delta == -1);
	atomic_fetch_add_explicit(&m->inflight[is_mutating], delta, memory_order_relaxed);
}

void metrics_longrunning(struct metrics *m, const struct metrics_labels *labels, int delta)
{
	struct series *s = series_find(&m->table, labels);

	atomic_fetch_add_explicit(&s->longrunning, delta, memory_order_relaxed);
	atomic_store_explicit(&s->was_longrunning, true, memory_order_relaxed);
}

struct series *metrics_watched(struct metrics *m, struct str group, struct str version, struct str resource)
{
	return series_find(&m->table, &(struct metrics_labels){.group = group, .version = version, .resource = resource});
}

void metrics_count_event(struct series *watched, size_t bytes)
{
	histogram_add(&watched->event_sizes, &event_size_bounds, bytes);
}

void metrics_count_initial(struct series *watched)
{
	atomic_fetch_add_explicit(&watched->n_initial, 1, memory_order_relaxed);
}

void metrics_count_terminated(struct series *watched)
{
	atomic_fetch_add_explicit(&watched->n_terminated_watches, 1, memory_order_relaxed);
}

void metrics_count_read_wait(struct metrics *m, struct str group, struct str resource, int64_t duration_ns)
{
	histogram_add(&metrics_watched(m, group, STR(""), resource)->read_waits, &read_wait_bounds, ns_of(duration_ns));
}

void metrics_count_etcd(struct metrics *m, struct str operation, struct str group, struct str resource, int64_t duration_ns)
{
	const struct metrics_labels labels = {.verb = operation, .group = group, .resource = resource};

	histogram_add(&series_find(&m->table, &labels)->etcd, &duration_bounds, ns_of(duration_ns));
}

void metrics_count_etcd_error(struct metrics *m, struct str operation, struct str group, struct str resource)
{
	const struct metrics_labels labels = {.verb = operation, .group = group, .resource = resource};

	atomic_fetch_add_explicit(&series_find(&m->table, &labels)->n_etcd_errors, 1, memory_order_relaxed);
}

/* k8s.io/apiserver pkg/endpoints/filters compressUsername: names that are worth telling apart. */
static const char *const users[USERS] = {
	"admin", "client", "kube_proxy", "kubelet", "system:serviceaccount:kube-system:default", "email_id", "other"};

static size_t user_index(struct str name)
{
	for (size_t i = 0; i < USERS - 2; i++) {
		if (str_is(name, users[i])) {
			return i;
		}
	}
	return name.n > 0 && memchr(name.p, '@', name.n) ? USERS - 2 : USERS - 1;
}

void metrics_count_attempt(struct metrics *m, enum attempt attempt, struct str user, int64_t duration_ns)
{
	assert(attempt < ATTEMPTS);
	histogram_add(&m->attempts[attempt], &attempt_bounds, ns_of(duration_ns));
	if (attempt == ATTEMPT_SUCCESS) {
		atomic_fetch_add_explicit(&m->users[user_index(user)], 1, memory_order_relaxed);
	}
}

/* ---- writing ---- */

static void write_by_kind(
	struct buf *out, const char *name, const char *type, const char *help, double read_only, double mutating)
{
	exposition_head(out, name, type, help);
	exposition_sample(out, name, "request_kind=\"mutating\"", mutating);
	exposition_sample(out, name, "request_kind=\"readOnly\"", read_only);
}

static void write_load(struct buf *out, const struct metrics *m)
{
	write_by_kind(out, "apiserver_current_inflight_requests", "gauge", "[STABLE] Requests under way now, per request kind.",
		(double)atomic_load_explicit(&m->inflight[false], memory_order_relaxed),
		(double)atomic_load_explicit(&m->inflight[true], memory_order_relaxed));
	write_by_kind(out, "apiserver_rejected_requests_total", "counter",
		"Requests answered 429 because too many were under way.",
		(double)atomic_load_explicit(&m->rejected[false], memory_order_relaxed),
		(double)atomic_load_explicit(&m->rejected[true], memory_order_relaxed));
}

/* Attempts of one kind by their result: how many, and how long they took. */
struct attempts_family {
	const char *count, *count_help, *durations, *durations_help;
	struct {
		enum attempt attempt;
		const char *labels;
	} results[2];
};

static const struct attempts_family attempts_families[] = {
	{"authentication_attempts", "[ALPHA] Counter of authenticated attempts.", "authentication_duration_seconds",
		"[ALPHA] Authentication duration in seconds broken out by result.",
		{{ATTEMPT_ERROR, "result=\"error\""}, {ATTEMPT_SUCCESS, "result=\"success\""}}},
	{"authorization_attempts_total",
		"[ALPHA] Counter of authorization attempts broken down by result. It can be either 'allowed', 'denied', "
		"'no-opinion' or "
		"'error'.",
		"authorization_duration_seconds", "[ALPHA] Authorization duration in seconds broken out by result.",
		{{ATTEMPT_ALLOWED, "result=\"allowed\""}, {ATTEMPT_NO_OPINION, "result=\"no-opinion\""}}},
};

static uint64_t attempts_count(const struct histogram *h)
{
	uint64_t n = 0;

	for (size_t i = 0; i <= attempt_bounds.n; i++) {
		n += atomic_load_explicit(&h->buckets[i], memory_order_relaxed);
	}
	return n;
}

static void write_attempts(struct buf *out, const struct metrics *m, const struct attempts_family *f)
{
	exposition_head(out, f->count, "counter", f->count_help);
	for (size_t i = 0; i < ARRAY_SIZE(f->results); i++) {
		uint64_t n = attempts_count(&m->attempts[f->results[i].attempt]);
		if (n > 0) {
			exposition_sample(out, f->count, f->results[i].labels, (double)n);
		}
	}
	exposition_head(out, f->durations, "histogram", f->durations_help);
	for (size_t i = 0; i < ARRAY_SIZE(f->results); i++) {
		histogram_write(out, f->durations, &m->attempts[f->results[i].attempt], &attempt_bounds, f->results[i].labels);
	}
}

static void write_users(struct buf *out, const struct metrics *m)
{
	exposition_head(out, "authenticated_user_requests", "counter",
		"[ALPHA] Counter of authenticated requests broken out by username.");
	for (size_t i = 0; i < USERS; i++) {
		uint64_t n = atomic_load_explicit(&m->users[i], memory_order_relaxed);
		if (n > 0) {
			buf_printf(out, "authenticated_user_requests{username=\"%s\"} %llu\n", users[i], (unsigned long long)n);
		}
	}
}

/* Sources are only ever added: those counted under the lock may be called without it. */
static void write_sources(struct buf *out, struct metrics *m)
{
	pthread_mutex_lock(&m->lock);
	size_t n = m->n_sources;
	pthread_mutex_unlock(&m->lock);
	for (size_t i = 0; i < n; i++) {
		m->sources[i].write(m->sources[i].ctx, out);
	}
}

bool metrics_write(struct metrics *m, struct buf *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(series_families); i++) {
		write_family(out, &series_families[i], &m->table);
	}
	write_load(out, m);
	for (size_t i = 0; i < ARRAY_SIZE(attempts_families); i++) {
		write_attempts(out, m, &attempts_families[i]);
	}
	write_users(out, m);
	write_sources(out, m);
	return !out->is_over;
}

/* ---- life ---- */

struct metrics *metrics_new(void)
{
	struct metrics *m = mem_new(struct metrics);
	pthread_mutex_init(&m->lock, NULL);
	return m;
}

struct metrics *metrics_free(struct metrics *m)
{
	if (m) {
		for (size_t i = 0; i < SERIES_MAX; i++) {
			series_free(atomic_load_explicit(&m->table.slots[i], memory_order_relaxed));
		}
		pthread_mutex_destroy(&m->lock);
		mem_free(m);
	}
	return NULL;
}

void metrics_add_source(struct metrics *m, void (*write)(void *ctx, struct buf *out), void *ctx)
{
	assert(write);
	pthread_mutex_lock(&m->lock);
	assert(m->n_sources < SOURCES_MAX);
	m->sources[m->n_sources++] = (struct source){write, ctx};
	pthread_mutex_unlock(&m->lock);
}

/* ---- the process ---- */

/* The kernel is asked at each scrape. Names and texts are those of Prometheus' own client for Go:
 * its dashboards know no others. */

static void read_memory(double *ret_virtual, double *ret_resident)
{
	unsigned long total = 0, resident = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f) {
		if (fscanf(f, "%lu %lu", &total, &resident) != 2) {
			total = resident = 0;
		}
		fclose(f);
	}
	*ret_virtual = (double)total * (double)sysconf(_SC_PAGESIZE);
	*ret_resident = (double)resident * (double)sysconf(_SC_PAGESIZE);
}

/* Without the one that this takes. */
static double count_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	double n = -1;

	for (struct dirent *e; d && (e = readdir(d));) {
		n += e->d_name[0] != '.';
	}
	if (d) {
		closedir(d);
	}
	return n;
}

static double limit_of(__rlimit_resource_t resource)
{
	struct rlimit limit;

	return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? (double)limit.rlim_cur : -1;
}

void process_metrics_write(struct buf *out, int64_t started_s)
{
	double total, resident;

	read_memory(&total, &resident);
	exposition_counter(out, "process_cpu_seconds_total", "Total user and system CPU time spent in seconds.",
		(double)clock_cpu_ns() / 1e9);
	exposition_gauge(out, "process_max_fds", "Maximum number of open file descriptors.", limit_of(RLIMIT_NOFILE));
	exposition_gauge(out, "process_open_fds", "Number of open file descriptors.", count_files());
	exposition_gauge(out, "process_resident_memory_bytes", "Resident memory size in bytes.", resident);
	exposition_gauge(
		out, "process_start_time_seconds", "Start time of the process since unix epoch in seconds.", (double)started_s);
	exposition_gauge(out, "process_virtual_memory_bytes", "Virtual memory size in bytes.", total);
	exposition_gauge(out, "process_virtual_memory_max_bytes", "Maximum amount of virtual memory available in bytes.",
		limit_of(RLIMIT_AS));
}

/* ---- objects ---- */

/* The cache counts as objects come and go, so a scrape asks etcd nothing. kube-apiserver's help
 * texts are kept as they are, for dashboards; the errors that they mention cannot happen here. */

static size_t objects_of(struct cache *c, const struct kind *k)
{
	struct cache_stats stats;

	cache_stats(c, k, &stats);
	return stats.n_objects;
}

static void write_resource_objects(struct buf *out, struct cache *c, const struct kind *k)
{
	buf_printf(out, "apiserver_resource_objects{group=\"%s\",resource=\"%s\"} %zu\n", k->versions[0].group, k->resource,
		objects_of(c, k));
}

static void write_storage_objects(struct buf *out, struct cache *c, const struct kind *k)
{
	BUF_LITERAL(out, "apiserver_storage_objects{resource=\"");
	kind_write_group_resource(k, out);
	buf_printf(out, "\"} %zu\n", objects_of(c, k));
}

/* version: NULL for those that none of ours can read. */
static void write_stored(struct buf *out, const struct kind *k, const struct version *version, size_t n)
{
	buf_printf(out, "annals_stored_objects{group=\"%s\",resource=\"%s\",version=\"", k->versions[0].group, k->resource);
	if (version) {
		version_write_api_version(version, out);
	} else {
		BUF_LITERAL(out, "unknown");
	}
	buf_printf(out, "\"} %zu\n", n);
}

static void write_stored_objects(struct buf *out, struct cache *c, const struct kind *k)
{
	struct cache_census census;

	cache_census(c, k, &census);
	for (size_t i = 0; i < k->n_versions; i++) {
		write_stored(out, k, &k->versions[i], census.stored[i]);
	}
	write_stored(out, k, NULL, census.n_unknown);
}

static const struct {
	const char *head;
	void (*write)(struct buf *out, struct cache *c, const struct kind *k);
} object_families[] = {
	{"# HELP apiserver_resource_objects [ALPHA] Number of stored objects at the time of last check split by kind. In case "
	 "of a "
	 "fetching error, the value will be -1.\n# TYPE apiserver_resource_objects gauge\n",
		write_resource_objects},
	{"# HELP apiserver_storage_objects [STABLE] (Deprecated since 1.34.0) [DEPRECATED, consider using "
	 "apiserver_resource_objects "
	 "instead] Number of stored objects at the time of last check split by kind. In case of a fetching error, the value "
	 "will be "
	 "-1.\n# TYPE apiserver_storage_objects gauge\n",
		write_storage_objects},
	{"# HELP annals_stored_objects Objects by the version in which etcd has them.\n# TYPE annals_stored_objects gauge\n",
		write_stored_objects},
};

void object_metrics_write(struct buf *out, struct cache *c)
{
	_cleanup_(kinds_unrefp) struct kinds *defined = cache_kinds(c);

	for (size_t i = 0; i < ARRAY_SIZE(object_families); i++) {
		buf_adds(out, object_families[i].head);
		for (size_t k = 0; k < kinds_total(defined); k++) {
			if (kind_is_stored(kinds_nth(defined, k))) {
				object_families[i].write(out, c, kinds_nth(defined, k));
			}
		}
	}
}

/* ---- certificates ---- */

/* The files are read at each scrape, for they are replaced while the server runs: a few kilobytes,
 * four times a minute. So no event has to report changes, and a certificate that was renewed but
 * never loaded does not hide: the log says when a file cannot be loaded. */

enum { FILE_MAX = 1 << 20 }; /* bytes */

static int64_t end_of(const gnutls_x509_crt_t *certs, unsigned n, bool is_bundle)
{
	int64_t end_s = gnutls_x509_crt_get_expiration_time(certs[0]);

	for (unsigned i = 1; i < n; i++) {
		int64_t one_s = gnutls_x509_crt_get_expiration_time(certs[i]);
		end_s = is_bundle ? MAX(end_s, one_s) : MIN(end_s, one_s);
	}
	return end_s;
}

/* Seconds since 1970; 0: there is no certificate that could be read. */
static int64_t file_end(const struct certificate_file *f)
{
	_cleanup_(buf_done) struct buf pem;
	gnutls_x509_crt_t *certs = NULL;
	unsigned n = 0;
	int64_t end_s = 0;

	buf_init(&pem, FILE_MAX);
	if (!f->path || file_read_path(f->path, &pem) != 0) {
		return 0;
	}
	const gnutls_datum_t text = {(unsigned char *)pem.p, (unsigned)pem.n};
	if (gnutls_x509_crt_list_import2(&certs, &n, &text, GNUTLS_X509_FMT_PEM, 0) < 0) {
		return 0;
	}
	if (n > 0) {
		end_s = end_of(certs, n, f->is_bundle);
	}
	for (unsigned i = 0; i < n; i++) {
		gnutls_x509_crt_deinit(certs[i]);
	}
	gnutls_free(certs);
	return end_s;
}

void certificate_metrics_write(struct buf *out, const struct certificate_file *files, size_t n)
{
	exposition_head(out, "annals_certificate_expiration_timestamp_seconds", "gauge",
		"When the first certificate of a chain ends, or the last authority of a bundle, since unix epoch in seconds.");
	for (size_t i = 0; i < n; i++) {
		int64_t end_s = file_end(&files[i]);
		if (end_s > 0) {
			buf_printf(out, "annals_certificate_expiration_timestamp_seconds{use=\"%s\"} %lld\n", files[i].use,
				(long long)end_s);
		}
	}
}
