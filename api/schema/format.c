/* Formats, each judged as upstream's package strfmt does, oddities included: a host name may be "a-", a duration "5 fortnights 1 day". */
#include "api/schema/format.h"

#include "api/rules/address.h"
#include "api/schema/pattern.h"
#include "base/clock.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_alpha(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Expressions that would be longer as code are compiled once and kept. */
static bool matches(_Atomic(struct regexp *) *kept, const char *expression, struct str text)
{
	struct regexp *r = atomic_load_explicit(kept, memory_order_acquire), *present = NULL;
	if (!r) {
		char error[REGEXP_ERROR_SIZE];
		r = regexp_new(expression, strlen(expression), error);
		assert(r);
		if (!atomic_compare_exchange_strong_explicit(kept, &present, r, memory_order_acq_rel, memory_order_acquire)) {
			regexp_free(r);
			r = present;
		}
	}
	return regexp_matches(r, text.n ? text.p : "", text.n);
}

#define MATCHES(text, expression)                     \
	__extension__({                               \
		static _Atomic(struct regexp *) kept; \
		matches(&kept, (expression), (text)); \
	})

/* ---- numbers of things ---- */

/* Base64 in groups of four, of which there is one at least. */
static bool is_byte(struct str s)
{
	size_t n = s.n;
	if (n == 0 || n % 4) {
		return false;
	}
	while (n && s.n - n < 2 && s.p[n - 1] == '=') {
		n--;
	}
	for (size_t i = 0; i < n; i++) {
		char c = s.p[i];
		if (!is_digit(c) && !is_alpha(c) && c != '+' && c != '/') {
			return false;
		}
	}
	return true;
}

static bool is_bson(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (!is_hex(s.p[i])) {
			return false;
		}
	}
	return s.n == 24;
}

/* The digits alone; false when there are more than fit. */
static bool only_digits(struct str s, char out[32], size_t *ret_n)
{
	*ret_n = 0;
	for (size_t i = 0; i < s.n; i++) {
		if (is_digit(s.p[i])) {
			if (*ret_n == 31) {
				return false;
			}
			out[(*ret_n)++] = s.p[i];
		}
	}
	return true;
}

static bool is_credit_card(struct str s)
{
	char digits[32];
	size_t n;
	int sum = 0;
	if (!only_digits(s, digits, &n)) {
		return false;
	}
	if (!MATCHES(((struct str){digits, n}),
		    "^(?:4\\d{12}(?:\\d{3})?|5[1-5]\\d{14}|6(?:011|5\\d\\d)\\d{12}|3[47]\\d{13}|3(?:0[0-5]|[68]\\d)\\d{11}"
		    "|(?:2131|1800|35\\d{3})\\d{11})$")) {
		return false;
	}
	for (size_t i = 0; i < n; i++) {
		int digit = digits[n - 1 - i] - '0';
		digit = i % 2 ? 2 * digit : digit;
		sum += digit > 9 ? digit - 9 : digit;
	}
	return sum % 10 == 0;
}

/* Blanks and dashes left out. */
static bool isbn_digits(struct str s, char out[16], size_t *ret_n)
{
	*ret_n = 0;
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		if (c == '-' || c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r') {
			continue;
		}
		if (*ret_n == 13) {
			return false;
		}
		out[(*ret_n)++] = c;
	}
	return true;
}

static bool is_isbn10(struct str s)
{
	char digits[16];
	size_t n;
	int sum = 0;
	if (!isbn_digits(s, digits, &n) || n != 10) {
		return false;
	}
	for (int i = 0; i < 10; i++) {
		bool is_ten = i == 9 && digits[i] == 'X';
		if (!is_digit(digits[i]) && !is_ten) {
			return false;
		}
		sum += (i + 1) * (is_ten ? 10 : digits[i] - '0');
	}
	return sum % 11 == 0;
}

