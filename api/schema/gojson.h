/* Parts of a definition as Go prints its internal types in messages, with Go's names: private to the room. */
#ifndef API_SCHEMA_GOJSON_H
#define API_SCHEMA_GOJSON_H

#include "base/json.h"

struct json *gojson_props(const struct json *schema, struct arena *a);
/* The schema without the members that Go leaves out of JSON when they are empty, at any depth. The schema itself, if there are none. */
struct json *gojson_shorten(struct json *schema, struct arena *a);
/* has_one_*: the versions have that in common, so it is kept above them. */
struct json *gojson_versions(const struct json *versions, bool has_one_schema, bool has_one_subresources, bool has_one_columns,
	bool has_one_selectable, struct arena *a);

#endif
