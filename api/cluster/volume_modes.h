/* How volumes can be mounted, as tables show it. */
#ifndef API_CLUSTER_VOLUME_MODES_H
#define API_CLUSTER_VOLUME_MODES_H

#include "base/buf.h"
#include "base/json.h"

/* "RWO,ROX": each mode once, in an order of its own. */
void volume_modes_write(const struct json *modes, struct buf *out);

#endif
