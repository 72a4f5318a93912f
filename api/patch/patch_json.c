/* JSON patches and merge patches with the habits of evanphx/json-patch v4.
 *
 * RFC 6902: "replace" and "copy" take a missing member of an object for null, indexes may be
 * negative, and text before the first '/' of a pointer is ignored. A patch fails as a whole, and
 * without saying why. */
#include "api/model/patch_tree.h"
#include "api/patch/patch.h"

/* The tree is copied along the ways that operations take, each node once: a copy carries the mark of this run, and may be
 * changed. A node without it belongs to the document or the patch. */
struct edit {
	struct arena *arena;
	struct json *root;
	const char *mark; /* lives as long as the nodes */
	size_t copied;    /* bytes, by "copy" operations */
	size_t moved;     /* members and elements that may have had to make room, or to close up */
};

/* Ten thousand insertions at the head of a list of a million would take ten seconds. */
enum { MAX_MOVED = 1 << 28 };

struct operation {
	const struct json *op, *path, *from;
	struct json *value; /* NULL: not given */
};

/* A member or element, or where one would be. */
struct place {
	struct json *container;
	struct str key;
};

static bool is_mine(const struct edit *e, const struct json *j)
{
	return j->source.p == e->mark;
}

static bool is_container(const struct json *j)
{
	return json_is(j, JSON_OBJECT) || json_is(j, JSON_ARRAY);
}

static struct json *or_null(struct edit *e, struct json *value)
{
	return value ? value : json_null(e->arena);
}

/* Pointers. */

/* "~1" is '/', "~0" is '~', any other '~' is itself. */
static struct str unescape(struct edit *e, struct str token)
{
	if (!token.n || !memchr(token.p, '~', token.n)) {
		return token;
	}
	char *text = arena_text(e->arena, token.n);
	size_t n = 0;
	for (size_t i = 0; i < token.n; i++) {
		text[n] = token.p[i];
		if (token.p[i] == '~' && i + 1 < token.n && (token.p[i + 1] == '0' || token.p[i + 1] == '1')) {
			text[n] = token.p[++i] == '0' ? '~' : '/';
		}
		n++;
	}
	return (struct str){text, n};
}

/* Finds the element that a key names, among n elements or places for one. */
static bool find_index(struct str key, uint32_t n, uint32_t *ret)
{
	int64_t index;
	if (!str_to_int64(key, &index) || index < -(int64_t)n || index >= n) {
		return false;
	}
	*ret = (uint32_t)(index < 0 ? index + n : index);
	return true;
}

/* False where a container cannot have such a key; *ret is NULL where an object just has none. */
static bool edit_get(const struct edit *e, const struct json *container, struct str key, struct json **ret)
{
	uint32_t i;
	if (json_is(container, JSON_ARRAY)) {
		bool is_found = find_index(key, container->n, &i);
		*ret = is_found ? container->items[i] : NULL;
		return is_found;
	}
	*ret = is_mine(e, container) ? open_get(container, key) : json_get(container, key);
	return true;
}

static void edit_put(struct edit *e, struct json *container, struct str key, struct json *value)
{
	uint32_t i;
	if (json_is(container, JSON_OBJECT)) {
		open_set(e->arena, container, key, value);
	} else if (find_index(key, container->n, &i)) {
		container->items[i] = value;
	}
}

static struct json *edit_own(struct edit *e, struct json *j)
{
	if (!is_mine(e, j)) {
		j = open_copy(e->arena, j);
		j->source = (struct str){e->mark, 0};
	}
	return j;
}

/* Finds the place that a pointer names. for_change: copies the containers on the way there, so that they
 * may be changed. */
static bool edit_find(struct edit *e, const struct json *pointer, bool for_change, struct place *ret)
{
	struct str before, rest, token;
	if (!str_cut(json_text(pointer), '/', &before, &rest) || !is_container(e->root)) {
		return false;
	}
	if (for_change) {
		e->root = edit_own(e, e->root);
	}
	struct json *at = e->root;
	while (str_cut(rest, '/', &token, &rest)) {
		struct json *next;
		struct str key = unescape(e, token);
		if (!edit_get(e, at, key, &next) || !is_container(next)) {
			return false;
		}
		if (for_change) {
			next = edit_own(e, next);
			edit_put(e, at, key, next);
		}
		at = next;
	}
	*ret = (struct place){at, unescape(e, token)};
	return true;
}

