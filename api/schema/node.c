/* Reading schemas, and values as Go has them. */
#include "api/schema/node.h"

#include <assert.h>
#include <stdlib.h>

/* ---- values ---- */

/* strconv.ParseInt says yes, and there is nothing of a fraction in the lexeme. */
static bool is_int(struct str lexeme, int64_t *ret)
{
	if (str_is(lexeme, "-0")) {
		*ret = 0;
		return true;
	}
	return str_to_int64(lexeme, ret);
}

struct value value_of(const struct json *j)
{
	static const enum value_kind kinds[] = {
		[JSON_NULL] = VALUE_NULL,
		[JSON_BOOL] = VALUE_BOOL,
		[JSON_NUMBER] = VALUE_DOUBLE,
		[JSON_STRING] = VALUE_STRING,
		[JSON_ARRAY] = VALUE_ARRAY,
		[JSON_OBJECT] = VALUE_OBJECT,
	};
	struct value v = {.kind = kinds[j->kind]};
	if (j->kind == JSON_NUMBER) {
		if (is_int(json_text(j), &v.integer)) {
			v.kind = VALUE_INT;
			v.number = (double)v.integer;
		} else {
			v.number = go_double(json_text(j));
		}
	}
	return v;
}

static int cmp_members(const void *a, const void *b)
{
	const struct json_member *const *x = a, *const *y = b;
	int r = str_cmp((*x)->name, (*y)->name);
	/* Members of one name stay in their order: the last one counts. */
	return r ? r : *x < *y ? -1 : *x > *y;
}

/* Are the members sorted, each once? Objects that have been stored are. */
static bool is_sorted(const struct json *object)
{
	for (uint32_t i = 1; i < object->n; i++) {
		if (str_cmp(object->members[i - 1].name, object->members[i].name) >= 0) {
			return false;
		}
	}
	return true;
}

void value_members(const struct json *object, struct arena *a, struct json_member **ret, uint32_t *ret_n)
{
	assert(object->kind == JSON_OBJECT);
	if (is_sorted(object)) {
		*ret = object->members;
		*ret_n = object->n;
		return;
	}
	struct json_member **order = mem_array(object->n, sizeof(struct json_member *));
	struct json_member *sorted = arena_array(a, struct json_member, object->n);
	uint32_t n = 0;
	for (uint32_t i = 0; i < object->n; i++) {
		order[i] = &object->members[i];
	}
	qsort(order, object->n, sizeof(struct json_member *), cmp_members);
	for (uint32_t i = 0; i < object->n; i++) {
		if (n && str_eq(sorted[n - 1].name, order[i]->name)) {
			n--;
		}
		sorted[n++] = *order[i];
	}
	mem_free(order);
	*ret = sorted;
	*ret_n = n;
}

static bool objects_are_equal(const struct json *a, const struct json *b)
{
	struct arena scratch;
	struct json_member *x, *y;
	uint32_t n, m;
	arena_init(&scratch, SIZE_MAX);
	value_members(a, &scratch, &x, &n);
	value_members(b, &scratch, &y, &m);
	bool is_equal = n == m;
	for (uint32_t i = 0; is_equal && i < n; i++) {
		is_equal = str_eq(x[i].name, y[i].name) && value_equal(x[i].value, y[i].value);
	}
	arena_done(&scratch);
	return is_equal;
}

bool value_equal(const struct json *a, const struct json *b)
{
	if (a == b) {
		return true;
	}
	if (a->kind != b->kind) {
		return false;
	}
	switch (a->kind) {
	case JSON_NULL:
		return true;
	case JSON_BOOL:
		return a->boolean == b->boolean;
	case JSON_STRING:
		return str_eq(json_text(a), json_text(b));
	case JSON_NUMBER: {
		struct value v = value_of(a), w = value_of(b);
		return v.kind == w.kind &&
			(v.kind == VALUE_INT ? v.integer == w.integer : !(v.number < w.number) && !(v.number > w.number));
	}
	case JSON_ARRAY:
		if (a->n != b->n) {
			return false;
		}
		for (uint32_t i = 0; i < a->n; i++) {
			if (!value_equal(a->items[i], b->items[i])) {
				return false;
			}
		}
		return true;
	case JSON_OBJECT:
		return objects_are_equal(a, b);
	}
	assert(false);
	return false;
}

