/* What is answered in protobuf, and which numbers its fields have: beside objects the messages that all API servers share
 * (k8s.io/apimachinery/pkg/apis/meta/v1, k8s.io/api/apidiscovery/v2). Lists have a type for the moment of writing: a kind does not
 * declare its own. */
#include "api/model/protobuf_write.h"

#include "api/model/protobuf.h"

#include <stdatomic.h>

/* Names, numbers, types: these are only written, never read, owned or described. */
#define TEXT(name, number)                                               \
	{                                                                \
		name, &type_string, FIELD_NUMBER(number), "", NULL, NULL \
	}
#define TEXTS(name, number)                                                   \
	{                                                                     \
		name, &type_string_list, FIELD_NUMBER(number), "", NULL, NULL \
	}
#define INT32(name, number)                                             \
	{                                                               \
		name, &type_int32, FIELD_NUMBER(number), "", NULL, NULL \
	}
#define MAYBE(name, number, type)                                \
	{                                                        \
		name, type, FIELD_NUMBER(number), "", NULL, NULL \
	}
#define ALWAYS(name, number, type)                                              \
	{                                                                       \
		name, type, FIELD_ALWAYS | FIELD_NUMBER(number), "", NULL, NULL \
	}
#define MESSAGE(of, ...) static const struct type of = {.kind = TYPE_OBJECT, .fields = (const struct field[]){__VA_ARGS__, {0}}}
#define LIST(of, elem_type) static const struct type of = {.kind = TYPE_LIST, .elem = &(elem_type)}

MESSAGE(type_cause, TEXT("reason", 1), TEXT("message", 2), TEXT("field", 3));
LIST(type_causes, type_cause);
MESSAGE(type_details, TEXT("name", 1), TEXT("group", 2), TEXT("kind", 3), MAYBE("causes", 4, &type_causes),
	INT32("retryAfterSeconds", 5), TEXT("uid", 6));
MESSAGE(type_status, ALWAYS("metadata", 1, &type_list_meta), TEXT("status", 2), TEXT("message", 3), TEXT("reason", 4),
	MAYBE("details", 5, &type_details), INT32("code", 6));

MESSAGE(type_partial, ALWAYS("metadata", 1, &type_object_meta));
LIST(type_partials, type_partial);
MESSAGE(type_partial_list, ALWAYS("metadata", 1, &type_list_meta), MAYBE("items", 2, &type_partials));
MESSAGE(type_partial_list_beta, MAYBE("items", 1, &type_partials), ALWAYS("metadata", 2, &type_list_meta));

MESSAGE(type_server_address, TEXT("clientCIDR", 1), TEXT("serverAddress", 2));
LIST(type_server_addresses, type_server_address);
MESSAGE(type_versions, TEXTS("versions", 1), MAYBE("serverAddressByClientCIDRs", 2, &type_server_addresses));
MESSAGE(type_group_version, TEXT("groupVersion", 1), TEXT("version", 2));
LIST(type_group_versions, type_group_version);
MESSAGE(type_group, TEXT("name", 1), MAYBE("versions", 2, &type_group_versions),
	ALWAYS("preferredVersion", 3, &type_group_version), MAYBE("serverAddressByClientCIDRs", 4, &type_server_addresses));
LIST(type_groups, type_group);
MESSAGE(type_group_list, MAYBE("groups", 1, &type_groups));
/* The list of verbs is a message of its own. */
MESSAGE(type_resource, TEXT("name", 1), {"namespaced", &type_bool, FIELD_NUMBER(2), "", NULL, NULL}, TEXT("kind", 3),
	{"verbs", &type_string_list, FIELD_NUMBER_IN(4, 1), "", NULL, NULL}, TEXTS("shortNames", 5), TEXT("singularName", 6),
	TEXTS("categories", 7), TEXT("group", 8), TEXT("version", 9), TEXT("storageVersionHash", 10));
LIST(type_resources, type_resource);
MESSAGE(type_resource_list, TEXT("groupVersion", 1), MAYBE("resources", 2, &type_resources));

MESSAGE(type_gvk, TEXT("group", 1), TEXT("version", 2), TEXT("kind", 3));
LIST(type_gvks, type_gvk);
MESSAGE(type_subresource_discovery, TEXT("subresource", 1), MAYBE("responseKind", 2, &type_gvk),
	MAYBE("acceptedTypes", 3, &type_gvks), TEXTS("verbs", 4));
LIST(type_subresource_discoveries, type_subresource_discovery);
MESSAGE(type_resource_discovery, TEXT("resource", 1), MAYBE("responseKind", 2, &type_gvk), TEXT("scope", 3),
	TEXT("singularResource", 4), TEXTS("verbs", 5), TEXTS("shortNames", 6), TEXTS("categories", 7),
	MAYBE("subresources", 8, &type_subresource_discoveries));
LIST(type_resource_discoveries, type_resource_discovery);
MESSAGE(type_version_discovery, TEXT("version", 1), MAYBE("resources", 2, &type_resource_discoveries), TEXT("freshness", 3));
LIST(type_version_discoveries, type_version_discovery);
MESSAGE(type_group_discovery, ALWAYS("metadata", 1, &type_object_meta), MAYBE("versions", 2, &type_version_discoveries));
LIST(type_group_discoveries, type_group_discovery);
MESSAGE(type_group_discovery_list, ALWAYS("metadata", 1, &type_list_meta), MAYBE("items", 2, &type_group_discoveries));

