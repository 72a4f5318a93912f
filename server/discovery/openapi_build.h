/* The common part of OpenAPI v2 and v3: schemas made from the kinds' types, and the operations of a
 * version. Private to server/openapi*.c.
 *
 * Documents are built as JSON trees in one arena, then sorted by name and encoded, and the arena
 * is freed. */
#ifndef SERVER_DISCOVERY_OPENAPI_BUILD_H
#define SERVER_DISCOVERY_OPENAPI_BUILD_H

#include "api/model/kind.h"
#include "base/bytes.h"
#include "server/discovery/openapi.h"

struct openapi_dialect {
	const char *ref_prefix; /* "#/definitions/" */
	bool wraps_refs;        /* a reference with siblings goes into allOf */
	bool has_one_of;
	bool is_merged; /* behind a kube-apiserver: with its own document */
	bool is_v2;
};

struct openapi_builder {
	struct arena *arena;
	const struct openapi_dialect *dialect;
	struct json *definitions; /* by name: all that has been referred to */
	bool is_standalone;
	struct kinds *defined;               /* kinds that definitions describe; NULL: none */
	const struct openapi_source *source; /* of their schemas */
	const struct kind *part_of;          /* not NULL: nothing but the definitions of this kind are made */
};

struct openapi_paths {
	struct openapi_builder *builder;
	struct json *object;
};

/* Tree building with C strings that live long enough. */
void openapi_put(struct openapi_builder *b, struct json *object, const char *name, struct json *value);
void openapi_put_text(
	struct openapi_builder *b, struct json *object, const char *name, const char *text); /* nothing when text is NULL */
struct json *openapi_text_list(struct openapi_builder *b, const char *const *texts);         /* NULL-terminated */
struct json *openapi_sorted_by_name(struct openapi_builder *b, const struct json *j);        /* a copy, all the way down */

/* A schema, or a reference to the definition it has made. */
struct json *openapi_schema(struct openapi_builder *b, const struct type *type);
/* {"$ref":...} to a definition that exists or is made of type. */
struct json *openapi_ref(struct openapi_builder *b, const char *name);
struct json *openapi_define(struct openapi_builder *b, const char *name, const struct type *type);
/* Define a version's object and its list, with x-kubernetes-group-version-kind. Return a reference. */
struct json *openapi_define_kind(struct openapi_builder *b, const struct kind *kind, const struct version *version);
struct json *openapi_define_list(struct openapi_builder *b, const struct kind *kind, const struct version *version);
struct json *openapi_gvk(struct openapi_builder *b, const char *group, const char *version, const char *kind);

/* Types of the machinery (openapi_schema.c), as openapi_schema() wants them. */
extern const struct type type_status, type_patch, type_version_info;
/* DeleteOptions and Status belong to every group: they list all group versions with that kind. */
struct json *openapi_define_options(struct openapi_builder *b);
struct json *openapi_define_status(struct openapi_builder *b);

/* Parameters, by what takes them. */
enum {
	PARAMETERS_SELECT = 1 << 0, /* list, deletecollection */
	PARAMETERS_WATCH = 1 << 1,  /* list */
	PARAMETERS_WRITE = 1 << 2,  /* post, put, patch */
	PARAMETERS_APPLY = 1 << 3,  /* patch */
	PARAMETERS_DELETE = 1 << 4, /* delete, deletecollection */
	PARAMETERS_EVERYWHERE = 1 << 5,
	PARAMETERS_NAME = 1 << 6, /* this and the next are parts of the path */
	PARAMETERS_NAMESPACE = 1 << 7,
	PARAMETERS_DIFF = 1 << 8,
	PARAMETERS_IN_PATH = PARAMETERS_NAME | PARAMETERS_NAMESPACE,
};

struct openapi_parameter {
	const char *name, *type, *doc;
	unsigned groups;
};
extern const struct openapi_parameter openapi_parameters[]; /* ends with a NULL name */

enum openapi_payload { PAYLOAD_NONE, PAYLOAD_OBJECT, PAYLOAD_LIST, PAYLOAD_PATCH, PAYLOAD_DELETE_OPTIONS, PAYLOAD_STATUS };

/* An operation on a collection, an object or a subresource. */
struct openapi_verb {
	enum verb verb;
	const char *method, *action; /* "get", "list" */
	const char *id;              /* "list": begins the operationId */
	const char *doc;             /* with one %s: the kind */
	unsigned parameters;
	enum openapi_payload body, answer;
	bool creates, accepts; /* may answer 201, 202 */
};

enum openapi_level { LEVEL_COLLECTION, LEVEL_ALL_NAMESPACES, LEVEL_OBJECT, LEVEL_SUBRESOURCE };

/* One path of a version. */
struct openapi_path {
	const struct kind *kind;
	const struct version *version;
	enum openapi_level level;
	const struct subresource *sub; /* LEVEL_SUBRESOURCE */
	char *path;                    /* "/apis/apps/v1/namespaces/{namespace}/controllerrevisions"; in the arena */
	unsigned parameters;           /* PARAMETERS_* of every operation */
};

/* Calls `add` for every path of the version that has operations. */
void openapi_each_path(struct openapi_builder *b, const struct kind *kind, const struct version *version,
	void (*add)(void *ctx, const struct openapi_path *path), void *ctx);
/* The verbs of a path: for (v = openapi_next_verb(p, NULL); v; v = openapi_next_verb(p, v)). */
const struct openapi_verb *openapi_next_verb(const struct openapi_path *p, const struct openapi_verb *v);
/* Returns the media types of the answer; NULL-terminated. */
const char *const *openapi_answer_types(const struct openapi_path *p, const struct openapi_verb *v);
enum openapi_payload openapi_answer_of(const struct openapi_path *p, const struct openapi_verb *v);
const char *openapi_operation_id(struct openapi_builder *b, const struct openapi_path *p, const struct openapi_verb *v);
const char *openapi_operation_doc(struct openapi_builder *b, const struct openapi_path *p, const struct openapi_verb *v);
/* Returns the group, version and kind of the objects that the path takes and answers. */
struct json *openapi_path_gvk(struct openapi_builder *b, const struct openapi_path *p);
const char *openapi_tag(struct openapi_builder *b, const struct version *version);
/* The payload's schema: a reference. */
struct json *openapi_payload_ref(struct openapi_builder *b, const struct openapi_path *p, enum openapi_payload payload);

extern const char *const openapi_patch_types[]; /* NULL-terminated, as the next ones */
extern const char *const openapi_diff_types[];

/* The documents (openapi.c, openapi_v2.c, openapi_pb.c), in b's arena. */
struct json *openapi_v3_document(struct openapi_builder *b, const struct version *version, struct str release);
struct json *openapi_v3_version_document(struct openapi_builder *b, struct str release);
struct json *openapi_v2_document(struct openapi_builder *b, struct str release);
struct bytes *openapi_v2_pack(const struct json *v2, struct arena *a); /* a whole document, or definitions and paths alone */

/* The v2 document with kinds of definitions (openapi_v2.c). The caller holds a lock. */
enum openapi_v2_form { V2_JSON, V2_PROTOBUF, V2_FORMS };
struct openapi_parts;
struct openapi_parts *openapi_parts_new(const struct json *document); /* of the program's kinds, sorted */
struct openapi_parts *openapi_parts_free(struct openapi_parts *p);
/* Returns the program's document with those kinds. like: a builder with a source, without an arena. */
struct bytes *openapi_parts_join(struct openapi_parts *p, const struct openapi_builder *like, enum openapi_v2_form form,
	struct str program, struct kinds *defined);

#endif