static const struct json *shown_as_json(const struct json *j, struct arena *a)
{
	if (j->kind == JSON_NUMBER && value_of(j).kind == VALUE_DOUBLE) {
		return json_number(a, go_float_json(value_of(j).number, a));
	}
	if (j->kind == JSON_STRING) {
		return json_string(a, json_text(j));
	}
	if (j->kind == JSON_ARRAY) {
		struct json *copy = json_array(a);
		for (uint32_t i = 0; i < j->n; i++) {
			json_append(a, copy, (struct json *)shown_as_json(j->items[i], a));
		}
		return copy;
	}
	if (j->kind == JSON_OBJECT) {
		struct json *copy = json_object(a);
		struct json_member *members;
		uint32_t n;
		value_members(j, a, &members, &n);
		for (uint32_t i = 0; i < n; i++) {
			json_add(a, copy, members[i].name, (struct json *)shown_as_json(members[i].value, a));
		}
		return copy;
	}
	return j;
}

const struct json *value_shown(const struct json *j, struct arena *a)
{
	if (j && j->kind == JSON_NUMBER) {
		struct value v = value_of(j);
		return v.kind == VALUE_DOUBLE ? json_number(a, go_float_print(v.number, a)) : json_int(a, v.integer);
	}
	return j ? shown_as_json(j, a) : NULL;
}

void go_print_value(struct buf *out, const struct json *j, struct arena *a)
{
	if (j->kind == JSON_OBJECT || j->kind == JSON_ARRAY) {
		struct json_member *members = NULL;
		uint32_t n = j->n;
		if (j->kind == JSON_OBJECT) {
			value_members(j, a, &members, &n);
		}
		buf_adds(out, j->kind == JSON_OBJECT ? "map[" : "[");
		for (uint32_t i = 0; i < n; i++) {
			buf_adds(out, i ? " " : "");
			if (j->kind == JSON_OBJECT) {
				buf_add_str(out, members[i].name);
				buf_addc(out, ':');
			}
			go_print_value(out, j->kind == JSON_OBJECT ? members[i].value : j->items[i], a);
		}
		buf_addc(out, ']');
	} else if (j->kind == JSON_STRING) {
		buf_add_str(out, json_text(j));
	} else if (j->kind == JSON_NULL) {
		buf_adds(out, "<nil>");
	} else {
		json_encode(out, value_shown(j, a));
	}
}

/* ---- places ---- */

static void print_spot(struct buf *out, const struct spot *at, bool bracketed)
{
	if (at->up) {
		print_spot(out, at->up, bracketed);
	}
	if (at->kind == SPOT_ITEM) {
		buf_printf(out, "[%zu]", at->index);
	} else if (at->kind == SPOT_KEY && bracketed) {
		buf_addc(out, '[');
		buf_add_str(out, at->name);
		buf_addc(out, ']');
	} else if (at->kind != SPOT_ROOT) {
		/* A key of a map at the root has a dot before it, a property has not. */
		buf_adds(out, out->n || at->kind == SPOT_KEY ? "." : "");
		buf_add_str(out, at->name);
	}
}

struct str spot_text(const struct spot *at, bool bracketed, struct arena *a)
{
	struct buf out;
	buf_init(&out, TEXT_MAX);
	print_spot(&out, at, bracketed);
	struct str text = arena_dup(a, buf_str(&out));
	buf_done(&out);
	return text;
}

/* ---- nodes ---- */

static const char *const type_names[] = {
	[NODE_ANY] = "",
	[NODE_STRING] = "string",
	[NODE_NUMBER] = "number",
	[NODE_INTEGER] = "integer",
	[NODE_BOOLEAN] = "boolean",
	[NODE_ARRAY] = "array",
	[NODE_OBJECT] = "object",
};

