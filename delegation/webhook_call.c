/* Asks one webhook once: the AdmissionReview that is sent, how its answer is read, the patched
 * object, and the metrics. */
#include "delegation/webhook_call.h"

#include "api/model/members.h"
#include "api/patch/patch.h"
#include "api/rules/review_schema.h"
#include "api/upstream/upstream.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/exposition.h"
#include "base/map.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

/* ---- schema of the answer ----
 *
 * Types have Go's names, so that decoding errors have the words of Go's decoder. Pointers of
 * Go's struct keep what is empty (FIELD_KEEP_EMPTY): an absent status and an empty one mean
 * different things. */

static const struct field cause_fields[] = {
	{"reason", &type_string, 0, NULL, NULL, NULL},
	{"message", &type_string, 0, NULL, NULL, NULL},
	{"field", &type_string, 0, NULL, NULL, NULL},
	{0},
};
static const struct type cause_type = {.kind = TYPE_OBJECT, .go_type = "v1.StatusCause", .fields = cause_fields};
static const struct type causes_type = {.kind = TYPE_LIST, .elem = &cause_type};

static const struct field details_fields[] = {
	{"name", &type_string, 0, NULL, NULL, NULL},
	{"group", &type_string, 0, NULL, NULL, NULL},
	{"kind", &type_string, 0, NULL, NULL, NULL},
	{"uid", &type_string, 0, NULL, NULL, NULL},
	{"causes", &causes_type, 0, NULL, NULL, NULL},
	{"retryAfterSeconds", &type_int32, 0, NULL, NULL, NULL},
	{0},
};
static const struct type details_type = {.kind = TYPE_OBJECT, .go_type = "v1.StatusDetails", .fields = details_fields};

static const struct field status_fields[] = {
	{"kind", &type_string, 0, NULL, NULL, NULL},
	{"apiVersion", &type_string, 0, NULL, NULL, NULL},
	{"metadata", &type_list_meta, 0, NULL, NULL, NULL},
	{"status", &type_string, 0, NULL, NULL, NULL},
	{"message", &type_string, 0, NULL, NULL, NULL},
	{"reason", &type_string, 0, NULL, NULL, NULL},
	{"details", &details_type, FIELD_KEEP_EMPTY, NULL, NULL, NULL},
	{"code", &type_int32, 0, NULL, NULL, NULL},
	{0},
};
static const struct type status_type = {.kind = TYPE_OBJECT, .go_type = "v1.Status", .fields = status_fields};

static const struct type uid_type = {.kind = TYPE_STRING, .go_type = "types.UID"};
static const struct type patch_type_type = {.kind = TYPE_STRING, .go_type = "v1.PatchType"};

static const struct field response_fields[] = {
	{"uid", &uid_type, 0, NULL, NULL, NULL},
	{"allowed", &type_bool, 0, NULL, NULL, NULL},
	{"status", &status_type, FIELD_KEEP_EMPTY, NULL, NULL, NULL},
	{"patch", &type_bytes, 0, NULL, NULL, NULL},
	{"patchType", &patch_type_type, FIELD_KEEP_EMPTY, NULL, NULL, NULL},
	{"auditAnnotations", &type_string_map, 0, NULL, NULL, NULL},
	{"warnings", &type_string_list, 0, NULL, NULL, NULL},
	{0},
};
static const struct type response_type = {.kind = TYPE_OBJECT, .go_type = "v1.AdmissionResponse", .fields = response_fields};

/* Many webhooks answer with the question in it. It is not used, but if it is malformed, so is
 * the answer. */
#define NAMED(member)                                                                                 \
	{"group", &type_string, 0, NULL, NULL, NULL}, {"version", &type_string, 0, NULL, NULL, NULL}, \
	{                                                                                             \
		member, &type_string, 0, NULL, NULL, NULL                                             \
	}
static const struct field kind_fields[] = {NAMED("kind"), {0}};
static const struct type kind_type = {.kind = TYPE_OBJECT, .go_type = "v1.GroupVersionKind", .fields = kind_fields};
static const struct field resource_fields[] = {NAMED("resource"), {0}};
static const struct type resource_type = {.kind = TYPE_OBJECT, .go_type = "v1.GroupVersionResource", .fields = resource_fields};

