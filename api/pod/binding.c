/* Binding of k8s.io/api/core/v1, and what registry/core/pod does with one. Nothing of it is stored: the pod
 * gets its node, what the binding has of annotations and labels, and the condition PodScheduled. Its rules
 * are not asked, nor do its fields get an owner: upstream writes it past both. */
#include "api/pod/binding.h"

#include "api/model/members.h"
#include "api/model/object_reference.h"
#include "api/pod/pod_schema.h"
#include "api/rules/where.h"
#include "base/clock.h"

static const struct field binding_fields[] = {
	OBJECT_FIELDS,
	{"target", &type_object_reference, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2), "The node.", NULL, NULL},
	{0},
};

static const struct type type_binding = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.core.v1.Binding",
	.go_type = "v1.Binding",
	.doc = "Gives a pod a node.",
	.fields = binding_fields,
};

static struct str node_of(const struct object *binding)
{
	return member_text(json_gets(binding->fields, "target"), "name");
}

static void validate(const struct object *o, struct field_errors *errors)
{
	static const char *const kinds[] = {"Node", "<empty>", NULL};
	const struct where *at = WHERE(NULL, "target");
	struct str kind = member_text(json_gets(o->fields, "target"), "kind");
	if (kind.n && !str_is(kind, "Node")) {
		refuse_unsupported(errors, WHERE(at, "kind"), kind, kinds);
	}
	check_present(errors, WHERE(at, "name"), node_of(o));
}

static struct str refuse(const struct object *o, struct arena *a)
{
	const struct json *spec = json_gets(o->fields, "spec");
	struct str name = o->meta.name, node = member_text(spec, "nodeName");
	if (meta_is_deleting(&o->meta)) {
		return arena_printf(a, "pod " STR_FMT " is being deleted, cannot be assigned to a host", STR_ARG(name));
	}
	if (node.n) {
		return arena_printf(
			a, "pod " STR_FMT " is already assigned to node \"" STR_FMT "\"", STR_ARG(name), STR_ARG(node));
	}
	if (json_gets(spec, "schedulingGates")) {
		return arena_printf(a, "pod " STR_FMT " has non-empty .spec.schedulingGates", STR_ARG(name));
	}
	return (struct str){0};
}

/* Keys are sorted; of two values the binding's counts. */
static struct json *merged(const struct json *own, const struct json *sent, struct arena *a)
{
	uint32_t n_own = own ? own->n : 0, n_sent = sent ? sent->n : 0, i = 0, k = 0;
	struct json *all = json_object(a);
	while (i < n_own || k < n_sent) {
		int order = i == n_own ? 1 : k == n_sent ? -1 : str_cmp(own->members[i].name, sent->members[k].name);
		const struct json_member *m = order < 0 ? &own->members[i] : &sent->members[k];
		json_add(a, all, m->name, m->value);
		i += order <= 0;
		k += order >= 0;
	}
	return all->n ? all : NULL;
}

static struct json *scheduled(struct str since, struct arena *a)
{
	struct json *condition = json_object(a);
	json_add(a, condition, STR("type"), json_string(a, STR("PodScheduled")));
	json_add(a, condition, STR("status"), json_string(a, STR("True")));
	json_add(a, condition, STR("lastProbeTime"), json_null(a));
	json_add(a, condition, STR("lastTransitionTime"), json_string(a, since));
	return condition;
}

static struct json *with_condition(const struct json *conditions, struct arena *a)
{
	struct json *all = conditions ? json_copy(a, conditions) : json_array(a), *c;
	char now[TIME_RFC3339_SIZE];
	time_format_rfc3339(now, clock_wall_s());
	struct str since = arena_dup(a, str_of(now));
	for (uint32_t i = 0; (c = list_item(all, i)); i++) {
		if (str_is(member_text(c, "type"), "PodScheduled")) {
			bool is_kept = str_is(member_text(c, "status"), "True");
			all->items[i] = scheduled(is_kept ? member_text(c, "lastTransitionTime") : since, a);
			return all;
		}
	}
	json_append(a, all, scheduled(since, a));
	return all;
}

static void take(struct object *o, const struct object *sent, struct arena *a)
{
	const struct json *spec = json_gets(o->fields, "spec"), *status = json_gets(o->fields, "status");
	struct json *conditions = with_condition(json_gets(status, "conditions"), a);
	status = schema_with(&type_pod_status, status, "conditions", conditions, a);
	json_set(a, o->fields, STR("spec"), schema_with(&type_pod_spec, spec, "nodeName", json_string(a, node_of(sent)), a));
	json_set(a, o->fields, STR("status"), schema_with(&type_pod_status, status, "nominatedNodeName", NULL, a));
	o->meta.annotations = merged(o->meta.annotations, sent->meta.annotations, a);
	o->meta.labels = merged(o->meta.labels, sent->meta.labels, a);
}

static const struct door doors[] = {
	{.group = "", .version = "v1", .definition = "io.k8s.api.core.v1.Binding", .standalone_only = true},
};

static const struct kind binding = {
	.kind = "Binding",
	.list_kind = "BindingList",
	.resource = "bindings",
	.singular = "binding",
	.is_namespaced = true,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.doors = doors,
	.n_doors = ARRAY_SIZE(doors),
	.type = &type_binding,
	.doc = "Gives a pod a node.",
	.validate = validate,
};

const struct view binding_view = {
	.kind = &binding,
	.take = take,
	.refuse = refuse,
};
