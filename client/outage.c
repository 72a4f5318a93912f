/* There is no lock: everything runs on the client's thread, as informers and timers do. A count
 * of lost watches suffices, since each watch reports its loss and its return exactly once. */
#include "client/outage.h"
#include "base/ids.h"
#include "client/backoff.h"

#include <assert.h>

enum {
	GATHER_MS = 2 * 1000, /* all watches of a server that dies break within this time */
	TEXT_MAX = 64 * 1024, /* bytes of a notice; a reason that does not fit is left out of it */
};

struct outage {
	struct outage_options options;
	struct client_timer gather;
	struct buf reason;
	size_t n, n_lost; /* watches */
	bool is_told;
};

static void outage_notice(struct outage *o, bool is_over, struct str text)
{
	/* Stopping a client breaks all its watches, which is no outage. */
	if (!client_is_stopped(o->options.client)) {
		o->options.on_notice(o->options.ctx, is_over, text);
	}
}

static void on_gathered(struct client_timer *t)
{
	struct outage *o = container_of(t, struct outage, gather);
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, TEXT_MAX);
	buf_printf(&text, "%zu of %zu watches cannot go on, will go on trying: ", o->n_lost, o->n);
	buf_add_str(&text, buf_str(&o->reason));
	o->is_told = true;
	outage_notice(o, false, buf_str(&text));
}

static void end_if_over(struct outage *o)
{
	_cleanup_(mem_freep) char *text = NULL;

	if (o->n_lost > 0) {
		return;
	}
	client_timer_clear(&o->gather);
	if (o->is_told) {
		text = mem_printf("all %zu watches go on again", o->n);
		o->is_told = false;
		outage_notice(o, true, str_of(text));
	}
}

struct outage *outage_new(const struct outage_options *options)
{
	assert(options->client && options->on_notice);
	struct outage *o = mem_new(struct outage);

	o->options = *options;
	client_timer_init(&o->gather, on_gathered);
	buf_init(&o->reason, TEXT_MAX);
	return o;
}

struct outage *outage_free(struct outage *o)
{
	if (o) {
		buf_done(&o->reason);
		mem_free(o);
	}
	return NULL;
}

void outage_join(struct outage *o)
{
	assert(client_is_this_thread(o->options.client));
	o->n++;
}

void outage_leave(struct outage *o, bool is_lost)
{
	assert(o->n > 0);
	o->n--;
	if (is_lost) {
		outage_regain(o);
	}
}

void outage_lose(struct outage *o, struct str reason)
{
	assert(o->n_lost < o->n);
	assert(client_is_this_thread(o->options.client));
	if (o->n_lost++ == 0) {
		buf_clear(&o->reason);
		buf_add_str(&o->reason, reason);
		client_timer_set(o->options.client, &o->gather, GATHER_MS);
	}
}

void outage_regain(struct outage *o)
{
	assert(o->n_lost > 0);
	o->n_lost--;
	end_if_over(o);
}

/* ---- back-off ---- */

/* The random part is added to the pause, not taken from it: the first pause is the shortest that
 * a server in trouble ever sees. */
int64_t random_below(int64_t n)
{
	assert(n > 0);
	uint64_t r;
	random_bytes(&r, sizeof(r));
	return (int64_t)(r % (uint64_t)n);
}

int64_t backoff_next(struct backoff *b)
{
	int64_t pause = b->next_ms;
	b->next_ms = MIN(b->next_ms * 2, b->last_ms);
	return pause + random_below(pause + 1);
}
