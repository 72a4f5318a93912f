/* ConfigMap: texts and bytes by name, for others to read. */
#include "api/rules/validate.h"

enum { DATA_MAX = 1024 * 1024 }; /* bytes, of all values together */

static const struct type bytes_map_type = {.kind = TYPE_MAP, .elem = &type_bytes};

static const struct field configmap_fields[] = {
	OBJECT_FIELDS,
	{"immutable", &type_bool, FIELD_KEEP_EMPTY | FIELD_NUMBER(4),
		"Once true, what the object holds can no longer be changed, only its metadata; nor can this be taken back.",
		NULL, NULL},
	{"data", &type_string_map, FIELD_NUMBER(2),
		"Texts by name. Names have letters, digits, '-', '_' and '.', and none is in binaryData as well.", NULL, NULL},
	{"binaryData", &bytes_map_type, FIELD_NUMBER(3), "Bytes by name, for what is not UTF-8. Names as in data.", NULL, NULL},
	{0},
};

static const struct type configmap_type = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.core.v1.ConfigMap",
	.go_type = "v1.ConfigMap",
	.doc = "Configuration for others to read, as texts and bytes by name, at most 1 MiB of them.",
	.fields = configmap_fields,
};

static const struct json *data(const struct object *o)
{
	return json_gets(o->fields, "data");
}

static const struct json *binary_data(const struct object *o)
{
	return json_gets(o->fields, "binaryData");
}

static void validate_distinct(const struct object *o, struct field_errors *errors)
{
	for (uint32_t i = 0; data(o) && i < data(o)->n; i++) {
		struct str key = data(o)->members[i].name;
		if (json_get(binary_data(o), key)) {
			field_invalid_str(errors, field_key(errors->arena, STR("data"), key), key,
				"duplicate of key present in binaryData");
		}
	}
}

static void validate(const struct object *o, struct field_errors *errors)
{
	validate_data_keys(data(o), "data", errors);
	validate_distinct(o, errors);
	validate_data_keys(binary_data(o), "binaryData", errors);
	if (data_text_size(data(o)) + data_bytes_size(binary_data(o)) > DATA_MAX) {
		/* So Go writes the path of field.NewPath(""), which upstream gives. */
		field_too_long(errors, STR("[]"), DATA_MAX);
	}
}

static void validate_update(const struct object *o, const struct object *old, struct field_errors *errors)
{
	validate_immutable_data(o, old, errors);
	validate_meta(o->kind, &o->meta, errors);
	validate(o, errors);
}

static void write_data(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	buf_add_int(out, (data(o) ? data(o)->n : 0) + (binary_data(o) ? binary_data(o)->n : 0));
}

static const struct column columns[] = {
	COLUMN_NAME,
	{"Data", "string", "",
		"Data contains the configuration data. Each key must consist of alphanumeric characters, '-', '_' or '.'. "
		"Values with non-UTF-8 byte sequences must use the BinaryData field. The keys stored in Data must not overlap "
		"with the keys in the BinaryData field, this is enforced during validation process.",
		0, write_data, false},
	COLUMN_AGE,
};

static const struct door doors[] = {
	{.group = "", .version = "v1", .definition = "io.k8s.api.core.v1.ConfigMap", .standalone_only = true},
};

static struct kind configmaps = {
	.kind = "ConfigMap",
	.list_kind = "ConfigMapList",
	.resource = "configmaps",
	.singular = "configmap",
	.short_names = (const char *const[]){"cm", NULL},
	.is_namespaced = true,
	.verbs = VERBS_ALL,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.doors = doors,
	.n_doors = ARRAY_SIZE(doors),
	.type = &configmap_type,
	.doc = "Configuration for others to read.",
	.unconditional_update = true,
	.keeps_generation = true,
	.validate = validate,
	.validate_update = validate_update,
	.columns = columns,
	.n_columns = ARRAY_SIZE(columns),
};
KIND_REGISTER(configmaps)
