/* Decides what `y`, `010`, `1_000` and `2006-01-02` mean, after resolve.go of go-yaml v2 and Go's
 * strconv. Otherwise a manifest would have another meaning here than at kube-apiserver. Numbers
 * keep an exact lexeme beside the double, for immutable data. */
#include "base/yaml_scalar.h"

#include "base/buf.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- words ---- */

static const struct {
	const char *text;
	struct yaml_scalar scalar;
} words[] = {
	{"", {.kind = YAML_NULL}},
	{"~", {.kind = YAML_NULL}},
	{"null", {.kind = YAML_NULL}},
	{"Null", {.kind = YAML_NULL}},
	{"NULL", {.kind = YAML_NULL}},
	{"y", {.kind = YAML_BOOL, .boolean = true}},
	{"Y", {.kind = YAML_BOOL, .boolean = true}},
	{"yes", {.kind = YAML_BOOL, .boolean = true}},
	{"Yes", {.kind = YAML_BOOL, .boolean = true}},
	{"YES", {.kind = YAML_BOOL, .boolean = true}},
	{"true", {.kind = YAML_BOOL, .boolean = true}},
	{"True", {.kind = YAML_BOOL, .boolean = true}},
	{"TRUE", {.kind = YAML_BOOL, .boolean = true}},
	{"on", {.kind = YAML_BOOL, .boolean = true}},
	{"On", {.kind = YAML_BOOL, .boolean = true}},
	{"ON", {.kind = YAML_BOOL, .boolean = true}},
	{"n", {.kind = YAML_BOOL}},
	{"N", {.kind = YAML_BOOL}},
	{"no", {.kind = YAML_BOOL}},
	{"No", {.kind = YAML_BOOL}},
	{"NO", {.kind = YAML_BOOL}},
	{"false", {.kind = YAML_BOOL}},
	{"False", {.kind = YAML_BOOL}},
	{"FALSE", {.kind = YAML_BOOL}},
	{"off", {.kind = YAML_BOOL}},
	{"Off", {.kind = YAML_BOOL}},
	{"OFF", {.kind = YAML_BOOL}},
	{".nan", {.kind = YAML_FLOAT, .number = NAN}},
	{".NaN", {.kind = YAML_FLOAT, .number = NAN}},
	{".NAN", {.kind = YAML_FLOAT, .number = NAN}},
	{".inf", {.kind = YAML_FLOAT, .number = INFINITY}},
	{".Inf", {.kind = YAML_FLOAT, .number = INFINITY}},
	{".INF", {.kind = YAML_FLOAT, .number = INFINITY}},
	{"+.inf", {.kind = YAML_FLOAT, .number = INFINITY}},
	{"+.Inf", {.kind = YAML_FLOAT, .number = INFINITY}},
	{"+.INF", {.kind = YAML_FLOAT, .number = INFINITY}},
	{"-.inf", {.kind = YAML_FLOAT, .number = -INFINITY}},
	{"-.Inf", {.kind = YAML_FLOAT, .number = -INFINITY}},
	{"-.INF", {.kind = YAML_FLOAT, .number = -INFINITY}},
};

/* Most scalars are longer than any word, and end here. */
enum { LONGEST_WORD = 5 };

static bool resolve_word(struct yaml_scalar *ret, struct str text)
{
	if (text.n > LONGEST_WORD) {
		return false;
	}
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (str_is(text, words[i].text)) {
			*ret = words[i].scalar;
			return true;
		}
	}
	return false;
}

/* ---- numbers ---- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static struct str skip(struct str s, size_t n)
{
	return (struct str){s.p + n, s.n - n};
}

static struct str skip_digits(struct str s)
{
	while (s.n > 0 && is_digit(s.p[0])) {
		s = skip(s, 1);
	}
	return s;
}

/* Cuts a sign off; true for '-'. */
static bool cut_sign(struct str *s)
{
	bool is_negative = s->n > 0 && s->p[0] == '-';

	if (s->n > 0 && (s->p[0] == '-' || s->p[0] == '+')) {
		*s = skip(*s, 1);
	}
	return is_negative;
}

/* Cuts 0x, 0o, 0b or a leading 0 off. */
static unsigned cut_base(struct str *s)
{
	static const struct {
		char letter;
		unsigned base;
	} prefixes[] = {{'x', 16}, {'o', 8}, {'b', 2}};

	if (s->n < 2 || s->p[0] != '0') {
		return 10;
	}
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		if (tolower((unsigned char)s->p[1]) == prefixes[i].letter) {
			*s = skip(*s, 2);
			return prefixes[i].base;
		}
	}
	*s = skip(*s, 1);
	return 8;
}

static bool digits_to_uint64(struct str s, unsigned base, uint64_t *ret)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s.n; i++) {
		unsigned c = (unsigned char)s.p[i];
		unsigned digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;

		if ((c > '9' && !isalpha((int)c)) || digit >= base || __builtin_mul_overflow(n, base, &n) ||
			__builtin_add_overflow(n, digit, &n)) {
			return false;
		}
	}
	*ret = n;
	return s.n > 0;
}

