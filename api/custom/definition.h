/* CustomResourceDefinitions themselves: their names, conditions, and what becomes of them.
 *
 * A definition is established in the same write that creates or changes it, and not by a controller
 * afterwards. So its conditions are computed from the kinds that are served at that revision, and the
 * transaction is guarded: no other definition may have changed since. */
#ifndef API_CUSTOM_DEFINITION_H
#define API_CUSTOM_DEFINITION_H

#include "api/model/kind.h"

#define DEFINITION_FINALIZER "customresourcecleanup.apiextensions.k8s.io"

/* The kind of definitions themselves. */
const struct kind *definitions_kind(void);
/* The version of that name, or the one that is stored, in the spec of a definition; NULL: there is none. */
const struct json *definition_version(const struct json *spec, struct str name);
const struct json *definition_stored_version(const struct json *spec);
bool definition_is_established(const struct object *d);
/* Sets acceptedNames, storedVersions, and the conditions NamesAccepted and Established. defined: the
 * kinds that are served; may be NULL. now: for conditions that change. */
void definition_settle(struct object *d, const struct kinds *defined, struct str now, struct arena *a);
/* Says that the deletion of the definition has begun. */
void definition_terminate(struct object *d, struct str now, struct arena *a);
/* Does the definition wait for something: for the end of its objects, or for names? */
bool definition_is_pending(const struct object *d);

#endif
