/* There is no CEL here. An administrator whose policy is not applied would believe in a
 * protection that is not there: so each policy that means our kinds is told once, when it comes
 * to mean them. */
#include "delegation/webhooks/policies.h"

#include "api/model/members.h"
#include "client/informer.h"
#include "delegation/webhooks/webhook.h"

enum { RULES_MAX = 16 << 20 }; /* bytes of the rules of one policy */

struct followed {
	struct policies *policies;
	const char *kind;
	struct informer *informer;
};

struct policies {
	struct client *client;
	void (*on_notice)(void *ctx, struct str text);
	void *ctx;
	struct followed followed[2]; /* of `resources` */
};

static const struct {
	const char *plural, *kind;
} resources[] = {
	{"validatingadmissionpolicies", "ValidatingAdmissionPolicy"},
	{"mutatingadmissionpolicies", "MutatingAdmissionPolicy"},
};

static bool concerns_us(const struct item *policy)
{
	const struct json *constraints = json_gets(json_gets(policy->object, "spec"), "matchConstraints");
	const struct json *rule, *rules = json_gets(constraints, "resourceRules");
	bool answer = false;
	struct arena a;
	arena_init(&a, RULES_MAX);
	for (uint32_t i = 0; !answer && (rule = list_item(rules, i)); i++) {
		struct webhook_rule parsed;
		webhook_rule_read(&parsed, rule, &a);
		answer = webhook_rule_concerns_us(&parsed);
	}
	arena_done(&a);
	return answer;
}

static void tell(const struct followed *f, const struct item *policy)
{
	_cleanup_(mem_freep) char *text = mem_printf(
		"%s \"" STR_FMT "\" means kinds that are served here, but is not run for them: only admission webhooks are", f->kind,
		STR_ARG(policy->name));
	f->policies->on_notice(f->policies->ctx, str_of(text));
}

static void on_add(void *ctx, struct item *policy, bool is_initial _unused_)
{
	if (concerns_us(policy)) {
		tell(ctx, policy);
	}
}

static void on_update(void *ctx, struct item *old, struct item *policy)
{
	if (concerns_us(policy) && !concerns_us(old)) {
		tell(ctx, policy);
	}
}

struct policies *policies_new(struct client *client, void (*on_notice)(void *ctx, struct str text), void *ctx)
{
	struct policies *p = mem_new(struct policies);
	*p = (struct policies){.client = client, .on_notice = on_notice, .ctx = ctx};
	return p;
}

void policies_start(struct policies *p)
{
	for (size_t i = 0; p->on_notice && i < ARRAY_SIZE(resources); i++) {
		struct followed *f = &p->followed[i];
		f->policies = p;
		f->kind = resources[i].kind;
		f->informer = informer_new(&(struct informer_options){
			.client = p->client,
			.resource = {STR("admissionregistration.k8s.io"), STR("v1"), str_of(resources[i].plural)},
			.left_out = item_managers,
			.handlers = {.on_add = on_add, .on_update = on_update},
			.ctx = f,
		});
	}
}

struct policies *policies_free(struct policies *p)
{
	if (p) {
		for (size_t i = 0; i < ARRAY_SIZE(p->followed); i++) {
			informer_free(p->followed[i].informer);
		}
		mem_free(p);
	}
	return NULL;
}
