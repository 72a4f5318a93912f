/* Is a StatefulSet what it must be? ValidateStatefulSet and its kin of k8s.io/kubernetes/pkg/apis/apps/validation v1.36: same order, same texts. */
#ifndef API_WORKLOAD_SET_VALIDATE_H
#define API_WORKLOAD_SET_VALIDATE_H

#include "api/model/kind.h"

/* See struct kind, and struct subresource. At annals.dev/v1beta1 the rules of seed 002, "StatefulSet Validation", come on top. */
void set_validate(const struct object *o, struct field_errors *errors);
void set_validate_update(const struct object *o, const struct object *old, struct field_errors *errors);
void set_validate_status(const struct object *o, const struct object *old, struct field_errors *errors);
/* What holds at every door, and for every way to write a spec. */
void set_validate_scale(const struct object *o, const struct object *old, struct field_errors *errors);

/* The same members of spec, or absent from both. */
bool set_is_same(const struct json *x, const struct json *y);

/* set_validate_beta.c: what annals.dev/v1beta1 demands besides; old: NULL on create. */
bool set_is_beta(const struct object *o); /* was it sent through that door? */
void set_validate_beta(const struct object *o, const struct object *old, struct field_errors *errors);
/* Everything but what may change, each with the path of its own. */
void set_validate_beta_fixed(const struct object *o, const struct object *old, struct field_errors *errors);

#endif
