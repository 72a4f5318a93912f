/* One request to kube-apiserver with its tries, and the common part of reviews: how their answers
 * are read, and counted.
 *
 * Upstream's DefaultShouldRetry decides which answers are tried again. Failures have client-go's
 * words, since they end in messages that people search for. Unlike upstream, a connection that
 * ended without an answer is tried again, too: reviews change nothing
 * (docs/reference/deviations.md). */
#include "delegation/call.h"

#include "api/model/members.h"
#include "api/rules/review_schema.h"
#include "api/upstream/upstream.h"
#include "base/clock.h"
#include "base/exposition.h"
#include "base/thread.h"
#include "client/backoff.h"

#include <assert.h>

enum {
	TRIES_MAX = 5, /* attempts of one call, as upstream; then it has failed */
	/* Upstream's webhook clients: each pause is half as long again, plus a random fifth. */
	FIRST_PAUSE_MS = 500,
	ANSWER_MAX = 4 << 20, /* bytes: a review comes back whole, with all the groups it was sent with */
	TREE_MAX = 32 << 20,  /* bytes of an answer as a tree; an answer that needs more cannot be read */
	FAILURE_MAX = 4096,   /* bytes of the sentence that says why a call failed */
	SAID_MAX = 1024,      /* bytes of another server's own words */
};

/* ---- what went wrong ---- */

static struct str shortened(struct str s)
{
	return (struct str){s.p, MIN(s.n, (size_t)SAID_MAX)};
}

static bool is_status(const struct call *c)
{
	return str_is(member_text(c->answer, "kind"), "Status");
}

bool call_is_status(const struct call *c, const char *reason)
{
	return is_status(c) && str_is(member_text(c->answer, "reason"), reason);
}

/* k8s.io/apimachinery's NewGenericServerResponse, for answers without a Status. */
static const struct said {
	int code;
	const char *text;
} said[] = {
	{400, "the server rejected our request for an unknown reason"},
	{401, "the server has asked for the client to provide credentials"},
	{404, "the server could not find the requested resource"},
	{405, "the server does not allow this method on the requested resource"},
	{429, "the server has received too many requests and has asked us to try again later"},
	{503, "the server is currently unable to handle the request"},
	{504, "the server was unable to return a response in the time allotted, but may still be processing the request"},
};

static void say_code(struct call *c)
{
	for (size_t i = 0; i < ARRAY_SIZE(said); i++) {
		if (said[i].code == c->code) {
			buf_printf(&c->failure, "%s (%s)", said[i].text, c->subject);
			return;
		}
	}
	if (c->code >= 500) {
		struct str text = shortened(str_trim(buf_str(&c->text)));
		buf_printf(&c->failure,
			"an error on the server (\"" STR_FMT "\") has prevented the request from succeeding (%s)",
			STR_ARG(text), c->subject);
		return;
	}
	buf_printf(&c->failure, "the server responded with the status code %d but did not return more information (%s)",
		c->code, c->subject);
}

static void say_refusal(struct call *c)
{
	struct str message = is_status(c) ? member_text(c->answer, "message") : STR("");
	if (message.n) {
		buf_add_str(&c->failure, shortened(message));
	} else {
		say_code(c);
	}
}

static const char *why_unreachable(const struct call *c)
{
	switch (c->x.result) {
	case EXCHANGE_TIMEOUT:
		return "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
	case EXCHANGE_REFUSED:
		return "the answer is too big";
	case EXCHANGE_CANCELLED:
	case EXCHANGE_STOPPED:
		return "context canceled";
	case EXCHANGE_OK:
	case EXCHANGE_UNREACHABLE:
		break;
	}
	return c->x.problem;
}

static void say_unreachable(struct call *c)
{
	char verb[8] = "";
	for (size_t i = 0; c->method[i] && i + 1 < sizeof(verb); i++) {
		verb[i] = i > 0 && c->method[i] >= 'A' && c->method[i] <= 'Z' ? (char)(c->method[i] - 'A' + 'a') : c->method[i];
	}
	buf_printf(&c->failure, "%s \"%s%s\": %s", verb, c->server, c->path, why_unreachable(c));
}

/* ---- tries ---- */

static void read_answer(struct call *c)
{
	size_t at;
	struct json *answer;
	c->code = c->x.result == EXCHANGE_OK ? c->x.code : 0;
	if (c->code && json_parse(&answer, &c->arena, buf_str(&c->text), JSON_LIMITS_DEFAULT, &at) == 0) {
		c->answer = answer;
	}
}

static void say_failure(struct call *c)
{
	if (!c->code) {
		say_unreachable(c);
	} else if (c->code >= 300) {
		say_refusal(c);
	} else if (!c->answer) {
		buf_printf(&c->failure, "the answer is no JSON (%s)", c->subject);
	}
}

