/* Requests to kube-apiserver by the code of their answers, as k8s.io/apiserver counts delegated ones: PREFIX_request_total{code},
 * PREFIX_request_duration_seconds{code}. Any thread. */
#ifndef DELEGATION_REVIEWS_REVIEW_METRICS_H
#define DELEGATION_REVIEWS_REVIEW_METRICS_H

#include "base/histogram.h"

#include <pthread.h>

enum { REVIEW_CODES_MAX = 32 };

struct review_metrics {
	pthread_mutex_t lock;
	struct review_code {
		int code; /* 0: there was no answer */
		struct histogram durations;
	} codes[REVIEW_CODES_MAX]; /* the last one is for all that do not fit */
	size_t n;
};

void review_metrics_init(struct review_metrics *m);
void review_metrics_done(struct review_metrics *m);
void review_metrics_count(struct review_metrics *m, int code, int64_t duration_ns);
void review_metrics_write(struct review_metrics *m, const char *prefix, struct buf *out);

#endif
