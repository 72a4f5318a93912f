/* A kind is one declaration: names, scope, versions, schema, rules, columns, selectable fields. Routing, discovery, OpenAPI, keys,
 * validation, printing and the cache read it. To add one, add one file to api/kinds that ends in KIND_REGISTER(x).
 *
 * The files of api/kinds hold declarations: a `struct kind` with its types, its table of columns,
 * and pointers to functions for defaults and rules. Long rules are in api/pod, api/workload and
 * api/cluster, shared ones in api/rules. Types of Kubernetes' own kinds are made from api/upstream.
 * A kind is registered before main() and never changes; its index is its place in every table by
 * kind. Two kinds that clash by name stop the program at its start.
 *
 * Beside these kinds of the program, there are kinds that a definition describes, and that come and
 * go while a server runs (struct kind_life). They are in no table by index. A struct kinds lists
 * those of one moment; the watch cache has the newest one (storage/cache/cache.h). */
#ifndef API_MODEL_KIND_H
#define API_MODEL_KIND_H

#include "api/model/history.h"
#include "api/model/object.h"
#include "api/model/reference.h"

#include <stdatomic.h>

/* Verbs as discovery and authorization name them. */
enum verb {
	VERB_GET = 1 << 0,
	VERB_LIST = 1 << 1,
	VERB_WATCH = 1 << 2,
	VERB_CREATE = 1 << 3,
	VERB_UPDATE = 1 << 4,
	VERB_PATCH = 1 << 5,
	VERB_DELETE = 1 << 6,
	VERB_DELETECOLLECTION = 1 << 7,
	VERBS_ALL = 0xff,
};
const char *verb_name(enum verb v);

/* A group/version through which the kind is read and written. versions[0] is the hub: its group and resource name the etcd key. */
struct version {
	const char *group, *name; /* group "" is core; name as in "v1" */
	const char *definition;   /* OpenAPI name of the object at this version */
	bool standalone_only;
	bool is_unserved;        /* known to the storage alone */
	const char *const *reset_fields; /* instead of the kind's; NULL: those */
	bool is_narrowed;        /* shows the hub form as the kind's `narrow` leaves it; the three below are NULL */
	const char *deprecation; /* text of the Warning header, NULL: not deprecated */
	/* All three NULL: the version shows the hub form as it is (reads then never parse). Whole objects in normal form; the
	 * conversions change what differs between the forms and leave kind, apiVersion and metadata alone. Of the first version they are for
	 * clients alone: what is stored in its version is the hub form. */
	const struct type *type;
	struct json *(*from_hub)(const struct json *hub, struct arena *a);
	struct json *(*to_hub)(const struct json *sent, const struct json *stored_hub, struct arena *a); /* or NULL when new */
	const char
		*invalid_group; /* the group that a 422 names: that of upstream's own form of the kind. NULL: the version's */
	/* Names of the field selectors at this version, ending with a NULL name; NULL: as in the
	 * kind. */
	const struct field_alias {
		const char *name, *path; /* path: that of the kind's selectable field */
	} * field_aliases;
};

struct column {
	const char *name, *type, *format, *doc;
	int priority; /* 0: always shown; 1: with -o wide */
	/* Writes one JSON value. now_s: wall clock, for ages. NULL: how many objects refer to this one (api/model/reference.h), null if not all can be read. */
	void (*cell)(const struct object *o, int64_t now_s, struct buf *out);
	bool annals_only; /* left out at versions of upstream groups */
};

/* The first and the last column of every kind. */
void column_write_name(const struct object *o, int64_t now_s, struct buf *out);
void column_write_age(const struct object *o, int64_t now_s, struct buf *out);
void column_write_since(struct str time, int64_t now_s, struct buf *out); /* how long ago; "<unknown>" of no time */
/* "statefulset.apps/web", in the core group "pod/web". */
void column_write_object(struct str kind, struct str group, struct str name, struct buf *out);
/* Writes whether a pod was made from the object, or anything refers to it: "yes" or "no". The
 * object alone does not show it, so this writes "<unknown>"; server/request/table.c knows the other
 * objects and replaces it. */
void column_write_live(const struct object *o, int64_t now_s, struct buf *out);
/* Upstream's descriptions (metav1.ObjectMeta), which clients get to see in every table. */
#define COLUMN_NAME_TEXT                                                                                                   \
	"Name must be unique within a namespace. Is required when creating resources, although some resources may allow a " \
	"client to request the generation of an appropriate name automatically. Name is primarily intended for creation "   \
	"idempotence and configuration definition. Cannot be updated. More info: "                                          \
	"https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names"
