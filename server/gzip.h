/* Response compression: kube compresses from 128 KiB on, at level 1 (surprises.md 60). */
#ifndef SERVER_GZIP_H
#define SERVER_GZIP_H

#include "base/buf.h"

#define GZIP_MIN_BYTES ((size_t)128 << 10)

struct gzip;

struct gzip *gzip_new(void);
struct gzip *gzip_free(struct gzip *g);
DEFINE_CLEANUP(struct gzip *, gzip_free)
/* Compresses as much of *in as fits: advances *in, writes at most max bytes to out, returns how many. is_last: *in is all that is left;
 * then *ret_is_end says that everything has been written. */
size_t gzip_write(struct gzip *g, struct str *in, bool is_last, char *out, size_t max, bool *ret_is_end);
/* All at once. */
bool gzip_all(struct buf *out, struct str in);

#endif
