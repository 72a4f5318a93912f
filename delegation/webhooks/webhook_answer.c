/* Three outcomes must not be mixed up. A denial is the webhook's word. A failure is for
 * failurePolicy to judge. An error refuses in any case, as a dry run that the webhook cannot do.
 * Codes and sentences are upstream's, because clients show them. */
#include "delegation/webhooks/webhook_answer.h"

#include "api/model/members.h"
#include "base/base64.h"
#include "delegation/webhooks/webhook_schema.h"

enum {
	SAID_MAX = 2048, /* bytes of what is no Status that are quoted (k8s.io/client-go rest) */
	CODE_MAX = 999,  /* what HTTP can say */
};

/* ---- outcomes ---- */

static void fail(struct webhook_answer *ret, const struct webhook *h, struct arena *a, int code, struct str why)
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
	va_list ap;
	va_start(ap, format);
	fail(ret, h, a, code, arena_vprintf(a, format, ap));
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

/* ---- answers of HTTP that are none ---- */

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

/* What a Status says goes before what the code says. */
static struct str refusal_text(int code, struct str content_type, struct str text, struct arena *a)
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

/* Decodes it as k8s.io/apimachinery's codec does; what is not said is taken to be what was asked for. 0 or 1 with a sentence. */
static int decode(const struct json **ret, const struct webhook *h, struct str text, struct arena *a, struct str *ret_problem)
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

/* v1 alone says who it is. */
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

static struct str find_problem(
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

static void set_details(struct status *st, const struct json *details)
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

static void deny(struct webhook_answer *ret, const struct webhook *h, const struct json *result, struct arena *a)
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
	set_details(&ret->status, json_gets(result, "details"));
	ret->code = ret->status.code;
}

/* In normal form base64 is good. v1beta1 knows one type only and did not always say so. */
static void take_patch(struct webhook_answer *ret, const struct webhook *h, const struct json *response, struct arena *a)
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
		problem = refusal_text(code, content_type, text, a);
		webhook_answer_fail(ret, h, a, code, "failed to call webhook: " STR_FMT, STR_ARG(problem));
		return;
	}
	if (!text.n) {
		webhook_answer_fail(ret, h, a, 503,
			"failed to call webhook: 0-length response with status code: %d and content type: " STR_FMT, code,
			STR_ARG(content_type.n ? content_type : STR("application/json")));
		return;
	}
	if (decode(&review, h, text, a, &problem)) {
		webhook_answer_fail(ret, h, a, 503, "failed to call webhook: " STR_FMT, STR_ARG(problem));
		return;
	}
	problem = find_problem(review, h, phase, uid, a);
	if (problem.n) {
		webhook_answer_fail(ret, h, a, 503, "received invalid webhook response: " STR_FMT, STR_ARG(problem));
		return;
	}
	const struct json *response = json_gets(review, "response");
	ret->warnings = json_gets(response, "warnings");
	ret->annotations = json_gets(response, "auditAnnotations");
	if (!member_is_true(response, "allowed")) {
		deny(ret, h, json_gets(response, "status"), a);
	} else if (phase == WEBHOOKS_MUTATING) {
		take_patch(ret, h, response, a);
	}
}
