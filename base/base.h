/* The basis of every file: memory that cannot run out silently, cleanup attributes, small macros.
 *
 * Memory. mem_*() never return NULL: when the allocator fails, the process says so and aborts. The
 * server keeps every promise in etcd, so it loses nothing by dying. No error path has to be
 * written, and left untested, for it. Everything that a *client* can make grow is bounded
 * elsewhere: every buffer, arena, list and queue has a ceiling and reports reaching it.
 */
#ifndef BASE_BASE_H
#define BASE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

void mem_init(void);       /* before any thread: what is freed shall not be kept for good */
void *mem_alloc(size_t n); /* n may be 0; contents undefined */
void *mem_zalloc(size_t n);
void *mem_array(size_t n, size_t size); /* zeroed; aborts when n * size overflows */
void *mem_realloc(void *p, size_t n);
void *mem_realloc_array(void *p, size_t n, size_t size);
void *mem_dup(const void *p, size_t n);
char *mem_strdup(const char *s);
char *mem_strndup(const char *s, size_t n); /* of exactly n bytes, NUL-terminated */
char *mem_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
void *mem_free(void *p); /* returns NULL: p = mem_free(p) */

#define mem_new(type) ((type *)mem_zalloc(sizeof(type)))

/* _cleanup_(x_freep) struct x *x = NULL; ... *ret_x = take_ptr(x); */
#define _cleanup_(fn) __attribute__((cleanup(fn)))
#define take_ptr(p)                             \
	__extension__({                         \
		__typeof__(p) *taken_ = &(p);   \
		__typeof__(p) value_ = *taken_; \
		*taken_ = NULL;                 \
		value_;                         \
	})
/* DEFINE_CLEANUP(struct x *, x_free) makes x_freep() for _cleanup_(); x_free() takes no NULL there and returns NULL. */
#define DEFINE_CLEANUP(type, fn)              \
	static inline void fn##p(type *owned) \
	{                                     \
		if (*owned) {                 \
			*owned = fn(*owned);  \
		}                             \
	}
/* _cleanup_(mem_freep) for any pointer from mem_*(). */
static inline void mem_freep(void *p)
{
	void *owned;
	memcpy(&owned, p, sizeof(owned));
	mem_free(owned);
}

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define container_of(ptr, type, member) ((type *)(void *)((char *)(ptr) - offsetof(type, member)))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define _unused_ __attribute__((unused))
#define _printf_(a, b) __attribute__((format(printf, a, b)))
#define _noreturn_ __attribute__((noreturn))

/* Two kinds of failure (style after dbus-broker): a function returns 0 for success, a positive value of its own enum for a
 * condition it documents, and a negative errno for what nobody expected. error_trace() marks the line where such a
 * failure is passed on; with ANNALS_TRACE=1 in the environment each hop is printed. It returns its argument. */
int error_trace_at(int r, const char *file, int line, const char *func);
#define error_trace(r) error_trace_at((r), __FILE__, __LINE__, __func__)

#endif
