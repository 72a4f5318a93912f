/* StorageMigration: asks that all objects of a resource be stored in the version that all replicas write (seed 003), and says how far that is. It is
 * carried out by migration/; its conditions are those of storagemigration.k8s.io/v1beta1 StorageVersionMigration. */
#include "api/model/members.h"
#include "api/rules/condition.h"
#include "api/rules/spec_status.h"

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

static const struct type type_status = {
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
			{"status", &type_status, FIELD_ALWAYS, "The progress. The server writes it.", NULL, NULL},
			{0},
		},
};

/* ---- rules ---- */

static const struct json *resource_of(const struct object *o)
{
	return json_gets(json_gets(o->fields, "spec"), "resource");
}

static const struct json *status_of(const struct object *o)
{
	return json_gets(o->fields, "status");
}

static void prepare_create(struct object *o, struct arena *a)
{
	json_set(a, o->fields, STR("status"), schema_zero(&type_status, a));
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
	if (!k || !kind_is_stored(k)) {
		field_invalid(errors, STR("spec.resource"), r, "no objects of such a resource are stored here");
	}
}

static void validate_update(const struct object *o, const struct object *old, struct field_errors *errors)
{
	const struct json *spec = json_gets(o->fields, "spec");

	if (!json_equal(spec, json_gets(old->fields, "spec"))) {
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
	struct str version = member_text(status_of(o), "storageVersion");

	json_encode_string(out, version.n ? version : STR("<none>"));
}

static struct str state_of(const struct object *o)
{
	static const char *const ends[] = {"Succeeded", "Failed", "Running"};
	const struct json *conditions = json_gets(status_of(o), "conditions");

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
	buf_add_int(out, member_int(json_gets(status_of(o), "objects"), name));
}

static void write_migrated(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	write_count(o, "migrated", out);
}

static void write_remaining(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	write_count(o, "remaining", out);
}

static const struct column columns[] = {
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

static const struct door doors[] = {
	{.group = "annals.dev", .version = "v1", .definition = "dev.annals.v1.StorageMigration"},
};

static struct kind storagemigration = {
	.kind = "StorageMigration",
	.list_kind = "StorageMigrationList",
	.resource = "storagemigrations",
	.singular = "storagemigration",
	.short_names = (const char *const[]){"sm", NULL},
	.verbs = VERBS_ALL,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.doors = doors,
	.n_doors = ARRAY_SIZE(doors),
	.type = &storagemigration_type,
	.doc = "Rewrites all objects of a resource in the version that all replicas store.",
	.unconditional_update = true,
	.reset_fields = resets_status,
	.prepare_create = prepare_create,
	.prepare_update = keep_status,
	.bumps_generation = bumps_generation_of_spec,
	.validate = validate,
	.validate_update = validate_update,
	.columns = columns,
	.n_columns = ARRAY_SIZE(columns),
	.selectable = selectable,
	.n_selectable = ARRAY_SIZE(selectable),
	.subresources = subresources,
	.n_subresources = ARRAY_SIZE(subresources),
};
KIND_REGISTER(storagemigration)
