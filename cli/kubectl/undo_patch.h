/* The merge patch (RFC 7396) that makes an object as a revision says. */
#ifndef CLI_KUBECTL_UNDO_PATCH_H
#define CLI_KUBECTL_UNDO_PATCH_H

#include "base/json.h"

/* What a revision's data says is merged; where it says "$patch": "replace", what it does not mention goes, so that depends on the object as it is. */
struct json *undo_patch(const struct json *data, const struct json *object, struct arena *a);

#endif
