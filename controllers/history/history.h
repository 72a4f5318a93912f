/* The history of anything: states of an object of which others are made, each kept in an object of
 * its own (seed 000).
 *
 * Everything here decides and does no I/O. Who uses it reads the carrier's objects, and creates,
 * renumbers and deletes them as told:
 *
 *     history_reconstruct()   which of the objects are this owner's, in order
 *     history_choose()        which of them is the state of today; or the object to create
 *     history_excess()        which are beyond the limit
 *
 * A carrier says in what kind of object a state is kept. Both give one order, one choice and one
 * limit; a caller does not know which of them it has.
 *
 * The state is compared by value, as its type and its defaults see it: null, absent, empty and
 * default are the same (but for a few members that say something by being there:
 * history_equal.c), and neither names nor hashes decide (seed 000, "Version Equivalence"). All
 * results live in the arena given, or in what was passed in. */
#ifndef CONTROLLERS_HISTORY_HISTORY_H
#define CONTROLLERS_HISTORY_HISTORY_H

#include "api/select/selector.h"

#define HISTORY_LABEL_GENERATION "statefulset-template-revision" /* and of pods (seed 002) */
#define HISTORY_LABEL_CREATED_BY "created-by-statefulset"        /* of PodTemplates (seed 002) */
#define HISTORY_LABEL_HASH "controller.kubernetes.io/hash"       /* of ControllerRevisions, upstream's */

/* Whose history, and what its state is now. */
struct history_owner {
	struct str api_version, kind, ns, name, uid;
	/* What its revisions match, where the carrier goes by that; NULL: none does. Read once, as it may be long and candidates many. */
	const struct label_selector *selector;
	const struct json *state; /* spec.template, as the server shows it */
	/* What a new ControllerRevision begins with: the template's, and the owner's. May be
	 * NULL. */
	const struct json *labels, *annotations;
	int64_t generation; /* of the state, spec.templateGeneration; 0: none (seed 002, "nil") */
	int64_t collisions; /* status.collisionCount */
	/* Of revisions to create: the door they go through. Empty: apps/v1, v1. */
	struct str revision_api_version;
	/* The state with what the kind's defaults fill in, and amounts in one spelling; NULL when
	 * it is no such state. What it is given nobody else holds: it may be changed in place. */
	struct json *(*normal)(const struct json *state, struct arena *a);
};

/* One state that is kept. */
struct revision {
	const struct json *object; /* the carrier's, as it was read; of one to be created: without uid and version */
	struct str name, uid, version, created;
	int64_t number;           /* its place in the order */
	int64_t generation;       /* of the state when it was first kept; 0: who kept it knew none */
	const struct json *state; /* NULL: it holds none that could be read */
};

struct history {
	struct revision *revisions; /* from the oldest to the newest */
	size_t n;
};

/* Where a state is kept. */
struct carrier {
	const char *name;     /* of the flag: "controllerrevisions", "podtemplates" */
	const char *resource; /* the same, in URLs */
	const char *kind;
	bool is_adopted;       /* are orphans that match the owner's selector taken into the history? */
	bool is_total_limited; /* the limit counts live ones, too (checklist X11) */
	/* private from here */
	bool (*matches)(const struct history_owner *o, const struct json *object);
	bool (*read)(const struct json *object, struct revision *ret, struct arena *a, struct str *ret_problem);
	struct json *(*make)(const struct history_owner *o, int64_t number, int64_t collisions, struct arena *a);
	bool renumbers; /* a state of old that comes back is given the newest number */
};
extern const struct carrier carrier_controllerrevisions, carrier_podtemplates;
/* name NULL: the default, ControllerRevisions. NULL: there is none of that name. */
const struct carrier *carrier_by_name(const char *name);

/* Is it of this owner's history, as far as labels say? For choosing what to adopt and what to
 * pass to history_reconstruct(). */
bool history_matches(const struct carrier *c, const struct history_owner *o, const struct json *object);

/* What could not be taken into a history though its labels say so: another controller's, or
 * without a valid number. Not fatal (H30, U48, U49). */
typedef void history_problem(void *ctx, const struct json *object, struct str problem);

/* objects: candidates, whatever their order; those without a controller are no part of a history
 * unless carrier is_adopted (upstream lists them before they are adopted, too). */
void history_reconstruct(struct history *ret, const struct carrier *c, const struct history_owner *o,
	const struct json *const *objects, size_t n, history_problem *on_problem, void *ctx, struct arena *a);

struct revision *history_by_name(const struct history *h, struct str name);
struct revision *history_by_generation(const struct history *h, int64_t generation); /* the newest one of it; NULL for 0 */

enum history_action {
	HISTORY_UNCHANGED = 1, /* revision is the newest, nothing is to be written */
	HISTORY_RENUMBERED,    /* revision is an older one: it gets `number`, by a patch (history_renumber) */
	HISTORY_REUSED,        /* revision is an older one, and stays as it is (seed 002, "Template Updates" 4.2) */
	HISTORY_CREATED,       /* revision is new: its object is to be created */
};

struct history_choice {
	enum history_action action;
	struct revision revision; /* number: the one it is to have */
};

/* collisions: how often a name was found to be taken (history_is_same() says by what) in this
 * pass, beyond the owner's collisions. False: a revision would have to be created, and cannot,
 * because the state is none or is too big to keep. */
bool history_choose(struct history_choice *ret, const struct carrier *c, const struct history_owner *o, const struct history *h,
	int64_t collisions, struct arena *a);

/* What stands under the name of a revision that was to be created: is it that very revision of
 * this very owner (created before, by a try whose answer was lost)? A state of somebody else is
 * never shared (H55). */
bool history_is_same(const struct carrier *c, const struct history_owner *o, const struct revision *wanted,
	const struct json *found, struct arena *a);

/* A merge patch that gives it the number, and only to the version that was read. */
void history_renumber(const struct revision *r, int64_t number, struct buf *out);

/* The same state, compared by value after defaulting? */
bool history_equal_states(const struct history_owner *o, const struct json *a, const struct json *b, struct arena *arena);

/* Those to delete, oldest first: more than `limit` (negative: none) that are not live. How many.
 * is_live: current, update, or a pod was made from it. */
size_t history_excess(const struct carrier *c, const struct history *h, int64_t limit,
	bool (*is_live)(void *ctx, const struct revision *r), void *ctx, struct revision ***ret, struct arena *a);

/* ---- ControllerRevisions as upstream writes them: to the byte, since kubectl and kube-controller-manager read them ---- */

/* {"spec":{"template":{...,"$patch":"replace"}}} with sorted members. */
void history_data_write(const struct json *state, struct buf *out);
/* The template in such data; NULL: it holds none. */
const struct json *history_data_state(const struct json *data, struct arena *a);
/* 32-bit FNV-1 of data and the decimal count, in the alphabet without vowels. out: at least 11
 * bytes, ended by NUL. */
void history_hash(struct str data, int64_t collisions, char out[16]);
/* PREFIX-HASH, the prefix cut to 223 bytes. */
struct str revision_name(struct str prefix, const char *hash, struct arena *a);

#endif
