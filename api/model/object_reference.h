/* How objects of the core group name others (k8s.io/api/core/v1 ObjectReference). */
#ifndef API_MODEL_OBJECT_REFERENCE_H
#define API_MODEL_OBJECT_REFERENCE_H

#include "api/model/schema.h"

extern const struct type type_object_reference;
/* Of which each member has an owner of its own. */
extern const struct type type_granular_object_reference;

#endif
