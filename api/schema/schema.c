/* Compiled schemas, and the rules beside values: scale, embedded resources, lists that are sets or maps, and what ratcheting excuses. */
#include "api/schema/schema.h"

#include "api/rules/validate.h"
#include "api/schema/instance.h"
#include "base/map.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

struct schema {
	struct arena arena;
	const struct node *root;
	struct patterns patterns;
	_Atomic unsigned n_refs;
	pthread_mutex_t lock;              /* of the making of `type` */
	_Atomic(const struct type *) type; /* NULL: not asked for yet */
};

/* ---- life ---- */

static size_t json_bytes(const struct json *j)
{
	if (j->source.n) {
		return j->source.n;
	}
	struct buf text;
	buf_init(&text, TEXT_MAX);
	json_encode(&text, j);
	size_t n = text.n;
	buf_done(&text);
	return n;
}

int schema_compile(struct schema **ret, const struct json *openapi, struct arena *a, struct str *ret_error)
{
	static const struct node nothing = {.type = NODE_OBJECT};
	struct schema *s = mem_new(struct schema);
	arena_init(&s->arena, SCHEMA_MEMORY_BASE + SCHEMA_MEMORY_FACTOR * (openapi ? json_bytes(openapi) : 0));
	atomic_init(&s->n_refs, 1);
	pthread_mutex_init(&s->lock, NULL);
	s->root = &nothing;
	if (openapi) {
		struct node_reader judge = {.arena = a},
				   reader = {.arena = &s->arena, .patterns = &s->patterns, .compiles = true};
		const char *unsupported = node_unsupported(node_read(&judge, openapi));
		if (unsupported) {
			reader.kind = SCHEMA_UNSUPPORTED;
			reader.error = str_of(unsupported);
		} else {
			s->root = node_read(&reader, openapi);
		}
		if (reader.error.n || !s->root) {
			*ret_error = reader.error.n ? reader.error : STR("the schema is no object");
			schema_unref(s);
			return reader.error.n ? (int)reader.kind : SCHEMA_UNSUPPORTED;
		}
	}
	*ret = s;
	return 0;
}

struct schema *schema_ref(struct schema *s)
{
	unsigned before = atomic_fetch_add_explicit(&s->n_refs, 1, memory_order_relaxed);
	assert(before > 0);
	(void)before;
	return s;
}

struct schema *schema_unref(struct schema *s)
{
	if (s && atomic_fetch_sub_explicit(&s->n_refs, 1, memory_order_acq_rel) == 1) {
		patterns_done(&s->patterns);
		pthread_mutex_destroy(&s->lock);
		arena_done(&s->arena);
		mem_free(s);
	}
	return NULL;
}

size_t schema_memory(const struct schema *s)
{
	return sizeof(*s) + s->arena.used + patterns_memory(&s->patterns);
}

bool schema_has_rules(const struct schema *s)
{
	return s->root->has_rules;
}

int schema_accept(struct json **ret, const struct schema *s, struct json *object, struct arena *a, struct decode_report *report,
	struct str *ret_error)
{
	return node_accept(ret, s->root, object, a, report, ret_error);
}

struct json *schema_restore(const struct schema *s, struct json *object, struct arena *a)
{
	return node_restore(s->root, object, a);
}

struct json *schema_default(const struct schema *s, struct json *object, struct arena *a)
{
	return node_default(s->root, object, a);
}

/* ---- the type for patches and ownership ---- */

static const struct type *make_type(const struct node *n, struct arena *a);

static const char *text_of(struct str s, struct arena *a)
{
	return arena_dup(a, s).p;
}

/* Keys of list maps have their defaults, as those of built-in kinds have. */
static const char *default_text(const struct json *preset, struct arena *a)
{
	struct buf text;
	if (!preset || preset->kind == JSON_OBJECT || preset->kind == JSON_ARRAY) {
		return NULL;
	}
	buf_init(&text, TEXT_MAX);
	json_encode(&text, preset);
	const char *made = text_of(buf_str(&text), a);
	buf_done(&text);
	return made;
}

static bool is_head(struct str name)
{
	return str_is(name, "kind") || str_is(name, "apiVersion") || str_is(name, "metadata");
}

