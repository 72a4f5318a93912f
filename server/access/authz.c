/* Standalone mode has no RBAC, so what kube's bootstrap roles give to everybody stands in two
 * tables here. A SelfSubjectRulesReview is answered from the same tables: what is told and what is
 * allowed cannot differ. Nothing forbids: each source can only allow, and a request is refused when
 * none does. */
#include "server/access/authz.h"

#include "server/access/abac.h"

struct authz {
	struct authz_options options;
	struct watched_file policy_file;
	pthread_rwlock_t lock; /* guards `policy`: readers hold it for a look-up */
	struct abac *policy;
};

/* ---- policy file ---- */

static int load_policy(void *ctx, struct str text, struct buf *err)
{
	struct authz *authz = ctx;
	struct abac *fresh, *old;
	_cleanup_(buf_done) struct buf why;
	buf_init(&why, 4096);
	int r = abac_parse(&fresh, text, &why);
	if (r) {
		buf_printf(err, "authorization policy file %s: " STR_FMT, authz->options.policy_file, STR_ARG(buf_str(&why)));
		return r;
	}

	pthread_rwlock_wrlock(&authz->lock);
	old = authz->policy;
	authz->policy = fresh;
	pthread_rwlock_unlock(&authz->lock);
	abac_free(old);
	return 0;
}

int authz_new(struct authz **ret, const struct authz_options *options, struct buf *err)
{
	struct authz *authz = mem_new(struct authz);
	authz->options = *options;
	pthread_rwlock_init(&authz->lock, NULL);
	if (options->policy_file) {
		int r = watched_file_init(
			&authz->policy_file, options->policy_file, load_policy, authz, options->on_reload, err);
		if (r) {
			authz_free(authz);
			return r;
		}
	}
	*ret = authz;
	return 0;
}

struct authz *authz_free(struct authz *authz)
{
	if (authz) {
		watched_file_done(&authz->policy_file);
		abac_free(authz->policy);
		pthread_rwlock_destroy(&authz->lock);
		mem_free(authz);
	}
	return NULL;
}

static bool policy_allows(struct authz *authz, const struct authz_attributes *attributes)
{
	if (!authz->options.policy_file) {
		return false;
	}
	watched_file_poll(&authz->policy_file);
	pthread_rwlock_rdlock(&authz->lock);
	bool is_allowed = abac_allows(authz->policy, attributes);
	pthread_rwlock_unlock(&authz->lock);
	return is_allowed;
}

/* ---- what everybody may ---- */

/* kube's roles system:public-info-viewer and system:discovery. A final * matches any rest. */
struct public_path {
	const char *path;
	bool is_for_anyone; /* else for system:authenticated */
};

static const struct public_path public_paths[] = {
	{"/healthz", true},
	{"/livez", true},
	{"/readyz", true},
	{"/version", true},
	{"/version/", true},
	{"/api", false},
	{"/api/*", false},
	{"/apis", false},
	{"/apis/*", false},
	{"/openapi", false},
	{"/openapi/*", false},
};

/* kube's role system:basic-user: what one may ask about oneself. */
struct self_review {
	const char *group, *resource;
};

static const struct self_review self_reviews[] = {
	{"authentication.k8s.io", "selfsubjectreviews"},
	{"authorization.k8s.io", "selfsubjectaccessreviews"},
	{"authorization.k8s.io", "selfsubjectrulesreviews"},
};

static bool path_matches(const char *pattern, struct str path)
{
	struct str p = str_of(pattern);
	if (!str_ends(p, STR("*"))) {
		return str_eq(p, path);
	}
	p.n--;
	return str_starts(path, p);
}

static bool is_public_path(const struct authz_attributes *at, bool is_authenticated)
{
	bool is_anyone = is_authenticated || user_in_group(at->user, GROUP_UNAUTHENTICATED);
	if (!str_is(at->verb, "get")) {
		return false;
	}
	for (size_t i = 0; i < ARRAY_SIZE(public_paths); i++) {
		const struct public_path *row = &public_paths[i];
		if ((row->is_for_anyone ? is_anyone : is_authenticated) && path_matches(row->path, at->path)) {
			return true;
		}
	}
	return false;
}

static bool is_self_review(const struct authz_attributes *at)
{
	if (!str_is(at->verb, "create") || at->subresource.n > 0) {
		return false;
	}
	for (size_t i = 0; i < ARRAY_SIZE(self_reviews); i++) {
		if (str_is(at->group, self_reviews[i].group) && str_is(at->resource, self_reviews[i].resource)) {
			return true;
		}
	}
	return false;
}

