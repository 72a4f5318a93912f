/* Validates containers, their ports, probes, hooks and resources, and references to fields. */
#include "api/core/pod_validate_parts.h"
#include "api/model/quantity.h"
#include "api/rules/validate.h"

/* Characters of IANA's service names; a longer name of a port is refused. A pod has far fewer names
 * than NAMES_MAX. */
enum { PORT_NAME_MAX = 15, NAMES_MAX = 1000000 /* as JSON has values */ };

static bool has_letter(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] >= 'a' && s.p[i] <= 'z') {
			return true;
		}
	}
	return false;
}

static bool is_port_text(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-') {
			return false;
		}
	}
	return s.n > 0;
}

/* IsValidPortName of k8s.io/apimachinery/pkg/util/validation: IANA's service names, with these
 * messages. */
size_t validate_port_name(struct str s, const char **ret)
{
	size_t n = 0;
	if (s.n > PORT_NAME_MAX) {
		ret[n++] = "must be no more than 15 characters";
	}
	if (!is_port_text(s)) {
		ret[n++] = "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)";
	}
	if (!has_letter(s)) {
		ret[n++] = "must contain at least one letter (a-z)";
	}
	if (str_contains(s, STR("--"))) {
		ret[n++] = "must not contain consecutive hyphens";
	}
	if (n < VALIDATE_MESSAGES_MAX && s.n && (s.p[0] == '-' || s.p[s.n - 1] == '-')) {
		ret[n++] = "must not begin or end with a hyphen";
	}
	return n;
}

/* IsRelaxedEnvVarName: what was once a C identifier may be nearly anything since
 * RelaxedEnvironmentVariableValidation. */
static size_t validate_env_name(struct str s, const char **ret)
{
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] < ' ' || s.p[i] > '~' || s.p[i] == '=') {
			ret[0] = "a valid environment variable name must consist only of printable ASCII characters other than "
				 "'='";
			return 1;
		}
	}
	return 0;
}

static const char *const protocols[] = {"SCTP", "TCP", "UDP", NULL};

static bool add_name(struct map *seen, struct str name)
{
	if (map_get(seen, name)) {
		return false;
	}
	map_set(seen, name, seen, NULL);
	return true;
}

static void check_port_entry(const struct pod_check *c, const struct where *at, const struct json *port, struct map *names)
{
	struct field_errors *e = c->errors;
	struct str name = member_text(port, "name");
	const struct json *host_port = json_gets(port, "hostPort");
	size_t n_before = e->n;
	if (name.n) {
		check_text(e, WHERE(at, "name"), name, validate_port_name);
	}
	if (name.n && e->n == n_before && !add_name(names, name)) {
		refuse_duplicate(e, WHERE(at, "name"), name);
	}
	if (!member_int(port, "containerPort")) {
		refuse_absent(e, WHERE(at, "containerPort"), "");
	} else {
		check_range(e, WHERE(at, "containerPort"), json_gets(port, "containerPort"), PORT_RANGE);
	}
	if (host_port) {
		check_range(e, WHERE(at, "hostPort"), host_port, PORT_RANGE);
	}
	check_choice(e, WHERE(at, "protocol"), member_text(port, "protocol"), protocols, true);
}

static void check_ports(const struct pod_check *c, const struct where *at, const struct json *ports)
{
	struct map names;
	const struct json *port;
	map_init(&names, NAMES_MAX);
	for (uint32_t i = 0; (port = list_item(ports, i)); i++) {
		check_port_entry(c, WHERE_ITEM(at, i), port, &names);
	}
	map_done(&names);
}

/* Two containers cannot have one port of the node. */
static void check_host_ports(const struct pod_check *c, const struct where *at, const struct json *container, struct map *seen)
{
	const struct json *ports = json_gets(container, "ports"), *port;
	for (uint32_t i = 0; (port = list_item(ports, i)); i++) {
		int64_t number = member_int(port, "hostPort");
		struct str key = arena_printf(c->errors->arena, STR_FMT "/" STR_FMT "/%lld",
			STR_ARG(member_text(port, "protocol")), STR_ARG(member_text(port, "hostIP")), (long long)number);
		if (number && !add_name(seen, key)) {
			refuse_duplicate(c->errors, WHERE(WHERE_ITEM(WHERE(at, "ports"), i), "hostPort"), key);
		}
	}
}

