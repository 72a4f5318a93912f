/* Compression by DEFLATE (RFC 1951), for text in which records that are alike follow one another: lists of objects. */
#ifndef BASE_DEFLATE_H
#define BASE_DEFLATE_H

#include "base/str.h"

/* What is used anew for each text. For one thread at a time; 170 KiB. */
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

#endif
