/* Secret: bytes by name that not everybody may see. Its type says which names must be there. */
#include "api/rules/validate.h"
#include "base/base64.h"

enum { DATA_MAX = 1024 * 1024 }; /* bytes, of all values together */

static const struct type bytes_map_type = {.kind = TYPE_MAP, .elem = &type_bytes};
static const struct type type_type = {.kind = TYPE_STRING, .go_type = "v1.SecretType"};

static const struct field secret_fields[] = {
	OBJECT_FIELDS,
	{"immutable", &type_bool, FIELD_KEEP_EMPTY | FIELD_NUMBER(5),
		"Once true, data can no longer be changed, only metadata; nor can this be taken back.", NULL, NULL},
	{"data", &bytes_map_type, FIELD_NUMBER(2), "Bytes by name. Names have letters, digits, '-', '_' and '.'.", NULL, NULL},
	{"stringData", &type_string_map, FIELD_NUMBER(4),
		"Texts by name, for those who write: each goes into data, over what is there. Never shown.", NULL, NULL},
	{"type", &type_type, FIELD_NUMBER(3),
		"What the secret is for, and so what it must hold: Opaque (the default) holds anything, kubernetes.io/tls a "
		"certificate and its key. Cannot be changed.",
		NULL, NULL},
	{0},
};

static const struct type secret_type = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.core.v1.Secret",
	.go_type = "v1.Secret",
	.doc = "Bytes by name that not everybody may see, at most 1 MiB of them. They are stored as they are sent.",
	.fields = secret_fields,
};

static const struct json *data(const struct object *o)
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

/* Both are sorted by key. */
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
	struct json *bytes = texts ? merge_texts(data(o), texts, a) : json_gets(o->fields, "data");
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
	if (!json_gets(data(o), key)) {
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

/* That value is a JSON object; errors do not show it. */
static void require_json(const struct object *o, const char *key, struct field_errors *errors)
{
	struct arena *a = errors->arena;
	const struct json *value = json_gets(data(o), key);
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

/* One of the two is enough; without both, kube asks for both. */
static void validate_basic_auth(const struct object *o, struct field_errors *errors)
{
	if (!json_gets(data(o), "username") && !json_gets(data(o), "password")) {
		require(o, "username", errors);
		require(o, "password", errors);
	}
}

static void validate_ssh_auth(const struct object *o, struct field_errors *errors)
{
	if (!json_text(json_gets(data(o), "ssh-privatekey")).n) {
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

static void validate(const struct object *o, struct field_errors *errors)
{
	validate_data_keys(data(o), "data", errors);
	if (data_bytes_size(data(o)) > DATA_MAX) {
		field_too_long(errors, STR("data"), DATA_MAX);
	}
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (str_is(type_of(o), types[i].type)) {
			types[i].validate(o, errors);
		}
	}
}

static void validate_update(const struct object *o, const struct object *old, struct field_errors *errors)
{
	if (!str_eq(type_of(o), type_of(old))) {
		field_invalid_str(errors, STR("type"), type_of(o), "field is immutable");
	}
	validate_immutable_data(o, old, errors);
	validate_meta(o->kind, &o->meta, errors);
	validate(o, errors);
}

/* ---- what is shown ---- */

static void write_type(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	json_encode_string(out, type_of(o));
}

static void write_data(const struct object *o, int64_t now_s, struct buf *out)
{
	(void)now_s;
	buf_add_int(out, data(o) ? data(o)->n : 0);
}

static struct str select_type(const struct object *o, struct arena *a)
{
	(void)a;
	return type_of(o);
}

static const struct column columns[] = {
	COLUMN_NAME,
	{"Type", "string", "",
		"Used to facilitate programmatic handling of secret data. More info: "
		"https://kubernetes.io/docs/concepts/configuration/secret/#secret-types",
		0, write_type, false},
	{"Data", "string", "",
		"Data contains the secret data. Each key must consist of alphanumeric characters, '-', '_' or '.'. The "
		"serialized form of the secret data is a base64 encoded string, representing the arbitrary (possibly "
		"non-string) data value here. Described in https://tools.ietf.org/html/rfc4648#section-4",
		0, write_data, false},
	COLUMN_AGE,
};

static const struct selectable_field selectable[] = {
	{"type", select_type, false},
};

static const struct door doors[] = {
	{.group = "", .version = "v1", .definition = "io.k8s.api.core.v1.Secret", .standalone_only = true},
};

static struct kind secrets = {
	.kind = "Secret",
	.list_kind = "SecretList",
	.resource = "secrets",
	.singular = "secret",
	.is_namespaced = true,
	.verbs = VERBS_ALL,
	.name_rule = NAME_DNS_SUBDOMAIN,
	.doors = doors,
	.n_doors = ARRAY_SIZE(doors),
	.type = &secret_type,
	.doc = "Bytes by name that not everybody may see.",
	.unconditional_update = true,
	.keeps_generation = true,
	.set_defaults = set_defaults,
	.validate = validate,
	.validate_update = validate_update,
	.columns = columns,
	.n_columns = ARRAY_SIZE(columns),
	.selectable = selectable,
	.n_selectable = ARRAY_SIZE(selectable),
};
KIND_REGISTER(secrets)
