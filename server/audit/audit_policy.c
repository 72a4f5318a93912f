/* A policy is read by tables of its members into structs, then validated in upstream's words. Types
 * are checked first, and everything that is wrong is reported at once. Unlike upstream, unknown members
 * are refused and not warned about: a policy is read once, at the start, when somebody is there to
 * see it. */
#include "server/audit/audit_policy.h"

#include "api/model/status.h"
#include "api/rules/validate.h"
#include "base/yaml.h"

#include <assert.h>
#include <errno.h>

enum { POLICY_MAX = 4 * 1024 * 1024 }; /* bytes, as text and as what is read from it */

const char *const audit_level_names[AUDIT_LEVELS] = {"None", "Metadata", "Request", "RequestResponse"};
const char *const audit_stage_names[AUDIT_STAGES] = {"RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"};

struct texts {
	const struct str *v;
	size_t n;
};

struct group_resources {
	struct str group; /* "*": any */
	struct texts resources, names;
};

struct rule {
	struct str level_name;
	enum audit_level level;
	struct texts users, groups, verbs, namespaces, urls, stages;
	const struct group_resources *resources;
	size_t n_resources;
	unsigned omitted_stages;
	const struct json *omits_managed_fields; /* NULL: as the policy says */
};

struct audit_policy {
	struct arena arena;
	struct rule *rules;
	size_t n_rules;
	struct texts stages;
	unsigned omitted_stages;
	const struct json *omits_managed_fields;
};

/* ---- from JSON to structs ---- */

/* RESOURCES and RULES are lists of objects with tables of their own. ANYTHING: known, and of no use
 * here. */
enum read_kind { READ_TEXT, READ_TEXTS, READ_BOOL, READ_RESOURCES, READ_RULES, READ_ANYTHING };

/* A member of an object, and where it goes. */
struct reading {
	const char *name;
	enum read_kind kind;
	size_t offset;
};

static const struct reading group_fields[] = {
	{"group", READ_TEXT, offsetof(struct group_resources, group)},
	{"resources", READ_TEXTS, offsetof(struct group_resources, resources)},
	{"resourceNames", READ_TEXTS, offsetof(struct group_resources, names)},
	{0},
};

static const struct reading rule_fields[] = {
	{"level", READ_TEXT, offsetof(struct rule, level_name)},
	{"users", READ_TEXTS, offsetof(struct rule, users)},
	{"userGroups", READ_TEXTS, offsetof(struct rule, groups)},
	{"verbs", READ_TEXTS, offsetof(struct rule, verbs)},
	{"resources", READ_RESOURCES, 0},
	{"namespaces", READ_TEXTS, offsetof(struct rule, namespaces)},
	{"nonResourceURLs", READ_TEXTS, offsetof(struct rule, urls)},
	{"omitStages", READ_TEXTS, offsetof(struct rule, stages)},
	{"omitManagedFields", READ_BOOL, offsetof(struct rule, omits_managed_fields)},
	{0},
};

static const struct reading policy_fields[] = {
	{"kind", READ_ANYTHING, 0},
	{"apiVersion", READ_ANYTHING, 0},
	{"metadata", READ_ANYTHING, 0},
	{"rules", READ_RULES, 0},
	{"omitStages", READ_TEXTS, offsetof(struct audit_policy, stages)},
	{"omitManagedFields", READ_BOOL, offsetof(struct audit_policy, omits_managed_fields)},
	{0},
};

struct reader {
	struct arena *a;
	struct field_errors errors;
};

static const struct reading *field_find(const struct reading *fields, struct str name)
{
	for (; fields->name; fields++) {
		if (str_is(name, fields->name)) {
			return fields;
		}
	}
	return NULL;
}

static void refuse_type(struct reader *r, struct str path, const struct json *j, const char *wanted)
{
	field_invalid(&r->errors, path, j, "must be %s", wanted);
}

static void read_texts(struct reader *r, struct str path, const struct json *j, struct texts *ret)
{
	if (!json_is(j, JSON_ARRAY)) {
		refuse_type(r, path, j, "a list of strings");
		return;
	}
	struct str *v = arena_array(r->a, struct str, j->n + 1);
	for (uint32_t i = 0; i < j->n; i++) {
		if (!json_is(j->items[i], JSON_STRING)) {
			refuse_type(r, field_index(r->a, path, i), j->items[i], "a string");
		}
		v[i] = json_text(j->items[i]);
	}
	*ret = (struct texts){v, j->n};
}

