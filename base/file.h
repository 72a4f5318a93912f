/* Whole files. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/buf.h"

#include <sys/types.h>
#include <time.h>

/* Appends everything up to the end of the file. 0, -errno, or -EFBIG when it does not fit under the buffer's ceiling. */
int file_read(int fd, struct buf *out);
/* The same of the file at that path; or why it cannot be opened. */
int file_read_path(const char *path, struct buf *out);
/* Writes all of it. 0 or -errno. */
int file_write(int fd, struct str text);

/* Distinguishes one version of a file from the next, also through the symbolic links of a mounted
 * secret. Permissions count: a file that could not be read may be readable now. Zero: there is no
 * file. */
struct file_stamp {
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec written, changed;
};
void file_stamp_look(const char *path, struct file_stamp *ret);
bool file_stamp_eq(const struct file_stamp *a, const struct file_stamp *b);

#endif
