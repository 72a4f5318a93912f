/* The order of the chain is a decision, not an accident of registration: so it is one table, read
 * from top to bottom. Rules are pure, and see other objects through the attributes only. */
#include "admission/rules.h"

/* Refusals that need no look at the object come first; what computes from the object's data comes after what may restore it. */
static const struct admission_hook *const chain[] = {
	&rule_namespace_protection,
	&rule_namespace_lifecycle,
	&rule_pod_classes,
	&rule_data_immutable,
	&rule_digest,
	&rule_adoption,
};

static bool is_about(const struct admission_hook *hook, const struct admission_attributes *attributes)
{
	return (hook->operations & attributes->operation) &&
		(!hook->resource || strcmp(hook->resource, attributes->kind->resource) == 0);
}

int admission_mutate(const struct admission_attributes *attributes, struct arena *a, struct status *st)
{
	for (size_t i = 0; i < ARRAY_SIZE(chain); i++) {
		if (chain[i]->mutate && is_about(chain[i], attributes) && chain[i]->mutate(attributes, a, st)) {
			return 1;
		}
	}
	return 0;
}

void admission_validate(const struct admission_attributes *attributes, struct field_errors *errors)
{
	for (size_t i = 0; i < ARRAY_SIZE(chain); i++) {
		if (chain[i]->validate && is_about(chain[i], attributes)) {
			chain[i]->validate(attributes, errors);
		}
	}
}
