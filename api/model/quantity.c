/* k8s.io/apimachinery/pkg/api/resource.Quantity. Canonical form matters because objects are
 * compared as text: what upstream would write back otherwise is written so here. Odd rules
 * below, such as spellings that stay, are upstream's shortcuts for small numbers, observed case
 * by case. */
#include "api/model/quantity.h"

#define FORMAT_WRONG "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
#define SUFFIX_WRONG "unable to parse quantity's suffix"
#define NUMBER_WRONG "unable to parse numeric part of quantity"

enum {
	FINEST = -9,      /* 10^FINEST is the smallest amount there is */
	KEPT_DIGITS = 18, /* upstream keeps the spelling of what it can count in 64 bits, by these estimates */
	KEPT_BINARY_DIGITS = 15,
	UNIT_MAX = 18, /* E */
	PEBI = 50,     /* of two */
};

static const struct unit {
	const char *name;
	int exponent; /* of ten, or of two */
} decimal_units[] = {{"n", -9}, {"u", -6}, {"m", -3}, {"", 0}, {"k", 3}, {"M", 6}, {"G", 9}, {"T", 12}, {"P", 15},
	{"E", UNIT_MAX}},
  binary_units[] = {{"Ki", 10}, {"Mi", 20}, {"Gi", 30}, {"Ti", 40}, {"Pi", 50}, {"Ei", 60}};

