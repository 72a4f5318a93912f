/* Calls block, since the plugin's code waits for answers of the API server. So they run on a few
 * threads of their own, and HTTP's go on serving. */
#include "cli/ui/ui_private.h"

#include "base/list.h"
#include "base/thread.h"
#include "server/parse/params.h"

enum {
	THREADS = 3,
	WAITING_MAX = 32,
	ARENA_MAX = 64 << 20,
	MESSAGE_MAX = 16 << 10,
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

static void answer(struct visit *v, struct http_exchange *x)
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

static void leave(struct visit *v)
{
	struct job *j = container_of(v, struct job, visit);
	buf_done(&j->call.out);
	arena_done(&j->arena);
	mem_free(j);
}

/* NULL: it is over. */
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

static void *work(void *ctx)
{
	struct calls *c = ctx;
	struct job *j;
	while ((j = take_job(c))) {
		j->route->run(c->ctx, &j->call);
		http_wake(j->x);
	}
	return NULL;
}

/* False: too many wait. */
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
	*j = (struct job){.visit = {answer, leave}, .calls = c, .x = x, .route = route};
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
		thread_must_start(&c->threads[i], "page call", work, c);
	}
	return c;
}

struct calls *calls_free(struct calls *c)
{
	pthread_mutex_lock(&c->lock);
	c->is_over = true;
	pthread_cond_broadcast(&c->news);
	pthread_mutex_unlock(&c->lock);
	for (size_t i = 0; i < THREADS; i++) {
		pthread_join(c->threads[i], NULL);
	}
	pthread_cond_destroy(&c->news);
	pthread_mutex_destroy(&c->lock);
	mem_free(c);
	return NULL;
}
