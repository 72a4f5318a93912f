/* Rules of nodes: k8s.io/kubernetes/pkg/apis/core ValidateNode and ValidateNodeUpdate, and the
 * strategy of registry/core/node. An update goes through both, so that some mistakes are reported
 * twice. */
#include "api/core/node_rules.h"

#include "api/model/members.h"
#include "api/rules/address.h"
#include "api/rules/spec_status.h"
#include "api/rules/validate.h"
#include "api/upstream/upstream.h"

#include <assert.h>

/* podCIDR is the first of podCIDRs; where they differ, podCIDR is right, and the only one. */
static struct json *mirror_blocks(struct json *spec, struct arena *a)
{
	struct str one = member_text(spec, "podCIDR"), first = json_text(list_item(json_gets(spec, "podCIDRs"), 0));
	if (one.n && !str_eq(one, first)) {
		struct json *list = json_array(a);
		json_append(a, list, json_string(a, one));
		return schema_with(&type_node_spec, spec, "podCIDRs", list, a);
	}
	return first.n && !one.n ? schema_with(&type_node_spec, spec, "podCIDR", json_string(a, first), a) : spec;
}

void node_set_defaults(struct object *o, struct arena *a)
{
	struct json *status = object_status(o), *capacity = json_gets(status, "capacity");
	object_set_spec(o, mirror_blocks(object_spec(o), a), a);
	if (capacity && !json_gets(status, "allocatable")) {
		object_set_status(o, schema_with(&type_node_status, status, "allocatable", capacity, a), a);
	}
}

/* Kubelets once kept their configuration in this field. Upstream drops it from nodes that do not
 * have it yet, so no node has it. */
static void drop_config(struct object *o, struct arena *a)
{
	if (json_gets(object_spec(o), "configSource")) {
		object_set_spec(o, schema_with(&type_node_spec, object_spec(o), "configSource", NULL, a), a);
	}
	if (json_gets(object_status(o), "config")) {
		object_set_status(o, schema_with(&type_node_status, object_status(o), "config", NULL, a), a);
	}
}

/* A new node may come with its status: kubelets register so. */
void node_prepare_create(struct object *o, struct arena *a)
{
	drop_config(o, a);
}

void node_prepare_update(struct object *o, const struct object *old, struct arena *a)
{
	assert(o->kind == old->kind);
	keep_status(o, old, a);
	drop_config(o, a);
}

void node_prepare_status(struct object *o, const struct object *old, struct arena *a)
{
	assert(o->kind == old->kind);
	(void)old;
	drop_config(o, a);
}

/* The taint as Go shows it. */
static struct json *shown_taint(const struct json *taint, struct arena *a)
{
	static const char *const names[][2] = {{"key", "Key"}, {"value", "Value"}, {"effect", "Effect"}};
	struct json *shown = json_object(a), *added = json_gets(taint, "timeAdded");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		json_add(a, shown, str_of(names[i][1]), json_string(a, member_text(taint, names[i][0])));
	}
	json_add(a, shown, STR("TimeAdded"), added ? added : json_null(a));
	return shown;
}

static void check_taint(const struct where *at, const struct json *taint, struct field_errors *errors)
{
	static const char *const effects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute", NULL};
	const char *messages[VALIDATE_MESSAGES_MAX];
	struct str value = member_text(taint, "value"), text = {0};
	check_text(errors, WHERE(at, "key"), member_text(taint, "key"), validate_qualified_name);
	size_t n = validate_label_value(value, messages);
	for (size_t i = 0; i < n; i++) {
		text = arena_printf(errors->arena, STR_FMT "%s%s", STR_ARG(text), i ? ";" : "", messages[i]);
	}
	if (n) {
		refuse_text(errors, WHERE(at, "value"), value, text.p);
	}
	check_choice(errors, WHERE(at, "effect"), member_text(taint, "effect"), effects, true);
}

