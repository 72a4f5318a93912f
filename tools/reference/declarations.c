/* Writes the declarations of the kinds as JSON, for the generators of reference pages and of Go
 * types; also prints documents of OpenAPI as a standalone server answers them. The declarations are
 * tables of C: a program that links them has them whole, while a parser would guess. */
#include "cli/common/command.h"
#include "server/discovery/openapi.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { TYPES_MAX = 2048, TEXT_BYTES_MAX = 64 << 20 };

struct writer {
	struct arena arena;
	struct json *types; /* in the order in which they were met; a type's id is its place */
	const struct type *met[TYPES_MAX];
	size_t n_met;
};

/* ---- texts ---- */

static void put(struct writer *w, struct json *object, const char *name, struct json *value)
{
	json_add(&w->arena, object, str_of(name), value);
}

static void put_text(struct writer *w, struct json *object, const char *name, const char *text)
{
	if (text) {
		put(w, object, name, json_string(&w->arena, str_of(text)));
	}
}

/* false is left out. */
static void put_flag(struct writer *w, struct json *object, const char *name, bool is_set)
{
	if (is_set) {
		put(w, object, name, json_bool(&w->arena, true));
	}
}

static void put_list(struct writer *w, struct json *object, const char *name, const char *const *texts)
{
	struct json *list = json_array(&w->arena);

	for (; texts && *texts; texts++) {
		json_append(&w->arena, list, json_string(&w->arena, str_of(*texts)));
	}
	put(w, object, name, list);
}

static void put_verbs(struct writer *w, struct json *object, unsigned verbs)
{
	struct json *list = json_array(&w->arena);

	for (unsigned v = 1; v < VERBS_ALL; v <<= 1) {
		if (verbs & v) {
			json_append(&w->arena, list, json_string(&w->arena, str_of(verb_name((enum verb)v))));
		}
	}
	put(w, object, "verbs", list);
}

/* ---- types ---- */

static int64_t type_id(struct writer *w, const struct type *type);

static struct json *field_json(struct writer *w, const struct field *f)
{
	static const struct {
		const char *name;
		unsigned flag;
	} flags[] = {
		{"always", FIELD_ALWAYS},
		{"mandatory", FIELD_MANDATORY},
		{"patchMerge", FIELD_PATCH_MERGE},
		{"keepEmpty", FIELD_KEEP_EMPTY},
		{"silentDefault", FIELD_SILENT_DEFAULT},
	};
	struct json *object = json_object(&w->arena);

	put_text(w, object, "name", f->name);
	put(w, object, "type", json_int(&w->arena, type_id(w, f->type)));
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		put_flag(w, object, flags[i].name, f->flags & flags[i].flag);
	}
	put_text(w, object, "doc", f->doc);
	put_text(w, object, "mergeKey", f->merge_key);
	put_text(w, object, "default", f->default_json);
	return object;
}

static void fill_type(struct writer *w, struct json *object, const struct type *type)
{
	static const char *const kinds[] = {
		[TYPE_STRING] = "string",
		[TYPE_BOOL] = "bool",
		[TYPE_INT32] = "int32",
		[TYPE_INT64] = "int64",
		[TYPE_TIME] = "time",
		[TYPE_MICRO_TIME] = "microTime",
		[TYPE_BYTES] = "bytes",
		[TYPE_INT_OR_STRING] = "intOrString",
		[TYPE_QUANTITY] = "quantity",
		[TYPE_OBJECT] = "object",
		[TYPE_MAP] = "map",
		[TYPE_LIST] = "list",
		[TYPE_DOUBLE] = "double",
		[TYPE_RAW] = "raw",
		[TYPE_FIELDS_V1] = "fieldsV1",
	};
	static const char *const list_types[] = {[LIST_ATOMIC] = "atomic", [LIST_SET] = "set", [LIST_MAP] = "map"};

	put_text(w, object, "kind", kinds[type->kind]);
	put_text(w, object, "definition", type->definition);
	put_text(w, object, "goType", type->go_type);
	put_text(w, object, "doc", type->doc);
	put_flag(w, object, "atomic", type->is_atomic);
	if (type->kind == TYPE_LIST) {
		put_text(w, object, "listType", list_types[type->list_type]);
		put_list(w, object, "listKeys", type->list_keys);
	}
	if (type->elem) {
		put(w, object, "elem", json_int(&w->arena, type_id(w, type->elem)));
	}
	if (type->kind == TYPE_OBJECT) {
		struct json *fields = json_array(&w->arena);
		for (const struct field *f = type->fields; f && f->name; f++) {
			json_append(&w->arena, fields, field_json(w, f));
		}
		put(w, object, "fields", fields);
	}
}

