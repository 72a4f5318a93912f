/* Slices rather than C strings: nearly all text is a part of a request, an object or a key, and
 * copying it for a NUL would cost more than the work. Nothing here allocates. */
#include "base/str.h"

#include "base/ids.h"

#include <endian.h>
#include <pthread.h>
#include <stdlib.h>

int str_cmp(struct str a, struct str b)
{
	size_t n = MIN(a.n, b.n);
	int order = n ? memcmp(a.p, b.p, n) : 0;
	return order ? order : (a.n > b.n) - (a.n < b.n);
}

int str_cmp_at(const void *a, const void *b)
{
	return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

void str_sort(struct str *texts, size_t n)
{
	if (n > 1) {
		qsort(texts, n, sizeof(*texts), str_cmp_at);
	}
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

bool str_eq_nocase(struct str a, struct str b)
{
	if (a.n != b.n) {
		return false;
	}
	for (size_t i = 0; i < a.n; i++) {
		if (lower(a.p[i]) != lower(b.p[i])) {
			return false;
		}
	}
	return true;
}

bool str_starts(struct str s, struct str prefix)
{
	return s.n >= prefix.n && str_eq((struct str){s.p, prefix.n}, prefix);
}

bool str_ends(struct str s, struct str suffix)
{
	return s.n >= suffix.n && (suffix.n == 0 || memcmp(s.p + s.n - suffix.n, suffix.p, suffix.n) == 0);
}

bool str_contains(struct str s, struct str needle)
{
	return needle.n == 0 || (s.n > 0 && memmem(s.p, s.n, needle.p, needle.n));
}

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

struct str str_trim(struct str s)
{
	while (s.n > 0 && is_blank(s.p[0])) {
		s.p++;
		s.n--;
	}
	while (s.n > 0 && is_blank(s.p[s.n - 1])) {
		s.n--;
	}
	return s;
}

bool str_cut(struct str s, char sep, struct str *ret_head, struct str *ret_tail)
{
	const char *at = s.n ? memchr(s.p, sep, s.n) : NULL;
	if (!at) {
		*ret_tail = (struct str){NULL, 0};
		*ret_head = s;
		return false;
	}
	*ret_head = (struct str){s.p, (size_t)(at - s.p)};
	*ret_tail = (struct str){at + 1, s.n - ret_head->n - 1};
	return true;
}

bool str_to_uint64(struct str s, uint64_t *ret)
{
	uint64_t n = 0;
	for (size_t i = 0; i < s.n; i++) {
		unsigned digit = (unsigned)((unsigned char)s.p[i] - '0');
		if (digit > 9 || __builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, digit, &n)) {
			return false;
		}
	}
	if (s.n == 0) {
		return false;
	}
	*ret = n;
	return true;
}

bool str_to_int64(struct str s, int64_t *ret)
{
	bool is_negative = s.n > 0 && s.p[0] == '-';
	if (is_negative || (s.n > 0 && s.p[0] == '+')) {
		s.p++;
		s.n--;
	}

	uint64_t magnitude;
	if (!str_to_uint64(s, &magnitude) || magnitude > (uint64_t)INT64_MAX + is_negative) {
		return false;
	}
	*ret = (int64_t)(is_negative ? 0 - magnitude : magnitude);
	return true;
}

/* SipHash-1-3 (Aumasson, Bernstein), as Rust's and Python's hash tables use it: keyed, so that without knowing the key nobody
 * can find strings that collide. */
struct sip {
	uint64_t v0, v1, v2, v3;
};

static uint64_t hash_key[2];
/* Keyed on first use: tools and tests hash without any start-up. */
static pthread_once_t hash_key_once = PTHREAD_ONCE_INIT;

static void hash_key_init(void)
{
	random_bytes(hash_key, sizeof(hash_key));
}

static uint64_t rotate(uint64_t x, unsigned bits)
{
	return x << bits | x >> (64 - bits);
}

static void sip_round(struct sip *s)
{
	s->v0 += s->v1;
	s->v2 += s->v3;
	s->v1 = rotate(s->v1, 13) ^ s->v0;
	s->v3 = rotate(s->v3, 16) ^ s->v2;
	s->v0 = rotate(s->v0, 32);
	s->v2 += s->v1;
	s->v0 += s->v3;
	s->v1 = rotate(s->v1, 17) ^ s->v2;
	s->v3 = rotate(s->v3, 21) ^ s->v0;
	s->v2 = rotate(s->v2, 32);
}

static void sip_add(struct sip *s, uint64_t word)
{
	s->v3 ^= word;
	sip_round(s);
	s->v0 ^= word;
}

static uint64_t sip_finish(struct sip *s)
{
	s->v2 ^= 0xff;
	sip_round(s);
	sip_round(s);
	sip_round(s);
	return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

uint64_t str_hash(struct str s)
{
	pthread_once(&hash_key_once, hash_key_init);
	struct sip sip = {
		hash_key[0] ^ 0x736f6d6570736575,
		hash_key[1] ^ 0x646f72616e646f6d,
		hash_key[0] ^ 0x6c7967656e657261,
		hash_key[1] ^ 0x7465646279746573,
	};

	size_t n_whole = s.n / 8 * 8;
	for (size_t i = 0; i < n_whole; i += 8) {
		uint64_t word;
		memcpy(&word, s.p + i, 8);
		sip_add(&sip, le64toh(word));
	}

	uint64_t last = 0;
	if (s.n > n_whole) {
		memcpy(&last, s.p + n_whole, s.n - n_whole);
	}
	/* The length is part of what is hashed, as SipHash has it: "a" and "a\0" differ. */
	sip_add(&sip, le64toh(last) | (uint64_t)s.n << 56);
	return sip_finish(&sip);
}
