/* In two steps, so that a refusal tells nothing that its reader may not know. route_parse() finds
 * the names that rights are about, whether or not there is such a resource. route_resolve() finds
 * out whether there is one, and is believed only once the user is known: 403 comes before 404. */
#include "server/parse/route.h"

#include "api/rules/validate.h"

/* The longest path of a resource, an old watch of a subresource, has nine. */
#define SEGMENTS_MAX 16

struct segments {
	struct str v[SEGMENTS_MAX];
	size_t n;
	bool is_odd;                 /* empty, "." or ".." segments, or too many: no resource has such a path */
};

static enum method method_parse(struct str s)
{
	static const char *const names[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (str_is(s, names[i])) {
			return (enum method)i;
		}
	}
	return METHOD_OTHER;
}

static struct segments path_split(struct str path)
{
	struct segments s = {.n = 0};
	struct str head, rest = path;

	if (rest.n > 0 && rest.p[0] == '/') {
		rest = (struct str){rest.p + 1, rest.n - 1};
	}
	while (rest.n > 0 && rest.p[rest.n - 1] == '/') {
		rest.n--;
	}
	while (rest.n > 0 && s.n < SEGMENTS_MAX) {
		bool has_more = str_cut(rest, '/', &head, &rest);
		s.is_odd |= head.n == 0;
		s.v[s.n++] = head;
		if (!has_more) {
			return s;
		}
		s.is_odd |= rest.n == 0;
	}
	s.is_odd |= rest.n > 0;
	return s;
}

/* The verb RequestInfo derives: what RBAC and ABAC rules name. */
static const char *verb_of(enum method method, bool has_name, bool is_watch)
{
	switch (method) {
	case METHOD_GET:
	case METHOD_HEAD:
		return is_watch ? "watch" : has_name ? "get" : "list";
	case METHOD_POST:
		return "create";
	case METHOD_PUT:
		return "update";
	case METHOD_PATCH:
		return "patch";
	case METHOD_DELETE:
		return has_name ? "delete" : "deletecollection";
	default:
		return "";
	}
}

static const char *method_verb(enum method method)
{
	static const char *const verbs[] = {"get", "head", "post", "put", "patch", "delete", "options", ""};

	return verbs[method];
}

/* namespaces/NAME and its subresources are about the namespace; anything else behind namespaces/NAME is in it. */
static bool is_namespace_itself(const struct segments *s, size_t at)
{
	const struct kind *k;

	if (s->n - at <= 2) {
		return true;
	}
	k = kind_by_hub(STR(""), STR("namespaces"));
	for (size_t i = 0; k && i < k->n_subresources; i++) {
		if (str_is(s->v[at + 2], k->subresources[i].name)) {
			return true;
		}
	}
	return false;
}

static void route_resource(struct route *r, const struct segments *s, size_t at, bool is_standalone)
{
	if (at < s->n && str_is(s->v[at], "watch")) {
		r->is_old_watch = true;
		at++;
	}
	if (at + 1 < s->n && str_is(s->v[at], "namespaces") && !is_namespace_itself(s, at)) {
		r->has_ns = true;
		r->ns = s->v[at + 1];
		at += 2;
	}
	r->resource = at < s->n ? s->v[at] : STR("");
	r->name = at + 1 < s->n ? s->v[at + 1] : STR("");
	r->subresource = at + 2 < s->n ? s->v[at + 2] : STR("");
	r->is_watch = r->is_old_watch || (r->method == METHOD_GET && r->name.n == 0 && params_bool(&r->params, "watch"));
	r->verb = verb_of(r->method, r->name.n > 0, r->is_watch);
	/* "namespaces/x" is authorized within the namespace x. */
	if (!r->has_ns && str_is(r->resource, "namespaces") && r->group.n == 0) {
		r->ns = r->name;
	}
	if (s->is_odd || at + 3 < s->n) {
		return;
	}
	r->kind = kind_by_resource(r->group, r->version, r->resource, is_standalone, &r->door);
}

