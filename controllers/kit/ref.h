/* What the garbage collector knows objects by. An owner reference gives four coordinates; where it stands gives the namespace.
 * A uid names an object for ever, but several references to one uid may disagree on the rest, and only the object itself can say
 * which of them is right. */
#ifndef CONTROLLERS_KIT_REF_H
#define CONTROLLERS_KIT_REF_H

#include "base/arena.h"
#include "base/sha256.h"

struct gc_ref {
	struct str api_version, kind, ns, name, uid; /* ns "": cluster-scoped */
};

/* One of an object's metadata.ownerReferences. ref.ns is that of the object which has it. */
struct gc_owner {
	struct gc_ref ref;
	bool blocks; /* blockOwnerDeletion */
};

/* An object as an informer shows it, as far as it matters here. */
struct gc_object {
	struct gc_ref ref;
	uint64_t version; /* resourceVersion; 0: unknown */
	const struct gc_owner *owners;
	size_t n_owners;
	bool is_deleting, has_orphan_finalizer, has_foreground_finalizer;
};

/* printf: GC_REF_FMT, GC_REF_ARG(&ref) */
#define GC_REF_FMT "[" STR_FMT "/" STR_FMT ", namespace: " STR_FMT ", name: " STR_FMT ", uid: " STR_FMT "]"
#define GC_REF_ARG(r) STR_ARG((r)->api_version), STR_ARG((r)->kind), STR_ARG((r)->ns), STR_ARG((r)->name), STR_ARG((r)->uid)

bool gc_ref_eq(const struct gc_ref *a, const struct gc_ref *b);
/* The same but for the namespace. */
bool gc_ref_eq_coordinates(const struct gc_ref *a, const struct gc_ref *b);
/* Kind, apiVersion, namespace, name, uid: the order in which the other names of an owner are tried. */
int gc_ref_cmp(const struct gc_ref *a, const struct gc_ref *b);
struct gc_ref gc_ref_dup(const struct gc_ref *r, struct arena *a);
/* The same in one piece of memory, which is returned, for mem_free(). */
char *gc_ref_pack(const struct gc_ref *r, struct gc_ref *ret);
/* A key for maps: a digest, because what a client wrote into a reference may be long. */
void gc_ref_key(const struct gc_ref *r, uint8_t out[SHA256_SIZE]);

#endif
