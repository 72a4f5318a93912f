/* Compression by DEFLATE (RFC 1951), for text in which records that are alike follow one another: lists of objects. */
#ifndef BASE_DEFLATE_H
#define BASE_DEFLATE_H

#include "base/buf.h"

/* Working memory, reused for each text. One thread at a time may use it; 170 KiB. */
struct deflater;
struct deflater *deflater_new(void);
struct deflater *deflater_free(struct deflater *d);

/* The most bytes that deflate_text() writes for n bytes. */
size_t deflate_bound(size_t n);
/* Writes blocks that stand for text, which is less than 4 GiB, and returns how many bytes they are. They refer to nothing before
 * them, end at a byte's end, and none of them is the last of a stream: any number of such texts are a stream, once
 * DEFLATE_END is behind them. */
size_t deflate_text(struct deflater *d, struct str text, char *out);

#define DEFLATE_END STR("\x03\x00") /* the last block of a stream, with nothing in it */

/* ---- gzip (RFC 1952) ---- */

bool gzip_all(struct buf *out, struct str in); /* false: out's ceiling was reached */

/* Its parts: what stands before the blocks of DEFLATE (compressed as fast as can be, by no system in particular), and
 * the checksum and length modulo 2^32 of the text behind them. */
#define GZIP_HEAD STR("\x1f\x8b\x08\0\0\0\0\0\x04\xff")
enum { GZIP_TAIL_SIZE = 8 };
void gzip_put_tail(char *p, uint32_t crc, uint32_t text_n);
uint32_t gzip_checksum(struct str text);
void gzip_put_le(char *p, uint32_t n, size_t size);

#endif
