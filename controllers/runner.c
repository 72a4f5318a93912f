/* Starts and stops controllers together, with their own client. Stopping that client ends every
 * request at once, so a leader that lost its Lease is silent before another begins. The election
 * has its own client for the same reason.
 *
 * Only metrics need `lock`, because they come from another thread. It is held while controllers
 * start and stop, never while they work. */
#include "controllers/runner.h"

#include "base/exposition.h"
#include "client/leader.h"

#include <assert.h>
#include <pthread.h>

/* Controllers that run at once; all_controllers[] has fewer rows. */
enum { CONTROLLERS_MAX = 16 };

struct runner {
	struct runner_options options;
	struct runner_election election;
	struct client_config config;
	struct client *election_client;
	struct leader *leader;
	pthread_mutex_t lock;      /* guards what follows against runner_write_metrics() */
	struct controller_env env; /* its client is NULL unless the controllers run */
	struct controller_run *running[CONTROLLERS_MAX];
	size_t n_running;
};

static void runner_notice(struct runner *r, bool is_problem, const char *text)
{
	r->options.on_notice(r->options.ctx, "controllers", is_problem, str_of(text));
}

/* ---- controllers ---- */

/* Logs the end of an outage with the same severity, so that readers who were warned see both. */
static void on_outage(void *ctx, bool is_over _unused_, struct str text)
{
	struct runner *r = ctx;
	r->options.on_notice(r->options.ctx, "controllers", true, text);
}

static int start_all(struct runner *r, struct buf *err)
{
	assert(!r->env.client && r->n_running == 0);
	pthread_mutex_lock(&r->lock);
	int error = client_new(&r->env.client, &r->config, err);
	if (!error && (error = pool_new(&r->env.pool))) {
		buf_printf(err, "cannot start threads for controllers: %s", strerror(-error));
	}
	r->env.settings = &r->options.settings;
	r->env.outage = outage_new(&(struct outage_options){.client = r->env.client, .on_notice = on_outage, .ctx = r});
	for (size_t i = 0; !error && all_controllers[i]; i++) {
		const struct controller *c = all_controllers[i];
		if (controller_is_chosen(c, r->options.choice, r->options.n_choice, r->options.is_within_up)) {
			assert(r->n_running < CONTROLLERS_MAX);
			r->running[r->n_running++] = controller_start(c, &r->env);
		}
	}
	pthread_mutex_unlock(&r->lock);
	return error;
}

static void stop_all(struct runner *r)
{
	if (r->env.client) {
		/* Outside the lock: workers waiting for a server return now, and metrics need
		 * not wait for them. */
		client_stop(r->env.client);
	}
	pthread_mutex_lock(&r->lock);
	while (r->n_running) {
		controller_stop(r->running[--r->n_running]);
	}
	/* The client goes before the pool: handlers on the client's thread add keys for the
	 * pool. */
	r->env.client = client_free(r->env.client);
	r->env.pool = pool_free(r->env.pool);
	r->env.outage = outage_free(r->env.outage);
	pthread_mutex_unlock(&r->lock);
}

/* ---- election ---- */

static void on_started(void *ctx)
{
	struct runner *r = ctx;
	_cleanup_(buf_done) struct buf err;
	buf_init(&err, 4096);
	runner_notice(r, false, "elected: starting");
	if (start_all(r, &err)) {
		r->options.on_notice(r->options.ctx, "controllers", true, buf_str(&err));
	}
}

static void on_stopped(void *ctx)
{
	struct runner *r = ctx;
	runner_notice(r, false, "not the leader any more: stopping");
	stop_all(r);
}

static void on_new_leader(void *ctx, struct str identity)
{
	struct runner *r = ctx;
	_cleanup_(mem_freep) char *text = mem_printf("the leader is " STR_FMT, STR_ARG(identity));
	runner_notice(r, false, text);
}

static void on_problem(void *ctx, struct str problem)
{
	struct runner *r = ctx;
	r->options.on_notice(r->options.ctx, "controllers", true, problem);
}

