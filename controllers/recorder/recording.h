/* Recorders as the controller reads them: immutable and counted, since watches and changes that wait hold on to the one
 * they began with. */
#ifndef CONTROLLERS_RECORDER_RECORDING_H
#define CONTROLLERS_RECORDER_RECORDING_H

#include "api/record/state.h"
#include "api/select/selector.h"
#include "client/api_resources.h"
#include "client/item.h"

struct recording {
	struct str name, uid;
	int64_t generation;
	const struct json *spec;
	struct state_rules rules;
	struct label_selector namespaces, objects;
	int64_t history_limit, keep_deleted_s;
	struct str namespace;  /* of histories of objects without one */
	uint64_t id;           /* of the name, for counting */
	_Atomic uint32_t refs; /* private from here */
	struct item *item;
	struct arena arena;
};

/* NULL: it cannot be read, as one that a newer server has let in. */
struct recording *recording_new(struct item *recorder);
struct recording *recording_ref(struct recording *r);
struct recording *recording_unref(struct recording *r);
DEFINE_CLEANUP(struct recording *, recording_unref)

/* Does a rule of it name the resource? */
bool recording_names(const struct recording *r, struct str group, struct str plural);

/* Those that name one resource, by name. */
struct recordings {
	struct recording **v;
	size_t n;
};

/* Takes those of `all`, which is sorted by name, that name it; holds references. */
void recordings_pick(struct recordings *ret, const struct recordings *all, struct str group, struct str plural);
void recordings_done(struct recordings *r);
bool recordings_equal(const struct recordings *a, const struct recordings *b);
bool recordings_need_namespaces(const struct recordings *r);
/* The first whose selectors match, or NULL. namespace_labels: of the object's namespace; NULL where it has none or
 * is not known. */
struct recording *recordings_select(
	const struct recordings *r, const struct json *object, const struct json *namespace_labels, struct arena *scratch);
/* Would another set of the namespace's labels select others? */
bool recordings_tell_apart(
	const struct recordings *r, const struct json *labels, const struct json *other_labels, struct arena *scratch);

#endif
