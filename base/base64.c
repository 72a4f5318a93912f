/* Base64, and random identifiers. Why not a library's base64: Secrets are decoded as Go's
 * encoding/base64 does it, down to the byte at which a text goes wrong. The sentence that the
 * client reads names that byte. */
#include "base/base64.h"
#include "base/ids.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(char *out, struct str in)
{
	for (size_t i = 0; i < in.n; i += 3, out += 4) {
		unsigned char bytes[3] = {0};
		size_t n = MIN(in.n - i, sizeof(bytes));
		memcpy(bytes, in.p + i, n);
		unsigned triple = (unsigned)bytes[0] << 16 | (unsigned)bytes[1] << 8 | bytes[2];
		out[0] = digits[triple >> 18];
		out[1] = digits[triple >> 12 & 63];
		out[2] = digits[triple >> 6 & 63];
		out[3] = digits[triple & 63];
		memset(out + n + 1, '=', sizeof(bytes) - n);
	}
}

static int digit_value(char c)
{
	if (c >= 'A' && c <= 'Z') {
		return c - 'A';
	}
	if (c >= 'a' && c <= 'z') {
		return c - 'a' + 26;
	}
	if (c >= '0' && c <= '9') {
		return c - '0' + 52;
	}
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static bool is_line_break(char c)
{
	return c == '\n' || c == '\r';
}

static size_t skip_line_breaks(struct str in, size_t at)
{
	while (at < in.n && is_line_break(in.p[at])) {
		at++;
	}
	return at;
}

/* Up to four digits on their way to become bytes. */
struct quantum {
	unsigned bits, n;
};

/* The bytes that its digits hold: one fewer than there are. */
static char *quantum_write(const struct quantum *q, char *out)
{
	unsigned triple = q->bits << 6 * (4 - q->n);

	for (unsigned i = 0; i + 1 < q->n; i++) {
		*out++ = (char)(triple >> (16 - 8 * i) & 255);
	}
	return out;
}

/* Returns whether valid padding begins at the first '='. Only line breaks may follow it. */
static bool is_padded(const struct quantum *q, struct str in, size_t at, size_t *ret_wrong)
{
	if (q->n < 2) {
		*ret_wrong = at;
		return false;
	}
	at++;
	/* Two digits want two signs of padding, and a line break may stand between these. */
	if (q->n == 2) {
		at = skip_line_breaks(in, at);
		if (at == in.n || in.p[at] != '=') {
			*ret_wrong = at == in.n ? at : at - 1;
			return false;
		}
		at++;
	}
	*ret_wrong = skip_line_breaks(in, at);
	return *ret_wrong == in.n;
}

bool base64_decode(char *out, struct str in, size_t *ret)
{
	struct quantum q = {0, 0};
	char *at = out;

	for (size_t i = 0; i < in.n; i++) {
		if (is_line_break(in.p[i])) {
			continue;
		}
		if (in.p[i] == '=') {
			if (!is_padded(&q, in, i, ret)) {
				return false;
			}
			*ret = (size_t)(quantum_write(&q, at) - out);
			return true;
		}
		int value = digit_value(in.p[i]);
		if (value < 0) {
			*ret = i;
			return false;
		}
		q = (struct quantum){q.bits << 6 | (unsigned)value, q.n + 1};
		if (q.n == 4) {
			at = quantum_write(&q, at);
			q = (struct quantum){0, 0};
		}
	}
	/* Go blames the first digit of a group that was cut off, counted back from the end of
	 * the text. */
	*ret = q.n > 0 ? in.n - q.n : (size_t)(at - out);
	return q.n == 0;
}

/* ---- identifiers ---- */

/* Identifiers come from the kernel rather than from a generator of our own: uids are compared
 * across restarts and replicas, and one seed used twice would make two objects the same. The
 * alphabet is that of k8s.io/apimachinery/pkg/util/rand. */

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
	/* Wipes the bytes it takes, so that random bytes are never given out twice or found in
	 * memory later. */
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
