/* Whom to believe, as the ConfigMap kube-system/extension-apiserver-authentication says it. Pure. */
#ifndef DELEGATION_CLUSTER_TRUST_READ_H
#define DELEGATION_CLUSTER_TRUST_READ_H

#include "api/model/delegates.h"
#include "base/json.h"

/* *ret lives as long as the object and the arena. What is missing or garbage believes nobody - never anybody: a list of names that cannot be
 * read is not an empty one - and problems gets a sentence for it. config_map NULL: it is not there. */
void trust_read_users(struct trust *ret, const struct json *config_map, struct buf *problems);
void trust_read_fronts(struct trust *ret, const struct json *config_map, struct arena *a, struct buf *problems);

#endif
