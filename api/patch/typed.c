/* sigs.k8s.io/structured-merge-diff/typed over this server's schemas: compare, merge, remove and
 * validate with one notion of what a leaf is (shape_of). Depth is that of the schema, so
 * recursion is bounded by the code and not by what clients send. */
#include "api/patch/typed.h"

#include <assert.h>
#include <stdlib.h>

/* How ownership sees a value: as one thing, or part by part. */
enum shape {
	SHAPE_LEAF,
	SHAPE_OBJECT,
	SHAPE_MAP,
	SHAPE_ITEMS,
};

static enum shape shape_of(const struct type *t)
{
	if (t->is_atomic) {
		return SHAPE_LEAF;
	}
	switch (t->kind) {
	case TYPE_OBJECT:
		return SHAPE_OBJECT;
	case TYPE_MAP:
		return SHAPE_MAP;
	case TYPE_LIST:
		return t->list_type == LIST_ATOMIC ? SHAPE_LEAF : SHAPE_ITEMS;
	default:
		return SHAPE_LEAF;
	}
}

/* A value of any type is a map if it is an object, and a leaf otherwise. */
static enum shape shape_with(const struct type *t, const struct json *x, const struct json *y)
{
	bool is_leaf = t == &type_any && !((!x || x->kind == JSON_OBJECT) && (!y || y->kind == JSON_OBJECT));

	return is_leaf ? SHAPE_LEAF : shape_of(t);
}

/* Absent, null or without members: containers like this are compared and merged whole. */
static bool is_void(const struct json *j)
{
	return !j || j->kind == JSON_NULL || ((j->kind == JSON_OBJECT || j->kind == JSON_ARRAY) && j->n == 0);
}

static uint32_t member_count(const struct json *j)
{
	return json_is(j, JSON_OBJECT) ? j->n : 0;
}

/* The type of a member, or NULL where it is no field that can be owned. */
static const struct type *member_type(const struct type *t, struct str name, int *hint)
{
	if (t->kind == TYPE_MAP) {
		return t->elem;
	}
	int at = type_field_index(t, name, *hint);
	*hint = MAX(at, 0);
	return at < 0 ? t->elem : t->fields[at].flags & FIELD_UNOWNED ? NULL : t->fields[at].type;
}

static struct path path_to_field(const struct path *up, struct str name)
{
	return (struct path){up, {PATH_FIELD, name}};
}

/* Two lists of members at once. Keys of maps are sorted; members of objects are few. */
struct zip {
	const struct json *left, *right;
	uint32_t i, k;
	bool is_sorted;
};

struct pair {
	struct str name;
	struct json *left, *right; /* one may be NULL */
};

static bool zip_next_sorted(struct zip *z, struct pair *ret)
{
	uint32_t n_left = member_count(z->left), n_right = member_count(z->right);
	if (z->i == n_left && z->k == n_right) {
		return false;
	}
	int r = z->i == n_left ? 1 : z->k == n_right ? -1 : str_cmp(z->left->members[z->i].name, z->right->members[z->k].name);
	const struct json_member *left = r <= 0 ? &z->left->members[z->i++] : NULL;
	const struct json_member *right = r >= 0 ? &z->right->members[z->k++] : NULL;
	*ret = (struct pair){left ? left->name : right->name, left ? left->value : NULL, right ? right->value : NULL};
	return true;
}

static bool zip_next(struct zip *z, struct pair *ret)
{
	if (z->is_sorted) {
		return zip_next_sorted(z, ret);
	}
	if (z->i < member_count(z->left)) {
		const struct json_member *m = &z->left->members[z->i++];
		*ret = (struct pair){m->name, m->value, json_get(z->right, m->name)};
		return true;
	}
	while (z->k < member_count(z->right)) {
		const struct json_member *m = &z->right->members[z->k++];
		if (!json_get(z->left, m->name)) {
			*ret = (struct pair){m->name, NULL, m->value};
			return true;
		}
	}
	return false;
}

