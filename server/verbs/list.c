/* LIST: a page of a snapshot. The cache hands out counted bytes; a long list is written from them while it is sent, never held twice. */
#include "server/verbs/list.h"

#include "api/model/gotext.h"
#include "server/parse/gzip.h"
#include "server/request/agreed_version.h"
#include "server/request/gzip_list.h"
#include "server/request/request_audit.h"
#include "server/request/respond.h"
#include "server/request/table.h"
#include "server/request/wait.h"
#include "server/verbs/list_protobuf.h"
#include "server/verbs/verbs.h"

/* As upstream waits for a version that has not come (surprises.md 27). */
#define FUTURE_TIMEOUT_MS 3000
/* Smaller ones are made at once: one buffer costs less than a stream. */
#define STREAM_MIN_BYTES ((size_t)64 << 10)

static const char expired_continue[] =
	"The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue "
	"parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided "
	"token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was "
	"returned and now may show up in the list.";

int selectors_parse(struct request *q, struct list_options *o, struct label_selector *labels, struct field_selector *fields,
		    struct cache_filter *filter)
{
	if (label_selector_parse(labels, o->label_selector, q->a, &q->st) ||
	    field_selector_parse(fields, o->field_selector, q->route.kind, q->route.door, q->a, &q->st) ||
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

	return field_selector_requires(&l->fields, FIELD_TERM_NAME, &name) && (l->filter.ns.n > 0 || !q->route.kind->is_namespaced);
}

/* There is another page when there are more objects, selected or not. */
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

	l->snapshot = cache_snapshot(q->server->options.cache, q->route.kind);
	if (agreed_version_can_read(q)) {
		listing_found(q, l);
	}
}

/* Tokens of a namespace leave it out; those across namespaces name one. */
static struct str start_behind(const struct request *q, const struct cached *last)
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

