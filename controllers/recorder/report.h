/* The contents of a Recorder's status. */
#ifndef CONTROLLERS_RECORDER_REPORT_H
#define CONTROLLERS_RECORDER_REPORT_H

#include "controllers/recorder/recording.h"

struct report_row {
	struct str group, version, resource; /* version empty: the resource is not served */
	int64_t objects, revisions, refused;
	struct str last_error;
};

struct report {
	const struct report_row *rows; /* sorted by group and resource */
	size_t n;
	bool is_following; /* every named resource is followed, and has been listed */
	struct str message;
	struct str overridden; /* what other Recorders record in its place; empty: nothing */
};

/* Returns the new status of the Recorder, or NULL if it has not changed. now: RFC 3339. */
struct json *report_status(const struct json *recorder, const struct recording *recording, const struct report *report,
	struct str now, struct arena *a);

#endif