/* The items of a list with their path elements. */
struct item {
	struct path_element element;
	struct json *value;
	uint32_t at; /* in the list */
};

struct items {
	struct item *v;
	uint32_t n;
};

static int compare_items(const void *x, const void *y)
{
	const struct item *a = x, *b = y;
	int r = path_element_cmp(a->element, b->element);
	return r ? r : (a->at > b->at) - (a->at < b->at);
}

/* Lists the items in the order of the list; items without an element are left out. */
static struct items items_of(const struct type *t, const struct json *list, struct arena *a)
{
	struct items items = {0};
	if (!json_is(list, JSON_ARRAY) || !list->n) {
		return items;
	}
	items.v = arena_array(a, struct item, list->n);
	for (uint32_t i = 0; i < list->n; i++) {
		struct item *item = &items.v[items.n];
		struct str error;
		item->value = list->items[i];
		item->at = i;
		items.n += path_element_of_item(&item->element, t, list->items[i], a, &error);
	}
	return items;
}

static struct items items_sorted(const struct type *t, const struct json *list, struct arena *a)
{
	struct items items = items_of(t, list, a);
	if (items.n > 1) {
		qsort(items.v, items.n, sizeof(*items.v), compare_items);
	}
	return items;
}

/* Counts the items from i on that have the same path element as item i. The items are sorted. */
static uint32_t group_size(const struct items *items, uint32_t i)
{
	uint32_t n = i < items->n;
	while (n && i + n < items->n && path_element_cmp(items->v[i].element, items->v[i + n].element) == 0) {
		n++;
	}
	return n;
}

static const struct item *find_item(const struct items *sorted, struct path_element e)
{
	uint32_t low = 0, high = sorted->n;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (path_element_cmp(sorted->v[middle].element, e) < 0) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low < sorted->n && path_element_cmp(sorted->v[low].element, e) == 0 ? &sorted->v[low] : NULL;
}

/* Comparing. */

struct comparer {
	struct arena *arena;
	struct field_set *added, *modified, *removed;
};

static void compare(
	struct comparer *c, const struct type *t, const struct json *before, const struct json *after, const struct path *p);

static void comparer_note(struct comparer *c, struct field_set **set, const struct path *p)
{
	if (!*set) {
		*set = field_set_new(c->arena);
	}
	field_set_insert(*set, p, c->arena);
}

/* Notes a value that came or went as a whole. */
static void note_presence(struct comparer *c, const struct json *before, const struct json *after, const struct path *p)
{
	if (!before) {
		comparer_note(c, &c->added, p);
	} else if (!after) {
		comparer_note(c, &c->removed, p);
	}
}

static void compare_members(
	struct comparer *c, const struct type *t, const struct json *before, const struct json *after, const struct path *p)
{
	struct zip z = {.left = before, .right = after, .is_sorted = t->kind == TYPE_MAP};
	struct pair m;
	int hint = 0;
	while (zip_next(&z, &m)) {
		const struct type *type = member_type(t, m.name, &hint);
		if (type) {
			struct path below = path_to_field(p, m.name);
			compare(c, type, m.left, m.right, &below);
		}
	}
}

static bool are_groups_equal(const struct item *x, const struct item *y, uint32_t n_x, uint32_t n_y)
{
	bool is_equal = n_x == n_y;
	for (uint32_t i = 0; is_equal && i < n_x; i++) {
		is_equal = json_equal(x[i].value, y[i].value);
	}
	return is_equal;
}

/* All items of one element; lists from before the present rules may hold several. */
static void compare_group(struct comparer *c, const struct type *t, const struct item *before, uint32_t n_before,
	const struct item *after, uint32_t n_after, const struct path *p)
{
	if (n_before < 2 && n_after < 2) {
		compare(c, t->elem, n_before ? before->value : NULL, n_after ? after->value : NULL, p);
	} else if (n_before >= 2 && n_after >= 2) {
		if (!are_groups_equal(before, after, n_before, n_after)) {
			comparer_note(c, &c->modified, p);
		}
	} else if (n_before >= 2) {
		if (n_after) {
			compare(c, t->elem, NULL, after->value, p);
		}
		comparer_note(c, &c->removed, p);
	} else {
		if (n_before) {
			compare(c, t->elem, before->value, NULL, p);
		}
		comparer_note(c, &c->added, p);
	}
}

