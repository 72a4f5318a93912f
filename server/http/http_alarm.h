/* A set of deadlines, the earliest first: a binary heap of nodes that their owners embed. Not thread-safe. */
#ifndef SERVER_HTTP_HTTP_ALARM_H
#define SERVER_HTTP_HTTP_ALARM_H

#include "base/base.h"

struct alarm {
	int64_t at_ms; /* monotonic */
	size_t place;  /* in the heap, from 1; 0: not set */
};

struct alarms {
	struct alarm **heap; /* heap[0] is not used */
	size_t n, cap;
};

void alarms_init(struct alarms *s);
void alarms_done(struct alarms *s);
void alarms_set(struct alarms *s, struct alarm *a, int64_t at_ms); /* moves it when set already */
void alarms_cancel(struct alarms *s, struct alarm *a);             /* harmless when not set */
/* The earliest, or NULL. */
static inline struct alarm *alarms_first(const struct alarms *s)
{
	return s->n ? s->heap[1] : NULL;
}

#endif
