/* Comparing numbers by their decimal spelling. A double would make 2^53 and 2^53+1 equal, and a big integer of 1e999999999 would
 * be as big as it says; digits and exponents as text are exact and cost what was sent. */
#include "base/json.h"

/* 0.d1d2d3... * 10^(point + exponent), d1 not 0. */
struct decimal {
	int sign;                        /* 0 for zero, whatever else is here */
	const char *digits, *digits_end; /* may contain a '.' */
	int64_t point;
	int exponent_sign;
	struct str exponent; /* digits */
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static void decimal_take_exponent(struct decimal *d, const char *p, const char *end)
{
	d->exponent_sign = 1;
	if (p < end) {
		p++; /* e */
		d->exponent_sign = *p == '-' ? -1 : 1;
		p += !is_digit(*p);
	}
	d->exponent = (struct str){p, (size_t)(end - p)};
}

static struct decimal decimal_of(struct str lexeme)
{
	struct decimal d = {.sign = 1};
	const char *p = lexeme.p, *end = lexeme.p + lexeme.n;
	if (p < end && *p == '-') {
		d.sign = -1;
		p++;
	}

	const char *first = NULL, *dot = NULL;
	for (; p < end && (*p == '.' || is_digit(*p)); p++) {
		if (*p == '.') {
			dot = p;
		} else if (*p != '0' && !first) {
			first = p;
		}
	}
	if (!first) {
		d.sign = 0;
		return d;
	}

	const char *point = dot ? dot : p;
	d.digits = first;
	d.digits_end = p;
	d.point = point > first ? point - first : point - first + 1;
	decimal_take_exponent(&d, p, end);
	return d;
}

/* The digit that counts 10^(column - 1), for columns from longest down to 1; 0 where the number has none. */
static int digit_at(struct str digits, size_t column)
{
	return column <= digits.n ? digits.p[digits.n - column] - '0' : 0;
}

/* a's exponent minus b's, or a bound of the same sign when that is more than the length of any text could outweigh: once the
 * difference of the leading digits is this big, no further digits can bring it back. */
static int64_t exponent_difference(const struct decimal *a, const struct decimal *b)
{
	const int64_t bound = (int64_t)1 << 50;
	int64_t difference = 0;
	for (size_t column = MAX(a->exponent.n, b->exponent.n); column > 0; column--) {
		difference = difference * 10 + a->exponent_sign * digit_at(a->exponent, column) -
			b->exponent_sign * digit_at(b->exponent, column);
		if (difference > bound || difference < -bound) {
			break;
		}
	}
	return difference;
}

/* The digits in turn, without the point, then zeros. */
static int next_digit(const char **p, const char *end)
{
	if (*p < end && **p == '.') {
		++*p;
	}
	return *p < end ? *(*p)++ - '0' : 0;
}

static int compare_digits(const struct decimal *a, const struct decimal *b)
{
	const char *p = a->digits, *q = b->digits;
	while (p < a->digits_end || q < b->digits_end) {
		int difference = next_digit(&p, a->digits_end) - next_digit(&q, b->digits_end);
		if (difference) {
			return difference;
		}
	}
	return 0;
}

static int compare_magnitudes(const struct decimal *a, const struct decimal *b)
{
	int64_t order = exponent_difference(a, b) + a->point - b->point;
	return order ? (order > 0) - (order < 0) : compare_digits(a, b);
}

int json_number_cmp(struct str a, struct str b)
{
	struct decimal x = decimal_of(a), y = decimal_of(b);
	if (x.sign != y.sign || x.sign == 0) {
		return x.sign - y.sign;
	}
	return x.sign * compare_magnitudes(&x, &y);
}