/* validateConfigMapKeySelector and validateSecretKeySelector, which differ in nothing that is
 * checked here. */
static void check_key_ref(const struct pod_check *c, const struct where *at, const struct json *ref)
{
	struct str key = member_text(ref, "key");
	check_text(c->errors, WHERE(at, "name"), member_text(ref, "name"), validate_dns_subdomain);
	if (!key.n) {
		refuse_absent(c->errors, WHERE(at, "key"), "");
	} else {
		check_text(c->errors, WHERE(at, "key"), key, validate_data_key);
	}
}

/* validateEnvVarValueFrom: sources are checked one by one before they are counted, so errors
 * come in this order. */
static void check_value_from(const struct pod_check *c, const struct where *at, const struct json *env)
{
	const struct json *from = json_gets(env, "valueFrom");
	if (!from) {
		return;
	}
	if (json_gets(from, "fieldRef")) {
		check_field_ref(c, WHERE(at, "fieldRef"), json_gets(from, "fieldRef"), false);
	}
	if (json_gets(from, "resourceFieldRef")) {
		check_resource_ref(c, WHERE(at, "resourceFieldRef"), json_gets(from, "resourceFieldRef"), false);
	}
	if (json_gets(from, "configMapKeyRef")) {
		check_key_ref(c, WHERE(at, "configMapKeyRef"), json_gets(from, "configMapKeyRef"));
	}
	if (json_gets(from, "secretKeyRef")) {
		check_key_ref(c, WHERE(at, "secretKeyRef"), json_gets(from, "secretKeyRef"));
	}
	if (from->n == 0) {
		refuse_text(c->errors, at, STR(""),
			"must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or "
			"`fileKeyRef`");
	} else if (member_text(env, "value").n) {
		refuse_text(c->errors, at, STR(""), "may not be specified when `value` is not empty");
	} else if (from->n > 1) {
		refuse_text(c->errors, at, STR(""), "may not have more than one field specified at a time");
	}
}

static void check_env(const struct pod_check *c, const struct where *at, const struct json *list)
{
	const struct json *env;
	for (uint32_t i = 0; (env = list_item(list, i)); i++) {
		const struct where *item = WHERE_ITEM(at, i);
		check_present(c->errors, WHERE(item, "name"), member_text(env, "name"));
		check_text(c->errors, WHERE(item, "name"), member_text(env, "name"), validate_env_name);
		check_value_from(c, WHERE(item, "valueFrom"), env);
	}
}

static void check_env_from(const struct pod_check *c, const struct where *at, const struct json *list)
{
	static const char *const sources[] = {"configMapRef", "secretRef"};
	const struct json *from;
	for (uint32_t i = 0; (from = list_item(list, i)); i++) {
		const struct where *item = WHERE_ITEM(at, i);
		size_t n = 0;
		check_text(c->errors, WHERE(item, "prefix"), member_text(from, "prefix"), validate_env_name);
		for (size_t k = 0; k < ARRAY_SIZE(sources); k++) {
			const struct json *source = json_gets(from, sources[k]);
			n += source != NULL;
			if (source && !member_text(source, "name").n) {
				refuse_absent(c->errors, WHERE(WHERE_NAMED(item, sources[k]), "name"), "");
			}
		}
		if (n != 1) {
			refuse_text(c->errors, at, STR(""),
				n ? "may not have more than one field specified at a time"
				  : "must specify one of: `configMapRef` or `secretRef`");
		}
	}
}

static const char *const propagations[] = {"Bidirectional", "HostToContainer", "None", NULL};
static const char *const recursions[] = {"Disabled", "Enabled", "IfPossible", NULL};

