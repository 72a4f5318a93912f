/* A request of the page becomes one of ours to the API server, and the answer goes back as it
 * comes. Between them lies a ring of bytes: the client's thread fills it, an HTTP thread empties
 * it. When it is full the exchange pauses, so a page that does not read keeps the API server
 * waiting, and costs no memory.
 *
 * Two hold it: the exchange upstream and the exchange with the page. Either may end first. What
 * both look at is under the lock; HTTP's and the client's own locks are taken within it, and they
 * never call us with theirs. */
#include "cli/ui/ui_private.h"

#include "base/clock.h"

#include <stdatomic.h>

enum {
	RING_BYTES = 64 << 10,    /* libcurl hands over 16 KiB at most */
	PROXIED_MAX = 64,         /* at once */
	HEAD_MS = 60 * 1000,      /* until the API server begins to answer */
	WHOLE_MS = 5 * 60 * 1000, /* of what is no watch */
};

struct proxied {
	struct visit visit;
	struct exchange upstream;
	struct ui *ui;
	struct http_exchange *page;
	char *path, *accept;
	_Atomic unsigned refs;

	pthread_mutex_t lock; /* guards what follows */
	bool is_waiting;      /* the page's exchange is suspended, and has not been woken */
	bool is_streaming;    /* its stream may be woken */
	bool is_page_gone;
	bool has_head, has_ended, is_paused, is_late;
	unsigned code; /* with the head: the client's thread may write its own copy again */
	char type[sizeof(((struct exchange *)NULL)->answer_type)];
	size_t start, n; /* of what the ring holds */
	char ring[RING_BYTES];
};

static void proxied_unref(struct proxied *p)
{
	if (atomic_fetch_sub(&p->refs, 1) > 1) {
		return;
	}
	atomic_fetch_sub(&p->ui->n_proxied, 1);
	pthread_mutex_destroy(&p->lock);
	mem_free(p->path);
	mem_free(p->accept);
	mem_free(p);
}

/* With the lock: the page's exchange goes on. */
static void wake_page(struct proxied *p)
{
	if (p->is_waiting) {
		p->is_waiting = false;
		http_wake(p->page);
	} else if (p->is_streaming) {
		http_stream_wake(p->page);
	}
}

/* ---- from the API server ---- */

static void on_head(struct exchange *x)
{
	struct proxied *p = container_of(x, struct proxied, upstream);
	pthread_mutex_lock(&p->lock);
	if (!p->has_head) { /* trailers end with an empty line, too */
		p->has_head = true;
		p->code = (unsigned)x->code;
		memcpy(p->type, x->answer_type, sizeof(p->type));
	}
	wake_page(p);
	pthread_mutex_unlock(&p->lock);
}

static void ring_put(struct proxied *p, struct str bytes)
{
	size_t end = (p->start + p->n) % RING_BYTES, first = MIN(bytes.n, RING_BYTES - end);
	memcpy(p->ring + end, bytes.p, first);
	memcpy(p->ring, bytes.p + first, bytes.n - first);
	p->n += bytes.n;
}

static bool on_bytes(struct exchange *x, struct str bytes)
{
	struct proxied *p = container_of(x, struct proxied, upstream);
	pthread_mutex_lock(&p->lock);
	bool is_wanted = !p->is_page_gone;
	if (is_wanted && bytes.n > RING_BYTES - p->n) {
		p->is_paused = true;
		exchange_pause(x);
	} else if (is_wanted) {
		ring_put(p, bytes);
		wake_page(p);
	}
	pthread_mutex_unlock(&p->lock);
	return is_wanted;
}

static void on_upstream_done(struct exchange *x)
{
	struct proxied *p = container_of(x, struct proxied, upstream);
	pthread_mutex_lock(&p->lock);
	p->has_ended = true;
	wake_page(p);
	pthread_mutex_unlock(&p->lock);
	proxied_unref(p);
}

/* ---- to the page ---- */

static size_t ring_take(struct proxied *p, char *to, size_t max)
{
	size_t n = MIN(p->n, max), first = MIN(n, RING_BYTES - p->start);
	memcpy(to, p->ring + p->start, first);
	memcpy(to + first, p->ring, n - first);
	p->start = (p->start + n) % RING_BYTES;
	p->n -= n;
	return n;
}

/* With the lock. At half, so that the server does not start and stop for each piece. */
static void make_room(struct proxied *p)
{
	if (p->is_paused && !p->has_ended && p->n <= RING_BYTES / 2) {
		p->is_paused = false;
		exchange_resume(p->ui->options.client, &p->upstream);
	}
}

