/* A series is keyed by the text of its labels: they hold names from configurations, so their number
 * is bounded here rather than by what they are. The lock is taken once for each webhook that was
 * asked, which is nothing beside the asking. */
#include "delegation/webhooks/webhook_metrics.h"

#include "base/exposition.h"
#include "base/map.h"

#include <pthread.h>

enum {
	SERIES_MAX = 4096, /* of one family; further ones are not counted */
	LABELS_MAX = 1024, /* bytes */
	CODE_MAX = 600,    /* greater ones count as this, as upstream has it */
};

enum family { DURATIONS, REQUESTS, REJECTIONS, FAIL_OPENS, FAMILIES };

struct series {
	uint64_t n;
	struct histogram durations;
};

struct webhook_metrics {
	pthread_mutex_t lock;
	struct map families[FAMILIES]; /* labels to series */
};

static const double seconds[] = {0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25};
static const struct bounds bounds = {seconds, ARRAY_SIZE(seconds), 1e9};

static const struct family_text {
	const char *name, *type, *help;
} texts[FAMILIES] = {
	[DURATIONS] = {"apiserver_admission_webhook_admission_duration_seconds", "histogram",
		"[STABLE] Admission webhook latency histogram in seconds, identified by name and broken out for each operation "
		"and "
		"API resource and type (validate or admit)."},
	[REQUESTS] = {"apiserver_admission_webhook_request_total", "counter",
		"[ALPHA] Admission webhook request total, identified by name and broken out for each admission type "
		"(validating or "
		"admit) and operation. Additional labels specify whether the request was rejected or not and an HTTP status "
		"code. "
		"Codes greater than 600 are truncated to 600, to keep the metrics cardinality bounded."},
	[REJECTIONS] = {"apiserver_admission_webhook_rejection_count", "counter",
		"[ALPHA] Admission webhook rejection count, identified by name and broken out for each admission type "
		"(validating or "
		"admit) and operation. Additional labels specify an error type (calling_webhook_error or "
		"apiserver_internal_error if "
		"an error occurred; no_error otherwise) and optionally a non-zero rejection code if the webhook rejects the "
		"request "
		"with an HTTP status code (honored by the apiserver when the code is greater or equal to 400). Codes greater "
		"than "
		"600 are truncated to 600, to keep the metrics cardinality bounded."},
	[FAIL_OPENS] = {"apiserver_admission_webhook_fail_open_count", "counter",
		"[ALPHA] Admission webhook fail open count, identified by name and broken out for each admission type "
		"(validating or "
		"admit)."},
};

/* ---- counting ---- */

static struct series *series_of(struct webhook_metrics *m, enum family family, const struct buf *labels)
{
	struct series *s = map_get(&m->families[family], buf_str(labels));
	if (s || labels->is_over) {
		return s;
	}
	s = mem_new(struct series);
	if (!map_set(&m->families[family], buf_str(labels), s, NULL)) {
		return mem_free(s);
	}
	return s;
}

static void count(struct webhook_metrics *m, enum family family, int64_t duration_ns, const char *format, ...) _printf_(4, 5);

static void count(struct webhook_metrics *m, enum family family, int64_t duration_ns, const char *format, ...)
{
	_cleanup_(buf_done) struct buf labels;
	va_list ap;
	buf_init(&labels, LABELS_MAX);
	va_start(ap, format);
	buf_vprintf(&labels, format, ap);
	va_end(ap);
	pthread_mutex_lock(&m->lock);
	struct series *s = series_of(m, family, &labels);
	if (s) {
		s->n++;
		histogram_add(&s->durations, &bounds, (uint64_t)duration_ns);
	}
	pthread_mutex_unlock(&m->lock);
}

static const char *error_type(enum webhook_outcome outcome)
{
	return outcome == OUTCOME_FAILED   ? "calling_webhook_error"
		: outcome == OUTCOME_ERROR ? "apiserver_internal_error"
					   : "no_error";
}

/* Names of webhooks are domain names: nothing in them needs quoting. */
void webhook_metrics_count(struct webhook_metrics *m, const struct webhook *h, const struct webhook_question *q,
	const struct webhook_answer *answer, int64_t duration_ns)
{
	const char *type = q->phase == WEBHOOKS_MUTATING ? "admit" : "validating";
	bool fails_open = answer->outcome == OUTCOME_FAILED && h->ignores_failure;
	bool is_rejected = answer->outcome != OUTCOME_ALLOWED && !fails_open;
	const char *rejected = is_rejected ? "true" : "false";
	int code = MIN(answer->code, CODE_MAX);
	count(m, DURATIONS, duration_ns, "name=\"" STR_FMT "\",operation=\"%s\",rejected=\"%s\",type=\"%s\"", STR_ARG(h->name),
		q->operation, rejected, type);
	count(m, REQUESTS, 0, "code=\"%d\",name=\"" STR_FMT "\",operation=\"%s\",rejected=\"%s\",type=\"%s\"", code,
		STR_ARG(h->name), q->operation, rejected, type);
	if (is_rejected) {
		count(m, REJECTIONS, 0,
			"error_type=\"%s\",name=\"" STR_FMT "\",operation=\"%s\",rejection_code=\"%d\",type=\"%s\"",
			error_type(answer->outcome), STR_ARG(h->name), q->operation, code, type);
	}
	if (fails_open) {
		count(m, FAIL_OPENS, 0, "name=\"" STR_FMT "\",type=\"%s\"", STR_ARG(h->name), type);
	}
}

/* ---- showing ---- */

static void write_series(struct buf *out, enum family family, const struct map_entry *e)
{
	const struct series *s = e->value;
	if (family == DURATIONS) {
		_cleanup_(mem_freep) char *labels = mem_strndup(e->key.p, e->key.n);
		histogram_write(out, texts[family].name, &s->durations, &bounds, labels);
	} else {
		buf_printf(out, "%s{" STR_FMT "} %llu\n", texts[family].name, STR_ARG(e->key), (unsigned long long)s->n);
	}
}

void webhook_metrics_write(struct webhook_metrics *m, struct buf *out)
{
	pthread_mutex_lock(&m->lock);
	for (enum family i = 0; i < FAMILIES; i++) {
		if (m->families[i].n) {
			exposition_head(out, texts[i].name, texts[i].type, texts[i].help);
		}
		for (struct map_entry *e = map_next(&m->families[i], NULL); e; e = map_next(&m->families[i], e)) {
			write_series(out, i, e);
		}
	}
	pthread_mutex_unlock(&m->lock);
}

/* ---- life ---- */

struct webhook_metrics *webhook_metrics_new(void)
{
	struct webhook_metrics *m = mem_new(struct webhook_metrics);
	pthread_mutex_init(&m->lock, NULL);
	for (enum family i = 0; i < FAMILIES; i++) {
		map_init(&m->families[i], SERIES_MAX);
	}
	return m;
}

struct webhook_metrics *webhook_metrics_free(struct webhook_metrics *m)
{
	if (!m) {
		return NULL;
	}
	for (enum family i = 0; i < FAMILIES; i++) {
		for (struct map_entry *e = map_next(&m->families[i], NULL); e; e = map_next(&m->families[i], e)) {
			mem_free(e->value);
		}
		map_done(&m->families[i]);
	}
	pthread_mutex_destroy(&m->lock);
	return mem_free(m);
}
