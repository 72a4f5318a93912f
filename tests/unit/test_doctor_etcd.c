#include "cli/doctor/doctor_etcd.h"
#include "tests/unit/doctor_world.h"

#define CTL STR("etcdctl")

static struct etcd_health healthy(void)
{
	return (struct etcd_health){.cluster = 7, .member = 1, .leader = 1, .version = STR("3.6.1")};
}

static void judge_one(struct report *r, const struct etcd_health *h)
{
	report_init(r);
	judge_etcd_member(r, STR("e"), h, CTL);
}

static void test_etcd__healthy_member_is_ok(void **state _unused_)
{
	struct report r;
	struct etcd_health h = healthy();
	judge_one(&r, &h);
	expect_only(&r, SEVERITY_OK, 1);
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
		judge_one(&r, &h);
		expect_finding(&r, cases[i].severity, cases[i].found, cases[i].severity == SEVERITY_ERROR ? "etcd" : "");
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
	judge_one(&r, &h);
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
	judge_etcd_alarms(&r, STR("c"), &h, CTL);
	expect_finding(&r, SEVERITY_ERROR, "alarm NOSPACE, raised by member 1: the quota is used up",
		"etcdctl compact \"$rev\"\netcdctl defrag\netcdctl alarm disarm");
	expect_finding(&r, SEVERITY_ERROR, "alarm CORRUPT, raised by member 2", "alarm list");
	expect_finding(&r, SEVERITY_ERROR, "of an unknown kind, raised by member 1", "alarm list");
	assert_int_equal(r.counts[SEVERITY_ERROR], 3);
	report_done(&r);
}

static void test_etcd__what_was_not_told_is_not_judged(void **state _unused_)
{
	struct report r;
	struct etcd_health h = {.version = STR("3.6.1"), .leader = 1, .alarms_problem = STR("permission denied")};
	report_init(&r);
	judge_etcd_alarms(&r, STR("c"), &h, CTL);
	expect_only(&r, SEVERITY_SKIPPED, 1);
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
		TEST(test_etcd__no_leader_and_learners_are_errors),
		TEST(test_etcd__alarms_are_errors),
		TEST(test_etcd__what_was_not_told_is_not_judged),
		TEST(test_etcd__endpoints_of_two_clusters_are_an_error),
		TEST(test_etcd__etcdctl_is_called_as_annals_calls_etcd),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
