/* Response compression: kube compresses from 128 KiB on, at level 1 (surprises.md 60). */
#ifndef SERVER_PARSE_GZIP_H
#define SERVER_PARSE_GZIP_H

#include "base/buf.h"

#define GZIP_MIN_BYTES ((size_t)128 << 10)

bool gzip_all(struct buf *out, struct str in);

/* The parts of RFC 1952: what stands before the blocks of DEFLATE (compressed as fast as can be, by no system in particular), and
 * the checksum and length modulo 2^32 of the text behind them. */
#define GZIP_HEAD STR("\x1f\x8b\x08\0\0\0\0\0\x04\xff")
enum { GZIP_TAIL_SIZE = 8 };
void gzip_put_tail(char *p, uint32_t crc, uint32_t text_n);
uint32_t gzip_checksum(struct str text);
void gzip_put_le(char *p, uint32_t n, size_t size);

#endif
