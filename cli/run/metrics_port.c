/* Controllers have no API of their own, so their metrics get a port: plain HTTP, without certificates
 * to manage. It is on loopback unless a flag says otherwise, as where Prometheus scrapes pods. */
#include "cli/run/metrics_port.h"

#include "base/clock.h"
#include "server/http/http.h"

enum { METRICS_MAX = 16 << 20, BODY_MAX = 4096, DRAIN_MS = 1000, KEPT_MS = 1000 };

struct metrics_port {
	struct http_server *http;
	void (*write)(void *ctx, struct buf *out);
	void *ctx;
	bool is_local;
	/* Of the one HTTP thread. */
	struct buf text;
	int64_t made_ms; /* when text was; 0: never */
};

/* On loopback nobody is a stranger. */
static void on_headers(void *ctx, struct http_exchange *x)
{
	const struct metrics_port *p = ctx;

	if (p->is_local) {
		http_vouch(x);
	}
}

static void reply_metrics(struct metrics_port *p, struct http_exchange *x)
{
	int64_t now_ms = clock_mono_ms();

	if (p->is_local || !p->made_ms || now_ms - p->made_ms >= KEPT_MS) {
		buf_clear(&p->text);
		p->write(p->ctx, &p->text);
		p->made_ms = now_ms;
	}
	http_add_header(x, "Content-Type", STR("text/plain; version=0.0.4; charset=utf-8"));
	http_reply(x, 200, arena_dup(http_arena(x), buf_str(&p->text)));
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

static bool is_loopback(const char *address)
{
	return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
}

int metrics_port_new(struct metrics_port **ret, const struct metrics_port_options *o, struct buf *err)
{
	struct metrics_port *p = mem_new(struct metrics_port);
	p->write = o->write;
	p->ctx = o->ctx;
	p->is_local = is_loopback(o->bind_address);
	const struct http_options options = {
		.bind_address = o->bind_address,
		.port = o->port,
		.threads = 1,
		.max_connections = 64,
		.max_body = BODY_MAX,
		.handler = {.ctx = p, .on_headers = on_headers, .on_request = on_request, .on_done = on_done},
	};
	buf_init(&p->text, METRICS_MAX);
	int r = http_server_new(&p->http, &options, err);
	if (r) {
		buf_done(&p->text);
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
			buf_done(&p->text);
			mem_free(p);
		}
	}
	return NULL;
}

uint16_t metrics_port_number(const struct metrics_port *p)
{
	return http_server_port(p->http);
}
