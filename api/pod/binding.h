/* v1 Binding: gives a pod a node, as the subresource `binding` of pods takes it. */
#ifndef API_POD_BINDING_H
#define API_POD_BINDING_H

#include "api/model/kind.h"

extern const struct view binding_view;

#endif
