/* sigs.k8s.io/structured-merge-diff/fieldpath: sets of paths, and their form fieldsV1. Sorted
 * arrays rather than maps: union, difference and comparison are walks through both, and the
 * order is the one in which upstream writes them. Shared parts are never changed, so the sets of
 * many managers cost little. */
#include "api/patch/fieldset.h"

#include <assert.h>
#include <stdlib.h>

/* Path elements. */

/* The digits that `s` begins with, behind a sign. */
static struct str leading_number(struct str s)
{
	size_t n = s.n && s.p[0] == '-' ? 1 : 0;
	while (n < s.n && s.p[n] >= '0' && s.p[n] <= '9') {
		n++;
	}
	return (struct str){s.p, n};
}

static int number_cmp(struct str a, struct str b)
{
	bool is_a_negative = a.p[0] == '-', is_b_negative = b.p[0] == '-';
	if (is_a_negative != is_b_negative) {
		return is_a_negative ? -1 : 1;
	}
	int r = a.n != b.n ? (a.n < b.n ? -1 : 1) : str_cmp(a, b);
	return is_a_negative ? -r : r;
}

static bool begins_number(struct str s)
{
	return s.n && (s.p[0] == '-' || (s.p[0] >= '0' && s.p[0] <= '9'));
}

/* Keys by their names and values one after the other, fewer before more; whole numbers by their size (value.Compare upstream). */
static int json_text_cmp(struct str a, struct str b)
{
	bool is_in_string = false;
	size_t i = 0;
	while (i < a.n && i < b.n) {
		struct str x = {a.p + i, a.n - i}, y = {b.p + i, b.n - i};
		bool is_fraction = i && a.p[i - 1] == '.';
		if (!is_in_string && !is_fraction && begins_number(x) && begins_number(y)) {
			x = leading_number(x);
			y = leading_number(y);
			if (!str_eq(x, y)) {
				return number_cmp(x, y);
			}
			i += x.n;
			continue;
		}
		if (x.p[0] != y.p[0]) {
			bool is_end = !is_in_string && (x.p[0] == '}' || y.p[0] == '}');
			return (is_end ? x.p[0] == '}' : (unsigned char)x.p[0] < (unsigned char)y.p[0]) ? -1 : 1;
		}
		is_in_string ^= x.p[0] == '"';
		i += is_in_string && x.p[0] == '\\' && i + 1 < a.n && i + 1 < b.n && y.p[1] == x.p[1] ? 2 : 1;
	}
	return a.n == b.n ? 0 : a.n < b.n ? -1 : 1;
}

int path_element_cmp(struct path_element a, struct path_element b)
{
	if (a.kind != b.kind) {
		return a.kind < b.kind ? -1 : 1;
	}
	if (a.kind == PATH_INDEX && a.text.n != b.text.n) {
		return a.text.n < b.text.n ? -1 : 1;
	}
	return a.kind == PATH_KEY || a.kind == PATH_VALUE ? json_text_cmp(a.text, b.text) : str_cmp(a.text, b.text);
}

static struct str encode(const struct json *j, struct arena *a)
{
	struct buf text;
	buf_init(&text, TEXT_MAX);
	json_encode(&text, j);
	struct str encoded = arena_dup(a, buf_str(&text));
	buf_done(&text);
	return encoded;
}

/* A scalar without the client's spelling, so that equal values have one text. */
static struct json *plain_scalar(const struct json *j, struct arena *a)
{
	return j->kind == JSON_STRING ? json_string(a, json_text(j)) : json_copy(a, j);
}

static int compare_members(const void *x, const void *y)
{
	const struct json_member *a = x, *b = y;
	return str_cmp(a->name, b->name);
}

/* Keys in the order of their names. */
static struct path_element key_element(struct json *keys, struct arena *a)
{
	if (keys->n > 1) {
		qsort(keys->members, keys->n, sizeof(*keys->members), compare_members);
	}
	return (struct path_element){PATH_KEY, encode(keys, a)};
}

/* A key that is left out has its default; texts that are always written have the empty one. */
static const struct json *key_value(const struct type *item_type, const struct json *item, const char *name, struct arena *a)
{
	const struct json *v = json_gets(item, name);
	const struct field *f = type_field(item_type, str_of(name));
	if (v || !f) {
		return v;
	}
	if (f->default_json && !(f->flags & FIELD_SILENT_DEFAULT)) {
		struct json *fallback;
		size_t at;
		return json_parse(&fallback, a, str_of(f->default_json), JSON_LIMITS_DEFAULT, &at) == 0 ? fallback : NULL;
	}
	return f->type->kind == TYPE_STRING && f->flags & FIELD_ALWAYS ? json_string(a, STR("")) : NULL;
}

