/* A StatefulSet, its pods, claims and revisions in memory, on which stateful_pass() acts: the server, the kubelet and the clock of a pass. Everything that
 * is asked for can be made to fail. */
#ifndef TESTS_UNIT_SET_WORLD_H
#define TESTS_UNIT_SET_WORLD_H

#include "tests/unit/history_world.h"

#include "controllers/statefulset/pass.h"

/* The pods of an image that begins so run, and never become Ready. */
#define BROKEN "broken"

enum {
	SET_PODS = 600,
	SET_CLAIMS = 64,
	SET_REVISIONS = 64,
};

/* What becomes of the call of that number, or from it on. */
enum set_fault {
	FAULT_NONE = 0,
	FAULT_REFUSED,  /* it is refused, once */
	FAULT_CONFLICT, /* likewise: what it is about has changed since it was read */
	FAULT_LOST,     /* it is done, and the answer is lost */
	FAULT_DEATH,    /* it and all that follow in this pass are not done: the process has died. What it remembered is gone */
};

struct set_world {
	struct arena arena;
	const struct carrier *carrier;

	/* The set. */
	int64_t replicas, start, min_ready_s, limit;
	int64_t partition;       /* -1: nil */
	int64_t max_unavailable; /* 0: none is written down */
	int64_t generation, template_generation;
	bool is_parallel, is_on_delete, follows_seed, is_deleting, allows_max_unavailable;
	bool deletes_with_set, deletes_when_scaled;
	bool is_apps; /* false: as behind a kube-apiserver, where apps/v1 has other sets */
	size_t n_claim_templates;
	const char *image;
	struct set_status status;

	/* What there is. */
	const struct json *pods[SET_PODS], *claims[SET_CLAIMS], *revisions[SET_REVISIONS];
	size_t n_pods, n_claims, n_revisions;
	size_t n_unseen_revisions; /* so many of the newest are not in the cache yet */
	int64_t now_s;
	int64_t n_made; /* for uids */

	/* Of the passes. */
	int64_t replaced;
	size_t n_passes, n_calls, n_status_writes;
	size_t fault_at; /* from 1 */
	enum set_fault fault;
	bool is_dead;
	size_t n_deleted, n_created; /* pods, by the last pass */
	struct buf trace;            /* of the last pass: what it asked for, "+web-0 =status" */
	struct buf events;           /* of all: a line for each */
	struct buf problems;
	struct str problem; /* of the last pass */
	int64_t again_in_s;
	bool has_more;
};

/* Three replicas of image "a", by seed 002's rules, at both API versions. */
void set_world_init(struct set_world *w, const struct carrier *c);
void set_world_done(struct set_world *w);

/* What a user writes: each raises the generation, and another image the template's. */
void set_image(struct set_world *w, const char *image);
void set_replicas(struct set_world *w, int64_t replicas);
void set_partition(struct set_world *w, int64_t partition);

/* As the controller reads it. */
void set_as_read(struct set_world *w, struct set *ret);
/* One pass; what stateful_pass() says of it. */
bool set_pass(struct set_world *w);
/* Pods that are there begin to run; those that are going are gone. True: something has changed. */
bool set_kubelet(struct set_world *w);
/* Both, until neither does anything. */
void set_settle(struct set_world *w);

size_t set_pod_at(const struct set_world *w, int64_t ordinal); /* its index; n_pods: there is none */
void set_pod_status(struct set_world *w, int64_t ordinal, const char *phase, bool is_ready);
/* It has just begun to run, and was never Ready. */
void set_pod_start(struct set_world *w, int64_t ordinal);
void set_pod_label(struct set_world *w, int64_t ordinal, const char *name, const char *value); /* NULL takes it away */
void set_pod_delete(struct set_world *w, int64_t ordinal);                                     /* by somebody: it is going */
const struct json *set_claim(const struct set_world *w, const char *name);                     /* NULL: there is none */
/* By ordinal: the images of the pods, each followed by "!" if it is not Ready and "-" if it is going. */
struct str set_images(struct set_world *w);
/* The revision that keeps the image; NULL: there is none. */
const struct json *set_revision_of(struct set_world *w, const char *image);
struct str set_revision_name(struct set_world *w, const char *image);
struct str set_trace(struct set_world *w); /* of the last pass */

#endif
