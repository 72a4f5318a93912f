/* What a `struct trust` (api/delegates.h) is made of, copied. */
#ifndef API_TRUST_H
#define API_TRUST_H

#include "api/delegates.h"
#include "base/arena.h"

void trust_copy(struct trust *ret, const struct trust *from, struct arena *a);

#endif
