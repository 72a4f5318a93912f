/* SHA-256 (FIPS 180-4). */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include "base/str.h"

#define SHA256_SIZE 32

struct sha256 {
	uint32_t state[8];
	uint64_t n;              /* bytes so far */
	unsigned char block[64]; /* the last n % 64 of them */
};

void sha256_init(struct sha256 *h);
void sha256_add(struct sha256 *h, const void *p, size_t n);
void sha256_finish(struct sha256 *h, unsigned char out[SHA256_SIZE]);

static inline void sha256(struct str s, unsigned char out[SHA256_SIZE])
{
	struct sha256 h;
	sha256_init(&h);
	sha256_add(&h, s.p, s.n);
	sha256_finish(&h, out);
}

#endif