static const struct field request_fields[] = {
	{"uid", &uid_type, 0, NULL, NULL, NULL},
	{"kind", &kind_type, 0, NULL, NULL, NULL},
	{"resource", &resource_type, 0, NULL, NULL, NULL},
	{"subResource", &type_string, 0, NULL, NULL, NULL},
	{"requestKind", &kind_type, 0, NULL, NULL, NULL},
	{"requestResource", &resource_type, 0, NULL, NULL, NULL},
	{"requestSubResource", &type_string, 0, NULL, NULL, NULL},
	{"name", &type_string, 0, NULL, NULL, NULL},
	{"namespace", &type_string, 0, NULL, NULL, NULL},
	{"operation", &type_string, 0, NULL, NULL, NULL},
	{"userInfo", &type_authentication_user_info, 0, NULL, NULL, NULL},
	{"object", &type_raw, 0, NULL, NULL, NULL},
	{"oldObject", &type_raw, 0, NULL, NULL, NULL},
	{"dryRun", &type_bool, 0, NULL, NULL, NULL},
	{"options", &type_raw, 0, NULL, NULL, NULL},
	{0},
};
static const struct type request_type = {.kind = TYPE_OBJECT, .go_type = "v1.AdmissionRequest", .fields = request_fields};

static const struct field review_fields[] = {
	{"kind", &type_string, 0, NULL, NULL, NULL},
	{"apiVersion", &type_string, 0, NULL, NULL, NULL},
	{"request", &request_type, 0, NULL, NULL, NULL},
	{"response", &response_type, FIELD_KEEP_EMPTY, NULL, NULL, NULL},
	{0},
};
static const struct type type_admission_review = {
	.kind = TYPE_OBJECT, .go_type = "v1.AdmissionReview", .fields = review_fields};

/* ---- answer ----
 *
 * Three outcomes must be kept apart. A denial is the webhook's decision. A failure is for
 * failurePolicy to judge. An error refuses in any case, for example a dry run that the webhook
 * cannot do. Codes and sentences are upstream's, because clients show them. */

enum {
	SAID_MAX = 2048, /* bytes quoted of an answer that is no Status (k8s.io/client-go rest) */
	CODE_MAX = 999,  /* what HTTP can say */
};

static void answer_fail(struct webhook_answer *ret, const struct webhook *h, struct arena *a, int code, struct str why)
{
	struct str name = go_quote(a, h->name);
	ret->outcome = OUTCOME_FAILED;
	ret->problem = arena_printf(a, "failed calling webhook " STR_FMT ": " STR_FMT, STR_ARG(name), STR_ARG(why));
	status_init(&ret->status, a);
	status_internal(&ret->status, STR_FMT, STR_ARG(ret->problem));
	ret->code = code;
}

void webhook_answer_fail(
	struct webhook_answer *ret, const struct webhook *h, struct arena *a, int code, const char *format, ...)
{
	assert(code >= 0);
	va_list ap;
	va_start(ap, format);
	answer_fail(ret, h, a, code, arena_vprintf(a, format, ap));
	va_end(ap);
}

bool webhook_answer_of_dry_run(struct webhook_answer *ret, const struct webhook *h, struct arena *a)
{
	switch (h->side_effects) {
	case SIDE_EFFECTS_UNSAID:
		webhook_answer_fail(ret, h, a, 400, "Webhook SideEffects is nil");
		return true;
	case SIDE_EFFECTS_SOME:
		ret->outcome = OUTCOME_ERROR;
		status_init(&ret->status, a);
		status_bad_request(
			&ret->status, "admission webhook " STR_FMT " does not support dry run", STR_ARG(go_quote(a, h->name)));
		return true;
	case SIDE_EFFECTS_NONE_ON_DRY_RUN:
		break;
	}
	return false;
}

/* ---- failed HTTP requests ---- */

static bool is_text(struct str content_type)
{
	return !content_type.n || str_starts(content_type, STR("text/"));
}

/* k8s.io/apimachinery's NewGenericServerResponse. */
static const struct generic {
	int code;
	const char *text; /* NULL: the server's own */
} generics[] = {
	{400, "the server rejected our request for an unknown reason"},
	{401, "the server has asked for the client to provide credentials"},
	{403, NULL},
	{404, "the server could not find the requested resource"},
	{405, "the server does not allow this method on the requested resource"},
	{409, "the server reported a conflict"},
	{415, NULL},
	{422, "the server rejected our request due to an error in our request"},
	{429, "the server has received too many requests and has asked us to try again later"},
	{503, "the server is currently unable to handle the request"},
	{504, "the server was unable to return a response in the time allotted, but may still be processing the request"},
};

