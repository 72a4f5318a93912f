/* k8s.io/apimachinery/pkg/util/strategicpatch: a merge patch that knows from the schema which lists are sets or keyed by a
 * member, and that can say more by directives among its members and elements.
 *
 *   "$patch": "replace" | "delete"        this object, or with a merge key this element
 *   "$retainKeys": [names]                nothing but these
 *   "$deleteFromPrimitiveList/x": [...]   these elements of the list x
 *   "$setElementOrder/x": [...]           the order of the list x
 *
 * Upstream walks a patch in random order; here directives come first, as their names sort. */
#include "api/model/gotext.h"
#include "api/model/patch_tree.h"
#include "api/patch/patch.h"

#include <assert.h>
#include <stdlib.h>

/* ---- the order of list elements ----
 *
 * normalizeElementOrder with sorted keys instead of its loops within loops. Upstream's cost is the
 * square of a list's length, and clients make the lists. Elements are ordered by what identifies
 * them: scalars by their value, objects by their merge key. */

struct order_key {
	const struct json *key; /* a scalar */
	uint32_t at;            /* in the list */
};

struct order {
	struct order_key *v; /* by key, then position */
	uint32_t n;
};

static bool is_scalar(const struct json *j)
{
	return j && j->kind != JSON_ARRAY && j->kind != JSON_OBJECT;
}

/* The scalar that identifies an element; NULL where it has none. In lists of scalars the merge key
 * is empty. */
static const struct json *element_key(const struct json *element, const char *merge_key)
{
	const struct json *key = *merge_key ? json_gets(element, merge_key) : element;
	return is_scalar(key) ? key : NULL;
}

static int compare_keys(const struct json *a, const struct json *b)
{
	if (a->kind != b->kind) {
		return (int)a->kind - (int)b->kind;
	}
	switch (a->kind) {
	case JSON_BOOL:
		return a->boolean - b->boolean;
	case JSON_NUMBER:
		return json_number_cmp(json_text(a), json_text(b));
	case JSON_STRING:
		return str_cmp(json_text(a), json_text(b));
	default:
		return 0;
	}
}

static int compare_entries(const void *x, const void *y)
{
	const struct order_key *a = x, *b = y;
	int order = compare_keys(a->key, b->key);
	return order ? order : (a->at > b->at) - (a->at < b->at);
}

/* False when an element has no key. */
static bool order_build(struct order *ret, const struct json *list, const char *merge_key, struct arena *a)
{
	ret->n = list->n;
	ret->v = arena_array(a, struct order_key, list->n);
	for (uint32_t i = 0; i < list->n; i++) {
		const struct json *key = element_key(list->items[i], merge_key);
		if (!key) {
			return false;
		}
		ret->v[i] = (struct order_key){key, i};
	}
	qsort(ret->v, ret->n, sizeof(*ret->v), compare_entries);
	return true;
}

/* The place of the first element with that key, or UINT32_MAX. */
static uint32_t order_find(const struct order *o, const struct json *key)
{
	uint32_t low = 0, high = o->n;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (compare_keys(o->v[middle].key, key) < 0) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low < o->n && compare_keys(o->v[low].key, key) == 0 ? o->v[low].at : UINT32_MAX;
}

struct ranked {
	struct json *item;
	uint32_t rank, at;
};

static int compare_ranked(const void *x, const void *y)
{
	const struct ranked *a = x, *b = y;
	if (a->rank != b->rank) {
		return a->rank < b->rank ? -1 : 1;
	}
	return (a->at > b->at) - (a->at < b->at);
}

struct arrangement {
	const char *merge_key;
	struct order named, server;
};

/* Picks the elements that `named` has, or the others, and sorts them by their place in `order`. */
static struct ranked *pick(const struct arrangement *x, const struct json *list, bool is_named, const struct order *order,
	struct arena *a, uint32_t *ret_n)
{
	struct ranked *picked = arena_array(a, struct ranked, list->n);
	uint32_t n = 0;
	for (uint32_t i = 0; i < list->n; i++) {
		const struct json *key = element_key(list->items[i], x->merge_key);
		if ((order_find(&x->named, key) != UINT32_MAX) == is_named) {
			picked[n++] = (struct ranked){list->items[i], order_find(order, key), i};
		}
	}
	qsort(picked, n, sizeof(*picked), compare_ranked);
	*ret_n = n;
	return picked;
}

