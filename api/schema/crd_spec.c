/* The rules of a definition's spec around its schemas: names, versions, conversion, columns, subresources. */
#include "api/schema/rules.h"

#include "api/rules/validate.h"
#include "api/schema/gojson.h"

#include <assert.h>

/* ---- the internal form ---- */

static bool is_same(const struct json *a, const struct json *b, bool is_list)
{
	if (is_list && !crd_count(a) && !crd_count(b)) {
		return true;
	}
	return a && b ? json_equal(a, b) : a == b;
}

static const struct json *common(const struct json *versions, const char *name, bool is_list, bool *ret_is_common)
{
	const struct json *first = crd_count(versions) ? crd_member(versions->items[0], name) : NULL;
	*ret_is_common = crd_count(versions) > 0;
	for (uint32_t i = 1; i < crd_count(versions) && *ret_is_common; i++) {
		*ret_is_common = is_same(first, crd_member(versions->items[i], name), is_list);
	}
	return *ret_is_common && !(is_list && !crd_count(first)) ? first : NULL;
}

struct form crd_form(const struct object *o)
{
	struct form f = {.spec = json_gets(o->fields, "spec")};
	f.versions = crd_member(f.spec, "versions");
	f.schema = common(f.versions, "schema", false, &f.one_schema);
	f.subresources = common(f.versions, "subresources", false, &f.one_subresources);
	f.columns = common(f.versions, "additionalPrinterColumns", true, &f.one_columns);
	f.selectable = common(f.versions, "selectableFields", true, &f.one_selectable);
	f.preserves = crd_is_true(f.spec, "preserveUnknownFields");
	return f;
}

/* The schema of one version, wherever it is kept. */
const struct json *version_schema(const struct json *version)
{
	return crd_member(crd_member(version, "schema"), "openAPIV3Schema");
}

/* The definition's schemas one after the other, each once. */
const struct json *form_next_schema(const struct form *f, uint32_t *at)
{
	while (*at < crd_count(f->versions)) {
		const struct json *schema = version_schema(f->versions->items[(*at)++]);
		if (f->one_schema) {
			*at = crd_count(f->versions);
		}
		if (schema) {
			return schema;
		}
	}
	return NULL;
}

static bool has_status(const struct json *subresources)
{
	return crd_member(subresources, "status") != NULL;
}

/* ---- texts ---- */

static struct str join(const char *const *texts, size_t n, const char *between, struct arena *a)
{
	struct buf out;
	buf_init(&out, TEXT_MAX);
	for (size_t i = 0; i < n; i++) {
		buf_adds(&out, i ? between : "");
		buf_adds(&out, texts[i]);
	}
	struct str joined = arena_dup(a, buf_str(&out));
	buf_done(&out);
	return joined;
}

struct str crd_lower(struct str s, struct arena *a)
{
	char *lowered = arena_text(a, s.n);
	for (size_t i = 0; i < s.n; i++) {
		lowered[i] = s.p[i] >= 'A' && s.p[i] <= 'Z' ? (char)(s.p[i] + 'a' - 'A') : s.p[i];
	}
	return (struct str){lowered, s.n};
}

static void check_label(struct field_errors *e, struct str path, struct str name, struct str judged, const char *before)
{
	const char *messages[VALIDATE_MESSAGES_MAX];
	size_t n = validate_dns1035_label(judged, messages);
	if (n) {
		field_invalid_str(e, path, name, "%s" STR_FMT, before, STR_ARG(join(messages, n, ",", e->arena)));
	}
}

/* ---- names ---- */

