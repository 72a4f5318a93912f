/* Validates the placement of a pod, and its security settings. */
#include "api/core/pod_validate_parts.h"
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

/* ---- security settings of the whole pod, and the node's namespaces that it shares ---- */

enum {
	SYSCTL_NAME_MAX = 253,        /* characters: upstream's SysctlMaxLength; a longer name is refused */
	APP_ARMOR_PROFILE_MAX = 4095, /* PATH_MAX - 1 */
};

/* ---- sysctls ---- */

static bool is_lower_or_digit(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* [a-z0-9]([-_a-z0-9]*[a-z0-9])? */
static bool is_segment(struct str s)
{
	if (s.n == 0 || !is_lower_or_digit(s.p[0]) || !is_lower_or_digit(s.p[s.n - 1])) {
		return false;
	}
	for (size_t i = 0; i < s.n; i++) {
		if (!is_lower_or_digit(s.p[i]) && s.p[i] != '-' && s.p[i] != '_') {
			return false;
		}
	}
	return true;
}

/* Segments between dots or slashes. */
static bool is_sysctl(struct str name)
{
	size_t from = 0;
	if (name.n > SYSCTL_NAME_MAX) {
		return false;
	}
	for (size_t i = 0; i <= name.n; i++) {
		bool ends = i == name.n || name.p[i] == '.' || name.p[i] == '/';
		if (ends && !is_segment((struct str){name.p + from, i - from})) {
			return false;
		}
		from = ends ? i + 1 : from;
	}
	return true;
}

/* "net/ipv4/conf/eth0.1/x" is "net.ipv4.conf.eth0/1.x": where the first separator is a slash, dots and slashes change places. */
static struct str dotted(struct str name, struct arena *a)
{
	char *p;
	size_t first = 0;
	while (first < name.n && name.p[first] != '.' && name.p[first] != '/') {
		first++;
	}
	if (first == name.n || name.p[first] == '.') {
		return name;
	}
	p = arena_array(a, char, name.n);
	for (size_t i = 0; i < name.n; i++) {
		p[i] = name.p[i] == '.' ? '/' : name.p[i] == '/' ? '.' : name.p[i];
	}
	return (struct str){p, name.n};
}

/* k8s.io/component-helpers/node/util/sysctl: settings of a namespace that the pod may share with its node. */
static const struct {
	const char *name; /* with a dot at its end: of all below */
	const char *flag; /* of the spec: the namespace is the node's */
	const char *message;
} namespaced[] = {
#define OF_NET "hostNetwork", "may not be specified when 'hostNetwork' is true"
#define OF_IPC "hostIPC", "may not be specified when 'hostIPC' is true"
	{"fs.mqueue.", OF_IPC},
	{"kernel.msg", OF_IPC},
	{"kernel.msgmax", OF_IPC},
	{"kernel.msgmnb", OF_IPC},
	{"kernel.msgmni", OF_IPC},
	{"kernel.sem", OF_IPC},
	{"kernel.shm", OF_IPC},
	{"kernel.shm_rmid_forced", OF_IPC},
	{"kernel.shmall", OF_IPC},
	{"kernel.shmmax", OF_IPC},
	{"kernel.shmmni", OF_IPC},
	{"net.", OF_NET},
};

static bool is_meant(struct str name, const char *row)
{
	return row[strlen(row) - 1] == '.' ? str_starts(name, str_of(row)) : str_is(name, row);
}

/* Refuses a sysctl of a namespace that the pod shares with its node: the setting of the node would
 * change. */
static void check_own_namespace(const struct pod_check *c, const struct where *at, struct str name)
{
	struct str plain, rest;
	str_cut(dotted(name, c->errors->arena), '*', &plain, &rest);
	for (size_t i = 0; i < ARRAY_SIZE(namespaced); i++) {
		if (is_meant(plain, namespaced[i].name) && member_is_true(c->spec, namespaced[i].flag)) {
			refuse_text(c->errors, at, name, namespaced[i].message);
			return;
		}
	}
}

static void check_sysctls(const struct pod_check *c, const struct where *at, const struct json *sysctls)
{
	const struct json *sysctl;
	struct map by_name;
	list_index(&by_name, sysctls, "name");
	for (uint32_t i = 0; (sysctl = list_item(sysctls, i)); i++) {
		const struct where *name_at = WHERE(WHERE_ITEM(at, i), "name");
		struct str name = member_text(sysctl, "name");
		if (name.n == 0) {
			refuse_absent(c->errors, name_at, "");
		} else if (!is_sysctl(name)) {
			refuse_text(c->errors, name_at, name,
				"must have at most 253 characters and match regex "
				"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$");
		} else if (map_get(&by_name, name) != sysctl) {
			refuse_duplicate(c->errors, name_at, name);
		}
		check_own_namespace(c, name_at, name);
	}
	map_done(&by_name);
}

/* ---- profiles and policies ---- */

static void check_app_armor_file(const struct pod_check *c, const struct where *at, const struct json *file)
{
	struct str name = json_text(file);
	if (str_trim(name).n != name.n) {
		refuse_text(c->errors, at, name, "must not be padded with whitespace");
	} else if (name.n == 0) {
		refuse_absent(c->errors, at, "must be set when AppArmor type is Localhost");
	}
	if (name.n > APP_ARMOR_PROFILE_MAX) {
		field_too_long(c->errors, where_path(at, c->errors->arena), APP_ARMOR_PROFILE_MAX);
	}
}

static void check_app_armor(const struct pod_check *c, const struct where *at, const struct json *profile)
{
	static const char *const types[] = {"Localhost", "RuntimeDefault", "Unconfined", NULL};
	struct str type = member_text(profile, "type");
	const struct json *file = json_gets(profile, "localhostProfile");
	if (!profile) {
		return;
	}
	if (str_is(type, "Localhost")) {
		check_app_armor_file(c, WHERE(at, "localhostProfile"), file);
	} else if (type.n == 0) {
		refuse_absent(c->errors, WHERE(at, "type"), "type is required when appArmorProfile is set");
	} else if (!str_is(type, "RuntimeDefault") && !str_is(type, "Unconfined")) {
		refuse_unsupported(c->errors, WHERE(at, "type"), type, types);
	} else if (file) {
		refuse_text(c->errors, WHERE(at, "localhostProfile"), json_text(file),
			"can only be set when AppArmor type is Localhost");
	}
}

static void check_policy(const struct pod_check *c, const struct where *at, const struct json *security, const char *name,
	const char *const *supported)
{
	if (json_gets(security, name)) {
		check_choice(c->errors, WHERE_NAMED(at, name), member_text(security, name), supported, false);
	}
}

void check_pod_security(const struct pod_check *c, const struct where *at)
{
	static const char *const change_policies[] = {"Always", "OnRootMismatch", NULL};
	static const char *const group_policies[] = {"Merge", "Strict", NULL};
	/* "MountOption" is behind a feature gate, which is closed. */
	static const char *const label_policies[] = {"Recursive", NULL};
	const struct json *security = json_gets(c->spec, "securityContext"), *group;
	const struct json *groups = json_gets(security, "supplementalGroups");
	check_range(c->errors, WHERE(at, "fsGroup"), json_gets(security, "fsGroup"), ID_RANGE);
	check_range(c->errors, WHERE(at, "runAsUser"), json_gets(security, "runAsUser"), ID_RANGE);
	check_range(c->errors, WHERE(at, "runAsGroup"), json_gets(security, "runAsGroup"), ID_RANGE);
	for (uint32_t i = 0; (group = list_item(groups, i)); i++) {
		check_range(c->errors, WHERE_ITEM(WHERE(at, "supplementalGroups"), i), group, ID_RANGE);
	}
	if (member_is_true(c->spec, "shareProcessNamespace") && member_is_true(c->spec, "hostPID")) {
		refuse_invalid(c->errors, WHERE(at, "shareProcessNamespace"), json_gets(c->spec, "shareProcessNamespace"),
			"ShareProcessNamespace and HostPID cannot both be enabled");
	}
	if (!c->keeps_security) {
		check_sysctls(c, WHERE(at, "sysctls"), json_gets(security, "sysctls"));
	}
	check_policy(c, at, security, "fsGroupChangePolicy", change_policies);
	check_seccomp(c, WHERE(at, "seccompProfile"), json_gets(security, "seccompProfile"));
	if (!c->keeps_security) {
		check_app_armor(c, WHERE(at, "appArmorProfile"), json_gets(security, "appArmorProfile"));
		check_policy(c, at, security, "supplementalGroupsPolicy", group_policies);
		check_policy(c, at, security, "seLinuxChangePolicy", label_policies);
	}
}

/* ---- users of its own ---- */

static void check_devices(const struct pod_check *c, const struct where *at, const char *list)
{
	const struct json *containers = json_gets(c->spec, list), *container;
	for (uint32_t i = 0; (container = list_item(containers, i)); i++) {
		if (member_count(container, "volumeDevices")) {
			refuse_forbidden(c->errors, WHERE(WHERE_ITEM(WHERE_NAMED(at, list), i), "volumeDevices"),
				"when `hostUsers` is false");
		}
	}
}

void check_host_users(const struct pod_check *c, const struct where *at)
{
	/* "HostPID": upstream spells the paths so. */
	static const struct {
		const char *flag, *shown;
	} shared[] = {{"hostNetwork", "hostNetwork"}, {"hostPID", "HostPID"}, {"hostIPC", "HostIPC"}};
	const struct json *users = json_gets(c->spec, "hostUsers");
	if (!users || users->boolean || c->keeps_security) {
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(shared); i++) {
		if (member_is_true(c->spec, shared[i].flag)) {
			refuse_forbidden(c->errors, WHERE_NAMED(at, shared[i].shown), "when `hostUsers` is false");
		}
	}
	check_devices(c, at, "initContainers");
	check_devices(c, at, "containers");
}