static bool everybody_may(const struct authz_attributes *at)
{
	bool is_authenticated = user_in_group(at->user, GROUP_AUTHENTICATED);
	if (!at->is_resource) {
		return is_public_path(at, is_authenticated);
	}
	return is_authenticated && is_self_review(at);
}

/* ---- deciding and saying so ---- */

static bool may_do_all(const struct authz *authz, const struct user *user)
{
	return authz->options.always_allow || user_in_group(user, STR("system:masters"));
}

static bool is_allowed(struct authz *authz, const struct authz_attributes *at)
{
	return may_do_all(authz, at->user) || everybody_may(at) || policy_allows(authz, at);
}

bool authz_allows(struct authz *authz, const struct authz_attributes *attributes)
{
	return is_allowed(authz, attributes);
}

/* The texts may be shown by a browser: k8s.io/apiserver escapes them as HTML. */
static struct str escape_html(struct arena *a, struct str s)
{
	static const struct {
		char c;
		const char *text;
	} rows[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}};
	char *out = arena_text(a, s.n * 5 + 1);
	size_t n = 0;
	for (size_t i = 0; i < s.n; i++) {
		struct str piece = {s.p + i, 1};
		for (size_t k = 0; k < ARRAY_SIZE(rows); k++) {
			if (rows[k].c == s.p[i]) {
				piece = str_of(rows[k].text);
			}
		}
		memcpy(out + n, piece.p, piece.n);
		n += piece.n;
	}
	return (struct str){out, n};
}

static struct str resource_sentence(const struct authz_attributes *at, struct str user, struct arena *a)
{
	struct str resource = at->resource;
	if (at->subresource.n > 0) {
		resource = arena_printf(a, STR_FMT "/" STR_FMT, STR_ARG(at->resource), STR_ARG(at->subresource));
	}
	struct str where = STR("at the cluster scope");
	if (at->ns.n > 0) {
		where = arena_printf(a, "in the namespace " STR_FMT, STR_ARG(go_quote(a, at->ns)));
	}
	return arena_printf(a, "User " STR_FMT " cannot " STR_FMT " resource " STR_FMT " in API group " STR_FMT " " STR_FMT,
		STR_ARG(user), STR_ARG(at->verb), STR_ARG(go_quote(a, resource)), STR_ARG(go_quote(a, at->group)),
		STR_ARG(where));
}

static struct str path_sentence(const struct authz_attributes *at, struct str user, struct arena *a)
{
	return arena_printf(a, "User " STR_FMT " cannot " STR_FMT " path " STR_FMT, STR_ARG(user), STR_ARG(at->verb),
		STR_ARG(go_quote(a, at->path)));
}

struct str authz_sentence(const struct authz_attributes *at, struct arena *a)
{
	struct str user = go_quote(a, at->user->name);
	struct str why = at->is_resource ? resource_sentence(at, user, a) : path_sentence(at, user, a);

	return escape_html(a, why);
}

/* k8s.io/apiserver responsewriters.ForbiddenStatusError */
static void forbid(const struct authz_attributes *at, struct str reason, struct arena *a, struct status *st)
{
	struct str why = authz_sentence(at, a);

	if (reason.n > 0) {
		why = arena_printf(a, STR_FMT ": " STR_FMT, STR_ARG(why), STR_ARG(reason));
	}
	if (at->is_resource) {
		status_forbidden(st, at->group, at->resource, at->name, STR_FMT, STR_ARG(why));
	} else {
		status_set(st, 403, REASON_FORBIDDEN, "forbidden: " STR_FMT, STR_ARG(why));
		st->has_details = true;
	}
}

/* ---- asking the cluster ---- */

/* Not asked of the cluster, as upstream's --authorization-always-allow-paths: health must be told
 * also while the cluster does not answer. system:masters comes first in upstream's chain, too. */
static bool is_always_allowed(const struct authz *authz, const struct authz_attributes *at)
{
	if (user_in_group(at->user, STR("system:masters"))) {
		return true;
	}
	const char *const *paths = authz->options.always_allow_paths;
	for (size_t i = 0; !at->is_resource && paths && paths[i]; i++) {
		if (path_matches(paths[i], at->path)) {
			return true;
		}
	}
	return false;
}

