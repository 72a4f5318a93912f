/* Decides which manager owns which field after a create or update:
 * k8s.io/apimachinery/pkg/util/managedfields. Managers of different versions are each compared at
 * their own version, since a field may have another name or place there. */
#include "api/patch/managed.h"
#include "api/patch/managers.h"

#include <assert.h>
#include <stdlib.h>

enum {
	/* Upstream's DefaultMaxUpdateManagers: controllers with changing names would fill each
	 * object. */
	UPDATERS_MAX = 10,
	ENTRIES_MAX = 1000,     /* of one object: each costs a comparison on every write, and honest clients make far fewer */
	MANAGER_NAME_MAX = 128, /* bytes */
};

/* Entries. */

void managers_init(struct managers *m, struct arena *a)
{
	*m = (struct managers){.arena = a};
}

static bool is_same_manager(const struct manager *a, const struct manager *b)
{
	return a->is_apply == b->is_apply && str_eq(a->name, b->name) && str_eq(a->subresource, b->subresource) &&
		(a->is_apply || str_eq(a->api_version, b->api_version));
}

struct manager *managers_find(struct managers *m, const struct manager *like)
{
	for (size_t i = 0; i < m->n; i++) {
		if (is_same_manager(&m->v[i], like)) {
			return &m->v[i];
		}
	}
	return NULL;
}

/* Adds an empty entry, to be filled in. */
static struct manager *managers_append(struct managers *m)
{
	if (m->n == m->cap) {
		size_t cap = MAX(2 * m->cap, (size_t)4);
		struct manager *v = arena_array(m->arena, struct manager, cap);
		if (m->n) {
			memcpy(v, m->v, m->n * sizeof(*v));
		}
		m->v = v;
		m->cap = cap;
	}
	return &m->v[m->n++];
}

struct manager *managers_want(struct managers *m, const struct manager *like)
{
	struct manager *found = managers_find(m, like);
	if (found) {
		return found;
	}
	found = managers_append(m);
	*found = *like;
	return found;
}

static void managers_remove_at(struct managers *m, size_t i)
{
	m->n--;
	memmove(m->v + i, m->v + i + 1, (m->n - i) * sizeof(*m->v));
}

static void managers_drop_empty(struct managers *m)
{
	for (size_t i = m->n; i-- > 0;) {
		if (field_set_is_empty(m->v[i].set)) {
			managers_remove_at(m, i);
		}
	}
}

static bool manager_decode(struct manager *ret, const struct json *entry, struct arena *a)
{
	struct str operation = json_text(json_gets(entry, "operation"));
	*ret = (struct manager){
		.name = json_text(json_gets(entry, "manager")),
		.api_version = json_text(json_gets(entry, "apiVersion")),
		.subresource = json_text(json_gets(entry, "subresource")),
		.time = json_text(json_gets(entry, "time")),
		.is_apply = str_is(operation, "Apply"),
	};
	const struct json *fields = json_gets(entry, "fieldsV1");
	return (ret->is_apply || str_is(operation, "Update")) && ret->api_version.n &&
		str_is(json_text(json_gets(entry, "fieldsType")), "FieldsV1") &&
		(!fields || field_set_from_json(&ret->set, fields, a));
}

bool managers_decode(struct managers *m, const struct json *in, struct arena *a)
{
	managers_init(m, a);
	if (in && in->n > ENTRIES_MAX) {
		return false;
	}
	for (uint32_t i = 0; in && i < in->n; i++) {
		struct manager entry;
		if (!manager_decode(&entry, in->items[i], a)) {
			managers_init(m, a);
			return false;
		}
		*managers_want(m, &entry) = entry;
	}
	return true;
}

static struct json *manager_encode(const struct manager *e, struct arena *a)
{
	struct json *out = json_object(a);
	json_add_text(a, out, STR("manager"), e->name);
	json_add_text(a, out, STR("operation"), e->is_apply ? STR("Apply") : STR("Update"));
	json_add_text(a, out, STR("apiVersion"), e->api_version);
	json_add_text(a, out, STR("time"), e->time);
	json_add_text(a, out, STR("fieldsType"), STR("FieldsV1"));
	json_add(a, out, STR("fieldsV1"), field_set_to_json(e->set, a));
	json_add_text(a, out, STR("subresource"), e->subresource);
	return out;
}

