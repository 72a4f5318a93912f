/* Base64 with padding (RFC 4648, section 4). */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include "base/str.h"

#define BASE64_SIZE(n) (((n) + 2) / 3 * 4) /* characters for n bytes */

void base64_encode(char *out, struct str in); /* BASE64_SIZE(in.n) characters, no NUL */

#endif
