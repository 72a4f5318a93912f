/* Schemas of definitions as OpenAPI documents show them. Upstream's k8s.io/apiextensions-apiserver/pkg/controller/openapi, v0.36: the
 * same members, and the same texts.
 *
 * A schema is a tree that others share. So each changed node is a copy, down from the root. */
#include "api/custom/publish.h"

#include "api/model/members.h"

#define CONVENTIONS "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"

struct publisher {
	bool is_v2;
	struct arena *a;
};

static struct json *described(const struct publisher *p, const char *text)
{
	struct json *out = json_object(p->a);

	json_add(p->a, out, STR("description"), json_string(p->a, str_of(text)));
	return out;
}

static void put_text(const struct publisher *p, struct json *properties, const char *name, const char *text)
{
	struct json *member = described(p, text);

	json_add(p->a, member, STR("type"), json_string(p->a, STR("string")));
	json_set(p->a, properties, str_of(name), member);
}

/* In v3 nothing may stand beside a reference. */
static void put_metadata(const struct publisher *p, struct json *properties)
{
	static const char *const v2 = "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
				 *const v3 = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
	struct json *metadata = described(p, "Standard object's metadata. More info: " CONVENTIONS "#metadata");
	struct json *all_of = json_array(p->a), *reference = p->is_v2 ? metadata : json_object(p->a);

	json_add(p->a, reference, STR("$ref"), json_string(p->a, str_of(p->is_v2 ? v2 : v3)));
	if (!p->is_v2) {
		json_append(p->a, all_of, reference);
		json_add(p->a, metadata, STR("allOf"), all_of);
	}
	json_set(p->a, properties, STR("metadata"), metadata);
}

/* The node's properties, to be changed; there are some afterwards. */
static struct json *open_properties(const struct publisher *p, struct json *node)
{
	const struct json *present = json_gets(node, "properties");
	struct json *properties = json_is(present, JSON_OBJECT) ? json_copy(p->a, present) : json_object(p->a);

	json_set(p->a, node, STR("properties"), properties);
	return properties;
}

static void put_embedded(const struct publisher *p, struct json *node)
{
	static const char *const required[] = {"kind", "apiVersion"};
	struct json *properties = open_properties(p, node);
	const struct json *present = json_gets(node, "required");
	struct json *all = json_is(present, JSON_ARRAY) ? json_copy(p->a, present) : json_array(p->a);

	put_text(p, properties, "apiVersion",
		"apiVersion defines the versioned schema of this representation of an object. More info: " CONVENTIONS
		"#resources");
	put_text(p, properties, "kind",
		"kind is a string value representing the type of this object. In CamelCase. More info: " CONVENTIONS
		"#types-kinds");
	put_metadata(p, properties);
	for (size_t i = 0; i < ARRAY_SIZE(required); i++) {
		if (!list_has_text(all, str_of(required[i]))) {
			json_append(p->a, all, json_string(p->a, str_of(required[i])));
		}
	}
	json_set(p->a, node, STR("required"), all);
}

/* ---- int-or-string ---- */

static bool is_integer_or_string(const struct json *any_of)
{
	static const char *const types[] = {"integer", "string"};

	if (!json_is(any_of, JSON_ARRAY) || any_of->n != ARRAY_SIZE(types)) {
		return false;
	}
	for (uint32_t i = 0; i < any_of->n; i++) {
		if (any_of->items[i]->n != 1 || !str_is(member_text(any_of->items[i], "type"), types[i])) {
			return false;
		}
	}
	return true;
}

static struct json *integer_or_string(const struct publisher *p)
{
	static const char *const types[] = {"integer", "string"};
	struct json *any_of = json_array(p->a);

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		struct json *each = json_object(p->a);
		json_add(p->a, each, STR("type"), json_string(p->a, str_of(types[i])));
		json_append(p->a, any_of, each);
	}
	return any_of;
}

/* Says in OpenAPI's words what the extension means. */
static void unfold(const struct publisher *p, struct json *node)
{
	const struct json *any_of = json_gets(node, "anyOf"), *all_of = json_gets(node, "allOf");

	if (is_integer_or_string(any_of) || is_integer_or_string(json_gets(list_item(all_of, 0), "anyOf"))) {
		return;
	}
	if (!any_of) {
		json_set(p->a, node, STR("anyOf"), integer_or_string(p));
		return;
	}
	struct json *first = json_object(p->a), *all = json_is(all_of, JSON_ARRAY) ? json_copy(p->a, all_of) : json_array(p->a);
	json_add(p->a, first, STR("anyOf"), integer_or_string(p));
	json_insert(p->a, all, 0, first);
	json_set(p->a, node, STR("allOf"), all);
}

