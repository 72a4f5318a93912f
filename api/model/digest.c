/* The name of a state (docs/reference/digest.md): every replica and every release must compute the same
 * one, for ever. Any change of the canonical text would give all revisions that are stored
 * another digest, and duplicates for each. */
#include "api/model/digest.h"
#include "api/model/gotext.h"
#include "api/model/patch_tree.h"
#include "base/sha256.h"

#include <assert.h>

/* kube's alphabet for generated names: no vowels, no bad words. */
static const char alphabet[] = "bcdfghjklmnpqrstvwxz2456789";
enum { BASE = sizeof(alphabet) - 1 };

static bool is_void(const struct json *j)
{
	return j->kind == JSON_NULL || ((j->kind == JSON_OBJECT || j->kind == JSON_ARRAY) && j->n == 0);
}

static struct json *prune(struct arena *a, struct json *j);

static struct json *prune_object(struct arena *a, const struct json *j)
{
	struct json *copy = open_copy(a, j);
	uint32_t kept = 0;
	for (uint32_t i = 0; i < copy->n; i++) {
		struct json *value = prune(a, copy->members[i].value);
		if (!is_void(value)) {
			copy->members[kept++] = (struct json_member){copy->members[i].name, value};
		}
	}
	copy->n = kept;
	return copy;
}

/* Elements count by their place, so even empty ones stay. */
static struct json *prune_array(struct arena *a, const struct json *j)
{
	struct json *copy = json_copy(a, j);
	for (uint32_t i = 0; i < copy->n; i++) {
		copy->items[i] = prune(a, copy->items[i]);
	}
	return copy;
}

static struct json *prune(struct arena *a, struct json *j)
{
	switch (j->kind) {
	case JSON_OBJECT:
		return prune_object(a, j);
	case JSON_ARRAY:
		return prune_array(a, j);
	default:
		return j;
	}
}

static bool is_escaped(unsigned char c)
{
	return c < 0x20 || c == '"' || c == '\\';
}

static void write_escape(struct buf *out, unsigned char c)
{
	static const char *const named[] = {
		['\b'] = "\\b",
		['\t'] = "\\t",
		['\n'] = "\\n",
		['\f'] = "\\f",
		['\r'] = "\\r",
		['"'] = "\\\"",
		['\\'] = "\\\\",
	};
	if (c < ARRAY_SIZE(named) && named[c]) {
		buf_adds(out, named[c]);
	} else {
		buf_printf(out, "\\u%04x", c);
	}
}

static void write_string(struct buf *out, struct str s)
{
	buf_addc(out, '"');
	for (size_t from = 0, i = 0; i < s.n; from = i) {
		while (i < s.n && !is_escaped((unsigned char)s.p[i])) {
			i++;
		}
		buf_add(out, s.p + from, i - from);
		if (i < s.n) {
			write_escape(out, (unsigned char)s.p[i++]);
		}
	}
	buf_addc(out, '"');
}

static void write_value(struct buf *out, const struct json *j);

static void write_object(struct buf *out, const struct json *j)
{
	buf_addc(out, '{');
	for (uint32_t i = 0; i < j->n; i++) {
		if (i) {
			buf_addc(out, ',');
		}
		write_string(out, j->members[i].name);
		buf_addc(out, ':');
		write_value(out, j->members[i].value);
	}
	buf_addc(out, '}');
}

static void write_array(struct buf *out, const struct json *j)
{
	buf_addc(out, '[');
	for (uint32_t i = 0; i < j->n; i++) {
		if (i) {
			buf_addc(out, ',');
		}
		write_value(out, j->items[i]);
	}
	buf_addc(out, ']');
}

static void write_value(struct buf *out, const struct json *j)
{
	switch (j->kind) {
	case JSON_NULL:
		buf_adds(out, "null");
		break;
	case JSON_BOOL:
		buf_adds(out, j->boolean ? "true" : "false");
		break;
	case JSON_NUMBER:
		digest_number(out, json_text(j));
		break;
	case JSON_STRING:
		write_string(out, json_text(j));
		break;
	case JSON_ARRAY:
		write_array(out, j);
		break;
	case JSON_OBJECT:
		write_object(out, j);
		break;
	}
}

