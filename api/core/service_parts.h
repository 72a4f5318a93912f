/* Shared by the files of the rules of services; api/core/service_rules.h is what others see.
 *
 * A service's addresses and their families follow from each other (registry/core/service/storage
 * upstream). This server assigns no addresses, so no family is one that it has not. It counts as a
 * cluster of IPv4 alone, which is kube-apiserver's default.
 */
#ifndef API_CORE_SERVICE_PARTS_H
#define API_CORE_SERVICE_PARTS_H

#include "api/model/members.h"
#include "api/model/object.h"
#include "api/rules/where.h"

/* Returns whether the service has no address on purpose. */
bool service_is_headless(const struct json *spec);
bool service_is_type(const struct json *spec, const char *type);

/* The spec with its families and their policy filled in, as far as it can be: where it cannot, service_check_families() says why. old: NULL
 * on create. */
struct json *service_fill_families(struct json *spec, const struct json *old, struct arena *a);
void service_check_families(const struct json *spec, const struct json *old, struct field_errors *errors);
/* The part of service_check_families() that does not depend on the cluster. Validation runs it with
 * all other rules, too. */
void service_check_addresses(const struct json *spec, struct field_errors *errors);
/* Checks the fields that may not change. */
void service_check_kept(const struct json *spec, const struct json *old, struct field_errors *errors);

static inline bool service_has(const struct json *spec, const char *name)
{
	return json_gets(spec, name) != NULL;
}

static inline bool service_is_same(const struct json *x, const struct json *y, const char *name)
{
	const struct json *one = json_gets(x, name), *other = json_gets(y, name);
	return (!one && !other) || (one && other && json_equal(one, other));
}

/* The meaning of a service's type. */

static inline bool service_has_addresses(const struct json *spec)
{
	return !service_is_type(spec, "ExternalName");
}

static inline bool service_has_node_ports(const struct json *spec)
{
	return service_is_type(spec, "NodePort") || service_is_type(spec, "LoadBalancer");
}

static inline bool service_is_outside(const struct json *spec)
{
	return service_has_node_ports(spec) || (service_is_type(spec, "ClusterIP") && service_has(spec, "externalIPs"));
}

static inline bool service_has_health_check(const struct json *spec)
{
	return service_is_type(spec, "LoadBalancer") && str_is(member_text(spec, "externalTrafficPolicy"), "Local");
}

#endif
