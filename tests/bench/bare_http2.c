/* The HTTP/2 of the bare server: nghttp2 as its makers would use it, one TLS record of frames at a time, and nothing behind it. */
#include "tests/bench/bare_http2.h"

#include <err.h>
#include <nghttp2/nghttp2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECORD_MAX = 16384, ANSWER_MAX = 16 << 20, STREAMS_MAX = 1000, WINDOW = 1 << 20 };

struct bare_http2 {
	nghttp2_session *session;
	gnutls_session_t tls;
	uint8_t out[RECORD_MAX]; /* frames that wait for the socket */
	size_t out_n;
	bool is_stuck; /* the socket took no more */
};

static bool is_later(ssize_t r)
{
	return r == GNUTLS_E_AGAIN || r == GNUTLS_E_INTERRUPTED;
}

/* nghttp2's callback. What it cannot take now comes again. */
static ssize_t gather(nghttp2_session *session, const uint8_t *data, size_t n, int flags, void *self)
{
	struct bare_http2 *h = self;
	size_t room = sizeof(h->out) - h->out_n, taken = n < room ? n : room;

	(void)session;
	(void)flags;
	if (taken == 0) {
		return NGHTTP2_ERR_WOULDBLOCK;
	}
	memcpy(h->out + h->out_n, data, taken);
	h->out_n += taken;
	return (ssize_t)taken;
}

/* A stream's user data is the number of bytes that are left of its answer. */
static ssize_t read_answer(
	nghttp2_session *session, int32_t id, uint8_t *to, size_t n, uint32_t *flags, nghttp2_data_source *source, void *self)
{
	size_t left = (size_t)(uintptr_t)nghttp2_session_get_stream_user_data(session, id), now = left < n ? left : n;

	(void)source;
	(void)self;
	memset(to, 'x', now);
	nghttp2_session_set_stream_user_data(session, id, (void *)(uintptr_t)(left - now));
	if (now == left) {
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	}
	return (ssize_t)now;
}

#define FIELD(name_, value_, n_)                                                                                          \
	{                                                                                                                 \
		.name = (uint8_t *)(name_), .namelen = sizeof(name_) - 1, .value = (uint8_t *)(value_), .valuelen = (n_), \
		.flags = NGHTTP2_NV_FLAG_NO_COPY_NAME                                                                     \
	}

static int answer_stream(nghttp2_session *session, int32_t id)
{
	char length[24];
	size_t n = (size_t)(uintptr_t)nghttp2_session_get_stream_user_data(session, id);
	size_t digits = (size_t)snprintf(length, sizeof(length), "%zu", n);
	nghttp2_nv fields[] = {
		FIELD(":status", "200", 3),
		FIELD("content-type", "application/json", 16),
		FIELD("content-length", length, digits),
	};
	nghttp2_data_provider body = {.read_callback = read_answer};

	return nghttp2_submit_response(session, id, fields, sizeof(fields) / sizeof(fields[0]), &body);
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_n,
	const uint8_t *value, size_t value_n, uint8_t flags, void *self)
{
	char text[24] = "";

	(void)flags;
	(void)self;
	if (name_n == 5 && memcmp(name, ":path", 5) == 0 && value_n > 1) {
		memcpy(text, value + 1, value_n - 1 < sizeof(text) - 1 ? value_n - 1 : sizeof(text) - 1);
		unsigned long n = strtoul(text, NULL, 10);
		nghttp2_session_set_stream_user_data(
			session, frame->hd.stream_id, (void *)(uintptr_t)(n < ANSWER_MAX ? n : ANSWER_MAX));
	}
	return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *self)
{
	bool is_request = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;

	(void)self;
	return is_request && frame->hd.flags & NGHTTP2_FLAG_END_STREAM ? answer_stream(session, frame->hd.stream_id) : 0;
}

struct bare_http2 *bare_http2_new(gnutls_session_t tls)
{
	struct bare_http2 *h = calloc(1, sizeof(*h));
	nghttp2_session_callbacks *callbacks = NULL;
	nghttp2_settings_entry settings[] = {
		{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, STREAMS_MAX},
		{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW},
	};

	if (!h || nghttp2_session_callbacks_new(&callbacks) != 0) {
		errx(1, "out of memory");
	}
	h->tls = tls;
	nghttp2_session_callbacks_set_send_callback(callbacks, gather);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
	if (nghttp2_session_server_new(&h->session, callbacks, h) != 0 ||
		nghttp2_submit_settings(h->session, NGHTTP2_FLAG_NONE, settings, sizeof(settings) / sizeof(settings[0])) != 0) {
		errx(1, "out of memory");
	}
	nghttp2_session_callbacks_del(callbacks);
	return h;
}

void bare_http2_free(struct bare_http2 *h)
{
	if (h) {
		nghttp2_session_del(h->session);
		free(h);
	}
}

static bool receive(struct bare_http2 *h)
{
	uint8_t in[RECORD_MAX];
	ssize_t n;

	while ((n = gnutls_record_recv(h->tls, in, sizeof(in))) > 0) {
		if (nghttp2_session_mem_recv(h->session, in, (size_t)n) < 0) {
			return false;
		}
		if (gnutls_record_check_pending(h->tls) == 0 && (size_t)n < sizeof(in)) {
			return true;
		}
	}
	return is_later(n);
}

static bool send_all(struct bare_http2 *h)
{
	h->is_stuck = false;
	for (;;) {
		if (nghttp2_session_send(h->session) != 0) {
			return false;
		}
		if (h->out_n == 0) {
			return true;
		}
		ssize_t sent = gnutls_record_send(h->tls, h->out, h->out_n);
		if (is_later(sent)) {
			h->is_stuck = true;
			return true;
		}
		if (sent <= 0) {
			return false;
		}
		h->out_n -= (size_t)sent;
		memmove(h->out, h->out + sent, h->out_n);
	}
}

bool bare_http2_turn(struct bare_http2 *h)
{
	/* A record that GnuTLS has begun must be sent as it is before another is made. */
	if (h->is_stuck && !send_all(h)) {
		return false;
	}
	return h->is_stuck ||
		(receive(h) && send_all(h) &&
			(nghttp2_session_want_read(h->session) || nghttp2_session_want_write(h->session)));
}

bool bare_http2_is_sending(const struct bare_http2 *h)
{
	return h->is_stuck;
}
