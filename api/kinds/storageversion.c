/* StorageVersion: the version in which a kind is stored. StorageMigration: the order to store all
 * its objects in that version. */
#include "api/model/kind.h"
#include "api/model/members.h"
#include "api/rules/spec_status.h"

#include <assert.h>

/* StorageVersion: the version in which the replicas of this server store a kind, and those in which
 * its objects are stored. Servers write them (storage/engine), clients only read. Its status is that of
 * internal.apiserver.k8s.io/v1alpha1, and more. */

/* ---- schema ---- */

static const struct type type_server_storage_version = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.ServerStorageVersion",
	.go_type = "v1.ServerStorageVersion",
	.doc = "What one replica stores and understands.",
	.fields =
		(const struct field[]){
			{"apiServerID", &type_string, FIELD_ALWAYS | FIELD_MANDATORY, "The name of the replica.", NULL, NULL},
			{"address", &type_string, 0, "The address of the replica, for people.", NULL, NULL},
			{"encodingVersion", &type_string, 0,
				"The version in which the replica stores objects. Absent: it stores none, since there is no "
				"version that all replicas can decode.",
				NULL, NULL},
			{"wantedVersion", &type_string, 0,
				"The version in which the replica would store objects if all replicas could decode it. Absent: "
				"it is encodingVersion.",
				NULL, NULL},
			{"decodableVersions", &type_string_set, 0, "The versions that the replica can decode.", NULL, NULL},
			{"servedVersions", &type_string_set, 0, "The versions that the replica serves.", NULL, NULL},
			{0},
		},
};

static const struct type list_servers = {
	.kind = TYPE_LIST,
	.elem = &type_server_storage_version,
	.list_type = LIST_MAP,
	.list_keys = (const char *const[]){"apiServerID", NULL},
};

static const struct type type_stored_objects = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.StoredObjects",
	.go_type = "v1.StoredObjects",
	.doc = "How many objects are stored in a version.",
	.fields =
		(const struct field[]){
			{"version", &type_string, FIELD_ALWAYS | FIELD_MANDATORY, "The version.", NULL, NULL},
			{"count", &type_int64, FIELD_ALWAYS | FIELD_MANDATORY, "The number of objects.", NULL, NULL},
			{0},
		},
};

static const struct type list_stored = {
	.kind = TYPE_LIST,
	.elem = &type_stored_objects,
	.list_type = LIST_MAP,
	.list_keys = (const char *const[]){"version", NULL},
};

static const struct type version_type_status = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.StorageVersionStatus",
	.go_type = "v1.StorageVersionStatus",
	.doc = "In which versions a kind is stored.",
	.fields =
		(const struct field[]){
			{"storageVersions", &list_servers, 0, "The versions that each live replica stores, decodes and serves.",
				NULL, NULL},
			{"commonEncodingVersion", &type_string, 0,
				"The version in which all replicas store objects. Absent: the replicas do not agree.", NULL,
				NULL},
			{"storageVersionHash", &type_string, 0,
				"The storageVersionHash in discovery: base64 of a hash of the group, version and kind of "
				"commonEncodingVersion.",
				NULL, NULL},
			{"storedObjects", &list_stored, 0,
				"The number of objects that are stored in each version, as counted a short time ago.", NULL,
				NULL},
			{"conditions", &list_conditions, FIELD_PATCH_MERGE,
				"The condition AllEncodingVersionsEqual: all replicas store the same version.", "type", NULL},
			{0},
		},
};

static const struct type storageversion_type = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.StorageVersion",
	.go_type = "v1.StorageVersion",
	.doc = "The version in which each replica of the server stores the objects of a resource, and the versions of the "
	       "stored objects. Its name is RESOURCE.GROUP. Only the server writes it.",
	.fields =
		(const struct field[]){
			OBJECT_FIELDS,
			{"status", &version_type_status, FIELD_ALWAYS, "The observed state.", NULL, NULL},
			{0},
		},
};

/* ---- columns of StorageVersions ---- */

static void write_common(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	struct str version = member_text(object_status(o), "commonEncodingVersion");

	json_encode_string(out, version.n ? version : STR("<none>"));
}

static void write_stored(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	const struct json *list = json_gets(object_status(o), "storedObjects"), *each;
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, 65536);
	for (uint32_t i = 0; (each = list_item(list, i)); i++) {
		buf_printf(&text, "%s" STR_FMT, i ? "," : "", STR_ARG(member_text(each, "version")));
	}
	json_encode_string(out, text.n ? buf_str(&text) : STR("<none>"));
}

static void write_objects(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	const struct json *list = json_gets(object_status(o), "storedObjects"), *each;
	int64_t n = 0;

	for (uint32_t i = 0; (each = list_item(list, i)); i++) {
		n += member_int(each, "count");
	}
	buf_add_int(out, n);
}

