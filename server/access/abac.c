/* The members of a policy are rows: a name, a type, a place in the struct. So a name that no row
 * has is noticed, and a line with a misspelt condition is refused instead of allowing more than it
 * says. Matching follows kube's pkg/auth/authorizer/abac, where "readonly" and "nonResourcePath"
 * have meanings of their own. */
#include "server/access/abac.h"

#include <errno.h>

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

/* What "readonly" lets through, for resources and for paths alike. */
static bool is_read(struct str verb)
{
	return str_is(verb, "get") || str_is(verb, "list") || str_is(verb, "watch");
}

static bool path_matches(struct str pattern, struct str path)
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
		return path_matches(p->path, at->path);
	}
	return matches(p->ns, at->ns) && matches(p->resource, at->resource) && matches(p->api_group, at->group);
}

static bool policy_allows(const struct policy *p, const struct authz_attributes *at)
{
	return subject_matches(p, at->user) && (is_read(at->verb) || !p->is_readonly) && target_matches(p, at);
}

bool abac_allows(const struct abac *abac, const struct authz_attributes *attributes)
{
	for (size_t i = 0; i < abac->n; i++) {
		if (policy_allows(&abac->policies[i], attributes)) {
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