static bool may_move(struct edit *e, const struct place *at)
{
	e->moved += at->container->n;
	return e->moved <= MAX_MOVED;
}

static bool place_add(struct edit *e, const struct place *at, struct json *value)
{
	uint32_t i = at->container->n;
	if (!may_move(e, at)) {
		return false;
	}
	if (json_is(at->container, JSON_OBJECT)) {
		open_set(e->arena, at->container, at->key, value);
		return true;
	}
	if (!str_is(at->key, "-") && !find_index(at->key, at->container->n + 1, &i)) {
		return false;
	}
	json_insert(e->arena, at->container, i, value);
	return true;
}

static bool place_remove(struct edit *e, const struct place *at)
{
	uint32_t i;
	if (!may_move(e, at)) {
		return false;
	}
	if (json_is(at->container, JSON_OBJECT)) {
		return open_remove(at->container, at->key);
	}
	if (!find_index(at->key, at->container->n, &i)) {
		return false;
	}
	json_remove_at(at->container, i);
	return true;
}

/* Copying. The copy shares nodes with its original, so neither may be changed in place any more. */

/* The size of a value's text, or more than `max` when it is that, or too deep. */
static size_t measure(const struct json *j, size_t max, unsigned depth)
{
	if (j->source.n > 0) {
		return j->source.n;
	}
	if (depth > PATCH_MAX_DEPTH) {
		return max + 1;
	}
	size_t n = 2;
	switch (j->kind) {
	case JSON_OBJECT:
		for (uint32_t i = 0; i < j->n && n <= max; i++) {
			n += j->members[i].name.n + 4 + measure(j->members[i].value, max, depth + 1);
		}
		return n;
	case JSON_ARRAY:
		for (uint32_t i = 0; i < j->n && n <= max; i++) {
			n += 1 + measure(j->items[i], max, depth + 1);
		}
		return n;
	default:
		return n + json_text(j).n;
	}
}

static void edit_disown(const struct edit *e, struct json *j)
{
	if (!is_mine(e, j)) {
		return;
	}
	j->source.p = NULL;
	for (uint32_t i = 0; i < j->n; i++) {
		edit_disown(e, json_is(j, JSON_OBJECT) ? j->members[i].value : j->items[i]);
	}
}

static bool edit_share(struct edit *e, struct json *value)
{
	e->copied += measure(value, PATCH_MAX_COPY_BYTES, 0);
	if (e->copied > PATCH_MAX_COPY_BYTES) {
		return false;
	}
	edit_disown(e, value);
	return true;
}

/* Operations. */

static bool edit_add(struct edit *e, const struct operation *o)
{
	struct place at;
	return edit_find(e, o->path, true, &at) && place_add(e, &at, or_null(e, o->value));
}

static bool edit_remove(struct edit *e, const struct operation *o)
{
	struct place at;
	return edit_find(e, o->path, true, &at) && place_remove(e, &at);
}

static bool edit_replace_root(struct edit *e, struct json *value)
{
	if (!is_container(value)) {
		return false;
	}
	e->root = value;
	return true;
}

static bool edit_replace(struct edit *e, const struct operation *o)
{
	struct place at;
	struct json *old;
	if (json_is(o->path, JSON_STRING) && o->path->n == 0) {
		return edit_replace_root(e, o->value);
	}
	if (!edit_find(e, o->path, true, &at) || !edit_get(e, at.container, at.key, &old)) {
		return false;
	}
	edit_put(e, at.container, at.key, or_null(e, o->value));
	return true;
}

static bool edit_move(struct edit *e, const struct operation *o)
{
	struct place from, to;
	struct json *value;
	return edit_find(e, o->from, true, &from) && edit_get(e, from.container, from.key, &value) && place_remove(e, &from) &&
		edit_find(e, o->path, true, &to) && place_add(e, &to, value);
}

static bool edit_copy(struct edit *e, const struct operation *o)
{
	struct place from, to;
	struct json *value;
	if (!edit_find(e, o->from, false, &from) || !edit_get(e, from.container, from.key, &value)) {
		return false;
	}
	value = or_null(e, value);
	return edit_share(e, value) && edit_find(e, o->path, true, &to) && place_add(e, &to, value);
}

