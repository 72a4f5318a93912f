/* What the page may ask of the API server with its user's rights: a short list, written down, of what its views show. Pure. */
#ifndef CLI_UI_ALLOWED_H
#define CLI_UI_ALLOWED_H

#include "base/arena.h"

/* path: "/apis/apps/v1/..." as sent, query as sent. False: not passed on, with a sentence in *ret_why. */
bool allowed_target(struct str path, struct str query, const char **ret_why);
/* Of an Accept header, what is passed on: its known media types, in their order, ended by a NUL. Empty: none of them is known. Without one,
 * or for any type: JSON. */
struct str allowed_accept(struct str accept, struct arena *a);

#endif
