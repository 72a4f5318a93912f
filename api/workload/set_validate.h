/* Validates StatefulSets: ValidateStatefulSet and its kin of
 * k8s.io/kubernetes/pkg/apis/apps/validation v1.36, with the same order and texts. */
#ifndef API_WORKLOAD_SET_VALIDATE_H
#define API_WORKLOAD_SET_VALIDATE_H

#include "api/model/kind.h"

/* See struct kind, and struct subresource. annals.dev/v1beta1 has rules of its own on top. */
void set_validate(const struct object *o, struct field_errors *errors);
void set_validate_update(const struct object *o, const struct object *old, struct field_errors *errors);
void set_validate_status(const struct object *o, const struct object *old, struct field_errors *errors);
/* Checks the rules that hold at every version, and for every way to write a spec. */
void set_validate_scale(const struct object *o, const struct object *old, struct field_errors *errors);

/* The same members of spec, or absent from both. */
bool set_is_same(const struct json *x, const struct json *y);

/* The additional rules of annals.dev/v1beta1; old: NULL on create. */
bool set_is_beta(const struct object *o); /* was it sent through that version? */
void set_validate_beta(const struct object *o, const struct object *old, struct field_errors *errors);
/* Refuses changes of all fields but those that may change; each error has its own path. */
void set_validate_beta_fixed(const struct object *o, const struct object *old, struct field_errors *errors);

#endif
