/* attemptToDeleteItem of kube's garbage collector as a table of cases: one solid owner keeps the
 * object. An owner that waits for this object in the foreground asks for a foreground deletion,
 * so that its dependents go first too. */
#include "controllers/gc/gc_plan.h"

/* What was asked for before, by finalizers that are there, stays asked for. */
static const char *propagation_of(const struct gc_situation *s)
{
	if (s->has_orphan_finalizer) {
		return "Orphan";
	}
	return s->has_foreground_finalizer ? "Foreground" : "Background";
}

struct gc_plan gc_plan_for(const struct gc_situation *s)
{
	size_t n_dangling = s->n_owners[GC_DANGLING], n_waiting = s->n_owners[GC_WAITING];

	if (s->n_owners[GC_SOLID] > 0) {
		return (struct gc_plan){.action = n_dangling + n_waiting > 0 ? GC_TRIM : GC_KEEP};
	}
	if (n_dangling + n_waiting == 0) {
		return (struct gc_plan){.action = GC_KEEP};
	}
	if (n_waiting > 0 && s->has_dependents) {
		return (struct gc_plan){.action = GC_DELETE, .propagation = "Foreground", .unblocks = s->has_waiting_dependent};
	}
	return (struct gc_plan){.action = GC_DELETE, .propagation = propagation_of(s)};
}
