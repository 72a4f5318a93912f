/* Response compression: kube compresses from 128 KiB on, at level 1 (surprises.md 60). */
#ifndef SERVER_PARSE_GZIP_H
#define SERVER_PARSE_GZIP_H

#include "base/buf.h"

#define GZIP_MIN_BYTES ((size_t)128 << 10)

bool gzip_all(struct buf *out, struct str in);

#endif
