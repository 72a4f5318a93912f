/* What upstream's allocator decides before it allocates, and the rules of clusterIP, clusterIPs,
 * ipFamilies and ipFamilyPolicy. At kube-apiserver the allocator comes before everything else: what it
 * finds wrong is told alone. */
#include "api/cluster/service_parts.h"

#include "api/cluster/service_schema.h"
#include "api/rules/address.h"

static const char single_stack[] = "SingleStack", prefer_dual_stack[] = "PreferDualStack",
		  require_dual_stack[] = "RequireDualStack";

bool service_is_type(const struct json *spec, const char *type)
{
	return str_is(member_text(spec, "type"), type);
}

bool service_is_headless(const struct json *spec)
{
	const struct json *addresses = json_gets(spec, "clusterIPs");
	return addresses && addresses->n == 1 && str_is(json_text(addresses->items[0]), "None");
}

static bool is_policy(const struct json *spec, const char *policy)
{
	return str_is(member_text(spec, "ipFamilyPolicy"), policy);
}

/* Without an address, and of no pods that this server could know: whoever makes its endpoints may use either family. */
static bool leads_anywhere(const struct json *spec)
{
	return str_is(member_text(spec, "clusterIP"), "None") && !member_count(spec, "selector");
}

static const char *family_of(struct str text)
{
	struct address address;
	return address_parse(text, &address) && address.is_v6 ? "IPv6" : "IPv4";
}

/* Whoever prefers two families and leaves all as it is keeps what he has, whatever the cluster has now. */
static bool is_settled(const struct json *spec, const struct json *old)
{
	return old && is_policy(spec, prefer_dual_stack) && service_is_same(spec, old, "type") &&
		(!json_gets(old, "ipFamilyPolicy") || is_policy(old, prefer_dual_stack)) &&
		service_is_same(spec, old, "clusterIPs") && service_is_same(spec, old, "ipFamilies");
}

static struct json *with(struct json *spec, const char *name, struct json *value, struct arena *a)
{
	return schema_with(&type_service_spec, spec, name, value, a);
}

static struct json *first_of(const struct json *list, struct arena *a)
{
	struct json *one = json_array(a);
	json_append(a, one, list->items[0]);
	return one;
}

static struct json *fill_policy(struct json *spec, const struct json *old, struct arena *a)
{
	struct json *before = json_gets(old, "ipFamilyPolicy");
	if (json_gets(spec, "ipFamilyPolicy")) {
		return spec;
	}
	const char *policy = leads_anywhere(spec) ? require_dual_stack : single_stack;
	return with(spec, "ipFamilyPolicy", before ? before : json_string(a, str_of(policy)), a);
}

static struct json *let_go_of_second(struct json *spec, const struct json *old, struct arena *a)
{
	static const char *const lists[] = {"clusterIPs", "ipFamilies"};
	for (size_t i = 0; old && is_policy(spec, single_stack) && i < ARRAY_SIZE(lists); i++) {
		if (service_is_same(spec, old, lists[i]) && member_count(spec, lists[i]) > 1) {
			spec = with(spec, lists[i], first_of(json_gets(spec, lists[i]), a), a);
		}
	}
	return spec;
}

/* Those of the addresses that were sent. */
static struct json *infer_families(struct json *spec, struct arena *a)
{
	const struct json *addresses = json_gets(spec, "clusterIPs"), *address;
	for (uint32_t i = member_count(spec, "ipFamilies"); (address = list_item(addresses, i)); i++) {
		const char *family = family_of(json_text(address));
		if (str_is(json_text(address), "None") || strcmp(family, "IPv4") != 0) {
			break;
		}
		struct json *families =
			json_gets(spec, "ipFamilies") ? json_copy(a, json_gets(spec, "ipFamilies")) : json_array(a);
		json_append(a, families, json_string(a, str_of(family)));
		spec = with(spec, "ipFamilies", families, a);
	}
	return spec;
}

