#include "server/metrics.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

/* Label sets come from routes: some ten verbs and forms for each door of each kind. What is beyond is counted under no
 * labels. */
enum {
	SERIES_MAX = 4096, /* a power of two */
	CODES_MAX = 24,    /* HTTP codes of one label set; further ones count under the last */
	SOURCES_MAX = 16,
	LABELS_MAX = 4096, /* bytes of one set as written */
};

/* kube-apiserver's buckets (endpoints/metrics/metrics.go), so that its dashboards and recording rules fit. */
static const double duration_bounds[] = {
	0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60};
static const double size_bounds[] = {1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};

struct bounds {
	const double *v;
	size_t n;
};

#define DURATIONS ((struct bounds){duration_bounds, ARRAY_SIZE(duration_bounds)})
#define SIZES ((struct bounds){size_bounds, ARRAY_SIZE(size_bounds)})

struct histogram {
	_Atomic uint64_t buckets[ARRAY_SIZE(duration_bounds) + 1]; /* not cumulative; the one behind the bounds is +Inf */
	_Atomic uint64_t sum;                                      /* nanoseconds or bytes */
};

struct code_count {
	_Atomic unsigned code; /* 0: free */
	_Atomic uint64_t n;
};

/* What is counted of one label set. Once published it stays until metrics_free(). */
struct series {
	struct metrics_labels labels; /* owned text */
	struct code_count codes[CODES_MAX];
	struct histogram durations, sizes;
};

struct source {
	void (*write)(void *ctx, struct buf *out);
	void *ctx;
};

struct metrics {
	_Atomic(struct series *) series[SERIES_MAX]; /* open addressing; entries are added, never removed */
	_Atomic size_t n_series;
	struct series other;                      /* when the table is full */
	_Atomic int64_t inflight[2], longrunning; /* [is_mutating] */
	_Atomic uint64_t rejected[2];
	pthread_mutex_t lock; /* guards the sources */
	struct source sources[SOURCES_MAX];
	size_t n_sources;
};

/* ---- label sets ---- */

struct label_field {
	const char *name;
	size_t offset; /* in struct metrics_labels */
};

/* In Prometheus' customary order: by name. */
static const struct label_field label_fields[] = {
	{"group", offsetof(struct metrics_labels, group)},
	{"resource", offsetof(struct metrics_labels, resource)},
	{"scope", offsetof(struct metrics_labels, scope)},
	{"subresource", offsetof(struct metrics_labels, subresource)},
	{"verb", offsetof(struct metrics_labels, verb)},
	{"version", offsetof(struct metrics_labels, version)},
};

static struct str *label(const struct metrics_labels *l, size_t i)
{
	return (struct str *)(void *)((char *)(uintptr_t)l + label_fields[i].offset);
}

static uint64_t labels_hash(const struct metrics_labels *l)
{
	uint64_t hash = l->dry_run;
	for (size_t i = 0; i < ARRAY_SIZE(label_fields); i++) {
		hash = hash * 0x100000001b3 + str_hash(*label(l, i));
	}
	return hash ^ hash >> 32;
}

static bool labels_equal(const struct metrics_labels *a, const struct metrics_labels *b)
{
	bool is_equal = a->dry_run == b->dry_run;
	for (size_t i = 0; i < ARRAY_SIZE(label_fields) && is_equal; i++) {
		is_equal = str_eq(*label(a, i), *label(b, i));
	}
	return is_equal;
}

static struct series *series_new(const struct metrics_labels *labels)
{
	struct series *s = mem_new(struct series);
	s->labels.dry_run = labels->dry_run;
	for (size_t i = 0; i < ARRAY_SIZE(label_fields); i++) {
		struct str text = *label(labels, i);
		*label(&s->labels, i) = (struct str){mem_strndup(text.p, text.n), text.n};
	}
	return s;
}

static struct series *series_free(struct series *s)
{
	if (s) {
		for (size_t i = 0; i < ARRAY_SIZE(label_fields); i++) {
			mem_free((void *)(uintptr_t)label(&s->labels, i)->p);
		}
		mem_free(s);
	}
	return NULL;
}

/* Puts a new series into a free slot; whoever else did so first is returned instead. */
static struct series *slot_fill(struct metrics *m, _Atomic(struct series *) *slot, const struct metrics_labels *labels)
{
	struct series *fresh, *there = NULL;
	if (atomic_fetch_add_explicit(&m->n_series, 1, memory_order_relaxed) >= SERIES_MAX / 2) {
		atomic_fetch_sub_explicit(&m->n_series, 1, memory_order_relaxed);
		return &m->other;
	}
	fresh = series_new(labels);
	if (atomic_compare_exchange_strong_explicit(slot, &there, fresh, memory_order_acq_rel, memory_order_acquire)) {
		return fresh;
	}
	atomic_fetch_sub_explicit(&m->n_series, 1, memory_order_relaxed);
	series_free(fresh);
	return there;
}

