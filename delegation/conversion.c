/* Conversion webhooks: the ConversionReview that is sent, how its answer is checked, and how many are under way. */
#include "delegation/conversion.h"

#include "api/model/gotext.h"
#include "api/model/members.h"
#include "api/rules/validate.h"
#include "base/clock.h"
#include "base/exposition.h"
#include "base/ids.h"
#include "base/list.h"
#include "base/thread.h"
#include "client/client.h"
#include "delegation/webhook_call.h"

#include <assert.h>
#include <pthread.h>

enum {
	CALL_MS = 30000,                  /* upstream's time for one call */
	CALLS_MAX = 32,                   /* under way: each may hold an answer of ANSWER_MAX */
	CALLS_OF_KIND = 8,                /* of one definition: others must get on when its webhook hangs */
	WAITING_MAX = 4096,               /* of one definition: who asks for its objects waits, and holds no place of others */
	WAITING_BYTES_MAX = 16 << 20,     /* of the questions of one definition */
	WAITING_ALL_BYTES_MAX = 64 << 20, /* of the questions of all definitions */
	TARGETS_MAX = 64,                 /* webhooks whose CA and connections are kept, the last that were asked */
	TARGETS_BYTES_MAX = 4 << 20,      /* of their configurations */
	REVIEW_MAX = 16 << 20, /* bytes of a question: asked in chunks that are far smaller, but for single large objects */
	ANSWER_MAX = 8 << 20,  /* bytes of an answer: several times what etcd takes of one object */
};

#define REVIEW_GROUP "apiextensions.k8s.io"

/* ---- failures ---- */

/* "stable.example.com/v1, Kind=Widget": the first object. */
static struct str kind_of_first(const struct conversion_question *q)
{
	struct json *first;
	size_t at;

	if (json_parse(&first, q->base.arena, q->objects[0], JSON_LIMITS_DEFAULT, &at)) {
		return str_of(q->kind->kind);
	}
	return arena_printf(q->base.arena, STR_FMT ", Kind=%s", STR_ARG(member_text(first, "apiVersion")), q->kind->kind);
}

static void conversion_fail(struct conversion_question *q, const char *format, ...) _printf_(2, 3);

static void conversion_fail(struct conversion_question *q, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	struct str why = arena_vprintf(q->base.arena, format, ap);
	va_end(ap);
	q->base.failure =
		arena_printf(q->base.arena, "conversion webhook for " STR_FMT STR_FMT, STR_ARG(kind_of_first(q)), STR_ARG(why));
}

/* ---- metadata ---- */

static const char *go_type(const struct json *j)
{
	switch (j->kind) {
	case JSON_OBJECT:
		return "map[string]interface {}";
	case JSON_ARRAY:
		return "[]interface {}";
	case JSON_STRING:
		return "string";
	case JSON_BOOL:
		return "bool";
	case JSON_NUMBER: {
		int64_t n;
		return json_to_int64(j, &n) ? "int64" : "float64";
	}
	default:
		return "<nil>";
	}
}

static struct str same_problem(struct str was, struct str is, const char *what, struct arena *a)
{
	return str_eq(was, is)
		? STR("")
		: arena_printf(a, "must have the same %s: " STR_FMT " != " STR_FMT, what, STR_ARG(was), STR_ARG(is));
}

static struct str identity_problem(const struct json *in, const struct json *out, struct arena *a)
{
	static const char *const members[][2] = {{"name", "name"}, {"namespace", "namespace"}, {"uid", "UID"}};
	const struct json *was = json_gets(in, "metadata"), *is = json_gets(out, "metadata");
	struct str problem = STR("");

	for (size_t i = 0; i < ARRAY_SIZE(members) && problem.n == 0; i++) {
		problem = same_problem(member_text(was, members[i][0]), member_text(is, members[i][0]), members[i][1], a);
	}
	return problem;
}

static struct str errors_text(const struct field_errors *errors, struct arena *a)
{
	struct str all = STR("");

	for (size_t i = 0; i < errors->n; i++) {
		struct str one = field_error_text(&errors->v[i], a);
		all = i > 0 ? arena_printf(a, STR_FMT ", " STR_FMT, STR_ARG(all), STR_ARG(one)) : one;
	}
	return errors->n > 1 ? arena_printf(a, "[" STR_FMT "]", STR_ARG(all)) : all;
}

