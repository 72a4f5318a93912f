#include "server/metrics.h"
#include "tests/unit/check.h"

#include <pthread.h>

static struct metrics_labels revisions(const char *verb)
{
	return (struct metrics_labels){.verb = str_of(verb),
		.group = STR("apps"),
		.version = STR("v1"),
		.resource = STR("controllerrevisions"),
		.scope = STR("namespace")};
}

static char *scrape(struct metrics *m)
{
	struct buf out;
	buf_init(&out, 1 << 20);
	assert_true(metrics_write(m, &out));
	return buf_take(&out, NULL);
}

static void assert_has(struct metrics *m, const char *line)
{
	char *text = scrape(m), needle[1024];
	snprintf(needle, sizeof(needle), "\n%s\n", line);
	if (!strstr(text, needle)) {
		fail_msg("no line %s in\n%s", line, text);
	}
	mem_free(text);
}

static void assert_lacks(struct metrics *m, const char *part)
{
	char *text = scrape(m);
	assert_null(strstr(text, part));
	mem_free(text);
}

#define LABELS(verb)                                                                                                      \
	"group=\"apps\",resource=\"controllerrevisions\",scope=\"namespace\",subresource=\"\",verb=\"" verb "\",version=" \
	"\"v1\""

static void test_metrics__count_requests_by_code(void **state _unused_)
{
	struct metrics *m = metrics_new();
	struct metrics_labels get = revisions("GET");
	metrics_count_request(m, &get, 200, 1000000, 100);
	metrics_count_request(m, &get, 200, 1000000, 100);
	metrics_count_request(m, &get, 404, 1000000, 100);
	assert_has(m, "apiserver_request_total{code=\"200\",component=\"apiserver\",dry_run=\"\"," LABELS("GET") "} 2");
	assert_has(m, "apiserver_request_total{code=\"404\",component=\"apiserver\",dry_run=\"\"," LABELS("GET") "} 1");
	metrics_free(m);
}

static void test_metrics__dry_run_is_a_label_of_its_own(void **state _unused_)
{
	struct metrics *m = metrics_new();
	struct metrics_labels post = revisions("POST");
	post.dry_run = true;
	metrics_count_request(m, &post, 201, 1, 1);
	assert_has(m, "apiserver_request_total{code=\"201\",component=\"apiserver\",dry_run=\"All\"," LABELS("POST") "} 1");
	metrics_free(m);
}

static void test_metrics__durations_fall_into_cumulative_buckets(void **state _unused_)
{
	struct metrics *m = metrics_new();
	struct metrics_labels get = revisions("GET");
	metrics_count_request(m, &get, 200, 5000000, 0); /* 5 ms: on the bound, which is within */
	metrics_count_request(m, &get, 200, 30000000, 0);
	metrics_count_request(m, &get, 200, 120000000000, 0); /* beyond all bounds */
#define DURATION(suffix, le) \
	"apiserver_request_duration_seconds" suffix "{component=\"apiserver\",dry_run=\"\"," LABELS("GET") le "} "
	assert_has(m, DURATION("_bucket", ",le=\"0.005\"") "1");
	assert_has(m, DURATION("_bucket", ",le=\"0.025\"") "1");
	assert_has(m, DURATION("_bucket", ",le=\"0.05\"") "2");
	assert_has(m, DURATION("_bucket", ",le=\"60\"") "2");
	assert_has(m, DURATION("_bucket", ",le=\"+Inf\"") "3");
	assert_has(m, DURATION("_count", "") "3");
	assert_has(m, DURATION("_sum", "") "120.035");
	metrics_free(m);
}

static void test_metrics__watches_have_no_duration_and_writes_no_size(void **state _unused_)
{
	struct metrics *m = metrics_new();
	struct metrics_labels watch = revisions("WATCH"), put = revisions("PUT");
	metrics_count_request(m, &watch, 200, 1, 1);
	metrics_count_request(m, &put, 200, 1, 1);
	assert_lacks(m, "duration_seconds_count{component=\"apiserver\",dry_run=\"\"," LABELS("WATCH"));
	assert_lacks(m, "response_sizes_count");
	metrics_free(m);
}

