/* Items by namespace and name while a list comes in. */
#ifndef CLIENT_GATHERING_H
#define CLIENT_GATHERING_H

#include "base/map.h"
#include "client/item.h"

struct gathering {
	struct map items; /* "NAMESPACE/NAME"; holds the references */
	struct buf key;
	size_t max;
};

void gathering_init(struct gathering *g, size_t max);
void gathering_done(struct gathering *g);
void gathering_clear(struct gathering *g);
/* Takes the reference. False when there are too many. */
bool gathering_add(struct gathering *g, struct item *item);
void gathering_remove(struct gathering *g, const struct item *item);
void gathering_forget(struct gathering *g); /* empty; the references are somebody else's now */

#endif
