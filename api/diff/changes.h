/* The difference between two states of an object, and its authors. */
#ifndef API_DIFF_CHANGES_H
#define API_DIFF_CHANGES_H

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
 * out (api/diff/pointer.h). */
void check_pointers(struct field_errors *e, const struct where *at, const struct json *pointers);

bool change_is_deletion(const struct json *change);
/* Does the change lead to no state? A deletion does, and so does the release of an object that no Recorder selects any more. */
bool change_is_stateless(const struct json *change);
/* Did nobody change the object, so that only the form of its recorded state differs? */
bool change_is_rerecorded(const struct json *change);

/* ---- is a History as it was recorded? ----
 *
 * Each item of status.changes has the digest of its state, and a hash of the item before it. So whoever alters a state, or an
 * item, or removes one, must write all later items again. annals 0.1 wrote neither: its items cannot be verified. The oldest
 * items go in time, so the first one that is listed may follow one that is not. */

enum { CHANGE_PRINT_SIZE = 65 }; /* hexadecimal digits and a NUL */
/* The SHA-256 of the item's canonical text (api/model/digest.h). */
void change_print(char out[CHANGE_PRINT_SIZE], const struct json *change, struct arena *a);

enum record_doubt {
	RECORD_UNVERIFIED, /* nothing is known against it */
	RECORD_ALTERED,
	RECORD_MISSING,
};

struct record_report {
	/* change: an item of status.changes, or NULL. what: words about it. RECORD_UNVERIFIED comes many times with the same words: these
	 * are about all such items, or revisions, together. */
	void (*say)(void *ctx, enum record_doubt doubt, const struct json *change, const char *what);
	void *ctx;
};

/* A revision of a History. */
struct record_state {
	struct str name, digest; /* digest_of() its data */
	int64_t number;
	bool is_held; /* something besides the History needs it, so it is not trimmed */
};

/* status: of a History. */
void record_check_changes(const struct json *status, const struct record_report *to, struct arena *a);
void record_check_state(const struct json *status, const struct record_state *s, const struct record_report *to);
/* Which of all the revisions are missing? Revisions that the limit has trimmed are not. */
void record_check_missing(
	const struct json *status, const struct record_state *states, size_t n, const struct record_report *to);

/* The last change that led to the revision, if it is listed; else NULL. */
const struct json *record_change_to(const struct json *status, struct str revision);
/* The digest of the state of that revision; empty: nothing says. */
struct str record_digest(const struct json *status, struct str revision);

#endif
