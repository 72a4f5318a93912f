/* The requests of the page that take long. The proxy passes a request on to the API server, and streams the answer back.
 * Calls run the plugin's code on threads of their own.
 *
 * Between the API server and the page lies a ring of bytes: the client's thread fills it, and an HTTP thread empties it.
 * A full ring pauses the exchange. So a page that does not read makes the API server wait, and costs no memory.
 *
 * Two exchanges hold a struct proxied: upstream, and with the page. Either may end first. The lock guards everything that
 * both use. HTTP's and the client's own locks are taken within it, and neither calls us with its lock. */
#include "base/clock.h"
#include "base/list.h"
#include "base/thread.h"
#include "cli/ui/ui_private.h"
#include "server/parse/params.h"

#include <assert.h>
#include <stdatomic.h>

enum {
	RING_BYTES = 64 << 10,    /* libcurl hands over 16 KiB at most */
	PROXIED_MAX = 64,         /* requests at once */
	HEAD_MS = 60 * 1000,      /* until the API server begins to answer */
	WHOLE_MS = 5 * 60 * 1000, /* for a whole answer, except a watch */
};

struct proxied {
	struct visit visit;
	struct exchange upstream;
	struct ui *ui;
	struct http_exchange *page;
	char *path, *accept;
	_Atomic unsigned refs;

	pthread_mutex_t lock; /* guards the rest */
	bool is_waiting;      /* the page's exchange is suspended, and has not been woken */
	bool is_streaming;    /* the page's stream has begun, so it may be woken */
	bool is_page_gone;
	bool has_head, has_ended, is_paused, is_late;
	unsigned code; /* copied with the head, since the client's thread may change its own copy later */
	char type[sizeof(((struct exchange *)NULL)->answer_type)];
	size_t start, n; /* the first unread byte in the ring, and the number of unread bytes */
	char ring[RING_BYTES];
};

static void proxied_unref(struct proxied *p)
{
	unsigned refs = atomic_fetch_sub(&p->refs, 1);
	assert(refs > 0);
	if (refs > 1) {
		return;
	}
	atomic_fetch_sub(&p->ui->n_proxied, 1);
	pthread_mutex_destroy(&p->lock);
	mem_free(p->path);
	mem_free(p->accept);
	mem_free(p);
}

/* Lets the page's exchange go on. The caller has the lock. */
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
	assert(bytes.n <= RING_BYTES - p->n);
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

/* Resumes the upstream at half, so that it does not start and stop for each piece. The caller has the lock. */
static void make_room(struct proxied *p)
{
	if (p->is_paused && !p->has_ended && p->n <= RING_BYTES / 2) {
		p->is_paused = false;
		exchange_resume(p->ui->options.client, &p->upstream);
	}
}

/* Called with the lock held when there is nothing to send. An interrupted answer must not look
 * like a complete one. */
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

/* The page is gone, so the request to the API server is cancelled. */
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

/* The stream always counts as long-lived, so that even a list ends as soon as the page goes away. */
static void reply_stream(struct proxied *p, struct http_exchange *x)
{
	http_add_header(x, "Cache-Control", STR("no-store"));
	http_add_header(x, "Content-Type", str_of(p->type));
	p->is_streaming = true;
	http_reply_stream(x, p->code, HTTP_LENGTH_UNKNOWN, true, &stream_ops, p);
}

