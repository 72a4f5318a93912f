/* Kinds that are answered, not stored: who somebody is and what he may do. */
#ifndef SERVER_VERBS_REVIEWS_H
#define SERVER_VERBS_REVIEWS_H

#include "server/request/request.h"

/* Checks the question, and answers it with 201. manager: for managedFields, which some of them show. */
void review_answer(struct request *q, struct object *sent, struct str manager);

#endif
