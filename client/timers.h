/* A client's timers, the earliest first. */
#ifndef CLIENT_TIMERS_H
#define CLIENT_TIMERS_H

#include "client/client.h"

void timers_set(struct heap *timers, struct client_timer *t, int64_t delay_ms);
void timers_run(struct heap *timers);                      /* those that are due */
void timers_drop(struct heap *timers);                     /* and its memory; timers may be set again */
int timers_left_ms(const struct heap *timers, int max_ms); /* until the next one */

#endif
