/* Judges what an HTTP/2 client sends, before anybody acts on it.
 *
 *   hello   Does a client that begins TLS offer HTTP/2? The keeper asks, to choose the protocol.
 *   frames  Each frame is judged by its head before nghttp2 sees it: nghttp2 ignores some frames without telling us.
 *   heads   The head of a request, field by field, is judged as that of HTTP/1.1 is (http_head.h).
 *
 * Frames that ask for work and bring nothing (PING, SETTINGS, empty frames) share a budget. Streams that end before
 * their time have another, whoever ends them. A client that overdraws one gets ENHANCE_YOUR_CALM, and its connection
 * ends. */
#include "server/http/h2_private.h"

#include <nghttp2/nghttp2.h>

enum {
	CONTINUATIONS = 8, /* frames of one head, which fits into two */
};

/* A client's keep-alive is a PING in 15 s. A WINDOW_UPDATE is free where sent data explains it. */
static const struct h2_allowance control_allowance = {.burst = 2000, .per_second = 200};
static const struct h2_allowance reset_allowance = {.burst = 1000, .per_second = 100};

/* Hello. */

enum {
	RECORD_HEAD = 5,
	RECORD_HANDSHAKE = 22,
	RECORD_MAX = 16384, /* bytes of a TLS record; a longer one is no ClientHello */
	MESSAGE_HEAD = 4,
	MESSAGE_CLIENT_HELLO = 1,
	VERSION_AND_RANDOM = 2 + 32,
	EXTENSION_ALPN = 16,
};

/* Big-endian. */
static size_t number_at(const char *p, size_t n)
{
	size_t number = 0;
	for (size_t i = 0; i < n; i++) {
		number = number << 8 | (unsigned char)p[i];
	}
	return number;
}

/* The next n bytes of *text, which moves; false: there are fewer. */
static bool hello_take(struct str *text, size_t n, struct str *ret)
{
	if (text->n < n) {
		return false;
	}
	*ret = (struct str){text->p, n};
	text->p += n;
	text->n -= n;
	return true;
}

/* The next vector of *text: a length of `width` bytes, then so many bytes. */
static bool hello_take_vector(struct str *text, size_t width, struct str *ret)
{
	struct str length;
	return hello_take(text, width, &length) && hello_take(text, number_at(length.p, width), ret);
}

static bool hello_offers_h2(struct str alpn)
{
	struct str names;
	struct str name;
	if (!hello_take_vector(&alpn, 2, &names)) {
		return false;
	}
	while (hello_take_vector(&names, 1, &name)) {
		if (str_is(name, "h2")) {
			return true;
		}
	}
	return false;
}

static enum h2_hello hello_judge_extensions(struct str extensions)
{
	struct str type;
	struct str data;
	while (hello_take(&extensions, 2, &type) && hello_take_vector(&extensions, 2, &data)) {
		if (number_at(type.p, 2) == EXTENSION_ALPN) {
			return hello_offers_h2(data) ? H2_HELLO_OFFER : H2_HELLO_OTHER;
		}
	}
	return H2_HELLO_OTHER;
}

static enum h2_hello hello_judge_message(struct str body)
{
	struct str part;
	struct str extensions;
	bool is_sound = hello_take(&body, VERSION_AND_RANDOM, &part) && hello_take_vector(&body, 1, &part) && /* session */
		hello_take_vector(&body, 2, &part) && hello_take_vector(&body, 1, &part) && /* ciphers, compression */
		hello_take_vector(&body, 2, &extensions);
	return is_sound ? hello_judge_extensions(extensions) : H2_HELLO_OTHER;
}

static enum h2_hello hello_want(size_t n, size_t *ret_wanted)
{
	*ret_wanted = n;
	return n <= H2_HELLO_MAX ? H2_HELLO_MORE : H2_HELLO_OTHER;
}

