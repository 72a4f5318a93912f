/* A growable byte buffer that is born with its ceiling (after curl's dynbuf).
 *
 * Appending beyond the ceiling appends nothing, sets `is_over` for good and returns false; so a writer may append many times
 * and check once at the end. p is NUL-terminated whenever n > 0. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/str.h"
#include <stdarg.h>

struct buf {
	char *p;
	size_t n;       /* bytes used */
	size_t cap;     /* bytes allocated */
	size_t ceiling; /* bytes */
	bool is_over;
};

void buf_init(struct buf *b, size_t ceiling);
void buf_done(struct buf *b);
void buf_clear(struct buf *b);                /* n = 0, not over any more; memory kept */
bool buf_reserve(struct buf *b, size_t more); /* room for `more` bytes without another allocation */
bool buf_add(struct buf *b, const void *p, size_t n);
bool buf_add_str(struct buf *b, struct str s);
bool buf_adds(struct buf *b, const char *s);
bool buf_addc(struct buf *b, char c);
bool buf_add_int(struct buf *b, int64_t n);
bool buf_printf(struct buf *b, const char *format, ...) _printf_(2, 3);
bool buf_vprintf(struct buf *b, const char *format, va_list ap) _printf_(2, 0);
void buf_truncate(struct buf *b, size_t n);
struct str buf_str(const struct buf *b);
/* Hands the memory over, always NUL-terminated and never NULL (mem_free it); b is empty and usable afterwards. */
char *buf_take(struct buf *b, size_t *ret_n); /* ret_n may be NULL */

#define BUF_LITERAL(b, literal) buf_add((b), (literal), sizeof(literal) - 1)

#endif