static bool goes_first(const struct arrangement *x, const struct ranked *other, const struct ranked *named)
{
	uint32_t at = order_find(&x->server, element_key(named->item, x->merge_key));
	return at != UINT32_MAX && other->rank < at;
}

/* A merged list: elements that `named` names in its order, the others in that of `server`. One of the others goes before a
 * named one if the server has it so; else the named one is first, which is why new elements come to be prepended. NULL when
 * an element of the three lists has no key. */
static struct json *order_arrange(
	const struct json *list, const struct json *named, const struct json *server, const char *merge_key, struct arena *a)
{
	struct arrangement x = {.merge_key = merge_key};
	struct order all;
	if (!order_build(&all, list, merge_key, a) || !order_build(&x.named, named, merge_key, a) ||
		!order_build(&x.server, server, merge_key, a)) {
		return NULL;
	}

	uint32_t n_left, n_right;
	const struct ranked *left = pick(&x, list, false, &x.server, a, &n_left);
	const struct ranked *right = pick(&x, list, true, &x.named, a, &n_right);
	struct json *result = json_array(a);
	while (n_left || n_right) {
		bool takes_left = !n_right || (n_left && goes_first(&x, left, right));
		json_append(a, result, takes_left ? left->item : right->item);
		if (takes_left) {
			left++;
			n_left--;
		} else {
			right++;
			n_right--;
		}
	}
	return result;
}

/* ---- merging ---- */
#define DIRECTIVE "$patch"
#define RETAIN_KEYS "$retainKeys"
#define DELETE_PREFIX "$deleteFromPrimitiveList"
#define ORDER_PREFIX "$setElementOrder"

struct merger {
	struct arena *arena;
	struct status *st;
};

/* How a field is merged. */
struct lookup {
	const struct type *type; /* of the field, or of its elements */
	const char *merge_key;   /* "": none */
	bool is_merged;          /* of a list: items are merged; otherwise the list is replaced */
};

/* Failures return NULL with the status set, as the callers do. */
static struct json *merge_object(
	struct merger *m, const struct json *current, const struct json *patch, const struct type *type);
static struct json *merge_list(
	struct merger *m, struct json *current, struct json *patch, const struct lookup *l, bool is_deletion);

/* A mistake of the client's. kube-apiserver answers 500 to most, without a reason (docs/reference/deviations.md). */
static void *merger_fail(struct merger *m, const char *format, ...) _printf_(2, 3);

static void *merger_fail(struct merger *m, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	struct str text = arena_vprintf(m->arena, format, ap);
	va_end(ap);
	status_bad_request(m->st, STR_FMT, STR_ARG(text));
	return NULL;
}

static void *fail_format(struct merger *m, const char *what)
{
	return merger_fail(m, "invalid patch format of %s", what);
}

/* The one that kube-apiserver takes for a patch that cannot be applied. */
static void *fail_lists_of_lists(struct merger *m)
{
	patch_refuse(m->st);
	return NULL;
}

static void *fail_memory(struct merger *m)
{
	patch_refuse_memory(m->st);
	return NULL;
}

static struct str merger_show(struct merger *m, const struct json *j)
{
	struct buf b;
	buf_init(&b, TEXT_MAX);
	json_encode(&b, j);
	struct str text = arena_dup(m->arena, buf_str(&b));
	buf_done(&b);
	return text;
}

static void *fail_merge_key(struct merger *m, const struct json *element, const char *merge_key)
{
	return merger_fail(
		m, "map: " STR_FMT " does not contain declared merge key: %s", STR_ARG(merger_show(m, element)), merge_key);
}

