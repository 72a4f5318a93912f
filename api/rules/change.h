/* A change of a recorded object: what a History tells of it, and what a Snapshot says of it beforehand. */
#ifndef API_RULES_CHANGE_H
#define API_RULES_CHANGE_H

#include "api/model/schema.h"
#include "api/rules/where.h"

enum {
	CHANGE_MANAGERS_MAX = 8,
	CHANGE_PATHS_MAX = 32,
	CHANGE_PATH_BYTES_MAX = 256,
	CHANGE_TEXT_BYTES_MAX = 1024, /* of any other text in it */
};

/* As status.changes of a History has it; and spec.change of a Snapshot, which says more. */
extern const struct type list_changes, type_change_request;

/* A type_change_request, in normal form. */
void check_change(struct field_errors *e, const struct where *at, const struct json *change);

bool change_is_deletion(const struct json *change);

#endif
