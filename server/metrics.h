/* Counters for /metrics in Prometheus' text format, with kube-apiserver's names where it has the same thing. Lock-free to
 * count. */
#ifndef SERVER_METRICS_H
#define SERVER_METRICS_H

#include "base/buf.h"

struct metrics;

struct metrics *metrics_new(void);
struct metrics *metrics_free(struct metrics *m);

struct metrics_labels {
	struct str verb; /* GET LIST WATCH POST PUT PATCH DELETE DELETECOLLECTION CONNECT, as apiserver_request_total */
	struct str group, version, resource, subresource, scope; /* scope: cluster, namespace, resource, "" */
	bool dry_run;
};
/* apiserver_request_total, apiserver_request_duration_seconds (histogram; not for watches), apiserver_response_sizes. The
 * label sets come from routes, never from clients' free text, so their number is bounded. */
void metrics_count_request(
	struct metrics *m, const struct metrics_labels *labels, unsigned code, int64_t duration_ns, uint64_t bytes);
/* apiserver_current_inflight_requests{request_kind}; apiserver_longrunning_requests */
void metrics_inflight(struct metrics *m, bool is_mutating, int delta);
void metrics_longrunning(struct metrics *m, int delta);
void metrics_rejected(struct metrics *m, bool is_mutating);
/* Gauges and counters that others hold (cache, storage, http, process) are added by callbacks at scrape time. */
void metrics_add_source(struct metrics *m, void (*write)(void *ctx, struct buf *out), void *ctx);
bool metrics_write(struct metrics *m, struct buf *out);
/* For sources: "# HELP", "# TYPE" and one sample. */
void metrics_gauge(struct buf *out, const char *name, const char *help, double value);
void metrics_counter(struct buf *out, const char *name, const char *help, double value);

#endif
