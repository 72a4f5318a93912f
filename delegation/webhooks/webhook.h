/* Admission webhooks as the cluster configures them: ValidatingWebhookConfigurations and MutatingWebhookConfigurations, read once and then
 * immutable and counted. Only those are kept whose rules could ever mean a kind of ours. */
#ifndef DELEGATION_WEBHOOKS_WEBHOOK_H
#define DELEGATION_WEBHOOKS_WEBHOOK_H

#include "api/model/delegates.h"
#include "api/select/selector.h"
#include "client/peer.h"

#include <stdatomic.h>

enum { WEBHOOKS_MAX = 256 }; /* of one phase, that could mean kinds of ours */

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
	size_t index; /* among all of the phase, in the order of their configurations' names */
	struct webhook_rule *rules;
	size_t n_rules;
	bool is_equivalent; /* rules mean what else leads to the same object */
	struct webhook_selector namespaces, objects;
	bool ignores_failure; /* failurePolicy */
	bool is_reinvocable;  /* reinvocationPolicy */
	enum webhook_side_effects side_effects;
	int64_t timeout_s;          /* 0: as long as the request has */
	const char *review_version; /* the first of admission.k8s.io that it takes and we know; NULL: none */
	struct peer *peer;          /* NULL: see target_problem */
	struct str path, target_problem;
};

struct webhook_set {
	struct webhook *v;
	size_t n;
	bool is_over;          /* there are more than can be kept: every write is to be refused */
	_Atomic uint32_t refs; /* private from here */
	struct arena arena;
};

/* Takes configurations, sorted by name, apart; what they hold is copied. What an operator should know is appended to notices, a line each. */
struct webhook_set *webhook_set_new(const struct json *const *configurations, size_t n, struct buf *notices);
struct webhook_set *webhook_set_ref(struct webhook_set *s);
struct webhook_set *webhook_set_unref(struct webhook_set *s); /* NULL */
DEFINE_CLEANUP(struct webhook_set *, webhook_set_unref)

/* One rule. */
void webhook_rule_read(struct webhook_rule *ret, const struct json *rule, struct arena *a);
/* Could it ever mean a kind that is served behind a kube-apiserver? */
bool webhook_rule_concerns_us(const struct webhook_rule *r);

#endif
