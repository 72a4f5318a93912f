/* What a pod may say of its priority and its runtime: names of classes that are there, and of numbers only those that follow from the
 * class. Neither PriorityClasses nor RuntimeClasses are kinds here, so there are only the classes that every cluster is born with. */
#include "admission/rules.h"

#include "api/model/members.h"
#include "api/pod/pod_rules.h"

static const struct json *spec_of(const struct admission_attributes *attributes)
{
	return json_gets(attributes->object->fields, "spec");
}

static int check_priority(const struct admission_attributes *attributes, struct status *st)
{
	const struct json *spec = spec_of(attributes), *sent = json_gets(spec, "priority"),
			  *policy = json_gets(spec, "preemptionPolicy");
	struct str class_name = member_text(spec, "priorityClassName");
	int64_t priority;
	if (!pod_priority_of(class_name, &priority)) {
		status_forbidden(st, STR(""), STR("pods"), attributes->name, "no PriorityClass with name " STR_FMT " was found",
			STR_ARG(class_name));
		return 1;
	}
	if (sent && member_int(spec, "priority") != priority) {
		status_forbidden(st, STR(""), STR("pods"), attributes->name,
			"the integer value of priority (" STR_FMT ") must not be provided in pod spec; priority admission "
								  "controller computed %lld from the given PriorityClass name",
			STR_ARG(json_text(sent)), (long long)priority);
		return 1;
	}
	if (policy && !str_is(json_text(policy), "PreemptLowerPriority")) {
		status_forbidden(st, STR(""), STR("pods"), attributes->name,
			"the string value of PreemptionPolicy (" STR_FMT
			") must not be provided in pod spec; priority admission controller computed PreemptLowerPriority from "
			"the given "
			"PriorityClass name",
			STR_ARG(json_text(policy)));
		return 1;
	}
	return 0;
}

static int check_runtime(const struct admission_attributes *attributes, struct status *st)
{
	const struct json *name = json_gets(spec_of(attributes), "runtimeClassName");
	if (name) {
		status_forbidden(st, STR(""), STR("pods"), attributes->name, "pod rejected: RuntimeClass " STR_FMT " not found",
			STR_ARG(go_quote(st->arena, json_text(name))));
	}
	return name != NULL;
}

static int check_classes(const struct admission_attributes *attributes, struct arena *a _unused_, struct status *st)
{
	return attributes->subresource.n ? 0 : check_priority(attributes, st) || check_runtime(attributes, st);
}

const struct admission_hook rule_pod_classes = {
	.name = "PodClasses",
	.operations = ADMIT_CREATE,
	.resource = "pods",
	.mutate = check_classes,
};
