/* Controllers have no API of their own, so their metrics get a port: plain HTTP, but on loopback
 * only, without certificates to manage. */
#include "cli/run/metrics_port.h"

#include "server/http/http.h"

enum { METRICS_MAX = 16 << 20, BODY_MAX = 4096, DRAIN_MS = 1000 };

struct metrics_port {
	struct http_server *http;
	void (*write)(void *ctx, struct buf *out);
	void *ctx;
};

/* On loopback nobody is a stranger. */
static void on_headers(void *ctx _unused_, struct http_exchange *x)
{
	http_vouch(x);
}

static void reply_metrics(struct metrics_port *p, struct http_exchange *x)
{
	_cleanup_(buf_done) struct buf out;
	buf_init(&out, METRICS_MAX);
	p->write(p->ctx, &out);
	http_add_header(x, "Content-Type", STR("text/plain; version=0.0.4; charset=utf-8"));
	http_reply(x, 200, arena_dup(http_arena(x), buf_str(&out)));
}

static void on_request(void *ctx, struct http_exchange *x)
{
	struct str path, query;
	str_cut(http_target(x), '?', &path, &query);
	if (str_is(path, "/metrics")) {
		reply_metrics(ctx, x);
	} else if (str_is(path, "/healthz")) {
		http_reply(x, 200, STR("ok"));
	} else {
		http_reply(x, 404, STR("404 page not found\n"));
	}
}

static void on_done(void *ctx _unused_, struct http_exchange *x _unused_)
{
}

int metrics_port_new(
	struct metrics_port **ret, uint16_t port, void (*write)(void *ctx, struct buf *out), void *ctx, struct buf *err)
{
	struct metrics_port *p = mem_new(struct metrics_port);
	p->write = write;
	p->ctx = ctx;
	const struct http_options options = {
		.bind_address = "127.0.0.1",
		.port = port,
		.threads = 1,
		.max_connections = 64,
		.max_body = BODY_MAX,
		.handler = {.ctx = p, .on_headers = on_headers, .on_request = on_request, .on_done = on_done},
	};
	int r = http_server_new(&p->http, &options, err);
	if (r) {
		mem_free(p);
		return r;
	}
	*ret = p;
	return 0;
}

struct metrics_port *metrics_port_free(struct metrics_port *p)
{
	if (p) {
		if (http_server_drain(p->http, DRAIN_MS)) { /* else it stays: the process is about to end */
			http_server_free(p->http);
			mem_free(p);
		}
	}
	return NULL;
}

uint16_t metrics_port_number(const struct metrics_port *p)
{
	return http_server_port(p->http);
}