const char *node_type_name(enum node_type type)
{
	assert(type < ARRAY_SIZE(type_names));
	return type_names[type];
}

const struct node *node_property(const struct node *n, struct str name, uint32_t *hint)
{
	const struct node_property *p = n->properties;
	if (*hint < n->n_properties && str_eq(p[*hint].name, name)) {
		return p[(*hint)++].node;
	}
	uint32_t low = 0, high = n->n_properties;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		int r = str_cmp(p[middle].name, name);
		if (r == 0) {
			*hint = middle + 1;
			return p[middle].node;
		}
		if (r < 0) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return NULL;
}

const struct node *node_member(const struct node *n, struct str name, uint32_t *hint)
{
	const struct node *found = node_property(n, name, hint);
	return found ? found : n->additional;
}

static const struct node *read_node(struct node_reader *r, const struct json *schema, unsigned depth);

static void refuse(struct node_reader *r, enum schema_error kind, struct str error)
{
	if (!r->error.n) {
		r->kind = kind;
		r->error = error;
	}
}

static bool is_true(const struct json *schema, const char *name)
{
	const struct json *j = json_gets(schema, name);
	return json_is(j, JSON_BOOL) && j->boolean;
}

/* Compiled schemas outlive the JSON that they were made of. */
static struct str keep_text(struct node_reader *r, struct str text)
{
	return r->compiles ? arena_dup(r->arena, text) : text;
}

static const struct json *keep_json(struct node_reader *r, const struct json *j)
{
	if (!r->compiles || !j) {
		return j;
	}
	struct buf text;
	struct json *copy = NULL;
	size_t at;
	buf_init(&text, TEXT_MAX);
	if (!json_encode(&text, j) ||
		json_parse(&copy, r->arena, arena_dup(r->arena, buf_str(&text)), JSON_LIMITS_DEFAULT, &at)) {
		refuse(r, SCHEMA_TOO_BIG, STR("the schema takes too much memory"));
	}
	buf_done(&text);
	return copy;
}

static unsigned name_index(struct str name, const char *const *names, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (str_is(name, names[i])) {
			return i;
		}
	}
	return n;
}

static bool read_double(const struct json *schema, const char *name, unsigned flag, struct node_checks *c, double *ret)
{
	const struct json *j = json_gets(schema, name);
	if (json_is(j, JSON_NUMBER)) {
		c->flags |= flag;
		*ret = value_of(j).number;
		return true;
	}
	return false;
}

static void read_count(const struct json *schema, const char *name, unsigned flag, struct node_checks *c, int64_t *ret)
{
	if (json_to_int64(json_gets(schema, name), ret)) {
		c->flags |= flag;
	}
}

static struct node_texts read_texts(struct node_reader *r, const struct json *list)
{
	struct node_texts texts = {NULL, 0};
	if (json_is(list, JSON_ARRAY) && list->n) {
		texts.v = arena_array(r->arena, struct str, list->n);
		for (uint32_t i = 0; i < list->n; i++) {
			texts.v[texts.n++] = keep_text(r, json_text(list->items[i]));
		}
	}
	return texts;
}

static struct node_list_of read_nodes(struct node_reader *r, const struct json *list, unsigned depth)
{
	struct node_list_of nodes = {NULL, 0};
	if (json_is(list, JSON_ARRAY) && list->n) {
		nodes.v = arena_array(r->arena, const struct node *, list->n);
		for (uint32_t i = 0; i < list->n && !r->error.n; i++) {
			const struct node *n = read_node(r, list->items[i], depth);
			if (n) {
				nodes.v[nodes.n++] = n;
			}
		}
	}
	return nodes;
}

static void read_values(struct node_reader *r, const struct json *list, struct node_checks *c)
{
	if (json_is(list, JSON_ARRAY) && list->n) {
		c->values = arena_array(r->arena, const struct json *, list->n);
		for (uint32_t i = 0; i < list->n; i++) {
			c->values[c->n_values++] = keep_json(r, list->items[i]);
		}
	}
}