/* With the lock, when there is nothing to send. What broke off must not look like what ended. */
static ssize_t end_of(const struct proxied *p, const struct http_exchange *x)
{
	if (!p->has_ended) {
		return http_is_draining(x) ? -1 : 0;
	}
	return p->upstream.result == EXCHANGE_OK ? -1 : -2;
}

static ssize_t stream_read(void *ctx, struct http_exchange *x, char *to, size_t max)
{
	struct proxied *p = ctx;
	pthread_mutex_lock(&p->lock);
	ssize_t n = (ssize_t)ring_take(p, to, max);
	make_room(p);
	n = n ? n : end_of(p, x);
	pthread_mutex_unlock(&p->lock);
	return n;
}

/* Nobody wants the rest: the API server is told. */
static void drop_page(struct proxied *p)
{
	pthread_mutex_lock(&p->lock);
	p->is_streaming = false;
	p->is_page_gone = true;
	if (!p->has_ended) {
		exchange_cancel(p->ui->options.client, &p->upstream);
	}
	pthread_mutex_unlock(&p->lock);
}

static void stream_closed(void *ctx, struct http_exchange *x _unused_)
{
	drop_page(ctx);
}

static const struct http_stream_ops stream_ops = {stream_read, stream_closed};

static void reply_failure(const struct proxied *p, struct http_exchange *x)
{
	if (p->is_late || p->upstream.result == EXCHANGE_TIMEOUT) {
		ui_reply_status(x, 504, "the API server has not answered in time");
	} else if (p->upstream.result == EXCHANGE_STOPPED) {
		ui_reply_status(x, 503, "annals is stopping");
	} else {
		ui_reply_status(x, 502, "the API server cannot be reached: %s", p->upstream.problem);
	}
}

/* Always long-lived: then it is noticed at once that the page goes away, also of a list. */
static void reply_stream(struct proxied *p, struct http_exchange *x)
{
	http_add_header(x, "Cache-Control", STR("no-store"));
	http_add_header(x, "Content-Type", str_of(p->type));
	p->is_streaming = true;
	http_reply_stream(x, p->code, HTTP_LENGTH_UNKNOWN, true, &stream_ops, p);
}

static void go_on(struct visit *v, struct http_exchange *x)
{
	struct proxied *p = container_of(v, struct proxied, visit);
	pthread_mutex_lock(&p->lock);
	if (p->is_waiting) { /* it was the alarm: the end of the exchange will wake us */
		p->is_late = true;
		exchange_cancel(p->ui->options.client, &p->upstream);
	} else if (p->has_head) {
		http_set_alarm(x, 0);
		reply_stream(p, x);
	} else {
		http_set_alarm(x, 0);
		reply_failure(p, x);
	}
	pthread_mutex_unlock(&p->lock);
}

static void leave(struct visit *v)
{
	struct proxied *p = container_of(v, struct proxied, visit);
	drop_page(p);
	proxied_unref(p);
}

/* ---- beginning ---- */

static bool is_watch(struct str target)
{
	return str_contains(target, STR("watch="));
}

static struct proxied *proxied_new(struct ui *u, struct http_exchange *x, struct str target, struct str accept)
{
	struct proxied *p = mem_new(struct proxied);
	p->visit = (struct visit){go_on, leave};
	p->ui = u;
	p->page = x;
	p->path = mem_strndup(target.p, target.n);
	p->accept = mem_strndup(accept.p, accept.n);
	p->refs = 2;
	p->is_waiting = true;
	pthread_mutex_init(&p->lock, NULL);
	p->upstream = (struct exchange){
		.method = "GET",
		.path = p->path,
		.accept = p->accept,
		.timeout_ms = is_watch(target) ? 0 : WHOLE_MS,
		.on_head = on_head,
		.on_bytes = on_bytes,
		.on_done = on_upstream_done,
	};
	return p;
}

void proxy_begin(struct ui *u, struct http_exchange *x, struct str target, struct str accept)
{
	if (atomic_fetch_add(&u->n_proxied, 1) >= PROXIED_MAX) {
		atomic_fetch_sub(&u->n_proxied, 1);
		ui_reply_status(x, 429, "too many requests are under way: close other tabs of this page");
		return;
	}
	struct proxied *p = proxied_new(u, x, target, accept);
	http_set_context(x, &p->visit);
	http_set_alarm(x, clock_mono_ms() + HEAD_MS);
	http_suspend(x);
	exchange_start(u->options.client, &p->upstream);
}
