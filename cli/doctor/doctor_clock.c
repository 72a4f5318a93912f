/* The Date of HTTP has whole seconds, and the request itself takes time. So a clock is only
 * called wrong by what neither of these can explain. */
#include "cli/doctor/doctor_clock.h"

#include <time.h>

enum { S_US = 1000000, WARNING_US = 2 * S_US, ERROR_US = 60 * S_US };

bool http_date_parse(const char *text, int64_t *ret_wall_s)
{
	struct tm tm = {0};
	const char *end = strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &tm);
	if (!end || *end) {
		return false;
	}
	*ret_wall_s = timegm(&tm);
	return true;
}

/* By how much theirs must be ahead (negative: behind), at least. */
static int64_t skew_us(int64_t theirs_s, int64_t sent_us, int64_t heard_us)
{
	int64_t first_us = theirs_s * S_US, last_us = first_us + S_US;
	if (first_us > heard_us) {
		return first_us - heard_us;
	}
	return last_us < sent_us ? last_us - sent_us : 0;
}

void judge_clock(struct report *r, struct str subject, int64_t theirs_s, int64_t sent_us, int64_t heard_us)
{
	int64_t skew = skew_us(theirs_s, sent_us, heard_us), size = skew < 0 ? -skew : skew;
	if (size <= WARNING_US) {
		report_add(r, SEVERITY_OK, subject, NO_MEND, "its clock agrees with this machine's");
		return;
	}
	report_add(r, size > ERROR_US ? SEVERITY_ERROR : SEVERITY_WARNING, subject, mend_clock(&r->host),
		"its clock is %s this machine's by %lld s or more: certificates, tokens and Leases go by clocks",
		skew > 0 ? "ahead of" : "behind", (long long)(size / S_US));
}