static void *fail_directive(struct merger *m, const struct json *directive, const struct json *j)
{
	struct str shown = json_is(directive, JSON_STRING) ? json_text(directive) : merger_show(m, directive);
	return merger_fail(m, "unknown patch type: " STR_FMT " in map: " STR_FMT, STR_ARG(shown), STR_ARG(merger_show(m, j)));
}

static bool is_directive(const struct json *directive, const char *name)
{
	return json_is(directive, JSON_STRING) && str_is(json_text(directive), name);
}

/* Schema. */

static const char *const go_kinds[] = {
	[TYPE_STRING] = "string",
	[TYPE_BOOL] = "bool",
	[TYPE_INT32] = "int32",
	[TYPE_INT64] = "int64",
	[TYPE_TIME] = "struct",
	[TYPE_MICRO_TIME] = "struct",
	[TYPE_BYTES] = "slice",
	[TYPE_INT_OR_STRING] = "struct",
	[TYPE_QUANTITY] = "struct",
	[TYPE_OBJECT] = "struct",
	[TYPE_MAP] = "map",
	[TYPE_LIST] = "slice",
	[TYPE_DOUBLE] = "float64",
	[TYPE_RAW] = "struct",
	[TYPE_FIELDS_V1] = "struct",
};

static bool look_up(struct merger *m, const struct type *type, struct str name, struct lookup *ret)
{
	bool is_struct = strcmp(go_kinds[type->kind], "struct") == 0;
	const struct field *f = is_struct && type->fields ? type_field(type, name) : NULL;
	if (f) {
		*ret = (struct lookup){f->type, f->merge_key ? f->merge_key : "", f->flags & FIELD_PATCH_MERGE};
		return true;
	}
	if (is_struct) {
		merger_fail(m, "unable to find api field in struct %s for the json field " STR_FMT, type_go_name(type),
			STR_ARG(go_quote(m->arena, name)));
	} else {
		merger_fail(m, "merging an object in json but data type is not struct, instead is: %s", go_kinds[type->kind]);
	}
	return false;
}

static bool look_up_list(struct merger *m, const struct type *type, struct str name, struct lookup *ret)
{
	if (!look_up(m, type, name, ret)) {
		return false;
	}
	if (ret->type->kind != TYPE_LIST) {
		merger_fail(m, "expected slice or array type, but got: %s", go_kinds[ret->type->kind]);
		return false;
	}
	ret->type = ret->type->elem;
	return true;
}

/* Values that have nothing to be merged with. */

/* Objects that are directives are no values; null members are none either where `drops_null` says so. */
struct cleaning {
	struct merger *m;
	bool drops_null;
};

static struct json *clean(const struct cleaning *c, struct json *j);

static struct json *clean_object(const struct cleaning *c, const struct json *j)
{
	struct json *copy = open_copy(c->m->arena, j);
	uint32_t kept = 0;
	for (uint32_t i = 0; i < copy->n; i++) {
		struct json_member *member = &copy->members[i];
		bool is_dropped = c->drops_null && json_is(member->value, JSON_NULL);
		struct json *value = is_dropped ? NULL : clean(c, member->value);
		if (value) {
			copy->members[kept++] = (struct json_member){member->name, value};
		}
	}
	copy->n = kept;
	return copy;
}

static struct json *clean_array(const struct cleaning *c, const struct json *j)
{
	struct json *copy = json_array(c->m->arena);
	for (uint32_t i = 0; i < j->n; i++) {
		struct json *item = clean(c, j->items[i]);
		if (item) {
			json_append(c->m->arena, copy, item);
		}
	}
	return copy;
}

static bool is_directive_object(const struct cleaning *c, const struct json *j)
{
	const struct json *directive = json_gets(j, DIRECTIVE);
	return directive && !(c->drops_null && json_is(directive, JSON_NULL));
}

/* NULL when it is a directive itself. */
static struct json *clean(const struct cleaning *c, struct json *j)
{
	switch (j->kind) {
	case JSON_OBJECT:
		return is_directive_object(c, j) ? NULL : clean_object(c, j);
	case JSON_ARRAY:
		return clean_array(c, j);
	default:
		return j;
	}
}