/* Checks labels or annotations of an answer, unless they are as before. */
static struct str texts_problem(const struct json *was, const struct json *is, const char *name, struct arena *a)
{
	struct field_errors errors;

	if (!json_is(is, JSON_OBJECT)) {
		return arena_printf(a, "invalid metadata.%s of type %s in converted object", name, go_type(is));
	}
	for (uint32_t i = 0; i < is->n; i++) {
		if (!json_is(is->members[i].value, JSON_STRING)) {
			return arena_printf(a, "metadata.%s[" STR_FMT "] must be a string, but is %s in converted object", name,
				STR_ARG(is->members[i].name), go_type(is->members[i].value));
		}
	}
	if (was && json_equal(was, is)) {
		return STR("");
	}
	field_errors_init(&errors, a);
	if (strcmp(name, "labels") == 0) {
		validate_labels(is, &errors);
	} else {
		validate_annotations(STR("metadata.annotation"), is, &errors);
	}
	return errors_text(&errors, a);
}

/* Sets *ret to the metadata that was sent, with the labels and annotations of the answer. Returns what is wrong with those. */
static struct str metadata_take(struct json **ret, const struct json *in, const struct json *out, struct arena *a)
{
	static const char *const names[] = {"labels", "annotations"};
	const struct json *sent = json_gets(in, "metadata"), *got = json_gets(out, "metadata");
	struct json *made = json_is(sent, JSON_OBJECT) ? json_copy(a, sent) : json_object(a);

	if (!got) {
		return STR("missing metadata in converted object");
	}
	if (!json_is(got, JSON_OBJECT)) {
		return arena_printf(a, "invalid metadata of type %s in converted object", go_type(got));
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct json *is = json_gets(got, names[i]);
		bool is_set = is && is->kind != JSON_NULL;
		struct str problem = is_set ? texts_problem(json_gets(sent, names[i]), is, names[i], a) : STR("");
		if (problem.n > 0) {
			return problem;
		}
		json_remove(made, str_of(names[i]));
		if (is_set && is->n > 0) {
			json_add(a, made, str_of(names[i]), is);
		}
	}
	*ret = made;
	return STR("");
}

/* ---- one object of the answer ---- */

/* Returns what is wrong with the object, or an empty text. *ret_is_metadata: it is its metadata. */
static struct str object_problem(struct json **ret_metadata, const struct conversion_question *q, const struct json *in,
	const struct json *out, bool *ret_is_metadata)
{
	struct arena *a = q->base.arena;
	struct str wanted = version_api_version(q->to, a), got = member_text(out, "apiVersion"), problem;

	*ret_is_metadata = false;
	if (!str_eq(wanted, got)) {
		return arena_printf(
			a, "invalid groupVersion (expected " STR_FMT ", received " STR_FMT ")", STR_ARG(wanted), STR_ARG(got));
	}
	if (!str_is(member_text(out, "kind"), q->kind->kind)) {
		return arena_printf(a, "invalid kind (expected %s, received " STR_FMT ")", q->kind->kind,
			STR_ARG(member_text(out, "kind")));
	}
	problem = identity_problem(in, out, a);
	if (problem.n > 0) {
		return problem;
	}
	*ret_is_metadata = true;
	return metadata_take(ret_metadata, in, out, a);
}

/* As unstructured objects are decoded. */
static struct str shape_problem(const struct json *out, struct arena *a)
{
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, TEXT_MAX);
	if (json_is(out, JSON_OBJECT) && member_text(out, "kind").n > 0) {
		return STR("");
	}
	json_encode(&text, out);
	return arena_printf(a, "Object 'Kind' is missing in '" STR_FMT "'", STR_ARG(buf_str(&text)));
}

static bool object_take(struct conversion_question *q, size_t i, struct json *out)
{
	struct arena *a = q->base.arena;
	struct json *in, *metadata = NULL, *whole;
	bool is_metadata = false;
	size_t at;

	if (json_parse(&in, a, q->objects[i], JSON_LIMITS_DEFAULT, &at)) {
		conversion_fail(q, " failed: the object is too large");
		return false;
	}
	struct str problem = shape_problem(out, a);
	problem = problem.n > 0 ? problem : object_problem(&metadata, q, in, out, &is_metadata);
	if (problem.n > 0) {
		const char *what = is_metadata ? "metadata" : q->n > 1 ? "converted object" : "object";
		struct str place = is_metadata && q->n > 1 ? arena_printf(a, " in object at index %zu", i)
			: is_metadata                      ? STR("")
							   : arena_printf(a, " at index %zu", i);
		conversion_fail(q, " returned invalid %s" STR_FMT ": " STR_FMT, what, STR_ARG(place), STR_ARG(problem));
		return false;
	}
	whole = json_copy(a, out);
	json_set(a, whole, STR("metadata"), metadata);
	if (q->kind->restore) {
		whole = q->kind->restore(q->kind, whole, a);
	}
	q->converted[i] = object_from_hub(q->kind, whole, a);
	q->converted[i]->version = q->to;
	if (q->kind->settle) {
		q->kind->settle(q->converted[i], a);
	}
	return true;
}

