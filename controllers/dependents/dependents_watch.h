/* What both controllers of this room watch: Dependents, and objects of every kind that they may name. */
#ifndef CONTROLLERS_DEPENDENTS_DEPENDENTS_WATCH_H
#define CONTROLLERS_DEPENDENTS_DEPENDENTS_WATCH_H

#include "client/informer.h"
#include "controllers/dependents/provider_references.h"
#include "controllers/kit/controller.h"

enum { PROVIDER_KINDS_MAX = 4 };

/* Who watches. Handlers run as an informer's do. */
struct dependents_watcher {
	const struct controller_env *env;
	bool is_metadata_enough;             /* of every kind; else only of those that never change */
	struct informer_handlers dependents; /* on_problem: of what may be named as well */
	/* is_gone: what had its name is; item may be another one, which has taken its place. */
	void (*on_provided)(void *ctx, const struct provider_kind *kind, const struct item *item, bool is_gone);
	void *ctx;
};

struct dependents_watch {
	struct dependents_watcher watcher;
	struct informer *dependents;
	struct watched_kind {
		struct dependents_watch *watch;
		const struct provider_kind *kind;
		struct informer *informer;
	} kinds[PROVIDER_KINDS_MAX]; /* as provider_kinds */
};

void dependents_watch_start(struct dependents_watch *w, const struct dependents_watcher *watcher);
void dependents_watch_stop(struct dependents_watch *w);
bool dependents_watch_has_synced(const struct dependents_watch *w); /* all of it */
/* A reference, or NULL. */
struct item *dependents_watch_get(
	const struct dependents_watch *w, const struct provider_kind *kind, struct str namespace, struct str name);

#endif