/* kube reports errors in these at the list, not the item. */
static void check_mount_modes(
	const struct pod_check *c, const struct where *at, const struct json *mount, const struct json *container)
{
	const struct json *propagation = json_gets(mount, "mountPropagation"),
			  *recursion = json_gets(mount, "recursiveReadOnly");
	bool is_privileged = member_is_true(json_gets(container, "securityContext"), "privileged");
	if (propagation) {
		check_choice(c->errors, WHERE(at, "mountPropagation"), json_text(propagation), propagations, false);
	}
	if (str_is(json_text(propagation), "Bidirectional") && !is_privileged) {
		refuse_forbidden(c->errors, WHERE(at, "mountPropagation"),
			"Bidirectional mount propagation is available only to privileged containers");
	}
	if (recursion) {
		check_choice(c->errors, WHERE(at, "recursiveReadOnly"), json_text(recursion), recursions, false);
	}
}

static void check_mount(const struct pod_check *c, const struct where *at, const struct json *mount, struct map *paths)
{
	struct field_errors *e = c->errors;
	struct str name = member_text(mount, "name"), path = member_text(mount, "mountPath");
	check_present(e, WHERE(at, "name"), name);
	if (!map_get(&c->volumes, name)) {
		refuse_unknown(e, WHERE(at, "name"), name);
	}
	check_present(e, WHERE(at, "mountPath"), path);
	if (!add_name(paths, path)) {
		refuse_text(e, WHERE(at, "mountPath"), path, "must be unique");
	}
}

/* As with the modes, kube names the list; only where both are given does it name the item. */
static void check_sub_paths(
	const struct pod_check *c, const struct where *at, const struct where *item, const struct json *mount)
{
	struct str path = member_text(mount, "subPath"), expression = member_text(mount, "subPathExpr");
	if (path.n) {
		check_path(c->errors, WHERE(at, "subPath"), path, true);
	}
	if (path.n && expression.n) {
		refuse_text(
			c->errors, WHERE(item, "subPathExpr"), expression, "subPathExpr and subPath are mutually exclusive");
	}
	if (expression.n) {
		check_path(c->errors, WHERE(at, "subPathExpr"), expression, true);
	}
}

static void check_mounts(const struct pod_check *c, const struct where *at, const struct json *container)
{
	const struct json *mounts = json_gets(container, "volumeMounts"), *mount;
	struct map paths;
	map_init(&paths, NAMES_MAX);
	for (uint32_t i = 0; (mount = list_item(mounts, i)); i++) {
		check_mount(c, WHERE_ITEM(at, i), mount, &paths);
		check_sub_paths(c, at, WHERE_ITEM(at, i), mount);
		check_mount_modes(c, at, mount, container);
	}
	map_done(&paths);
}

/* ValidateVolumeDevices: only claims can be handed out as block devices. */
static void check_devices(const struct pod_check *c, const struct where *at, const struct json *devices)
{
	const struct json *device;
	for (uint32_t i = 0; (device = list_item(devices, i)); i++) {
		const struct where *item = WHERE_ITEM(at, i);
		struct str name = member_text(device, "name");
		const struct json *volume = map_get(&c->volumes, name);
		check_present(c->errors, WHERE(item, "name"), name);
		if (!volume) {
			refuse_unknown(c->errors, WHERE(item, "name"), name);
		} else if (!json_gets(volume, "persistentVolumeClaim") && !json_gets(volume, "ephemeral")) {
			refuse_text(c->errors, WHERE(item, "name"), name,
				"can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode");
		}
		check_present(c->errors, WHERE(item, "devicePath"), member_text(device, "devicePath"));
	}
}

void check_seccomp(const struct pod_check *c, const struct where *at, const struct json *profile)
{
	static const char *const types[] = {"Localhost", "RuntimeDefault", "Unconfined", NULL};
	struct str type = member_text(profile, "type");
	if (!profile) {
		return;
	}
	check_choice(c->errors, WHERE(at, "type"), type, types, true);
	const struct json *local = json_gets(profile, "localhostProfile");
	if (str_is(type, "Localhost") && !local) {
		refuse_absent(c->errors, WHERE(at, "localhostProfile"), "must be set when seccomp type is Localhost");
	} else if (str_is(type, "Localhost")) {
		check_path(c->errors, WHERE(at, "localhostProfile"), json_text(local), true);
	} else if (local) {
		refuse_invalid(
			c->errors, WHERE(at, "localhostProfile"), profile, "can only be set when seccomp type is Localhost");
	}
}