static int64_t type_id(struct writer *w, const struct type *type)
{
	for (size_t i = 0; i < w->n_met; i++) {
		if (w->met[i] == type) {
			return (int64_t)i;
		}
	}
	assert(w->n_met < TYPES_MAX);
	size_t id = w->n_met++;
	w->met[id] = type;
	/* Before what is in it: types may hold themselves (JSON schemas do). */
	struct json *object = json_object(&w->arena);
	json_append(&w->arena, w->types, object);
	fill_type(w, object, type);
	return (int64_t)id;
}

/* ---- kinds ---- */

static struct json *versions_json(struct writer *w, const struct kind *k)
{
	struct json *list = json_array(&w->arena);

	for (size_t i = 0; i < k->n_versions; i++) {
		const struct version *v = &k->versions[i];
		struct json *object = json_object(&w->arena);
		put_text(w, object, "group", v->group);
		put_text(w, object, "version", v->name);
		put_text(w, object, "definition", v->definition);
		put_text(w, object, "deprecation", v->deprecation);
		put_flag(w, object, "standaloneOnly", v->standalone_only);
		put_flag(w, object, "own", version_is_own(v, k));
		put_flag(w, object, "stored", i == k->storage_version && kind_is_stored(k));
		put(w, object, "type", json_int(&w->arena, type_id(w, version_type(k, v))));
		struct json *aliases = json_object(&w->arena);
		for (const struct field_alias *a = v->field_aliases; a && a->name; a++) {
			put_text(w, aliases, a->path, a->name);
		}
		put(w, object, "fieldAliases", aliases);
		json_append(&w->arena, list, object);
	}
	return list;
}

static struct json *columns_json(struct writer *w, const struct kind *k)
{
	struct json *list = json_array(&w->arena);

	for (size_t i = 0; i < k->n_columns; i++) {
		const struct column *c = &k->columns[i];
		struct json *object = json_object(&w->arena);
		put_text(w, object, "name", c->name);
		put_text(w, object, "type", c->type);
		put_text(w, object, "doc", c->doc);
		put_flag(w, object, "wide", c->priority > 0);
		put_flag(w, object, "annalsOnly", c->annals_only);
		json_append(&w->arena, list, object);
	}
	return list;
}

static struct json *selectable_json(struct writer *w, const struct kind *k)
{
	struct json *list = json_array(&w->arena);

	for (size_t i = 0; i < k->n_selectable; i++) {
		struct json *object = json_object(&w->arena);
		put_text(w, object, "path", k->selectable[i].path);
		put_flag(w, object, "annalsOnly", k->selectable[i].annals_only);
		json_append(&w->arena, list, object);
	}
	return list;
}

static struct json *references_json(struct writer *w, const struct kind *k)
{
	struct json *list = json_array(&w->arena);

	for (const struct reference_field *r = k->reference_fields; r && r->prefix; r++) {
		struct json *object = json_object(&w->arena);
		put_text(w, object, "prefix", r->prefix);
		put_text(w, object, "kind", r->kind);
		json_append(&w->arena, list, object);
	}
	return list;
}

static struct json *subresources_json(struct writer *w, const struct kind *k)
{
	struct json *list = json_array(&w->arena);