#define COLUMN_AGE_TEXT                                                                                                    \
	"CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed " \
	"to be set in happens-before order across separate operations. Clients may not set this value. It is represented "  \
	"in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: "                 \
	"https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
#define COLUMN_NAME                                                                     \
	{                                                                               \
		"Name", "string", "name", COLUMN_NAME_TEXT, 0, column_write_name, false \
	}
#define COLUMN_AGE                                                                \
	{                                                                         \
		"Age", "string", "", COLUMN_AGE_TEXT, 0, column_write_age, false \
	}

/* A field selector beyond metadata.name and metadata.namespace. */
struct selectable_field {
	const char *path;                                             /* "revision", "controller.uid" */
	struct str (*value)(const struct object *o, struct arena *a); /* the string selectors compare with */
	bool annals_only;
};

/* The handlers of requests that are no CRUD, called instead of the verb's function. Each is a row
 * of the table in server/verbs/create.c. */
enum extension {
	EXTENSION_NONE,
	EXTENSION_REVIEW,    /* of a kind: a question about an identity or its rights */
	EXTENSION_SNAPSHOT,  /* of a kind: the history of a controller gets a state */
	EXTENSION_RECORDING, /* of a kind: what was seen of objects is recorded */
	EXTENSION_BINDING,   /* POST to a subresource: the body is taken into the object, past the object's rules */
	EXTENSION_ADMISSION, /* POST to a subresource: asked as an admission webhook is; the object is not looked at */
	EXTENSION_DIFF,      /* GET of a subresource: a patch from another object to this one */
};

/* An object of another kind, as which a subresource shows the object: autoscaling/v1 Scale. It is made anew for each request, and what comes back is
 * taken into the object itself, with all its rules. */
struct view {
	const struct kind
		*kind; /* with one version; it has fields and `validate`, and is not registered: nothing of it is stored */
	/* The path of the field that can be written, in the object: {"spec", "replicas", NULL} as in a Scale, or another. */
	const char *const *path;
	struct json *(*show)(const struct view *v, const struct object *o, struct arena *a); /* the view's fields */
	void (*take)(const struct view *v, struct object *o, const struct object *sent, struct arena *a);
};
/* The view of an object: its names, its versions, and what it shows. Nobody owns anything of it (api/patch/managed.h has more to say). */
struct object *view_show(const struct view *v, const struct object *o, struct arena *a);

struct subresource {
	const char *name; /* "status", "finalize" */
	unsigned verbs;   /* of enum verb: GET, UPDATE, PATCH */
	/* Moves into `stored` (a copy of what is stored) what this subresource may change of `sent`. */
	void (*merge)(struct object *stored, const struct object *sent, struct arena *a);
	/* Instead of the kind's own rules (metadata has been checked); NULL: none. */
	void (*validate_update)(const struct object *o, const struct object *old, struct field_errors *errors);
	const char *const *reset_fields; /* see struct kind */
	bool annals_only;                /* not at versions of upstream groups */
	enum extension extension;
	const struct view *view;         /* NULL: bodies are objects of the kind itself */
};
/* The kind and the version of a subresource's bodies: those of its view, or the object's own. sub may
 * be NULL. */
const struct kind *subresource_kind(const struct subresource *sub, const struct kind *k);
const struct version *subresource_version(const struct subresource *sub, const struct version *v);

/* Applies to an object's dependents when its DELETE names no policy, and no finalizer of the garbage
 * collector implies one. Kinds whose clients deleted dependents themselves before there was
 * a collector orphan them; no new kind should. */
enum dependents_policy {
	DEPENDENTS_DELETED,
	DEPENDENTS_ORPHANED,
	DEPENDENTS_IGNORED, /* the kind takes no part in collection, whatever the policy (events) */
};

enum name_rule { NAME_DNS_SUBDOMAIN, NAME_DNS_LABEL, NAME_PATH_SEGMENT };

/* A right that an object's writer needs. */
struct need {
	struct str verb, group, resource, name; /* name empty: of all objects */
	struct str ns;                          /* empty: at the cluster scope */
	struct str path;                        /* the field that needs it */
	/* Standalone, it must be served, and can be watched: one at least of those with this path, which stand together. "*" is any. */
	bool is_to_be_watched;
};
/* The rights that one Recorder needs: to list and to watch 128 resources, and one more. Its
 * validation keeps it within them. */
enum { NEEDS_MAX = 2 * 128 + 1 };

/* Room for the Warnings that one object can get; each `warn` function has fewer sentences. */
#define KIND_WARNINGS_MAX 8
/* Room for all kinds of the program, and for all versions of a kind. The program refuses to start
 * with more, so a developer sees it first. A definition with more versions is refused. */
