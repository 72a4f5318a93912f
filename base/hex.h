/* Bytes as hexadecimal digits, in lower case. */
#ifndef BASE_HEX_H
#define BASE_HEX_H

#include <stddef.h>

/* Writes two digits for each of n bytes, and no NUL. */
static inline void hex_write(char *out, const void *bytes, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *p = bytes;

	for (size_t i = 0; i < n; i++) {
		out[2 * i] = digits[p[i] >> 4];
		out[2 * i + 1] = digits[p[i] & 15];
	}
}

#endif