/* Properties as fields behind those of `head`, which every whole object has. */
static const struct field *make_fields(const struct node *n, const struct field *head, size_t n_head, struct arena *a)
{
	struct field *fields = arena_array(a, struct field, n_head + n->n_properties + 1);
	size_t count = n_head;
	if (n_head) {
		memcpy(fields, head, n_head * sizeof(*fields));
	}
	for (uint32_t i = 0; i < n->n_properties; i++) {
		const struct node_property *property = &n->properties[i];
		if (n_head && is_head(property->name)) {
			continue;
		}
		fields[count++] = (struct field){
			.name = text_of(property->name, a),
			.type = make_type(property->node, a),
			.default_json = default_text(property->node->preset, a),
		};
	}
	return fields;
}

static const char *const *make_keys(const struct node_texts *keys, struct arena *a)
{
	const char **names = (const char **)arena_array(a, char *, (keys ? keys->n : 0) + 1);
	for (size_t i = 0; keys && i < keys->n; i++) {
		names[i] = text_of(keys->v[i], a);
	}
	return names;
}

static const struct type *make_type(const struct node *n, struct arena *a)
{
	struct type type = {.kind = TYPE_RAW};
	if (n->type == NODE_ARRAY && n->items) {
		type.kind = TYPE_LIST;
		type.elem = make_type(n->items, a);
		type.list_type = n->list == NODE_LIST_SET          ? LIST_SET
			: n->list == NODE_LIST_MAP && n->list_keys ? LIST_MAP
								   : LIST_ATOMIC;
		type.list_keys = type.list_type == LIST_MAP ? make_keys(n->list_keys, a) : NULL;
	} else if (n->type == NODE_OBJECT && n->n_properties) {
		type.kind = TYPE_OBJECT;
		type.fields = make_fields(n, NULL, 0, a);
		type.elem = n->is_preserving || n->is_embedded || n->allows_additional ? &type_any : NULL;
		type.is_atomic = n->map == NODE_MAP_ATOMIC;
	} else if (n->type == NODE_OBJECT && n->additional) {
		type.kind = TYPE_MAP;
		type.elem = make_type(n->additional, a);
		type.is_atomic = n->map == NODE_MAP_ATOMIC;
	} else if (n->type == NODE_OBJECT && n->map == NODE_MAP_ATOMIC) {
		type.kind = TYPE_MAP;
		type.elem = &type_any;
		type.is_atomic = true;
	} else if (n->type == NODE_OBJECT || (n->type == NODE_ANY && n->is_preserving)) {
		return &type_any;
	} else if (n->type == NODE_STRING || n->type == NODE_BOOLEAN) {
		return n->type == NODE_STRING ? &type_string : &type_bool;
	} else {
		/* Numbers keep their form until the schema judges them. */
		return &type_raw;
	}
	struct type *made = arena_new(a, struct type);
	*made = type;
	return made;
}

static const struct type *make_root(const struct node *n, struct arena *a)
{
	static const struct field head[] = {OBJECT_FIELDS, {NULL, NULL, 0, NULL, NULL, NULL}};
	enum { HEAD = ARRAY_SIZE(head) - 1 };
	/* A type has a ceiling of fields, which few roots come near. */
	bool has_room = n->n_properties + HEAD < TYPE_FIELDS_MAX;
	struct type *made = arena_new(a, struct type);
	*made = (struct type){
		.kind = TYPE_OBJECT,
		.fields = has_room ? make_fields(n, head, HEAD, a) : head,
		.elem = n->is_preserving || !has_room ? &type_any : NULL,
	};
	return made;
}

const struct type *schema_type(const struct schema *s)
{
	struct schema *made = (struct schema *)(uintptr_t)s;
	const struct type *type = atomic_load_explicit(&made->type, memory_order_acquire);
	if (!type) {
		pthread_mutex_lock(&made->lock);
		type = atomic_load_explicit(&made->type, memory_order_relaxed);
		if (!type) {
			type = make_root(made->root, &made->arena);
			atomic_store_explicit(&made->type, type, memory_order_release);
		}
		pthread_mutex_unlock(&made->lock);
	}
	return type;
}

/* ---- ratcheting ---- */

static bool key_text(const struct node *n, const struct json *item, struct buf *out)
{
	buf_clear(out);
	for (size_t i = 0; i < n->list_keys->n; i++) {
		const struct json *key = json_get(item, n->list_keys->v[i]);
		if (!key || key->kind == JSON_NULL || key->kind == JSON_ARRAY || key->kind == JSON_OBJECT) {
			return false;
		}
		struct value v = value_of(key);
		buf_printf(out, "%d:", (int)v.kind);
		if (v.kind == VALUE_DOUBLE) {
			buf_printf(out, "%.17g", v.number);
		} else {
			json_encode(out, key);
		}
		buf_addc(out, '\0');
	}
	return true;
}