static void read_object(struct reader *r, struct str path, const struct json *j, const struct reading *fields, void *ret);

/* Objects one after the other, each `size` bytes; NULL when it is no list. */
static void *read_list(
	struct reader *r, struct str path, const struct json *j, const struct reading *fields, size_t size, size_t *ret_n)
{
	if (!json_is(j, JSON_ARRAY)) {
		refuse_type(r, path, j, "a list");
		return NULL;
	}
	char *v = arena_zalloc_array(r->a, j->n + 1, size);
	for (uint32_t i = 0; i < j->n; i++) {
		read_object(r, field_index(r->a, path, i), j->items[i], fields, v + i * size);
	}
	*ret_n = j->n;
	return v;
}

static void read_field(struct reader *r, struct str path, const struct json *j, const struct reading *f, void *ret)
{
	void *at = (char *)ret + f->offset;

	switch (f->kind) {
	case READ_TEXT:
		if (!json_is(j, JSON_STRING)) {
			refuse_type(r, path, j, "a string");
		}
		*(struct str *)at = json_text(j);
		break;
	case READ_TEXTS:
		read_texts(r, path, j, at);
		break;
	case READ_BOOL:
		if (!json_is(j, JSON_BOOL)) {
			refuse_type(r, path, j, "true or false");
		}
		*(const struct json **)at = j;
		break;
	case READ_RESOURCES: {
		struct rule *rule = ret;
		rule->resources = read_list(r, path, j, group_fields, sizeof(*rule->resources), &rule->n_resources);
		break;
	}
	case READ_RULES: {
		struct audit_policy *p = ret;
		p->rules = read_list(r, path, j, rule_fields, sizeof(*p->rules), &p->n_rules);
		break;
	}
	case READ_ANYTHING:
		break;
	}
}

/* A name that is not known is refused, not left aside: a rule without its condition would audit something else than was meant. */
static void read_object(struct reader *r, struct str path, const struct json *j, const struct reading *fields, void *ret)
{
	if (!json_is(j, JSON_OBJECT)) {
		refuse_type(r, path, j, "an object");
		return;
	}
	for (uint32_t i = 0; i < j->n; i++) {
		const struct json_member *m = &j->members[i];
		const struct reading *f = field_find(fields, m->name);
		const char *name = arena_dup(r->a, m->name).p;
		struct str below = path.n > 0 ? field_path(r->a, path, name) : str_of(name);
		if (!f) {
			field_forbidden(&r->errors, below, "there is no such field");
		} else if (!json_is(m->value, JSON_NULL)) {
			read_field(r, below, m->value, f, ret);
		}
	}
}

/* ---- k8s.io/apiserver pkg/apis/audit/validation ---- */

static void check_stages(struct reader *r, struct str path, const struct texts *names, unsigned *ret)
{
	for (size_t i = 0; i < names->n; i++) {
		size_t stage = 0;
		while (stage < AUDIT_STAGES && !str_is(names->v[i], audit_stage_names[stage])) {
			stage++;
		}
		if (stage == AUDIT_STAGES) {
			field_invalid_str(&r->errors, field_index(r->a, path, i), names->v[i],
				"allowed stages are RequestReceived,ResponseStarted,ResponseComplete,Panic");
		} else {
			*ret |= 1u << stage;
		}
	}
}

static void check_level(struct reader *r, struct str path, struct rule *rule)
{
	for (size_t level = 0; level < AUDIT_LEVELS; level++) {
		if (str_is(rule->level_name, audit_level_names[level])) {
			rule->level = (enum audit_level)level;
			return;
		}
	}
	if (rule->level_name.n == 0) {
		field_required(&r->errors, path, "%s", "");
	} else {
		field_not_supported(&r->errors, path, rule->level_name, audit_level_names, AUDIT_LEVELS);
	}
}

static void check_urls(struct reader *r, struct str path, const struct texts *urls)
{
	for (size_t i = 0; i < urls->n; i++) {
		struct str url = urls->v[i];
		if (str_is(url, "*")) {
			continue;
		}
		if (!str_starts(url, STR("/"))) {
			field_invalid_str(&r->errors, field_index(r->a, path, i), url,
				"non-resource URL rules must begin with a '/' character");
		}
		if (url.n > 0 && memchr(url.p, '*', url.n - 1)) {
			field_invalid_str(&r->errors, field_index(r->a, path, i), url,
				"non-resource URL wildcards '*' must be the final character of the rule");
		}
	}
}

