/* What is decided about a request before its body is read: who asks, and whether they may. */
#ifndef SERVER_REQUEST_HEAD_H
#define SERVER_REQUEST_HEAD_H

#include "server/request/request.h"

/* Route and deadline; what is wrong with them is kept until the user may know it. */
void head_parse(struct request *q);
/* 0: the request may go on. 1: it has been answered. ASK_FIRST: the exchange is suspended, and this is to be called again. */
int head_judge(struct request *q);

#endif
