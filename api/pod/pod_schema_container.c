/* Containers. */
#include "api/pod/pod_schema_parts.h"

static const struct type type_protocol = {.kind = TYPE_STRING, .go_type = "v1.Protocol"};

const struct type type_container_port = {
	CORE_OBJECT("ContainerPort", "One port of a container."),
	.fields =
		(const struct field[]){
			{"name", &type_string, FIELD_NUMBER(1),
				"Name of the port, unique in the pod; services may refer to it.", NULL, NULL},
			{"hostPort", &type_int32, FIELD_NUMBER(2), "Port of the node that leads here.", NULL, NULL},
			{"containerPort", &type_int32, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(3), "Number of the port.",
				NULL, NULL},
			{"protocol", &type_protocol, FIELD_NUMBER(4), "TCP, UDP or SCTP.", NULL, "\"TCP\""},
			{"hostIP", &type_string, FIELD_NUMBER(5), "Address of the node to which hostPort belongs.", NULL, NULL},
			{0},
		},
};

static const struct type type_config_map_env_source = {
	CORE_OBJECT("ConfigMapEnvSource", "A ConfigMap whose values become environment variables."),
	.embedded = "LocalObjectReference",
	.fields =
		(const struct field[]){
			{"name", &type_string, FIELD_NUMBER_IN(1, 1), "Name of the ConfigMap.", NULL, "\"\""},
			{"optional", &type_bool, FIELD_KEEP_EMPTY | FIELD_NUMBER(2), "Whether the container starts without it.",
				NULL, NULL},
			{0},
		},
};

static const struct type type_secret_env_source = {
	CORE_OBJECT("SecretEnvSource", "A Secret whose values become environment variables."),
	.embedded = "LocalObjectReference",
	.fields =
		(const struct field[]){
			{"name", &type_string, FIELD_NUMBER_IN(1, 1), "Name of the Secret.", NULL, "\"\""},
			{"optional", &type_bool, FIELD_KEEP_EMPTY | FIELD_NUMBER(2), "Whether the container starts without it.",
				NULL, NULL},
			{0},
		},
};

static const struct type type_env_from_source = {
	CORE_OBJECT("EnvFromSource", "Makes environment variables of all values of an object."),
	.fields =
		(const struct field[]){
			{"prefix", &type_string, FIELD_NUMBER(1), "Put before the names.", NULL, NULL},
			{"configMapRef", &type_config_map_env_source, FIELD_KEEP_EMPTY | FIELD_NUMBER(2), "The ConfigMap.",
				NULL, NULL},
			{"secretRef", &type_secret_env_source, FIELD_KEEP_EMPTY | FIELD_NUMBER(3), "The Secret.", NULL, NULL},
			{0},
		},
};

static const struct type type_config_map_key_selector = {
	CORE_OBJECT("ConfigMapKeySelector", "A key of a ConfigMap."),
	.is_atomic = true,
	.embedded = "LocalObjectReference",
	.fields =
		(const struct field[]){
			{"name", &type_string, FIELD_NUMBER_IN(1, 1), "Name of the ConfigMap.", NULL, "\"\""},
			{"key", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2), "The key.", NULL, NULL},
			{"optional", &type_bool, FIELD_KEEP_EMPTY | FIELD_NUMBER(3), "Whether it may be missing.", NULL, NULL},
			{0},
		},
};

static const struct type type_secret_key_selector = {
	CORE_OBJECT("SecretKeySelector", "A key of a Secret."),
	.is_atomic = true,
	.embedded = "LocalObjectReference",
	.fields =
		(const struct field[]){
			{"name", &type_string, FIELD_NUMBER_IN(1, 1), "Name of the Secret.", NULL, "\"\""},
			{"key", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2), "The key.", NULL, NULL},
			{"optional", &type_bool, FIELD_KEEP_EMPTY | FIELD_NUMBER(3), "Whether it may be missing.", NULL, NULL},
			{0},
		},
};