/* Times have one length, and none comes first. */
static int compare_managers(const void *x, const void *y)
{
	const struct manager *a = x, *b = y;
	const struct {
		struct str a, b;
	} by[] = {
		{a->time, b->time},
		{a->name, b->name},
		{a->api_version, b->api_version},
		{a->subresource, b->subresource},
	};
	if (a->is_apply != b->is_apply) {
		return a->is_apply ? -1 : 1;
	}
	for (size_t i = 0; i < ARRAY_SIZE(by); i++) {
		int r = str_cmp(by[i].a, by[i].b);
		if (r) {
			return r;
		}
	}
	return 0;
}

static void managers_sort(struct managers *m)
{
	if (m->n > 1) {
		qsort(m->v, m->n, sizeof(*m->v), compare_managers);
	}
}

struct json *managers_encode(struct managers *m)
{
	managers_sort(m);
	struct json *out = json_array(m->arena);
	for (size_t i = 0; i < m->n; i++) {
		json_append(m->arena, out, manager_encode(&m->v[i], m->arena));
	}
	return m->n ? out : NULL;
}

static size_t count_updaters(const struct managers *m)
{
	size_t n = 0;
	for (size_t i = 0; i < m->n; i++) {
		n += !m->v[i].is_apply;
	}
	return n;
}

/* The first entry of that API version among the updates before `end`, or NULL. */
static struct manager *older_updater(struct managers *m, size_t end, struct str api_version)
{
	for (size_t i = 0; i < end; i++) {
		if (!m->v[i].is_apply && str_eq(m->v[i].api_version, api_version)) {
			return &m->v[i];
		}
	}
	return NULL;
}

/* Joins entry i with older entries of its API version, under the common name. Returns false if
 * there are none. */
static bool merge_into_older(struct managers *m, size_t i)
{
	const struct manager ancient = {.name = STR("ancient-changes"), .api_version = m->v[i].api_version};
	struct manager *older = older_updater(m, i, m->v[i].api_version), *bucket = managers_find(m, &ancient);
	if (!older || bucket == &m->v[i]) {
		return false;
	}
	if (!bucket) {
		bucket = older;
		bucket->name = ancient.name;
		bucket->subresource = ancient.subresource;
	}
	bucket->time = m->v[i].time;
	bucket->set = field_set_union(bucket->set, m->v[i].set, m->arena);
	managers_remove_at(m, i);
	return true;
}

/* At most ten entries of updates: the oldest are put together under the name of ancient-changes, by API version. */
static void managers_cap(struct managers *m)
{
	size_t n = count_updaters(m);
	if (n <= UPDATERS_MAX) {
		return;
	}
	managers_sort(m);
	for (size_t i = 0; i < m->n && n > UPDATERS_MAX;) {
		if (!m->v[i].is_apply && merge_into_older(m, i)) {
			n--;
		} else {
			i++;
		}
	}
}

/* Writes. */

struct json *version_convert(const struct version *from, const struct version *to, struct json *j, struct arena *a)
{
	if (from == to || !j) {
		return j;
	}
	struct json *hub = from->to_hub ? from->to_hub(j, NULL, a) : j;
	return to->from_hub ? to->from_hub(hub, a) : hub;
}

struct json *version_convert_onto(
	const struct version *from, const struct version *to, struct json *j, const struct json *base, struct arena *a)
{
	if (from == to || !j) {
		return j;
	}
	const struct json *hub_base = to->to_hub ? to->to_hub(base, NULL, a) : base;
	struct json *hub = from->to_hub ? from->to_hub(j, hub_base, a) : j;
	return to->from_hub ? to->from_hub(hub, a) : hub;
}

struct json *version_empty_object(const struct kind *kind, const struct version *version, struct arena *a)
{
	return schema_zero(version_type(kind, version), a);
}

void transition_init(struct transition *t, const struct kind *kind, const struct version *version, struct str subresource,
	struct json *before, struct json *after, struct arena *a)
{
	const struct subresource *sub = subresource.n ? kind_subresource(kind, version, subresource) : NULL;
	*t = (struct transition){
		.kind = kind,
		.version = version,
		.before = before,
		.after = after,
		.reset_fields = kind_reset_fields(kind, version, sub),
		.arena = a,
		.by_version = arena_array(a, struct version_change, kind->n_versions),
	};
}

static const struct version_change *transition_at(struct transition *t, const struct version *version)
{
	assert(version >= t->kind->versions && version < t->kind->versions + t->kind->n_versions);
	struct version_change *change = &t->by_version[version - t->kind->versions];
	/* Computed once for each version, whatever the number of managers. */
	if (!change->is_known) {
		struct comparison c;
		typed_compare(&c, version_type(t->kind, version), version_convert(t->version, version, t->before, t->arena),
			version_convert(t->version, version, t->after, t->arena), t->arena);
		change->changed = field_set_without(field_set_union(c.modified, c.added, t->arena), t->reset_fields, t->arena);
		change->removed = field_set_without(c.removed, t->reset_fields, t->arena);
		change->is_known = true;
	}
	return change;
}

