/* The history of anything: states of an object of which others are made, each kept in an object of
 * its own (seed 000).
 *
 * Everything here decides and does no I/O. A controller reads the carrier's objects, and creates, renumbers and
 * deletes them by a plan:
 *
 *     history_reconstruct()   which of the objects are this owner's, in order
 *     history_choose()        which of them is the state of today; or the object to create
 *     history_excess()        which are beyond the limit
 *
 * A carrier says in what kind of object a state is kept. Both give one order, one choice and one limit; a
 * caller does not know which of them it has.
 *
 * The state is compared by value, as its type and its defaults see it: null, absent, empty and
 * default are the same (but for a few members that say something by being there:
 * history_data.c), and neither names nor hashes decide (seed 000, "Version Equivalence"). All
 * results live in the arena given, or in what was passed in. */
#ifndef CONTROLLERS_KIT_HISTORY_H
#define CONTROLLERS_KIT_HISTORY_H

#include "api/rules/selector.h"

#define HISTORY_LABEL_GENERATION "statefulset-template-revision" /* and of pods (seed 002) */
#define HISTORY_LABEL_CREATED_BY "created-by-statefulset"        /* of PodTemplates (seed 002) */
#define HISTORY_LABEL_HASH "controller.kubernetes.io/hash"       /* of ControllerRevisions, upstream's */

/* The owner of a history, with its present state. */
struct history_owner {
	struct str api_version, kind, ns, name, uid;
	/* The selector that matches the owner's revisions, for carriers that use it; NULL
	 * matches none. Parsed once, because it may be long and there may be many candidates. */
	const struct label_selector *selector;
	const struct json *state; /* spec.template, as the server shows it */
	/* The labels and annotations of a new ControllerRevision, from the template and the
	 * owner. May be NULL. */
	const struct json *labels, *annotations;
	int64_t generation; /* of the state: spec.templateGeneration; 0: none */
	int64_t collisions; /* status.collisionCount */
	/* The API version through which revisions are created. Empty: apps/v1, v1. */
	struct str revision_api_version;
	/* Returns the state with the kind's defaults filled in and quantities in canonical form;
	 * NULL if it is not a valid state. It may change its argument, which nobody else uses. */
	struct json *(*normal)(const struct json *state, struct arena *a);
};

/* One state in a history. */
struct revision {
	const struct json *object; /* the carrier's object as it was read; one to be created has no uid and version */
	struct str name, uid, version, created;
	int64_t number;           /* its place in the order */
	int64_t generation;       /* of the state when it was first kept; 0: its writer knew none */
	const struct json *state; /* NULL: the object holds no readable state */
};

struct history {
	struct revision *revisions; /* from the oldest to the newest */
	size_t n;
};

/* A kind of object that keeps states. */
struct carrier {
	const char *name;     /* the value of the flag: "controllerrevisions", "podtemplates" */
	const char *resource; /* the same, in URLs */
	const char *kind;
	bool is_adopted;       /* are orphans that match the owner's selector taken into the history? */
	bool is_total_limited; /* the limit counts live revisions too */
	/* private from here */
	bool (*matches)(const struct history_owner *o, const struct json *object);
	bool (*read)(const struct json *object, struct revision *ret, struct arena *a, struct str *ret_problem);
	struct json *(*make)(const struct history_owner *o, int64_t number, int64_t collisions, struct arena *a);
	bool renumbers; /* an old state that returns gets the newest number */
};
extern const struct carrier carrier_controllerrevisions, carrier_podtemplates;
/* Finds a carrier. name NULL: the default, ControllerRevisions. Returns NULL if there is none
 * with that name. */
const struct carrier *carrier_by_name(const char *name);

/* Do its labels make the object part of this owner's history? For choosing what to adopt and
 * what to pass to history_reconstruct(). */
bool history_matches(const struct carrier *c, const struct history_owner *o, const struct json *object);

/* Reports an object that is left out of a history although its labels match. It belongs to
 * another controller, or has no valid number. Not fatal. */
typedef void history_problem(void *ctx, const struct json *object, struct str problem);

/* objects: candidates, in any order. Objects without a controller are left out unless the
 * carrier is_adopted: upstream lists them before it adopts them, too. */
void history_reconstruct(struct history *ret, const struct carrier *c, const struct history_owner *o,
	const struct json *const *objects, size_t n, history_problem *on_problem, void *ctx, struct arena *a);

struct revision *history_by_name(const struct history *h, struct str name);
struct revision *history_by_generation(const struct history *h, int64_t generation); /* the newest one with it; NULL for 0 */

enum history_action {
	HISTORY_UNCHANGED = 1, /* the newest revision matches: nothing to write */
	HISTORY_RENUMBERED,    /* an older revision matches: a patch gives it `number` (history_renumber) */
	HISTORY_REUSED,        /* an older revision matches, and stays as it is */
	HISTORY_CREATED,       /* no revision matches: a new object is to be created */
};

struct history_choice {
	enum history_action action;
	struct revision revision; /* with the number that it should have */
};

/* Chooses the revision of the present state. collisions: how many names of this pass were taken
 * by another object (history_is_same()), on top of the owner's collisions. Returns false if a
 * revision would be needed but cannot be made, because the state is missing or too big. */
bool history_choose(struct history_choice *ret, const struct carrier *c, const struct history_owner *o, const struct history *h,
	int64_t collisions, struct arena *a);

/* Is the object that already has the name the revision that was to be created, for the same
 * owner? An earlier try may have created it and lost the answer. Owners never share a revision. */
bool history_is_same(const struct carrier *c, const struct history_owner *o, const struct revision *wanted,
	const struct json *found, struct arena *a);

/* Writes a merge patch that sets the number, for exactly the version that was read. */
void history_renumber(const struct revision *r, int64_t number, struct buf *out);

/* Are the states equal by value, after defaulting? */
bool history_equal_states(const struct history_owner *o, const struct json *a, const struct json *b, struct arena *arena);

/* Lists the revisions to delete, oldest first, so that at most `limit` revisions that are not
 * live remain; a negative limit keeps all. Returns how many. is_live: it is current or update, or a
 * pod was made from it. */
size_t history_excess(const struct carrier *c, const struct history *h, int64_t limit,
	bool (*is_live)(void *ctx, const struct revision *r), void *ctx, struct revision ***ret, struct arena *a);

/* ---- ControllerRevisions as upstream writes them: to the byte, since kubectl and kube-controller-manager read them ---- */

/* Writes {"spec":{"template":{...,"$patch":"replace"}}} with sorted members. */
void history_data_write(const struct json *state, struct buf *out);
/* Returns the template in such data; NULL if it has none. */
const struct json *history_data_state(const struct json *data, struct arena *a);
/* 32-bit FNV-1 of data and the decimal count, in the alphabet without vowels. out: at least 11
 * bytes, ended by NUL. */
void history_hash(struct str data, int64_t collisions, char out[16]);
/* PREFIX-HASH, the prefix cut to 223 bytes. */
struct str revision_name(struct str prefix, const char *hash, struct arena *a);

#endif
