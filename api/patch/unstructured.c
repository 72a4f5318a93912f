/* kube-apiserver patches and applies objects as maps of any values, and converts them to structs afterwards.
 * That conversion forgives, refuses or rounds values, which shows in answers. So the same is done here. */
#include "api/patch/unstructured.h"

#include "api/model/gotext.h"
#include "api/model/patch_tree.h"

#include <stdio.h>
#include <stdlib.h>

static const struct json *settle(const struct json *in, const struct type *t, struct arena *a);

/* Go's conversion of a float to int64, which is not defined beyond its range: this is what amd64
 * makes of it. */
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

const struct json *unstructured_settle(
	const struct json *in, const struct kind *kind, const struct version *version, struct arena *a)
{
	const struct json *out = settle(in, version_type(kind, version), a);
	out = set_text(out, "kind", str_of(kind->kind), a);
	return set_text(out, "apiVersion", version_api_version(version, a), a);
}

/* ---- values of wrong types (k8s.io/apimachinery/pkg/runtime/converter.go) ---- */

struct check {
	struct arena *arena;
	struct str reason;
};

static const char *go_kind(const struct json *j)
{
	int64_t n;
	switch (j->kind) {
	case JSON_OBJECT:
		return "map";
	case JSON_ARRAY:
		return "slice";
	case JSON_STRING:
		return "string";
	case JSON_BOOL:
		return "bool";
	case JSON_NUMBER:
		return json_to_int64(j, &n) ? "int64" : "float64";
	default:
		return "invalid";
	}
}

/* Sets the error, and returns true, as every check does that has found a mistake. */
static bool check_refuse(struct check *c, const char *format, ...) _printf_(2, 3);

static bool check_refuse(struct check *c, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	c->reason = arena_vprintf(c->arena, format, ap);
	va_end(ap);
	return true;
}

static bool refuses(struct check *c, const struct json *in, const struct type *t);

static bool refuses_members(struct check *c, const struct json *in, const struct type *t)
{
	if (in->kind != JSON_OBJECT) {
		return check_refuse(c, "cannot restore struct from: %s", go_kind(in));
	}
	for (const struct field *f = t->fields; f && f->name; f++) {
		const struct json *value = json_gets(in, f->name);
		if (value && refuses(c, value, f->type)) {
			return true;
		}
	}
	return false;
}

static bool refuses_values(struct check *c, const struct json *in, const struct type *t)
{
	if (in->kind != JSON_OBJECT) {
		return check_refuse(c, "cannot restore map from %s", go_kind(in));
	}
	for (uint32_t i = 0; i < in->n; i++) {
		if (refuses(c, in->members[i].value, t->elem)) {
			return true;
		}
	}
	return false;
}

static bool refuses_items(struct check *c, const struct json *in, const struct type *t)
{
	if (in->kind != JSON_ARRAY) {
		return check_refuse(c, "cannot restore slice from %s", go_kind(in));
	}
	for (uint32_t i = 0; i < in->n; i++) {
		if (refuses(c, in->items[i], t->elem)) {
			return true;
		}
	}
	return false;
}

/* Types that read their JSON themselves do so here, too. */
static bool refuses_json(struct check *c, const struct json *in, const struct type *t, const char *prefix)
{
	struct json *out;
	struct str reason;
	return schema_decode(&out, t, in, c->arena, NULL, &reason) && check_refuse(c, "%s" STR_FMT, prefix, STR_ARG(reason));
}

/* Go converts integers to texts, so its converter sees that coming; what cannot be converted at all it does not know. */
static bool refuses_scalar(
	struct check *c, const struct json *in, const struct type *t, enum json_kind wanted, const char *go_name)
{
	int64_t n;
	bool is_integer = wanted == JSON_NUMBER;
	if (in->kind == wanted && (!is_integer || json_to_int64(in, &n))) {
		return false;
	}
	bool is_number = in->kind == JSON_NUMBER;
	if (is_number && (is_integer || (wanted == JSON_STRING && json_to_int64(in, &n)))) {
		return check_refuse(c, "cannot convert %s to %s", go_kind(in), t->go_type ? t->go_type : go_name);
	}
	return check_refuse(c, "unrecognized type: %s", go_name);
}

