#include "tests/unit/doctor_world.h"

static struct str written(struct report *r, struct buf *out, bool is_json)
{
	buf_init(out, 1 << 20);
	if (is_json) {
		report_write_json(r, out);
	} else {
		report_write_text(r, false, out);
	}
	return buf_str(out);
}

static void test_report__text_has_parts_findings_and_fixes(void **state _unused_)
{
	struct report r;
	struct buf out;
	report_init(&r);
	r.part = "etcd";
	report_add(&r, SEVERITY_OK, STR("a"), NO_FIX, "fine");
	report_add(&r, SEVERITY_ERROR, STR("b"), STR("do this\nand that"), "%d wrong", 2);
	r.part = "files";
	report_add(&r, SEVERITY_SKIPPED, STR("c"), NO_FIX, "not seen");
	assert_str(written(&r, &out, false),
		"etcd\n  ok       a: fine\n  error    b: 2 wrong\n           fix:\ndo this\nand that\n\n"
		"\nfiles\n  skipped  c: not seen\n\n1 error, 0 warnings, 1 ok, 1 not checked\n");
	buf_done(&out);
	report_done(&r);
}

/* A client certificate has expired: etcd refuses it, nothing is known of its keys, and the server is not ready. */
static void add_chain(struct report *r)
{
	r->part = "etcd";
	r->topic = TOPIC_ENDPOINT;
	report_add(r, SEVERITY_ERROR, STR("https://e"), STR("look at etcd"), "it refuses");
	r->topic = TOPIC_ETCD_FILES;
	report_add(r, SEVERITY_ERROR, STR("e.crt"), STR("renew it"), "it has expired");
	r->topic = TOPIC_KEYS;
	report_add(r, SEVERITY_SKIPPED, STR("keys"), NO_FIX, "not seen");
	r->topic = TOPIC_NONE;
	report_add(r, SEVERITY_ERROR, STR("other"), STR("fix it"), "wrong");
	report_add(r, SEVERITY_OK, STR("fine"), NO_FIX, "ok");
	report_find_causes(r);
}

static void test_report__the_cause_comes_first(void **state _unused_)
{
	struct report r;
	struct buf out;
	report_init(&r);
	add_chain(&r);
	assert_str(written(&r, &out, false),
		"fix this first: etcd\n  error    e.crt: it has expired\n           fix:\nrenew it\n\n"
		"           2 findings below may follow from it\n"
		"\netcd\n  error    https://e: it refuses\n           It may follow from the error of e.crt, above.\n"
		"  skipped  keys: not seen\n           It may follow from the error of e.crt, above.\n"
		"  error    other: wrong\n           fix:\nfix it\n\n  ok       fine: ok\n"
		"\n3 errors, 0 warnings, 1 ok, 1 not checked\n");
	buf_done(&out);
	assert_true(str_starts(written(&r, &out, true),
		STR("{\"findings\":[{\"severity\":\"error\",\"part\":\"etcd\",\"subject\":\"e.crt\",\"found\":\"it has "
		    "expired\",\"fix\":\"renew "
		    "it\"},"
		    "{\"severity\":\"error\",\"part\":\"etcd\",\"subject\":\"https://e\",\"found\":\"it "
		    "refuses\",\"fix\":\"look at etcd\",\"cause\":"
		    "\"e.crt\"},")));
	buf_done(&out);
	report_done(&r);
}

/* Neither is connected with the other, and what is well causes nothing. */
static void test_report__what_is_apart_has_no_cause(void **state _unused_)
{
	struct report r;
	report_init(&r);
	r.topic = TOPIC_ACCESS;
	report_add(&r, SEVERITY_ERROR, STR("RBAC"), NO_FIX, "missing");
	r.topic = TOPIC_KEYS;
	report_add(&r, SEVERITY_ERROR, STR("keys"), NO_FIX, "foreign");
	r.topic = TOPIC_APISERVER;
	report_add(&r, SEVERITY_WARNING, STR("kube-apiserver"), NO_FIX, "odd");
	r.topic = TOPIC_CLUSTER;
	report_add(&r, SEVERITY_SKIPPED, STR("everything"), NO_FIX, "not seen");
	report_find_causes(&r);
	for (size_t i = 0; i < r.n; i++) {
		assert_null(r.findings[i].cause);
	}
	report_done(&r);
}