static bool is_isbn13(struct str s)
{
	char digits[16];
	size_t n;
	int sum = 0;
	if (!isbn_digits(s, digits, &n) || n != 13) {
		return false;
	}
	for (int i = 0; i < 13; i++) {
		if (!is_digit(digits[i])) {
			return false;
		}
		sum += (i % 2 ? 3 : 1) * (digits[i] - '0');
	}
	return sum % 10 == 0;
}

static bool is_isbn(struct str s)
{
	return is_isbn10(s) || is_isbn13(s);
}

static bool is_ssn(struct str s)
{
	return s.n == 11 && MATCHES(s, "^\\d{3}[- ]?\\d{2}[- ]?\\d{4}$");
}

static bool is_hexcolor(struct str s)
{
	return MATCHES(s, "^#?(?:[[:xdigit:]]{3}){1,2}$");
}

#define COLOUR "\\s*(0|[1-9]\\d?|1\\d\\d?|2[0-4]\\d|25[0-5])\\s*"

static bool is_rgbcolor(struct str s)
{
	return MATCHES(s, "^rgb\\(" COLOUR "," COLOUR "," COLOUR "\\)$");
}

/* Hexadecimal digits in groups of 8, 4, 4, 4 and 12, with dashes or without. */
#define UUID(third, fourth) "(?i)^[[:xdigit:]]{8}-?[[:xdigit:]]{4}-?" third "-?" fourth "-?[[:xdigit:]]{12}$"

static bool is_uuid(struct str s)
{
	return MATCHES(s, UUID("[[:xdigit:]]{4}", "[[:xdigit:]]{4}"));
}

static bool is_uuid3(struct str s)
{
	return MATCHES(s, UUID("3[[:xdigit:]]{3}", "[[:xdigit:]]{4}"));
}

static bool is_uuid4(struct str s)
{
	return MATCHES(s, UUID("4[[:xdigit:]]{3}", "[89ab][[:xdigit:]]{3}"));
}

static bool is_uuid5(struct str s)
{
	return MATCHES(s, UUID("5[[:xdigit:]]{3}", "[89ab][[:xdigit:]]{3}"));
}

static bool is_password(struct str s)
{
	(void)s;
	return true;
}

/* ---- times ---- */

static bool is_date(struct str s)
{
	char text[32];
	int64_t us;
	if (s.n != 10) {
		return false;
	}
	snprintf(text, sizeof(text), "%.10sT00:00:00Z", s.p);
	return time_parse_rfc3339(str_of(text), &us);
}

static bool is_datetime(struct str s)
{
	struct str date = {s.p, 0}, clock;
	while (date.n < s.n && s.p[date.n] != 't' && s.p[date.n] != 'T') {
		date.n++;
	}
	if (s.n < 4 || date.n == s.n || !is_date(date)) {
		return false;
	}
	/* Upstream does not look behind a second t. */
	clock = (struct str){s.p + date.n + 1, 0};
	while (date.n + 1 + clock.n < s.n && clock.p[clock.n] != 't' && clock.p[clock.n] != 'T') {
		clock.n++;
	}
	return MATCHES(clock, "^(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:.\\d+)?(?:[zZ]|[+-]\\d{2}:\\d{2})$");
}

static bool skip_number(struct str s, size_t *at)
{
	size_t from = *at;
	while (*at < s.n && is_digit(s.p[*at])) {
		(*at)++;
	}
	return *at > from;
}

static const char *const go_units[] = {"ns", "us", "\xc2\xb5s", "\xce\xbcs", "ms", "s", "m", "h"};

/* time.ParseDuration, but for overflows, which the looser form behind it takes anyway. */
static bool is_go_duration(struct str s)
{
	size_t at = s.n && (s.p[0] == '+' || s.p[0] == '-');
	if (at + 1 == s.n && s.p[at] == '0') {
		return true;
	}
	if (at == s.n) {
		return false;
	}
	while (at < s.n) {
		bool has_digits = skip_number(s, &at);
		if (at < s.n && s.p[at] == '.') {
			at++;
			has_digits |= skip_number(s, &at);
		}
		size_t from = at;
		while (at < s.n && s.p[at] != '.' && !is_digit(s.p[at])) {
			at++;
		}
		struct str unit = {s.p + from, at - from};
		bool is_unit = false;
		for (size_t i = 0; i < ARRAY_SIZE(go_units); i++) {
			is_unit |= str_is(unit, go_units[i]);
		}
		if (!has_digits || !is_unit) {
			return false;
		}
	}
	return true;
}

