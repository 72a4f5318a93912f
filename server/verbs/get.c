/* GET of one object: from the cache, by default behind a read index, so that no answer is older than the question. */
#include "server/verbs/verbs.h"

#include "server/request/agreed_version.h"
#include "server/request/respond.h"
#include "server/request/wait.h"
#include "server/verbs/diff.h"

#define FUTURE_TIMEOUT_MS 3000

/* kube's answer to a version that has not happened yet (surprises.md 27). */
void request_set_future_version(struct request *q, int64_t wanted)
{
	status_set(&q->st, 504, REASON_TIMEOUT, "Timeout: Too large resource version: %lld, current: %lld", (long long)wanted,
		   (long long)cache_revision(q->server->options.cache));
	q->st.retry_after_s = 1;
	status_add_cause(&q->st, "ResourceVersionTooLarge", STR(""), STR("Too large resource version"));
}

void reply_future_version(struct request *q, int64_t wanted)
{
	request_set_future_version(q, wanted);
	reply_status(q);
}

static void get_view(struct request *q, const struct cached *o)
{
	struct object *object;

	if (cached_object(&object, o, q->a)) {
		status_internal(&q->st, "the object could not be decoded");
		reply_status(q);
		return;
	}
	reply_object(q, 200, view_show(q->route.sub->view, object, q->a));
}

static void get_answer(struct request *q)
{
	const struct route *r = &q->route;
	_cleanup_(cached_unrefp) struct cached *o = cache_get(q->server->options.cache, r->kind, request_ns(q), r->name);

	if (!o) {
		agreed_version_not_found(q, r->name);
		reply_status(q);
		return;
	}
	if (r->sub && r->sub->view) {
		get_view(q, o);
		return;
	}
	reply_cached(q, 200, o);
}

static void get_waited(struct request *q)
{
	if (q->wait.result != STORAGE_OK) {
		request_storage_failed(q, q->wait.result, q->wait.message, false);
		return;
	}
	get_answer(q);
}

static void get_waited_for_version(struct request *q)
{
	if (q->wait.result != STORAGE_OK) {
		reply_future_version(q, q->wait.wanted);
		return;
	}
	get_answer(q);
}

void verb_get(struct request *q)
{
	struct str text = params_get(&q->route.params, "resourceVersion");
	uint64_t version = 0;
	bool exports;

	if (q->route.sub && q->route.sub->is_diff) {
		diff_answer(q);
		return;
	}
	if (params_optional_bool(&q->route.params, "export", &exports) && exports) {
		status_bad_request(&q->st, "the export parameter, deprecated since v1.14, is no longer supported");
		reply_status(q);
		return;
	}
	if (text.n > 0 && !str_to_uint64(text, &version)) {
		status_bad_request(&q->st,
				   "resourceVersion: Invalid value: \"" STR_FMT "\": strconv.ParseUint: parsing \"" STR_FMT
				   "\": invalid syntax",
				   STR_ARG(text), STR_ARG(text));
		reply_status(q);
		return;
	}
	if (!request_is_cache_ready(q)) {
		return;
	}
	if (text.n == 0) {
		request_wait_fresh(q, get_waited);
	} else if ((int64_t)MIN(version, (uint64_t)INT64_MAX) > cache_revision(q->server->options.cache)) {
		request_wait_revision(q, (int64_t)MIN(version, (uint64_t)INT64_MAX), FUTURE_TIMEOUT_MS, get_waited_for_version);
	} else {
		get_answer(q);
	}
}