static void test_metrics__sizes_of_reads_are_counted(void **state _unused_)
{
	struct metrics *m = metrics_new();
	struct metrics_labels list = revisions("LIST");
	metrics_count_request(m, &list, 200, 1, 5000);
	assert_has(m, "apiserver_response_sizes_bucket{component=\"apiserver\"," LABELS("LIST") ",le=\"10000\"} 1");
	assert_has(m, "apiserver_response_sizes_bucket{component=\"apiserver\"," LABELS("LIST") ",le=\"1000\"} 0");
	assert_has(m, "apiserver_response_sizes_sum{component=\"apiserver\"," LABELS("LIST") "} 5000");
	metrics_free(m);
}

static void test_metrics__load_goes_up_and_down(void **state _unused_)
{
	struct metrics *m = metrics_new();
	metrics_inflight(m, true, 1);
	metrics_inflight(m, false, 1);
	metrics_inflight(m, false, 1);
	metrics_inflight(m, false, -1);
	metrics_longrunning(m, 3);
	metrics_rejected(m, false);
	assert_has(m, "apiserver_current_inflight_requests{request_kind=\"mutating\"} 1");
	assert_has(m, "apiserver_current_inflight_requests{request_kind=\"readOnly\"} 1");
	assert_has(m, "apiserver_longrunning_requests{component=\"apiserver\",verb=\"WATCH\"} 3");
	assert_has(m, "apiserver_rejected_requests_total{request_kind=\"readOnly\"} 1");
	metrics_free(m);
}

static void write_source(void *ctx, struct buf *out)
{
	metrics_counter(out, "annals_things_total", "Things.", *(double *)ctx);
	metrics_gauge(out, "annals_share", "A share.", 0.25);
}

static void test_metrics__sources_are_asked_at_scrape_time(void **state _unused_)
{
	struct metrics *m = metrics_new();
	double n = 1;
	metrics_add_source(m, write_source, &n);
	n = 12345678901;
	assert_has(m, "# TYPE annals_things_total counter");
	assert_has(m, "annals_things_total 12345678901");
	assert_has(m, "annals_share 0.25");
	metrics_free(m);
}

static void test_metrics__odd_labels_are_escaped(void **state _unused_)
{
	struct metrics *m = metrics_new();
	struct metrics_labels labels = {.verb = STR("a\"b\\c\nd")};
	metrics_count_request(m, &labels, 200, 1, 1);
	char *text = scrape(m);
	assert_non_null(strstr(text, "verb=\"a\\\"b\\\\c\\nd\""));
	mem_free(text);
	metrics_free(m);
}

static void test_metrics__too_many_label_sets_are_counted_together(void **state _unused_)
{
	struct metrics *m = metrics_new();
	for (int i = 0; i < 5000; i++) {
		char verb[16];
		snprintf(verb, sizeof(verb), "V%d", i);
		struct metrics_labels labels = {.verb = str_of(verb)};
		metrics_count_request(m, &labels, 200, 1, 1);
	}
	struct buf out;
	buf_init(&out, 64 << 20);
	assert_true(metrics_write(m, &out));
	assert_non_null(strstr(out.p, "verb=\"\",version=\"\"} 2952\n"));
	buf_done(&out);
	metrics_free(m);
}

enum { THREADS = 4, ROUNDS = 20000 };

static void *count_much(void *ctx)
{
	static const char *const verbs[] = {"GET", "LIST", "PUT", "POST", "PATCH"};
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct metrics_labels labels = revisions(verbs[i % ARRAY_SIZE(verbs)]);
		metrics_count_request(ctx, &labels, 200 + i % 3, 1, 1);
	}
	return NULL;
}

static void test_metrics__threads_lose_no_count(void **state _unused_)
{
	struct metrics *m = metrics_new();
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++) {
		pthread_create(&threads[i], NULL, count_much, m);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
	}
	assert_has(
		m, "apiserver_request_duration_seconds_count{component=\"apiserver\",dry_run=\"\"," LABELS("PATCH") "} 16000");
	metrics_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_metrics__count_requests_by_code),
		TEST(test_metrics__dry_run_is_a_label_of_its_own),
		TEST(test_metrics__durations_fall_into_cumulative_buckets),
		TEST(test_metrics__watches_have_no_duration_and_writes_no_size),
		TEST(test_metrics__sizes_of_reads_are_counted),
		TEST(test_metrics__load_goes_up_and_down),
		TEST(test_metrics__sources_are_asked_at_scrape_time),
		TEST(test_metrics__odd_labels_are_escaped),
		TEST(test_metrics__too_many_label_sets_are_counted_together),
		TEST(test_metrics__threads_lose_no_count),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