/* The text taken apart. */
struct parts {
	bool is_negative;
	struct str whole, fraction; /* digits; leading zeros of the whole part are gone */
	struct str suffix;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static struct str cut_digits(struct str *s)
{
	size_t n = 0;
	while (n < s->n && is_digit(s->p[n])) {
		n++;
	}
	struct str digits = {s->p, n};
	*s = (struct str){s->p + n, s->n - n};
	return digits;
}

static void skip(struct str *s, const char *any, size_t max)
{
	for (size_t i = 0; i < max && s->n && s->p[0] && strchr(any, s->p[0]); i++) {
		*s = (struct str){s->p + 1, s->n - 1};
	}
}

static bool take_apart(struct parts *ret, struct str text)
{
	*ret = (struct parts){.is_negative = text.n && text.p[0] == '-'};
	skip(&text, "+-", 1);
	skip(&text, "0", text.n);
	ret->whole = cut_digits(&text);
	if (text.n && text.p[0] == '.') {
		skip(&text, ".", 1);
		ret->fraction = cut_digits(&text);
	}
	ret->suffix = text;
	skip(&text, "eEinumkKMGTP", text.n);
	skip(&text, "-+", 1);
	cut_digits(&text);
	return text.n == 0;
}

static bool find_unit(const struct unit *units, size_t n, struct str name, int64_t *ret_exponent)
{
	for (size_t i = 0; i < n; i++) {
		if (str_is(name, units[i].name)) {
			*ret_exponent = units[i].exponent;
			return true;
		}
	}
	return false;
}

static bool read_suffix(struct str suffix, enum quantity_format *ret_format, int64_t *ret_exponent)
{
	if (find_unit(decimal_units, ARRAY_SIZE(decimal_units), suffix, ret_exponent)) {
		*ret_format = QUANTITY_DECIMAL;
		return true;
	}
	if (find_unit(binary_units, ARRAY_SIZE(binary_units), suffix, ret_exponent)) {
		*ret_format = QUANTITY_BINARY;
		return true;
	}
	*ret_format = QUANTITY_EXPONENT;
	bool is_exponent = suffix.n > 1 && (suffix.p[0] == 'e' || suffix.p[0] == 'E');
	return is_exponent && str_to_int64((struct str){suffix.p + 1, suffix.n - 1}, ret_exponent) &&
		*ret_exponent >= INT32_MIN && *ret_exponent <= INT32_MAX;
}

static struct str without_leading_zeros(struct str digits)
{
	skip(&digits, "0", digits.n);
	return digits;
}

static struct str join(struct str a, struct str b, struct arena *arena)
{
	if (!b.n) {
		return a;
	}
	char *digits = arena_text(arena, a.n + b.n);
	if (a.n) {
		memcpy(digits, a.p, a.n);
	}
	memcpy(digits + a.n, b.p, b.n);
	return (struct str){digits, a.n + b.n};
}

/* digits * 2^bits; bits <= 60, so that a step fits in 64. */
static struct str shift_left(struct str digits, int64_t bits, struct arena *a)
{
	enum { GROWTH = 20 };
	size_t n = digits.n + GROWTH;
	char *out = arena_text(a, n);
	uint64_t carry = 0;
	for (size_t i = 0; i < n; i++) {
		if (i < digits.n) {
			carry += (uint64_t)(digits.p[digits.n - 1 - i] - '0') << bits;
		}
		out[n - 1 - i] = (char)('0' + carry % 10);
		carry /= 10;
	}
	return without_leading_zeros((struct str){out, n});
}

/* The digits with one added; there is room for one more before them. */
static struct str add_one(char *digits, size_t n)
{
	size_t i = n;
	while (i > 0 && digits[i - 1] == '9') {
		digits[--i] = '0';
	}
	if (i > 0) {
		digits[i - 1]++;
		return (struct str){digits, n};
	}
	digits[-1] = '1';
	return (struct str){digits - 1, n + 1};
}

static bool are_zeros(struct str digits)
{
	return without_leading_zeros(digits).n == 0;
}

void quantity_round_up(struct quantity *q, int64_t exponent, struct arena *a)
{
	if (q->exponent >= exponent) {
		return;
	}
	uint64_t n_cut = (uint64_t)(exponent - q->exponent);
	size_t n_kept = n_cut < q->digits.n ? q->digits.n - (size_t)n_cut : 0;
	struct str cut = {q->digits.p + n_kept, q->digits.n - n_kept};
	char *digits = arena_text(a, n_kept + 1) + 1;
	if (n_kept) {
		memcpy(digits, q->digits.p, n_kept);
	}
	q->spelling = (struct str){0};
	q->digits = are_zeros(cut) ? (struct str){digits, n_kept} : add_one(digits, n_kept);
	q->exponent = exponent;
}

int quantity_sign(const struct quantity *q)
{
	return !q->digits.n ? 0 : q->is_negative ? -1 : 1;
}

/* Where the first digit stands: the value is below 10^magnitude. */
static int64_t magnitude(const struct quantity *q)
{
	return (int64_t)q->digits.n + q->exponent;
}

static int compare_absolute(const struct quantity *a, const struct quantity *b)
{
	if (magnitude(a) != magnitude(b)) {
		return magnitude(a) < magnitude(b) ? -1 : 1;
	}
	size_t common = MIN(a->digits.n, b->digits.n);
	int r = common ? memcmp(a->digits.p, b->digits.p, common) : 0;
	if (r) {
		return r;
	}
	bool a_has_more = !are_zeros((struct str){a->digits.p + common, a->digits.n - common});
	bool b_has_more = !are_zeros((struct str){b->digits.p + common, b->digits.n - common});
	return a_has_more - b_has_more;
}

int quantity_cmp(const struct quantity *a, const struct quantity *b)
{
	int x = quantity_sign(a), y = quantity_sign(b);
	if (x != y || !x) {
		return x - y;
	}
	return x * compare_absolute(a, b);
}

static struct quantity plain(struct str digits)
{
	return (struct quantity){.digits = digits};
}

/* Binary amounts end somewhere; below one they are no more binary than others. */
static void bound_binary(struct quantity *q)
{
	const struct quantity most = plain(STR("9223372036854775807")), one = plain(STR("1"));
	if (compare_absolute(q, &most) > 0) {
		q->digits = most.digits;
		q->exponent = 0;
	} else if (q->digits.n && compare_absolute(q, &one) < 0) {
		q->format = QUANTITY_DECIMAL;
	}
}

/* Returns whether upstream keeps a spelling that is not canonical ("1.500", "+5"). This follows
 * from its shortcut for small numbers. */
static bool keeps_decimal_spelling(const struct parts *p, struct str digits, int64_t exponent)
{
	return p->whole.n && digits.n <= KEPT_DIGITS && exponent >= FINEST && exponent % 3 == 0 &&
		!str_ends(digits, STR("000"));
}

static bool keeps_binary_spelling(const struct parts *p, int64_t exponent)
{
	int64_t room = KEPT_BINARY_DIGITS - (int64_t)p->whole.n - exponent * 3 / 10 - 1, value = 0;
	return p->whole.n && !p->fraction.n && room >= 0 && str_to_int64(p->whole, &value) && (value & 7) != 0;
}

/* A unit alone is nothing, upstream says, but for those that its shortcut leaves to a stricter reader. */
static bool has_digits(struct str text)
{
	skip(&text, "+-", 1);
	skip(&text, ".", 1);
	return text.n && is_digit(text.p[0]);
}

const char *quantity_parse(struct quantity *ret, struct str text, struct arena *a)
{
	struct parts p;
	enum quantity_format format;
	int64_t exponent;
	if (!text.n || !take_apart(&p, text)) {
		return FORMAT_WRONG;
	}
	if (!read_suffix(p.suffix, &format, &exponent)) {
		return SUFFIX_WRONG;
	}
	bool is_binary = format == QUANTITY_BINARY;
	if (!has_digits(text) && (is_binary ? exponent >= PEBI : exponent < FINEST)) {
		return NUMBER_WRONG;
	}
	struct quantity q = {
		.is_negative = p.is_negative,
		.digits = without_leading_zeros(join(p.whole, p.fraction, a)),
		.exponent = (is_binary ? 0 : exponent) - (int64_t)p.fraction.n,
		.format = format,
	};
	if (is_binary) {
		q.digits = shift_left(q.digits, exponent, a);
	}
	if (is_binary ? keeps_binary_spelling(&p, exponent) : keeps_decimal_spelling(&p, q.digits, q.exponent)) {
		q.spelling = text;
	} else {
		quantity_round_up(&q, FINEST, a);
	}
	if (is_binary) {
		bound_binary(&q);
	}
	*ret = q;
	return NULL;
}

/* Writing. */

static struct str without_trailing_zeros(struct str digits, int64_t *exponent)
{
	while (digits.n && digits.p[digits.n - 1] == '0') {
		digits.n--;
		++*exponent;
	}
	return digits;
}

bool quantity_is_whole(const struct quantity *q)
{
	int64_t exponent = q->exponent;
	return !without_trailing_zeros(q->digits, &exponent).n || exponent >= 0;
}

static const char *sign_of(const struct quantity *q)
{
	return q->is_negative ? "-" : "";
}

/* Beyond the largest unit there are only more digits. */
static int64_t unit_exponent(const struct quantity *q, int64_t exponent)
{
	int64_t below = ((exponent % 3) + 3) % 3;
	return q->format != QUANTITY_EXPONENT && exponent > UNIT_MAX ? UNIT_MAX : exponent - below;
}

static const char *decimal_unit(int64_t exponent)
{
	for (size_t i = 0; i < ARRAY_SIZE(decimal_units); i++) {
		if (decimal_units[i].exponent == exponent) {
			return decimal_units[i].name;
		}
	}
	return "";
}

static struct str zeros(size_t n, struct arena *a)
{
	char *text = arena_text(a, n + 1);
	memset(text, '0', n);
	return (struct str){text, n};
}

static struct str write_decimal(const struct quantity *q, struct arena *a)
{
	int64_t exponent = q->exponent;
	struct str digits = without_trailing_zeros(q->digits, &exponent);
	int64_t unit = unit_exponent(q, exponent);
	struct str number = join(digits, zeros((size_t)(exponent - unit), a), a);
	if (q->format == QUANTITY_EXPONENT && unit) {
		return arena_printf(a, "%s" STR_FMT "e%lld", sign_of(q), STR_ARG(number), (long long)unit);
	}
	return arena_printf(a, "%s" STR_FMT "%s", sign_of(q), STR_ARG(number), decimal_unit(unit));
}

/* The quantity must be whole and at most 2^63-1. */
static uint64_t to_integer(const struct quantity *q)
{
	int64_t exponent = q->exponent;
	struct str digits = without_trailing_zeros(q->digits, &exponent);
	uint64_t n = 0;
	for (size_t i = 0; i < digits.n; i++) {
		n = n * 10 + (uint64_t)(digits.p[i] - '0');
	}
	for (; exponent > 0; exponent--) {
		n *= 10;
	}
	return n;
}

static struct str write_binary(const struct quantity *q, struct arena *a)
{
	uint64_t n = to_integer(q);
	size_t unit = 0;
	for (; n % 1024 == 0 && unit < ARRAY_SIZE(binary_units); unit++) {
		n /= 1024;
	}
	return arena_printf(a, "%s%llu%s", sign_of(q), (unsigned long long)n, unit ? binary_units[unit - 1].name : "");
}

struct str quantity_text(const struct quantity *q, struct arena *a)
{
	static const struct quantity kibi = {.digits = {"1024", 4}};
	if (q->spelling.n) {
		return q->spelling;
	}
	if (!q->digits.n) {
		return STR("0");
	}
	if (q->format == QUANTITY_BINARY && quantity_is_whole(q) && compare_absolute(q, &kibi) >= 0) {
		return write_binary(q, a);
	}
	return write_decimal(q, a);
}
