/* Admission webhooks as the cluster configures them: ValidatingWebhookConfigurations and
 * MutatingWebhookConfigurations, read once, then immutable and counted. Only webhooks whose
 * rules could match a kind of annals are kept. */
#ifndef DELEGATION_WEBHOOK_H
#define DELEGATION_WEBHOOK_H

#include "api/model/delegates.h"
#include "api/rules/selector.h"
#include "client/peer.h"

#include <stdatomic.h>

enum { WEBHOOKS_MAX = 256 }; /* of one phase, that could match kinds of annals */

struct texts {
	struct str *v;
	size_t n;
};

enum webhook_scope { SCOPE_ALL, SCOPE_NAMESPACED, SCOPE_CLUSTER, SCOPE_NONE };

/* admissionregistration.k8s.io/v1 RuleWithOperations. */
struct webhook_rule {
	struct texts operations, groups, versions, resources;
	enum webhook_scope scope;
};

struct webhook_selector {
	struct label_selector labels;
	bool is_absent;     /* matches nothing */
	struct str problem; /* why it cannot be evaluated */
};

enum webhook_side_effects { SIDE_EFFECTS_UNSAID, SIDE_EFFECTS_SOME, SIDE_EFFECTS_NONE_ON_DRY_RUN };

struct webhook {
	struct str name, configuration;
	size_t index; /* among all of the phase, ordered by the names of their configurations */
	struct webhook_rule *rules;
	size_t n_rules;
	bool is_equivalent; /* its rules also match other versions that lead to the same object */
	struct webhook_selector namespaces, objects;
	bool ignores_failure; /* failurePolicy */
	bool is_reinvocable;  /* reinvocationPolicy */
	enum webhook_side_effects side_effects;
	int64_t timeout_s;          /* 0: limited by the request only */
	const char *review_version; /* the first version of admission.k8s.io in its list that annals knows; NULL: none */
	struct peer *peer;          /* NULL: see target_problem */
	struct str path, target_problem;
};

struct webhook_set {
	struct webhook *v;
	size_t n;
	bool is_over;          /* too many to keep: every write is refused */
	_Atomic uint32_t refs; /* private from here */
	struct arena arena;
};

/* Parses configurations, sorted by name, and copies what it keeps. Notices for the operator are
 * appended, a line each. */
struct webhook_set *webhook_set_new(const struct json *const *configurations, size_t n, struct buf *notices);
struct webhook_set *webhook_set_ref(struct webhook_set *s);
struct webhook_set *webhook_set_unref(struct webhook_set *s); /* NULL */
DEFINE_CLEANUP(struct webhook_set *, webhook_set_unref)

/* Reads the address of a webhook, which stands in a WebhookClientConfig: peer and path, or target_problem. The peer is the
 * caller's. */
void webhook_target_read(struct webhook *h, const struct json *config, struct arena *a);
/* Reads one rule of a webhook. */
void webhook_rule_read(struct webhook_rule *ret, const struct json *rule, struct arena *a);
/* Returns true when the rule could match a kind that is served behind a kube-apiserver. */
bool webhook_rule_concerns_us(const struct webhook_rule *r);

/* Returns true when the rule matches the write: k8s.io/apiserver
 * pkg/admission/plugin/webhook/predicates. Pure. */
bool webhook_rule_matches(const struct webhook_rule *r, const struct webhook_question *q, const struct version *version);
/* Returns the version through which the webhook wants to see the write. That is the request's own
 * if a rule matches it; otherwise, if the webhook asks for equivalents, a matching one that
 * leads to the same object. NULL: its rules do not match this write. */
const struct version *webhook_version(const struct webhook *h, const struct webhook_question *q);
/* Returns true when the webhook depends on the labels of the namespace. */
bool webhook_looks_at_namespace(const struct webhook *h, const struct webhook_question *q);
bool webhook_selects(const struct webhook_selector *s, const struct label *labels, size_t n);
/* Checks the objectSelector: one of the two objects must match. object is the write's as it is
 * by now. */
bool webhook_selects_object(const struct webhook *h, const struct object *object, const struct object *old, struct arena *a);

#endif
