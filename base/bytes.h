/* Counted, immutable bytes: what crosses threads. Written once by the creator before anyone else sees them. */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include "base/str.h"
#include <stdatomic.h>

struct bytes {
	_Atomic uint32_t refs;
	size_t n;
	char p[]; /* n bytes and a NUL */
};

struct bytes *bytes_new(size_t n); /* one reference; contents undefined but for the NUL */
struct bytes *bytes_dup(struct str s);
struct bytes *bytes_ref(struct bytes *b);
struct bytes *bytes_unref(struct bytes *b); /* NULL */
DEFINE_CLEANUP(struct bytes *, bytes_unref)
static inline struct str bytes_str(const struct bytes *b)
{
	return b ? (struct str){b->p, b->n} : (struct str){NULL, 0};
}

#endif