static struct series *metrics_find(struct metrics *m, const struct metrics_labels *labels)
{
	for (uint64_t at = labels_hash(labels);; at++) {
		_Atomic(struct series *) *slot = &m->series[at % SERIES_MAX];
		struct series *s = atomic_load_explicit(slot, memory_order_acquire);
		if (!s) {
			s = slot_fill(m, slot, labels);
		}
		if (s == &m->other || labels_equal(&s->labels, labels)) {
			return s;
		}
	}
}

/* ---- counting ---- */

static void histogram_add(struct histogram *h, struct bounds bounds, double value, uint64_t amount)
{
	size_t i = 0;
	while (i < bounds.n && value > bounds.v[i]) {
		i++;
	}
	atomic_fetch_add_explicit(&h->buckets[i], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&h->sum, amount, memory_order_relaxed);
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
		if (there == code || i == CODES_MAX - 1) {
			atomic_fetch_add_explicit(&c->n, 1, memory_order_relaxed);
			return;
		}
	}
}

static bool is_read(struct str verb)
{
	return str_is(verb, "GET") || str_is(verb, "LIST");
}

void metrics_count_request(
	struct metrics *m, const struct metrics_labels *labels, unsigned code, int64_t duration_ns, uint64_t bytes)
{
	struct series *s = metrics_find(m, labels);
	series_count_code(s, code);
	if (!str_is(labels->verb, "WATCH")) {
		uint64_t ns = duration_ns > 0 ? (uint64_t)duration_ns : 0;
		histogram_add(&s->durations, DURATIONS, (double)ns / 1e9, ns);
	}
	if (is_read(labels->verb)) {
		histogram_add(&s->sizes, SIZES, (double)bytes, bytes);
	}
}

void metrics_inflight(struct metrics *m, bool is_mutating, int delta)
{
	atomic_fetch_add_explicit(&m->inflight[is_mutating], delta, memory_order_relaxed);
}

void metrics_longrunning(struct metrics *m, int delta)
{
	atomic_fetch_add_explicit(&m->longrunning, delta, memory_order_relaxed);
}

void metrics_rejected(struct metrics *m, bool is_mutating)
{
	atomic_fetch_add_explicit(&m->rejected[is_mutating], 1, memory_order_relaxed);
}

/* ---- writing ---- */

