/* process_*, as Prometheus' client libraries name them. */
#ifndef SERVER_PROCESS_METRICS_H
#define SERVER_PROCESS_METRICS_H

#include "base/buf.h"

void process_metrics_write(struct buf *out, int64_t started_s); /* wall clock */

#endif
