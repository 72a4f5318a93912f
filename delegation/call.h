/* One request to kube-apiserver with its tries. A temporary failure is tried again after a
 * pause, as k8s.io/apiserver's webhook clients do (500 ms, then half as much again each time,
 * five tries). Everything runs on the client's thread. */
#ifndef DELEGATION_CALL_H
#define DELEGATION_CALL_H

#include "api/model/schema.h"
#include "base/exposition.h"
#include "base/json.h"
#include "client/client.h"
#include <pthread.h>

struct call {
	/* Set by the caller; all of it must stay until done. */
	struct client *client;
	const char *server; /* for messages */
	const char *method, *path;
	const char *subject; /* for messages, as client-go has it: "post subjectaccessreviews.authorization.k8s.io" */
	struct str body;
	int64_t try_ms; /* for each try */
	/* Called after each try with the code; 0: no answer. May be NULL. */
	void (*on_try)(struct call *c, int code, int64_t duration_ns);
	/* Called exactly once. It may free the call. */
	void (*on_done)(struct call *c);

	/* Set when it is done. */
	int code;                  /* of the latest answer; 0: none */
	const struct json *answer; /* JSON of it, or NULL */
	struct buf failure;        /* empty: the answer is 2xx; otherwise the reason, in client-go's words */

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
/* Stops trying; on_done comes soon, perhaps before this returns. Not after on_done. */
void call_cancel(struct call *c);
/* Returns true when the answer is a Status with this reason. */
bool call_is_status(const struct call *c, const char *reason);
/* Returns how long the server wants the client to wait, from the answer's header or Status:
 * RETRY_AFTER_MAX_S at most. 0 or less: it does not say. */
int64_t call_retry_after_s(const struct call *c);

/* ---- answers to reviews ---- */

/* Reads kube-apiserver's answer to a TokenReview or SubjectAccessReview as strictly as Go does.
 * A member of another type, or another object, makes it no answer. Pure. */
enum { REVIEW_TREE_MAX = 32 << 20 }; /* bytes, of an arena that is given */

struct review_form {
	const char *group_version, *kind;
	const struct type *type; /* of the whole review */
};

extern const struct review_form token_review_form, access_review_form;

/* Returns the status in normal form, in the arena; it shares the answer's text. NULL: it is no
 * answer, and `failure` says why. */
const struct json *review_answer_status(
	const struct review_form *form, const struct json *answer, struct arena *a, struct buf *failure);

/* ---- counts of reviews ---- */

/* Requests to kube-apiserver by the code of their answers, as k8s.io/apiserver counts delegated ones: PREFIX_request_total{code},
 * PREFIX_request_duration_seconds{code}. Any thread. */
enum { REVIEW_CODES_MAX = 32 };

struct review_metrics {
	pthread_mutex_t lock;
	struct review_code {
		int code; /* 0: there was no answer */
		struct histogram durations;
	} codes[REVIEW_CODES_MAX]; /* the last one counts all codes that do not fit */
	size_t n;
};

void review_metrics_init(struct review_metrics *m);
void review_metrics_done(struct review_metrics *m);
void review_metrics_count(struct review_metrics *m, int code, int64_t duration_ns);
void review_metrics_write(struct review_metrics *m, const char *prefix, struct buf *out);

#endif
