/* The decisions of the dependent controller, without I/O. */
#ifndef CONTROLLERS_DEPENDENTS_DEPENDENT_PLAN_H
#define CONTROLLERS_DEPENDENTS_DEPENDENT_PLAN_H

#include "controllers/dependents/provider_references.h"

/* The implementing controller keeps this finalizer on a Dependent until the implementation is
 * removed. */
#define DEPENDENT_FINALIZER "annals.dev/dependent-implementation"

/* May a Dependent be implemented with an object? */
enum use {
	USE_ALLOWED,
	USE_ABSENT,
	USE_UNPROTECTED, /* nothing keeps the object from being deleted: it lacks the protection finalizer */
	USE_TERMINATING,
};
/* object: NULL if absent. is_used: the Dependent is already implemented with the object, which
 * keeps the object. */
enum use provider_use(const struct item *object, bool is_used);

enum dependent_phase { DEPENDENT_PENDING, DEPENDENT_IMPLEMENTED, DEPENDENT_BROKEN };

struct verdict {
	enum dependent_phase phase;
	struct str reason, message; /* of the condition Ready; in the arena */
};

/* A missing object may still come, so the Dependent waits. A terminating object stays until the
 * Dependent is deleted, so the Dependent can never be implemented. */
struct verdict verdict_of(struct arena *a, const struct provided *provided, const enum use *uses, size_t n);
struct verdict verdict_implemented(void);
struct verdict verdict_pending(struct arena *a, const char *reason, struct str message);

bool dependent_has_finalizer(const struct item *dependent);
/* Merge patches for exactly this version of the Dependent. */
void dependent_add_finalizer(struct buf *out, const struct item *dependent);
/* Returns false if the status is the same already. implementation_kind: the kind that implements
 * Dependents. */
bool dependent_patch_status(
	struct buf *out, const struct item *dependent, const struct verdict *v, const char *implementation_kind, int64_t now_s);

#endif
