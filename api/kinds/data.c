/* ConfigMap and Secret: texts and bytes by name. Not everybody may see those of a Secret. */
#include "api/rules/validate.h"
#include "api/upstream/upstream.h"
#include "base/base64.h"

#include <assert.h>

/* ConfigMap: texts and bytes by name, for others to read. */

enum { CONFIGMAP_DATA_MAX = 1024 * 1024 }; /* bytes, of all values together */

static const struct json *configmap_data(const struct object *o)
{
	return json_gets(o->fields, "data");
}

static const struct json *binary_data(const struct object *o)
{
	return json_gets(o->fields, "binaryData");
}

static void validate_distinct(const struct object *o, struct field_errors *errors)
{
	for (uint32_t i = 0; configmap_data(o) && i < configmap_data(o)->n; i++) {
		struct str key = configmap_data(o)->members[i].name;
		if (json_get(binary_data(o), key)) {
			field_invalid_str(errors, field_key(errors->arena, STR("data"), key), key,
				"duplicate of key present in binaryData");
		}
	}
}

static void configmap_validate(const struct object *o, struct field_errors *errors)
{
	validate_data_keys(configmap_data(o), "data", errors);
	validate_distinct(o, errors);
	validate_data_keys(binary_data(o), "binaryData", errors);
	if (data_text_size(configmap_data(o)) + data_bytes_size(binary_data(o)) > CONFIGMAP_DATA_MAX) {
		/* So Go writes the path of field.NewPath(""), which upstream gives. */
		field_too_long(errors, STR("[]"), CONFIGMAP_DATA_MAX);
	}
}

static void configmap_validate_update(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	validate_immutable_data(o, old, errors);
	validate_meta(o->kind, &o->meta, errors);
	configmap_validate(o, errors);
}

static void configmap_write_data(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	buf_add_int(out, (configmap_data(o) ? configmap_data(o)->n : 0) + (binary_data(o) ? binary_data(o)->n : 0));
}

static const struct column configmap_columns[] = {
	COLUMN_NAME,
	{"Data", "string", "",
		"Data contains the configuration data. Each key must consist of alphanumeric characters, '-', '_' or "
		"'.'. "
		"Values with non-UTF-8 byte sequences must use the BinaryData field. The keys stored in Data must not overlap "
		"with the keys in the BinaryData field, this is enforced during validation process.",
		0, configmap_write_data, false},
	COLUMN_AGE,
};

static const struct version configmap_versions[] = {
	{.group = "", .name = "v1", .definition = "io.k8s.api.core.v1.ConfigMap", .standalone_only = true},
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
	.versions = configmap_versions,
	.n_versions = ARRAY_SIZE(configmap_versions),
	.type = &type_config_map,
	.doc = "Configuration for others to read.",
	.unconditional_update = true,
	.keeps_generation = true,
	.validate = configmap_validate,
	.validate_update = configmap_validate_update,
	.columns = configmap_columns,
	.n_columns = ARRAY_SIZE(configmap_columns),
};
KIND_REGISTER(configmaps)

/* Secret: bytes by name that not everybody may see. Its type says which names must be there. */

enum { SECRET_DATA_MAX = 1024 * 1024 }; /* bytes, of all values together */

static const struct json *secret_data(const struct object *o)
{
	return json_gets(o->fields, "data");
}

static struct str type_of(const struct object *o)
{
	return json_text(json_gets(o->fields, "type"));
}

/* ---- defaults ---- */

static struct json *bytes_of_text(struct str text, struct arena *a)
{
	size_t n = BASE64_SIZE(text.n);
	char *base64 = arena_text(a, n);
	base64_encode(base64, text);
	return json_string(a, (struct str){base64, n});
}

/* Merges the texts over the bytes. Both are sorted by key. */
static struct json *merge_texts(const struct json *bytes, const struct json *texts, struct arena *a)
{
	struct json *merged = json_object(a);
	uint32_t i = 0, n = bytes ? bytes->n : 0;
	for (uint32_t k = 0; k < texts->n; k++) {
		const struct json_member *text = &texts->members[k];
		for (; i < n && str_cmp(bytes->members[i].name, text->name) < 0; i++) {
			json_add(a, merged, bytes->members[i].name, bytes->members[i].value);
		}
		i += i < n && str_eq(bytes->members[i].name, text->name);
		json_add(a, merged, text->name, bytes_of_text(json_text(text->value), a));
	}
	for (; i < n; i++) {
		json_add(a, merged, bytes->members[i].name, bytes->members[i].value);
	}
	return merged;
}

static void set_defaults(struct object *o, struct arena *a)
{
	const struct json *immutable = json_gets(o->fields, "immutable"), *texts = json_gets(o->fields, "stringData");
	struct json *bytes = texts ? merge_texts(secret_data(o), texts, a) : json_gets(o->fields, "data");
	struct str type = type_of(o);
	struct json *fields = json_object(a); /* in the order of the schema */
	if (immutable) {
		json_add(a, fields, STR("immutable"), json_gets(o->fields, "immutable"));
	}
	if (bytes) {
		json_add(a, fields, STR("data"), bytes);
	}
	json_add(a, fields, STR("type"), json_string(a, type.n ? type : STR("Opaque")));
	o->fields = fields;
}

/* ---- what types demand ---- */

static struct str data_path(struct field_errors *errors, const char *key)
{
	return field_key(errors->arena, STR("data"), str_of(key));
}

static void require(const struct object *o, const char *key, struct field_errors *errors)
{
	if (!json_gets(secret_data(o), key)) {
		field_required(errors, data_path(errors, key), "%s", "");
	}
}

