/* The verbs, the requests that are no CRUD, and the paths that are not about objects.
 *
 * server/dispatch.c calls one function for each request, on an HTTP thread, when the body is there. The function answers, or
 * names the function to go on with, waits (server/request/wait.h) and answers later. Reads take counted objects from the
 * cache. Writes embed a struct write (server/write/write.h) and give it a pure step to decide. */
#ifndef SERVER_VERBS_VERBS_H
#define SERVER_VERBS_VERBS_H

#include "server/request/request.h"

void verb_get(struct request *q);
void verb_list(struct request *q);
void verb_watch(struct request *q);
void verb_create(struct request *q);
void verb_update(struct request *q);
void verb_patch(struct request *q);
void verb_delete(struct request *q);
void verb_delete_collection(struct request *q);
void nonresource(struct request *q);

/* 504 ResourceVersionTooLarge (get.c): into q->st, or as the answer. */
void request_set_future_version(struct request *q, int64_t wanted);

/* ---- requests that are no CRUD (create.c) ---- */

static inline enum extension extension_of(const struct route *r)
{
	return r->sub ? r->sub->extension : r->kind->extension;
}
/* Negotiates for a route that has an extension. If the extension has media types of its own: true, with 0 in
 * *ret, or with 1 and q->media_status. */
bool extension_negotiate(struct request *q, int *ret);
void extension_answer(struct request *q);
/* Reads the options and the posted object of a kind that is answered rather than stored. 0, or 1 with q->st. */
int create_read_question(struct request *q, struct object **ret, struct str *ret_manager);
/* Answers a review with 201, after it was checked. manager: for managedFields, which some reviews show. */
void review_answer(struct request *q, struct object *sent, struct str manager);

#endif
