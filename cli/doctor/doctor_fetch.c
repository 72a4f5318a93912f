/* An exchange by hand instead of rest_do(): its answers may be no JSON (/readyz,
 * /metrics). The header Date is wanted too, with the times between which it was written. */
#include "cli/doctor/doctor_fetch.h"

#include "base/clock.h"
#include "cli/doctor/doctor_clock.h"

#include <pthread.h>
#include <stdio.h>

enum { BODY_MAX = 16 << 20, TIMEOUT_MS = 10 * 1000 };

struct fetch {
	struct exchange exchange;
	struct doctor_fetched *to;
	/* Guards is_over alone: all else is the client's thread's until that is true. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool is_over;
};

static bool on_bytes(struct exchange *x, struct str bytes)
{
	return buf_add_str(&container_of(x, struct fetch, exchange)->to->body, bytes);
}

static void on_done(struct exchange *x)
{
	struct fetch *f = container_of(x, struct fetch, exchange);
	pthread_mutex_lock(&f->lock);
	f->is_over = true;
	pthread_cond_signal(&f->changed);
	pthread_mutex_unlock(&f->lock);
}

static void take_answer(const struct exchange *x, struct doctor_fetched *ret)
{
	ret->heard_us = clock_wall_us();
	if (x->result == EXCHANGE_OK) {
		ret->code = x->code;
		http_date_parse(x->answer_date, &ret->date_s);
	} else {
		snprintf(ret->problem, sizeof(ret->problem), "%s", x->problem[0] ? x->problem : "no answer in time");
	}
}

void doctor_fetch(struct client *c, const char *path, struct doctor_fetched *ret)
{
	struct fetch f = {
		.exchange = {.method = "GET",
			.path = path,
			.accept = "*/*",
			.timeout_ms = TIMEOUT_MS,
			.on_bytes = on_bytes,
			.on_done = on_done},
		.to = ret,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
	};
	*ret = (struct doctor_fetched){.sent_us = clock_wall_us()};
	buf_init(&ret->body, BODY_MAX);
	exchange_start(c, &f.exchange);
	pthread_mutex_lock(&f.lock);
	while (!f.is_over) {
		pthread_cond_wait(&f.changed, &f.lock);
	}
	pthread_mutex_unlock(&f.lock);
	take_answer(&f.exchange, ret);
}

void doctor_fetched_done(struct doctor_fetched *f)
{
	buf_done(&f->body);
}
