/* Reading what judgements have left in a report. */
#ifndef TESTS_UNIT_DOCTOR_WORLD_H
#define TESTS_UNIT_DOCTOR_WORLD_H

#include "base/json.h"
#include "cli/doctor/doctor_report.h"
#include "tests/unit/check.h"

/* The one finding of that severity that has these texts; fails the test when there is none. */
static inline const struct finding *expect_finding(
	const struct report *r, enum severity severity, const char *found, const char *fix)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct finding *f = &r->findings[i];
		if (f->severity == severity && str_contains(f->found, str_of(found)) && str_contains(f->fix, str_of(fix))) {
			return f;
		}
	}
	struct buf all;
	buf_init(&all, 1 << 20);
	report_write_text(r, false, &all);
	fprintf(stderr, "no finding \"%s\" with fix \"%s\" in:\n" STR_FMT, found, fix, STR_ARG(buf_str(&all)));
	buf_done(&all);
	fail();
	return NULL;
}

static inline void expect_only(const struct report *r, enum severity severity, size_t n)
{
	for (enum severity s = 0; s < N_SEVERITIES; s++) {
		assert_int_equal(r->counts[s], s == severity ? n : 0);
	}
}

static inline struct json *parse_json(struct arena *a, const char *text)
{
	struct json *j;
	size_t at;
	assert_int_equal(json_parse(&j, a, str_of(text), JSON_LIMITS_DEFAULT, &at), 0);
	return j;
}

#endif
