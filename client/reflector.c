/* A state machine on the client's thread that behaves like client-go's Reflector, which is a
 * goroutine. Either an exchange or the retry timer is pending, and the callback of each decides
 * what comes next.
 *
 * The server may be broken or hostile, so each text, tree and count has a ceiling, far above
 * real lists. */
#include "client/reflector.h"

#include "base/clock.h"
#include "client/gathering.h"
#include "client/lines.h"
#include "client/store.h"

#include <assert.h>
#include <stdio.h>

enum {
	BACKOFF_FIRST_MS = 800, /* client-go's reflector */
	BACKOFF_LAST_MS = 30 * 1000,
	WATCH_MIN_S =
		300, /* a watch lasts 5 to 10 minutes, as client-go's: one that has lost an event unnoticed does not last */
	/* The server ends the watch. This is the extra time before the client gives up a server
	 * that is silently gone. */
	SLACK_S = 30,
	LIST_TIMEOUT_MS = 60 * 1000,
	/* As in client-go, a watch that ends within a second without an event counts as a
	 * failure, and back-off follows. */
	SHORT_MS = 1000,
	LINE_MAX_BYTES = 32 << 20,
	PAGE_MAX_BYTES = 256 << 20,
	/* Bytes of a page as a tree; a page that needs more counts as one that cannot be read. */
	PAGE_TREE_MAX = 1 << 30,
	/* Bytes of an event as a tree; an event that needs more ends the watch. */
	LINE_TREE_MAX = 256 << 20,
	VALUES_MAX = 16 << 20, /* values in a page or an event; with more it cannot be read */
	DEPTH_MAX = 512,       /* levels in a page or an event; deeper ones cannot be read */
	REFUSAL_MAX_BYTES = 64 * 1024,
	PATH_BYTES_MAX = 64 * 1024, /* of a request, with its selectors and its continue token */
	/* Bytes of a continue token, which is the server's; a page with a longer one cannot be read. */
	TOKEN_MAX = 64 * 1024,
	/* Objects of one list; a longer list cannot be read, and is tried again. */
	OBJECTS_MAX = 10 * 1000 * 1000,
	/* The client gives up a watch-list when nothing has come for this long. Servers that do
	 * not know sendInitialEvents ignore it and never say where the initial events end. */
	REFLECTOR_PATIENCE_MS = 10 * 1000,
};

/* Reads one event. Returns false when the stream cannot be used any more. */
static bool reflector_on_line(void *reflector, struct str line);

#define AS(kind) "application/json;as=" kind ";g=meta.k8s.io;v=v1"

/* ---- trouble ---- */

/* Reports a problem once until requests succeed again: otherwise a server that is away would
 * fill logs. */
static void reflector_tell(struct reflector *r, struct str problem)
{
	if (!r->has_told) {
		r->has_told = true;
		r->sink.on_problem(r->sink.ctx, false, problem);
	}
}

static void reflector_tell_of_server(struct reflector *r, struct str problem)
{
	if (!r->options.outage) {
		reflector_tell(r, problem);
	} else if (!r->is_lost) {
		r->is_lost = true;
		outage_lose(r->options.outage, problem);
	}
}

static void tell_over(struct reflector *r)
{
	_cleanup_(mem_freep) char *text = mem_printf("following " STR_FMT " again", STR_ARG(r->options.resource.plural));
	r->has_told = false;
	r->sink.on_problem(r->sink.ctx, true, str_of(text));
}

static void pause_before_retry(struct reflector *r)
{
	int64_t pause = backoff_next(&r->backoff);
	client_timer_set(r->options.client, &r->retry, MAX(pause, r->x.retry_after_s * 1000));
}

static void retry_later(struct reflector *r, struct str problem)
{
	reflector_tell(r, problem);
	pause_before_retry(r);
}

static void reflector_went_well(struct reflector *r)
{
	backoff_reset(&r->backoff);
	if (r->has_told) {
		tell_over(r);
	}
	if (r->is_lost) {
		r->is_lost = false;
		outage_regain(r->options.outage);
	}
}