/* Lists of scalars. */

static struct json *concatenate(struct merger *m, const struct json *a, const struct json *b)
{
	struct json *all = json_copy(m->arena, a);
	for (uint32_t i = 0; i < b->n; i++) {
		json_append(m->arena, all, b->items[i]);
	}
	return all;
}

static struct json *unite_scalars(struct merger *m, const struct json *current, const struct json *patch)
{
	struct json *all = concatenate(m, current, patch), *result = json_array(m->arena);
	struct order order;
	order_build(&order, all, "", m->arena);
	for (uint32_t i = 0; i < all->n; i++) {
		if (order_find(&order, all->items[i]) == i) {
			json_append(m->arena, result, all->items[i]);
		}
	}
	return order_arrange(result, patch, current, "", m->arena);
}

/* The list without the elements that have a key in `unwanted`. */
static struct json *subtract(struct merger *m, const struct json *list, const struct order *unwanted, const char *merge_key)
{
	struct json *result = json_array(m->arena);
	for (uint32_t i = 0; i < list->n; i++) {
		const struct json *key = element_key(list->items[i], merge_key);
		if (!key || order_find(unwanted, key) == UINT32_MAX) {
			json_append(m->arena, result, list->items[i]);
		}
	}
	return result;
}

static struct json *merge_scalars(struct merger *m, const struct json *current, const struct json *patch, bool is_deletion)
{
	if (!is_deletion) {
		return unite_scalars(m, current, patch);
	}
	struct order unwanted;
	order_build(&unwanted, patch, "", m->arena);
	return subtract(m, current, &unwanted, "");
}

/* Lists of objects. */

/* Sorts a patch's elements: into those to merge, those to delete, and whether the list is to be replaced. */
struct elements {
	struct json *plain, *deleted;
	bool is_replacement;
};

static bool sort_element(struct merger *m, struct json *element, const char *merge_key, struct elements *e)
{
	const struct json *directive = json_gets(element, DIRECTIVE);
	if (!directive) {
		json_append(m->arena, e->plain, element);
		return true;
	}
	if (is_directive(directive, "replace")) {
		e->is_replacement = true;
		return true;
	}
	if (is_directive(directive, "merge")) {
		return merger_fail(m, "merging lists cannot yet be specified in the patch");
	}
	if (!is_directive(directive, "delete")) {
		return fail_directive(m, directive, element);
	}
	if (!element_key(element, merge_key)) {
		return fail_merge_key(m, element, merge_key);
	}
	json_append(m->arena, e->deleted, element);
	return true;
}

static bool sort_elements(struct merger *m, const struct json *patch, const char *merge_key, struct elements *e)
{
	*e = (struct elements){json_array(m->arena), json_array(m->arena), false};
	for (uint32_t i = 0; i < patch->n; i++) {
		if (!sort_element(m, patch->items[i], merge_key, e)) {
			return false;
		}
	}
	return true;
}

static bool have_keys(struct merger *m, const struct json *list, const char *merge_key)
{
	for (uint32_t i = 0; i < list->n; i++) {
		if (!element_key(list->items[i], merge_key)) {
			return fail_merge_key(m, list->items[i], merge_key);
		}
	}
	return true;
}

/* Merges each element of the patch into the first element with its key, be it the server's or an
 * earlier one of the patch. Without such an element it is appended. `place` maps an element of both
 * lists, laid end to end, to its place in the result. */
static struct json *merge_elements(
	struct merger *m, const struct json *current, const struct json *patch, const struct lookup *l)
{
	if (!have_keys(m, current, l->merge_key) || !have_keys(m, patch, l->merge_key)) {
		return NULL;
	}
	struct json *all = concatenate(m, current, patch), *result = json_copy(m->arena, current);
	uint32_t *place = arena_array(m->arena, uint32_t, all->n);
	struct order order;
	order_build(&order, all, l->merge_key, m->arena);
	for (uint32_t i = 0; i < all->n; i++) {
		uint32_t first = order_find(&order, element_key(all->items[i], l->merge_key));
		if (i < current->n) {
			place[i] = i;
		} else if (first == i) {
			place[i] = result->n;
			json_append(m->arena, result, all->items[i]);
		} else {
			struct json **into = &result->items[place[first]];
			*into = merge_object(m, *into, all->items[i], l->type);
			if (!*into) {
				return NULL;
			}
		}
	}
	return result;
}

