/* What a `struct trust` (api/model/delegates.h) is made of, copied. */
#ifndef API_MODEL_TRUST_H
#define API_MODEL_TRUST_H

#include "api/model/delegates.h"
#include "base/arena.h"

void trust_copy(struct trust *ret, const struct trust *from, struct arena *a);

#endif
