/* metadata and the other types that every kind shares (k8s.io/apimachinery/pkg/apis/meta/v1). Members in the order Go writes them. */
#include "api/model/schema.h"

const struct type type_string = {.kind = TYPE_STRING};
const struct type type_bool = {.kind = TYPE_BOOL};
const struct type type_int32 = {.kind = TYPE_INT32};
const struct type type_int64 = {.kind = TYPE_INT64};
const struct type type_time = {
	.kind = TYPE_TIME,
	.definition = "io.k8s.apimachinery.pkg.apis.meta.v1.Time",
	.go_type = "v1.Time",
	.doc = "A point in time as RFC 3339 text, to the second.",
};
const struct type type_micro_time = {
	.kind = TYPE_MICRO_TIME,
	.definition = "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime",
	.go_type = "v1.MicroTime",
	.doc = "A point in time as RFC 3339 text, to the microsecond.",
};
const struct type type_bytes = {.kind = TYPE_BYTES};
const struct type type_any = {.kind = TYPE_MAP, .elem = &type_any};
const struct type type_raw = {
	.kind = TYPE_RAW,
	.definition = "io.k8s.apimachinery.pkg.runtime.RawExtension",
	.go_type = "runtime.RawExtension",
	.doc = "Any JSON, kept as it was first written.",
};
const struct type type_int_or_string = {
	.kind = TYPE_INT_OR_STRING,
	.definition = "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
	.go_type = "intstr.IntOrString",
	.doc = "A 32-bit number, or a text such as a percentage or a name.",
};
const struct type type_quantity = {
	.kind = TYPE_QUANTITY,
	.definition = "io.k8s.apimachinery.pkg.api.resource.Quantity",
	.go_type = "resource.Quantity",
	.doc = "An amount with an optional unit, such as 1.5, 250m or 64Mi.",
};
const struct type type_string_map = {.kind = TYPE_MAP, .elem = &type_string};
const struct type type_string_list = {.kind = TYPE_LIST, .elem = &type_string};
const struct type type_string_set = {.kind = TYPE_LIST, .elem = &type_string, .list_type = LIST_SET};

static const struct type type_uid = {.kind = TYPE_STRING, .go_type = "types.UID"};
static const struct type type_operation = {.kind = TYPE_STRING, .go_type = "v1.ManagedFieldsOperationType"};
static const struct type type_fields_v1 = {
	.kind = TYPE_FIELDS_V1,
	.definition = "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1",
	.go_type = "v1.FieldsV1",
	.doc = "A set of fields as a trie in JSON: f:<name> is a member, k:<keys> a list item known by its keys, v:<value> one "
	       "known by its "
	       "value, i:<position> one known by its place; \".\" marks an item that is itself in the set.",
};

static const struct field owner_reference_fields[] = {
	{"apiVersion", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(5), "API version of the owner.", NULL, NULL},
	{"kind", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "Kind of the owner.", NULL, NULL},
	{"name", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(3), "Name of the owner.", NULL, NULL},
	{"uid", &type_uid, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(4),
		"uid of the owner: a later object of the same name is no owner.", NULL, NULL},
	{"controller", &type_bool, FIELD_KEEP_EMPTY | FIELD_NUMBER(6),
		"Whether the owner is the one that manages this object; at most one may be.", NULL, NULL},
	{"blockOwnerDeletion", &type_bool, FIELD_KEEP_EMPTY | FIELD_NUMBER(7),
		"Whether a foreground deletion of the owner waits until this object is gone.", NULL, NULL},
	{0},
};

const struct type type_owner_reference = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference",
	.go_type = "v1.OwnerReference",
	.doc = "Names an object that this object belongs to, in the same namespace or without one.",
	.is_atomic = true,
	.fields = owner_reference_fields,
};

static const struct field managed_fields_entry_fields[] = {
	{"manager", &type_string, FIELD_NUMBER(1), "Who manages these fields.", NULL, NULL},
	{"operation", &type_operation, FIELD_NUMBER(2), "How they came to be managed: Apply or Update.", NULL, NULL},
	{"apiVersion", &type_string, FIELD_NUMBER(3), "The API version in which the fields are named.", NULL, NULL},
	{"time", &type_time, FIELD_NUMBER(4), "When the manager last changed the set of fields or their values.", NULL, NULL},
	{"fieldsType", &type_string, FIELD_NUMBER(6), "The format of the set; the only one is FieldsV1.", NULL, NULL},
	{"fieldsV1", &type_fields_v1, FIELD_NUMBER(7), "The set of fields.", NULL, NULL},
	{"subresource", &type_string, FIELD_NUMBER(8), "The subresource the manager wrote to, empty for the object itself.",
		NULL, NULL},
	{0},
};

