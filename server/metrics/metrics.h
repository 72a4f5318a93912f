/* Counters for /metrics in Prometheus' text format, with kube-apiserver's names, labels, bounds and help where it has the same thing.
 * Lock-free to count.
 *
 * Counting happens on every thread, in atomics; a scrape adds them up. A series is created by the
 * first request with its labels, and stays: the table has a fixed size, and
 * requests whose labels do not fit are counted together. Parts of the program that count by themselves add a source, which writes its own
 * lines. object_metrics.h and certificate_metrics.h write what they read at the scrape. accesslog.h
 * writes a line for each request, through a queue with a thread of its own. docs/reference/metrics.md
 * is made from these calls. */
#ifndef SERVER_METRICS_METRICS_H
#define SERVER_METRICS_METRICS_H

#include "base/buf.h"

struct metrics;
struct series;

/* The labels of a request. They come from routes, never from clients' free text, so their number
 * is bounded. */
struct metrics_labels {
	struct str verb; /* GET LIST WATCH POST PUT PATCH APPLY DELETE, as apiserver_request_total */
	struct str group, version, resource, subresource, scope; /* scope: cluster, namespace, resource, "" */
	struct str dry_run;                                      /* "", "All", "invalid" */
	struct str component;                                    /* "apiserver", "" for paths that are no resources */
};

struct metrics_request {
	struct metrics_labels labels;
	unsigned code;
	int64_t duration_ns;
	uint64_t bytes; /* of the answer */
	bool is_read;   /* its answer's size counts */
	bool is_watch;  /* its duration is no indicator of service */
	bool is_deprecated;
};
/* apiserver_request_total, apiserver_request_duration_seconds, apiserver_request_sli_duration_seconds, apiserver_response_sizes. */
void metrics_count_request(struct metrics *m, const struct metrics_request *r);
/* Counts a request that was refused because too many are under way: apiserver_request_total,
 * apiserver_request_terminations_total. */
void metrics_count_refused(struct metrics *m, const struct metrics_labels *labels, bool is_mutating);

/* apiserver_current_inflight_requests{request_kind}; apiserver_longrunning_requests */
void metrics_inflight(struct metrics *m, bool is_mutating, int delta);
void metrics_longrunning(struct metrics *m, const struct metrics_labels *labels, int delta);

/* Events sent to watches of a resource; the handle lives as long as m. Objects
 * that were there when the watch began are counted besides, for all versions together. */
struct series *metrics_watched(struct metrics *m, struct str group, struct str version, struct str resource);
void metrics_count_event(struct series *watched, size_t bytes);
void metrics_count_initial(struct series *watched); /* of the handle without version */
/* A watch whose client took its events too slowly: apiserver_terminated_watchers_total; of the handle without version. */
void metrics_count_terminated(struct series *watched);
/* How long a read waited for the cache to be as new as etcd: apiserver_watch_cache_read_wait_seconds. */
void metrics_count_read_wait(struct metrics *m, struct str group, struct str resource, int64_t duration_ns);
/* A transaction: etcd_requests_total, etcd_request_duration_seconds. operation: create, update, delete. */
void metrics_count_etcd(struct metrics *m, struct str operation, struct str group, struct str resource, int64_t duration_ns);
/* Counts a failed transaction, or a read that could not be answered: etcd_request_errors_total.
 * operation: get and list, too. */
void metrics_count_etcd_error(struct metrics *m, struct str operation, struct str group, struct str resource);

/* authentication_attempts and the like: who is one of a few names (k8s.io/apiserver calls the others "other"). */
enum attempt { ATTEMPT_SUCCESS, ATTEMPT_ERROR, ATTEMPT_ALLOWED, ATTEMPT_NO_OPINION, ATTEMPTS };
void metrics_count_attempt(struct metrics *m, enum attempt attempt, struct str user, int64_t duration_ns);

/* Gauges and counters that others hold (cache, storage, http, process) are added by callbacks at scrape time. */
void metrics_add_source(struct metrics *m, void (*write)(void *ctx, struct buf *out), void *ctx);
struct metrics *metrics_new(void);
struct metrics *metrics_free(struct metrics *m);
bool metrics_write(struct metrics *m, struct buf *out);

/* process_*, as Prometheus' client libraries name them. */

void process_metrics_write(struct buf *out, int64_t started_s); /* wall clock */

#endif
