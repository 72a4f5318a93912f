/* Namespaces that are not there or go away take no new objects, and three of them never go
 * (k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle; surprises.md 56). */
#include "admission/rules.h"

static const char *const protected_namespaces[] = {"default", "kube-public", "kube-system"};

static struct str group_of(const struct admission_attributes *attributes)
{
	return str_of(attributes->door->group);
}

static int protect(const struct admission_attributes *attributes, struct arena *a _unused_, struct status *st)
{
	for (size_t i = 0; i < ARRAY_SIZE(protected_namespaces); i++) {
		if (str_is(attributes->name, protected_namespaces[i])) {
			status_forbidden(st, group_of(attributes), str_of(attributes->kind->resource), attributes->name,
				"this namespace may not be deleted");
			return 1;
		}
	}
	return 0;
}

/* Names are not generated yet where clients leave that to the server. */
static struct str shown_name(const struct admission_attributes *attributes)
{
	const struct meta *m = &attributes->object->meta;
	const struct str names[] = {attributes->name, m->name, m->generate_name};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (names[i].n) {
			return names[i];
		}
	}
	return STR("Unknown");
}

static int refuse_terminating(const struct admission_attributes *attributes, struct arena *a, struct status *st)
{
	status_forbidden(st, group_of(attributes), str_of(attributes->kind->resource), shown_name(attributes),
		"unable to create new content in namespace " STR_FMT " because it is being terminated",
		STR_ARG(attributes->ns));
	status_add_cause(st, "NamespaceTerminating", STR("metadata.namespace"),
		arena_printf(a, "namespace " STR_FMT " is being terminated", STR_ARG(attributes->ns)));
	return 1;
}

static int check_namespace(const struct admission_attributes *attributes, struct arena *a, struct status *st)
{
	if (!attributes->kind->is_namespaced) {
		return 0;
	}
	switch (attributes->environment->namespace_phase(attributes->environment->ctx, attributes->ns)) {
	case NAMESPACE_ABSENT:
		status_not_found(st, STR(""), STR("namespaces"), attributes->ns);
		return 1;
	case NAMESPACE_TERMINATING:
		return refuse_terminating(attributes, a, st);
	case NAMESPACE_UNDECIDED:
		return 1;
	case NAMESPACE_UNKNOWN:
	case NAMESPACE_ACTIVE:
		break;
	}
	return 0;
}

const struct admission_hook rule_namespace_lifecycle = {
	.name = "NamespaceLifecycle",
	.operations = ADMIT_CREATE,
	.mutate = check_namespace,
};

const struct admission_hook rule_namespace_protection = {
	.name = "NamespaceProtection",
	.operations = ADMIT_DELETE,
	.resource = "namespaces",
	.mutate = protect,
};
