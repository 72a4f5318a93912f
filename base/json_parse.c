/* Parses JSON in one pass without recursion: depth costs heap within limits, never C stack. Clients
 * know the errors of Go's encoding/json, so errors use its words and its byte offset; syntax_text()
 * builds them.
 *
 * The hot path is strings, skipped eight bytes at a time (json_scan.h). Only strings with escapes
 * are copied. All other text points into the request's body, which must live as long.
 */
#include "base/json.h"

#include "base/json_scan.h"

#include <stdio.h>

/* Enough for ordinary objects, which then never touch the heap. json_limits bound both beyond
 * that. */
enum { OPEN_AT_ONCE = 32, MEMBERS_AT_ONCE = 128 };

/* The values of all open containers lie on one stack, innermost last. A closing container takes its
 * own values from it, as one array of the right size. `open` holds where each container's values
 * begin; the slot before that is the container itself. Both stacks start in this struct, on the C
 * stack, and move to the heap when they outgrow it. */
struct parser {
	const char *p, *end, *start;
	struct arena *arena;
	struct json_limits limits;
	size_t n_values;

	struct json_member *members;
	size_t n, cap;
	size_t *open;
	size_t n_open, cap_open;
	struct json_member first_members[MEMBERS_AT_ONCE];
	size_t first_open[OPEN_AT_ONCE];

	const char *place; /* after JSON_E_SYNTAX: what was being read, in Go's words */
	char expected;     /* the next letter of a literal, or 0 */
};

static void parser_init(struct parser *x, struct arena *arena, struct str text, struct json_limits limits)
{
	x->p = x->start = text.p;
	x->end = str_end(text);
	x->arena = arena;
	x->limits = limits;
	x->n_values = 0;
	x->members = x->first_members;
	x->n = 0;
	x->cap = MEMBERS_AT_ONCE;
	x->open = x->first_open;
	x->n_open = 0;
	x->cap_open = OPEN_AT_ONCE;
	x->place = "";
	x->expected = 0;
}

static void parser_done(struct parser *x)
{
	if (x->members != x->first_members) {
		mem_free(x->members);
	}
	if (x->open != x->first_open) {
		mem_free(x->open);
	}
}

/* Twice the room; `first` is the array on the C stack. */
static void *grow(void *v, const void *first, size_t *cap, size_t size)
{
	size_t old = *cap;
	*cap *= 2;
	if (v != first) {
		return mem_realloc_array(v, *cap, size);
	}
	return memcpy(mem_alloc(*cap * size), v, old * size);
}

static inline void push_slot(struct parser *x, struct str name)
{
	if (x->n == x->cap) {
		x->members = grow(x->members, x->first_members, &x->cap, sizeof(*x->members));
	}
	x->members[x->n].name = name;
	x->members[x->n++].value = NULL;
}

/* The text ended, or at x->p is a byte that has no business there. */
static int unexpected(struct parser *x, const char *place)
{
	x->place = place;
	return x->p >= x->end ? JSON_E_EOF : JSON_E_SYNTAX;
}

static inline void skip_blanks(struct parser *x)
{
	while (x->p < x->end && json_is_blank(*x->p)) {
		x->p++;
	}
}

static inline bool is_at(const struct parser *x, char c)
{
	return x->p < x->end && *x->p == c;
}

/* A node for the newest slot. */
static inline int place_node(struct parser *x, enum json_kind kind, struct json **ret)
{
	if (++x->n_values > x->limits.values) {
		return JSON_E_VALUES;
	}
	/* Here and nowhere else: between two nodes a name and a text are allocated at most, both
	 * no longer than the input. */
	if (arena_is_full(x->arena)) {
		return JSON_E_FULL;
	}
	struct json *node = arena_alloc(x->arena, sizeof(*node));
	*node = (struct json){.kind = kind, .is_frozen = true, .source = {x->p, 0}};
	x->members[x->n - 1].value = node;
	*ret = node;
	return 0;
}

static inline void finish_node(const struct parser *x, struct json *node)
{
	node->source.n = (size_t)(x->p - node->source.p);
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9') {
		return c - '0';
	}
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int check_escape(struct parser *x)
{
	x->p++;
	if (x->p == x->end || !memchr("\"\\/bfnrtu", *x->p, 9)) {
		return unexpected(x, "in string escape code");
	}
	if (*x->p++ != 'u') {
		return 0;
	}
	for (int i = 0; i < 4; i++, x->p++) {
		if (x->p == x->end || hex_value(*x->p) < 0) {
			return unexpected(x, "in \\u hexadecimal character escape");
		}
	}
	return 0;
}