/* NULL: there is nothing to check. */
static const struct node_checks *read_checks(
	struct node_reader *r, const struct json *schema, const struct node *n, unsigned depth)
{
	struct node_checks c = {0};
	const struct json *not = json_gets(schema, "not");

	read_double(schema, "maximum", CHECK_MAXIMUM, &c, &c.maximum);
	read_double(schema, "minimum", CHECK_MINIMUM, &c, &c.minimum);
	read_double(schema, "multipleOf", CHECK_MULTIPLE, &c, &c.multiple);
	read_count(schema, "maxLength", CHECK_MAX_LENGTH, &c, &c.max_length);
	read_count(schema, "minLength", CHECK_MIN_LENGTH, &c, &c.min_length);
	read_count(schema, "maxItems", CHECK_MAX_ITEMS, &c, &c.max_items);
	read_count(schema, "minItems", CHECK_MIN_ITEMS, &c, &c.min_items);
	read_count(schema, "maxProperties", CHECK_MAX_PROPERTIES, &c, &c.max_properties);
	read_count(schema, "minProperties", CHECK_MIN_PROPERTIES, &c, &c.min_properties);
	c.flags |= is_true(schema, "exclusiveMinimum") ? CHECK_ABOVE_MINIMUM : 0;
	c.flags |= is_true(schema, "exclusiveMaximum") ? CHECK_BELOW_MAXIMUM : 0;
	c.flags |= is_true(schema, "uniqueItems") ? CHECK_UNIQUE : 0;
	c.format_text = keep_text(r, json_text(json_gets(schema, "format")));
	c.pattern_text = keep_text(r, json_text(json_gets(schema, "pattern")));
	if (r->patterns && c.pattern_text.n) {
		c.pattern = patterns_add(r->patterns, r->arena, c.pattern_text);
	}
	read_values(r, json_gets(schema, "enum"), &c);
	c.required = read_texts(r, json_gets(schema, "required"));
	c.all = read_nodes(r, json_gets(schema, "allOf"), depth);
	c.any = read_nodes(r, json_gets(schema, "anyOf"), depth);
	c.one = read_nodes(r, json_gets(schema, "oneOf"), depth);
	c.not = json_is(not, JSON_OBJECT) ? read_node(r, not, depth) : NULL;

	bool is_any = c.flags || n->format || c.pattern_text.n || c.n_values || c.required.n || c.all.n || c.any.n || c.one.n ||
		c.not || (!r->compiles && c.format_text.n);
	if (!is_any) {
		return NULL;
	}
	struct node_checks *kept = arena_new(r->arena, struct node_checks);
	*kept = c;
	return kept;
}

static int cmp_properties(const void *a, const void *b)
{
	const struct node_property *x = a, *y = b;
	return str_cmp(x->name, y->name);
}

static void read_properties(struct node_reader *r, const struct json *properties, struct node *n, unsigned depth)
{
	if (!json_is(properties, JSON_OBJECT) || !properties->n) {
		return;
	}
	struct json_member *members;
	uint32_t count;
	struct arena scratch;
	arena_init(&scratch, SIZE_MAX);
	value_members(properties, &scratch, &members, &count);
	n->properties = arena_array(r->arena, struct node_property, count);
	for (uint32_t i = 0; i < count && !r->error.n; i++) {
		const struct node *property = read_node(r, members[i].value, depth);
		if (property) {
			n->properties[n->n_properties++] = (struct node_property){keep_text(r, members[i].name), property};
		}
	}
	qsort(n->properties, n->n_properties, sizeof(struct node_property), cmp_properties);
	arena_done(&scratch);
}

static void read_additional(struct node_reader *r, const struct json *additional, struct node *n, unsigned depth)
{
	if (json_is(additional, JSON_BOOL)) {
		n->has_additional = true;
		n->allows_additional = additional->boolean;
	} else if (json_is(additional, JSON_OBJECT)) {
		n->has_additional = n->allows_additional = true;
		n->additional = read_node(r, additional, depth);
	}
}

