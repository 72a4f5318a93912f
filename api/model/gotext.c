/* Go's spellings, since messages quote what clients sent and tools match messages. The table
 * stands for unicode.IsPrint: exact data would be many kilobytes, for code points that nobody
 * has seen in a manifest. */
#include "api/model/gotext.h"

#include "base/buf.h"

/* Code points of which Go's unicode.IsPrint says no, beyond ASCII: blanks, controls, formats, private use, not characters. */
static const struct {
	uint32_t first, last;
} unprintable[] = {
	{0x80, 0xa0},
	{0xad, 0xad},
	{0x600, 0x605},
	{0x61c, 0x61c},
	{0x6dd, 0x6dd},
	{0x70f, 0x70f},
	{0x1680, 0x1680},
	{0x180e, 0x180e},
	{0x2000, 0x200f},
	{0x2028, 0x202f},
	{0x205f, 0x206f},
	{0x3000, 0x3000},
	{0xd800, 0xf8ff},
	{0xfdd0, 0xfdef},
	{0xfeff, 0xfeff},
	{0xfff0, 0xfffb},
	{0xfffe, 0xffff},
	{0x1bca0, 0x1bca3},
	{0x1d173, 0x1d17a},
	{0xe0000, 0x10ffff},
};

bool go_is_print(uint32_t c)
{
	if (c < 0x80) {
		return c >= 0x20 && c < 0x7f;
	}
	for (size_t i = 0; i < ARRAY_SIZE(unprintable); i++) {
		if (c >= unprintable[i].first && c <= unprintable[i].last) {
			return false;
		}
	}
	return true;
}

unsigned go_decode_rune(const char *p, const char *end, uint32_t *ret_c)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	unsigned char lead = (unsigned char)*p;
	if (lead < 0x80) {
		*ret_c = lead;
		return 1;
	}
	unsigned n = lead < 0xc2 || lead > 0xf4 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
	if (n == 0 || n > (size_t)(end - p)) {
		return 0;
	}
	uint32_t c = lead & (0x7fU >> n);
	for (unsigned i = 1; i < n; i++) {
		if (((unsigned char)p[i] & 0xc0) != 0x80) {
			return 0;
		}
		c = c << 6 | ((unsigned char)p[i] & 0x3fU);
	}
	*ret_c = c;
	return c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff) ? 0 : n;
}

static const char *go_escape(char c)
{
	static const char *const escapes[256] = {
		['\a'] = "\\a",
		['\b'] = "\\b",
		['\f'] = "\\f",
		['\n'] = "\\n",
		['\r'] = "\\r",
		['\t'] = "\\t",
		['\v'] = "\\v",
		['"'] = "\\\"",
		['\\'] = "\\\\",
	};
	return escapes[(unsigned char)c];
}

static unsigned quote_ascii(struct buf *out, char c)
{
	if (go_escape(c)) {
		buf_adds(out, go_escape(c));
	} else if ((unsigned char)c < 0x20 || c == 0x7f) {
		buf_printf(out, "\\x%02x", (unsigned char)c);
	} else {
		buf_addc(out, c);
	}
	return 1;
}

/* Quotes the character at p; returns how many bytes it has. */
static unsigned quote_char(struct buf *out, const char *p, const char *end)
{
	if ((unsigned char)*p < 0x80) {
		return quote_ascii(out, *p);
	}
	uint32_t c;
	unsigned n = go_decode_rune(p, end, &c);
	if (n == 0) {
		buf_printf(out, "\\x%02x", (unsigned char)*p);
		return 1;
	}
	if (go_is_print(c)) {
		buf_add(out, p, n);
	} else {
		buf_printf(out, c > 0xffff ? "\\U%08x" : "\\u%04x", c);
	}
	return n;
}

struct str go_quote(struct arena *a, struct str s)
{
	struct buf out;
	buf_init(&out, TEXT_MAX);
	buf_reserve(&out, s.n + 2);
	buf_addc(&out, '"');
	for (size_t i = 0; i < s.n;) {
		i += quote_char(&out, s.p + i, s.p + s.n);
	}
	buf_addc(&out, '"');
	struct str quoted = arena_dup(a, buf_str(&out));
	buf_done(&out);
	return quoted;
}
