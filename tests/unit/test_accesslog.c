#include "server/metrics/accesslog.h"
#include "tests/unit/check.h"

#include <stdlib.h>
#include <unistd.h>

static char log_path[] = "/tmp/annals-access-XXXXXX";

static int make_file(void **state _unused_)
{
	close(mkstemp(log_path));
	return 0;
}

static int remove_file(void **state _unused_)
{
	return unlink(log_path);
}

static const struct accesslog_entry entry = {
	.method = {"GET", 3},
	.path = {"/api/v1/namespaces?labelSelector=secret", 39},
	.verb = {"list", 4},
	.user = {"admin", 5},
	.user_agent = {"kubectl/v1 (\"x\")", 16},
	.peer = {"127.0.0.1:4000", 14},
	.audit_id = {"id", 2},
	.status = 200,
	.bytes = 17,
	.duration_ns = 1234567,
	.storage_ns = 1000000,
};

/* Everything written for n copies of e, NUL-terminated; mem_free. */
static char *written(enum log_format format, const struct accesslog_entry *e, size_t n)
{
	struct accesslog *l;
	struct buf text;
	buf_init(&text, 8 << 20);
	assert_int_equal(truncate(log_path, 0), 0);
	assert_int_equal(accesslog_new(&l, log_path, format, &text), 0);
	for (size_t i = 0; i < n; i++) {
		accesslog_write(l, e);
	}
	accesslog_free(l);

	FILE *f = fopen(log_path, "r");
	char part[4096];
	size_t got;
	while ((got = fread(part, 1, sizeof(part), f)) > 0) {
		buf_add(&text, part, got);
	}
	fclose(f);
	return buf_take(&text, NULL);
}

static void test_accesslog__text_line(void **state _unused_)
{
	char *line = written(LOG_TEXT, &entry, 1);
	assert_string_equal(strchr(line, ' '),
		" method=GET path=/api/v1/namespaces verb=list status=200 bytes=17 duration_ms=1.235 storage_ms=1.000 "
		"user=admin agent=\"kubectl/v1 (\\\"x\\\")\" peer=127.0.0.1:4000 audit=id\n");
	mem_free(line);
}

static void test_accesslog__json_line(void **state _unused_)
{
	char *line = written(LOG_JSON, &entry, 1);
	assert_memory_equal(line, "{\"ts\":\"", 7);
	assert_string_equal(strstr(line, ",\"method\""),
		",\"method\":\"GET\",\"path\":\"/api/v1/"
		"namespaces\",\"verb\":\"list\",\"status\":200,\"bytes\":17,\"duration_ms\":1.235,"
		"\"storage_ms\":1.000,\"user\":\"admin\",\"agent\":\"kubectl/v1 "
		"(\\\"x\\\")\",\"peer\":\"127.0.0.1:4000\",\"audit\":\"id\"}\n");
	mem_free(line);
}

static void test_accesslog__query_is_left_out(void **state _unused_)
{
	char *line = written(LOG_TEXT, &entry, 1);
	assert_null(strstr(line, "secret"));
	mem_free(line);
}

static void test_accesslog__client_cannot_start_a_line(void **state _unused_)
{
	struct accesslog_entry e = entry;
	e.user_agent = STR("x\nmethod=DELETE");
	char *line = written(LOG_TEXT, &e, 1);
	assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
	mem_free(line);
}

static void test_accesslog__client_cannot_steer_a_terminal(void **state _unused_)
{
	static const enum log_format formats[] = {LOG_TEXT, LOG_JSON};
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		struct accesslog_entry e = entry;
		e.user_agent = STR("a\xc2\x9b"
				   "31m\x7f\x1b[0m\xc2\x80\xc2\xa0\xc3\x9b");
		char *line = written(formats[i], &e, 1);
		assert_non_null(strstr(line, "\"a\\u009b31m\\u007f\\u001b[0m\\u0080\xc2\xa0\xc3\x9b\""));
		mem_free(line);
	}
}

static void test_accesslog__long_values_are_cut(void **state _unused_)
{
	char agent[5000];
	memset(agent, 'a', sizeof(agent));
	struct accesslog_entry e = entry;
	e.user_agent = (struct str){agent, sizeof(agent)};
	char *line = written(LOG_TEXT, &e, 1);
	assert_true(strlen(line) < 1000);
	mem_free(line);
}

static void test_accesslog__cut_answers_say_so(void **state _unused_)
{
	struct accesslog_entry e = entry;
	e.was_cut = true;
	char *line = written(LOG_TEXT, &e, 1);
	assert_non_null(strstr(line, " cut=true\n"));
	mem_free(line);
}

static size_t count_lines(const char *text)
{
	size_t n = 0;
	for (; *text; text++) {
		n += *text == '\n';
	}
	return n;
}

static uint64_t count_lost(const char *text)
{
	uint64_t n = 0;
	for (const char *p = text; (p = strstr(p, "lost=")); p++) {
		n += (uint64_t)atoll(p + 5) - 1; /* and the line that says so */
	}
	return n;
}

static void test_accesslog__every_line_is_written_or_counted(void **state _unused_)
{
	enum { N = 20000 };
	char *text = written(LOG_TEXT, &entry, N);
	assert_int_equal(count_lines(text) + count_lost(text), N);
	mem_free(text);
}

static void test_accesslog__unwritable_path_is_refused(void **state _unused_)
{
	struct accesslog *l;
	struct buf err;
	buf_init(&err, 1024);
	assert_true(accesslog_new(&l, "/nonexistent/log", LOG_TEXT, &err) < 0);
	assert_string_equal(err.p, "cannot open the access log /nonexistent/log: No such file or directory");
	buf_done(&err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_accesslog__text_line),
		TEST(test_accesslog__json_line),
		TEST(test_accesslog__query_is_left_out),
		TEST(test_accesslog__client_cannot_start_a_line),
		TEST(test_accesslog__client_cannot_steer_a_terminal),
		TEST(test_accesslog__long_values_are_cut),
		TEST(test_accesslog__cut_answers_say_so),
		TEST(test_accesslog__every_line_is_written_or_counted),
		TEST(test_accesslog__unwritable_path_is_refused),
	};
	return cmocka_run_group_tests(tests, make_file, remove_file);
}
