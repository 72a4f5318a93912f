/* A StatefulSet as its controller sees it: parsed once from the informers' objects, which it
 * points into. */
#ifndef CONTROLLERS_STATEFULSET_SET_H
#define CONTROLLERS_STATEFULSET_SET_H

#include "api/rules/selector.h"
#include "controllers/kit/ownership.h"

struct set_status {
	int64_t observed_generation, collisions;
	int64_t replicas, ready, available, current, updated; /* numbers of pods */
	struct str current_revision, update_revision;         /* names of revisions; empty: there is no history */
	int64_t current_generation, update_generation;        /* templateGeneration and targetTemplateGeneration; 0: nil */
};

/* Whether the pods' claims are deleted (persistentVolumeClaimRetentionPolicy). */
struct claim_policy {
	bool deletes_with_set, deletes_when_scaled;
};

struct set {
	struct owner owner;
	const struct json *object, *meta, *spec;
	const struct json *template, *claim_templates; /* claim_templates may be NULL */
	const struct json *selector_json;
	struct label_selector selector;
	struct str service;
	int64_t generation;
	int64_t template_generation; /* 0: nil, the history has not begun */
	int64_t replicas, start;     /* the slots are the ordinals [start, start + replicas) */
	int64_t partition;           /* how many slots from the start keep the current revision */
	bool has_partition;
	int64_t max_unavailable; /* 1 unless the gate MaxUnavailableStatefulSet is on */
	int64_t min_ready_s, limit;
	bool is_parallel, is_on_delete;
	/* Follows the seed's rules where they differ from upstream's. The pod that a
	 * broken update waits for is replaced. Pods below the partition go back to the
	 * current revision. A pod comes back in the revision that it had. */
	bool follows_seed;
	struct claim_policy claims;
	struct set_status status;
};

/* Opts in to the seed's rules at apps/v1; every set created at annals.dev/v1beta1 has it. */
#define SET_REPLACES_BROKEN "annals.dev/replace-broken-pods"

/* Parses a set. apps: its form at apps/v1; NULL if apps/v1 has another store. beta: its form at
 * annals.dev/v1beta1, of the same version. Returns false with a sentence if the controller cannot
 * work on the set, such as for an unreadable selector. */
bool set_read(struct set *ret, const struct json *apps, const struct json *beta, struct arena *a, struct str *ret_problem);

/* Returns the set's selector. NULL: none, which selects nothing; an empty selector selects
 * everything. */
const struct label_selector *set_selects(const struct set *s);
bool set_has_slot(const struct set *s, int64_t ordinal);
/* ignores the observed generation, see pass.c */
bool set_has_same_status(const struct set_status *a, const struct set_status *b);

/* Fills in all defaults of a pod template. Returns NULL if it is not one. */
struct json *set_normal_template(const struct json *template, struct arena *a);

#endif
