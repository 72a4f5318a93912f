/* A change of a recorded object: what a History tells of it, and what a Snapshot says of it beforehand. */
#ifndef API_RECORD_CHANGE_SCHEMA_H
#define API_RECORD_CHANGE_SCHEMA_H

#include "api/model/schema.h"
#include "api/rules/where.h"

/* As status.changes of a History has it; and spec.change of a Snapshot, which says more. */
extern const struct type list_changes, type_change_request;

/* A type_change_request, in normal form. */
void check_change(struct field_errors *e, const struct where *at, const struct json *change);

/* What a Recorder leaves out or hides, and a change says was left out (api/record/pointer.h). */
void check_pointers(struct field_errors *e, const struct where *at, const struct json *pointers);

bool change_is_deletion(const struct json *change);

#endif
