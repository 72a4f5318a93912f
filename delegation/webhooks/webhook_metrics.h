/* Webhooks by what became of them, with the names and labels of k8s.io/apiserver pkg/admission/metrics. Any thread. */
#ifndef DELEGATION_WEBHOOKS_WEBHOOK_METRICS_H
#define DELEGATION_WEBHOOKS_WEBHOOK_METRICS_H

#include "base/histogram.h"
#include "delegation/webhooks/webhook_answer.h"

struct webhook_metrics;

struct webhook_metrics *webhook_metrics_new(void);
struct webhook_metrics *webhook_metrics_free(struct webhook_metrics *m);
/* A webhook was asked, and its answer, or that there is none, is one to go by. */
void webhook_metrics_count(struct webhook_metrics *m, const struct webhook *h, const struct webhook_question *q,
	const struct webhook_answer *answer, int64_t duration_ns);
void webhook_metrics_write(struct webhook_metrics *m, struct buf *out);

#endif
