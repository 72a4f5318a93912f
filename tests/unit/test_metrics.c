#include "base/exposition.h"
#include "server/metrics/metrics.h"
#include "tests/unit/check.h"

#include <pthread.h>

static struct metrics_labels revisions(const char *verb)
{
	return (struct metrics_labels){.verb = str_of(verb),
		.group = STR("apps"),
		.version = STR("v1"),
		.resource = STR("controllerrevisions"),
		.scope = STR("namespace"),
		.component = STR("apiserver")};
}

static void count(struct metrics *m, struct metrics_labels labels, unsigned code, int64_t duration_ns, uint64_t bytes)
{
	metrics_count_request(m, &(struct metrics_request){.labels = labels, .code = code, .duration_ns = duration_ns, .bytes = bytes});
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
	count(m, get, 200, 1000000, 100);
	count(m, get, 200, 1000000, 100);
	count(m, get, 404, 1000000, 100);
	assert_has(m, "apiserver_request_total{code=\"200\",component=\"apiserver\",dry_run=\"\"," LABELS("GET") "} 2");
	assert_has(m, "apiserver_request_total{code=\"404\",component=\"apiserver\",dry_run=\"\"," LABELS("GET") "} 1");
	metrics_free(m);
}

static void test_metrics__dry_run_is_a_label_of_its_own(void **state _unused_)
{
	struct metrics *m = metrics_new();
	struct metrics_labels post = revisions("POST");
	post.dry_run = STR("All");
	count(m, post, 201, 1, 1);
	assert_has(m, "apiserver_request_total{code=\"201\",component=\"apiserver\",dry_run=\"All\"," LABELS("POST") "} 1");
	metrics_free(m);
}

