/* Authorizes requests in standalone mode: built-in rules, then the policy file. Standalone mode
 * has no RBAC, so two tables here hold the rights that kube's bootstrap roles give to everybody.
 * A SelfSubjectRulesReview is answered from the same tables, so it cannot differ from decisions.
 * Each source can only allow, and a request is refused when none does.
 *
 * At the end: impersonation, whose parts are permissions that are asked like any other. */
#include "server/access/authz.h"
#include "server/access/abac.h"

#include "api/model/history.h"

#include <assert.h>
#include <errno.h>

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
	assert(!options->is_delegated || (!options->policy_file && !options->always_allow));
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

/* kube's role system:basic-user: the reviews that users may create about themselves. */
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

/* An object in the archive of a namespace belongs to no namespace any more. */
static struct authz_attributes without_archive(const struct authz_attributes *at)
{
	struct authz_attributes ret = *at;

	if (at->is_resource && namespace_is_archive(at->ns)) {
		ret.ns = STR("");
	}
	return ret;
}

bool authz_allows(struct authz *authz, const struct authz_attributes *attributes)
{
	const struct authz_attributes at = without_archive(attributes);

	return is_allowed(authz, &at);
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

/* Requests that are allowed without asking the cluster, as with upstream's
 * --authorization-always-allow-paths: health must be shown even while the cluster does not
 * answer. system:masters comes first in upstream's chain, too. */
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
	/* This is not a 403: the cluster has not said that this user may not. */
	if (q->base.is_turned_away) {
		verdict->is_turned_away = true;
		return 1;
	}
	*verdict = (struct authz_verdict){.reason = q->reason, .failure = q->base.failure};
	return q->base.failure.n > 0 || q->is_denied || !q->is_allowed;
}

int authz_check(struct authz *authz, const struct authz_attributes *attributes, struct questions *questions,
	struct authz_verdict *verdict, struct arena *a, struct status *st)
{
	assert(attributes->user && (!authz->options.is_delegated || questions->delegates));
	const struct authz_attributes what = without_archive(attributes), *at = &what;
	struct authz_verdict v = {0};
	int r = authz->options.is_delegated ? check_cluster(authz, at, questions, &v) : !is_allowed(authz, at);

	if (v.is_turned_away) {
		status_set(st, 429, REASON_TOO_MANY_REQUESTS,
			"too many questions about rights are under way, please try again later");
		st->retry_after_s = 1;
	} else if (r == 1) {
		forbid(at, v.reason, a, st);
	}
	assert(r == 0 || r == 1 || r == ASK_FIRST);
	assert(r != 1 || st->code != 0); /* a refusal has words */
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
		assert(authz->policy); /* authz_new() has read one, and a later one must be good to replace it */
		abac_rules(authz->policy, user, ns, ret);
		pthread_rwlock_unlock(&authz->lock);
	}
}

/* ---- the policy file ---- */

/* The members of a policy are rows: a name, a type, a place in the struct. A name without a row is
 * noticed, and a line with a misspelt condition is refused instead of allowing more than it says.
 * Matching follows kube's pkg/auth/authorizer/abac, where "readonly" and "nonResourcePath" have
 * meanings of their own. */

enum { LINE_CEILING = 1024 * 1024 }; /* bytes that reading one line may take */

#define ABAC_API_VERSION "abac.authorization.kubernetes.io/v1beta1"

/* kubernetes pkg/apis/abac/v1beta1: an empty string matches only what is empty, except that a policy with neither user nor
 * group matches nobody. "*" matches anything. */
struct policy {
	struct str user, group;
	bool is_readonly;
	struct str api_group, resource, ns;
	struct str path; /* nonResourcePath; a final * matches any rest */
};

struct abac {
	struct policy *policies;
	size_t n;
	struct arena arena;
};

/* ---- reading ---- */

struct line {
	struct str text;
	size_t number;
	struct arena *arena;
	struct buf *err;
};

static int refuse(const struct line *line, const char *format, ...) _printf_(2, 3);
static int refuse(const struct line *line, const char *format, ...)
{
	va_list ap;
	buf_printf(line->err, "line %zu: ", line->number);
	va_start(ap, format);
	buf_vprintf(line->err, format, ap);
	va_end(ap);
	return -EINVAL;
}

struct member {
	const char *name;
	enum json_kind kind;
	size_t offset; /* in struct policy */
};

static const struct member spec_members[] = {
	{"user", JSON_STRING, offsetof(struct policy, user)},
	{"group", JSON_STRING, offsetof(struct policy, group)},
	{"readonly", JSON_BOOL, offsetof(struct policy, is_readonly)},
	{"apiGroup", JSON_STRING, offsetof(struct policy, api_group)},
	{"resource", JSON_STRING, offsetof(struct policy, resource)},
	{"namespace", JSON_STRING, offsetof(struct policy, ns)},
	{"nonResourcePath", JSON_STRING, offsetof(struct policy, path)},
};