static const struct type type_file_key_selector = {
	CORE_OBJECT("FileKeySelector", "A key in a file of a volume."),
	.is_atomic = true,
	.fields =
		(const struct field[]){
			{"volumeName", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "Name of the volume.",
				NULL, NULL},
			{"path", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2), "The file in the volume.",
				NULL, NULL},
			{"key", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(3), "The key in the file.", NULL,
				NULL},
			{"optional", &type_bool, FIELD_KEEP_EMPTY | FIELD_NUMBER(4), "Whether it may be missing.", NULL,
				"false"},
			{0},
		},
};

static const struct type type_env_var_source = {
	CORE_OBJECT("EnvVarSource", "Where the value of a variable comes from; exactly one member may be set."),
	.fields =
		(const struct field[]){
			{"fieldRef", &type_object_field_selector, FIELD_KEEP_EMPTY | FIELD_NUMBER(1), "A field of the pod.",
				NULL, NULL},
			{"resourceFieldRef", &type_resource_field_selector, FIELD_KEEP_EMPTY | FIELD_NUMBER(2),
				"A resource of the container.", NULL, NULL},
			{"configMapKeyRef", &type_config_map_key_selector, FIELD_KEEP_EMPTY | FIELD_NUMBER(3),
				"A key of a ConfigMap.", NULL, NULL},
			{"secretKeyRef", &type_secret_key_selector, FIELD_KEEP_EMPTY | FIELD_NUMBER(4), "A key of a Secret.",
				NULL, NULL},
			{"fileKeyRef", &type_file_key_selector, FIELD_KEEP_EMPTY | FIELD_NUMBER(5),
				"A key in a file of a volume.", NULL, NULL},
			{0},
		},
};

static const struct type type_env_var = {
	CORE_OBJECT("EnvVar", "One environment variable."),
	.fields =
		(const struct field[]){
			{"name", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "Name of the variable.", NULL,
				NULL},
			{"value", &type_string, FIELD_NUMBER(2), "Its value; $(NAME) stands for an earlier variable.", NULL,
				NULL},
			{"valueFrom", &type_env_var_source, FIELD_KEEP_EMPTY | FIELD_NUMBER(3), "Where its value comes from.",
				NULL, NULL},
			{0},
		},
};

static const struct type type_resource_name = {.kind = TYPE_STRING, .go_type = "v1.ResourceName"};
static const struct type type_resource_resize_restart_policy = {
	.kind = TYPE_STRING, .go_type = "v1.ResourceResizeRestartPolicy"};

static const struct type type_container_resize_policy = {
	CORE_OBJECT("ContainerResizePolicy", "What happens when a resource is changed in place."),
	.fields =
		(const struct field[]){
			{"resourceName", &type_resource_name, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"The resource: cpu or memory.", NULL, NULL},
			{"restartPolicy", &type_resource_resize_restart_policy,
				FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2), "NotRequired or RestartContainer.", NULL,
				NULL},
			{0},
		},
};

static const struct type type_container_restart_rule_on_exit_codes_operator = {
	.kind = TYPE_STRING, .go_type = "v1.ContainerRestartRuleOnExitCodesOperator"};
static const struct type set_int32 = SET_OF(type_int32);

static const struct type type_container_restart_rule_on_exit_codes = {
	CORE_OBJECT("ContainerRestartRuleOnExitCodes", "Which exit codes are meant."),
	.fields =
		(const struct field[]){
			{"operator", &type_container_restart_rule_on_exit_codes_operator, FIELD_MANDATORY | FIELD_NUMBER(1),
				"In or NotIn.", NULL, NULL},
			{"values", &set_int32, FIELD_NUMBER(2), "The codes.", NULL, NULL},
			{0},
		},
};

static const struct type type_container_restart_rule_action = {.kind = TYPE_STRING, .go_type = "v1.ContainerRestartRuleAction"};

static const struct type type_container_restart_rule = {
	CORE_OBJECT("ContainerRestartRule", "What happens when a container has ended in a certain way."),
	.fields =
		(const struct field[]){
			{"action", &type_container_restart_rule_action, FIELD_MANDATORY | FIELD_NUMBER(1),
				"Restart or RestartAllContainers.", NULL, NULL},
			{"exitCodes", &type_container_restart_rule_on_exit_codes, FIELD_KEEP_EMPTY | FIELD_NUMBER(2),
				"The exit codes it is about.", NULL, NULL},
			{0},
		},
};