static struct str omits_keys_error(const struct type *list, struct arena *a)
{
	struct buf names;
	buf_init(&names, TEXT_MAX);
	for (const char *const *key = list->list_keys; *key; key++) {
		buf_adds(&names, key == list->list_keys ? "" : " ");
		buf_add_str(&names, go_quote(a, str_of(*key)));
	}
	struct str error = arena_printf(a,
		"associative list with keys has an element that omits all key fields [" STR_FMT
		"] (and doesn't have default values for any key fields)",
		STR_ARG(buf_str(&names)));
	buf_done(&names);
	return error;
}

static bool element_by_keys(
	struct path_element *ret, const struct type *list, const struct json *item, struct arena *a, struct str *ret_error)
{
	if (item->kind != JSON_OBJECT) {
		*ret_error = item->kind == JSON_NULL ? STR("associative list with keys may not have a null element")
						     : STR("associative list with keys may not have non-map elements");
		return false;
	}
	struct json *keys = json_object(a);
	for (const char *const *key = list->list_keys; *key; key++) {
		const struct json *v = key_value(list->elem, item, *key, a);
		if (v) {
			json_add(a, keys, str_of(*key), plain_scalar(v, a));
		}
	}
	if (!keys->n) {
		*ret_error = omits_keys_error(list, a);
		return false;
	}
	*ret = key_element(keys, a);
	return true;
}

static bool element_by_value(struct path_element *ret, const struct json *item, struct arena *a, struct str *ret_error)
{
	switch (item->kind) {
	case JSON_OBJECT:
		*ret_error = STR("associative list without keys has an element that's a map type");
		return false;
	case JSON_ARRAY:
		*ret_error = STR("not supported: associative list with lists as elements");
		return false;
	case JSON_NULL:
		*ret_error = STR("associative list without keys has an element that's an explicit null");
		return false;
	default:
		*ret = (struct path_element){PATH_VALUE, encode(plain_scalar(item, a), a)};
		return true;
	}
}

bool path_element_of_item(
	struct path_element *ret, const struct type *list, const struct json *item, struct arena *a, struct str *ret_error)
{
	assert(list->list_type != LIST_ATOMIC);
	return list->list_type == LIST_MAP ? element_by_keys(ret, list, item, a, ret_error)
					   : element_by_value(ret, item, a, ret_error);
}

static struct json *parse(struct str text, struct arena *a)
{
	struct json *j;
	size_t at;
	return json_parse(&j, a, text, JSON_LIMITS_DEFAULT, &at) == 0 ? j : NULL;
}

static void print_value(struct buf *out, const struct json *v, struct arena *a)
{
	if (json_is(v, JSON_STRING)) {
		buf_add_str(out, go_quote(a, json_text(v)));
	} else {
		json_encode(out, v);
	}
}

static void print_element(struct buf *out, struct path_element e, struct arena *a)
{
	if (e.kind == PATH_FIELD) {
		buf_addc(out, '.');
		buf_add_str(out, e.text);
		return;
	}
	const struct json *v = parse(e.text, a);
	buf_addc(out, '[');
	if (e.kind == PATH_KEY) {
		for (uint32_t i = 0; v && i < v->n; i++) {
			buf_adds(out, i ? "," : "");
			buf_add_str(out, v->members[i].name);
			buf_addc(out, '=');
			print_value(out, v->members[i].value, a);
		}
	} else if (v) {
		buf_adds(out, e.kind == PATH_VALUE ? "=" : "");
		print_value(out, v, a);
	}
	buf_addc(out, ']');
}

static void print_path(struct buf *out, const struct path *p, struct arena *a)
{
	if (p) {
		print_path(out, p->up, a);
		print_element(out, p->element, a);
	}
}

struct str path_print(const struct path *p, struct arena *a)
{
	struct buf text;
	buf_init(&text, TEXT_MAX);
	print_path(&text, p, a);
	struct str printed = arena_dup(a, buf_str(&text));
	buf_done(&text);
	return printed;
}

/* Sets. */

struct field_set *field_set_new(struct arena *a)
{
	return arena_new(a, struct field_set);
}

