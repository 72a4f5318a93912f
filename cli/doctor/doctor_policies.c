/* annals has no CEL: admission policies do not hold for its objects, and a webhook's
 * matchConditions count as true (docs/reference/deviations.md). kube-apiserver accepts such rules without
 * a word, so somebody has to tell the operator. */
#include "cli/doctor/doctor_policies.h"

#include "api/model/kind.h"
#include "api/model/members.h"

#define BASE "/apis/admissionregistration.k8s.io/"

static bool has(const struct json *list, const char *text)
{
	const struct json *item;
	for (uint32_t i = 0; (item = list_item(list, i)); i++) {
		if (str_is(json_text(item), text)) {
			return true;
		}
	}
	return false;
}

static bool is_ours(const struct kind *k)
{
	for (size_t i = 0; i < k->n_doors; i++) {
		if (strcmp(k->doors[i].group, "annals.dev") == 0) {
			return true;
		}
	}
	return false;
}

/* Names a resource of ours, itself or with all its subresources. */
static bool names_resource(const struct json *resources)
{
	if (has(resources, "*") || has(resources, "*/*")) {
		return true;
	}
	for (size_t i = 0; i < kind_count(); i++) {
		_cleanup_(mem_freep) char *all = mem_printf("%s/*", kind_at(i)->resource);
		if (is_ours(kind_at(i)) && (has(resources, kind_at(i)->resource) || has(resources, all))) {
			return true;
		}
	}
	return false;
}

static bool rules_match(const struct json *rules)
{
	const struct json *rule;
	for (uint32_t i = 0; (rule = list_item(rules, i)); i++) {
		const struct json *groups = json_gets(rule, "apiGroups");
		if ((has(groups, "annals.dev") || has(groups, "*")) && names_resource(json_gets(rule, "resources"))) {
			return true;
		}
	}
	return false;
}

static struct str subject_of(struct report *r, const char *kind, const struct json *object)
{
	return report_text(r, "%s " STR_FMT, kind, STR_ARG(member_text(json_gets(object, "metadata"), "name")));
}

static struct str mend_patch(struct report *r, const struct deployment *d, const char *kind, const struct json *object,
	struct str patch, const char *remark)
{
	struct str name = member_text(json_gets(object, "metadata"), "name");
	return report_text(r, STR_FMT " patch %s " STR_FMT " --type=json -p '[" STR_FMT "]'    # %s", STR_ARG(d->kubectl), kind,
		STR_ARG(shell_word(&r->arena, name)), STR_ARG(patch), remark);
}

static struct str mend_policy(struct report *r, const struct deployment *d, const char *kind, const struct json *policy)
{
	static const char rule[] =
		"{\"apiGroups\":[\"annals.dev\"],\"apiVersions\":[\"*\"],\"operations\":[\"*\"],\"resources\":[\"*\"]}";
	const struct json *match = json_gets(json_gets(policy, "spec"), "matchConstraints");
	bool has_some = member_count(match, "excludeResourceRules") > 0;
	return mend_patch(r, d, kind, policy,
		report_text(r, "{\"op\":\"add\",\"path\":\"/spec/matchConstraints/excludeResourceRules%s\",\"value\":%s%s%s}",
			has_some ? "/-" : "", has_some ? "" : "[", rule, has_some ? "" : "]"),
		"it then says what is true");
}

static struct str mend_webhook(
	struct report *r, const struct deployment *d, const char *kind, const struct json *object, uint32_t index)
{
	return mend_patch(r, d, kind, object,
		report_text(r, "{\"op\":\"remove\",\"path\":\"/webhooks/%u/matchConditions\"}", index),
		"once it looks at them itself; or give annals.dev a webhook of its own");
}

size_t judge_policies(struct report *r, const struct deployment *d, const char *kind, const struct json *list)
{
	size_t n = 0;
	const struct json *policy, *items = json_gets(list, "items");
	for (uint32_t i = 0; (policy = list_item(items, i)); i++) {
		const struct json *match = json_gets(json_gets(policy, "spec"), "matchConstraints");
		if (!rules_match(json_gets(match, "resourceRules")) || rules_match(json_gets(match, "excludeResourceRules"))) {
			continue;
		}
		n++;
		report_add(r, SEVERITY_WARNING, subject_of(r, kind, policy), mend_policy(r, d, kind, policy),
			"it is for annals.dev, too, where it has no effect: kube-apiserver leaves admission to annals, which "
			"has no CEL. A webhook can do what it does; the policy should say that it does not");
	}
	return n;
}

static bool has_conditions(const struct json *webhook)
{
	return member_count(webhook, "matchConditions") > 0 && rules_match(json_gets(webhook, "rules"));
}

size_t judge_webhooks(struct report *r, const struct deployment *d, const char *kind, const struct json *list)
{
	size_t n = 0;
	const struct json *object, *webhook, *items = json_gets(list, "items");
	for (uint32_t i = 0; (object = list_item(items, i)); i++) {
		for (uint32_t k = 0; (webhook = list_item(json_gets(object, "webhooks"), k)); k++) {
			if (!has_conditions(webhook)) {
				continue;
			}
			n++;
			report_add(r, SEVERITY_WARNING, subject_of(r, kind, object), mend_webhook(r, d, kind, object, k),
				"webhook " STR_FMT
				" has matchConditions, which annals does not evaluate: it is called as if they were true",
				STR_ARG(member_text(webhook, "name")));
		}
	}
	return n;
}

/* ---- asking ---- */

/* 404: a kube-apiserver that does not have the kind has no such object either. */
static const struct {
	const char *kind, *path;
	size_t (*judge)(struct report *r, const struct deployment *d, const char *kind, const struct json *list);
} lists[] = {
	{"ValidatingAdmissionPolicy", BASE "v1/validatingadmissionpolicies", judge_policies},
	{"MutatingAdmissionPolicy", BASE "v1/mutatingadmissionpolicies", judge_policies},
	{"ValidatingWebhookConfiguration", BASE "v1/validatingwebhookconfigurations", judge_webhooks},
	{"MutatingWebhookConfiguration", BASE "v1/mutatingwebhookconfigurations", judge_webhooks},
};

void doctor_check_policies(const struct doctor_visit *v)
{
	size_t n = 0, n_seen = 0;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		struct answer a;
		answer_init(&a);
		enum doctor_sight sight = doctor_look(v, str_of(lists[i].kind), lists[i].path, &a);
		if (sight == SIGHT_SEEN) {
			n += lists[i].judge(v->r, v->d, lists[i].kind, a.body);
		}
		n_seen += sight != SIGHT_NONE;
		answer_done(&a);
	}
	if (n == 0 && n_seen == ARRAY_SIZE(lists)) {
		report_add(v->r, SEVERITY_OK, STR("admission"), NO_MEND, "no policy and no match condition is for annals.dev");
	}
}