void crd_check_names(const struct json *names, struct str path, struct field_errors *e)
{
	static const char mixed[] = "may have mixed case, but should otherwise match: ";
	struct arena *a = e->arena;
	struct str plural = crd_text(names, "plural"), singular = crd_text(names, "singular"), kind = crd_text(names, "kind"),
		   list_kind = crd_text(names, "listKind");
	const struct json *short_names = crd_member(names, "shortNames"), *categories = crd_member(names, "categories");
	if (plural.n) {
		check_label(e, field_path(a, path, "plural"), plural, plural, "");
	}
	if (singular.n) {
		check_label(e, field_path(a, path, "singular"), singular, singular, "");
	}
	if (kind.n) {
		check_label(e, field_path(a, path, "kind"), kind, crd_lower(kind, a), mixed);
	}
	if (list_kind.n) {
		check_label(e, field_path(a, path, "listKind"), list_kind, crd_lower(list_kind, a), mixed);
	}
	for (uint32_t i = 0; i < crd_count(short_names); i++) {
		struct str name = json_text(short_names->items[i]);
		check_label(e, field_index(a, field_path(a, path, "shortNames"), i), name, name, "");
	}
	if (kind.n && str_eq(kind, list_kind)) {
		field_invalid_str(e, field_path(a, path, "listKind"), list_kind, "kind and listKind may not be the same");
	}
	for (uint32_t i = 0; i < crd_count(categories); i++) {
		struct str name = json_text(categories->items[i]);
		check_label(e, field_index(a, field_path(a, path, "categories"), i), name, name, "");
	}
}

static void check_names_are_there(const struct json *names, struct field_errors *e)
{
	static const char *const required[] = {"plural", "singular", "kind", "listKind"};
	for (size_t i = 0; i < ARRAY_SIZE(required); i++) {
		if (!crd_text(names, required[i]).n) {
			field_required(e, field_path(e->arena, STR("spec.names"), required[i]), "%s", "");
		}
	}
}

static void check_group(struct str group, struct field_errors *e)
{
	const char *messages[VALIDATE_MESSAGES_MAX];
	size_t n = group.n ? validate_dns_subdomain(group, messages) : 0;
	if (!group.n) {
		field_required(e, STR("spec.group"), "%s", "");
	} else if (n) {
		field_invalid_str(e, STR("spec.group"), group, STR_FMT, STR_ARG(join(messages, n, ",", e->arena)));
	} else if (!memchr(group.p, '.', group.n)) {
		field_invalid_str(e, STR("spec.group"), group, "should be a domain with at least one dot");
	}
}

void crd_check_choice(struct field_errors *e, struct str path, struct str value, const char *const *choices, size_t n)
{
	if (!value.n) {
		field_required(e, path, "%s", "");
		return;
	}
	for (size_t i = 0; i < n; i++) {
		if (str_is(value, choices[i])) {
			return;
		}
	}
	field_not_supported(e, path, value, choices, n);
}

/* ---- columns, subresources, selectable fields ---- */

static void check_simple_path(struct str path, struct str value, struct field_errors *e)
{
	if (value.p[0] != '.') {
		field_invalid_str(e, path, value, "must be a simple json path starting with .");
	}
}

static bool is_listed(struct str s, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (str_is(s, list[i])) {
			return true;
		}
	}
	return false;
}

static void check_column(const struct json *column, struct str path, struct field_errors *e)
{
	static const char *const types[] = {"boolean", "date", "integer", "number", "string"},
				 *const formats[] = {
					 "byte", "date", "date-time", "double", "float", "int32", "int64", "password"};
	struct arena *a = e->arena;
	struct str type = crd_text(column, "type"), format = crd_text(column, "format"),
		   json_path = crd_text(column, "jsonPath");
	if (!crd_text(column, "name").n) {
		field_required(e, field_path(a, path, "name"), "%s", "");
	}
	if (!type.n) {
		field_required(e, field_path(a, path, "type"), "must be one of " STR_FMT,
			STR_ARG(join(types, ARRAY_SIZE(types), ",", a)));
	} else if (!is_listed(type, types, ARRAY_SIZE(types))) {
		field_invalid_str(e, field_path(a, path, "type"), type, "must be one of " STR_FMT,
			STR_ARG(join(types, ARRAY_SIZE(types), ",", a)));
	}
	if (format.n && !is_listed(format, formats, ARRAY_SIZE(formats))) {
		field_invalid_str(e, field_path(a, path, "format"), format, "must be one of " STR_FMT,
			STR_ARG(join(formats, ARRAY_SIZE(formats), ",", a)));
	}
	if (!json_path.n) {
		field_required(e, field_path(a, path, "JSONPath"), "%s", "");
	} else {
		check_simple_path(field_path(a, path, "JSONPath"), json_path, e);
	}
}

static void check_columns(const struct json *columns, struct str path, struct field_errors *e)
{
	for (uint32_t i = 0; i < crd_count(columns); i++) {
		check_column(columns->items[i], field_index(e->arena, path, i), e);
	}
}

