/* A budget of the bytes that the requests of one class may hold together. It also gives freed
 * memory back to the kernel.
 *
 * A limit on the number of requests bounds no memory: two hundred writes of 1.5 MB are a
 * gigabyte. A request is charged for what it holds while it waits: its body as it arrives, and
 * what is sent to etcd or to webhooks. Memory that it needs only while a thread works on it is
 * not charged: there are few threads. Unsent answers are counted elsewhere (http_unsent.h). Any
 * thread. */
#ifndef SERVER_REQUEST_BUDGET_H
#define SERVER_REQUEST_BUDGET_H

#include "base/base.h"

struct budget;

struct budget *budget_new(size_t limit); /* bytes */
struct budget *budget_free(struct budget *b);
/* Changes the charge to `wanted`, unless that exceeds the budget; requests without privileges
 * get seven eighths of it. A request that finds the budget unused is always granted: otherwise
 * the largest would never be served. */
bool budget_charge(struct budget *b, size_t *charged, size_t wanted, bool is_privileged);
bool budget_has_room(struct budget *b, size_t wanted, bool is_privileged); /* would that be granted to another request now? */
void budget_note_freed(struct budget *b, size_t n);                        /* bytes that were not charged here */
size_t budget_used(struct budget *b);

#endif