static void test_report__causes_are_found_through_what_lies_between(void **state _unused_)
{
	struct report r;
	report_init(&r);
	r.topic = TOPIC_AVAILABLE;
	report_add(&r, SEVERITY_ERROR, STR("APIService"), NO_FIX, "not Available");
	r.topic = TOPIC_ETCD_FILES;
	report_add(&r, SEVERITY_ERROR, STR("e.crt"), NO_FIX, "expired");
	report_find_causes(&r);
	assert_ptr_equal(r.findings[0].cause, &r.findings[1]);
	assert_null(r.findings[1].cause);
	assert_int_equal(r.findings[1].n_effects, 1);
	report_done(&r);
}

static void test_report__colours_are_around_what_was_found(void **state _unused_)
{
	struct report r;
	struct buf out;
	report_init(&r);
	r.part = "etcd";
	report_add(&r, SEVERITY_ERROR, STR("a\033[2J"), STR("do\033[2J"), "wrong");
	buf_init(&out, 1 << 20);
	report_write_text(&r, true, &out);
	assert_true(str_starts(buf_str(&out),
		STR("\033[1metcd\033[0m\n  \033[31merror   \033[0m a\\u001b[2J: wrong\n           fix:\ndo\\u001b[2J\n")));
	buf_done(&out);
	report_done(&r);
}

static void test_report__json_has_the_same(void **state _unused_)
{
	struct report r;
	struct buf out;
	report_init(&r);
	r.part = "etcd";
	report_add(&r, SEVERITY_WARNING, STR("b"), STR("do \"this\""), "wrong");
	assert_str(written(&r, &out, true),
		"{\"findings\":[{\"severity\":\"warning\",\"part\":\"etcd\",\"subject\":\"b\",\"found\":\"wrong\",\"fix\":"
		"\"do \\\"this\\\"\"}],"
		"\"counts\":{\"ok\":0,\"skipped\":0,\"warning\":1,\"error\":0}}\n");
	buf_done(&out);
	report_done(&r);
}

static void test_report__control_characters_of_others_are_replaced(void **state _unused_)
{
	struct report r;
	report_init(&r);
	report_add(&r, SEVERITY_OK, STR("a\033[2J"), NO_FIX, "x\033]0;y\007\nz\n");
	assert_str(r.findings[0].subject, "a\\u001b[2J");
	assert_str(r.findings[0].found, "x\\u001b]0;y\\u0007 z");
	report_done(&r);
}

static void test_report__has_a_ceiling(void **state _unused_)
{
	struct report r;
	report_init(&r);
	for (int i = 0; i < 5000; i++) {
		report_add(&r, SEVERITY_ERROR, STR("a"), NO_FIX, "b");
	}
	assert_int_equal(r.n, 1000);
	assert_int_equal(r.counts[SEVERITY_ERROR], 5000);
	report_done(&r);
}

static void test_report__shell_words_mean_themselves(void **state _unused_)
{
	static const char *const words[][2] = {{"/a/b-c.d", "/a/b-c.d"}, {"", "''"}, {"a b", "'a b'"}, {"$(x)", "'$(x)'"},
		{"it's", "'it'\\''s'"}, {"a;b", "'a;b'"}};
	struct report r;
	report_init(&r);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		assert_str(shell_word(&r.arena, str_of(words[i][0])), words[i][1]);
	}
	report_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_report__text_has_parts_findings_and_fixes),
		TEST(test_report__the_cause_comes_first),
		TEST(test_report__what_is_apart_has_no_cause),
		TEST(test_report__causes_are_found_through_what_lies_between),
		TEST(test_report__colours_are_around_what_was_found),
		TEST(test_report__json_has_the_same),
		TEST(test_report__control_characters_of_others_are_replaced),
		TEST(test_report__has_a_ceiling),
		TEST(test_report__shell_words_mean_themselves),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