/* A unit by one of its short names, or by the beginning of a word. */
static bool is_loose_unit(struct str unit)
{
	static const char *const exact[] = {"ns", "us", "ms", "s", "m", "h", "hr", "d", "w", "wk"};
	static const char *const begins[] = {"nano", "micro", "milli", "sec", "min", "hour", "day", "week"};
	for (size_t i = 0; i < ARRAY_SIZE(exact); i++) {
		if (str_eq_nocase(unit, str_of(exact[i]))) {
			return true;
		}
	}
	if (unit.n == 3 && !memcmp(unit.p, "\xc2\xb5", 2) && (unit.p[2] == 's' || unit.p[2] == 'S')) {
		return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(begins); i++) {
		struct str word = str_of(begins[i]);
		if (unit.n >= word.n && str_eq_nocase((struct str){unit.p, word.n}, word)) {
			return true;
		}
	}
	return false;
}

/* "1 day", and anything around it. A number too big for an int spoils all. */
static bool is_loose_duration(struct str s)
{
	bool is_any = false;
	for (size_t at = 0; at < s.n;) {
		size_t from = at;
		if (!skip_number(s, &at)) {
			at++;
			continue;
		}
		struct str number = {s.p + from, at - from};
		size_t end = at;
		while (end < s.n && (s.p[end] == ' ' || (s.p[end] >= '\t' && s.p[end] <= '\r' && s.p[end] != '\v'))) {
			end++;
		}
		size_t unit = end;
		while (end < s.n && (is_alpha(s.p[end]) || (end + 1 < s.n && !memcmp(s.p + end, "\xc2\xb5", 2)))) {
			end += is_alpha(s.p[end]) ? 1 : 2;
		}
		if (end == unit) {
			continue;
		}
		uint64_t n;
		if (!str_to_uint64(number, &n) || n > INT64_MAX) {
			return false;
		}
		is_any |= is_loose_unit((struct str){s.p + unit, end - unit});
		at = end;
	}
	return is_any;
}

static bool is_duration(struct str s)
{
	return is_go_duration(s) || is_loose_duration(s);
}

/* ---- names and addresses ---- */

#define HOST "a-zA-Z0-9\\p{S}\\p{L}"

/* Upstream counts characters, too; that no label has more than 63 bytes says more. */
static bool is_hostname(struct str s)
{
	size_t label = 0;
	for (size_t i = 0; i < s.n; i++) {
		label = s.p[i] == '.' ? 0 : label + 1;
		if (label > 63) {
			return false;
		}
	}
	return s.n <= 255 &&
		MATCHES(s,
			"^(?:[" HOST "]-?[" HOST "]*|(?:[" HOST "](?:[-" HOST "]*[" HOST
			"])?\\.)+[a-zA-Z\\p{L}][a-zA-Z\\p{L}]+)$");
}

static bool is_ipv4(struct str s)
{
	struct address address;
	return memchr(s.p ? s.p : "", '.', s.n) && address_parse(s, &address);
}

static bool is_ipv6(struct str s)
{
	struct address address;
	return memchr(s.p ? s.p : "", ':', s.n) && address_parse(s, &address) && !address.is_padded;
}

static bool is_cidr(struct str s)
{
	struct address address;
	struct str ip, bits;
	int64_t n = 0;
	if (!str_cut(s, '/', &ip, &bits) || !bits.n || bits.n > 6 || !address_parse(ip, &address)) {
		return false;
	}
	for (size_t i = 0; i < bits.n; i++) {
		if (!is_digit(bits.p[i])) {
			return false;
		}
		n = 10 * n + bits.p[i] - '0';
	}
	return n <= (memchr(ip.p, ':', ip.n) ? 128 : 32);
}