struct field_set **managers_conflicts(struct managers *m, struct transition *t, const struct manager *except, bool *ret_any)
{
	struct field_set **conflicts = arena_array(m->arena, struct field_set *, m->n + 1);
	*ret_any = false;
	for (size_t i = 0; i < m->n; i++) {
		const struct version *version = kind_version(t->kind, m->v[i].api_version);
		/* A manager of a version that is not served here cannot conflict. */
		if (&m->v[i] == except || !version) {
			continue;
		}
		conflicts[i] = field_set_intersection(m->v[i].set, transition_at(t, version)->changed, m->arena);
		*ret_any = *ret_any || conflicts[i];
	}
	return conflicts;
}

void managers_yield(struct managers *m, struct transition *t, struct field_set *const *conflicts, const struct manager *except)
{
	for (size_t i = 0; i < m->n; i++) {
		struct manager *e = &m->v[i];
		if (e == except) {
			continue;
		}
		const struct version *version = kind_version(t->kind, e->api_version);
		e->set = !version ? NULL
				  : field_set_difference(field_set_difference(e->set, conflicts[i], m->arena),
					    transition_at(t, version)->removed, m->arena);
	}
	managers_drop_empty(m);
}

void managers_update(struct managers *m, struct transition *t, const struct manager *self)
{
	assert(t->version && self);
	bool any;
	struct field_set **conflicts = managers_conflicts(m, t, NULL, &any);
	managers_yield(m, t, conflicts, NULL);

	struct field_set *taken = transition_at(t, t->version)->changed;
	if (field_set_is_empty(taken)) {
		return;
	}
	struct manager *e = managers_want(m, self);
	e->set = field_set_union(e->set, taken, m->arena);
	e->time = self->time;
}

/* A client clears all entries by sending none, or one without anything in it. */
static bool is_reset(const struct json *managed_fields)
{
	return managed_fields && (managed_fields->n == 0 || (managed_fields->n == 1 && managed_fields->items[0]->n == 0));
}

/* The entries a write starts from: those sent, where they make sense, otherwise those stored. */
static void managers_start(
	struct managers *m, const struct object *o, const struct object *old, bool is_subresource, struct arena *a)
{
	managers_init(m, a);
	if (!is_subresource && is_reset(o->meta.managed_fields)) {
		return;
	}
	if (is_subresource || !managers_decode(m, o->meta.managed_fields, a) || m->n == 0) {
		managers_decode(m, old ? old->meta.managed_fields : NULL, a);
	}
}

static bool is_item_nameless(const struct type *list, const struct json *item, struct arena *a)
{
	struct path_element element;
	struct str error;
	return list->list_type != LIST_ATOMIC && !path_element_of_item(&element, list, item, a, &error);
}

/* Returns whether a list whose items are owned one by one has an item without any of its keys. */
static bool has_nameless_items(const struct type *t, const struct json *j, struct arena *a)
{
	if (t->kind == TYPE_OBJECT && json_is(j, JSON_OBJECT)) {
		for (uint32_t i = 0, hint = 0; i < j->n; i++) {
			int at = type_field_index(t, j->members[i].name, (int)hint);
			hint = (uint32_t)MAX(at, 0);
			if (at >= 0 && has_nameless_items(t->fields[at].type, j->members[i].value, a)) {
				return true;
			}
		}
	}
	if (t->kind == TYPE_LIST && json_is(j, JSON_ARRAY)) {
		for (uint32_t i = 0; i < j->n; i++) {
			if (is_item_nameless(t, j->items[i], a) || has_nameless_items(t->elem, j->items[i], a)) {
				return true;
			}
		}
	}
	return false;
}

/* Does an entry's version lack a field of either object? */
static bool is_any_version_short(const struct managers *m, const struct transition *t)
{
	for (size_t i = 0; t->kind->narrow && i < m->n; i++) {
		const struct version *v = kind_version(t->kind, m->v[i].api_version);

		if (v && v != t->version &&
			(!version_knows(t->kind, v, t->before, t->arena) || !version_knows(t->kind, v, t->after, t->arena))) {
			return true;
		}
	}
	return false;
}

