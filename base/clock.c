/* Dates are computed here rather than by gmtime() and strptime(): those know locales and leap
 * seconds, and parsing must accept exactly what Go's time.Parse(RFC3339) accepts. None of it
 * looks at the machine's time zone. */
#include "base/clock.h"

#include <stdio.h>

enum { S_PER_MINUTE = 60, S_PER_HOUR = 3600, S_PER_DAY = 86400, US_PER_S = 1000000 };

static int64_t read_ns(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t clock_mono_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

int64_t clock_mono_ms(void)
{
	return clock_mono_ns() / 1000000;
}

int64_t clock_boot_ms(void)
{
	return read_ns(CLOCK_BOOTTIME) / 1000000;
}

int64_t clock_wall_s(void)
{
	return clock_wall_us() / US_PER_S;
}

int64_t clock_wall_us(void)
{
	return read_ns(CLOCK_REALTIME) / 1000;
}

int64_t clock_cpu_ns(void)
{
	return read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* A condition waits on the wall clock by default: setting the clock would end or lengthen each
 * wait. */
void clock_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

int clock_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until_ms)
{
	const struct timespec until = {.tv_sec = until_ms / 1000, .tv_nsec = until_ms % 1000 * 1000000};
	return pthread_cond_timedwait(cond, lock, &until);
}

/* Days since 1970 and back in the proleptic Gregorian calendar, after Howard Hinnant's "chrono-compatible low-level date
 * algorithms": years begin in March, so that the leap day is a year's last; an era has 400 years. */
enum { DAYS_PER_ERA = 146097, DAYS_TO_1970 = 719468 };

static int64_t days_of_date(int64_t year, unsigned month, unsigned day)
{
	year -= month <= 2;
	int64_t era = (year >= 0 ? year : year - 399) / 400;
	int64_t year_of_era = year - era * 400;
	int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
	int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
	return era * DAYS_PER_ERA + day_of_era - DAYS_TO_1970;
}

struct date {
	int64_t year;
	unsigned month, day;
};

static struct date date_of_days(int64_t days)
{
	days += DAYS_TO_1970;
	int64_t era = (days >= 0 ? days : days - DAYS_PER_ERA + 1) / DAYS_PER_ERA;
	int64_t day_of_era = days - era * DAYS_PER_ERA;
	int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
	int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	unsigned march_month = (unsigned)((5 * day_of_year + 2) / 153);

	unsigned month = march_month < 10 ? march_month + 3 : march_month - 9;
	return (struct date){
		.year = year_of_era + era * 400 + (month <= 2),
		.month = month,
		.day = (unsigned)(day_of_year - (153 * march_month + 2) / 5 + 1),
	};
}

/* C rounds towards zero, which is the wrong day before 1970. */
static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

/* n digits, with leading zeros. */
static char *put_digits(char *at, uint64_t value, unsigned n)
{
	for (unsigned i = n; i > 0; i--) {
		at[i - 1] = (char)('0' + value % 10);
		value /= 10;
	}
	return at + n;
}

/* "2006-01-02T15:04:05"; a year that does not have four digits becomes the nearest that has. */
static char *put_date_time(char *at, int64_t wall_s)
{
	static const int64_t first = -62167219200, last = 253402300799; /* 0000-01-01, 9999-12-31T23:59:59 */
	wall_s = MAX(first, MIN(wall_s, last));
	int64_t days = floor_div(wall_s, S_PER_DAY);
	uint64_t second = (uint64_t)(wall_s - days * S_PER_DAY);
	struct date date = date_of_days(days);

	at = put_digits(at, (uint64_t)date.year, 4);
	*at++ = '-';
	at = put_digits(at, date.month, 2);
	*at++ = '-';
	at = put_digits(at, date.day, 2);
	*at++ = 'T';
	at = put_digits(at, second / S_PER_HOUR, 2);
	*at++ = ':';
	at = put_digits(at, second / S_PER_MINUTE % 60, 2);
	*at++ = ':';
	return put_digits(at, second % 60, 2);
}

void time_format_rfc3339(char out[TIME_RFC3339_SIZE], int64_t wall_s)
{
	memcpy(put_date_time(out, wall_s), "Z", 2);
}

void time_format_rfc3339_micro(char out[TIME_RFC3339_MICRO_SIZE], int64_t wall_us)
{
	int64_t wall_s = floor_div(wall_us, US_PER_S);
	char *at = put_date_time(out, wall_s);
	*at++ = '.';
	at = put_digits(at, (uint64_t)(wall_us - wall_s * US_PER_S), 6);
	memcpy(at, "Z", 2);
}

/* The part of a time's text that has not been parsed yet. */
struct time_text {
	const char *p, *end;
};

static bool take_char(struct time_text *t, char c)
{
	if (t->p == t->end || *t->p != c) {
		return false;
	}
	t->p++;
	return true;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Exactly n digits, in [min, max]. */
static bool take_digits(struct time_text *t, unsigned n, unsigned min, unsigned max, unsigned *ret)
{
	unsigned value = 0;
	for (unsigned i = 0; i < n; i++) {
		if (t->p == t->end || !is_digit(*t->p)) {
			return false;
		}
		value = value * 10 + (unsigned)(*t->p++ - '0');
	}
	*ret = value;
	return value >= min && value <= max;
}

static unsigned days_in_month(unsigned year, unsigned month)
{
	static const unsigned days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
	return days[month - 1] + (month == 2 && is_leap);
}

static bool take_date(struct time_text *t, int64_t *ret_days)
{
	unsigned year, month, day;
	if (!take_digits(t, 4, 0, 9999, &year) || !take_char(t, '-') ||
		!take_digits(t, 2, 1, 12, &month) || !take_char(t, '-') ||
		!take_digits(t, 2, 1, days_in_month(year, month), &day)) {
		return false;
	}
	*ret_days = days_of_date(year, month, day);
	return true;
}

static bool take_time(struct time_text *t, int64_t *ret_s)
{
	unsigned hour, minute, second;
	if (!take_digits(t, 2, 0, 23, &hour) || !take_char(t, ':') ||
		!take_digits(t, 2, 0, 59, &minute) || !take_char(t, ':') ||
		!take_digits(t, 2, 0, 59, &second)) {
		return false;
	}
	*ret_s = hour * S_PER_HOUR + minute * S_PER_MINUTE + second;
	return true;
}

/* An optional fraction of any length, cut to microseconds. Go takes a comma as well. */
static bool take_fraction(struct time_text *t, int64_t *ret_us)
{
	*ret_us = 0;
	if (!take_char(t, '.') && !take_char(t, ',')) {
		return true;
	}

	const char *digits = t->p;
	for (int64_t weight = US_PER_S / 10; t->p < t->end && is_digit(*t->p); t->p++, weight /= 10) {
		*ret_us += weight * (*t->p - '0');
	}
	return t->p > digits;
}

/* "Z" or "+07:00", with the ranges Go allows. */
static bool take_offset(struct time_text *t, int64_t *ret_s)
{
	*ret_s = 0;
	if (take_char(t, 'Z')) {
		return true;
	}

	int sign = take_char(t, '-') ? -1 : 1;
	if (sign > 0 && !take_char(t, '+')) {
		return false;
	}
	unsigned hours, minutes;
	if (!take_digits(t, 2, 0, 24, &hours) || !take_char(t, ':') || !take_digits(t, 2, 0, 60, &minutes)) {
		return false;
	}
	*ret_s = sign * (int64_t)(hours * S_PER_HOUR + minutes * S_PER_MINUTE);
	return true;
}

bool time_parse_rfc3339(struct str s, int64_t *ret_wall_us)
{
	struct time_text t = {s.p, str_end(s)};
	int64_t days, second, us, offset;
	if (!take_date(&t, &days) || !take_char(&t, 'T') || !take_time(&t, &second) ||
		!take_fraction(&t, &us) || !take_offset(&t, &offset) || t.p != t.end) {
		return false;
	}
	*ret_wall_us = (days * S_PER_DAY + second - offset) * US_PER_S + us;
	return true;
}

/* Up to `below` seconds a duration is written in `unit`s and, when there are any, the `rest_unit`s left over. */
struct duration_form {
	int64_t below;
	int64_t unit;
	char letter;
	int64_t rest_unit;
	char rest_letter;
};

enum { S_PER_YEAR = 365 * S_PER_DAY };

/* The rows are those of HumanDuration, in its order. */
static const struct duration_form duration_forms[] = {
	{2 * S_PER_MINUTE, 1, 's', 0, 0},
	{10 * S_PER_MINUTE, S_PER_MINUTE, 'm', 1, 's'},
	{3 * S_PER_HOUR, S_PER_MINUTE, 'm', 0, 0},
	{8 * S_PER_HOUR, S_PER_HOUR, 'h', S_PER_MINUTE, 'm'},
	{2 * S_PER_DAY, S_PER_HOUR, 'h', 0, 0},
	{8 * S_PER_DAY, S_PER_DAY, 'd', S_PER_HOUR, 'h'},
	{2 * S_PER_YEAR, S_PER_DAY, 'd', 0, 0},
	{8 * (int64_t)S_PER_YEAR, S_PER_YEAR, 'y', S_PER_DAY, 'd'},
	{INT64_MAX, S_PER_YEAR, 'y', 0, 0},
};

void duration_format_human(char out[32], int64_t seconds)
{
	if (seconds < -1) { /* one second is forgiven: clocks differ */
		memcpy(out, "<invalid>", sizeof("<invalid>"));
		return;
	}

	seconds = MAX(seconds, 0);
	const struct duration_form *form = duration_forms;
	while (seconds >= form->below && form->below < INT64_MAX) {
		form++;
	}
	int n = snprintf(out, 32, "%lld%c", (long long)(seconds / form->unit), form->letter);
	int64_t rest = form->rest_unit ? seconds % form->unit / form->rest_unit : 0;
	if (rest > 0) {
		snprintf(out + n, 32 - (size_t)n, "%lld%c", (long long)rest, form->rest_letter);
	}
}