/* Where e is, or would be. */
static uint32_t lower_bound(const struct field_set *s, struct path_element e, bool *ret_found)
{
	uint32_t low = 0, high = s->n;
	*ret_found = false;
	/* Paths mostly come in order: appending needs no search. */
	if (s->n && path_element_cmp(s->v[s->n - 1].element, e) < 0) {
		return s->n;
	}
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		int r = path_element_cmp(s->v[middle].element, e);
		if (r == 0) {
			*ret_found = true;
			return middle;
		}
		if (r < 0) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

static void make_room(struct field_set *s, struct arena *a)
{
	if (s->n < s->cap) {
		return;
	}
	uint32_t cap = MAX(2 * s->cap, 4U);
	struct field_node *v = arena_array(a, struct field_node, cap);
	if (s->n) {
		memcpy(v, s->v, s->n * sizeof(*v));
	}
	s->v = v;
	s->cap = cap;
}

static struct field_node *find_or_add(struct field_set *s, struct path_element e, struct arena *a)
{
	bool is_found;
	uint32_t at = lower_bound(s, e, &is_found);
	assert(is_found ? at < s->n : at <= s->n);
	if (!is_found) {
		make_room(s, a);
		memmove(s->v + at + 1, s->v + at, (s->n - at) * sizeof(*s->v));
		s->v[at] = (struct field_node){.element = e};
		s->n++;
	}
	return &s->v[at];
}

static struct field_set *descend(struct field_set *s, const struct path *p, struct arena *a)
{
	if (!p) {
		return s;
	}
	struct field_node *node = find_or_add(descend(s, p->up, a), p->element, a);
	if (!node->children) {
		node->children = field_set_new(a);
	}
	return node->children;
}

void field_set_insert(struct field_set *s, const struct path *p, struct arena *a)
{
	if (p) {
		find_or_add(descend(s, p->up, a), p->element, a)->is_member = true;
	}
}

const struct field_node *field_set_find(const struct field_set *s, struct path_element e)
{
	if (!s) {
		return NULL;
	}
	bool is_found;
	uint32_t at = lower_bound(s, e, &is_found);
	return is_found ? &s->v[at] : NULL;
}

/* Appends a node whose element is greater than all others; one without paths is left out. */
static void append(struct field_set *s, struct field_node node, struct arena *a)
{
	assert(s->n == 0 || path_element_cmp(s->v[s->n - 1].element, node.element) < 0); /* sets are sorted */
	if (field_set_is_empty(node.children)) {
		node.children = NULL;
	}
	if (node.is_member || node.children) {
		assert(!s->n || path_element_cmp(s->v[s->n - 1].element, node.element) < 0);
		make_room(s, a);
		s->v[s->n++] = node;
	}
}

static struct field_set *or_null(struct field_set *s)
{
	return field_set_is_empty(s) ? NULL : s;
}

struct field_set *field_set_union(struct field_set *x, struct field_set *y, struct arena *a)
{
	if (field_set_is_empty(x) || field_set_is_empty(y)) {
		return or_null(field_set_is_empty(x) ? y : x);
	}
	struct field_set *out = field_set_new(a);
	uint32_t i = 0, k = 0;
	while (i < x->n || k < y->n) {
		int r = i == x->n ? 1 : k == y->n ? -1 : path_element_cmp(x->v[i].element, y->v[k].element);
		if (r < 0) {
			append(out, x->v[i++], a);
		} else if (r > 0) {
			append(out, y->v[k++], a);
		} else {
			struct field_node node = x->v[i];
			node.is_member = x->v[i].is_member || y->v[k].is_member;
			node.children = field_set_union(x->v[i++].children, y->v[k++].children, a);
			append(out, node, a);
		}
	}
	return out;
}

struct field_set *field_set_intersection(const struct field_set *x, const struct field_set *y, struct arena *a)
{
	if (field_set_is_empty(x) || field_set_is_empty(y)) {
		return NULL;
	}
	struct field_set *out = field_set_new(a);
	for (uint32_t i = 0, k = 0; i < x->n && k < y->n;) {
		int r = path_element_cmp(x->v[i].element, y->v[k].element);
		if (r == 0) {
			struct field_node node = x->v[i];
			node.is_member = x->v[i].is_member && y->v[k].is_member;
			node.children = field_set_intersection(x->v[i].children, y->v[k].children, a);
			append(out, node, a);
		}
		i += r <= 0;
		k += r >= 0;
	}
	return or_null(out);
}

struct field_set *field_set_difference(struct field_set *x, const struct field_set *y, struct arena *a)
{
	if (field_set_is_empty(x) || field_set_is_empty(y)) {
		return or_null(x);
	}
	struct field_set *out = field_set_new(a);
	for (uint32_t i = 0, k = 0; i < x->n;) {
		int r = k == y->n ? -1 : path_element_cmp(x->v[i].element, y->v[k].element);
		if (r < 0) {
			append(out, x->v[i], a);
		} else if (r == 0) {
			struct field_node node = x->v[i];
			node.is_member = x->v[i].is_member && !y->v[k].is_member;
			node.children = field_set_difference(x->v[i].children, y->v[k].children, a);
			append(out, node, a);
		}
		i += r <= 0;
		k += r >= 0;
	}
	return or_null(out);
}

static struct field_set *without_path(struct field_set *s, struct str path, struct arena *a)
{
	struct str name, rest;
	bool is_further = str_cut(path, '.', &name, &rest);
	if (field_set_is_empty(s)) {
		return NULL;
	}
	struct field_set *out = field_set_new(a);
	for (uint32_t i = 0; i < s->n; i++) {
		struct field_node node = s->v[i];
		if (node.element.kind == PATH_FIELD && str_eq(node.element.text, name)) {
			node.is_member = node.is_member && is_further;
			node.children = is_further ? without_path(node.children, rest, a) : NULL;
		}
		append(out, node, a);
	}
	return or_null(out);
}

struct field_set *field_set_without(struct field_set *s, const char *const *names, struct arena *a)
{
	for (; names && *names; names++) {
		s = without_path(s, str_of(*names), a);
	}
	return or_null(s);
}

/* The type behind an element of something of type t, or NULL. */
static const struct type *type_behind(const struct type *t, struct path_element e)
{
	if (!t) {
		return NULL;
	}
	if (e.kind == PATH_FIELD && t->kind == TYPE_OBJECT) {
		const struct field *f = type_field(t, e.text);
		return f ? f->type : NULL;
	}
	bool fits = (e.kind == PATH_FIELD && t->kind == TYPE_MAP) || (e.kind == PATH_KEY && t->kind == TYPE_LIST);
	return fits ? t->elem : NULL;
}

struct field_set *field_set_with_fields(const struct field_set *s, const struct type *type, struct arena *a)
{
	if (field_set_is_empty(s)) {
		return NULL;
	}
	struct field_set *out = field_set_new(a);
	for (uint32_t i = 0; i < s->n; i++) {
		struct field_node node = s->v[i];
		const struct type *behind = type_behind(type, node.element);
		bool is_declared = behind && type->kind == TYPE_OBJECT && !type_has_unowned(behind);
		node.is_member = node.is_member || (is_declared && node.children);
		node.children = field_set_with_fields(node.children, behind, a);
		append(out, node, a);
	}
	return out;
}

static void each_below(
	const struct field_set *s, const struct path *up, void (*each)(void *data, const struct path *p), void *data)
{
	for (uint32_t i = 0; s && i < s->n; i++) {
		if (s->v[i].is_member) {
			each(data, &(struct path){up, s->v[i].element});
		}
	}
	for (uint32_t i = 0; s && i < s->n; i++) {
		each_below(s->v[i].children, &(struct path){up, s->v[i].element}, each, data);
	}
}

void field_set_each(const struct field_set *s, void (*each)(void *data, const struct path *p), void *data)
{
	each_below(s, NULL, each, data);
}

/* fieldsV1. */

static const char element_letters[] = {[PATH_FIELD] = 'f', [PATH_KEY] = 'k', [PATH_VALUE] = 'v', [PATH_INDEX] = 'i'};

static struct str element_to_text(struct path_element e, struct arena *a)
{
	char *p = arena_text(a, e.text.n + 2);
	p[0] = element_letters[e.kind];
	p[1] = ':';
	if (e.text.n) {
		memcpy(p + 2, e.text.p, e.text.n);
	}
	return (struct str){p, e.text.n + 2};
}

static struct json *set_to_json(const struct field_set *s, bool with_self, struct arena *a)
{
	struct json *out = json_object(a);
	if (with_self && !field_set_is_empty(s)) {
		json_add(a, out, STR("."), json_object(a));
	}
	for (uint32_t i = 0; s && i < s->n; i++) {
		json_add(a, out, element_to_text(s->v[i].element, a), set_to_json(s->v[i].children, s->v[i].is_member, a));
	}
	return out;
}

struct json *field_set_to_json(const struct field_set *s, struct arena *a)
{
	return set_to_json(s, false, a);
}

static bool keys_from_text(struct path_element *ret, struct str text, struct arena *a)
{
	const struct json *given = parse(text, a);
	if (!json_is(given, JSON_OBJECT)) {
		return false;
	}
	struct json *keys = json_object(a);
	for (uint32_t i = 0; i < given->n; i++) {
		json_add(a, keys, given->members[i].name, plain_scalar(given->members[i].value, a));
	}
	*ret = key_element(keys, a);
	return true;
}

static bool value_from_text(struct path_element *ret, struct str text, struct arena *a)
{
	const struct json *given = parse(text, a);
	if (!given) {
		return false;
	}
	*ret = (struct path_element){PATH_VALUE, encode(plain_scalar(given, a), a)};
	return true;
}

static bool index_from_text(struct path_element *ret, struct str text, struct arena *a)
{
	int64_t n;
	if (!str_to_int64(text, &n)) {
		return false;
	}
	*ret = (struct path_element){PATH_INDEX, arena_printf(a, "%lld", (long long)n)};
	return true;
}

/* Unknown letters are skipped, as upstream does, so that a later Kubernetes may add some. */
enum parsed { PARSED_BAD, PARSED_UNKNOWN, PARSED };

static enum parsed element_from_text(struct path_element *ret, struct str text, struct arena *a)
{
	if (text.n < 2 || text.p[1] != ':') {
		return PARSED_BAD;
	}
	struct str rest = {text.p + 2, text.n - 2};
	switch (text.p[0]) {
	case 'f':
		*ret = (struct path_element){PATH_FIELD, rest};
		return PARSED;
	case 'k':
		return keys_from_text(ret, rest, a) ? PARSED : PARSED_BAD;
	case 'v':
		return value_from_text(ret, rest, a) ? PARSED : PARSED_BAD;
	case 'i':
		return index_from_text(ret, rest, a) ? PARSED : PARSED_BAD;
	default:
		return PARSED_UNKNOWN;
	}
}

static bool set_from_json(struct field_set **ret, bool *ret_is_member, const struct json *in, struct arena *a);

static int compare_nodes(const void *x, const void *y)
{
	const struct field_node *a = x, *b = y;
	return path_element_cmp(a->element, b->element);
}

/* Clients send nodes in any order, and some twice. */
static struct field_set *set_of_nodes(struct field_node *v, uint32_t n, struct arena *a)
{
	struct field_set *out = field_set_new(a);
	qsort(v, n, sizeof(*v), compare_nodes);
	for (uint32_t i = 0; i < n; i++) {
		struct field_node node = v[i];
		for (; i + 1 < n && path_element_cmp(node.element, v[i + 1].element) == 0; i++) {
			node.is_member = node.is_member || v[i + 1].is_member;
			node.children = field_set_union(node.children, v[i + 1].children, a);
		}
		append(out, node, a);
	}
	return or_null(out);
}

static bool nodes_from_json(struct field_node *v, uint32_t *ret_n, bool *ret_has_self, const struct json *in, struct arena *a)
{
	for (uint32_t i = 0; i < in->n; i++) {
		struct field_node *node = &v[*ret_n];
		if (str_is(in->members[i].name, ".")) {
			*ret_has_self = true;
			continue;
		}
		switch (element_from_text(&node->element, in->members[i].name, a)) {
		case PARSED_BAD:
			return false;
		case PARSED_UNKNOWN:
			continue;
		case PARSED:
			break;
		}
		if (!set_from_json(&node->children, &node->is_member, in->members[i].value, a)) {
			return false;
		}
		++*ret_n;
	}
	return true;
}

/* An element without further elements is itself a member; one with some only if it says so with ".". */
static bool set_from_json(struct field_set **ret, bool *ret_is_member, const struct json *in, struct arena *a)
{
	uint32_t n = 0;
	*ret = NULL;
	*ret_is_member = false;
	if (in->kind != JSON_OBJECT && in->kind != JSON_NULL) {
		return false;
	}
	if (in->kind == JSON_OBJECT && in->n) {
		struct field_node *v = arena_array(a, struct field_node, in->n);
		if (!nodes_from_json(v, &n, ret_is_member, in, a)) {
			return false;
		}
		*ret = set_of_nodes(v, n, a);
	}
	if (!*ret) {
		*ret_is_member = true;
	}
	return true;
}

bool field_set_from_json(struct field_set **ret, const struct json *in, struct arena *a)
{
	bool is_member;
	return set_from_json(ret, &is_member, in, a);
}
