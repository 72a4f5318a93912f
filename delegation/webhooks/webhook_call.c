/* Nothing is sent where the outcome is known without the webhook: a dry run that it cannot do, a
 * version of reviews that it does not take, an address that is none. Its time is its own limit
 * within what the request has left. Redirects and repetitions are not followed: one question has
 * one answer. */
#include "delegation/webhooks/webhook_call.h"

#include "base/clock.h"
#include "delegation/webhooks/webhook_review.h"

enum {
	REVIEW_MAX = 16 << 20, /* bytes: two objects, as big as etcd takes them */
	ANSWER_MAX = 8 << 20,  /* an object as a patch, in base64 */
};

static bool on_bytes(struct exchange *x, struct str bytes)
{
	struct webhook_call *c = container_of(x, struct webhook_call, x);
	return buf_add_str(&c->text, bytes);
}

static void fail(struct webhook_call *c, const char *why)
{
	webhook_answer_fail(&c->answer, c->hook, c->q->base.arena, 503, "failed to call webhook: Post \"" STR_FMT "%s\": %s",
		STR_ARG(str_of(c->hook->peer->base)), c->path, why);
}

static void read_answer(struct webhook_call *c)
{
	struct arena *a = c->q->base.arena;
	switch (c->x.result) {
	case EXCHANGE_OK:
		webhook_answer_read(&c->answer, c->hook, c->q->phase, c->uid, c->x.code, arena_dup(a, str_of(c->x.answer_type)),
			arena_dup(a, buf_str(&c->text)), a);
		break;
	case EXCHANGE_TIMEOUT:
		fail(c, "context deadline exceeded");
		break;
	case EXCHANGE_REFUSED:
		fail(c, "the answer is too big");
		break;
	case EXCHANGE_STOPPED:
	case EXCHANGE_CANCELLED:
		c->is_stopped = true;
		break;
	case EXCHANGE_UNREACHABLE:
		fail(c, c->x.problem);
		break;
	}
}

static void on_exchange_done(struct exchange *x)
{
	struct webhook_call *c = container_of(x, struct webhook_call, x);
	c->duration_ns = clock_mono_ns() - c->began_ns;
	read_answer(c);
	c->on_done(c);
}

/* The webhook's own limit, within what the request has left. */
static int64_t timeout_of(const struct webhook_call *c)
{
	int64_t left_ms = MAX(c->q->base.deadline_ms - clock_mono_ms(), 1);
	return c->hook->timeout_s ? MIN(left_ms, c->hook->timeout_s * 1000) : left_ms;
}

bool webhook_call_init(struct webhook_call *c, struct webhook_question *q, const struct webhook *h, const struct door *door,
	const struct object *object)
{
	*c = (struct webhook_call){.hook = h, .door = door, .q = q};
	buf_init(&c->body, REVIEW_MAX);
	buf_init(&c->text, ANSWER_MAX);
	uuid_new(c->uid);
	if (q->is_dry_run && webhook_answer_of_dry_run(&c->answer, h, q->base.arena)) {
		return true;
	}
	if (!h->review_version) {
		webhook_answer_fail(&c->answer, h, q->base.arena, 400,
			"could not create admission objects: webhook does not accept known AdmissionReview versions (v1, "
			"v1beta1)");
		return true;
	}
	if (!h->peer) {
		webhook_answer_fail(
			&c->answer, h, q->base.arena, 500, "could not get REST client: " STR_FMT, STR_ARG(h->target_problem));
		return true;
	}
	if (!webhook_review_write(&c->body, h, q, door, object, c->uid)) {
		webhook_answer_fail(&c->answer, h, q->base.arena, 400, "could not create admission objects: they are too big");
		return true;
	}
	return false;
}

void webhook_call_done(struct webhook_call *c)
{
	buf_done(&c->text);
	buf_done(&c->body);
	c->path = mem_free(c->path);
}

void webhook_call_start(struct webhook_call *c, struct client *client, void (*on_done)(struct webhook_call *c), void *ctx)
{
	int64_t timeout_ms = timeout_of(c);
	c->on_done = on_done;
	c->ctx = ctx;
	c->began_ns = clock_mono_ns();
	c->path = mem_printf(STR_FMT "?timeout=%llds", STR_ARG(c->hook->path), (long long)(timeout_ms + 999) / 1000);
	c->x = (struct exchange){.method = "POST",
		.path = c->path,
		.peer = c->hook->peer,
		.body = buf_str(&c->body),
		.timeout_ms = timeout_ms,
		.on_bytes = on_bytes,
		.on_done = on_exchange_done};
	exchange_start(client, &c->x);
}