static void check_security(const struct pod_check *c, const struct where *at, const struct json *security)
{
	static const char *const mounts[] = {"Default", "Unmasked", NULL};
	check_range(c->errors, WHERE(at, "runAsUser"), json_gets(security, "runAsUser"), ID_RANGE);
	check_range(c->errors, WHERE(at, "runAsGroup"), json_gets(security, "runAsGroup"), ID_RANGE);
	if (json_gets(security, "procMount")) {
		check_choice(c->errors, WHERE(at, "procMount"), member_text(security, "procMount"), mounts, false);
	}
	check_seccomp(c, WHERE(at, "seccompProfile"), json_gets(security, "seccompProfile"));
	const struct json *escalation = json_gets(security, "allowPrivilegeEscalation");
	if (escalation && !escalation->boolean && member_is_true(security, "privileged")) {
		refuse_invalid(
			c->errors, at, security, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
	}
}

static void check_restart_rules(const struct pod_check *c, const struct where *at, const struct json *container)
{
	static const char *const policies[] = {"Always", "Never", "OnFailure", NULL};
	const struct json *policy = json_gets(container, "restartPolicy");
	if (policy) {
		check_choice(c->errors, WHERE(at, "restartPolicy"), json_text(policy), policies, false);
	} else if (json_gets(container, "restartPolicyRules")) {
		refuse_absent(c->errors, WHERE(at, "restartPolicy"), "must specify restartPolicy when restart rules are used");
	}
}

/* validateContainerCommon, in its order, so that errors come in kube's. */
static void check_container(const struct pod_check *c, const struct where *at, const struct json *container)
{
	static const char *const messages[] = {"File", "FallbackToLogsOnError", NULL};
	static const char *const pulls[] = {"Always", "IfNotPresent", "Never", NULL};
	struct field_errors *e = c->errors;
	struct str name = member_text(container, "name");
	if (name.n) {
		check_text(e, WHERE(at, "name"), name, validate_dns_label);
	} else {
		refuse_absent(e, WHERE(at, "name"), "");
	}
	check_present(e, WHERE(at, "image"), member_text(container, "image"));
	check_choice(
		e, WHERE(at, "terminationMessagePolicy"), member_text(container, "terminationMessagePolicy"), messages, true);
	check_ports(c, WHERE(at, "ports"), json_gets(container, "ports"));
	check_env(c, WHERE(at, "env"), json_gets(container, "env"));
	check_env_from(c, WHERE(at, "envFrom"), json_gets(container, "envFrom"));
	check_mounts(c, WHERE(at, "volumeMounts"), container);
	check_devices(c, WHERE(at, "volumeDevices"), json_gets(container, "volumeDevices"));
	check_choice(e, WHERE(at, "imagePullPolicy"), member_text(container, "imagePullPolicy"), pulls, true);
	check_resources(c, WHERE(at, "resources"), json_gets(container, "resources"));
	check_security(c, WHERE(at, "securityContext"), json_gets(container, "securityContext"));
}

static void check_lifecycle(const struct pod_check *c, const struct where *at, const struct json *lifecycle)
{
	if (json_gets(lifecycle, "postStart")) {
		check_handler(c, WHERE(at, "postStart"), json_gets(lifecycle, "postStart"));
	}
	if (json_gets(lifecycle, "preStop")) {
		check_handler(c, WHERE(at, "preStop"), json_gets(lifecycle, "preStop"));
	}
}

void check_containers(const struct pod_check *c, const struct where *at)
{
	const struct json *containers = json_gets(c->spec, "containers"), *container;
	struct map names, host_ports;
	if (!list_item(containers, 0)) {
		refuse_absent(c->errors, at, "");
		return;
	}
	map_init(&names, NAMES_MAX);
	map_init(&host_ports, NAMES_MAX);
	for (uint32_t i = 0; (container = list_item(containers, i)); i++) {
		const struct where *item = WHERE_ITEM(at, i);
		check_container(c, item, container);
		if (!add_name(&names, member_text(container, "name"))) {
			refuse_duplicate(c->errors, WHERE(item, "name"), member_text(container, "name"));
		}
		check_lifecycle(c, WHERE(item, "lifecycle"), json_gets(container, "lifecycle"));
		check_probes(c, item, container);
		check_restart_rules(c, item, container);
	}
	for (uint32_t i = 0; (container = list_item(containers, i)); i++) {
		check_host_ports(c, WHERE_ITEM(at, i), container, &host_ports);
	}
	map_done(&host_ports);
	map_done(&names);
}

/* Only those that stay have hooks and probes. */
static void check_init_extras(const struct pod_check *c, const struct where *at, const struct json *container)
{
	static const char *const extras[] = {"lifecycle", "livenessProbe", "readinessProbe", "startupProbe"};
	if (str_is(member_text(container, "restartPolicy"), "Always")) {
		check_lifecycle(c, WHERE(at, "lifecycle"), json_gets(container, "lifecycle"));
		check_probes(c, at, container);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(extras); i++) {
		if (json_gets(container, extras[i])) {
			refuse_forbidden(c->errors, WHERE_NAMED(at, extras[i]),
				"may not be set for init containers without restartPolicy=Always");
		}
	}
}

static void add_names(struct map *names, const struct json *containers)
{
	const struct json *container;
	for (uint32_t i = 0; (container = list_item(containers, i)); i++) {
		add_name(names, member_text(container, "name"));
	}
}

void check_init_containers(const struct pod_check *c, const struct where *at)
{
	const struct json *containers = json_gets(c->spec, "initContainers"), *container;
	struct map names;
	map_init(&names, NAMES_MAX);
	add_names(&names, json_gets(c->spec, "containers"));
	for (uint32_t i = 0; (container = list_item(containers, i)); i++) {
		const struct where *item = WHERE_ITEM(at, i);
		struct str name = member_text(container, "name");
		check_container(c, item, container);
		check_restart_rules(c, item, container);
		if (name.n && !add_name(&names, name)) {
			refuse_duplicate(c->errors, WHERE(item, "name"), name);
		}
		check_init_extras(c, item, container);
	}
	map_done(&names);
}

/* Refuses the fields by which an ordinary container serves others: an ephemeral one must not have
 * them. */
static void check_ephemeral_extras(const struct pod_check *c, const struct where *at, const struct json *container)
{
	static const char *const extras[] = {
		"ports", "resources", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle"};
	static const char *const paths[] = {"subPath", "subPathExpr"};
	const struct json *mounts = json_gets(container, "volumeMounts"), *mount;
	for (size_t i = 0; i < ARRAY_SIZE(extras); i++) {
		const struct json *extra = json_gets(container, extras[i]);
		if (json_is(extra, JSON_ARRAY) ||
			(json_is(extra, JSON_OBJECT) && (extra->n || strcmp(extras[i], "resources") != 0))) {
			refuse_forbidden(c->errors, WHERE_NAMED(at, extras[i]), "cannot be set for an Ephemeral Container");
		}
	}
	for (uint32_t i = 0; (mount = list_item(mounts, i)); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(paths); k++) {
			if (member_text(mount, paths[k]).n) {
				refuse_forbidden(c->errors, WHERE_NAMED(WHERE_ITEM(WHERE(at, "volumeMounts"), i), paths[k]),
					"cannot be set for an Ephemeral Container");
			}
		}
	}
}

void check_ephemeral_containers(const struct pod_check *c, const struct where *at)
{
	const struct json *containers = json_gets(c->spec, "ephemeralContainers"), *container;
	struct map names, others;
	map_init(&names, NAMES_MAX);
	map_init(&others, NAMES_MAX);
	for (size_t i = 0; i < 2; i++) {
		add_names(i ? &names : &others, json_gets(c->spec, "containers"));
		add_names(i ? &names : &others, json_gets(c->spec, "initContainers"));
	}
	for (uint32_t i = 0; (container = list_item(containers, i)); i++) {
		const struct where *item = WHERE_ITEM(at, i);
		struct str name = member_text(container, "name"), target = member_text(container, "targetContainerName"),
			   image = member_text(container, "image");
		check_container(c, item, container);
		if (str_trim(image).n != image.n) {
			refuse_text(c->errors, WHERE(item, "image"), image, "must not have leading or trailing whitespace");
		}
		if (!add_name(&names, name)) {
			refuse_duplicate(c->errors, WHERE(item, "name"), name);
		}
		if (target.n && !map_get(&others, target)) {
			refuse_unknown(c->errors, WHERE(item, "targetContainerName"), target);
		}
		check_ephemeral_extras(c, item, container);
	}
	map_done(&others);
	map_done(&names);
}

/* Probes and hooks, references to fields, and resources. */

void check_port(const struct pod_check *c, const struct where *at, const struct json *port)
{
	if (json_is(port, JSON_STRING)) {
		check_text(c->errors, at, json_text(port), validate_port_name);
	} else {
		check_range(c->errors, at, port, PORT_RANGE);
	}
}

static bool is_header_name(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && c != '-') {
			return false;
		}
	}
	return s.n > 0;
}