/* ---- the answer ---- */

static struct str review_problem(const struct conversion_question *q, const struct json *review, const char *uid)
{
	const struct json *response = json_gets(review, "response"), *result = json_gets(response, "result");
	struct arena *a = q->base.arena;
	struct str version = member_text(review, "apiVersion"), kind = member_text(review, "kind");
	bool is_v1 = strcmp(q->kind->hook->review_version, "v1") == 0;

	if (is_v1 && (!str_is(version, REVIEW_GROUP "/v1") || !str_is(kind, "ConversionReview"))) {
		return arena_printf(a,
			"expected webhook response of " REVIEW_GROUP "/v1, Kind=ConversionReview, got " STR_FMT
			", Kind=" STR_FMT,
			STR_ARG(version.n ? version : STR("/")), STR_ARG(kind));
	}
	if (!json_is(response, JSON_OBJECT)) {
		return STR("no response provided");
	}
	if (is_v1 && !str_is(member_text(response, "uid"), uid)) {
		return arena_printf(a, "expected response.uid=\"%s\", got " STR_FMT, uid,
			STR_ARG(go_quote(a, member_text(response, "uid"))));
	}
	if (!str_is(member_text(result, "status"), "Success")) {
		struct str message = member_text(result, "message");
		return message.n > 0 ? message
				     : arena_printf(a, "response.result.status was '" STR_FMT "', not 'Success'",
					       STR_ARG(member_text(result, "status")));
	}
	return STR("");
}

void conversion_read(struct conversion_question *q, const char *uid, int code, struct str content_type, struct str text)
{
	struct arena *a = q->base.arena;
	struct json *review;
	size_t at;

	if (code < 200 || code > 206) {
		conversion_fail(q, " failed: " STR_FMT, STR_ARG(webhook_refusal_text(code, content_type, text, a)));
		return;
	}
	if (text.n == 0) {
		conversion_fail(q, " failed: 0-length response with status code: %d and content type: " STR_FMT, code,
			STR_ARG(content_type));
		return;
	}
	int error = json_parse(&review, a, text, JSON_LIMITS_DEFAULT, &at);
	if (error || !json_is(review, JSON_OBJECT)) {
		conversion_fail(q, " failed: couldn't get version/kind; json parse error: %s",
			error ? json_error_text(a, error, text, at) : "the answer is no object");
		return;
	}
	struct str problem = review_problem(q, review, uid);
	if (problem.n > 0) {
		conversion_fail(q, " failed: " STR_FMT, STR_ARG(problem));
		return;
	}
	const struct json *objects = json_gets(json_gets(review, "response"), "convertedObjects");
	size_t n = json_is(objects, JSON_ARRAY) ? objects->n : 0;
	if (n != q->n) {
		conversion_fail(q, " returned %zu objects, expected %zu", n, q->n);
		return;
	}
	q->converted = arena_array(a, struct object *, n);
	for (size_t i = 0; i < n && object_take(q, i, objects->items[i]); i++) {
	}
	if (arena_is_full(a)) {
		conversion_fail(q, " failed: the answer is too big");
	}
}

/* ---- the question ---- */

static bool review_write(struct buf *out, const struct conversion_question *q, const char *uid)
{
	buf_printf(out,
		"{\"kind\":\"ConversionReview\",\"apiVersion\":\"" REVIEW_GROUP "/%s\",\"request\":{\"uid\":\"%s\","
		"\"desiredAPIVersion\":\"%s/%s\",\"objects\":[",
		q->kind->hook->review_version, uid, q->to->group, q->to->name);
	for (size_t i = 0; i < q->n; i++) {
		buf_adds(out, i > 0 ? "," : "");
		buf_add_str(out, q->objects[i]);
	}
	return buf_adds(out, "]},\"response\":{\"uid\":\"\",\"convertedObjects\":null,\"result\":{\"metadata\":{}}}}\n");
}

