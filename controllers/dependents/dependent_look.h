/* One look at one Dependent: what becomes of it, and doing that. */
#ifndef CONTROLLERS_DEPENDENTS_DEPENDENT_LOOK_H
#define CONTROLLERS_DEPENDENTS_DEPENDENT_LOOK_H

#include "controllers/dependents/dependents.h"
#include "controllers/dependents/dependents_watch.h"
#include "controllers/dependents/implemented.h"
#include "controllers/dependents/implementer.h"
#include "controllers/kit/controller.h"
#include "controllers/kit/counters.h"

struct dependents_state {
	const struct controller_env *env;
	const struct implementer *implementer;
	struct workqueue *queue; /* NAMESPACE/NAME */
	struct dependents_watch watch;
	struct informer *implementations;
	struct dependents index;
	struct implemented implemented;
	struct counters counters;
};

enum dependents_counted { PROVIDER_GETS, SPARED_GETS, IMPLEMENTED, WITHDRAWN };

/* True: nothing is left to be done until something changes. */
bool dependent_look(struct dependents_state *s, struct str namespace, struct str name);

#endif
