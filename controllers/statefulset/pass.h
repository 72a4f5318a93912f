/* One pass over a StatefulSet: reads the present state, and takes the next steps towards the
 * desired one.
 *
 * stateful_pass() runs ten steps. Its inputs are collected before; its requests go through
 * struct pass_io, so that tests can replace the server.
 *
 * A pass runs after every event. It decides only by the set, its status, pods, claims and
 * revisions: a process that dies at any point leaves nothing that the next pass cannot continue. */
#ifndef CONTROLLERS_STATEFULSET_PASS_H
#define CONTROLLERS_STATEFULSET_PASS_H

#include "controllers/statefulset/claim.h"
#include "controllers/statefulset/member.h"

enum io_result {
	IO_DONE = 0,
	IO_EXISTS,   /* an object has that name already */
	IO_CONFLICT, /* the object has changed since it was read */
	IO_GONE,     /* the object is gone, or another one has its name */
	IO_FAILED,
};

/* The requests of a pass. problem: the server's sentence, in the pass's arena, unless the result
 * is IO_DONE. */
struct pass_io {
	/* IO_EXISTS: *ret is the existing object; NULL: it is gone again. */
	enum io_result (*create_revision)(void *ctx, const struct json *object, const struct json **ret, struct str *problem);
	enum io_result (*renumber_revision)(void *ctx, const struct revision *r, int64_t number, struct str *problem);
	enum io_result (*delete_revision)(void *ctx, const struct revision *r, struct str *problem);
	/* IO_CONFLICT: the set already has a pod with that name. IO_EXISTS: the pod belongs to
	 * another owner. */
	enum io_result (*create_pod)(void *ctx, const struct json *pod, struct str *problem);
	/* fails if the version has changed */
	enum io_result (*update_pod)(void *ctx, const struct json *pod, struct str *problem);
	/* fails if the version has changed */
	enum io_result (*delete_pod)(void *ctx, const struct member *m, struct str *problem);
	const struct json *(*claim_meta)(void *ctx, struct str name); /* from the cache; NULL: there is none */
	enum io_result (*create_claim)(void *ctx, const struct json *claim, struct str *problem);
	enum io_result (*own_claim)(void *ctx, const struct json *meta, const struct json *owners, struct str *problem);
	enum io_result (*write_status)(void *ctx, const struct set_status *status, struct str *problem);
	void (*say)(void *ctx, bool is_warning, struct str reason, struct str message); /* writes an Event on the set */
};

struct pass {
	/* Inputs. */
	const struct pass_io *io;
	void *ctx;
	struct arena *arena;
	const struct carrier *carrier;
	struct str revision_api_version; /* the API version through which revisions are created */
	struct set set;
	const struct json *const *revision_objects; /* candidates for the history */
	size_t n_revision_objects;
	const struct json *const *pods; /* the set's own */
	size_t n_pods;
	int64_t now_s;               /* wall clock */
	bool allows_max_unavailable; /* the gate MaxUnavailableStatefulSet */
	void (*on_problem)(void *ctx, struct str problem); /* logs a problem that does not fail the pass */

	/* Carried from pass to pass: 1 + the ordinal of a broken pod that was deleted and is to
	 * be replaced; 0: none. */
	int64_t replaced;

	/* Results. */
	struct str problem; /* the first problem of a failed pass */
	int64_t again_in_s; /* look again after this time, even without an event; 0: no need */
	bool has_more;      /* the pass reached its own limit: look again at once */

	/* Internal. */
	struct history_owner subject;
	struct history history;
	struct revision *current, *update; /* NULL: there is no history */
	struct member *slots;              /* pods to keep, by ordinal, including those that this pass creates */
	struct member *condemned;          /* pods to scale away, from the highest ordinal */
	size_t n_slots, n_condemned;
	struct set_status status;
	int64_t collisions;
	size_t n_told; /* unreadable revisions that were logged */
};

/* Returns true if the set is as it should be, or an event will continue it. Returns false, with
 * problem set, if the pass should be repeated. */
bool stateful_pass(struct pass *p);

/* The claims of a pod (claim.c): create missing ones, check and correct their owners by the
 * policy, and find one that goes with an earlier pod. They return false with ret_problem set on
 * failure. */
bool pass_create_claims(struct pass *p, const struct member *m, struct str *ret_problem);
bool pass_claims_have_right_owners(struct pass *p, const struct member *m);
bool pass_own_claims(struct pass *p, const struct member *m, struct str *ret_problem);
bool pass_has_stale_claim(struct pass *p, const struct member *m);

/* Returns the revision for the pod with that ordinal. NULL: the set's own template, as there is
 * no history. */
struct revision *pass_revision_of(const struct pass *p, int64_t ordinal);

#endif