/* ---- calls ---- */

/* A webhook as a definition says how it is called. Its CA is opened once, since connections are used again only with the same one. */
struct target {
	struct list link; /* of `targets` */
	_Atomic unsigned refs;
	struct str config; /* WebhookClientConfig, as JSON */
	struct webhook hook;
	struct arena arena;
};

struct call {
	struct list link; /* of `running`, or of `waiting` */
	struct conversions *conversions;
	struct conversion_question *q;
	struct target *target; /* a reference */
	char uid[UUID_SIZE];
	char *path;
	struct buf body, text;
	struct exchange x;
	int64_t began_ns;
};

/* Calls by result; histograms of upstream's names. */
enum result { SUCCEEDED, FAILED, RESULTS };

struct conversions {
	struct converter converter;
	pthread_mutex_t lock;  /* guards what follows */
	struct client *client; /* made for the first question, then constant */
	struct list running, waiting;
	struct list targets; /* references, the latest first */
	size_t n_targets, n_target_bytes;
	size_t n_running;
	bool is_stopped;
	struct histogram durations[RESULTS];
	uint64_t counts[RESULTS];
};

static const double conversion_seconds[] = {0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 45, 60};
static const struct bounds conversion_bounds = {conversion_seconds, ARRAY_SIZE(conversion_seconds), 1e9};

/* ---- targets ---- */

static struct target *target_unref(struct target *t)
{
	if (t && atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) == 1) {
		t->hook.peer = peer_free(t->hook.peer);
		arena_done(&t->arena);
		mem_free(t);
	}
	return NULL;
}

static struct target *target_new(struct str config)
{
	struct target *t = mem_new(struct target);
	_cleanup_(arena_done) struct arena scratch;
	struct json *j;
	size_t at;

	t->refs = 1;
	list_init(&t->link);
	arena_init(&t->arena, SIZE_MAX / 2);
	arena_init(&scratch, SIZE_MAX / 2);
	t->config = arena_dup(&t->arena, config);
	webhook_target_read(&t->hook, json_parse(&j, &scratch, config, JSON_LIMITS_DEFAULT, &at) ? NULL : j, &t->arena);
	return t;
}

static void targets_trim(struct conversions *c, size_t n_max, size_t bytes_max)
{
	while (c->n_targets > n_max || c->n_target_bytes > bytes_max) {
		struct target *last = list_entry(c->targets.prev, struct target, link);
		list_remove(&last->link);
		c->n_targets--;
		c->n_target_bytes -= last->config.n;
		target_unref(last);
	}
}

/* Returns a reference. */
static struct target *targets_find(struct conversions *c, struct str config)
{
	struct target *found = NULL;

	pthread_mutex_lock(&c->lock);
	list_for_each(it, &c->targets) {
		struct target *each = list_entry(it, struct target, link);
		found = str_eq(each->config, config) ? each : found;
	}
	if (found) {
		list_remove(&found->link);
	} else {
		found = target_new(config);
		c->n_targets++;
		c->n_target_bytes += config.n;
	}
	list_add_before(c->targets.next, &found->link);
	atomic_fetch_add_explicit(&found->refs, 1, memory_order_relaxed);
	targets_trim(c, TARGETS_MAX, TARGETS_BYTES_MAX);
	pthread_mutex_unlock(&c->lock);
	return found;
}

/* ---- queues ---- */

static bool is_of_kind(const struct call *c, const struct kind *k)
{
	return str_eq(c->q->kind->life->definition_uid, k->life->definition_uid);
}

static bool may_run(const struct conversions *c, const struct kind *k)
{
	size_t n = 0;

	assert_locked(&((struct conversions *)(uintptr_t)c)->lock);
	list_for_each(it, &c->running) {
		n += is_of_kind(list_entry(it, struct call, link), k);
	}
	return c->n_running < CALLS_MAX && n < CALLS_OF_KIND;
}

/* Is there room for one more in the queue of its kind? */
static bool may_wait(const struct conversions *c, const struct call *more)
{
	size_t n = 0, n_bytes = more->body.n, n_all = more->body.n;

	assert_locked(&((struct conversions *)(uintptr_t)c)->lock);
	list_for_each(it, &c->waiting) {
		const struct call *each = list_entry(it, struct call, link);
		bool is_same = is_of_kind(each, more->q->kind);
		n += is_same;
		n_bytes += is_same ? each->body.n : 0;
		n_all += each->body.n;
	}
	return n_all <= WAITING_ALL_BYTES_MAX && (n == 0 || (n < WAITING_MAX && n_bytes <= WAITING_BYTES_MAX));
}

