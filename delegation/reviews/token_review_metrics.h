/* How questions for tokens were answered: authentication_token_cache_* of k8s.io/apiserver. Any thread. */
#ifndef DELEGATION_REVIEWS_TOKEN_REVIEW_METRICS_H
#define DELEGATION_REVIEWS_TOKEN_REVIEW_METRICS_H

#include "base/histogram.h"
#include "delegation/reviews/flights.h"

struct token_metrics {
	struct histogram hits, misses;
	_Atomic uint64_t n_fetched, n_failed;
};

void token_metrics_hit(struct token_metrics *m, int64_t duration_ns);
void token_metrics_missed(struct token_metrics *m, int64_t duration_ns);
void token_metrics_fetched(struct token_metrics *m, bool is_answer);
void token_metrics_write(struct token_metrics *m, const struct flights_counts *now, struct buf *out);

#endif
