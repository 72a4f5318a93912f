/* The functions that implement a Dependent, so that kinds other than ConfigMaps
 * (implement_configmap.c) are possible.
 *
 * An implementation is made in two steps and undone in one. So a late request does no harm, even
 * one that was given up or was sent before an election was lost. The first step reserves an
 * empty place, which means nothing yet. Only then the controller looks at Providers, and fills
 * the place by its uid and version. Undoing removes the place: from then on every request to
 * fill it fails. */
#ifndef CONTROLLERS_DEPENDENTS_IMPLEMENTER_H
#define CONTROLLERS_DEPENDENTS_IMPLEMENTER_H

#include "controllers/dependents/provider_references.h"

enum place_state {
	PLACE_NONE,
	PLACE_TAKEN, /* an object that does not belong to this Dependent has the name */
	PLACE_EMPTY,
	PLACE_FILLED, /* the Dependent is implemented */
};

struct place {
	enum place_state state;
	struct answer object;
};

/* An object that a Dependent refers to, with its content. */
struct provision {
	struct provided provided;
	struct item *object;
};

enum { IMPLEMENTER_UNFIT = 100 }; /* differs from every enum rest_error */

/* The functions block, and never run twice at once for one Dependent. Each gets a place that
 * place_init() has prepared. Each returns 0, or a rest_error with its answer in place->object. */
struct implementer {
	const char *kind; /* "ConfigMap"; it has the Dependent's name */
	/* The watch for implementations, so that the controller notices changes by others. */
	const struct resource *resource;
	const char *label_selector;

	int (*find)(struct client *c, const struct item *dependent, struct place *ret);
	/* Called after find() has found no place. */
	int (*reserve)(struct client *c, const struct item *dependent, struct place *ret);
	/* Is the place filled with that very object? */
	bool (*is_made_from)(const struct place *p, const struct provided *provided, struct str uid);
	/* Writes nothing if nothing would change. IMPLEMENTER_UNFIT: these objects cannot be
	 * used as they are; why gives the reason. */
	int (*fill)(struct client *c, const struct item *dependent, struct place *p, const struct provision *v, size_t n,
		struct buf *why);
	/* Removes an empty or filled place. The state shows whether it is gone on return. */
	int (*withdraw)(struct client *c, const struct item *dependent, struct place *p);
};

void place_init(struct place *p);
void place_done(struct place *p);

extern const struct implementer configmap_implementer;

#endif