static void check_replicas_path(
	const struct json *scale, const char *name, const char *prefix, struct str path, struct field_errors *e)
{
	struct str value = crd_text(scale, name);
	path = arena_printf(e->arena, STR_FMT ".scale.%s", STR_ARG(path), name);
	if (!value.n) {
		field_required(e, path, "%s", "");
	} else if (value.p[0] != '.') {
		check_simple_path(path, value, e);
	} else if (!str_starts(value, str_of(prefix))) {
		field_invalid_str(e, path, value, "should be a json path under %.*s", (int)strlen(prefix) - 1, prefix);
	}
}

static void check_subresources(const struct json *subresources, struct str path, struct field_errors *e)
{
	const struct json *scale = crd_member(subresources, "scale");
	if (!scale) {
		return;
	}
	check_replicas_path(scale, "specReplicasPath", ".spec.", path, e);
	check_replicas_path(scale, "statusReplicasPath", ".status.", path, e);
	struct str selector = crd_text(scale, "labelSelectorPath");
	path = arena_printf(e->arena, STR_FMT ".scale.labelSelectorPath", STR_ARG(path));
	if (selector.n && selector.p[0] != '.') {
		check_simple_path(path, selector, e);
	} else if (selector.n && !str_starts(selector, STR(".spec.")) && !str_starts(selector, STR(".status."))) {
		field_invalid_str(e, path, selector, "should be a json path under either .spec or .status");
	}
}

enum { SELECTABLE_MAX = 8 }; /* upstream's MaxSelectableFields */

/* The next token of a field path: a delimiter, a text in quotes, or what is before the next delimiter. */
static struct str next_token(struct str *rest)
{
	size_t n = 0;
	bool is_quoted = rest->n && rest->p[0] == '\'';
	if (is_quoted) {
		for (n = 1; n < rest->n && !(rest->p[n] == '\'' && rest->p[n - 1] != '\\'); n++) {
		}
		n = MIN(n + 1, rest->n);
	} else {
		while (n < rest->n && !strchr(".[]", rest->p[n])) {
			n++;
		}
		n = MAX(n, (size_t)(rest->n > 0));
	}
	struct str token = {rest->p, n};
	*rest = (struct str){rest->p + n, rest->n - n};
	return token;
}

static const struct node *step_to(const struct node *n, struct str name, bool *ret_is_key)
{
	uint32_t hint = 0;
	*ret_is_key = !n->n_properties;
	return n->n_properties ? node_property(n, name, &hint) : n->additional;
}

const struct node *node_at_path(
	const struct node *n, struct str path, bool brackets, struct arena *a, struct str *ret_path, struct str *ret_error)
{
	struct str rest = path, printed = {0};
	while (rest.n) {
		struct str token = next_token(&rest);
		bool is_bracket = str_is(token, "["), is_key;
		if (!is_bracket && !str_is(token, ".")) {
			*ret_error = arena_printf(a, "expected [ or . but got: " STR_FMT, STR_ARG(token));
			return NULL;
		}
		if (is_bracket && !brackets) {
			*ret_error = STR("array notation is not allowed");
			return NULL;
		}
		if (!rest.n) {
			*ret_error = STR("unexpected end of JSON path");
			return NULL;
		}
		token = next_token(&rest);
		if (is_bracket) {
			if (token.n < 2 || token.p[0] != '\'' || token.p[token.n - 1] != '\'') {
				*ret_error = arena_printf(a, "expected single quoted string but got " STR_FMT, STR_ARG(token));
				return NULL;
			}
			token = (struct str){token.p + 1, token.n - 2};
			if (!rest.n || rest.p[0] != ']') {
				*ret_error = rest.n ? arena_printf(a, "expected ] but got %c", rest.p[0])
						    : STR("unexpected end of JSON path");
				return NULL;
			}
			next_token(&rest);
		}
		n = step_to(n, token, &is_key);
		if (!n) {
			*ret_error = STR("does not refer to a valid field");
			return NULL;
		}
		printed =
			is_key ? field_key(a, printed, token) : field_path(a, printed, arena_strdup(a, arena_dup(a, token).p));
	}
	if (ret_path) {
		*ret_path = printed;
	}
	return n;
}

