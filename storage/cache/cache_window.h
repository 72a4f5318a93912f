/* The latest events of a kind, which watches begin and resume from. */
#ifndef STORAGE_CACHE_CACHE_WINDOW_H
#define STORAGE_CACHE_CACHE_WINDOW_H

#include "storage/cache/cache.h"

#include <stdatomic.h>

struct event {
	_Atomic uint32_t refs;
	int64_t revision;
	struct cached *old, *now;      /* NULL: was not there, is not there any more */
	_Atomic(struct cached *) gone; /* old at this event's revision; made when the first watcher must see it */
};

struct event *event_new(int64_t revision, struct cached *old, struct cached *now); /* takes references of its own */
struct event *event_ref(struct event *e);
struct event *event_unref(struct event *e);
struct cached *event_gone(struct event *e); /* a reference */

/* Recent events of a kind, numbered from 0 on since the start, ascending by revision. */
struct window {
	struct event **ring;
	size_t cap;          /* power of two */
	uint64_t first, end; /* numbers: the oldest kept, the next to come */
	size_t bytes, max_events, max_bytes;
	int64_t floor; /* states at this revision and later can be rebuilt, events after it are all there */
};

void window_init(struct window *w, size_t max_events, size_t max_bytes);
void window_done(struct window *w);
struct event *window_at(const struct window *w, uint64_t number);
void window_clear(struct window *w);
void window_append(struct window *w, struct event *e);           /* takes it */
uint64_t window_after(const struct window *w, int64_t revision); /* number of the first event with a later revision */

#endif
