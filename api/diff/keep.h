/* How long the recorded states of one object are kept: the rules of a Recorder, and the decision which states go. No I/O.
 *
 * The current state never goes. Of the others, in this order:
 *  1. A state goes when it was replaced longer ago than `for`, unless it is one of the newest atLeast.
 *  2. A state that was replaced longer ago than thinAfter goes if a newer state began on the same day (UTC).
 *  3. While there are more than atMost, or more than `bytes`, one goes after the other: of the user who has the most, the oldest.
 *
 * Rules 2 and 3 spare the first state, and the last state of each user. Only if rule 3 finds nothing else, these go too: the oldest
 * first, and the very first state at last. So a user who writes often loses states of their own, and not those of others. */
#ifndef API_DIFF_KEEP_H
#define API_DIFF_KEEP_H

#include "api/model/schema.h"
#include "api/rules/where.h"

enum {
	/* Revisions: half of those that one history can have (HISTORY_LENGTH_MAX); more is refused. */
	KEEP_STATES_MAX = 1000,
	KEEP_AT_LEAST_DEFAULT = 3,
	KEEP_BYTES_MIN = 1024,
};

struct keep_rules {
	int64_t for_s, thin_after_s; /* negative: no such rule */
	int64_t at_least, at_most;   /* states besides the current one */
	int64_t bytes;               /* 0: no such rule */
};

struct keep_state {
	int64_t time_s;  /* when it began, wall clock */
	struct str user; /* who made it; empty: nobody is known, and these count as one user */
	size_t bytes;
	bool is_fixed; /* something needs it: it neither goes nor counts */
	bool goes;     /* the answer */
	/* private */
	size_t user_at; /* the first state of the same user */
	size_t n_left;  /* with that state: how many of the user's may still go */
	bool is_spared;
};

/* Sets `goes` of each. v: the oldest first, and the current state at the end. Returns how many go. */
size_t keep_choose(struct keep_state *v, size_t n, const struct keep_rules *rules, int64_t now_s);

/* ---- as JSON: dev.annals.v1.Keep ---- */

/* A duration in upstream's form: a text such as 1h30m0s. */
extern const struct type type_duration, type_keep;
void check_duration(struct field_errors *e, const struct where *at, struct str text);
void check_keep(struct field_errors *e, const struct where *at, const struct json *keep);

/* The rules of an item of spec.resources, completed by those of the Recorder; NULL: there are none, and historyLimit alone counts. */
struct json *keep_complete(const struct json *own, const struct json *general, struct arena *a);
/* Reads what was checked. */
void keep_read(struct keep_rules *ret, const struct json *keep);

/* Is the number in one of these ranges? They are as in a History's status.kept: 1,17-60. */
bool keep_has_number(struct str ranges, int64_t number);

/* ---- what a state says about its change ----
 *
 * A History lists its last changes only. So each state has the facts of the last change that led to it, in an annotation. */

#define ANNOTATION_CHANGE STR("annals.dev/change")
/* change: as a Snapshot brings it. user: who made it; empty: not known. The annotation: JSON text with type, time, user, managers and
 * resourceVersion. */
struct json *keep_facts(const struct json *change, struct str user, struct arena *a);
/* The facts of a state by its metadata; NULL: it has none, as those that earlier versions have recorded. */
const struct json *keep_facts_of(const struct json *metadata, struct arena *a);

#endif