enum { KIND_COUNT_MAX = 64, KIND_VERSIONS_MAX = 24 };
/* Kinds that definitions describe. Each costs a feed of the cache, and a line in every document
 * that lists kinds. */
enum { KINDS_DEFINED_MAX = 10000 };

struct kind;

/* The webhook that converts the objects of a kind between its versions. */
struct kind_hook {
	struct str config;          /* how it is called: WebhookClientConfig, as JSON */
	const char *review_version; /* of ConversionReview, the first one that is known here; NULL: none */
};

/* The life of a kind that a definition describes. Each user of the kind, or of an object of it, holds
 * a reference: a request, a watch, the table of kinds. Kinds of the program live for ever. */
struct kind_life {
	_Atomic uint32_t refs;
	struct str definition, definition_uid; /* the name and the uid of the definition */
	/* Its mod revision, the newest at which it describes this very kind. Writes of objects are guarded
	 * by it, so none is stored under rules that are out of force. */
	_Atomic int64_t revision;
	_Atomic bool is_over;           /* the definition describes another kind now, or is gone */
	_Atomic bool is_terminating;    /* it is being deleted: nothing new is created */
	const struct kind *definitions; /* storage/cache's: the kind of the definition */
	void *place;                    /* storage/cache's: its feed */
	void (*vacate)(void *place);
	void (*free)(struct kind *k); /* of whoever made the kind */
};

struct kind {
	const char *kind, *list_kind;    /* "ControllerRevision", "ControllerRevisionList" */
	const char *resource, *singular; /* "controllerrevisions", "controllerrevision" */
	const char *const *short_names;  /* NULL-terminated or NULL */
	const char *const *categories;
	bool is_namespaced;
	unsigned verbs; /* of enum verb */
	enum name_rule name_rule;
	enum dependents_policy dependents;
	const char *orphans_warning; /* the Warning of a delete that names no policy; NULL: none */
	/* The kind leaves metadata to what upstream checks of all kinds, which comes once, and on create only after its own rules. */
	bool checks_meta_last;
	bool any_finalizer; /* names of finalizers need no domain: upstream's apimachinery says so, its core and apps do not */
	const struct version *versions;
	size_t n_versions;
	size_t storage_version;  /* index: the version that objects are stored in by default (api/model/storage_version.h) */
	const struct type *type; /* hub form, whole object: apiVersion, kind, metadata, ... */
	const char *doc;
	bool unconditional_update;  /* PUT without resourceVersion is allowed */
	bool create_on_update;      /* PUT of what is not there creates it */
	bool keeps_generation;      /* generation is the client's (ControllerRevision); otherwise see bumps_generation */
	enum extension
		extension; /* the kind is only created, and answered rather than stored; validate looks at metadata, too */
	bool delete_answers_object; /* DELETE answers the object rather than a Status */
	/* Deletion is the kind's own code upstream (registry/core/namespace), which words failed preconditions as the store does, and takes
	 * orphanDependents=false for Foreground. */
	bool has_own_delete;
	bool expires;               /* removed some time (--event-ttl) after it was last written, as events are */
	const char *const *retired_versions; /* "apps/v1beta1": once named the kind; NULL-terminated or NULL */
	/* Fields that writes through the resource itself never change ("status", "spec.templateGeneration"), so nobody comes to own them that way. */
	const char *const *reset_fields;

	/* Rules, all optional. Decide only: no I/O. prepare_* may change the new object; validate* only report. On create validate
	 * is called, on update validate_update; neither looks at metadata, which validate.h does before them. */
	void (*set_defaults)(struct object *o, struct arena *a); /* part of decoding, so ownership sees what it sets */
	void (*prepare_create)(struct object *o, struct arena *a);
	void (*prepare_update)(struct object *o, const struct object *old, struct arena *a);
	/* Instead of prepare_update for what came through the subresource `status`, and was merged. */
	void (*prepare_status)(struct object *o, const struct object *old, struct arena *a);
	/* Not asked of writes through the subresource `status`. */
	bool (*bumps_generation)(const struct object *o, const struct object *old);
	void (*validate)(const struct object *o, struct field_errors *errors);
	void (*validate_update)(const struct object *o, const struct object *old, struct field_errors *errors);
	/* Finds the Warnings for a version that has passed all rules, unless it came through a
	 * subresource that is no view. old: NULL on create. Returns how many; they are static
	 * texts. */
	size_t (*warn)(const struct object *o, const struct object *old, struct str ret[KIND_WARNINGS_MAX]);
	/* Lists the rights that the writer of such a version needs, if it comes through the
	 * resource itself. old: NULL on create. Returns how many. Their texts live as long as the
	 * object and the arena. NULL: none. */
	size_t (*needs)(const struct object *o, const struct object *old, struct need ret[NEEDS_MAX], struct arena *a);
	/* Called first on every delete. True: mark the object as deleting (deletionTimestamp, but
	 * no grace period) and keep it as this function left it, with or without finalizers
	 * (namespaces). */
	bool (*keep_on_delete)(struct object *o, struct arena *a);
	/* Kinds whose objects take time to stop (pods): for how many seconds a deletion is put off, 0: not at all. wanted_s is what the
	 * client asks for, if it does. NULL: never. */
	int64_t (*grace_period)(const struct object *o, bool is_wanted, int64_t wanted_s);
	/* After an update or finalize of a deleting object: may it be removed now? NULL: when metadata.finalizers is empty. */
	bool (*may_remove)(const struct object *o);

