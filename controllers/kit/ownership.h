/* ControllerRef: which object controls which. Decisions, without I/O.
 *
 * Three laws hold. Every object names its controller from its first write on. An owner never
 * touches an object that another one controls. An object that an owner does not control never
 * counts for it. Neither labels nor names decide who owns an object. */
#ifndef CONTROLLERS_KIT_OWNERSHIP_H
#define CONTROLLERS_KIT_OWNERSHIP_H

#include "api/model/object.h"

/* An owner, as it was last seen. */
struct owner {
	struct str api_version, kind, ns, name, uid; /* as references to the owner spell them */
	bool is_deleting;
};

/* Reads the entry of metadata.ownerReferences with controller: true; absent and false are the
 * same. */
bool ownership_controller(const struct json *meta, struct owner_reference *ret);
bool ownership_is_ours(const struct owner *o, const struct json *meta);

/* Decisions about an object of the namespace that might be the owner's. */
enum claim {
	CLAIM_IGNORED = 1, /* it has another controller; or it is an orphan that does not match, or cannot be adopted */
	CLAIM_KEPT,        /* the owner controls it, and keeps it */
	CLAIM_RELEASED,    /* the owner controls it, but it no longer matches: release it */
	CLAIM_ADOPTED,     /* an orphan that matches: adopt it, if the owner still exists (adoption.h) */
};
/* matches: by the owner's selector and any other rule of the kind (names). An owner that is
 * being deleted adopts and releases nothing; an orphan that is being deleted is not adopted. */
enum claim ownership_claim(const struct owner *o, const struct json *meta, bool matches);

/* Makes a reference to the owner with controller and blockOwnerDeletion true. */
struct json *ownership_reference(const struct owner *o, struct arena *a);
/* Write strategic merge patches for the object with that uid: they add or remove the reference
 * to the owner, nothing else. */
void ownership_write_adoption(const struct owner *o, struct str object_uid, struct buf *out);
void ownership_write_release(const struct owner *o, struct str object_uid, struct buf *out);

/* Returns N of a name SET-N: decimal, without sign and leading zeros, at most 2147483647.
 * Returns -1 if the set has no such name. */
int64_t ownership_ordinal(struct str set, struct str name);

#endif
