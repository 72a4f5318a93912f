/* Nearly every answer is bytes that are there already, behind the kind and apiVersion of the
 * door: that way is as short as can be. Every other form (tables, YAML, indented, other doors)
 * is made as JSON text in memory first, and charged to the budget of reads before it waits for a
 * slow client. */
#include "server/request/respond.h"

#include "api/model/gotext.h"
#include "api/model/protobuf_write.h"
#include "server/parse/gzip.h"
#include "server/parse/warnings.h"
#include "server/request/limits.h"
#include "server/request/protobuf_items.h"
#include "server/request/request_audit.h"

enum { LARGE_ANSWER = 16 << 10 }; /* bytes: smaller ones are bounded by the number of requests */

static void add_warnings(struct request *q)
{
	const struct str *headers;
	size_t n = warnings_to_headers(&headers, q->warnings, q->n_warnings, q->a);

	for (size_t i = 0; i < n; i++) {
		http_add_header(q->x, "Warning", headers[i]);
	}
}

void reply_headers(struct request *q, struct str content_type)
{
	timing_pass(q, STEP_ENCODED);
	http_add_header(q->x, "Audit-Id", q->audit_id);
	http_add_header(q->x, "Cache-Control", STR("no-cache, private"));
	http_add_header(q->x, "Content-Type", content_type);
	if (q->n_warnings > 0) {
		add_warnings(q);
	}
}

static void reply_bytes(struct request *q, unsigned code, struct str body)
{
	struct bytes *part = bytes_dup(body);

	http_reply_bytes(q->x, code, &part, 1);
}

static void reply_gzip(struct request *q, unsigned code, struct str body)
{
	struct buf packed;

	buf_init(&packed, RESPONSE_CEILING);
	gzip_all(&packed, body);
	http_add_header(q->x, "Content-Encoding", STR("gzip"));
	http_add_header(q->x, "Vary", STR("Accept-Encoding"));
	reply_bytes(q, code, buf_str(&packed));
	buf_done(&packed);
}

void reply_buf(struct request *q, unsigned code, struct buf *b)
{
	struct str body = buf_str(b);

	if (b->is_over) {
		http_reply(q->x, 500, STR("the answer is too large\n"));
	} else if (q->media.accepts_gzip && body.n >= GZIP_MIN_BYTES) {
		reply_gzip(q, code, body);
	} else {
		reply_bytes(q, code, body);
	}
	buf_done(b);
}

/* Of an answer that is made in memory, and waits there until the client has taken it. Writes have happened: they are answered. */
static bool may_answer(struct request *q, size_t n)
{
	return n < LARGE_ANSWER || !request_charge(q, n) || q->class != CLASS_READ;
}

void reply_made(struct request *q, unsigned code, struct buf *body, struct str content_type)
{
	if (!may_answer(q, body->n)) {
		buf_done(body);
		reply_status(q);
		return;
	}
	reply_headers(q, content_type);
	reply_buf(q, code, body);
}

void reply_json_buf_as(struct request *q, unsigned code, struct buf *text, struct str content_type)
{
	struct buf out;

	request_audit_answer_object(q, buf_str(text));
	buf_init(&out, RESPONSE_CEILING);
	media_write(&out, &q->media, buf_str(text));
	buf_done(text);
	reply_made(q, code, &out, content_type);
}

/* JSON text in the client's format, with the usual headers. */
void reply_json_buf(struct request *q, unsigned code, struct buf *text)
{
	reply_json_buf_as(q, code, text, media_content_type(&q->media));
}

void reply_json_as(struct request *q, unsigned code, const struct json *j, struct str content_type)
{
	struct buf text;

	buf_init(&text, RESPONSE_CEILING);
	json_encode(&text, j);
	reply_json_buf_as(q, code, &text, content_type);
}

void reply_json(struct request *q, unsigned code, const struct json *j)
{
	reply_json_as(q, code, j, media_content_type(&q->media));
}

void reply_status(struct request *q)
{
	media_of_status(&q->media, http_header(q->x, "Accept"), http_header(q->x, "Accept-Encoding"), http_header(q->x, "User-Agent"),
			params_get(&q->route.params, "pretty"));
	if (q->st.retry_after_s > 0) {
		q->st.has_details = true;
		http_add_header(q->x, "Retry-After", arena_printf(q->a, "%d", q->st.retry_after_s));
	}
	struct json *status = status_to_json(&q->st, q->a);
	/* Upstream's audit shows no Status of these. */
	if (q->st.code == 406) {
		request_audit_answer_bare(q);
	}
	request_audit_answer_status(q, status);
	reply_json(q, (unsigned)q->st.code, status);
	request_audit_started(q, (unsigned)q->st.code);
}

