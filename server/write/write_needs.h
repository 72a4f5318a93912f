/* Rights that an object needs of who writes it, beside the right to write it (struct kind's needs). */
#ifndef SERVER_WRITE_WRITE_NEEDS_H
#define SERVER_WRITE_WRITE_NEEDS_H

#include "server/request/request.h"

/* For a version that has passed validation; old NULL: a new object. 0; or 1 with q->st: 403, which says what the user may not do and where the
 * object needs it, or, standalone, 422 where it names what is not served; or ASK_FIRST. */
int write_ask_needs(struct request *q, const struct object *o, const struct object *old);

#endif