void old_items_init(struct old_items *o, const struct node *n, const struct json *old, struct arena *a)
{
	*o = (struct old_items){0};
	if (!json_is(old, JSON_ARRAY) || n->list != NODE_LIST_MAP || !n->list_keys || !n->items || n->type != NODE_ARRAY ||
		!old->n) {
		return;
	}
	struct buf key;
	*o = (struct old_items){.node = n, .list = old, .by_key = arena_new(a, struct map), .arena = a};
	map_init(o->by_key, old->n);
	buf_init(&key, TEXT_MAX);
	for (uint32_t i = 0; i < old->n; i++) {
		if (old->items[i]->kind == JSON_OBJECT && key_text(n, old->items[i], &key) &&
			!map_get(o->by_key, buf_str(&key))) {
			map_set(o->by_key, buf_str(&key), old->items[i], NULL);
		}
	}
	buf_done(&key);
}

void old_items_done(struct old_items *o)
{
	if (o->by_key) {
		map_done(o->by_key);
	}
	*o = (struct old_items){0};
}

const struct json *old_items_find(struct old_items *o, const struct json *item)
{
	struct buf key;
	if (!o->node || item->kind != JSON_OBJECT) {
		return NULL;
	}
	buf_init(&key, TEXT_MAX);
	const struct json *found = key_text(o->node, item, &key) ? map_get(o->by_key, buf_str(&key)) : NULL;
	buf_done(&key);
	return found;
}

static bool list_is_unchanged(const struct node *n, const struct json *j, const struct json *old, struct arena *a)
{
	struct old_items items;
	if (j->n != old->n) {
		return false;
	}
	if (n->list != NODE_LIST_MAP || !n->items) {
		return value_equal(j, old);
	}
	bool is_same = true;
	old_items_init(&items, n, old, a);
	for (uint32_t i = 0; is_same && i < j->n; i++) {
		const struct json *before = old_items_find(&items, j->items[i]);
		is_same = before && node_is_unchanged(n->items, j->items[i], before, a);
	}
	old_items_done(&items);
	return is_same;
}

bool node_is_unchanged(const struct node *n, const struct json *j, const struct json *old, struct arena *a)
{
	if (j->kind != old->kind) {
		return false;
	}
	if (j->kind == JSON_ARRAY) {
		return list_is_unchanged(n, j, old, a);
	}
	if (j->kind != JSON_OBJECT) {
		return value_equal(j, old);
	}
	uint32_t hint = 0;
	bool is_same = j->n == old->n;
	for (uint32_t i = 0; is_same && i < j->n; i++) {
		const struct json *before = json_get(old, j->members[i].name);
		const struct node *below = node_member(n, j->members[i].name, &hint);
		is_same = before && below && node_is_unchanged(below, j->members[i].value, before, a);
	}
	return is_same;
}

/* ---- embedded resources ---- */

static struct str child_path(const struct spot *at, const char *name, struct arena *a)
{
	struct spot below = {.up = at, .name = str_of(name), .kind = SPOT_MEMBER};
	return spot_text(&below, true, a);
}

static void check_api_version(const struct json *j, struct str path, struct field_errors *errors)
{
	struct str text = json_text(j), group, rest;
	if (j->kind != JSON_STRING) {
		field_invalid(errors, path, value_shown(j, errors->arena), "must be a string");
	} else if (!text.n) {
		field_invalid_str(errors, path, text, "must not be empty");
	} else if (str_cut(text, '/', &group, &rest) && memchr(rest.p, '/', rest.n)) {
		field_invalid_str(errors, path, text, "unexpected GroupVersion string: " STR_FMT, STR_ARG(text));
	}
}

static struct str lower(struct str s, struct arena *a)
{
	char *text = arena_text(a, s.n);
	for (size_t i = 0; i < s.n; i++) {
		text[i] = s.p[i] >= 'A' && s.p[i] <= 'Z' ? (char)(s.p[i] + 'a' - 'A') : s.p[i];
	}
	return (struct str){text, s.n};
}