static void check_resources(struct reader *r, struct str path, const struct rule *rule)
{
	const char *messages[VALIDATE_MESSAGES_MAX];

	for (size_t i = 0; i < rule->n_resources; i++) {
		const struct group_resources *g = &rule->resources[i];
		struct str at = field_index(r->a, path, i);
		bool is_name = g->group.n == 0 || str_is(g->group, "*") || validate_dns_subdomain(g->group, messages) == 0;
		if (!is_name) {
			field_invalid_str(&r->errors, field_path(r->a, at, "group"), g->group, "%s", messages[0]);
		}
		if (g->names.n > 0 && g->resources.n == 0) {
			field_invalid_str(&r->errors, field_path(r->a, at, "resourceNames"), g->names.v[0],
				"using resourceNames requires at least one resource");
		}
	}
}

static void check_rule(struct reader *r, struct str path, struct rule *rule, unsigned omitted_stages)
{
	rule->omitted_stages = omitted_stages;
	check_level(r, field_path(r->a, path, "level"), rule);
	check_urls(r, field_path(r->a, path, "nonResourceURLs"), &rule->urls);
	check_resources(r, field_path(r->a, path, "resources"), rule);
	check_stages(r, field_path(r->a, path, "omitStages"), &rule->stages, &rule->omitted_stages);
	if (rule->urls.n > 0 && (rule->n_resources > 0 || rule->namespaces.n > 0)) {
		field_invalid_str(&r->errors, field_path(r->a, path, "nonResourceURLs"), rule->urls.v[0],
			"rules cannot apply to both regular resources and non-resource URLs");
	}
}

static void check_policy(struct reader *r, struct audit_policy *p)
{
	check_stages(r, STR("omitStages"), &p->stages, &p->omitted_stages);
	for (size_t i = 0; i < p->n_rules; i++) {
		check_rule(r, field_index(r->a, STR("rules"), i), &p->rules[i], p->omitted_stages);
	}
	if (p->n_rules == 0 && r->errors.n == 0) {
		field_required(&r->errors, STR("rules"), "a policy without rules would audit nothing");
	}
}

/* ---- reading ---- */

static int refuse(struct buf *err, struct str why)
{
	buf_add_str(err, why);
	return -EINVAL;
}

static int policy_to_json(struct audit_policy *p, struct str text, const struct json **ret, struct buf *err)
{
	_cleanup_(buf_done) struct buf json;
	struct str problem, repeated;
	struct json *j;
	size_t at;

	buf_init(&json, POLICY_MAX);
	if (yaml_to_json(&json, text, YAML_LIMITS_DEFAULT, &p->arena, &problem, &repeated)) {
		return refuse(err, problem);
	}
	if (repeated.n > 0) {
		return refuse(err, repeated);
	}
	struct str copy = arena_dup(&p->arena, buf_str(&json));
	if (json_parse(&j, &p->arena, copy, JSON_LIMITS_DEFAULT, &at)) {
		return refuse(err, STR("the file is too large"));
	}
	*ret = j;
	return 0;
}

static int check_type(const struct json *j, struct buf *err)
{
	struct str version = json_text(json_gets(j, "apiVersion")), kind = json_text(json_gets(j, "kind"));

	if (str_is(version, "audit.k8s.io/v1") && str_is(kind, "Policy")) {
		return 0;
	}
	buf_printf(err, "must have apiVersion audit.k8s.io/v1 and kind Policy, not \"" STR_FMT "\" and \"" STR_FMT "\"",
		STR_ARG(version), STR_ARG(kind));
	return -EINVAL;
}

static int policy_read(struct audit_policy *p, const struct json *j, struct buf *err)
{
	struct reader r = {.a = &p->arena};
	struct status st;

	field_errors_init(&r.errors, &p->arena);
	read_object(&r, STR(""), j, policy_fields, p);
	if (r.errors.n == 0) {
		check_policy(&r, p);
	}
	if (r.errors.n == 0) {
		return 0;
	}
	status_init(&st, &p->arena);
	status_invalid(
		&st, STR("audit.k8s.io"), STR("Policy"), json_text(json_gets(json_gets(j, "metadata"), "name")), &r.errors);
	return refuse(err, st.message);
}

