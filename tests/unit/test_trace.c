#include "tests/double/trace.h"

#include "storage/memory/memory.h"
#include "tests/unit/check.h"

struct lines {
	char text[16][512];
	size_t n;
};

static void keep_line(void *ctx, const char *text)
{
	struct lines *lines = ctx;
	assert_true(lines->n < ARRAY_SIZE(lines->text));
	snprintf(lines->text[lines->n++], sizeof(lines->text[0]), "%s", text);
}

static void check_starts(const char *line, const char *start)
{
	if (!str_starts(str_of(line), str_of(start))) {
		fail_msg("\"%s\" does not start with \"%s\"", line, start);
	}
}

static void test_trace__one_line_for_each_answer(void **state _unused_)
{
	struct lines lines = {.n = 0};
	struct storage *s = storage_trace_new(storage_memory_new(), keep_line, &lines);
	struct storage_compare guard = {.target = COMPARE_CREATE, .key = STR("/a")};
	struct storage_step put = {.kind = STEP_PUT, .key = STR("/a"), .value = STR("not shown")};
	struct storage_step get = {.kind = STEP_GET, .key = STR("/"), .range_end = STR("0")};
	struct storage_txn txn = {
		.compares = &guard, .n_compares = 1, .success = &put, .n_success = 1, .failure = &get, .n_failure = 1};
	for (int i = 0; i < 2; i++) {
		storage_txn_wait(s, &txn);
		storage_op_clear(&txn.op);
	}
	struct storage_range range = {.key = STR("/"), .range_end = STR("0")};
	storage_range_wait(s, &range);
	storage_op_clear(&range.op);
	struct storage_compact compact = {.at_revision = 9};
	storage_compact_wait(s, &compact);
	storage_op_clear(&compact.op);
	struct storage_lease lease = {.id = 7, .ttl_s = 5};
	storage_lease_grant_wait(s, &lease);
	storage_op_clear(&lease.op);
	struct storage_status status = {0};
	storage_status_wait(s, &status);
	storage_op_clear(&status.op);
	storage_free(s);

	assert_int_equal(lines.n, 6);
	check_starts(lines.text[0], "txn 1 guards, put /a -> OK, revision 2, ");
	check_starts(lines.text[1], "txn 1 guards failed, get /... -> OK, revision 2, ");
	check_starts(lines.text[2], "range /..., 1 of 1 -> OK, revision 2, ");
	check_starts(lines.text[3], "compact at 9 -> Future, revision 2, ");
	assert_non_null(strstr(lines.text[3], "us: etcdserver: mvcc: required revision is a future revision"));
	check_starts(lines.text[4], "lease_grant 7, 5 s -> OK");
	check_starts(lines.text[5], "status -> OK");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_trace__one_line_for_each_answer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