/* The byte at x->p ended a run of ordinary ones, and is not the closing quote. */
static int check_special(struct parser *x, bool *has_escapes)
{
	if (x->p < x->end && *x->p == '\\') {
		*has_escapes = true;
		return check_escape(x);
	}
	if (x->p == x->end || (unsigned char)*x->p < 0x20) {
		return unexpected(x, "in string literal");
	}
	unsigned n = json_utf8_length(x->p, x->end);
	x->p += n;
	return n ? 0 : JSON_E_UTF8;
}

bool json_is_utf8(struct str s)
{
	const char *p = s.p, *end = str_end(s);
	while (p < end) {
		unsigned n = (unsigned char)*p < 0x80 ? 1 : json_utf8_length(p, end);
		if (!n) {
			return false;
		}
		p += n;
	}
	return true;
}

static char *put_utf8(char *at, uint32_t c)
{
	if (c < 0x80) {
		*at++ = (char)c;
		return at;
	}
	if (c < 0x800) {
		*at++ = (char)(0xc0 | c >> 6);
	} else {
		if (c < 0x10000) {
			*at++ = (char)(0xe0 | c >> 12);
		} else {
			*at++ = (char)(0xf0 | c >> 18);
			*at++ = (char)(0x80 | (c >> 12 & 0x3f));
		}
		*at++ = (char)(0x80 | (c >> 6 & 0x3f));
	}
	*at++ = (char)(0x80 | (c & 0x3f));
	return at;
}

/* The four digits behind \u. */
static uint32_t hex4(const char *p)
{
	uint32_t c = 0;
	for (int i = 0; i < 4; i++) {
		c = c << 4 | (uint32_t)hex_value(p[i]);
	}
	return c;
}

/* *p at the u of a checked escape, left behind it. A surrogate without its other half becomes U+FFFD. */
static uint32_t take_unicode(const char **p, const char *end)
{
	uint32_t c = hex4(*p + 1);
	*p += 5;
	if (c < 0xd800 || c > 0xdfff) {
		return c;
	}
	if (c < 0xdc00 && end - *p >= 6 && (*p)[0] == '\\' && (*p)[1] == 'u') {
		uint32_t low = hex4(*p + 2);
		if (low >= 0xdc00 && low <= 0xdfff) {
			*p += 6;
			return 0x10000 + ((c - 0xd800) << 10 | (low - 0xdc00));
		}
	}
	return 0xfffd;
}

static uint32_t take_escaped(const char **p, const char *end)
{
	static const char decoded[128] = {
		['"'] = '"',
		['\\'] = '\\',
		['/'] = '/',
		['b'] = '\b',
		['f'] = '\f',
		['n'] = '\n',
		['r'] = '\r',
		['t'] = '\t',
	};
	return **p == 'u' ? take_unicode(p, end) : (uint32_t)decoded[(unsigned char)*(*p)++];
}

/* Never longer than the text it comes from. */
static struct str unescape(struct arena *a, const char *p, const char *end)
{
	char *text = arena_text(a, (size_t)(end - p)), *at = text;
	while (p < end) {
		const char *backslash = memchr(p, '\\', (size_t)(end - p));
		size_t n = (size_t)((backslash ? backslash : end) - p);
		memcpy(at, p, n);
		at += n;
		p += n;
		if (backslash) {
			p++;
			at = put_utf8(at, take_escaped(&p, end));
		}
	}
	return (struct str){text, (size_t)(at - text)};
}

/* From the opening quote to behind the closing one. */
static int parse_text(struct parser *x, struct str *ret)
{
	const char *first = ++x->p;
	bool has_escapes = false;
	for (;;) {
		x->p = json_skip_ordinary(x->p, x->end);
		if (is_at(x, '"')) {
			break;
		}
		int r = check_special(x, &has_escapes);
		if (r) {
			return r;
		}
	}
	const char *last = x->p++;
	*ret = has_escapes ? unescape(x->arena, first, last) : (struct str){first, (size_t)(last - first)};
	return 0;
}

static int parse_string(struct parser *x)
{
	struct json *node;
	struct str text;
	int r = place_node(x, JSON_STRING, &node);
	if (r) {
		return r;
	}
	r = parse_text(x, &text);
	if (r) {
		return r;
	}
	node->text = text.p;
	node->n = (uint32_t)text.n;
	finish_node(x, node);
	return 0;
}

static inline bool skip_digits(struct parser *x)
{
	const char *first = x->p;
	while (x->p < x->end && *x->p >= '0' && *x->p <= '9') {
		x->p++;
	}
	return x->p > first;
}

static int check_fraction(struct parser *x)
{
	if (is_at(x, '.')) {
		x->p++;
		if (!skip_digits(x)) {
			return unexpected(x, "after decimal point in numeric literal");
		}
	}
	return 0;
}

