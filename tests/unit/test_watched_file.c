#include "base/watched_file.h"
#include "tests/unit/check.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file, what was last loaded of it, and what was reported. */
struct scene {
	char dir[64], path[96];
	struct watched_file file;
	char loaded[64];
	unsigned n_loads, n_reports;
	char problem[256];
};

static int load(void *ctx, struct str text, struct buf *err)
{
	struct scene *s = ctx;
	s->n_loads++;
	if (str_is(text, "bad")) {
		buf_adds(err, "it is bad");
		return -EINVAL;
	}
	snprintf(s->loaded, sizeof(s->loaded), STR_FMT, STR_ARG(text));
	return 0;
}

static void report(void *ctx, const char *path, const char *problem)
{
	struct scene *s = ctx;
	assert_string_equal(path, s->path);
	s->n_reports++;
	snprintf(s->problem, sizeof(s->problem), "%s", problem ? problem : "");
}

/* As an editor does it: another file under the same name. */
static void replace_file(struct scene *s, const char *text)
{
	char other[128];
	snprintf(other, sizeof(other), "%s.new", s->path);
	FILE *f = fopen(other, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(rename(other, s->path), 0);
}

static void poll_after_a_while(struct scene *s)
{
	atomic_store(&s->file.next_look_ms, 0);
	watched_file_poll(&s->file);
}

static void open_scene(struct scene *s, const char *text)
{
	struct buf err;
	*s = (struct scene){.dir = "/tmp/annals-watched-XXXXXX"};
	assert_non_null(mkdtemp(s->dir));
	snprintf(s->path, sizeof(s->path), "%s/file", s->dir);
	replace_file(s, text);
	buf_init(&err, 1024);
	assert_int_equal(watched_file_init(&s->file, s->path, load, s, (struct reload_hook){report, s}, &err), 0);
	buf_done(&err);
}

static void close_scene(struct scene *s)
{
	watched_file_done(&s->file);
	unlink(s->path);
	rmdir(s->dir);
}

static void test_watched_file__is_loaded_at_birth(void **state _unused_)
{
	struct scene s;
	open_scene(&s, "one");
	assert_string_equal(s.loaded, "one");
	assert_int_equal(s.n_reports, 0);
	close_scene(&s);
}

static void test_watched_file__unchanged_is_not_read_again(void **state _unused_)
{
	struct scene s;
	open_scene(&s, "one");
	poll_after_a_while(&s);
	poll_after_a_while(&s);
	assert_int_equal(s.n_loads, 1);
	close_scene(&s);
}

static void test_watched_file__changed_is_loaded_and_reported(void **state _unused_)
{
	struct scene s;
	open_scene(&s, "one");
	replace_file(&s, "two");
	poll_after_a_while(&s);
	assert_string_equal(s.loaded, "two");
	assert_int_equal(s.n_reports, 1);
	assert_string_equal(s.problem, "");
	close_scene(&s);
}

static void test_watched_file__is_looked_at_once_a_second_at_most(void **state _unused_)
{
	struct scene s;
	open_scene(&s, "one");
	replace_file(&s, "two");
	atomic_store(&s.file.next_look_ms, INT64_MAX);
	watched_file_poll(&s.file);
	assert_string_equal(s.loaded, "one");
	close_scene(&s);
}

static void test_watched_file__bad_contents_keep_the_old_and_are_reported_once(void **state _unused_)
{
	struct scene s;
	open_scene(&s, "one");
	replace_file(&s, "bad");
	poll_after_a_while(&s);
	poll_after_a_while(&s);
	assert_string_equal(s.loaded, "one");
	assert_int_equal(s.n_reports, 1);
	assert_string_equal(s.problem, "it is bad");

	replace_file(&s, "good");
	poll_after_a_while(&s);
	assert_string_equal(s.loaded, "good");
	close_scene(&s);
}

static void test_watched_file__gone_is_reported_once_and_may_come_back(void **state _unused_)
{
	struct scene s;
	open_scene(&s, "one");
	unlink(s.path);
	poll_after_a_while(&s);
	poll_after_a_while(&s);
	assert_int_equal(s.n_reports, 1);
	assert_non_null(strstr(s.problem, "No such file"));
	assert_string_equal(s.loaded, "one");

	replace_file(&s, "two");
	poll_after_a_while(&s);
	assert_string_equal(s.loaded, "two");
	close_scene(&s);
}

/* A folder can be opened, and is no file. */
static void test_watched_file__that_cannot_be_read_is_looked_at_once(void **state _unused_)
{
	struct scene s;
	open_scene(&s, "one");
	unlink(s.path);
	assert_int_equal(mkdir(s.path, 0700), 0);
	for (unsigned i = 0; i < 3; i++) {
		poll_after_a_while(&s);
		assert_int_equal(s.n_reports, 1);
	}
	assert_string_equal(s.loaded, "one");

	assert_int_equal(rmdir(s.path), 0);
	replace_file(&s, "two");
	poll_after_a_while(&s);
	assert_string_equal(s.loaded, "two");
	close_scene(&s);
}

/* Root may open any file: another user, where the test may become one. */
static void test_watched_file__without_permission_is_looked_at_once(void **state _unused_)
{
	struct scene s;
	open_scene(&s, "one");
	assert_int_equal(chmod(s.path, 0), 0);
	assert_int_equal(geteuid() == 0 ? chmod(s.dir, 0755) || seteuid(65534) : 0, 0);
	for (unsigned i = 0; i < 3; i++) {
		poll_after_a_while(&s);
		assert_int_equal(s.n_reports, 1);
		assert_non_null(strstr(s.problem, "Permission denied"));
	}
	assert_int_equal(seteuid(getuid()), 0);
	assert_int_equal(chmod(s.path, 0644), 0);
	poll_after_a_while(&s);
	assert_int_equal(s.n_reports, 2);
	assert_string_equal(s.problem, "");
	close_scene(&s);
}

static void test_watched_file__missing_at_birth_is_refused(void **state _unused_)
{
	struct scene s = {.n_loads = 0};
	struct buf err;
	buf_init(&err, 1024);
	assert_int_equal(watched_file_init(&s.file, "/nonexistent/file", load, &s, (struct reload_hook){0}, &err), -ENOENT);
	assert_string_equal(err.p, "cannot read /nonexistent/file: No such file or directory");
	watched_file_done(&s.file);
	buf_done(&err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_watched_file__is_loaded_at_birth),
		TEST(test_watched_file__unchanged_is_not_read_again),
		TEST(test_watched_file__changed_is_loaded_and_reported),
		TEST(test_watched_file__is_looked_at_once_a_second_at_most),
		TEST(test_watched_file__bad_contents_keep_the_old_and_are_reported_once),
		TEST(test_watched_file__gone_is_reported_once_and_may_come_back),
		TEST(test_watched_file__that_cannot_be_read_is_looked_at_once),
		TEST(test_watched_file__without_permission_is_looked_at_once),
		TEST(test_watched_file__missing_at_birth_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
