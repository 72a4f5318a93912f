/* The state of an object: what of it is recorded (docs/explanation/history.md). Users, replicas and the server
 * itself compute it, and must agree: its digest says whether an object changed.
 *
 * It is the object without status, and of metadata only name, namespace, labels, annotations and
 * ownerReferences. Annotations that others derive from it are left out. apiVersion and kind come
 * first. A Recorder's rules leave parts out, and hide others. */
#ifndef API_RECORD_STATE_H
#define API_RECORD_STATE_H

#include "api/record/pointer.h"

/* The beginning of a text that stands for a value: behind it is HMAC-SHA-256 of the subject, the
 * place and the value, so that a change shows, and equal values of two places do not. */
#define STATE_REDACTED STR("annals.dev/redacted:")
/* The member of a state that was too big. It has a digest of the state, and its size in bytes. */
#define STATE_OMITTED STR("annals.dev/omitted")

enum { STATE_SALT_MAX = 64, STATE_BYTES_DEFAULT = 262144 };

/* What a Recorder says of states. */
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

/* Does the text stand for a value that was hidden? */
bool state_is_redacted(const struct json *value);
/* Does it hold a digest only? */
bool state_is_omitted(const struct json *state);

#endif