static void check_selectable(
	const struct json *fields, const struct node *schema, struct str path, bool allows_many, struct field_errors *e)
{
	struct arena *a = e->arena;
	struct str *seen = arena_array(a, struct str, crd_count(fields) + 1);
	size_t n_seen = 0;
	for (uint32_t i = 0; i < crd_count(fields); i++) {
		struct str json_path = crd_text(fields->items[i], "jsonPath"), printed = {0}, error = {0};
		struct str at = field_path(a, field_index(a, path, i), "jsonPath");
		if (!json_path.n) {
			field_required(e, at, "%s", "");
			continue;
		}
		const struct node *n = node_at_path(schema, json_path, false, a, &printed, &error);
		if (!n) {
			field_invalid_str(e, at, json_path, "is an invalid path: " STR_FMT, STR_ARG(error));
			continue;
		}
		if (str_is(printed, "metadata") || str_starts(printed, STR("metadata.")) ||
			str_starts(printed, STR("metadata["))) {
			field_invalid_str(e, at, json_path, "must not point to fields in metadata");
		}
		if (n->type != NODE_STRING && n->type != NODE_BOOLEAN && n->type != NODE_INTEGER) {
			field_invalid_str(e, at, json_path,
				"must point to a field of type string, boolean or integer. Enum string fields and strings with "
				"formats are allowed.");
		}
		bool is_seen = false;
		for (size_t k = 0; k < n_seen; k++) {
			is_seen |= str_eq(seen[k], printed);
		}
		if (is_seen) {
			field_duplicate(e, at, json_string(a, json_path));
		} else {
			seen[n_seen++] = printed;
		}
	}
	if (n_seen > SELECTABLE_MAX && !allows_many) {
		field_too_many(e, path, (int64_t)n_seen, SELECTABLE_MAX);
	}
}

/* ---- schemas ---- */

/* Members of JSONSchemaProps in its order, and whether the root may have them beside the subresource status. */
static const struct {
	const char *name, *go_name;
	bool is_allowed;
} props_members[] = {
	{"id", "ID", false},
	{"$schema", "Schema", false},
	{"$ref", "Ref", false},
	{"description", "Description", true},
	{"type", "Type", true},
	{"nullable", "Nullable", false},
	{"format", "Format", true},
	{"title", "Title", true},
	{"default", "Default", false},
	{"maximum", "Maximum", true},
	{"exclusiveMaximum", "ExclusiveMaximum", true},
	{"minimum", "Minimum", true},
	{"exclusiveMinimum", "ExclusiveMinimum", true},
	{"maxLength", "MaxLength", true},
	{"minLength", "MinLength", true},
	{"pattern", "Pattern", true},
	{"maxItems", "MaxItems", true},
	{"minItems", "MinItems", true},
	{"uniqueItems", "UniqueItems", true},
	{"multipleOf", "MultipleOf", true},
	{"enum", "Enum", false},
	{"maxProperties", "MaxProperties", false},
	{"minProperties", "MinProperties", false},
	{"required", "Required", true},
	{"items", "Items", true},
	{"allOf", "AllOf", false},
	{"oneOf", "OneOf", false},
	{"anyOf", "AnyOf", false},
	{"not", "Not", false},
	{"properties", "Properties", true},
	{"additionalProperties", "AdditionalProperties", false},
	{"patternProperties", "PatternProperties", false},
	{"dependencies", "Dependencies", false},
	{"additionalItems", "AdditionalItems", false},
	{"definitions", "Definitions", false},
	{"externalDocs", "ExternalDocs", true},
	{"example", "Example", true},
	{"x-kubernetes-preserve-unknown-fields", "XPreserveUnknownFields", true},
	{"x-kubernetes-embedded-resource", "XEmbeddedResource", false},
	{"x-kubernetes-int-or-string", "XIntOrString", false},
	{"x-kubernetes-list-map-keys", "XListMapKeys", false},
	{"x-kubernetes-list-type", "XListType", false},
	{"x-kubernetes-map-type", "XMapType", false},
	{"x-kubernetes-validations", "XValidations", true},
};

static bool is_zero(const struct json *j)
{
	return !j || j->kind == JSON_NULL || (j->kind == JSON_BOOL && !j->boolean) || (j->kind == JSON_STRING && !j->n) ||
		((j->kind == JSON_ARRAY || j->kind == JSON_OBJECT) && !j->n);
}

