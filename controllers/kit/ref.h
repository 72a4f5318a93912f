/* How the garbage collector identifies objects. An owner reference gives four coordinates; the
 * object that holds it gives the namespace. A uid names one object for ever. Several references to
 * one uid may disagree on the rest, and only the object itself shows which is right. */
#ifndef CONTROLLERS_KIT_REF_H
#define CONTROLLERS_KIT_REF_H

#include "base/arena.h"
#include "base/sha256.h"

struct gc_ref {
	struct str api_version, kind, ns, name, uid; /* ns "": cluster-scoped */
};

/* An entry of metadata.ownerReferences. ref.ns is the namespace of the object that holds it. */
struct gc_owner {
	struct gc_ref ref;
	bool blocks; /* blockOwnerDeletion */
};

/* An object as an informer shows it, reduced to what the collector needs. */
struct gc_object {
	struct gc_ref ref;
	uint64_t version; /* resourceVersion; 0: unknown */
	uint32_t listing; /* gc_graph_begin_list(); 0: unknown */
	const struct gc_owner *owners;
	size_t n_owners;
	bool is_deleting, has_orphan_finalizer, has_foreground_finalizer;
};

/* printf: GC_REF_FMT, GC_REF_ARG(&ref) */
#define GC_REF_FMT "[" STR_FMT "/" STR_FMT ", namespace: " STR_FMT ", name: " STR_FMT ", uid: " STR_FMT "]"
#define GC_REF_ARG(r) STR_ARG((r)->api_version), STR_ARG((r)->kind), STR_ARG((r)->ns), STR_ARG((r)->name), STR_ARG((r)->uid)

bool gc_ref_eq(const struct gc_ref *a, const struct gc_ref *b);
/* Compares all but the namespace. */
bool gc_ref_eq_coordinates(const struct gc_ref *a, const struct gc_ref *b);
/* Compares kind, apiVersion, namespace, name, uid: the order in which an owner's other names are
 * tried. */
int gc_ref_cmp(const struct gc_ref *a, const struct gc_ref *b);
struct gc_ref gc_ref_dup(const struct gc_ref *r, struct arena *a);
/* A key for maps. It is a digest because clients may write long text into references. */
void gc_ref_key(const struct gc_ref *r, uint8_t out[SHA256_SIZE]);

#endif
