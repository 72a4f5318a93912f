/* The difference between two states of an object, and its authors. */
#ifndef API_RECORD_CHANGES_H
#define API_RECORD_CHANGES_H

#include "api/model/schema.h"
#include "api/rules/where.h"
#include "base/json.h"

/* A History lists the first paths of a change, and counts the others. More are looked at to find who made
 * the change. */
enum {
	CHANGED_PATHS_MAX = 32, /* paths that a stored change may have; a longer list is refused */
	CHANGED_PATH_MAX = 256, /* bytes */
	/* Paths that one comparison keeps; further ones are only counted. */
	CHANGED_PATHS_SEEN_MAX = 256,
	CHANGE_AUTHORS_MAX = 8,  /* names that a change keeps; further authors are left out */
	CHANGE_AUTHOR_MAX = 128, /* bytes, as of kube-apiserver */
	CHANGE_CAUSE_MAX = 1024, /* bytes */
};

/* JSON pointers, in the order of names: of the highest value that came or went, or of the value that
 * changed. A pointer that is too long is shown as the one to what contains it. Items of lists are compared by
 * their places, without those at both ends that stayed. Places of items are those after the change, or before it where they
 * went. */
struct changed_paths {
	struct str v[CHANGED_PATHS_SEEN_MAX];
	size_t n;
	uint64_t more; /* which were not kept */
};

/* Empty for states whose digests are equal, and for those only. */
void changed_paths(struct changed_paths *ret, const struct json *before, const struct json *after, struct arena *a);

/* Field managers. */
struct change_authors {
	struct str names[CHANGE_AUTHORS_MAX];
	size_t n;
	struct str time; /* when each of them wrote last, RFC 3339; empty: unknown */
	bool is_known;   /* they own what was changed; else they wrote last, and nobody owns it */
};

/* Finds the managers in metadata.managedFields that own one of the paths in the new state, and
 * keeps those with the newest time. If no manager owns one, as when a field went: all with the
 * newest time, except those of status. */
void change_authors(struct change_authors *ret, const struct json *managed_fields, const struct json *state,
	const struct changed_paths *paths, struct arena *a);

/* The annotation kubernetes.io/change-cause, cut; empty where there is none. */
struct str change_cause(const struct json *object);

/* A change of a recorded object: status.changes of a History has the one form, spec.change of a
 * Snapshot the other, which says more. */
extern const struct type list_changes, type_change_request;

/* A type_change_request, in normal form. */
void check_change(struct field_errors *e, const struct where *at, const struct json *change);

/* Checks the pointers to parts that a Recorder leaves out or hides, or that a change says were left
 * out (api/record/pointer.h). */
void check_pointers(struct field_errors *e, const struct where *at, const struct json *pointers);

bool change_is_deletion(const struct json *change);

#endif