static const struct member *find_member(struct str name)
{
	for (size_t i = 0; i < ARRAY_SIZE(spec_members); i++) {
		if (str_is(name, spec_members[i].name)) {
			return &spec_members[i];
		}
	}
	return NULL;
}

static int read_member(struct line *line, const struct json_member *m, struct policy *policy)
{
	const struct member *known = find_member(m->name);
	if (!known) {
		return refuse(line, "unknown member spec." STR_FMT, STR_ARG(m->name));
	}
	if (m->value->kind != known->kind) {
		return refuse(line, "spec.%s must be a %s", known->name, known->kind == JSON_BOOL ? "boolean" : "string");
	}
	char *field = (char *)policy + known->offset;
	if (known->kind == JSON_BOOL) {
		*(bool *)(void *)field = m->value->boolean;
	} else {
		*(struct str *)(void *)field = arena_dup(line->arena, json_text(m->value));
	}
	return 0;
}

static int read_spec(struct line *line, const struct json *spec, struct policy *policy)
{
	if (!json_is(spec, JSON_OBJECT)) {
		return refuse(line, "a policy needs an object named spec");
	}
	for (uint32_t i = 0; i < spec->n; i++) {
		int r = read_member(line, &spec->members[i], policy);
		if (r) {
			return r;
		}
	}
	return 0;
}

static int read_policy(struct line *line, struct arena *scratch, struct policy *policy)
{
	struct json *j;
	size_t at;
	int error = json_parse(&j, scratch, line->text, JSON_LIMITS_DEFAULT, &at);
	if (error) {
		return refuse(line, "%s", json_error_text(scratch, error, line->text, at));
	}
	if (!str_is(json_text(json_gets(j, "apiVersion")), ABAC_API_VERSION) ||
		!str_is(json_text(json_gets(j, "kind")), "Policy")) {
		return refuse(line, "not a Policy of " ABAC_API_VERSION);
	}
	return read_spec(line, json_gets(j, "spec"), policy);
}

static int abac_add_line(struct abac *abac, struct line *line)
{
	line->text = str_trim(line->text);
	if (line->text.n == 0 || line->text.p[0] == '#') {
		return 0;
	}

	struct policy policy = {.is_readonly = false};
	struct arena scratch;
	arena_init(&scratch, LINE_CEILING);
	int r = read_policy(line, &scratch, &policy);
	arena_done(&scratch);
	if (r) {
		return r;
	}
	abac->policies = mem_realloc_array(abac->policies, abac->n + 1, sizeof(policy));
	abac->policies[abac->n++] = policy;
	return 0;
}

int abac_parse(struct abac **ret, struct str text, struct buf *err)
{
	_cleanup_(abac_freep) struct abac *abac = mem_new(struct abac);
	arena_init(&abac->arena, SIZE_MAX);
	struct line line = {.arena = &abac->arena, .err = err};
	bool more;
	do {
		line.number++;
		more = str_cut(text, '\n', &line.text, &text);
		int r = abac_add_line(abac, &line);
		if (r) {
			return r;
		}
	} while (more);
	*ret = take_ptr(abac);
	return 0;
}

struct abac *abac_free(struct abac *abac)
{
	if (abac) {
		arena_done(&abac->arena);
		mem_free(abac->policies);
		mem_free(abac);
	}
	return NULL;
}

/* ---- matching ---- */

static bool matches(struct str pattern, struct str value)
{
	return str_is(pattern, "*") || str_eq(pattern, value);
}

/* User and group, where both are given, must both match. */
static bool subject_matches(const struct policy *p, const struct user *u)
{
	bool has_user = p->user.n > 0, has_group = p->group.n > 0;
	if (has_user && !matches(p->user, u->name)) {
		return false;
	}
	if (has_group && !str_is(p->group, "*") && !user_in_group(u, p->group)) {
		return false;
	}
	return has_user || has_group;
}

/* Returns true for the verbs that "readonly" allows, for resources and paths alike. */
static bool is_read(struct str verb)
{
	return str_is(verb, "get") || str_is(verb, "list") || str_is(verb, "watch");
}

static bool abac_path_matches(struct str pattern, struct str path)
{
	if (!str_ends(pattern, STR("*"))) {
		return str_eq(pattern, path);
	}
	while (str_ends(pattern, STR("*"))) {
		pattern.n--;
	}
	return str_starts(path, pattern);
}

static bool target_matches(const struct policy *p, const struct authz_attributes *at)
{
	if (!at->is_resource) {
		return abac_path_matches(p->path, at->path);
	}
	return matches(p->ns, at->ns) && matches(p->resource, at->resource) && matches(p->api_group, at->group);
}

