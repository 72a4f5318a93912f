/* Kept apart from struct buf: a buffer has one owner and changes, these have many and never
 * change. Header and bytes are one allocation, since the cache holds one for each object. */
#include "base/bytes.h"

#include <assert.h>

struct bytes *bytes_new(size_t n)
{
	struct bytes *b = mem_alloc(sizeof(*b) + n + 1);
	atomic_init(&b->refs, 1);
	b->n = n;
	b->p[n] = '\0';
	return b;
}

struct bytes *bytes_dup(struct str s)
{
	struct bytes *b = bytes_new(s.n);
	if (s.n) {
		memcpy(b->p, s.p, s.n);
	}
	return b;
}

struct bytes *bytes_ref(struct bytes *b)
{
	if (b) {
		/* Relaxed: whoever takes another reference holds one already, so nothing can be
		 * freed meanwhile. */
		uint32_t before = atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
		assert(before > 0 && before < UINT32_MAX);
	}
	return b;
}

struct bytes *bytes_unref(struct bytes *b)
{
	/* The release makes every holder's reads happen before the acquire of the one that frees. */
	if (b && atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) == 1) {
		mem_free(b);
	}
	return NULL;
}
