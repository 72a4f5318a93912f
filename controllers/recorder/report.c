/* Makes the status of a Recorder. It is written only where it differs: a status that is written is an event for
 * everybody who watches. */
#include "controllers/recorder/report.h"

#include "api/model/members.h"
#include "api/rules/condition.h"

static void add_text(struct json *to, const char *name, struct str text, struct arena *a)
{
	json_add(a, to, str_of(name), json_string(a, text));
}

static struct json *row_of(const struct report_row *row, struct arena *a)
{
	struct json *j = json_object(a);

	add_text(j, "group", row->group, a);
	json_add_text(a, j, STR("version"), row->version);
	add_text(j, "resource", row->resource, a);
	json_add(a, j, STR("objects"), json_int(a, row->objects));
	json_add(a, j, STR("revisions"), json_int(a, row->revisions));
	json_add(a, j, STR("refused"), json_int(a, row->refused));
	json_add_text(a, j, STR("lastError"), row->last_error);
	return j;
}

static struct json *condition_of(
	const struct json *old, const struct recording *recording, const struct report *report, struct str now, struct arena *a)
{
	struct json *j = json_object(a);
	struct str status = report->is_following ? STR("True") : STR("False");
	struct str since = str_eq(member_text(old, "status"), status) ? member_text(old, "lastTransitionTime") : now;

	add_text(j, "type", STR("Recording"), a);
	add_text(j, "status", status, a);
	json_add(a, j, STR("observedGeneration"), json_int(a, recording->generation));
	add_text(j, "lastTransitionTime", since.n ? since : now, a);
	add_text(j, "reason", report->is_following ? STR("Following") : STR("NotFollowed"), a);
	add_text(j, "message", report->message, a);
	return j;
}

struct json *report_status(const struct json *recorder, const struct recording *recording, const struct report *report,
	struct str now, struct arena *a)
{
	const struct json *old = json_gets(recorder, "status");
	struct json *status = json_object(a), *rows = json_array(a), *conditions = json_array(a);

	for (size_t i = 0; i < report->n; i++) {
		json_append(a, rows, row_of(&report->rows[i], a));
	}
	json_append(a, conditions,
		condition_of(condition_find(json_gets(old, "conditions"), "Recording"), recording, report, now, a));
	json_add(a, status, STR("observedGeneration"), json_int(a, recording->generation));
	json_add(a, status, STR("resources"), rows);
	json_add(a, status, STR("conditions"), conditions);
	return old && json_equal(old, status) ? NULL : status;
}
