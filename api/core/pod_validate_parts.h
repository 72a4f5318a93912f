/* Between the files of the validation of pods: api/core/pod_validate.h is what others see. Texts and order are those of
 * k8s.io/kubernetes/pkg/apis/core/validation; docs/reference/deviations.md says which checks are left out. */
#ifndef API_CORE_POD_VALIDATE_PARTS_H
#define API_CORE_POD_VALIDATE_PARTS_H

#include "api/model/members.h"
#include "api/rules/where.h"

struct pod_check {
	struct field_errors *errors;
	const struct json *spec;
	bool is_pod; /* rather than a template of one */
	/* An update that leaves these settings alone: pods from before sysctls were checked can still be changed. */
	bool keeps_security;
	struct map volumes; /* by name */
};

/* Checks the access modes of a claim or a volume; absent: the message if there are none. */
void check_access_modes(const struct where *at, const struct json *modes, const char *absent, struct field_errors *errors);
void check_host_path(const struct pod_check *c, const struct where *at, const struct json *source);
void check_nfs(const struct pod_check *c, const struct where *at, const struct json *source);
void check_volumes(const struct pod_check *c, const struct where *at);
void check_containers(const struct pod_check *c, const struct where *at);
void check_init_containers(const struct pod_check *c, const struct where *at);
void check_ephemeral_containers(const struct pod_check *c, const struct where *at);
/* Checks the action of a probe or a hook. */
void check_handler(const struct pod_check *c, const struct where *at, const struct json *handler);
void check_probes(const struct pod_check *c, const struct where *at, const struct json *container);
void check_resources(const struct pod_check *c, const struct where *at, const struct json *resources);
void check_field_ref(const struct pod_check *c, const struct where *at, const struct json *ref, bool is_volume);
void check_resource_ref(const struct pod_check *c, const struct where *at, const struct json *ref, bool is_volume);
/* Checks a selector of nodes: all terms, with the values of labels. */
void check_node_selector(const struct pod_check *c, const struct where *at, const struct json *selector);
void check_affinity(const struct pod_check *c, const struct where *at);
void check_tolerations(const struct pod_check *c, const struct where *at);
void check_spread(const struct pod_check *c, const struct where *at);

void check_pod_security(const struct pod_check *c, const struct where *at);
void check_host_users(const struct pod_check *c, const struct where *at);

size_t validate_port_name(struct str s, const char **ret_messages);
void check_port(const struct pod_check *c, const struct where *at, const struct json *port);
void check_seccomp(const struct pod_check *c, const struct where *at, const struct json *profile);
#define ID_RANGE 0, INT32_MAX, "must be between 0 and 2147483647, inclusive"
#define PORT_RANGE 1, 65535, "must be between 1 and 65535, inclusive"
#define MODE_RANGE 0, 0777, "must be a number between 0 and 0777 (octal), both inclusive"

#endif
