/* An owner that is being deleted adopts nothing: what it would adopt is about to be orphaned or collected (seed 001, the Three
 * Laws). That an object has one controller at most is for api/rules/validate.c to check, among the other rules of owner references,
 * because clients see the causes in that order. */
#include "admission/rules.h"

static bool is_new_controller(const struct admission_attributes *attributes, const struct owner_reference *owner)
{
	struct owner_reference old;
	return owner->is_controller && !(meta_controller(&attributes->old->meta, &old) && str_eq(old.uid, owner->uid));
}

static void check_adoption(const struct admission_attributes *attributes, struct field_errors *errors)
{
	const struct meta *m = &attributes->object->meta;
	const struct admission_environment *env = attributes->environment;
	for (size_t i = 0; i < meta_owner_count(m); i++) {
		struct owner_reference owner;
		meta_owner(m, i, &owner);
		if (is_new_controller(attributes, &owner) && env->is_owner_deleting(env->ctx, attributes->ns, &owner)) {
			field_forbidden(errors, field_index(errors->arena, STR("metadata.ownerReferences"), i),
				STR_FMT "/" STR_FMT " is being deleted and cannot adopt", STR_ARG(owner.kind),
				STR_ARG(owner.name));
		}
	}
}

const struct admission_hook rule_adoption = {
	.name = "Adoption",
	.operations = ADMIT_UPDATE,
	.validate = check_adoption,
};
