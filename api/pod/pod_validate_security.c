/* What holds of a pod's security settings as a whole, and of the namespaces of the node that it shares. */
#include "api/pod/pod_validate_parts.h"
#include "api/rules/validate.h"

enum {
	SYSCTL_NAME_MAX = 253,
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

/* It would be the node's that changes. */
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
