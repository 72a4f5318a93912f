/* A schema, an object, and the object before it: {"schema":{},"in":{},"old":{}}. No text makes the room fail; what has been settled once
 * does not change again; a definition with that schema is judged. */
#include "api/model/kind.h"
#include "api/schema/crd.h"
#include "tests/fuzz/fuzz.h"

static bool is_same(const struct json *x, const struct json *y)
{
	struct buf a, b;
	buf_init(&a, CEILING);
	buf_init(&b, CEILING);
	CHECK(json_encode(&a, x) && json_encode(&b, y));
	bool same = str_eq(buf_str(&a), buf_str(&b));
	buf_done(&a);
	buf_done(&b);
	return same;
}

static void check_object(const struct schema *s, struct json *in, struct json *old, struct arena *a)
{
	struct json *made, *again;
	struct str error = {0};
	struct decode_report report = {0};
	struct field_errors errors;
	struct json *restored = schema_restore(s, in, a);
	CHECK(is_same(schema_normal(schema_restore(s, restored, a), a), schema_normal(restored, a)));
	if (schema_accept(&made, s, in, a, &report, &error)) {
		CHECK(error.n > 0);
		return;
	}
	CHECK(schema_accept(&again, s, made, a, NULL, &error) == 0);
	CHECK(is_same(again, made));
	made = schema_default(s, made, a);
	CHECK(is_same(schema_default(s, made, a), made));
	field_errors_init(&errors, a);
	schema_validate(s, NULL, made, &errors);
	size_t n = errors.n;
	field_errors_init(&errors, a);
	schema_validate(s, NULL, made, &errors);
	CHECK(errors.n == n);
	field_errors_init(&errors, a);
	schema_validate_update(s, NULL, made, made, &errors);
	CHECK(errors.n <= n);
	if (json_is(old, JSON_OBJECT)) {
		schema_validate_update(s, NULL, made, old, &errors);
		schema_validate_status(s, NULL, made, old, &errors);
	}
	made = schema_normal(made, a);
	CHECK(is_same(schema_normal(made, a), made));
}

static void check_definition(struct json *openapi, struct arena *a)
{
	static const struct kind kind = {.kind = "CustomResourceDefinition"};
	static const char spec_text[] =
		"{\"group\":\"a.b\",\"scope\":\"Cluster\",\"names\":{\"plural\":\"cs\",\"kind\":\"C\"},\"versions\":[]}";
	struct json *spec = NULL, *version = json_object(a), *validation = json_object(a), *versions = json_array(a),
		    *hub = json_object(a);
	struct field_errors errors, update;
	struct str warnings[CRD_WARNINGS_MAX];
	size_t at;
	CHECK(json_parse(&spec, a, str_of(spec_text), JSON_LIMITS_DEFAULT, &at) == 0);
	spec = json_copy(a, spec);
	json_set(a, validation, STR("openAPIV3Schema"), openapi);
	json_set(a, version, STR("name"), json_string(a, STR("v1")));
	json_set(a, version, STR("served"), json_bool(a, true));
	json_set(a, version, STR("storage"), json_bool(a, true));
	json_set(a, version, STR("schema"), validation);
	json_append(a, versions, version);
	json_set(a, spec, STR("versions"), versions);
	json_set(a, hub, STR("spec"), spec);
	struct object *o = object_from_hub(&kind, hub, a);
	o->meta.name = STR("cs.a.b");
	crd_set_defaults(o, a);
	crd_prepare_create(o, a);
	field_errors_init(&errors, a);
	field_errors_init(&update, a);
	crd_validate(o, &errors);
	crd_validate_update(o, o, &update);
	/* What is stored already is refused for no more than a new one is. */
	CHECK(update.n + update.n_left_out <= errors.n + errors.n_left_out);
	crd_warn(o, NULL, a, warnings);
	CHECK(errors.n || !crd_nonstructural(o, a).n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct arena a;
	struct json *row;
	struct schema *s = NULL;
	struct str error = {0};
	size_t at;
	arena_init(&a, CEILING);
	if (json_parse(&row, &a, (struct str){(const char *)data, n}, JSON_LIMITS_DEFAULT, &at) == 0) {
		struct json *openapi = json_gets(row, "schema"), *in = json_gets(row, "in");
		if (json_is(openapi, JSON_OBJECT)) {
			check_definition(openapi, &a);
		}
		int r = json_is(openapi, JSON_OBJECT) ? schema_compile(&s, openapi, &a, &error) : SCHEMA_UNSUPPORTED;
		CHECK(r == 0 || !s);
		if (r == 0 && json_is(in, JSON_OBJECT)) {
			check_object(s, in, json_gets(row, "old"), &a);
		}
		schema_unref(s);
	}
	arena_done(&a);
	return 0;
}