static void compare_list(
	struct comparer *c, const struct type *t, const struct json *before, const struct json *after, const struct path *p)
{
	struct items x = items_sorted(t, before, c->arena), y = items_sorted(t, after, c->arena);
	for (uint32_t i = 0, k = 0; i < x.n || k < y.n;) {
		int r = i == x.n ? 1 : k == y.n ? -1 : path_element_cmp(x.v[i].element, y.v[k].element);
		uint32_t n_x = r <= 0 ? group_size(&x, i) : 0, n_y = r >= 0 ? group_size(&y, k) : 0;
		struct path below = {p, n_x ? x.v[i].element : y.v[k].element};
		compare_group(c, t, n_x ? x.v + i : NULL, n_x, n_y ? y.v + k : NULL, n_y, &below);
		i += n_x;
		k += n_y;
	}
}

static void compare(
	struct comparer *c, const struct type *t, const struct json *before, const struct json *after, const struct path *p)
{
	enum shape shape = shape_with(t, before, after);
	if (shape == SHAPE_LEAF || (is_void(before) && is_void(after))) {
		if (before && after && !json_equal(before, after)) {
			comparer_note(c, &c->modified, p);
		}
	} else if (shape == SHAPE_ITEMS) {
		compare_list(c, t, before, after, p);
	} else {
		compare_members(c, t, before, after, p);
	}
	note_presence(c, before, after, p);
}

void typed_compare(
	struct comparison *ret, const struct type *t, const struct json *before, const struct json *after, struct arena *a)
{
	struct comparer c = {.arena = a};
	compare(&c, t, before, after, NULL);
	*ret = (struct comparison){c.added, c.modified, c.removed};
}

/* Fields. */

static void collect(struct field_set *out, const struct type *t, const struct json *j, const struct path *p, struct arena *a);

static void collect_members(
	struct field_set *out, const struct type *t, const struct json *j, const struct path *p, struct arena *a)
{
	int hint = 0;
	for (uint32_t i = 0; i < member_count(j); i++) {
		const struct json_member *m = &j->members[i];
		const struct type *type = member_type(t, m->name, &hint);
		if (!type) {
			continue;
		}
		struct path below = path_to_field(p, m->name);
		collect(out, type, m->value, &below, a);
		bool is_empty_object = m->value->kind == JSON_OBJECT && m->value->n == 0;
		if ((t->kind == TYPE_MAP && t != &type_any) ||
			((m->value->kind == JSON_NULL || is_empty_object) && !type_has_unowned(type))) {
			field_set_insert(out, &below, a);
		}
	}
}

static void collect_items(
	struct field_set *out, const struct type *t, const struct json *list, const struct path *p, struct arena *a)
{
	struct items items = items_sorted(t, list, a);
	for (uint32_t i = 0, n; i < items.n; i += n) {
		n = group_size(&items, i);
		struct path below = {p, items.v[i].element};
		if (n == 1) {
			collect(out, t->elem, items.v[i].value, &below, a);
		}
		field_set_insert(out, &below, a);
	}
}

static void collect(struct field_set *out, const struct type *t, const struct json *j, const struct path *p, struct arena *a)
{
	switch (shape_with(t, j, NULL)) {
	case SHAPE_LEAF:
		field_set_insert(out, p, a);
		break;
	case SHAPE_OBJECT:
	case SHAPE_MAP:
		collect_members(out, t, j, p, a);
		break;
	case SHAPE_ITEMS:
		collect_items(out, t, j, p, a);
		break;
	}
}

struct field_set *typed_fields(const struct type *t, const struct json *j, struct arena *a)
{
	struct field_set *out = field_set_new(a);
	if (j) {
		collect(out, t, j, NULL, a);
	}
	return out;
}