/* The status is validated alone by properties["status"], so nothing else of the root may concern it. */
static void check_root_beside_status(const struct json *schema, struct str path, struct field_errors *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(props_members); i++) {
		const struct json *value = json_gets(schema, props_members[i].name);
		bool is_pointer = value &&
			(str_is(str_of(props_members[i].name), "additionalProperties") ||
				str_is(str_of(props_members[i].name), "not"));
		if (is_zero(value) && !(is_pointer && value->kind != JSON_NULL)) {
			continue;
		}
		if (str_is(str_of(props_members[i].name), "type") && !str_is(json_text(value), "object")) {
			field_invalid_str(e, field_path(e->arena, path, "openAPIV3Schema.type"), json_text(value),
				"only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled");
			return;
		}
		if (!props_members[i].is_allowed) {
			field_invalid(e, field_path(e->arena, path, "openAPIV3Schema"), gojson_props(schema, e->arena),
				"only [Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength "
				"MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs "
				"Example XPreserveUnknownFields XValidations] fields are allowed at the root of the schema if the "
				"status subresource is enabled");
			return;
		}
	}
}

const struct node *schema_node(const struct json *schema, struct patterns *patterns, struct arena *a, struct str *ret_error)
{
	struct node_reader reader = {.arena = a, .patterns = patterns};
	const struct node *n = node_read(&reader, schema);
	*ret_error = reader.error;
	return n;
}

/* validation: {openAPIV3Schema: ...}, at path. */
static void check_schema(const struct json *validation, bool status_is_enabled, const struct crd_options *options,
	struct str path, struct field_errors *e)
{
	const struct json *schema = crd_member(validation, "openAPIV3Schema");
	struct str schema_path = field_path(e->arena, path, "openAPIV3Schema"), error;
	struct field_errors found;
	if (!schema) {
		return;
	}
	const struct node *n = schema_node(schema, options->patterns, e->arena, &error);
	if (!n) {
		field_invalid_str(e, path, (struct str){0}, "error building validator: " STR_FMT, STR_ARG(error));
		return;
	}
	field_errors_init(&found, e->arena);
	const struct spot at = {.name = schema_path, .kind = SPOT_MEMBER};
	if (status_is_enabled) {
		check_root_beside_status(schema, path, &found);
	}
	if (n->is_nullable) {
		field_forbidden(
			&found, field_path(e->arena, path, "openAPIV3Schema.nullable"), "nullable cannot be true at the root");
	}
	const char *unsupported = options->requires_structural ? node_unsupported(n) : NULL;
	if (options->requires_structural && !unsupported && structural_check(n, &at, &found) == 0) {
		defaults_check(n, &at, options->requires_pruned, &found);
	}
	props_check(n, options, &at, &found);
	if (!found.n && unsupported) {
		field_invalid_str(&found, schema_path, (struct str){0}, "%s", unsupported);
	}
	field_errors_add_below(e, (struct str){0}, (struct str){0}, &found);
}

/* ---- versions ---- */

static void check_deprecation(const struct json *version, struct str path, struct field_errors *e)
{
	const struct json *warning = crd_member(version, "deprecationWarning");
	struct str s = json_text(warning);
	enum { WARNING_MAX = 256 }; /* bytes, as upstream; a longer text is refused */
	path = field_path(e->arena, path, "deprecationWarning");
	if (!json_is(warning, JSON_STRING)) {
		return;
	}
	if (!crd_is_true(version, "deprecated")) {
		field_invalid_str(e, path, s, "can only be set for deprecated versions");
		return;
	}
	if (s.n > WARNING_MAX) {
		field_invalid_str(e, path, s, "must be <= 256 characters long");
	}
	if (!s.n) {
		field_invalid_str(e, path, s, "must not be an empty string");
	}
	for (size_t i = 0; i < s.n;) {
		uint32_t c = 0xfffd;
		unsigned n = go_decode_rune(s.p + i, s.p + s.n, &c);
		if (!go_is_print(c)) {
			field_invalid_str(e, path, s,
				"must only contain printable UTF-8 characters; non-printable character found at index %zu", i);
			break;
		}
		i += n ? n : 1;
	}
}

/* May the fields of this version stay too many? Yes, if there were too many before, and they have not changed. */
static bool allows_many(const struct json *fields, const struct json *old)
{
	return crd_count(old) > SELECTABLE_MAX && is_same(fields, old, true);
}

