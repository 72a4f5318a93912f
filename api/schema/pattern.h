/* Regular expressions, as Go's package regexp has them: RE2, which never backtracks.
 *
 * RE2 is C++; gRPC links it anyway. This is the only way into it. */
#ifndef API_SCHEMA_PATTERN_H
#define API_SCHEMA_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct regexp;

enum {
	/* Bytes that one expression may take, its automaton included; a definition with a larger one is refused. Go has no such limit. */
	REGEXP_MEMORY_MAX = 2 * 1024 * 1024,
	REGEXP_ERROR_SIZE = 512,
};

/* NULL where the text is no expression, with Go's words in `error`: "error parsing regexp: missing closing ): `(a`". */
struct regexp *regexp_new(const char *text, size_t n, char error[REGEXP_ERROR_SIZE]);
struct regexp *regexp_free(struct regexp *r); /* NULL */
/* Does it match anywhere in the text? By any thread. */
bool regexp_matches(const struct regexp *r, const char *text, size_t n);
/* Bytes of its program, without its automaton, which grows up to REGEXP_MEMORY_MAX. */
size_t regexp_size(const struct regexp *r);

#ifdef __cplusplus
}
#endif

struct arena;
struct str;
struct pattern;

/* The patterns of a compiled schema: each text once, compiled at its first use. */
struct patterns {
	struct pattern *first;
	size_t n;
};

enum {
	PATTERNS_KEPT_MAX = 32
}; /* of one schema stay compiled, REGEXP_MEMORY_MAX bytes each; others are compiled for each use */

struct pattern *patterns_add(struct patterns *p, struct arena *a, const char *text, size_t n);
void patterns_done(struct patterns *p);
/* Where the expression cannot be compiled, false, and `error` has the reason; otherwise it is empty. */
bool pattern_matches(struct pattern *p, const char *text, size_t n, char error[REGEXP_ERROR_SIZE]);
size_t patterns_memory(const struct patterns *p);

#endif
