/* Three writers with one rule: what the client spelled stays spelled that way. Encoding walks
 * trees and copies sources, compacting and indenting work on text alone and never parse. Escapes
 * are those of Go's encoding/json with HTML escaping on, which kube-apiserver answers with. */
#include "base/json.h"

#include "base/json_scan.h"

/* The letters of the short escapes; other bytes that need one become \u00XX. */
static const char short_escapes[128] = {
	['"'] = '"',
	['\\'] = '\\',
	['\b'] = 'b',
	['\f'] = 'f',
	['\n'] = 'n',
	['\r'] = 'r',
	['\t'] = 't',
};

static void escape_ascii(char out[7], unsigned char c)
{
	static const char hex[] = "0123456789abcdef";
	if (short_escapes[c]) {
		memcpy(out, (char[]){'\\', short_escapes[c], '\0'}, 3);
	} else {
		memcpy(out, (char[]){'\\', 'u', '0', '0', hex[c >> 4], hex[c & 0x0f], '\0'}, 7);
	}
}

/* U+2028 and U+2029, line ends in JavaScript, which Go escapes; or NULL. p has three bytes. */
static const char *line_separator(const char *p)
{
	if (memcmp(p, "\xe2\x80\xa8", 3) == 0) {
		return "\\u2028";
	}
	return memcmp(p, "\xe2\x80\xa9", 3) == 0 ? "\\u2029" : NULL;
}

/* Text that is copied in runs: [from, up to p) waits to be written. */
struct copier {
	struct buf *out;
	const char *from;
};

static void copy_until(struct copier *c, const char *p)
{
	buf_add(c->out, c->from, (size_t)(p - c->from));
	c->from = p;
}

/* Writes the run before p, then `instead` for the n bytes at p. */
static void copy_instead(struct copier *c, const char *p, size_t n, const char *instead)
{
	copy_until(c, p);
	buf_adds(c->out, instead);
	c->from = p + n;
}

/* Writes the byte or sequence that json_skip_unescaped() stopped at; returns the place behind
 * it. */
static const char *encode_special(struct copier *c, const char *p, const char *end)
{
	if ((unsigned char)*p < 0x80) {
		char escape[7];
		escape_ascii(escape, (unsigned char)*p);
		copy_instead(c, p, 1, escape);
		return p + 1;
	}
	unsigned n = json_utf8_length(p, end);
	/* Only text that was never parsed as JSON can have bytes that are no UTF-8. */
	const char *instead = n == 0 ? "\\ufffd" : n == 3 ? line_separator(p) : NULL;
	n = MAX(n, 1U);
	if (instead) {
		copy_instead(c, p, n, instead);
	}
	return p + n;
}

bool json_encode_string(struct buf *b, struct str s)
{
	/* Few strings grow by escaping, so this is usually the only allocation. */
	if (!buf_reserve(b, s.n + 2)) {
		return false;
	}
	const char *end = str_end(s);
	struct copier c = {b, s.p};
	buf_addc(b, '"');
	for (const char *p = json_skip_unescaped(s.p, end); p < end; p = json_skip_unescaped(p, end)) {
		p = encode_special(&c, p, end);
	}
	copy_until(&c, end);
	return buf_addc(b, '"');
}

/* The number of bytes of the control character at p; 0 where there is none. */
static size_t control_size(const char *p, const char *end)
{
	const unsigned char *c = (const unsigned char *)p;

	return c[0] == 0x7f ? 1 : c[0] == 0xc2 && p + 1 < end && c[1] >= 0x80 && c[1] < 0xa0 ? 2 : 0;
}

static const char *find_control(const char *p, const char *end)
{
	while (p < end && control_size(p, end) == 0) {
		p++;
	}
	return p;
}

/* The control characters can only stand within strings, and the last byte of each is its number. */
bool json_escape_controls(struct buf *b, size_t from)
{
	struct str all = buf_str(b);
	const char *end = str_end(all), *p = find_control(all.p + from, end);
	if (p == end) {
		return !b->is_over;
	}
	_cleanup_(mem_freep) char *copy = mem_dup(p, (size_t)(end - p));
	const char *copy_end = copy + (end - p);
	buf_truncate(b, (size_t)(p - all.p));
	for (const char *q = copy; q < copy_end;) {
		size_t n = control_size(q, copy_end);
		buf_printf(b, "\\u%04x", (unsigned char)q[n - 1]);
		const char *next = find_control(q + n, copy_end);
		buf_add(b, q + n, (size_t)(next - q) - n);
		q = next;
	}
	return !b->is_over;
}

/* From behind the opening quote to behind the closing one. */
static const char *compact_string(struct copier *c, const char *p, const char *end)
{
	for (;;) {
		p = json_skip_unescaped(p, end);
		if (p >= end || *p == '"') {
			return p + 1;
		}
		p = *p == '\\' ? p + 2 : encode_special(c, p, end);
	}
}

static const char *drop_blanks(struct copier *c, const char *p, const char *end)
{
	copy_until(c, p);
	while (p < end && json_is_blank(*p)) {
		p++;
	}
	c->from = p;
	return p;
}

bool json_compact(struct buf *b, struct str text)
{
	const char *p = text.p, *end = str_end(text);
	struct copier c = {b, p};
	buf_reserve(b, text.n);
	while (p < end) {
		if (*p == '"') {
			p = compact_string(&c, p + 1, end);
		} else if (json_is_blank(*p)) {
			p = drop_blanks(&c, p, end);
		} else {
			p++;
		}
	}
	copy_until(&c, end);
	return !b->is_over;
}

