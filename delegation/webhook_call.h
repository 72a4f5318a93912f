/* Asks one webhook once: a POST of the AdmissionReview, and the decision from its answer. */
#ifndef DELEGATION_WEBHOOK_CALL_H
#define DELEGATION_WEBHOOK_CALL_H

#include "base/exposition.h"
#include "base/ids.h"
#include "client/client.h"
#include "delegation/webhook.h"

/* The answer of a webhook: read, checked, and worded as k8s.io/apiserver words it. Pure. */
enum webhook_outcome {
	OUTCOME_ALLOWED,
	OUTCOME_DENIED, /* by the webhook; status has the refusal */
	OUTCOME_FAILED, /* there was no usable answer, so failurePolicy decides; status and problem */
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

/* Words an answer whose code is no success, as k8s.io/client-go does. */
struct str webhook_refusal_text(int code, struct str content_type, struct str text, struct arena *a);
/* Reads an answer's text, with its code. The result is in the arena, but text must outlive it,
 * too. */
void webhook_answer_read(struct webhook_answer *ret, const struct webhook *h, enum webhook_phase phase, const char *uid,
	int code, struct str content_type, struct str text, struct arena *a);
/* Fills in a failure: there is no answer. */
void webhook_answer_fail(
	struct webhook_answer *ret, const struct webhook *h, struct arena *a, int code, const char *format, ...) _printf_(5, 6);
/* Answers a dry run that the webhook may not be asked about. Returns false when it may be asked. */
bool webhook_answer_of_dry_run(struct webhook_answer *ret, const struct webhook *h, struct arena *a);

struct webhook_call {
	const struct webhook *hook;
	const struct version *version; /* through which it wants to see the write */
	struct webhook_answer answer;
	int64_t duration_ns;
	bool is_stopped; /* the server was stopped: there is no answer, and no policy applies */

	/* private */
	void (*on_done)(struct webhook_call *c);
	void *ctx;
	struct webhook_question *q;
	char uid[UUID_SIZE];
	char *path;
	struct buf body, text;
	struct exchange x;
	int64_t began_ns;
};

/* Writes the request. Returns true when the answer is known already, and nothing is to be sent.
 * webhook_call_done() in any case. */
bool webhook_call_init(struct webhook_call *c, struct webhook_question *q, const struct webhook *h,
	const struct version *version, const struct object *object);
void webhook_call_done(struct webhook_call *c);
/* Sends the request. on_done is called once, on the client's thread or before this returns; it
 * may free c. */
void webhook_call_start(struct webhook_call *c, struct client *client, void (*on_done)(struct webhook_call *c), void *ctx);

/* Counts of webhook calls by outcome, with the names and labels of k8s.io/apiserver
 * pkg/admission/metrics. Any thread. */
struct webhook_metrics;

struct webhook_metrics *webhook_metrics_new(void);
struct webhook_metrics *webhook_metrics_free(struct webhook_metrics *m);
/* Counts a webhook that was asked, with its answer or failure. */
void webhook_metrics_count(struct webhook_metrics *m, const struct webhook *h, const struct webhook_question *q,
	const struct webhook_answer *answer, int64_t duration_ns);
void webhook_metrics_write(struct webhook_metrics *m, struct buf *out);

/* The object after a mutating webhook's patch. Pure. */
enum { PATCH_NOTE_MAX = 12 << 20 }; /* bytes of a patch as an audit annotation */

struct webhook_patched {
	const struct object
		*object; /* NULL: there is no patch, or it cannot be applied; then the call's answer is no longer ALLOWED */
	struct json *operations; /* as an audit annotation shows them; NULL: none */
	bool has_changed;
};

/* Applies the patch of the answer. */
void webhook_patch(
	struct webhook_patched *ret, struct webhook_call *c, const struct webhook_question *q, const struct object *object);

#endif
