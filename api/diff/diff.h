/* The difference of two JSON values as a patch that leads from one to the other. Both directions of api/patch/patch.h agree: patch_json(from,
 * diff_json(from, to)) and patch_merge(from, diff_merge(from, to)) are equal to `to`, by value. Results share nodes with `to`. */
#ifndef API_DIFF_DIFF_H
#define API_DIFF_DIFF_H

#include "base/json.h"

/* RFC 6902, without `test`. With more operations than a patch may have, or 3 MiB of paths, it replaces the whole. Time and memory are
 * those of reading both; only where arrays are nested, time is that for each of at most 64 levels. */
struct json *diff_json(const struct json *from, const struct json *to, struct arena *a);
/* RFC 7396, of two objects. NULL: it cannot be said, since a member is to become null, or to hold one. */
struct json *diff_merge(const struct json *from, const struct json *to, struct arena *a);

#endif
