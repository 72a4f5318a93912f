/* A StatefulSet as its controller sees it: read once from what the informers keep, which it points into. */
#ifndef CONTROLLERS_STATEFULSET_SET_H
#define CONTROLLERS_STATEFULSET_SET_H

#include "api/select/selector.h"
#include "controllers/ownership/ownership.h"

struct set_status {
	int64_t observed_generation, collisions;
	int64_t replicas, ready, available, current, updated; /* pods */
	struct str current_revision, update_revision;         /* names; empty: there is no history */
	int64_t current_generation, update_generation;        /* templateGeneration and targetTemplateGeneration; 0: nil */
};

/* Where the pods' claims go (persistentVolumeClaimRetentionPolicy). */
struct claim_policy {
	bool deletes_with_set, deletes_when_scaled;
};

struct set {
	struct owner owner;
	const struct json *object, *meta, *spec;
	const struct json *template, *claim_templates; /* the latter may be NULL */
	const struct json *selector_json;
	struct label_selector selector;
	struct str service;
	int64_t generation;
	int64_t template_generation; /* 0: nil, the history has not begun (seed 002, "PodTemplate Selection" 1) */
	int64_t replicas, start;     /* the slots are the ordinals [start, start + replicas) */
	int64_t partition;           /* how many slots from the start keep the current revision */
	bool has_partition;
	int64_t max_unavailable;     /* with the gate MaxUnavailableStatefulSet; otherwise 1 */
	int64_t min_ready_s, limit;
	bool is_parallel, is_on_delete;
	/* The rules of seed 002 rather than upstream's, where they differ: a broken pod of a revision that its ordinal does not call for is replaced;
	 * pods below the partition go back to the current revision; a pod comes back in the revision that it had. */
	bool follows_seed;
	struct claim_policy claims;
	struct set_status status;
};

/* Opts in to the seed's rules at apps/v1; every set made at annals.dev/v1beta1 has it. */
#define SET_REPLACES_BROKEN "annals.dev/replace-broken-pods"

/* How the set's references are written, and which of its pods' templates it numbers.
 * apps: its form at apps/v1, NULL where that is another store's; beta: that at annals.dev/v1beta1. Both of one version.
 * False with a sentence when it is no set to work on: a selector that cannot be read. */
bool set_read(struct set *ret, const struct json *apps, const struct json *beta, struct arena *a, struct str *ret_problem);

/* Its selector; NULL where there is none: that selects nothing, whereas an empty one selects everything. */
const struct label_selector *set_selects(const struct set *s);
bool set_has_slot(const struct set *s, int64_t ordinal);
bool set_has_same_status(const struct set_status *a, const struct set_status *b); /* but for the observed generation, see pass.c */

/* A pod template in which all defaults are filled in; NULL: it is none. */
struct json *set_normal_template(const struct json *template, struct arena *a);

#endif
