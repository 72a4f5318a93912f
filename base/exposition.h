/* Prometheus' text exposition format. */
#ifndef BASE_EXPOSITION_H
#define BASE_EXPOSITION_H

#include "base/buf.h"
#include <stdatomic.h>

/* "# HELP" and "# TYPE": before the samples of a family. */
void exposition_head(struct buf *out, const char *name, const char *type, const char *help);
/* labels: `a="b",c="d"`, perhaps empty. Whole numbers are written in full, others to 15 digits. */
void exposition_sample(struct buf *out, const char *name, const char *labels, double value);
/* A family that is one sample without labels. */
void exposition_gauge(struct buf *out, const char *name, const char *help, double value);
void exposition_counter(struct buf *out, const char *name, const char *help, double value);

/* A histogram of Prometheus, counted without locks. */

enum { HISTOGRAM_BOUNDS_MAX = 24 };

struct bounds {
	const double *v;
	size_t n;    /* at most HISTOGRAM_BOUNDS_MAX */
	double unit; /* amounts are whole numbers of these: 1e9 for nanoseconds shown as seconds, 1 for bytes */
};

struct histogram {
	_Atomic uint64_t buckets[HISTOGRAM_BOUNDS_MAX + 1]; /* not cumulative; the one behind the bounds is +Inf */
	_Atomic uint64_t sum;                               /* of amounts */
};

void histogram_add(struct histogram *h, const struct bounds *bounds, uint64_t amount);
uint64_t histogram_count(const struct histogram *h, const struct bounds *bounds);
/* Samples with these labels (`a="b",c="d"`, perhaps empty); nothing at all while nothing was counted. */
void histogram_write(
	struct buf *out, const char *name, const struct histogram *h, const struct bounds *bounds, const char *labels);

#endif