static void check_exec(const struct pod_check *c, const struct where *at, const struct json *exec)
{
	if (!member_count(exec, "command")) {
		refuse_absent(c->errors, WHERE(at, "command"), "");
	}
}

static void check_http(const struct pod_check *c, const struct where *at, const struct json *http)
{
	static const char *const schemes[] = {"HTTP", "HTTPS", NULL};
	const struct json *headers = json_gets(http, "httpHeaders"), *header;
	check_present(c->errors, WHERE(at, "path"), member_text(http, "path"));
	check_port(c, WHERE(at, "port"), json_gets(http, "port"));
	check_choice(c->errors, WHERE(at, "scheme"), member_text(http, "scheme"), schemes, false);
	for (uint32_t i = 0; (header = list_item(headers, i)); i++) {
		if (!is_header_name(member_text(header, "name"))) {
			refuse_text(c->errors, WHERE(at, "httpHeaders"), member_text(header, "name"),
				"a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', "
				"regex used "
				"for validation is '[-A-Za-z0-9]+')");
		}
	}
}

static void check_socket(const struct pod_check *c, const struct where *at, const struct json *socket)
{
	check_port(c, WHERE(at, "port"), json_gets(socket, "port"));
}

/* The message says "less than", but kube takes the whole grace period too. */
static void check_sleep(const struct pod_check *c, const struct where *at, const struct json *sleep)
{
	int64_t grace_s = member_int(c->spec, "terminationGracePeriodSeconds"), seconds = member_int(sleep, "seconds");
	if (seconds < 0 || seconds > grace_s) {
		field_invalid(c->errors, where_path(at, c->errors->arena), json_gets(sleep, "seconds"),
			"must be non-negative and less than terminationGracePeriodSeconds (%lld)", (long long)grace_s);
	}
}

