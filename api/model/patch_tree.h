/* Trees that are being changed, by patches among others. An object opened for change keeps its
 * members sorted by name, each name once, the way Go's encoder writes a map. kube-apiserver shows
 * the result of a patch in that order, and it makes look-ups logarithmic for objects of any size.
 * Functions whose name begins with open_ expect such an object. */
#ifndef API_MODEL_PATCH_TREE_H
#define API_MODEL_PATCH_TREE_H

#include "base/json.h"

/* A changeable copy of an object with its members in order, or of an array; children are shared. */
struct json *open_copy(struct arena *a, const struct json *j);
/* The place of the member's value; NULL when there is no such member. Valid until the object
 * changes. */
struct json **open_find(const struct json *object, struct str name);
struct json *open_get(const struct json *object, struct str name);
void open_set(struct arena *a, struct json *object, struct str name, struct json *value);
bool open_remove(struct json *object, struct str name);

/* A copy in which every object below is opened. Members that are null are left out when `prune` says so; null elements
 * stay. */
struct json *open_deep(struct arena *a, struct json *j, bool prune);

#endif
