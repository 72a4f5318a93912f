/* What a webhook answers: read, checked, and worded as k8s.io/apiserver words it. Pure. */
#ifndef DELEGATION_WEBHOOKS_WEBHOOK_ANSWER_H
#define DELEGATION_WEBHOOKS_WEBHOOK_ANSWER_H

#include "delegation/webhooks/webhook.h"

enum webhook_outcome {
	OUTCOME_ALLOWED,
	OUTCOME_DENIED, /* by the webhook; status says how */
	OUTCOME_FAILED, /* it could not be asked, or what it said is no answer: failurePolicy decides; status and problem */
	OUTCOME_ERROR,  /* refused in any case; status */
};

struct webhook_answer {
	enum webhook_outcome outcome;
	struct status status;
	int code;           /* for metrics: of the answer, of a denial, of what went wrong; 0: OUTCOME_ERROR */
	struct str problem; /* `failed calling webhook "x": ...` */
	struct str patch;   /* empty: none */
	struct str patch_type;
	const struct json *warnings, *annotations; /* in normal form, or NULL */
};

/* An answer's text, with its code. Everything comes to be in the arena, but text must outlive it, too. */
void webhook_answer_read(struct webhook_answer *ret, const struct webhook *h, enum webhook_phase phase, const char *uid,
	int code, struct str content_type, struct str text, struct arena *a);
/* There is no answer. */
void webhook_answer_fail(
	struct webhook_answer *ret, const struct webhook *h, struct arena *a, int code, const char *format, ...) _printf_(5, 6);
/* A dry run's, which the webhook may not be asked about; false: it may. */
bool webhook_answer_of_dry_run(struct webhook_answer *ret, const struct webhook *h, struct arena *a);

#endif
