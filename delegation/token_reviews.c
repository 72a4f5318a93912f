/* Token reviews ask kube-apiserver whom a token names.
 *
 * Any client can send any number of made-up tokens, each a question to the cluster. So strangers
 * wait in a class of their own, by address, and a token that had a good answer goes before them.
 * Answers that name nobody are kept apart, and push out only each other. */
#include "delegation/token_reviews.h"

#include "api/model/members.h"
#include "base/clock.h"
#include "base/exposition.h"
#include "base/ids.h"
#include "base/keyed_hash.h"

enum {
	ALL_MS = 10 * 1000,           /* DelegatingAuthenticationOptions.TokenRequestTimeout, for all tries */
	ANSWERS_MAX = 32 * 1024,      /* kept answers; the least recently used ones make room */
	ANSWERS_BYTES_MAX = 32 << 20, /* bytes of kept answers */
	UNKNOWN_MAX = 4096,           /* tokens that name nobody */
	/* The share of a source in the 64 requests that may be under way, and in the waiting
	 * ones. The owner of a good token is a source of its own. */
	SOURCE_RUNNING_MAX = 16,
	SOURCE_WAITING_MAX = 256, /* a further question of that source fails at once */
	/* Flights of sources that never had a good token; a further one fails at once. */
	STRANGERS_MAX = 1024,
	BODY_MAX = 1 << 20,   /* bytes of a review; a longer token fails, and is not sent */
	HOLDER_MAX = 4 << 20, /* bytes of one user with all groups: as much as an answer may have */
	HOLDER_BYTES = 512,   /* about what a service account's takes */
};

/* ---- metrics: authentication_token_cache_* ----
 *
 * Names, bounds and empty help texts are k8s.io/apiserver's, whose dashboards know them. So an
 * answer from memory is a "hit", even if another's question brought it there. */

struct token_metrics {
	struct histogram hits, misses;
	_Atomic uint64_t n_fetched, n_failed;
};

static const double token_seconds[] = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};
static const struct bounds token_bounds = {token_seconds, ARRAY_SIZE(token_seconds), 1e9};

#define TOKEN_CACHE(what) "authentication_token_cache_" what

static void token_metrics_hit(struct token_metrics *m, int64_t duration_ns)
{
	histogram_add(&m->hits, &token_bounds, (uint64_t)duration_ns);
}

static void write_pair(struct buf *out, const char *name, const char *type, const char *first, uint64_t n_first,
	const char *second, uint64_t n_second)
{
	exposition_head(out, name, type, "[ALPHA]");
	buf_printf(out, "%s{status=\"%s\"} %llu\n", name, first, (unsigned long long)n_first);
	buf_printf(out, "%s{status=\"%s\"} %llu\n", name, second, (unsigned long long)n_second);
}

static void token_metrics_write(struct token_metrics *m, const struct flights_counts *now, struct buf *out)
{
	write_pair(out, TOKEN_CACHE("active_fetch_count"), "gauge", "blocked", now->n_waiting, "in_flight", now->n_flights);
	write_pair(out, TOKEN_CACHE("fetch_total"), "counter", "error",
		atomic_load_explicit(&m->n_failed, memory_order_relaxed), "ok",
		atomic_load_explicit(&m->n_fetched, memory_order_relaxed));
	exposition_head(out, TOKEN_CACHE("request_duration_seconds"), "histogram", "[ALPHA]");
	histogram_write(out, TOKEN_CACHE("request_duration_seconds"), &m->hits, &token_bounds, "status=\"hit\"");
	histogram_write(out, TOKEN_CACHE("request_duration_seconds"), &m->misses, &token_bounds, "status=\"miss\"");
	write_pair(out, TOKEN_CACHE("request_total"), "counter", "hit", histogram_count(&m->hits, &token_bounds), "miss",
		histogram_count(&m->misses, &token_bounds));
}

/* ---- reviews ---- */

#define PATH "/apis/authentication.k8s.io/v1/tokenreviews"

struct token_reviews {
	struct token_reviews_options options;
	struct flights *flights;
	struct review_metrics reviews;
	struct token_metrics metrics;
	struct keyed_hash hash; /* a secret key hides where a token's answer is kept */
};

/* The user that a token names. */
struct holder {
	bool is_known;
	struct user user;
	struct arena arena;
};

/* ---- answers ---- */

static struct str *holder_read_groups(struct arena *a, const struct json *list, size_t *ret_n)
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

static struct user_extra *holder_read_extra(struct arena *a, const struct json *extra, size_t *ret_n)
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

static struct holder *holder_new(const struct json *status)
{
	const struct json *user = json_gets(status, "user");
	struct holder *h = mem_new(struct holder);
	arena_init(&h->arena, HOLDER_MAX);
	h->is_known = member_is_true(status, "authenticated");
	if (h->is_known) {
		h->user.name = arena_dup(&h->arena, member_text(user, "username"));
		h->user.uid = arena_dup(&h->arena, member_text(user, "uid"));
		h->user.groups = holder_read_groups(&h->arena, json_gets(user, "groups"), &h->user.n_groups);
		h->user.extra = holder_read_extra(&h->arena, json_gets(user, "extra"), &h->user.n_extra);
	}
	return h;
}

static void holder_free(void *value)
{
	struct holder *h = value;
	arena_done(&h->arena);
	mem_free(h);
}

/* Checks the status. An error beside "not authenticated" is not kept, as upstream: it may be
 * temporary. */
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

static bool holder_read(void *ctx, const struct call *c, struct finding *ret, struct buf *failure)
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
		struct holder *h = holder_new(status);
		*ret = (struct finding){.value = h,
			.n_bytes = HOLDER_BYTES + h->arena.used,
			.keep_ms = t->options.ttl_ms,
			.is_lesser = !h->is_known};
	}
	arena_done(&scratch);
	return is_answer;
}

static struct user user_copy(struct arena *a, const struct user *from)
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

static void holder_give(struct question *base, const void *value)
{
	struct token_question *q = container_of(base, struct token_question, base);
	const struct holder *h = value;
	q->is_known = h->is_known;
	if (h->is_known) {
		q->user = user_copy(base->arena, &h->user);
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
	atomic_fetch_add_explicit(is_answer ? &t->metrics.n_fetched : &t->metrics.n_failed, 1, memory_order_relaxed);
}

static void on_wait(void *ctx, int64_t duration_ns)
{
	struct token_reviews *t = ctx;
	histogram_add(&t->metrics.misses, &token_bounds, (uint64_t)duration_ns);
}

/* ---- asking ---- */

static bool token_write_body(struct buf *out, struct str token)
{
	BUF_LITERAL(out,
		"{\"kind\":\"TokenReview\",\"apiVersion\":\"authentication.k8s.io/v1\",\"metadata\":{},\"spec\":{\"token\":");
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
	if (!token_write_body(&body, q->token)) {
		q->base.failure = STR("the token is too long");
		return true;
	}
	request.body = buf_str(&body);
	return flights_ask(t->flights, &q->base, &request);
}

/* ---- lifetime ---- */

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
		.read = holder_read,
		.give = holder_give,
		.free_value = holder_free,
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
