/* The shape of a kind, as data. Decoding, strict field validation, normalisation, strategic merge, field ownership, OpenAPI and
 * explain all read these tables; nothing else in the project knows the members of a kind by name except its own file. */
#ifndef API_MODEL_SCHEMA_H
#define API_MODEL_SCHEMA_H

#include "api/model/status.h"

enum type_kind {
	TYPE_STRING,
	TYPE_BOOL,
	TYPE_INT32,
	TYPE_INT64,
	TYPE_TIME, /* RFC 3339, seconds */
	TYPE_MICRO_TIME,
	TYPE_BYTES, /* base64 */
	TYPE_INT_OR_STRING,
	TYPE_QUANTITY, /* in canonical form (api/model/quantity.h) */
	TYPE_OBJECT,   /* members as in `fields`, others are unknown */
	TYPE_MAP,      /* string -> elem */
	TYPE_LIST,
	TYPE_DOUBLE,    /* a number; only in messages of TYPE_RAW */
	TYPE_RAW,       /* any JSON, opaque: kept verbatim (runtime.RawExtension); one leaf to field ownership */
	TYPE_FIELDS_V1, /* metadata.managedFields[].fieldsV1: kept verbatim */
};

enum list_type { LIST_ATOMIC, LIST_SET, LIST_MAP };

struct type {
	enum type_kind kind;
	const char *definition; /* OpenAPI name "io.k8s.api.apps.v1.ControllerRevision"; NULL: written inline where used */
	const char *go_type;    /* as messages of Go's decoder name it: "v1.ObjectMeta", "types.UID"; NULL: by kind, "string" */
	const char *doc;
	const struct field *fields;   /* TYPE_OBJECT: ends with a NULL name */
	const char *embedded;         /* the Go struct whose fields those with FIELD_NUMBER_IN are: messages name it */
	const struct type
		*elem; /* TYPE_MAP, TYPE_LIST; TYPE_OBJECT: of all members that are no fields; NULL: they are unknown */
	enum list_type list_type;     /* x-kubernetes-list-type */
	const char *const *list_keys; /* LIST_MAP: NULL-terminated */
	bool is_atomic;               /* objects and maps that field ownership treats as one (x-kubernetes-map-type: atomic) */
	/* TYPE_RAW: the object that protobuf has in place of JSON text. It may hold its own type. NULL: the text. */
	const struct type *message;
	bool is_choice;               /* of a message: JSON has the value of one field, the last that is there */
	bool is_rounded;              /* TYPE_QUANTITY: up to thousandths, as in lists of resources */
};

enum {
	FIELD_ALWAYS = 1 << 0,      /* written even when zero (no omitempty in Go): 0, "", null */
	FIELD_MANDATORY = 1 << 1,   /* "required" in OpenAPI */
	FIELD_PATCH_MERGE = 1 << 2, /* x-kubernetes-patch-strategy: merge */
	FIELD_RETAIN_KEYS = 1 << 3,
	FIELD_KEEP_EMPTY = 1 << 4, /* a pointer in Go: present zero values are kept; with FIELD_ALWAYS, absent ones are null */
	FIELD_UNOWNED = 1 << 5,    /* never in managedFields: metadata's system fields, kind, apiVersion */
	FIELD_SILENT_DEFAULT = 1 << 6, /* decoding fills in default_json, but OpenAPI does not say so (defaults.go upstream) */
	FIELD_NUMBER_SHIFT = 8,
	FIELD_WITHIN_SHIFT = 20,
};
/* Among the flags: the field's number in Kubernetes' protobuf (generated.proto of k8s.io/api). None: 0 (api/model/protobuf.h). */
#define FIELD_NUMBER(n) ((n) << FIELD_NUMBER_SHIFT)
/* The number of a field in a struct that Go embeds: in protobuf that struct is a message of its
 * own, number `within`. */
#define FIELD_NUMBER_IN(within, n) ((within) << FIELD_WITHIN_SHIFT | FIELD_NUMBER(n))
#define TYPE_FIELDS_MAX 64 /* of one object type */

struct field {
	const char *name;
	const struct type *type;
	unsigned flags;
	const char *doc;
	const char *merge_key;    /* x-kubernetes-patch-merge-key */
	const char *default_json; /* OpenAPI default and what decoding fills in where the field is absent; NULL: none */
};

