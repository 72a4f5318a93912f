/* One process serves one set of features, like upstream's DefaultFeatureGate. */
#include "api/model/feature.h"

static bool features[FEATURES];

bool feature_is_enabled(enum feature f)
{
	return features[f];
}

void feature_enable(enum feature f, bool is_enabled)
{
	features[f] = is_enabled;
}
