/* Collects the items of a list, by namespace and name, while the list arrives. */
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
/* Takes over the reference. Returns false when there are too many items. */
bool gathering_add(struct gathering *g, struct item *item);
void gathering_remove(struct gathering *g, const struct item *item);
/* Empties the gathering. The references of its items pass to the caller. */
void gathering_forget(struct gathering *g);

#endif
