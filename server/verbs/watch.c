/* WATCH: a stream fed from the cache's window. A watcher owns a cursor and at most one event that is being written; the bytes of
 * objects are the cache's own. Order: existing objects (when asked for), the mark that they are all, then events and bookmarks. */
#include "server/verbs/verbs.h"

#include "api/model/protobuf_write.h"
#include "base/clock.h"
#include "base/ids.h"
#include "server/request/convert.h"
#include "server/request/request_audit.h"
#include "server/request/respond.h"
#include "server/request/table.h"
#include "server/request/wait.h"
#include "server/verbs/list.h"

#include <assert.h>

#define FUTURE_TIMEOUT_MS 3000
#define CONVERSION_MS 60000 /* of events: as long as of a request */
#define BOOKMARK_EVERY_MS 60000
#define BOOKMARK_BEFORE_END_MS 2000
#define DEFAULT_MIN_S 1800 /* kube's --min-request-timeout: without timeoutSeconds, between this and twice this */
/* Pieces of one event: what stands around the object, and the object. */
#define PIECES_MAX (4 + CACHED_PIECES)

struct watching {
	struct request *q;
	struct list_options options;
	struct label_selector labels;
	struct field_selector fields;
	struct cache_filter filter;
	struct str type_text;                /* {"kind":K,"apiVersion":V, */
	struct cache_watcher *watcher;       /* NULL: only `pieces` are sent (an ERROR event) */
	struct series *counted, *counted_initial; /* the resource's events */
	struct cache_snapshot *snapshot;     /* existing objects still to be sent; NULL when they are */
	struct cache_iter existing;
	bool marks_initial_end;
	bool has_sent_columns;
	bool is_over;
	enum include_object include;
	int64_t ends_ms, bookmark_ms;        /* monotonic */
	int64_t shown_revision;              /* the newest the client knows of */
	/* what is being written */
	struct str pieces[PIECES_MAX];
	unsigned n_pieces, piece;
	struct cached *current, *shown;      /* the event's object; and the same with its body, which keeps the piece's bytes */
	struct buf made;                     /* events that are not just cache bytes */
	/* An event that is converted, or existing objects that are converted together; NULL: none is. The kind has a hook. */
	struct conversion *converting;
	enum watch_type converted_type;
	size_t converted_at; /* the next to be shown */
};

static void watching_wake(void *ctx);

/* ---- one event ---- */

static void watching_set_pieces(struct watching *w, const struct str *pieces, unsigned n)
{
	assert(n > 0 && n <= PIECES_MAX);
	memcpy(w->pieces, pieces, n * sizeof(*pieces));
	w->n_pieces = n;
	w->piece = 0;
}

static void watching_count(struct watching *w)
{
	size_t bytes = 0;

	for (unsigned i = 0; i < w->n_pieces; i++) {
		bytes += w->pieces[i].n;
	}
	metrics_count_event(w->counted, bytes);
	if (w->snapshot) {
		metrics_count_initial(w->counted_initial);
	}
}

static void watching_show_plain(struct watching *w, enum watch_type type, const struct cached *o)
{
	assert(!w->shown);
	struct str pieces[PIECES_MAX] = {
		STR("{\"type\":\""), str_of(watch_type_name(type)), STR("\",\"object\":"), w->type_text};
	w->shown = cached_whole(o);
	const size_t n = cached_pieces(w->shown, w->q->route.version);

	for (size_t i = 0; i < n; i++) {
		pieces[PIECES_MAX - CACHED_PIECES + i] = cached_piece(w->shown, w->q->route.version, i);
	}
	watching_set_pieces(w, pieces, PIECES_MAX - CACHED_PIECES + (unsigned)n);
}

/* The tail `}\n` of a plain event follows its body as a piece of its own. */
static const struct str event_tail = {"}\n", 2};

static void watching_set_made(struct watching *w)
{
	struct str text = buf_str(&w->made);

	watching_set_pieces(w, &text, 1);
}

/* Begin and end the frame of an event that has to be made. The caller adds the object between both calls, as JSON. */
static void watching_begin(struct watching *w, const char *type)
{
	buf_clear(&w->made);
	if (w->q->media.format == MEDIA_JSON) {
		buf_printf(&w->made, "{\"type\":\"%s\",\"object\":", type);
	}
}

