/* What makes a Dependent real, behind a few functions, so that there can be others than ConfigMaps: implement_configmap.c.
 *
 * It is done in two steps, and undone by one, so that no request that was given up, or that a controller sent before it lost an election,
 * can do harm when it arrives late. First there is an empty place, which means nothing. Only then Providers are looked at, and the place is
 * filled, by its uid and version. To undo is to remove the place: whatever was sent to fill it fails from then on. */
#ifndef CONTROLLERS_DEPENDENTS_IMPLEMENTER_H
#define CONTROLLERS_DEPENDENTS_IMPLEMENTER_H

#include "controllers/dependents/provider_references.h"

enum place_state {
	PLACE_NONE,
	PLACE_TAKEN, /* something that is not this Dependent's has its name */
	PLACE_EMPTY,
	PLACE_FILLED, /* an implementation */
};

struct place {
	enum place_state state;
	struct answer object;
};

/* What a Dependent refers to, as it is. */
struct provision {
	struct provided provided;
	struct item *object;
};

enum { IMPLEMENTER_UNFIT = 100 }; /* beside every enum rest_error */

/* Functions block, and are never called twice at once for one Dependent. Each is given an answer_init()ed place; 0, or a rest_error with
 * its answer in place->object. */
struct implementer {
	const char *kind; /* "ConfigMap"; it has the Dependent's name */
	/* What to watch, so that one that was changed by others is seen to. */
	const struct resource *resource;
	const char *label_selector;

	int (*find)(struct client *c, const struct item *dependent, struct place *ret);
	/* After find() has found none. */
	int (*reserve)(struct client *c, const struct item *dependent, struct place *ret);
	/* Is the place filled with that very object? */
	bool (*is_made_from)(const struct place *p, const struct provided *provided, struct str uid);
	/* Writes nothing where nothing would change. IMPLEMENTER_UNFIT: not with these as they are; why says so. */
	int (*fill)(struct client *c, const struct item *dependent, struct place *p, const struct provision *v, size_t n,
		struct buf *why);
	/* Of an empty or a filled one. The state tells whether it is gone when this returns. */
	int (*withdraw)(struct client *c, const struct item *dependent, struct place *p);
};

void place_init(struct place *p);
void place_done(struct place *p);

extern const struct implementer configmap_implementer;

#endif
