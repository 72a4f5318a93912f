/* Keeps the digest of a ControllerRevision's data (docs/reference/digest.md) in an annotation of the server's. Objects made through doors
 * of upstream's groups do not get it, since they must look as upstream makes them, unless such a door is sent one. Our doors show it all
 * the same, and what they are sent back is no wish. */
#include "admission/rules.h"

#include "api/model/digest.h"
#include "api/model/history.h"

static struct json *stored_digest(const struct object *o)
{
	return o ? json_get(o->meta.annotations, ANNOTATION_DIGEST) : NULL;
}

static struct json *compute(const struct json *data, struct arena *a)
{
	char digest[DIGEST_SIZE];
	digest_of(digest, data, a);
	return json_string(a, arena_dup(a, str_of(digest)));
}

/* Without data there is nothing to show, and the write is going to be refused. */
static int keep_digest(const struct admission_attributes *attributes, struct arena *a, struct status *st _unused_)
{
	struct object *o = attributes->object;
	const struct object *old = attributes->old;
	const struct json *data = json_gets((old ? old : o)->fields, "data");
	struct json *stored = stored_digest(old);
	history_take_back(o, old, attributes->door, a);
	bool is_wanted = stored_digest(o) || (!old && door_is_own(attributes->door, attributes->kind));
	if (stored) {
		meta_set_annotation(&o->meta, a, ANNOTATION_DIGEST, stored);
	} else if (is_wanted && json_is(data, JSON_OBJECT)) {
		meta_set_annotation(&o->meta, a, ANNOTATION_DIGEST, compute(data, a));
	}
	return 0;
}

const struct admission_hook rule_digest = {
	.name = "Digest",
	.operations = ADMIT_CREATE | ADMIT_UPDATE,
	.resource = "controllerrevisions",
	.mutate = keep_digest,
};
