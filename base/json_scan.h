/* Skipping the ordinary bytes of a string, eight at a time: where most of the time on JSON goes. Private to the json_*.c files. */
#ifndef BASE_JSON_SCAN_H
#define BASE_JSON_SCAN_H

#include "base/base.h"

#include <endian.h>

#define JSON_EVERY_BYTE(b) (0x0101010101010101u * (uint64_t)(b))

/* The top bit of each byte of x that is less than b (at most 0x80) or not ASCII. A borrow can mark bytes above a marked one
 * wrongly, so only the lowest mark is to be trusted ("Bit Twiddling Hacks", haszero and hasless). */
static inline uint64_t json_marks_less(uint64_t x, uint8_t b)
{
	return ((x - JSON_EVERY_BYTE(b)) | x) & JSON_EVERY_BYTE(0x80);
}

/* As above, of each byte that equals b, or is not ASCII. */
static inline uint64_t json_marks_equal(uint64_t x, uint8_t b)
{
	return (((x ^ JSON_EVERY_BYTE(b)) - JSON_EVERY_BYTE(1)) | x) & JSON_EVERY_BYTE(0x80);
}

static inline uint64_t json_load(const char *p)
{
	uint64_t word;
	memcpy(&word, p, sizeof(word));
	return le64toh(word);
}

static inline unsigned json_first_mark(uint64_t marks)
{
	return (unsigned)__builtin_ctzll(marks) / 8;
}

/* The first byte that ends a string, begins an escape, is a control or is not ASCII; or end. */
static inline const char *json_skip_ordinary(const char *p, const char *end)
{
	while (end - p >= 8) {
		uint64_t word = json_load(p);
		uint64_t marks = json_marks_less(word, 0x20) | json_marks_equal(word, '"') | json_marks_equal(word, '\\');
		if (marks) {
			return p + json_first_mark(marks);
		}
		p += 8;
	}
	while (p < end && (unsigned char)*p >= 0x20 && (unsigned char)*p < 0x80 && *p != '"' && *p != '\\') {
		p++;
	}
	return p;
}

/* As above; <, > and & are not ordinary here. */
static inline const char *json_skip_unescaped(const char *p, const char *end)
{
	while (end - p >= 8) {
		uint64_t word = json_load(p);
		uint64_t marks = json_marks_less(word, 0x20) | json_marks_equal(word, '"') | json_marks_equal(word, '\\') |
			json_marks_equal(word, '&') | json_marks_equal(word & ~JSON_EVERY_BYTE(2), '<');
		if (marks) {
			return p + json_first_mark(marks);
		}
		p += 8;
	}
	while (p < end && (unsigned char)*p >= 0x20 && (unsigned char)*p < 0x80 && *p != '"' && *p != '\\' && *p != '&' &&
		*p != '<' && *p != '>') {
		p++;
	}
	return p;
}

/* The length of the UTF-8 sequence at p that is not ASCII, 0 when it is none (overlong, surrogate, beyond U+10FFFF, cut). */
static inline unsigned json_utf8_length(const char *p, const char *end)
{
	const unsigned char *u = (const unsigned char *)p;
	size_t left = (size_t)(end - p);
	if (u[0] >= 0xc2 && u[0] < 0xe0) {
		return left >= 2 && (u[1] & 0xc0) == 0x80 ? 2 : 0;
	}
	if (u[0] >= 0xe0 && u[0] < 0xf0) {
		unsigned char low = u[0] == 0xe0 ? 0xa0 : 0x80, high = u[0] == 0xed ? 0x9f : 0xbf;
		return left >= 3 && u[1] >= low && u[1] <= high && (u[2] & 0xc0) == 0x80 ? 3 : 0;
	}
	if (u[0] >= 0xf0 && u[0] < 0xf5) {
		unsigned char low = u[0] == 0xf0 ? 0x90 : 0x80, high = u[0] == 0xf4 ? 0x8f : 0xbf;
		return left >= 4 && u[1] >= low && u[1] <= high && (u[2] & 0xc0) == 0x80 && (u[3] & 0xc0) == 0x80 ? 4 : 0;
	}
	return 0;
}

static inline bool json_is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

#endif