/* Tells the node what is somewhere below it, so that passes over objects skip what does not concern them. */
static void inherit(struct node *n, const struct node *child)
{
	if (child) {
		n->has_defaults |= child->has_defaults;
		n->has_embedded |= child->has_embedded;
		n->has_lists |= child->has_lists;
		n->has_rules |= child->has_rules;
	}
}

static void inherit_all(struct node *n)
{
	n->has_defaults |= n->preset != NULL;
	n->has_embedded |= n->is_embedded;
	n->has_lists |= n->list == NODE_LIST_SET || n->list == NODE_LIST_MAP;
	inherit(n, n->items);
	inherit(n, n->additional);
	for (uint32_t i = 0; i < n->n_properties; i++) {
		inherit(n, n->properties[i].node);
	}
}

static void read_kinds(const struct json *schema, struct node *n)
{
	static const char *const lists[] = {"", "atomic", "set", "map"};
	static const char *const maps[] = {"", "granular", "atomic"};
	struct str type = json_text(json_gets(schema, "type"));
	n->type = (uint8_t)name_index(type, type_names, NODE_ODD);
	n->is_nullable = is_true(schema, "nullable");
	n->is_int_or_string = is_true(schema, "x-kubernetes-int-or-string");
	n->is_preserving = is_true(schema, "x-kubernetes-preserve-unknown-fields");
	n->is_embedded = is_true(schema, "x-kubernetes-embedded-resource");
	const struct json *list = json_gets(schema, "x-kubernetes-list-type"),
			  *map = json_gets(schema, "x-kubernetes-map-type");
	n->list = json_is(list, JSON_STRING) ? (uint8_t)name_index(json_text(list), lists, NODE_LIST_ODD) : NODE_LIST_NONE;
	n->map = json_is(map, JSON_STRING) ? (uint8_t)name_index(json_text(map), maps, NODE_MAP_ODD) : NODE_MAP_NONE;
	n->has_rules = json_is(json_gets(schema, "x-kubernetes-validations"), JSON_ARRAY) &&
		json_gets(schema, "x-kubernetes-validations")->n;
	/* The validator gives int-or-string two types, and so the formats of values without a type. */
	n->format = (uint8_t)format_find(json_text(json_gets(schema, "format")), n->is_int_or_string ? STR("") : type);
}

/* Most leaves of a schema say their type and a description. Compiled, all of a type are the same. */
static const struct node *plain_node(const struct node *n)
{
	static const struct node plain[] = {
		[NODE_ANY] = {.type = NODE_ANY},
		[NODE_STRING] = {.type = NODE_STRING},
		[NODE_NUMBER] = {.type = NODE_NUMBER},
		[NODE_INTEGER] = {.type = NODE_INTEGER},
		[NODE_BOOLEAN] = {.type = NODE_BOOLEAN},
		[NODE_ARRAY] = {.type = NODE_ARRAY},
		[NODE_OBJECT] = {.type = NODE_OBJECT},
		[NODE_ODD] = {.type = NODE_ODD},
	};
	bool is_plain = !n->list && !n->map && !n->is_nullable && !n->is_int_or_string && !n->is_preserving &&
		!n->is_embedded && !n->has_additional && !n->has_rules && !n->n_properties && !n->items && !n->preset &&
		!n->checks && !n->list_keys;
	return is_plain ? &plain[n->type] : NULL;
}