/* Bytes in pairs of digits, with one separator all through, or in fours with dots: six, eight or twenty bytes. */
static bool is_mac(struct str s)
{
	char separator = s.n > 4 && s.p[4] == '.' ? '.' : s.n > 2 ? s.p[2] : '\0';
	size_t group = separator == '.' ? 4 : 2, n = (s.n + 1) / (group + 1);
	if ((separator != ':' && separator != '-' && separator != '.') || (s.n + 1) % (group + 1)) {
		return false;
	}
	for (size_t i = 0; i < s.n; i++) {
		bool is_between = i % (group + 1) == group;
		if (is_between ? s.p[i] != separator : !is_hex(s.p[i])) {
			return false;
		}
	}
	size_t bytes = n * group / 2;
	return bytes == 6 || bytes == 8 || bytes == 20;
}

static bool is_short_name(struct str s)
{
	return s.n <= 63 && MATCHES(s, "^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$");
}

static bool is_long_name(struct str s)
{
	return s.n <= 253 && MATCHES(s, "^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$");
}

/* ---- mail (net/mail.ParseAddress) ---- */

static bool is_atext(unsigned char c, bool takes_dot)
{
	return c >= 0x80 || is_digit((char)c) || is_alpha((char)c) || (takes_dot && c == '.') ||
		(c && strchr("!#$%&'*+-/=?^_`{|}~", c));
}

struct mail {
	struct str rest;
};

static void mail_skip(struct mail *m, size_t n)
{
	m->rest.p += n;
	m->rest.n -= n;
}

static bool mail_is_at(const struct mail *m, char c)
{
	return m->rest.n && m->rest.p[0] == c;
}

static bool mail_take(struct mail *m, char c)
{
	if (!mail_is_at(m, c)) {
		return false;
	}
	mail_skip(m, 1);
	return true;
}

static void mail_skip_blanks(struct mail *m)
{
	while (mail_is_at(m, ' ') || mail_is_at(m, '\t')) {
		mail_skip(m, 1);
	}
}

/* A comment in brackets, which may hold others. */
static bool mail_skip_comments(struct mail *m)
{
	for (;;) {
		mail_skip_blanks(m);
		if (!mail_take(m, '(')) {
			return true;
		}
		unsigned depth = 1;
		while (depth) {
			if (!m->rest.n) {
				return false;
			}
			char c = m->rest.p[0];
			depth += c == '(' ? 1U : 0U;
			depth -= c == ')' ? 1U : 0U;
			mail_skip(m, c == '\\' && m->rest.n > 1 ? 2 : 1);
		}
	}
}

/* Words of an atom; dots are neither first, last, nor twice. */
static bool mail_atom(struct mail *m, bool takes_dot, bool is_strict)
{
	size_t n = 0;
	while (n < m->rest.n && is_atext((unsigned char)m->rest.p[n], takes_dot)) {
		n++;
	}
	struct str atom = {m->rest.p, n};
	if (!n || (is_strict && (atom.p[0] == '.' || atom.p[n - 1] == '.' || str_contains(atom, STR(".."))))) {
		return false;
	}
	mail_skip(m, n);
	return true;
}

static bool mail_quoted(struct mail *m)
{
	mail_skip(m, 1);
	for (;;) {
		if (!m->rest.n) {
			return false;
		}
		unsigned char c = (unsigned char)m->rest.p[0];
		if (c == '"') {
			mail_skip(m, 1);
			return true;
		}
		if (c == '\\' && (m->rest.n < 2 || (unsigned char)m->rest.p[1] < ' ')) {
			return false;
		}
		if ((c < ' ' && c != '\t') || c == 0x7f) {
			return false;
		}
		mail_skip(m, c == '\\' ? 2 : 1);
	}
}