/* strconv.ParseInt and ParseUint with base 0: 010 is 8, 0x1f is 31. */
static bool resolve_int(struct yaml_scalar *ret, struct str text, struct arena *a)
{
	bool is_negative = cut_sign(&text);
	unsigned base = cut_base(&text);
	uint64_t n;

	if (!digits_to_uint64(text, base, &n) || (is_negative && n > (uint64_t)INT64_MAX + 1)) {
		return false;
	}
	ret->kind = YAML_INT;
	ret->lexeme = arena_printf(a, "%s%llu", is_negative && n > 0 ? "-" : "", (unsigned long long)n);
	return true;
}

/* [-+]? ( . digits | digits [. digits?] ) ( [eE] [-+]? digits )? */
static bool has_float_shape(struct str s)
{
	cut_sign(&s);
	struct str rest = skip_digits(s);
	bool has_integer = rest.n < s.n;

	if (rest.n > 0 && rest.p[0] == '.') {
		struct str fraction = skip_digits(skip(rest, 1));
		if (!has_integer && fraction.n == rest.n - 1) {
			return false;
		}
		rest = fraction;
	} else if (!has_integer) {
		return false;
	}
	if (rest.n > 0 && (rest.p[0] == 'e' || rest.p[0] == 'E')) {
		rest = skip(rest, 1);
		cut_sign(&rest);
		return rest.n > 0 && skip_digits(rest).n == 0;
	}
	return rest.n == 0;
}

/* The same number as JSON spells it: no plus sign, no leading zeros, a digit on both sides of the point. */
static struct str json_lexeme(struct str s, struct arena *a)
{
	char *out = arena_text(a, s.n + 3);
	size_t n = 0;

	if (cut_sign(&s)) {
		out[n++] = '-';
	}
	while (s.n > 1 && s.p[0] == '0' && is_digit(s.p[1])) {
		s = skip(s, 1);
	}
	if (s.p[0] == '.') {
		out[n++] = '0';
	}
	for (size_t i = 0; i < s.n; i++) {
		out[n++] = s.p[i];
		if (s.p[i] == '.' && (i + 1 == s.n || !is_digit(s.p[i + 1]))) {
			out[n++] = '0';
		}
	}
	return (struct str){out, n};
}

/* A float64 out of range is no number in Go, but a string. */
static bool resolve_float(struct yaml_scalar *ret, struct str text, struct arena *a)
{
	if (!has_float_shape(text)) {
		return false;
	}
	double d = strtod(arena_dup(a, text).p, NULL);
	if (isinf(d)) {
		return false;
	}
	ret->kind = YAML_FLOAT;
	ret->number = d;
	ret->lexeme = json_lexeme(text, a);
	return true;
}

static struct str without_underscores(struct str s, struct arena *a)
{
	char *out;
	size_t n = 0;

	if (!memchr(s.p, '_', s.n)) {
		return s;
	}
	out = arena_text(a, s.n);
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] != '_') {
			out[n++] = s.p[i];
		}
	}
	return (struct str){out, n};
}

/* ---- timestamps ---- */

/* Cuts a number of min to max digits off *s. Its value must lie in [low, high]. */
static bool cut_number(struct str *s, size_t min, size_t max, unsigned low, unsigned high)
{
	unsigned value = 0;
	size_t n = 0;

	while (n < max && n < s->n && is_digit(s->p[n])) {
		value = value * 10 + (unsigned)(s->p[n++] - '0');
	}
	if (n < min || value < low || value > high) {
		return false;
	}
	*s = skip(*s, n);
	return true;
}

static bool cut_char(struct str *s, char c)
{
	if (s->n == 0 || s->p[0] != c) {
		return false;
	}
	*s = skip(*s, 1);
	return true;
}

static unsigned days_of_month(unsigned year, unsigned month)
{
	static const unsigned char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return days[month - 1] + (unsigned)(month == 2 && is_leap);
}

static bool cut_date(struct str *s)
{
	const char *start = s->p;

	if (!cut_number(s, 4, 4, 0, 9999) || !cut_char(s, '-')) {
		return false;
	}
	unsigned year = (unsigned)strtoul((char[]){start[0], start[1], start[2], start[3], 0}, NULL, 10);
	const char *month_start = s->p;
	if (!cut_number(s, 1, 2, 1, 12) || !cut_char(s, '-')) {
		return false;
	}
	unsigned month = (unsigned)(month_start[0] - '0');
	if (is_digit(month_start[1])) {
		month = month * 10 + (unsigned)(month_start[1] - '0');
	}
	return cut_number(s, 1, 2, 1, days_of_month(year, month));
}

static bool cut_clock(struct str *s)
{
	if (!cut_number(s, 1, 2, 0, 23) || !cut_char(s, ':') || !cut_number(s, 1, 2, 0, 59) || !cut_char(s, ':') ||
		!cut_number(s, 1, 2, 0, 59)) {
		return false;
	}
	if (s->n > 1 && (s->p[0] == '.' || s->p[0] == ',') && is_digit(s->p[1])) {
		*s = skip_digits(skip(*s, 1));
	}
	return true;
}

