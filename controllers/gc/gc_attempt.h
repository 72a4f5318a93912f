/* The garbage collector's attempts: what an object and its owners are is asked of the server, never taken from the graph, and every deletion
 * names the uid and the version that the decision was made on. Whoever changed the object meanwhile, by giving it an
 * owner for example, wins; the attempt is then made again on what is there now. */
#ifndef CONTROLLERS_GC_GC_ATTEMPT_H
#define CONTROLLERS_GC_GC_ATTEMPT_H

#include "controllers/gc/gc_core.h"

enum gc_outcome {
	GC_DONE,
	GC_RETRY, /* later, with back-off: something failed, or has to be seen by an informer yet */
};

enum gc_outcome gc_attempt_delete(struct gc_core *c, struct str uid);
enum gc_outcome gc_attempt_orphan(struct gc_core *c, struct str uid);

#endif
