/* The answer to a LIST, in the form that the client asked for: JSON from the cache's bytes, forms that have to be made, protobuf.
 *
 * The cache hands out counted bytes. A long list is written from them while it is sent, and is never held as a whole. */
#include "server/verbs/list.h"

#include "api/model/gotext.h"
#include "api/model/protobuf_write.h"
#include "base/deflate.h"
#include "server/request/agreed_version.h"
#include "server/request/convert.h"
#include "server/request/gzip_list.h"
#include "server/request/limits.h"
#include "server/request/request_audit.h"
#include "server/request/respond.h"
#include "server/request/table.h"

#include <assert.h>

/* Smaller ones are made at once: one buffer costs less than a stream. */
#define STREAM_MIN_BYTES ((size_t)64 << 10)
#define PROBE_MAX ((size_t)1 << 20)

/* ---- plain JSON: pieces of the cache ---- */

/* Item 0 is the head, items are counted from 1, and behind them is the tail. Part 0 is what comes before an item, then come its body's pieces. */
struct list_place {
	size_t item, part;
};

struct list_stream {
	struct listing listing;
	const struct version *version;
	struct str head;         /* up to and including `"items":[` */
	struct str opening;      /* of each item but the first, which has no comma: `,{` and perhaps more */
	struct list_place place; /* which piece is next */
	struct cached *shown;    /* the item that is being written, with its body; NULL: none is */
	struct str rest;         /* of the one that is being written */
	bool is_gzip;
	struct gzip_list gzip;
};

#define LIST_TAIL STR("]}\n")

/* Upstream's items say what they are only where a definition describes their kind. */
static struct str item_opening(struct request *q)
{
	const struct kind *k = q->route.kind;

	return k->life ? arena_printf(q->a, ",{\"apiVersion\":\"" STR_FMT "\",\"kind\":\"%s\",",
				 STR_ARG(version_api_version(q->route.version, q->a)), k->kind)
		       : STR(",{");
}

static struct str list_metadata(struct request *q, const struct listing *l)
{
	int64_t revision = cache_snapshot_revision(l->snapshot);
	bool has_selector = l->filter.labels || l->filter.fields;
	const struct cached *last = l->n_items > 0 ? l->items[l->n_items - 1] : NULL;
	struct str token, remaining = STR("");

	if (!l->is_limited && q->route.kind->life) {
		return arena_printf(q->a, "{\"continue\":\"\",\"resourceVersion\":\"%lld\"}", (long long)revision);
	}
	if (!l->is_limited) {
		return arena_printf(q->a, "{\"resourceVersion\":\"%lld\"}", (long long)revision);
	}
	token = continue_token_make(&(struct continue_token){revision, listing_start_behind(q, last)}, q->a);
	if (!has_selector) {
		remaining = arena_printf(q->a, ",\"remainingItemCount\":%zu", l->n_remaining);
	}
	return arena_printf(q->a, "{\"resourceVersion\":\"%lld\",\"continue\":\"" STR_FMT "\"" STR_FMT "}", (long long)revision,
		STR_ARG(token), STR_ARG(remaining));
}

