/* Shared by ConfigMaps and Secrets, which differ in their values alone. Keys become names of
 * files in volumes, so nothing may climb out of the folder. */
#include "api/rules/validate.h"

enum { DATA_KEY_MAX = 253 };

static bool is_key_character(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

static bool is_key(struct str key)
{
	for (size_t i = 0; i < key.n; i++) {
		if (!is_key_character(key.p[i])) {
			return false;
		}
	}
	return key.n > 0;
}

static const char *climbs(struct str key)
{
	if (str_is(key, ".")) {
		return "must not be '.'";
	}
	if (str_is(key, "..")) {
		return "must not be '..'";
	}
	return str_starts(key, STR("..")) ? "must not start with '..'" : NULL;
}

size_t validate_data_key(struct str key, const char *ret[VALIDATE_MESSAGES_MAX])
{
	size_t n = 0;
	if (key.n > DATA_KEY_MAX) {
		ret[n++] = "must be no more than 253 characters";
	}
	if (!is_key(key)) {
		ret[n++] = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or "
			   "'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
	}
	if (climbs(key)) {
		ret[n++] = climbs(key);
	}
	return n;
}

void validate_data_keys(const struct json *data, const char *path, struct field_errors *errors)
{
	const char *messages[VALIDATE_MESSAGES_MAX];
	for (uint32_t i = 0; data && i < data->n; i++) {
		struct str key = data->members[i].name;
		size_t n = validate_data_key(key, messages);
		for (size_t k = 0; k < n; k++) {
			field_invalid_str(errors, field_key(errors->arena, str_of(path), key), key, "%s", messages[k]);
		}
	}
}

static bool is_immutable(const struct object *o)
{
	const struct json *immutable = json_gets(o->fields, "immutable");
	return immutable && immutable->kind == JSON_BOOL && immutable->boolean;
}

static bool is_unchanged(const struct object *o, const struct object *old, const char *name)
{
	const struct json *now = json_gets(o->fields, name), *before = json_gets(old->fields, name);
	return now && before ? json_equal(now, before) : now == before;
}

void validate_immutable_data(const struct object *o, const struct object *old, struct field_errors *errors)
{
	static const char *const names[] = {"data", "binaryData"};
	static const char text[] = "field is immutable when `immutable` is set";
	if (!is_immutable(old)) {
		return;
	}
	if (!is_immutable(o)) {
		field_forbidden(errors, STR("immutable"), "%s", text);
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!is_unchanged(o, old, names[i])) {
			field_forbidden(errors, str_of(names[i]), "%s", text);
		}
	}
}

size_t data_text_size(const struct json *data)
{
	size_t size = 0;
	for (uint32_t i = 0; data && i < data->n; i++) {
		size += data->members[i].value->n;
	}
	return size;
}

/* Normal form has all its padding. */
static size_t decoded_size(struct str base64)
{
	size_t n = base64.n / 4 * 3;
	for (size_t i = base64.n; i > 0 && base64.p[i - 1] == '='; i--) {
		n--;
	}
	return n;
}

size_t data_bytes_size(const struct json *data)
{
	size_t size = 0;
	for (uint32_t i = 0; data && i < data->n; i++) {
		size += decoded_size(json_text(data->members[i].value));
	}
	return size;
}
