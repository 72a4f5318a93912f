/* Where an object's members are, by name: private to the json_*.c files.
 *
 * Small objects have none: looking at 32 names in a row is as fast as hashing one. An index knows the last member of each name. It
 * belongs to the object's arena, and is complete or dropped, never stale. */
#ifndef BASE_JSON_INDEX_H
#define BASE_JSON_INDEX_H

#include "base/json.h"

enum { JSON_INDEX_ABOVE = 32 }; /* members */

/* Makes object->index, new. */
void json_index_build(struct arena *a, struct json *object);
/* Tells an existing index of the member just appended. */
void json_index_add(struct arena *a, struct json *object);
/* The last member of that name, or NULL. Works without an index, too, in linear time. */
struct json_member *json_find(const struct json *object, struct str name);

#endif