static struct str generic_text(int code, struct str said, struct arena *a)
{
	for (size_t i = 0; i < ARRAY_SIZE(generics); i++) {
		if (generics[i].code == code) {
			return generics[i].text ? str_of(generics[i].text) : said;
		}
	}
	if (code >= 500) {
		return arena_printf(a, "an error on the server (" STR_FMT ") has prevented the request from succeeding",
			STR_ARG(go_quote(a, said)));
	}
	return arena_printf(a, "the server responded with the status code %d but did not return more information", code);
}

/* The message of a Status takes precedence over the text of the code. */
struct str webhook_refusal_text(int code, struct str content_type, struct str text, struct arena *a)
{
	struct json *body = NULL;
	size_t at;
	if (json_parse(&body, a, text, JSON_LIMITS_DEFAULT, &at) == 0 && str_is(member_text(body, "kind"), "Status") &&
		str_is(member_text(body, "status"), "Failure")) {
		return member_text(body, "message");
	}
	struct str said = {text.p, MIN(text.n, (size_t)SAID_MAX)};
	return generic_text(code, is_text(content_type) ? str_trim(said) : STR("unknown"), a);
}

/* ---- AdmissionReviews ---- */

/* Decodes an answer as k8s.io/apimachinery's codec does; an absent kind or version is taken to
 * be the requested one. Returns 0, or 1 with a sentence. */
static int answer_decode(
	const struct json **ret, const struct webhook *h, struct str text, struct arena *a, struct str *ret_problem)
{
	struct json *body, *review;
	size_t at;
	int error = json_parse(&body, a, text, JSON_LIMITS_DEFAULT, &at);
	if (error || !json_is(body, JSON_OBJECT)) {
		*ret_problem = arena_printf(a, "couldn't get version/kind; json parse error: %s",
			error ? json_error_text(a, error, text, at) : "the answer is no object");
		return 1;
	}
	struct str expected = arena_printf(a, "admission.k8s.io/%s", h->review_version);
	struct str version = member_text(body, "apiVersion"), kind = member_text(body, "kind");
	if ((version.n && !str_eq(version, expected)) || (kind.n && !str_is(kind, "AdmissionReview"))) {
		*ret_problem =
			arena_printf(a, "the answer is " STR_FMT " of version " STR_FMT ", not AdmissionReview of " STR_FMT,
				STR_ARG(go_quote(a, kind)), STR_ARG(go_quote(a, version)), STR_ARG(expected));
		return 1;
	}
	if (schema_decode(&review, &type_admission_review, body, a, NULL, ret_problem)) {
		return 1;
	}
	*ret = review;
	return 0;
}

static bool is_v1(const struct webhook *h)
{
	return strcmp(h->review_version, "v1") == 0;
}

/* Checks the uid. Only v1 answers have one. */
static struct str identity_problem(const struct json *review, const char *uid, struct arena *a)
{
	struct str answered = member_text(json_gets(review, "response"), "uid");
	struct str version = member_text(review, "apiVersion"), kind = member_text(review, "kind");
	if (!str_is(answered, uid)) {
		return arena_printf(a, "expected response.uid=\"%s\", got " STR_FMT, uid, STR_ARG(go_quote(a, answered)));
	}
	if (!version.n || !kind.n) {
		return arena_printf(a,
			"expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got " STR_FMT
			", Kind=" STR_FMT,
			STR_ARG(version.n ? version : STR("/")), STR_ARG(kind));
	}
	return (struct str){0};
}

static struct str patch_problem(const struct json *response, enum webhook_phase phase)
{
	bool has_patch = member_text(response, "patch").n > 0;
	const struct json *type = json_gets(response, "patchType");
	if (phase == WEBHOOKS_VALIDATING) {
		return has_patch ? STR("validating webhook may not return response.patch")
			: type   ? STR("validating webhook may not return response.patchType")
				 : (struct str){0};
	}
	if (has_patch && !type) {
		return STR("webhook returned response.patch but not response.patchType");
	}
	if (!has_patch && type) {
		return STR("webhook returned response.patchType but not response.patch");
	}
	return type && !json_text(type).n ? STR("webhook returned invalid response.patchType of \"\"") : (struct str){0};
}

static struct str answer_find_problem(
	const struct json *review, const struct webhook *h, enum webhook_phase phase, const char *uid, struct arena *a)
{
	const struct json *response = json_gets(review, "response");
	if (!response) {
		return STR("webhook response was absent");
	}
	if (!is_v1(h)) {
		return (struct str){0};
	}
	struct str problem = identity_problem(review, uid, a);
	return problem.n ? problem : patch_problem(response, phase);
}

/* ---- denials ---- */