/* In protobuf an event is a message with an object, in its envelope, as opaque bytes; its length stands before it, in four bytes. */
static void watching_set_frame(struct watching *w, const char *type, struct str object)
{
	enum { EVENT_TYPE = 1, EVENT_OBJECT = 2, OPAQUE_BYTES = 1, LENGTH = 4 };
	struct protobuf_out frame;
	char length[LENGTH];

	protobuf_out_init(&frame, RESPONSE_CEILING);
	protobuf_put_text(&frame, OPAQUE_BYTES, object);
	protobuf_put_head(&frame, EVENT_OBJECT, protobuf_out_size(&frame));
	protobuf_put_text(&frame, EVENT_TYPE, str_of(type));
	for (size_t i = 0, n = protobuf_out_size(&frame); i < LENGTH; i++) {
		length[i] = (char)(n >> (8 * (LENGTH - 1 - i)));
	}
	protobuf_put(&frame, (struct str){length, LENGTH});
	buf_clear(&w->made);
	buf_add_str(&w->made, protobuf_out_str(&frame));
	protobuf_out_done(&frame);
	watching_set_made(w);
}

static void watching_end(struct watching *w, const char *type)
{
	struct buf object;

	if (w->q->media.format == MEDIA_JSON) {
		BUF_LITERAL(&w->made, "}\n");
		watching_set_made(w);
		return;
	}
	buf_init(&object, RESPONSE_CEILING);
	protobuf_from_text(&object, buf_str(&w->made));
	watching_set_frame(w, type, buf_str(&object));
	buf_done(&object);
}

/* A watch whose client would miss an event ends. */
static void watching_show_protobuf(struct watching *w, enum watch_type type, const struct cached *o)
{
	struct request *q = w->q;
	struct bytes *message = protobuf_items_get(
		q->server->protobuf_items, o, q->route.version, q->media.as == AS_PARTIAL ? PROTOBUF_METADATA : PROTOBUF_WHOLE);
	struct buf object;

	if (!message) {
		w->is_over = true;
		return;
	}
	buf_init(&object, RESPONSE_CEILING);
	show_protobuf(&object, q, message);
	bytes_unref(message);
	watching_set_frame(w, watch_type_name(type), buf_str(&object));
	buf_done(&object);
}

static void watching_make_table(struct watching *w, const struct cached *o, struct arena *scratch)
{
	const struct table_world world = request_table_world(w->q);
	struct request *q = w->q;
	struct str meta = arena_printf(scratch, "{\"resourceVersion\":\"%lld\"}", (long long)o->revision);

	table_begin(&w->made, q->route.kind, q->route.version, &q->media, meta, !w->has_sent_columns);
	table_row(&w->made, q->route.kind, q->route.version, &q->media, w->include, o, true, &world, scratch);
	table_end(&w->made);
	w->has_sent_columns = true;
}

static void watching_show_made(struct watching *w, enum watch_type type, const struct cached *o)
{
	struct arena scratch;

	arena_init(&scratch, (size_t)64 << 20);
	watching_begin(w, watch_type_name(type));
	if (w->q->media.as == AS_TABLE) {
		watching_make_table(w, o, &scratch);
	} else if (w->q->media.as == AS_OBJECT) {
		buf_add_str(&w->made, w->type_text);
		buf_add_str(&w->made, show_body(o, w->q->route.version, &scratch));
	} else {
		partial_object(&w->made, &w->q->media, o, w->q->route.version);
	}
	arena_done(&scratch);
	watching_end(w, watch_type_name(type));
}

static void watching_show(struct watching *w, enum watch_type type, const struct cached *o)
{
	if (w->q->media.format == MEDIA_PROTOBUF) {
		watching_show_protobuf(w, type, o);
	} else if (w->q->media.as == AS_OBJECT && version_shows_hub(w->q->route.version)) {
		watching_show_plain(w, type, o);
	} else {
		watching_show_made(w, type, o);
	}
	w->shown_revision = MAX(w->shown_revision, o->revision);
	watching_count(w);
}

/* Bytes of a bookmark, whose object has no fields but its version. */
enum { BOOKMARK_MAX = 1 << 20 };