int64_t call_retry_after_s(const struct call *c)
{
	int64_t said_s = is_status(c) ? member_int(json_gets(c->answer, "details"), "retryAfterSeconds") : 0;
	return MAX(MIN(said_s, (int64_t)RETRY_AFTER_MAX_S), c->x.retry_after_s);
}

/* Returns true when another try may succeed: k8s.io/apiserver's DefaultShouldRetry. A connection
 * that could not be made is not among it. */
static bool may_pass(const struct call *c)
{
	if (!c->code) {
		return c->x.is_broken;
	}
	return c->code == 429 || c->code == 500 || c->code == 504 || (c->code >= 500 && c->x.retry_after_s >= 0) ||
		(c->code >= 400 && call_retry_after_s(c) > 0);
}

static bool is_to_be_tried_again(const struct call *c)
{
	bool has_ended = c->is_ending || c->x.result == EXCHANGE_CANCELLED || c->x.result == EXCHANGE_STOPPED;
	return c->failure.n > 0 && !has_ended && c->n_tries < TRIES_MAX && may_pass(c);
}

/* Returns the next pause, with a random part of up to a fifth. */
static int64_t next_pause_ms(struct call *c)
{
	int64_t ms = c->pause_ms + random_below(c->pause_ms / 5 + 1);
	c->pause_ms += c->pause_ms / 2;
	assert(ms > 0 && c->n_tries > 0);
	return MAX(ms, call_retry_after_s(c) * 1000);
}

static bool on_bytes(struct exchange *x, struct str bytes)
{
	struct call *c = container_of(x, struct call, x);
	return buf_add_str(&c->text, bytes);
}

static void on_exchange_done(struct exchange *x)
{
	struct call *c = container_of(x, struct call, x);
	assert(!c->is_pausing && c->n_tries > 0);
	read_answer(c);
	if (c->on_try) {
		c->on_try(c, c->code, clock_mono_ns() - c->began_ns);
	}
	say_failure(c);
	if (is_to_be_tried_again(c)) {
		c->is_pausing = true;
		client_timer_set(c->client, &c->pause, next_pause_ms(c));
	} else {
		c->on_done(c);
	}
}

static void begin_try(struct call *c)
{
	assert(!c->is_ending && c->n_tries < TRIES_MAX);
	c->answer = NULL;
	c->is_pausing = false;
	c->n_tries++;
	c->began_ns = clock_mono_ns();
	arena_clear(&c->arena);
	buf_clear(&c->text);
	buf_clear(&c->failure);
	c->x = (struct exchange){.method = c->method,
		.path = c->path,
		.body = c->body,
		.timeout_ms = c->try_ms,
		.on_bytes = on_bytes,
		.on_done = on_exchange_done};
	exchange_start(c->client, &c->x);
}

static void on_pause(struct client_timer *t)
{
	begin_try(container_of(t, struct call, pause));
}

/* ---- lifetime ---- */

void call_init(struct call *c)
{
	assert(c->client && c->on_done);
	assert(c->server && c->method && c->path && c->subject && c->try_ms > 0);
	buf_init(&c->failure, FAILURE_MAX);
	buf_init(&c->text, ANSWER_MAX);
	arena_init(&c->arena, TREE_MAX);
	client_timer_init(&c->pause, on_pause);
	c->pause_ms = FIRST_PAUSE_MS;
}

void call_done(struct call *c)
{
	client_timer_clear(&c->pause);
	arena_done(&c->arena);
	buf_done(&c->text);
	buf_done(&c->failure);
}

void call_begin(struct call *c)
{
	assert(c->n_tries == 0); /* a call is begun once */
	begin_try(c);
}

void call_cancel(struct call *c)
{
	assert(c->n_tries > 0 && client_is_this_thread(c->client));
	c->is_ending = true;
	if (c->is_pausing) {
		client_timer_clear(&c->pause);
		c->on_done(c);
	} else {
		exchange_cancel(c->client, &c->x);
	}
}

/* ---- answers to reviews ----
 *
 * They are read with schemas, as strictly as Go's decoder reads them: a status of another type
 * might say "allowed" to one reader and not to another. Only the status is read. The rest is the
 * question that annals sent. */

/* Only the status is read: the rest is the question that annals sent. */
static const struct field token_review_fields[] = {
	OBJECT_FIELDS,
	{"status", &type_authentication_token_review_status, FIELD_KEEP_EMPTY, NULL, NULL, NULL},
	{0},
};
static const struct type token_review_type = {.kind = TYPE_OBJECT, .go_type = "v1.TokenReview", .fields = token_review_fields};

static const struct field access_review_fields[] = {
	OBJECT_FIELDS,
	{"status", &type_authorization_subject_access_review_status, FIELD_KEEP_EMPTY, NULL, NULL, NULL},
	{0},
};
static const struct type access_review_type = {
	.kind = TYPE_OBJECT, .go_type = "v1.SubjectAccessReview", .fields = access_review_fields};

