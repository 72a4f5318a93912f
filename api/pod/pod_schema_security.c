/* Security settings of pods and containers. */
#include "api/pod/pod_schema_parts.h"

static const struct type type_capability = {.kind = TYPE_STRING, .go_type = "v1.Capability"};
static const struct type list_capabilities = LIST_OF(type_capability);

static const struct type type_capabilities = {
	CORE_OBJECT("Capabilities", "POSIX capabilities."),
	.fields =
		(const struct field[]){
			{"add", &list_capabilities, FIELD_NUMBER(1), "Added ones.", NULL, NULL},
			{"drop", &list_capabilities, FIELD_NUMBER(2), "Dropped ones.", NULL, NULL},
			{0},
		},
};

static const struct type type_se_linux_options = {
	CORE_OBJECT("SELinuxOptions", "An SELinux context."),
	.fields =
		(const struct field[]){
			{"user", &type_string, FIELD_NUMBER(1), "User part.", NULL, NULL},
			{"role", &type_string, FIELD_NUMBER(2), "Role part.", NULL, NULL},
			{"type", &type_string, FIELD_NUMBER(3), "Type part.", NULL, NULL},
			{"level", &type_string, FIELD_NUMBER(4), "Level part.", NULL, NULL},
			{0},
		},
};

static const struct type type_windows_security_context_options = {
	CORE_OBJECT("WindowsSecurityContextOptions", "Security settings of Windows containers."),
	.fields =
		(const struct field[]){
			{"gmsaCredentialSpecName", &type_string, FIELD_KEEP_EMPTY | FIELD_NUMBER(1),
				"Name of the GMSA credential spec.", NULL, NULL},
			{"gmsaCredentialSpec", &type_string, FIELD_KEEP_EMPTY | FIELD_NUMBER(2),
				"The GMSA credential spec itself.", NULL, NULL},
			{"runAsUserName", &type_string, FIELD_KEEP_EMPTY | FIELD_NUMBER(3), "User of the process.", NULL, NULL},
			{"hostProcess", &type_bool, FIELD_KEEP_EMPTY | FIELD_NUMBER(4),
				"Run as a process of the host; the same for all containers of the pod.", NULL, NULL},
			{0},
		},
};

static const struct type type_seccomp_profile_type = {.kind = TYPE_STRING, .go_type = "v1.SeccompProfileType"};

static const struct type type_seccomp_profile = {
	CORE_OBJECT("SeccompProfile", "A profile of system calls."),
	.fields =
		(const struct field[]){
			{"type", &type_seccomp_profile_type, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"Localhost, RuntimeDefault or Unconfined.", NULL, NULL},
			{"localhostProfile", &type_string, FIELD_KEEP_EMPTY | FIELD_NUMBER(2),
				"File of the profile on the node, for Localhost.", NULL, NULL},
			{0},
		},
};

static const struct type type_app_armor_profile_type = {.kind = TYPE_STRING, .go_type = "v1.AppArmorProfileType"};

static const struct type type_app_armor_profile = {
	CORE_OBJECT("AppArmorProfile", "An AppArmor profile."),
	.fields =
		(const struct field[]){
			{"type", &type_app_armor_profile_type, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
				"Localhost, RuntimeDefault or Unconfined.", NULL, NULL},
			{"localhostProfile", &type_string, FIELD_KEEP_EMPTY | FIELD_NUMBER(2),
				"Name of the profile on the node, for Localhost.", NULL, NULL},
			{0},
		},
};

static const struct type type_proc_mount_type = {.kind = TYPE_STRING, .go_type = "v1.ProcMountType"};

