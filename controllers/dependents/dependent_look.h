/* One look at one Dependent: what becomes of it, and doing that. */
#ifndef CONTROLLERS_DEPENDENTS_DEPENDENT_LOOK_H
#define CONTROLLERS_DEPENDENTS_DEPENDENT_LOOK_H

#include "client/informer.h"
#include "controllers/dependents/dependents.h"
#include "controllers/dependents/implemented.h"
#include "controllers/dependents/implementer.h"
#include "controllers/kit/controller.h"
#include "controllers/kit/counters.h"

enum { PROVIDER_KINDS_MAX = 4 };

struct dependents_state;

/* One kind of what may be referred to. */
struct provider_watch {
	struct dependents_state *s;
	const struct provider_kind *kind;
	struct informer *informer;
};

struct dependents_state {
	const struct controller_env *env;
	const struct implementer *implementer;
	struct workqueue *queue; /* NAMESPACE/NAME */
	struct informer *dependents, *implementations;
	struct provider_watch provided[PROVIDER_KINDS_MAX]; /* as provider_kinds */
	struct dependents index;
	struct implemented implemented;
	struct counters counters;
};

enum dependents_counted { PROVIDER_GETS, SPARED_GETS, IMPLEMENTED, WITHDRAWN };

/* True: nothing is left to be done until something changes. */
bool dependent_look(struct dependents_state *s, struct str namespace, struct str name);

#endif