	const struct column *columns;
	size_t n_columns;
	const struct selectable_field *selectable;
	size_t n_selectable;
	const struct subresource *subresources;
	size_t n_subresources;
	/* With a life: the versions that have each of them, as bits by their index. NULL: all have all. */
	const uint32_t *selectable_at, *subresources_at;

	/* The computed fields that show references (api/model/reference.h), ending with a NULL
	 * prefix, and the references of an object. The function returns how many. */
	const struct reference_field *reference_fields;
	size_t (*references)(const struct object *o, struct reference ret[REFERENCES_MAX]);
	/* Returns whether what the object begins to refer to must exist and stay. NULL: never. */
	bool (*needs_references)(const struct object *o);
	/* Where its objects are in the history of their controllers (api/model/history.h); false: in none. NULL: the kind is no history. */
	bool (*history)(const struct object *o, struct history_place *ret);
	bool is_protected; /* may always be referred to, with the finalizer or without */
	/* Does the object repeat what was stored before? Then its text is stored in packed form (api/model/packed.h). NULL: none does. */
	bool (*is_packed)(const struct object *o);

	unsigned
		index; /* set by registration: dense, for tables by kind. With a life: another one for each, above all others */
	struct kind_life *life; /* NULL: a kind of the program */
	/* With a life, instead of what `type` says. Brings a whole object that was sent through a version
	 * into the form in which it is stored. As schema_decode(). */
	int (*normalize)(struct json **ret, const struct kind *k, const struct version *v, const struct json *in,
		struct arena *a, struct decode_report *report, struct str *ret_error);
	/* With a life: brings a new version that has passed all rules into the form that is stored. */
	void (*settle)(struct object *o, struct arena *a);
	/* With a life: the type of whole objects at a version, for patches and ownership. It lives as long as the kind. */
	const struct type *(*type_of)(const struct kind *k, const struct version *v);
	/* With a life, and versions whose fields differ: a whole object without the fields that the version does not know. NULL: all
	 * versions know the same fields. */
	struct json *(*narrow)(const struct kind *k, const struct version *v, const struct json *whole, struct arena *a);
	/* With a life: versions have fields of their own, and only the webhook makes one form of another. So there is no hub form. An
	 * object has the fields of one version (object_form()), and all functions of the kind leave it there. The server has objects
	 * converted before it shows, changes or stores them in another form. NULL: there is a hub form, as usual. */
	const struct kind_hook *hook;
	/* With a life: the columns of a version. NULL: those of the kind. */
	const struct column *(*columns_of)(const struct kind *k, const struct version *v, size_t *ret_n);
	/* With a life: writes the cell of that column of the version; and returns the value of that selectable
	 * field. Instead of the functions of column and field. */
	void (*write_cell)(const struct object *o, const struct version *v, size_t column, int64_t now_s, struct buf *out);
	struct str (*select)(const struct object *o, size_t field, struct arena *a);
	/* With a life: the object as it is shown, of the stored one; `stored` itself if nothing differs. NULL: as it is. */
	struct json *(*restore)(const struct kind *k, const struct json *stored, struct arena *a);
};

void kind_register(struct kind *k); /* before main(): see the macro. Aborts on a clash of names */
#define KIND_REGISTER(k)                                            \
	__attribute__((constructor)) static void k##_register(void) \
	{                                                           \
		kind_register(&k);                                  \
	}

/* The kinds of the program. */
size_t kind_count(void);
const struct kind *kind_at(size_t i);

