/* Bytes that grow (struct buf, one owner) and bytes that are shared (struct bytes, many owners,
 * never changed). A buffer's ceiling is a member rather than an argument. The maker of a buffer
 * knows whose bytes it takes, and every append is bounded without asking. The allocated size never
 * exceeds the ceiling by more than the NUL. */
#include "base/buf.h"
#include "base/bytes.h"

#include <assert.h>
#include <stdio.h>

/* Most buffers hold a name, a header or a sentence. */
enum { BUF_FIRST = 64 };

void buf_init(struct buf *b, size_t ceiling)
{
	/* The NUL needs one byte more. */
	assert(ceiling < SIZE_MAX);
	*b = (struct buf){.ceiling = ceiling};
}

void buf_done(struct buf *b)
{
	mem_free(b->p);
	*b = (struct buf){.ceiling = b->ceiling};
}

void buf_clear(struct buf *b)
{
	b->n = 0;
	b->is_over = false;
}

/* At least doubles the size, so that appending takes linear time; never beyond what the ceiling and
 * the NUL can use. */
static void buf_grow(struct buf *b, size_t need)
{
	assert(need > b->cap && need <= b->ceiling + 1);
	size_t cap = MAX(b->cap, (size_t)BUF_FIRST);
	while (cap < need) {
		cap = cap > SIZE_MAX / 2 ? need : cap * 2;
	}
	b->cap = MAX(need, MIN(cap, b->ceiling + 1));
	b->p = mem_realloc(b->p, b->cap);
}

bool buf_reserve(struct buf *b, size_t more)
{
	if (b->is_over || more > b->ceiling - b->n) {
		b->is_over = true;
		return false;
	}
	if (b->n + more + 1 > b->cap) {
		buf_grow(b, b->n + more + 1);
	}
	return true;
}

bool buf_add(struct buf *b, const void *p, size_t n)
{
	if (!buf_reserve(b, n)) {
		return false;
	}
	if (n) {
		memcpy(b->p + b->n, p, n);
	}
	b->n += n;
	b->p[b->n] = '\0';
	return true;
}

bool buf_add_str(struct buf *b, struct str s)
{
	return buf_add(b, s.p, s.n);
}

bool buf_adds(struct buf *b, const char *s)
{
	return buf_add(b, s, strlen(s));
}

bool buf_addc(struct buf *b, char c)
{
	return buf_add(b, &c, 1);
}

bool buf_add_int(struct buf *b, int64_t n)
{
	char digits[20]; /* of -9223372036854775808 */
	char *at = digits + sizeof(digits);
	uint64_t rest = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
	do {
		*--at = (char)('0' + rest % 10);
		rest /= 10;
	} while (rest);
	if (n < 0) {
		*--at = '-';
	}
	return buf_add(b, at, (size_t)(digits + sizeof(digits) - at));
}

bool buf_printf(struct buf *b, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	bool fits = buf_vprintf(b, format, ap);
	va_end(ap);
	return fits;
}

bool buf_vprintf(struct buf *b, const char *format, va_list ap)
{
	va_list again;
	va_copy(again, ap);
	size_t room = b->cap - b->n;
	int n = vsnprintf(room ? b->p + b->n : NULL, room, format, ap);
	assert(n >= 0);

	bool fits = buf_reserve(b, (size_t)n);
	if (fits && (size_t)n >= room) {
		vsnprintf(b->p + b->n, (size_t)n + 1, format, again);
	}
	va_end(again);
	if (fits) {
		b->n += (size_t)n;
	} else if (b->p) {
		b->p[b->n] = '\0';
	}
	return fits;
}

void buf_truncate(struct buf *b, size_t n)
{
	assert(n <= b->n);
	b->n = n;
	if (b->p) {
		b->p[n] = '\0';
	}
}

struct str buf_str(const struct buf *b)
{
	return (struct str){b->p, b->n};
}

char *buf_take(struct buf *b, size_t *ret_n)
{
	/* Even an empty buffer has a byte for the NUL then, unless it is over. */
	buf_reserve(b, 0);
	char *p = b->p ? take_ptr(b->p) : mem_alloc(1);
	p[b->n] = '\0';
	if (ret_n) {
		*ret_n = b->n;
	}
	buf_done(b);
	return p;
}

/* ---- shared bytes ---- */

/* Header and bytes are one allocation, since the cache holds one for each object. */

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
		/* Relaxed: the caller holds a reference already, so nothing can be freed
		 * meanwhile. */
		uint32_t before = atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
		assert(before > 0 && before < UINT32_MAX);
	}
	return b;
}

struct bytes *bytes_unref(struct bytes *b)
{
	/* The release makes every holder's reads happen before the acquire of the one that frees. */
	if (b) {
		uint32_t before = atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel);
		assert(before > 0);
		if (before == 1) {
			mem_free(b);
		}
	}
	return NULL;
}
