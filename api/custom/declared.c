/* The annotations are lists of paths. A path names members, from the object down; it never leads into a list, whose items have no
 * lasting names. */
#include "api/custom/declared.h"

#include "api/model/members.h"

#include <assert.h>

/* ---- texts ---- */

static struct str annotation_of(const struct object *definition, const char *name)
{
	return json_text(json_gets(definition->meta.annotations, name));
}

struct str declared_text(const struct object *definition, struct arena *a)
{
	return arena_dup(a, annotation_of(definition, ANNOTATION_IMMUTABLE));
}

/* Splits a path into its steps. Returns NULL, or says what is wrong. */
static const char *path_parse(struct declared_path *ret, struct str text, struct arena *a)
{
	struct str steps[DECLARED_STEPS_MAX];
	size_t n = 0;

	for (bool has_more = true; has_more;) {
		struct str rest;
		if (n == DECLARED_STEPS_MAX) {
			return "has too many names: the most are 32";
		}
		has_more = str_cut(text, '.', &steps[n], &rest);
		if (steps[n].n == 0) {
			return "must be names with one dot between them, such as spec.data";
		}
		n++;
		text = rest;
	}
	static const char *const others[] = {"apiVersion", "kind", "metadata", "status"};
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		if (str_is(steps[0], others[i])) {
			return "must not begin with apiVersion, kind, metadata or status";
		}
	}
	ret->steps = arena_array(a, struct str, n);
	memcpy(ret->steps, steps, n * sizeof(*steps));
	ret->n_steps = n;
	return NULL;
}

/* The next path of a list; false at its end. */
static bool list_next(struct str *list, bool *is_over, struct str *ret)
{
	struct str item, rest;

	if (*is_over) {
		return false;
	}
	*is_over = !str_cut(*list, ',', &item, &rest);
	*list = rest;
	*ret = str_trim(item);
	return true;
}

void declared_read(struct declared *ret, const struct object *definition, struct arena *a)
{
	struct str list, text;
	bool is_over;

	*ret = (struct declared){.text = declared_text(definition, a)};
	ret->immutable = arena_array(a, struct declared_path, DECLARED_PATHS_MAX);
	list = ret->text;
	is_over = list.n == 0;
	while (ret->n_immutable < DECLARED_PATHS_MAX && list_next(&list, &is_over, &text)) {
		struct declared_path *p = &ret->immutable[ret->n_immutable];
		*p = (struct declared_path){.text = text};
		ret->n_immutable += !path_parse(p, text, a);
	}
}

/* ---- rules of the annotations ---- */

static const struct json *stored_schema(const struct object *definition)
{
	const struct json *versions = json_gets(object_spec(definition), "versions"), *each;

	for (uint32_t i = 0; (each = list_item(versions, i)); i++) {
		if (member_is_true(each, "storage")) {
			return json_gets(json_gets(each, "schema"), "openAPIV3Schema");
		}
	}
	return NULL;
}

/* NULL, or why the path names no field of the schema. */
static const char *path_judge(const struct declared_path *p, const struct json *schema)
{
	for (size_t i = 0; i < p->n_steps; i++) {
		const struct json *named = json_get(json_gets(schema, "properties"), p->steps[i]);
		const struct json *others = json_gets(schema, "additionalProperties");
		if (json_gets(schema, "items")) {
			return "must not lead into a list: the list itself can be named";
		}
		if (named) {
			schema = named;
		} else if (json_is(others, JSON_OBJECT)) {
			schema = others;
		} else {
			bool keeps_any = member_is_true(schema, "x-kubernetes-preserve-unknown-fields") ||
				(json_is(others, JSON_BOOL) && others->boolean);
			return keeps_any ? NULL : "must be a field in the schema of the version that is stored";
		}
	}
	return NULL;
}

static const char *list_judge(struct str text, const struct declared_path *all, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (str_eq(all[i].text, text)) {
			return "is named twice";
		}
	}
	return n < DECLARED_PATHS_MAX ? NULL : "is one too many: the most are 32 paths";
}

static void list_validate(const struct object *definition, const char *name, struct field_errors *errors)
{
	struct declared_path *all = arena_array(errors->arena, struct declared_path, DECLARED_PATHS_MAX);
	struct str path = arena_printf(errors->arena, "metadata.annotations[%s]", name);
	struct str list = annotation_of(definition, name), text;
	bool is_over = !json_gets(definition->meta.annotations, name);
	size_t n = 0;

	if (!is_over && str_is(member_text(json_gets(object_spec(definition), "conversion"), "strategy"), "Webhook")) {
		field_invalid_str(errors, path, list,
			"cannot be kept while a webhook makes one version of another: spec.conversion.strategy must be None");
		return;
	}
	while (list_next(&list, &is_over, &text)) {
		struct declared_path p = {.text = text};
		const char *problem = list_judge(text, all, n);
		problem = problem ? problem : path_parse(&p, text, errors->arena);
		problem = problem ? problem : path_judge(&p, stored_schema(definition));
		if (problem) {
			field_invalid_str(errors, path, text, "%s", problem);
		}
		if (n == DECLARED_PATHS_MAX) {
			return;
		}
		all[n++] = p;
	}
}

void declared_validate(const struct object *definition, const struct object *old, struct field_errors *errors)
{
	struct field_errors before;

	field_errors_init(&before, errors->arena);
	if (old && str_eq(declared_text(definition, errors->arena), declared_text(old, errors->arena))) {
		list_validate(old, ANNOTATION_IMMUTABLE, &before);
	}
	if (before.n == 0) {
		list_validate(definition, ANNOTATION_IMMUTABLE, errors);
	}
}

/* ---- objects ---- */

static struct json *path_get(const struct declared_path *p, const struct json *fields)
{
	struct json *at = (struct json *)(uintptr_t)fields;

	for (size_t i = 0; at && i < p->n_steps; i++) {
		at = json_get(at, p->steps[i]);
	}
	return at;
}

static bool is_same(const struct json *a, const struct json *b)
{
	return a && b ? json_equal(a, b) : a == b;
}

/* A copy of `in` that has the value at the end of the steps. Objects on the way are made. */
static struct json *with_value(const struct json *in, const struct str *steps, size_t n, struct json *value, struct arena *a)
{
	struct json *out = json_is(in, JSON_OBJECT) ? json_copy(a, in) : json_object(a);

	json_set(a, out, steps[0], n == 1 ? value : with_value(json_get(in, steps[0]), steps + 1, n - 1, value, a));
	return out;
}

void declared_keep(const struct declared *d, struct object *o, const struct json *was, const struct json *seen, struct arena *a)
{
	for (size_t i = 0; i < d->n_immutable; i++) {
		const struct declared_path *p = &d->immutable[i];
		struct json *value = path_get(p, was);
		if (value && is_same(path_get(p, seen), path_get(p, o->fields))) {
			o->fields = with_value(o->fields, p->steps, p->n_steps, value, a);
		}
	}
}

void declared_check(const struct declared *d, const struct object *o, const struct object *old, struct field_errors *errors)
{
	for (size_t i = 0; i < d->n_immutable; i++) {
		const struct declared_path *p = &d->immutable[i];
		const struct json *now = path_get(p, o->fields);
		if (!is_same(now, path_get(p, old->fields))) {
			field_invalid(errors, p->text, now, "field is immutable");
		}
	}
}
