/* StorageVersion: in which version the replicas of this server store a kind, and in which its objects are stored (seed 003). Servers write them
 * (migration/), clients only read. Its status is that of internal.apiserver.k8s.io/v1alpha1, and more. */
#include "api/model/kind.h"
#include "api/model/members.h"
#include "api/rules/condition.h"

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

static const struct type type_status = {
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
			{"status", &type_status, FIELD_ALWAYS, "The observed state.", NULL, NULL},
			{0},
		},
};

/* ---- columns ---- */

static const struct json *status_of(const struct object *o)
{
	return json_gets(o->fields, "status");
}

static void write_common(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	struct str version = member_text(status_of(o), "commonEncodingVersion");

	json_encode_string(out, version.n ? version : STR("<none>"));
}

static void write_stored(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	const struct json *list = json_gets(status_of(o), "storedObjects"), *each;
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, 65536);
	for (uint32_t i = 0; (each = list_item(list, i)); i++) {
		buf_printf(&text, "%s" STR_FMT, i ? "," : "", STR_ARG(member_text(each, "version")));
	}
	json_encode_string(out, text.n ? buf_str(&text) : STR("<none>"));
}

static void write_objects(const struct object *o, int64_t now_s _unused_, struct buf *out)
{
	const struct json *list = json_gets(status_of(o), "storedObjects"), *each;
	int64_t n = 0;

	for (uint32_t i = 0; (each = list_item(list, i)); i++) {
		n += member_int(each, "count");
	}
	buf_add_int(out, n);
}

static const struct column columns[] = {
	COLUMN_NAME,
	{"Common", "string", "", "The version in which all replicas store objects.", 0, write_common, false},
	{"Stored", "string", "", "The versions in which objects are stored.", 0, write_stored, false},
	{"Objects", "integer", "", "How many objects there are.", 0, write_objects, false},
	COLUMN_AGE,
};

static const struct door doors[] = {
	{.group = "annals.dev", .version = "v1", .definition = "dev.annals.v1.StorageVersion"},
};

static struct kind storageversion = {
	.kind = "StorageVersion",
	.list_kind = "StorageVersionList",
	.resource = "storageversions",
	.singular = "storageversion",
	.verbs = VERB_GET | VERB_LIST | VERB_WATCH,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.doors = doors,
	.n_doors = ARRAY_SIZE(doors),
	.type = &storageversion_type,
	.doc = "The versions in which the objects of a resource are stored.",
	.columns = columns,
	.n_columns = ARRAY_SIZE(columns),
};
KIND_REGISTER(storageversion)
