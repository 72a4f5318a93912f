#include "storage/etcd/etcd_endpoint.h"

#include "tests/unit/check.h"

#include <errno.h>

static const struct {
	const char *text;
	const char *target; /* NULL: refused */
	bool is_tls;
} rows[] = {
	{"http://127.0.0.1:2379", "dns:///127.0.0.1:2379", false},
	{"https://etcd-0.etcd:2379", "dns:///etcd-0.etcd:2379", true},
	{"https://etcd:2379/", "dns:///etcd:2379", true},
	{"http://[::1]:2379", "dns:///[::1]:2379", false},
	{"localhost:2379", "dns:///localhost:2379", false},
	{"unix:///run/etcd.sock", "unix:/run/etcd.sock", false},
	{"unix:///run/etcd.sock:0", "unix:/run/etcd.sock:0", false},
	{"", NULL, false},
	{"http://", NULL, false},
	{"http://:2379", NULL, false},
	{"http://etcd", NULL, false},
	{"http://etcd:", NULL, false},
	{"http://etcd:0", NULL, false},
	{"http://etcd:65536", NULL, false},
	{"http://etcd:2379/v3", NULL, false},
	{"http://a/b:1", NULL, false},
	{"::1:2379", NULL, false},
	{"ftp://etcd:2379", NULL, false},
	{"unix://etcd.sock", NULL, false},
	{"unix:///", NULL, false},
};

static void test_etcd_endpoint__every_spelling(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct etcd_endpoint e = {0};
		struct buf err;
		buf_init(&err, 1024);
		int r = etcd_endpoint_init(&e, rows[i].text, &err);
		if (rows[i].target) {
			assert_int_equal(r, 0);
			assert_string_equal(e.target, rows[i].target);
			assert_int_equal(e.is_tls, rows[i].is_tls);
		} else {
			assert_int_equal(r, -EINVAL);
			assert_true(str_contains(buf_str(&err), str_of(rows[i].text)));
			assert_true(str_contains(buf_str(&err), STR("should look like")));
		}
		etcd_endpoint_done(&e);
		buf_done(&err);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_etcd_endpoint__every_spelling),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