/* ---- objects ---- */

static struct json *reflector_parse(struct arena *a, struct str text)
{
	size_t at;
	struct json *root;
	const struct json_limits limits = {.depth = DEPTH_MAX, .values = VALUES_MAX};
	return json_parse(&root, a, text, limits, &at) == 0 ? root : NULL;
}

static struct item *reflector_make_item(struct reflector *r, const struct json *object)
{
	const struct informer_options *o = &r->options;
	return item_new(object->source, o->metadata_only ? item_managers : o->left_out);
}

static bool reflector_show(struct reflector *r, const struct json *object, bool is_gone, bool is_listed)
{
	const struct json *metadata = json_gets(object, "metadata");
	uint64_t version;

	if (!json_text(json_gets(metadata, "name")).n ||
		!str_to_uint64(json_text(json_gets(metadata, "resourceVersion")), &version)) {
		return false;
	}
	r->options.stream->on_object(r->options.ctx, object, is_gone, is_listed);
	return true;
}

/* Hands over the complete list, which is as of that version. */
static void reflector_hand_over(struct reflector *r, uint64_t version)
{
	r->must_list = r->asks_latest = false;
	if (r->options.stream) {
		r->options.stream->on_end(r->options.ctx, version);
	}
	uint64_t from = r->resume_from && r->resume_from <= version ? r->resume_from : version;
	r->resume_from = 0;
	r->sink.on_all(r->sink.ctx, &r->fresh.items);
	/* The version is set last, here and below: a reader that sees it can rely on the
	 * handlers having run. */
	atomic_store(&r->version, from);
	r->sink.on_current(r->sink.ctx);
	gathering_forget(&r->fresh);
	reflector_went_well(r);
}

/* ---- requests ---- */

static void add_selectors(struct reflector *r)
{
	query_add(&r->path, "labelSelector", r->options.label_selector);
	query_add(&r->path, "fieldSelector", r->options.field_selector);
}

static void add_number(struct reflector *r, const char *name, uint64_t n)
{
	char digits[24];
	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n);
	query_add(&r->path, name, str_of(digits));
}

static void begin_path(struct reflector *r)
{
	buf_clear(&r->path);
	buf_clear(&r->text);
	target_path(&r->path, &(struct target){.resource = &r->options.resource, .namespace = r->options.namespace});
}

static void reflector_send(struct reflector *r, const char *accept, int64_t timeout_ms)
{
	r->x.path = r->path.p;
	r->x.accept = accept;
	r->x.timeout_ms = timeout_ms;
	r->x.code = 0; /* the code of the last exchange must not be read before this one begins */
	r->is_running = true;
	r->began_ms = clock_mono_ms();
	exchange_start(r->options.client, &r->x);
}

static void ask_page(struct reflector *r)
{
	uint64_t version = atomic_load(&r->version);
	r->state = REFLECTOR_LIST;
	begin_path(r);
	add_selectors(r);
	if (!r->is_whole) {
		add_number(r, "limit", (uint64_t)r->page);
	}
	if (r->token.n) {
		query_add(&r->path, "continue", buf_str(&r->token));
	} else if (version && !r->asks_latest) {
		add_number(r, "resourceVersion", version);
		query_add(&r->path, "resourceVersionMatch", STR("NotOlderThan"));
	}
	reflector_send(r, r->options.metadata_only ? AS("PartialObjectMetadataList") : NULL, LIST_TIMEOUT_MS);
}

static void begin_list(struct reflector *r)
{
	gathering_clear(&r->fresh);
	if (r->options.stream) {
		r->options.stream->on_begin(r->options.ctx);
	}
}

static void ask_list(struct reflector *r)
{
	begin_list(r);
	buf_clear(&r->token);
	ask_page(r);
}