static int check_cluster(const struct authz *authz, const struct authz_attributes *at, struct questions *questions,
	struct authz_verdict *verdict)
{
	if (is_always_allowed(authz, at)) {
		return 0;
	}
	const struct access_question *q = questions_access(questions, at);
	if (!q) {
		return ASK_FIRST;
	}
	/* Not a 403: nobody has said that this user may not. */
	if (q->base.is_turned_away) {
		verdict->is_turned_away = true;
		return 1;
	}
	*verdict = (struct authz_verdict){.reason = q->reason, .failure = q->base.failure};
	return q->base.failure.n > 0 || q->is_denied || !q->is_allowed;
}

int authz_check(struct authz *authz, const struct authz_attributes *at, struct questions *questions,
	struct authz_verdict *verdict, struct arena *a, struct status *st)
{
	struct authz_verdict v = {0};
	int r = authz->options.is_delegated ? check_cluster(authz, at, questions, &v) : !is_allowed(authz, at);

	if (v.is_turned_away) {
		status_set(st, 429, REASON_TOO_MANY_REQUESTS,
			"too many questions about rights are under way, please try again later");
		st->retry_after_s = 1;
	} else if (r == 1) {
		forbid(at, v.reason, a, st);
	}
	if (verdict) {
		*verdict = v;
	}
	return r;
}

/* ---- telling what is allowed ---- */

static struct json *text_list(struct authz_rules *rules, const struct str *texts, size_t n)
{
	struct json *list = json_array(rules->arena);
	for (size_t i = 0; i < n; i++) {
		json_append(rules->arena, list, json_string(rules->arena, arena_dup(rules->arena, texts[i])));
	}
	return list;
}

static struct json *rule_of(struct authz_rules *rules, const char *const *verbs)
{
	struct json *rule = json_object(rules->arena), *list = json_array(rules->arena);
	for (; *verbs; verbs++) {
		json_append(rules->arena, list, json_string(rules->arena, str_of(*verbs)));
	}
	json_add(rules->arena, rule, STR("verbs"), list);
	return rule;
}

void authz_rules_add_resource(struct authz_rules *rules, const char *const *verbs, struct str group, struct str resource)
{
	struct json *rule = rule_of(rules, verbs);
	json_add(rules->arena, rule, STR("apiGroups"), text_list(rules, &group, 1));
	json_add(rules->arena, rule, STR("resources"), text_list(rules, &resource, 1));
	json_append(rules->arena, rules->resources, rule);
}

void authz_rules_add_paths(struct authz_rules *rules, const char *const *verbs, const struct str *paths, size_t n)
{
	struct json *rule = rule_of(rules, verbs);
	json_add(rules->arena, rule, STR("nonResourceURLs"), text_list(rules, paths, n));
	json_append(rules->arena, rules->paths, rule);
}

static void tell_everybodys(struct authz_rules *rules, bool is_authenticated)
{
	static const char *const create[] = {"create", NULL}, *const get[] = {"get", NULL};
	struct str paths[ARRAY_SIZE(public_paths)];
	size_t n = 0;
	for (size_t i = 0; is_authenticated && i < ARRAY_SIZE(self_reviews); i++) {
		authz_rules_add_resource(rules, create, str_of(self_reviews[i].group), str_of(self_reviews[i].resource));
	}
	for (size_t i = 0; i < ARRAY_SIZE(public_paths); i++) {
		if (is_authenticated || public_paths[i].is_for_anyone) {
			paths[n++] = str_of(public_paths[i].path);
		}
	}
	authz_rules_add_paths(rules, get, paths, n);
}

void authz_rules(struct authz_rules *ret, struct authz *authz, const struct user *user, struct str ns, struct arena *a)
{
	static const char *const everything[] = {"*", NULL};
	*ret = (struct authz_rules){a, json_array(a), json_array(a)};
	tell_everybodys(ret, user_in_group(user, GROUP_AUTHENTICATED));
	if (may_do_all(authz, user)) {
		authz_rules_add_resource(ret, everything, STR("*"), STR("*"));
		authz_rules_add_paths(ret, everything, &STR("*"), 1);
	}
	if (authz->options.policy_file) {
		watched_file_poll(&authz->policy_file);
		pthread_rwlock_rdlock(&authz->lock);
		abac_rules(authz->policy, user, ns, ret);
		pthread_rwlock_unlock(&authz->lock);
	}
}
