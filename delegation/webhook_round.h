/* One question under way: all webhooks of a phase, asked for one write. Both phases share this
 * struct. */
#ifndef DELEGATION_WEBHOOK_ROUND_H
#define DELEGATION_WEBHOOK_ROUND_H

#include "client/item.h"
#include "delegation/webhook_call.h"

/* Shared by all rounds. */
struct webhook_means {
	struct client *client;
	struct item *(*get_namespace)(void *ctx, struct str name); /* a reference, or NULL */
	void *namespace_ctx;
	struct webhook_metrics *metrics;
};

enum round_match { ROUND_NO, ROUND_YES, ROUND_REFUSED, ROUND_WAITS };

struct webhook_round {
	const struct webhook_means *means;
	struct webhook_question *q;
	struct webhook_set *set; /* a reference */
	/* Continues the round, on any thread. Returns true when the question is answered.
	 * Otherwise something is under way, and go_on() is called again when it is done; the
	 * round may be gone then. */
	bool (*go_on)(struct webhook_round *r);
	void (*on_end)(struct webhook_round *r); /* answered, after go_on() was false at first */
	const struct object *object;             /* the write's as it is by now */
	int64_t began_ms;                        /* monotonic */
	struct list link;                        /* the owner's */

	/* Labels of the namespace: unknown until a webhook needs them. */
	bool has_labels;
	const struct label *labels;
	size_t n_labels;
	struct status labels_problem;
	struct item *ns;
	struct exchange get;
	struct buf get_text;
	char *get_path;

	size_t cap_warnings, cap_annotations;
	void *own; /* the phase's own state, allocated with mem_*() */
	void (*free_own)(struct webhook_round *r);
};

struct webhook_round *round_new(const struct webhook_means *means, struct webhook_question *q);
struct webhook_round *round_free(struct webhook_round *r);

/* Decides whether the webhook is to be asked, and through which version. REFUSED: the question is
 * answered. WAITS: go_on() comes. */
enum round_match round_match(struct webhook_round *r, const struct webhook *h, const struct version **ret);
/* Counts the answer, keeps warnings and annotations, and decides whether the write may go on.
 * Returns false when the question is answered. fail_open_key: the annotation for a webhook that
 * was asked in vain. */
bool round_take(struct webhook_round *r, const struct webhook_call *c, const char *fail_open_key);
void round_annotate(struct webhook_round *r, struct str key, struct str value); /* both copied */

/* The two phases. Each sets go_on. */
void round_mutate(struct webhook_round *r);
void round_validate(struct webhook_round *r);

#endif
