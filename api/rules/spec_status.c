/* The rule of nearly all kinds with a status: the resource itself never changes the status, the
 * subresource never changes anything else but metadata. Kinds point to these functions rather
 * than write them again. */
#include "api/rules/spec_status.h"

const char *const resets_status[] = {"status", NULL};
const char *const resets_spec[] = {"spec", NULL};

void keep_status(struct object *o, const struct object *old, struct arena *a)
{
	json_set(a, o->fields, STR("status"), json_gets(old->fields, "status"));
}

void merge_status(struct object *stored, const struct object *sent, struct arena *a)
{
	stored->meta = sent->meta;
	json_set(a, stored->fields, STR("status"), json_gets(sent->fields, "status"));
}

bool bumps_generation_of_spec(const struct object *o, const struct object *old)
{
	return !json_equal(json_gets(o->fields, "spec"), json_gets(old->fields, "spec"));
}