static bool is_null(const struct json *j)
{
	return !j || json_is(j, JSON_NULL);
}

static bool edit_test(struct edit *e, const struct operation *o)
{
	struct place at;
	struct json *value;
	if (json_is(o->path, JSON_STRING) && o->path->n == 0) {
		return json_equal(e->root, o->value);
	}
	if (!edit_find(e, o->path, false, &at) || !edit_get(e, at.container, at.key, &value)) {
		return false;
	}
	return is_null(value) ? is_null(o->value) : json_equal(value, o->value);
}

static const struct edit_verb {
	const char *op;
	bool (*run)(struct edit *e, const struct operation *o);
} verbs[] = {
	{"add", edit_add},
	{"copy", edit_copy},
	{"move", edit_move},
	{"remove", edit_remove},
	{"replace", edit_replace},
	{"test", edit_test},
};

static bool edit_run(struct edit *e, const struct json *operation)
{
	struct operation o = {
		.op = json_gets(operation, "op"),
		.path = json_gets(operation, "path"),
		.from = json_gets(operation, "from"),
		.value = json_gets(operation, "value"),
	};
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (json_is(o.op, JSON_STRING) && str_is(json_text(o.op), verbs[i].op)) {
			return verbs[i].run(e, &o);
		}
	}
	return false;
}

/* A value of n bytes is at most n / 2 deep, so most need no look inside. */
static bool is_shallow(const struct json *j, unsigned depth)
{
	if (!is_container(j) || (j->source.n > 0 && depth + j->source.n / 2 <= PATCH_MAX_DEPTH)) {
		return true;
	}
	if (depth >= PATCH_MAX_DEPTH) {
		return false;
	}
	for (uint32_t i = 0; i < j->n; i++) {
		if (!is_shallow(json_is(j, JSON_OBJECT) ? j->members[i].value : j->items[i], depth + 1)) {
			return false;
		}
	}
	return true;
}

int patch_json(struct json **ret, const struct json *doc, const struct json *patch, struct arena *a, struct status *st)
{
	struct edit e = {.arena = a, .root = (struct json *)doc, .mark = arena_text(a, 1)};
	uint32_t n = json_is(patch, JSON_ARRAY) ? patch->n : 0;
	for (uint32_t i = 0; i < n; i++) {
		if (!edit_run(&e, patch->items[i])) {
			patch_refuse(st);
			return 1;
		}
		if (arena_is_full(a)) {
			patch_refuse_memory(st);
			return 1;
		}
	}
	if (!is_shallow(e.root, 0)) {
		patch_refuse(st);
		return 1;
	}
	*ret = e.root;
	return 0;
}

/* ---- merge patches ----
 *
 * RFC 7396. Where the RFC leaves no room the two agree; the library also keeps nulls inside a
 * list that replaces an object, and drops them from objects in lists elsewhere. */

static struct json *merge_objects(const struct json *current, const struct json *patch, struct arena *a);

static struct json *merge(const struct json *current, struct json *patch, struct arena *a)
{
	if (!json_is(current, JSON_OBJECT)) {
		return open_deep(a, patch, true);
	}
	if (!json_is(patch, JSON_OBJECT)) {
		return patch;
	}
	return merge_objects(current, patch, a);
}

static void merge_member(struct json *result, struct str name, struct json *patch, struct arena *a)
{
	if (json_is(patch, JSON_NULL)) {
		open_remove(result, name);
	} else {
		open_set(a, result, name, merge(open_get(result, name), patch, a));
	}
}

/* If several members have the same name, only the last counts: null followed by a value must not remove. */
static struct json *merge_objects(const struct json *current, const struct json *patch, struct arena *a)
{
	struct json *result = open_copy(a, current);
	const struct json *members = open_copy(a, patch);
	for (uint32_t i = 0; i < members->n; i++) {
		merge_member(result, members->members[i].name, members->members[i].value, a);
	}
	return result;
}

int patch_merge(struct json **ret, const struct json *doc, const struct json *patch, struct arena *a, struct status *st)
{
	if (!json_is(patch, JSON_OBJECT)) {
		status_bad_request(st, "Invalid JSON Patch");
		return 1;
	}
	*ret = merge_objects(doc, patch, a);
	return 0;
}
