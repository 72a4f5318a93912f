/* One look at one Dependent: what becomes of it, and doing that. */
#ifndef CONTROLLERS_DEPENDENTS_DEPENDENT_LOOK_H
#define CONTROLLERS_DEPENDENTS_DEPENDENT_LOOK_H

#include "client/informer.h"
#include "controllers/dependents/dependents.h"
#include "controllers/dependents/implemented.h"
#include "controllers/dependents/implementer.h"
#include "controllers/kit/controller.h"
#include "controllers/kit/counters.h"

enum { PROVIDED_KINDS_MAX = 4 };

struct dependents_state;

/* One kind of what may be referred to. */
struct provided_watch {
	struct dependents_state *s;
	const struct provided_kind *kind;
	struct informer *informer;
};

struct dependents_state {
	const struct controller_env *env;
	const struct implementer *implementer;
	struct workqueue *queue; /* NAMESPACE/NAME */
	struct informer *dependents, *implementations;
	struct provided_watch provided[PROVIDED_KINDS_MAX]; /* as provided_kinds */
	struct dependents index;
	struct holdings holdings;
	struct counters counters;
};

enum dependents_counted { PROVIDER_GETS, SPARED_GETS, IMPLEMENTED, WITHDRAWN };

/* True: nothing is left to be done until something changes. */
bool dependent_look(struct dependents_state *s, struct str namespace, struct str name);

#endif