static void check_kind(const struct json *j, struct str path, struct field_errors *errors)
{
	const char *messages[VALIDATE_MESSAGES_MAX];
	struct str text = json_text(j);
	if (j->kind != JSON_STRING) {
		field_invalid(errors, path, value_shown(j, errors->arena), "must be a string");
	} else if (!text.n) {
		field_invalid_str(errors, path, text, "must not be empty");
	} else {
		size_t n = validate_dns1035_label(lower(text, errors->arena), messages);
		if (n) {
			field_invalid_str(errors, path, text, "may have mixed case, but should otherwise match: %s%s%s",
				messages[0], n > 1 ? "," : "", n > 1 ? messages[1] : "");
		}
	}
}

static void check_metadata(const struct json *j, struct str path, struct field_errors *errors)
{
	struct json *decoded = NULL;
	struct str error = {0};
	if (j->kind == JSON_NULL) {
		return;
	}
	if (schema_decode(&decoded, &type_embedded_meta, j, errors->arena, NULL, &error)) {
		field_invalid(errors, path, value_shown(j, errors->arena), STR_FMT, STR_ARG(error));
		return;
	}
	struct json *hub = json_object(errors->arena);
	json_add(errors->arena, hub, STR("metadata"), decoded);
	const struct kind kind = {
		.is_namespaced = json_text(json_gets(decoded, "namespace")).n > 0,
		.name_rule = NAME_PATH_SEGMENT,
		.any_finalizer = true,
	};
	struct object *o = object_from_hub(&kind, hub, errors->arena);
	if (!o->meta.name.n) {
		o->meta.name = STR("fakename");
	}
	struct field_errors found;
	field_errors_init(&found, errors->arena);
	validate_meta(&kind, &o->meta, &found);
	field_errors_add_below(errors, path, STR("metadata"), &found);
}

void value_validate_embedded(
	const struct node *n, const struct json *j, bool is_root, const struct spot *at, struct field_errors *errors)
{
	if (!n || (!n->has_embedded && !is_root)) {
		return;
	}
	if (j->kind == JSON_OBJECT && (n->is_embedded || is_root)) {
		const struct json *api_version = json_gets(j, "apiVersion"), *kind = json_gets(j, "kind"),
				  *metadata = json_gets(j, "metadata");
		struct str version_path = child_path(at, "apiVersion", errors->arena),
			   kind_path = child_path(at, "kind", errors->arena);
		if (!api_version) {
			field_required(errors, version_path, "%s", "");
		}
		if (!kind) {
			field_required(errors, kind_path, "%s", "");
		}
		if (api_version) {
			check_api_version(api_version, version_path, errors);
		}
		if (kind) {
			check_kind(kind, kind_path, errors);
		}
		if (metadata) {
			check_metadata(metadata, child_path(at, "metadata", errors->arena), errors);
		}
	}
	uint32_t hint = 0;
	for (uint32_t i = 0; j->kind == JSON_OBJECT && i < j->n; i++) {
		bool is_property = node_property(n, j->members[i].name, &(uint32_t){hint}) != NULL;
		struct spot below = {.up = at, .name = j->members[i].name, .kind = is_property ? SPOT_MEMBER : SPOT_KEY};
		value_validate_embedded(node_member(n, below.name, &hint), j->members[i].value, false, &below, errors);
	}
	for (uint32_t i = 0; j->kind == JSON_ARRAY && i < j->n; i++) {
		struct spot below = {.up = at, .index = i, .kind = SPOT_ITEM};
		value_validate_embedded(n->items, j->items[i], false, &below, errors);
	}
}

/* ---- lists that are sets or maps ---- */

/* Refuses values that come twice; of a value that comes more often, the second one is named. shown[i]: in place of keys[i]. */
static void refuse_twice(const struct json **keys, const struct json *const *shown, uint32_t n, const struct spot *at,
	struct field_errors *errors)
{
	static char once, twice;
	struct map seen;
	struct buf text;
	map_init(&seen, n);
	buf_init(&text, TEXT_MAX);
	for (uint32_t i = 0; i < n && n > 1; i++) {
		struct value v = keys[i] ? value_of(keys[i]) : (struct value){0};
		buf_clear(&text);
		buf_printf(&text, "%d:", keys[i] ? (int)v.kind : -1);
		if (v.kind == VALUE_DOUBLE) {
			buf_printf(&text, "%.17g", v.number + 0.0);
		} else if (keys[i]) {
			json_encode(&text, value_shown(keys[i], errors->arena));
		}
		const char *before = map_get(&seen, buf_str(&text));
		if (before == &once) {
			struct spot below = {.up = at, .index = i, .kind = SPOT_ITEM};
			field_duplicate(errors, spot_text(&below, true, errors->arena), value_shown(shown[i], errors->arena));
		}
		map_set(&seen, buf_str(&text), before ? &twice : &once, NULL);
	}
	buf_done(&text);
	map_done(&seen);
}

