/* Trees in the making, for patches and whoever else changes a map: objects opened for change keep their members sorted by name, each name once,
 * the way Go's encoder writes a map. That is the order in which kube-apiserver shows what a patch has touched, and makes
 * look-ups logarithmic however big an object a client sends. Functions whose name begins with open_ expect such an object. */
#ifndef API_MODEL_PATCH_TREE_H
#define API_MODEL_PATCH_TREE_H

#include "base/json.h"

/* A changeable copy of an object with its members in order, or of an array; children are shared. */
struct json *open_copy(struct arena *a, const struct json *j);
/* Where the member's value is; NULL when there is no such member. Good until the object changes. */
struct json **open_find(const struct json *object, struct str name);
struct json *open_get(const struct json *object, struct str name);
void open_set(struct arena *a, struct json *object, struct str name, struct json *value);
bool open_remove(struct json *object, struct str name);

/* A copy in which every object below is opened. Members that are null are left out when `prune` says so; null elements
 * stay. */
struct json *open_deep(struct arena *a, struct json *j, bool prune);

#endif