static void answer_set_details(struct status *st, const struct json *details)
{
	const struct json *cause, *causes = json_gets(details, "causes");
	int64_t retry_after_s = member_int(details, "retryAfterSeconds");
	st->has_details = details != NULL;
	st->name = member_text(details, "name");
	st->group = member_text(details, "group");
	st->kind = member_text(details, "kind");
	st->uid = member_text(details, "uid");
	st->retry_after_s = retry_after_s > 0 ? (int)retry_after_s : 0;
	for (uint32_t i = 0; (cause = list_item(causes, i)); i++) {
		const char *reason = arena_dup(st->arena, member_text(cause, "reason")).p;
		status_add_cause(st, reason ? reason : "", member_text(cause, "field"), member_text(cause, "message"));
	}
}

static void answer_deny(struct webhook_answer *ret, const struct webhook *h, const struct json *result, struct arena *a)
{
	struct str reason = member_text(result, "reason"), message = member_text(result, "message");
	struct str explanation = message.n ? message : reason, name = go_quote(a, h->name);
	int64_t code = member_int(result, "code");
	ret->outcome = OUTCOME_DENIED;
	status_init(&ret->status, a);
	status_set(&ret->status,
		code < 400                ? 400
			: code > CODE_MAX ? 500
					  : (int)code,
		reason.n ? arena_dup(a, reason).p : NULL, "admission webhook " STR_FMT " denied the request" STR_FMT STR_FMT,
		STR_ARG(name), STR_ARG(explanation.n ? STR(": ") : STR(" without explanation")), STR_ARG(explanation));
	answer_set_details(&ret->status, json_gets(result, "details"));
	ret->code = ret->status.code;
}

/* Takes the patch. After decoding its base64 is good. v1beta1 knows one type only and did not
 * always name it. */
static void answer_take_patch(struct webhook_answer *ret, const struct webhook *h, const struct json *response, struct arena *a)
{
	struct str encoded = member_text(response, "patch");
	char *patch = arena_text(a, BASE64_ROOM(encoded.n));
	size_t n;
	if (encoded.n && base64_decode(patch, encoded, &n)) {
		ret->patch = (struct str){patch, n};
		ret->patch_type = is_v1(h) ? member_text(response, "patchType") : STR("JSONPatch");
	}
}

void webhook_answer_read(struct webhook_answer *ret, const struct webhook *h, enum webhook_phase phase, const char *uid,
	int code, struct str content_type, struct str text, struct arena *a)
{
	const struct json *review;
	struct str problem;
	*ret = (struct webhook_answer){.outcome = OUTCOME_ALLOWED, .code = 200};
	if (code < 200 || code > 206) {
		problem = webhook_refusal_text(code, content_type, text, a);
		webhook_answer_fail(ret, h, a, code, "failed to call webhook: " STR_FMT, STR_ARG(problem));
		return;
	}
	if (!text.n) {
		webhook_answer_fail(ret, h, a, 503,
			"failed to call webhook: 0-length response with status code: %d and content type: " STR_FMT, code,
			STR_ARG(content_type.n ? content_type : STR("application/json")));
		return;
	}
	if (answer_decode(&review, h, text, a, &problem)) {
		webhook_answer_fail(ret, h, a, 503, "failed to call webhook: " STR_FMT, STR_ARG(problem));
		return;
	}
	problem = answer_find_problem(review, h, phase, uid, a);
	if (problem.n) {
		webhook_answer_fail(ret, h, a, 503, "received invalid webhook response: " STR_FMT, STR_ARG(problem));
		return;
	}
	const struct json *response = json_gets(review, "response");
	ret->warnings = json_gets(response, "warnings");
	ret->annotations = json_gets(response, "auditAnnotations");
	if (!member_is_true(response, "allowed")) {
		answer_deny(ret, h, json_gets(response, "status"), a);
	} else if (phase == WEBHOOKS_MUTATING) {
		answer_take_patch(ret, h, response, a);
	}
}

/* ---- question ----
 *
 * kind and resource name the version through which the webhook wants to see the write;
 * requestKind and requestResource name the client's. The tree lives as long as its text is being
 * written. */

static struct json *review_text(struct arena *a, const char *s)
{
	return json_string(a, str_of(s));
}

/* GroupVersionKind, GroupVersionResource. */
static struct json *review_version(const struct version *version, const char *last, const char *value, struct arena *a)
{
	struct json *j = json_object(a);
	json_add(a, j, STR("group"), review_text(a, version->group));
	json_add(a, j, STR("version"), review_text(a, version->name));
	json_add(a, j, str_of(last), review_text(a, value));
	return j;
}

static struct json *review_object(const struct object *o, const struct version *version, struct arena *a)
{
	return o ? object_to_json(history_shown(o, version, a), version, a) : json_null(a);
}

