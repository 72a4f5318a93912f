/* The state of an object: what of it is recorded (docs/explanation/history.md). Users, replicas and the server
 * itself compute it, and must agree: its digest says whether an object changed.
 *
 * It is the object without status, and of metadata only name, namespace, labels, annotations,
 * ownerReferences, finalizers and generateName. The finalizers foregroundDeletion and orphan are left out. Annotations that others derive from it are left out. apiVersion and kind come
 * first. A Recorder's rules leave parts out, and hide others. */
#ifndef API_DIFF_STATE_H
#define API_DIFF_STATE_H

#include "api/diff/pointer.h"
#include "base/arena.h"
#include "base/str.h"

/* The beginning of a text that stands for a value: behind it is HMAC-SHA-256 of the subject, the
 * place and the value, so that a change shows, and equal values of two places do not. */
#define STATE_REDACTED STR("annals.dev/redacted:")
/* The member of a state that was too big. It has a digest of the state, and its size in bytes. */
#define STATE_OMITTED STR("annals.dev/omitted")

/* Bytes of a decoded salt: a block of SHA-256, beyond which HMAC would hash the key first. A longer
 * salt is refused. */
enum { STATE_SALT_MAX = 64, STATE_BYTES_DEFAULT = 262144 };

/* The settings of a Recorder about states. */
struct state_rules {
	struct pointer_patterns ignore, redact;
	bool shows_secrets; /* secretData: Record */
	int64_t max_bytes;  /* of a state as compact JSON */
	struct str salt;    /* decoded */
};

/* False where the spec says what validation refuses. Patterns share the spec's texts. */
bool state_rules_read(struct state_rules *ret, const struct json *spec, struct arena *a);

/* Shares nodes with the object, which has apiVersion and kind. Without rules (NULL) nothing more is left
 * out, and nothing is hidden. apiVersion, kind, name and namespace are always there: patterns do not
 * match them. */
struct json *state_of(const struct json *object, const struct state_rules *rules, struct arena *a);

/* Returns whether the text stands for a value that was hidden. */
bool state_is_redacted(const struct json *value);
/* Returns whether it holds a digest only. */
bool state_is_omitted(const struct json *state);

/* Returns why objects of the resource are never recorded, even if a Recorder names them; NULL: they
 * may be. */
const char *record_leaves_out(struct str group, struct str resource);

/* The name of an object's history. Everything that makes or looks for one computes the same
 * name. */
/* Room for "-" and ten characters of a digest: names of revisions begin with the history's. */
enum { HISTORY_NAME_MAX = 242, HISTORY_DIGEST_LENGTH = 10 };

/* On revisions: the name of their history, where it may be a label's value. */
#define HISTORY_LABEL STR("annals.dev/history")

/* The object that a history is about. Versions do not matter, and a cluster-scoped subject has no
 * namespace. */
struct history_subject {
	struct str group, kind, namespace, name;
};

/* Builds the name: the kind in small letters, ".", the name as a DNS subdomain, "-", and a digest
 * of the subject. The name alone could be that of other subjects, too. */
struct str history_name(const struct history_subject *subject, struct arena *a);
/* May the name be a label's value? */
bool history_name_fits_label(struct str name);

#endif
