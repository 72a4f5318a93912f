/* What becomes of a Dependent: decisions of the dependent controller, without I/O (seed 004). */
#ifndef CONTROLLERS_DEPENDENTS_DEPENDENT_PLAN_H
#define CONTROLLERS_DEPENDENTS_DEPENDENT_PLAN_H

#include "controllers/dependents/provider_references.h"

/* Kept on Dependents by whoever implements them, until that is undone. */
#define DEPENDENT_FINALIZER "annals.dev/dependent-implementation"

/* May a Dependent be implemented with an object? */
enum use {
	USE_ALLOWED,
	USE_ABSENT,
	USE_UNPROTECTED, /* nothing would keep it: a ControllerRevision without the finalizer */
	USE_TERMINATING,
};
/* object: NULL for absent. is_used: the Dependent is implemented with it already, which keeps it. */
enum use provider_use(const struct item *object, bool is_used);

enum dependent_phase { DEPENDENT_PENDING, DEPENDENT_IMPLEMENTED, DEPENDENT_BROKEN };

struct verdict {
	enum dependent_phase phase;
	struct str reason, message; /* of the condition Ready; in the arena */
};

/* What a Dependent waits for may still come; what is going keeps it from ever being implemented, as it keeps that from going (figure 3):
 * only its own deletion ends that. */
struct verdict verdict_of(struct arena *a, const struct provided *provided, const enum use *uses, size_t n);
struct verdict verdict_implemented(void);
struct verdict verdict_pending(struct arena *a, const char *reason, struct str message);

bool dependent_has_finalizer(const struct item *dependent);
/* Merge patches for exactly this version of it. */
void dependent_add_finalizer(struct buf *out, const struct item *dependent);
/* False: the status says so already. implementation_kind: what Dependents are made into. */
bool dependent_patch_status(
	struct buf *out, const struct item *dependent, const struct verdict *v, const char *implementation_kind, int64_t now_s);

#endif
