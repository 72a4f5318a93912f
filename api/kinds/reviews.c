/* Reviews: questions about identity and rights. They are created, answered (server/verbs/reviews.c) and never stored. LocalSubjectAccessReview is
 * SubjectAccessReview for one namespace, so that the right to ask can be given by namespace. SelfSubjectRulesReview is for people and their tools. */
#include "api/rules/review_schema.h"
#include "api/upstream/upstream.h"

/* SubjectAccessReview: may somebody do something? */

static void subject_validate(const struct object *o, struct field_errors *errors)
{
	validate_access_spec(o, errors);
	validate_no_metadata(o, errors);
}

static const struct version subject_versions[] = {
	{.group = "authorization.k8s.io",
		.name = "v1",
		.definition = "io.k8s.api.authorization.v1.SubjectAccessReview",
		.standalone_only = true},
};

static struct kind subjectaccessreviews = {
	.kind = "SubjectAccessReview",
	.list_kind = "SubjectAccessReviewList",
	.resource = "subjectaccessreviews",
	.singular = "subjectaccessreview",
	.verbs = VERB_CREATE,
	.extension = EXTENSION_REVIEW,
	.versions = subject_versions,
	.n_versions = ARRAY_SIZE(subject_versions),
	.type = &type_authorization_subject_access_review,
	.doc = "Asks whether somebody may do something; the answer is in status.",
	.validate = subject_validate,
};
KIND_REGISTER(subjectaccessreviews)

/* LocalSubjectAccessReview: may somebody do something in this namespace? Roles of the namespace grant the right to ask. */

static void validate_local(const struct object *o, struct field_errors *errors)
{
	const struct json *spec = object_spec(o);
	const struct json *resource = json_gets(spec, "resourceAttributes"),
			  *nonresource = json_gets(spec, "nonResourceAttributes");
	struct str ns = json_text(json_gets(resource, "namespace"));
	if (resource && !str_eq(ns, o->meta.ns)) {
		field_invalid_str(errors, STR("spec.resourceAttributes.namespace"), ns, "must match metadata.namespace");
	}
	if (nonresource) {
		field_invalid(errors, STR("spec.nonResourceAttributes"), shown_nonresource(nonresource, errors->arena),
			"disallowed on this kind of request");
	}
}

static void local_validate(const struct object *o, struct field_errors *errors)
{
	subject_validate(o, errors);
	validate_local(o, errors);
}

static const struct version local_versions[] = {
	{.group = "authorization.k8s.io",
		.name = "v1",
		.definition = "io.k8s.api.authorization.v1.LocalSubjectAccessReview",
		.standalone_only = true},
};

static struct kind localsubjectaccessreviews = {
	.kind = "LocalSubjectAccessReview",
	.list_kind = "LocalSubjectAccessReviewList",
	.resource = "localsubjectaccessreviews",
	.singular = "localsubjectaccessreview",
	.is_namespaced = true,
	.verbs = VERB_CREATE,
	.extension = EXTENSION_REVIEW,
	.versions = local_versions,
	.n_versions = ARRAY_SIZE(local_versions),
	.type = &type_authorization_local_subject_access_review,
	.doc = "Asks whether somebody may do something in a namespace; the answer is in status.",
	.validate = local_validate,
};
KIND_REGISTER(localsubjectaccessreviews)

/* SelfSubjectAccessReview: may I do something? */

static void self_validate(const struct object *o, struct field_errors *errors)
{
	validate_self_access_spec(o, errors);
	validate_no_metadata(o, errors);
}

static const struct version self_versions[] = {
	{.group = "authorization.k8s.io",
		.name = "v1",
		.definition = "io.k8s.api.authorization.v1.SelfSubjectAccessReview",
		.standalone_only = true},
};

static struct kind selfsubjectaccessreviews = {
	.kind = "SelfSubjectAccessReview",
	.list_kind = "SelfSubjectAccessReviewList",
	.resource = "selfsubjectaccessreviews",
	.singular = "selfsubjectaccessreview",
	.verbs = VERB_CREATE,
	.extension = EXTENSION_REVIEW,
	.versions = self_versions,
	.n_versions = ARRAY_SIZE(self_versions),
	.type = &type_authorization_self_subject_access_review,
	.doc = "Asks whether one may do something oneself; the answer is in status.",
	.validate = self_validate,
};
KIND_REGISTER(selfsubjectaccessreviews)

/* SelfSubjectReview: who am I? */

static const struct version whoami_versions[] = {
	{.group = "authentication.k8s.io",
		.name = "v1",
		.definition = "io.k8s.api.authentication.v1.SelfSubjectReview",
		.standalone_only = true},
};

static struct kind selfsubjectreviews = {
	.kind = "SelfSubjectReview",
	.list_kind = "SelfSubjectReviewList",
	.resource = "selfsubjectreviews",
	.singular = "selfsubjectreview",
	.verbs = VERB_CREATE,
	.extension = EXTENSION_REVIEW,
	.versions = whoami_versions,
	.n_versions = ARRAY_SIZE(whoami_versions),
	.type = &type_authentication_self_subject_review,
	.doc = "Asks who one is; the answer is in status.",
};
KIND_REGISTER(selfsubjectreviews)

/* SelfSubjectRulesReview: what may I do in a namespace? For people and their tools: who decides asks whether one thing is allowed. */

static const struct version rules_versions[] = {
	{.group = "authorization.k8s.io",
		.name = "v1",
		.definition = "io.k8s.api.authorization.v1.SelfSubjectRulesReview",
		.standalone_only = true},
};

static struct kind selfsubjectrulesreviews = {
	.kind = "SelfSubjectRulesReview",
	.list_kind = "SelfSubjectRulesReviewList",
	.resource = "selfsubjectrulesreviews",
	.singular = "selfsubjectrulesreview",
	.verbs = VERB_CREATE,
	.extension = EXTENSION_REVIEW,
	.versions = rules_versions,
	.n_versions = ARRAY_SIZE(rules_versions),
	.type = &type_authorization_self_subject_rules_review,
	.doc = "Asks what one may do in a namespace; the answer is in status.",
};
KIND_REGISTER(selfsubjectrulesreviews)

/* TokenReview: whom does a token name? */

static const struct version token_versions[] = {
	{.group = "authentication.k8s.io",
		.name = "v1",
		.definition = "io.k8s.api.authentication.v1.TokenReview",
		.standalone_only = true},
};

static struct kind tokenreviews = {
	.kind = "TokenReview",
	.list_kind = "TokenReviewList",
	.resource = "tokenreviews",
	.singular = "tokenreview",
	.verbs = VERB_CREATE,
	.extension = EXTENSION_REVIEW,
	.versions = token_versions,
	.n_versions = ARRAY_SIZE(token_versions),
	.type = &type_authentication_token_review,
	.doc = "Asks whom a token names; the answer is in status.",
};
KIND_REGISTER(tokenreviews)
