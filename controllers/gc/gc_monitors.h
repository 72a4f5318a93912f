/* The garbage collector's eyes: an informer, of metadata only, for every resource that can be listed, watched and deleted, as
 * discovery finds them. One thread, gc.c's, calls these functions; the informers' handlers run on the client's and feed the graph. */
#ifndef CONTROLLERS_GC_GC_MONITORS_H
#define CONTROLLERS_GC_GC_MONITORS_H

#include "base/list.h"
#include "controllers/gc/gc_core.h"

struct gc_monitors {
	struct gc_core *core;
	struct list all;
	void (*on_synced)(void *context); /* another one has been shown all there is; on the client's thread */
	void *context;
	atomic_bool has_refused; /* there was no room in the graph for some object */
	bool has_told; /* that nothing can be discovered; the syncing thread's */
};

void gc_monitors_init(struct gc_monitors *m, struct gc_core *core, void (*on_synced)(void *context), void *context);
void gc_monitors_done(struct gc_monitors *m); /* no handler runs any more */

/* Discovers anew. What is no longer served is no longer watched; but for a group that could not be asked, all stays. False: nothing is
 * known, nothing was changed. */
bool gc_monitors_sync(struct gc_monitors *m);
/* Has everything that is watched been shown once? False too when nothing is. */
bool gc_monitors_have_synced(const struct gc_monitors *m);

#endif
