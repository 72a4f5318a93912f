/* Reads members of objects in normal form; an absent one counts as empty. */
#ifndef API_MODEL_MEMBERS_H
#define API_MODEL_MEMBERS_H

#include "base/json.h"
#include "base/map.h"

static inline struct str member_text(const struct json *object, const char *name)
{
	return json_text(json_gets(object, name));
}

static inline int64_t member_int(const struct json *object, const char *name)
{
	int64_t n = 0;
	const struct json *v = json_gets(object, name);
	return v && json_to_int64(v, &n) ? n : 0;
}

static inline bool member_is_true(const struct json *object, const char *name)
{
	const struct json *v = json_gets(object, name);
	return json_is(v, JSON_BOOL) && v->boolean;
}

static inline uint32_t member_count(const struct json *object, const char *name)
{
	const struct json *v = json_gets(object, name);
	return json_is(v, JSON_ARRAY) || json_is(v, JSON_OBJECT) ? v->n : 0;
}

/* NULL beyond the end, and where there is no list. */
static inline struct json *list_item(const struct json *list, uint32_t i)
{
	return json_is(list, JSON_ARRAY) && i < list->n ? list->items[i] : NULL;
}

static inline bool list_has_text(const struct json *list, struct str text)
{
	const struct json *item;
	for (uint32_t i = 0; (item = list_item(list, i)); i++) {
		if (str_eq(json_text(item), text)) {
			return true;
		}
	}
	return false;
}

/* The first text of the list that is among `known`; NULL: none is. */
static inline const char *list_first_known(const struct json *list, const char *const *known, size_t n)
{
	const struct json *item;
	for (uint32_t i = 0; (item = list_item(list, i)); i++) {
		for (size_t k = 0; k < n; k++) {
			if (str_is(json_text(item), known[k])) {
				return known[k];
			}
		}
	}
	return NULL;
}

/* A copy of the object with the member set that the steps lead to; objects on the way are made. */
static inline struct json *object_with_member(
	const struct json *object, const struct str *steps, size_t n, struct json *value, struct arena *a)
{
	struct json *out = json_is(object, JSON_OBJECT) ? json_copy(a, object) : json_object(a);
	json_set(a, out, steps[0], n == 1 ? value : object_with_member(json_get(object, steps[0]), steps + 1, n - 1, value, a));
	return out;
}

/* The items of a list by the text of one member, of equal ones the first: clients may send as many as they like, so nobody looks
 * through them for each of another list. map_done() it. */
static inline void list_index(struct map *ret, const struct json *list, const char *name)
{
	struct json *item;
	map_init(ret, json_is(list, JSON_ARRAY) ? list->n : 0);
	for (uint32_t i = 0; (item = list_item(list, i)); i++) {
		if (!map_get(ret, member_text(item, name))) {
			map_set(ret, member_text(item, name), item, NULL);
		}
	}
}

#endif
