/* v1.ObjectReference, here and not in a kind: events and others share it. It is atomic for field
 * ownership, as upstream. */
#include "api/model/object_reference.h"

static const struct type type_uid = {.kind = TYPE_STRING, .go_type = "types.UID"};

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