static struct json *fill_list(struct json *spec, struct arena *a)
{
	struct json *families = json_gets(spec, "ipFamilies") ? json_copy(a, json_gets(spec, "ipFamilies")) : json_array(a);
	if (!families->n) {
		json_append(a, families, json_string(a, STR("IPv4")));
	}
	if (leads_anywhere(spec) && families->n == 1 && !is_policy(spec, single_stack)) {
		bool is_v4 = str_is(json_text(families->items[0]), "IPv4");
		json_append(a, families, json_string(a, is_v4 ? STR("IPv6") : STR("IPv4")));
	}
	return with(spec, "ipFamilies", families, a);
}

struct json *service_fill_families(struct json *spec, const struct json *old, struct arena *a)
{
	struct field_errors errors;
	if (service_is_type(spec, "ExternalName") || is_settled(spec, old)) {
		return spec;
	}
	spec = fill_policy(spec, old, a);
	field_errors_init(&errors, a);
	service_check_addresses(spec, &errors);
	if (errors.n) {
		return spec;
	}
	spec = infer_families(let_go_of_second(spec, old, a), a);
	service_check_families(spec, old, &errors);
	return errors.n ? spec : fill_list(spec, a);
}

/* The kind of one list against that of the policy: of a pair, `what` names one. */
static void check_pair(const struct json *spec, const struct json *old, const char *list, const char *reduced,
	const char *several, struct field_errors *errors)
{
	const struct where *at = WHERE(WHERE(NULL, "spec"), "ipFamilyPolicy");
	struct str policy = member_text(spec, "ipFamilyPolicy");
	uint32_t n = member_count(spec, list);
	if (old && !is_policy(spec, single_stack) && n && n < member_count(old, list)) {
		refuse_text(errors, at, policy, reduced);
	}
	if (is_policy(spec, single_stack) && n == 2) {
		refuse_text(errors, at, policy, several);
	}
}

/* What the cluster has not got. */
static void check_configured(const struct json *spec, struct field_errors *errors)
{
	const struct where *at = WHERE(NULL, "spec");
	const struct json *families = json_gets(spec, "ipFamilies"), *family;
	if (leads_anywhere(spec)) {
		return;
	}
	if (is_policy(spec, require_dual_stack)) {
		refuse_text(errors, WHERE(at, "ipFamilyPolicy"), STR("RequireDualStack"),
			"this cluster is not configured for dual-stack services");
	}
	for (uint32_t i = 0; (family = list_item(families, i)); i++) {
		if (!str_is(json_text(family), "IPv4")) {
			refuse_text(errors, WHERE_ITEM(WHERE(at, "ipFamilies"), i), json_text(family),
				"not configured on this cluster");
		}
	}
}

static void check_inferred(const struct json *spec, struct field_errors *errors)
{
	const struct where *at = WHERE(WHERE(NULL, "spec"), "clusterIPs");
	const struct json *addresses = json_gets(spec, "clusterIPs"), *address;
	for (uint32_t i = member_count(spec, "ipFamilies"); (address = list_item(addresses, i)); i++) {
		if (str_is(json_text(address), "None")) {
			return;
		}
		if (strcmp(family_of(json_text(address)), "IPv6") == 0) {
			refuse_invalid(errors, WHERE_ITEM(at, i), addresses, "IPv6 is not configured on this cluster");
		}
	}
}

void service_check_families(const struct json *spec, const struct json *old, struct field_errors *errors)
{
	size_t n_before = errors->n;
	if (service_is_type(spec, "ExternalName") || is_settled(spec, old)) {
		return;
	}
	service_check_addresses(spec, errors);
	if (errors->n > n_before) {
		return;
	}
	check_pair(spec, old, "clusterIPs", "must be 'SingleStack' to release the secondary cluster IP",
		"must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster IPs are specified", errors);
	check_pair(spec, old, "ipFamilies", "must be 'SingleStack' to release the secondary IP family",
		"must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified", errors);
	check_inferred(spec, errors);
	if (errors->n == n_before) {
		check_configured(spec, errors);
	}
}

