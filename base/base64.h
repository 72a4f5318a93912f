/* Base64 with padding (RFC 4648, section 4). */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include "base/str.h"

#define BASE64_SIZE(n) (((n) + 2) / 3 * 4) /* characters for n bytes */

void base64_encode(char *out, struct str in); /* BASE64_SIZE(in.n) characters, no NUL */
/* As Go's decoder takes it: line breaks anywhere, and what the last digit says beyond the last byte is not looked at. out has room for
 * BASE64_ROOM(in.n) bytes. True with the number of bytes in *ret, or false with the place where the text goes wrong. */
#define BASE64_ROOM(n) ((n) / 4 * 3 + 3)
bool base64_decode(char *out, struct str in, size_t *ret);

#endif
