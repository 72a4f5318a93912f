#include "base/file.h"

#include <errno.h>
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
