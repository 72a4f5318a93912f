/* A directory that is gone when the process is, however that ends. */
#ifndef CLI_RUN_SCRATCH_H
#define CLI_RUN_SCRATCH_H

#include "base/buf.h"

struct scratch;

/* A new directory in $TMPDIR, or /tmp, for its owner alone; what earlier ones have left there is removed. To be called before
 * there are threads, with signals blocked: it starts a process. 0, or -errno with a sentence in err. */
int scratch_new(struct scratch **ret, struct buf *err);
/* Removes it with everything in it. */
struct scratch *scratch_free(struct scratch *s);
const char *scratch_path(const struct scratch *s);

#endif
