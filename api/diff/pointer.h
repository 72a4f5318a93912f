/* Pointers into JSON (RFC 6901), and patterns of them: a segment "*" of a pattern is any member of
 * an object, or any item of an array. "~1" is "/" in a segment, and "~0" is "~". */
#ifndef API_DIFF_POINTER_H
#define API_DIFF_POINTER_H

#include "base/json.h"

/* Patterns in one list: the walk keeps one bit for each in a word of 64 bits. More are refused. */
enum { POINTER_PATTERNS_MAX = 64, POINTER_PATTERN_MAX = 512 /* bytes of one */ };

/* Why it cannot be a pattern: it begins with "/", each "~" begins "~0" or "~1", and it is short enough. NULL: it can. */
const char *pointer_pattern_problem(struct str text);

/* A set of patterns. A walk from the root of a value carries with it which of them may still match:
 * one bit for each. */
struct pointer_pattern {
	const struct str *segments; /* unescaped */
	size_t n;
};

struct pointer_patterns {
	const struct pointer_pattern *v;
	size_t n;
};

/* The texts of a list; NULL is the empty list. False where one is no pattern, or there are too many. */
bool pointer_patterns_read(struct pointer_patterns *ret, const struct json *list, struct arena *a);
/* At the root: all of them. */
uint64_t pointer_patterns_all(const struct pointer_patterns *p);
/* Returns the patterns of `alive` that match `segment` behind `depth` others and continue after it.
 * *ret_ends says whether one of them ends with it. */
uint64_t pointer_patterns_step(
	const struct pointer_patterns *p, uint64_t alive, size_t depth, struct str segment, bool *ret_ends);

/* Writes one more segment behind a pointer. */
bool pointer_push(struct buf *pointer, struct str segment);
/* Takes the first segment off *pointer. False where there is none. The segment may be made in `a`. */
bool pointer_shift(struct str *pointer, struct str *ret_segment, struct arena *a);

/* The place of an item in an array, as a segment. */
enum { POINTER_INDEX_SIZE = 12 };
struct str pointer_index(char out[POINTER_INDEX_SIZE], uint32_t i);
/* The value behind a segment: a member, or an item of an array. NULL: none. */
struct json *pointer_step(const struct json *value, struct str segment);

#endif