const struct json *form_version(const struct form *f, struct str name)
{
	for (uint32_t i = 0; f && i < crd_count(f->versions); i++) {
		if (str_eq(crd_text(f->versions->items[i], "name"), name)) {
			return f->versions->items[i];
		}
	}
	return NULL;
}

static void check_version_selectable(
	const struct form *f, const struct form *old, const struct json *version, struct str path, struct field_errors *e)
{
	const struct json *fields = crd_member(version, "selectableFields"),
			  *schema = f->one_schema ? NULL : version_schema(version);
	const struct form *before = old && !old->one_selectable ? old : NULL;
	const struct json *was = crd_member(form_version(before, crd_text(version, "name")), "selectableFields");
	struct str at = field_path(e->arena, path, "selectableFields"), error;
	if (!schema) {
		field_invalid_str(
			e, at, (struct str){0}, "may only be set when `version.schema.openAPIV3Schema` is not included");
		return;
	}
	const struct node *n = schema_node(schema, NULL, e->arena, &error);
	const char *unsupported = node_unsupported(n);
	if (!n || unsupported) {
		field_invalid_str(e, field_path(e->arena, path, "schema.openAPIV3Schema"), (struct str){0}, "%s",
			unsupported ? unsupported : "the schema cannot be read");
		return;
	}
	check_selectable(fields, n, at, allows_many(fields, was), e);
}

static void check_versions(
	const struct form *f, const struct form *old, const struct crd_options *options, struct field_errors *e)
{
	bool has_own_subresources = false;
	for (uint32_t i = 0; i < crd_count(f->versions); i++) {
		has_own_subresources |= !f->one_subresources && crd_member(f->versions->items[i], "subresources");
	}
	for (uint32_t i = 0; i < crd_count(f->versions); i++) {
		const struct json *version = f->versions->items[i];
		struct str path = field_index(e->arena, STR("spec.versions"), i);
		struct str name = crd_text(version, "name");
		check_label(e, field_path(e->arena, path, "name"), name, name, "");
		check_deprecation(version, path, e);
		const struct json *subresources = has_own_subresources ? crd_member(version, "subresources") : f->subresources;
		if (!f->one_schema) {
			check_schema(crd_member(version, "schema"), has_status(subresources), options,
				field_path(e->arena, path, "schema"), e);
		}
		if (!f->one_subresources) {
			check_subresources(crd_member(version, "subresources"), field_path(e->arena, path, "subresources"), e);
		}
		if (!f->one_columns) {
			check_columns(crd_member(version, "additionalPrinterColumns"),
				field_path(e->arena, path, "additionalPrinterColumns"), e);
		}
		if (!f->one_selectable && crd_count(crd_member(version, "selectableFields"))) {
			check_version_selectable(f, old, version, path, e);
		}
	}
}

static void check_version_set(const struct form *f, struct field_errors *e)
{
	unsigned n_storage = 0;
	bool is_unique = true;
	for (uint32_t i = 0; i < crd_count(f->versions); i++) {
		struct str name = crd_text(f->versions->items[i], "name");
		n_storage += crd_is_true(f->versions->items[i], "storage");
		is_unique &= form_version(f, name) == f->versions->items[i];
	}
	if (!is_unique) {
		field_invalid(e, STR("spec.versions"),
			gojson_versions(
				f->versions, f->one_schema, f->one_subresources, f->one_columns, f->one_selectable, e->arena),
			"must contain unique version names");
	}
	if (n_storage != 1) {
		field_invalid(e, STR("spec.versions"),
			gojson_versions(
				f->versions, f->one_schema, f->one_subresources, f->one_columns, f->one_selectable, e->arena),
			"must have exactly one version marked as storage version");
	}
	struct str first = crd_count(f->versions) ? crd_text(f->versions->items[0], "name") : (struct str){0};
	if (first.n) {
		check_label(e, STR("spec.version"), first, first, "");
	}
}

