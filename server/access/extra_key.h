/* Keys of a user's extra values as they stand behind a prefix in the names of headers (Impersonate-Extra-KEY, X-Remote-Extra-KEY). */
#ifndef SERVER_ACCESS_EXTRA_KEY_H
#define SERVER_ACCESS_EXTRA_KEY_H

#include "base/arena.h"

/* The name begins with the prefix, in any case; *ret_key: lower-cased, then %-decoded; one that cannot be decoded is taken as it is. */
bool extra_key(struct str header, struct str prefix, struct arena *a, struct str *ret_key);

#endif
