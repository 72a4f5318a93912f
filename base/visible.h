/* What others wrote, shown to people: nothing in it is obeyed by a terminal, or looks like something else.
 *
 * Control characters (C0, DEL, U+0080 to U+009F), the ends of lines that only Unicode knows, and what turns the direction of writing
 * are escaped as JSON does it: \n, \u001b, \u202e; bytes that are no UTF-8 as \x9b. A backslash stays: so text that has been escaped
 * stays as it is, and JSON stays JSON, with the same meaning. */
#ifndef BASE_VISIBLE_H
#define BASE_VISIBLE_H

#include "base/buf.h"

/* One line, or a part of one. */
void visible_add(struct buf *out, struct str text);
/* What has lines of its own: \n and \t are kept. */
void visible_add_lines(struct buf *out, struct str text);
/* Whether visible_add_lines() would change nothing. */
bool visible_is(struct str text);

#endif
