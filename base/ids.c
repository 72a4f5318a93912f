/* From the kernel rather than from a generator of our own: uids are compared across restarts and
 * replicas, and one seed used twice would make two objects the same. The alphabet is
 * k8s.io/apimachinery/pkg/util/rand's. */
#include "base/ids.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

/* A thread's stock of random bytes: every request has an identifier, and a system call for each would be felt. */
static _Thread_local struct {
	uint8_t bytes[1024];
	size_t left;
} stock;

/* Without randomness no identifier can be promised to be unique, so the process ends. */
static void random_from_kernel(void *p, size_t n)
{
	char *at = p;
	while (n > 0) {
		ssize_t got = getrandom(at, n, 0);
		if (got < 0 && errno != EINTR) {
			perror("getrandom");
			abort();
		}
		if (got > 0) {
			at += got;
			n -= (size_t)got;
		}
	}
}

void random_bytes(void *p, size_t n)
{
	if (n > sizeof(stock.bytes)) {
		random_from_kernel(p, n);
		return;
	}
	if (n > stock.left) {
		random_from_kernel(stock.bytes, sizeof(stock.bytes));
		stock.left = sizeof(stock.bytes);
	}
	/* Taken bytes are wiped: what was given out once is found nowhere again. */
	memcpy(p, stock.bytes + stock.left - n, n);
	memset(stock.bytes + stock.left - n, 0, n);
	stock.left -= n;
}

void uuid_new(char out[UUID_SIZE])
{
	static const char hex[] = "0123456789abcdef";
	uint8_t b[16];
	random_bytes(b, sizeof(b));
	b[6] = (uint8_t)((b[6] & 0x0f) | 0x40); /* version 4 */
	b[8] = (uint8_t)((b[8] & 0x3f) | 0x80); /* variant of RFC 4122 */

	char *at = out;
	for (size_t i = 0; i < sizeof(b); i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10) {
			*at++ = '-';
		}
		*at++ = hex[b[i] >> 4];
		*at++ = hex[b[i] & 0x0f];
	}
	*at = '\0';
}

void random_suffix(char *out, size_t n)
{
	static const char alphabet[] = "bcdfghjklmnpqrstvwxz2456789";
	enum { N_LETTERS = sizeof(alphabet) - 1, FAIR = 256 / N_LETTERS * N_LETTERS };

	size_t done = 0;
	while (done < n) {
		uint8_t b[16];
		random_bytes(b, sizeof(b));
		for (size_t i = 0; i < sizeof(b) && done < n; i++) {
			if (b[i] < FAIR) { /* the rest of the byte's range would favour the first letters */
				out[done++] = alphabet[b[i] % N_LETTERS];
			}
		}
	}
	out[n] = '\0';
}