static void ask_watch(struct reflector *r, enum reflector_state state)
{
	uint64_t version = atomic_load(&r->version);
	uint64_t seconds = WATCH_MIN_S + (uint64_t)random_below(WATCH_MIN_S);
	r->state = state;
	r->n_events = 0;
	r->is_relist_needed = false;
	lines_clear(&r->lines);
	buf_done(&r->text); /* a list's page is big, and the buffer is not needed again for a long time */
	begin_path(r);
	add_number(r, "watch", 1);
	add_selectors(r);
	query_add(&r->path, "allowWatchBookmarks", STR("true"));
	add_number(r, "timeoutSeconds", seconds);
	if (version && !r->asks_latest) {
		add_number(r, "resourceVersion", version);
	}
	if (state == REFLECTOR_WATCH_LIST) {
		query_add(&r->path, "sendInitialEvents", STR("true"));
		query_add(&r->path, "resourceVersionMatch", STR("NotOlderThan"));
		begin_list(r);
		client_timer_set(r->options.client, &r->patience, REFLECTOR_PATIENCE_MS);
	} else if (r->has_told || r->is_lost) {
		client_timer_set(r->options.client, &r->settling, SHORT_MS);
	}
	reflector_send(r, r->options.metadata_only ? AS("PartialObjectMetadata") : NULL, (int64_t)(seconds + SLACK_S) * 1000);
}

static void reflector_go_on(struct reflector *r)
{
	if (!r->must_list) {
		ask_watch(r, REFLECTOR_WATCH);
	} else if (r->no_watch_list || r->resume_from) {
		/* A watch-list goes on from its own version. */
		ask_list(r);
	} else {
		ask_watch(r, REFLECTOR_WATCH_LIST);
	}
}

static void on_retry(struct client_timer *t)
{
	reflector_go_on(container_of(t, struct reflector, retry));
}

/* A watch that resumes may be silent for minutes. It counts as working when the server keeps it
 * open. */
static void on_settling(struct client_timer *t)
{
	struct reflector *r = container_of(t, struct reflector, settling);
	if (r->x.code == 200) {
		reflector_went_well(r);
	} else {
		client_timer_set(r->options.client, &r->settling, SHORT_MS);
	}
}

/* Some servers ignore sendInitialEvents and never send the bookmark that ends them. After this
 * timer, the reflector lists in pages. */
static void on_impatience(struct client_timer *t)
{
	struct reflector *r = container_of(t, struct reflector, patience);
	r->no_watch_list = true;
	exchange_cancel(r->options.client, &r->x);
}

/* ---- a server's refusal ---- */

static bool is_too_large(const struct json *status)
{
	const struct json *causes = json_gets(json_gets(status, "details"), "causes");
	for (uint32_t i = 0; json_is(causes, JSON_ARRAY) && i < causes->n; i++) {
		if (str_is(json_text(json_gets(causes->items[i], "reason")), "ResourceVersionTooLarge")) {
			return true;
		}
	}
	return false;
}

/* Returns true when the client cannot continue from the version it has seen. Either that history
 * is compacted (410), or the server restored a backup and its present is older ("too large"). */
static bool reflector_has_lost_history(struct reflector *r, int code, const struct json *status)
{
	if (is_too_large(status)) {
		atomic_store(&r->version, 0);
		return true;
	}
	return code == 410;
}

static bool on_bytes(struct exchange *x, struct str bytes)
{
	struct reflector *r = container_of(x, struct reflector, x);
	if (r->is_ending) {
		return false;
	}
	if (r->state == REFLECTOR_LIST || x->code != 200) {
		return buf_add_str(&r->text, bytes);
	}
	return lines_feed(&r->lines, bytes, reflector_on_line, r);
}

/* ---- ends of exchanges ---- */

static const struct json *parse_text(struct reflector *r, struct arena *a)
{
	arena_init(a, PAGE_TREE_MAX);
	return r->text.n ? reflector_parse(a, buf_str(&r->text)) : NULL;
}