static void validate_account_token(const struct object *o, struct field_errors *errors)
{
	static const char name[] = "kubernetes.io/service-account.name";
	if (!json_text(json_gets(o->meta.annotations, name)).n) {
		field_required(errors, field_key(errors->arena, STR("metadata.annotations"), str_of(name)), "%s", "");
	}
}

/* Requires that the value is a JSON object. Errors do not show the value. */
static void require_json(const struct object *o, const char *key, struct field_errors *errors)
{
	struct arena *a = errors->arena;
	const struct json *value = json_gets(secret_data(o), key);
	struct json *parsed;
	size_t n, at;
	if (!value) {
		require(o, key, errors);
		return;
	}
	char *bytes = arena_text(a, BASE64_ROOM(value->n));
	bool is_read = base64_decode(bytes, json_text(value), &n);
	struct str text = {bytes, is_read ? n : 0};
	int error = json_parse(&parsed, a, text, JSON_LIMITS_DEFAULT, &at);
	if (error) {
		field_invalid_str(errors, data_path(errors, key), STR("<secret contents redacted>"), "%s",
			json_error_text(a, error, text, at));
	} else if (parsed->kind != JSON_OBJECT && parsed->kind != JSON_NULL) {
		field_invalid_str(errors, data_path(errors, key), STR("<secret contents redacted>"),
			"json: cannot unmarshal %s into Go value of type map[string]interface {}",
			json_kind_name(parsed->kind));
	}
}

static void validate_dockercfg(const struct object *o, struct field_errors *errors)
{
	require_json(o, ".dockercfg", errors);
}

static void validate_docker_config(const struct object *o, struct field_errors *errors)
{
	require_json(o, ".dockerconfigjson", errors);
}

/* Either of the two is enough. Without both, kube-apiserver asks for both. */
static void validate_basic_auth(const struct object *o, struct field_errors *errors)
{
	if (!json_gets(secret_data(o), "username") && !json_gets(secret_data(o), "password")) {
		require(o, "username", errors);
		require(o, "password", errors);
	}
}

static void validate_ssh_auth(const struct object *o, struct field_errors *errors)
{
	if (!json_text(json_gets(secret_data(o), "ssh-privatekey")).n) {
		field_required(errors, data_path(errors, "ssh-privatekey"), "%s", "");
	}
}

static void validate_tls(const struct object *o, struct field_errors *errors)
{
	require(o, "tls.crt", errors);
	require(o, "tls.key", errors);
}

static const struct {
	const char *type;
	void (*validate)(const struct object *o, struct field_errors *errors);
} types[] = {
	{"kubernetes.io/service-account-token", validate_account_token},
	{"kubernetes.io/dockercfg", validate_dockercfg},
	{"kubernetes.io/dockerconfigjson", validate_docker_config},
	{"kubernetes.io/basic-auth", validate_basic_auth},
	{"kubernetes.io/ssh-auth", validate_ssh_auth},
	{"kubernetes.io/tls", validate_tls},
};

static void secret_validate(const struct object *o, struct field_errors *errors)
{
	validate_data_keys(secret_data(o), "data", errors);
	if (data_bytes_size(secret_data(o)) > SECRET_DATA_MAX) {
		field_too_long(errors, STR("data"), SECRET_DATA_MAX);
	}
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (str_is(type_of(o), types[i].type)) {
			types[i].validate(o, errors);
		}
	}
}

static void secret_validate_update(const struct object *o, const struct object *old, struct field_errors *errors)
{
	assert(o->kind == old->kind);
	if (!str_eq(type_of(o), type_of(old))) {
		field_invalid_str(errors, STR("type"), type_of(o), "field is immutable");
	}
	validate_immutable_data(o, old, errors);
	validate_meta(o->kind, &o->meta, errors);
	secret_validate(o, errors);
}

/* ---- what is shown ---- */

static void write_type(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	json_encode_string(out, type_of(o));
}

static void secret_write_data(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	buf_add_int(out, secret_data(o) ? secret_data(o)->n : 0);
}

static struct str select_type(const struct object *o, struct arena *a)
{
	(void)a;
	return type_of(o);
}

static const struct column secret_columns[] = {
	COLUMN_NAME,
	{"Type", "string", "",
		"Used to facilitate programmatic handling of secret data. More info: "
		"https://kubernetes.io/docs/concepts/configuration/secret/#secret-types",
		0, write_type, false},
	{"Data", "string", "",
		"Data contains the secret data. Each key must consist of alphanumeric characters, '-', '_' or '.'. The "
		"serialized form of the secret data is a base64 encoded string, representing the arbitrary (possibly "
		"non-string) data value here. Described in https://tools.ietf.org/html/rfc4648#section-4",
		0, secret_write_data, false},
	COLUMN_AGE,
};

static const struct selectable_field selectable[] = {
	{"type", select_type, false},
};

static const struct version secret_versions[] = {
	{.group = "", .name = "v1", .definition = "io.k8s.api.core.v1.Secret", .standalone_only = true},
};

static struct kind secrets = {
	.kind = "Secret",
	.list_kind = "SecretList",
	.resource = "secrets",
	.singular = "secret",
	.is_namespaced = true,
	.verbs = VERBS_ALL,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.versions = secret_versions,
	.n_versions = ARRAY_SIZE(secret_versions),
	.type = &type_secret,
	.doc = "Bytes by name that not everybody may see.",
	.unconditional_update = true,
	.keeps_generation = true,
	.set_defaults = set_defaults,
	.validate = secret_validate,
	.validate_update = secret_validate_update,
	.columns = secret_columns,
	.n_columns = ARRAY_SIZE(secret_columns),
	.selectable = selectable,
	.n_selectable = ARRAY_SIZE(selectable),
};
KIND_REGISTER(secrets)
