/* One request to kube-apiserver with its tries: what went wrong for a moment is tried again after a pause, as k8s.io/apiserver's webhook
 * clients do (500 ms, then half as much again each time, five tries). On the client's thread, all of it. */
#ifndef DELEGATION_REVIEWS_CALL_H
#define DELEGATION_REVIEWS_CALL_H

#include "base/json.h"
#include "client/client.h"

struct call {
	/* What the caller sets; all of it must stay until done. */
	struct client *client;
	const char *server; /* for messages */
	const char *method, *path;
	const char *subject; /* for messages, as client-go has it: "post subjectaccessreviews.authorization.k8s.io" */
	struct str body;
	int64_t try_ms; /* for each try */
	/* After each try: the code, 0 where there was no answer. May be NULL. */
	void (*on_try)(struct call *c, int code, int64_t duration_ns);
	/* Exactly once. The call may be freed in it. */
	void (*on_done)(struct call *c);

	/* What comes back. */
	int code;                /* of the latest answer; 0: none */
	const struct json *answer; /* JSON of it, or NULL */
	struct buf failure;      /* empty: it is an answer of 2xx; else why not, in client-go's words */

	/* private */
	struct exchange x;
	struct client_timer pause;
	struct buf text;
	struct arena arena;
	unsigned n_tries;
	int64_t pause_ms, began_ns;
	bool is_ending, is_pausing;
};

/* Zeroed, with the caller's part filled in. */
void call_init(struct call *c);
void call_done(struct call *c);
void call_begin(struct call *c);
/* No more tries; on_done comes soon, perhaps before this returns. Not after on_done. */
void call_cancel(struct call *c);
/* Is the answer a Status with this reason? */
bool call_is_status(const struct call *c, const char *reason);
/* How long the server wants us to wait, by the answer's header or Status: RETRY_AFTER_MAX_S at most. 0 or less: it does not say. */
int64_t call_retry_after_s(const struct call *c);

#endif
