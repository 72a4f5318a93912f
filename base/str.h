/* A string slice: n bytes at p, not necessarily NUL-terminated, never owned. {NULL, 0} is the empty (absent) slice. */
#ifndef BASE_STR_H
#define BASE_STR_H

#include "base/base.h"
#include <string.h>

struct str {
	const char *p;
	size_t n;
};

#define STR(literal) ((struct str){(literal), sizeof(literal) - 1})
#define STR_FMT "%.*s" /* printf: STR_FMT, STR_ARG(s) */
#define STR_ARG(s) (int)(s).n, (s).p ? (s).p : ""

static inline struct str str_of(const char *s) /* s may be NULL */
{
	return s ? (struct str){s, strlen(s)} : (struct str){NULL, 0};
}
static inline bool str_eq(struct str a, struct str b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}
static inline bool str_is(struct str a, const char *b)
{
	return str_eq(a, str_of(b));
}
static inline const char *str_end(struct str s) /* NULL + 0 is undefined in C */
{
	return s.n ? s.p + s.n : s.p;
}
/* Printable ASCII but blanks: what cannot look like something else where it is shown. */
static inline bool char_is_shown(char c)
{
	return c > ' ' && c < 0x7f;
}
static inline char char_shown(char c) /* as it is, or '?' */
{
	return char_is_shown(c) ? c : '?';
}
int str_cmp(struct str a, struct str b);        /* by bytes, shorter first: etcd's key order */
int str_cmp_at(const void *a, const void *b);   /* of what is at two struct str *: for qsort and bsearch */
void str_sort(struct str *texts, size_t n);     /* by str_cmp; texts may be NULL where there are none */
bool str_eq_nocase(struct str a, struct str b); /* ASCII only */
bool str_starts(struct str s, struct str prefix);
bool str_ends(struct str s, struct str suffix);
bool str_contains(struct str s, struct str needle);
struct str str_trim(struct str s); /* ASCII blanks at both ends */
/* Cuts s at the first sep: *ret_head before it, *ret_tail behind it. False when there is none: all is head, the tail is empty. */
bool str_cut(struct str s, char sep, struct str *ret_head, struct str *ret_tail);
/* Decimal, whole slice; a sign (+ or -) only for int64. False on overflow, blanks, or emptiness. */
bool str_to_int64(struct str s, int64_t *ret);
bool str_to_uint64(struct str s, uint64_t *ret);
uint64_t str_hash(struct str s); /* seeded once per process: clients cannot aim collisions */

#endif
