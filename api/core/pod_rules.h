/* The server's decisions about pods: how a new one is stored, what an update leaves alone, how long
 * a deletion takes. */
#ifndef API_CORE_POD_RULES_H
#define API_CORE_POD_RULES_H

#include "api/model/kind.h"

/* A part of decoding, beyond pod_spec_defaults(): defaults for pods, but not for templates of
 * pods. */
void pod_set_defaults(struct object *o, struct arena *a);
void pod_prepare_create(struct object *o, struct arena *a);
void pod_prepare_update(struct object *o, const struct object *old, struct arena *a);
/* For writes through ephemeralcontainers and status: the rest stays as it is stored. */
void pod_merge_ephemeral(struct object *stored, const struct object *sent, struct arena *a);
void pod_merge_status(struct object *stored, const struct object *sent, struct arena *a);
/* See struct kind. */
int64_t pod_grace_period(const struct object *o, bool is_wanted, int64_t wanted_s);

extern const struct view binding_view;
/* Says why the pod cannot be bound; empty: it can. */
struct str pod_refuse_binding(const struct object *o, struct arena *a);

#endif
