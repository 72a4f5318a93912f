#include "api/unstructured.h"

#include <stdlib.h>

static const struct json *settle(const struct json *in, const struct type *t, struct arena *a);

static const struct json *settle_number(const struct json *in, struct arena *a)
{
	int64_t n;
	if (json_to_int64(in, &n)) {
		return in;
	}
	double d = strtod(arena_printf(a, STR_FMT, STR_ARG(json_text(in))).p, NULL);
	if (d < -0x1p63 || d >= 0x1p63) {
		return json_int(a, INT64_MIN);
	}
	return d == (double)(int64_t)d ? json_int(a, (int64_t)d) : in;
}

static const struct json *settle_members(const struct json *in, const struct type *t, struct arena *a)
{
	struct json *out = NULL;
	for (uint32_t i = 0; i < in->n; i++) {
		const struct field *f = type_field(t, in->members[i].name);
		const struct json *old = in->members[i].value, *new = f ? settle(old, f->type, a) : old;
		if (new != old) {
			out = out ? out : json_copy(a, in);
			out->members[i].value = (struct json *)new;
		}
	}
	return out ? out : in;
}

static const struct json *settle_items(const struct json *in, const struct type *t, struct arena *a)
{
	struct json *out = NULL;
	for (uint32_t i = 0; i < in->n; i++) {
		const struct json *new = settle(in->items[i], t->elem, a);
		if (new != in->items[i]) {
			out = out ? out : json_copy(a, in);
			out->items[i] = (struct json *)new;
		}
	}
	return out ? out : in;
}

static const struct json *settle(const struct json *in, const struct type *t, struct arena *a)
{
	if ((t->kind == TYPE_INT32 || t->kind == TYPE_INT64) && json_is(in, JSON_NUMBER)) {
		return settle_number(in, a);
	}
	if (t->kind == TYPE_OBJECT && json_is(in, JSON_OBJECT)) {
		return settle_members(in, t, a);
	}
	if (t->kind == TYPE_LIST && json_is(in, JSON_ARRAY)) {
		return settle_items(in, t, a);
	}
	return in;
}

static const struct json *set_text(const struct json *object, const char *name, struct str text, struct arena *a)
{
	const struct json *present = json_gets(object, name);
	if (!json_is(present, JSON_STRING) || str_eq(json_text(present), text)) {
		return object;
	}
	struct json *out = json_copy(a, object);
	json_set(a, out, str_of(name), json_string(a, text));
	return out;
}

const struct json *unstructured_settle(const struct json *in, const struct kind *kind, const struct door *door, struct arena *a)
{
	const struct json *out = settle(in, door_type(kind, door), a);
	out = set_text(out, "kind", str_of(kind->kind), a);
	return set_text(out, "apiVersion", door_api_version(door, a), a);
}
