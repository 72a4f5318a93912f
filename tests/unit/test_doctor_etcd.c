#include "cli/doctor/doctor_etcd.h"
#include "tests/unit/doctor_world.h"

#define GIB ((int64_t)1 << 30)
#define CTL STR("etcdctl")

static struct etcd_health healthy(void)
{
	static struct etcd_member members[] = {{1, {"a", 1}, {"http://a", 8}, false}};
	return (struct etcd_health){.cluster = 7,
		.member = 1,
		.leader = 1,
		.version = STR("3.6.1"),
		.size = GIB,
		.in_use = GIB / 2,
		.quota = 8 * GIB,
		.members = members,
		.n_members = 1};
}

static void judge_one(struct report *r, const struct etcd_health *h, int64_t metered_quota)
{
	report_init(r);
	judge_etcd_member(r, STR("e"), h, metered_quota, CTL);
}

static void test_etcd__healthy_member_is_ok(void **state _unused_)
{
	struct report r;
	struct etcd_health h = healthy();
	judge_one(&r, &h, 0);
	expect_only(&r, SEVERITY_OK, 2);
	expect_finding(&r, SEVERITY_OK, "1024 MiB, 512 MiB of it in use; that is 12% of its quota of 8192 MiB", "");
	report_done(&r);
}