static bool abac_policy_allows(const struct policy *p, const struct authz_attributes *at)
{
	return subject_matches(p, at->user) && (is_read(at->verb) || !p->is_readonly) && target_matches(p, at);
}

bool abac_allows(const struct abac *abac, const struct authz_attributes *attributes)
{
	for (size_t i = 0; i < abac->n; i++) {
		if (abac_policy_allows(&abac->policies[i], attributes)) {
			return true;
		}
	}
	return false;
}

/* ---- telling ---- */

static void policy_tell(const struct policy *p, struct authz_rules *rules)
{
	static const char *const reads[] = {"get", "list", "watch", NULL}, *const everything[] = {"*", NULL};
	const char *const *verbs = p->is_readonly ? reads : everything;

	if (p->resource.n > 0) {
		authz_rules_add_resource(rules, verbs, p->api_group, p->resource);
	}
	if (p->path.n > 0) {
		authz_rules_add_paths(rules, verbs, &p->path, 1);
	}
}

void abac_rules(const struct abac *abac, const struct user *user, struct str ns, struct authz_rules *rules)
{
	for (size_t i = 0; i < abac->n; i++) {
		const struct policy *p = &abac->policies[i];
		if (subject_matches(p, user) && matches(p->ns, ns)) {
			policy_tell(p, rules);
		}
	}
}

/* ---- impersonation ----
 *
 * Each part of the requested identity needs a permission of its own, asked in upstream's order; the
 * first refusal ends it. Behind a cluster each permission may be a question that has to wait. Then
 * impersonate() runs again from its start, so the user changes only when every permission is
 * there. */

#define PREFIX STR("Impersonate-")
#define EXTRA_PREFIX STR("Impersonate-Extra-")
#define SERVICE_ACCOUNT_PREFIX STR("system:serviceaccount:")

/* All service accounts, those of one namespace, and everybody. */
enum { GROUPS_IMPLIED_MAX = 3 };

/* The identity that the headers ask for. */
struct wanted {
	struct str name, uid;
	struct str *groups;
	size_t n_groups;
	struct user_extra *extra;
	size_t n_extra;
};

/* Checks for headers without allocating: nearly every request has none. */
static bool has_headers(const struct http_exchange *x)
{
	const struct http_header *headers;
	size_t n = http_headers(x, &headers);
	for (size_t i = 0; i < n; i++) {
		struct str head = {headers[i].name.p, MIN(headers[i].name.n, PREFIX.n)};
		if (str_eq_nocase(head, PREFIX)) {
			return true;
		}
	}
	return false;
}

static void wanted_read_header(struct wanted *w, const struct http_header *h, struct arena *a)
{
	if (str_eq_nocase(h->name, STR("Impersonate-Group"))) {
		w->groups[w->n_groups++] = h->value;
		return;
	}
	struct str key;
	if (extra_key(h->name, EXTRA_PREFIX, a, &key)) {
		w->extra[w->n_extra++] = (struct user_extra){key, h->value};
	}
}

static void wanted_read(struct wanted *w, const struct http_exchange *x, struct arena *a)
{
	const struct http_header *headers;
	size_t n = http_headers(x, &headers);
	*w = (struct wanted){
		.name = http_header(x, "Impersonate-User"),
		.uid = http_header(x, "Impersonate-Uid"),
		.groups = arena_array(a, struct str, n + GROUPS_IMPLIED_MAX),
		.extra = arena_array(a, struct user_extra, n),
	};
	for (size_t i = 0; i < n; i++) {
		wanted_read_header(w, &headers[i], a);
	}
}

static bool split_service_account(struct str name, struct str *ret_ns, struct str *ret_name)
{
	if (!str_starts(name, SERVICE_ACCOUNT_PREFIX)) {
		return false;
	}
	struct str rest = {name.p + SERVICE_ACCOUNT_PREFIX.n, name.n - SERVICE_ACCOUNT_PREFIX.n};
	return str_cut(rest, ':', ret_ns, ret_name) && ret_ns->n > 0 && ret_name->n > 0;
}

/* The parameters of a permission check. */
struct asking {
	struct authz *authz;
	struct questions *questions;
	const struct user *who;
	struct arena *arena;
	struct status *st;
};

static int ask(const struct asking *q, struct authz_attributes what)
{
	what.user = q->who;
	what.verb = STR("impersonate");
	what.is_resource = true;
	return authz_check(q->authz, &what, q->questions, NULL, q->arena, q->st);
}

