/* A schedule is five fields, each a list of ranges, or a name such as "@daily". */
#include "api/workload/cron.h"

#include "base/options.h"

#include <strings.h>

static const char *const month_names[] = {
	"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec", NULL};
static const char *const day_names[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat", NULL};

struct bounds {
	int64_t min, max;
	const char *const *names; /* of min, and on; NULL: none */
};

enum { N_FIELDS = 5 };

static const struct bounds fields[N_FIELDS] = {
	{0, 59, NULL}, {0, 23, NULL}, {1, 31, NULL}, {1, 12, month_names}, {0, 6, day_names}};

static bool is_named(struct str s, const char *name)
{
	return s.n == strlen(name) && strncasecmp(s.p, name, s.n) == 0;
}

static bool is_digits(struct str s)
{
	size_t i = s.n && (s.p[0] == '+' || s.p[0] == '-') ? 1 : 0;
	bool has_any = i < s.n;
	for (; i < s.n; i++) {
		has_any = has_any && s.p[i] >= '0' && s.p[i] <= '9';
	}
	return has_any;
}

static struct str read_number(int64_t *ret, struct str s, struct arena *a)
{
	if (!is_digits(s)) {
		return arena_printf(a,
			"failed to parse int from " STR_FMT ": strconv.Atoi: parsing \"" STR_FMT "\": invalid syntax",
			STR_ARG(s), STR_ARG(s));
	}
	if (!str_to_int64(s, ret)) {
		return arena_printf(a,
			"failed to parse int from " STR_FMT ": strconv.Atoi: parsing \"" STR_FMT "\": value out of range",
			STR_ARG(s), STR_ARG(s));
	}
	if (*ret < 0) {
		return arena_printf(a, "negative number (%lld) not allowed: " STR_FMT, (long long)*ret, STR_ARG(s));
	}
	return (struct str){0};
}

static struct str read_bound(int64_t *ret, struct str s, const struct bounds *b, struct arena *a)
{
	for (size_t i = 0; b->names && b->names[i]; i++) {
		if (is_named(s, b->names[i])) {
			*ret = b->min + (int64_t)i;
			return (struct str){0};
		}
	}
	return read_number(ret, s, a);
}

/* How many parts there are between separators. */
static size_t count_parts(struct str s, char sep)
{
	size_t n = 1;
	for (size_t i = 0; i < s.n; i++) {
		n += s.p[i] == sep;
	}
	return n;
}

struct range {
	int64_t start, end, step;
};

static struct str read_limits(struct range *ret, struct str limits, struct str whole, const struct bounds *b, struct arena *a)
{
	struct str low = limits, high = {0}, problem;
	size_t n = count_parts(limits, '-');
	str_cut(limits, '-', &low, &high);
	if (str_is(low, "*") || str_is(low, "?")) {
		*ret = (struct range){b->min, b->max, 1};
		return (struct str){0};
	}
	problem = read_bound(&ret->start, low, b, a);
	ret->end = ret->start;
	if (!problem.n && n > 2) {
		return arena_printf(a, "too many hyphens: " STR_FMT, STR_ARG(whole));
	}
	return problem.n || n == 1 ? problem : read_bound(&ret->end, high, b, a);
}

static struct str read_step(
	struct range *r, struct str whole, struct str limits, struct str step, const struct bounds *b, struct arena *a)
{
	size_t n = count_parts(whole, '/');
	if (n == 1) {
		return (struct str){0};
	}
	if (n > 2) {
		return arena_printf(a, "too many slashes: " STR_FMT, STR_ARG(whole));
	}
	struct str problem = read_number(&r->step, step, a);
	r->end = count_parts(limits, '-') == 1 ? b->max : r->end; /* "5/10": from 5 to the end */
	return problem;
}

static struct str check_limits(const struct range *r, struct str whole, const struct bounds *b, struct arena *a)
{
	if (r->start < b->min) {
		return arena_printf(a, "beginning of range (%lld) below minimum (%lld): " STR_FMT, (long long)r->start,
			(long long)b->min, STR_ARG(whole));
	}
	if (r->end > b->max) {
		return arena_printf(a, "end of range (%lld) above maximum (%lld): " STR_FMT, (long long)r->end,
			(long long)b->max, STR_ARG(whole));
	}
	if (r->start > r->end) {
		return arena_printf(a, "beginning of range (%lld) beyond end of range (%lld): " STR_FMT, (long long)r->start,
			(long long)r->end, STR_ARG(whole));
	}
	if (r->step == 0) {
		return arena_printf(a, "step of range should be a positive number: " STR_FMT, STR_ARG(whole));
	}
	return (struct str){0};
}

static struct str range_problem(struct str whole, const struct bounds *b, struct arena *a)
{
	struct str limits = whole, step = {0};
	struct range r = {.step = 1};
	str_cut(whole, '/', &limits, &step);
	struct str problem = read_limits(&r, limits, whole, b, a);
	if (!problem.n) {
		problem = read_step(&r, whole, limits, step, b, a);
	}
	return problem.n ? problem : check_limits(&r, whole, b, a);
}

static struct str field_problem(struct str field, const struct bounds *b, struct arena *a)
{
	struct str rest = field, problem = {0};
	while (rest.n && !problem.n) {
		struct str range = rest, after = {0};
		str_cut(rest, ',', &range, &after);
		problem = range.n ? range_problem(range, b, a) : problem;
		rest = after;
	}
	return problem;
}

static struct str named_problem(struct str s, struct arena *a)
{
	static const char *const names[] = {
		"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly", NULL};
	struct str every = STR("@every ");
	int64_t ms;
	for (size_t i = 0; names[i]; i++) {
		if (str_is(s, names[i])) {
			return (struct str){0};
		}
	}
	if (!str_starts(s, every)) {
		return arena_printf(a, "unrecognized descriptor: " STR_FMT, STR_ARG(s));
	}
	struct str length = {s.p + every.n, s.n - every.n};
	return duration_parse_ms(length, &ms)
		? (struct str){0}
		: arena_printf(a, "failed to parse duration " STR_FMT ": time: invalid duration \"" STR_FMT "\"", STR_ARG(s),
			  STR_ARG(length));
}

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Cuts off the first word; false: there is none. */
static bool next_word(struct str *rest, struct str *ret)
{
	size_t from = 0;
	while (from < rest->n && is_blank(rest->p[from])) {
		from++;
	}
	size_t to = from;
	while (to < rest->n && !is_blank(rest->p[to])) {
		to++;
	}
	*ret = (struct str){rest->p + from, to - from};
	*rest = (struct str){rest->p + to, rest->n - to};
	return ret->n > 0;
}

static struct str wrong_count(struct str schedule, struct arena *a)
{
	struct str rest = schedule, word, list = {0};
	size_t n = 0;
	for (; next_word(&rest, &word); n++) {
	}
	struct buf text;
	buf_init(&text, schedule.n + 2);
	for (rest = schedule; next_word(&rest, &word);) {
		buf_adds(&text, buf_str(&text).n ? " " : "");
		buf_add_str(&text, word);
	}
	list = arena_printf(a, "expected exactly %d fields, found %zu: [" STR_FMT "]", N_FIELDS, n, STR_ARG(buf_str(&text)));
	buf_done(&text);
	return list;
}

static struct str fields_problem(struct str schedule, struct arena *a)
{
	struct str rest = schedule, word, words[N_FIELDS], problem = {0};
	size_t n = 0;
	while (next_word(&rest, &word)) {
		if (n == N_FIELDS) {
			return wrong_count(schedule, a);
		}
		words[n++] = word;
	}
	if (n < N_FIELDS) {
		return wrong_count(schedule, a);
	}
	for (size_t i = 0; i < N_FIELDS && !problem.n; i++) {
		problem = field_problem(words[i], &fields[i], a);
	}
	return problem;
}

struct str cron_problem(struct str schedule, struct arena *a)
{
	struct str zone, rest = schedule;
	if (str_starts(schedule, STR("TZ=")) || str_starts(schedule, STR("CRON_TZ="))) {
		if (!str_cut(schedule, ' ', &zone, &rest)) {
			return STR("invalid schedule format: there is only a time zone");
		}
		rest = str_trim(rest);
	}
	return str_starts(rest, STR("@")) ? named_problem(rest, a) : fields_problem(rest, a);
}

/* ---- time zones ---- */

enum { ZONE_PART_MAX = 14 }; /* bytes between slashes in the name of a time zone */

static bool is_zone_part(struct str part)
{
	if (!part.n || part.n > ZONE_PART_MAX || part.p[0] == '-' || str_is(part, ".") || str_is(part, "..")) {
		return false;
	}
	for (size_t i = 0; i < part.n; i++) {
		char c = part.p[i];
		bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
		if (!is_letter && c != '.' && c != '-' && c != '_' && c != '+') {
			return false;
		}
	}
	return true;
}

bool is_time_zone_name(struct str zone)
{
	struct str part, rest;
	while (str_cut(zone, '/', &part, &rest)) {
		if (!is_zone_part(part)) {
			return false;
		}
		zone = rest;
	}
	return is_zone_part(zone);
}