const struct type type_managed_fields_entry = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry",
	.go_type = "v1.ManagedFieldsEntry",
	.doc = "Which fields one manager set, and how.",
	.fields = managed_fields_entry_fields,
};

static const struct type type_owner_references = {
	.kind = TYPE_LIST,
	.elem = &type_owner_reference,
	.list_type = LIST_MAP,
	.list_keys = (const char *const[]){"uid", NULL},
};
static const struct type type_managed_fields = {.kind = TYPE_LIST, .elem = &type_managed_fields_entry};

/* SYSTEM: the flag of those that only the server sets. */
#define OBJECT_META_FIELDS(SYSTEM)                                                                                         \
	{"name", &type_string, SYSTEM | FIELD_NUMBER(1),                                                                   \
		"Name of the object, unique among its kind in its namespace. Cannot be changed.", NULL, NULL},             \
		{"generateName", &type_string, FIELD_NUMBER(2),                                                            \
			"Prefix from which the server makes a name where none is given.", NULL, NULL},                     \
		{"namespace", &type_string, SYSTEM | FIELD_NUMBER(3), "Namespace the object lives in. Cannot be changed.", \
			NULL, NULL},                                                                                       \
		{"selfLink", &type_string, SYSTEM | FIELD_NUMBER(4), "No longer filled in.", NULL, NULL},                  \
		{"uid", &type_uid, SYSTEM | FIELD_NUMBER(5),                                                               \
			"Distinguishes this object from all others, also from earlier ones of its name. Set by the "       \
			"server.",                                                                                         \
			NULL, NULL},                                                                                       \
		{"resourceVersion", &type_string, SYSTEM | FIELD_NUMBER(6),                                                \
			"Version of the stored object; sent back with a write, it must still be "                          \
			"the current one. Compare for equality only.",                                                     \
			NULL, NULL},                                                                                       \
		{"generation", &type_int64, SYSTEM | FIELD_NUMBER(7),                                                      \
			"Counts the states that the object's author wished for. Set by the server.", NULL, NULL},          \
		{"creationTimestamp", &type_time, SYSTEM | FIELD_BY_VALUE | FIELD_NUMBER(8),                               \
			"CreationTimestamp is a timestamp of the server: when the object was created.", NULL, NULL},       \
		{"deletionTimestamp", &type_time, FIELD_NUMBER(9),                                                         \
			"When deletion was asked for. The object goes when its finalizers are gone. Set by the "           \
			"server.",                                                                                         \
			NULL, NULL},                                                                                       \
		{"deletionGracePeriodSeconds", &type_int64, FIELD_KEEP_EMPTY | FIELD_NUMBER(10),                           \
			"How long the object may take to stop before it is deleted. "                                      \
			"Set by the server.",                                                                              \
			NULL, NULL},                                                                                       \
		{"labels", &type_string_map, FIELD_NUMBER(11), "Keys and values to select objects by.", NULL, NULL},       \
		{"annotations", &type_string_map, FIELD_NUMBER(12),                                                        \
			"Keys and values that tools keep with the object; not for selecting.", NULL, NULL},                \
		{"ownerReferences", &type_owner_references, FIELD_PATCH_MERGE | FIELD_NUMBER(13),                          \
			"The objects this one belongs to; it is garbage when all of "                                      \
			"them are gone.",                                                                                  \
			"uid", NULL},                                                                                      \
		{"finalizers", &type_string_set, FIELD_PATCH_MERGE | FIELD_NUMBER(14),                                     \
			"Who must agree before the object is removed from the store. Nothing can "                         \
			"be added once deletion has begun.",                                                               \
			NULL, NULL},                                                                                       \
	{                                                                                                                  \
		"managedFields", &type_managed_fields, SYSTEM | FIELD_KEEP_EMPTY | FIELD_NUMBER(17),                       \
			"Who set which fields. Kept by the server.", NULL, NULL                                            \
	}

