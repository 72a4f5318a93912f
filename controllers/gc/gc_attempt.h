/* The garbage collector's attempts. An attempt reads the object and its owners from the server,
 * never from the graph. Every deletion names the uid and version that the decision was made on. If
 * somebody changes the object meanwhile, for example by giving it an owner, the deletion fails and
 * the attempt is repeated. */
#ifndef CONTROLLERS_GC_GC_ATTEMPT_H
#define CONTROLLERS_GC_GC_ATTEMPT_H

#include "controllers/gc/gc_core.h"

enum gc_outcome {
	GC_DONE,
	GC_RETRY, /* try later, with back-off: something failed, or an informer has yet to see it */
};

enum gc_outcome gc_attempt_delete(struct gc_core *c, struct str uid);
enum gc_outcome gc_attempt_orphan(struct gc_core *c, struct str uid);

#endif