static void add_header(struct buf *out, const char *name, const char *type, const char *help)
{
	buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* Whole numbers in full (counters grow beyond what %g shows), others to 15 digits. */
static void add_number(struct buf *out, double value)
{
	if (fabs(value) < 1e15 && value == floor(value)) {
		buf_printf(out, "%.0f", value);
	} else {
		buf_printf(out, "%.15g", value);
	}
}

static void add_sample(struct buf *out, const char *name, const char *labels, double value)
{
	buf_printf(out, *labels ? "%s{%s} " : "%s%s ", name, labels);
	add_number(out, value);
	buf_addc(out, '\n');
}

static void add_one(struct buf *out, const char *name, const char *type, const char *help, double value)
{
	add_header(out, name, type, help);
	add_sample(out, name, "", value);
}

void metrics_gauge(struct buf *out, const char *name, const char *help, double value)
{
	add_one(out, name, "gauge", help, value);
}

void metrics_counter(struct buf *out, const char *name, const char *help, double value)
{
	add_one(out, name, "counter", help, value);
}

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

static void add_labels(struct buf *out, const struct series *s, bool with_dry_run)
{
	BUF_LITERAL(out, "component=\"apiserver\"");
	if (with_dry_run) {
		buf_printf(out, ",dry_run=\"%s\"", s->labels.dry_run ? "All" : "");
	}
	for (size_t i = 0; i < ARRAY_SIZE(label_fields); i++) {
		buf_printf(out, ",%s=\"", label_fields[i].name);
		add_label_value(out, *label(&s->labels, i));
		buf_addc(out, '"');
	}
}

static void write_codes(struct buf *out, const char *name, const struct series *s, const char *labels)
{
	for (size_t i = 0; i < CODES_MAX; i++) {
		uint64_t n = atomic_load_explicit(&s->codes[i].n, memory_order_relaxed);
		if (n > 0) {
			buf_printf(out, "%s{code=\"%u\",%s} %llu\n", name,
				atomic_load_explicit(&s->codes[i].code, memory_order_relaxed), labels, (unsigned long long)n);
		}
	}
}

static void write_histogram(
	struct buf *out, const char *name, const struct histogram *h, struct bounds bounds, double unit, const char *labels)
{
	uint64_t n = 0;
	for (size_t i = 0; i <= bounds.n; i++) {
		n += atomic_load_explicit(&h->buckets[i], memory_order_relaxed);
	}
	if (n == 0) {
		return;
	}

	n = 0;
	for (size_t i = 0; i < bounds.n; i++) {
		n += atomic_load_explicit(&h->buckets[i], memory_order_relaxed);
		buf_printf(out, "%s_bucket{%s,le=\"%g\"} %llu\n", name, labels, bounds.v[i], (unsigned long long)n);
	}
	n += atomic_load_explicit(&h->buckets[bounds.n], memory_order_relaxed);
	buf_printf(out, "%s_bucket{%s,le=\"+Inf\"} %llu\n", name, labels, (unsigned long long)n);
	buf_printf(out, "%s_sum{%s} %.15g\n", name, labels, (double)atomic_load_explicit(&h->sum, memory_order_relaxed) / unit);
	buf_printf(out, "%s_count{%s} %llu\n", name, labels, (unsigned long long)n);
}

static void write_durations(struct buf *out, const char *name, const struct series *s, const char *labels)
{
	write_histogram(out, name, &s->durations, DURATIONS, 1e9, labels);
}

static void write_sizes(struct buf *out, const char *name, const struct series *s, const char *labels)
{
	write_histogram(out, name, &s->sizes, SIZES, 1, labels);
}

/* What is written of each label set. */
struct family {
	const char *name, *type, *help;
	bool with_dry_run;
	void (*write)(struct buf *out, const char *name, const struct series *s, const char *labels);
};

static const struct family families[] = {
	{"apiserver_request_total", "counter", "Requests by verb, dry run, group, version, resource, scope and HTTP code.",
		true, write_codes},
	{"apiserver_request_duration_seconds", "histogram", "Time to the end of the answer; watches are not in it.", true,
		write_durations},
	{"apiserver_response_sizes", "histogram", "Bytes of answers to GET and LIST.", false, write_sizes},
};

static void write_series(struct buf *out, const struct family *f, const struct series *s)
{
	_cleanup_(buf_done) struct buf labels;
	buf_init(&labels, LABELS_MAX);
	add_labels(&labels, s, f->with_dry_run);
	if (!labels.is_over) {
		f->write(out, f->name, s, labels.p);
	}
}

static void write_family(struct buf *out, const struct family *f, const struct metrics *m)
{
	add_header(out, f->name, f->type, f->help);
	for (size_t i = 0; i < SERIES_MAX; i++) {
		const struct series *s = atomic_load_explicit(&m->series[i], memory_order_acquire);
		if (s) {
			write_series(out, f, s);
		}
	}
	write_series(out, f, &m->other);
}

static void write_by_kind(
	struct buf *out, const char *name, const char *type, const char *help, double read_only, double mutating)
{
	add_header(out, name, type, help);
	add_sample(out, name, "request_kind=\"mutating\"", mutating);
	add_sample(out, name, "request_kind=\"readOnly\"", read_only);
}

static void write_load(struct buf *out, const struct metrics *m)
{
	write_by_kind(out, "apiserver_current_inflight_requests", "gauge", "Requests under way now.",
		(double)atomic_load_explicit(&m->inflight[false], memory_order_relaxed),
		(double)atomic_load_explicit(&m->inflight[true], memory_order_relaxed));
	write_by_kind(out, "apiserver_rejected_requests_total", "counter",
		"Requests answered 429 because too many were under way.",
		(double)atomic_load_explicit(&m->rejected[false], memory_order_relaxed),
		(double)atomic_load_explicit(&m->rejected[true], memory_order_relaxed));
	add_header(out, "apiserver_longrunning_requests", "gauge", "Watches open now.");
	add_sample(out, "apiserver_longrunning_requests", "component=\"apiserver\",verb=\"WATCH\"",
		(double)atomic_load_explicit(&m->longrunning, memory_order_relaxed));
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
	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		write_family(out, &families[i], m);
	}
	write_load(out, m);
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
			series_free(atomic_load_explicit(&m->series[i], memory_order_relaxed));
		}
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
