/* A canonical text and a short name for the meaning of a JSON value. Values that mean the same have
 * the same text and name. docs/reference/digest.md specifies both and has test vectors; they never
 * change. */
#ifndef API_MODEL_DIGEST_H
#define API_MODEL_DIGEST_H

#include "base/json.h"

#define DIGEST_SIZE 55 /* 54 characters and a NUL */

/* The canonical text: members sorted by name, the last of a name, without those that are null or empty; numbers and strings
 * in one spelling. False when out's ceiling was reached. `a` holds what is made on the way. */
bool digest_canonical(struct buf *out, const struct json *value, struct arena *a);

/* The SHA-256 of the canonical text in digits without vowels. The first is a letter, so no beginning of a digest is a number. */
void digest_of(char out[DIGEST_SIZE], const struct json *value, struct arena *a);

/* The digest of the canonical text with the number behind it, or of itself where that is 0: another short name for the same value, where
 * the first one is taken. */
void digest_attempt(char out[DIGEST_SIZE], const struct json *value, unsigned number, struct arena *a);

/* A number in its one spelling. */
bool digest_number(struct buf *out, struct str lexeme);

#endif
