/* A pod as a member of a StatefulSet: what it is, what it should be, and the pod that takes an empty slot. Without I/O. */
#ifndef CONTROLLERS_STATEFULSET_MEMBER_H
#define CONTROLLERS_STATEFULSET_MEMBER_H

#include "controllers/history/history.h"
#include "controllers/statefulset/set.h"

#define LABEL_REVISION "controller-revision-hash" /* the name of the revision that a pod was made from */
#define LABEL_POD_NAME "statefulset.kubernetes.io/pod-name"
#define LABEL_POD_INDEX "apps.kubernetes.io/pod-index"

struct member {
	const struct json *pod;
	struct str name, uid, version;
	struct str revision; /* of LABEL_REVISION; empty: it was made when there was no history */
	int64_t generation;  /* of HISTORY_LABEL_GENERATION; 0: none */
	int64_t ordinal;
	enum { POD_NEW, POD_PENDING, POD_RUNNING, POD_OVER } phase; /* NEW: this pass makes it. OVER: Failed or Succeeded */
	bool is_terminating;
	bool is_ready;     /* Running, with the condition Ready */
	bool is_available; /* for minReadySeconds already */
	int64_t available_in_s; /* how long until it is, if it stays Ready; 0: not foreseeable */
	bool is_deleted;   /* by this pass */
};

/* False: its name is none of this set's. now_s: the wall clock. */
bool member_read(struct member *ret, const struct json *pod, const struct set *s, int64_t now_s);

static inline bool member_is_unavailable(const struct member *m)
{
	return !m->is_available || m->is_terminating;
}

/* The set's template, with a volume for each claim that its containers mount: a PodTemplate that mounts what is no volume of it is refused.
 * The claim is named as its template is; pods get their own. */
struct json *member_template(const struct set *s, struct arena *a);

/* The pod of that ordinal, made from the revision; NULL: from the set's own template, without labels of a revision. */
struct json *member_make(const struct set *s, const struct revision *r, int64_t ordinal, struct arena *a);

bool member_has_storage(const struct set *s, const struct member *m, struct arena *a); /* the volumes of its claims */
/* Has it the labels and the volumes of its slot? They may be lost to a client's write, or to an orphan that was adopted. */
bool member_conforms(const struct set *s, const struct member *m, struct arena *a);
/* The pod with both. */
struct json *member_conformed(const struct set *s, const struct member *m, struct arena *a);
/* The pod with the labels of another revision of equal state (seed 000, "Target Object State Reconciliation" 1). */
struct json *member_relabelled(const struct member *m, const struct revision *r, struct arena *a);

#endif
