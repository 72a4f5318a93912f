/* When the finalizer that keeps a Provider goes: decisions of the provider finalization controller, without I/O (seed 004). */
#ifndef CONTROLLERS_DEPENDENTS_PROVIDER_PLAN_H
#define CONTROLLERS_DEPENDENTS_PROVIDER_PLAN_H

#include "base/json.h"

enum provider_step {
	PROVIDER_LEAVE, /* until something changes */
	PROVIDER_ASK,   /* the server, who refers to it */
	PROVIDER_LET_GO,
};

/* By its metadata, and by what a cache knows of Dependents. A Dependent that the cache shows is enough to leave the Provider alone: the end
 * of it will be told. That it shows none means nothing: the one that matters may not have been told of yet (seed 004, "An incorrect
 * optimization", which tests/broken builds to see what comes of it). */
enum provider_step provider_next(const struct json *meta, bool is_referred_to_in_cache);
/* By the answer to that question. An empty list of metadata has null for items, as Kubernetes'. */
enum provider_step provider_next_by_list(const struct json *list);

#endif