static void visit_go_on(struct visit *v, struct http_exchange *x)
{
	struct proxied *p = container_of(v, struct proxied, visit);
	pthread_mutex_lock(&p->lock);
	if (p->is_waiting) { /* the time-out woke the exchange; its end will wake it again */
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

static void proxied_leave(struct visit *v)
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
	p->visit = (struct visit){visit_go_on, proxied_leave};
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
		.is_alone = true,
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

/* ---- calls ----
 *
 * The plugin's code blocks while it waits for the API server. So calls run on a few threads of their own, and HTTP's
 * threads go on serving. */

enum {
	THREADS = 3,
	WAITING_MAX = 32,       /* calls of the page; a further one gets 429 */
	ARENA_MAX = 64 << 20,   /* bytes that one call may take */
	MESSAGE_MAX = 16 << 10, /* bytes of the message of a refusal */
};

struct calls {
	void *ctx;
	pthread_mutex_t lock;
	pthread_cond_t news;
	struct list waiting;
	size_t n_waiting;
	bool is_over;
	pthread_t threads[THREADS];
};

struct job {
	struct visit visit;
	struct calls *calls;
	struct http_exchange *x;
	const struct ui_route *route;
	struct ui_call call;
	struct arena arena;
	struct list link;
};

static void visit_answer(struct visit *v, struct http_exchange *x)
{
	struct job *j = container_of(v, struct job, visit);
	if (j->call.out.is_over) {
		ui_reply_status(x, 422, "the answer is larger than %d MiB", UI_OUT_MAX >> 20);
		return;
	}
	http_add_header(x, "Cache-Control", STR("no-store"));
	http_add_header(x, "Content-Type", STR("application/json"));
	http_reply(x, j->call.code, buf_str(&j->call.out));
}

static void job_leave(struct visit *v)
{
	struct job *j = container_of(v, struct job, visit);
	buf_done(&j->call.out);
	arena_done(&j->arena);
	mem_free(j);
}

/* Waits for a job. Returns NULL when the threads must end. */
static struct job *take_job(struct calls *c)
{
	struct job *j = NULL;
	pthread_mutex_lock(&c->lock);
	while (list_is_empty(&c->waiting) && !c->is_over) {
		pthread_cond_wait(&c->news, &c->lock);
	}
	if (!list_is_empty(&c->waiting)) {
		j = list_entry(c->waiting.next, struct job, link);
		list_remove(&j->link);
		c->n_waiting--;
	}
	pthread_mutex_unlock(&c->lock);
	return j;
}

static void *visit_work(void *ctx)
{
	struct calls *c = ctx;
	struct job *j;
	while ((j = take_job(c))) {
		j->route->run(c->ctx, &j->call);
		http_wake(j->x);
	}
	return NULL;
}

/* Returns false if too many jobs wait already. */
static bool add_job(struct calls *c, struct job *j)
{
	pthread_mutex_lock(&c->lock);
	bool has_room = c->n_waiting < WAITING_MAX;
	if (has_room) {
		list_append(&c->waiting, &j->link);
		c->n_waiting++;
		pthread_cond_signal(&c->news);
	}
	pthread_mutex_unlock(&c->lock);
	return has_room;
}

void calls_begin(struct calls *c, struct http_exchange *x, const struct ui_route *route, struct str query)
{
	struct job *j = mem_new(struct job);
	*j = (struct job){.visit = {visit_answer, job_leave}, .calls = c, .x = x, .route = route};
	arena_init(&j->arena, ARENA_MAX);
	j->call = (struct ui_call){.query = query, .body = http_body(x), .arena = &j->arena, .code = 200};
	buf_init(&j->call.out, UI_OUT_MAX);
	list_init(&j->link);
	http_set_context(x, &j->visit);
	http_suspend(x);
	if (!add_job(c, j)) {
		ui_refuse(&j->call, 429, "too many calls wait already");
		http_wake(x);
	}
}

struct str ui_parameter(const struct ui_call *call, const char *name)
{
	struct params all;
	return params_parse(&all, call->query, call->arena) ? params_get(&all, name) : (struct str){0};
}

void ui_refuse(struct ui_call *call, unsigned code, const char *format, ...)
{
	_cleanup_(buf_done) struct buf message;
	va_list ap;
	buf_init(&message, MESSAGE_MAX);
	va_start(ap, format);
	buf_vprintf(&message, format, ap);
	va_end(ap);
	call->code = code;
	buf_clear(&call->out);
	status_text(&call->out, code, buf_str(&message));
}

struct calls *calls_new(void *ctx)
{
	struct calls *c = mem_new(struct calls);
	c->ctx = ctx;
	list_init(&c->waiting);
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->news, NULL);
	for (size_t i = 0; i < THREADS; i++) {
		thread_must_start(&c->threads[i], "page-call", visit_work, c);
	}
	return c;
}

struct calls *calls_free(struct calls *c)
{
	pthread_mutex_lock(&c->lock);
	assert(!c->is_over);
	c->is_over = true;
	pthread_cond_broadcast(&c->news);
	pthread_mutex_unlock(&c->lock);
	for (size_t i = 0; i < THREADS; i++) {
		pthread_join(c->threads[i], NULL);
	}
	assert(list_is_empty(&c->waiting)); /* the threads have run all jobs */
	pthread_cond_destroy(&c->news);
	pthread_mutex_destroy(&c->lock);
	mem_free(c);
	return NULL;
}