/* Merging. */

static struct json *merge_members(const struct type *t, struct json *live, struct json *applied, struct arena *a)
{
	struct zip z = {.left = live, .right = applied, .is_sorted = t->kind == TYPE_MAP};
	struct pair m;
	int hint = 0;
	struct json *out = json_object(a);
	while (zip_next(&z, &m)) {
		int at = t->kind == TYPE_MAP ? -1 : type_field_index(t, m.name, hint);
		hint = MAX(at, 0);
		const struct type *type = at < 0 ? t->elem : t->fields[at].type;
		json_add(a, out, m.name, type ? typed_merge(type, m.left, m.right, a) : m.right ? m.right : m.left);
	}
	return out;
}

/* The order of a merged list: the applied items come in their order; a live item that is not applied stays between its neighbours as
 * far as that allows. */
struct list_merge {
	const struct type *type;
	struct arena *arena;
	struct items live, applied; /* in the order of the lists */
	struct items live_sorted, applied_sorted;
	bool *is_merged; /* applied items, by their place in the list */
	uint32_t i, k;   /* next live, next applied */
	uint32_t shared; /* the next applied item that is live, too; applied.n: none */
	struct json *out;
};

static bool is_live(const struct list_merge *m, struct path_element e)
{
	return find_item(&m->live_sorted, e) != NULL;
}

static void next_shared(struct list_merge *m, uint32_t from)
{
	m->shared = from;
	while (m->shared < m->applied.n && !is_live(m, m->applied.v[m->shared].element)) {
		m->shared++;
	}
}

static void take_live(struct list_merge *m)
{
	json_append(m->arena, m->out, m->live.v[m->i++].value);
}

/* Where live has several of one element, the applied one stands for them all. */
static void take_applied(struct list_merge *m)
{
	const struct item *item = &m->applied.v[m->k];
	const struct item *live = find_item(&m->live_sorted, item->element);
	bool is_single = live &&
		(live + 1 == m->live_sorted.v + m->live_sorted.n || path_element_cmp(live[1].element, live->element) != 0);
	json_append(m->arena, m->out, is_single ? typed_merge(m->type->elem, live->value, item->value, m->arena) : item->value);
	m->is_merged[item->at] = true;
	if (m->shared == m->k) {
		next_shared(m, m->k + 1);
	}
	m->k++;
}

static void merge_step(struct list_merge *m)
{
	bool has_applied = m->k < m->applied.n;
	if (m->i < m->live.n) {
		struct path_element e = m->live.v[m->i].element;
		const struct item *same = find_item(&m->applied_sorted, e);
		if (!same) {
			take_live(m);
			return;
		}
		if (has_applied && path_element_cmp(e, m->applied.v[m->k].element) == 0) {
			take_applied(m);
			m->i++;
			return;
		}
		bool is_awaited = m->shared < m->applied.n && path_element_cmp(e, m->applied.v[m->shared].element) == 0;
		if (has_applied && m->shared < m->applied.n && !is_awaited) {
			m->i++;
			return;
		}
		if (m->is_merged[same->at]) {
			m->i++;
		}
	}
	if (has_applied) {
		take_applied(m);
	}
}

static struct json *merge_items(const struct type *t, const struct json *live, const struct json *applied, struct arena *a)
{
	struct list_merge m = {
		.type = t,
		.arena = a,
		.live = items_of(t, live, a),
		.applied = items_of(t, applied, a),
		.live_sorted = items_sorted(t, live, a),
		.applied_sorted = items_sorted(t, applied, a),
		.is_merged = arena_array(a, bool, applied->n + 1),
		.out = json_array(a),
	};
	next_shared(&m, 0);
	while (m.i < m.live.n || m.k < m.applied.n) {
		merge_step(&m);
	}
	assert(m.i == m.live.n && m.k == m.applied.n); /* each item of both lists has been taken once */
	return m.out;
}