static struct json *merge_objects(
	struct merger *m, const struct json *current, const struct json *patch, const struct lookup *l)
{
	struct elements e;
	struct order deleted;
	if (!*l->merge_key) {
		return merger_fail(m, "cannot merge lists without merge key for %s", go_kinds[l->type->kind]);
	}
	if (!sort_elements(m, patch, l->merge_key, &e)) {
		return NULL;
	}
	order_build(&deleted, e.deleted, l->merge_key, m->arena);

	struct json *server = e.is_replacement ? e.plain : subtract(m, current, &deleted, l->merge_key);
	struct json *changes = e.is_replacement ? json_array(m->arena) : e.plain;
	struct json *merged = merge_elements(m, server, changes, l);
	return merged ? order_arrange(merged, changes, server, l->merge_key, m->arena) : NULL;
}

/* Returns whether all elements of both lists are of one kind that can be merged. */
static bool find_element_kind(struct merger *m, const struct json *a, const struct json *b, enum json_kind *ret)
{
	const struct json *first = a->n ? a->items[0] : b->n ? b->items[0] : NULL;
	if (!first || json_is(first, JSON_NULL)) {
		return merger_fail(m, "no elements in any of the given slices");
	}
	if (json_is(first, JSON_ARRAY)) {
		return fail_lists_of_lists(m);
	}
	for (uint32_t i = 0; i < a->n + b->n; i++) {
		const struct json *item = i < a->n ? a->items[i] : b->items[i - a->n];
		if (item->kind != first->kind) {
			return merger_fail(m, "list element types are not identical: [" STR_FMT " " STR_FMT "]",
				STR_ARG(merger_show(m, a)), STR_ARG(merger_show(m, b)));
		}
	}
	*ret = first->kind;
	return true;
}

static struct json *merge_list(
	struct merger *m, struct json *current, struct json *patch, const struct lookup *l, bool is_deletion)
{
	enum json_kind kind;
	if (!l->is_merged && !is_deletion) {
		return patch;
	}
	if (current->n == 0 && patch->n == 0) {
		return current;
	}
	if (!find_element_kind(m, current, patch, &kind)) {
		return NULL;
	}
	return kind == JSON_OBJECT ? merge_objects(m, current, patch, l) : merge_scalars(m, current, patch, is_deletion);
}

/* Objects. A patch's members are taken from an opened copy of it; one that has been dealt with becomes NULL. */

/* "x" of PREFIX/x. */
static bool cut_prefix(struct str name, const char *prefix, struct str *ret)
{
	struct str head;
	return str_cut(name, '/', &head, ret) && str_is(head, prefix);
}

static bool has_prefix(struct str name, const char *prefix)
{
	return str_starts(name, str_of(prefix));
}

static bool is_retained(const struct order *names, struct str name)
{
	const struct json key = {.kind = JSON_STRING, .text = name.p, .n = (uint32_t)name.n};
	return order_find(names, &key) != UINT32_MAX;
}

static bool names_retained(const struct order *names, const struct json *todo)
{
	for (uint32_t i = 0; i < todo->n; i++) {
		const struct json_member *member = &todo->members[i];
		bool is_exempt = !member->value || json_is(member->value, JSON_NULL) ||
			has_prefix(member->name, DELETE_PREFIX) || has_prefix(member->name, ORDER_PREFIX);
		if (!is_exempt && !is_retained(names, member->name)) {
			return false;
		}
	}
	return true;
}