static int start_election(struct runner *r, struct buf *err)
{
	const struct runner_election *e = &r->election;
	int error = client_new(&r->election_client, &r->config, err);
	if (error) {
		return error;
	}
	return leader_new(&r->leader,
		&(struct leader_options){
			.client = r->election_client,
			.namespace = e->namespace,
			.name = e->name,
			.identity = e->identity,
			.lease_ms = e->lease_ms,
			.renew_ms = e->renew_ms,
			.retry_ms = e->retry_ms,
			.on_started = on_started,
			.on_stopped = on_stopped,
			.on_new_leader = on_new_leader,
			.on_problem = on_problem,
			.ctx = r,
		},
		err);
}

/* ---- its life ---- */

int runner_new(struct runner **ret, const struct runner_options *options, struct buf *err)
{
	assert(options->config && options->on_notice);
	struct runner *r = mem_new(struct runner);
	r->options = *options;
	client_config_copy(&r->config, options->config);
	if (!r->config.user_agent) {
		r->config.user_agent = mem_strdup("annals/" ANNALS_VERSION " controllers");
	}
	r->env.on_notice = options->on_notice;
	r->env.ctx = options->ctx;
	r->env.fake_nodes = options->fake_nodes;
	r->env.server = str_of(r->config.server ? r->config.server : "");
	r->env.ca = str_of(r->config.ca ? r->config.ca : "");
	pthread_mutex_init(&r->lock, NULL);
	if (options->election) {
		r->election = *options->election;
	}
	int error = options->election ? start_election(r, err) : start_all(r, err);
	if (error) {
		runner_free(r);
		return error;
	}
	*ret = r;
	return 0;
}

struct runner *runner_free(struct runner *r)
{
	if (r) {
		leader_free(r->leader);
		stop_all(r);
		client_free(r->election_client);
		pthread_mutex_destroy(&r->lock);
		client_config_done(&r->config);
		mem_free(r);
	}
	return NULL;
}

/* ---- metrics ---- */

static double depth(const struct workqueue_stats *s)
{
	return (double)s->depth;
}

static double adds(const struct workqueue_stats *s)
{
	return (double)s->adds;
}

static double retries(const struct workqueue_stats *s)
{
	return (double)s->retries;
}

static double unfinished(const struct workqueue_stats *s)
{
	return s->unfinished_s;
}

static double longest(const struct workqueue_stats *s)
{
	return s->longest_running_s;
}

static const struct {
	const char *name, *type, *help;
	double (*value)(const struct workqueue_stats *s);
} queue_metrics[] = {
	{"workqueue_depth", "gauge", "Current depth of workqueue", depth},
	{"workqueue_adds_total", "counter", "Total number of adds handled by workqueue", adds},
	{"workqueue_retries_total", "counter", "Total number of retries handled by workqueue", retries},
	{"workqueue_unfinished_work_seconds", "gauge", "How many seconds of work is in progress", unfinished},
	{"workqueue_longest_running_processor_seconds", "gauge",
		"How many seconds the longest running processor has been running", longest},
};

static void write_queues(struct runner *r, struct buf *out, size_t metric)
{
	for (size_t i = 0; i < r->n_running * CONTROLLER_QUEUES_MAX; i++) {
		struct workqueue *q = r->running[i / CONTROLLER_QUEUES_MAX]->workers[i % CONTROLLER_QUEUES_MAX].queue;
		if (q) {
			struct workqueue_stats stats;
			workqueue_read_stats(q, &stats);
			buf_printf(out, "%s{name=\"%s\"} %.17g\n", queue_metrics[metric].name, workqueue_name(q),
				queue_metrics[metric].value(&stats));
		}
	}
}

static void write_own(struct runner *r, struct buf *out)
{
	for (size_t i = 0; i < r->n_running; i++) {
		struct controller_run *c = r->running[i];
		if (c->controller->write_metrics) {
			c->controller->write_metrics(c, out);
		}
	}
}

void runner_write_metrics(struct runner *r, struct buf *out)
{
	pthread_mutex_lock(&r->lock);
	for (size_t i = 0; i < ARRAY_SIZE(queue_metrics); i++) {
		exposition_head(out, queue_metrics[i].name, queue_metrics[i].type, queue_metrics[i].help);
		write_queues(r, out, i);
	}
	write_own(r, out);
	pthread_mutex_unlock(&r->lock);
	if (r->leader) {
		exposition_head(out, "leader_election_master_status", "gauge", "1 where this process holds the lease");
		buf_printf(
			out, "leader_election_master_status{name=\"%s\"} %d\n", r->election.name, leader_is_leading(r->leader));
	}
}
