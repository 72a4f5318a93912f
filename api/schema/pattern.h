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
	/* Bytes that one expression may take, its automaton included; a definition with a larger one is
	 * refused. Go has no such limit. */
	REGEXP_MEMORY_MAX = 2 * 1024 * 1024,
	REGEXP_ERROR_SIZE = 512,
};

/* NULL where the text is no expression, with Go's words in `error`: "error parsing regexp: missing closing ): `(a`". */
struct regexp *regexp_new(const char *text, size_t n, char error[REGEXP_ERROR_SIZE]);
struct regexp *regexp_free(struct regexp *r); /* NULL */
/* Does it match anywhere in the text? By any thread. */
bool regexp_matches(const struct regexp *r, const char *text, size_t n);
/* Instructions of its program: matching takes at most as many steps for each byte of a text. */
size_t regexp_length(const struct regexp *r);
/* Bytes that it may take, its automaton included: up to REGEXP_MEMORY_MAX. */
size_t regexp_memory(const struct regexp *r);

#ifdef __cplusplus
}
#else

#include "base/str.h"

#include <stdatomic.h>

struct arena;
struct pattern;

/* The patterns of a compiled schema, or of a definition that is judged: each text once, compiled at
 * its first use. Zeroed at first; patterns_done() frees what was compiled. */
struct patterns {
	struct pattern *first;
	size_t n;
	atomic_size_t memory; /* bytes that the compiled ones may take, and those that could not be */
};

enum {
	/* Bytes of all patterns of a schema, or of a definition that is judged. Patterns beyond that count as
	 * "expression too large". A usual one takes 64 KiB. Real definitions have up to 20. */
	PATTERNS_MEMORY_MAX = 16 * 1024 * 1024,
	/* Different patterns of a schema, or of a definition that is judged: likewise. */
	PATTERNS_MAX = 1024,
};

struct pattern *patterns_add(struct patterns *p, struct arena *a, struct str text);
void patterns_done(struct patterns *p);
/* NULL, or why the expression cannot be compiled, in Go's words; valid as long as the pattern. By any thread. */
const char *pattern_error(struct pattern *p);
/* Does it match anywhere in the text? False where it cannot be compiled. Adds what that may have
 * cost to *ret_steps, in instructions for each byte. By any thread. */
bool pattern_matches(struct pattern *p, struct str text, uint64_t *ret_steps);
size_t patterns_memory(const struct patterns *p);

#endif

#endif
