/* How objects of the core group name others (k8s.io/api/core/v1 ObjectReference). */
#ifndef API_OBJECT_REFERENCE_H
#define API_OBJECT_REFERENCE_H

#include "api/schema.h"

extern const struct type type_object_reference;

#endif