bool digest_canonical(struct buf *out, const struct json *value, struct arena *a)
{
	write_value(out, prune(a, (struct json *)value));
	return !out->is_over;
}

/* Divides a number of eight 32-bit digits, most significant first, by the base, and returns the remainder. */
static uint32_t divide(uint32_t number[8])
{
	uint64_t remainder = 0;
	for (size_t i = 0; i < 8; i++) {
		uint64_t digit = remainder << 32 | number[i];
		number[i] = (uint32_t)(digit / BASE);
		remainder = digit % BASE;
	}
	return (uint32_t)remainder;
}

static void spell(char out[DIGEST_SIZE], const unsigned char hash[SHA256_SIZE])
{
	uint32_t number[8];
	for (size_t i = 0; i < 8; i++) {
		const unsigned char *p = hash + 4 * i;
		number[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
	}
	for (size_t i = DIGEST_SIZE - 1; i > 0; i--) {
		out[i - 1] = alphabet[divide(number)];
	}
	out[DIGEST_SIZE - 1] = '\0';
}

void digest_attempt(char out[DIGEST_SIZE], const struct json *value, unsigned number, struct arena *a)
{
	struct buf text;
	unsigned char hash[SHA256_SIZE];
	buf_init(&text, TEXT_MAX);
	bool is_whole = digest_canonical(&text, value, a);
	is_whole = is_whole && (number == 0 || buf_printf(&text, "%u", number));
	assert(is_whole); /* at most five times a request's body */
	sha256(buf_str(&text), hash);
	buf_done(&text);
	spell(out, hash);
}

void digest_of(char out[DIGEST_SIZE], const struct json *value, struct arena *a)
{
	digest_attempt(out, value, 0, a);
}

/* ---- numbers in one spelling ----
 *
 * That of ECMAScript's Number::toString (and so of RFC 8785), but with all the digits they have. */

/* Digits before the point, beyond which ECMAScript writes an exponent. */
enum { PLAIN_MAX = 21, PLAIN_MIN = -6 }; /* where ECMAScript turns to exponents */

/* 0.DIGITS * 10^point */
struct decimal {
	bool is_negative;
	struct str before, behind; /* digits before and behind the point, without zeros at the outer ends */
	struct str exponent;       /* digits, without leading zeros */
	bool has_negative_exponent;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static struct str take_digits(struct str *rest)
{
	struct str digits = {rest->p, 0};
	while (rest->n > 0 && is_digit(*rest->p)) {
		digits.n++;
		rest->p++;
		rest->n--;
	}
	return digits;
}

static bool take(struct str *rest, const char *any_of)
{
	bool is_there = rest->n > 0 && *rest->p && strchr(any_of, *rest->p);
	if (is_there) {
		rest->p++;
		rest->n--;
	}
	return is_there;
}

static struct str skip_zeros(struct str digits)
{
	while (digits.n > 0 && *digits.p == '0') {
		digits.p++;
		digits.n--;
	}
	return digits;
}

static struct str drop_zeros(struct str digits)
{
	while (digits.n > 0 && digits.p[digits.n - 1] == '0') {
		digits.n--;
	}
	return digits;
}

static struct decimal decimal_of(struct str lexeme)
{
	struct decimal d = {.is_negative = take(&lexeme, "-")};
	d.before = skip_zeros(take_digits(&lexeme));
	if (take(&lexeme, ".")) {
		d.behind = drop_zeros(take_digits(&lexeme));
	}
	if (take(&lexeme, "eE")) {
		d.has_negative_exponent = lexeme.n > 0 && *lexeme.p == '-';
		take(&lexeme, "+-");
		d.exponent = skip_zeros(take_digits(&lexeme));
	}
	return d;
}

/* The significant digits in out, and how many places left of them the point is (negative: right). */
static int64_t take_significant(const struct decimal *d, struct buf *out)
{
	struct str behind = d->before.n ? d->behind : skip_zeros(d->behind);
	struct str before = behind.n ? d->before : drop_zeros(d->before);
	buf_add_str(out, before);
	buf_add_str(out, behind);
	return d->before.n ? (int64_t)d->before.n : (int64_t)behind.n - (int64_t)d->behind.n;
}

/* Adds to a decimal number, given by its digits, one that is smaller. */
static void add_small(struct buf *digits, int64_t n)
{
	for (size_t i = digits->n; i > 0; i--) {
		int64_t sum = digits->p[i - 1] - '0' + n, digit = (sum % 10 + 10) % 10;
		digits->p[i - 1] = (char)('0' + digit);
		n = (sum - digit) / 10;
	}
	if (n > 0) {
		buf_addc(digits, '0');
		memmove(digits->p + 1, digits->p, digits->n - 1);
		digits->p[0] = (char)('0' + n);
	}
}

static void write_zeros(struct buf *out, int64_t n)
{
	for (; n > 0; n--) {
		buf_addc(out, '0');
	}
}

static void write_plain(struct buf *out, struct str digits, int64_t point)
{
	size_t before = point > 0 ? MIN((size_t)point, digits.n) : 0;
	if (point <= 0) {
		buf_addc(out, '0');
	}
	buf_add_str(out, (struct str){digits.p, before});
	write_zeros(out, point - (int64_t)digits.n);
	if (before < digits.n) {
		buf_addc(out, '.');
		write_zeros(out, -point);
		buf_add_str(out, (struct str){digits.p + before, digits.n - before});
	}
}

static void write_mantissa(struct buf *out, struct str digits)
{
	buf_addc(out, digits.p[0]);
	if (digits.n > 1) {
		buf_addc(out, '.');
		buf_add_str(out, (struct str){digits.p + 1, digits.n - 1});
	}
}

/* Exponents have no limit, so what does not fit into an integer is added up as text. */
static void write_huge(struct buf *out, const struct decimal *d, struct str digits, int64_t point)
{
	struct buf exponent;
	buf_init(&exponent, d->exponent.n + 2);
	buf_add_str(&exponent, d->exponent);
	add_small(&exponent, d->has_negative_exponent ? 1 - point : point - 1);
	write_mantissa(out, digits);
	buf_adds(out, d->has_negative_exponent ? "e-" : "e+");
	buf_add_str(out, skip_zeros(buf_str(&exponent)));
	buf_done(&exponent);
}

static void write_digits(struct buf *out, const struct decimal *d, struct str digits, int64_t point)
{
	int64_t exponent = 0;
	if (d->exponent.n > 18) {
		write_huge(out, d, digits, point);
		return;
	}
	str_to_int64(d->exponent, &exponent);
	point += d->has_negative_exponent ? -exponent : exponent;
	if (point > PLAIN_MIN && point <= PLAIN_MAX) {
		write_plain(out, digits, point);
	} else {
		write_mantissa(out, digits);
		buf_printf(out, "e%+lld", (long long)(point - 1));
	}
}

/* Handles the usual number: an integer that is its own canonical text. */
static bool is_plain_integer(struct str lexeme)
{
	struct str digits = lexeme;
	bool is_negative = take(&digits, "-");
	bool is_short = digits.n <= PLAIN_MAX && !(is_negative && digits.p[0] == '0');
	return is_short && take_digits(&digits).n > 0 && digits.n == 0;
}

bool digest_number(struct buf *out, struct str lexeme)
{
	if (is_plain_integer(lexeme)) {
		return buf_add_str(out, lexeme);
	}
	struct decimal d = decimal_of(lexeme);
	struct buf digits;
	buf_init(&digits, lexeme.n + 1);
	int64_t point = take_significant(&d, &digits);
	if (digits.n == 0) {
		buf_addc(out, '0');
	} else {
		if (d.is_negative) {
			buf_addc(out, '-');
		}
		write_digits(out, &d, buf_str(&digits), point);
	}
	buf_done(&digits);
	return !out->is_over;
}