/* ---- what v2 cannot say ---- */

static void drop(struct json *node, const char *const *names)
{
	for (; *names; names++) {
		json_remove(node, str_of(*names));
	}
}

/* Members that may be null are not required: v2 has no null. */
static void drop_nullable_from_required(const struct publisher *p, struct json *node)
{
	const struct json *properties = json_gets(node, "properties"), *required = json_gets(node, "required"), *each;
	bool is_dropped = member_is_true(json_gets(node, "additionalProperties"), "nullable");
	struct json *left = json_array(p->a);

	for (uint32_t i = 0; !is_dropped && (each = list_item(required, i)); i++) {
		if (!member_is_true(json_get(properties, json_text(each)), "nullable")) {
			json_append(p->a, left, (struct json *)(uintptr_t)each);
		}
	}
	json_remove(node, STR("required"));
	if (left->n > 0) {
		json_add(p->a, node, STR("required"), left);
	}
}

/* kubectl judges by v2: it takes no member that a node with properties does not list, no null of any type, and
 * no array without items. So whatever allows more is left without a type. */
static void drop_unsayable(const struct publisher *p, struct json *node)
{
	static const char *const junctors[] = {"allOf", "anyOf", "oneOf", "not", NULL},
				 *const of_nullable[] = {"type", "nullable", "items", "properties", NULL},
				 *const of_open[] = {"items", "properties", NULL}, *const type[] = {"type", NULL};
	bool is_open = member_is_true(node, "x-kubernetes-preserve-unknown-fields");

	drop(node, junctors);
	if (member_is_true(node, "nullable")) {
		drop(node, of_nullable);
	}
	if (is_open) {
		drop(node, of_open);
	}
	struct str kind = member_text(node, "type");
	if ((str_is(kind, "array") && !json_gets(node, "items")) || (str_is(kind, "object") && is_open)) {
		drop(node, type);
	}
	drop_nullable_from_required(p, node);
}

/* ---- the tree ---- */

static struct json *publish_node(const struct publisher *p, const struct json *in)
{
	struct json *out = json_copy(p->a, in);
	bool is_open = member_is_true(in, "x-kubernetes-preserve-unknown-fields");

	if (p->is_v2) {
		drop_unsayable(p, out);
	} else if (member_is_true(in, "x-kubernetes-int-or-string")) {
		unfold(p, out);
	}
	if (json_is(json_gets(out, "properties"), JSON_OBJECT)) {
		struct json *properties = open_properties(p, out);
		for (uint32_t i = 0; i < properties->n; i++) {
			properties->members[i].value = publish_node(p, properties->members[i].value);
		}
	}
	static const char *const within[] = {"items", "additionalProperties"};
	for (size_t i = 0; i < ARRAY_SIZE(within); i++) {
		const struct json *below = json_gets(out, within[i]);
		if (json_is(below, JSON_OBJECT)) {
			json_set(p->a, out, str_of(within[i]), publish_node(p, below));
		}
	}
	if (member_is_true(in, "x-kubernetes-embedded-resource") && !(p->is_v2 && is_open)) {
		put_embedded(p, out);
	}
	return out;
}

struct json *publish_schema(const struct json *openapi, bool is_v2, struct arena *a)
{
	struct publisher p = {is_v2, a};
	bool is_open = member_is_true(openapi, "x-kubernetes-preserve-unknown-fields");
	struct json *out = json_object(a);

	if (!json_is(openapi, JSON_OBJECT) || (is_v2 && is_open)) {
		json_add(a, out, STR("type"), json_string(a, STR("object")));
		return out;
	}
	out = publish_node(&p, openapi);
	struct json *properties = open_properties(&p, out);
	put_text(&p, properties, "apiVersion",
		"APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized "
		"schemas to the latest internal value, and may reject unrecognized values. More info: " CONVENTIONS
		"#resources");
	put_text(&p, properties, "kind",
		"Kind is a string value representing the REST resource this object represents. Servers may infer this from the "
		"endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: " CONVENTIONS
		"#types-kinds");
	put_metadata(&p, properties);
	return out;
}
