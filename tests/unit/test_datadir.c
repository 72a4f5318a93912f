#include "cli/common/datadir.h"
#include "tests/unit/check.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/annals-datadir-XXXXXX";

static int make_root(void **state _unused_)
{
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state _unused_)
{
	char command[128];
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

/* Opens ROOT/name; the result, and the sentence in *ret_err (mem_free). */
static int open_in_root(struct datadir *d, const char *name, char **ret_err)
{
	struct buf err;
	buf_init(&err, 1024);
	_cleanup_(mem_freep) char *path = mem_printf("%s/%s", root, name);
	int r = datadir_open(d, path, &err);
	*ret_err = buf_take(&err, NULL);
	return r;
}

static void must_open(struct datadir *d, const char *name)
{
	char *err;
	assert_int_equal(open_in_root(d, name, &err), 0);
	mem_free(err);
}

static mode_t mode_of(const struct datadir *d, const char *name)
{
	struct stat st;
	_cleanup_(mem_freep) char *path = datadir_file(d, name);
	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 07777;
}

static void must_write(const struct datadir *d, const char *name, const char *text, mode_t mode)
{
	struct buf err;
	buf_init(&err, 1024);
	assert_int_equal(datadir_write(d, name, str_of(text), mode, &err), 0);
	buf_done(&err);
}

static void assert_contents(const struct datadir *d, const char *name, const char *text)
{
	struct buf out;
	buf_init(&out, 1 << 20);
	assert_int_equal(datadir_read(d, name, &out), 0);
	assert_str(buf_str(&out), text);
	buf_done(&out);
}

static void test_datadir__default_follows_xdg(void **state _unused_)
{
	setenv("HOME", "/home/alice", 1);
	setenv("XDG_DATA_HOME", "/data", 1);
	char *path = datadir_default();
	assert_string_equal(path, "/data/annals");
	mem_free(path);

	setenv("XDG_DATA_HOME", "relative", 1);
	path = datadir_default();
	assert_string_equal(path, "/home/alice/.local/share/annals");
	mem_free(path);
}

static void test_datadir__is_made_for_its_owner_alone(void **state _unused_)
{
	struct datadir d;
	must_open(&d, "a/b/c");
	assert_int_equal(mode_of(&d, "."), 0700);
	assert_int_equal(mode_of(&d, ".."), 0700);
	assert_int_equal(mode_of(&d, "lock"), 0600);
	datadir_done(&d);
}

static void test_datadir__one_that_others_can_write_is_refused(void **state _unused_)
{
	static const mode_t modes[] = {0720, 0702, 0777};
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		struct datadir d;
		char *err;
		_cleanup_(mem_freep) char *path = mem_printf("%s/open", root);
		mkdir(path, 0700);
		chmod(path, modes[i]);
		assert_int_equal(open_in_root(&d, "open", &err), -EPERM);
		assert_non_null(strstr(err, "can be written by others"));
		mem_free(err);
		datadir_done(&d);
	}
}

static void test_datadir__one_that_others_can_read_is_fine(void **state _unused_)
{
	struct datadir d;
	_cleanup_(mem_freep) char *path = mem_printf("%s/readable", root);
	mkdir(path, 0755);
	must_open(&d, "readable");
	datadir_done(&d);
}

static void test_datadir__second_opener_learns_who_has_it(void **state _unused_)
{
	struct datadir first, second;
	char *err, expected[128];
	must_open(&first, "shared");
	assert_int_equal(open_in_root(&second, "shared", &err), -EBUSY);
	snprintf(expected, sizeof(expected), "another annals (pid %ld) is using %s/shared", (long)getpid(), root);
	assert_memory_equal(err, expected, strlen(expected));
	mem_free(err);
	datadir_done(&second);

	datadir_done(&first);
	must_open(&first, "shared");
	datadir_done(&first);
}

static void test_datadir__file_in_the_way_is_refused(void **state _unused_)
{
	struct datadir d;
	char *err;
	must_open(&d, "x");
	must_write(&d, "file", "", 0600);
	datadir_done(&d);
	assert_true(open_in_root(&d, "x/file/y", &err) < 0);
	assert_non_null(strstr(err, "Not a directory"));
	mem_free(err);
	datadir_done(&d);
}

static void test_datadir__writes_replace_whole_files(void **state _unused_)
{
	struct datadir d;
	must_open(&d, "files");
	must_write(&d, "key", "a long first text", 0600);
	must_write(&d, "key", "second", 0600);
	assert_contents(&d, "key", "second");
	assert_int_equal(mode_of(&d, "key"), 0600);

	_cleanup_(mem_freep) char *temporary = datadir_file(&d, "key.new");
	assert_int_equal(access(temporary, F_OK), -1);
	datadir_done(&d);
}

static void test_datadir__left_over_of_a_crash_is_no_obstacle(void **state _unused_)
{
	struct datadir d;
	must_open(&d, "crash");
	must_write(&d, "key", "old", 0600);
	must_write(&d, "key.new", "half", 0666);
	must_write(&d, "key", "new", 0600);
	assert_contents(&d, "key", "new");
	assert_int_equal(mode_of(&d, "key"), 0600);
	datadir_done(&d);
}

static void test_datadir__does_not_read_through_links(void **state _unused_)
{
	struct datadir d;
	struct buf out;
	buf_init(&out, 1024);
	must_open(&d, "links");
	assert_int_equal(symlinkat("/etc/hostname", d.fd, "key"), 0);
	assert_int_equal(datadir_read(&d, "key", &out), -ELOOP);
	datadir_done(&d);
	buf_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_datadir__default_follows_xdg),
		TEST(test_datadir__is_made_for_its_owner_alone),
		TEST(test_datadir__one_that_others_can_write_is_refused),
		TEST(test_datadir__one_that_others_can_read_is_fine),
		TEST(test_datadir__second_opener_learns_who_has_it),
		TEST(test_datadir__file_in_the_way_is_refused),
		TEST(test_datadir__writes_replace_whole_files),
		TEST(test_datadir__left_over_of_a_crash_is_no_obstacle),
		TEST(test_datadir__does_not_read_through_links),
	};
	return cmocka_run_group_tests(tests, make_root, remove_root);
}
