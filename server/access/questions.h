/* What a request has asked of the cluster (api/model/delegates.h), and what came back.
 *
 * Whoever needs an answer calls asked_*() as if it were there. When it is not, NULL comes back and the question is noted: the code unwinds with
 * ASK_FIRST to whoever runs the request, who calls questions_start(), waits if it must, and runs the same code again from the start of its
 * step; now the answer is at hand. So nothing below needs to know about waiting, and steps that ask have no side effects until they have
 * all answers. */
#ifndef SERVER_ACCESS_QUESTIONS_H
#define SERVER_ACCESS_QUESTIONS_H

#include "api/model/delegates.h"

/* Beside 0 and 1, of functions that may have to ask. */
#define ASK_FIRST 2

struct questions_access {
	struct questions_access *next;
	struct access_question q;
};

/* The answer of all webhooks of a phase, and what exactly they were asked. */
struct questions_webhooks {
	struct webhook_question q;
	struct str object, old; /* as JSON text */
	bool is_kept;           /* what they made of the object is in the arena of the phase, whole */
};

/* A phase in which no webhook was to be asked, of a write that was decided against that version. */
struct asked_passed {
	bool is_set;
	int64_t revision; /* 0: nothing was there */
};

struct questions {
	const struct delegates *delegates; /* NULL: standalone */
	struct arena *arena;
	int64_t deadline_ms;              /* monotonic, of all questions; each has ten seconds at most */
	void (*done)(struct question *q); /* an answer that had to be waited for has come; any thread */
	void *ctx;                        /* of done */

	/* private */
	struct question *noted; /* without an answer yet */
	bool (*start)(struct questions *a);
	struct token_question *token;
	struct questions_access *accesses; /* the latest first */
	struct namespace_question *ns;
	struct questions_webhooks *webhooks[2]; /* of enum webhook_phase */
	struct arena *by_phase;
	struct asked_passed passed[2];
};

/* source: whose share it counts in, as long as nobody knows the token. */
const struct token_question *questions_token(struct questions *a, struct str token, struct str source);
const struct access_question *questions_access(struct questions *a, const struct authz_attributes *what);
const struct namespace_question *questions_namespace(struct questions *a, struct str name);
/* Does that phase of the write ask anybody? A write comes by here again with each answer that it waited for, and configurations may come and go
 * meanwhile. As in kube-apiserver, what held when the phase began holds to its end: whoever was asked is obeyed, also once the configuration is
 * gone or narrower, and a phase that asked nobody does not begin to. Another present object begins anew. */
bool questions_has_webhooks(struct questions *a, const struct webhook_question *what);
/* Asked again whenever what they are to look at has changed. */
const struct webhook_question *questions_webhooks(struct questions *a, const struct webhook_question *what);
/* What mutating webhooks have made of an object shares memory with the object that they were shown. To be called before that goes; the answer stays. */
void questions_keep_change(struct questions *a);
/* Another object is to be written: answers about the one before are of no use. Those of webhooks go into these two arenas, by phase: where one is
 * asked anew, what it was asked before goes. */
void questions_begin_write(struct questions *a, struct arena *by_phase);
/* Forgets what webhooks have answered, and lets go of the memory. */
void questions_forget_webhooks(struct questions *a);

bool questions_is_noted(const struct questions *a);     /* something must be asked first */
bool questions_notes_access(const struct questions *a); /* and that is who may do what */

/* Asks what was noted. True: the answer is there already. False: done() will be called, or has been; until then the request's memory
 * belongs to whoever answers, and the caller may do nothing but suspend. */
bool questions_start(struct questions *a);
/* done() was called, and the request goes on. */
void questions_settle(struct questions *a);

#endif
