/* Dependents as ConfigMaps: what they look like, without I/O. */
#ifndef CONTROLLERS_DEPENDENTS_CONFIGMAP_PLAN_H
#define CONTROLLERS_DEPENDENTS_CONFIGMAP_PLAN_H

#include "controllers/dependents/implementer.h"

/* What all of them have, for those who watch them. */
#define CONFIGMAP_LABEL "annals.dev/implements"
#define CONFIGMAP_LABEL_VALUE "Dependent"
/* Only of those that are filled: KIND/NAME/UID of each object that it was made from, separated by blanks. */
#define CONFIGMAP_MADE_FROM "annals.dev/made-from"

/* Of one that is there, for the Dependent of that uid. */
enum place_state configmap_state(const struct json *configmap, struct str dependent_uid);
bool configmap_is_made_from(const struct json *configmap, const struct provided *provided, struct str uid);

const struct json *configmap_empty(struct arena *a, const struct item *dependent);
/* NULL: it is so already. False with a sentence in why: not as they are. */
bool configmap_filled(struct arena *a, const struct json *configmap, const struct provision *v, size_t n,
	const struct json **ret, struct buf *why);

#endif
