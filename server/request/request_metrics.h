/* Counts and durations of requests, for /metrics. */
#ifndef SERVER_REQUEST_REQUEST_METRICS_H
#define SERVER_REQUEST_REQUEST_METRICS_H

#include "server/request/request.h"

struct metrics_labels request_metrics_labels(const struct request *q);
void request_metrics_count(struct request *q, int64_t duration_ns);
void request_metrics_refused(struct request *q);
void request_metrics_longrunning(struct request *q, int delta);
void request_metrics_txn(struct request *q, int64_t duration_ns);
/* The request cannot be answered, or not be carried out, because of etcd. */
void request_metrics_storage_failed(struct request *q);

#endif
