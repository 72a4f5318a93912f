/* A slot of the table changes once, from NULL to a series that stays: so nobody needs a lock,
 * neither to count nor to write. Of two threads that bring the same labels the loser frees its own.
 * Half of the slots stay free, which keeps searches short; labels beyond that count in one series
 * for the rest. */
#include "server/metrics/metrics_series.h"

#include "base/exposition.h"

enum { LABELS_MAX = 4096 }; /* bytes of one set as written */

/* ---- kube-apiserver's bounds (pkg/endpoints/metrics, pkg/endpoints/filters), so that its dashboards and recording rules fit ---- */

static const double seconds[] = {
	0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60};
static const double sizes[] = {1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
static const double event_sizes[] = {1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072};
static const double attempts[] = {
	0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096, 8.192, 16.384};
static const double read_waits[] = {0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3};

const struct bounds duration_bounds = {seconds, ARRAY_SIZE(seconds), 1e9};
const struct bounds indicator_bounds = {seconds + 2, ARRAY_SIZE(seconds) - 2, 1e9};
const struct bounds size_bounds = {sizes, ARRAY_SIZE(sizes), 1};
const struct bounds event_size_bounds = {event_sizes, ARRAY_SIZE(event_sizes), 1};
const struct bounds attempt_bounds = {attempts, ARRAY_SIZE(attempts), 1e9};
const struct bounds read_wait_bounds = {read_waits, ARRAY_SIZE(read_waits), 1e9};

/* ---- label sets ---- */

enum label { COMPONENT, DRY_RUN, GROUP, RESOURCE, SCOPE, SUBRESOURCE, VERB, VERSION, LABELS };

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

struct series *series_find(struct series_table *t, const struct metrics_labels *labels)
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

void series_count_code(struct series *s, unsigned code)
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

void series_table_done(struct series_table *t)
{
	for (size_t i = 0; i < SERIES_MAX; i++) {
		series_free(atomic_load_explicit(&t->slots[i], memory_order_relaxed));
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

/* What is written of each label set, and with which labels. */
struct family {
	const char *name, *type, *help;
	unsigned labels; /* a bit for each enum label */
	void (*write)(struct buf *out, const char *name, const struct series *s, const char *labels);
	const char *
		after_group; /* a label that is no other family's: the operation, which is in place of a verb; one that is empty */
};

static const struct family families[] = {
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
		"[ALPHA] Counter of watchers closed due to unresponsiveness broken by resource type.", OF_EVENT & ~(1u << VERSION),
		write_terminated_watches, NULL},
	{"apiserver_watch_cache_read_wait_seconds", "histogram",
		"[ALPHA] Histogram of time spent waiting for a watch cache to become fresh.", OF_EVENT & ~(1u << VERSION),
		write_read_waits, NULL},
	{"etcd_requests_total", "counter", "[ALPHA] Etcd request counts for each operation and object type.", OF_ETCD,
		write_etcd_requests, "operation"},
	{"etcd_request_duration_seconds", "histogram",
		"[ALPHA] Etcd request latency in seconds for each operation and object type.", OF_ETCD, write_etcd,
		"operation"},
	{"etcd_request_errors_total", "counter", "[ALPHA] Etcd failed request counts for each operation and object type.", OF_ETCD,
		write_etcd_errors, "operation"},
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

void series_write(struct buf *out, struct series_table *t)
{
	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		write_family(out, &families[i], t);
	}
}
