/* Carries out what definitions of kinds wait for. A definition that is being deleted waits until its
 * objects are gone; one whose names are taken waits until they are free.
 *
 * Every replica has such a thread, and several may do the same at once: each step is one guarded
 * transaction, so one of them succeeds. The end of a definition is safe because of two guards. No
 * object is written unless its definition is as the writer knew it (storage/engine/plan.h). And who
 * has seen the deletion begin creates none. So at a revision at which the definition is being deleted
 * and no object is there, none will come. */
#ifndef STORAGE_ENGINE_DEFINITIONS_H
#define STORAGE_ENGINE_DEFINITIONS_H

#include "storage/cache/cache.h"
#include "storage/engine/agreement.h"

struct definitions;

struct definitions_options {
	struct storage *storage; /* these three outlive it */
	struct cache *cache;
	struct agreement *agreement; /* may be NULL */
	struct str prefix;           /* "/annals" */
	/* For logs: one sentence, about trouble. NULL: nothing. */
	void (*on_notice)(void *ctx, struct str text);
	void *ctx;
};

struct definitions *definitions_new(void); /* before the cache, whose on_definition is definitions_note() */
void definitions_note(void *definitions, struct str name, const struct object *definition);
void definitions_start(struct definitions *d, const struct definitions_options *options);
struct definitions *definitions_free(struct definitions *d); /* after the last call of definitions_note() */
/* Ends the thread; notes are still taken. */
void definitions_stop(struct definitions *d);

#endif
