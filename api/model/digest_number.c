/* Numbers in one spelling: that of ECMAScript's Number::toString (and so of RFC 8785), but with all the digits they have. */
#include "api/model/digest.h"

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

/* As nearly all are: an integer that is its own canonical text. */
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
