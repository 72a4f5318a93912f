/* The garbage collector's watches: a metadata informer for every resource that discovery lists
 * as listable, watchable and deletable. gc.c's thread calls these functions. The informers'
 * handlers run on the client's thread and feed the graph. */
#ifndef CONTROLLERS_GC_GC_MONITORS_H
#define CONTROLLERS_GC_GC_MONITORS_H

#include "base/list.h"
#include "controllers/gc/gc_core.h"

struct gc_monitors {
	struct gc_core *core;
	struct list all;
	void (*on_synced)(void *context); /* called on the client's thread when another informer has shown its first list */
	void *context;
	atomic_bool has_refused; /* the graph had no room for some object */
	bool has_told;           /* discovery failed and the log says so; only the syncing thread uses it */
};

void gc_monitors_init(struct gc_monitors *m, struct gc_core *core, void (*on_synced)(void *context), void *context);
void gc_monitors_done(struct gc_monitors *m); /* on return no handler runs any more */

/* Runs discovery again. Resources that are no longer served lose their watch, except in groups
 * that did not answer. Returns false if discovery failed; then nothing changes. */
bool gc_monitors_sync(struct gc_monitors *m);
/* Has every informer shown its first list? Returns false if there are no informers. */
bool gc_monitors_have_synced(const struct gc_monitors *m);

#endif
