#include "base/file.h"
#include "tests/unit/check.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

/* A file with this many bytes of text, at its start. */
static int file_of(size_t n)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(file_write(fd, (struct str){&"abcdefg"[i % 7], 1}), 0);
	}
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static void test_file_read__appends_the_whole_file(void **state _unused_)
{
	static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 10000};
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		_cleanup_(buf_done) struct buf b;
		int fd = file_of(sizes[i]);
		buf_init(&b, 1 << 20);
		buf_adds(&b, "before ");
		assert_int_equal(file_read(fd, &b), 0);
		assert_int_equal(b.n, 7 + sizes[i]);
		close(fd);
	}
}

static void test_file_read__refuses_what_is_over_the_ceiling(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b;
	int fd = file_of(101);
	buf_init(&b, 100);
	assert_int_equal(file_read(fd, &b), -EFBIG);
	close(fd);
}

static void test_file__says_what_is_wrong(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b;
	buf_init(&b, 100);
	assert_int_equal(file_read(-1, &b), -EBADF);
	assert_int_equal(file_write(-1, STR("x")), -EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_file_read__appends_the_whole_file),
		TEST(test_file_read__refuses_what_is_over_the_ceiling),
		TEST(test_file__says_what_is_wrong),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
