/* One look at one Dependent: decides what happens to it, and does that. */
#ifndef CONTROLLERS_DEPENDENTS_DEPENDENT_LOOK_H
#define CONTROLLERS_DEPENDENTS_DEPENDENT_LOOK_H

#include "controllers/dependents/dependents.h"
#include "controllers/dependents/dependents_watch.h"
#include "controllers/dependents/implemented.h"
#include "controllers/dependents/implementer.h"
#include "controllers/kit/controller.h"
#include "controllers/kit/counters.h"

struct dependents_state {
	struct controller_run run; /* keys: NAMESPACE/NAME */
	const struct implementer *implementer;
	struct dependents_watch watch;
	struct dependents index;
	struct implemented implemented;
	struct counters counters;
};

enum dependents_counted { PROVIDER_GETS, SPARED_GETS, IMPLEMENTED, WITHDRAWN };

/* Returns true when nothing is left to do until something changes. */
bool dependent_look(struct dependents_state *s, struct str namespace, struct str name);

#endif
