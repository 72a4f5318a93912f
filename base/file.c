/* Whole files only: certificates, tokens, policies. All sizes are bounded by the buffer that the
 * caller gives, so a file that grows while it is read does no harm. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_SIZE = 4096 };

int file_read(int fd, struct buf *out)
{
	char part[READ_SIZE];
	for (;;) {
		ssize_t n = read(fd, part, sizeof(part));
		if (n == 0) {
			return 0;
		}
		if (n < 0 && errno != EINTR) {
			return -errno;
		}
		if (n > 0 && !buf_add(out, part, (size_t)n)) {
			return -EFBIG;
		}
	}
}

int file_read_path(const char *path, struct buf *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		return -errno;
	}
	int r = file_read(fd, out);
	close(fd);
	return r;
}

int file_write(int fd, struct str text)
{
	while (text.n > 0) {
		ssize_t n = write(fd, text.p, text.n);
		if (n < 0 && errno != EINTR) {
			return -errno;
		}
		if (n > 0) {
			text.p += n;
			text.n -= (size_t)n;
		}
	}
	return 0;
}

void file_stamp_look(const char *path, struct file_stamp *ret)
{
	struct stat st;
	*ret = (struct file_stamp){0};
	/* stat, not lstat: Kubernetes mounts secrets through links, and swaps the directory that
	 * one of them names. */
	if (stat(path, &st) == 0) {
		ret->device = st.st_dev;
		ret->inode = st.st_ino;
		ret->size = st.st_size;
		ret->written = st.st_mtim;
		ret->changed = st.st_ctim;
	}
}

static bool is_same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool file_stamp_eq(const struct file_stamp *a, const struct file_stamp *b)
{
	return a->inode == b->inode && a->device == b->device && a->size == b->size && is_same_time(a->written, b->written) &&
		is_same_time(a->changed, b->changed);
}
