/* Dependents as ConfigMaps: what they look like, without I/O. */
#ifndef CONTROLLERS_DEPENDENTS_CONFIGMAP_PLAN_H
#define CONTROLLERS_DEPENDENTS_CONFIGMAP_PLAN_H

#include "controllers/dependents/implementer.h"

/* The label of every ConfigMap made here; the controller watches ConfigMaps by it. */
#define CONFIGMAP_LABEL "annals.dev/implements"
#define CONFIGMAP_LABEL_VALUE "Dependent"
/* The annotation of filled ConfigMaps: KIND/NAME/UID of each object that the ConfigMap was made
 * from, separated by blanks. */
#define CONFIGMAP_MADE_FROM "annals.dev/made-from"

/* The state of an existing ConfigMap as the place of the Dependent with that uid. */
enum place_state configmap_state(const struct json *configmap, struct str dependent_uid);
bool configmap_is_made_from(const struct json *configmap, const struct provided *provided, struct str uid);

const struct json *configmap_empty(struct arena *a, const struct item *dependent);
/* Sets *ret to the filled ConfigMap, or to NULL if it is filled already. Returns false, with a
 * sentence in why, if these objects do not fit into one. */
bool configmap_filled(struct arena *a, const struct json *configmap, const struct provision *v, size_t n,
	const struct json **ret, struct buf *why);

#endif