/* message: as much of it as has come. *ret_size: its whole size, or SIZE_MAX before its length has come. */
static bool hello_is_whole(struct str message, size_t *ret_size)
{
	*ret_size = message.n < MESSAGE_HEAD ? SIZE_MAX : MESSAGE_HEAD + number_at(message.p + 1, 3);
	return message.n >= *ret_size;
}

/* A ClientHello (RFC 8446, 4.1.2) lies in one record or in several, and these come in one segment or in several: with
 * keys against quantum computers it is longer than most segments. So the message is put together first, then walked
 * through. Every length is checked against what encloses it. */
enum h2_hello h2_hello_judge(struct str bytes, size_t *ret_wanted)
{
	char message[H2_HELLO_MAX];
	size_t n = 0;
	size_t at = 0;
	if (bytes.n > H2_HELLO_MAX) {
		bytes.n = H2_HELLO_MAX;
	}
	for (;;) {
		const char *record = bytes.p + at;
		if (bytes.n > at && record[0] != RECORD_HANDSHAKE) {
			return H2_HELLO_OTHER;
		}
		if (bytes.n - at < RECORD_HEAD) {
			return hello_want(at + RECORD_HEAD, ret_wanted);
		}
		size_t length = number_at(record + 3, 2);
		if (record[1] != 3 || length == 0 || length > RECORD_MAX) {
			return H2_HELLO_OTHER;
		}
		if (bytes.n - at - RECORD_HEAD < length) {
			return hello_want(at + RECORD_HEAD + length, ret_wanted);
		}
		memcpy(message + n, record + RECORD_HEAD, length);
		n += length;
		at += RECORD_HEAD + length;

		size_t size;
		if (message[0] != MESSAGE_CLIENT_HELLO) {
			return H2_HELLO_OTHER;
		}
		if (hello_is_whole((struct str){message, n}, &size)) {
			return hello_judge_message((struct str){message + MESSAGE_HEAD, size - MESSAGE_HEAD});
		}
	}
}

/* Budgets. */

int h2_judge_abuse(struct h2_connection *c, const char *abuse)
{
	if (!c->abuse) {
		c->abuse = abuse;
		http_count(&c->thread->server->http2_abuses, 1);
		h2_thread_enqueue(c);
	}
	return NGHTTP2_ERR_CALLBACK_FAILURE;
}

bool h2_judge_reset(struct h2_connection *c)
{
	struct h2_allowance allowance = reset_allowance;
	allowance.burst += h2_connection_max_streams(c);
	if (h2_budget_take(&c->resets, &allowance, c->thread->now_ms)) {
		return true;
	}
	h2_judge_abuse(c, "resets");
	return false;
}

static bool charge_control(struct h2_connection *c)
{
	if (h2_budget_take(&c->controls, &control_allowance, c->thread->now_ms)) {
		return true;
	}
	h2_judge_abuse(c, "frames that bring nothing");
	return false;
}

static bool charge_update(struct h2_connection *c)
{
	if (c->updates_earned) {
		c->updates_earned--;
		return true;
	}
	return charge_control(c);
}

static bool charge_ping(struct h2_connection *c)
{
	if (c->pings_earned) {
		c->pings_earned--;
		return true;
	}
	return charge_control(c);
}

/* Go's client sends a PING behind what it cancels, and opens the connection's window by what it has not read. */
static bool charge_cancel(struct h2_connection *c)
{
	c->pings_earned++;
	c->updates_earned++;
	if (!c->kept.is_vouched) {
		return h2_judge_reset(c);
	}
	if (c->cancels_earned) {
		c->cancels_earned--;
		return true;
	}
	return charge_control(c);
}

static bool charge_continuation(struct h2_connection *c)
{
	if (++c->n_continuations <= CONTINUATIONS) {
		return true;
	}
	h2_judge_abuse(c, "a head in too many frames");
	return false;
}

static bool is_among_closed(const struct h2_connection *c, int32_t id)
{
	for (size_t i = 0; i < H2_CLOSED; i++) {
		if (c->closed_ids[i] == id) {
			return true;
		}
	}
	return false;
}