static inline unsigned field_number(const struct field *f)
{
	return f->flags >> FIELD_NUMBER_SHIFT & ((1U << (FIELD_WITHIN_SHIFT - FIELD_NUMBER_SHIFT)) - 1);
}
/* The embedded message it is in; 0: none. */
static inline unsigned field_within(const struct field *f)
{
	return f->flags >> FIELD_WITHIN_SHIFT;
}

/* Shared types (api/model/schema_meta.c). */
extern const struct type type_string, type_bool, type_int32, type_int64, type_time, type_micro_time, type_bytes, type_raw,
	type_int_or_string, type_quantity, type_string_map, type_string_list, type_string_set;
/* metadata of whole objects, and of templates within objects. Everything in the latter can be
 * owned. */
extern const struct type type_object_meta, type_embedded_meta;
/* Anything: a map of itself. Ownership sees each value as what it is: objects member by member, all else as one. */
extern const struct type type_any;
extern const struct type type_list_meta, type_owner_reference, type_managed_fields_entry;
extern const struct type type_delete_options;

/* The first members of every kind; flags of metadata besides what it always has. */
#define OBJECT_FIELDS_METADATA(flags)                                                                                       \
	{"kind", &type_string, FIELD_UNOWNED, "What kind of object this is.", NULL, NULL},                                  \
		{"apiVersion", &type_string, FIELD_UNOWNED, "The version of the API in which the object is written.", NULL, \
			NULL},                                                                                              \
	{                                                                                                                   \
		"metadata", &type_object_meta, FIELD_ALWAYS | FIELD_NUMBER(1) | (flags),                                    \
			"What every object has: names, versions, labels, owners.", NULL, NULL                               \
	}
#define OBJECT_FIELDS OBJECT_FIELDS_METADATA(0)

/* The findings of strict decoding: kube's texts, in kube's order, each once and at most 100. */
struct decode_report {
	struct str *strict; /* `unknown field "spec.x"`, `duplicate field "metadata.name"` */
	size_t n_strict, cap;
};
enum { DECODE_REPORT_MAX = 100 };    /* sigs.k8s.io/json reports no more */
void decode_report_add(struct decode_report *r, struct arena *a, struct str text); /* unless it is there or the report is full */

/* Converts a JSON value into the normal form of `type`: known members only, in schema order, maps sorted by key, values as Go's
 * decoder and encoder would leave them (empty omitted unless FIELD_ALWAYS, nulls dropped, RAW verbatim). `in` and its text must
 * outlive the result, which shares what is normal already. report may be NULL. 0; or 1 with a sentence in *ret_error, worded as
 * Go's json: "json: cannot unmarshal string into Go struct field ControllerRevision.revision of type int64". */
int schema_decode(struct json **ret, const struct type *type, const struct json *in, struct arena *a,
	struct decode_report *report, struct str *ret_error);

/* The written form of an object of that type in which nothing was ever set, not even by default. */
struct json *schema_zero(const struct type *type, struct arena *a);
/* A copy of an object in normal form with that member set, in its place. NULL takes it out. */
struct json *schema_with(
	const struct type *type, const struct json *object, const char *name, struct json *value, struct arena *a);

const struct field *type_field(const struct type *type, struct str name);
/* The position of the field called name, or -1. Members mostly come in the order of the fields, so looking starts at `hint`: what the
 * last call answered, and 0 at first. */
int type_field_index(const struct type *type, struct str name, int hint);
/* Returns whether it has fields that nobody can own. Such an object (metadata) is itself never
 * owned, and never removed as a whole. */
bool type_has_unowned(const struct type *type);
/* The type's name in Go without its package: "ObjectMeta". */
const char *type_go_name(const struct type *type);

/* Among the flags of a field: a struct, no pointer, which Go leaves out of JSON when it is zero. In protobuf it is always there. */
#define FIELD_BY_VALUE (1 << 7)

/* How objects of the core group name others (k8s.io/api/core/v1 ObjectReference). */
extern const struct type type_object_reference;
/* An object reference in which each member has an owner of its own. */
extern const struct type type_granular_object_reference;

#endif