const struct type type_object_meta = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
	.go_type = "v1.ObjectMeta",
	.doc = "What every stored object has, whatever its kind.",
	.fields = (const struct field[]){OBJECT_META_FIELDS(FIELD_UNOWNED), {0}},
};

const struct type type_embedded_meta = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
	.go_type = "v1.ObjectMeta",
	.doc = "What every stored object has, whatever its kind.",
	.fields = (const struct field[]){OBJECT_META_FIELDS(0), {0}},
};

static const struct field list_meta_fields[] = {
	{"selfLink", &type_string, FIELD_NUMBER(1), "No longer filled in.", NULL, NULL},
	{"resourceVersion", &type_string, FIELD_NUMBER(2), "Version of the collection this list shows.", NULL, NULL},
	{"continue", &type_string, FIELD_NUMBER(3), "Set when there is more: send it back to get the next part.", NULL, NULL},
	{"remainingItemCount", &type_int64, FIELD_KEEP_EMPTY | FIELD_NUMBER(4), "How many objects follow, where that is known.",
		NULL, NULL},
	{0},
};

const struct type type_list_meta = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
	.go_type = "v1.ListMeta",
	.doc = "What every list has.",
	.fields = list_meta_fields,
};

static const struct field preconditions_fields[] = {
	{"resourceVersion", &type_string, FIELD_NUMBER(2), "The version the object must have.", NULL, NULL},
	{"uid", &type_string, FIELD_NUMBER(1), "The uid the object must have.", NULL, NULL},
	{0},
};

static const struct type type_preconditions = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.apimachinery.pkg.apis.meta.v1.Preconditions",
	.go_type = "v1.Preconditions",
	.doc = "What must hold of an object for it to be deleted.",
	.fields = preconditions_fields,
};

static const struct field delete_options_fields[] = {
	{"apiVersion", &type_string, 0, "The version of the API in which the options are written.", NULL, NULL},
	{"dryRun", &type_string_list, FIELD_NUMBER(5), "[\"All\"]: go through all steps, but store nothing.", NULL, NULL},
	{"gracePeriodSeconds", &type_int64, FIELD_NUMBER(1), "How long the object may take to stop.", NULL, NULL},
	{"kind", &type_string, 0, "DeleteOptions.", NULL, NULL},
	{"orphanDependents", &type_bool, FIELD_NUMBER(3), "Whether dependents are kept. Superseded by propagationPolicy.", NULL,
		NULL},
	{"preconditions", &type_preconditions, FIELD_NUMBER(2), "What must hold of the object; otherwise 409 Conflict.", NULL,
		NULL},
	{"propagationPolicy", &type_string, FIELD_NUMBER(4),
		"What happens to dependents: Orphan keeps them, Background deletes them later, Foreground before the object "
		"itself.",
		NULL, NULL},
	{0},
};

const struct type type_delete_options = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
	.go_type = "v1.DeleteOptions",
	.doc = "How an object is to be deleted.",
	.fields = delete_options_fields,
};

/* ---- references ----
 *
 * v1.ObjectReference is here and not in a kind: events and others share it. It is atomic for
 * field ownership, as upstream. */

static const struct field object_reference_fields[] = {
	{"kind", &type_string, FIELD_NUMBER(1), "Kind of the object.", NULL, NULL},
	{"namespace", &type_string, FIELD_NUMBER(2), "Namespace of the object.", NULL, NULL},
	{"name", &type_string, FIELD_NUMBER(3), "Name of the object.", NULL, NULL},
	{"uid", &type_uid, FIELD_NUMBER(4), "uid of the object.", NULL, NULL},
	{"apiVersion", &type_string, FIELD_NUMBER(5), "API version of the object.", NULL, NULL},
	{"resourceVersion", &type_string, FIELD_NUMBER(6), "The version of the object that is meant.", NULL, NULL},
	{"fieldPath", &type_string, FIELD_NUMBER(7), "The part of the object that is meant: spec.containers{web}.", NULL, NULL},
	{0},
};

const struct type type_granular_object_reference = {
	.kind = TYPE_OBJECT,
	.go_type = "v1.ObjectReference",
	.doc = "Names an object, or a part of one.",
	.fields = object_reference_fields,
};

const struct type type_object_reference = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.core.v1.ObjectReference",
	.go_type = "v1.ObjectReference",
	.doc = "Names an object, or a part of one.",
	.is_atomic = true,
	.fields = object_reference_fields,
};
