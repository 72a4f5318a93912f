/* The watches of both controllers in this folder: Dependents, and objects of every kind that
 * they may name. */
#ifndef CONTROLLERS_DEPENDENTS_DEPENDENTS_WATCH_H
#define CONTROLLERS_DEPENDENTS_DEPENDENTS_WATCH_H

#include "client/informer.h"
#include "controllers/dependents/provider_references.h"
#include "controllers/kit/controller.h"

/* Kinds in the table provider_kinds; further rows would not be watched. */
enum { PROVIDER_KINDS_MAX = 4 };

/* The controller that watches. Its handlers run on the client's thread. */
struct dependents_watcher {
	struct controller_run *run; /* on_provided gets its state */
	bool is_metadata_enough;    /* keeps only metadata of every kind, not just of kinds that never change */
	struct informer_handlers dependents;
	/* is_gone: the object that had this name is gone; item may be a new object that took its
	 * place. */
	void (*on_provided)(void *state, const struct provider_kind *kind, const struct item *item, bool is_gone);
};

struct dependents_watch {
	struct dependents_watcher watcher;
	struct informer *dependents;
	struct watched_kind {
		struct dependents_watch *watch;
		const struct provider_kind *kind;
		struct informer *informer;
	} kinds[PROVIDER_KINDS_MAX]; /* in the order of provider_kinds */
};

void dependents_watch_start(struct dependents_watch *w, const struct dependents_watcher *watcher);
bool dependents_watch_has_synced(const struct dependents_watch *w); /* of all informers */
/* Returns a reference, or NULL. */
struct item *dependents_watch_get(
	const struct dependents_watch *w, const struct provider_kind *kind, struct str namespace, struct str name);

#endif
