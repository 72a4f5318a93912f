/* What must hold of the places a pod may run in. */
#include "api/pod/pod_validate_parts.h"
#include "api/rules/validate.h"

#define WEIGHT_RANGE 1, 100, "must be in the range 1-100"

static void check_node_values(const struct pod_check *c, const struct where *at, const struct json *requirement)
{
	struct str op = member_text(requirement, "operator");
	uint32_t n = member_count(requirement, "values");
	const struct where *values = WHERE(at, "values");
	if (str_is(op, "In") || str_is(op, "NotIn")) {
		if (!n) {
			refuse_absent(c->errors, values, "must be specified when `operator` is 'In' or 'NotIn'");
		}
	} else if (str_is(op, "Exists") || str_is(op, "DoesNotExist")) {
		if (n) {
			refuse_forbidden(
				c->errors, values, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
		}
	} else if (str_is(op, "Gt") || str_is(op, "Lt")) {
		if (n != 1) {
			refuse_absent(c->errors, values, "must be specified single value when `operator` is 'Lt' or 'Gt'");
		}
	} else {
		refuse_text(c->errors, WHERE(at, "operator"), op, "not a valid selector operator");
	}
}

/* Values of preferred terms go unchecked, as in kube. */
static void check_node_expressions(
	const struct pod_check *c, const struct where *at, const struct json *expressions, bool checks_values)
{
	const struct json *expression, *value;
	for (uint32_t i = 0; (expression = list_item(expressions, i)); i++) {
		const struct where *item = WHERE_ITEM(at, i);
		const struct json *values = json_gets(expression, "values");
		check_node_values(c, item, expression);
		check_text(c->errors, WHERE(item, "key"), member_text(expression, "key"), validate_qualified_name);
		for (uint32_t k = 0; checks_values && (value = list_item(values, k)); k++) {
			check_text(c->errors, WHERE_ITEM(WHERE(item, "values"), k), json_text(value), validate_label_value);
		}
	}
}

/* The only field is the node's name. */
static void check_node_fields(const struct pod_check *c, const struct where *at, const struct json *expressions)
{
	const struct json *expression, *value;
	for (uint32_t i = 0; (expression = list_item(expressions, i)); i++) {
		const struct where *item = WHERE_ITEM(at, i), *values_at = WHERE(item, "values");
		struct str op = member_text(expression, "operator"), key = member_text(expression, "key");
		if (!str_is(op, "In") && !str_is(op, "NotIn")) {
			refuse_text(c->errors, WHERE(item, "operator"), op, "not a valid selector operator");
		} else if (member_count(expression, "values") != 1) {
			refuse_absent(c->errors, values_at,
				"must be only one value when `operator` is 'In' or 'NotIn' for node field selector");
		}
		if (!str_is(key, "metadata.name")) {
			refuse_text(c->errors, WHERE(item, "key"), key, "not a valid field selector key");
			continue;
		}
		for (uint32_t k = 0; (value = list_item(json_gets(expression, "values"), k)); k++) {
			check_text(c->errors, WHERE_ITEM(values_at, k), json_text(value), validate_dns_subdomain);
		}
	}
}

static void check_node_term(const struct pod_check *c, const struct where *at, const struct json *term, bool checks_values)
{
	check_node_expressions(c, WHERE(at, "matchExpressions"), json_gets(term, "matchExpressions"), checks_values);
	check_node_fields(c, WHERE(at, "matchFields"), json_gets(term, "matchFields"));
}

void check_node_selector(const struct pod_check *c, const struct where *at, const struct json *selector)
{
	const struct json *terms = json_gets(selector, "nodeSelectorTerms"), *term;
	const struct where *terms_at = WHERE(at, "nodeSelectorTerms");
	if (selector && !list_item(terms, 0)) {
		refuse_absent(c->errors, terms_at, "must have at least one node selector term");
	}
	for (uint32_t i = 0; (term = list_item(terms, i)); i++) {
		check_node_term(c, WHERE_ITEM(terms_at, i), term, true);
	}
}

static void check_node_affinity(const struct pod_check *c, const struct where *at, const struct json *affinity)
{
	static const char required[] = "requiredDuringSchedulingIgnoredDuringExecution";
	const struct json *preferred = json_gets(affinity, "preferredDuringSchedulingIgnoredDuringExecution"), *term;
	check_node_selector(c, WHERE_NAMED(at, required), json_gets(affinity, required));
	for (uint32_t i = 0; (term = list_item(preferred, i)); i++) {
		const struct where *item = WHERE_ITEM(WHERE(at, "preferredDuringSchedulingIgnoredDuringExecution"), i);
		check_range(c->errors, WHERE(item, "weight"), json_gets(term, "weight"), WEIGHT_RANGE);
		check_node_term(c, WHERE(item, "preference"), json_gets(term, "preference"), false);
	}
}

static void check_pod_term(const struct pod_check *c, const struct where *at, const struct json *term)
{
	const struct json *namespaces = json_gets(term, "namespaces"), *name;
	struct str key = member_text(term, "topologyKey");
	check_label_selector(c->errors, WHERE(at, "labelSelector"), json_gets(term, "labelSelector"));
	check_label_selector(c->errors, WHERE(at, "namespaceSelector"), json_gets(term, "namespaceSelector"));
	for (uint32_t i = 0; (name = list_item(namespaces, i)); i++) {
		/* kube says `namespace` of each, without its index. */
		check_text(c->errors, WHERE(at, "namespace"), json_text(name), validate_dns_label);
	}
	if (!key.n) {
		refuse_absent(c->errors, WHERE(at, "topologyKey"), "can not be empty");
	}
	check_text(c->errors, WHERE(at, "topologyKey"), key, validate_qualified_name);
}

static void check_pod_affinity(const struct pod_check *c, const struct where *at, const struct json *affinity)
{
	const struct json *required = json_gets(affinity, "requiredDuringSchedulingIgnoredDuringExecution"), *term;
	const struct json *preferred = json_gets(affinity, "preferredDuringSchedulingIgnoredDuringExecution");
	for (uint32_t i = 0; (term = list_item(required, i)); i++) {
		check_pod_term(c, WHERE_ITEM(WHERE(at, "requiredDuringSchedulingIgnoredDuringExecution"), i), term);
	}
	for (uint32_t i = 0; (term = list_item(preferred, i)); i++) {
		const struct where *item = WHERE_ITEM(WHERE(at, "preferredDuringSchedulingIgnoredDuringExecution"), i);
		check_range(c->errors, WHERE(item, "weight"), json_gets(term, "weight"), WEIGHT_RANGE);
		check_pod_term(c, WHERE(item, "podAffinityTerm"), json_gets(term, "podAffinityTerm"));
	}
}

void check_affinity(const struct pod_check *c, const struct where *at)
{
	const struct json *affinity = json_gets(c->spec, "affinity");
	check_node_affinity(c, WHERE(at, "nodeAffinity"), json_gets(affinity, "nodeAffinity"));
	check_pod_affinity(c, WHERE(at, "podAffinity"), json_gets(affinity, "podAffinity"));
	check_pod_affinity(c, WHERE(at, "podAntiAffinity"), json_gets(affinity, "podAntiAffinity"));
}

/* kube blames the operator for a bad value. */
static void check_toleration_value(const struct pod_check *c, const struct where *at, const struct json *toleration)
{
	static const char *const operators[] = {"Equal", "Exists", NULL};
	struct str op = member_text(toleration, "operator"), value = member_text(toleration, "value");
	if (!op.n || str_is(op, "Equal")) {
		check_text(c->errors, WHERE(at, "operator"), value, validate_label_value);
	} else if (str_is(op, "Exists")) {
		if (value.n) {
			refuse_text(c->errors, WHERE(at, "operator"), value, "value must be empty when `operator` is 'Exists'");
		}
	} else {
		/* Lt and Gt are behind a feature gate of kube's that is off */
		refuse_unsupported(c->errors, WHERE(at, "operator"), op,
			str_is(op, "Lt") || str_is(op, "Gt") ? (const char *const[]){"Equal", "Exists", "Lt", "Gt", NULL}
							     : operators);
	}
}

static void check_toleration(const struct pod_check *c, const struct where *at, const struct json *toleration)
{
	static const char *const effects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute", NULL};
	struct str key = member_text(toleration, "key"), op = member_text(toleration, "operator");
	struct str effect = member_text(toleration, "effect");
	if (key.n) {
		check_text(c->errors, WHERE(at, "key"), key, validate_qualified_name);
	} else if (!str_is(op, "Exists")) {
		refuse_text(c->errors, WHERE(at, "operator"), op,
			"operator must be Exists when `key` is empty, which means \"match all values and all keys\"");
	}
	if (json_gets(toleration, "tolerationSeconds") && !str_is(effect, "NoExecute")) {
		refuse_text(
			c->errors, WHERE(at, "effect"), effect, "effect must be 'NoExecute' when `tolerationSeconds` is set");
	}
	check_toleration_value(c, at, toleration);
	if (effect.n) {
		check_choice(c->errors, WHERE(at, "effect"), effect, effects, false);
	}
}

void check_tolerations(const struct pod_check *c, const struct where *at)
{
	const struct json *tolerations = json_gets(c->spec, "tolerations"), *toleration;
	for (uint32_t i = 0; (toleration = list_item(tolerations, i)); i++) {
		check_toleration(c, WHERE_ITEM(at, i), toleration);
	}
}

static void check_constraint(const struct pod_check *c, const struct where *at, const struct json *constraint)
{
	static const char *const actions[] = {"DoNotSchedule", "ScheduleAnyway", NULL};
	static const char *const policies[] = {"Ignore", "Honor", NULL};
	static const char *const policy_names[] = {"nodeAffinityPolicy", "nodeTaintsPolicy"};
	check_range(
		c->errors, WHERE(at, "maxSkew"), json_gets(constraint, "maxSkew"), 1, INT64_MAX, "must be greater than zero");
	if (!member_text(constraint, "topologyKey").n) {
		refuse_absent(c->errors, WHERE(at, "topologyKey"), "can not be empty");
	}
	check_choice(c->errors, WHERE(at, "whenUnsatisfiable"), member_text(constraint, "whenUnsatisfiable"), actions, false);
	check_range(c->errors, WHERE(at, "minDomains"), json_gets(constraint, "minDomains"), 1, INT64_MAX,
		"must be greater than zero");
	for (size_t i = 0; i < ARRAY_SIZE(policy_names); i++) {
		if (json_gets(constraint, policy_names[i])) {
			check_choice(c->errors, WHERE_NAMED(at, policy_names[i]), member_text(constraint, policy_names[i]),
				policies, false);
		}
	}
	check_label_selector(c->errors, WHERE(at, "labelSelector"), json_gets(constraint, "labelSelector"));
}

/* Topology and action together say what kind of constraint it is; of each kind, the last is the one that counts. */
static struct str kind_of(const struct json *constraint, struct arena *a)
{
	return arena_printf(a, "{" STR_FMT ", " STR_FMT "}", STR_ARG(member_text(constraint, "topologyKey")),
		STR_ARG(member_text(constraint, "whenUnsatisfiable")));
}

void check_spread(const struct pod_check *c, const struct where *at)
{
	const struct json *constraints = json_gets(c->spec, "topologySpreadConstraints");
	struct json *constraint;
	struct map last;
	map_init(&last, member_count(c->spec, "topologySpreadConstraints"));
	for (uint32_t i = 0; (constraint = list_item(constraints, i)); i++) {
		map_set(&last, kind_of(constraint, c->errors->arena), constraint, NULL);
	}
	for (uint32_t i = 0; (constraint = list_item(constraints, i)); i++) {
		struct str kind = kind_of(constraint, c->errors->arena);
		check_constraint(c, WHERE_ITEM(at, i), constraint);
		if (map_get(&last, kind) != constraint) {
			refuse_duplicate(c->errors, WHERE(WHERE_ITEM(at, i), "{topologyKey, whenUnsatisfiable}"), kind);
		}
	}
	map_done(&last);
}
