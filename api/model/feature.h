/* What --feature-gates switch of the kinds: kinds are data and see no options. Set before any thread starts, then constant. */
#ifndef API_MODEL_FEATURE_H
#define API_MODEL_FEATURE_H

#include <stdbool.h>

enum feature {
	FEATURE_MAX_UNAVAILABLE_STATEFULSET, /* spec.updateStrategy.rollingUpdate.maxUnavailable is kept; off, as in Kubernetes 1.36 */
	FEATURES,
};

bool feature_is_enabled(enum feature f);
void feature_enable(enum feature f, bool is_enabled);

#endif
