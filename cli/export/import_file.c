/* A pipe can be read once only, so what comes through one is copied into a file without a name,
 * which goes with the process. */
#include "base/sha256.h"
#include "cli/export/import.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 256 << 10 };

int import_file_temporary(struct buf *err)
{
	const char *dir = getenv("TMPDIR");
	_cleanup_(mem_freep) char *path = mem_printf("%s/annals-import-XXXXXX", dir && dir[0] == '/' ? dir : "/var/tmp");
	int fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0) {
		int r = errno;
		buf_printf(err, "cannot make %s: %s", path, strerror(r));
		return -r;
	}
	unlink(path);
	return fd;
}

static int copy(int from, int to, struct buf *err)
{
	_cleanup_(mem_freep) char *chunk = mem_alloc(CHUNK);
	uint64_t total = 0;
	ssize_t n;
	while ((n = read(from, chunk, CHUNK)) != 0) {
		int r = n > 0 ? file_write(to, (struct str){chunk, (size_t)n}) : errno == EINTR ? 0 : -errno;
		total += n > 0 ? (uint64_t)n : 0;
		if (r) {
			buf_printf(err, "cannot keep a copy of standard input (in $TMPDIR, or /var/tmp): %s", strerror(-r));
			return r;
		}
		if (total > IMPORT_COPY_MAX) {
			buf_printf(err, "standard input is larger than %" PRIu64 " GiB: give a file", IMPORT_COPY_MAX >> 30);
			return -EFBIG;
		}
	}
	return 0;
}

static int open_copy(int from, struct buf *err)
{
	int fd = import_file_temporary(err);
	int r = fd < 0 ? fd : copy(from, fd, err);
	if (r && fd >= 0) {
		close(fd);
	}
	return r ? r : fd;
}

int import_file_open(const char *path, struct buf *err)
{
	struct stat st;
	if (strcmp(path, "-") == 0) {
		return open_copy(STDIN_FILENO, err);
	}
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0) {
		int r = errno;
		buf_printf(err, "cannot open %s: %s", path, strerror(r));
		return -r;
	}
	if (S_ISREG(st.st_mode)) {
		return fd;
	}
	int copied = open_copy(fd, err);
	close(fd);
	return copied;
}

static int digest(int fd, uint64_t upto, unsigned char all[32], unsigned char part[32])
{
	_cleanup_(mem_freep) char *chunk = mem_alloc(CHUNK);
	struct sha256_ctx whole, first;
	uint64_t at = 0;
	ssize_t n;
	sha256_init(&whole);
	sha256_init(&first);
	while ((n = pread(fd, chunk, CHUNK, (off_t)at)) != 0) {
		if (n < 0 && errno != EINTR) {
			return -errno;
		}
		if (n > 0) {
			size_t length = (size_t)n;
			sha256_update(&whole, length, (const uint8_t *)chunk);
			sha256_update(&first, at < upto ? (size_t)MIN((uint64_t)length, upto - at) : 0, (const uint8_t *)chunk);
			at += length;
		}
	}
	sha256_digest(&whole, SHA256_SIZE, all);
	sha256_digest(&first, SHA256_SIZE, part);
	return 0;
}

int import_file_digest(int fd, uint64_t upto, unsigned char all[32], unsigned char part[32], struct buf *err)
{
	int r = digest(fd, upto, all, part);
	if (r) {
		buf_printf(err, "cannot read the file: %s", strerror(-r));
	}
	return r;
}

int import_file_read(struct import *im, const struct entry *e, struct arena *a, struct str *ret)
{
	char *text = arena_text(a, e->length);
	size_t done = 0;
	while (done < e->length) {
		ssize_t n = pread(im->fd, text + done, e->length - done, (off_t)(e->offset + done));
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n <= 0) {
			buf_printf(im->err, "cannot read line %u again: %s", e->line,
				n < 0 ? strerror(errno) : "the file is shorter");
			return -EIO;
		}
		done += (size_t)n;
	}
	*ret = (struct str){text, e->length};
	return 0;
}