const struct review_form token_review_form = {"authentication.k8s.io/v1", "TokenReview", &token_review_type};
const struct review_form access_review_form = {"authorization.k8s.io/v1", "SubjectAccessReview", &access_review_type};

/* Checks the answer's kind. Go takes an absent kind for the requested one. kube-apiserver always
 * names it, so an answer without it comes from another server. */
static bool review_is_of(const struct review_form *form, const struct json *answer, struct arena *a, struct buf *failure)
{
	struct str version = member_text(answer, "apiVersion"), kind = member_text(answer, "kind");

	if (str_is(version, form->group_version) && str_is(kind, form->kind)) {
		return true;
	}
	buf_printf(failure, "the answer is " STR_FMT " of version " STR_FMT ", not %s of %s", STR_ARG(go_quote(a, kind)),
		STR_ARG(go_quote(a, version)), form->kind, form->group_version);
	return false;
}

const struct json *review_answer_status(
	const struct review_form *form, const struct json *answer, struct arena *a, struct buf *failure)
{
	struct json *review;
	struct str problem;

	if (!json_is(answer, JSON_OBJECT)) {
		BUF_LITERAL(failure, "the answer cannot be understood");
		return NULL;
	}
	if (!review_is_of(form, answer, a, failure)) {
		return NULL;
	}
	if (schema_decode(&review, form->type, answer, a, NULL, &problem)) {
		buf_add_str(failure, problem);
		return NULL;
	}
	if (!json_gets(review, "status")) {
		BUF_LITERAL(failure, "the answer has no status");
		return NULL;
	}
	return json_gets(review, "status");
}

/* ---- counts of reviews ----
 *
 * A lock is cheap enough: a count follows a round trip to another server. Each code has a row,
 * in the order of first use. The last row takes codes that do not fit. */

static const double review_seconds[] = {0.25, 0.5, 0.7, 1, 1.5, 3, 5, 10};
static const struct bounds review_bounds = {review_seconds, ARRAY_SIZE(review_seconds), 1e9};

void review_metrics_init(struct review_metrics *m)
{
	*m = (struct review_metrics){0};
	pthread_mutex_init(&m->lock, NULL);
}

void review_metrics_done(struct review_metrics *m)
{
	pthread_mutex_destroy(&m->lock);
}

static struct review_code *review_code_row(struct review_metrics *m, int code)
{
	assert_locked(&m->lock);
	size_t i = 0;
	while (i < m->n && m->codes[i].code != code) {
		i++;
	}
	if (i == m->n && i < REVIEW_CODES_MAX) {
		m->codes[m->n++].code = code;
	}
	assert(m->n <= REVIEW_CODES_MAX);
	return &m->codes[MIN(i, (size_t)REVIEW_CODES_MAX - 1)];
}

void review_metrics_count(struct review_metrics *m, int code, int64_t duration_ns)
{
	assert(duration_ns >= 0);
	pthread_mutex_lock(&m->lock);
	histogram_add(&review_code_row(m, code)->durations, &review_bounds, (uint64_t)duration_ns);
	pthread_mutex_unlock(&m->lock);
}

static void review_write_label(struct buf *out, int code)
{
	if (code) {
		buf_printf(out, "code=\"%d\"", code);
	} else {
		BUF_LITERAL(out, "code=\"<error>\"");
	}
}

static void review_write_totals(struct review_metrics *m, const char *prefix, struct buf *out)
{
	_cleanup_(mem_freep) char *name = mem_printf("%s_request_total", prefix);
	exposition_head(out, name, "counter", "[ALPHA] Number of HTTP requests partitioned by status code.");
	for (size_t i = 0; i < m->n; i++) {
		buf_printf(out, "%s{", name);
		review_write_label(out, m->codes[i].code);
		buf_printf(out, "} %llu\n", (unsigned long long)histogram_count(&m->codes[i].durations, &review_bounds));
	}
}

static void review_write_durations(struct review_metrics *m, const char *prefix, struct buf *out)
{
	_cleanup_(mem_freep) char *name = mem_printf("%s_request_duration_seconds", prefix);
	exposition_head(out, name, "histogram", "[ALPHA] Request latency in seconds. Broken down by status code.");
	for (size_t i = 0; i < m->n; i++) {
		_cleanup_(buf_done) struct buf label;
		buf_init(&label, 64);
		review_write_label(&label, m->codes[i].code);
		histogram_write(out, name, &m->codes[i].durations, &review_bounds, label.p);
	}
}

void review_metrics_write(struct review_metrics *m, const char *prefix, struct buf *out)
{
	pthread_mutex_lock(&m->lock);
	if (m->n) {
		review_write_totals(m, prefix, out);
		review_write_durations(m, prefix, out);
	}
	pthread_mutex_unlock(&m->lock);
}
