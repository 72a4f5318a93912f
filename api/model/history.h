/* An object can be one state in the history of another object, its controller. ControllerRevisions
 * are such states.
 *
 * A controller has one revision of each state and of each number. An index beside the objects
 * ensures this. The transactions that create, change and remove revisions also write the index
 * (storage/keys.h, storage/engine/plan.h).
 */
#ifndef API_MODEL_HISTORY_H
#define API_MODEL_HISTORY_H

#include "api/model/object.h"

/* The digest of its data (docs/reference/digest.md); of objects that do not show it, it is computed. */
#define ANNOTATION_DIGEST STR("annals.dev/digest")
/* "true": the object may be another one of the same state or number. */
#define ANNOTATION_DUPLICATES STR("annals.dev/allow-duplicates")

/* The JSON pointers, as JSON, to the parts that a Recorder left out of a state. Absent: nothing. */
#define ANNOTATION_IGNORED STR("annals.dev/ignored")

/* On a state that came back: its earlier numbers, the latest first, separated by commas. */
#define ANNOTATION_EARLIER STR("annals.dev/earlier-revisions")
/* Numbers in that annotation: 16 are at most 384 bytes. Older numbers are left out. */
enum { EARLIER_MAX = 16 };

struct history_place {
	struct str owner; /* uid of the controller */
	int64_t number;
};

/* Is that owner a History of annals.dev? Then the object is a recorded state. */
bool history_is_owner(struct str api_version, struct str kind);

/* ---- the archive ----
 *
 * The Histories of a namespace outlive it. Where a namespace controller would delete them and their states, they move into
 * an archive: they keep name and content, and are in the namespace NAMESPACE.UID from then on, with the uid of the
 * namespace. The name of a namespace has no dot, so nobody can make a Namespace of that name, nor grant rights in it: what
 * is in an archive needs rights at the cluster scope (server/access/authz.h).
 *
 * An archived object has another uid, which follows from the one before. For a garbage collector no uid ever comes back: it
 * would forget which states belong to a History that was gone for a moment. */

/* On an archived object: the uid that it had before. */
#define ANNOTATION_ARCHIVED_UID STR("annals.dev/archived-uid")

bool namespace_is_archive(struct str ns);
/* The namespace whose archive it is; of any other namespace: itself. */
struct str archive_origin(struct str ns);
struct str archive_of(struct str ns, struct str uid, struct arena *a);
/* The uid in that archive of the object that had this uid. */
struct str archive_uid(struct str archive, struct str uid, struct arena *a);

struct str history_digest(const struct object *o, struct arena *a);
/* Versions of the kind's own group show the digest of every object. An object that was created through a version of another group is
 * stored without a digest, and stays so: that version shows the same fields as upstream's would. */
bool history_hides_digest(const struct object *o); /* was it created through another group? */
/* The object as the version shows it: itself, or a copy with its digest. */
const struct object *history_shown(const struct object *o, const struct version *v, struct arena *a);
/* Takes back what history_shown() has put into `from`, of which a client has made o. */
void history_take_back(struct object *o, const struct object *from, const struct version *v, struct arena *a);
bool history_allows_duplicates(const struct object *o);

#endif
