/* Descriptors are small numbers, given anew as soon as they are free: a bit for each, without a lock, since only the owner of a socket
 * changes its bit. */
#include "server/http/http_socket_options.h"

#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/socket.h>

enum { WORD = 64, SOCKETS = 1 << 16 };

/* Sockets beyond the end keep their options, and their system calls. */
static _Atomic uint64_t is_hidden[SOCKETS / WORD];
static _Atomic uint64_t n_refused;

static int (*of_the_library)(int fd, int level, int name, const void *value, socklen_t n);

/* POSIX allows what ISO C does not: a function from a data pointer. */
static void find_of_the_library(void)
{
	*(void **)&of_the_library = dlsym(RTLD_NEXT, "setsockopt");
}

static uint64_t bit_of(int fd)
{
	return UINT64_C(1) << fd % WORD;
}

void socket_options_hide(int fd)
{
	if (fd >= 0 && fd < SOCKETS) {
		atomic_fetch_or_explicit(&is_hidden[fd / WORD], bit_of(fd), memory_order_relaxed);
	}
}

void socket_options_show(int fd)
{
	if (fd >= 0 && fd < SOCKETS) {
		atomic_fetch_and_explicit(&is_hidden[fd / WORD], ~bit_of(fd), memory_order_relaxed);
	}
}

static bool are_hidden(int fd)
{
	return fd >= 0 && fd < SOCKETS && (atomic_load_explicit(&is_hidden[fd / WORD], memory_order_relaxed) & bit_of(fd));
}

uint64_t socket_options_n_refused(void)
{
	return atomic_load_explicit(&n_refused, memory_order_relaxed);
}

__attribute__((visibility("default"))) int setsockopt(int fd, int level, int name, const void *value, socklen_t n)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, find_of_the_library);
	if (level == IPPROTO_TCP && (name == TCP_CORK || name == TCP_NODELAY) && are_hidden(fd)) {
		atomic_fetch_add_explicit(&n_refused, 1, memory_order_relaxed);
		errno = ENOPROTOOPT;
		return -1;
	}
	return of_the_library(fd, level, name, value, n);
}