static void test_metrics__durations_fall_into_cumulative_buckets(void **state _unused_)
{
	struct metrics *m = metrics_new();
	struct metrics_labels get = revisions("GET");
	count(m, get, 200, 5000000, 0); /* 5 ms: on the bound, which is within */
	count(m, get, 200, 30000000, 0);
	count(m, get, 200, 120000000000, 0); /* beyond all bounds */
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

static void test_metrics__watches_and_dry_runs_are_no_indicators(void **state _unused_)
{
	struct metrics *m = metrics_new();
	struct metrics_request watch = {.labels = revisions("WATCH"), .code = 200, .is_watch = true};
	struct metrics_labels post = revisions("POST");
	metrics_count_request(m, &watch);
	post.dry_run = STR("All");
	count(m, post, 201, 1, 1);
	count(m, revisions("PUT"), 200, 60000000, 1);
	assert_lacks(m, "sli_duration_seconds_count{component=\"apiserver\"," LABELS("WATCH"));
	assert_lacks(m, "sli_duration_seconds_count{component=\"apiserver\"," LABELS("POST"));
	assert_has(m, "apiserver_request_sli_duration_seconds_bucket{component=\"apiserver\"," LABELS("PUT") ",le=\"0.05\"} 0");
	assert_has(m, "apiserver_request_sli_duration_seconds_bucket{component=\"apiserver\"," LABELS("PUT") ",le=\"0.1\"} 1");
	metrics_free(m);
}

static void test_metrics__sizes_of_reads_are_counted(void **state _unused_)
{
	struct metrics *m = metrics_new();
	struct metrics_request list = {.labels = revisions("LIST"), .code = 200, .bytes = 5000, .is_read = true};
	metrics_count_request(m, &list);
	count(m, revisions("PUT"), 200, 1, 1);
	assert_has(m, "apiserver_response_sizes_bucket{component=\"apiserver\"," LABELS("LIST") ",le=\"10000\"} 1");
	assert_has(m, "apiserver_response_sizes_bucket{component=\"apiserver\"," LABELS("LIST") ",le=\"1000\"} 0");
	assert_has(m, "apiserver_response_sizes_sum{component=\"apiserver\"," LABELS("LIST") "} 5000");
	assert_lacks(m, "apiserver_response_sizes_count{component=\"apiserver\"," LABELS("PUT"));
	metrics_free(m);
}

static void test_metrics__events_of_watches(void **state _unused_)
{
	struct metrics *m = metrics_new();
	struct series *watched = metrics_watched(m, STR("apps"), STR("v1"), STR("controllerrevisions"));
	assert_lacks(m, "apiserver_watch_events_total");
	metrics_count_event(watched, 1024);
	metrics_count_initial(metrics_watched(m, STR("apps"), STR(""), STR("controllerrevisions")));
	metrics_count_event(watched, 1025);
	assert_ptr_equal(metrics_watched(m, STR("apps"), STR("v1"), STR("controllerrevisions")), watched);
#define EVENTS "group=\"apps\",resource=\"controllerrevisions\""
	assert_has(m, "apiserver_watch_events_total{" EVENTS ",version=\"v1\"} 2");
	assert_has(m, "apiserver_watch_events_sizes_bucket{" EVENTS ",version=\"v1\",le=\"1024\"} 1");
	assert_has(m, "apiserver_watch_events_sizes_sum{" EVENTS ",version=\"v1\"} 2049");
	assert_has(m, "apiserver_init_events_total{" EVENTS "} 1");
	metrics_free(m);
}

static void assert_nothing_comes_twice(struct metrics *m)
{
	struct buf text;
	buf_init(&text, 1 << 20);
	metrics_write(m, &text);
	struct str rest = buf_str(&text), line, more = {NULL, 0};
	while (str_cut(rest, '\n', &line, &rest)) {
		struct str others = rest, other = {NULL, 0};
		size_t n = line.n;
		while (n > 0 && line.p[n - 1] != ' ') {
			n--;
		}
		while (line.p[0] != '#' && str_cut(others, '\n', &other, &more)) {
			if (str_starts(other, (struct str){line.p, n})) {
				fail_msg("twice: " STR_FMT, STR_ARG(other));
			}
			others = more;
		}
	}
	buf_done(&text);
}

/* A sample is one whatever labels of other families its requests had. */
static void test_metrics__samples_come_once(void **state _unused_)
{
	static const char *const verbs[] = {"LIST", "PUT"};
	struct metrics *m = metrics_new();
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		struct metrics_request r = {.labels = revisions(verbs[i]), .code = 200, .bytes = 1, .is_read = i == 0, .is_deprecated = true};
		metrics_count_request(m, &r);
		metrics_count_refused(m, &r.labels, i == 1);
		r.labels.dry_run = STR("All");
		metrics_count_request(m, &(struct metrics_request){.labels = r.labels, .code = 200});
		metrics_count_refused(m, &r.labels, i == 1);
	}
	static const char *const versions[] = {"v1", "v1beta1"};
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		metrics_count_event(metrics_watched(m, STR("apps"), str_of(versions[i]), STR("controllerrevisions")), 1);
		metrics_count_initial(metrics_watched(m, STR("apps"), STR(""), STR("controllerrevisions")));
	}
	assert_has(m, "apiserver_requested_deprecated_apis{group=\"apps\",removed_release=\"\",resource=\"controllerrevisions\",subresource=\"\",version=\"v1\"} 1");
	assert_has(m, "apiserver_init_events_total{" EVENTS "} 2");
	assert_nothing_comes_twice(m);
	metrics_free(m);
}

static void test_metrics__transactions_by_operation(void **state _unused_)
{
	struct metrics *m = metrics_new();
	metrics_count_etcd(m, STR("create"), STR("apps"), STR("controllerrevisions"), 1000000);
	assert_has(m, "etcd_requests_total{group=\"apps\",operation=\"create\",resource=\"controllerrevisions\"} 1");
	assert_has(m, "etcd_request_duration_seconds_bucket{group=\"apps\",operation=\"create\",resource=\"controllerrevisions\",le=\"0.005\"} 1");
	metrics_free(m);
}

static void test_metrics__failures_of_etcd_by_operation(void **state _unused_)
{
	struct metrics *m = metrics_new();
	metrics_count_etcd(m, STR("create"), STR("apps"), STR("controllerrevisions"), 1000000);
	assert_lacks(m, "etcd_request_errors_total{");
	metrics_count_etcd_error(m, STR("create"), STR("apps"), STR("controllerrevisions"));
	metrics_count_etcd_error(m, STR("list"), STR("apps"), STR("controllerrevisions"));
	assert_has(m, "etcd_requests_total{group=\"apps\",operation=\"create\",resource=\"controllerrevisions\"} 1");
	assert_has(m, "etcd_request_errors_total{group=\"apps\",operation=\"create\",resource=\"controllerrevisions\"} 1");
	assert_has(m, "etcd_request_errors_total{group=\"apps\",operation=\"list\",resource=\"controllerrevisions\"} 1");
	metrics_free(m);
}

