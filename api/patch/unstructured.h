/* Objects that upstream converts from its unstructured form rather than decoding their text: what a strategic merge patch or an apply has
 * made. The conversion is more forgiving than the decoder. */
#ifndef API_PATCH_UNSTRUCTURED_H
#define API_PATCH_UNSTRUCTURED_H

#include "api/model/kind.h"

/* The object as object_decode() should see it: kind and apiVersion are the version's whatever text they were, and where an integer is
 * expected, 1.0 and 1e2 are integers; a whole number beyond int64 is INT64_MIN, as Go's conversion of floats has it on amd64. Shares
 * what is right already with `in`. */
const struct json *unstructured_settle(
	const struct json *in, const struct kind *kind, const struct version *version, struct arena *a);

/* Does it hold a value of a type that cannot become the version's? Then true, with what Go's converter says of the first one in the order of its structs. It has
 * been settled. */
bool unstructured_refuses(
	const struct json *in, const struct kind *kind, const struct version *version, struct arena *a, struct str *ret_reason);
/* A strategic patch that was carried out on `before`, as Go's fmt prints the maps that JSON is read into ("%+v"): `map[a:[1 x] b:<nil>]`. */
struct str unstructured_patch_text(const struct json *patch, const struct json *before, struct arena *a);

#endif