const struct type type_security_context = {
	CORE_OBJECT("SecurityContext", "Security settings of a container; they go before those of the pod."),
	.fields =
		(const struct field[]){
			{"capabilities", &type_capabilities, FIELD_KEEP_EMPTY | FIELD_NUMBER(1),
				"Capabilities added and dropped.", NULL, NULL},
			{"privileged", &type_bool, FIELD_KEEP_EMPTY | FIELD_NUMBER(2), "Run as root of the node.", NULL, NULL},
			{"seLinuxOptions", &type_se_linux_options, FIELD_KEEP_EMPTY | FIELD_NUMBER(3), "SELinux context.", NULL,
				NULL},
			{"windowsOptions", &type_windows_security_context_options, FIELD_KEEP_EMPTY | FIELD_NUMBER(10),
				"Settings of Windows.", NULL, NULL},
			{"runAsUser", &type_int64, FIELD_KEEP_EMPTY | FIELD_NUMBER(4), "User id of the process.", NULL, NULL},
			{"runAsGroup", &type_int64, FIELD_KEEP_EMPTY | FIELD_NUMBER(8), "Group id of the process.", NULL, NULL},
			{"runAsNonRoot", &type_bool, FIELD_KEEP_EMPTY | FIELD_NUMBER(5), "Refuse to run as user 0.", NULL,
				NULL},
			{"readOnlyRootFilesystem", &type_bool, FIELD_KEEP_EMPTY | FIELD_NUMBER(6),
				"Make the root file system read-only.", NULL, NULL},
			{"allowPrivilegeEscalation", &type_bool, FIELD_KEEP_EMPTY | FIELD_NUMBER(7),
				"Whether a process may gain more rights than its parent.", NULL, NULL},
			{"procMount", &type_proc_mount_type, FIELD_KEEP_EMPTY | FIELD_NUMBER(9),
				"How /proc is mounted: Default or Unmasked.", NULL, NULL},
			{"seccompProfile", &type_seccomp_profile, FIELD_KEEP_EMPTY | FIELD_NUMBER(11),
				"Profile of system calls.", NULL, NULL},
			{"appArmorProfile", &type_app_armor_profile, FIELD_KEEP_EMPTY | FIELD_NUMBER(12), "AppArmor profile.",
				NULL, NULL},
			{0},
		},
};

static const struct type type_sysctl = {
	CORE_OBJECT("Sysctl", "A kernel setting."),
	.fields =
		(const struct field[]){
			{"name", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "Name of the setting.", NULL,
				NULL},
			{"value", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2), "Its value.", NULL, NULL},
			{0},
		},
};

static const struct type list_int64 = LIST_OF(type_int64);
static const struct type type_supplemental_groups_policy = {.kind = TYPE_STRING, .go_type = "v1.SupplementalGroupsPolicy"};
static const struct type list_sysctls = LIST_OF(type_sysctl);
static const struct type type_pod_fs_group_change_policy = {.kind = TYPE_STRING, .go_type = "v1.PodFSGroupChangePolicy"};
static const struct type type_pod_se_linux_change_policy = {.kind = TYPE_STRING, .go_type = "v1.PodSELinuxChangePolicy"};

const struct type type_pod_security_context = {
	CORE_OBJECT("PodSecurityContext", "Security settings of a whole pod."),
	.fields =
		(const struct field[]){
			{"seLinuxOptions", &type_se_linux_options, FIELD_KEEP_EMPTY | FIELD_NUMBER(1),
				"SELinux context of all containers.", NULL, NULL},
			{"windowsOptions", &type_windows_security_context_options, FIELD_KEEP_EMPTY | FIELD_NUMBER(8),
				"Settings of Windows.", NULL, NULL},
			{"runAsUser", &type_int64, FIELD_KEEP_EMPTY | FIELD_NUMBER(2), "User id of the processes.", NULL, NULL},
			{"runAsGroup", &type_int64, FIELD_KEEP_EMPTY | FIELD_NUMBER(6), "Group id of the processes.", NULL,
				NULL},
			{"runAsNonRoot", &type_bool, FIELD_KEEP_EMPTY | FIELD_NUMBER(3), "Refuse to run as user 0.", NULL,
				NULL},
			{"supplementalGroups", &list_int64, FIELD_NUMBER(4), "Further groups of the processes.", NULL, NULL},
			{"supplementalGroupsPolicy", &type_supplemental_groups_policy, FIELD_KEEP_EMPTY | FIELD_NUMBER(12),
				"How groups of the image count: Merge or Strict.", NULL, NULL},
			{"fsGroup", &type_int64, FIELD_KEEP_EMPTY | FIELD_NUMBER(5), "Group that owns the volumes.", NULL,
				NULL},
			{"sysctls", &list_sysctls, FIELD_NUMBER(7), "Kernel settings of the pod.", NULL, NULL},
			{"fsGroupChangePolicy", &type_pod_fs_group_change_policy, FIELD_KEEP_EMPTY | FIELD_NUMBER(9),
				"When volumes are given to fsGroup: OnRootMismatch or Always.", NULL, NULL},
			{"seccompProfile", &type_seccomp_profile, FIELD_KEEP_EMPTY | FIELD_NUMBER(10),
				"Profile of system calls.", NULL, NULL},
			{"appArmorProfile", &type_app_armor_profile, FIELD_KEEP_EMPTY | FIELD_NUMBER(11), "AppArmor profile.",
				NULL, NULL},
			{"seLinuxChangePolicy", &type_pod_se_linux_change_policy, FIELD_KEEP_EMPTY | FIELD_NUMBER(13),
				"How volumes are labelled: Recursive or MountOption.", NULL, NULL},
			{0},
		},
};
