/* The client's thread's half: it alone begins, ends and frees flights, so only lists that askers
 * see need the lock. One timer serves all deadlines, armed for the earliest. Those to be ended are
 * collected first: ending one calls others back, who may ask again. */
#include "delegation/reviews/flights_private.h"

#include "base/clock.h"

/* ---- requests ---- */

static struct flight *take_next(struct flights *f)
{
	pthread_mutex_lock(&f->lock);
	struct turn *turn = fair_queue_next(&f->fair_queue);
	pthread_mutex_unlock(&f->lock);
	return turn ? container_of(turn, struct flight, turn) : NULL;
}

static void begin_some(struct flights *f)
{
	struct flight *flight;
	while ((flight = take_next(f))) {
		list_remove(&flight->link);
		list_append(&f->running, &flight->link);
		flight->is_running = true;
		call_begin(&flight->call);
	}
}

static void judge(struct flights *f, const struct call *c, struct finding *ret, struct buf *why)
{
	bool is_found = c->answer && f->options.read(f->options.ctx, c, ret, why);
	if (!is_found && !why->n) {
		buf_add_str(why, c->failure.n ? buf_str(&c->failure) : STR("the answer cannot be understood"));
	}
}

static bool has_failed(const struct flights *f, const struct call *c, const struct finding *found)
{
	bool is_cut_short = c->is_ending || client_is_stopped(f->options.client);
	return c->failure.n > 0 && !found->value && !is_cut_short;
}

static void tell_failure(struct flights *f, const struct call *c)
{
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, WHY_MAX);
	buf_printf(&text, "cannot ask the cluster %s: " STR_FMT, f->options.what, STR_ARG(buf_str(&c->failure)));
	if (f->options.on_notice && !f->has_told) {
		f->options.on_notice(f->options.notice_ctx, buf_str(&text));
	}
	f->has_told = true;
}

void flights_on_call_done(struct call *c)
{
	struct flight *flight = container_of(c, struct flight, call);
	struct flights *f = flight->owner;
	struct finding found = {0};
	_cleanup_(buf_done) struct buf why;
	buf_init(&why, WHY_MAX);
	judge(f, c, &found, &why);
	if (has_failed(f, c, &found)) {
		tell_failure(f, c);
	} else if (!c->failure.n) {
		f->has_told = false;
	}
	if (f->options.on_end) {
		f->options.on_end(f->options.ctx, found.value != NULL);
	}

	list_remove(&flight->link);
	pthread_mutex_lock(&f->lock);
	fair_queue_end(&f->fair_queue, &flight->turn);
	pthread_mutex_unlock(&f->lock);
	flight_land(f, flight, &found, buf_str(&why));
	/* Its place is free. */
	begin_some(f);
}

/* One that nobody waits for, or that is to end. */
static void end_flight(struct flights *f, struct flight *flight)
{
	if (flight->is_running) {
		call_cancel(&flight->call);
	} else {
		list_remove(&flight->link);
		pthread_mutex_lock(&f->lock);
		fair_queue_leave(&f->fair_queue, &flight->turn);
		pthread_mutex_unlock(&f->lock);
		flight_land_stopped(f, flight);
	}
}

static void end_doomed(struct flights *f, struct list *doomed)
{
	while (!list_is_empty(doomed)) {
		struct flight *flight = list_entry(doomed->next, struct flight, doomed);
		list_remove(&flight->doomed);
		end_flight(f, flight);
	}
}

/* ---- deadlines ---- */

static struct str timeout_text(struct buf *out, const struct flights *f, const struct flight *flight)
{
	buf_printf(out, "%s%s: context deadline exceeded (%s)", f->options.server, flight->path, f->options.subject);
	return buf_str(out);
}

struct look {
	int64_t now_ms, soonest_ms;
	struct list doomed;
};

/* Ends the waiting of those whose time is up. */
static void look_at(struct flights *f, struct flight *flight, struct look *look)
{
	struct list late;
	_cleanup_(buf_done) struct buf why;
	list_init(&late);
	pthread_mutex_lock(&f->lock);
	list_for_each_safe(it, &flight->waiting) {
		int64_t deadline_ms = flight_deadline(flight, list_entry(it, struct waiting, link)->q);
		if (deadline_ms <= look->now_ms) {
			list_remove(it);
			list_append(&late, it);
			flight_count_out(f, list_entry(it, struct waiting, link));
		} else {
			look->soonest_ms = MIN(look->soonest_ms, deadline_ms);
		}
	}
	/* Nobody waits any more: its answer would be for nobody. */
	if (list_is_empty(&flight->waiting)) {
		flight_close(f, flight);
		list_remove(&flight->doomed);
		list_append(&look->doomed, &flight->doomed);
	}
	pthread_mutex_unlock(&f->lock);

	buf_init(&why, WHY_MAX);
	if (!list_is_empty(&late)) {
		flight_fail_all(&late, timeout_text(&why, f, flight));
	}
}

static void arm(struct flights *f, int64_t soonest_ms)
{
	if (soonest_ms < f->armed_ms) {
		f->armed_ms = soonest_ms;
		client_timer_set(f->options.client, &f->patience, MAX(0, soonest_ms - clock_mono_ms()));
	}
}

void flights_on_patience(struct client_timer *t)
{
	struct flights *f = container_of(t, struct flights, patience);
	struct look look = {.now_ms = clock_mono_ms(), .soonest_ms = INT64_MAX};
	list_init(&look.doomed);
	list_for_each(it, &f->queue) {
		look_at(f, list_entry(it, struct flight, link), &look);
	}
	list_for_each(it, &f->running) {
		look_at(f, list_entry(it, struct flight, link), &look);
	}
	f->armed_ms = INT64_MAX;
	arm(f, look.soonest_ms);
	end_doomed(f, &look.doomed);
}

/* ---- what other threads leave for the client's ---- */

static void doom_all(struct list *flights, struct list *doomed)
{
	list_for_each(it, flights) {
		struct flight *flight = list_entry(it, struct flight, link);
		list_remove(&flight->doomed);
		list_append(doomed, &flight->doomed);
	}
}

static void end_all(struct flights *f)
{
	struct list doomed;
	list_init(&doomed);
	doom_all(&f->queue, &doomed);
	doom_all(&f->running, &doomed);
	end_doomed(f, &doomed);
}

void flights_on_wake(struct client_task *t)
{
	struct flights *f = container_of(t, struct flights, wake);
	pthread_mutex_lock(&f->lock);
	list_for_each(it, &f->starting) {
		fair_queue_wait(&f->fair_queue, &list_entry(it, struct flight, link)->turn);
	}
	list_splice(&f->queue, &f->starting);
	int64_t soonest_ms = f->soonest_ms;
	f->soonest_ms = INT64_MAX;
	f->is_posted = false;
	bool is_stopped = f->is_stopped;
	pthread_mutex_unlock(&f->lock);

	if (is_stopped) {
		end_all(f);
		return;
	}
	begin_some(f);
	arm(f, soonest_ms);
}
