/* Threads without which a process cannot do its work. Code that can do without one, or can return
 * an error, calls pthread_create() instead. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include "base/base.h"

#include <assert.h>
#include <pthread.h>

/* Starts one by that name, which has 15 bytes at most. Its signal mask is the caller's, as always.
 * Where none can be had (a limit of processes or of memory), the process ends at once with a line in the log and status 1:
 * nothing is broken that a core would show. */
void thread_must_start(pthread_t *ret, const char *name, void *(*run)(void *ctx), void *ctx);

/* The contract of a function that is called with a lock held. The check costs one failing compare-and-swap. It finds a lock that
 * nobody holds, not a lock that another thread holds. */
#define assert_locked(lock) assert(pthread_mutex_trylock(lock) != 0)

#endif