/* Encoding walks with a stack of its own: built trees can be deeper than the C stack. */
struct place {
	const struct json *node;
	uint32_t next; /* element to be written */
};

enum { PLACES_AT_ONCE = 32 };

struct places {
	struct place *v;
	size_t n, cap;
	struct place first[PLACES_AT_ONCE];
};

static void places_done(struct places *places)
{
	if (places->v != places->first) {
		mem_free(places->v);
	}
}

static void places_push(struct places *places, const struct json *node)
{
	if (places->n == places->cap) {
		size_t size = places->n * sizeof(*places->v);
		places->cap *= 2;
		places->v = places->v == places->first ? memcpy(mem_alloc(2 * size), places->first, size)
						       : mem_realloc(places->v, 2 * size);
	}
	places->v[places->n++] = (struct place){node, 0};
}

/* Writes a node that has a source or is a scalar; a built container is opened and pushed. */
static void encode_node(struct buf *b, struct places *places, const struct json *j)
{
	if (j->source.n > 0) {
		json_compact(b, j->source);
		return;
	}
	switch (j->kind) {
	case JSON_NULL:
		BUF_LITERAL(b, "null");
		break;
	case JSON_BOOL:
		buf_adds(b, j->boolean ? "true" : "false");
		break;
	case JSON_NUMBER:
		buf_add_str(b, json_text(j));
		break;
	case JSON_STRING:
		json_encode_string(b, json_text(j));
		break;
	case JSON_ARRAY:
	case JSON_OBJECT:
		buf_addc(b, j->kind == JSON_ARRAY ? '[' : '{');
		places_push(places, j);
		break;
	}
}

/* The next element of the innermost container, or its end. */
static void encode_next(struct buf *b, struct places *places)
{
	struct place *place = &places->v[places->n - 1];
	const struct json *j = place->node;
	if (place->next == j->n) {
		buf_addc(b, j->kind == JSON_ARRAY ? ']' : '}');
		places->n--;
		return;
	}

	uint32_t i = place->next++;
	if (i > 0) {
		buf_addc(b, ',');
	}
	if (j->kind == JSON_OBJECT) {
		json_encode_string(b, j->members[i].name);
		buf_addc(b, ':');
	}
	encode_node(b, places, j->kind == JSON_ARRAY ? j->items[i] : j->members[i].value);
}

bool json_encode(struct buf *b, const struct json *j)
{
	_cleanup_(places_done) struct places places;
	places.v = places.first;
	places.n = 0;
	places.cap = PLACES_AT_ONCE;

	encode_node(b, &places, j);
	while (places.n > 0 && !b->is_over) {
		encode_next(b, &places);
	}
	return !b->is_over;
}

/* After Go's json.Indent. */
static void indent_line(struct json_indenter *in)
{
	buf_addc(in->out, '\n');
	/* Deep nesting makes blanks the square of the input's size: out's ceiling ends that. */
	for (size_t n = (size_t)in->spaces * in->depth; n > 0 && !in->out->is_over;) {
		static const char blanks[] = "                                ";
		size_t part = MIN(n, sizeof(blanks) - 1);
		buf_add(in->out, blanks, part);
		n -= part;
	}
}

static void indent_close(struct json_indenter *in, char bracket)
{
	if (!in->is_just_open) {
		in->depth--;
		indent_line(in);
	}
	in->is_just_open = false;
	buf_addc(in->out, bracket);
}

/* Behind a string's closing quote. */
static const char *skip_string(const char *p, const char *end)
{
	while (p < end && *p != '"') {
		p = json_skip_ordinary(*p == '\\' ? p + 2 : p + 1, end);
	}
	return p + 1;
}

/* The token at p, which is no closing bracket; returns what is behind it. */
static const char *indent_token(struct json_indenter *in, const char *p, const char *end)
{
	const char *next = *p == '"' ? skip_string(json_skip_ordinary(p + 1, end), end) : p + 1;
	if (in->is_just_open) {
		in->is_just_open = false;
		in->depth++;
		indent_line(in);
	}
	buf_add(in->out, p, (size_t)(next - p));
	switch (*p) {
	case '{':
	case '[':
		in->is_just_open = true;
		break;
	case ',':
		indent_line(in);
		break;
	case ':':
		buf_addc(in->out, ' ');
		break;
	}
	return next;
}

bool json_indenter_step(struct json_indenter *in, size_t n_bytes)
{
	struct buf *out = in->out;
	const char *p = in->rest.p, *end = str_end(in->rest);
	size_t from = out->n;
	while (p < end && !out->is_over && out->n - from < n_bytes) {
		if (json_is_blank(*p)) {
			p++;
		} else if (*p == '}' || *p == ']') {
			indent_close(in, *p++);
		} else {
			p = indent_token(in, p, end);
		}
	}
	in->rest = (struct str){p, p < end ? (size_t)(end - p) : 0};
	return in->rest.n > 0 && !out->is_over;
}

bool json_indent(struct buf *b, struct str text, unsigned spaces)
{
	struct json_indenter in = {.out = b, .rest = text, .spaces = spaces};
	while (json_indenter_step(&in, SIZE_MAX)) {
	}
	return !b->is_over;
}