static bool apply_retain_keys(struct merger *m, struct json *result, struct json *todo)
{
	struct order names;
	struct json **directive = open_find(todo, STR(RETAIN_KEYS));
	if (!directive) {
		return true;
	}
	struct json *list = *directive;
	*directive = NULL;
	if (!json_is(list, JSON_ARRAY) || !order_build(&names, list, "", m->arena) || !names_retained(&names, todo)) {
		return fail_format(m, "retainKeys");
	}

	uint32_t kept = 0;
	for (uint32_t i = 0; i < result->n; i++) {
		if (is_retained(&names, result->members[i].name)) {
			result->members[kept++] = result->members[i];
		}
	}
	result->n = kept;
	return true;
}

/* The elements of a patch's list must be in the order they are given, as far as that names them. */
static bool check_order(struct merger *m, const struct json *patch, const struct json *wanted, const char *merge_key)
{
	uint32_t i = 0, k = 0;
	if (patch->n == 0 || wanted->n == 0) {
		return true;
	}
	while (i < patch->n && k < wanted->n) {
		if (json_gets(patch->items[i], DIRECTIVE)) {
			i++;
			continue;
		}
		const struct json *key = element_key(patch->items[i], merge_key),
				  *other = element_key(wanted->items[k], merge_key);
		if (!key || !other) {
			return fail_merge_key(m, key ? wanted->items[k] : patch->items[i], merge_key);
		}
		i += json_equal(key, other);
		k++;
	}
	while (i < patch->n && is_directive(json_gets(patch->items[i], DIRECTIVE), "delete")) {
		i++;
	}
	if (i < patch->n) {
		return merger_fail(m,
			"The order in patch list:\n" STR_FMT "\n doesn't match " ORDER_PREFIX " list:\n" STR_FMT "\n",
			STR_ARG(merger_show(m, patch)), STR_ARG(merger_show(m, wanted)));
	}
	return true;
}

/* The list to be ordered, merged as usual; *ret is NULL when there is none. */
static bool merge_ordered(struct merger *m, struct json *current, struct json *patch, const struct lookup *l, struct json **ret)
{
	if (current && patch) {
		*ret = merge_list(m, current, patch, l, false);
		return *ret;
	}
	*ret = patch ? clean(&(struct cleaning){m, false}, patch) : current;
	return true;
}

static bool apply_order(struct merger *m, struct json *result, struct json *todo, struct str name, const struct json *wanted,
	const struct type *type)
{
	struct lookup l;
	enum json_kind kind;
	struct json **given = open_find(todo, name);
	struct json *patch = given ? *given : NULL, *current = open_get(result, name), *merged;
	struct json *none = json_array(m->arena);
	if ((patch && !json_is(patch, JSON_ARRAY)) || (current && !json_is(current, JSON_ARRAY))) {
		return merger_fail(m, "expected a list, but received something else: " STR_FMT, STR_ARG(name));
	}
	if (!look_up_list(m, type, name, &l) || !check_order(m, patch ? patch : none, wanted, l.merge_key) ||
		!merge_ordered(m, current, patch, &l, &merged)) {
		return false;
	}
	if (!merged) {
		return true;
	}
	if (!find_element_kind(m, current ? current : none, patch ? patch : none, &kind)) {
		return false;
	}
	merged = order_arrange(merged, wanted, current ? current : none, l.merge_key, m->arena);
	if (!merged) {
		return merger_fail(m, "an element of " STR_FMT " or its order does not contain declared merge key: %s",
			STR_ARG(name), l.merge_key);
	}
	if (given) {
		*given = NULL;
	}
	open_set(m->arena, result, name, merged);
	return true;
}

static bool apply_orders(struct merger *m, struct json *result, struct json *todo, const struct type *type)
{
	for (uint32_t i = 0; i < todo->n; i++) {
		struct json_member *member = &todo->members[i];
		struct str name;
		if (!member->value || !has_prefix(member->name, ORDER_PREFIX)) {
			continue;
		}
		const struct json *wanted = member->value;
		member->value = NULL;
		if (!json_is(wanted, JSON_ARRAY)) {
			return merger_fail(m, "expected a list, but received something else: " STR_FMT, STR_ARG(member->name));
		}
		if (!cut_prefix(member->name, ORDER_PREFIX, &name)) {
			return fail_format(m, "setElementOrder list");
		}
		if (!apply_order(m, result, todo, name, wanted, type)) {
			return false;
		}
	}
	return true;
}

