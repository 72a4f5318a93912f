/* A lock is enough here: a count follows a trip to another server. Codes are a row each, in the
 * order in which they first come, and the last row takes what does not fit. */
#include "delegation/reviews/review_metrics.h"

#include "base/exposition.h"

static const double seconds[] = {0.25, 0.5, 0.7, 1, 1.5, 3, 5, 10};
static const struct bounds bounds = {seconds, ARRAY_SIZE(seconds), 1e9};

void review_metrics_init(struct review_metrics *m)
{
	*m = (struct review_metrics){0};
	pthread_mutex_init(&m->lock, NULL);
}

void review_metrics_done(struct review_metrics *m)
{
	pthread_mutex_destroy(&m->lock);
}

static struct review_code *row_of(struct review_metrics *m, int code)
{
	size_t i = 0;
	while (i < m->n && m->codes[i].code != code) {
		i++;
	}
	if (i == m->n && i < REVIEW_CODES_MAX) {
		m->codes[m->n++].code = code;
	}
	return &m->codes[MIN(i, (size_t)REVIEW_CODES_MAX - 1)];
}

void review_metrics_count(struct review_metrics *m, int code, int64_t duration_ns)
{
	pthread_mutex_lock(&m->lock);
	histogram_add(&row_of(m, code)->durations, &bounds, (uint64_t)duration_ns);
	pthread_mutex_unlock(&m->lock);
}

static void write_label(struct buf *out, int code)
{
	if (code) {
		buf_printf(out, "code=\"%d\"", code);
	} else {
		BUF_LITERAL(out, "code=\"<error>\"");
	}
}

static void write_totals(struct review_metrics *m, const char *prefix, struct buf *out)
{
	_cleanup_(mem_freep) char *name = mem_printf("%s_request_total", prefix);
	exposition_head(out, name, "counter", "[ALPHA] Number of HTTP requests partitioned by status code.");
	for (size_t i = 0; i < m->n; i++) {
		buf_printf(out, "%s{", name);
		write_label(out, m->codes[i].code);
		buf_printf(out, "} %llu\n", (unsigned long long)histogram_count(&m->codes[i].durations, &bounds));
	}
}

static void write_durations(struct review_metrics *m, const char *prefix, struct buf *out)
{
	_cleanup_(mem_freep) char *name = mem_printf("%s_request_duration_seconds", prefix);
	exposition_head(out, name, "histogram", "[ALPHA] Request latency in seconds. Broken down by status code.");
	for (size_t i = 0; i < m->n; i++) {
		_cleanup_(buf_done) struct buf label;
		buf_init(&label, 64);
		write_label(&label, m->codes[i].code);
		histogram_write(out, name, &m->codes[i].durations, &bounds, label.p);
	}
}

void review_metrics_write(struct review_metrics *m, const char *prefix, struct buf *out)
{
	pthread_mutex_lock(&m->lock);
	if (m->n) {
		write_totals(m, prefix, out);
		write_durations(m, prefix, out);
	}
	pthread_mutex_unlock(&m->lock);
}