static void check_first_address(const struct where *at, const struct json *spec, struct field_errors *errors)
{
	struct str address = member_text(spec, "clusterIP");
	const struct json *addresses = json_gets(spec, "clusterIPs");
	if (address.n && !addresses) {
		refuse_absent(errors, at, "");
	} else if (address.n && !str_eq(json_text(addresses->items[0]), address)) {
		refuse_invalid(errors, at, addresses, "first value must match `clusterIP`");
	} else if (!address.n && addresses) {
		refuse_invalid(errors, at, addresses, "must be empty when `clusterIP` is not specified");
	}
}

static void check_family_names(const struct where *at, const struct json *spec, struct field_errors *errors)
{
	static const char *const families[] = {"IPv4", "IPv6", NULL};
	struct json *family;
	struct map seen;
	map_init(&seen, member_count(spec, "ipFamilies"));
	for (uint32_t i = 0; (family = list_item(json_gets(spec, "ipFamilies"), i)); i++) {
		check_choice(errors, WHERE_ITEM(at, i), json_text(family), families, false);
		if (map_get(&seen, json_text(family))) {
			refuse_duplicate(errors, WHERE_ITEM(at, i), json_text(family));
		}
		map_set(&seen, json_text(family), family, NULL);
	}
	map_done(&seen);
}

/* Is each of the list an address, or the first and only one "None"? */
static bool check_each_address(const struct where *at, const struct json *addresses, struct field_errors *errors)
{
	size_t n_before = errors->n;
	const struct json *address;
	for (uint32_t i = 0; (address = list_item(addresses, i)); i++) {
		if (i > 0 || !str_is(json_text(address), "None")) {
			check_address(errors, WHERE_ITEM(at, i), json_text(address));
		} else if (addresses->n > 1) {
			refuse_invalid(errors, at, addresses, "'None' must be the first and only value");
		}
	}
	return errors->n == n_before;
}

static void check_families_fit(const struct where *at, const struct json *spec, struct field_errors *errors)
{
	const struct json *addresses = json_gets(spec, "clusterIPs"), *families = json_gets(spec, "ipFamilies"), *address,
			  *family;
	for (uint32_t i = 0; (address = list_item(addresses, i)) && (family = list_item(families, i)); i++) {
		const char *own = family_of(json_text(address));
		bool is_known = str_is(json_text(family), "IPv4") || str_is(json_text(family), "IPv6");
		if (is_known && !str_is(json_text(family), own)) {
			field_invalid_str(errors, where_path(WHERE_ITEM(at, i), errors->arena), json_text(address),
				"expected an " STR_FMT " value as indicated by `ipFamilies[%u]`", STR_ARG(json_text(family)),
				i);
		}
	}
}

void service_check_addresses(const struct json *spec, struct field_errors *errors)
{
	static const char *const policies[] = {"PreferDualStack", "RequireDualStack", "SingleStack", NULL};
	const struct where *spec_at = WHERE(NULL, "spec"), *at = WHERE(spec_at, "clusterIPs");
	const struct json *addresses = json_gets(spec, "clusterIPs");
	if (service_is_type(spec, "ExternalName")) {
		return;
	}
	check_first_address(at, spec, errors);
	check_family_names(WHERE(spec_at, "ipFamilies"), spec, errors);
	if (json_gets(spec, "ipFamilyPolicy")) {
		check_choice(errors, WHERE(spec_at, "ipFamilyPolicy"), member_text(spec, "ipFamilyPolicy"), policies, false);
	}
	bool are_addresses = check_each_address(at, addresses, errors);
	if (addresses && addresses->n > 2) {
		refuse_invalid(errors, at, addresses, "may only hold up to 2 values");
	}
	if (!are_addresses) {
		return;
	}
	if (addresses && addresses->n > 1) {
		bool has_v4 = false, has_v6 = false;
		for (uint32_t i = 0; i < addresses->n; i++) {
			bool is_v6 = strcmp(family_of(json_text(addresses->items[i])), "IPv6") == 0;
			has_v6 |= is_v6;
			has_v4 |= !is_v6;
		}
		if (!has_v4 || !has_v6) {
			refuse_invalid(errors, at, addresses, "may specify no more than one IP for each IP family");
		}
	}
	if (!service_is_headless(spec)) {
		check_families_fit(at, spec, errors);
	}
}