/* Returns true for codes that concern every resource: the server cannot answer, or does not know
 * the client. */
static bool reflector_is_server_code(int code)
{
	return code >= 500 || code == 429 || code == 401;
}

static void tell_refusal(struct reflector *r, const struct json *status)
{
	_cleanup_(buf_done) struct buf problem;
	struct str message = json_text(json_gets(status, "message"));
	buf_init(&problem, REFUSAL_MAX_BYTES);
	buf_printf(&problem, "cannot %s " STR_FMT ": ", r->state == REFLECTOR_LIST ? "list" : "watch",
		STR_ARG(r->options.resource.plural));
	if (r->x.result != EXCHANGE_OK) {
		buf_adds(&problem, r->x.problem);
	} else if (message.n) {
		buf_add_str(&problem, message);
	} else {
		buf_printf(&problem, "status code %d", r->x.code);
	}
	if (r->x.result == EXCHANGE_UNREACHABLE || r->x.result == EXCHANGE_TIMEOUT || reflector_is_server_code(r->x.code)) {
		reflector_tell_of_server(r, buf_str(&problem));
	} else {
		reflector_tell(r, buf_str(&problem));
	}
	pause_before_retry(r);
}

/* Returns true when the server refuses the watch-list as such. */
static bool is_unknown_to_server(const struct reflector *r)
{
	int code = r->x.code;
	/* kube-apiserver answers 422 when the feature is off; the other codes come from simpler
	 * servers. */
	return r->state == REFLECTOR_WATCH_LIST && (code == 400 || code == 405 || code == 406 || code == 422);
}

static void on_refusal(struct reflector *r)
{
	struct arena a;
	const struct json *status = r->x.result == EXCHANGE_OK ? parse_text(r, &a) : NULL;
	if (r->x.result != EXCHANGE_OK) {
		arena_init(&a, 0);
	}
	if (is_unknown_to_server(r)) {
		r->no_watch_list = true;
		ask_list(r);
	} else if (reflector_has_lost_history(r, r->x.code, status)) {
		/* A page's continue token is too old, so the rest of the list must be read in
		 * one piece. */
		r->is_whole = r->state == REFLECTOR_LIST && r->token.n > 0;
		r->must_list = true;
		if (r->state == REFLECTOR_WATCH || r->is_whole) {
			reflector_go_on(r);
		} else {
			r->asks_latest = true;
			tell_refusal(r, status);
		}
	} else {
		tell_refusal(r, status);
	}
	arena_done(&a);
}

static bool gather_item(struct reflector *r, const struct json *object)
{
	if (r->options.stream) {
		return reflector_show(r, object, false, true);
	}
	struct item *item = reflector_make_item(r, object);
	return item && gathering_add(&r->fresh, item);
}

static bool gather_items(struct reflector *r, const struct json *list)
{
	const struct json *items = json_gets(list, "items");
	bool is_readable = true;
	for (uint32_t i = 0; is_readable && json_is(items, JSON_ARRAY) && i < items->n; i++) {
		is_readable = gather_item(r, items->items[i]);
	}
	return is_readable;
}

/* Accepts the list only if it is not older than what was seen. An older one comes from a server
 * that ignores NotOlderThan. */
static void on_last_page(struct reflector *r, uint64_t version)
{
	if (version < atomic_load(&r->version)) {
		retry_later(r, STR("the server's list is older than what was seen"));
		return;
	}
	r->is_whole = false;
	r->page = LIST_PAGE;
	reflector_hand_over(r, version);
	ask_watch(r, REFLECTOR_WATCH);
}

static void on_page(struct reflector *r)
{
	struct arena a;
	uint64_t version = 0;
	const struct json *list = parse_text(r, &a), *meta = json_gets(list, "metadata");
	struct str token = list_continue(list);
	if (!str_to_uint64(json_text(json_gets(meta, "resourceVersion")), &version) || token.n > TOKEN_MAX ||
		!gather_items(r, list)) {
		retry_later(r, STR("the server's list cannot be read"));
	} else if (token.n) {
		buf_clear(&r->token);
		buf_add_str(&r->token, token);
		ask_page(r);
	} else {
		on_last_page(r, version);
	}
	arena_done(&a);
}

