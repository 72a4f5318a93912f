/* HTTP does not keep the case of a header's name, and a name cannot hold every byte. So upstream
 * lower-cases keys and takes %-escapes in them. A key that is badly escaped is kept as it came, as
 * upstream keeps it (unescapeExtraKey): an extra value that vanished would make its user look like
 * another. */
#include "server/access/extra_key.h"

/* Lower case only: the key has been lower-cased before. */
static int hex_digit(char c)
{
	if (c >= '0' && c <= '9') {
		return c - '0';
	}
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static struct str lower_case(struct arena *a, struct str s)
{
	char *lower = arena_text(a, s.n + 1);
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		lower[i] = (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
	}
	return (struct str){lower, s.n};
}

static bool decode(struct arena *a, struct str s, struct str *ret)
{
	char *decoded = arena_text(a, s.n + 1);
	size_t n = 0;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] != '%') {
			decoded[n++] = s.p[i];
			continue;
		}
		int high = i + 2 < s.n ? hex_digit(s.p[i + 1]) : -1, low = high >= 0 ? hex_digit(s.p[i + 2]) : -1;
		if (low < 0) {
			return false;
		}
		decoded[n++] = (char)(high * 16 + low);
		i += 2;
	}
	*ret = (struct str){decoded, n};
	return true;
}

bool extra_key(struct str header, struct str prefix, struct arena *a, struct str *ret_key)
{
	struct str head = {header.p, MIN(header.n, prefix.n)};
	if (!str_eq_nocase(head, prefix)) {
		return false;
	}
	struct str lower = lower_case(a, (struct str){header.p + prefix.n, header.n - prefix.n});
	if (!decode(a, lower, ret_key)) {
		*ret_key = lower;
	}
	return true;
}
