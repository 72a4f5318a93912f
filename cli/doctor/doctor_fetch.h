/* One GET of any text, and what it tells of the other side's clock. */
#ifndef CLI_DOCTOR_DOCTOR_FETCH_H
#define CLI_DOCTOR_DOCTOR_FETCH_H

#include "cli/doctor/doctor_report.h"
#include "client/client.h"

struct doctor_fetched {
	int code; /* 0: no answer, and problem says why */
	struct buf body;
	int64_t date_s; /* the other side's clock; 0: it does not say */
	int64_t sent_us, heard_us;
	char problem[256];
};

/* Blocks, not on the client's thread. doctor_fetched_done() in any case. */
void doctor_fetch(struct client *c, const char *path, struct doctor_fetched *ret);
void doctor_fetched_done(struct doctor_fetched *f);

#endif