/* Upstream keeps a field that the type does not describe as a Go map, which has no order. */
static struct json *merge_field_object(
	struct merger *m, const struct json *current, const struct json *patch, const struct type *type, struct str name)
{
	struct lookup l;
	if (!look_up(m, type, name, &l)) {
		return NULL;
	}
	struct json *merged = merge_object(m, current, patch, l.type);
	return merged && l.type->kind == TYPE_RAW ? open_deep(m->arena, merged, false) : merged;
}

static struct json *merge_field_list(
	struct merger *m, struct json *current, struct json *patch, const struct type *type, struct str name, bool is_deletion)
{
	struct lookup l;
	return look_up_list(m, type, name, &l) ? merge_list(m, current, patch, &l, is_deletion) : NULL;
}

static void set_or_remove(struct merger *m, struct json *result, struct str name, struct json *value)
{
	if (value) {
		open_set(m->arena, result, name, value);
	} else {
		open_remove(result, name);
	}
}

static bool merge_member(struct merger *m, struct json *result, struct str name, struct json *patch, const struct type *type)
{
	bool is_deletion = has_prefix(name, DELETE_PREFIX);
	if (is_deletion && !cut_prefix(name, DELETE_PREFIX, &name)) {
		return fail_format(m, "primitive list");
	}
	if (json_is(patch, JSON_NULL)) {
		open_remove(result, name);
		return true;
	}

	struct json *current = open_get(result, name), *merged;
	if (!current || current->kind != patch->kind) {
		if (!is_deletion) {
			set_or_remove(m, result, name, clean(&(struct cleaning){m, true}, patch));
		}
		return true;
	}
	switch (patch->kind) {
	case JSON_OBJECT:
		merged = merge_field_object(m, current, patch, type, name);
		break;
	case JSON_ARRAY:
		merged = merge_field_list(m, current, patch, type, name, is_deletion);
		break;
	default:
		merged = patch;
	}
	if (merged) {
		open_set(m->arena, result, name, merged);
	}
	return merged;
}

static struct json *apply_directive(struct merger *m, const struct json *directive, const struct json *patch)
{
	if (is_directive(directive, "delete")) {
		return json_object(m->arena);
	}
	if (!is_directive(directive, "replace")) {
		return fail_directive(m, directive, patch);
	}
	struct json *result = open_copy(m->arena, patch);
	open_remove(result, STR(DIRECTIVE));
	return result;
}

static struct json *merge_object(
	struct merger *m, const struct json *current, const struct json *patch, const struct type *type)
{
	const struct json *directive = json_gets(patch, DIRECTIVE);
	if (directive) {
		return apply_directive(m, directive, patch);
	}

	if (arena_is_full(m->arena)) {
		return fail_memory(m);
	}
	struct json *result = open_copy(m->arena, current), *todo = open_copy(m->arena, patch);
	if (!apply_retain_keys(m, result, todo) || !apply_orders(m, result, todo, type)) {
		return NULL;
	}
	for (uint32_t i = 0; i < todo->n; i++) {
		struct json_member *member = &todo->members[i];
		if (member->value && !merge_member(m, result, member->name, member->value, type)) {
			return NULL;
		}
	}
	return result;
}

int patch_strategic(struct json **ret, const struct json *doc, const struct json *patch, const struct type *schema,
	struct arena *a, struct status *st)
{
	assert(schema);
	struct merger m = {a, st};
	if (json_is(patch, JSON_NULL)) {
		patch = json_object(a);
	}
	if (!json_is(patch, JSON_OBJECT)) {
		status_bad_request(st, "json: cannot unmarshal the patch into Go value of type map[string]interface {}");
		return 1;
	}
	struct json *result = merge_object(&m, doc, patch, schema);
	if (result) {
		*ret = result;
	}
	return !result;
}
