/* Where things are in etcd. All under one prefix (--etcd-prefix, "/annals"):
 *
 *   PREFIX/objects/GROUP/RESOURCE/NAMESPACE/NAME    namespaced objects (GROUP "core" for the empty one)
 *   PREFIX/objects/GROUP/RESOURCE/NAME              cluster-scoped objects
 *   PREFIX/objects/-/bases/NAME                     a text that stored texts continue (api/model/packed.h); before all objects
 *   PREFIX/references/GROUP/RESOURCE/NAMESPACE/NAME/GROUP/RESOURCE/NAME
 *                                                   that the object named last refers to the one named first (api/model/reference.h); its uid.
 *                                                   Without a namespace that part is empty; in another one, the last part is NAMESPACE/NAME
 *   PREFIX/history/NAMESPACE/UID/digest/DIGEST/NAME  that the revision NAME, whose controller has that uid, holds the state of that digest
 *   PREFIX/history/NAMESPACE/UID/number/NUMBER/NAME  that it has that number (api/model/history.h); both: its own uid
 *   PREFIX/referenced/GROUP/RESOURCE/NAMESPACE/NAME when something last came to refer to that object: the key's mod revision
 *   PREFIX/replicas/ID                              what a live server stores and understands (storage/engine/agreement.h)
 *   PREFIX/replicas-seen/ID                         up to which revision it has seen that of the others
 *   PREFIX/user-notes/UID/VERSION/WHAT.USER         who asked for a write of the object of that uid, in that version (server/write/user_notes.h)
 *   PREFIX/imports/DIGEST                           that an import has begun, of that file and those flags: the salt of its new uids
 *   PREFIX/recorder-salts                           the key from which salts of Recorders are derived: random bytes (server/write/write_recorded.h)
 *   PREFIX/migrator                                 who migrates stored objects: the ID
 *   PREFIX/compact_rev_key                          kube-apiserver's compaction protocol (storage/upkeep.h)
 *   PREFIX/fence                                    written by readers that must push the watch forward (storage/cache/cache.h)
 *
 * GROUP and RESOURCE are those of the hub: an object has one key however many versions it has.
 */
#ifndef STORAGE_KEYS_H
#define STORAGE_KEYS_H

#include "base/arena.h"

struct str key_object(struct arena *a, struct str prefix, struct str group, struct str resource, struct str ns, struct str name);
struct str key_objects_prefix(struct arena *a, struct str prefix); /* PREFIX/objects/ */
struct str key_bases(struct arena *a, struct str prefix);          /* PREFIX/objects/-/bases/ */
/* Returns the directory of all references to an object; it ends with a slash. */
struct str key_references(
	struct arena *a, struct str prefix, struct str group, struct str resource, struct str ns, struct str name);
/* name: NAME, or NAMESPACE/NAME of an object in another namespace than the one that is referred to. */
struct str key_reference(struct arena *a, struct str references, struct str group, struct str resource, struct str name);
/* Escapes a uid, which clients choose: with a slash in it, it would name another object's keys. */
struct str key_escape(struct arena *a, struct str s);
/* These return the directories of an owner's history, of one state in it, and of one number;
 * they end with a slash. Clients choose the uid, so slashes, percent signs, blanks and control
 * characters in it are escaped. */
struct str key_history(struct arena *a, struct str prefix, struct str ns, struct str owner);
struct str key_history_digest(struct arena *a, struct str history, struct str digest);
struct str key_history_number(struct arena *a, struct str history, int64_t number);
struct str key_below(struct arena *a, struct str directory, struct str name);
struct str key_referenced(struct arena *a, struct str prefix, struct str group, struct str resource, struct str ns, struct str name);
struct str key_replicas(struct arena *a, struct str prefix);      /* PREFIX/replicas/ */
struct str key_replicas_seen(struct arena *a, struct str prefix); /* PREFIX/replicas-seen/ */
struct str key_user_notes(struct arena *a, struct str prefix);    /* PREFIX/user-notes/ */
struct str key_imports(struct arena *a, struct str prefix);       /* PREFIX/imports/ */
struct str key_recorder_salts(struct arena *a, struct str prefix);
struct str key_migrator(struct arena *a, struct str prefix);
struct str key_compact(struct arena *a, struct str prefix);
struct str key_fence(struct arena *a, struct str prefix);

struct key_parts {
	struct str group;      /* empty for core */
	struct str resource;
	struct str rest;       /* NAMESPACE/NAME or NAME */
};
/* Splits a key that starts with objects_prefix. Returns false when it does not have an object
 * key's form. */
bool key_split(struct str key, struct str objects_prefix, struct key_parts *ret);

#endif
