/* Text the way Go prints it, where clients see it: names in messages, mostly. */
#ifndef API_MODEL_GOTEXT_H
#define API_MODEL_GOTEXT_H

#include "base/arena.h"

/* The ceiling of any one text made from parts of a request; longer text is cut. Bodies are much
 * smaller, and quoting makes at most four bytes of one. */
enum { TEXT_MAX = 64 * 1024 * 1024 };

/* Go's %q: "a\x00". */
struct str go_quote(struct arena *a, struct str s);
/* unicode.IsPrint, nearly: of unassigned code points only the planes without any characters count as not printable. */
bool go_is_print(uint32_t c);
/* The code point at p in *ret_c, and its bytes; 0 where p is not UTF-8 (names in paths and headers may be anything). */
unsigned go_decode_rune(const char *p, const char *end, uint32_t *ret_c);
/* The double that is nearest to a number in JSON. */
double go_double(struct str lexeme);
/* As Go's JSON and its %v write a double. */
struct str go_float_json(double d, struct arena *a);
struct str go_float_print(double d, struct arena *a);

#endif
