/* Reviews: questions in the form of objects. A review is validated like an object, and answered
 * by the functions that decide requests, so the answer matches what would happen. Nothing is
 * stored, and metadata that only a server fills in is dropped. */
#include "server/verbs/verbs.h"

#include "api/model/members.h"
#include "api/patch/managed.h"
#include "api/rules/review_schema.h"
#include "api/rules/selector.h"
#include "base/clock.h"
#include "server/request/respond.h"
#include "server/write/write.h"

#include <assert.h>

/* The answer replaces the status that the question may have had. */
static void set_status(struct request *q, struct object *o, struct json *status)
{
	object_set_status(o, status, q->a);
}

/* ---- what selectors say that cannot be read is not taken into account, and the answer says so ---- */

struct readable {
	size_t n_good, n_bad;
};

static bool is_good_label_requirement(const struct json *requirement)
{
	static const char *const operators[] = {"In", "NotIn", "Exists", "DoesNotExist"};

	for (size_t i = 0; i < ARRAY_SIZE(operators); i++) {
		if (str_is(member_text(requirement, "operator"), operators[i])) {
			return true;
		}
	}
	return false;
}

/* Returns true for a requirement with one value, as in a query. */
static bool is_good_field_requirement(const struct json *requirement)
{
	const struct json *values = json_gets(requirement, "values");
	struct str op = member_text(requirement, "operator");

	return values && values->n == 1 && (str_is(op, "In") || str_is(op, "NotIn"));
}

static bool is_good_label_selector(struct str raw, struct arena *a)
{
	struct label_selector selector;
	struct status ignored;

	status_init(&ignored, a);
	return label_selector_parse(&selector, raw, a, &ignored) == 0;
}

static const struct selector_row {
	const char *name;
	bool (*is_good_raw)(struct str raw, struct arena *a);
	bool (*is_good)(const struct json *requirement);
} selector_rows[] = {
	{"fieldSelector", field_selector_is_readable, is_good_field_requirement},
	{"labelSelector", is_good_label_selector, is_good_label_requirement},
};

static struct readable selector_read(const struct selector_row *row, const struct json *selector, struct arena *a)
{
	struct str raw = member_text(selector, "rawSelector");
	const struct json *requirements = json_gets(selector, "requirements");
	struct readable r = {0, raw.n > 0 && !row->is_good_raw(raw, a)};

	for (uint32_t i = 0; requirements && i < requirements->n; i++) {
		bool is_good = row->is_good(requirements->items[i]);
		r.n_good += is_good;
		r.n_bad += !is_good;
	}
	return r;
}

static struct str evaluation_error(const struct object *o, struct arena *a)
{
	const struct json *resource = json_gets(object_spec(o), "resourceAttributes");
	struct str error = STR("");

	for (size_t i = 0; i < ARRAY_SIZE(selector_rows); i++) {
		struct readable r = selector_read(&selector_rows[i], json_gets(resource, selector_rows[i].name), a);
		if (r.n_bad > 0) {
			error = arena_printf(a, STR_FMT "%sspec.resourceAttributes.%s %signored due to parse error",
				STR_ARG(error), error.n ? "; " : "", selector_rows[i].name, r.n_good ? "partially " : "");
		}
	}
	return error;
}

/* ---- may somebody do something? ---- */

static struct authz_attributes attributes_of(const struct object *o, const struct user *user)
{
	const struct json *resource = json_gets(object_spec(o), "resourceAttributes");
	const struct json *path = json_gets(object_spec(o), "nonResourceAttributes");
	struct str version = member_text(resource, "version");

	if (!resource) {
		return (struct authz_attributes){
			.user = user, .verb = member_text(path, "verb"), .path = member_text(path, "path")};
	}
	return (struct authz_attributes){
		.user = user,
		.verb = member_text(resource, "verb"),
		.is_resource = true,
		.group = member_text(resource, "group"),
		.version = version.n > 0 ? version : STR("*"),
		.resource = member_text(resource, "resource"),
		.subresource = member_text(resource, "subresource"),
		.ns = member_text(resource, "namespace"),
		.name = member_text(resource, "name"),
	};
}

static void answer_access_of(struct request *q, struct object *o, const struct user *user)
{
	struct authz_attributes what = attributes_of(o, user);
	struct json *status = json_object(q->a);

	json_add(q->a, status, STR("allowed"), json_bool(q->a, authz_allows(q->server->authz, &what)));
	json_add_text(q->a, status, STR("evaluationError"), evaluation_error(o, q->a));
	set_status(q, o, status);
}