int audit_policy_parse(struct audit_policy **ret, struct str text, struct buf *err)
{
	struct audit_policy *p = mem_new(struct audit_policy);
	const struct json *j = NULL;

	arena_init(&p->arena, POLICY_MAX);
	int r = policy_to_json(p, text, &j, err);
	r = r ? r : check_type(j, err);
	r = r ? r : policy_read(p, j, err);
	if (r) {
		audit_policy_free(p);
		return r;
	}
	*ret = p;
	return 0;
}

struct audit_policy *audit_policy_free(struct audit_policy *p)
{
	if (p) {
		arena_done(&p->arena);
		mem_free(p);
	}
	return NULL;
}

/* ---- k8s.io/apiserver pkg/audit/policy ---- */

static bool has_text(const struct texts *texts, struct str text)
{
	for (size_t i = 0; i < texts->n; i++) {
		if (str_eq(texts->v[i], text)) {
			return true;
		}
	}
	return false;
}

static bool matches_user(const struct rule *rule, const struct user *user)
{
	if (rule->users.n > 0 && (!user || !has_text(&rule->users, user->name))) {
		return false;
	}
	for (size_t i = 0; user && i < user->n_groups && rule->groups.n > 0; i++) {
		if (has_text(&rule->groups, user->groups[i])) {
			return true;
		}
	}
	return rule->groups.n == 0;
}

/* "pods", "pods/status", "pods/" + "*", "*" + "/status" or "*". */
static bool matches_name_of_resource(struct str pattern, struct str resource, struct str subresource)
{
	struct str head, tail;

	if (str_is(pattern, "*")) {
		return true;
	}
	if (!str_cut(pattern, '/', &head, &tail)) {
		return subresource.n == 0 && str_eq(pattern, resource);
	}
	bool is_sub = subresource.n > 0 && str_eq(tail, subresource);
	return (str_eq(head, resource) && (is_sub || str_is(tail, "*"))) || (str_is(head, "*") && is_sub);
}

static bool matches_group(const struct group_resources *g, const struct authz_attributes *what)
{
	if (!str_is(g->group, "*") && !str_eq(g->group, what->group)) {
		return false;
	}
	if (g->resources.n == 0) {
		return true;
	}
	if (g->names.n > 0 && !has_text(&g->names, what->name)) {
		return false;
	}
	for (size_t i = 0; i < g->resources.n; i++) {
		if (matches_name_of_resource(g->resources.v[i], what->resource, what->subresource)) {
			return true;
		}
	}
	return false;
}

static bool matches_resource(const struct rule *rule, const struct authz_attributes *what)
{
	if (!what->is_resource || (rule->namespaces.n > 0 && !has_text(&rule->namespaces, what->ns))) {
		return false;
	}
	for (size_t i = 0; i < rule->n_resources; i++) {
		if (matches_group(&rule->resources[i], what)) {
			return true;
		}
	}
	return rule->n_resources == 0;
}

static bool matches_path(const struct rule *rule, const struct authz_attributes *what)
{
	for (size_t i = 0; i < rule->urls.n && !what->is_resource; i++) {
		struct str url = rule->urls.v[i];
		bool is_prefix = str_ends(url, STR("*"));
		if (is_prefix ? str_starts(what->path, (struct str){url.p, url.n - 1}) : str_eq(what->path, url)) {
			return true;
		}
	}
	return false;
}

static bool rule_matches(const struct rule *rule, const struct authz_attributes *what)
{
	if (!matches_user(rule, what->user) || (rule->verbs.n > 0 && !has_text(&rule->verbs, what->verb))) {
		return false;
	}
	if (rule->namespaces.n > 0 || rule->n_resources > 0) {
		return matches_resource(rule, what);
	}
	return rule->urls.n == 0 || matches_path(rule, what);
}

struct audit_decision audit_policy_decide(const struct audit_policy *p, const struct authz_attributes *what)
{
	for (size_t i = 0; i < p->n_rules; i++) {
		const struct rule *rule = &p->rules[i];
		const struct json *omits = rule->omits_managed_fields ? rule->omits_managed_fields : p->omits_managed_fields;
		if (rule_matches(rule, what)) {
			assert(rule->level < AUDIT_LEVELS && rule->omitted_stages < 1u << AUDIT_STAGES);
			return (struct audit_decision){rule->level, rule->omitted_stages, omits && omits->boolean};
		}
	}
	/* As upstream: what no rule means is not audited. */
	return (struct audit_decision){.level = AUDIT_NONE};
}