static void check_set(const struct json *list, const struct spot *at, struct field_errors *errors)
{
	refuse_twice((const struct json **)list->items, (const struct json *const *)list->items, list->n, at, errors);
}

/* The members of an item that are keys; a list of one key compares its value, which may be missing. */
static void check_map(const struct node *n, const struct json *list, const struct spot *at, struct field_errors *errors)
{
	struct arena *a = errors->arena;
	const struct json **keys = arena_array(a, const struct json *, list->n + 1);
	const struct json **shown = arena_array(a, const struct json *, list->n + 1);
	const struct node_texts none = {NULL, 0}, *names = n->list_keys ? n->list_keys : &none;
	for (uint32_t i = 0; i < list->n; i++) {
		const struct json *item = list->items[i];
		if (item->kind != JSON_NULL && item->kind != JSON_OBJECT) {
			struct spot below = {.up = at, .index = i, .kind = SPOT_ITEM};
			field_invalid(errors, spot_text(&below, true, a), value_shown(item, a),
				"must be an object for an array of list-type map");
			return;
		}
		struct json *key = json_object(a);
		for (size_t k = 0; k < names->n; k++) {
			struct json *value = json_get(item, names->v[k]);
			if (value) {
				json_set(a, key, names->v[k], value);
			}
		}
		shown[i] = key;
		keys[i] = names->n == 1 ? (key->n ? key->members[0].value : NULL) : key;
	}
	refuse_twice(keys, shown, list->n, at, errors);
}

void value_validate_lists(const struct node *n, const struct json *j, const struct spot *at, struct field_errors *errors)
{
	if (!n || !n->has_lists) {
		return;
	}
	if (j->kind == JSON_ARRAY) {
		if (n->list == NODE_LIST_SET) {
			check_set(j, at, errors);
		} else if (n->list == NODE_LIST_MAP) {
			check_map(n, j, at, errors);
		}
		for (uint32_t i = 0; n->items && i < j->n; i++) {
			struct spot below = {.up = at, .index = i, .kind = SPOT_ITEM};
			value_validate_lists(n->items, j->items[i], &below, errors);
		}
		return;
	}
	uint32_t hint = 0;
	for (uint32_t i = 0; j->kind == JSON_OBJECT && n->additional && i < j->n; i++) {
		struct spot below = {.up = at, .name = j->members[i].name, .kind = SPOT_KEY};
		value_validate_lists(n->additional, j->members[i].value, &below, errors);
	}
	for (uint32_t i = 0; j->kind == JSON_OBJECT && i < j->n; i++) {
		struct spot below = {.up = at, .name = j->members[i].name, .kind = SPOT_MEMBER};
		value_validate_lists(node_property(n, below.name, &hint), j->members[i].value, &below, errors);
	}
}

/* ---- scale ---- */

static const char *go_type(const struct json *j)
{
	static const char *const names[] = {
		[VALUE_NULL] = "<nil>",
		[VALUE_BOOL] = "bool",
		[VALUE_INT] = "int64",
		[VALUE_DOUBLE] = "float64",
		[VALUE_STRING] = "string",
		[VALUE_ARRAY] = "[]interface {}",
		[VALUE_OBJECT] = "map[string]interface {}",
	};
	return names[value_of(j).kind];
}

static struct str accessor_error(struct str path, size_t n, const struct json *j, const char *wanted, struct arena *a)
{
	struct buf out;
	buf_init(&out, TEXT_MAX);
	buf_add_str(&out, (struct str){path.p, n});
	buf_adds(&out, " accessor error: ");
	go_print_value(&out, j, a);
	buf_printf(&out, " is of the type %s, expected %s", go_type(j), wanted);
	struct str text = arena_dup(a, buf_str(&out));
	buf_done(&out);
	return text;
}