static const struct type type_recursive_read_only_mode = {.kind = TYPE_STRING, .go_type = "v1.RecursiveReadOnlyMode"};
static const struct type type_mount_propagation_mode = {.kind = TYPE_STRING, .go_type = "v1.MountPropagationMode"};

static const struct type type_volume_mount = {
	CORE_OBJECT("VolumeMount", "A volume and where it is mounted."),
	.fields =
		(const struct field[]){
			{"name", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"Name of the volume in the pod.", NULL, NULL},
			{"readOnly", &type_bool, FIELD_NUMBER(2), "Mount it read-only.", NULL, NULL},
			{"recursiveReadOnly", &type_recursive_read_only_mode, FIELD_KEEP_EMPTY | FIELD_NUMBER(7),
				"Whether mounts below it are read-only, too: Disabled, IfPossible or Enabled.", NULL, NULL},
			{"mountPath", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(3),
				"Where in the container; no colon may be in it.", NULL, NULL},
			{"subPath", &type_string, FIELD_NUMBER(4), "What of the volume; its root where empty.", NULL, NULL},
			{"mountPropagation", &type_mount_propagation_mode, FIELD_KEEP_EMPTY | FIELD_NUMBER(5),
				"Whether later mounts pass in or out: None, HostToContainer or Bidirectional.", NULL, NULL},
			{"subPathExpr", &type_string, FIELD_NUMBER(6), "As subPath, with $(NAME) for environment variables.",
				NULL, NULL},
			{0},
		},
};

static const struct type type_volume_device = {
	CORE_OBJECT("VolumeDevice", "A volume given as a block device."),
	.fields =
		(const struct field[]){
			{"name", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"Name of a persistentVolumeClaim volume of the pod.", NULL, NULL},
			{"devicePath", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2),
				"Where the device is in the container.", NULL, NULL},
			{0},
		},
};

static const struct type list_container_ports = KEYED_LIST_OF(type_container_port, "containerPort", "protocol");
static const struct type list_env_from_sources = LIST_OF(type_env_from_source);
static const struct type list_env_vars = KEYED_LIST_OF(type_env_var, "name");
static const struct type list_container_resize_policies = LIST_OF(type_container_resize_policy);
static const struct type type_container_restart_policy = {.kind = TYPE_STRING, .go_type = "v1.ContainerRestartPolicy"};
static const struct type list_container_restart_rules = LIST_OF(type_container_restart_rule);
static const struct type list_volume_mounts = KEYED_LIST_OF(type_volume_mount, "mountPath");
static const struct type list_volume_devices = KEYED_LIST_OF(type_volume_device, "devicePath");
static const struct type type_termination_message_policy = {.kind = TYPE_STRING, .go_type = "v1.TerminationMessagePolicy"};
static const struct type type_pull_policy = {.kind = TYPE_STRING, .go_type = "v1.PullPolicy"};