/* After a page beyond the ceiling, asks for smaller pages. */
static void on_big_page(struct reflector *r)
{
	r->is_whole = false;
	if (r->page == 1) {
		r->page = LIST_PAGE;
		retry_later(r, STR("an object of the server's list is too big"));
		return;
	}
	r->page /= 2;
	ask_list(r);
}

static void on_list_end(struct reflector *r)
{
	if (r->x.result == EXCHANGE_REFUSED) {
		on_big_page(r);
	} else if (r->x.result == EXCHANGE_OK && r->x.code == 200) {
		on_page(r);
	} else {
		on_refusal(r);
	}
}

/* Servers end watches after a while, which is no trouble. A watch that ends as soon as it began
 * is a failure. */
static void on_stream_end(struct reflector *r)
{
	bool was_short = clock_mono_ms() - r->began_ms < SHORT_MS && !r->n_events;
	client_timer_clear(&r->patience);
	if (r->is_relist_needed) {
		r->must_list = true;
		reflector_go_on(r);
	} else if (r->x.result == EXCHANGE_CANCELLED) {
		reflector_go_on(r);
	} else if (r->x.code != 200 || r->x.result != EXCHANGE_OK) {
		on_refusal(r);
	} else if (was_short || r->state == REFLECTOR_WATCH_LIST) {
		reflector_tell_of_server(r, STR("the server ends watches at once"));
		pause_before_retry(r);
	} else {
		reflector_went_well(r);
		reflector_go_on(r);
	}
}

static void on_done(struct exchange *x)
{
	struct reflector *r = container_of(x, struct reflector, x);
	r->is_running = false;
	client_timer_clear(&r->settling);
	if (r->is_ending) {
		r->on_ended(r);
	} else if (x->result == EXCHANGE_STOPPED) {
		client_timer_clear(&r->patience);
	} else if (r->state == REFLECTOR_LIST) {
		on_list_end(r);
	} else {
		on_stream_end(r);
	}
}

/* ---- lifetime ---- */

void reflector_init(struct reflector *r, const struct informer_options *options, const struct reflector_sink *sink)
{
	*r = (struct reflector){
		.options = *options,
		.sink = *sink,
		.x = {.method = "GET", .on_bytes = on_bytes, .on_done = on_done},
		.must_list = true,
		.no_watch_list = options->no_watch_list,
		.page = LIST_PAGE,
		.resume_from = options->resume_from,
	};
	client_timer_init(&r->retry, on_retry);
	client_timer_init(&r->patience, on_impatience);
	client_timer_init(&r->settling, on_settling);
	backoff_init(&r->backoff, BACKOFF_FIRST_MS, options->retry_max_ms ? options->retry_max_ms : BACKOFF_LAST_MS);
	buf_init(&r->path, PATH_BYTES_MAX);
	buf_init(&r->text, PAGE_MAX_BYTES);
	buf_init(&r->token, TOKEN_MAX);
	lines_init(&r->lines, LINE_MAX_BYTES);
	gathering_init(&r->fresh, OBJECTS_MAX);
	arena_init(&r->scratch, LINE_TREE_MAX);
}

void reflector_done(struct reflector *r)
{
	gathering_done(&r->fresh);
	lines_done(&r->lines);
	arena_done(&r->scratch);
	buf_done(&r->token);
	buf_done(&r->text);
	buf_done(&r->path);
}

void reflector_begin(struct reflector *r)
{
	assert(client_is_this_thread(r->options.client));
	if (r->options.outage) {
		outage_join(r->options.outage);
	}
	reflector_go_on(r);
}

