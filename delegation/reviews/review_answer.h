/* What kube-apiserver answers to a TokenReview or SubjectAccessReview, read as strictly as Go reads it: a member of another type, or another
 * object, is no answer. Pure. */
#ifndef DELEGATION_REVIEWS_REVIEW_ANSWER_H
#define DELEGATION_REVIEWS_REVIEW_ANSWER_H

#include "api/model/schema.h"
#include "base/buf.h"

enum { REVIEW_TREE_MAX = 32 << 20 }; /* bytes, of an arena that is given */

struct review_form {
	const char *group_version, *kind;
	const struct type *type; /* of the whole review */
};

extern const struct review_form token_review_form, access_review_form;

/* The status, in normal form, in the arena; it shares the answer's text. NULL: it is no answer, with why not in `failure`. */
const struct json *review_answer_status(
	const struct review_form *form, const struct json *answer, struct arena *a, struct buf *failure);

#endif
