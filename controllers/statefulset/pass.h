/* One pass over a StatefulSet: looks at what is, and does the next thing towards what should be.
 *
 * The ten steps of seed 002 ("Revised Controller Algorithm") in one function, stateful_pass(). What it reads was collected before; what it does goes
 * through struct pass_io, so that tests can stand in for the server. It is repeated after every event, and decides by nothing but the set, its status,
 * its pods, claims and revisions: a process that dies anywhere in it leaves nothing that the next pass cannot take up. */
#ifndef CONTROLLERS_STATEFULSET_PASS_H
#define CONTROLLERS_STATEFULSET_PASS_H

#include "controllers/statefulset/claim.h"
#include "controllers/statefulset/member.h"

enum io_result {
	IO_DONE = 0,
	IO_EXISTS,   /* something of that name is there */
	IO_CONFLICT, /* it has changed since it was read */
	IO_GONE,     /* it is there no more, or another one has its name */
	IO_FAILED,
};

/* What a pass asks for. problem: the server's sentence, in the pass's arena, wherever it is not IO_DONE. */
struct pass_io {
	/* IO_EXISTS: *ret is what is there; NULL: it went again. */
	enum io_result (*create_revision)(void *ctx, const struct json *object, const struct json **ret, struct str *problem);
	enum io_result (*renumber_revision)(void *ctx, const struct revision *r, int64_t number, struct str *problem);
	enum io_result (*delete_revision)(void *ctx, const struct revision *r, struct str *problem);
	/* IO_CONFLICT: the set's own pod of that name is there already. IO_EXISTS: somebody else's. */
	enum io_result (*create_pod)(void *ctx, const struct json *pod, struct str *problem);
	enum io_result (*update_pod)(void *ctx, const struct json *pod, struct str *problem); /* as that version */
	enum io_result (*delete_pod)(void *ctx, const struct member *m, struct str *problem); /* of that version */
	const struct json *(*claim_meta)(void *ctx, struct str name); /* as the cache has it; NULL: there is none */
	enum io_result (*create_claim)(void *ctx, const struct json *claim, struct str *problem);
	enum io_result (*own_claim)(void *ctx, const struct json *meta, const struct json *owners, struct str *problem);
	enum io_result (*write_status)(void *ctx, const struct set_status *status, struct str *problem);
	void (*say)(void *ctx, bool is_warning, struct str reason, struct str message); /* an Event on the set */
};

struct pass {
	/* Given. */
	const struct pass_io *io;
	void *ctx;
	struct arena *arena;
	const struct carrier *carrier;
	struct str revision_api_version; /* through which revisions are created */
	struct set set;
	const struct json *const *revision_objects; /* candidates for the history */
	size_t n_revision_objects;
	const struct json *const *pods; /* the set's own */
	size_t n_pods;
	int64_t now_s;               /* wall clock */
	bool allows_max_unavailable; /* the gate MaxUnavailableStatefulSet */
	void (*on_problem)(void *ctx, struct str problem); /* what is no failure of the pass, for the log */

	/* Of the pass before, for the next one: 1 + the ordinal of a broken pod that was taken away and is to be replaced; 0: none. */
	int64_t replaced;

	/* What comes of it. */
	struct str problem; /* of a pass that failed: the first one */
	int64_t again_in_s; /* look again then, though nothing may happen until then; 0: no need */
	bool has_more;      /* the pass ended at its own limit: look again at once */

	/* Its own. */
	struct history_owner subject;
	struct history history;
	struct revision *current, *update; /* NULL: there is no history */
	struct member *slots;              /* by ordinal; those to be kept, and once they are made those that were missing */
	struct member *condemned;          /* from the highest; those to be scaled away */
	size_t n_slots, n_condemned;
	struct set_status status;
	int64_t collisions;
	size_t n_told; /* revisions that could not be read */
};

/* True: the set is as it should be, or waits for something that will be an event. False: see problem; the pass should be repeated. */
bool stateful_pass(struct pass *p);

/* Which revision the pod of that ordinal is made from. NULL: the set's own template, as there is no history. */
struct revision *pass_revision_of(const struct pass *p, int64_t ordinal);

#endif
