/* A connection: what stands between a client's socket and libmicrohttpd, and when libmicrohttpd
 * is kept from looking at it.
 *
 *   socket -- wire -- GnuTLS -- inlet -- transport -- libmicrohttpd
 *
 * libmicrohttpd reads through the transport, which asks the inlet. The inlet holds a client's
 * head back until it is whole, and here an exchange is made of it (docs/explanation/http.md). A plain
 * connection has the same way in, with a session that is only a name.
 *
 * A connection is suspended while libmicrohttpd has nothing to do for it: in a handshake while the
 * client is silent (http_keeper.h), while a handler or a driven stream waits, and while the pump
 * has it. One of these holds at a time, so each suspension has one owner who ends it.
 *
 * libmicrohttpd has two moments for an answer: before the body and after it. An answer before the
 * body makes it close the connection. So an early answer to a small body waits until the body has
 * been let go by, and a body that grows too large is let go by to its end before it is refused. */
#include "server/http/http_private.h"

#include <microhttpd.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	/* Bytes of a certificate's names. They live as long as the connection, so they have a ceiling. */
	PEER_CEILING = 32 << 10,

	/* Of a body nobody wants, to keep the connection: a new TLS handshake costs more to both sides. */
	SWALLOW_MAX = 256 << 10,

	/* A client waits this long before it is worth a system call to ask whether it still does. */
	PATIENCE_NS = 100000000,
};

/* Waiting and waking. */

void connection_suspend(struct connection *c)
{
	MHD_suspend_connection(c->mhd);
}

void connection_resume(struct connection *c)
{
	MHD_resume_connection(c->mhd);
}

/* Who is there. */

