/* How many bytes the requests of one class may hold, all together; and memory that they have let go of is given back to the kernel.
 *
 * Counting requests alone bounds nothing: two hundred writes of 1.5 MB are a gigabyte. Charged is what a request holds while it waits: its
 * body as it arrives, what is sent to etcd or to webhooks, an answer that the client has yet to take. What it needs only while a thread works on it
 * is not: there are few threads. Any thread. */
#ifndef SERVER_REQUEST_BUDGET_H
#define SERVER_REQUEST_BUDGET_H

#include "base/base.h"

struct budget;

struct budget *budget_new(size_t limit); /* bytes */
struct budget *budget_free(struct budget *b);
/* What was charged becomes `wanted`, unless that exceeds the budget. Who finds it untouched may always: else the largest would never be served. */
bool budget_charge(struct budget *b, size_t *charged, size_t wanted);
bool budget_has_room(struct budget *b, size_t wanted); /* would that be granted to another request now? */
size_t budget_used(struct budget *b);

#endif
