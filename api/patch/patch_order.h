/* The order of list elements by what identifies them, for strategic merge: scalars by their value, objects by their merge
 * key. Sorted once, so that merging long lists does not cost their product. */
#ifndef API_PATCH_PATCH_ORDER_H
#define API_PATCH_PATCH_ORDER_H

#include "base/json.h"

struct order_entry {
	const struct json *key; /* a scalar */
	uint32_t at;            /* in the list */
};

struct order {
	struct order_entry *v; /* by key, then position */
	uint32_t n;
};

/* What identifies an element; NULL when it has no such thing. An empty merge key is that of scalars. */
const struct json *element_key(const struct json *element, const char *merge_key);

/* False when an element has no key. */
bool order_build(struct order *ret, const struct json *list, const char *merge_key, struct arena *a);
/* Where the first element with that key is, or UINT32_MAX. */
uint32_t order_find(const struct order *o, const struct json *key);

/* A merged list: elements that `named` names in its order, the others in that of `server`. One of the others goes before a
 * named one if the server has it so; else the named one is first, which is why new elements come to be prepended. NULL when
 * an element of the three lists has no key. */
struct json *order_arrange(
	const struct json *list, const struct json *named, const struct json *server, const char *merge_key, struct arena *a);

#endif