/* Kinds with a life: references; without one these do nothing. */
const struct kind *kind_ref(const struct kind *k);
const struct kind *kind_unref(const struct kind *k);          /* NULL */
void kind_begin_life(struct kind *k, struct kind_life *life); /* one reference; gives the kind its index */
static inline bool kind_is_over(const struct kind *k)
{
	return k->life && atomic_load_explicit(&k->life->is_over, memory_order_acquire);
}

/* The kinds that definitions describe, at one moment: immutable, counted. NULL: there are none. */
struct kinds;
struct kinds *kinds_new(const struct kind **v, size_t n); /* in any order; takes a reference to each */
struct kinds *kinds_ref(struct kinds *t);
struct kinds *kinds_unref(struct kinds *t); /* NULL */
DEFINE_CLEANUP(struct kinds *, kinds_unref)
size_t kinds_count(const struct kinds *t);
const struct kind *kinds_at(const struct kinds *t, size_t i);
const struct kind *kinds_by_hub(const struct kinds *t, struct str group, struct str resource);
/* As kind_by_resource(). */
const struct kind *kinds_by_resource(
	const struct kinds *t, struct str group, struct str version, struct str resource, const struct version **ret_version);
/* All kinds: those of the program, then those of the table. */
size_t kinds_total(const struct kinds *t);
const struct kind *kinds_nth(const struct kinds *t, size_t i);

/* By group/version/resource; *ret_version may be NULL. Standalone-only versions are found only when is_standalone. */
const struct kind *kind_by_resource(
	struct str group, struct str version, struct str resource, bool is_standalone, const struct version **ret_version);
const struct kind *kind_by_hub(struct str group, struct str resource); /* for storage keys */
/* The kind of the program that one of its versions names so. */
const struct kind *kind_by_any_group(struct str group, struct str resource);
/* The path of a reference's computed field, in the arena. */
struct str reference_path(const struct reference_field *f, struct str ns, struct str name, struct arena *a);
/* The fields by which objects of a kind refer to those of another, one after the other: after NULL the first, after the last NULL. */
const struct reference_field *kind_reference_to(
	const struct kind *k, const struct kind *target, const struct reference_field *after);
/* Finds the one of the version; v NULL: the first of that name. */
const struct subresource *kind_subresource(const struct kind *k, const struct version *v, struct str name);
/* Fields that a write through the version never changes: of the subresource, or of the resource itself where sub is NULL. */
const char *const *kind_reset_fields(const struct kind *k, const struct version *v, const struct subresource *sub);
bool selectable_is_visible(const struct selectable_field *f, const struct kind *k, const struct version *v);
bool subresource_is_visible(const struct subresource *s, const struct kind *k, const struct version *v);
bool version_is_visible(const struct version *v, bool is_standalone);
bool version_is_own(const struct version *v, const struct kind *k); /* of the hub's group, rather than of upstream's */
const struct type *version_type(const struct kind *k, const struct version *v);
/* The kind's version of that name ("apps/v1"), or NULL. */
const struct version *kind_version(const struct kind *k, struct str api_version);
struct str version_api_version(const struct version *v, struct arena *a); /* "apps/v1", "v1" */
void version_write_api_version(const struct version *v, struct buf *out);
/* Is what is stored in this version the hub form itself? The first version's is, also where that version shows less: nothing is lost there. */
bool version_stores_hub(const struct version *v, const struct kind *k);
bool version_shows_hub(const struct version *v); /* as it is: readers need not parse it */
/* The hub form as clients of the version see it. */
struct json *version_show(const struct kind *k, const struct version *v, const struct json *hub, struct arena *a);
/* For kinds with `narrow`: does the version know all fields of that whole object, which is in another version's form? */
bool version_knows(const struct kind *k, const struct version *v, const struct json *whole, struct arena *a);
bool kind_is_stored(const struct kind *k);                  /* rather than only answered */
const struct version *kind_storage_version(const struct kind *k); /* as declared: storage_version */

/* The features of kinds that --feature-gates switches: kinds are data and see no options. Set
 * before any thread starts, then constant. */
enum feature {
	FEATURE_MAX_UNAVAILABLE_STATEFULSET, /* spec.updateStrategy.rollingUpdate.maxUnavailable is kept; off, as in Kubernetes 1.36 */
	FEATURES,
};

bool feature_is_enabled(enum feature f);
void feature_enable(enum feature f, bool is_enabled);

/* Returns the references of the object, and how many there are. NULL refers to nothing. */
static inline size_t object_references(const struct object *o, struct reference ret[REFERENCES_MAX])
{
	return o && o->kind->references ? o->kind->references(o, ret) : 0;
}

#endif
