/* Answers. Nearly every answer is bytes that are there already, behind the kind and apiVersion of
 * the version asked for: that way is short. Every other form (tables, YAML, indented JSON, versions
 * with a conversion) is first made as JSON text in memory. The front end counts the bytes that wait
 * for a slow client. */
#include "server/request/respond.h"
#include "api/model/gotext.h"
#include "api/model/protobuf_write.h"
#include "base/deflate.h"
#include "base/json.h"
#include "server/request/convert.h"
#include "server/request/limits.h"
#include "server/request/request_audit.h"
#include "server/request/wait.h"

#include <assert.h>

void reply_headers(struct request *q, struct str content_type)
{
	timing_pass(q, STEP_ENCODED);
	http_add_header(q->x, "Audit-Id", q->audit_id);
	http_add_header(q->x, "Cache-Control", STR("no-cache, private"));
	http_add_header(q->x, "Content-Type", content_type);
	if (q->n_warnings > 0) {
		const struct str *headers;
		size_t n = warnings_to_headers(&headers, q->warnings, q->n_warnings, q->a);

		for (size_t i = 0; i < n; i++) {
			http_add_header(q->x, "Warning", headers[i]);
		}
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

void reply_made(struct request *q, unsigned code, struct buf *body, struct str content_type)
{
	if (!request_may_answer(q, body->n)) {
		buf_done(body);
		reply_status(q);
		return;
	}
	reply_headers(q, content_type);
	reply_buf(q, code, body);
}

/* ---- answers that take long to write ---- */

/* A text of this length is written within a millisecond or two. */
#define AT_ONCE_BYTES ((size_t)16 << 10)

/* Texts that wait on one HTTP thread, in bytes. More would leave no room for the answers that are
 * being made. Each user has a share of them (base/shares.h). */
#define WAITING_MAX_BYTES ((size_t)4 << 20)

/* A grant that was asked for far ahead could be refused where the answer itself would fit. */
#define GRANT_BYTES ((size_t)1 << 20)

enum {
	GROWTH_MAX = 8, /* times the text: deep nesting multiplies what is written, and beyond this it needs a grant */
};

/* An HTTP thread makes one of them at a time, and the others wait in order: the tree of a text of numbers is twenty times as large. */
struct answer_being_made {
	struct list link; /* of those that wait */
	struct request *q;
	struct buf text, out;
	struct media_writer *writer; /* NULL: it waits for its turn */
	size_t granted;              /* bytes */
	unsigned code;
	struct str content_type;
};

/* A request stays on the thread of its connection. */
static _Thread_local struct {
	struct list waiting;
	size_t waiting_bytes;
	struct answer_being_made *maker; /* NULL: none is made, and none waits */
	struct payer latest;             /* whose answer was made last */
} making;

static void reply_stop_waiting(struct answer_being_made *m)
{
	if (!list_is_empty(&m->link)) {
		making.waiting_bytes -= m->text.n;
		list_remove(&m->link);
	}
}

/* False: there is no room for so many bytes. There are at most a few hundred texts. */
static bool reply_may_wait(const struct request *q, size_t n)
{
	const struct payer *payer = http_payer(q->x);
	size_t limit = share_limit(WAITING_MAX_BYTES, payer->is_privileged), mine = 0;

	list_for_each(it, &making.waiting) {
		const struct answer_being_made *m = list_entry(it, struct answer_being_made, link);
		mine += http_payer(m->q->x)->user == payer->user ? m->text.n : 0;
	}
	return making.waiting_bytes == 0 ||
		(making.waiting_bytes + n <= limit &&
			(payer->is_privileged || share_fits(limit, making.waiting_bytes, mine, n)));
}

/* The longest waiting of another user than the last one: who waits with much waits for those who
 * wait with little. */
static struct answer_being_made *reply_next(void)
{
	list_for_each(it, &making.waiting) {
		struct answer_being_made *m = list_entry(it, struct answer_being_made, link);
		if (http_payer(m->q->x)->user != making.latest.user) {
			return m;
		}
	}
	return list_is_empty(&making.waiting) ? NULL : list_entry(making.waiting.next, struct answer_being_made, link);
}

static void reply_take_turn(struct answer_being_made *m)
{
	making.maker = m;
	if (m) {
		making.latest = *http_payer(m->q->x);
	}
}

static void reply_give_turn(void)
{
	struct answer_being_made *next = reply_next();

	reply_take_turn(next);
	if (next) {
		reply_stop_waiting(next);
		http_wake(next->q->x);
	}
}

void reply_drop(struct request *q)
{
	struct answer_being_made *m = q->making;

	if (!m) {
		return;
	}
	q->making = NULL;
	reply_stop_waiting(m);
	media_writer_free(m->writer);
	buf_done(&m->text);
	buf_done(&m->out);
	if (making.maker == m) {
		reply_give_turn();
	}
	mem_free(m);
}

static void reply_written(struct request *q)
{
	struct answer_being_made *m = q->making;
	struct buf out = m->out;
	unsigned code = m->code;
	struct str content_type = m->content_type;

	m->out = (struct buf){0};
	reply_drop(q);
	reply_made(q, code, &out, content_type);
}

/* False: there is no room for it, and the request has a status that says so. */
static bool reply_weigh(struct request *q)
{
	struct answer_being_made *m = q->making;

	if (m->out.n <= MAX(m->granted, GROWTH_MAX * m->text.n)) {
		return true;
	}
	m->granted = m->out.n + GRANT_BYTES;
	return request_may_answer(q, m->granted);
}

/* Continues in slices, and yields the thread between two: 1 MB of numbers takes a sixth of a
 * second as YAML. The request keeps its place. */
static void reply_go_on(struct request *q)
{
	struct answer_being_made *m = q->making;

	assert(making.maker == m);
	if (!m->writer) {
		request_step_in(q);
		m->writer = media_writer_new(&m->out, &q->media, buf_str(&m->text));
	}
	while (!http_is_late(q->x)) {
		if (!media_writer_step(m->writer)) {
			reply_written(q);
			return;
		}
		if (!reply_weigh(q)) {
			reply_drop(q);
			reply_status(q);
			return;
		}
	}
	request_yield(q, reply_go_on);
}

static void reply_in_slices(struct request *q, unsigned code, struct buf *text, struct str content_type)
{
	struct answer_being_made *m = mem_new(struct answer_being_made);

	assert(!q->making);
	*m = (struct answer_being_made){.q = q, .text = *text, .code = code, .content_type = content_type};
	list_init(&m->link);
	buf_init(&m->out, RESPONSE_CEILING);
	q->making = m;
	if (!making.waiting.next) {
		list_init(&making.waiting);
	}
	if (!making.maker) {
		reply_take_turn(m);
		reply_go_on(q);
	} else if (!reply_may_wait(q, m->text.n)) {
		reply_drop(q);
		request_refuse_for_now(q);
		reply_status(q);
	} else {
		making.waiting_bytes += m->text.n;
		list_append(&making.waiting, &m->link);
		request_step_out(q); /* bytes bound those that wait, so they take no place from others */
		request_wait_turn(q, reply_go_on);
	}
}

void reply_json_buf_as(struct request *q, unsigned code, struct buf *text, struct str content_type)
{
	const bool is_rewritten = q->media.format == MEDIA_YAML || (q->media.format == MEDIA_JSON && q->media.pretty);
	struct buf out;

	request_audit_answer_object(q, buf_str(text));
	/* A read can be refused for want of room, a write has happened. */
	if (is_rewritten && text->n > AT_ONCE_BYTES && q->class == CLASS_READ) {
		reply_in_slices(q, code, text, content_type);
		return;
	}
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

struct str show_type(const struct kind *k, const struct version *v, struct arena *a)
{
	struct str version = version_api_version(v, a);

	return arena_printf(a, "{\"kind\":\"%s\",\"apiVersion\":\"" STR_FMT "\",", k->kind, STR_ARG(version));
}

struct table_world request_table_world(const struct request *q)
{
	const struct kind *pods = kind_by_hub(STR(""), STR("pods"));

	bool are_ours = pods && version_is_visible(&pods->versions[0], q->server->options.is_standalone);

	return (struct table_world){.cache = q->server->options.cache, .pods = are_ours ? pods : NULL};
}

/* Returns the body as one text; copies only when there is more than one piece, or when the object has to be made for it. */
static struct str join_pieces(const struct cached *packed, const struct version *v, struct arena *a)
{
	_cleanup_(cached_unrefp) struct cached *o = cached_whole(packed);
	size_t n = cached_shown_size(o, v), n_pieces = cached_pieces(o, v);

	if (n_pieces == 1 && o == packed) {
		return cached_piece(o, v, 0);
	}
	char *text = arena_text(a, n), *end = text;
	for (size_t i = 0; i < n_pieces; i++) {
		struct str piece = cached_piece(o, v, i);
		memcpy(end, piece.p, piece.n);
		end += piece.n;
	}
	return (struct str){text, n};
}

struct str show_body(const struct cached *o, const struct version *v, struct arena *a)
{
	struct json *hub, *shown;
	struct buf out;
	size_t at;

	if (version_shows_hub(v)) {
		return join_pieces(o, v, a);
	}
	if (json_parse(&hub, a, cached_text(o, a), BODY_JSON_LIMITS, &at)) {
		return cached_body(o, a);
	}
	shown = json_copy(a, version_show(o->kind, v, hub, a));
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

	return table_begin(out, q->route.body_kind, q->route.body_version, &q->media, meta, true) &&
		table_row(out, q->route.body_kind, q->route.body_version, &q->media, include, o, true, &world, q->a) &&
		table_end(out);
}

bool show_object(struct buf *out, struct request *q, const struct cached *o, enum include_object include)
{
	if (q->media.as == AS_TABLE) {
		return show_table(out, q, o, include);
	}
	if (q->media.as == AS_PARTIAL) {
		return partial_object(out, &q->media, o, q->route.body_version);
	}
	return buf_add_str(out, show_type(q->route.body_kind, q->route.body_version, q->a)) &&
		buf_add_str(out, show_body(o, q->route.body_version, q->a));
}

bool show_protobuf(struct buf *out, const struct request *q, const struct bytes *message)
{
	const struct media *m = &q->media;
	const bool is_partial = m->as == AS_PARTIAL;
	struct protobuf_out head;

	protobuf_out_init(&head, TEXT_MAX);
	protobuf_put_envelope_head(&head,
		is_partial ? str_of(meta_version(m)) : version_api_version(q->route.body_version, q->a),
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

	return m->as == AS_OBJECT && m->format == MEDIA_JSON && !m->pretty && version_shows_hub(q->route.body_version) &&
		!(m->accepts_gzip && n >= GZIP_MIN_BYTES);
}

static void reply_plain(struct request *q, unsigned code, const struct str *pieces, size_t n_pieces)
{
	struct str type = show_type(q->route.body_kind, q->route.body_version, q->a);
	size_t n = type.n;

	for (size_t i = 0; i < n_pieces; i++) {
		n += pieces[i].n;
	}
	if (!request_may_answer(q, n + 1)) {
		reply_status(q);
		return;
	}
	struct bytes *body = bytes_new(n + 1);
	char *end = body->p + type.n;

	memcpy(body->p, type.p, type.n);
	for (size_t i = 0; i < n_pieces; i++) {
		memcpy(end, pieces[i].p, pieces[i].n);
		end += pieces[i].n;
	}
	*end = '\n';
	request_audit_answer_object(q, (struct str){body->p, n});
	reply_headers(q, STR("application/json"));
	http_reply_bytes(q->x, code, &body, 1);
}

static void reply_protobuf(struct request *q, unsigned code, const struct cached *o, bool is_kept)
{
	const struct route *r = &q->route;
	const enum protobuf_part part = q->media.as == AS_PARTIAL ? PROTOBUF_METADATA : PROTOBUF_WHOLE;
	struct buf *audited = request_audit_answer_buf(q), out;
	struct bytes *message = is_kept ? protobuf_items_get(q->server->protobuf_items, o, r->body_version, part)
					: protobuf_item_make(o, r->body_version, part);

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

static void reply_shown(struct request *q, unsigned code, const struct cached *packed, bool is_kept);

static void reply_converted(struct request *q)
{
	if (q->st.code) {
		reply_status(q);
	} else {
		reply_shown(q, q->code_converted, conversion_at(q->converting, 0), false);
	}
}

static void reply_shown(struct request *q, unsigned code, const struct cached *packed, bool is_kept)
{
	if (conversion_is_needed(q, packed)) {
		struct conversion *c = request_conversion(q);
		q->code_converted = code;
		conversion_add(c, packed);
		request_convert(q, c, reply_converted);
		return;
	}
	_cleanup_(cached_unrefp) struct cached *o = cached_whole(packed);
	const struct media *m = &q->media;
	enum include_object include = INCLUDE_METADATA;
	struct buf text;

	if (is_plain(q, cached_shown_size(o, q->route.body_version))) {
		size_t n = cached_pieces(o, q->route.body_version);
		struct str *pieces = arena_array(q->a, struct str, n);

		for (size_t i = 0; i < n; i++) {
			pieces[i] = cached_piece(o, q->route.body_version, i);
		}
		reply_plain(q, code, pieces, n);
		return;
	}
	/* A refused answer must cost nothing. */
	if (m->as == AS_OBJECT && !request_may_answer(q, cached_shown_size(o, q->route.body_version))) {
		reply_status(q);
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
	object_encode_stored(&stored, o, o->kind->hook ? object_form(o) : &o->kind->versions[0]);
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
		body.n > 0 && is_plain(q, body.n) && !cached_body_hides_digest(q->route.body_kind, body, q->route.body_version);

	if (is_at_hand) {
		reply_plain(q, code, &body, 1);
	}
	return is_at_hand;
}

/* ---- warnings ---- */

/* The first pass takes texts whole. When their sum is too long everything begins again, cut:
 * upstream does so, and that decides which warnings a client sees. Characters are counted as Go
 * counts them, so bytes have a ceiling besides. */

/* Characters of all Warnings and, when they are more, of each: upstream's limits. */
enum { TOTAL_MAX = 4096, ITEM_MAX = 256 };                               /* characters */
/* Bytes of all headers with Warnings: a head has 14 KiB for them. Further ones are left out. */
enum { LINES_MAX = 12 * 1024, LINE_COST = sizeof("Warning: \r\n") - 1 }; /* bytes */

struct warnings {
	struct str *headers;
	size_t n;
	size_t written; /* characters */
	size_t bytes;   /* of lines */
	bool is_cutting;
	struct arena *arena;
};

static bool is_continuation(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

static size_t count_characters(struct str s)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++) {
		n += !is_continuation(s.p[i]);
	}
	return n;
}

static struct str first_characters(struct str s, size_t max)
{
	size_t n = 0, i = 0;

	while (i < s.n && (is_continuation(s.p[i]) || n++ < max)) {
		i++;
	}
	return (struct str){s.p, i};
}

/* C0, DEL and C1, as Go's unicode.IsControl. */
static bool has_control(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		bool is_c1 = c == 0xc2 && i + 1 < s.n && (unsigned char)s.p[i + 1] < 0xa0;
		if (c < 0x20 || c == 0x7f || is_c1) {
			return true;
		}
	}
	return false;
}

/* RFC 7234: code 299, no agent, the text quoted. */
static struct str header_of(struct str text, struct arena *a)
{
	static const char head[] = "299 - \"";
	char *out = arena_text(a, 2 * text.n + sizeof(head) + 1);
	size_t n = sizeof(head) - 1;

	memcpy(out, head, n);
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '"' || text.p[i] == '\\') {
			out[n++] = '\\';
		}
		out[n++] = text.p[i];
	}
	out[n++] = '"';
	return (struct str){out, n};
}

/* False when it would be too much. */
static bool warnings_add(struct warnings *w, struct str text)
{
	struct str shown = w->is_cutting ? first_characters(text, ITEM_MAX) : text;
	size_t length = count_characters(shown);

	if (!json_is_utf8(shown) || has_control(shown)) {
		return true;
	}
	if (!w->is_cutting && w->written + length > TOTAL_MAX) {
		return false;
	}
	w->written += length;
	struct str header = header_of(shown, w->arena);
	if (w->bytes + LINE_COST + header.n <= LINES_MAX) {
		w->bytes += LINE_COST + header.n;
		w->headers[w->n++] = header;
	}
	return true;
}

static bool is_repeated(const struct str *texts, size_t i)
{
	for (size_t k = 0; k < i; k++) {
		if (str_eq(texts[k], texts[i])) {
			return true;
		}
	}
	return false;
}

size_t warnings_to_headers(const struct str **ret, const struct str *texts, size_t n, struct arena *a)
{
	struct warnings w = {.headers = arena_array(a, struct str, n + 1), .arena = a};

	for (size_t i = 0; i < n && !(w.is_cutting && w.written >= TOTAL_MAX); i++) {
		if (texts[i].n == 0 || is_repeated(texts, i) || warnings_add(&w, texts[i])) {
			continue;
		}
		/* From the first on again, cut. */
		w.is_cutting = true;
		w.n = w.written = w.bytes = 0;
		for (size_t k = 0; k <= i; k++) {
			if (texts[k].n > 0 && !is_repeated(texts, k)) {
				warnings_add(&w, texts[k]);
			}
		}
	}
	*ret = w.headers;
	return w.n;
}
