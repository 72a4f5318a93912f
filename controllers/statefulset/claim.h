/* The PersistentVolumeClaims of a StatefulSet's pods: their names, and their owners by the
 * retention policy (docs/explanation/statefulsets.md, "Claims"). No I/O. */
#ifndef CONTROLLERS_STATEFULSET_CLAIM_H
#define CONTROLLERS_STATEFULSET_CLAIM_H

#include "controllers/statefulset/set.h"

struct str claim_template_name(const struct json *template);
/* TEMPLATE-SET-ORDINAL */
struct str claim_name(const struct set *s, const struct json *template, int64_t ordinal, struct arena *a);
struct json *claim_make(const struct set *s, const struct json *template, int64_t ordinal, struct arena *a);

/* The pod of a claim. uid empty: the pod does not exist yet. */
struct claim_pod {
	struct str name, uid;
	bool is_in_range; /* its ordinal is one of the set's slots */
};

/* Does the claim refer to the set or the pod as the policy demands? meta: the claim's. Also true
 * if its owners are not the set's to change. */
bool claim_has_right_owners(const struct set *s, const struct claim_pod *pod, const struct json *meta);
/* Returns metadata.ownerReferences as the policy demands; references to others stay. */
struct json *claim_right_owners(const struct set *s, const struct claim_pod *pod, const struct json *meta, struct arena *a);
/* Does the claim have another controller, so that the policy cannot apply? */
bool claim_has_other_controller(const struct set *s, const struct claim_pod *pod, const struct json *meta);
/* Does it refer to an earlier pod of that name, and so will go with it? */
bool claim_is_stale(const struct set *s, const struct claim_pod *pod, const struct json *meta);

#endif