static void test_metrics__watches_and_reads_that_fall_behind(void **state _unused_)
{
	struct metrics *m = metrics_new();
	metrics_count_terminated(metrics_watched(m, STR("apps"), STR(""), STR("controllerrevisions")));
	metrics_count_read_wait(m, STR("apps"), STR("controllerrevisions"), 300000000);
	assert_has(m, "apiserver_terminated_watchers_total{group=\"apps\",resource=\"controllerrevisions\"} 1");
#define READ_WAIT "apiserver_watch_cache_read_wait_seconds_bucket{group=\"apps\",resource=\"controllerrevisions\",le="
	assert_has(m, READ_WAIT "\"0.2\"} 0");
	assert_has(m, READ_WAIT "\"0.4\"} 1");
	assert_nothing_comes_twice(m);
	metrics_free(m);
}

static void test_metrics__attempts_by_result_and_kind_of_user(void **state _unused_)
{
	struct metrics *m = metrics_new();
	metrics_count_attempt(m, ATTEMPT_SUCCESS, STR("admin"), 1);
	metrics_count_attempt(m, ATTEMPT_SUCCESS, STR("a@b"), 1);
	metrics_count_attempt(m, ATTEMPT_SUCCESS, STR("alice"), 3000000);
	metrics_count_attempt(m, ATTEMPT_NO_OPINION, STR(""), 1);
	assert_has(m, "authentication_attempts{result=\"success\"} 3");
	assert_has(m, "authentication_duration_seconds_bucket{result=\"success\",le=\"0.002\"} 2");
	assert_has(m, "authenticated_user_requests{username=\"email_id\"} 1");
	assert_has(m, "authenticated_user_requests{username=\"other\"} 1");
	assert_has(m, "authorization_attempts_total{result=\"no-opinion\"} 1");
	assert_lacks(m, "result=\"allowed\"");
	metrics_free(m);
}

static void test_metrics__load_goes_up_and_down(void **state _unused_)
{
	struct metrics *m = metrics_new();
	metrics_inflight(m, true, 1);
	metrics_inflight(m, false, 1);
	metrics_inflight(m, false, 1);
	metrics_inflight(m, false, -1);
	struct metrics_labels watch = revisions("WATCH"), list = revisions("LIST");
	metrics_longrunning(m, &watch, 3);
	metrics_longrunning(m, &watch, -3);
	metrics_count_refused(m, &list, false);
	assert_has(m, "apiserver_current_inflight_requests{request_kind=\"mutating\"} 1");
	assert_has(m, "apiserver_current_inflight_requests{request_kind=\"readOnly\"} 1");
	assert_has(m, "apiserver_longrunning_requests{component=\"apiserver\"," LABELS("WATCH") "} 0");
	assert_has(m, "apiserver_request_total{code=\"429\",component=\"apiserver\",dry_run=\"\"," LABELS("LIST") "} 1");
	assert_has(m, "apiserver_request_terminations_total{code=\"429\",component=\"apiserver\"," LABELS("LIST") "} 1");
	assert_has(m, "apiserver_rejected_requests_total{request_kind=\"readOnly\"} 1");
	metrics_free(m);
}

static void write_source(void *ctx, struct buf *out)
{
	exposition_counter(out, "annals_things_total", "Things.", *(double *)ctx);
	exposition_gauge(out, "annals_share", "A share.", 0.25);
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
	count(m, labels, 200, 1, 1);
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
		count(m, labels, 200, 1, 1);
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
		count(ctx, labels, 200 + i % 3, 1, 1);
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
		TEST(test_metrics__watches_and_dry_runs_are_no_indicators),
		TEST(test_metrics__events_of_watches),
		TEST(test_metrics__samples_come_once),
		TEST(test_metrics__transactions_by_operation),
		TEST(test_metrics__failures_of_etcd_by_operation),
		TEST(test_metrics__watches_and_reads_that_fall_behind),
		TEST(test_metrics__attempts_by_result_and_kind_of_user),
		TEST(test_metrics__sizes_of_reads_are_counted),
		TEST(test_metrics__load_goes_up_and_down),
		TEST(test_metrics__sources_are_asked_at_scrape_time),
		TEST(test_metrics__odd_labels_are_escaped),
		TEST(test_metrics__too_many_label_sets_are_counted_together),
		TEST(test_metrics__threads_lose_no_count),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