/* An object of the kind with nothing but a resourceVersion, and the annotation that marks the end of the existing ones. */
static struct object *bookmark_object(struct watching *w, int64_t revision, bool is_initial_end, struct arena *a)
{
	const struct route *r = &w->q->route;
	struct object *o = object_empty(r->kind, a);

	o->meta.resource_version = arena_printf(a, "%lld", (long long)revision);
	if (is_initial_end) {
		o->meta.annotations = json_object(a);
		json_add(a, o->meta.annotations, STR("k8s.io/initial-events-end"), json_string(a, STR("true")));
	}
	return o;
}

static struct json *bookmark_partial(const struct media *m, const struct json *o, struct arena *a)
{
	struct json *partial = json_object(a);

	json_add(a, partial, STR("kind"), json_string(a, STR("PartialObjectMetadata")));
	json_add(a, partial, STR("apiVersion"), json_string(a, m->is_v1beta1 ? STR("meta.k8s.io/v1beta1") : STR("meta.k8s.io/v1")));
	json_add(a, partial, STR("metadata"), json_gets(o, "metadata"));
	return partial;
}

/* The object of a row. The event that ends the initial ones needs its mark even where no objects are wanted. */
static struct json *bookmark_row_object(const struct watching *w, struct json *o, bool is_initial_end, struct arena *a)
{
	if (w->include == INCLUDE_OBJECT) {
		return o;
	}
	return w->include == INCLUDE_NONE && !is_initial_end ? json_null(a) : bookmark_partial(&w->q->media, o, a);
}

static void bookmark_table(struct watching *w, const struct object *o, bool is_initial_end, struct arena *a)
{
	const struct route *r = &w->q->route;
	struct str meta = arena_printf(a, "{\"resourceVersion\":\"" STR_FMT "\"}", STR_ARG(o->meta.resource_version));
	struct buf shown;

	buf_init(&shown, BOOKMARK_MAX);
	json_encode(&shown, bookmark_row_object(w, object_to_json(o, r->version, a), is_initial_end, a));
	table_begin(&w->made, r->kind, r->version, &w->q->media, meta, !w->has_sent_columns);
	table_row_of(&w->made, r->kind, r->version, o, buf_str(&shown), true);
	table_end(&w->made);
	w->has_sent_columns = true;
	buf_done(&shown);
}

static void bookmark_show(struct watching *w, const struct object *o, bool is_initial_end, struct arena *a)
{
	struct json *j = object_to_json(o, w->q->route.version, a);

	switch (w->q->media.as) {
	case AS_TABLE:
		bookmark_table(w, o, is_initial_end, a);
		break;
	case AS_PARTIAL:
		json_encode(&w->made, bookmark_partial(&w->q->media, j, a));
		break;
	default:
		json_encode(&w->made, j);
		break;
	}
}

static void watching_show_bookmark(struct watching *w, int64_t revision, bool is_initial_end)
{
	struct arena a;

	arena_init(&a, BOOKMARK_MAX);
	struct object *o = bookmark_object(w, revision, is_initial_end, &a);
	watching_begin(w, "BOOKMARK");
	bookmark_show(w, o, is_initial_end, &a);
	arena_done(&a);
	watching_end(w, "BOOKMARK");
	watching_count(w);
	w->shown_revision = MAX(w->shown_revision, revision);
}

/* ---- what comes next ---- */

static void watching_existing_done(struct watching *w)
{
	assert(w->snapshot);
	int64_t revision = cache_snapshot_revision(w->snapshot);

	w->snapshot = cache_snapshot_unref(w->snapshot);
	w->shown_revision = MAX(w->shown_revision, revision);
	if (w->marks_initial_end) {
		watching_show_bookmark(w, revision, true);
	}
}

/* ---- events that are converted ---- */

static void watching_convert(struct watching *w, enum watch_type type, const struct cached *o)
{
	struct request *q = w->q;

	if (!w->converting) {
		w->converting = conversion_new(q->server->options.converter, q->route.kind, q->route.version,
			clock_mono_ms() + CONVERSION_MS, watching_wake, w);
		w->converted_at = 0;
	}
	w->converted_type = type;
	conversion_add(w->converting, o);
}

static void watching_make_error(struct watching *w);

