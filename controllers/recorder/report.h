/* What the status of a Recorder says. */
#ifndef CONTROLLERS_RECORDER_REPORT_H
#define CONTROLLERS_RECORDER_REPORT_H

#include "controllers/recorder/recording.h"

struct report_row {
	struct str group, version, resource; /* version empty: not served */
	int64_t objects, revisions, refused;
	struct str last_error;
};

struct report {
	const struct report_row *rows; /* sorted by group and resource */
	size_t n;
	bool is_following; /* all that is named is followed, and was listed */
	struct str message;
};

/* The new status of the Recorder, or NULL where it says the same already. now: RFC 3339. */
struct json *report_status(const struct json *recorder, const struct recording *recording, const struct report *report,
	struct str now, struct arena *a);

#endif
