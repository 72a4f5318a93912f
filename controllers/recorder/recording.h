/* A Recorder in parsed form: immutable and reference-counted, since watches and waiting changes
 * keep the one they began with. */
#ifndef CONTROLLERS_RECORDER_RECORDING_H
#define CONTROLLERS_RECORDER_RECORDING_H

#include "api/diff/state.h"
#include "api/rules/selector.h"
#include "client/api_resources.h"
#include "client/item.h"

struct recording {
	struct str name, uid;
	int64_t generation;
	int64_t since_ms; /* monotonic clock: when it was read */
	const struct json *spec;
	struct state_rules rules;
	struct label_selector namespaces, objects;
	int64_t history_limit, keep_deleted_s;
	struct str namespace;  /* for Histories of cluster-scoped objects */
	uint64_t id;           /* derived from the name, for counting */
	_Atomic uint32_t refs; /* private from here */
	struct item *item;
	struct arena arena;
};

/* Returns NULL if the Recorder cannot be read: a newer server may have accepted it. */
struct recording *recording_new(struct item *recorder);
struct recording *recording_ref(struct recording *r);
struct recording *recording_unref(struct recording *r);
DEFINE_CLEANUP(struct recording *, recording_unref)

/* Does one of its rules name the resource? */
bool recording_names(const struct recording *r, struct str group, struct str plural);

/* How long it keeps the states of that resource, as a sighting says it; NULL: the limit alone counts. May share memory with the
 * recording. */
const struct json *recording_keep(const struct recording *r, struct str group, struct str plural, struct arena *a);

/* The recordings that name one resource, sorted by name. */
struct recordings {
	struct recording **v;
	size_t n;
};

/* Picks the recordings of `all` (sorted by name) that name the resource; holds references to
 * them. */
void recordings_pick(struct recordings *ret, const struct recordings *all, struct str group, struct str plural);
void recordings_done(struct recordings *r);
bool recordings_equal(const struct recordings *a, const struct recordings *b);
/* How long a History outlives its object: the longest of all, as the Recorder that sorts first
 * must not shorten what another asked for. */
int64_t recordings_keep_deleted_s(const struct recordings *r);
bool recordings_need_namespaces(const struct recordings *r);
/* Returns the first recording from *at on whose selectors match, or NULL, and sets *at to its
 * index. namespace_labels: of the object's namespace; NULL if it has none or it is unknown. */
struct recording *recordings_next(const struct recordings *r, const struct json *object, const struct json *namespace_labels,
	struct arena *scratch, size_t *at);
/* Returns the recording that records the object, or NULL. */
struct recording *recordings_select(
	const struct recordings *r, const struct json *object, const struct json *namespace_labels, struct arena *scratch);
/* Would other labels of the namespace change the selection? */
bool recordings_tell_apart(
	const struct recordings *r, const struct json *labels, const struct json *other_labels, struct arena *scratch);

#endif