/* Containers and ephemeral ones; in protobuf, the latter have these one message deeper. */
#define CONTAINER_FIELDS(NUMBER)                                                                                               \
	{"name", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | NUMBER(1), "Name of the container, unique in the pod.", NULL,  \
		NULL},                                                                                                         \
		{"image", &type_string, NUMBER(2), "The image it runs.", NULL, NULL},                                          \
		{"command", &type_string_list, NUMBER(3), "Program and first arguments, instead of the image's entry point.",  \
			NULL, NULL},                                                                                           \
		{"args", &type_string_list, NUMBER(4), "Arguments, instead of the image's.", NULL, NULL},                      \
		{"workingDir", &type_string, NUMBER(5), "Folder it starts in; the image's where empty.", NULL, NULL},          \
		{"ports", &list_container_ports, FIELD_PATCH_MERGE | NUMBER(6),                                                \
			"Ports that it listens on. For information: a port that is not listed can be reached all the same.",   \
			"containerPort", NULL},                                                                                \
		{"envFrom", &list_env_from_sources, NUMBER(19), "Where further environment variables come from.", NULL, NULL}, \
		{"env", &list_env_vars, FIELD_PATCH_MERGE | NUMBER(7), "Environment variables.", "name", NULL},                \
		{"resources", &type_resource_requirements, FIELD_ALWAYS | NUMBER(8), "Resources it needs and may use.", NULL,  \
			NULL},                                                                                                 \
		{"resizePolicy", &list_container_resize_policies, NUMBER(23),                                                  \
			"What happens to it when a resource is changed in place.", NULL, NULL},                                \
		{"restartPolicy", &type_container_restart_policy, FIELD_KEEP_EMPTY | NUMBER(24),                               \
			"Overrides the pod's restartPolicy for this container.", NULL, NULL},                                  \
		{"restartPolicyRules", &list_container_restart_rules, NUMBER(25),                                              \
			"Overrides restartPolicy by how the container ended.", NULL, NULL},                                    \
		{"volumeMounts", &list_volume_mounts, FIELD_PATCH_MERGE | NUMBER(9), "Volumes and where they are mounted.",    \
			"mountPath", NULL},                                                                                    \
		{"volumeDevices", &list_volume_devices, FIELD_PATCH_MERGE | NUMBER(21),                                        \
			"Volumes that are given as block devices.", "devicePath", NULL},                                       \
		{"livenessProbe", &type_probe, FIELD_KEEP_EMPTY | NUMBER(10),                                                  \
			"Says whether it lives; if not, it is started again.", NULL, NULL},                                    \
		{"readinessProbe", &type_probe, FIELD_KEEP_EMPTY | NUMBER(11), "Says whether it can serve.", NULL, NULL},      \
		{"startupProbe", &type_probe, FIELD_KEEP_EMPTY | NUMBER(22),                                                   \
			"Says whether it has started; until then the other probes wait.", NULL, NULL},                         \
		{"lifecycle", &type_lifecycle, FIELD_KEEP_EMPTY | NUMBER(12),                                                  \
			"What is done after its start and before its stop.", NULL, NULL},                                      \
		{"terminationMessagePath", &type_string, FIELD_SILENT_DEFAULT | NUMBER(13),                                    \
			"File in which it may say why it ended.", NULL, "\"/dev/termination-log\""},                           \
		{"terminationMessagePolicy", &type_termination_message_policy, FIELD_SILENT_DEFAULT | NUMBER(20),              \
			"Where else to look: File, or FallbackToLogsOnError.", NULL, "\"File\""},                              \
		{"imagePullPolicy", &type_pull_policy, NUMBER(14),                                                             \
			"When the image is fetched: Always, Never or IfNotPresent.", NULL, NULL},                              \
		{"securityContext", &type_security_context, FIELD_KEEP_EMPTY | NUMBER(15),                                     \
			"Security settings of the container.", NULL, NULL},                                                    \
		{"stdin", &type_bool, NUMBER(16), "Keep an input open for it.", NULL, NULL},                                   \
		{"stdinOnce", &type_bool, NUMBER(17), "Close the input when the first client has gone.", NULL, NULL},          \
		{"tty", &type_bool, NUMBER(18), "Give it a terminal.", NULL, NULL},

const struct type type_container = {
	CORE_OBJECT("Container", "One container of a pod."),
	.fields =
		(const struct field[]){
			CONTAINER_FIELDS(FIELD_NUMBER){0},
		},
};

#define NUMBER_IN_COMMON(n) FIELD_NUMBER_IN(1, n)

const struct type type_ephemeral_container = {
	CORE_OBJECT("EphemeralContainer", "A container added to a running pod to look into it."),
	.embedded = "EphemeralContainerCommon",
	.fields =
		(const struct field[]){
			CONTAINER_FIELDS(NUMBER_IN_COMMON){"targetContainerName", &type_string, FIELD_NUMBER(2),
				"Container whose processes it sees.", NULL, NULL},
			{0},
		},
};
