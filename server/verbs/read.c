/* GET and LIST: reading from the cache, by default behind a read index, so that no answer is older than the question.
 *
 * A LIST selects the objects of a page from a snapshot; server/verbs/list_answer.c writes them. */
#include "server/verbs/verbs.h"

#include "server/request/agreed_version.h"
#include "server/request/convert.h"
#include "server/request/respond.h"
#include "server/request/wait.h"
#include "server/verbs/list.h"

#include <assert.h>

/* As upstream waits for a version that has not come. */
#define FUTURE_TIMEOUT_MS 3000

/* ---- GET of one object ---- */

/* kube's answer to a version that has not happened yet, with its words. */
void request_set_future_version(struct request *q, int64_t wanted)
{
	assert(wanted > 0);
	status_set(&q->st, 504, REASON_TIMEOUT, "Timeout: Too large resource version: %lld, current: %lld", (long long)wanted,
		(long long)cache_revision(q->server->options.cache));
	q->st.retry_after_s = 1;
	status_add_cause(&q->st, "ResourceVersionTooLarge", STR(""), STR("Too large resource version"));
}

static void reply_future_version(struct request *q, int64_t wanted)
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

static void get_converted_view(struct request *q)
{
	if (q->st.code) {
		reply_status(q);
	} else {
		get_view(q, conversion_at(q->converting, 0));
	}
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
	if (r->sub && r->sub->view && conversion_is_needed(q, o)) {
		struct conversion *c = request_conversion(q);
		conversion_add(c, o);
		request_convert(q, c, get_converted_view);
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

/* ---- LIST: the objects of a page ---- */

static const char expired_continue[] =
	"The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue "
	"parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided "
	"token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was "
	"returned and now may show up in the list.";

int selectors_parse(struct request *q, struct list_options *o, struct label_selector *labels, struct field_selector *fields,
	struct cache_filter *filter)
{
	if (label_selector_parse(labels, o->label_selector, q->a, &q->st) ||
		field_selector_parse(fields, o->field_selector, q->route.kind, q->route.version, q->a, &q->st) ||
		list_options_validate(o, q->a, &q->st)) {
		return 1;
	}
	*filter = (struct cache_filter){
		.ns = request_ns(q),
		.labels = labels->n > 0 ? labels : NULL,
		.fields = fields->n > 0 ? fields : NULL,
	};
	return 0;
}

void listing_done(struct listing *l)
{
	l->converted = conversion_free(l->converted);
	l->snapshot = cache_snapshot_unref(l->snapshot);
	l->items = mem_free(l->items);
	l->n_items = l->cap_items = 0;
}

static void listing_add(struct listing *l, const struct cached *o)
{
	if (l->n_items == l->cap_items) {
		l->cap_items = l->cap_items ? 2 * l->cap_items : 64;
		l->items = mem_realloc_array(l->items, l->cap_items, sizeof(*l->items));
	}
	l->items[l->n_items++] = o;
}

/* Upstream reads a single object where selector and scope name it. */
static bool listing_is_single(const struct request *q, const struct listing *l)
{
	struct str name;

	return field_selector_requires(&l->fields, FIELD_TERM_NAME, &name) &&
		(l->filter.ns.n > 0 || !q->route.kind->is_namespaced);
}

/* Collects the items of the page. There is another page when more objects remain, selected or
 * not. */
static void listing_collect(const struct request *q, struct listing *l)
{
	size_t limit = l->options.limit > 0 ? (size_t)l->options.limit : SIZE_MAX;
	struct cache_iter it;
	const struct cached *o;

	cache_iter_init(&it, l->snapshot, &l->filter, l->token.start);
	while (l->n_items < limit && (o = cache_iter_next(&it))) {
		listing_add(l, o);
	}
	if (l->n_items == limit) {
		l->n_remaining = listing_is_single(q, l) ? 0 : cache_iter_remaining(&it);
		l->is_limited = l->n_remaining > 0;
	}
}

static void listing_found(struct request *q, struct listing *l)
{
	assert(l->snapshot);
	listing_collect(q, l);
	if (l->is_limited) {
		/* The next page is to be of this very state. */
		cache_snapshot_pin(q->server->options.cache, l->snapshot);
	}
	l->next(q, l);
}

static void listing_newest(struct request *q)
{
	struct listing *l = q->state;
	assert(!l->snapshot); /* a list has one state */

	l->snapshot = cache_snapshot(q->server->options.cache, q->route.kind);
	if (agreed_version_can_read(q)) {
		listing_found(q, l);
	}
}

/* Tokens of a namespace leave it out; those across namespaces name one. */
struct str listing_start_behind(const struct request *q, const struct cached *last)
{
	_cleanup_(buf_done) struct buf start;

	buf_init(&start, TEXT_MAX);
	if (last->ns.n > 0 && request_ns(q).n == 0) {
		buf_add_str(&start, last->ns);
		buf_addc(&start, '/');
	}
	buf_add_str(&start, last->name);
	buf_addc(&start, '\0');
	return arena_dup(q->a, buf_str(&start));
}

/* The reverse: returns the token's start for a whole key. */
static struct str token_start(const struct request *q, struct str key)
{
	struct str ns = request_ns(q);
	size_t n = ns.n > 0 ? ns.n + 1 : 0;
	assert(key.n >= n);

	return (struct str){key.p + n, key.n - n};
}

static struct str whole_start(const struct request *q, struct str start)
{
	struct str ns = request_ns(q);
	_cleanup_(buf_done) struct buf key;

	buf_init(&key, TEXT_MAX);
	buf_add_str(&key, ns);
	buf_adds(&key, ns.n > 0 ? "/" : "");
	buf_add_str(&key, start);
	return arena_dup(q->a, buf_str(&key));
}

static void listing_expired(struct request *q, struct listing *l)
{
	if (l->token.revision > 0) {
		status_expired(&q->st, "%s", expired_continue);
		q->st.continue_token = continue_token_make(&(struct continue_token){-1, token_start(q, l->token.start)}, q->a);
	} else {
		status_expired(&q->st, "The resourceVersion for the provided list is too old.");
	}
	reply_status(q);
}

static int64_t listing_exact_revision(const struct listing *l)
{
	return l->token.revision > 0 ? l->token.revision : l->options.version;
}

static void listing_exact(struct request *q)
{
	struct listing *l = q->state;
	int64_t revision = listing_exact_revision(l);
	assert(!l->snapshot && revision > 0);
	enum cache_result r = cache_snapshot_at(q->server->options.cache, q->route.kind, revision, &l->snapshot);

	if (r == CACHE_EXPIRED) {
		listing_expired(q, l);
	} else if (r == CACHE_FUTURE) {
		reply_future_version(q, revision);
	} else {
		listing_found(q, l);
	}
}

static void listing_waited_fresh(struct request *q)
{
	if (q->wait.result != STORAGE_OK) {
		request_storage_failed(q, q->wait.result, q->wait.message, false);
		return;
	}
	listing_newest(q);
}

static void listing_waited_exact(struct request *q)
{
	if (q->wait.result != STORAGE_OK) {
		reply_future_version(q, q->wait.wanted);
		return;
	}
	listing_exact(q);
}

static void listing_waited_newest(struct request *q)
{
	if (q->wait.result != STORAGE_OK) {
		reply_future_version(q, q->wait.wanted);
		return;
	}
	listing_newest(q);
}

static void listing_at_least(
	struct request *q, int64_t revision, void (*ready)(struct request *q), void (*waited)(struct request *q))
{
	assert(revision >= 0);
	if (revision > cache_revision(q->server->options.cache)) {
		request_wait_revision(q, revision, FUTURE_TIMEOUT_MS, waited);
	} else {
		ready(q);
	}
}

/* Chooses the snapshot that the options mean: the table in kube's "Resource versions" API
 * concepts. */
static void listing_choose(struct request *q, struct listing *l)
{
	const struct list_options *o = &l->options;
	bool has_version = o->resource_version.n > 0;
	bool is_any = has_version && o->version == 0;
	bool is_paged = o->limit > 0 || l->is_in_pages;
	bool is_exact = o->match == MATCH_EXACT || (o->match == MATCH_UNSET && has_version && !is_any && is_paged);
	/* A deletion must find objects that were just created. Any version may be shown here, so it takes the present one. */
	bool is_newest = !has_version || (is_any && (is_exact || l->is_in_pages));

	/* resourceVersion=0 means any state, and then upstream ignores the limit. */
	if (is_any && o->match != MATCH_EXACT) {
		l->options.limit = 0;
	}
	if (l->token.revision > 0) {
		listing_at_least(q, l->token.revision, listing_exact, listing_waited_exact);
	} else if (l->token.revision < 0 || is_newest) {
		request_wait_fresh(q, listing_waited_fresh);
	} else if (is_exact) {
		listing_at_least(q, o->version, listing_exact, listing_waited_exact);
	} else {
		listing_at_least(q, o->version, listing_newest, listing_waited_newest);
	}
}

static int listing_parse_token(struct request *q, struct listing *l)
{
	struct list_options *o = &l->options;

	if (continue_token_parse(&l->token, o->continue_token, q->a, &q->st)) {
		return 1;
	}
	if (o->resource_version.n > 0 && !str_is(o->resource_version, "0")) {
		status_bad_request(&q->st, "specifying resource version is not allowed when using continue");
		return 1;
	}
	l->token.start = whole_start(q, l->token.start);
	return 0;
}

static int listing_parse(struct request *q, struct listing *l)
{
	struct list_options *o = &l->options;

	if (list_options_parse(o, &q->route.params, false, &q->st) ||
		selectors_parse(q, o, &l->labels, &l->fields, &l->filter)) {
		return 1;
	}
	return o->continue_token.n > 0 ? listing_parse_token(q, l) : list_version_parse(o, false, &q->st);
}

void listing_run(struct request *q, struct listing *l, void (*next)(struct request *q, struct listing *l))
{
	assert(next && !l->snapshot && l->n_items == 0);
	l->next = next;
	q->state = l;
	if (listing_parse(q, l)) {
		reply_status(q);
		return;
	}
	if (request_is_cache_ready(q)) {
		listing_choose(q, l);
	}
}

/* Empties l, so that a cleanup finds nothing. */
static void reply_listing_taken(struct request *q, struct listing *l)
{
	struct listing taken = *l;

	*l = (struct listing){0};
	reply_listing_shown(q, &taken);
}

static void listing_converted(struct request *q)
{
	struct listing *l = q->state_converted;

	if (q->st.code) {
		listing_done(l);
		reply_status(q);
		return;
	}
	l->converted = request_converted(q);
	for (size_t i = 0; i < l->n_items; i++) {
		l->items[i] = conversion_at(l->converted, i);
	}
	reply_listing_taken(q, l);
}

/* Objects in other versions are converted before the answer begins: a failure is an answer of its own. */
void reply_listing(struct request *q, struct listing *l)
{
	assert(l->snapshot && l->n_items <= l->cap_items);
	struct conversion *c = NULL;

	for (size_t i = 0; !c && i < l->n_items; i++) {
		c = conversion_is_needed(q, l->items[i]) ? request_conversion(q) : NULL;
	}
	if (!c) {
		reply_listing_taken(q, l);
		return;
	}
	for (size_t i = 0; i < l->n_items; i++) {
		conversion_add(c, l->items[i]);
	}
	q->state_converted = l;
	request_convert(q, c, listing_converted);
}

/* The client may go while the list is being converted. */
static void list_cleanup(struct request *q _unused_, void *ctx)
{
	listing_done(ctx);
}

void verb_list(struct request *q)
{
	struct listing *l = arena_new(q->a, struct listing);

	if (q->route.kind->hook) {
		request_on_cleanup(q, list_cleanup, l);
	}
	listing_run(q, l, reply_listing);
}