/* The ring keeps the ids of streams that we have reset as they are, and others as negative numbers. */
void h2_judge_note_closed(struct h2_connection *c, int32_t id, bool is_reset)
{
	if (!is_among_closed(c, id)) {
		c->closed_ids[c->n_closed++ % H2_CLOSED] = is_reset ? id : -id;
	}
}

/* nghttp2 does not remember streams that are over. */
static bool is_gone(const struct h2_connection *c, int32_t id)
{
	return id <= c->last_id && !nghttp2_session_find_stream(c->session, id);
}

static bool break_connection(struct h2_connection *c, uint32_t code)
{
	c->error = code;
	return false;
}

/* A head may still be on its way when we reset its stream: that is no mistake of the client. A head for any other stream
 * that is over is a mistake. */
static bool judge_id(struct h2_connection *c, int32_t id)
{
	if (is_gone(c, id) && !is_among_closed(c, id)) {
		return break_connection(c, is_among_closed(c, -id) ? NGHTTP2_STREAM_CLOSED : NGHTTP2_PROTOCOL_ERROR);
	}
	c->last_id = MAX(c->last_id, id);
	return true;
}

static bool charge_data(struct h2_connection *c, const nghttp2_frame_hd *hd)
{
	if (is_gone(c, hd->stream_id) && !is_among_closed(c, hd->stream_id)) {
		nghttp2_submit_rst_stream(c->session, NGHTTP2_FLAG_NONE, hd->stream_id, NGHTTP2_STREAM_CLOSED);
		h2_thread_enqueue(c);
		return charge_control(c);
	}
	return hd->length > 0 || (hd->flags & NGHTTP2_FLAG_END_STREAM) || charge_control(c);
}

static bool charge_frame(struct h2_connection *c, const nghttp2_frame_hd *hd)
{
	switch (hd->type) {
	case NGHTTP2_DATA:
		return charge_data(c, hd);
	case NGHTTP2_HEADERS:
		c->n_continuations = 0;
		if (!judge_id(c, hd->stream_id)) {
			return false;
		}
		c->head_ms = hd->flags & NGHTTP2_FLAG_END_HEADERS ? 0 : c->thread->now_ms;
		return true;
	case NGHTTP2_CONTINUATION:
		c->head_ms = hd->flags & NGHTTP2_FLAG_END_HEADERS ? 0 : c->head_ms;
		return charge_continuation(c);
	case NGHTTP2_RST_STREAM:
		return charge_cancel(c);
	case NGHTTP2_PING:
		return charge_ping(c);
	case NGHTTP2_WINDOW_UPDATE:
		return charge_update(c);
	default:
		return charge_control(c);
	}
}

/* Once nghttp2 knows that the client has heard of the limit on streams, one stream too many ends the connection, and all others
 * with it. Until then it is refused, which clients hello_take well. So nghttp2 does not hear of it: of the two SETTINGS that are sent, the
 * second has the limit, and its acknowledgement ends here. */
static bool is_kept_from_nghttp2(struct h2_connection *c, const nghttp2_frame_hd *hd)
{
	return hd->type == NGHTTP2_SETTINGS && (hd->flags & NGHTTP2_FLAG_ACK) && hd->length == 0 && hd->stream_id == 0 &&
		++c->n_settings_acked == 2;
}

/* A stream that depends on itself, or on no stream: nghttp2 lets it go by, where priorities are off. rest: what has come of the frame. */
static bool judge_priority(struct h2_connection *c, int32_t id, struct str rest)
{
	bool is_circle = id == 0 || (rest.n >= 4 && (number_at(rest.p, 4) & INT32_MAX) == (uint32_t)id);
	return !is_circle || break_connection(c, NGHTTP2_PROTOCOL_ERROR);
}

