/* A store that tells of every call to another one, for debugging: one line when it is answered. */
#ifndef TESTS_DOUBLE_TRACE_H
#define TESTS_DOUBLE_TRACE_H

#include "storage/storage.h"

/* Takes inner: freeing the wrapper frees it. `line` gets text without values, "txn 1 guard, 1 step /annals/... -> OK, succeeded,
 * revision 12, 840 us", on the completion thread. Watches pass unseen. */
struct storage *storage_trace_new(struct storage *inner, void (*line)(void *ctx, const char *text), void *ctx);

#endif