void managed_update(struct object *o, const struct object *old, const struct version *version, struct str subresource,
	struct str manager, struct str now, struct arena *a)
{
	assert(!old || old->kind == o->kind);
	struct managers m;
	managers_start(&m, o, old, subresource.n > 0, a);
	o->meta.managed_fields = NULL;
	/* an object whose entries were cleared is not tracked again until somebody applies to it */
	if (m.n == 0 && old) {
		return;
	}
	struct json *before = old ? object_to_json(old, version, a) : version_empty_object(o->kind, version, a);
	struct json *after = object_to_json(o, version, a);
	/* upstream fails there, and goes on without ownership */
	if (has_nameless_items(version_type(o->kind, version), before, a) ||
		has_nameless_items(version_type(o->kind, version), after, a)) {
		return;
	}
	struct transition t;
	transition_init(&t, o->kind, version, subresource, before, after, a);
	/* Upstream compares the objects at each entry's version. It fails where that lacks a field, and goes on without ownership. */
	if (is_any_version_short(&m, &t)) {
		return;
	}
	const struct manager self = {
		.name = manager.n ? manager : STR("unknown"),
		.api_version = version_api_version(version, a),
		.subresource = subresource,
		.time = now,
	};
	managers_update(&m, &t, &self);
	managers_cap(&m);
	o->meta.managed_fields = managers_encode(&m);
}

struct str managed_default_manager(struct str user_agent, struct arena *a)
{
	struct str head, tail;
	str_cut(user_agent, '/', &head, &tail);
	char *name = arena_text(a, MANAGER_NAME_MAX);
	size_t used = 0;
	for (size_t i = 0; i < head.n;) {
		uint32_t c;
		unsigned n = go_decode_rune(head.p + i, head.p + head.n, &c);
		if (n && go_is_print(c)) {
			if (used + n > MANAGER_NAME_MAX) {
				break;
			}
			memcpy(name + used, head.p + i, n);
			used += n;
		}
		i += n ? n : 1;
	}
	return (struct str){name, used};
}

/* ---- managers of a view ----
 *
 * Upstream names an entry by all that it says except fields and time. So an update's entry is
 * another one once its version is the view's: it loses the fields that it owns by way of the
 * view, and gets them as an entry without a time. Clients see that, and we do the same. */

/* The field that a Scale can change, as it names it. */
static const char *const path_in_view[] = {"spec", "replicas", NULL};

static struct field_set *field_at(const char *const *name, struct arena *a)
{
	struct field_set *set = field_set_new(a);
	const struct path *end = NULL;
	for (; *name; name++) {
		struct path *p = arena_new(a, struct path);
		*p = (struct path){.up = end, .element = {.kind = PATH_FIELD, .text = str_of(*name)}};
		end = p;
	}
	field_set_insert(set, end, a);
	return set;
}

static bool has(const struct manager *m, const struct field_set *field, struct arena *a)
{
	return !field_set_is_empty(field_set_intersection(m->set, field, a));
}

struct json *managed_of_view(const struct view *v, const struct object *o, struct arena *a)
{
	struct managers all, shown;
	struct field_set *field = field_at(v->path, a), *field_in_view = field_at(path_in_view, a);
	managers_init(&shown, a);
	managers_decode(&all, o->meta.managed_fields, a);
	for (size_t i = 0; i < all.n; i++) {
		struct manager entry = all.v[i];
		if (kind_version(o->kind, entry.api_version) && has(&entry, field, a)) {
			entry.api_version = version_api_version(&v->kind->versions[0], a);
			entry.set = field_in_view;
			*managers_want(&shown, &entry) = entry;
		}
	}
	return managers_encode(&shown);
}

struct json *managed_from_view(const struct view *v, const struct object *o, const struct json *of_view,
	const struct version *version, struct arena *a)
{
	struct managers all, kept, shown;
	struct field_set *field = field_at(v->path, a), *field_in_view = field_at(path_in_view, a);
	managers_init(&kept, a);
	managers_decode(&all, o->meta.managed_fields, a);
	managers_decode(&shown, of_view, a);
	for (size_t i = 0; i < all.n; i++) {
		struct manager entry = all.v[i], *same = managers_find(&shown, &entry);
		if (!kind_version(o->kind, entry.api_version)) {
			continue;
		}
		if (has(&entry, field, a) && same) {
			same->set = NULL;
		} else if (has(&entry, field, a)) {
			entry.set = field_set_difference(entry.set, field, a);
		}
		if (!field_set_is_empty(entry.set)) {
			*managers_append(&kept) = entry;
		}
	}
	for (size_t i = 0; i < shown.n; i++) {
		if (has(&shown.v[i], field_in_view, a)) {
			struct manager entry = shown.v[i];
			entry.api_version = version_api_version(version, a);
			entry.time = (struct str){0};
			entry.set = field;
			*managers_append(&kept) = entry;
		}
	}
	return managers_encode(&kept);
}
