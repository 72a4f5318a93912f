/* The one place that decides what happens when memory runs out: the process ends and says how
 * much was asked for. mem_init() tells glibc what is different in a server that holds large
 * objects for long. */
#include "base/base.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Allocations of at least this size come from the kernel, and go back to it when they are freed. */
enum { MMAP_THRESHOLD = 256 << 10 };

void mem_init(void)
{
#ifdef __GLIBC__
	/* By itself glibc raises its threshold to the largest block ever freed: objects of 1 MB then lie amid small ones, in as many arenas as
	 * there are threads, each of which keeps the most that it has ever held. Twice the threshold is what glibc itself leaves at the top. */
	mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD);
	mallopt(M_TRIM_THRESHOLD, 2 * MMAP_THRESHOLD);
	mallopt(M_ARENA_MAX, 4);
#endif
}

/* Not through the log, which allocates. */
static _noreturn_ void die_out_of_memory(size_t n)
{
	fprintf(stderr, "out of memory: %zu bytes\n", n);
	abort();
}

static void *checked(void *p, size_t n)
{
	if (!p) {
		die_out_of_memory(n);
	}
	return p;
}

static size_t checked_product(size_t n, size_t size)
{
	size_t product;
	if (__builtin_mul_overflow(n, size, &product)) {
		die_out_of_memory(SIZE_MAX);
	}
	return product;
}

/* malloc(0) may return NULL, which would look like a failure. */
static size_t at_least_one(size_t n)
{
	return n ? n : 1;
}

void *mem_alloc(size_t n)
{
	return checked(malloc(at_least_one(n)), n);
}

void *mem_zalloc(size_t n)
{
	return checked(calloc(1, at_least_one(n)), n);
}

void *mem_array(size_t n, size_t size)
{
	return mem_zalloc(checked_product(n, size));
}

void *mem_realloc(void *p, size_t n)
{
	return checked(realloc(p, at_least_one(n)), n);
}

void *mem_realloc_array(void *p, size_t n, size_t size)
{
	return mem_realloc(p, checked_product(n, size));
}

void *mem_dup(const void *p, size_t n)
{
	void *copy = mem_alloc(n);
	if (n) {
		memcpy(copy, p, n);
	}
	return copy;
}

char *mem_strdup(const char *s)
{
	return mem_dup(s, strlen(s) + 1);
}

char *mem_strndup(const char *s, size_t n)
{
	char *copy = mem_alloc(n + 1);
	if (n) {
		memcpy(copy, s, n);
	}
	copy[n] = '\0';
	return copy;
}

char *mem_printf(const char *format, ...)
{
	char *text;
	va_list ap;
	va_start(ap, format);
	int n = vasprintf(&text, format, ap);
	va_end(ap);
	return checked(n < 0 ? NULL : text, 0);
}

void *mem_free(void *p)
{
	free(p);
	return NULL;
}

int error_trace_at(int r, const char *file, int line, const char *func)
{
	/* Only failures that nobody expected: positive results are conditions, and part of
	 * normal work. */
	if (r < 0 && getenv("ANNALS_TRACE")) {
		fprintf(stderr, "trace: %s:%d %s(): %s\n", file, line, func, strerror(-r));
	}
	return r;
}
