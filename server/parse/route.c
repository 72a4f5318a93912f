/* Targets: the path, and the parameters behind it.
 *
 * A path is read in two steps, so that a refusal reveals nothing that its reader may not know.
 * route_parse() finds the names that rights are about, whether or not there is such a resource.
 * route_resolve() finds out whether there is one. Its result is used only once the user is known:
 * 403 comes before 404. */
#include "server/parse/route.h"
#include "api/rules/validate.h"
#include "server/parse/params.h"

#include <assert.h>
#include <stdlib.h>

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

/* Returns true when namespaces/NAME itself, or a subresource, is meant. Other paths behind
 * namespaces/NAME are in the namespace. */
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
	r->is_findable = true;
	r->kind = kind_by_resource(r->group, r->version_name, r->resource, is_standalone, &r->version);
}

bool route_find(struct route *r, const struct kinds *defined)
{
	assert(!r->kind && r->is_findable);
	r->kind = kinds_by_resource(defined, r->group, r->version_name, r->resource, &r->version);
	return r->kind != NULL;
}

static void route_classify(struct route *r, const struct segments *s, bool is_standalone)
{
	if (s->n >= 3 && str_is(s->v[0], "api")) {
		r->is_resource = true;
		r->group = STR("");
		r->version_name = s->v[1];
		route_resource(r, s, 2, is_standalone);
	} else if (s->n >= 4 && str_is(s->v[0], "apis")) {
		r->is_resource = true;
		r->group = s->v[1];
		r->version_name = s->v[2];
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

/* Returns the verb that a method means on a collection, an object or a subresource; 0: not
 * allowed. */
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

/* Returns true when the path exists, for any method. A kind that is only answered has a
 * collection to post to, and nothing else. */
static bool is_served(const struct route *r)
{
	if (!r->kind) {
		return false;
	}
	if (r->kind->extension && r->name.n > 0) {
		return false;
	}
	bool is_all_namespaces = r->kind->is_namespaced && !r->kind->extension && r->name.n == 0;
	return is_all_namespaces || r->has_ns == r->kind->is_namespaced;
}

/* Kinds of definitions have a handler that names the resource. */
static void refuse_method(const struct route *r, struct status *st)
{
	status_method_not_allowed(st);
	if (r->kind->life) {
		st->message = arena_printf(st->arena, "%s is not supported on resources of kind \"" STR_FMT "." STR_FMT "\"",
			r->verb, STR_ARG(r->resource), STR_ARG(r->group));
		st->group = r->group;
		st->kind = r->resource;
	}
}

int route_resolve(struct route *r, struct status *st)
{
	unsigned action, allowed;
	const char *problem, *messages[VALIDATE_MESSAGES_MAX];

	assert(r->is_resource && r->verb && !r->action);
	if (!is_served(r)) {
		status_route_not_found(st);
		return 1;
	}
	if (r->subresource.n > 0) {
		r->sub = kind_subresource(r->kind, r->version, r->subresource);
		if (!r->sub && r->kind->life) {
			status_not_found(st, r->group, r->resource, r->name);
			return 1;
		}
		if (!r->sub || !subresource_is_visible(r->sub, r->kind, r->version)) {
			status_route_not_found(st);
			return 1;
		}
	}
	r->body_kind = subresource_kind(r->sub, r->kind);
	r->body_version = subresource_version(r->sub, r->version);
	action = action_of(r);
	allowed = r->sub ? r->sub->verbs : r->kind->verbs;
	if (!(action & allowed)) {
		refuse_method(r, st);
		return 1;
	}
	problem = r->name.n > 0 && validate_path_segment(r->name, messages) > 0 ? messages[0] : NULL;
	if (problem) {
		status_bad_request(st, "Name parameter invalid: \"" STR_FMT "\": %s", STR_ARG(r->name), problem);
		return 1;
	}
	assert(action != 0 && (action & (action - 1)) == 0); /* dispatch has a function for one verb */
	r->action = (enum verb)action;
	return 0;
}

bool group_is_of_program(struct str group, bool is_standalone)
{
	for (size_t i = 0; i < kind_count(); i++) {
		const struct kind *k = kind_at(i);
		for (size_t d = 0; d < k->n_versions; d++) {
			if (version_is_visible(&k->versions[d], is_standalone) && str_is(group, k->versions[d].group)) {
				return true;
			}
		}
	}
	return false;
}

bool route_is_no_path(const struct route *r, bool is_standalone)
{
	return r->is_resource && !is_served(r) && !group_is_of_program(r->group, is_standalone);
}

/* ---- parameters ---- */

/* Go converts a query into an options struct, then validates that. So wrong types are reported
 * one at a time with 400, and broken rules all together with 422. DeleteOptions may come as a
 * body instead, which then counts alone. A query is converted to such a body here, so the same
 * code reads both. */

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9') {
		return c - '0';
	}
	if (c >= 'a' && c <= 'f') {
		return c - 'a' + 10;
	}
	if (c >= 'A' && c <= 'F') {
		return c - 'A' + 10;
	}
	return -1;
}