static struct json *review_request(const struct webhook_question *q, const struct version *version, const struct object *object,
	const char *uid, struct arena *a)
{
	struct json *j = json_object(a);
	json_add(a, j, STR("uid"), review_text(a, uid));
	const struct version *shown_version = subresource_version(q->sub, version),
			     *sent_version = subresource_version(q->sub, q->version);
	const char *kind = subresource_kind(q->sub, q->kind)->kind;
	json_add(a, j, STR("kind"), review_version(shown_version, "kind", kind, a));
	json_add(a, j, STR("resource"), review_version(version, "resource", q->kind->resource, a));
	json_add_text(a, j, STR("subResource"), q->subresource);
	json_add(a, j, STR("requestKind"), review_version(sent_version, "kind", kind, a));
	json_add(a, j, STR("requestResource"), review_version(q->version, "resource", q->kind->resource, a));
	json_add_text(a, j, STR("requestSubResource"), q->subresource);
	json_add_text(a, j, STR("name"), q->name);
	json_add_text(a, j, STR("namespace"), q->ns);
	json_add(a, j, STR("operation"), review_text(a, q->operation));
	json_add(a, j, STR("userInfo"), user_info_json(q->user, a));
	json_add(a, j, STR("object"), review_object(object, shown_version, a));
	json_add(a, j, STR("oldObject"), review_object(q->old, shown_version, a));
	json_add(a, j, STR("dryRun"), json_bool(a, q->is_dry_run));
	json_add(a, j, STR("options"), q->options ? json_copy(a, q->options) : json_null(a));
	return j;
}

/* Writes the AdmissionReview. The webhook has a review_version. version: the one it wants; object:
 * the write's as it is by now. Returns false when out is full. */
static bool webhook_review_write(struct buf *out, const struct webhook *h, const struct webhook_question *q,
	const struct version *version, const struct object *object, const char *uid)
{
	struct arena a;
	_Alignas(16) char first[8192];
	arena_init_with(&a, SIZE_MAX, first, sizeof(first));
	struct json *j = json_object(&a);
	json_add(&a, j, STR("kind"), review_text(&a, "AdmissionReview"));
	json_add(&a, j, STR("apiVersion"), json_string(&a, arena_printf(&a, "admission.k8s.io/%s", h->review_version)));
	json_add(&a, j, STR("request"), review_request(q, version, object, uid, &a));
	bool fits = json_encode(out, j);
	arena_done(&a);
	return fits;
}

/* ---- call ----
 *
 * Nothing is sent where the outcome is known: a dry run that the webhook cannot do, an unknown
 * version of reviews, or a bad address. Its time is its own limit within the rest of the
 * request's. Redirects are not followed, and nothing is repeated: one question has one answer. */

enum {
	REVIEW_MAX = 16 << 20, /* bytes: two objects, as big as etcd takes them */
	ANSWER_MAX = 8 << 20,  /* an object as a patch, in base64 */
};

static bool on_answer_bytes(struct exchange *x, struct str bytes)
{
	struct webhook_call *c = container_of(x, struct webhook_call, x);
	return buf_add_str(&c->text, bytes);
}

static void call_fail(struct webhook_call *c, const char *why)
{
	webhook_answer_fail(&c->answer, c->hook, c->q->base.arena, 503, "failed to call webhook: Post \"" STR_FMT "%s\": %s",
		STR_ARG(str_of(c->hook->peer->base)), c->path, why);
}

static void call_read_answer(struct webhook_call *c)
{
	struct arena *a = c->q->base.arena;
	switch (c->x.result) {
	case EXCHANGE_OK:
		webhook_answer_read(&c->answer, c->hook, c->q->phase, c->uid, c->x.code, arena_dup(a, str_of(c->x.answer_type)),
			arena_dup(a, buf_str(&c->text)), a);
		break;
	case EXCHANGE_TIMEOUT:
		call_fail(c, "context deadline exceeded");
		break;
	case EXCHANGE_REFUSED:
		call_fail(c, "the answer is too big");
		break;
	case EXCHANGE_STOPPED:
	case EXCHANGE_CANCELLED:
		c->is_stopped = true;
		break;
	case EXCHANGE_UNREACHABLE:
		call_fail(c, c->x.problem);
		break;
	}
}

static void on_exchange_done(struct exchange *x)
{
	struct webhook_call *c = container_of(x, struct webhook_call, x);
	c->duration_ns = clock_mono_ns() - c->began_ns;
	call_read_answer(c);
	c->on_done(c);
}