/* When a request is there: before the first, the handshake is not over. */
void connection_learn_peer(struct connection *c)
{
	if (!c->peer.address.n) {
		socket_format_address(
			c->address, MHD_get_connection_info(c->mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr);
		c->peer.address = str_of(c->address);
		c->peer.is_tls = c->session != NULL;
	}
	if (c->session) {
		client_trust_judge(c->server->trust, &c->verdict, c->session, &c->peer_arena, &c->peer);
	}
}

/* TLS on a socket. libmicrohttpd calls gnutls_handshake() again and again while it waits for the
 * client; so while it does, the connection is suspended. */

static void on_empty(struct wire *w)
{
	struct connection *c = container_of(w, struct connection, wire);
	if (!c->is_handshaken) {
		keeper_park(c->server->keeper, &c->kept);
	}
}

static int on_finished(
	gnutls_session_t session, unsigned type, unsigned when, unsigned is_incoming, const gnutls_datum_t *message)
{
	(void)type;
	(void)when;
	(void)message;
	struct connection *c = gnutls_session_get_ptr(session);
	if (is_incoming) {
		c->is_handshaken = true;
		keeper_set_phase(&c->kept, KEEPER_FIRST, clock_mono_ms());
	}
	return 0;
}

/* The identity is taken now and kept: the files may change while the handshake goes on. */
static void prepare_tls(struct connection *c)
{
	c->identity = tls_files_identity(c->server->tls);
	tls_identity_apply(c->identity, c->session);
	wire_init(&c->wire);
	gnutls_session_set_ptr(c->session, c);
	gnutls_handshake_set_hook_function(c->session, GNUTLS_HANDSHAKE_FINISHED, GNUTLS_HOOK_POST, on_finished);
}

/* What an exchange asks of its wire. */

static void on_exchange_suspend(struct http_exchange *x)
{
	connection_suspend(x->connection);
}

static void on_exchange_resume(struct http_exchange *x)
{
	connection_resume(x->connection);
}

static void on_exchange_phase(struct http_exchange *x, enum keeper_phase phase, int64_t now_ms)
{
	keeper_set_phase(x->kept, phase, now_ms);
}

/* Nobody watches a suspended connection: where the client had to wait, look before the answer is
 * written. One that has only closed its half gets the answer all the same. */
static bool is_client_gone(struct http_exchange *x)
{
	char byte;
	return x->was_suspended && clock_mono_ns() - x->started_ns > PATIENCE_NS &&
		recv(x->kept->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* A body that is small and on its way is swallowed, then the answer goes out and the connection
 * lives on. Else the answer goes out at once, and libmicrohttpd closes the connection behind it. */
static bool answer_early(struct http_exchange *x)
{
	const struct http_framing *f = &x->head.framing;
	if (!f->has_body || (!f->awaits_continue && !f->is_chunked && f->length <= SWALLOW_MAX)) {
		return true;
	}
	x->connection->must_linger = true;
	return http_response_send(x);
}

/* Now the inlet may give out the next head. */
static void on_exchange_end(struct http_exchange *x)
{
	x->connection->current = NULL;
	inlet_finish(&x->connection->inlet);
	keeper_set_phase(x->kept, KEEPER_IDLE, clock_mono_ms());
}

static const struct exchange_wire connection_wire = {
	.suspend = on_exchange_suspend,
	.resume = on_exchange_resume,
	.set_phase = on_exchange_phase,
	.is_client_gone = is_client_gone,
	.answer_early = answer_early,
	.answer = http_response_send,
	.prepare_pump = http_response_prepare_pump,
	.end = on_exchange_end,
};

/* What libmicrohttpd reads and writes. */

static ssize_t on_fetch(struct inlet *in, char *p, size_t n)
{
	struct connection *c = container_of(in, struct connection, inlet);
	return c->session ? transport_tls_receive(c->session, p, n) : wire_receive_plain(&c->wire, p, n);
}

/* A head is there: the exchange begins. libmicrohttpd will ask for it when it has read its own. */
static bool on_head(struct inlet *in, struct str text, unsigned status, const char *problem, struct http_framing *ret)
{
	struct connection *c = container_of(in, struct connection, inlet);
	struct http_exchange *x = http_exchange_new(c->server, &connection_wire);
	x->connection = c;
	x->kept = &c->kept;
	x->peer = &c->peer;
	x->refusal = status;
	x->problem = problem;
	if (!status) {
		x->refusal = http_head_parse(
			&x->head, &x->arena, arena_dup(&x->arena, text), c->server->options.max_header, &x->problem);
	}
	c->next = x;
	*ret = x->head.framing;
	return x->refusal == 0;
}

/* The body's first bytes may come together with the head, before libmicrohttpd knows of the
 * exchange. */
static void on_broken_body(struct inlet *in, unsigned status, const char *problem)
{
	struct connection *c = container_of(in, struct connection, inlet);
	struct http_exchange *x = c->next ? c->next : c->current;
	x->refusal = status;
	x->problem = problem;
}

static const struct inlet_ops inlet_ops = {on_fetch, on_head, on_broken_body};

static ssize_t on_receive(struct transport *t, void *p, size_t n)
{
	return inlet_read(&container_of(t, struct connection, transport)->inlet, p, n);
}

static ssize_t on_send_plain(struct transport *t, const void *p, size_t n)
{
	return wire_send_plain(&container_of(t, struct connection, transport)->wire, p, n);
}

/* Its life. */

/* The keeper gets it last: from then on its thread may cut the connection. */
struct connection *connection_new(struct worker *w, struct MHD_Connection *mhd)
{
	struct http_server *s = w->server;
	gnutls_session_t session = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION)->tls_session;
	struct connection *c = mem_new(struct connection);
	c->server = s;
	c->worker = w;
	c->mhd = mhd;
	c->session = s->tls ? session : NULL;
	c->kept.fd = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	c->wire = (struct wire){.fd = c->kept.fd, .session = c->session, .on_empty = on_empty};
	c->transport =
		(struct transport){.receive = on_receive, .send = c->session ? NULL : on_send_plain, .is_plain = !c->session};
	transport_attach(&c->transport, session);
	socket_options_hide(c->kept.fd);
	inlet_init(&c->inlet, &inlet_ops, s->options.max_header);
	arena_init_with(&c->peer_arena, PEER_CEILING, c->peer_scratch, sizeof(c->peer_scratch));
	if (c->session) {
		prepare_tls(c);
	}
	atomic_fetch_add_explicit(&w->n_polled, 1, memory_order_relaxed);
	keeper_add(s->keeper, &c->kept, c->session ? KEEPER_HANDSHAKE : KEEPER_FIRST);
	return c;
}

/* The socket is closed behind this. Where a client may still be sending behind an early answer,
 * the keeper has a duplicate of it linger: a reset would destroy the answer on its way. */
void connection_free(struct connection *c)
{
	struct http_server *s = c->server;
	int duplicate = c->must_linger ? dup(c->kept.fd) : -1;
	if (duplicate >= 0) {
		keeper_linger(s->keeper, duplicate);
	}
	if (c->identity && !c->is_handshaken) {
		http_count(&s->handshakes_failed, 1);
	}
	if (c->current) { /* libmicrohttpd forgot to say that it is over */
		http_exchange_end(c->current, false);
	}
	if (c->next) {
		http_exchange_free(c->next);
	}
	inlet_done(&c->inlet);
	wire_done(&c->wire);
	tls_identity_unref(c->identity);
	verdict_done(&c->verdict);
	arena_done(&c->peer_arena);
	atomic_fetch_sub_explicit(&c->worker->n_polled, 1, memory_order_relaxed);
	atomic_fetch_sub_explicit(&c->worker->n_connections, 1, memory_order_relaxed);
	keeper_remove(s->keeper, &c->kept);
	socket_options_show(c->kept.fd);
	mem_free(c);
}
