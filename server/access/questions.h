/* The questions of a request to the cluster (api/model/delegates.h), and the answers.
 *
 * Code that needs an answer calls asked_*() as if it were there. If it is not, NULL is returned
 * and the question is noted. The code unwinds with ASK_FIRST to the runner of the request, which
 * calls questions_start() and waits if it must. Then it runs the same step again from its start,
 * and the answer is there. So lower layers need not know about waiting, and steps that ask have
 * no side effects until they have all answers. */
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

/* Objects of a write that are converted: as the request's version has the present one, and as the storage's has the new one. */
enum questions_conversion_of { CONVERSION_OF_PRESENT, CONVERSION_OF_NEW, CONVERSIONS };

struct questions_conversion {
	struct conversion_question q;
	struct str object; /* as JSON text */
};

/* A phase in which no webhook was to be asked, of a write that was decided against that version. */
struct asked_passed {
	bool is_set;
	int64_t revision; /* 0: nothing was there */
};

struct questions {
	const struct delegates *delegates; /* NULL: standalone */
	const struct converter *converter; /* NULL: no kind has a hook */
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
	struct questions_conversion *conversions[CONVERSIONS];
	struct arena *by_phase; /* of each phase, then of each conversion */
	struct asked_passed passed[2];
};

/* source: whose share it counts in, as long as nobody knows the token. */
const struct token_question *questions_token(struct questions *a, struct str token, struct str source);
const struct access_question *questions_access(struct questions *a, const struct authz_attributes *what);
const struct namespace_question *questions_namespace(struct questions *a, struct str name);
/* Returns true when that phase of the write asks webhooks. A write calls this again with each
 * answer, and configurations may change meanwhile. As in kube-apiserver, the beginning of a
 * phase decides for all of it: a webhook that was asked is obeyed, even if its configuration is
 * gone or narrower. A phase that asked none does not begin to. With another present object, the
 * phase begins again. */
bool questions_has_webhooks(struct questions *a, const struct webhook_question *what);
/* Asks again whenever the object to check has changed. */
const struct webhook_question *questions_webhooks(struct questions *a, const struct webhook_question *what);
/* Asks for the object in another version, unless this was asked last. */
const struct conversion_question *questions_conversion(struct questions *a, enum questions_conversion_of which,
	const struct kind *k, const struct version *to, struct str object);
/* Copies the object that mutating webhooks have made, which shares memory with the one they were
 * shown. Call it before that is freed; the answer stays. */
void questions_keep_change(struct questions *a);
/* Drops answers about the last object, because another one is to be written. Answers of webhooks go into these
 * arenas, one for each phase and each conversion; asking anew frees the last question. */
void questions_begin_write(struct questions *a, struct arena *by_phase);
/* Drops the answers of webhooks, and frees their memory. */
void questions_forget_webhooks(struct questions *a);

/* Returns true when something must be asked first. */
static inline bool questions_is_noted(const struct questions *a)
{
	return a->noted != NULL;
}
/* Returns true when the question is who may do what. */
static inline bool questions_notes_access(const struct questions *a)
{
	return a->noted && a->accesses && a->noted == &a->accesses->q.base;
}

/* Returns true when the question is a conversion. */
static inline bool questions_notes_conversion(const struct questions *a)
{
	for (size_t i = 0; a->noted && i < CONVERSIONS; i++) {
		if (a->conversions[i] && a->noted == &a->conversions[i]->q.base) {
			return true;
		}
	}
	return false;
}

/* Asks the noted question. Returns true when the answer is there already. Otherwise done() will
 * be called, or has been. Until then the request's memory belongs to the answering thread, and
 * the caller may only suspend. */
bool questions_start(struct questions *a);
/* done() was called, and the request goes on. */
static inline void questions_settle(struct questions *a)
{
	a->noted = NULL;
}

#endif
