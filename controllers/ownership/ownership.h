/* ControllerRef (seed 001): which object controls which. The decisions, without I/O.
 *
 * The Three Laws: who controls an object is written in it from its first write on; an object that another one controls is never touched; an
 * object that is not one's own never counts. Nothing else says who owns an object: neither labels nor names. */
#ifndef CONTROLLERS_OWNERSHIP_OWNERSHIP_H
#define CONTROLLERS_OWNERSHIP_OWNERSHIP_H

#include "api/model/object.h"

/* Who may own, as it was last seen. */
struct owner {
	struct str api_version, kind, ns, name, uid; /* as references to it say */
	bool is_deleting;
};

/* The one of metadata.ownerReferences with controller: true; absent and false are the same. */
bool ownership_controller(const struct json *meta, struct owner_reference *ret);
bool ownership_is_ours(const struct owner *o, const struct json *meta);

/* What becomes of an object of the namespace that might be the owner's. */
enum claim {
	CLAIM_IGNORED = 1, /* somebody else's; or an orphan that is not wanted, or may not be */
	CLAIM_KEPT,        /* it is ours, and stays so */
	CLAIM_RELEASED,    /* it is ours, and matches no more: to be let go */
	CLAIM_ADOPTED,     /* an orphan that matches: to be taken, if the owner is still there (adoption.h) */
};
/* matches: the owner's selector and whatever else the kind demands (names). Nothing is let go or taken by an owner that is being deleted,
 * and no orphan that is (seed 001, "Adoption", "Orphaning"). */
enum claim ownership_claim(const struct owner *o, const struct json *meta, bool matches);

/* The reference that makes an object the owner's: controller and blockOwnerDeletion are true. */
struct json *ownership_reference(const struct owner *o, struct arena *a);
/* Strategic merge patches of the object with that uid, which add and take away the reference to the owner and nothing else. */
void ownership_write_adoption(const struct owner *o, struct str object_uid, struct buf *out);
void ownership_write_release(const struct owner *o, struct str object_uid, struct buf *out);

/* N of a name SET-N: decimal, without sign and leading zeros, at most 2147483647. -1: it is no such name of that set. */
int64_t ownership_ordinal(struct str set, struct str name);

#endif