/* validateHandler: the first kind counts and is checked; each further one is only forbidden. */
void check_handler(const struct pod_check *c, const struct where *at, const struct json *handler)
{
	static const struct {
		const char *name;
		void (*check)(const struct pod_check *c, const struct where *at, const struct json *action);
	} actions[] = {{"exec", check_exec}, {"httpGet", check_http}, {"tcpSocket", check_socket}, {"grpc", check_socket},
		{"sleep", check_sleep}};
	bool has_one = false;
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
		const struct json *action = json_gets(handler, actions[i].name);
		if (action && has_one) {
			refuse_forbidden(
				c->errors, WHERE_NAMED(at, actions[i].name), "may not specify more than 1 handler type");
		} else if (action) {
			has_one = true;
			actions[i].check(c, WHERE_NAMED(at, actions[i].name), action);
		}
	}
	if (!has_one) {
		refuse_absent(c->errors, at, "must specify a handler type");
	}
}

static void check_probe(const struct pod_check *c, const struct where *at, const struct json *probe)
{
	static const char *const numbers[] = {
		"initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"};
	check_handler(c, at, probe);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		check_not_negative(c->errors, WHERE_NAMED(at, numbers[i]), json_gets(probe, numbers[i]));
	}
	check_range(c->errors, WHERE(at, "terminationGracePeriodSeconds"), json_gets(probe, "terminationGracePeriodSeconds"), 1,
		INT64_MAX, "must be greater than 0");
}