/* The other way round: what a token says, of a whole key. */
static struct str token_start(const struct request *q, struct str key)
{
	struct str ns = request_ns(q);
	size_t n = ns.n > 0 ? ns.n + 1 : 0;

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

static void listing_at_least(struct request *q, int64_t revision, void (*ready)(struct request *q), void (*waited)(struct request *q))
{
	if (revision > cache_revision(q->server->options.cache)) {
		request_wait_revision(q, revision, FUTURE_TIMEOUT_MS, waited);
	} else {
		ready(q);
	}
}

/* Which snapshot the options mean: the table in kube's "Resource versions" API concepts, surprises.md 28. */
static void listing_choose(struct request *q, struct listing *l)
{
	const struct list_options *o = &l->options;
	bool has_version = o->resource_version.n > 0;
	bool is_any = has_version && o->version == 0;
	bool is_paged = o->limit > 0 || l->is_in_pages;
	bool is_exact = o->match == MATCH_EXACT || (o->match == MATCH_UNSET && has_version && !is_any && is_paged);
	/* What has just been created is to be deleted, too: any version may be shown, so the present one. */
	bool is_newest = !has_version || (is_any && (is_exact || l->is_in_pages));

	/* resourceVersion=0 means any state, and then upstream ignores the limit (surprises.md
	 * 28). */
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

	if (list_options_parse(o, &q->route.params, false, &q->st) || selectors_parse(q, o, &l->labels, &l->fields, &l->filter)) {
		return 1;
	}
	return o->continue_token.n > 0 ? listing_parse_token(q, l) : list_version_parse(o, false, &q->st);
}

void listing_run(struct request *q, struct listing *l, void (*next)(struct request *q, struct listing *l))
{
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

/* ---- the answer ---- */

/* Item 0 is the head, items are counted from 1, and behind them is the tail. Part 0 is what comes before an item, then come its body's pieces. */
struct list_place {
	size_t item, part;
};

struct list_stream {
	struct listing listing;
	const struct door *door;
	struct str head;             /* up to and including `"items":[` */
	struct list_place place;     /* which piece is next */
	struct str rest;             /* of the one that is being written */
	bool is_gzip;
	struct gzip_list gzip;
};

#define LIST_TAIL STR("]}\n")

static struct str list_metadata(struct request *q, const struct listing *l)
{
	int64_t revision = cache_snapshot_revision(l->snapshot);
	bool has_selector = l->filter.labels || l->filter.fields;
	const struct cached *last = l->n_items > 0 ? l->items[l->n_items - 1] : NULL;
	struct str token, remaining = STR("");

	if (!l->is_limited) {
		return arena_printf(q->a, "{\"resourceVersion\":\"%lld\"}", (long long)revision);
	}
	token = continue_token_make(&(struct continue_token){revision, start_behind(q, last)}, q->a);
	if (!has_selector) {
		remaining = arena_printf(q->a, ",\"remainingItemCount\":%zu", l->n_remaining);
	}
	return arena_printf(q->a, "{\"resourceVersion\":\"%lld\",\"continue\":\"" STR_FMT "\"" STR_FMT "}", (long long)revision,
			    STR_ARG(token), STR_ARG(remaining));
}

/* The head; then of each item `{` or `,{` and its body's pieces; last the tail. False: there are no more. */
static bool list_piece(const struct list_stream *s, struct list_place *at, struct str *ret)
{
	const struct listing *l = &s->listing;

	if (at->item == 0) {
		*ret = s->head;
	} else if (at->item <= l->n_items) {
		const struct cached *o = l->items[at->item - 1];
		*ret = at->part > 0 ? cached_piece(o, s->door, at->part - 1) : at->item == 1 ? STR("{") : STR(",{");
		if (at->part++ < cached_pieces(o, s->door)) {
			return true;
		}
	} else if (at->item == l->n_items + 1) {
		*ret = LIST_TAIL;
	} else {
		return false;
	}
	*at = (struct list_place){.item = at->item + 1};
	return true;
}

static uint64_t list_length(const struct list_stream *s)
{
	const struct listing *l = &s->listing;
	uint64_t n = s->head.n + LIST_TAIL.n + (l->n_items > 0 ? 2 * l->n_items - 1 : 0);

	for (size_t i = 0; i < l->n_items; i++) {
		n += cached_shown_size(l->items[i], s->door);
	}
	return n;
}

static bool list_next_piece(struct list_stream *s)
{
	while (s->rest.n == 0) {
		if (!list_piece(s, &s->place, &s->rest)) {
			return false;
		}
	}
	return true;
}

static ssize_t list_read_plain(struct list_stream *s, char *p, size_t max)
{
	size_t n = 0;

	while (n < max && list_next_piece(s)) {
		size_t part = MIN(max - n, s->rest.n);
		memcpy(p + n, s->rest.p, part);
		s->rest = (struct str){s->rest.p + part, s->rest.n - part};
		n += part;
	}
	return n > 0 ? (ssize_t)n : -1;
}

static ssize_t list_read_gzip(struct list_stream *s, char *p, size_t max)
{
	size_t n = gzip_list_read(&s->gzip, p, max);

	return n > 0 ? (ssize_t)n : -1;
}

static ssize_t list_read(void *ctx, struct http_exchange *x, char *p, size_t max)
{
	struct list_stream *s = ctx;

	(void)x;
	return s->is_gzip ? list_read_gzip(s, p, max) : list_read_plain(s, p, max);
}

static void list_closed(void *ctx, struct http_exchange *x)
{
	struct list_stream *s = ctx;

	(void)x;
	gzip_list_done(&s->gzip);
	listing_done(&s->listing);
}

static const struct http_stream_ops list_stream_ops = {.read = list_read, .closed = list_closed};

static void audit_list(struct request *q, const struct list_stream *s)
{
	struct buf *out = request_audit_answer_buf(q);
	struct list_place at = {0, 0};
	struct str piece;

	while (out && list_piece(s, &at, &piece)) {
		buf_add_str(out, piece);
	}
}

static void reply_list_stream(struct request *q, struct list_stream *s, uint64_t length)
{
	audit_list(q, s);
	reply_headers(q, media_content_type(&q->media));
	if (q->media.accepts_gzip && length >= GZIP_MIN_BYTES) {
		s->is_gzip = true;
		s->gzip = (struct gzip_list){
			.runs = q->server->gzip_runs,
			.head = s->head,
			.tail = LIST_TAIL,
			.door = s->door,
			.items = s->listing.items,
			.n_items = s->listing.n_items,
		};
		/* Nobody knows before all of it is compressed. */
		length = HTTP_LENGTH_UNKNOWN;
		http_add_header(q->x, "Content-Encoding", STR("gzip"));
		http_add_header(q->x, "Vary", STR("Accept-Encoding"));
	}
	http_reply_stream(q->x, 200, length, false, &list_stream_ops, s);
}

static void reply_list_small(struct request *q, struct list_stream *s, size_t length)
{
	char *text = arena_text(q->a, length);
	ssize_t n = list_read_plain(s, text, length);

	listing_done(&s->listing);
	request_audit_answer_object(q, (struct str){text, (size_t)n});
	reply_headers(q, media_content_type(&q->media));
	http_reply(q->x, 200, (struct str){text, (size_t)n});
}

static void reply_list_plain(struct request *q, struct listing *l)
{
	struct list_stream *s = arena_new(q->a, struct list_stream);
	struct str version = door_api_version(q->route.door, q->a), meta = list_metadata(q, l);
	uint64_t length;

	s->listing = *l;
	s->door = q->route.door;
	s->head = arena_printf(q->a, "{\"kind\":\"%s\",\"apiVersion\":\"" STR_FMT "\",\"metadata\":" STR_FMT ",\"items\":[",
			       q->route.kind->list_kind, STR_ARG(version), STR_ARG(meta));
	length = list_length(s);
	if (length < STREAM_MIN_BYTES) {
		reply_list_small(q, s, (size_t)length);
	} else {
		reply_list_stream(q, s, length);
	}
}

static bool list_items_partial(struct buf *out, struct request *q, const struct listing *l)
{
	struct str meta = list_metadata(q, l);

	buf_printf(out, "{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"meta.k8s.io/%s\",\"metadata\":" STR_FMT ",\"items\":",
		   q->media.is_v1beta1 ? "v1beta1" : "v1", STR_ARG(meta));
	if (l->n_items == 0) {
		return BUF_LITERAL(out, "null}");
	}
	for (size_t i = 0; i < l->n_items; i++) {
		buf_addc(out, i == 0 ? '[' : ',');
		partial_object(out, &q->media, l->items[i], q->route.door);
	}
	return BUF_LITERAL(out, "]}");
}

static bool list_items_table(struct buf *out, struct request *q, const struct listing *l, enum include_object include)
{
	const struct table_world world = request_table_world(q);
	struct arena scratch;
	bool ok = table_begin(out, q->route.kind, q->route.door, &q->media, list_metadata(q, l), true);

	/* Of one object at a time. */
	arena_init(&scratch, (size_t)16 << 20);
	for (size_t i = 0; i < l->n_items && ok; i++) {
		ok = table_row(out, q->route.kind, q->route.door, &q->media, include, l->items[i], i == 0, &world, &scratch);
		arena_clear(&scratch);
	}
	arena_done(&scratch);
	return ok && table_end(out);
}

static bool list_items_whole(struct buf *out, struct request *q, const struct listing *l)
{
	struct str version = door_api_version(q->route.door, q->a), meta = list_metadata(q, l);
	struct arena scratch;

	buf_printf(out, "{\"kind\":\"%s\",\"apiVersion\":\"" STR_FMT "\",\"metadata\":" STR_FMT ",\"items\":[", q->route.kind->list_kind,
		   STR_ARG(version), STR_ARG(meta));
	arena_init(&scratch, (size_t)64 << 20);
	for (size_t i = 0; i < l->n_items; i++) {
		buf_adds(out, i == 0 ? "{" : ",{");
		buf_add_str(out, show_body(l->items[i], q->route.door, &scratch));
		arena_clear(&scratch);
	}
	arena_done(&scratch);
	return BUF_LITERAL(out, "]}");
}

/* The forms that have to be made: tables, partial metadata, indented, YAML, doors with a conversion. */
static void reply_list_made(struct request *q, struct listing *l)
{
	enum include_object include = INCLUDE_METADATA;
	struct buf text;

	if (q->media.as == AS_TABLE && include_object_parse(&include, params_get(&q->route.params, "includeObject"), &q->st)) {
		listing_done(l);
		reply_status(q);
		return;
	}
	buf_init(&text, RESPONSE_CEILING);
	if (q->media.as == AS_TABLE) {
		list_items_table(&text, q, l, include);
	} else if (q->media.as == AS_PARTIAL_LIST) {
		list_items_partial(&text, q, l);
	} else {
		list_items_whole(&text, q, l);
	}
	listing_done(l);
	reply_json_buf(q, 200, &text);
}

void reply_listing(struct request *q, struct listing *l)
{
	bool is_plain = q->media.as == AS_OBJECT && q->media.format == MEDIA_JSON && !q->media.pretty && !q->route.door->from_hub;

	if (is_plain) {
		reply_list_plain(q, l);
	} else if (q->media.format == MEDIA_PROTOBUF && !request_audit_answer_buf(q)) {
		reply_listing_protobuf(q, l, list_metadata(q, l));
	} else {
		reply_list_made(q, l);
	}
}

void verb_list(struct request *q)
{
	listing_run(q, arena_new(q->a, struct listing), reply_listing);
}
