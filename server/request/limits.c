/* Classes are limited apart, so that lists cannot keep writes out, nor either of them watches.
 * Unlike upstream, watches are limited as well, and so is system:masters: the limits bound memory,
 * and an administrator's request takes as much. Counting adds first and takes back afterwards, so
 * there is no lock; at worst a request is refused that had just fitted. */
#include "server/request/limits.h"

#include "server/request/request_metrics.h"

/* A body is kept until the answer, in a buffer that may be twice as large; what is made of it to be stored is as large again, and so is what is sent. What
 * is charged while it comes is enough for all of that, so that who has got so far is not refused for the sake of those who have not. */
#define BODY_FACTOR 4

static enum request_class request_class_of(const struct route *r)
{
	if (!r->is_resource || !r->kind) {
		return CLASS_NONE;
	}
	if (r->is_watch) {
		return CLASS_WATCH;
	}
	return r->method == METHOD_GET || r->method == METHOD_HEAD ? CLASS_READ : CLASS_WRITE;
}

static struct budget *request_budget(const struct request *q)
{
	return q->class == CLASS_READ ? q->server->read_budget : q->class == CLASS_WRITE ? q->server->write_budget : NULL;
}

int request_refuse_for_now(struct request *q)
{
	request_metrics_refused(q);
	status_set(&q->st, 429, REASON_TOO_MANY_REQUESTS, "Too many requests, please try again later.");
	q->st.retry_after_s = RETRY_AFTER_S;
	return 1;
}

int request_charge(struct request *q, size_t n)
{
	struct budget *budget = request_budget(q);
	size_t body = http_body(q->x).n, wanted = MAX(BODY_FACTOR * body, 2 * body + n);

	return budget && !budget_charge(budget, &q->charged, wanted) ? request_refuse_for_now(q) : 0;
}

int request_weigh_announced(struct request *q)
{
	uint64_t length = 0;

	if (q->class != CLASS_WRITE || !str_to_uint64(http_header(q->x, "Content-Length"), &length)) {
		return 0;
	}
	return budget_has_room(q->server->write_budget, BODY_FACTOR * (size_t)length) ? 0 : request_refuse_for_now(q);
}

/* Bodies of anything but writes are of no use. */
bool request_charge_body(struct request *q, size_t n)
{
	struct budget *budget = request_budget(q);

	if (q->class != CLASS_WRITE) {
		return false;
	}
	q->is_over_budget = !budget_charge(budget, &q->charged, BODY_FACTOR * n);
	if (q->is_over_budget) {
		budget_charge(budget, &q->charged, 0);
	}
	return !q->is_over_budget;
}

/* How many of its class were under way before. */
static size_t request_count(struct request *q, int delta)
{
	struct server *s = q->server;
	_Atomic size_t *counters[] = {[CLASS_READ] = &s->n_reads, [CLASS_WRITE] = &s->n_writes, [CLASS_WATCH] = &s->n_watches};

	return atomic_fetch_add_explicit(counters[q->class], (size_t)delta, memory_order_relaxed);
}

static void request_show_count(struct request *q, int delta)
{
	if (q->class == CLASS_WATCH) {
		request_metrics_longrunning(q, delta);
	} else {
		metrics_inflight(q->server->metrics, q->class == CLASS_WRITE, delta);
	}
}

static void request_recount(struct request *q, int delta)
{
	request_count(q, delta);
	request_show_count(q, delta);
}

int request_enter(struct request *q)
{
	const struct server *s = q->server;
	const size_t limits[] = {[CLASS_READ] = s->options.max_requests_inflight,
		[CLASS_WRITE] = s->options.max_mutating_inflight,
		[CLASS_WATCH] = s->options.max_watches};

	q->class = request_class_of(&q->route);
	if (q->class == CLASS_NONE) {
		return 0;
	}
	if (request_count(q, 1) >= limits[q->class]) {
		request_count(q, -1);
		q->class = CLASS_NONE;
		return request_refuse_for_now(q);
	}
	request_show_count(q, 1);
	return 0;
}

void request_leave(struct request *q)
{
	if (q->class == CLASS_NONE) {
		return;
	}
	if (q->charged > 0) {
		budget_charge(request_budget(q), &q->charged, 0);
	}
	if (!q->is_outside) {
		request_recount(q, -1);
	}
}

void request_step_out(struct request *q)
{
	q->is_outside = q->class != CLASS_NONE;
	if (q->is_outside) {
		request_recount(q, -1);
	}
}

void request_step_in(struct request *q)
{
	if (q->is_outside) {
		q->is_outside = false;
		request_recount(q, 1);
	}
}
