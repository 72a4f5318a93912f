/* Deletions that leave time to stop (rest.BeforeDelete upstream): the first DELETE says when the object is to be gone, later ones may
 * only bring that forward, and one that leaves no time removes it. */
#ifndef SERVER_VERBS_DELETE_GRACE_H
#define SERVER_VERBS_DELETE_GRACE_H

#include "server/parse/params.h"
#include "server/request/request.h"

enum grace {
	GRACE_NONE,    /* the kind knows no such thing, or the time is over */
	GRACE_PENDING, /* it is stopping, and no sooner end was asked for: nothing changes */
	GRACE_SET,     /* deletionTimestamp and deletionGracePeriodSeconds of the object say when */
};
enum grace grace_decide(struct request *q, struct object *o, const struct delete_options *options);

#endif