/* Returns the webhook's own limit, within the rest of the request's time. */
static int64_t call_timeout_ms(const struct webhook_call *c)
{
	int64_t left_ms = MAX(c->q->base.deadline_ms - clock_mono_ms(), 1);
	return c->hook->timeout_s ? MIN(left_ms, c->hook->timeout_s * 1000) : left_ms;
}

bool webhook_call_init(struct webhook_call *c, struct webhook_question *q, const struct webhook *h,
	const struct version *version, const struct object *object)
{
	*c = (struct webhook_call){.hook = h, .version = version, .q = q};
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
	if (!webhook_review_write(&c->body, h, q, version, object, c->uid)) {
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
	assert(on_done && c->hook->peer && c->body.n > 0 && !c->path);
	int64_t timeout_ms = call_timeout_ms(c);
	c->on_done = on_done;
	c->ctx = ctx;
	c->began_ns = clock_mono_ns();
	c->path = mem_printf(STR_FMT "?timeout=%llds", STR_ARG(c->hook->path), (long long)(timeout_ms + 999) / 1000);
	c->x = (struct exchange){.method = "POST",
		.path = c->path,
		.peer = c->hook->peer,
		.body = buf_str(&c->body),
		.timeout_ms = timeout_ms,
		.on_bytes = on_answer_bytes,
		.on_done = on_exchange_done};
	exchange_start(client, &c->x);
}

/* ---- patches ----
 *
 * A patch is applied to the object as the webhook saw it, in its version. Then the object is
 * decoded like a client's, so a webhook can make no object that a client could not. If the patch
 * cannot be decoded, the webhook has failed. If it cannot be applied, the write is refused: the
 * webhook has answered, but not about this object. */

static void webhook_patch_refuse(struct webhook_call *c, struct arena *a, const char *format, ...) _printf_(3, 4);

/* Refuses the write in any case: failurePolicy does not apply. */
static void webhook_patch_refuse(struct webhook_call *c, struct arena *a, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	struct str why = arena_vprintf(a, format, ap);
	va_end(ap);
	c->answer.outcome = OUTCOME_ERROR;
	c->answer.code = 0;
	status_init(&c->answer.status, a);
	status_internal(&c->answer.status, STR_FMT, STR_ARG(why));
}

static int compare_members(const void *a, const void *b)
{
	return str_cmp(((const struct json_member *)a)->name, ((const struct json_member *)b)->name);
}

/* Returns the operations with members sorted by name, as Go writes them. */
static struct json *shown_operations(const struct json *operations, struct arena *a)
{
	struct json *shown = json_array(a);
	for (uint32_t i = 0; i < operations->n; i++) {
		struct json *operation = json_copy(a, operations->items[i]);
		qsort(operation->members, operation->n, sizeof(*operation->members), compare_members);
		json_append(a, shown, operation);
	}
	return shown;
}

/* Applies the patch. Upstream uses another json-patch here than for clients, and it does not say
 * what is wrong; so this does not, either. */
static int webhook_patch_apply(
	struct json **ret, struct webhook_call *c, const struct json *before, const struct json *operations, struct arena *a)
{
	struct status st;
	status_init(&st, a);
	if (patch_json(ret, before, operations, a, &st)) {
		webhook_patch_refuse(c, a, "the patch of admission webhook " STR_FMT " cannot be applied",
			STR_ARG(go_quote(a, c->hook->name)));
		return 1;
	}
	return 0;
}

/* Says why a patch cannot be decoded, in the words of Go's decoder, whose types are json-patch's
 * own. */
static struct str why_undecodable(struct str patch, const struct status *st, struct arena *a)
{
	struct json *j;
	size_t at;
	int error = json_parse(&j, a, patch, JSON_LIMITS_DEFAULT, &at);
	if (error) {
		return str_of(json_error_text(a, error, patch, at));
	}
	if (json_is(j, JSON_ARRAY)) {
		return st->message;
	}
	return arena_printf(a, "json: cannot unmarshal %s into Go value of type jsonpatch.Patch", json_kind_name(j->kind));
}

void webhook_patch(
	struct webhook_patched *ret, struct webhook_call *c, const struct webhook_question *q, const struct object *object)
{
	assert(c->answer.outcome == OUTCOME_ALLOWED && c->answer.patch.n > 0);
	struct arena *a = q->base.arena;
	struct json *operations, *after;
	struct object *decoded;
	struct status st;
	struct str reason;
	status_init(&st, a);
	if (patch_parse(&operations, PATCH_JSON, c->answer.patch, JSON_LIMITS_DEFAULT, a, NULL, &st)) {
		webhook_answer_fail(&c->answer, c->hook, a, 503, "received undecodable patch in webhook response: " STR_FMT,
			STR_ARG(why_undecodable(c->answer.patch, &st, a)));
		return;
	}
	if (operations->n == 0) {
		return;
	}
	if (!object) {
		webhook_patch_refuse(c, a,
			"admission webhook " STR_FMT
			" attempted to modify the object, which is not supported for this operation",
			STR_ARG(go_quote(a, c->hook->name)));
		return;
	}
	if (!str_is(c->answer.patch_type, "JSONPatch")) {
		webhook_answer_fail(&c->answer, c->hook, a, 400, "unsupported patch type " STR_FMT,
			STR_ARG(go_quote(a, c->answer.patch_type)));
		return;
	}
	const struct version *version = subresource_version(q->sub, c->version);
	struct json *shown = object_to_json(history_shown(object, version, a), version, a);
	if (webhook_patch_apply(&after, c, shown, operations, a)) {
		return;
	}
	if (object_decode(&decoded, subresource_kind(q->sub, q->kind), version, after, object, a, NULL, &reason)) {
		webhook_patch_refuse(c, a, STR_FMT, STR_ARG(reason));
		return;
	}
	history_take_back(decoded, object, version, a);
	decoded->mod_revision = object->mod_revision;
	ret->object = decoded;
	ret->operations = shown_operations(operations, a);
	ret->has_changed = !json_equal(object_to_json(object, version, a), object_to_json(decoded, version, a));
}

/* ---- metrics ----
 *
 * A series is keyed by the text of its labels. They have names from configurations, so their
 * number is bounded here. The lock is taken once for each webhook that was asked, which costs
 * little beside the request. */

enum {
	SERIES_MAX = 4096,      /* of one family; further ones are not counted */
	LABELS_MAX = 1024,      /* bytes */
	COUNTED_CODE_MAX = 600, /* greater ones count as this, as upstream has it */
};

enum family { DURATIONS, REQUESTS, REJECTIONS, FAIL_OPENS, FAMILIES };

struct series {
	uint64_t n;
	struct histogram durations;
};

struct webhook_metrics {
	pthread_mutex_t lock;
	struct map families[FAMILIES]; /* labels to series */
};

static const double webhook_seconds[] = {0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25};
static const struct bounds webhook_bounds = {webhook_seconds, ARRAY_SIZE(webhook_seconds), 1e9};

static const struct family_text {
	const char *name, *type, *help;
} family_texts[FAMILIES] = {
	[DURATIONS] = {"apiserver_admission_webhook_admission_duration_seconds", "histogram",
		"[STABLE] Admission webhook latency histogram in seconds, identified by name and broken out for each operation "
		"and "
		"API resource and type (validate or admit)."},
	[REQUESTS] = {"apiserver_admission_webhook_request_total", "counter",
		"[ALPHA] Admission webhook request total, identified by name and broken out for each admission type "
		"(validating or "
		"admit) and operation. Additional labels specify whether the request was rejected or not and an HTTP status "
		"code. "
		"Codes greater than 600 are truncated to 600, to keep the metrics cardinality bounded."},
	[REJECTIONS] = {"apiserver_admission_webhook_rejection_count", "counter",
		"[ALPHA] Admission webhook rejection count, identified by name and broken out for each admission type "
		"(validating or "
		"admit) and operation. Additional labels specify an error type (calling_webhook_error or "
		"apiserver_internal_error if "
		"an error occurred; no_error otherwise) and optionally a non-zero rejection code if the webhook rejects the "
		"request "
		"with an HTTP status code (honored by the apiserver when the code is greater or equal to 400). Codes greater "
		"than "
		"600 are truncated to 600, to keep the metrics cardinality bounded."},
	[FAIL_OPENS] = {"apiserver_admission_webhook_fail_open_count", "counter",
		"[ALPHA] Admission webhook fail open count, identified by name and broken out for each admission type "
		"(validating or "
		"admit)."},
};

/* ---- counting ---- */

static struct series *series_of(struct webhook_metrics *m, enum family family, const struct buf *labels)
{
	struct series *s = map_get(&m->families[family], buf_str(labels));
	if (s || labels->is_over) {
		return s;
	}
	s = mem_new(struct series);
	if (!map_set(&m->families[family], buf_str(labels), s, NULL)) {
		return mem_free(s);
	}
	return s;
}

static void metrics_count(struct webhook_metrics *m, enum family family, int64_t duration_ns, const char *format, ...)
	_printf_(4, 5);

static void metrics_count(struct webhook_metrics *m, enum family family, int64_t duration_ns, const char *format, ...)
{
	_cleanup_(buf_done) struct buf labels;
	va_list ap;
	buf_init(&labels, LABELS_MAX);
	va_start(ap, format);
	buf_vprintf(&labels, format, ap);
	va_end(ap);
	pthread_mutex_lock(&m->lock);
	struct series *s = series_of(m, family, &labels);
	if (s) {
		s->n++;
		histogram_add(&s->durations, &webhook_bounds, (uint64_t)duration_ns);
	}
	pthread_mutex_unlock(&m->lock);
}

static const char *error_type(enum webhook_outcome outcome)
{
	return outcome == OUTCOME_FAILED   ? "calling_webhook_error"
		: outcome == OUTCOME_ERROR ? "apiserver_internal_error"
					   : "no_error";
}

/* Counts a call. Names of webhooks are domain names, so nothing in them needs quoting. */
void webhook_metrics_count(struct webhook_metrics *m, const struct webhook *h, const struct webhook_question *q,
	const struct webhook_answer *answer, int64_t duration_ns)
{
	assert(q->phase <= WEBHOOKS_VALIDATING && duration_ns >= 0);
	const char *type = q->phase == WEBHOOKS_MUTATING ? "admit" : "validating";
	bool fails_open = answer->outcome == OUTCOME_FAILED && h->ignores_failure;
	bool is_rejected = answer->outcome != OUTCOME_ALLOWED && !fails_open;
	const char *rejected = is_rejected ? "true" : "false";
	int code = MIN(answer->code, COUNTED_CODE_MAX);
	metrics_count(m, DURATIONS, duration_ns, "name=\"" STR_FMT "\",operation=\"%s\",rejected=\"%s\",type=\"%s\"",
		STR_ARG(h->name), q->operation, rejected, type);
	metrics_count(m, REQUESTS, 0, "code=\"%d\",name=\"" STR_FMT "\",operation=\"%s\",rejected=\"%s\",type=\"%s\"", code,
		STR_ARG(h->name), q->operation, rejected, type);
	if (is_rejected) {
		metrics_count(m, REJECTIONS, 0,
			"error_type=\"%s\",name=\"" STR_FMT "\",operation=\"%s\",rejection_code=\"%d\",type=\"%s\"",
			error_type(answer->outcome), STR_ARG(h->name), q->operation, code, type);
	}
	if (fails_open) {
		metrics_count(m, FAIL_OPENS, 0, "name=\"" STR_FMT "\",type=\"%s\"", STR_ARG(h->name), type);
	}
}

/* ---- showing ---- */

static void write_series(struct buf *out, enum family family, const struct map_entry *e)
{
	const struct series *s = e->value;
	if (family == DURATIONS) {
		_cleanup_(mem_freep) char *labels = mem_strndup(e->key.p, e->key.n);
		histogram_write(out, family_texts[family].name, &s->durations, &webhook_bounds, labels);
	} else {
		buf_printf(out, "%s{" STR_FMT "} %llu\n", family_texts[family].name, STR_ARG(e->key), (unsigned long long)s->n);
	}
}

void webhook_metrics_write(struct webhook_metrics *m, struct buf *out)
{
	pthread_mutex_lock(&m->lock);
	for (enum family i = 0; i < FAMILIES; i++) {
		if (m->families[i].n) {
			exposition_head(out, family_texts[i].name, family_texts[i].type, family_texts[i].help);
		}
		for (struct map_entry *e = map_next(&m->families[i], NULL); e; e = map_next(&m->families[i], e)) {
			write_series(out, i, e);
		}
	}
	pthread_mutex_unlock(&m->lock);
}

/* ---- lifetime ---- */

struct webhook_metrics *webhook_metrics_new(void)
{
	struct webhook_metrics *m = mem_new(struct webhook_metrics);
	pthread_mutex_init(&m->lock, NULL);
	for (enum family i = 0; i < FAMILIES; i++) {
		map_init(&m->families[i], SERIES_MAX);
	}
	return m;
}

struct webhook_metrics *webhook_metrics_free(struct webhook_metrics *m)
{
	if (!m) {
		return NULL;
	}
	for (enum family i = 0; i < FAMILIES; i++) {
		for (struct map_entry *e = map_next(&m->families[i], NULL); e; e = map_next(&m->families[i], e)) {
			mem_free(e->value);
		}
		map_done(&m->families[i]);
	}
	pthread_mutex_destroy(&m->lock);
	return mem_free(m);
}
