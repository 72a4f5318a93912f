/* Anybody can send any number of made-up tokens, each a question to the cluster. So strangers wait
 * in a class of their own, by address; a token that had a good answer goes before them. Answers
 * that name nobody are kept apart and pushed out by one another only. */
#include "delegation/reviews/token_reviews.h"

#include "api/model/members.h"
#include "base/clock.h"
#include "base/ids.h"
#include "base/keyed_hash.h"
#include "delegation/reviews/review_answer.h"
#include "delegation/reviews/review_metrics.h"
#include "delegation/reviews/token_review_metrics.h"

enum {
	ALL_MS = 10 * 1000, /* DelegatingAuthenticationOptions.TokenRequestTimeout, for all tries */
	ANSWERS_MAX = 32 * 1024,
	ANSWERS_BYTES_MAX = 32 << 20,
	UNKNOWN_MAX = 4096, /* tokens that name nobody */
	/* Of the 64 requests that may be under way, and of those who wait for them. Whoever has a good token is a source of his own. */
	SOURCE_RUNNING_MAX = 16,
	SOURCE_WAITING_MAX = 256,
	STRANGERS_MAX = 1024,
	BODY_MAX = 1 << 20,
	HOLDER_MAX = 4 << 20,
	HOLDER_BYTES = 512, /* about what a service account's takes */
};

#define PATH "/apis/authentication.k8s.io/v1/tokenreviews"

struct token_reviews {
	struct token_reviews_options options;
	struct flights *flights;
	struct review_metrics reviews;
	struct token_metrics metrics;
	struct keyed_hash hash; /* nobody can work out where a token's answer is kept */
};

/* Whom a token names. */
struct holder {
	bool is_known;
	struct user user;
	struct arena arena;
};

/* ---- answers ---- */

static struct str *read_groups(struct arena *a, const struct json *list, size_t *ret_n)
{
	size_t n = json_is(list, JSON_ARRAY) ? list->n : 0;
	struct str *groups = arena_array(a, struct str, n);
	for (size_t i = 0; i < n; i++) {
		groups[i] = arena_dup(a, json_text(list->items[i]));
	}
	*ret_n = n;
	return groups;
}

static size_t count_values(const struct json *extra)
{
	size_t n = 0;
	for (uint32_t i = 0; json_is(extra, JSON_OBJECT) && i < extra->n; i++) {
		n += json_is(extra->members[i].value, JSON_ARRAY) ? extra->members[i].value->n : 0;
	}
	return n;
}

static struct user_extra *read_extra(struct arena *a, const struct json *extra, size_t *ret_n)
{
	struct user_extra *rows = arena_array(a, struct user_extra, count_values(extra));
	size_t n = 0;
	for (uint32_t i = 0; json_is(extra, JSON_OBJECT) && i < extra->n; i++) {
		const struct json *values = extra->members[i].value, *value;
		struct str key = arena_dup(a, extra->members[i].name);
		for (uint32_t k = 0; (value = list_item(values, k)); k++) {
			rows[n++] = (struct user_extra){key, arena_dup(a, json_text(value))};
		}
	}
	*ret_n = n;
	return rows;
}

static struct holder *new_holder(const struct json *status)
{
	const struct json *user = json_gets(status, "user");
	struct holder *h = mem_new(struct holder);
	arena_init(&h->arena, HOLDER_MAX);
	h->is_known = member_is_true(status, "authenticated");
	if (h->is_known) {
		h->user.name = arena_dup(&h->arena, member_text(user, "username"));
		h->user.uid = arena_dup(&h->arena, member_text(user, "uid"));
		h->user.groups = read_groups(&h->arena, json_gets(user, "groups"), &h->user.n_groups);
		h->user.extra = read_extra(&h->arena, json_gets(user, "extra"), &h->user.n_extra);
	}
	return h;
}

static void free_holder(void *value)
{
	struct holder *h = value;
	arena_done(&h->arena);
	mem_free(h);
}

/* An error beside "not authenticated" is not kept, as upstream: it may be one of the moment. */
static bool names_somebody_or_nobody(const struct json *status, struct buf *failure)
{
	bool is_known = member_is_true(status, "authenticated");
	if (!is_known && member_text(status, "error").n) {
		buf_add_str(failure, member_text(status, "error"));
		return false;
	}
	if (is_known && !member_text(json_gets(status, "user"), "username").n) {
		BUF_LITERAL(failure, "the token review names nobody");
		return false;
	}
	return true;
}

static bool read_answer(void *ctx, const struct call *c, struct finding *ret, struct buf *failure)
{
	const struct token_reviews *t = ctx;
	struct arena scratch;
	if (c->failure.n) {
		return false;
	}
	arena_init(&scratch, REVIEW_TREE_MAX);
	const struct json *status = review_answer_status(&token_review_form, c->answer, &scratch, failure);
	bool is_answer = status && names_somebody_or_nobody(status, failure);
	if (is_answer) {
		struct holder *h = new_holder(status);
		*ret = (struct finding){.value = h,
			.n_bytes = HOLDER_BYTES + h->arena.used,
			.keep_ms = t->options.ttl_ms,
			.is_lesser = !h->is_known};
	}
	arena_done(&scratch);
	return is_answer;
}