/* The value at ".a.b", NULL where there is none. *ret_error is set where the way leads through something else than objects. */
static const struct json *find_path(const struct json *object, struct str path, struct arena *a, struct str *ret_error)
{
	struct str rest = path.n && path.p[0] == '.' ? (struct str){path.p + 1, path.n - 1} : path;
	const struct json *at = object;
	bool more = true;
	while (more) {
		struct str name;
		more = str_cut(rest, '.', &name, &rest);
		if (at->kind == JSON_NULL) {
			return NULL;
		}
		if (at->kind != JSON_OBJECT) {
			*ret_error = accessor_error(path, (size_t)(name.p + name.n - path.p), at, "map[string]interface{}", a);
			return NULL;
		}
		at = json_get(at, name);
		if (!at) {
			return NULL;
		}
	}
	return at;
}

static void check_replicas(const struct json *object, struct str path, struct field_errors *errors)
{
	struct str error = {0};
	const struct json *j = find_path(object, path, errors->arena, &error);
	struct value v = j ? value_of(j) : (struct value){.kind = VALUE_INT};
	if (!error.n && v.kind != VALUE_INT) {
		error = accessor_error(path, path.n, j, "int64", errors->arena);
	}
	if (error.n) {
		field_invalid(errors, path, json_int(errors->arena, 0), STR_FMT, STR_ARG(error));
	} else if (v.integer < 0) {
		field_invalid(errors, path, json_int(errors->arena, v.integer), "should be a non-negative integer");
	} else if (v.integer > INT32_MAX) {
		field_invalid(
			errors, path, json_int(errors->arena, v.integer), "should be less than or equal to %d", INT32_MAX);
	}
}

void value_validate_scale(
	const struct schema_scale *scale, bool is_status, const struct json *object, struct field_errors *errors)
{
	struct str error = {0};
	if (!scale) {
		return;
	}
	if (!is_status) {
		check_replicas(object, scale->spec_replicas, errors);
	}
	check_replicas(object, scale->status_replicas, errors);
	if (scale->label_selector.n) {
		const struct json *j = find_path(object, scale->label_selector, errors->arena, &error);
		if (!error.n && j && j->kind != JSON_STRING) {
			error = accessor_error(scale->label_selector, scale->label_selector.n, j, "string", errors->arena);
		}
		if (error.n) {
			field_invalid_str(errors, scale->label_selector, (struct str){0}, STR_FMT, STR_ARG(error));
		}
	}
}

/* ---- all of it ---- */

static const struct spot root_spot = {.kind = SPOT_ROOT};

static bool lists_are_fine(const struct node *n, const struct json *object)
{
	struct arena scratch;
	struct field_errors errors;
	arena_init(&scratch, SIZE_MAX);
	field_errors_init(&errors, &scratch);
	value_validate_lists(n, object, &root_spot, &errors);
	bool is_fine = errors.n == 0;
	arena_done(&scratch);
	return is_fine;
}

void schema_validate(
	const struct schema *s, const struct schema_scale *scale, const struct json *object, struct field_errors *errors)
{
	value_validate(s->root, object, NULL, (struct str){0}, errors);
	value_validate_scale(scale, false, object, errors);
	value_validate_embedded(s->root, object, false, &root_spot, errors);
	value_validate_lists(s->root, object, &root_spot, errors);
}

void schema_validate_update(const struct schema *s, const struct schema_scale *scale, const struct json *object,
	const struct json *old, struct field_errors *errors)
{
	assert(old);
	value_validate(s->root, object, old, (struct str){0}, errors);
	value_validate_scale(scale, false, object, errors);
	value_validate_embedded(s->root, object, false, &root_spot, errors);
	if (s->root->has_lists && lists_are_fine(s->root, old)) {
		value_validate_lists(s->root, object, &root_spot, errors);
	}
}

void schema_validate_status(const struct schema *s, const struct schema_scale *scale, const struct json *object,
	const struct json *old, struct field_errors *errors)
{
	uint32_t hint = 0;
	const struct node *n = node_property(s->root, STR("status"), &hint);
	const struct json *status = json_gets(object, "status");
	assert(old);
	if (status && n) {
		value_validate(n, status, json_gets(old, "status"), STR("status"), errors);
	}
	value_validate_scale(scale, true, object, errors);
	if (s->root->has_lists && lists_are_fine(s->root, old)) {
		value_validate_lists(s->root, object, &root_spot, errors);
	}
}
