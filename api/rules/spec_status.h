/* For kinds of which clients write `spec` and controllers `status`. The resource itself never changes the status; the subresource `status`
 * changes only status and metadata. */
#ifndef API_RULES_SPEC_STATUS_H
#define API_RULES_SPEC_STATUS_H

#include "api/model/kind.h"

/* struct kind's reset_fields, and that of the subresource. */
extern const char *const resets_status[], *const resets_spec[];

void keep_status(struct object *o, const struct object *old, struct arena *a);        /* for prepare_update */
void merge_status(struct object *stored, const struct object *sent, struct arena *a); /* struct subresource's merge */
bool bumps_generation_of_spec(const struct object *o, const struct object *old);      /* struct kind's bumps_generation */

extern const struct type list_conditions;

/* The one of that type in status.conditions; NULL: none. */
const struct json *condition_find(const struct json *list, const char *type);

/* status.conditions at `path`: type, status, reason and their lengths, as k8s.io/apimachinery ValidateConditions. */
void validate_conditions(struct str path, const struct json *conditions, struct field_errors *errors);

#endif
