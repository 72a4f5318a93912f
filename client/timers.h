/* A client's timers, the earliest first. */
#ifndef CLIENT_TIMERS_H
#define CLIENT_TIMERS_H

#include "client/client.h"

void timers_set(struct list *timers, struct client_timer *t, int64_t delay_ms);
void timers_run(struct list *timers); /* those that are due */
void timers_drop(struct list *timers);
int timers_left_ms(const struct list *timers, int max_ms); /* until the next one */

#endif
