/* Go converts a query into an options struct, then validates that: so types are complained of one
 * at a time with 400, and rules all together with 422. DeleteOptions may come as a body instead,
 * which then counts alone. The query is made into such a body here, and both are read by the same
 * code. */
#include "server/parse/params.h"

#include "api/rules/validate.h"

#include <stdlib.h>

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

/* False: the pair is dropped, and the rest counts all the same (surprises.md 22). */
static bool param_parse(struct param *ret, struct str pair, struct arena *a)
{
	struct str name, value;

	/* Go has refused this separator since 1.17, for proxies that do not know it read the query
	 * otherwise. */
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
	/* Each pair takes memory before anybody is known. */
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
		/* Upstream has 64 bits without a sign. A version beyond ours is one that has not
		 * come. */
		o->version = version > INT64_MAX ? INT64_MAX : (int64_t)version;
		return 0;
	}
	status_bad_request(st,
			   "%sresourceVersion: Invalid value: \"" STR_FMT "\": strconv.ParseUint: parsing \"" STR_FMT
			   "\": invalid syntax",
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
		/* The whole list is shown as the bad value, as upstream shows it, and told once. */
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

int write_options_parse(struct write_options *ret, const struct params *p, const char *options_kind, bool is_apply, struct arena *a,
			struct status *st)
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

/* DeleteOptions as one JSON tree, from the body or made of the query, so that both are read by the same code. */
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

/* A member of the wanted kind, NULL when absent or null; a wrong kind is Go's decoder's 400. */
static int delete_member(const struct json **ret, const struct json *body, const char *name, enum json_kind kind, const char *go_type,
			 struct status *st)
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
	status_bad_request(st, "json: cannot unmarshal %s into Go struct field DeleteOptions.%s of type %s", json_kind_name(j->kind), name,
			   go_type);
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
	static const char *const names[] = {[PROPAGATE_BACKGROUND] = "Background",
					    [PROPAGATE_FOREGROUND] = "Foreground",
					    [PROPAGATE_ORPHAN] = "Orphan"};
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
	/* Which of both was meant cannot be known. */
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

int delete_options_parse(struct delete_options *ret, const struct params *p, const struct json *body, struct arena *a, struct status *st)
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
