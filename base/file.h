/* Whole files through a descriptor. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/buf.h"

/* Appends everything up to the end of the file. 0, -errno, or -EFBIG when it does not fit under the buffer's ceiling. */
int file_read(int fd, struct buf *out);
/* Writes all of it. 0 or -errno. */
int file_write(int fd, struct str text);

#endif
