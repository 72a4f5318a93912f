#include "tests/fuzz/oracle_json.h"

#include <jansson.h>
#include <string.h>

static json_t *json_of(const struct oracle_value *v)
{
	return (json_t *)(uintptr_t)v;
}

static bool is_known_refusal(const json_error_t *error)
{
	switch (json_error_code(error)) {
	case json_error_numeric_overflow:
	case json_error_null_byte_in_key:
	case json_error_stack_overflow:
		return true;
	default:
		return strstr(error->text, "invalid Unicode") != NULL;
	}
}

enum oracle_verdict oracle_parse(struct oracle_value **ret, const void *text, size_t n)
{
	json_error_t error;
	json_t *json = json_loadb(text, n, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
	*ret = (struct oracle_value *)json;
	return json ? ORACLE_ACCEPTS : is_known_refusal(&error) ? ORACLE_CANNOT : ORACLE_REFUSES;
}

void oracle_free(struct oracle_value *v)
{
	json_decref(json_of(v));
}

enum oracle_kind oracle_kind(const struct oracle_value *v)
{
	static const enum oracle_kind kinds[] = {
		[JSON_OBJECT] = ORACLE_OBJECT,
		[JSON_ARRAY] = ORACLE_ARRAY,
		[JSON_STRING] = ORACLE_STRING,
		[JSON_INTEGER] = ORACLE_INTEGER,
		[JSON_REAL] = ORACLE_REAL,
		[JSON_TRUE] = ORACLE_BOOL,
		[JSON_FALSE] = ORACLE_BOOL,
		[JSON_NULL] = ORACLE_NULL,
	};
	return kinds[json_typeof(json_of(v))];
}

bool oracle_bool(const struct oracle_value *v)
{
	return json_is_true(json_of(v));
}

int64_t oracle_integer(const struct oracle_value *v)
{
	return json_integer_value(json_of(v));
}

double oracle_real(const struct oracle_value *v)
{
	return json_real_value(json_of(v));
}

const char *oracle_string(const struct oracle_value *v, size_t *ret_n)
{
	*ret_n = json_string_length(json_of(v));
	return json_string_value(json_of(v));
}

size_t oracle_count(const struct oracle_value *v)
{
	return oracle_kind(v) == ORACLE_ARRAY ? json_array_size(json_of(v)) : json_object_size(json_of(v));
}

const struct oracle_value *oracle_item(const struct oracle_value *v, size_t i)
{
	return (const struct oracle_value *)json_array_get(json_of(v), i);
}

const struct oracle_value *oracle_member(const struct oracle_value *v, const char *name, size_t n)
{
	const char *key;
	json_t *value;
	json_object_foreach (json_of(v), key, value) {
		if (strlen(key) == n && memcmp(key, name, n) == 0) {
			return (const struct oracle_value *)value;
		}
	}
	return NULL;
}
