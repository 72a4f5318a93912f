/* A bump allocator with one lifetime: request memory comes from here and goes all at once.
 *
 * Blocks are chained and never move. The ceiling bounds what one request can make us hold: beyond
 * it memory is still handed out, so that no single allocation has a failure path, but
 * arena_is_full() turns true. Code that allocates in a loop driven by a client's input asks it
 * there and gives up (json_parse does). Not thread-safe: one owner at a time. Under ASan the bytes
 * between and behind allocations are poisoned.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/str.h"
#include <stdarg.h>

struct arena_block;

struct arena {
	struct arena_block *blocks; /* newest first */
	char *next;                 /* free space in the newest block or in `first` */
	size_t left;                /* bytes */
	size_t used;                /* bytes of all blocks; `first` does not count */
	size_t ceiling;             /* bytes */
	char *first;                /* optional caller-provided first block, not freed */
	size_t first_size;
};

void arena_init(struct arena *a, size_t ceiling);
/* As above, but starts with caller's memory (a stack buffer, a connection's scratch page). */
void arena_init_with(struct arena *a, size_t ceiling, void *first, size_t first_size);
void arena_done(struct arena *a);
void arena_clear(struct arena *a);                      /* empty and usable again; keeps the first block, unless big */
static inline bool arena_is_full(const struct arena *a) /* the caller should stop and say 413 or 400 */
{
	return a->used > a->ceiling;
}

void *arena_alloc(struct arena *a, size_t n); /* 16-byte aligned, not zeroed; never NULL */
void *arena_zalloc(struct arena *a, size_t n);
#define arena_new(a, type) ((type *)arena_zalloc((a), sizeof(type)))
void *arena_zalloc_array(struct arena *a, size_t n, size_t size); /* aborts when n * size overflows */
#define arena_array(a, type, n) ((type *)arena_zalloc_array((a), (n), sizeof(type)))
/* Bytes without alignment, for text. */
char *arena_text(struct arena *a, size_t n);
struct str arena_dup(struct arena *a, struct str s); /* the copy is NUL-terminated beyond n */
char *arena_strdup(struct arena *a, const char *s);
struct str arena_printf(struct arena *a, const char *format, ...) _printf_(2, 3);
struct str arena_vprintf(struct arena *a, const char *format, va_list ap) _printf_(2, 0);

#endif