/* A client that misses an event must begin anew: the stream ends with the reason. */
static void watching_fail(struct watching *w)
{
	conversion_refuse(w->converting, w->q);
	w->converting = conversion_free(w->converting);
	w->watcher = cache_watch_close(w->watcher);
	w->snapshot = cache_snapshot_unref(w->snapshot);
	watching_make_error(w);
}

static void watching_show_converted(struct watching *w)
{
	if (!conversion_step(w->converting)) {
		w->is_over = http_is_draining(w->q->x);
		return;
	}
	if (conversion_has_failed(w->converting)) {
		watching_fail(w);
		return;
	}
	size_t i = w->converted_at++;
	watching_show(w, w->converted_type, conversion_at(w->converting, i));
	if (w->converted_at == conversion_count(w->converting)) {
		w->converting = conversion_free(w->converting);
	}
}

/* Others come along with the first, as far as they are there already. */
static bool watching_gathers(const struct watching *w)
{
	return w->converting && !conversion_is_full(w->converting);
}

static void watching_next_existing(struct watching *w)
{
	const struct cached *o = cache_iter_next(&w->existing);

	if (o && conversion_is_needed(w->q, o)) {
		watching_convert(w, WATCH_ADDED, o);
		while (watching_gathers(w) && (o = cache_iter_next(&w->existing))) {
			watching_convert(w, WATCH_ADDED, o);
		}
		watching_show_converted(w);
	} else if (o) {
		watching_show(w, WATCH_ADDED, o);
	} else {
		watching_existing_done(w);
	}
}

static void watching_plan_bookmark(struct watching *w, int64_t now)
{
	int64_t before_end = w->ends_ms - BOOKMARK_BEFORE_END_MS, next = now + BOOKMARK_EVERY_MS;

	w->bookmark_ms = now < before_end && before_end < next ? before_end : next;
	assert(w->bookmark_ms > now);
}

/* Nothing to send: is it time for a bookmark, or to end? Else sleep until one of both, or an event. The bookmark comes first: a server that was not
 * scheduled between the two times owes it all the same. */
static void watching_idle(struct watching *w)
{
	int64_t now = clock_mono_ms(), revision = cache_watch_revision(w->watcher);

	if (w->options.allow_bookmarks && now >= w->bookmark_ms) {
		watching_plan_bookmark(w, now);
		if (revision > w->shown_revision) {
			watching_show_bookmark(w, revision, false);
			return;
		}
	}
	if (now >= w->ends_ms || http_is_draining(w->q->x)) {
		w->is_over = true;
		return;
	}
	http_set_alarm(w->q->x, w->options.allow_bookmarks ? MIN(w->ends_ms, w->bookmark_ms) : w->ends_ms);
}

static void watching_make_error(struct watching *w)
{
	struct request *q = w->q;

	watching_begin(w, "ERROR");
	json_encode(&w->made, status_to_json(&q->st, q->a));
	watching_end(w, "ERROR");
}

static void watching_make_expired(struct watching *w, int64_t from)
{
	struct request *q = w->q;

	status_expired(&q->st, "too old resource version: %lld (%lld)", (long long)from,
		(long long)cache_revision(q->server->options.cache));
	watching_make_error(w);
}

static void watching_next_event(struct watching *w)
{
	enum watch_type type;

	w->current = cached_unref(w->current);
	switch (cache_watch_next(w->watcher, &type, &w->current)) {
	case CACHE_NEXT_EVENT:
		if (conversion_is_needed(w->q, w->current)) {
			watching_convert(w, type, w->current);
			watching_show_converted(w);
		} else {
			watching_show(w, type, w->current);
		}
		break;
	case CACHE_NEXT_NONE:
		watching_idle(w);
		break;
	case CACHE_NEXT_LOST:
		metrics_count_terminated(w->counted_initial);
		w->is_over = true;
		break;
	case CACHE_NEXT_RESTORED:
		w->watcher = cache_watch_close(w->watcher);
		watching_make_expired(w, w->shown_revision);
		break;
	}
}

static void watching_advance(struct watching *w)
{
	w->shown = cached_unref(w->shown);
	if (w->converting) {
		watching_show_converted(w);
	} else if (w->snapshot) {
		watching_next_existing(w);
	} else if (w->watcher) {
		watching_next_event(w);
	} else {
		w->is_over = true;
	}
}