static int ask_name(const struct asking *q, struct str name)
{
	struct str ns, account;
	if (split_service_account(name, &ns, &account)) {
		return ask(q,
			(struct authz_attributes){
				.version = STR("v1"), .resource = STR("serviceaccounts"), .ns = ns, .name = account});
	}
	return ask(q, (struct authz_attributes){.version = STR("v1"), .resource = STR("users"), .name = name});
}

static int ask_uid(const struct asking *q, struct str uid)
{
	struct authz_attributes what = {
		.group = STR("authentication.k8s.io"), .version = STR("v1"), .resource = STR("uids"), .name = uid};
	return uid.n > 0 ? ask(q, what) : 0;
}

static int ask_groups(const struct asking *q, const struct wanted *w)
{
	int r = 0;
	for (size_t i = 0; i < w->n_groups && !r; i++) {
		r = ask(q, (struct authz_attributes){.version = STR("v1"), .resource = STR("groups"), .name = w->groups[i]});
	}
	return r;
}

static int ask_extra(const struct asking *q, const struct wanted *w)
{
	int r = 0;
	for (size_t i = 0; i < w->n_extra && !r; i++) {
		r = ask(q,
			(struct authz_attributes){.group = STR("authentication.k8s.io"),
				.version = STR("v1"),
				.resource = STR("userextras"),
				.subresource = w->extra[i].key,
				.name = w->extra[i].value});
	}
	return r;
}

static int ask_all(const struct asking *q, const struct wanted *w)
{
	int r = ask_name(q, w->name);
	r = r ? r : ask_uid(q, w->uid);
	r = r ? r : ask_groups(q, w);
	return r ? r : ask_extra(q, w);
}

static void wanted_ensure_group(struct wanted *w, struct str group)
{
	struct user now = {.groups = w->groups, .n_groups = w->n_groups};
	if (!user_in_group(&now, group)) {
		w->groups[w->n_groups++] = group;
	}
}

/* Adds implied groups: those of a service account when none were requested, and that of
 * everybody. */
static void wanted_complete(struct wanted *w, struct arena *a)
{
	struct str ns, account;
	/* Requested groups replace those of a service account: upstream adds these only where
	 * none are requested. */
	if (w->n_groups == 0 && split_service_account(w->name, &ns, &account)) {
		w->groups[w->n_groups++] = STR("system:serviceaccounts");
		w->groups[w->n_groups++] = arena_printf(a, "system:serviceaccounts:" STR_FMT, STR_ARG(ns));
	}

	struct user now = {.groups = w->groups, .n_groups = w->n_groups};
	if (str_eq(w->name, USER_ANONYMOUS)) {
		wanted_ensure_group(w, GROUP_UNAUTHENTICATED);
	} else if (!user_in_group(&now, GROUP_UNAUTHENTICATED)) {
		wanted_ensure_group(w, GROUP_AUTHENTICATED);
	}
}

/* Refuses. Upstream then tries constrained impersonation, which needs "impersonate-on:MODE:VERB"
 * on the requested resource, and says that this is missing. No policy here names such verbs. */
static int refuse_constrained(const struct asking *q, const struct wanted *w, const struct authz_attributes *what)
{
	struct str ns, account;
	const char *mode = split_service_account(w->name, &ns, &account) ? "serviceaccount"
		: str_starts(w->name, STR("system:node:"))               ? "arbitrary-node"
									 : "user-info";
	struct authz_attributes on = *what;
	struct status st;

	on.user = q->who;
	on.verb = arena_printf(q->arena, "impersonate-on:%s:" STR_FMT, mode, STR_ARG(what->verb));
	status_init(&st, q->arena);
	int r = authz_check(q->authz, &on, q->questions, NULL, q->arena, &st);
	if (r == 1) {
		*q->st = st;
	}
	return r == ASK_FIRST ? r : 1;
}

int impersonate(struct authz *authz, struct questions *questions, const struct http_exchange *x,
	const struct authz_attributes *what, struct user **user, struct arena *a, struct status *st)
{
	assert(*user);
	if (!has_headers(x)) {
		return 0;
	}

	struct wanted w;
	wanted_read(&w, x, a);
	if (w.name.n == 0) {
		if (w.uid.n == 0 && w.n_groups == 0 && w.n_extra == 0) {
			return 0;
		}
		status_bad_request(st, "requested to impersonate groups, uid or extra without impersonating a user name");
		return 1;
	}
	struct asking q = {.authz = authz, .questions = questions, .who = *user, .arena = a, .st = st};
	int r = ask_all(&q, &w);
	if (r) {
		return r == ASK_FIRST ? r : refuse_constrained(&q, &w, what);
	}

	wanted_complete(&w, a);
	struct user *as = arena_new(a, struct user);
	*as = (struct user){w.name, w.uid, w.groups, w.n_groups, w.extra, w.n_extra};
	*user = as;
	return 0;
}
