/* Kinds that CustomResourceDefinitions describe: a struct kind like those of api/kinds, made of an
 * object of apiextensions.k8s.io. It is immutable, owns its memory, and is counted (struct kind_life).
 *
 * A kind exists once its definition is established, from that revision of etcd on. It is another one
 * when the definition's spec changes, or what its annotations declare. Objects have one shape in the storage, that of the version that
 * the definition stores; other versions show the same members (conversion None). If a webhook converts them, each object has the
 * shape of the version that it was stored in (struct kind's hook). */
#ifndef API_CUSTOM_CUSTOM_H
#define API_CUSTOM_CUSTOM_H

#include "api/model/kind.h"

#define DEFINITIONS_GROUP "apiextensions.k8s.io"
#define DEFINITIONS_RESOURCE "customresourcedefinitions"

/* struct cache_options' define. A definition that cannot be made sense of keeps the present kind. */
const struct kind *custom_define(const struct object *definition, const struct kind *present);
/* Sets *ret to the schema of a version for OpenAPI v2 or v3, made of the kind's definition, in the arena. false: the
 * definition describes another kind by now. */
bool custom_publish(struct json **ret, const struct kind *k, const struct version *v, bool is_v2,
	const struct object *definition, struct arena *a);

/* Writes what tells the kind from every other one: its definition, the generation of that, and what it declares. */
void custom_identify(const struct kind *k, struct buf *out);

#endif
