/* One webhook asked once: a POST of the AdmissionReview, and what comes of it. */
#ifndef DELEGATION_WEBHOOKS_WEBHOOK_CALL_H
#define DELEGATION_WEBHOOKS_WEBHOOK_CALL_H

#include "base/ids.h"
#include "client/client.h"
#include "delegation/webhooks/webhook_answer.h"

struct webhook_call {
	const struct webhook *hook;
	const struct door *door; /* through which it wants to see the write */
	struct webhook_answer answer;
	int64_t duration_ns;
	bool is_stopped; /* we were: there is no answer, and no policy says what that means */

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

/* Writes the request. True: there is nothing to send, the answer is known already. webhook_call_done() in any case. */
bool webhook_call_init(struct webhook_call *c, struct webhook_question *q, const struct webhook *h, const struct door *door,
	const struct object *object);
void webhook_call_done(struct webhook_call *c);
/* Sends it. on_done is called once, on the client's thread or before this returns; c may be gone afterwards. */
void webhook_call_start(struct webhook_call *c, struct client *client, void (*on_done)(struct webhook_call *c), void *ctx);

#endif
