/* When the finalizer of a Provider is removed: decisions of the provider finalization
 * controller, without I/O. */
#ifndef CONTROLLERS_DEPENDENTS_PROVIDER_PLAN_H
#define CONTROLLERS_DEPENDENTS_PROVIDER_PLAN_H

#include "base/json.h"

enum provider_step {
	PROVIDER_LEAVE, /* until something changes */
	PROVIDER_ASK,   /* ask the server who refers to it */
	PROVIDER_LET_GO,
};

/* Decides by the object's metadata and by the cached Dependents. If the cache shows a Dependent,
 * the Provider is left alone: an event will report that Dependent's end. If it shows none, that
 * proves nothing: the Dependent may not have reached the cache yet. tests/broken builds that wrong
 * optimization to show its consequences. */
enum provider_step provider_next(const struct json *meta, bool is_referred_to_in_cache);
/* Decides by the server's list of Dependents. An empty list of metadata has null for items, as
 * Kubernetes sends it. */
enum provider_step provider_next_by_list(const struct json *list);

#endif
