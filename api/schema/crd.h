/* The rules of CustomResourceDefinitions: k8s.io/apiextensions-apiserver/pkg/apis/apiextensions v0.36, validation and defaults, same
 * texts, paths and order.
 *
 * The functions have the forms of hooks of struct kind. They read `spec` and `status` of the object as apiextensions.k8s.io/v1 has them.
 * Paths are those of upstream's internal type, which has one schema above the versions where all versions have the same
 * ("spec.validation.openAPIV3Schema"). Rules of x-kubernetes-validations are kept and not evaluated: crd_warn() says so. */
#ifndef API_SCHEMA_CRD_H
#define API_SCHEMA_CRD_H

#include "api/model/object.h"
#include "api/schema/schema.h"

/* names.singular, names.listKind, conversion; status.storedVersions where it is empty. */
void crd_set_defaults(struct object *o, struct arena *a);
/* A new definition's status has its storage version, and nothing else. */
void crd_prepare_create(struct object *o, struct arena *a);
/* The status stays, but for a new storage version. */
void crd_prepare_update(struct object *o, const struct object *old, struct arena *a);

/* The name's rule ("must be spec.names.plural+"."+spec.group") is in it; other metadata is judged before. */
void crd_validate(const struct object *o, struct field_errors *errors);
void crd_validate_update(const struct object *o, const struct object *old, struct field_errors *errors);
void crd_validate_status(const struct object *o, const struct object *old, struct field_errors *errors);

/* Warnings of a version that has passed all rules: formats that are not checked, rules that are not evaluated. old: NULL on create.
 * Returns how many; the texts are in the arena. */
enum { CRD_WARNINGS_MAX = 32 }; /* of one request; what is beyond is left out */
size_t crd_warn(const struct object *o, const struct object *old, struct arena *a, struct str ret[CRD_WARNINGS_MAX]);

/* Why a definition's schemas are not structural: the message of condition NonStructuralSchema, empty where they are. */
struct str crd_nonstructural(const struct object *o, struct arena *a);

/* The state of annotation api-approved.kubernetes.io, and the message of the condition. */
enum crd_approval {
	CRD_APPROVAL_INVALID,
	CRD_APPROVED,
	CRD_APPROVAL_BYPASSED,
	CRD_APPROVAL_MISSING,
	CRD_APPROVAL_NOT_NEEDED, /* the group is nobody's */
};
enum crd_approval crd_approval(const struct object *o, struct arena *a, struct str *ret_reason);

#endif
