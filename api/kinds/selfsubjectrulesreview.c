/* SelfSubjectRulesReview: what may I do in a namespace? For people and their tools: who decides asks whether one thing is allowed. */
#include "api/review/review_schema.h"

static const struct field resource_rule_fields[] = {
	{"verbs", &type_string_list, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "What is allowed; * is everything.",
		NULL, NULL},
	{"apiGroups", &type_string_list, FIELD_NUMBER(2), "In which API groups.", NULL, NULL},
	{"resources", &type_string_list, FIELD_NUMBER(3), "To which resources.", NULL, NULL},
	{"resourceNames", &type_string_list, FIELD_NUMBER(4), "To objects of which names; none: of all.", NULL, NULL},
	{0},
};

static const struct type resource_rule_type = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.authorization.v1.ResourceRule",
	.go_type = "v1.ResourceRule",
	.doc = "Something that is allowed.",
	.fields = resource_rule_fields,
};

static const struct field path_rule_fields[] = {
	{"verbs", &type_string_list, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1), "What is allowed; * is everything.",
		NULL, NULL},
	{"nonResourceURLs", &type_string_list, FIELD_NUMBER(2), "To which paths; * is everything, at the end any rest.", NULL,
		NULL},
	{0},
};

static const struct type path_rule_type = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.authorization.v1.NonResourceRule",
	.go_type = "v1.NonResourceRule",
	.doc = "Something that is allowed with paths that are no resources.",
	.fields = path_rule_fields,
};

static const struct type resource_rules_type = {.kind = TYPE_LIST, .elem = &resource_rule_type};
static const struct type path_rules_type = {.kind = TYPE_LIST, .elem = &path_rule_type};

static const struct field spec_fields[] = {
	{"namespace", &type_string, FIELD_NUMBER(1), "The namespace; must be said.", NULL, NULL},
	{0},
};

static const struct type spec_type = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.authorization.v1.SelfSubjectRulesReviewSpec",
	.go_type = "v1.SelfSubjectRulesReviewSpec",
	.doc = "Where one wants to do something.",
	.fields = spec_fields,
};

static const struct field status_fields[] = {
	{"resourceRules", &resource_rules_type, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(1),
		"What one may do with objects.", NULL, NULL},
	{"nonResourceRules", &path_rules_type, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2),
		"What one may do with other paths.", NULL, NULL},
	{"incomplete", &type_bool, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(3),
		"Whether one may do more than is said here.", NULL, NULL},
	{"evaluationError", &type_string, FIELD_NUMBER(4), "What went wrong on the way.", NULL, NULL},
	{0},
};

static const struct type status_type = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.authorization.v1.SubjectRulesReviewStatus",
	.go_type = "v1.SubjectRulesReviewStatus",
	.doc = "What one may do.",
	.fields = status_fields,
};

static const struct field review_fields[] = {
	OBJECT_FIELDS,
	{"spec", &spec_type, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER(2), "The question.", NULL, NULL},
	{"status", &status_type, FIELD_ALWAYS | FIELD_NUMBER(3), "The answer.", NULL, NULL},
	{0},
};

static const struct type review_type = {
	.kind = TYPE_OBJECT,
	.definition = "io.k8s.api.authorization.v1.SelfSubjectRulesReview",
	.go_type = "v1.SelfSubjectRulesReview",
	.doc = "Asks what one may do in a namespace; the answer is in status.",
	.fields = review_fields,
};

static const struct door doors[] = {
	{.group = "authorization.k8s.io",
		.version = "v1",
		.definition = "io.k8s.api.authorization.v1.SelfSubjectRulesReview",
		.standalone_only = true},
};

static struct kind selfsubjectrulesreviews = {
	.kind = "SelfSubjectRulesReview",
	.list_kind = "SelfSubjectRulesReviewList",
	.resource = "selfsubjectrulesreviews",
	.singular = "selfsubjectrulesreview",
	.verbs = VERB_CREATE,
	.is_answered = true,
	.doors = doors,
	.n_doors = ARRAY_SIZE(doors),
	.type = &review_type,
	.doc = "Asks what one may do in a namespace; the answer is in status.",
};
KIND_REGISTER(selfsubjectrulesreviews)
