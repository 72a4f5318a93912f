/* HMAC-SHA-256 (RFC 2104) under a key that only this process has, for secrets that are kept or compared: an attacker who measures how far
 * a comparison came, or where something is kept, learns digests that they can neither choose nor compute. */
#ifndef BASE_KEYED_HASH_H
#define BASE_KEYED_HASH_H

#include "base/ids.h"
#include "base/sha256.h"

#include <endian.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>

struct keyed_hash {
	unsigned char key[SHA256_SIZE];
	struct hmac_sha256_ctx fresh; /* with the key: to set it costs as much as to hash a token */
};

static inline void keyed_hash_init(struct keyed_hash *h)
{
	random_bytes(h->key, sizeof(h->key));
	hmac_sha256_set_key(&h->fresh, sizeof(h->key), h->key);
}

static inline void keyed_hash(const struct keyed_hash *h, struct str secret, unsigned char out[SHA256_SIZE])
{
	struct hmac_sha256_ctx context = h->fresh;

	hmac_sha256_update(&context, secret.n, (const uint8_t *)secret.p);
	hmac_sha256_digest(&context, SHA256_SIZE, out);
}

/* Hashes several texts under the caller's key. Each text follows its length, so that no two lists
 * of texts run together to the same bytes. */
static inline void keyed_hash_of_parts(struct str key, const struct str *parts, size_t n, unsigned char out[SHA256_SIZE])
{
	struct hmac_sha256_ctx context;

	hmac_sha256_set_key(&context, key.n, (const uint8_t *)key.p);
	for (size_t i = 0; i < n; i++) {
		uint64_t length = htole64(parts[i].n); /* digests may be stored, and read on another machine */
		hmac_sha256_update(&context, sizeof(length), (const uint8_t *)&length);
		hmac_sha256_update(&context, parts[i].n, (const uint8_t *)parts[i].p);
	}
	hmac_sha256_digest(&context, SHA256_SIZE, out);
}

/* Compares tokens and proofs. The time it takes reveals how long a text is, and nothing of its
 * contents. */
static inline bool secret_equal(struct str a, struct str b)
{
	return a.n == b.n && memeql_sec(a.p, b.p, a.n);
}

#endif
