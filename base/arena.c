/* A block that is full is never resized: pointers into it are all over the request's trees.
 * Small and large allocations therefore take different ways into the chain, so that a large one
 * does not throw away the rest of a block.
 *
 * Under a sanitizer each allocation has a red zone. Without it the overrun of one text into the
 * next would be invisible, since both lie in one block of malloc. */
#include "base/arena.h"

#include <assert.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

/* A request rarely needs more than the first block; big ones quickly get blocks worth a malloc. Only a small
 * block idles between requests. */
enum { BLOCK_MIN = 4096, BLOCK_MAX = 256 * 1024, KEPT_MAX = 16 * 1024 };

#ifdef __SANITIZE_ADDRESS__
enum { RED_ZONE = 8 };
#else
enum { RED_ZONE = 0 };
#endif

struct arena_block {
	struct arena_block *older;
	size_t size; /* bytes behind this header */
	alignas(max_align_t) char bytes[];
};

static void arena_use(struct arena *a, char *p, size_t n)
{
	a->next = p;
	a->left = n;
	ASAN_POISON_MEMORY_REGION(p, n);
}

void arena_init(struct arena *a, size_t ceiling)
{
	*a = (struct arena){.ceiling = ceiling};
}

void arena_init_with(struct arena *a, size_t ceiling, void *first, size_t first_size)
{
	assert(first || first_size == 0);
	*a = (struct arena){.ceiling = ceiling, .first = first, .first_size = first_size};
	arena_use(a, first, first_size);
}

static struct arena_block *block_new(struct arena *a, size_t size)
{
	struct arena_block *block = mem_alloc(sizeof(*block) + size);
	block->size = size;
	a->used += size;
	return block;
}

/* Frees blocks from the newest on, except `kept`. */
static void arena_free_blocks(struct arena *a, const struct arena_block *kept)
{
	while (a->blocks && a->blocks != kept) {
		struct arena_block *block = a->blocks;
		a->blocks = block->older;
		a->used -= block->size;
		ASAN_UNPOISON_MEMORY_REGION(block->bytes, block->size);
		mem_free(block);
	}
}

void arena_done(struct arena *a)
{
	arena_free_blocks(a, NULL);
	assert(a->used == 0);
	if (a->first) {
		ASAN_UNPOISON_MEMORY_REGION(a->first, a->first_size);
	}
	*a = (struct arena){.ceiling = a->ceiling};
}

/* The block that an arena keeps between requests, unless the block is big. */
static struct arena_block *arena_oldest(const struct arena *a)
{
	struct arena_block *block = a->blocks;
	while (block && block->older) {
		block = block->older;
	}
	return block;
}

void arena_clear(struct arena *a)
{
	struct arena_block *oldest = a->first ? NULL : arena_oldest(a);
	/* Big: the first allocation was, or a big one got its block behind the first. */
	if (oldest && oldest->size > MIN(a->ceiling, (size_t)KEPT_MAX)) {
		oldest = NULL;
	}
	arena_free_blocks(a, oldest);

	if (oldest) {
		arena_use(a, oldest->bytes, oldest->size);
	} else {
		arena_use(a, a->first, a->first_size);
	}
}

static _noreturn_ void die_overflow(void)
{
	fprintf(stderr, "arena: an absurd size was asked for\n");
	abort();
}

/* Takes n bytes from a new block. A big request gets a block of its own, placed behind the newest,
 * so the rest of the newest stays in use. */
static char *arena_take_new_block(struct arena *a, size_t n)
{
	size_t usual = a->blocks ? MIN(a->blocks->size * 2, (size_t)BLOCK_MAX) : (size_t)BLOCK_MIN;
	if (n > SIZE_MAX / 2) {
		die_overflow();
	}
	if (n > usual / 4 && a->blocks) {
		struct arena_block *block = block_new(a, n);
		block->older = a->blocks->older;
		a->blocks->older = block;
		return block->bytes;
	}

	struct arena_block *block = block_new(a, MAX(usual, n));
	block->older = a->blocks;
	a->blocks = block;
	arena_use(a, block->bytes + n, block->size - n);
	return block->bytes;
}

static void *arena_take(struct arena *a, size_t n, size_t align)
{
	size_t padding = (0 - (uintptr_t)a->next) & (align - 1);
	size_t size = n + RED_ZONE;
	char *p;
	if (size >= n && padding <= a->left && size <= a->left - padding) {
		p = a->next + padding;
		a->next = p + size;
		a->left -= padding + size;
	} else {
		p = arena_take_new_block(a, size);
		ASAN_POISON_MEMORY_REGION(p, size);
	}
	ASAN_UNPOISON_MEMORY_REGION(p, n);
	return p;
}

void *arena_alloc(struct arena *a, size_t n)
{
	return arena_take(a, n, 16);
}

void *arena_zalloc(struct arena *a, size_t n)
{
	void *p = arena_alloc(a, n);
	return n ? memset(p, 0, n) : p;
}

void *arena_zalloc_array(struct arena *a, size_t n, size_t size)
{
	size_t total;
	if (__builtin_mul_overflow(n, size, &total)) {
		die_overflow();
	}
	return arena_zalloc(a, total);
}

char *arena_text(struct arena *a, size_t n)
{
	return arena_take(a, n, 1);
}

struct str arena_dup(struct arena *a, struct str s)
{
	char *copy = arena_text(a, s.n + 1);
	if (s.n) {
		memcpy(copy, s.p, s.n);
	}
	copy[s.n] = '\0';
	return (struct str){copy, s.n};
}

char *arena_strdup(struct arena *a, const char *s)
{
	size_t size = strlen(s) + 1;
	return memcpy(arena_text(a, size), s, size);
}

struct str arena_printf(struct arena *a, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	struct str s = arena_vprintf(a, format, ap);
	va_end(ap);
	return s;
}

/* Formatting is the dear part: so first into what is left of the block, where it mostly fits and may stay. */
struct str arena_vprintf(struct arena *a, const char *format, va_list ap)
{
	va_list again;
	va_copy(again, ap);
	char *first = a->next;
	size_t room = a->left;
	ASAN_UNPOISON_MEMORY_REGION(first, room);
	int n = vsnprintf(first, room, format, ap);
	ASAN_POISON_MEMORY_REGION(first, room);
	assert(n >= 0);

	/* If the text fits, it starts where it was formatted: text needs no alignment, so there is
	 * no gap. */
	char *text = arena_text(a, (size_t)n + 1);
	if (text != first) {
		vsnprintf(text, (size_t)n + 1, format, again);
	}
	va_end(again);
	return (struct str){text, (size_t)n};
}