static struct user copy_user(struct arena *a, const struct user *from)
{
	struct str *groups = arena_array(a, struct str, from->n_groups);
	struct user_extra *extra = arena_array(a, struct user_extra, from->n_extra);
	for (size_t i = 0; i < from->n_groups; i++) {
		groups[i] = arena_dup(a, from->groups[i]);
	}
	for (size_t i = 0; i < from->n_extra; i++) {
		extra[i] = (struct user_extra){arena_dup(a, from->extra[i].key), arena_dup(a, from->extra[i].value)};
	}
	return (struct user){.name = arena_dup(a, from->name),
		.uid = arena_dup(a, from->uid),
		.groups = groups,
		.n_groups = from->n_groups,
		.extra = extra,
		.n_extra = from->n_extra};
}

static void give(struct question *base, const void *value)
{
	struct token_question *q = container_of(base, struct token_question, base);
	const struct holder *h = value;
	q->is_known = h->is_known;
	if (h->is_known) {
		q->user = copy_user(base->arena, &h->user);
	}
}

static void on_try(void *ctx, int code, int64_t duration_ns)
{
	struct token_reviews *t = ctx;
	review_metrics_count(&t->reviews, code, duration_ns);
}

static void on_end(void *ctx, bool is_answer)
{
	struct token_reviews *t = ctx;
	token_metrics_fetched(&t->metrics, is_answer);
}

static void on_wait(void *ctx, int64_t duration_ns)
{
	struct token_reviews *t = ctx;
	token_metrics_missed(&t->metrics, duration_ns);
}

/* ---- asking ---- */

static bool write_body(struct buf *out, struct str token)
{
	BUF_LITERAL(out, "{\"kind\":\"TokenReview\",\"apiVersion\":\"authentication.k8s.io/v1\",\"metadata\":{},\"spec\":{\"token\":");
	json_encode_string(out, token);
	return BUF_LITERAL(out, "}}");
}

bool token_reviews_ask(struct token_reviews *t, struct token_question *q)
{
	unsigned char key[SHA256_SIZE];
	int64_t began_ns = clock_mono_ns();
	keyed_hash(&t->hash, q->token, key);
	struct flight_request request = {.key = {(const char *)key, sizeof(key)}, .path = STR(PATH), .source = q->source};
	if (flights_find(t->flights, &q->base, request.key)) {
		token_metrics_hit(&t->metrics, clock_mono_ns() - began_ns);
		return true;
	}

	_cleanup_(buf_done) struct buf body;
	buf_init(&body, BODY_MAX);
	if (!write_body(&body, q->token)) {
		q->base.failure = STR("the token is too long");
		return true;
	}
	request.body = buf_str(&body);
	return flights_ask(t->flights, &q->base, &request);
}

/* ---- life ---- */

struct token_reviews *token_reviews_new(const struct token_reviews_options *options)
{
	struct token_reviews *t = mem_new(struct token_reviews);
	t->options = *options;
	keyed_hash_init(&t->hash);
	review_metrics_init(&t->reviews);
	t->flights = flights_new(&(struct flights_options){.client = options->client,
		.server = options->server,
		.method = "POST",
		.subject = "post tokenreviews.authentication.k8s.io",
		.try_ms = ALL_MS,
		.all_ms = ALL_MS,
		.max_answers = ANSWERS_MAX,
		.max_bytes = ANSWERS_BYTES_MAX,
		.max_lesser = UNKNOWN_MAX,
		.source_running = SOURCE_RUNNING_MAX,
		.source_waiting = SOURCE_WAITING_MAX,
		.max_strangers = STRANGERS_MAX,
		.read = read_answer,
		.give = give,
		.free_value = free_holder,
		.on_try = on_try,
		.on_end = on_end,
		.on_wait = on_wait,
		.ctx = t,
		.on_notice = options->on_notice,
		.notice_ctx = options->ctx,
		.what = "whom a token names"});
	return t;
}

struct token_reviews *token_reviews_free(struct token_reviews *t)
{
	if (t) {
		flights_free(t->flights);
		review_metrics_done(&t->reviews);
		mem_free(t);
	}
	return NULL;
}

void token_reviews_stop(struct token_reviews *t)
{
	flights_stop(t->flights);
}

void token_reviews_write_metrics(struct token_reviews *t, struct buf *out)
{
	struct flights_counts counts;
	flights_count(t->flights, &counts);
	review_metrics_write(&t->reviews, "apiserver_delegated_authn", out);
	token_metrics_write(&t->metrics, &counts, out);
}