static int check_exponent(struct parser *x)
{
	if (is_at(x, 'e') || is_at(x, 'E')) {
		x->p++;
		x->p += is_at(x, '+') || is_at(x, '-');
		if (!skip_digits(x)) {
			return unexpected(x, "in exponent of numeric literal");
		}
	}
	return 0;
}

static inline bool is_number_start(const struct parser *x)
{
	return x->p < x->end && (*x->p == '-' || (*x->p >= '0' && *x->p <= '9'));
}

static int check_number(struct parser *x)
{
	x->p += *x->p == '-';
	if (is_at(x, '0')) {
		x->p++;
	} else if (!skip_digits(x)) {
		return unexpected(x, "in numeric literal");
	}
	int r = check_fraction(x);
	return r ? r : check_exponent(x);
}

static int parse_number(struct parser *x)
{
	struct json *node;
	int r = place_node(x, JSON_NUMBER, &node);
	if (r) {
		return r;
	}
	r = check_number(x);
	if (r) {
		return r;
	}
	finish_node(x, node);
	node->text = node->source.p;
	node->n = (uint32_t)node->source.n;
	return 0;
}

static int parse_literal(struct parser *x, enum json_kind kind, const char *word, const char *place)
{
	struct json *node;
	int r = place_node(x, kind, &node);
	if (r) {
		return r;
	}
	for (const char *letter = word; *letter; letter++, x->p++) {
		if (!is_at(x, *letter)) {
			x->expected = *letter;
			return unexpected(x, place);
		}
	}
	node->boolean = word[0] == 't';
	finish_node(x, node);
	return 0;
}

static int open_container(struct parser *x, enum json_kind kind)
{
	struct json *node;
	if (x->n_open >= x->limits.depth) {
		return JSON_E_DEPTH;
	}
	int r = place_node(x, kind, &node);
	if (r) {
		return r;
	}
	x->p++;
	if (x->n_open == x->cap_open) {
		x->open = grow(x->open, x->first_open, &x->cap_open, sizeof(*x->open));
	}
	x->open[x->n_open++] = x->n;
	return 0;
}

static void take_items(struct parser *x, struct json *array, const struct json_member *slots)
{
	array->items = arena_alloc(x->arena, array->n * sizeof(*array->items));
	for (uint32_t i = 0; i < array->n; i++) {
		array->items[i] = slots[i].value;
	}
}

static void take_members(struct parser *x, struct json *object, const struct json_member *slots)
{
	object->members = arena_alloc(x->arena, object->n * sizeof(*object->members));
	memcpy(object->members, slots, object->n * sizeof(*object->members));
	if (object->n > JSON_INDEX_ABOVE) {
		json_index_build(x->arena, object);
	}
}

/* At the closing bracket. */
static void close_container(struct parser *x)
{
	size_t first = x->open[--x->n_open];
	struct json *node = x->members[first - 1].value;
	x->p++;
	finish_node(x, node);

	node->n = (uint32_t)(x->n - first);
	if (node->n == 0) {
		return;
	}
	if (node->kind == JSON_OBJECT) {
		take_members(x, node, x->members + first);
	} else {
		take_items(x, node, x->members + first);
	}
	x->n = first;
}

/* A name and its colon; leaves a slot for the value. */
static int parse_name(struct parser *x)
{
	struct str name;
	skip_blanks(x);
	if (!is_at(x, '"')) {
		return unexpected(x, "looking for beginning of object key string");
	}
	int r = parse_text(x, &name);
	if (r) {
		return r;
	}
	skip_blanks(x);
	if (!is_at(x, ':')) {
		return unexpected(x, "after object key");
	}
	x->p++;
	push_slot(x, name);
	return 0;
}

static inline const struct json *innermost(const struct parser *x)
{
	return x->members[x->open[x->n_open - 1] - 1].value;
}

/* Makes the slot for the next value of the container just opened, or closes it when it is empty. */
static int begin_container(struct parser *x, bool *is_closed)
{
	bool is_object = innermost(x)->kind == JSON_OBJECT;
	skip_blanks(x);
	*is_closed = is_at(x, is_object ? '}' : ']');
	if (*is_closed) {
		close_container(x);
		return 0;
	}
	if (is_object) {
		return parse_name(x);
	}
	push_slot(x, (struct str){NULL, 0});
	return 0;
}

/* Parses one scalar or the beginning of a container. *is_whole is false if a container stays
 * open. */