static void check_taints(const struct object *o, struct field_errors *errors)
{
	/* The path is upstream's. */
	const struct where *at = WHERE(WHERE(NULL, "metadata"), "taints");
	const struct json *taints = json_gets(object_spec(o), "taints");
	struct json *taint;
	struct map seen;
	map_init(&seen, member_count(object_spec(o), "taints"));
	for (uint32_t i = 0; (taint = list_item(taints, i)); i++) {
		const struct where *item = WHERE_ITEM(at, i);
		struct str key = arena_printf(errors->arena, STR_FMT " " STR_FMT, STR_ARG(member_text(taint, "effect")),
			STR_ARG(member_text(taint, "key")));
		check_taint(item, taint, errors);
		if (map_get(&seen, key)) {
			field_duplicate(errors, where_path(item, errors->arena), shown_taint(taint, errors->arena));
			errors->v[errors->n - 1].detail = STR("taints must be unique by key and effect pair");
		} else {
			map_set(&seen, key, taint, NULL);
		}
	}
	map_done(&seen);
}

static void check_resources(const struct object *o, struct field_errors *errors)
{
	static const char *const names[] = {"capacity", "allocatable"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct json *amounts = json_gets(object_status(o), names[i]);
		for (uint32_t k = 0; amounts && k < amounts->n; k++) {
			struct str resource = amounts->members[k].name;
			const struct where at = {.up = WHERE_NAMED(WHERE(NULL, "status"), names[i]), .name = resource};
			check_amount(errors, &at, resource, amounts->members[k].value);
		}
	}
}

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool is_alphanumeric(char c)
{
	return is_upper(c) || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* MyFeature, MyFeature/mySubFeature */
static bool is_feature_name(struct str name)
{
	if (!name.n || !is_upper(name.p[0]) || name.p[name.n - 1] == '/') {
		return false;
	}
	for (size_t i = 1; i < name.n; i++) {
		if (!is_alphanumeric(name.p[i]) && (name.p[i] != '/' || name.p[i - 1] == '/')) {
			return false;
		}
	}
	return true;
}

static void check_feature_name(const struct where *at, struct str name, struct field_errors *errors)
{
	/* Characters of a feature name, as upstream; a longer one is refused. */
	enum { LENGTH_MAX = 253 };
	struct str quoted = go_quote(errors->arena, name);
	if (name.n > LENGTH_MAX) {
		field_invalid_str(errors, where_path(at, errors->arena), name,
			"invalid feature name " STR_FMT ": must be no more than 253 characters", STR_ARG(quoted));
	} else if (!is_feature_name(name)) {
		field_invalid_str(errors, where_path(at, errors->arena), name,
			"invalid feature name " STR_FMT
			": must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., "
			"MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes",
			STR_ARG(quoted));
	}
}

static void check_features(const struct object *o, struct field_errors *errors)
{
	const struct where *at = WHERE(WHERE(NULL, "status"), "declaredFeatures");
	const struct json *features = json_gets(object_status(o), "declaredFeatures"), *feature, *next;
	for (uint32_t i = 0; (feature = list_item(features, i)); i++) {
		check_feature_name(WHERE_ITEM(at, i), json_text(feature), errors);
		next = list_item(features, i + 1);
		int order = next ? str_cmp(json_text(feature), json_text(next)) : -1;
		if (order == 0) {
			refuse_duplicate(errors, WHERE_ITEM(at, i + 1), json_text(next));
		} else if (order > 0) {
			refuse_text(errors, WHERE_ITEM(at, i + 1), json_text(next), "list must be sorted alphabetically");
		}
	}
}

static void check_blocks(const struct object *o, struct field_errors *errors)
{
	const struct where *at = WHERE(WHERE(NULL, "spec"), "podCIDRs");
	const struct json *blocks = json_gets(object_spec(o), "podCIDRs"), *block;
	size_t n_before = errors->n;
	bool has_v4 = false, has_v6 = false;
	for (uint32_t i = 0; (block = list_item(blocks, i)); i++) {
		check_block(errors, WHERE_ITEM(at, i), json_text(block));
		(block_is_v6(json_text(block)) ? &has_v6 : &has_v4)[0] = true;
	}
	if (blocks && blocks->n > 1 && errors->n == n_before && (!has_v4 || !has_v6 || blocks->n > 2)) {
		refuse_invalid(errors, at, blocks, "may specify no more than one CIDR for each IP family");
	}
}

void node_validate(const struct object *o, struct field_errors *errors)
{
	const struct where *swap = WHERE(WHERE(WHERE(NULL, "metadata"), "nodeSwapStatus"), "capacity");
	const struct json *info = json_gets(object_status(o), "nodeInfo");
	check_taints(o, errors);
	check_resources(o, errors);
	check_range(errors, swap, json_gets(json_gets(info, "swap"), "capacity"), 1, INT64_MAX, "must be greater than zero");
	check_features(o, errors);
	check_blocks(o, errors);
}

static void check_addresses(const struct object *o, struct field_errors *errors)
{
	const struct where *at = WHERE(WHERE(NULL, "status"), "addresses");
	struct json *address;
	struct map seen;
	map_init(&seen, member_count(object_status(o), "addresses"));
	for (uint32_t i = 0; (address = list_item(json_gets(object_status(o), "addresses"), i)); i++) {
		struct str type = member_text(address, "type"), text = member_text(address, "address");
		struct str key = arena_printf(errors->arena, STR_FMT " " STR_FMT, STR_ARG(type), STR_ARG(text));
		if (map_get(&seen, key)) {
			struct json *shown = json_object(errors->arena);
			json_add(errors->arena, shown, STR("Type"), json_string(errors->arena, type));
			json_add(errors->arena, shown, STR("Address"), json_string(errors->arena, text));
			field_duplicate(errors, where_path(WHERE_ITEM(at, i), errors->arena), shown);
		} else {
			map_set(&seen, key, address, NULL);
		}
	}
	map_done(&seen);
}

/* Once there are blocks they stay: one error of a list of another length, otherwise one of each block. */
static void check_kept_blocks(const struct json *now, const struct json *before, struct field_errors *errors)
{
	static const char text[] = "node updates may not change podCIDR except from \"\" to valid";
	const struct where *at = WHERE(WHERE(NULL, "spec"), "podCIDRs");
	const struct json *old;
	bool is_resized = (now ? now->n : 0) != (before ? before->n : 0);
	for (uint32_t i = 0; (old = list_item(before, i)); i++) {
		if (is_resized) {
			refuse_forbidden(errors, at, text);
			return;
		}
		if (!json_equal(list_item(now, i), old)) {
			refuse_forbidden(errors, at, text);
		}
	}
}

static void check_change(const struct object *o, const struct object *old, struct field_errors *errors)
{
	const struct where *at = WHERE(NULL, "spec");
	const struct json *spec = object_spec(o), *before = object_spec(old);
	struct str provider = member_text(before, "providerID");
	check_resources(o, errors);
	check_features(o, errors);
	check_addresses(o, errors);
	check_kept_blocks(json_gets(spec, "podCIDRs"), json_gets(before, "podCIDRs"), errors);
	if (provider.n && !str_eq(provider, member_text(spec, "providerID"))) {
		refuse_forbidden(
			errors, WHERE(at, "providerID"), "node updates may not change providerID except from \"\" to valid");
	}
	check_taints(o, errors);
	if (!str_eq(member_text(spec, "externalID"), member_text(before, "externalID"))) {
		refuse_forbidden(errors, WHERE(at, "externalID"), "may not be updated");
	}
}

void node_validate_update(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	validate_meta(o->kind, &o->meta, errors);
	node_validate(o, errors);
	check_change(o, old, errors);
}

void node_validate_status(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	check_change(o, old, errors);
}
