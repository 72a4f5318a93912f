/* Schemas of definitions as OpenAPI documents show them: v3 as they are, and v2 without what it cannot say. */
#ifndef API_CUSTOM_PUBLISH_H
#define API_CUSTOM_PUBLISH_H

#include "base/json.h"

/* The schema of whole objects, for the value of openAPIV3Schema; NULL or no object: there is none, so any object will do. The result
 * shares with it whatever is unchanged. It lacks the extension with group, version and kind. */
struct json *publish_schema(const struct json *openapi, bool is_v2, struct arena *a);

#endif
