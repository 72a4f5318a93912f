/* POST to a subresource: what is sent is done to the object, and answered with a Status. */
#ifndef SERVER_VERBS_ACT_H
#define SERVER_VERBS_ACT_H

#include "server/request/request.h"

void verb_act(struct request *q);

#endif
