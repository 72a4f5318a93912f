#include "base/base64.h"

void base64_encode(char *out, struct str in)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

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
