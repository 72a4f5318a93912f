/* A directory that is removed when the process ends, even if it is killed. */
#ifndef CLI_RUN_SCRATCH_H
#define CLI_RUN_SCRATCH_H

#include "base/buf.h"

struct scratch;

/* Creates a directory in $TMPDIR or /tmp that only its owner may use, and removes those that
 * earlier runs have left. It starts a process: call it before there are threads, with signals
 * blocked. Returns 0, or -errno with a sentence in err. */
int scratch_new(struct scratch **ret, struct buf *err);
/* Removes it with everything in it. */
struct scratch *scratch_free(struct scratch *s);
const char *scratch_path(const struct scratch *s);

#endif