static bool refuses(struct check *c, const struct json *in, const struct type *t)
{
	if (in->kind == JSON_NULL) {
		return false;
	}
	switch (t->kind) {
	case TYPE_OBJECT:
		return refuses_members(c, in, t);
	case TYPE_MAP:
		return refuses_values(c, in, t);
	case TYPE_LIST:
		return refuses_items(c, in, t);
	case TYPE_STRING:
		return refuses_scalar(c, in, t, JSON_STRING, "string");
	case TYPE_BOOL:
		return refuses_scalar(c, in, t, JSON_BOOL, "bool");
	case TYPE_INT32:
		return refuses_scalar(c, in, t, JSON_NUMBER, "int32");
	case TYPE_INT64:
		return refuses_scalar(c, in, t, JSON_NUMBER, "int64");
	case TYPE_BYTES:
		return in->kind == JSON_STRING ? refuses_json(c, in, t, "error decoding from json: ")
					       : check_refuse(c, "cannot restore slice from %s", go_kind(in));
	case TYPE_TIME:
	case TYPE_MICRO_TIME:
	case TYPE_INT_OR_STRING:
	case TYPE_QUANTITY:
		return refuses_json(c, in, t, "");
	case TYPE_DOUBLE:
		return refuses_scalar(c, in, t, JSON_NUMBER, "float64");
	case TYPE_RAW:
	case TYPE_FIELDS_V1:
		break;
	}
	return false;
}

bool unstructured_refuses(
	const struct json *in, const struct kind *kind, const struct version *version, struct arena *a, struct str *ret_reason)
{
	struct check c = {.arena = a};
	if (!refuses(&c, in, version_type(kind, version))) {
		return false;
	}
	*ret_reason = c.reason;
	return true;
}

/* ---- text ---- */

static void print(struct buf *out, const struct json *j, struct arena *a);

/* Where a patch met an object upstream takes away what it has carried out: directives, and lists that were put in order. */
static bool is_done_with(const struct json *patch, struct str name, struct arena *a)
{
	return str_is(name, "$patch") || str_is(name, "$retainKeys") || str_starts(name, STR("$setElementOrder/")) ||
		json_get(patch, arena_printf(a, "$setElementOrder/" STR_FMT, STR_ARG(name)));
}

/* before: what a patch met; NULL: nothing, or this is none. */
static void print_map(struct buf *out, const struct json *j, const struct json *before, struct arena *a)
{
	bool has_met = json_is(before, JSON_OBJECT);
	const struct json *sorted = open_copy(a, j);
	const char *separator = "";
	buf_adds(out, "map[");
	for (uint32_t i = 0; i < sorted->n; i++) {
		const struct json_member *m = &sorted->members[i];
		if (has_met && is_done_with(j, m->name, a)) {
			continue;
		}
		buf_printf(out, "%s" STR_FMT ":", separator, STR_ARG(m->name));
		if (m->value->kind == JSON_OBJECT) {
			print_map(out, m->value, json_get(before, m->name), a);
		} else {
			print(out, m->value, a);
		}
		separator = " ";
	}
	buf_addc(out, ']');
}

static void print_slice(struct buf *out, const struct json *j, struct arena *a)
{
	buf_addc(out, '[');
	for (uint32_t i = 0; i < j->n; i++) {
		buf_adds(out, i ? " " : "");
		print(out, j->items[i], a);
	}
	buf_addc(out, ']');
}

/* Go's shortest text that reads back as the same number, which has an exponent only where that is small or 21 and more. */
static void print_float(struct buf *out, const struct json *j, struct arena *a)
{
	double d = strtod(arena_printf(a, STR_FMT, STR_ARG(json_text(j))).p, NULL);
	char text[64];
	int digits = 1;
	do {
		snprintf(text, sizeof(text), "%.*e", digits - 1, d);
	} while (strtod(text, NULL) != d && digits++ < 17);
	int exponent = atoi(strchr(text, 'e') + 1);
	if (exponent >= -4 && exponent < 21) {
		snprintf(text, sizeof(text), "%.*f", digits - 1 > exponent ? digits - 1 - exponent : 0, d);
	}
	buf_adds(out, text);
}

static void print(struct buf *out, const struct json *j, struct arena *a)
{
	int64_t n;
	switch (j->kind) {
	case JSON_OBJECT:
		print_map(out, j, NULL, a);
		break;
	case JSON_ARRAY:
		print_slice(out, j, a);
		break;
	case JSON_NUMBER:
		if (json_to_int64(j, &n)) {
			buf_add_int(out, n);
		} else {
			print_float(out, j, a);
		}
		break;
	case JSON_STRING:
		buf_add_str(out, json_text(j));
		break;
	case JSON_BOOL:
		buf_adds(out, j->boolean ? "true" : "false");
		break;
	default:
		buf_adds(out, "<nil>");
	}
}

struct str unstructured_patch_text(const struct json *patch, const struct json *before, struct arena *a)
{
	struct buf out;
	buf_init(&out, TEXT_MAX);
	if (patch->kind == JSON_OBJECT) {
		print_map(&out, patch, before, a);
	} else {
		print(&out, patch, a);
	}
	struct str text = arena_dup(a, buf_str(&out));
	buf_done(&out);
	return text;
}