/* A frame's head is there. */
bool h2_judge_frame(struct h2_connection *c, const char *head, struct str rest)
{
	nghttp2_frame_hd hd = {
		.length = number_at(head, 3),
		.type = (uint8_t)head[3],
		.flags = (uint8_t)head[4],
		.stream_id = (int32_t)(number_at(head + 5, 4) & INT32_MAX),
	};
	c->frame_left = (uint32_t)hd.length;
	c->is_frame_kept = is_kept_from_nghttp2(c, &hd);
	return (hd.type != NGHTTP2_PRIORITY || judge_priority(c, hd.stream_id, rest)) && charge_frame(c, &hd);
}

/* Heads. The limit counts each field as it comes, so a head that is packed small (a byte can stand for four KiB)
 * costs no more memory than any other. Fields beyond the limit are counted on, but not kept. */

enum { FIRST_FIELDS = 12 };

static void h2_head_grow(struct h2_head *h, struct arena *a)
{
	size_t room = h->room ? MIN(h->room * 2, (size_t)H2_HEAD_FIELDS + 1) : FIRST_FIELDS;
	struct http_header *fields = arena_alloc(a, room * sizeof(*fields));
	if (h->n_fields) {
		memcpy(fields, h->fields, h->n_fields * sizeof(*fields));
	}
	h->fields = fields;
	h->room = room;
}

static void h2_head_add_field(struct h2_head *h, struct arena *a, struct str name, struct str value)
{
	if (h->n_fields == h->room) {
		h2_head_grow(h, a);
	}
	h->fields[h->n_fields++] = (struct http_header){name, value};
}

static void h2_head_add_pseudo(struct h2_head *h, struct http_head *head, struct str name, struct str value)
{
	if (str_is(name, ":method")) {
		head->method = value;
	} else if (str_is(name, ":path")) {
		head->target = value;
	} else if (str_is(name, ":authority")) {
		h->authority = value;
	} else if (str_is(name, ":scheme")) {
		h->scheme = value;
	}
}

bool h2_head_add(struct h2_head *h, struct http_head *head, struct arena *a, struct str name, struct str value, size_t max)
{
	h->size += name.n + value.n + H2_HEAD_FIELD_COST;
	h->is_too_large |= h->size > max || h->n_fields == H2_HEAD_FIELDS;
	if (h->is_too_large) {
		return h->size <= 2 * max;
	}
	name = arena_dup(a, name);
	value = arena_dup(a, value);
	if (str_starts(name, STR(":"))) {
		h2_head_add_pseudo(h, head, name, value);
	} else {
		h->has_host |= str_is(name, "host");
		h2_head_add_field(h, a, name, str_trim(value));
	}
	return true;
}

static bool is_host(const struct http_header *field, struct str host)
{
	return !str_is(field->name, "host") || str_eq_nocase(field->value, host);
}

/* Handlers look for Host. Two that differ would be two servers. */
static bool h2_head_settle_host(struct h2_head *h, struct arena *a)
{
	if (!h->authority.n) {
		return true;
	}
	if (!h->has_host) {
		h2_head_add_field(h, a, STR("host"), h->authority);
		return true;
	}
	for (size_t i = 0; i < h->n_fields; i++) {
		if (!is_host(&h->fields[i], h->authority)) {
			return false;
		}
	}
	return true;
}

unsigned h2_head_finish(struct h2_head *h, struct http_head *head, struct arena *a, bool has_body, const char **ret_problem)
{
	head->framing.has_body = has_body;
	head->framing.is_head_request = str_is(head->method, "HEAD");
	if (h->is_too_large) {
		*ret_problem = "the request's head is too large";
		return 431;
	}
	if (str_is(head->method, "CONNECT")) {
		*ret_problem = "this is no proxy";
		return 400;
	}
	if (h->scheme.n && !str_eq_nocase(h->scheme, STR("https")) && !str_eq_nocase(h->scheme, STR("http"))) {
		*ret_problem = "unsupported scheme";
		return 400;
	}
	if (!h2_head_settle_host(h, a)) {
		*ret_problem = "Host differs from the authority";
		return 400;
	}
	head->fields = h->fields;
	head->n_fields = h->n_fields;
	return http_head_judge(head, ret_problem);
}
