/* The directory of `annals up`, and what runs on it: a part of `annals doctor`. */
#ifndef CLI_DOCTOR_DOCTOR_UP_H
#define CLI_DOCTOR_DOCTOR_UP_H

#include "cli/doctor/doctor_report.h"

void doctor_check_up(struct report *r, const char *dir, int64_t now_s);

#endif