static void test_etcd__versions(void **state _unused_)
{
	static const struct {
		const char *version;
		enum severity severity;
		const char *found;
	} cases[] = {
		{"3.3.27", SEVERITY_ERROR, "older than 3.4.23"},
		{"3.4.22", SEVERITY_ERROR, "older than 3.4.23"},
		{"3.4.23", SEVERITY_OK, "race"},
		{"3.4.25", SEVERITY_OK, "etcd 3.4.25"},
		{"3.5.0", SEVERITY_ERROR, "loses consistency"},
		{"3.5.2", SEVERITY_ERROR, "loses consistency"},
		{"3.5.3", SEVERITY_OK, "race"},
		{"3.5.8", SEVERITY_OK, "etcd 3.5.8"},
		{"3.6.16", SEVERITY_OK, "etcd 3.6.16"},
		{"3.7.0-alpha.0", SEVERITY_OK, "etcd 3.7.0-alpha.0"},
		{"newest", SEVERITY_WARNING, "cannot be understood"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct report r;
		struct etcd_health h = healthy();
		h.version = str_of(cases[i].version);
		judge_one(&r, &h, 0);
		expect_finding(&r, cases[i].severity, cases[i].found, cases[i].severity == SEVERITY_ERROR ? "etcd" : "");
		report_done(&r);
	}
}

static void test_etcd__quota_is_what_it_says_or_metrics_say_or_the_default(void **state _unused_)
{
	static const struct {
		int64_t quota, metered, size;
		enum severity severity;
		const char *found;
	} cases[] = {
		{8 * GIB, 0, 7 * GIB, SEVERITY_WARNING, "87% of its quota of 8192 MiB: at 100%"},
		{0, 8 * GIB, 7 * GIB, SEVERITY_WARNING, "87% of its quota of 8192 MiB: at 100%"},
		{0, 0, 2 * GIB, SEVERITY_WARNING, "100% of the default quota (its own is not reported) of 2048 MiB"},
		{0, 0, GIB, SEVERITY_OK, "50% of the default quota"},
		{1, 0, GIB, SEVERITY_WARNING, "of its quota of 0 MiB"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct report r;
		struct etcd_health h = healthy();
		h.quota = cases[i].quota;
		h.size = cases[i].size;
		judge_one(&r, &h, cases[i].metered);
		expect_finding(&r, cases[i].severity, cases[i].found, cases[i].severity == SEVERITY_OK ? "" : "etcdctl defrag");
		report_done(&r);
	}
}

static void test_etcd__no_leader_and_learners_are_errors(void **state _unused_)
{
	struct report r;
	struct etcd_health h = healthy();
	h.leader = 0;
	h.is_learner = true;
	h.member = 0xabc;
	judge_one(&r, &h, 0);
	expect_finding(&r, SEVERITY_ERROR, "no leader", "endpoint status");
	expect_finding(&r, SEVERITY_ERROR, "learner", "member promote abc");
	report_done(&r);
}

static void test_etcd__alarms_are_errors(void **state _unused_)
{
	struct report r;
	struct etcd_health h = healthy();
	struct etcd_alarm alarms[] = {{1, ETCD_ALARM_NOSPACE}, {2, ETCD_ALARM_CORRUPT}, {1, ETCD_ALARM_OTHER}};
	h.alarms = alarms;
	h.n_alarms = ARRAY_SIZE(alarms);
	report_init(&r);
	judge_etcd_cluster(&r, STR("c"), &h, CTL);
	expect_finding(&r, SEVERITY_ERROR, "NOSPACE, raised by member 1 (a)",
		"etcdctl compact \"$rev\"\netcdctl defrag\netcdctl alarm disarm");
	expect_finding(&r, SEVERITY_ERROR, "CORRUPT, raised for member 2 (unknown)", "member remove 2");
	expect_finding(&r, SEVERITY_ERROR, "unknown kind", "alarm list");
	assert_int_equal(r.counts[SEVERITY_ERROR], 3);
	report_done(&r);
}

static void test_etcd__members(void **state _unused_)
{
	static const struct {
		struct etcd_member members[3];
		size_t n;
		enum severity severity;
		const char *found;
	} cases[] = {
		{{{1, {"a", 1}, {0}, false}}, 1, SEVERITY_OK, "1 voting member, 0 of which"},
		{{{1, {"a", 1}, {0}, false}, {2, {"b", 1}, {0}, false}}, 2, SEVERITY_WARNING, "2 voting members, 0 of which"},
		{{{1, {"a", 1}, {0}, false}, {2, {"b", 1}, {0}, true}}, 2, SEVERITY_OK, "1 voting member, 0 of which"},
		{{{1, {"a", 1}, {0}, false}, {2, {"b", 1}, {0}, false}, {3, {"c", 1}, {0}, false}}, 3, SEVERITY_OK,
			"3 voting members, 1 of which"},
		{{{1, {"a", 1}, {0}, false}, {2, {"b", 1}, {0}, false}, {3, {0}, {0}, false}}, 3, SEVERITY_WARNING,
			"member 3 has been added and never started"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct report r;
		struct etcd_health h = healthy();
		h.members = (struct etcd_member *)(uintptr_t)cases[i].members;
		h.n_members = cases[i].n;
		report_init(&r);
		judge_etcd_cluster(&r, STR("c"), &h, CTL);
		expect_finding(&r, cases[i].severity, cases[i].found, "");
		expect_finding(&r, SEVERITY_OK, "no alarms", "");
		report_done(&r);
	}
}

static void test_etcd__what_was_not_told_is_not_judged(void **state _unused_)
{
	struct report r;
	struct etcd_health h = {.version = STR("3.6.1"),
		.leader = 1,
		.members_problem = STR("permission denied"),
		.alarms_problem = STR("denied, too")};
	report_init(&r);
	judge_etcd_cluster(&r, STR("c"), &h, CTL);
	expect_only(&r, SEVERITY_SKIPPED, 2);
	report_done(&r);
}

static void test_etcd__endpoints_of_two_clusters_are_an_error(void **state _unused_)
{
	static const char *const endpoints[] = {"http://down", "http://one", "http://two"};
	struct report r;
	struct etcd_health h[3] = {{0}, healthy(), healthy()};
	report_init(&r);
	judge_etcd_endpoints(&r, endpoints, h, 3);
	assert_int_equal(r.n, 0);
	h[2].cluster = 8;
	judge_etcd_endpoints(&r, endpoints, h, 3);
	assert_str(expect_finding(&r, SEVERITY_ERROR, "another cluster (8) than http://one (7)", "--etcd-servers=http://one")
			   ->subject,
		"http://two");
	report_done(&r);
}

static void test_etcd__metrics(void **state _unused_)
{
	struct etcd_metrics m;
	struct report r;
	etcd_metrics_parse(&m,
		STR("# HELP etcd_server_quota_backend_bytes x\netcd_server_quota_backend_bytes 2.147483648e+09\n"
		    "etcd_disk_wal_fsync_duration_seconds_sum 0.5\netcd_disk_wal_fsync_duration_seconds_count 10"));
	assert_int_equal(m.quota, 2 * GIB);
	report_init(&r);
	judge_etcd_disk(&r, STR("e"), &m);
	expect_finding(&r, SEVERITY_WARNING, "50.00 ms", "SSD");
	report_done(&r);

	etcd_metrics_parse(&m, STR("etcd_server_quota_backend_bytes -1\nnothing\n"));
	assert_int_equal(m.quota, 0);
	report_init(&r);
	judge_etcd_disk(&r, STR("e"), &m);
	assert_int_equal(r.n, 0);
	report_done(&r);
}

static void test_etcd__prefixes(void **state _unused_)
{
	const struct etcd_prefix others[] = {{STR("/old"), 5, true}, {STR("/registry"), 9, false}};
	struct report r;
	report_init(&r);
	judge_etcd_prefixes(&r, STR("/annals"), 3, false, others, 2);
	expect_only(&r, SEVERITY_OK, 3);
	report_done(&r);
	report_init(&r);
	judge_etcd_prefixes(&r, STR("/annals"), 0, false, others, 2);
	expect_finding(&r, SEVERITY_WARNING, "5 keys, which another annals has written", "--etcd-prefix=/old");
	expect_finding(&r, SEVERITY_OK, "9 keys, not annals'", "");
	report_done(&r);
	report_init(&r);
	judge_etcd_prefixes(&r, STR("/registry"), 0, true, NULL, 0);
	expect_finding(&r, SEVERITY_ERROR, "not annals' JSON", "--etcd-prefix=/annals");
	report_done(&r);
}

static void test_etcd__etcdctl_is_called_as_annals_calls_etcd(void **state _unused_)
{
	struct report r;
	report_init(&r);
	assert_str(etcdctl_command(
			   &r.arena, &(struct doctor_etcd){.ca_file = "a b", .cert_file = "c", .key_file = "k"}, "https://x:1"),
		"ETCDCTL_API=3 etcdctl --endpoints=https://x:1 --cacert='a b' --cert=c --key=k");
	report_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_etcd__healthy_member_is_ok),
		TEST(test_etcd__versions),
		TEST(test_etcd__quota_is_what_it_says_or_metrics_say_or_the_default),
		TEST(test_etcd__no_leader_and_learners_are_errors),
		TEST(test_etcd__alarms_are_errors),
		TEST(test_etcd__members),
		TEST(test_etcd__what_was_not_told_is_not_judged),
		TEST(test_etcd__endpoints_of_two_clusters_are_an_error),
		TEST(test_etcd__metrics),
		TEST(test_etcd__prefixes),
		TEST(test_etcd__etcdctl_is_called_as_annals_calls_etcd),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