static const struct column version_columns[] = {
	COLUMN_NAME,
	{"Common", "string", "", "The version in which all replicas store objects.", 0, write_common, false},
	{"Stored", "string", "", "The versions in which objects are stored.", 0, write_stored, false},
	{"Objects", "integer", "", "How many objects there are.", 0, write_objects, false},
	COLUMN_AGE,
};

static const struct version version_versions[] = {
	{.group = "annals.dev", .name = "v1", .definition = "dev.annals.v1.StorageVersion"},
};

static struct kind storageversion = {
	.kind = "StorageVersion",
	.list_kind = "StorageVersionList",
	.resource = "storageversions",
	.singular = "storageversion",
	.verbs = VERB_GET | VERB_LIST | VERB_WATCH,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.versions = version_versions,
	.n_versions = ARRAY_SIZE(version_versions),
	.type = &storageversion_type,
	.doc = "The versions in which the objects of a resource are stored.",
	.columns = version_columns,
	.n_columns = ARRAY_SIZE(version_columns),
};
KIND_REGISTER(storageversion)

/* StorageMigration: asks that all objects of a resource be stored in the version that all replicas
 * write, and shows the progress. storage/engine carries it out. Its conditions are those of
 * storagemigration.k8s.io/v1beta1 StorageVersionMigration. */

/* ---- schema ---- */

static const struct type type_group_resource = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.apimachinery.pkg.apis.meta.v1.GroupResource",
	.go_type = "v1.GroupResource",
	.doc = "A resource, whatever its version.",
	.fields =
		(const struct field[]){
			{"group", &type_string, FIELD_ALWAYS | FIELD_MANDATORY, "Its group; empty for the core group.", NULL,
				NULL},
			{"resource", &type_string, FIELD_ALWAYS | FIELD_MANDATORY, "Its name, in the plural.", NULL, NULL},
			{0},
		},
};

static const struct type type_spec = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.StorageMigrationSpec",
	.go_type = "v1.StorageMigrationSpec",
	.doc = "What is to be migrated. It cannot be changed.",
	.fields =
		(const struct field[]){
			{"resource", &type_group_resource, FIELD_ALWAYS | FIELD_MANDATORY,
				"The resource whose objects are to be migrated. It cannot be changed.", NULL, NULL},
			{0},
		},
};

static const struct type type_objects = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.MigratedObjects",
	.go_type = "v1.MigratedObjects",
	.doc = "How many objects a migration has to do with.",
	.fields =
		(const struct field[]){
			{"total", &type_int64, FIELD_ALWAYS, "The number of all objects of the resource.", NULL, NULL},
			{"migrated", &type_int64, FIELD_ALWAYS,
				"The number of objects that this migration has rewritten. If a server dies, those of its last "
				"second are not counted.",
				NULL, NULL},
			{"remaining", &type_int64, FIELD_ALWAYS, "The number of objects that are stored in another version.",
				NULL, NULL},
			{"conflicts", &type_int64, FIELD_ALWAYS,
				"The number of times that an object was changed or deleted by others just before it was to be "
				"rewritten.",
				NULL, NULL},
			{0},
		},
};

static const struct type migration_type_status = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.StorageMigrationStatus",
	.go_type = "v1.StorageMigrationStatus",
	.doc = "How far a migration is.",
	.fields =
		(const struct field[]){
			{"conditions", &list_conditions, FIELD_PATCH_MERGE,
				"The conditions Running, Succeeded and Failed. While Running is False, the migration waits, or "
				"has ended.",
				"type", NULL},
			{"storageVersion", &type_string, 0, "The version to which objects are rewritten.", NULL, NULL},
			{"objects", &type_objects, FIELD_ALWAYS, "Numbers of objects.", NULL, NULL},
			{"progressKey", &type_string, 0,
				"NAMESPACE/NAME, or NAME, of the last object that was looked at. If another server takes over, "
				"it continues behind this object.",
				NULL, NULL},
			{"startTime", &type_time, 0, "When the migration began.", NULL, NULL},
			{"completionTime", &type_time, 0, "When the migration succeeded or failed.", NULL, NULL},
			{0},
		},
};

static const struct type storagemigration_type = {
	.kind = TYPE_OBJECT,
	.definition = "dev.annals.v1.StorageMigration",
	.go_type = "v1.StorageMigration",
	.doc = "Rewrites all objects of a resource in the version that all replicas of the server store.",
	.fields =
		(const struct field[]){
			OBJECT_FIELDS,
			{"spec", &type_spec, FIELD_ALWAYS | FIELD_MANDATORY, "The objects that are to be migrated.", NULL,
				NULL},
			{"status", &migration_type_status, FIELD_ALWAYS, "The progress. The server writes it.", NULL, NULL},
			{0},
		},
};

/* ---- rules ---- */

static const struct json *resource_of(const struct object *o)
{
	return json_gets(object_spec(o), "resource");
}

static void prepare_create(struct object *o, struct arena *a)
{
	object_set_status(o, schema_zero(&migration_type_status, a), a);
}

