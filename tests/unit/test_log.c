#include "base/log.h"
#include "tests/unit/check.h"

#include <jansson.h>
#include <unistd.h>

/* stderr while a test logs; what was written comes back. */
struct capture {
	int kept_stderr;
	int pipe[2];
};

static void capture_begin(struct capture *c)
{
	assert_int_equal(pipe(c->pipe), 0);
	c->kept_stderr = dup(STDERR_FILENO);
	dup2(c->pipe[1], STDERR_FILENO);
	close(c->pipe[1]);
}

static size_t capture_end(struct capture *c, char *out, size_t size)
{
	dup2(c->kept_stderr, STDERR_FILENO);
	close(c->kept_stderr);
	ssize_t n = read(c->pipe[0], out, size - 1);
	close(c->pipe[0]);
	out[MAX(n, 0)] = '\0';
	return (size_t)MAX(n, 0);
}

static void test_log__is_silent_above_its_verbosity(void **state _unused_)
{
	char out[1000];
	struct capture c;
	log_setup(LOG_TEXT, LOG_WARNING);
	capture_begin(&c);
	log_info("test", "not this");
	size_t n = capture_end(&c, out, sizeof(out));
	assert_int_equal(n, 0);
	assert_true(log_enabled(LOG_WARNING));
	assert_false(log_enabled(LOG_INFO));
}

static void test_log__one_line_whatever_the_message(void **state _unused_)
{
	char out[1000];
	struct capture c;
	log_setup(LOG_TEXT, LOG_INFO);
	capture_begin(&c);
	log_info("etcd.connect", "a %s", "forged\nline\x1b[2J\xc2\x9b\x7f");
	size_t n = capture_end(&c, out, sizeof(out));
	assert_non_null(strstr(out, " info    etcd.connect: a forged\\x0aline\\x1b[2J\\x9b\\x7f\n"));
	assert_ptr_equal(strchr(out, '\n'), out + n - 1);
}

static const struct log_field fields[] = {
	{.name = "path", .kind = LOG_FIELD_TEXT, .text = {"/a b", 4}},
	{.name = "verb", .kind = LOG_FIELD_TEXT, .text = {"get", 3}},
	{.name = "n", .kind = LOG_FIELD_NUMBER, .number = -3},
	{.name = "took_ms", .kind = LOG_FIELD_MS, .number = 1234567},
};

static void test_log__fields_follow_the_message(void **state _unused_)
{
	char out[1000];
	struct capture c;
	log_setup(LOG_TEXT, LOG_INFO);
	capture_begin(&c);
	log_write_fields(LOG_INFO, "test", "slow", fields, ARRAY_SIZE(fields));
	log_write_fields(LOG_DEBUG, "test", "not this", fields, ARRAY_SIZE(fields));
	capture_end(&c, out, sizeof(out));
	assert_string_equal(strstr(out, " info "), " info    test: slow path=\"/a b\" verb=get n=-3 took_ms=1.235\n");
}

static void test_log__fields_are_members(void **state _unused_)
{
	char out[1000];
	struct capture c;
	log_setup(LOG_JSON, LOG_INFO);
	capture_begin(&c);
	log_write_fields(LOG_INFO, "test", "slow", fields, ARRAY_SIZE(fields));
	capture_end(&c, out, sizeof(out));
	assert_string_equal(strstr(out, ",\"what\""),
		",\"what\":\"test\",\"msg\":\"slow\",\"path\":\"/a b\",\"verb\":\"get\",\"n\":-3,\"took_ms\":1.235}\n");
}

static void test_log__json_lines_are_json(void **state _unused_)
{
	char out[1000];
	struct capture c;
	log_setup(LOG_JSON, LOG_INFO);
	capture_begin(&c);
	log_error("etcd.connect", "said \"%s\"", "no\n");
	capture_end(&c, out, sizeof(out));

	json_t *line = json_loads(out, 0, NULL);
	assert_string_equal(json_string_value(json_object_get(line, "level")), "error");
	assert_string_equal(json_string_value(json_object_get(line, "what")), "etcd.connect");
	assert_string_equal(json_string_value(json_object_get(line, "msg")), "said \"no\n\"");
	assert_non_null(json_object_get(line, "ts"));
	json_decref(line);
}

static void test_log__a_long_message_is_cut(void **state _unused_)
{
	char out[32 * 1024];
	struct capture c;
	log_setup(LOG_JSON, LOG_INFO);
	capture_begin(&c);
	log_info("test", "%020000d", 1);
	size_t n = capture_end(&c, out, sizeof(out));
	assert_true(n > 1000 && n < 3000);
	assert_int_equal(out[n - 1], '\n');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_log__is_silent_above_its_verbosity),
		TEST(test_log__one_line_whatever_the_message),
		TEST(test_log__fields_follow_the_message),
		TEST(test_log__fields_are_members),
		TEST(test_log__json_lines_are_json),
		TEST(test_log__a_long_message_is_cut),
	};
	return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
