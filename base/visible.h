/* Shows text from others to people, so that a terminal obeys nothing in it and nothing in it looks
 * like something else.
 *
 * Control characters (C0, DEL, U+0080 to U+009F) and line ends that only Unicode knows are escaped
 * as in JSON: \n, \u001b, \u202e, \u200b. So are characters that change the direction of writing,
 * or have no width (except within an emoji). Bytes that are no UTF-8 become \x9b. A backslash
 * stays, so escaped text stays as it is, and JSON stays JSON with the same meaning.
 */
#ifndef BASE_VISIBLE_H
#define BASE_VISIBLE_H

#include "base/buf.h"

/* Appends one line, or a part of one. */
void visible_add(struct buf *out, struct str text);
/* For text with several lines: \n and \t are kept. */
void visible_add_lines(struct buf *out, struct str text);
/* Whether visible_add_lines() would change nothing. */
bool visible_is(struct str text);

#endif
