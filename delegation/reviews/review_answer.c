/* Read with schemas as strictly as Go's decoder reads it: a status of another type might say
 * "allowed" to one reader and not to another. Only the status is read; the rest is our own
 * question, come back. */
#include "delegation/reviews/review_answer.h"

#include "api/model/members.h"
#include "api/review/review_schema.h"

/* Of the rest, which is what was sent, nothing is read. */
static const struct field token_review_fields[] = {
	OBJECT_FIELDS,
	{"status", &type_token_status, FIELD_KEEP_EMPTY, NULL, NULL, NULL},
	{0},
};
static const struct type token_review_type = {.kind = TYPE_OBJECT, .go_type = "v1.TokenReview", .fields = token_review_fields};

static const struct field access_review_fields[] = {
	OBJECT_FIELDS,
	{"status", &type_access_status, FIELD_KEEP_EMPTY, NULL, NULL, NULL},
	{0},
};
static const struct type access_review_type = {
	.kind = TYPE_OBJECT, .go_type = "v1.SubjectAccessReview", .fields = access_review_fields};

const struct review_form token_review_form = {"authentication.k8s.io/v1", "TokenReview", &token_review_type};
const struct review_form access_review_form = {"authorization.k8s.io/v1", "SubjectAccessReview", &access_review_type};

/* Go takes what is not said for what was asked for. kube-apiserver always says it, so who does not is somebody else. */
static bool is_of(const struct review_form *form, const struct json *answer, struct arena *a, struct buf *failure)
{
	struct str version = member_text(answer, "apiVersion"), kind = member_text(answer, "kind");

	if (str_is(version, form->group_version) && str_is(kind, form->kind)) {
		return true;
	}
	buf_printf(failure, "the answer is " STR_FMT " of version " STR_FMT ", not %s of %s", STR_ARG(go_quote(a, kind)),
		STR_ARG(go_quote(a, version)), form->kind, form->group_version);
	return false;
}

const struct json *review_answer_status(
	const struct review_form *form, const struct json *answer, struct arena *a, struct buf *failure)
{
	struct json *review;
	struct str problem;

	if (!json_is(answer, JSON_OBJECT)) {
		BUF_LITERAL(failure, "the answer cannot be understood");
		return NULL;
	}
	if (!is_of(form, answer, a, failure)) {
		return NULL;
	}
	if (schema_decode(&review, form->type, answer, a, NULL, &problem)) {
		buf_add_str(failure, problem);
		return NULL;
	}
	if (!json_gets(review, "status")) {
		BUF_LITERAL(failure, "the answer has no status");
		return NULL;
	}
	return json_gets(review, "status");
}