/* True when there is a piece to copy from. */
static bool watching_has_piece(struct watching *w)
{
	while (w->piece < w->n_pieces && w->pieces[w->piece].n == 0) {
		w->piece++;
	}
	if (w->piece < w->n_pieces) {
		return true;
	}
	if (w->n_pieces > 1) { /* a plain event */
		watching_set_pieces(w, &event_tail, 1);
		return true;
	}
	w->n_pieces = w->piece = 0;
	return false;
}

static size_t watching_copy(struct watching *w, char *p, size_t max)
{
	assert(w->piece < w->n_pieces && w->n_pieces <= PIECES_MAX);
	struct str *piece = &w->pieces[w->piece];
	size_t n = MIN(max, piece->n);

	memcpy(p, piece->p, n);
	*piece = (struct str){piece->p + n, piece->n - n};
	return n;
}

static ssize_t watching_read(void *ctx, struct http_exchange *x, char *p, size_t max)
{
	struct watching *w = ctx;
	size_t n = 0;

	(void)x;
	while (n < max && !w->is_over) {
		bool was_initial = w->snapshot != NULL;
		if (!watching_has_piece(w)) {
			watching_advance(w);
			if (!watching_has_piece(w) && !(was_initial && !w->snapshot)) {
				break;
			}
			continue;
		}
		n += watching_copy(w, p + n, max - n);
	}
	return n > 0 ? (ssize_t)n : w->is_over ? -1 : 0;
}

static void watching_closed(void *ctx, struct http_exchange *x)
{
	struct watching *w = ctx;

	(void)x;
	w->converting = conversion_free(w->converting);
	w->watcher = cache_watch_close(w->watcher);
	w->snapshot = cache_snapshot_unref(w->snapshot);
	w->current = cached_unref(w->current);
	w->shown = cached_unref(w->shown);
	buf_done(&w->made);
}

static const struct http_stream_ops watching_ops = {.read = watching_read, .closed = watching_closed};

static void watching_wake(void *ctx)
{
	struct watching *w = ctx;

	http_stream_wake(w->q->x);
}

/* ---- starting ---- */

static void watching_stream(struct watching *w)
{
	bool is_protobuf = w->q->media.format == MEDIA_PROTOBUF;

	reply_headers(w->q, is_protobuf ? STR("application/vnd.kubernetes.protobuf;stream=watch") : STR("application/json"));
	request_audit_started(w->q, 200);
	http_reply_stream(w->q->x, 200, HTTP_LENGTH_UNKNOWN, true, &watching_ops, w);
}

/* resumes: the client has named the revision. */
static void watching_open(struct watching *w, int64_t from, bool resumes)
{
	assert(!w->watcher && from >= 0);
	struct request *q = w->q;
	const struct cache_watch_options options = {.kind = q->route.kind,
		.filter = w->filter,
		.from_revision = from,
		.resumes = resumes,
		.wake = watching_wake,
		.ctx = w};
	int r = cache_watch_open(q->server->options.cache, &w->watcher, &options);

	if (r == CACHE_EXPIRED) {
		watching_make_expired(w, from);
		watching_stream(w);
	} else if (r < 0) {
		status_set(&w->q->st, 429, REASON_TOO_MANY_REQUESTS, "Too many watches, please try again later.");
		w->q->st.retry_after_s = 1;
		buf_done(&w->made);
		w->snapshot = cache_snapshot_unref(w->snapshot);
		reply_status(w->q);
	} else {
		w->shown_revision = from;
		watching_stream(w);
	}
}

static void watching_open_existing(struct request *q)
{
	struct watching *w = q->state;
	assert(!w->snapshot);

	w->snapshot = cache_snapshot(q->server->options.cache, q->route.kind);
	cache_iter_init(&w->existing, w->snapshot, &w->filter, STR(""));
	w->marks_initial_end = w->options.allow_bookmarks;
	watching_open(w, cache_snapshot_revision(w->snapshot), false);
}

static void watching_open_newest(struct request *q)
{
	watching_open(q->state, cache_revision(q->server->options.cache), false);
}

static bool watching_waited(struct request *q)
{
	if (q->wait.result == STORAGE_OK) {
		return true;
	}
	struct watching *w = q->state;
	if (q->wait.wanted > 0) {
		request_set_future_version(q, q->wait.wanted);
		/* A start that is gone, or has not come, is reported inside the stream, as in kube-apiserver. */
		assert(!w->watcher && !w->snapshot && w->q->st.code != 0);
		watching_make_error(w);
		watching_stream(w);
	} else {
		buf_done(&w->made);
		request_storage_failed(q, q->wait.result, q->wait.message, false);
	}
	return false;
}