void reflector_end(struct reflector *r, void (*on_ended)(struct reflector *r))
{
	assert(client_is_this_thread(r->options.client) && on_ended);
	r->is_ending = true;
	r->on_ended = on_ended;
	if (r->options.outage) {
		outage_leave(r->options.outage, r->is_lost);
		r->is_lost = false;
	}
	client_timer_clear(&r->retry);
	client_timer_clear(&r->patience);
	client_timer_clear(&r->settling);
	if (r->is_running) {
		exchange_cancel(r->options.client, &r->x);
	} else {
		r->on_ended(r);
	}
}

/* ---- events of watches ---- */

/* The code of a Status in a watch event. */
static int64_t status_code(const struct json *status)
{
	int64_t code = 0;
	json_to_int64(json_gets(status, "code"), &code);
	return code;
}

static uint64_t version_of(const struct json *object)
{
	uint64_t version = 0;
	str_to_uint64(json_text(json_gets(json_gets(object, "metadata"), "resourceVersion")), &version);
	return version;
}

static bool ends_initial_events(const struct json *bookmark)
{
	const struct json *annotations = json_gets(json_gets(bookmark, "metadata"), "annotations");
	return str_is(json_text(json_gets(annotations, "k8s.io/initial-events-end")), "true");
}

static bool on_bookmark(struct reflector *r, const struct json *bookmark)
{
	uint64_t version = version_of(bookmark), seen = atomic_load(&r->version);
	if (r->state == REFLECTOR_WATCH) {
		atomic_store(&r->version, MAX(version, seen));
		return true;
	}
	if (!ends_initial_events(bookmark)) {
		return true;
	}
	client_timer_clear(&r->patience);
	if (version < seen) {
		reflector_tell(r, STR("the server's initial events are older than what was seen"));
		return false;
	}
	reflector_hand_over(r, version);
	r->state = REFLECTOR_WATCH;
	return true;
}

static bool on_error_event(struct reflector *r, const struct json *status)
{
	int code = (int)status_code(status);
	struct str message = json_text(json_gets(status, "message"));
	r->is_relist_needed = reflector_has_lost_history(r, code, status);
	if (r->is_relist_needed) {
		return false;
	}
	if (reflector_is_server_code(code)) {
		reflector_tell_of_server(r, message);
	} else {
		reflector_tell(r, message);
	}
	return false;
}

static bool tell_nameless(struct reflector *r)
{
	reflector_tell(r, STR("the server sent an object without name or resourceVersion"));
	return false;
}

static bool tell_older(struct reflector *r)
{
	reflector_tell(r, STR("the server sent an event older than one before"));
	return true;
}

static bool on_streamed(struct reflector *r, const struct json *object, bool is_gone)
{
	bool is_listed = r->state == REFLECTOR_WATCH_LIST;
	uint64_t version = version_of(object);

	if (is_listed) {
		client_timer_set(r->options.client, &r->patience, REFLECTOR_PATIENCE_MS);
	} else if (version && version < atomic_load(&r->version)) {
		return tell_older(r);
	}
	if (!reflector_show(r, object, is_gone, is_listed)) {
		return tell_nameless(r);
	}
	if (!is_listed) {
		reflector_went_well(r);
		atomic_store(&r->version, version);
	}
	return true;
}

static bool on_initial_event(struct reflector *r, struct item *item, bool is_gone)
{
	client_timer_set(r->options.client, &r->patience, REFLECTOR_PATIENCE_MS);
	if (!is_gone) {
		return gathering_add(&r->fresh, item);
	}
	gathering_remove(&r->fresh, item);
	item_unref(item);
	return true;
}

static bool on_later_event(struct reflector *r, struct item *item, bool is_gone)
{
	if (item->version < atomic_load(&r->version)) {
		item_unref(item);
		return tell_older(r);
	}
	uint64_t version = item->version;
	reflector_went_well(r);
	r->sink.on_event(r->sink.ctx, item, is_gone);
	atomic_store(&r->version, version);
	return true;
}

