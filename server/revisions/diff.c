/* The comparison of two revisions. Both objects are read behind one read index, so neither is
 * older than the question; their data never changes. The route's authorization covers one object
 * only, so the second is authorized here. Patches are made in the request's own arena: two large
 * revisions may exceed its ceiling, and get a 422 that says so. Hunks have ceilings of their
 * own. */
#include "server/revisions/revisions.h"

#include "api/diff/diff.h"
#include "api/diff/hunks.h"
#include "server/request/agreed_version.h"
#include "server/request/respond.h"
#include "server/request/wait.h"

enum { FORM_ANY, FORM_JSON_PATCH, FORM_MERGE_PATCH, FORM_HUNKS };

static const char *const forms[] = {
	[FORM_ANY] = "application/json",
	[FORM_JSON_PATCH] = "application/json-patch+json",
	[FORM_MERGE_PATCH] = "application/merge-patch+json",
	[FORM_HUNKS] = HUNKS_MEDIA_TYPE,
};

static int preferred_form(struct request *q)
{
	struct str accept = http_header(q->x, "Accept");

	return accept.n > 0 ? media_prefer(accept, forms, ARRAY_SIZE(forms)) : FORM_ANY;
}

/* The answer is JSON in any case, indented for those for whom all answers are. */
int diff_negotiate(struct request *q)
{
	media_of_status(&q->media, STR("application/json"), http_header(q->x, "Accept-Encoding"),
		http_header(q->x, "User-Agent"), params_get(&q->route.params, "pretty"));
	if (preferred_form(q) >= 0) {
		return 0;
	}
	status_set(&q->media_status, 406, REASON_NOT_ACCEPTABLE, "only the following media types are accepted: %s, %s, %s, %s",
		forms[FORM_ANY], forms[FORM_JSON_PATCH], forms[FORM_MERGE_PATCH], forms[FORM_HUNKS]);
	return 1;
}

/* ---- the two revisions ---- */

static struct str other_name(const struct request *q)
{
	return params_get(&q->route.params, "from");
}

/* Refuses objects that are too large: both are parsed in the memory of one request. */
static int refuse_size(struct request *q)
{
	status_set(&q->st, 422, REASON_INVALID, "%s \"" STR_FMT "\" and \"" STR_FMT "\" have too many values to be compared",
		q->route.kind->resource, STR_ARG(other_name(q)), STR_ARG(q->route.name));
	return 1;
}

static int read_data(struct request *q, struct str name, const struct json **ret)
{
	_cleanup_(cached_unrefp) struct cached *o = cache_get(q->server->options.cache, q->route.kind, request_ns(q), name);
	struct object *whole;

	if (!o) {
		agreed_version_not_found(q, name);
		return 1;
	}
	if (cached_object(&whole, o, q->a)) {
		if (arena_is_full(q->a)) {
			return refuse_size(q);
		}
		status_internal(&q->st, "the stored object " STR_FMT " cannot be read", STR_ARG(name));
		return 1;
	}
	*ret = json_gets(whole->fields, "data");
	return 0;
}

static void answer_hunks(struct request *q, const struct json *from, const struct json *to)
{
	struct hunks hunks = {.from = from, .to = to, .from_name = other_name(q), .to_name = q->route.name};
	struct buf text;
	int r;

	buf_init(&text, HUNKS_ANSWER_MAX);
	hunks_parse_context(params_get(&q->route.params, "context"), &hunks.context);
	r = hunks_write(&text, &hunks);
	if (r == 0) {
		reply_json_buf_as(q, 200, &text, STR(HUNKS_MEDIA_TYPE));
		return;
	}
	buf_done(&text);
	if (r > 0) {
		status_set(&q->st, 422, REASON_INVALID,
			"the difference of %s \"" STR_FMT "\" and \"" STR_FMT "\" is too large to be shown line by line",
			q->route.kind->resource, STR_ARG(other_name(q)), STR_ARG(q->route.name));
	} else {
		status_internal(&q->st, "the lines of " STR_FMT " cannot be read", STR_ARG(q->route.name));
	}
	reply_status(q);
}

static void answer(struct request *q, const struct json *from, const struct json *to)
{
	int form = preferred_form(q);
	if (form == FORM_HUNKS) {
		answer_hunks(q, from, to);
		return;
	}
	struct json *patch = form == FORM_MERGE_PATCH ? diff_merge(from, to, q->a) : diff_json(from, to, q->a);

	if (arena_is_full(q->a)) {
		refuse_size(q);
		reply_status(q);
		return;
	}
	if (!patch) {
		status_set(&q->st, 406, REASON_NOT_ACCEPTABLE,
			"a merge patch cannot say that something becomes null; ask for %s", forms[FORM_JSON_PATCH]);
		reply_status(q);
		return;
	}
	reply_json_as(q, 200, patch, str_of(forms[form]));
}

static void diff_waited(struct request *q)
{
	const struct json *from, *to;

	if (q->wait.result != STORAGE_OK) {
		request_storage_failed(q, q->wait.result, q->wait.message, false);
	} else if (read_data(q, q->route.name, &to) || read_data(q, other_name(q), &from)) {
		reply_status(q);
	} else {
		answer(q, from, to);
	}
}

/* A user who may get one of the objects by name need not be allowed to get the other. */
static int authorize_other(struct request *q)
{
	struct authz_attributes what = request_attributes(q);

	what.name = other_name(q);
	return authz_check(q->server->authz, &what, &q->questions, NULL, q->a, &q->st);
}

static int check_parameters(struct request *q)
{
	uint32_t context;

	if (other_name(q).n == 0) {
		status_bad_request(&q->st, "from must name the object with which to compare");
		return 1;
	}
	if (preferred_form(q) == FORM_HUNKS && !hunks_parse_context(params_get(&q->route.params, "context"), &context)) {
		status_bad_request(&q->st, HUNKS_CONTEXT_HELP);
		return 1;
	}
	return 0;
}

void diff_answer(struct request *q)
{
	int r;

	if (check_parameters(q)) {
		reply_status(q);
		return;
	}
	while ((r = authorize_other(q)) == ASK_FIRST) {
		if (!questions_start(&q->questions)) {
			request_wait_answer(q, diff_answer);
			return;
		}
	}
	if (r) {
		reply_status(q);
	} else if (request_is_cache_ready(q)) {
		request_wait_fresh(q, diff_waited);
	}
}
