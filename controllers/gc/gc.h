/* The garbage collector: deletes what has lost its last owner, holds a foreground deletion until its dependents are gone, lets go of
 * dependents that are to be orphaned. In effect as kube-controller-manager's (docs/reference/deviations.md has the differences).
 *
 * gc_graph.h decides what is worth a look; gc_attempt.h looks and acts. Threads: one that discovers what there is to watch, and workers on
 * two queues, keyed by uid, so that no object is with two workers of one queue. */
#ifndef CONTROLLERS_GC_GC_H
#define CONTROLLERS_GC_GC_H

#include "controllers/kit/controller.h"

extern const struct controller garbage_collector;

#endif