/* The head; then of each item `{` or `,{` and its body's pieces; last the tail. False: there are no more. */
static bool list_piece(struct list_stream *s, struct list_place *at, struct str *ret)
{
	const struct listing *l = &s->listing;

	if (at->item == 0) {
		*ret = s->head;
	} else if (at->item <= l->n_items) {
		if (at->part == 0) {
			cached_unref(s->shown);
			s->shown = cached_whole(l->items[at->item - 1]);
		}
		struct str first = {s->opening.p + 1, s->opening.n - 1};
		*ret = at->part > 0 ? cached_piece(s->shown, s->version, at->part - 1) : at->item == 1 ? first : s->opening;
		if (at->part++ < cached_pieces(s->shown, s->version)) {
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
	uint64_t n = s->head.n + LIST_TAIL.n + (l->n_items > 0 ? s->opening.n * l->n_items - 1 : 0);

	for (size_t i = 0; i < l->n_items; i++) {
		n += cached_shown_size(l->items[i], s->version);
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

static ssize_t list_read_gzip(struct list_stream *s, struct http_exchange *x, char *p, size_t max)
{
	if (http_is_late(x)) {
		http_stream_wake(x);
		return 0;
	}
	size_t n = gzip_list_read(&s->gzip, p, max);
	return n > 0 ? (ssize_t)n : -1;
}

static ssize_t list_read(void *ctx, struct http_exchange *x, char *p, size_t max)
{
	struct list_stream *s = ctx;

	return s->is_gzip ? list_read_gzip(s, x, p, max) : list_read_plain(s, p, max);
}

static void list_closed(void *ctx, struct http_exchange *x)
{
	struct list_stream *s = ctx;

	(void)x;
	s->shown = cached_unref(s->shown);
	gzip_list_done(&s->gzip);
	listing_done(&s->listing);
}

static const struct http_stream_ops list_stream_ops = {.read = list_read, .closed = list_closed};

static void audit_list(struct request *q, struct list_stream *s)
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
			.version = s->version,
			.opening = s->opening,
			.items = s->listing.items,
			.n_items = s->listing.n_items,
		};
		/* The length is not known before everything is compressed. */
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

	s->shown = cached_unref(s->shown);
	listing_done(&s->listing);
	request_audit_answer_object(q, (struct str){text, (size_t)n});
	reply_headers(q, media_content_type(&q->media));
	http_reply(q->x, 200, (struct str){text, (size_t)n});
}

/* Bytes that are kept for the list alone. */
static size_t listing_held(const struct listing *l)
{
	return l->cap_items * sizeof(*l->items) + (l->converted ? conversion_bytes(l->converted) : 0);
}

static void reply_list_plain(struct request *q, struct listing *l)
{
	struct list_stream *s = arena_new(q->a, struct list_stream);
	struct str version = version_api_version(q->route.version, q->a), meta = list_metadata(q, l);
	uint64_t length;

	s->listing = *l;
	s->version = q->route.version;
	s->head = arena_printf(q->a, "{\"kind\":\"%s\",\"apiVersion\":\"" STR_FMT "\",\"metadata\":" STR_FMT ",\"items\":[",
		q->route.kind->list_kind, STR_ARG(version), STR_ARG(meta));
	s->opening = item_opening(q);
	length = list_length(s);
	if (length < STREAM_MIN_BYTES) {
		reply_list_small(q, s, (size_t)length);
	} else if (!request_may_answer(q, listing_held(l))) {
		listing_done(l);
		reply_status(q);
	} else {
		reply_list_stream(q, s, length);
	}
}

/* ---- forms that have to be made: tables, partial metadata, indented, YAML, versions with a conversion ---- */

/* Each item is made when it is sent. It stands in the whole as it would alone: behind a comma, deeper by two levels, or in YAML as the only one of
 * a list. */
struct list_form {
	struct request *q;
	struct listing listing;
	enum include_object include;
	struct table_world world;
	struct str head, tail;
	struct str opening;    /* of the first item; the others have a comma before it */
	struct buf item, text; /* item: as compact JSON; text: what is being sent */
	struct arena scratch;  /* of one item at a time */
	size_t text_at;
	size_t step; /* 0: the head; then the items; then the tail */
	bool is_gzip;
	struct gzip_form form;
	struct gzip_list gzip;
};

#define FORM_SCRATCH ((size_t)64 << 20)

/* Up to and including the bracket behind `items`, or a table's `rows`. */
static void form_begin(struct buf *out, const struct list_form *f)
{
	struct request *q = f->q;
	struct str meta = list_metadata(q, &f->listing);

	if (q->media.as == AS_TABLE) {
		table_begin(out, q->route.kind, q->route.version, &q->media, meta, true);
	} else if (q->media.as == AS_PARTIAL_LIST) {
		buf_printf(out,
			"{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"meta.k8s.io/%s\",\"metadata\":" STR_FMT
			",\"items\":[",
			q->media.is_v1beta1 ? "v1beta1" : "v1", STR_ARG(meta));
	} else {
		struct str version = version_api_version(q->route.version, q->a);
		buf_printf(out, "{\"kind\":\"%s\",\"apiVersion\":\"" STR_FMT "\",\"metadata\":" STR_FMT ",\"items\":[",
			q->route.kind->list_kind, STR_ARG(version), STR_ARG(meta));
	}
}

static bool form_item(struct buf *out, struct list_form *f, size_t i)
{
	struct request *q = f->q;
	const struct cached *o = f->listing.items[i];
	bool ok = true;

	if (q->media.as == AS_TABLE) {
		ok = table_row(out, q->route.kind, q->route.version, &q->media, f->include, o, true, &f->world, &f->scratch);
	} else if (q->media.as == AS_PARTIAL_LIST) {
		ok = partial_object(out, &q->media, o, q->route.version);
	} else {
		ok = buf_add_str(out, f->opening) && buf_add_str(out, show_body(o, q->route.version, &f->scratch));
	}
	arena_clear(&f->scratch);
	return ok;
}

static void form_init(struct list_form *f, struct request *q, const struct listing *l, enum include_object include)
{
	struct str opening = item_opening(q);

	*f = (struct list_form){.q = q,
		.listing = *l,
		.include = include,
		.world = request_table_world(q),
		.opening = {opening.p + 1, opening.n - 1}};
	buf_init(&f->item, RESPONSE_CEILING);
	buf_init(&f->text, RESPONSE_CEILING);
	arena_init(&f->scratch, FORM_SCRATCH);
}

static void form_done(struct list_form *f)
{
	gzip_list_done(&f->gzip);
	buf_done(&f->item);
	buf_done(&f->text);
	arena_done(&f->scratch);
	listing_done(&f->listing);
}

/* Whole, in memory. */
static void reply_form_made(struct request *q, struct list_form *f)
{
	struct buf text;

	buf_init(&text, RESPONSE_CEILING);
	form_begin(&text, f);
	bool is_null = q->media.as == AS_PARTIAL_LIST && f->listing.n_items == 0;
	if (is_null) {
		buf_truncate(&text, text.n - 1);
		BUF_LITERAL(&text, "null");
	}
	for (size_t i = 0; i < f->listing.n_items; i++) {
		if (i > 0) {
			buf_addc(&text, ',');
		}
		if (!form_item(&text, f, i)) {
			break;
		}
	}
	buf_adds(&text, is_null ? "}" : "]}");
	form_done(f);
	reply_json_buf(q, 200, &text);
}

/* The list without items is made in the client's form, and cut where they belong. False: it cannot be. */
static bool form_frame(struct list_form *f)
{
	const struct media *m = &f->q->media;
	const char *member = m->as == AS_TABLE ? "rows" : "items";
	bool is_yaml = m->format == MEDIA_YAML;
	struct str mark = arena_printf(f->q->a, is_yaml ? "\n%s: []\n" : m->pretty ? "\"%s\": []" : "\"%s\":[]", member);
	struct buf *text = &f->text;
	size_t at;

	form_begin(&f->item, f);
	BUF_LITERAL(&f->item, "]}");
	bool ok = media_write(text, m, buf_str(&f->item));
	buf_clear(&f->item);
	for (at = text->n; ok && at > 0; at--) {
		if (text->n - at >= mark.n && memcmp(text->p + at, mark.p, mark.n) == 0) {
			break;
		}
	}
	if (at == 0) {
		return false;
	}
	/* In YAML the brackets go. */
	size_t end = at + mark.n;
	f->head = arena_dup(f->q->a, (struct str){text->p, is_yaml ? end - 4 : end - 1});
	f->tail = arena_printf(f->q->a, "%s%.*s",
		is_yaml             ? ""
			: m->pretty ? "\n  "
				    : "",
		(int)(text->n - end) + !is_yaml, text->p + end - !is_yaml);
	if (is_yaml) {
		f->head = arena_printf(f->q->a, STR_FMT "\n", STR_ARG(f->head));
	}
	buf_clear(text);
	return true;
}

/* Text has no line ends but those between lines. */
static bool add_indented(struct buf *out, struct str text)
{
	while (text.n > 0 && text.p[text.n - 1] == '\n') {
		text.n--;
	}
	for (size_t at = 0; at < text.n;) {
		const char *end = memchr(text.p + at, '\n', text.n - at);
		size_t n = end ? (size_t)(end - text.p) + 1 - at : text.n - at;
		buf_adds(out, "    ");
		buf_add(out, text.p + at, n);
		at += n;
	}
	return !out->is_over;
}

static bool form_add(struct buf *out, void *ctx, size_t i)
{
	struct list_form *f = ctx;
	const struct media *m = &f->q->media;
	bool is_yaml = m->format == MEDIA_YAML, ok;

	buf_clear(&f->item);
	if (is_yaml) {
		buf_addc(&f->item, '[');
	}
	ok = form_item(&f->item, f, i);
	if (is_yaml) {
		return ok && buf_addc(&f->item, ']') && media_write(out, m, buf_str(&f->item));
	}
	if (i > 0) {
		buf_addc(out, ',');
	}
	if (!m->pretty) {
		return ok && buf_add_str(out, buf_str(&f->item));
	}
	_cleanup_(buf_done) struct buf lines;
	buf_init(&lines, RESPONSE_CEILING);
	buf_addc(out, '\n');
	return ok && media_write(&lines, m, buf_str(&f->item)) && add_indented(out, buf_str(&lines));
}

static size_t form_size(void *ctx, size_t i)
{
	struct list_form *f = ctx;

	return cached_shown_size(f->listing.items[i], f->q->route.version);
}

/* False: an item could not be made. */
static bool form_step(struct list_form *f)
{
	size_t step = f->step++;

	buf_clear(&f->text);
	f->text_at = 0;
	if (step == 0) {
		return buf_add_str(&f->text, f->head);
	}
	return step <= f->listing.n_items ? form_add(&f->text, f, step - 1) : buf_add_str(&f->text, f->tail);
}

static ssize_t form_read_text(struct list_form *f, char *p, size_t max)
{
	size_t n = 0;

	while (n < max && (f->text_at < f->text.n || (f->step < f->listing.n_items + 2 && !http_is_late(f->q->x)))) {
		if (f->text_at == f->text.n && !form_step(f)) {
			return -2;
		}
		size_t part = MIN(max - n, f->text.n - f->text_at);
		memcpy(p + n, f->text.p + f->text_at, part);
		f->text_at += part;
		n += part;
	}
	return (ssize_t)n;
}

static ssize_t form_read(void *ctx, struct http_exchange *x, char *p, size_t max)
{
	struct list_form *f = ctx;
	ssize_t n = 0;
	bool is_end = false;

	if (!f->is_gzip) {
		n = form_read_text(f, p, max);
		is_end = n == 0 && f->step == f->listing.n_items + 2;
	} else if (!http_is_late(x)) {
		n = (ssize_t)gzip_list_read(&f->gzip, p, max);
		is_end = n == 0;
	}
	if (n == 0 && !is_end) {
		http_stream_wake(x);
	}
	return is_end ? -1 : n;
}

static void form_closed(void *ctx, struct http_exchange *x _unused_)
{
	form_done(ctx);
}

static const struct http_stream_ops form_stream_ops = {.read = form_read, .closed = form_closed};

/* kube-apiserver compresses answers from GZIP_MIN_BYTES on, and rows of a Table are far smaller than their objects. So items are made until
 * that size is reached. After PROBE_MAX bytes of objects, the rest is taken to be like them: others wait for this thread.
 * length: of all objects, in bytes. */
static bool form_is_long(struct list_form *f, size_t length)
{
	size_t n = 0, n_seen = 0;
	while (n < GZIP_MIN_BYTES && n_seen < PROBE_MAX && f->step < f->listing.n_items + 2 && form_step(f)) {
		n += f->text.n;
		n_seen += f->step >= 2 && f->step <= f->listing.n_items + 1 ? form_size(f, f->step - 2) : 0;
	}
	if (n < GZIP_MIN_BYTES && n_seen >= PROBE_MAX) {
		n = (size_t)((double)n * (double)length / (double)n_seen);
	}
	f->step = 0;
	f->text_at = 0;
	buf_clear(&f->text);
	return n >= GZIP_MIN_BYTES;
}

static void reply_form_stream(struct request *q, struct list_form *f, size_t length)
{
	reply_headers(q, media_content_type(&q->media));
	if (q->media.accepts_gzip && form_is_long(f, length)) {
		f->is_gzip = true;
		f->form = (struct gzip_form){.size = form_size, .add = form_add, .ctx = f};
		f->gzip = (struct gzip_list){
			.runs = q->server->gzip_runs,
			.head = f->head,
			.tail = f->tail,
			.version = q->route.version,
			.items = f->listing.items,
			.n_items = f->listing.n_items,
			.form = &f->form,
		};
		http_add_header(q->x, "Content-Encoding", STR("gzip"));
		http_add_header(q->x, "Vary", STR("Accept-Encoding"));
	}
	http_reply_stream(q->x, 200, HTTP_LENGTH_UNKNOWN, false, &form_stream_ops, f);
}

static void reply_list_form(struct request *q, struct listing *l)
{
	struct list_form *f = arena_new(q->a, struct list_form);
	enum include_object include = INCLUDE_METADATA;
	size_t length = 0, largest = 0;

	if (q->media.as == AS_TABLE && include_object_parse(&include, params_get(&q->route.params, "includeObject"), &q->st)) {
		listing_done(l);
		reply_status(q);
		return;
	}
	form_init(f, q, l, include);
	for (size_t i = 0; i < l->n_items; i++) {
		size_t n = form_size(f, i);
		length += n;
		largest = MAX(largest, n);
	}
	/* An audited answer is kept whole anyway. */
	if (length < STREAM_MIN_BYTES || q->media.format == MEDIA_PROTOBUF || request_audit_answer_buf(q)) {
		reply_form_made(q, f);
	} else if (!request_may_answer(q, listing_held(l) + 2 * largest)) {
		form_done(f);
		reply_status(q);
	} else if (form_frame(f)) {
		reply_form_stream(q, f, length);
	} else {
		reply_form_made(q, f);
	}
}

/* ---- protobuf ----
 *
 * Protobuf says how long a list is before it begins. So all its messages are made first, a few in each turn, and their lengths kept; of the messages
 * themselves as many as may be held. The others are found again, or encoded again, while the list is sent: a list of any length costs a
 * bounded amount of memory. */

enum {
	HELD_MAX = 4 << 20, /* bytes of messages */
	HEAD_MAX = 12,      /* bytes before a message: number and length */
	/* Bytes of objects: longer lists are measured bit by bit when they are sent, and so their length is not announced. */
	MEASURED_AT_ONCE = 256 << 10,
};

struct item {
	struct bytes *held; /* a reference, or NULL */
	size_t n;
};

struct protobuf_list {
	struct request *q;
	struct listing listing;
	enum protobuf_part part;
	unsigned number; /* of an item */
	struct item *items;
	size_t n_measured; /* of them */
	uint64_t items_n;  /* bytes, with what stands before each */
	struct str metadata_json;
	size_t n_held;   /* bytes */
	struct str head; /* the envelope, and the list's own metadata, where that comes first */
	struct str tail;
	/* what is being written */
	struct str rest;
	struct bytes *message;
	char packed_head[HEAD_MAX];
	size_t step; /* 0: the head; then two for each item; then the tail */
	bool is_gzip;
	struct gzip_form form;
	struct gzip_list gzip;
};

static struct bytes *packed_message(const struct protobuf_list *l, size_t i)
{
	return protobuf_items_get(l->q->server->protobuf_items, l->listing.items[i], l->q->route.version, l->part);
}

static bool packed_is_measured(const struct protobuf_list *l)
{
	return l->n_measured == l->listing.n_items;
}

/* Measures one more item. Returns false when it cannot be read. */
static bool packed_measure(struct protobuf_list *l)
{
	size_t i = l->n_measured;
	struct bytes *message = packed_message(l, i);
	if (!message) {
		return false;
	}
	l->n_measured++;
	l->items[i].n = message->n;
	l->items_n += protobuf_head_size(message->n) + message->n;
	if (l->n_held + message->n <= HELD_MAX) {
		l->n_held += message->n;
		l->items[i].held = message;
	} else {
		bytes_unref(message);
	}
	return true;
}

/* Lists of metadata alone had their numbers the other way round once. */
static void packed_frame(struct protobuf_list *l)
{
	const struct media *m = &l->q->media;
	const bool is_partial = l->part == PROTOBUF_METADATA, is_behind = is_partial && m->is_v1beta1;
	struct arena *a = l->q->a;
	struct protobuf_out metadata, head;
	struct json *tree = NULL;
	size_t at;

	json_parse(&tree, a, l->metadata_json, BODY_JSON_LIMITS, &at);
	protobuf_out_init(&metadata, TEXT_MAX);
	protobuf_put_object(&metadata, &type_list_meta, tree);
	protobuf_put_head(&metadata, is_behind ? 2 : 1, protobuf_out_size(&metadata));

	protobuf_out_init(&head, TEXT_MAX);
	protobuf_put(&head, is_behind ? STR("") : protobuf_out_str(&metadata));
	protobuf_put_envelope_head(&head,
		is_partial ? str_of(m->is_v1beta1 ? "meta.k8s.io/v1beta1" : "meta.k8s.io/v1")
			   : version_api_version(l->q->route.version, a),
		is_partial ? STR("PartialObjectMetadataList") : str_of(l->q->route.kind->list_kind),
		l->items_n + protobuf_out_size(&metadata));
	l->head = arena_dup(a, protobuf_out_str(&head));
	protobuf_out_clear(&head);
	protobuf_put(&head, protobuf_envelope_tail);
	protobuf_put(&head, is_behind ? protobuf_out_str(&metadata) : STR(""));
	l->tail = arena_dup(a, protobuf_out_str(&head));
	protobuf_out_done(&head);
	protobuf_out_done(&metadata);
	l->number = is_behind ? 1 : PROTOBUF_LIST_ITEMS;
}

static void packed_done(struct protobuf_list *l)
{
	for (size_t i = 0; i < l->listing.n_items; i++) {
		bytes_unref(l->items[i].held);
	}
	gzip_list_done(&l->gzip);
	l->message = bytes_unref(l->message);
	l->items = mem_free(l->items);
	listing_done(&l->listing);
}

/* ---- sending ---- */

static struct str packed_head(struct protobuf_list *l, size_t n)
{
	size_t i = 0;

	l->packed_head[i++] = (char)(l->number << 3 | 2);
	for (; n >= 0x80; n >>= 7) {
		l->packed_head[i++] = (char)(n | 0x80);
	}
	l->packed_head[i++] = (char)n;
	return (struct str){l->packed_head, i};
}

/* Returns false at the end of the list, and when an item cannot be encoded. */
static bool packed_next(struct protobuf_list *l)
{
	size_t step = l->step++, item = (step - 1) / 2;

	if (step == 0) {
		l->rest = l->head;
	} else if (item < l->listing.n_items && step % 2) {
		l->rest = packed_head(l, l->items[item].n);
	} else if (item < l->listing.n_items) {
		bytes_unref(l->message);
		l->message = l->items[item].held ? take_ptr(l->items[item].held) : packed_message(l, item);
		l->rest = bytes_str(l->message);
		return l->message && l->message->n == l->items[item].n;
	} else if (step == 2 * l->listing.n_items + 1) {
		l->rest = l->tail;
	} else {
		return false;
	}
	return true;
}

static size_t packed_copy(struct protobuf_list *l, char *p, size_t max)
{
	size_t n = 0;

	while (n < max && (l->rest.n > 0 || packed_next(l))) {
		size_t part = MIN(max - n, l->rest.n);
		if (part > 0) {
			memcpy(p + n, l->rest.p, part);
		}
		l->rest = (struct str){l->rest.p + part, l->rest.n - part};
		n += part;
	}
	return n;
}

/* ---- compressing ---- */

static size_t packed_item_size(void *ctx, size_t i)
{
	const struct protobuf_list *l = ctx;

	return protobuf_head_size(l->items[i].n) + l->items[i].n;
}

static bool packed_item_add(struct buf *out, void *ctx, size_t i)
{
	struct protobuf_list *l = ctx;
	_cleanup_(bytes_unrefp) struct bytes *message = l->items[i].held ? bytes_ref(l->items[i].held) : packed_message(l, i);

	return message && message->n == l->items[i].n && buf_add_str(out, packed_head(l, message->n)) &&
		buf_add_str(out, bytes_str(message));
}

/* In runs, which the next client finds, as those of lists in JSON. */
static void packed_gzip(struct protobuf_list *l)
{
	const struct route *r = &l->q->route;
	const size_t version = (size_t)(r->version - r->kind->versions);

	l->form = (struct gzip_form){
		.id = 1 + (version << 4 | l->number << 1 | (l->part == PROTOBUF_METADATA)),
		.size = packed_item_size,
		.add = packed_item_add,
		.ctx = l,
	};
	l->gzip = (struct gzip_list){
		.runs = l->q->server->gzip_runs,
		.head = l->head,
		.tail = l->tail,
		.version = r->version,
		.items = l->listing.items,
		.n_items = l->listing.n_items,
		.form = &l->form,
	};
}

/* All is measured: it can be said what stands before the items. */
static void packed_begin(struct protobuf_list *l)
{
	packed_frame(l);
	if (l->is_gzip) {
		packed_gzip(l);
	}
}

/* ---- reading ---- */

static ssize_t packed_read(void *ctx, struct http_exchange *x, char *p, size_t max)
{
	struct protobuf_list *l = ctx;

	while (!packed_is_measured(l) && !http_is_late(x)) {
		if (!packed_measure(l)) {
			return -2;
		}
		if (packed_is_measured(l)) {
			packed_begin(l);
		}
	}
	if (!packed_is_measured(l) || (l->is_gzip && http_is_late(x))) {
		http_stream_wake(x);
		return 0;
	}
	size_t n = l->is_gzip ? gzip_list_read(&l->gzip, p, max) : packed_copy(l, p, max);

	return n > 0 ? (ssize_t)n : -1;
}

static void packed_closed(void *ctx, struct http_exchange *x)
{
	(void)x;
	packed_done(ctx);
}

static const struct http_stream_ops packed_stream_ops = {.read = packed_read, .closed = packed_closed};

/* Answers the list, or that of the objects' metadata, in its envelope; metadata_json: the list's own. Takes the listing. */
static void reply_listing_protobuf(struct request *q, struct listing *listing, struct str metadata_json)
{
	struct protobuf_list *l = arena_new(q->a, struct protobuf_list);
	uint64_t length = HTTP_LENGTH_UNKNOWN;
	size_t shown_n = 0;

	l->q = q;
	l->listing = *listing;
	l->metadata_json = metadata_json;
	l->part = q->media.as == AS_PARTIAL_LIST ? PROTOBUF_METADATA : PROTOBUF_WHOLE;
	l->items = mem_zalloc(MAX(l->listing.n_items, (size_t)1) * sizeof(*l->items));
	for (size_t i = 0; i < l->listing.n_items; i++) {
		shown_n += cached_shown_size(l->listing.items[i], q->route.version);
	}
	if (!request_may_answer(
		    q, MIN(shown_n, (size_t)HELD_MAX) + l->listing.n_items * (sizeof(*l->items) + sizeof(*l->listing.items)))) {
		packed_done(l);
		reply_status(q);
		return;
	}
	while (shown_n <= MEASURED_AT_ONCE && !packed_is_measured(l)) {
		if (!packed_measure(l)) {
			status_internal(&q->st, "an object could not be decoded");
			packed_done(l);
			reply_status(q);
			return;
		}
	}
	reply_headers(q, media_content_type(&q->media));
	l->is_gzip = q->media.accepts_gzip && shown_n >= GZIP_MIN_BYTES;
	if (l->is_gzip) {
		http_add_header(q->x, "Content-Encoding", STR("gzip"));
		http_add_header(q->x, "Vary", STR("Accept-Encoding"));
	}
	if (packed_is_measured(l)) {
		packed_begin(l);
		length = l->is_gzip ? HTTP_LENGTH_UNKNOWN : l->head.n + l->items_n + l->tail.n;
	}
	http_reply_stream(q->x, 200, length, false, &packed_stream_ops, l);
}

/* ---- which form ---- */

void reply_listing_shown(struct request *q, struct listing *l)
{
	bool is_plain = q->media.as == AS_OBJECT && q->media.format == MEDIA_JSON && !q->media.pretty &&
		version_shows_hub(q->route.version);

	if (is_plain) {
		reply_list_plain(q, l);
	} else if (q->media.format == MEDIA_PROTOBUF && !request_audit_answer_buf(q)) {
		reply_listing_protobuf(q, l, list_metadata(q, l));
	} else {
		reply_list_form(q, l);
	}
}
