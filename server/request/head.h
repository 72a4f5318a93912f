/* The decisions about a request before its body is read: who asks, and whether they may. */
#ifndef SERVER_REQUEST_HEAD_H
#define SERVER_REQUEST_HEAD_H

#include "server/request/request.h"

/* Parses route and deadline; errors are kept until the user may see them. */
void head_parse(struct request *q);
/* Chooses the form of the answer; a refusal is in q->media_status. Not for extensions with forms of their own. */
void request_negotiate(struct request *q);
/* Afterwards the request may go on, has been answered, or is suspended; then this is called
 * again. */
void head_judge(struct request *q);

#endif