struct json *typed_merge(const struct type *t, struct json *live, struct json *applied, struct arena *a)
{
	enum shape shape = shape_with(t, live, applied);
	if (!live || !applied) {
		return live ? live : applied;
	}
	if (shape == SHAPE_LEAF || (is_void(live) && is_void(applied))) {
		return applied;
	}
	if (is_void(applied)) {
		return live;
	}
	if (is_void(live)) {
		return applied;
	}
	return shape == SHAPE_ITEMS ? merge_items(t, live, applied, a) : merge_members(t, live, applied, a);
}

/* Removing. */

static struct json *remove_members(const struct type *t, const struct json *j, const struct field_set *set, struct arena *a)
{
	struct json *out = json_object(a);
	int hint = 0;
	for (uint32_t i = 0; i < member_count(j); i++) {
		const struct json_member *m = &j->members[i];
		const struct field_node *node = field_set_find(set, (struct path_element){PATH_FIELD, m->name});
		if (node && node->is_member) {
			continue;
		}
		const struct type *type = node ? member_type(t, m->name, &hint) : NULL;
		struct json *rest = type && node->children ? typed_remove(type, m->value, node->children, a) : m->value;
		json_add(a, out, m->name, rest ? rest : json_null(a));
	}
	return out->n ? out : NULL;
}

static struct json *remove_items(const struct type *t, const struct json *list, const struct field_set *set, struct arena *a)
{
	struct items items = items_of(t, list, a);
	struct json *out = json_array(a);
	for (uint32_t i = 0; i < items.n; i++) {
		const struct field_node *node = field_set_find(set, items.v[i].element);
		if (node && node->is_member) {
			continue;
		}
		struct json *rest =
			node && node->children ? typed_remove(t->elem, items.v[i].value, node->children, a) : items.v[i].value;
		json_append(a, out, rest ? rest : json_null(a));
	}
	return out->n ? out : NULL;
}

struct json *typed_remove(const struct type *t, struct json *j, const struct field_set *set, struct arena *a)
{
	if (!j || field_set_is_empty(set)) {
		return j;
	}
	switch (shape_with(t, j, NULL)) {
	case SHAPE_OBJECT:
	case SHAPE_MAP:
		return remove_members(t, j, set, a);
	case SHAPE_ITEMS:
		return remove_items(t, j, set, a);
	case SHAPE_LEAF:
		break;
	}
	return t != &type_any && (t->kind == TYPE_LIST || t->kind == TYPE_OBJECT || t->kind == TYPE_MAP) ? NULL : j;
}

/* Validating. */

struct validator {
	struct arena *arena;
	struct buf errors; /* one a line */
	size_t n_errors;
};

static struct json *validate(struct validator *v, const struct type *t, struct json *j, const struct path *p);

static void validator_complain(struct validator *v, const struct path *p, const char *format, ...) _printf_(3, 4);

static void validator_complain(struct validator *v, const struct path *p, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	struct str where = path_print(p, v->arena);
	buf_adds(&v->errors, v->n_errors++ ? "\n" : "");
	buf_add_str(&v->errors, where);
	buf_adds(&v->errors, where.n ? ": " : "");
	buf_vprintf(&v->errors, format, ap);
	va_end(ap);
}

/* The value that is wrong, as Go prints what it found there: numbers want its type, texts its syntax, the others its content. */
static struct str printed(const struct type *t, const struct json *j, struct arena *a)
{
	static const char *const types[] = {
		[JSON_NULL] = "<nil>",
		[JSON_BOOL] = "bool",
		[JSON_NUMBER] = "float64",
		[JSON_STRING] = "string",
		[JSON_ARRAY] = "[]interface {}",
		[JSON_OBJECT] = "map[string]interface {}",
	};
	if (t->kind == TYPE_INT32 || t->kind == TYPE_INT64) {
		return str_of(types[j->kind]);
	}
	struct buf text;
	buf_init(&text, TEXT_MAX);
	buf_adds(&text, t->kind == TYPE_STRING ? "&value.valueUnstructured{Value:" : "&{");
	if (j->kind == JSON_STRING) {
		buf_add_str(&text, json_text(j));
	} else {
		json_encode(&text, j);
	}
	buf_addc(&text, '}');
	struct str s = arena_dup(a, buf_str(&text));
	buf_done(&text);
	return s;
}

