/* The first pass takes texts whole. When their sum is too long everything begins again, cut: as
 * upstream does it, where that decides which warnings a client sees. Characters are counted as Go
 * counts them, so bytes have a ceiling besides. */
#include "server/parse/warnings.h"

#include "base/json.h"

enum { TOTAL_MAX = 4096, ITEM_MAX = 256 }; /* characters */
enum { LINES_MAX = 12 * 1024, LINE_COST = sizeof("Warning: \r\n") - 1 }; /* bytes */

struct warnings {
	struct str *headers;
	size_t n;
	size_t written; /* characters */
	size_t bytes;   /* of lines */
	bool is_cutting;
	struct arena *arena;
};

static bool is_continuation(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

static size_t count_characters(struct str s)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++) {
		n += !is_continuation(s.p[i]);
	}
	return n;
}

static struct str first_characters(struct str s, size_t max)
{
	size_t n = 0, i = 0;

	while (i < s.n && (is_continuation(s.p[i]) || n++ < max)) {
		i++;
	}
	return (struct str){s.p, i};
}

/* C0, DEL and C1, as Go's unicode.IsControl. */
static bool has_control(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		bool is_c1 = c == 0xc2 && i + 1 < s.n && (unsigned char)s.p[i + 1] < 0xa0;
		if (c < 0x20 || c == 0x7f || is_c1) {
			return true;
		}
	}
	return false;
}

/* RFC 7234: code 299, no agent, the text quoted. */
static struct str header_of(struct str text, struct arena *a)
{
	static const char head[] = "299 - \"";
	char *out = arena_text(a, 2 * text.n + sizeof(head) + 1);
	size_t n = sizeof(head) - 1;

	memcpy(out, head, n);
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '"' || text.p[i] == '\\') {
			out[n++] = '\\';
		}
		out[n++] = text.p[i];
	}
	out[n++] = '"';
	return (struct str){out, n};
}

/* False when it would be too much. */
static bool warnings_add(struct warnings *w, struct str text)
{
	struct str shown = w->is_cutting ? first_characters(text, ITEM_MAX) : text;
	size_t length = count_characters(shown);

	if (!json_is_utf8(shown) || has_control(shown)) {
		return true;
	}
	if (!w->is_cutting && w->written + length > TOTAL_MAX) {
		return false;
	}
	w->written += length;
	struct str header = header_of(shown, w->arena);
	if (w->bytes + LINE_COST + header.n <= LINES_MAX) {
		w->bytes += LINE_COST + header.n;
		w->headers[w->n++] = header;
	}
	return true;
}

static bool is_repeated(const struct str *texts, size_t i)
{
	for (size_t k = 0; k < i; k++) {
		if (str_eq(texts[k], texts[i])) {
			return true;
		}
	}
	return false;
}

size_t warnings_to_headers(const struct str **ret, const struct str *texts, size_t n, struct arena *a)
{
	struct warnings w = {.headers = arena_array(a, struct str, n + 1), .arena = a};

	for (size_t i = 0; i < n && !(w.is_cutting && w.written >= TOTAL_MAX); i++) {
		if (texts[i].n == 0 || is_repeated(texts, i) || warnings_add(&w, texts[i])) {
			continue;
		}
		/* From the first on again, cut. */
		w.is_cutting = true;
		w.n = w.written = w.bytes = 0;
		for (size_t k = 0; k <= i; k++) {
			if (texts[k].n > 0 && !is_repeated(texts, k)) {
				warnings_add(&w, texts[k]);
			}
		}
	}
	*ret = w.headers;
	return w.n;
}
