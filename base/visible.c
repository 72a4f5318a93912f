/* Objects hold whatever their authors wrote, and the kubectl plugin and doctor show it to
 * administrators. A name with ESC could rewrite the screen, one with U+202E could read backwards
 * ("Trojan Source", CVE-2021-42574). Escapes are JSON's, so that what is JSON stays so. */
#include "base/visible.h"

#include "base/json_scan.h"

static const struct {
	uint32_t first, last;
} unseen[] = {
	{0x80, 0x9f},       /* C1: U+009B begins what ESC [ does */
	{0xad, 0xad},       /* a soft hyphen */
	{0x34f, 0x34f},     /* a joiner that joins nothing */
	{0x61c, 0x61c},     /* a mark of direction */
	{0x115f, 0x1160},   /* fillers of Hangul, */
	{0x17b4, 0x17b5},   /* vowels of Khmer that are not drawn, */
	{0x180b, 0x180f},   /* selectors of Mongolian */
	{0x200b, 0x200f},   /* no width; marks of direction */
	{0x2028, 0x2029},   /* ends of a line and of a paragraph */
	{0x202a, 0x202e},   /* embeddings and overrides of direction */
	{0x2060, 0x206f},   /* no width; isolates of direction */
	{0x3164, 0x3164},   /* another filler */
	{0xfe00, 0xfe0f},   /* variation selectors */
	{0xfeff, 0xfeff},   /* the byte order mark, of no width */
	{0xffa0, 0xffa0},   /* a filler of half the width */
	{0xfff0, 0xfffb},   /* marks of annotations */
	{0x1d173, 0x1d17a}, /* beams and slurs of music */
	{0xe0000, 0xe0fff}, /* tags; more variation selectors */
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

/* Arrows, symbols and emoji: what joiners and selectors may follow, and be drawn with. */
static bool is_pictured(uint32_t c)
{
	return (c >= 0x2190 && c <= 0x2bff) || (c >= 0x1f000 && c <= 0x1faff);
}

/* A family of emoji has U+200D between its members, and U+FE0F makes a picture of a symbol. */
static bool is_part_of_picture(uint32_t before, uint32_t c, uint32_t after)
{
	return (c == 0xfe0f && is_pictured(before)) ||
		(c == 0x200d && (is_pictured(before) || before == 0xfe0f) && is_pictured(after));
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
		if (c >= 0x10000) {
			buf_printf(out, "\\u%04x", 0xd7c0 + (c >> 10));
			c = 0xdc00 + (c & 0x3ff);
		}
		buf_printf(out, "\\u%04x", c);
	}
}

/* How many of the bytes at p, up to end, may be shown as they are. */
static size_t count_shown(const char *p, const char *end, bool keeps_lines)
{
	const char *start = p;
	uint32_t before = 0;
	while (p < end) {
		unsigned n = (unsigned char)*p < 0x80 ? 1 : json_utf8_length(p, end);
		if (n == 0 || (n == 1 && !is_plain(*p, keeps_lines))) {
			break;
		}
		uint32_t c = n == 1 ? (unsigned char)*p : decode(p, n);
		if (n > 1 && is_unseen(c)) {
			unsigned next = p + n < end ? json_utf8_length(p + n, end) : 0;
			if (!is_part_of_picture(before, c, next > 1 ? decode(p + n, next) : 0)) {
				break;
			}
		}
		before = c;
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
		/* Escapes this byte alone, because valid text may begin at the next one. */
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