static bool cut_zone(struct str *s)
{
	if (cut_char(s, 'Z')) {
		return true;
	}
	return (cut_char(s, '+') || cut_char(s, '-')) && cut_number(s, 2, 2, 0, 24) && cut_char(s, ':') &&
		cut_number(s, 2, 2, 0, 60);
}

/* 2006-1-2, 2006-1-2 15:4:5.9, 2006-1-2T15:4:5.9Z07:00 */
static bool is_timestamp(struct str s)
{
	if (s.n < 8 || !cut_date(&s)) {
		return false;
	}
	if (s.n == 0) {
		return true;
	}
	if (cut_char(&s, ' ')) {
		return cut_clock(&s) && s.n == 0;
	}
	return (cut_char(&s, 'T') || cut_char(&s, 't')) && cut_clock(&s) && cut_zone(&s) && s.n == 0;
}

/* ---- all together ---- */

void yaml_scalar_resolve(struct yaml_scalar *ret, struct str text, struct arena *a)
{
	*ret = (struct yaml_scalar){.kind = YAML_STRING};
	if (resolve_word(ret, text)) {
		return;
	}
	if (text.p[0] == '.') {
		resolve_float(ret, text, a);
		return;
	}
	if (!is_digit(text.p[0]) && text.p[0] != '+' && text.p[0] != '-') {
		return;
	}
	if (is_timestamp(text)) {
		ret->kind = YAML_TIMESTAMP;
		return;
	}
	struct str plain = without_underscores(text, a);
	if (!resolve_int(ret, plain, a)) {
		resolve_float(ret, plain, a);
	}
}

/* ---- floats as Go writes them ---- */

/* The shortest decimal that reads back as the same number: 0.DIGITS * 10^point. */
struct decimal {
	bool is_negative;
	char digits[32];
	int n;
	int point;
};

static void decimal_shortest(struct decimal *ret, double d, bool is_float32)
{
	char text[48];
	/* So many digits always suffice to read the same number back. */
	int longest = is_float32 ? 9 : 17;

	for (int precision = 1; precision <= longest; precision++) {
		snprintf(text, sizeof(text), "%.*e", precision - 1, d);
		if (is_float32 ? strtof(text, NULL) == (float)d : strtod(text, NULL) == d) {
			break;
		}
	}
	*ret = (struct decimal){.is_negative = text[0] == '-'};
	char *exponent = strchr(text, 'e');
	for (char *p = text; p < exponent; p++) {
		if (is_digit(*p)) {
			ret->digits[ret->n++] = *p;
		}
	}
	ret->point = atoi(exponent + 1) + 1;
}

static void add_zeros(struct buf *out, int n)
{
	for (; n > 0; n--) {
		buf_addc(out, '0');
	}
}

/* width: of the exponent with its sign, filled up with zeros. */
static void write_exponent(struct buf *out, const struct decimal *d, int width)
{
	buf_addc(out, d->digits[0]);
	if (d->n > 1) {
		buf_addc(out, '.');
		buf_add(out, d->digits + 1, (size_t)d->n - 1);
	}
	buf_printf(out, "e%+0*d", width, d->point - 1);
}

static void write_positional(struct buf *out, const struct decimal *d)
{
	if (d->point <= 0) {
		buf_adds(out, "0.");
		add_zeros(out, -d->point);
		buf_add(out, d->digits, (size_t)d->n);
		return;
	}
	buf_add(out, d->digits, (size_t)MIN(d->n, d->point));
	add_zeros(out, d->point - d->n);
	if (d->n > d->point) {
		buf_addc(out, '.');
		buf_add(out, d->digits + d->point, (size_t)(d->n - d->point));
	}
}

/* Bytes of a number in text: 17 digits, a sign, an exponent, and at most 21 places in between. */
enum { FLOAT_TEXT_MAX = 64 };

static struct str format_float(const struct decimal *d, bool with_exponent, int exponent_width, struct arena *a)
{
	struct buf out;

	buf_init(&out, FLOAT_TEXT_MAX);
	if (d->is_negative) {
		buf_addc(&out, '-');
	}
	if (with_exponent) {
		write_exponent(&out, d, exponent_width);
	} else {
		write_positional(&out, d);
	}
	struct str text = arena_dup(a, buf_str(&out));
	buf_done(&out);
	return text;
}

struct str yaml_format_float(double d, bool is_float32, struct arena *a)
{
	struct decimal shortest;

	decimal_shortest(&shortest, d, is_float32);
	return format_float(&shortest, shortest.point < -3 || shortest.point > 6, 3, a);
}

struct str yaml_format_json_float(double d, struct arena *a)
{
	struct decimal shortest;

	decimal_shortest(&shortest, d, false);
	/* encoding/json: an exponent below 1e-6 and from 1e21 on. */
	return format_float(&shortest, d != 0 && (shortest.point < -5 || shortest.point > 21), 2, a);
}