static const struct {
	const char *api_version, *kind;
	const struct type *type;
} shared_types[] = {
	{"v1", "Status", &type_status},
	{"meta.k8s.io/v1", "PartialObjectMetadata", &type_partial},
	{"meta.k8s.io/v1", "PartialObjectMetadataList", &type_partial_list},
	{"meta.k8s.io/v1beta1", "PartialObjectMetadata", &type_partial},
	{"meta.k8s.io/v1beta1", "PartialObjectMetadataList", &type_partial_list_beta},
	{"", "APIVersions", &type_versions},
	{"v1", "APIVersions", &type_versions},
	{"v1", "APIGroup", &type_group},
	{"v1", "APIGroupList", &type_group_list},
	{"v1", "APIResourceList", &type_resource_list},
	{"apidiscovery.k8s.io/v2", "APIGroupDiscoveryList", &type_group_discovery_list},
};

static const struct type *shared_type(struct str api_version, struct str kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(shared_types); i++) {
		if (str_is(kind, shared_types[i].kind) && str_is(api_version, shared_types[i].api_version)) {
			return shared_types[i].type;
		}
	}
	return NULL;
}

/* To look at all fields of pods takes longer than to answer. Doors and their types are static: an address says which, and its last bit what
 * is known. */
bool protobuf_has_objects(const struct kind *k, const struct door *d)
{
	enum { REMEMBERED = 256, KNOWS = 1 };
	static _Atomic uintptr_t remembered[REMEMBERED];
	const struct type *type = door_type(k, d);
	/* Clients ask for protobuf wherever they may have it. For our own group nobody has the generated code that would read it. */
	if (str_is(str_of(d->group), "annals.dev")) {
		return false;
	}
	uintptr_t name = (uintptr_t)type;
	_Atomic uintptr_t *place = &remembered[name / _Alignof(struct type) % REMEMBERED];
	uintptr_t found = atomic_load_explicit(place, memory_order_relaxed);

	if ((found & ~(uintptr_t)KNOWS) != name) {
		found = name | (protobuf_knows(type) ? KNOWS : 0);
		atomic_store_explicit(place, found, memory_order_relaxed);
	}
	return found & KNOWS;
}

const struct type *protobuf_list_type(const struct type *item, struct arena *a)
{
	struct type *list = arena_new(a, struct type), *items = arena_new(a, struct type);
	struct field *fields = arena_array(a, struct field, 3);

	*items = (struct type){.kind = TYPE_LIST, .elem = item};
	fields[0] = (struct field)ALWAYS("metadata", 1, &type_list_meta);
	fields[1] = (struct field)MAYBE("items", PROTOBUF_LIST_ITEMS, items);
	*list = (struct type){.kind = TYPE_OBJECT, .fields = fields};
	return list;
}

/* An object of the kind at that door, its list, or what one of its subresources shows. */
static const struct type *kind_type(const struct kind *k, struct str api_version, struct str kind, struct arena *a)
{
	const struct door *d = kind_door(k, api_version);

	if (d && str_is(kind, k->kind)) {
		return door_type(k, d);
	}
	if (d && str_is(kind, k->list_kind)) {
		return protobuf_list_type(door_type(k, d), a);
	}
	for (size_t i = 0; i < k->n_subresources; i++) {
		const struct view *view = k->subresources[i].view;
		if (view && str_is(kind, view->kind->kind) && kind_door(view->kind, api_version)) {
			return view->kind->type;
		}
	}
	return NULL;
}

const struct type *protobuf_type_of(struct str api_version, struct str kind, struct arena *a)
{
	const struct type *type = shared_type(api_version, kind);

	for (size_t i = 0; !type && i < kind_count(); i++) {
		type = kind_type(kind_at(i), api_version, kind, a);
	}
	return type && protobuf_knows(type) ? type : NULL;
}

bool protobuf_from_tree(struct buf *out, const struct json *object)
{
	struct str api_version = json_text(json_gets(object, "apiVersion")), kind = json_text(json_gets(object, "kind"));
	struct protobuf_out message;
	struct arena a;

	arena_init(&a, SIZE_MAX / 2);
	protobuf_out_init(&message, out->ceiling);
	const struct type *type = protobuf_type_of(api_version, kind, &a);
	if (type) {
		protobuf_put(&message, protobuf_envelope_tail);
		protobuf_put_object(&message, type, object);
		protobuf_put_envelope_head(&message, api_version, kind, protobuf_out_size(&message) - protobuf_envelope_tail.n);
	}
	out->is_over = out->is_over || message.is_over;
	bool ok = type && buf_add_str(out, protobuf_out_str(&message));
	protobuf_out_done(&message);
	arena_done(&a);
	return ok;
}

bool protobuf_from_text(struct buf *out, struct str json_text)
{
	struct arena a;
	struct json *j;
	size_t at;

	arena_init(&a, SIZE_MAX / 2);
	bool ok = json_parse(&j, &a, json_text, (struct json_limits){.depth = UINT32_MAX, .values = SIZE_MAX}, &at) == 0 &&
		protobuf_from_tree(out, j);
	arena_done(&a);
	return ok;
}