static struct call *call_free(struct call *c)
{
	c->target = target_unref(c->target);
	c->path = mem_free(c->path);
	buf_done(&c->body);
	buf_done(&c->text);
	return mem_free(c);
}

static bool on_answer_bytes(struct exchange *x, struct str bytes)
{
	struct call *c = container_of(x, struct call, x);

	return buf_add_str(&c->text, bytes);
}

static void call_fail(struct call *c, const char *why)
{
	conversion_fail(c->q, " failed: Post \"%s%s\": %s", c->target->hook.peer->base, c->path, why);
}

static void call_read_answer(struct call *c)
{
	struct arena *a = c->q->base.arena;

	switch (c->x.result) {
	case EXCHANGE_OK:
		conversion_read(
			c->q, c->uid, c->x.code, arena_dup(a, str_of(c->x.answer_type)), arena_dup(a, buf_str(&c->text)));
		break;
	case EXCHANGE_TIMEOUT:
		call_fail(c, "context deadline exceeded (Client.Timeout exceeded while awaiting headers)");
		break;
	case EXCHANGE_REFUSED:
		call_fail(c, "the answer is too big");
		break;
	case EXCHANGE_STOPPED:
	case EXCHANGE_CANCELLED:
		c->q->base.failure = STR("the server is stopping");
		break;
	case EXCHANGE_UNREACHABLE:
		call_fail(c, c->x.problem);
		break;
	}
}

static void call_start(struct call *c);

/* Takes the first call that waits and may run. Calls whose time is up are moved to `late`. */
static struct call *take_next(struct conversions *c, struct list *late)
{
	struct call *found = NULL;
	int64_t now = clock_mono_ms();

	assert_locked(&c->lock);
	list_for_each_safe(it, &c->waiting) {
		struct call *each = list_entry(it, struct call, link);
		if (each->q->base.deadline_ms <= now) {
			list_remove(it);
			list_append(late, it);
		} else if (!found && may_run(c, each->q->kind)) {
			found = each;
		}
	}
	if (found) {
		list_remove(&found->link);
		list_append(&c->running, &found->link);
		c->n_running++;
	}
	return found;
}

static void end_late(struct list *late)
{
	while (!list_is_empty(late)) {
		struct call *c = list_entry(late->next, struct call, link);
		struct conversion_question *q = c->q;

		list_remove(&c->link);
		call_fail(c, "context deadline exceeded: too many other conversions are under way");
		call_free(c);
		q->base.done(&q->base);
	}
}

static void on_exchange_done(struct exchange *x)
{
	struct call *c = container_of(x, struct call, x), *next;
	struct conversion_question *q = c->q;
	struct conversions *all = c->conversions;
	struct list late;

	list_init(&late);
	call_read_answer(c);
	enum result result = q->base.failure.n > 0 ? FAILED : SUCCEEDED;
	pthread_mutex_lock(&all->lock);
	all->counts[result]++;
	histogram_add(&all->durations[result], &conversion_bounds, (uint64_t)(clock_mono_ns() - c->began_ns));
	list_remove(&c->link);
	all->n_running--;
	next = take_next(all, &late);
	pthread_mutex_unlock(&all->lock);
	call_free(c);
	end_late(&late);
	if (next) {
		call_start(next);
	}
	q->base.done(&q->base);
}

static void call_start(struct call *c)
{
	int64_t left_ms = MAX(c->q->base.deadline_ms - clock_mono_ms(), 1);

	c->began_ns = clock_mono_ns();
	c->x = (struct exchange){.method = "POST",
		.path = c->path,
		.peer = c->target->hook.peer,
		.body = buf_str(&c->body),
		.timeout_ms = MIN(left_ms, CALL_MS),
		.on_bytes = on_answer_bytes,
		.on_done = on_exchange_done};
	exchange_start(c->conversions->client, &c->x);
}

