/* Objects hold whatever their authors wrote, and the kubectl plugin and doctor show it to
 * administrators. A name with ESC could rewrite the screen, one with U+202E could read backwards
 * ("Trojan Source", CVE-2021-42574). Escapes are JSON's, so that what is JSON stays so. */
#include "base/visible.h"

#include "base/json_scan.h"

static const struct {
	uint32_t first, last;
} unseen[] = {
	{0x80, 0x9f},     /* C1: U+009B begins what ESC [ does */
	{0x61c, 0x61c},   /* direction: marks, */
	{0x200e, 0x200f}, /* also these; */
	{0x2028, 0x2029}, /* ends of a line and of a paragraph; */
	{0x202a, 0x202e}, /* embeddings and overrides, */
	{0x2066, 0x2069}, /* isolates */
};

static bool is_unseen(uint32_t c)
{
	for (size_t i = 0; i < ARRAY_SIZE(unseen); i++) {
		if (c >= unseen[i].first && c <= unseen[i].last) {
			return true;
		}
	}
	return false;
}

static uint32_t decode(const char *p, unsigned n)
{
	uint32_t c = (unsigned char)p[0] & (0x7fU >> n);
	for (unsigned i = 1; i < n; i++) {
		c = c << 6 | ((unsigned char)p[i] & 0x3f);
	}
	return c;
}

static bool is_plain(char c, bool keeps_lines)
{
	return (c >= ' ' && c < 0x7f) || (keeps_lines && (c == '\n' || c == '\t'));
}

static void add_escape(struct buf *out, uint32_t c)
{
	switch (c) {
	case '\n':
		BUF_LITERAL(out, "\\n");
		break;
	case '\r':
		BUF_LITERAL(out, "\\r");
		break;
	case '\t':
		BUF_LITERAL(out, "\\t");
		break;
	default:
		buf_printf(out, "\\u%04x", c);
	}
}

/* How many of the bytes at p, up to end, may be shown as they are. */
static size_t count_shown(const char *p, const char *end, bool keeps_lines)
{
	const char *start = p;
	while (p < end) {
		unsigned n = (unsigned char)*p < 0x80 ? 1 : json_utf8_length(p, end);
		if (n == 0 || (n == 1 ? !is_plain(*p, keeps_lines) : is_unseen(decode(p, n)))) {
			break;
		}
		p += n;
	}
	return (size_t)(p - start);
}

static void add(struct buf *out, struct str text, bool keeps_lines)
{
	const char *p = text.p, *end = str_end(text);
	while (p < end) {
		size_t n = count_shown(p, end, keeps_lines);
		buf_add(out, p, n);
		p += n;
		if (p == end) {
			return;
		}
		unsigned length = (unsigned char)*p < 0x80 ? 1 : json_utf8_length(p, end);
		/* Each byte for itself: behind it valid text may begin again. */
		if (length == 0) {
			buf_printf(out, "\\x%02x", (unsigned char)*p);
			p++;
		} else {
			add_escape(out, length == 1 ? (unsigned char)*p : decode(p, length));
			p += length;
		}
	}
}

void visible_add(struct buf *out, struct str text)
{
	add(out, text, false);
}

void visible_add_lines(struct buf *out, struct str text)
{
	add(out, text, true);
}

bool visible_is(struct str text)
{
	return count_shown(text.p, str_end(text), true) == text.n;
}