void check_probes(const struct pod_check *c, const struct where *at, const struct json *container)
{
	static const char *const names[] = {"livenessProbe", "readinessProbe", "startupProbe"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct json *probe = json_gets(container, names[i]);
		const struct where *here = WHERE_NAMED(at, names[i]);
		bool is_readiness = str_is(STR("readinessProbe"), names[i]);
		if (!probe) {
			continue;
		}
		check_probe(c, here, probe);
		if (is_readiness && json_gets(probe, "terminationGracePeriodSeconds")) {
			refuse_invalid(c->errors, WHERE(here, "terminationGracePeriodSeconds"),
				json_gets(probe, "terminationGracePeriodSeconds"), "must not be set for readinessProbes");
		}
		if (!is_readiness && member_int(probe, "successThreshold") != 1) {
			refuse_invalid(
				c->errors, WHERE(here, "successThreshold"), json_gets(probe, "successThreshold"), "must be 1");
		}
	}
}

/* References. */

static bool is_among(struct str s, const char *const *texts)
{
	for (; *texts; texts++) {
		if (str_is(s, *texts)) {
			return true;
		}
	}
	return false;
}

/* "metadata.labels['key']": the key between the quotes. */
static bool cut_subscript(struct str path, struct str *ret_head, struct str *ret_key)
{
	if (!str_ends(path, STR("']")) || !str_cut(path, '[', ret_head, ret_key) || ret_key->n < 4 || ret_key->p[0] != '\'') {
		return false;
	}
	*ret_key = (struct str){ret_key->p + 1, ret_key->n - 3};
	return true;
}

/* kube converts the path first (ConvertDownwardAPIFieldLabel), which knows more paths than
 * either place takes. So there are two lists and two messages. */
