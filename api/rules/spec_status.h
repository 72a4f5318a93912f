/* Kinds of which clients write `spec` and controllers `status`: through the resource itself status stays as it is, and the subresource `status`
 * moves status (and metadata) alone. For the declarations of such kinds. */
#ifndef API_RULES_SPEC_STATUS_H
#define API_RULES_SPEC_STATUS_H

#include "api/model/kind.h"

/* struct kind's reset_fields, and that of the subresource. */
extern const char *const resets_status[], *const resets_spec[];

void keep_status(struct object *o, const struct object *old, struct arena *a);        /* for prepare_update */
void merge_status(struct object *stored, const struct object *sent, struct arena *a); /* struct subresource's merge */
bool bumps_generation_of_spec(const struct object *o, const struct object *old);      /* struct kind's bumps_generation */

#endif
