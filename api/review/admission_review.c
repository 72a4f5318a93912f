/* What is in a review is an object of any kind, of any server: so it is no more than JSON here, and
 * whoever answers looks for what he needs (server/verbs/hook.c). */
#include "api/review/admission_review.h"

static const struct field review_fields[] = {
	OBJECT_FIELDS,
	{"request", &type_raw, 0, "What is asked, by whom, with the object as it would be.", NULL, NULL},
	{"response", &type_raw, 0, "The answer.", NULL, NULL},
	{0},
};

static const struct type review_type = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.admission.v1.AdmissionReview",
	.go_type = "v1.AdmissionReview",
	.doc = "Asks whether something may be written; the answer is in response.",
	.fields = review_fields,
};

static const struct door doors[] = {
	{.group = "admission.k8s.io", .version = "v1", .definition = "io.k8s.api.admission.v1.AdmissionReview"},
};

static const struct kind admission_review = {
	.kind = "AdmissionReview",
	.list_kind = "AdmissionReviewList",
	.resource = "admissionreviews",
	.singular = "admissionreview",
	.doors = doors,
	.n_doors = ARRAY_SIZE(doors),
	.type = &review_type,
	.doc = "Asks whether something may be written.",
};

const struct view admission_review_view = {.kind = &admission_review, .is_hook = true};
