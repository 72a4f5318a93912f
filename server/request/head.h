/* What is decided about a request before its body is read: who asks, and whether they may. */
#ifndef SERVER_REQUEST_HEAD_H
#define SERVER_REQUEST_HEAD_H

#include "server/request/request.h"

/* Route and deadline; what is wrong with them is kept until the user may know it. */
void head_parse(struct request *q);
/* Afterwards the request may go on, or it has been answered, or the exchange is suspended and this is to be called again. */
void head_judge(struct request *q);

#endif