bool url_unescape(struct str s, bool plus_is_space, struct arena *a, struct str *ret)
{
	bool is_plain = true;

	for (size_t i = 0; i < s.n && is_plain; i++) {
		is_plain = s.p[i] != '%' && !(plus_is_space && s.p[i] == '+');
	}
	if (is_plain) {
		*ret = s;
		return true;
	}
	char *out = arena_text(a, s.n);
	size_t n = 0;
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		if (c == '%') {
			bool is_whole = i + 2 < s.n;
			int high = is_whole ? hex_digit(s.p[i + 1]) : -1;
			int low = is_whole ? hex_digit(s.p[i + 2]) : -1;
			if (high < 0 || low < 0) {
				return false;
			}
			c = (char)(high << 4 | low);
			i += 2;
		} else if (c == '+' && plus_is_space) {
			c = ' ';
		}
		out[n++] = c;
	}
	*ret = (struct str){out, n};
	return true;
}

/* Parses a pair. Returns false when it is dropped, as Go drops it; the other pairs still count. */
static bool param_parse(struct param *ret, struct str pair, struct arena *a)
{
	struct str name, value;

	/* Go has refused this separator since 1.17, because proxies that do not know it read the
	 * query differently. */
	if (memchr(pair.p, ';', pair.n)) {
		return false;
	}
	str_cut(pair, '=', &name, &value);
	return url_unescape(name, true, a, &ret->name) && url_unescape(value, true, a, &ret->value);
}

bool params_parse(struct params *ret, struct str query, struct arena *a)
{
	size_t pairs = query.n ? 1 : 0;

	for (size_t i = 0; i < query.n; i++) {
		pairs += query.p[i] == '&';
	}
	*ret = (struct params){0};
	/* Each pair takes memory before the user is known. */
	if (pairs > PARAMS_MAX) {
		return false;
	}
	ret->v = arena_array(a, struct param, pairs);
	while (query.n > 0) {
		struct str pair, rest;
		str_cut(query, '&', &pair, &rest);
		if (pair.n > 0 && param_parse(&ret->v[ret->n], pair, a)) {
			ret->n++;
		}
		query = rest;
	}
	assert(ret->n <= pairs && pairs <= PARAMS_MAX);
	return true;
}

static const struct param *params_find(const struct params *p, const char *name)
{
	for (size_t i = 0; i < p->n; i++) {
		if (str_is(p->v[i].name, name)) {
			return &p->v[i];
		}
	}
	return NULL;
}

bool params_has(const struct params *p, const char *name)
{
	return params_find(p, name) != NULL;
}

struct str params_get(const struct params *p, const char *name)
{
	const struct param *param = params_find(p, name);

	return param ? param->value : (struct str){NULL, 0};
}

size_t params_all(const struct params *p, const char *name, struct arena *a, struct str **ret)
{
	size_t n = 0;

	*ret = arena_array(a, struct str, p->n);
	for (size_t i = 0; i < p->n; i++) {
		if (str_is(p->v[i].name, name)) {
			(*ret)[n++] = p->v[i].value;
		}
	}
	return n;
}

/* apimachinery's Convert_Slice_string_To_bool: anything else is true, "maybe" as well. */
static bool text_to_bool(struct str s)
{
	return s.n > 0 && !str_is(s, "0") && !str_eq_nocase(s, STR("false"));
}

bool params_bool(const struct params *p, const char *name)
{
	return text_to_bool(params_get(p, name));
}

bool params_optional_bool(const struct params *p, const char *name, bool *ret)
{
	struct str text = params_get(p, name);

	*ret = params_has(p, name) && (text.n == 0 || text_to_bool(text));
	return params_has(p, name);
}

/* Go's strconv.ParseInt, as far as messages go. */
static int params_int(const struct params *p, const char *name, bool *ret_has, int64_t *ret, struct status *st)
{
	struct str text = params_get(p, name);

	*ret_has = params_has(p, name);
	if (!*ret_has || str_to_int64(text, ret)) {
		return 0;
	}
	status_bad_request(st, "strconv.ParseInt: parsing \"" STR_FMT "\": invalid syntax", STR_ARG(text));
	return 1;
}