static struct json *validate_object(struct validator *v, const struct type *t, struct json *j, const struct path *p)
{
	size_t n_fields = 0;
	while (t->fields[n_fields].name) {
		n_fields++;
	}
	struct json **values = arena_zalloc_array(v->arena, n_fields + 1, sizeof(*values)), *others = json_object(v->arena);
	int hint = 0;
	for (uint32_t i = 0; i < j->n; i++) {
		const struct json_member *m = &j->members[i];
		struct path below = path_to_field(p, m->name);
		int at = type_field_index(t, m->name, hint);
		hint = MAX(at, 0);
		if (at < 0 && t->elem) {
			json_add(v->arena, others, m->name, validate(v, t->elem, m->value, &below));
			continue;
		}
		if (at < 0) {
			validator_complain(v, &below, "field not declared in schema");
			break;
		}
		values[at] = validate(v, t->fields[at].type, m->value, &below);
	}
	struct json *out = json_object(v->arena);
	for (int k = 0; t->fields[k].name; k++) {
		if (values[k]) {
			json_add(v->arena, out, str_of(t->fields[k].name), values[k]);
		}
	}
	for (uint32_t i = 0; i < others->n; i++) {
		json_add(v->arena, out, others->members[i].name, others->members[i].value);
	}
	return out;
}

static int compare_names(const void *x, const void *y)
{
	const struct json_member *const *a = x, *const *b = y;
	int r = str_cmp((*a)->name, (*b)->name);
	return r ? r : (*a > *b) - (*a < *b);
}

static struct json *validate_map(struct validator *v, const struct type *t, struct json *j, const struct path *p)
{
	const struct json_member **sorted = arena_array(v->arena, const struct json_member *, j->n + 1);
	for (uint32_t i = 0; i < j->n; i++) {
		sorted[i] = &j->members[i];
	}
	qsort(sorted, j->n, sizeof(*sorted), compare_names);

	struct json *out = json_object(v->arena);
	for (uint32_t i = 0; i < j->n; i++) {
		struct path below = path_to_field(p, sorted[i]->name);
		struct json *value = validate(v, t->elem, sorted[i]->value, &below);
		if (i + 1 == j->n || !str_eq(sorted[i]->name, sorted[i + 1]->name)) {
			json_add(v->arena, out, sorted[i]->name, value);
		}
	}
	return out;
}

static void complain_of_repetitions(struct validator *v, const struct type *t, const struct json *j, const struct path *p)
{
	struct items sorted = items_sorted(t, j, v->arena);
	for (uint32_t i = 1; i < sorted.n; i++) {
		if (path_element_cmp(sorted.v[i].element, sorted.v[i - 1].element) == 0) {
			struct path alone = {NULL, sorted.v[i].element};
			validator_complain(v, p, "duplicate entries for key " STR_FMT, STR_ARG(path_print(&alone, v->arena)));
		}
	}
}

static struct json *validate_list(struct validator *v, const struct type *t, struct json *j, const struct path *p)
{
	struct json *out = json_array(v->arena);
	bool is_associative = t->list_type != LIST_ATOMIC;
	for (uint32_t i = 0; i < j->n; i++) {
		struct path below = {p, {PATH_INDEX, (struct str){0}}};
		struct str error;
		if (!is_associative) {
			below.element.text = arena_printf(v->arena, "%u", i);
		} else if (!path_element_of_item(&below.element, t, j->items[i], v->arena, &error)) {
			validator_complain(v, p, "element %u: " STR_FMT, i, STR_ARG(error));
			return out;
		}
		json_append(v->arena, out, validate(v, t->elem, j->items[i], &below));
	}
	if (is_associative) {
		complain_of_repetitions(v, t, j, p);
	}
	return out;
}

