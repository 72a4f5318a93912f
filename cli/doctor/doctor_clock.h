/* Other machines' clocks, as far as their answers tell. */
#ifndef CLI_DOCTOR_DOCTOR_CLOCK_H
#define CLI_DOCTOR_DOCTOR_CLOCK_H

#include "cli/doctor/doctor_report.h"

/* "Sun, 06 Nov 1994 08:49:37 GMT", as HTTP's Date has it. */
bool http_date_parse(const char *text, int64_t *ret_wall_s);
/* Their clock said theirs_s (a whole second) at some moment between sent_us and heard_us of ours. More than 2 s apart: a warning; more
 * than 60 s: an error. */
void judge_clock(struct report *r, struct str subject, int64_t theirs_s, int64_t sent_us, int64_t heard_us);

#endif