static bool mail_domain_literal(struct mail *m)
{
	struct address address;
	mail_skip(m, 1);
	size_t n = 0;
	while (n < m->rest.n && m->rest.p[n] != ']') {
		n++;
	}
	struct str text = {m->rest.p, n};
	if (n == m->rest.n) {
		return false;
	}
	mail_skip(m, n + 1);
	return address_parse(text, &address) && !address.is_padded;
}

/* local@domain */
static bool mail_spec(struct mail *m)
{
	mail_skip_blanks(m);
	if (!(mail_is_at(m, '"') ? mail_quoted(m) : mail_atom(m, true, true)) || !mail_take(m, '@')) {
		return false;
	}
	mail_skip_blanks(m);
	return mail_is_at(m, '[') ? mail_domain_literal(m) : mail_atom(m, true, true);
}

static bool is_email(struct str s)
{
	struct mail m = {s}, plain;
	mail_skip_blanks(&m);
	plain = m;
	if (mail_spec(&plain) && mail_skip_comments(&plain)) {
		return !plain.rest.n;
	}
	/* A name before <local@domain>. */
	while (!mail_is_at(&m, '<')) {
		if (!(mail_is_at(&m, '"') ? mail_quoted(&m) : mail_atom(&m, true, false)) || !mail_skip_comments(&m)) {
			return false;
		}
	}
	return mail_take(&m, '<') && mail_spec(&m) && mail_take(&m, '>') && mail_skip_comments(&m) && !m.rest.n;
}

/* ---- URIs (net/url.ParseRequestURI) ---- */

/* Percent signs are followed by two digits; in hosts only those of bytes that are not ASCII, and %25 in zones. */
static bool has_escapes(struct str s, bool is_host)
{
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] != '%') {
			continue;
		}
		if (i + 2 >= s.n || !is_hex(s.p[i + 1]) || !is_hex(s.p[i + 2])) {
			return false;
		}
		bool is_ascii = s.p[i + 1] < '8';
		if (is_host && is_ascii && strncmp(s.p + i, "%25", 3)) {
			return false;
		}
	}
	return true;
}

static bool is_host_text(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if (c < 0x80 && !is_digit((char)c) && !is_alpha((char)c) && !strchr("-_.~!$&'()*+,;=:[]<>\"%", c)) {
			return false;
		}
	}
	return has_escapes(s, true);
}

static bool is_port(struct str s)
{
	if (s.n && s.p[0] != ':') {
		return false;
	}
	for (size_t i = 1; i < s.n; i++) {
		if (!is_digit(s.p[i])) {
			return false;
		}
	}
	return true;
}

static bool is_authority(struct str s)
{
	size_t at = s.n;
	while (at && s.p[at - 1] != '@') {
		at--;
	}
	for (size_t i = 0; i + 1 < at; i++) {
		char c = s.p[i];
		if (!is_digit(c) && !is_alpha(c) && !strchr("-._:~!$&'()*+,;=%@", c)) {
			return false;
		}
	}
	if (at && !has_escapes((struct str){s.p, at - 1}, false)) {
		return false;
	}
	struct str host = {s.p + at, s.n - at};
	if (host.n && host.p[0] == '[') {
		const char *end = memrchr(host.p, ']', host.n);
		struct address address;
		if (!end || !is_port((struct str){end + 1, (size_t)(host.p + host.n - end - 1)})) {
			return false;
		}
		struct str inner = {host.p + 1, (size_t)(end - host.p - 1)}, zone;
		const char *percent = memmem(inner.p, inner.n, "%25", 3);
		zone = percent ? (struct str){percent, (size_t)(inner.p + inner.n - percent)} : (struct str){0};
		inner.n -= zone.n;
		return has_escapes(zone, false) && memchr(inner.p, ':', inner.n) && address_parse(inner, &address);
	}
	const char *colon = host.n ? memrchr(host.p, ':', host.n) : NULL;
	return is_host_text(host) && (!colon || is_port((struct str){colon, (size_t)(host.p + host.n - colon)}));
}