static void watching_waited_existing(struct request *q)
{
	if (watching_waited(q)) {
		watching_open_existing(q);
	}
}

static void watching_waited_newest(struct request *q)
{
	if (watching_waited(q)) {
		watching_open_newest(q);
	}
}

/* The start that resourceVersion and sendInitialEvents mean (kube's "Semantics for watch"). */
static void watching_choose(struct request *q, struct watching *w)
{
	const struct list_options *o = &w->options;
	bool has_version = o->resource_version.n > 0;
	bool wants_existing = o->has_send_initial ? o->send_initial : o->version == 0;

	if (!has_version) {
		request_wait_fresh(q, wants_existing ? watching_waited_existing : watching_waited_newest);
	} else if (wants_existing && o->version > cache_revision(q->server->options.cache)) {
		request_wait_revision(q, o->version, FUTURE_TIMEOUT_MS, watching_waited_existing);
	} else if (wants_existing) {
		watching_open_existing(q);
	} else if (o->version == 0) {
		watching_open_newest(q);
	} else {
		watching_open(w, o->version, true);
	}
}

/* /watch/.../NAME is a watch of that name. */
static void watching_add_name(struct watching *w)
{
	struct request *q = w->q;
	struct field_term *terms = arena_array(q->a, struct field_term, w->fields.n + 1);

	if (w->fields.n > 0) {
		memcpy(terms, w->fields.v, w->fields.n * sizeof(*terms));
	}
	terms[w->fields.n] = (struct field_term){.path = STR("metadata.name"), .value = q->route.name, .field = -1};
	w->fields = (struct field_selector){terms, w->fields.n + 1};
	w->filter.fields = &w->fields;
}

/* A selector beside the name in the path must say the same. */
static int watching_check_name(const struct watching *w)
{
	struct request *q = w->q;
	struct str name;

	if (q->route.name.n == 0 || w->fields.n == 0 ||
	    (field_selector_requires(&w->fields, FIELD_TERM_NAME, &name) && str_eq(name, q->route.name))) {
		return 0;
	}
	status_bad_request(&q->st, "fieldSelector metadata.name doesn't match requested name");
	return 1;
}

static int64_t watch_duration_ms(const struct list_options *o)
{
	uint32_t random;

	if (o->timeout_s > 0) {
		return MIN(o->timeout_s, (int64_t)1 << 31) * 1000;
	}
	random_bytes(&random, sizeof(random));
	return (DEFAULT_MIN_S + (int64_t)(random % DEFAULT_MIN_S)) * 1000;
}

static int watching_parse(struct watching *w)
{
	struct request *q = w->q;

	if (list_options_parse(&w->options, &q->route.params, true, &q->st) ||
	    selectors_parse(q, &w->options, &w->labels, &w->fields, &w->filter) || watching_check_name(w) ||
	    list_version_parse(&w->options, true, &q->st)) {
		return 1;
	}
	if (q->media.as == AS_TABLE && include_object_parse(&w->include, params_get(&q->route.params, "includeObject"), &q->st)) {
		return 1;
	}
	if (q->route.name.n > 0) {
		watching_add_name(w);
	}
	return 0;
}

void verb_watch(struct request *q)
{
	struct watching *w = arena_new(q->a, struct watching);
	int64_t now = clock_mono_ms();

	w->q = q;
	w->include = INCLUDE_METADATA;
	q->state = w;
	if (watching_parse(w)) {
		reply_status(q);
		return;
	}
	if (!request_is_cache_ready(q)) {
		return;
	}
	w->type_text = show_type(q->route.kind, q->route.version, q->a);
	w->counted = metrics_watched(q->server->metrics, q->route.group, q->route.version_name, q->route.resource);
	w->counted_initial = metrics_watched(q->server->metrics, q->route.group, STR(""), q->route.resource);
	w->ends_ms = now + watch_duration_ms(&w->options);
	watching_plan_bookmark(w, now);
	buf_init(&w->made, RESPONSE_CEILING);
	watching_choose(q, w);
}
