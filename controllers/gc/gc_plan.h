/* Decides what to do about an object, given the server's latest answers about it and its owners.
 * No I/O. */
#ifndef CONTROLLERS_GC_GC_PLAN_H
#define CONTROLLERS_GC_GC_PLAN_H

#include "base/base.h"

enum gc_fate {
	GC_SOLID,    /* the owner exists */
	GC_DANGLING, /* the owner does not exist, or another object has its name */
	GC_WAITING,  /* the owner is being deleted in the foreground and waits for this dependent */
};

struct gc_situation {
	size_t n_owners[3]; /* by gc_fate */
	bool has_orphan_finalizer, has_foreground_finalizer;
	bool has_dependents, has_waiting_dependent; /* according to the graph */
};

enum gc_action {
	GC_KEEP,
	GC_TRIM, /* remove references to owners that are not solid: they would delay a waiting owner, or mislead */
	GC_DELETE,
};

struct gc_plan {
	enum gc_action action;
	const char *propagation; /* of GC_DELETE */
	/* First stop the object from blocking its owner. A dependent waits too, so all may wait
	 * for each other in a circle. */
	bool unblocks;
};

struct gc_plan gc_plan_for(const struct gc_situation *s);

#endif
