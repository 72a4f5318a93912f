/* The schedules and time zones of CronJobs: is this one? The grammar is that of github.com/robfig/cron v3, which reads them upstream; the
 * texts are its own. Nothing here says when a schedule is due. */
#ifndef API_WORKLOAD_CRON_H
#define API_WORKLOAD_CRON_H

#include "base/arena.h"
#include "base/str.h"

/* Why it is no schedule; empty: it is one. */
struct str cron_problem(struct str schedule, struct arena *a);
/* Could it name a time zone of the IANA database? Whether the database has it is not looked at. */
bool is_time_zone_name(struct str zone);

#endif
