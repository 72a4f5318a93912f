/* JSONPath as definitions use it: for printer columns, selectable fields and the subresource scale.
 *
 * The subset of k8s.io/client-go/util/jsonpath that paths of columns have: members (".spec.a",
 * ".metadata.annotations.a\.b", "['a.b']"), items ("[0]", "[-1]", "[*]"), and filters by one member
 * ("[?(@.type=="Ready")]"). A path with anything else finds nothing; definitions with such paths are
 * accepted as upstream accepts them. */
#ifndef API_CUSTOM_JSONPATH_H
#define API_CUSTOM_JSONPATH_H

#include "base/json.h"

struct jsonpath;

/* In the arena. Never NULL: a text that cannot be read is a path that finds nothing. */
const struct jsonpath *jsonpath_parse(struct str text, struct arena *a);
/* The first value that the path leads to; NULL: none. root: the whole object. */
const struct json *jsonpath_first(const struct jsonpath *p, const struct json *root);

#endif