static const char once_set[] = "may not change once set";

static struct str text_at(const struct json *list, uint32_t i)
{
	return json_text(list_item(list, i));
}

/* Upstream every service that is not headless has an address, so one that was given none here must not get one later, either. */
static void check_kept_addresses(const struct json *spec, const struct json *old, struct field_errors *errors)
{
	const struct where *at = WHERE(WHERE(NULL, "spec"), "clusterIPs");
	const struct json *now = json_gets(spec, "clusterIPs"), *before = json_gets(old, "clusterIPs");
	uint32_t n_now = now ? now->n : 0, n_before = before ? before->n : 0;
	if (service_is_headless(spec) && service_is_headless(old)) {
		return;
	}
	for (uint32_t i = 0; n_now == n_before && i < n_now; i++) {
		if (!json_equal(now->items[i], before->items[i])) {
			refuse_invalid(errors, WHERE_ITEM(at, i), now, once_set);
		}
	}
	if (n_now != n_before && n_now && !str_eq(text_at(now, 0), text_at(before, 0))) {
		refuse_invalid(errors, WHERE_ITEM(at, 0), now, once_set);
	}
	if (n_now < n_before && !n_now) {
		refuse_invalid(errors, WHERE_ITEM(at, 0), json_null(errors->arena), "primary clusterIP can not be unset");
	}
	if (n_now == 1 && n_before > 1 && !is_policy(spec, single_stack)) {
		refuse_text(errors, WHERE(WHERE(NULL, "spec"), "ipFamilyPolicy"), member_text(spec, "ipFamilyPolicy"),
			"must be set to 'SingleStack' when releasing the secondary clusterIP");
	}
}

static void check_kept_families(const struct json *spec, const struct json *old, struct field_errors *errors)
{
	const struct where *at = WHERE_ITEM(WHERE(WHERE(NULL, "spec"), "ipFamilies"), 0);
	const struct json *now = json_gets(spec, "ipFamilies"), *before = json_gets(old, "ipFamilies");
	const struct json *addresses = json_gets(spec, "clusterIPs");
	uint32_t n_now = now ? now->n : 0, n_before = before ? before->n : 0;
	if (service_is_headless(spec) || service_is_headless(old)) {
		return; /* they may change, whether it stays headless or not */
	}
	for (uint32_t i = 0; n_now == n_before && i < n_now; i++) {
		if (!json_equal(now->items[i], before->items[i])) {
			refuse_invalid(errors, at, now, once_set);
		}
	}
	if (n_now != n_before && n_now && n_before && !json_equal(now->items[0], before->items[0])) {
		/* upstream shows the addresses */
		refuse_invalid(errors, at, addresses ? addresses : json_null(errors->arena), once_set);
	}
	if (n_now == 1 && n_before > 1 && !is_policy(spec, single_stack)) {
		refuse_text(errors, WHERE(WHERE(NULL, "spec"), "ipFamilyPolicy"), member_text(spec, "ipFamilyPolicy"),
			"must be set to 'SingleStack' when releasing the secondary ipFamily");
	}
}

void service_check_kept(const struct json *spec, const struct json *old, struct field_errors *errors)
{
	if (service_is_type(spec, "ExternalName") || service_is_type(old, "ExternalName")) {
		return;
	}
	check_kept_addresses(spec, old, errors);
	check_kept_families(spec, old, errors);
}