void reply_success(struct request *q, const struct json *status)
{
	request_audit_answer_status(q, status);
	reply_json(q, 200, status);
}

void reply_text(struct request *q, unsigned code, struct str text)
{
	reply_headers(q, STR("text/plain; charset=utf-8"));
	http_reply(q->x, code, text);
}

void reply_page_not_found(struct request *q)
{
	http_add_header(q->x, "X-Content-Type-Options", STR("nosniff"));
	reply_text(q, 404, STR("404 page not found\n"));
	request_audit_started(q, 404);
}

/* ---- objects ---- */

struct str show_type(const struct kind *k, const struct door *d, struct arena *a)
{
	struct str version = door_api_version(d, a);

	return arena_printf(a, "{\"kind\":\"%s\",\"apiVersion\":\"" STR_FMT "\",", k->kind, STR_ARG(version));
}

struct table_world request_table_world(const struct request *q)
{
	const struct kind *pods = kind_by_hub(STR(""), STR("pods"));

	bool are_ours = pods && door_is_visible(&pods->doors[0], q->server->options.is_standalone);

	return (struct table_world){.cache = q->server->options.cache, .pods = are_ours ? pods : NULL};
}

/* A copy only where there is more than one piece. */
static struct str join_pieces(const struct cached *o, const struct door *d, struct arena *a)
{
	size_t n = cached_shown_size(o, d), n_pieces = cached_pieces(o, d);

	if (n_pieces == 1) {
		return cached_piece(o, d, 0);
	}
	char *text = arena_text(a, n), *end = text;
	for (size_t i = 0; i < n_pieces; i++) {
		struct str piece = cached_piece(o, d, i);
		memcpy(end, piece.p, piece.n);
		end += piece.n;
	}
	return (struct str){text, n};
}

struct str show_body(const struct cached *o, const struct door *d, struct arena *a)
{
	struct json *hub, *shown;
	struct buf out;
	size_t at;

	if (!d->from_hub) {
		return join_pieces(o, d, a);
	}
	if (json_parse(&hub, a, cached_text(o, a), BODY_JSON_LIMITS, &at)) {
		return cached_body(o, a);
	}
	shown = json_copy(a, d->from_hub(hub, a));
	json_remove(shown, STR("kind"));
	json_remove(shown, STR("apiVersion"));
	buf_init(&out, RESPONSE_CEILING);
	json_encode(&out, shown);
	struct str text = arena_dup(a, buf_str(&out));
	buf_done(&out);
	return (struct str){text.p + 1, text.n - 1};
}

static bool show_table(struct buf *out, struct request *q, const struct cached *o, enum include_object include)
{
	const struct table_world world = request_table_world(q);
	struct str meta = o->revision > 0 ? arena_printf(q->a, "{\"resourceVersion\":\"%lld\"}", (long long)o->revision) : STR("{}");

	return table_begin(out, q->route.body_kind, q->route.body_door, &q->media, meta, true) &&
		table_row(out, q->route.body_kind, q->route.body_door, &q->media, include, o, true, &world, q->a) &&
		table_end(out);
}

bool show_object(struct buf *out, struct request *q, const struct cached *o, enum include_object include)
{
	if (q->media.as == AS_TABLE) {
		return show_table(out, q, o, include);
	}
	if (q->media.as == AS_PARTIAL) {
		return partial_object(out, &q->media, o, q->route.body_door);
	}
	return buf_add_str(out, show_type(q->route.body_kind, q->route.body_door, q->a)) &&
		buf_add_str(out, show_body(o, q->route.body_door, q->a));
}

bool show_protobuf(struct buf *out, const struct request *q, const struct bytes *message)
{
	const struct media *m = &q->media;
	const bool is_partial = m->as == AS_PARTIAL;
	struct protobuf_out head;

	protobuf_out_init(&head, TEXT_MAX);
	protobuf_put_envelope_head(&head, is_partial ? str_of(meta_version(m)) : door_api_version(q->route.body_door, q->a),
		is_partial ? STR("PartialObjectMetadata") : str_of(q->route.body_kind->kind), message->n);
	buf_reserve(out, protobuf_out_size(&head) + message->n + protobuf_envelope_tail.n);
	buf_add_str(out, protobuf_out_str(&head));
	buf_add_str(out, bytes_str(message));
	protobuf_out_done(&head);
	return buf_add_str(out, protobuf_envelope_tail);
}