static int parse_value(struct parser *x, bool *is_whole)
{
	int r;
	skip_blanks(x);
	*is_whole = true;
	switch (x->p < x->end ? *x->p : '\0') {
	case '"':
		return parse_string(x);
	case '{':
	case '[':
		r = open_container(x, *x->p == '{' ? JSON_OBJECT : JSON_ARRAY);
		return r ? r : begin_container(x, is_whole);
	case 't':
		return parse_literal(x, JSON_BOOL, "true", "in literal true");
	case 'f':
		return parse_literal(x, JSON_BOOL, "false", "in literal false");
	case 'n':
		return parse_literal(x, JSON_NULL, "null", "in literal null");
	default:
		return is_number_start(x) ? parse_number(x) : unexpected(x, "looking for beginning of value");
	}
}

/* Behind a value: closes what ends here, until a comma asks for the next value (and its slot is made) or all is closed. */
static int parse_separators(struct parser *x)
{
	while (x->n_open > 0) {
		bool is_object = innermost(x)->kind == JSON_OBJECT;
		skip_blanks(x);
		if (is_at(x, ',')) {
			x->p++;
			if (is_object) {
				return parse_name(x);
			}
			push_slot(x, (struct str){NULL, 0});
			return 0;
		}
		if (!is_at(x, is_object ? '}' : ']')) {
			return unexpected(x, is_object ? "after object key:value pair" : "after array element");
		}
		close_container(x);
	}
	return 0;
}

static int parse_document(struct parser *x)
{
	push_slot(x, (struct str){NULL, 0});
	do {
		bool is_whole;
		int r = parse_value(x, &is_whole);
		if (!r && is_whole) {
			r = parse_separators(x);
		}
		if (r) {
			return r;
		}
	} while (x->n_open > 0);

	skip_blanks(x);
	return x->p == x->end ? 0 : unexpected(x, "after top-level value");
}

int json_parse(struct json **ret, struct arena *a, struct str text, struct json_limits limits, size_t *ret_at)
{
	/* Lengths in nodes have 32 bits, which keeps nodes small. */
	if (text.n > UINT32_MAX) {
		*ret_at = 0;
		return JSON_E_FULL;
	}

	_cleanup_(parser_done) struct parser x;
	parser_init(&x, a, text, limits);
	int r = parse_document(&x);
	if (r) {
		*ret_at = (size_t)(x.p - x.start);
		return r;
	}
	*ret = x.members[0].value;
	return 0;
}

/* A byte as Go's scanner shows it: strconv.Quote of the rune, between single quotes. */
static const char *quote_byte(char out[16], unsigned char c)
{
	static const char *const named[256] = {
		['\''] = "'\\''",
		['"'] = "'\"'",
		['\\'] = "'\\\\'",
		['\a'] = "'\\a'",
		['\b'] = "'\\b'",
		['\f'] = "'\\f'",
		['\n'] = "'\\n'",
		['\r'] = "'\\r'",
		['\t'] = "'\\t'",
		['\v'] = "'\\v'",
		[0xad] = "'\\u00ad'",
	};
	if (named[c]) {
		return named[c];
	}
	if (c < 0x20 || c == 0x7f) {
		snprintf(out, 16, "'\\x%02x'", c);
	} else if (c >= 0x80 && c <= 0xa0) {
		snprintf(out, 16, "'\\u%04x'", c);
	} else {
		char utf8[4] = {0};
		put_utf8(utf8, c);
		snprintf(out, 16, "'%s'", utf8);
	}
	return out;
}

/* Only the parser knows what it was reading, and nobody keeps it: the text is read once more up to the error. */
static const char *syntax_text(struct arena *a, struct str text, size_t at)
{
	_cleanup_(arena_done) struct arena scratch;
	arena_init(&scratch, SIZE_MAX);
	_cleanup_(parser_done) struct parser x;
	parser_init(&x, &scratch, text, (struct json_limits){.depth = UINT32_MAX, .values = SIZE_MAX});
	parse_document(&x);

	char quoted[16];
	const char *shown = quote_byte(quoted, (unsigned char)text.p[at]);
	if (x.expected) {
		return arena_printf(a, "invalid character %s %s (expecting '%c')", shown, x.place, x.expected).p;
	}
	return arena_printf(a, "invalid character %s %s", shown, x.place).p;
}

const char *json_error_text(struct arena *a, int error, struct str text, size_t at)
{
	switch (error) {
	case JSON_E_SYNTAX:
		return syntax_text(a, text, at);
	case JSON_E_EOF:
		return arena_strdup(a, "unexpected end of JSON input");
	case JSON_E_UTF8:
		return arena_printf(a, "invalid UTF-8 in string literal at byte %zu", at).p;
	case JSON_E_DEPTH:
		return arena_strdup(a, "exceeded max depth");
	case JSON_E_VALUES:
		return arena_strdup(a, "too many values");
	default:
		return arena_strdup(a, "too large");
	}
}
