#include "tests/fuzz/fuzz.h"

#include "api/rules/validate.h"

struct str fuzz_encoded(const struct json *j, struct arena *a)
{
	_cleanup_(buf_done) struct buf b;
	buf_init(&b, CEILING);
	CHECK(json_encode(&b, j));
	return arena_dup(a, buf_str(&b));
}

struct json *fuzz_parse(struct str text, struct arena *a)
{
	struct json *j;
	size_t at;
	return json_parse(&j, a, text, JSON_LIMITS_DEFAULT, &at) ? NULL : j;
}

const struct kind *fuzz_kind_of(const struct json *body, const struct version **ret_version)
{
	struct str kind = json_text(json_gets(body, "kind")), api_version = json_text(json_gets(body, "apiVersion"));
	for (size_t i = 0; i < kind_count(); i++) {
		*ret_version = kind_version(kind_at(i), api_version);
		if (*ret_version && str_is(kind, kind_at(i)->kind)) {
			return kind_at(i);
		}
	}
	return kind_by_resource(STR("apps"), STR("v1"), STR("controllerrevisions"), true, ret_version);
}

static struct str stored(const struct object *o, struct arena *a)
{
	_cleanup_(buf_done) struct buf b;
	buf_init(&b, CEILING);
	CHECK(object_encode_stored(&b, o, &o->kind->versions[0]));
	return arena_dup(a, buf_str(&b));
}

void fuzz_check_object(const struct object *o, const struct version *version, struct arena *a)
{
	struct object *back, *again;
	struct str text = stored(o, a), error;
	CHECK(object_decode_stored(&back, o->kind, text, 1, a) == 0);
	CHECK(str_eq(stored(back, a), text));
	int r = object_decode(&again, o->kind, version, object_to_json(o, version, a), o, a, NULL, &error);
	CHECK(r == 0 || arena_is_full(a));
	CHECK(r || str_eq(stored(again, a), text));
	CHECK(r || object_equal(o, again));
}

void fuzz_check_validation(const struct object *o, const struct object *old, struct arena *a)
{
	const struct kind *kind = o->kind;
	struct field_errors errors;
	struct status st;
	status_init(&st, a);
	field_errors_init(&errors, a);
	validate_meta(kind, &o->meta, &errors);
	if (kind->validate) {
		kind->validate(o, &errors);
	}
	if (old) {
		validate_meta_update(kind, &o->meta, &old->meta, &errors);
		if (kind->validate_update) {
			kind->validate_update(o, old, &errors);
		}
	}
	status_invalid(&st, str_of(kind->versions[0].group), str_of(kind->kind), o->meta.name, &errors);
	CHECK(status_to_json(&st, a));
}