static void check_schemas_are_there(const struct form *f, const struct crd_options *options, struct field_errors *e)
{
	if (f->one_schema && version_schema(f->versions->items[0])) {
		return;
	}
	for (uint32_t i = 0; i < crd_count(f->versions); i++) {
		const struct json *version = f->versions->items[i];
		bool is_missing = f->one_schema || !version_schema(version);
		struct str path = arena_printf(e->arena, "spec.versions[%u].schema.openAPIV3Schema", i);
		if (is_missing && options->requires_schema) {
			field_required(e, path, "%s", "");
		} else if (is_missing && !f->preserves && crd_is_true(version, "served")) {
			field_required(e, path, "because otherwise all fields are pruned");
		}
	}
}

/* ---- a spec ---- */

static void check_top_selectable(const struct form *f, const struct form *old, struct field_errors *e)
{
	struct str error, path = STR("spec.selectableFields");
	const struct json *schema = f->one_schema ? version_schema(f->versions->items[0]) : NULL;
	if (!crd_count(f->selectable)) {
		return;
	}
	if (!schema) {
		field_invalid_str(e, path, (struct str){0}, "may only be set when validations.schema is included");
		return;
	}
	const struct node *n = schema_node(schema, NULL, e->arena, &error);
	const char *unsupported = node_unsupported(n);
	if (!n || unsupported) {
		field_invalid_str(e, STR("spec.schema.openAPIV3Schema"), (struct str){0}, "%s",
			unsupported ? unsupported : "the schema cannot be read");
		return;
	}
	check_selectable(f->selectable, n, path, old && allows_many(f->selectable, old->selectable), e);
}

/* Is there a schema in which the member is anything? Walks nested schemas of all kinds. */
static bool json_has(const struct json *j, const char *const *names, size_t n)
{
	for (uint32_t i = 0; j && j->kind == JSON_OBJECT && i < j->n; i++) {
		if (is_listed(j->members[i].name, names, n) && !is_zero(j->members[i].value)) {
			return true;
		}
	}
	return false;
}

static bool node_any(const struct node *n, const char *const *names, size_t n_names)
{
	if (!n) {
		return false;
	}
	if (json_has(n->json, names, n_names) || node_any(n->items, names, n_names) ||
		node_any(n->additional, names, n_names)) {
		return true;
	}
	for (uint32_t i = 0; i < n->n_properties; i++) {
		if (node_any(n->properties[i].node, names, n_names)) {
			return true;
		}
	}
	return false;
}

void crd_check_spec(const struct form *f, const struct form *old, struct crd_options options, struct field_errors *e)
{
	static const char *const scopes[] = {"Cluster", "Namespaced"};
	bool any_status = false;
	check_group(crd_text(f->spec, "group"), e);
	crd_check_choice(e, STR("spec.scope"), crd_text(f->spec, "scope"), scopes, ARRAY_SIZE(scopes));
	options.requires_structural |= !f->preserves;
	check_schemas_are_there(f, &options, e);
	if (f->preserves) {
		static const char *const defaults[] = {"default"};
		bool has_defaults = false;
		uint32_t at = 0;
		for (const struct json *schema = form_next_schema(f, &at); schema; schema = form_next_schema(f, &at)) {
			struct str error;
			has_defaults |= node_any(schema_node(schema, NULL, e->arena, &error), defaults, ARRAY_SIZE(defaults));
		}
		if (has_defaults) {
			options.requires_structural = true;
			field_invalid(e, STR("spec.preserveUnknownFields"), json_bool(e->arena, true),
				"must be false in order to use defaults in the schema");
		}
	}
	check_versions(f, old, &options, e);
	check_version_set(f, e);
	check_names_are_there(crd_member(f->spec, "names"), e);
	crd_check_names(crd_member(f->spec, "names"), STR("spec.names"), e);
	for (uint32_t i = 0; i < crd_count(f->versions); i++) {
		any_status |= has_status(crd_member(f->versions->items[i], "subresources"));
	}
	check_schema(f->schema, any_status, &options, STR("spec.validation"), e);
	check_subresources(f->subresources, STR("spec.subresources"), e);
	check_columns(f->columns, STR("spec.additionalPrinterColumns"), e);
	check_top_selectable(f, old, e);
	const struct json *conversion = crd_member(f->spec, "conversion");
	if (conversion && !str_is(crd_text(conversion, "strategy"), "None") && f->preserves) {
		field_invalid_str(e, STR("spec.conversion.strategy"), crd_text(conversion, "strategy"),
			"must be None if spec.preserveUnknownFields is true");
	}
	crd_check_conversion(conversion, &options, e);
}