static bool is_scalar(const struct json *j)
{
	return j->kind != JSON_OBJECT && j->kind != JSON_ARRAY;
}

/* The JSON that each kind of type expects; numbers are checked further when the object is
 * decoded. */
static const struct {
	bool is_any_scalar, is_any;
	enum json_kind kind;
	const char *expected;
} expectations[] = {
	[TYPE_STRING] = {.kind = JSON_STRING, .expected = "string"},
	[TYPE_BOOL] = {.kind = JSON_BOOL, .expected = "boolean"},
	[TYPE_INT32] = {.kind = JSON_NUMBER, .expected = "numeric (int or float)"},
	[TYPE_INT64] = {.kind = JSON_NUMBER, .expected = "numeric (int or float)"},
	[TYPE_TIME] = {.is_any_scalar = true, .expected = "any scalar"},
	[TYPE_MICRO_TIME] = {.is_any_scalar = true, .expected = "any scalar"},
	[TYPE_BYTES] = {.kind = JSON_STRING, .expected = "string"},
	[TYPE_INT_OR_STRING] = {.is_any_scalar = true, .expected = "any scalar"},
	[TYPE_QUANTITY] = {.is_any_scalar = true, .expected = "any scalar"},
	[TYPE_OBJECT] = {.kind = JSON_OBJECT, .expected = "map"},
	[TYPE_MAP] = {.kind = JSON_OBJECT, .expected = "map"},
	[TYPE_LIST] = {.kind = JSON_ARRAY, .expected = "list"},
	[TYPE_DOUBLE] = {.kind = JSON_NUMBER, .expected = "numeric (int or float)"},
	[TYPE_RAW] = {.is_any = true},
	[TYPE_FIELDS_V1] = {.is_any = true},
};

static bool is_expected(const struct type *t, const struct json *j)
{
	if (t == &type_any || expectations[t->kind].is_any || j->kind == JSON_NULL) {
		return true;
	}
	return expectations[t->kind].is_any_scalar ? is_scalar(j) : j->kind == expectations[t->kind].kind;
}

static struct json *validate(struct validator *v, const struct type *t, struct json *j, const struct path *p)
{
	assert(t->kind < ARRAY_SIZE(expectations));
	if (!is_expected(t, j)) {
		validator_complain(
			v, p, "expected %s, got " STR_FMT, expectations[t->kind].expected, STR_ARG(printed(t, j, v->arena)));
		return j;
	}
	if (j->kind == JSON_NULL) {
		return j;
	}
	if (t == &type_any && j->kind != JSON_OBJECT) {
		return j;
	}
	switch (t->kind) {
	case TYPE_OBJECT:
		return validate_object(v, t, j, p);
	case TYPE_MAP:
		return validate_map(v, t, j, p);
	case TYPE_LIST:
		return validate_list(v, t, j, p);
	default:
		return j;
	}
}

int typed_validate(struct json **ret, const struct type *t, const struct json *applied, struct arena *a, struct str *ret_error)
{
	struct validator v = {.arena = a};
	buf_init(&v.errors, TEXT_MAX);
	struct json *ordered = validate(&v, t, (struct json *)applied, NULL);
	if (v.n_errors == 1) {
		*ret_error = arena_dup(a, buf_str(&v.errors));
	} else if (v.n_errors > 1) {
		struct buf lines;
		buf_init(&lines, TEXT_MAX);
		buf_adds(&lines, "errors:\n  ");
		for (size_t i = 0; i < v.errors.n; i++) {
			buf_addc(&lines, v.errors.p[i]);
			buf_adds(&lines, v.errors.p[i] == '\n' ? "  " : "");
		}
		*ret_error = arena_dup(a, buf_str(&lines));
		buf_done(&lines);
	} else {
		*ret = ordered;
	}
	buf_done(&v.errors);
	return v.n_errors > 0;
}
