/* One API object on its way through a write: decoded, normal, in one arena. Reads never see this (storage/cache/cache.h).
 *
 * `meta` is the truth for metadata, `fields` for everything else at the top level (data, revision, spec, status ...). kind and
 * apiVersion are not stored in it: they follow from the kind and the version it is written through. */
#ifndef API_MODEL_OBJECT_H
#define API_MODEL_OBJECT_H

#include "api/model/schema.h"

struct kind;
struct version;

struct meta {
	struct str name, generate_name, ns, uid;
	struct str resource_version;   /* as the client sent it; from storage: decimal mod revision. Never stored */
	int64_t generation;            /* 0: absent */
	struct str creation_timestamp; /* RFC 3339 or empty */
	struct str deletion_timestamp; /* empty: not being deleted */
	bool has_grace_period;
	int64_t grace_period_s;
	struct json *labels, *annotations; /* JSON_OBJECT of strings, or NULL when empty */
	struct json *owner_references;     /* JSON_ARRAY, normal form, or NULL */
	struct json *finalizers;           /* JSON_ARRAY of strings, or NULL */
	struct json *managed_fields;       /* JSON_ARRAY, normal form, or NULL; empty: a client wants them cleared */
};

struct object {
	const struct kind *kind;
	struct meta meta;
	struct json *fields;  /* JSON_OBJECT in schema order */
	const struct version *version; /* through which it was sent; NULL: it comes from the storage */
	struct json *
		beyond; /* what a newer build keeps beside this one's hub form: written back as it is, never shown. NULL: nothing */
	const struct version *stored_version; /* in which it is stored; NULL: this was not decoded from the storage */
	bool is_restored;                     /* it differs from what is stored (struct kind's restore) */
	int64_t mod_revision;              /* of the stored object this was decoded from; 0: new */
};

static inline bool meta_is_deleting(const struct meta *m)
{
	return m->deletion_timestamp.n > 0;
}

/* The objects `spec` and `status` of those kinds that have them. NULL: there is none. */
static inline struct json *object_spec(const struct object *o)
{
	return json_gets(o->fields, "spec");
}

static inline struct json *object_status(const struct object *o)
{
	return json_gets(o->fields, "status");
}

static inline void object_set_spec(struct object *o, struct json *spec, struct arena *a)
{
	json_set(a, o->fields, STR("spec"), spec);
}

static inline void object_set_status(struct object *o, struct json *status, struct arena *a)
{
	json_set(a, o->fields, STR("status"), status);
}

struct owner_reference {
	struct str api_version, kind, name, uid;
	bool is_controller, blocks_deletion;
};
size_t meta_owner_count(const struct meta *m);
void meta_owner(const struct meta *m, size_t i, struct owner_reference *ret);
bool meta_controller(const struct meta *m, struct owner_reference *ret); /* the one with controller: true */
bool meta_has_finalizer(const struct meta *m, struct str name);
void meta_add_finalizer(struct meta *m, struct arena *a, struct str name); /* appends unless there */
void meta_remove_finalizer(struct meta *m, struct arena *a, struct str name);
void meta_set_annotation(struct meta *m, struct arena *a, struct str name, struct json *value);

enum object_error {
	OBJECT_UNRECOGNIZED = 1, /* not even kind and apiVersion can be read */
	OBJECT_MISMATCH,         /* another kind, or fields of wrong types */
	OBJECT_WRONG_VERSION,    /* the kind, but not through this version */
};

/* From a client's JSON (already parsed, through `version`): decodes, normalises, fills defaults, meta and fields. `stored` is what the
 * write would change (NULL: nothing), for what the version cannot express. report may be NULL. 0, or an object_error with the bare
 * reason in *ret_error, as patches quote it; object_refuse() makes the 400 of whole objects from it. */
int object_decode(struct object **ret, const struct kind *kind, const struct version *version, const struct json *in,
	const struct object *stored, struct arena *a, struct decode_report *report, struct str *ret_error);
/* An object with nothing set, not even defaults. */
struct object *object_empty(const struct kind *kind, struct arena *a);
/* kube's 400 for a body that object_decode() refused. */
void object_refuse(struct status *st, const struct kind *kind, const struct version *version, struct str body,
	const struct json *in, int error, struct str reason);
/* kube's 400 for a body that is no JSON (reason: json_error_text) or of no use. */
void object_refuse_body(struct status *st, const struct kind *kind, struct str body, struct str reason);
/* kube's 400 under fieldValidation=Strict for what the report holds. */
void object_refuse_strict(struct status *st, const struct kind *kind, const struct version *version, const struct json *in,
	const struct decode_report *report);
/* The whole object as a tree, as `version` shows it: kind, apiVersion, metadata, fields. resourceVersion appears when meta has one. */
struct json *object_to_json(const struct object *o, const struct version *version, struct arena *a);
/* An object of its tree in hub form, as it stands: nothing is checked or filled in. */
struct object *object_from_hub(const struct kind *kind, const struct json *hub, struct arena *a);
/* The version whose fields the object has. The kind has a hook. */
const struct version *object_form(const struct object *o);
struct object *object_copy(const struct object *o, struct arena *a); /* shallow: nodes shared, structs own */
/* Same after normalisation, leaving out resourceVersion and managedFields' times: is this write a no-op? */
bool object_equal(const struct object *a, const struct object *b);

/* The member of the stored form that keeps what its version cannot say. */
#define OBJECT_KEPT_MEMBER "annals.dev/hub"
/* The stored form in one version of the kind: {"kind":K,"apiVersion":version,"metadata":{...without resourceVersion...},...}, compact. Nothing is
 * lost: what the version cannot say of the hub form, to the byte, is kept in a member "annals.dev/hub", which no client is shown. */
bool object_encode_stored(struct buf *out, const struct object *o, const struct version *version);
/* Decodes bytes that object_encode_stored() made, in any version the kind knows, as they are or in
 * packed form (api/model/packed.h). value must outlive the object. Returns 0; OBJECT_WRONG_VERSION: the kind, but in another version, which a newer
 * server may know; or OBJECT_UNRECOGNIZED: nothing of the kind. */
int object_decode_stored(struct object **ret, const struct kind *kind, struct str value, int64_t mod_revision, struct arena *a);
/* The apiVersion of a value that is OBJECT_WRONG_VERSION, perhaps empty. */
struct str object_stored_version(struct str value, struct arena *a);
struct json_limits object_stored_limits(void); /* of these bytes */

#endif
