/* A pod as a member of a StatefulSet: its present form, its desired form, and the new pod for an
 * empty slot. No I/O. */
#ifndef CONTROLLERS_STATEFULSET_MEMBER_H
#define CONTROLLERS_STATEFULSET_MEMBER_H

#include "controllers/kit/history.h"
#include "controllers/statefulset/set.h"

#define LABEL_REVISION "controller-revision-hash" /* the name of the revision that the pod was made from */
#define LABEL_POD_NAME "statefulset.kubernetes.io/pod-name"
#define LABEL_POD_INDEX "apps.kubernetes.io/pod-index"

struct member {
	const struct json *pod;
	struct str name, uid, version;
	struct str revision; /* value of LABEL_REVISION; empty: the pod was made before there was a history */
	int64_t generation;  /* value of HISTORY_LABEL_GENERATION; 0: none */
	int64_t ordinal;
	enum { POD_NEW, POD_PENDING, POD_RUNNING, POD_OVER } phase; /* NEW: this pass creates it. OVER: Failed or Succeeded */
	bool is_terminating;
	bool is_ready;     /* Running, with the condition Ready */
	bool is_available; /* Ready for minReadySeconds */
	/* The pod's status proves that the pod has never been Ready. False: it was, or nobody can tell. */
	bool was_never_ready;
	int64_t available_in_s; /* seconds until it is available if it stays Ready; 0: not foreseeable */
	bool is_deleted;        /* deleted by this pass */
};

/* Returns false if the name is not one of this set's. now_s: wall clock. */
bool member_read(struct member *ret, const struct json *pod, const struct set *s, int64_t now_s);

static inline bool member_is_unavailable(const struct member *m)
{
	return !m->is_available || m->is_terminating;
}

/* Returns the set's template, with a volume for each claim that its containers mount: the server
 * refuses a PodTemplate that mounts a missing volume. These volumes use the claim templates' names;
 * pods get their own claims. */
struct json *member_template(const struct set *s, struct arena *a);

/* Makes the pod of that ordinal from the revision. r NULL: from the set's own template, without
 * a revision's labels. */
struct json *member_make(const struct set *s, const struct revision *r, int64_t ordinal, struct arena *a);

bool member_has_storage(const struct set *s, const struct member *m, struct arena *a); /* has it the volumes of its claims? */
/* Does the pod have the labels and volumes of its slot? A client's write may have removed them,
 * or it was an adopted orphan. */
bool member_conforms(const struct set *s, const struct member *m, struct arena *a);
/* Returns the pod with these labels and volumes. */
struct json *member_conformed(const struct set *s, const struct member *m, struct arena *a);
/* Returns the pod with the labels of another revision that has an equal state. */
struct json *member_relabelled(const struct member *m, const struct revision *r, struct arena *a);

#endif
