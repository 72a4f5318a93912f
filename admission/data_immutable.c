/* The data of a ControllerRevision never changes. kube-apiserver compares its bytes, so there an object with a blank in its
 * data cannot be written back (surprises.md 2, 3); here the value counts, and whatever spelling is sent, the first one
 * stays. */
#include "admission/rules.h"

static struct json *data_of(const struct object *o)
{
	return json_gets(o->fields, "data");
}

static bool is_same(const struct admission_attributes *attributes)
{
	return json_equal(data_of(attributes->object), data_of(attributes->old));
}

static int keep_spelling(const struct admission_attributes *attributes, struct arena *a, struct status *st _unused_)
{
	if (is_same(attributes)) {
		json_set(a, attributes->object->fields, STR("data"), data_of(attributes->old));
	}
	return 0;
}

static void check_data(const struct admission_attributes *attributes, struct field_errors *errors)
{
	if (!is_same(attributes)) {
		field_invalid(errors, STR("data"), data_of(attributes->object), "field is immutable");
	}
}

const struct admission_hook rule_data_immutable = {
	.name = "DataImmutable",
	.operations = ADMIT_UPDATE,
	.resource = "controllerrevisions",
	.mutate = keep_spelling,
	.validate = check_data,
};
