/* process_*, as Prometheus' client libraries name them. */
#ifndef SERVER_METRICS_PROCESS_METRICS_H
#define SERVER_METRICS_PROCESS_METRICS_H

#include "base/buf.h"

void process_metrics_write(struct buf *out, int64_t started_s); /* wall clock */

#endif