/* A group with a dot, of which no kind of the program is: a definition may describe one. The migrator knows, and says so. */
static bool may_be_defined(struct str group)
{
	bool is_free = str_contains(group, STR("."));

	for (size_t i = 0; i < kind_count() && is_free; i++) {
		is_free = !str_is(group, kind_at(i)->versions[0].group);
	}
	return is_free;
}

static void validate(const struct object *o, struct field_errors *errors)
{
	const struct json *r = resource_of(o);
	struct str resource = member_text(r, "resource");

	if (resource.n == 0) {
		field_required(errors, STR("spec.resource.resource"), "resource is required to be set");
		return;
	}
	const struct kind *k = kind_by_hub(member_text(r, "group"), resource);
	if (k ? !kind_is_stored(k) : !may_be_defined(member_text(r, "group"))) {
		field_invalid(errors, STR("spec.resource"), r, "no objects of such a resource are stored here");
	}
}

static void validate_update(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	const struct json *spec = object_spec(o);

	if (!json_equal(spec, object_spec(old))) {
		field_invalid(errors, STR("spec"), spec, "field is immutable");
	}
}

/* ---- columns and fields ---- */

static void write_resource(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	_cleanup_(buf_done) struct buf text;
	struct str group = member_text(resource_of(o), "group");

	buf_init(&text, 65536);
	buf_add_str(&text, member_text(resource_of(o), "resource"));
	if (group.n) {
		buf_printf(&text, "." STR_FMT, STR_ARG(group));
	}
	json_encode_string(out, buf_str(&text));
}

static void write_version(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	struct str version = member_text(object_status(o), "storageVersion");

	json_encode_string(out, version.n ? version : STR("<none>"));
}

static struct str state_of(const struct object *o)
{
	static const char *const ends[] = {"Succeeded", "Failed", "Running"};
	const struct json *conditions = json_gets(object_status(o), "conditions");

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		if (str_is(member_text(condition_find(conditions, ends[i]), "status"), "True")) {
			return str_of(ends[i]);
		}
	}
	return condition_find(conditions, "Running") ? STR("Waiting") : STR("Pending");
}

static void write_state(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	json_encode_string(out, state_of(o));
}

static void write_count(const struct object *o, const char *name, struct buf *out)
{
	buf_add_int(out, member_int(json_gets(object_status(o), "objects"), name));
}

static void write_migrated(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	write_count(o, "migrated", out);
}

static void write_remaining(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	write_count(o, "remaining", out);
}

static const struct column migration_columns[] = {
	COLUMN_NAME,
	{"Resource", "string", "", "What is migrated.", 0, write_resource, false},
	{"Version", "string", "", "The version to which objects are rewritten.", 0, write_version, false},
	{"Status", "string", "", "Pending, Waiting, Running, Succeeded or Failed.", 0, write_state, false},
	{"Migrated", "integer", "", "How many objects it has rewritten.", 0, write_migrated, false},
	{"Remaining", "integer", "", "How many objects are stored in another version.", 0, write_remaining, false},
	COLUMN_AGE,
};

static struct str select_group(const struct object *o, struct arena *a _unused_)
{
	return member_text(resource_of(o), "group");
}

static struct str select_resource(const struct object *o, struct arena *a _unused_)
{
	return member_text(resource_of(o), "resource");
}

static struct str select_state(const struct object *o, struct arena *a _unused_)
{
	return state_of(o);
}

static const struct selectable_field selectable[] = {
	{"spec.resource.group", select_group, false},
	{"spec.resource.resource", select_resource, false},
	{"status.state", select_state, false},
};

/* Nobody but the server says how far it is. */
static const struct subresource subresources[] = {
	{"status", VERB_GET, NULL, NULL, NULL, false, false, NULL},
};

static const struct version migration_versions[] = {
	{.group = "annals.dev", .name = "v1", .definition = "dev.annals.v1.StorageMigration"},
};

static struct kind storagemigration = {
	.kind = "StorageMigration",
	.list_kind = "StorageMigrationList",
	.resource = "storagemigrations",
	.singular = "storagemigration",
	.short_names = (const char *const[]){"sm", NULL},
	.verbs = VERBS_ALL,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.versions = migration_versions,
	.n_versions = ARRAY_SIZE(migration_versions),
	.type = &storagemigration_type,
	.doc = "Rewrites all objects of a resource in the version that all replicas store.",
	.unconditional_update = true,
	.reset_fields = resets_status,
	.prepare_create = prepare_create,
	.prepare_update = keep_status,
	.bumps_generation = bumps_generation_of_spec,
	.validate = validate,
	.validate_update = validate_update,
	.columns = migration_columns,
	.n_columns = ARRAY_SIZE(migration_columns),
	.selectable = selectable,
	.n_selectable = ARRAY_SIZE(selectable),
	.subresources = subresources,
	.n_subresources = ARRAY_SIZE(subresources),
};
KIND_REGISTER(storagemigration)