void check_field_ref(const struct pod_check *c, const struct where *at, const struct json *ref, bool is_volume)
{
	static const char *const known[] = {"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace",
		"metadata.uid", "spec.nodeName", "spec.restartPolicy", "spec.serviceAccountName", "spec.schedulerName",
		"status.phase", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs", NULL};
	static const char *const in_env[] = {"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName",
		"spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs", NULL};
	static const char *const in_volumes[] = {
		"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid", NULL};
	const char *const *allowed = is_volume ? in_volumes : in_env;
	struct str path = member_text(ref, "fieldPath"), head, key;
	if (!path.n) {
		refuse_absent(c->errors, WHERE(at, "fieldPath"), "");
	} else if (cut_subscript(path, &head, &key) &&
		(str_is(head, "metadata.annotations") || str_is(head, "metadata.labels"))) {
		check_text(c->errors, at, key, validate_qualified_name);
	} else if (!is_among(path, known)) {
		field_invalid_str(c->errors, where_path(WHERE(at, "fieldPath"), c->errors->arena), path,
			"error converting fieldPath: field label not supported: " STR_FMT, STR_ARG(path));
	} else if (!is_among(path, allowed)) {
		refuse_unsupported(c->errors, WHERE(at, "fieldPath"), path, allowed);
	}
}

void check_resource_ref(const struct pod_check *c, const struct where *at, const struct json *ref, bool is_volume)
{
	static const char *const known[] = {"limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu",
		"requests.ephemeral-storage", "requests.memory", NULL};
	struct str resource = member_text(ref, "resource");
	bool is_huge = str_starts(resource, STR("limits.hugepages-")) || str_starts(resource, STR("requests.hugepages-"));
	if (is_volume && !member_text(ref, "containerName").n) {
		refuse_absent(c->errors, WHERE(at, "containerName"), "");
	} else if (!resource.n) {
		refuse_absent(c->errors, WHERE(at, "resource"), "");
	} else if (!is_huge && !is_among(resource, known)) {
		refuse_unsupported(c->errors, WHERE(at, "resource"), resource, known);
	}
}

/* Resources. */

static bool is_huge_pages(struct str name)
{
	return str_starts(name, STR("hugepages-"));
}

/* IsNativeResource and IsPrefixedNativeResource of pkg/apis/core/v1/helper. */
static bool is_native(struct str name)
{
	return !memchr(name.p, '/', name.n) || str_contains(name, STR("kubernetes.io/"));
}

static void check_resource_name(const struct pod_check *c, const struct where *at, struct str name)
{
	static const char *const of_containers[] = {"cpu", "memory", "ephemeral-storage", NULL};
	static const char *const of_others[] = {"storage", "requests.cpu", "requests.memory", "requests.storage",
		"requests.ephemeral-storage", "limits.cpu", "limits.memory", "limits.ephemeral-storage", "pods",
		"resourcequotas", "services", "replicationcontrollers", "secrets", "persistentvolumeclaims", "configmaps",
		"services.nodeports", "services.loadbalancers", NULL};
	size_t n_before = c->errors->n;
	check_text(c->errors, at, name, validate_qualified_name);
	bool is_known = is_among(name, of_containers) || is_huge_pages(name) || !name.n || memchr(name.p, '/', name.n);
	if (c->errors->n == n_before && !is_known && !is_among(name, of_others)) {
		refuse_text(c->errors, at, name, "must be a standard resource type or fully qualified");
	}
	if (!is_known) {
		refuse_text(c->errors, at, name, "must be a standard resource for containers");
	}
}

static void check_amounts(const struct pod_check *c, const struct where *at, const struct json *amounts)
{
	for (uint32_t i = 0; amounts && i < amounts->n; i++) {
		const struct where *item = WHERE_KEY(at, amounts->members[i].name);
		check_resource_name(c, item, amounts->members[i].name);
		check_amount(c->errors, item, amounts->members[i].name, amounts->members[i].value);
	}
}

/* Only native resources but huge pages can be overcommitted (IsOvercommitAllowed): of all
 * others, request and limit must be the same. */
static void check_request(
	const struct pod_check *c, const struct where *at, const struct json_member *request, const struct json *limit)
{
	struct quantity asked, most;
	bool may_differ = is_native(request->name) && !is_huge_pages(request->name);
	if (!limit && !may_differ) {
		refuse_absent(c->errors, WHERE(at, "limits"), "Limit must be set for non overcommitable resources");
	}
	if (!limit || quantity_parse(&asked, json_text(request->value), c->errors->arena) ||
		quantity_parse(&most, json_text(limit), c->errors->arena)) {
		return;
	}
	int r = quantity_cmp(&asked, &most);
	if (may_differ ? r > 0 : r != 0) {
		field_invalid(c->errors, where_path(WHERE(at, "requests"), c->errors->arena), request->value,
			"must be %sequal to " STR_FMT " limit of " STR_FMT, may_differ ? "less than or " : "",
			STR_ARG(request->name), STR_ARG(json_text(limit)));
	}
}

void check_resources(const struct pod_check *c, const struct where *at, const struct json *resources)
{
	const struct json *limits = json_gets(resources, "limits"), *requests = json_gets(resources, "requests");
	check_amounts(c, WHERE(at, "limits"), limits);
	check_amounts(c, WHERE(at, "requests"), requests);
	for (uint32_t i = 0, k = 0; requests && i < requests->n; i++) {
		const struct json_member *request = &requests->members[i];
		while (limits && k < limits->n && str_cmp(limits->members[k].name, request->name) < 0) {
			k++; /* both are sorted */
		}
		bool has_limit = limits && k < limits->n && str_eq(limits->members[k].name, request->name);
		check_request(c, at, request, has_limit ? limits->members[k].value : NULL);
	}
}
