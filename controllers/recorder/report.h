/* The contents of a Recorder's status. */
#ifndef CONTROLLERS_RECORDER_REPORT_H
#define CONTROLLERS_RECORDER_REPORT_H

#include "controllers/recorder/ledger.h"

struct report_row {
	struct str group, version, resource; /* version empty: the resource is not served */
	int64_t objects, revisions, bytes, refused;
	struct str last_error;
	uint64_t recorded; /* the version up to which all is recorded; 0: unknown */
};

enum { REPORT_ROWS_MAX = 1024 }; /* the rows that a Recorder's status may hold */

struct report_rows {
	struct report_row v[REPORT_ROWS_MAX];
	size_t n;
	bool is_whole; /* all named resources are served, and have been listed */
};

/* Can the resource be listed and watched, and is it one that Recorders may name? */
bool report_can_be_followed(const struct api_resource *r);
/* Adds a row for each resource that the Recorder names but that cannot be followed. */
void report_add_unserved(struct report_rows *rows, const struct recording *r, const struct discovery *found);

struct report {
	const struct report_row *rows; /* sorted by group and resource */
	size_t n;
	bool must_tell_recorded; /* otherwise the versions in the status stay as they are, if the resources stay */
	bool is_following; /* every named resource is followed, and has been listed */
	enum ledger_standing standing;
	struct str overridden; /* what other Recorders record in its place; empty: nothing */
};

/* Returns the new status of the Recorder, or NULL if it has not changed. now: RFC 3339. */
struct json *report_status(const struct json *recorder, const struct recording *recording, const struct report *report,
	struct str now, struct arena *a);

/* The version up to which a Recorder's status says that the resource is recorded; 0: it says nothing. */
uint64_t report_recorded(const struct json *recorder, struct str group, struct str plural);

#endif