static const struct node *read_node(struct node_reader *r, const struct json *schema, unsigned depth)
{
	if (!json_is(schema, JSON_OBJECT) || r->error.n) {
		return NULL;
	}
	if (depth > SCHEMA_DEPTH_MAX) {
		refuse(r, SCHEMA_TOO_BIG, STR("the schema is nested too deeply"));
		return NULL;
	}
	struct node n = {0};
	const struct json *items = json_gets(schema, "items"), *preset = json_gets(schema, "default");
	read_kinds(schema, &n);
	read_properties(r, json_gets(schema, "properties"), &n, depth + 1);
	read_additional(r, json_gets(schema, "additionalProperties"), &n, depth + 1);
	n.items = json_is(items, JSON_OBJECT) ? read_node(r, items, depth + 1) : NULL;
	n.preset = preset && preset->kind != JSON_NULL ? keep_json(r, preset) : NULL;
	n.checks = read_checks(r, schema, &n, depth + 1);
	struct node_texts keys = read_texts(r, json_gets(schema, "x-kubernetes-list-map-keys"));
	if (keys.n) {
		struct node_texts *kept = arena_new(r->arena, struct node_texts);
		*kept = keys;
		n.list_keys = kept;
	}
	inherit_all(&n);
	if (arena_is_full(r->arena)) {
		refuse(r, SCHEMA_TOO_BIG, STR("the schema takes too much memory"));
	}
	const struct node *plain = r->compiles ? plain_node(&n) : NULL;
	if (plain) {
		return plain;
	}
	struct node *kept = arena_new(r->arena, struct node);
	*kept = n;
	kept->json = r->compiles ? NULL : schema;
	return kept;
}

const struct node *node_read(struct node_reader *r, const struct json *schema)
{
	const struct node *n = read_node(r, schema, 0);
	return r->error.n ? NULL : n;
}

/* ---- what upstream does not convert ---- */

static bool has_members(const struct json *schema, const char *name)
{
	const struct json *j = json_gets(schema, name);
	return json_is(j, JSON_OBJECT) && j->n;
}

static const char *unsupported_here(const struct json *schema)
{
	const struct json *additional_items = json_gets(schema, "additionalItems");
	const struct json *preserve = json_gets(schema, "x-kubernetes-preserve-unknown-fields");
	const struct json *items = json_gets(schema, "items");
	if (json_text(json_gets(schema, "id")).n) {
		return "OpenAPIV3Schema 'id' is not supported";
	}
	if (json_text(json_gets(schema, "$schema")).n) {
		return "OpenAPIV3Schema 'schema' is not supported";
	}
	if (json_text(json_gets(schema, "$ref")).n) {
		return "OpenAPIV3Schema '$ref' is not supported";
	}
	if (has_members(schema, "patternProperties")) {
		return "OpenAPIV3Schema 'patternProperties' is not supported";
	}
	if (has_members(schema, "dependencies")) {
		return "OpenAPIV3Schema 'dependencies' is not supported";
	}
	if (additional_items && additional_items->kind != JSON_NULL) {
		return "OpenAPIV3Schema 'additionalItems' is not supported";
	}
	if (has_members(schema, "definitions")) {
		return "OpenAPIV3Schema 'definitions' is not supported";
	}
	if (json_is(preserve, JSON_BOOL) && !preserve->boolean) {
		return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined";
	}
	if (json_is(items, JSON_ARRAY) && items->n) {
		return "OpenAPIV3Schema 'items' must be a schema, but is an array";
	}
	return NULL;
}

static const char *unsupported_in(const struct node_list_of *list)
{
	const char *error = NULL;
	for (size_t i = 0; i < list->n && !error; i++) {
		error = node_unsupported(list->v[i]);
	}
	return error;
}

const char *node_unsupported(const struct node *n)
{
	if (!n) {
		return NULL;
	}
	assert(n->json);
	const char *error = unsupported_here(n->json);
	if (n->checks && !error) {
		const struct node_checks *c = n->checks;
		error = node_unsupported(c->not );
		error = error ? error : unsupported_in(&c->all);
		error = error ? error : unsupported_in(&c->any);
		error = error ? error : unsupported_in(&c->one);
	}
	error = error ? error : node_unsupported(n->items);
	for (uint32_t i = 0; i < n->n_properties && !error; i++) {
		error = node_unsupported(n->properties[i].node);
	}
	return error ? error : node_unsupported(n->additional);
}