static int match_parse(enum version_match *ret, struct str text)
{
	static const struct {
		const char *text;
		enum version_match match;
	} rows[] = {{"", MATCH_UNSET}, {"Exact", MATCH_EXACT}, {"NotOlderThan", MATCH_NOT_OLDER_THAN}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (str_is(text, rows[i].text)) {
			*ret = rows[i].match;
			return 0;
		}
	}
	return 1;
}

static void validate_list_match(const struct list_options *o, struct str match_text, bool is_known, struct field_errors *e)
{
	static const char *const supported[] = {"Exact", "NotOlderThan", ""};
	struct str path = STR("resourceVersionMatch");

	if (match_text.n > 0) {
		if (o->resource_version.n == 0) {
			field_forbidden(e, path, "resourceVersionMatch is forbidden unless resourceVersion is provided");
		}
		if (o->continue_token.n > 0) {
			field_forbidden(e, path, "resourceVersionMatch is forbidden when continue is provided");
		}
		if (!is_known) {
			field_not_supported(e, path, match_text, supported, ARRAY_SIZE(supported));
		}
		if (o->match == MATCH_EXACT && str_is(o->resource_version, "0")) {
			field_forbidden(e, path, "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
		}
	}
	if (o->has_send_initial) {
		field_forbidden(e, STR("sendInitialEvents"), "sendInitialEvents is forbidden for list");
	}
}

static void validate_watch_match(const struct list_options *o, struct str match_text, struct field_errors *e)
{
	static const char *const supported[] = {"NotOlderThan"};
	struct str path = STR("resourceVersionMatch");

	if (match_text.n > 0 && !o->has_send_initial) {
		field_forbidden(e, path, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
	}
	if (o->has_send_initial && o->match != MATCH_NOT_OLDER_THAN) {
		field_forbidden(e, path, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
	}
	if (match_text.n > 0 && o->match != MATCH_NOT_OLDER_THAN) {
		field_not_supported(e, path, match_text, supported, ARRAY_SIZE(supported));
	}
	if (o->continue_token.n > 0) {
		field_forbidden(e, path, "resourceVersionMatch is forbidden when continue is provided");
	}
}

int list_version_parse(struct list_options *o, bool is_watch, struct status *st)
{
	uint64_t version = 0;

	if (o->resource_version.n == 0 || str_to_uint64(o->resource_version, &version)) {
		/* Upstream has 64 bits without a sign. A version beyond INT64_MAX has certainly
		 * not happened. */
		o->version = version > INT64_MAX ? INT64_MAX : (int64_t)version;
		return 0;
	}
	status_bad_request(st,
		"%sresourceVersion: Invalid value: \"" STR_FMT "\": strconv.ParseUint: parsing \"" STR_FMT "\": invalid syntax",
		is_watch ? "" : "invalid resource version: ", STR_ARG(o->resource_version), STR_ARG(o->resource_version));
	return 1;
}

int list_options_parse(struct list_options *ret, const struct params *p, bool is_watch, struct status *st)
{
	struct list_options o = {
		.label_selector = params_get(p, "labelSelector"),
		.field_selector = params_get(p, "fieldSelector"),
		.watch = is_watch,
		.allow_bookmarks = params_bool(p, "allowWatchBookmarks"),
		.resource_version = params_get(p, "resourceVersion"),
		.match_text = params_get(p, "resourceVersionMatch"),
		.continue_token = params_get(p, "continue"),
		.timeout_s = -1,
	};
	bool has;

	o.has_send_initial = params_optional_bool(p, "sendInitialEvents", &o.send_initial);
	if (params_int(p, "timeoutSeconds", &has, &o.timeout_s, st) || params_int(p, "limit", &has, &o.limit, st)) {
		return 1;
	}
	*ret = o;
	return 0;
}

int list_options_validate(struct list_options *o, struct arena *a, struct status *st)
{
	struct field_errors errors;
	bool is_known = match_parse(&o->match, o->match_text) == 0;

	field_errors_init(&errors, a);
	if (o->watch) {
		validate_watch_match(o, o->match_text, &errors);
	} else {
		validate_list_match(o, o->match_text, is_known, &errors);
	}
	if (errors.n > 0) {
		status_invalid(st, STR("meta.k8s.io"), STR("ListOptions"), STR(""), &errors);
		return 1;
	}
	return 0;
}

static struct json *strings_to_json(const struct str *v, size_t n, struct arena *a)
{
	struct json *array = json_array(a);

	for (size_t i = 0; i < n; i++) {
		json_append(a, array, json_string(a, v[i]));
	}
	return array;
}

/* `dryRun: Unsupported value: ["all"]: supported values: "All"` */
static void dry_run_check(const struct str *v, size_t n, bool *ret, struct field_errors *e)
{
	static const char *const supported[] = {"All"};
	struct buf text;

	*ret = false;
	for (size_t i = 0; i < n; i++) {
		/* The whole list is shown as the bad value, as upstream shows it, and reported once. */
		if (!str_is(v[i], "All")) {
			buf_init(&text, 64 << 10);
			json_encode(&text, strings_to_json(v, n, e->arena));
			field_not_supported(e, STR("dryRun"), arena_dup(e->arena, buf_str(&text)), supported, 1);
			e->v[e->n - 1].bad_value = arena_dup(e->arena, buf_str(&text));
			buf_done(&text);
			return;
		}
		*ret = true;
	}
}

static void field_manager_check(const struct write_options *o, bool is_apply, struct field_errors *e)
{
	if (is_apply && o->field_manager.n == 0) {
		field_required(e, STR("fieldManager"), "is required for apply patch");
	}
	validate_field_manager(STR("fieldManager"), o->field_manager, e);
}

static void field_validation_check(struct write_options *o, struct str text, struct field_errors *e)
{
	static const char *const names[] = {"Warn", "Strict", "Ignore"};
	static const char *const supported[] = {"", "Ignore", "Strict", "Warn"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (str_is(text, names[i])) {
			o->field_validation = (enum field_validation)i;
			return;
		}
	}
	if (text.n > 0) {
		field_not_supported(e, STR("fieldValidation"), text, supported, ARRAY_SIZE(supported));
	}
}

int write_options_parse(struct write_options *ret, const struct params *p, const char *options_kind, bool is_apply,
	struct arena *a, struct status *st)
{
	struct write_options o = {
		.field_manager = params_get(p, "fieldManager"),
		.field_validation = VALIDATE_WARN,
	};
	struct field_errors errors;
	struct str *dry_runs;
	size_t n = params_all(p, "dryRun", a, &dry_runs);

	o.has_force = params_optional_bool(p, "force", &o.force);
	field_errors_init(&errors, a);
	if (!is_apply && o.has_force && !strcmp(options_kind, "PatchOptions")) {
		field_forbidden(&errors, STR("force"), "may not be specified for non-apply patch");
	}
	field_manager_check(&o, is_apply, &errors);
	dry_run_check(dry_runs, n, &o.dry_run, &errors);
	field_validation_check(&o, params_get(p, "fieldValidation"), &errors);
	if (errors.n > 0) {
		status_invalid(st, STR("meta.k8s.io"), str_of(options_kind), STR(""), &errors);
		return 1;
	}
	*ret = o;
	return 0;
}

/* The query's uid and resourceVersion are preconditions, unless they are empty. */
static struct json *delete_query_preconditions(const struct params *p, struct arena *a)
{
	static const char *const names[] = {"uid", "resourceVersion"};
	struct json *o = json_object(a);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		json_add_text(a, o, str_of(names[i]), params_get(p, names[i]));
	}
	return o;
}

/* Returns DeleteOptions as one JSON tree, from the body or the query, so that the same code
 * reads both. */
static int delete_query_to_json(struct json **ret, const struct params *p, struct arena *a, struct status *st)
{
	struct json *o = json_object(a);
	struct str *dry_runs;
	size_t n = params_all(p, "dryRun", a, &dry_runs);
	int64_t grace;
	bool has, orphan;

	if (params_int(p, "gracePeriodSeconds", &has, &grace, st)) {
		return 1;
	}
	if (has) {
		json_add(a, o, STR("gracePeriodSeconds"), json_int(a, grace));
	}
	if (n > 0) {
		json_add(a, o, STR("dryRun"), strings_to_json(dry_runs, n, a));
	}
	if (params_has(p, "propagationPolicy")) {
		json_add(a, o, STR("propagationPolicy"), json_string(a, params_get(p, "propagationPolicy")));
	}
	if (params_optional_bool(p, "orphanDependents", &orphan)) {
		json_add(a, o, STR("orphanDependents"), json_bool(a, orphan));
	}
	json_add(a, o, STR("preconditions"), delete_query_preconditions(p, a));
	*ret = o;
	return 0;
}

/* Returns a member of the wanted kind, NULL when absent or null; a wrong kind gives the 400 of
 * Go's decoder. */
static int delete_member(const struct json **ret, const struct json *body, const char *name, enum json_kind kind,
	const char *go_type, struct status *st)
{
	const struct json *j = json_gets(body, name);

	*ret = NULL;
	if (!j || json_is(j, JSON_NULL)) {
		return 0;
	}
	if (json_is(j, kind)) {
		*ret = j;
		return 0;
	}
	status_bad_request(st, "json: cannot unmarshal %s into Go struct field DeleteOptions.%s of type %s",
		json_kind_name(j->kind), name, go_type);
	return 1;
}

static int delete_preconditions(struct delete_options *o, const struct json *body, struct status *st)
{
	const struct json *pre, *uid, *version;

	if (delete_member(&pre, body, "preconditions", JSON_OBJECT, "v1.Preconditions", st) ||
		delete_member(&uid, pre, "uid", JSON_STRING, "types.UID", st) ||
		delete_member(&version, pre, "resourceVersion", JSON_STRING, "string", st)) {
		return 1;
	}
	o->has_uid = uid != NULL;
	o->uid = json_text(uid);
	o->has_version = version != NULL;
	o->version = json_text(version);
	return 0;
}

static int delete_dry_run(struct delete_options *o, const struct json *body, struct field_errors *e, struct status *st)
{
	const struct json *list;
	struct str *v;

	if (delete_member(&list, body, "dryRun", JSON_ARRAY, "[]string", st)) {
		return 1;
	}
	v = arena_array(e->arena, struct str, list ? list->n : 0);
	for (uint32_t i = 0; list && i < list->n; i++) {
		v[i] = json_text(list->items[i]);
	}
	dry_run_check(v, list ? list->n : 0, &o->dry_run, e);
	return 0;
}

static int delete_propagation(struct delete_options *o, const struct json *body, struct field_errors *e, struct status *st)
{
	static const char *const names[] = {
		[PROPAGATE_BACKGROUND] = "Background", [PROPAGATE_FOREGROUND] = "Foreground", [PROPAGATE_ORPHAN] = "Orphan"};
	static const char *const supported[] = {"Foreground", "Background", "Orphan", "nil"};
	const struct json *policy, *orphan;
	struct str path = STR("propagationPolicy");

	if (delete_member(&policy, body, "propagationPolicy", JSON_STRING, "v1.DeletionPropagation", st) ||
		delete_member(&orphan, body, "orphanDependents", JSON_BOOL, "bool", st)) {
		return 1;
	}
	o->has_orphan_dependents = orphan != NULL;
	o->orphan_dependents = orphan && orphan->boolean;
	if (!policy) {
		return 0;
	}
	/* The client may have meant either of them. */
	if (orphan) {
		field_invalid_str(e, path, json_text(policy), "orphanDependents and deletionPropagation cannot be both set");
	}
	for (size_t i = PROPAGATE_BACKGROUND; i < ARRAY_SIZE(names); i++) {
		if (str_is(json_text(policy), names[i])) {
			o->propagation = (enum propagation)i;
			return 0;
		}
	}
	field_not_supported(e, path, json_text(policy), supported, ARRAY_SIZE(supported));
	return 0;
}

static int delete_grace(struct delete_options *o, const struct json *body, struct status *st)
{
	const struct json *grace, *ignore; /* the second has no effect, but must be of its type all the same */

	if (delete_member(&grace, body, "gracePeriodSeconds", JSON_NUMBER, "int64", st) ||
		delete_member(&ignore, body, "ignoreStoreReadErrorWithClusterBreakingPotential", JSON_BOOL, "bool", st)) {
		return 1;
	}
	o->has_grace_period = grace != NULL;
	if (grace && !json_to_int64(grace, &o->grace_period_s)) {
		status_bad_request(st,
			"json: cannot unmarshal number " STR_FMT
			" into Go struct field DeleteOptions.gracePeriodSeconds of type int64",
			STR_ARG(json_text(grace)));
		return 1;
	}
	return 0;
}

int delete_options_parse(
	struct delete_options *ret, const struct params *p, const struct json *body, struct arena *a, struct status *st)
{
	struct delete_options o = {0};
	struct field_errors errors;
	struct json *query;

	if (!body) {
		if (delete_query_to_json(&query, p, a, st)) {
			return 1;
		}
		body = query;
	}
	field_errors_init(&errors, a);
	if (delete_grace(&o, body, st) || delete_preconditions(&o, body, st) || delete_propagation(&o, body, &errors, st) ||
		delete_dry_run(&o, body, &errors, st)) {
		return 1;
	}
	if (errors.n > 0) {
		status_invalid(st, STR("meta.k8s.io"), STR("DeleteOptions"), STR(""), &errors);
		return 1;
	}
	*ret = o;
	return 0;
}
