/* Names, bounds and empty help texts are k8s.io/apiserver's, whose dashboards know them: so "hit"
 * is what was answered from memory, whoever's question brought it there. */
#include "delegation/reviews/token_review_metrics.h"

#include "base/exposition.h"

static const double seconds[] = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};
static const struct bounds bounds = {seconds, ARRAY_SIZE(seconds), 1e9};

#define NAME(what) "authentication_token_cache_" what

void token_metrics_hit(struct token_metrics *m, int64_t duration_ns)
{
	histogram_add(&m->hits, &bounds, (uint64_t)duration_ns);
}

void token_metrics_missed(struct token_metrics *m, int64_t duration_ns)
{
	histogram_add(&m->misses, &bounds, (uint64_t)duration_ns);
}

void token_metrics_fetched(struct token_metrics *m, bool is_answer)
{
	atomic_fetch_add_explicit(is_answer ? &m->n_fetched : &m->n_failed, 1, memory_order_relaxed);
}

static void write_pair(struct buf *out, const char *name, const char *type, const char *first, uint64_t n_first, const char *second,
	uint64_t n_second)
{
	exposition_head(out, name, type, "[ALPHA]");
	buf_printf(out, "%s{status=\"%s\"} %llu\n", name, first, (unsigned long long)n_first);
	buf_printf(out, "%s{status=\"%s\"} %llu\n", name, second, (unsigned long long)n_second);
}

void token_metrics_write(struct token_metrics *m, const struct flights_counts *now, struct buf *out)
{
	write_pair(out, NAME("active_fetch_count"), "gauge", "blocked", now->n_waiting, "in_flight", now->n_flights);
	write_pair(out, NAME("fetch_total"), "counter", "error", atomic_load_explicit(&m->n_failed, memory_order_relaxed), "ok",
		atomic_load_explicit(&m->n_fetched, memory_order_relaxed));
	exposition_head(out, NAME("request_duration_seconds"), "histogram", "[ALPHA]");
	histogram_write(out, NAME("request_duration_seconds"), &m->hits, &bounds, "status=\"hit\"");
	histogram_write(out, NAME("request_duration_seconds"), &m->misses, &bounds, "status=\"miss\"");
	write_pair(out, NAME("request_total"), "counter", "hit", histogram_count(&m->hits, &bounds), "miss",
		histogram_count(&m->misses, &bounds));
}