static int answer_self_access(struct request *q, struct object *o)
{
	answer_access_of(q, o, q->user);
	return 0;
}

static int answer_access(struct request *q, struct object *o)
{
	const struct json *groups = json_gets(object_spec(o), "groups");
	struct user user = {.name = member_text(object_spec(o), "user"),
		.uid = member_text(object_spec(o), "uid"),
		.n_groups = groups ? groups->n : 0};
	struct str *names = arena_array(q->a, struct str, user.n_groups + 1);

	for (size_t i = 0; i < user.n_groups; i++) {
		names[i] = json_text(groups->items[i]);
	}
	user.groups = names;
	answer_access_of(q, o, &user);
	return 0;
}

static int answer_rules(struct request *q, struct object *o)
{
	struct str ns = member_text(object_spec(o), "namespace");
	struct authz_rules rules;
	struct json *status = json_object(q->a);

	if (ns.n == 0) {
		status_bad_request(&q->st, "no namespace on request");
		return 1;
	}
	authz_rules(&rules, q->server->authz, q->user, ns, q->a);
	json_add(q->a, status, STR("resourceRules"), rules.resources);
	json_add(q->a, status, STR("nonResourceRules"), rules.paths);
	json_add(q->a, status, STR("incomplete"), json_bool(q->a, false));
	o->meta = (struct meta){0};
	object_set_spec(o, json_object(q->a), q->a);
	set_status(q, o, status);
	return 0;
}

/* ---- who is somebody? ---- */

static int answer_self(struct request *q, struct object *o)
{
	struct json *status = json_object(q->a);

	json_add(q->a, status, STR("userInfo"), user_info_json(q->user, q->a));
	o->meta = (struct meta){.creation_timestamp = request_now(q)};
	set_status(q, o, status);
	return 0;
}

static int answer_token(struct request *q, struct object *o)
{
	struct str token = member_text(object_spec(o), "token");
	struct json *status = json_object(q->a);
	struct user *user;

	if (token.n == 0) {
		status_bad_request(&q->st, "token is required for TokenReview in authentication");
		return 1;
	}
	if (authn_token(q->server->authn, token, &user, q->a)) {
		json_add(q->a, status, STR("authenticated"), json_bool(q->a, true));
		json_add(q->a, status, STR("user"), user_info_json(user, q->a));
	} else {
		json_add(q->a, status, STR("user"), json_object(q->a));
		json_add_text(q->a, status, STR("error"), STR("invalid bearer token"));
	}
	set_status(q, o, status);
	return 0;
}

/* ---- all of them ---- */

static const struct {
	const char *kind;
	int (*answer)(struct request *q, struct object *o); /* 0 with status set, or 1 with q->st */
} reviews[] = {
	{"LocalSubjectAccessReview", answer_access},
	{"SelfSubjectAccessReview", answer_self_access},
	{"SelfSubjectReview", answer_self},
	{"SelfSubjectRulesReview", answer_rules},
	{"SubjectAccessReview", answer_access},
	{"TokenReview", answer_token},
};

static int review_find(struct request *q, struct object *o)
{
	for (size_t i = 0; i < ARRAY_SIZE(reviews); i++) {
		if (strcmp(reviews[i].kind, o->kind->kind) == 0) {
			return reviews[i].answer(q, o);
		}
	}
	status_internal(&q->st, "nothing answers a %s", o->kind->kind);
	return 1;
}

static int review_validate(struct request *q, const struct object *o)
{
	struct field_errors errors;

	field_errors_init(&errors, q->a);
	if (o->kind->validate) {
		o->kind->validate(o, &errors);
	}
	if (errors.n == 0) {
		return 0;
	}
	status_invalid(&q->st, request_group(q), STR(""), STR(""), &errors);
	return 1;
}

/* A question must not have fields that servers fill in. They are dropped rather than refused. */
static void review_wipe(struct meta *m)
{
	m->uid = m->creation_timestamp = m->deletion_timestamp = STR("");
	m->has_grace_period = false;
}

void review_answer(struct request *q, struct object *sent, struct str manager)
{
	assert(!kind_is_stored(sent->kind));
	review_wipe(&sent->meta);
	managed_update(sent, NULL, q->route.version, q->route.subresource, manager, request_now(q), q->a);
	if (review_validate(q, sent) || review_find(q, sent)) {
		reply_status(q);
		return;
	}
	reply_json(q, 201, object_to_json(sent, q->route.version, q->a));
}