static bool on_change(struct reflector *r, const struct json *object, bool is_gone)
{
	if (r->options.stream) {
		return on_streamed(r, object, is_gone);
	}
	struct item *item = reflector_make_item(r, object);
	if (!item) {
		return tell_nameless(r);
	}
	return r->state == REFLECTOR_WATCH_LIST ? on_initial_event(r, item, is_gone) : on_later_event(r, item, is_gone);
}

static bool on_event(struct reflector *r, const struct json *event)
{
	struct str type = json_text(json_gets(event, "type"));
	const struct json *object = json_gets(event, "object");
	if (!object) {
		reflector_tell(r, STR("the server sent an event that cannot be read"));
		return false;
	}
	if (str_is(type, "BOOKMARK")) {
		return on_bookmark(r, object);
	}
	if (str_is(type, "ERROR")) {
		return on_error_event(r, object);
	}
	return on_change(r, object, str_is(type, "DELETED"));
}

static bool reflector_on_line(void *ctx, struct str line)
{
	struct reflector *r = ctx;
	arena_clear(&r->scratch);
	r->n_events++;
	return on_event(r, reflector_parse(&r->scratch, line));
}

/* ---- a list that comes ---- */

/* A list does not go into the store page by page: it may fail in the middle, and handlers must
 * not see half a list. Until it is complete, the store stays as it was. */

/* Bytes of NAMESPACE/NAME; an object with a longer one makes its list unreadable. */
enum { KEY_MAX = 4096 };

void gathering_init(struct gathering *g, size_t max)
{
	g->max = max;
	map_init(&g->items, max);
	buf_init(&g->key, KEY_MAX);
}

void gathering_forget(struct gathering *g)
{
	map_done(&g->items);
	map_init(&g->items, g->max);
}

void gathering_clear(struct gathering *g)
{
	for (struct map_entry *e = map_next(&g->items, NULL); e; e = map_next(&g->items, e)) {
		item_unref(e->value);
	}
	gathering_forget(g);
}

void gathering_done(struct gathering *g)
{
	gathering_clear(g);
	map_done(&g->items);
	buf_done(&g->key);
}

bool gathering_add(struct gathering *g, struct item *item)
{
	void *old = NULL;
	if (!map_set(&g->items, store_key(&g->key, item->namespace, item->name), item, &old)) {
		item_unref(item);
		return false;
	}
	/* An object may change and come again while initial events arrive: the later version
	 * counts. */
	item_unref(old);
	return true;
}

void gathering_remove(struct gathering *g, const struct item *item)
{
	item_unref(map_remove(&g->items, store_key(&g->key, item->namespace, item->name)));
}

/* ---- lines of a stream ---- */

/* Events end at a newline, wherever TCP has cut them. Most pieces hold whole lines, which are
 * passed on as they are. Only an incomplete line is copied. */
void lines_init(struct lines *l, size_t longest)
{
	buf_init(&l->rest, longest);
}

void lines_done(struct lines *l)
{
	buf_done(&l->rest);
}

void lines_clear(struct lines *l)
{
	buf_clear(&l->rest);
}

/* A line that came whole is not copied. */
static bool end_line(struct lines *l, struct str last, bool (*each)(void *ctx, struct str line), void *ctx)
{
	if (last.n + l->rest.n > l->rest.ceiling) {
		return false;
	}
	struct str line = last;
	if (l->rest.n) {
		buf_add_str(&l->rest, last);
		line = buf_str(&l->rest);
	}
	line = str_trim(line);
	bool is_fine = !line.n || each(ctx, line);
	buf_clear(&l->rest);
	return is_fine;
}

bool lines_feed(struct lines *l, struct str bytes, bool (*each)(void *ctx, struct str line), void *ctx)
{
	struct str line, tail;
	while (str_cut(bytes, '\n', &line, &tail)) {
		if (!end_line(l, line, each, ctx)) {
			return false;
		}
		bytes = tail;
	}
	return buf_add_str(&l->rest, bytes);
}
