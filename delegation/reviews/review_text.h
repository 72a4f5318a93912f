/* What is sent of a question, and which questions are equal. */
#ifndef DELEGATION_REVIEWS_REVIEW_TEXT_H
#define DELEGATION_REVIEWS_REVIEW_TEXT_H

#include "api/model/user.h"
#include "base/arena.h"
#include "base/buf.h"

/* All that the review is made of, unambiguously, in the arena: equal keys, equal reviews. */
struct str access_key(const struct authz_attributes *what, struct arena *a);
/* A SubjectAccessReview as JSON. False: out is too small for it. */
bool access_body(struct buf *out, const struct authz_attributes *what, struct arena *a);

#endif
