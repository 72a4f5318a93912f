/* Upstream names an entry by what it says but for fields and time. So an update's entry is another one
 * once its version is the view's: what it owns by way of the view it loses in its own entry, and gets as an
 * entry without a time. Clients see that, and we do the same. */
#include "api/apply/managed_view.h"

#include "api/apply/managers.h"

static struct field_set *field_of(const struct view *v, struct arena *a)
{
	struct field_set *set = field_set_new(a);
	const struct path *end = NULL;
	for (const char *const *name = v->path; *name; name++) {
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
	struct field_set *field = field_of(v, a);
	managers_init(&shown, a);
	managers_decode(&all, o->meta.managed_fields, a);
	for (size_t i = 0; i < all.n; i++) {
		struct manager entry = all.v[i];
		if (kind_door(o->kind, entry.api_version) && has(&entry, field, a)) {
			entry.api_version = door_api_version(&v->kind->doors[0], a);
			entry.set = field;
			*managers_want(&shown, &entry) = entry;
		}
	}
	return managers_encode(&shown);
}

struct json *managed_from_view(
	const struct view *v, const struct object *o, const struct json *of_view, const struct door *door, struct arena *a)
{
	struct managers all, kept, shown;
	struct field_set *field = field_of(v, a);
	managers_init(&kept, a);
	managers_decode(&all, o->meta.managed_fields, a);
	managers_decode(&shown, of_view, a);
	for (size_t i = 0; i < all.n; i++) {
		struct manager entry = all.v[i], *same = managers_find(&shown, &entry);
		if (!kind_door(o->kind, entry.api_version)) {
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
		if (has(&shown.v[i], field, a)) {
			struct manager entry = shown.v[i];
			entry.api_version = door_api_version(door, a);
			entry.time = (struct str){0};
			entry.set = field;
			*managers_append(&kept) = entry;
		}
	}
	return managers_encode(&kept);
}
