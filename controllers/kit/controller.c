/* Starts and stops a controller by its description. The order of stopping matters: first threads
 * that produce keys, then workers, then watches. Handlers of watches may still add keys to stopped
 * queues. */
#include "controllers/kit/controller.h"

#include "base/exposition.h"
#include "controllers/kit/counters.h"

#include <assert.h>

void controller_notice(const struct controller_run *r, bool is_problem, struct str text)
{
	assert(r->env->on_notice && text.n > 0);
	r->env->on_notice(r->env->ctx, r->controller->name, is_problem, text);
}

/* Logs the end of a problem with the same severity as the problem, so that the same readers see
 * both. */
static void on_problem(void *ctx, bool is_over _unused_, struct str text)
{
	controller_notice(ctx, true, text);
}

struct informer *controller_watch(struct controller_run *r, struct informer_options options)
{
	assert(r->env->client);
	assert(r->n_watches < CONTROLLER_WATCHES_MAX);
	options.client = r->env->client;
	options.outage = r->env->outage;
	options.handlers.on_problem = on_problem;
	options.problem_ctx = r;
	options.ctx = options.ctx ? options.ctx : r;
	struct informer *f = informer_new(&options);
	r->watches[r->n_watches++] = f;
	return f;
}

void controller_work(struct controller_run *r)
{
	for (size_t i = 0; i < CONTROLLER_QUEUES_MAX && r->controller->queues[i].workers; i++) {
		workers_start(&r->workers[i], r->env->pool);
	}
}

struct controller_run *controller_start(const struct controller *c, const struct controller_env *env)
{
	struct controller_run *r = mem_zalloc(c->state_size);
	assert(c->state_size >= sizeof(*r) && c->queues[0].workers);
	r->controller = c;
	r->env = env;
	for (size_t i = 0; i < CONTROLLER_QUEUES_MAX && c->queues[i].workers; i++) {
		const struct controller_queue *q = &c->queues[i];
		r->workers[i] = (struct workers){
			.queue = workqueue_new(q->name, q->retry_first_ms, q->retry_last_ms),
			.work = q->work,
			.ctx = r,
			.most = q->workers,
		};
	}
	r->queue = r->workers[0].queue;
	c->begin(r);
	if (!c->starts_late) {
		controller_work(r);
	}
	return r;
}

void controller_stop(struct controller_run *r)
{
	const struct controller *c = r->controller;
	assert(client_is_stopped(r->env->client));
	if (c->halt) {
		c->halt(r);
	}
	for (size_t i = 0; i < CONTROLLER_QUEUES_MAX && c->queues[i].workers; i++) {
		workers_stop(&r->workers[i]);
	}
	while (r->n_watches) {
		informer_free(r->watches[--r->n_watches]);
	}
	if (c->end) {
		c->end(r);
	}
	for (size_t i = 0; i < CONTROLLER_QUEUES_MAX && c->queues[i].workers; i++) {
		workqueue_free(r->workers[i].queue);
	}
	mem_free(r);
}

void counters_write(struct counters *c, const struct counter_name *names, size_t n, struct buf *out)
{
	assert(n <= COUNTERS_MAX);
	for (size_t i = 0; i < MIN(n, (size_t)COUNTERS_MAX); i++) {
		exposition_counter(
			out, names[i].name, names[i].help, (double)atomic_load_explicit(&c->n[i], memory_order_relaxed));
	}
}