/* Writes the request. Returns false with a failure in the question. */
static bool call_write(struct call *c)
{
	const struct webhook *h = &c->target->hook;

	if (!h->peer) {
		conversion_fail(c->q, " failed: could not get REST client: " STR_FMT, STR_ARG(h->target_problem));
		return false;
	}
	c->path = mem_printf(STR_FMT "?timeout=%ds", STR_ARG(h->path), CALL_MS / 1000);
	uuid_new(c->uid);
	if (!review_write(&c->body, c->q, c->uid)) {
		conversion_fail(c->q, " failed: the objects are too big");
		return false;
	}
	return true;
}

static bool open_client(struct conversions *c, struct buf *err)
{
	const struct client_config config = {0};

	assert_locked(&c->lock);
	return c->client || client_new(&c->client, &config, err) == 0;
}

static bool conversions_ask(void *ctx, struct conversion_question *q)
{
	struct conversions *all = ctx;
	_cleanup_(buf_done) struct buf err;

	assert(q->n > 0 && q->kind->hook && q->base.done);
	buf_init(&err, 1024);
	q->base.failure = STR("");
	if (!q->kind->hook->review_version) {
		q->base.failure = STR("no supported conversion review versions");
		return true;
	}
	struct call *c = mem_new(struct call);
	c->conversions = all;
	c->q = q;
	list_init(&c->link);
	c->target = targets_find(all, q->kind->hook->config);
	buf_init(&c->body, REVIEW_MAX);
	buf_init(&c->text, ANSWER_MAX);
	if (!call_write(c)) {
		call_free(c);
		return true;
	}
	pthread_mutex_lock(&all->lock);
	bool is_open = !all->is_stopped && open_client(all, &err), runs = is_open && may_run(all, q->kind);
	bool waits = is_open && !runs && may_wait(all, c);
	if (runs || waits) {
		list_append(runs ? &all->running : &all->waiting, &c->link);
		all->n_running += runs;
	}
	pthread_mutex_unlock(&all->lock);
	if (runs) {
		call_start(c);
		return false;
	}
	if (waits) {
		return false;
	}
	q->base.is_turned_away = is_open;
	q->base.failure = is_open ? STR("too many objects wait for the conversion webhook")
		: err.n > 0       ? arena_dup(q->base.arena, buf_str(&err))
				  : STR("the server is stopping");
	call_free(c);
	return true;
}

/* ---- lifetime ---- */

struct conversions *conversions_new(void)
{
	struct conversions *c = mem_new(struct conversions);

	c->converter = (struct converter){.ctx = c, .ask = conversions_ask};
	pthread_mutex_init(&c->lock, NULL);
	list_init(&c->running);
	list_init(&c->waiting);
	list_init(&c->targets);
	return c;
}

const struct converter *conversions_converter(struct conversions *c)
{
	return &c->converter;
}

/* Calls that wait follow those under way, and end as they do. */
void conversions_stop(struct conversions *c)
{
	if (!c) {
		return;
	}
	pthread_mutex_lock(&c->lock);
	c->is_stopped = true;
	struct client *client = c->client;
	pthread_mutex_unlock(&c->lock);
	if (client) {
		client_stop(client);
	}
}

struct conversions *conversions_free(struct conversions *c)
{
	if (c) {
		conversions_stop(c);
		client_free(c->client);
		assert(list_is_empty(&c->running) && list_is_empty(&c->waiting));
		targets_trim(c, 0, 0);
		pthread_mutex_destroy(&c->lock);
	}
	return mem_free(c);
}

void conversions_write_metrics(struct conversions *c, struct buf *out)
{
	static const char *const labels[RESULTS] = {
		"failure_type=\"\",result=\"success\"", "failure_type=\"conversion_webhook_call_failure\",result=\"failure\""};

	pthread_mutex_lock(&c->lock);
	exposition_head(out, "apiserver_conversion_webhook_duration_seconds", "histogram",
		"[ALPHA] Conversion webhook request latency");
	for (size_t i = 0; i < RESULTS; i++) {
		histogram_write(
			out, "apiserver_conversion_webhook_duration_seconds", &c->durations[i], &conversion_bounds, labels[i]);
	}
	exposition_head(out, "apiserver_conversion_webhook_request_total", "counter",
		"[ALPHA] Counter for conversion webhook requests with success/failure and failure error type");
	for (size_t i = 0; i < RESULTS; i++) {
		buf_printf(out, "apiserver_conversion_webhook_request_total{%s} %llu\n", labels[i],
			(unsigned long long)c->counts[i]);
	}
	pthread_mutex_unlock(&c->lock);
}
