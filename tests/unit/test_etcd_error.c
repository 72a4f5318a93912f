#include "storage/etcd/etcd_codec.h"
#include "tests/unit/check.h"

/* gRPC's codes as they come over the wire. */
enum {
	OK = 0,
	CANCELLED = 1,
	UNKNOWN = 2,
	INVALID = 3,
	DEADLINE = 4,
	NOT_FOUND = 5,
	EXHAUSTED = 8,
	RANGE = 11,
	INTERNAL = 13,
	UNAVAILABLE = 14,
	UNAUTHENTICATED = 16
};

/* Texts as etcd 3.4 and 3.6 and gRPC 1.51 send them. */
static const struct {
	int code;
	const char *text;
	enum storage_result read, write;
	bool is_local;
} rows[] = {
	{OK, "", STORAGE_OK, STORAGE_OK, false},
	{RANGE, "etcdserver: mvcc: required revision has been compacted", STORAGE_COMPACTED, STORAGE_COMPACTED, false},
	{RANGE, "etcdserver: mvcc: required revision is a future revision", STORAGE_FUTURE, STORAGE_FUTURE, false},
	{NOT_FOUND, "etcdserver: requested lease not found", STORAGE_LEASE_GONE, STORAGE_LEASE_GONE, false},
	{INVALID, "etcdserver: request is too large", STORAGE_TOO_LARGE, STORAGE_TOO_LARGE, false},
	{EXHAUSTED, "grpc: received message larger than max (2097229 vs. 2097152)", STORAGE_TOO_LARGE, STORAGE_TOO_LARGE,
		false},
	{EXHAUSTED, "grpc: trying to send message larger than max (3 vs. 2)", STORAGE_TOO_LARGE, STORAGE_UNKNOWN, false},
	{EXHAUSTED, "Received message larger than max (3 vs. 2)", STORAGE_TOO_LARGE, STORAGE_UNKNOWN, false},
	{EXHAUSTED, "etcdserver: mvcc: database space exceeded", STORAGE_UNAVAILABLE, STORAGE_NO_SPACE, false},
	{EXHAUSTED, "etcdserver: too many requests", STORAGE_UNAVAILABLE, STORAGE_UNAVAILABLE, false},
	{UNAVAILABLE, "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:1: Connection refused",
		STORAGE_UNAVAILABLE, STORAGE_UNAVAILABLE, true},
	{UNAVAILABLE, "DNS resolution failed for x:1: UNKNOWN", STORAGE_UNAVAILABLE, STORAGE_UNAVAILABLE, true},
	{UNAVAILABLE, "etcdserver: no leader", STORAGE_UNAVAILABLE, STORAGE_UNAVAILABLE, true},
	{UNKNOWN, "raft proposal dropped", STORAGE_UNAVAILABLE, STORAGE_UNAVAILABLE, true},
	{UNAVAILABLE, "etcdserver: request timed out, possibly due to previous leader failure", STORAGE_TIMEOUT,
		STORAGE_TIMEOUT, true},
	{UNAVAILABLE, "etcdserver: leader changed", STORAGE_UNAVAILABLE, STORAGE_UNKNOWN, true},
	{UNAVAILABLE, "etcdserver: server stopped", STORAGE_UNAVAILABLE, STORAGE_UNKNOWN, true},
	{UNAVAILABLE, "Socket closed", STORAGE_UNAVAILABLE, STORAGE_UNKNOWN, true},
	{UNAVAILABLE, "keepalive watchdog timeout", STORAGE_UNAVAILABLE, STORAGE_UNKNOWN, true},
	{CANCELLED, "etcdserver: request canceled", STORAGE_UNAVAILABLE, STORAGE_UNKNOWN, true},
	{DEADLINE, "Deadline Exceeded", STORAGE_TIMEOUT, STORAGE_TIMEOUT, true},
	{INVALID, "etcdserver: key is not provided", STORAGE_ERROR, STORAGE_ERROR, false},
	{UNAUTHENTICATED, "etcdserver: invalid auth token", STORAGE_ERROR, STORAGE_ERROR, false},
	{INTERNAL, "stream terminated by RST_STREAM", STORAGE_ERROR, STORAGE_UNKNOWN, false},
	{UNKNOWN, "something new", STORAGE_ERROR, STORAGE_UNKNOWN, false},
};

static void test_etcd_error__every_known_text(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct etcd_verdict read = etcd_judge(rows[i].code, str_of(rows[i].text), true);
		struct etcd_verdict write = etcd_judge(rows[i].code, str_of(rows[i].text), false);
		if (read.result != rows[i].read || write.result != rows[i].write || read.is_local != rows[i].is_local) {
			fail_msg("\"%s\" is %s for a read and %s for a write", rows[i].text, storage_result_name(read.result),
				storage_result_name(write.result));
		}
		assert_int_equal(read.is_local, write.is_local);
	}
}

/* A write that is reported as certain must not have happened: only known refusals are. */
static void test_etcd_error__an_unknown_failure_of_a_write_is_uncertain(void **state _unused_)
{
	static const int refusals[] = {INVALID, NOT_FOUND, 6, 7, 9, RANGE, 12, UNAUTHENTICATED};
	for (int code = 1; code <= 16; code++) {
		bool is_refusal = false;
		for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
			is_refusal |= refusals[i] == code;
		}
		struct etcd_verdict verdict = etcd_judge(code, STR("never heard of"), false);
		assert_int_equal(storage_result_is_certain(verdict.result), is_refusal);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_etcd_error__every_known_text),
		TEST(test_etcd_error__an_unknown_failure_of_a_write_is_uncertain),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
