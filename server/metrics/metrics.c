/* Requests are counted by atomic additions alone; the one lock is for the list of sources. Order
 * between counters does not matter to anybody, so all of them are relaxed. Of user names only a few
 * are told apart, as upstream does: a label for each user would be a series for each. */
#include "server/metrics/metrics_series.h"

#include "base/exposition.h"

#include <assert.h>
#include <pthread.h>

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
	series_write(out, &m->table);
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
		series_table_done(&m->table);
		pthread_mutex_destroy(&m->lock);
		mem_free(m);
	}
	return NULL;
}

void metrics_add_source(struct metrics *m, void (*write)(void *ctx, struct buf *out), void *ctx)
{
	pthread_mutex_lock(&m->lock);
	assert(m->n_sources < SOURCES_MAX);
	m->sources[m->n_sources++] = (struct source){write, ctx};
	pthread_mutex_unlock(&m->lock);
}