static bool is_uri(struct str s)
{
	size_t scheme = 0;
	for (size_t i = 0; i < s.n; i++) {
		if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f) {
			return false;
		}
	}
	if (!s.n) {
		return false;
	}
	if (str_is(s, "*")) {
		return true;
	}
	while (scheme < s.n && (is_alpha(s.p[scheme]) || (scheme && (is_digit(s.p[scheme]) || strchr("+-.", s.p[scheme]))))) {
		scheme++;
	}
	bool has_scheme = scheme && scheme < s.n && s.p[scheme] == ':';
	if (!scheme && s.p[0] == ':') {
		return false;
	}
	struct str rest = has_scheme ? (struct str){s.p + scheme + 1, s.n - scheme - 1} : s;
	const char *query = rest.n ? memchr(rest.p, '?', rest.n) : NULL;
	if (query) {
		rest.n = (size_t)(query - rest.p);
	}
	if (!rest.n || rest.p[0] != '/') {
		return has_scheme; /* opaque: mailto:x */
	}
	if (has_scheme && rest.n >= 2 && rest.p[1] == '/') {
		struct str authority = {rest.p + 2, rest.n - 2};
		const char *slash = memchr(authority.p, '/', authority.n);
		authority.n = slash ? (size_t)(slash - authority.p) : authority.n;
		rest = (struct str){authority.p + authority.n, rest.n - 2 - authority.n};
		if (!is_authority(authority)) {
			return false;
		}
	}
	return has_escapes(rest, false);
}

/* ---- the table ---- */

static const struct {
	const char *name;
	bool (*accepts)(struct str s);
} formats[] = {
	{"bsonobjectid", is_bson},
	{"byte", is_byte},
	{"cidr", is_cidr},
	{"creditcard", is_credit_card},
	{"date", is_date},
	{"datetime", is_datetime},
	{"duration", is_duration},
	{"email", is_email},
	{"hexcolor", is_hexcolor},
	{"hostname", is_hostname},
	{"ipv4", is_ipv4},
	{"ipv6", is_ipv6},
	{"isbn", is_isbn},
	{"isbn10", is_isbn10},
	{"isbn13", is_isbn13},
	{"k8slongname", is_long_name},
	{"k8sshortname", is_short_name},
	{"mac", is_mac},
	{"password", is_password},
	{"rgbcolor", is_rgbcolor},
	{"ssn", is_ssn},
	{"uri", is_uri},
	{"uuid", is_uuid},
	{"uuid3", is_uuid3},
	{"uuid4", is_uuid4},
	{"uuid5", is_uuid5},
};

static bool is_named(struct str name, const char *format)
{
	for (size_t i = 0; i < name.n; i++) {
		if (name.p[i] != '-') {
			if (*format != name.p[i]) {
				return false;
			}
			format++;
		}
	}
	return !*format;
}

unsigned format_find(struct str name, struct str type)
{
	if (!name.n) {
		return FORMAT_NONE;
	}
	if (str_is(type, "integer")) {
		return str_is(name, "int32") ? FORMAT_INT32 : str_is(name, "int64") ? FORMAT_INT64 : FORMAT_NONE;
	}
	if (str_is(type, "number")) {
		return str_is(name, "float") ? FORMAT_FLOAT : str_is(name, "double") ? FORMAT_DOUBLE : FORMAT_NONE;
	}
	for (size_t i = 0; i < ARRAY_SIZE(formats) && (!type.n || str_is(type, "string")); i++) {
		if (is_named(name, formats[i].name)) {
			return FORMAT_STRINGS + (unsigned)i;
		}
	}
	return FORMAT_NONE;
}

bool format_accepts(unsigned format, struct str text)
{
	assert(format >= FORMAT_STRINGS && format - FORMAT_STRINGS < ARRAY_SIZE(formats));
	return formats[format - FORMAT_STRINGS].accepts(text);
}
