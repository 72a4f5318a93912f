/* An object as an informer keeps it: immutable, counted, with what one looks it up by. One allocation of just the size it needs. */
#ifndef CLIENT_ITEM_H
#define CLIENT_ITEM_H

#include "base/json.h"

#include <stdatomic.h>

struct item {
	struct str namespace, name, uid;
	uint64_t version;          /* metadata.resourceVersion */
	const struct json *object; /* frozen; lists' items may have no kind and apiVersion */
	_Atomic uint32_t refs;     /* private from here */
	struct arena arena;
	_Alignas(16) char storage[];
};

/* Paths in one list of members that are left out; a longer list is a mistake of the developer. */
enum { ITEM_LEFT_OUT_MAX = 8 };
/* Takes the object apart, whose text is copied. left_out: paths of members that are kept as null, such as "metadata.managedFields",
 * which is often half of an object. The list ends with NULL, and no path is within another. A list that is NULL leaves out nothing.
 * Returns NULL if the object has no name or no decimal resourceVersion, or is no JSON. */
struct item *item_new(struct str text, const char *const *left_out);
/* metadata.managedFields alone. */
extern const char *const item_managers[];
struct item *item_ref(struct item *i);
struct item *item_unref(struct item *i); /* NULL */
DEFINE_CLEANUP(struct item *, item_unref)

const struct json *item_meta(const struct item *i);
bool item_is_deleting(const struct item *i); /* has a deletionTimestamp */

#endif
