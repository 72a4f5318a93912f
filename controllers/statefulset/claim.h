/* The PersistentVolumeClaims of a StatefulSet's pods: their names, and whose they are by the retention policy (statefulset.md of upstream's rules:
 * docs/explanation/statefulsets.md, "Claims"). Without I/O. */
#ifndef CONTROLLERS_STATEFULSET_CLAIM_H
#define CONTROLLERS_STATEFULSET_CLAIM_H

#include "controllers/statefulset/set.h"

struct str claim_template_name(const struct json *template);
/* TEMPLATE-SET-ORDINAL */
struct str claim_name(const struct set *s, const struct json *template, int64_t ordinal, struct arena *a);
struct json *claim_make(const struct set *s, const struct json *template, int64_t ordinal, struct arena *a);

/* The pod a claim is for. uid empty: it is still to be made. */
struct claim_pod {
	struct str name, uid;
	bool is_in_range; /* of the set's slots */
};

/* meta: of the claim. Does it refer to the set or to the pod as the policy says? True also where it is not ours to change. */
bool claim_has_right_owners(const struct set *s, const struct claim_pod *pod, const struct json *meta);
/* metadata.ownerReferences as the policy says; those of others stay. */
struct json *claim_right_owners(const struct set *s, const struct claim_pod *pod, const struct json *meta, struct arena *a);
/* Is somebody else its controller, so that the policy cannot hold? */
bool claim_has_other_controller(const struct set *s, const struct claim_pod *pod, const struct json *meta);
/* Does it refer to an earlier pod of that name, with which it will go? */
bool claim_is_stale(const struct set *s, const struct claim_pod *pod, const struct json *meta);

#endif