static void route_classify(struct route *r, const struct segments *s, bool is_standalone)
{
	if (s->n >= 3 && str_is(s->v[0], "api")) {
		r->is_resource = true;
		r->group = STR("");
		r->version = s->v[1];
		route_resource(r, s, 2, is_standalone);
	} else if (s->n >= 4 && str_is(s->v[0], "apis")) {
		r->is_resource = true;
		r->group = s->v[1];
		r->version = s->v[2];
		route_resource(r, s, 3, is_standalone);
	} else {
		r->verb = method_verb(r->method);
	}
}

int route_parse(struct route *ret, struct str method, struct str target, bool is_standalone, struct arena *a, struct status *st)
{
	struct str path, query;
	struct segments s;

	*ret = (struct route){.method = method_parse(method), .verb = ""};
	str_cut(target, '?', &path, &query);
	if (!url_unescape(path, false, a, &ret->path)) {
		status_bad_request(st, "the path contains a malformed percent escape");
		return 1;
	}
	if (!params_parse(&ret->params, query, a)) {
		status_bad_request(st, "the query has more than %d parameters", PARAMS_MAX);
		return 1;
	}
	s = path_split(ret->path);
	route_classify(ret, &s, is_standalone);
	return 0;
}


/* Which verb a method means on a collection, an object, a subresource; 0: not allowed. */
static unsigned action_of(const struct route *r)
{
	static const unsigned on_collection[] = {
		[METHOD_GET] = VERB_LIST, [METHOD_POST] = VERB_CREATE, [METHOD_DELETE] = VERB_DELETECOLLECTION, [METHOD_OTHER] = 0};
	static const unsigned on_object[] = {[METHOD_GET] = VERB_GET,
					     [METHOD_PUT] = VERB_UPDATE,
					     [METHOD_PATCH] = VERB_PATCH,
					     [METHOD_DELETE] = VERB_DELETE,
					     [METHOD_OTHER] = 0};

	if (r->sub && r->method == METHOD_POST) {
		return VERB_CREATE;
	}
	if (r->name.n > 0) {
		return r->is_watch ? (r->method == METHOD_GET ? VERB_WATCH : 0u) : on_object[r->method];
	}
	if (r->is_watch) {
		return r->method == METHOD_GET ? VERB_WATCH : 0u;
	}
	/* Objects of namespaced kinds are created and deleted within one namespace. */
	if (r->kind->is_namespaced && !r->has_ns && r->method != METHOD_GET) {
		return 0;
	}
	return on_collection[r->method];
}

/* Is there such a path, whatever the method? What is only answered has a collection to post to, and nothing else. */
static bool is_served(const struct route *r)
{
	if (!r->kind) {
		return false;
	}
	if (r->kind->is_answered && r->name.n > 0) {
		return false;
	}
	bool is_all_namespaces = r->kind->is_namespaced && !r->kind->is_answered && r->name.n == 0;
	return is_all_namespaces || r->has_ns == r->kind->is_namespaced;
}

int route_resolve(struct route *r, struct status *st)
{
	unsigned action, allowed;
	const char *problem, *messages[VALIDATE_MESSAGES_MAX];

	if (!is_served(r)) {
		status_route_not_found(st);
		return 1;
	}
	if (r->subresource.n > 0) {
		r->sub = kind_subresource(r->kind, r->subresource);
		if (!r->sub || !subresource_is_visible(r->sub, r->kind, r->door)) {
			status_route_not_found(st);
			return 1;
		}
	}
	r->body_kind = subresource_kind(r->sub, r->kind);
	r->body_door = subresource_door(r->sub, r->door);
	action = action_of(r);
	allowed = r->sub ? r->sub->verbs : r->kind->verbs;
	if (!(action & allowed)) {
		status_method_not_allowed(st);
		return 1;
	}
	problem = r->name.n > 0 && validate_path_segment(r->name, messages) > 0 ? messages[0] : NULL;
	if (problem) {
		status_bad_request(st, "Name parameter invalid: \"" STR_FMT "\": %s", STR_ARG(r->name), problem);
		return 1;
	}
	r->action = (enum verb)action;
	return 0;
}

bool route_group_is_known(const struct route *r, bool is_standalone)
{
	for (size_t i = 0; i < kind_count(); i++) {
		const struct kind *k = kind_at(i);
		for (size_t d = 0; d < k->n_doors; d++) {
			if (door_is_visible(&k->doors[d], is_standalone) && str_is(r->group, k->doors[d].group)) {
				return true;
			}
		}
	}
	return false;
}