	for (size_t i = 0; i < k->n_subresources; i++) {
		const struct subresource *s = &k->subresources[i];
		struct json *object = json_object(&w->arena);
		put_text(w, object, "name", s->name);
		put_verbs(w, object, s->verbs);
		put_flag(w, object, "annalsOnly", s->annals_only);
		put_flag(w, object, "diff", s->extension == EXTENSION_DIFF);
		if (s->view) {
			put_text(w, object, "viewKind", s->view->kind->kind);
			put_text(w, object, "viewGroup", s->view->kind->versions[0].group);
			put_text(w, object, "viewVersion", s->view->kind->versions[0].name);
		}
		json_append(&w->arena, list, object);
	}
	return list;
}

static struct json *kind_json(struct writer *w, const struct kind *k)
{
	static const char *const name_rules[] = {
		[NAME_DNS_SUBDOMAIN] = "subdomain", [NAME_DNS_LABEL] = "label", [NAME_PATH_SEGMENT] = "segment"};
	static const char *const policies[] = {
		[DEPENDENTS_DELETED] = "deleted", [DEPENDENTS_ORPHANED] = "orphaned", [DEPENDENTS_IGNORED] = "ignored"};
	struct json *object = json_object(&w->arena);

	put_text(w, object, "kind", k->kind);
	put_text(w, object, "listKind", k->list_kind);
	put_text(w, object, "resource", k->resource);
	put_text(w, object, "singular", k->singular);
	put_list(w, object, "shortNames", k->short_names);
	put_list(w, object, "categories", k->categories);
	put_text(w, object, "doc", k->doc);
	put_text(w, object, "nameRule", name_rules[k->name_rule]);
	put_text(w, object, "dependents", policies[k->dependents]);
	put_verbs(w, object, k->verbs);
	put_flag(w, object, "namespaced", k->is_namespaced);
	put_flag(w, object, "answered", k->extension);
	put_flag(w, object, "unconditionalUpdate", k->unconditional_update);
	put_flag(w, object, "createOnUpdate", k->create_on_update);
	put_flag(w, object, "expires", k->expires);
	put_flag(w, object, "protected", k->is_protected);
	put_list(w, object, "resetFields", k->reset_fields);
	put(w, object, "versions", versions_json(w, k));
	put(w, object, "columns", columns_json(w, k));
	put(w, object, "selectable", selectable_json(w, k));
	put(w, object, "references", references_json(w, k));
	put(w, object, "subresources", subresources_json(w, k));
	return object;
}

static struct json *kinds_json(struct writer *w)
{
	struct json *root = json_object(&w->arena), *kinds = json_array(&w->arena);

	w->types = json_array(&w->arena);
	for (size_t i = 0; i < kind_count(); i++) {
		json_append(&w->arena, kinds, kind_json(w, kind_at(i)));
	}
	put(w, root, "kinds", kinds);
	put(w, root, "types", w->types);
	return root;
}

/* ---- the program ---- */

static int print(struct str text)
{
	bool is_written = fwrite(text.p, 1, text.n, stdout) == text.n && fflush(stdout) == 0;

	return is_written ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int print_kinds(void)
{
	_cleanup_(mem_freep) struct writer *w = mem_new(struct writer);
	_cleanup_(buf_done) struct buf text;

	arena_init(&w->arena, TEXT_BYTES_MAX);
	buf_init(&text, TEXT_BYTES_MAX);
	int status = json_encode(&text, kinds_json(w)) ? print(buf_str(&text)) : EXIT_FAILURE;
	arena_done(&w->arena);
	return status;
}

static int print_openapi(struct str path)
{
	struct openapi *o = openapi_new(true, STR(KUBE_VERSION "+annals." ANNALS_VERSION));
	struct openapi_answer answer;
	int status = EXIT_FAILURE;

	if (openapi_find(&answer, o, path, STR(""), STR("application/json")) == OPENAPI_OK) {
		status = print(bytes_str(answer.body));
	}
	openapi_free(o);
	return status;
}

int main(int argc, char **argv)
{
	if (argc == 2 && str_is(str_of(argv[1]), "kinds")) {
		return print_kinds();
	}
	if (argc == 3 && str_is(str_of(argv[1]), "openapi")) {
		return print_openapi(str_of(argv[2]));
	}
	fputs("usage: declarations kinds | declarations openapi PATH\n", stderr);
	return EXIT_FAILURE;
}
