/* What to do about an object, given what the server has just said of it and of its owners. Decides only. */
#ifndef CONTROLLERS_GC_GC_PLAN_H
#define CONTROLLERS_GC_GC_PLAN_H

#include "base/base.h"

enum gc_fate {
	GC_SOLID,    /* the owner is there */
	GC_DANGLING, /* it is not, or by that name is another object */
	GC_WAITING,  /* it is being deleted in the foreground and waits for this dependent */
};

struct gc_situation {
	size_t n_owners[3]; /* by gc_fate */
	bool has_orphan_finalizer, has_foreground_finalizer;
	bool has_dependents, has_waiting_dependent; /* says the graph */
};

enum gc_action {
	GC_KEEP,
	GC_TRIM, /* take away the references that are not solid: they would hold up whoever waits, or mislead */
	GC_DELETE,
};

struct gc_plan {
	enum gc_action action;
	const char *propagation; /* of GC_DELETE */
	/* First let the object block no owner. A dependent waits too, so all may wait for each other in a circle. */
	bool unblocks;
};

struct gc_plan gc_plan_for(const struct gc_situation *s);

#endif
