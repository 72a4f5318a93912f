/* Prometheus' text exposition format. Histograms: base/histogram.h. */
#ifndef BASE_EXPOSITION_H
#define BASE_EXPOSITION_H

#include "base/buf.h"

/* "# HELP" and "# TYPE": before the samples of a family. */
void exposition_head(struct buf *out, const char *name, const char *type, const char *help);
/* labels: `a="b",c="d"`, perhaps empty. Whole numbers are written in full, others to 15 digits. */
void exposition_sample(struct buf *out, const char *name, const char *labels, double value);
/* A family that is one sample without labels. */
void exposition_gauge(struct buf *out, const char *name, const char *help, double value);
void exposition_counter(struct buf *out, const char *name, const char *help, double value);

#endif
