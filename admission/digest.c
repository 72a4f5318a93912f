/* Shows the digest of a ControllerRevision's data (docs/digest.md) as an annotation of the server's. Objects made through doors
 * of upstream's groups do not get it, since they must look as upstream makes them; but wherever it stands, it is true. */
#include "admission/rules.h"

#include "api/model/digest.h"
#include "api/model/history.h"
#include "api/model/patch_tree.h"

static struct json *shown_digest(const struct object *o)
{
	return o ? json_get(o->meta.annotations, ANNOTATION_DIGEST) : NULL;
}

static void set_annotation(struct meta *m, struct arena *a, struct json *value)
{
	m->annotations = m->annotations ? open_copy(a, m->annotations) : json_object(a);
	open_set(a, m->annotations, ANNOTATION_DIGEST, value);
}

static struct json *compute(const struct json *data, struct arena *a)
{
	char digest[DIGEST_SIZE];
	digest_of(digest, data, a);
	return json_string(a, arena_dup(a, str_of(digest)));
}

/* The hub's own group is ours. */
static bool is_own_door(const struct admission_attributes *attributes)
{
	return strcmp(attributes->door->group, attributes->kind->doors[0].group) == 0;
}

/* Without data there is nothing to show, and the write is going to be refused. */
static int show_digest(const struct admission_attributes *attributes, struct arena *a, struct status *st _unused_)
{
	struct object *o = attributes->object;
	const struct json *data = json_gets((attributes->old ? attributes->old : o)->fields, "data");
	struct json *stored = shown_digest(attributes->old);
	bool is_wanted = shown_digest(o) || (!attributes->old && is_own_door(attributes));
	if (stored) {
		set_annotation(&o->meta, a, stored);
	} else if (is_wanted && json_is(data, JSON_OBJECT)) {
		set_annotation(&o->meta, a, compute(data, a));
	}
	return 0;
}

const struct admission_hook rule_digest = {
	.name = "Digest",
	.operations = ADMIT_CREATE | ADMIT_UPDATE,
	.resource = "controllerrevisions",
	.mutate = show_digest,
};
