/* Metrics as Prometheus reads them. The format is two lines a family and one a sample, and the
 * numbers live with what they count. There is no registry, so there is no lock either. */
#include "base/exposition.h"

#include <math.h>

void exposition_head(struct buf *out, const char *name, const char *type, const char *help)
{
	buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* %g alone would round counters once they are large. */
static void add_number(struct buf *out, double value)
{
	/* A double holds every whole number up to here. */
	if (fabs(value) < 1e15 && value == floor(value)) {
		buf_printf(out, "%.0f", value);
	} else {
		buf_printf(out, "%.15g", value);
	}
}

void exposition_sample(struct buf *out, const char *name, const char *labels, double value)
{
	buf_printf(out, *labels ? "%s{%s} " : "%s%s ", name, labels);
	add_number(out, value);
	buf_addc(out, '\n');
}

void exposition_gauge(struct buf *out, const char *name, const char *help, double value)
{
	exposition_head(out, name, "gauge", help);
	exposition_sample(out, name, "", value);
}

void exposition_counter(struct buf *out, const char *name, const char *help, double value)
{
	exposition_head(out, name, "counter", help);
	exposition_sample(out, name, "", value);
}

/* ---- histograms ---- */

/* Each bucket counts only its own amounts, and the writer adds them up, so counting costs two
 * atomic additions. A scrape may see a bucket before the sum; Prometheus does not mind. */

void histogram_add(struct histogram *h, const struct bounds *bounds, uint64_t amount)
{
	double value = (double)amount / bounds->unit;
	size_t i = 0;

	while (i < bounds->n && value > bounds->v[i]) {
		i++;
	}
	atomic_fetch_add_explicit(&h->buckets[i], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&h->sum, amount, memory_order_relaxed);
}

uint64_t histogram_count(const struct histogram *h, const struct bounds *bounds)
{
	uint64_t count = 0;

	for (size_t i = 0; i <= bounds->n; i++) {
		count += atomic_load_explicit(&h->buckets[i], memory_order_relaxed);
	}
	return count;
}

static void write_sample(struct buf *out, const char *name, const char *suffix, const char *labels)
{
	buf_printf(out, *labels ? "%s%s{%s} " : "%s%s ", name, suffix, labels);
}

void histogram_write(
	struct buf *out, const char *name, const struct histogram *h, const struct bounds *bounds, const char *labels)
{
	uint64_t n = 0;

	/* A family can have hundreds of labels' combinations, most of them never seen. */
	if (histogram_count(h, bounds) == 0) {
		return;
	}
	for (size_t i = 0; i <= bounds->n; i++) {
		n += atomic_load_explicit(&h->buckets[i], memory_order_relaxed);
		buf_printf(out, "%s_bucket{%s%sle=\"", name, labels, *labels ? "," : "");
		if (i < bounds->n) {
			buf_printf(out, "%.10g\"} ", bounds->v[i]);
		} else {
			BUF_LITERAL(out, "+Inf\"} ");
		}
		buf_printf(out, "%llu\n", (unsigned long long)n);
	}
	write_sample(out, name, "_sum", labels);
	buf_printf(out, "%.15g\n", (double)atomic_load_explicit(&h->sum, memory_order_relaxed) / bounds->unit);
	/* The number that was added up, not read again: _count and the bucket +Inf must agree. */
	write_sample(out, name, "_count", labels);
	buf_printf(out, "%llu\n", (unsigned long long)n);
}