/* The common case: nothing is parsed or formatted, bytes that are there already are copied once behind their kind and apiVersion. */
static bool is_plain(const struct request *q, size_t n)
{
	const struct media *m = &q->media;

	return m->as == AS_OBJECT && m->format == MEDIA_JSON && !m->pretty && !q->route.body_door->from_hub &&
		!(m->accepts_gzip && n >= GZIP_MIN_BYTES);
}

static void reply_plain(struct request *q, unsigned code, struct str shown)
{
	struct str type = show_type(q->route.body_kind, q->route.body_door, q->a);
	if (!may_answer(q, shown.n)) {
		reply_status(q);
		return;
	}
	struct bytes *body = bytes_new(type.n + shown.n + 1);

	memcpy(body->p, type.p, type.n);
	memcpy(body->p + type.n, shown.p, shown.n);
	body->p[type.n + shown.n] = '\n';
	request_audit_answer_object(q, (struct str){body->p, type.n + shown.n});
	reply_headers(q, STR("application/json"));
	http_reply_bytes(q->x, code, &body, 1);
}

static void reply_protobuf(struct request *q, unsigned code, const struct cached *o, bool is_kept)
{
	const struct route *r = &q->route;
	const enum protobuf_part part = q->media.as == AS_PARTIAL ? PROTOBUF_METADATA : PROTOBUF_WHOLE;
	struct buf *audited = request_audit_answer_buf(q), out;
	struct bytes *message = is_kept ? protobuf_items_get(q->server->protobuf_items, o, r->body_door, part)
					: protobuf_item_make(o, r->body_door, part);

	if (!message) {
		status_internal(&q->st, "the object could not be decoded");
		reply_status(q);
		return;
	}
	if (audited) {
		show_object(audited, q, o, INCLUDE_METADATA);
	}
	buf_init(&out, RESPONSE_CEILING);
	show_protobuf(&out, q, message);
	bytes_unref(message);
	reply_made(q, code, &out, media_content_type(&q->media));
}

static void reply_shown(struct request *q, unsigned code, const struct cached *o, bool is_kept)
{
	const struct media *m = &q->media;
	enum include_object include = INCLUDE_METADATA;
	struct buf text;

	if (is_plain(q, cached_shown_size(o, q->route.body_door))) {
		reply_plain(q, code, show_body(o, q->route.body_door, q->a));
		return;
	}
	if (m->format == MEDIA_PROTOBUF) {
		reply_protobuf(q, code, o, is_kept);
		return;
	}
	if (m->as == AS_TABLE && include_object_parse(&include, params_get(&q->route.params, "includeObject"), &q->st)) {
		reply_status(q);
		return;
	}
	buf_init(&text, RESPONSE_CEILING);
	show_object(&text, q, o, include);
	reply_json_buf(q, code, &text);
}

void reply_cached(struct request *q, unsigned code, const struct cached *o)
{
	reply_shown(q, code, o, true);
}

void reply_object(struct request *q, unsigned code, const struct object *o)
{
	struct buf stored;
	_cleanup_(cached_unrefp) struct cached *shown = NULL;
	struct str rest;

	rest = o->kind->is_namespaced ? arena_printf(q->a, STR_FMT "/" STR_FMT, STR_ARG(o->meta.ns), STR_ARG(o->meta.name))
				      : o->meta.name;
	buf_init(&stored, RESPONSE_CEILING);
	object_encode_stored(&stored, o, &o->kind->doors[0]);
	shown = cached_new(o->kind, rest, buf_str(&stored), o->mod_revision, o->mod_revision);
	buf_done(&stored);
	if (!shown) {
		status_internal(&q->st, "the object could not be encoded");
		reply_status(q);
		return;
	}
	reply_shown(q, code, shown, false);
}

bool reply_stored(struct request *q, unsigned code, struct str stored, int64_t revision)
{
	struct str body = cached_body_of(q->route.body_kind, stored, revision, q->a);
	bool is_at_hand =
		body.n > 0 && is_plain(q, body.n) && !cached_body_hides_digest(q->route.body_kind, body, q->route.body_door);

	if (is_at_hand) {
		reply_plain(q, code, body);
	}
	return is_at_hand;
}
