/* The verbs, each in its file: called when the body is there. Each answers, or waits and answers later. */
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
void reply_future_version(struct request *q, int64_t wanted);

#endif
