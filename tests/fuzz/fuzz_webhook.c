/* What webhooks and those who configure them may send. 'm' and 'v': an answer, of a mutating or a validating webhook; a patch in it is
 * applied, and what comes out is an object. 'c': a configuration; what could mean a write is matched with one. 'k' and 'l': the answer of a
 * conversion webhook, about one object or two; either it says why it is none, or it has these objects. */
#include "delegation/conversion.h"
#include "delegation/webhook.h"
#include "delegation/webhook_call.h"
#include "tests/fuzz/fuzz.h"

#define OBJECT                                                                                                                \
	"{\"kind\":\"ControllerRevision\",\"apiVersion\":\"annals.dev/v1\",\"metadata\":{\"name\":\"a\",\"namespace\":\"n\"," \
	"\"labels\":{\"a\":\"b\"}},\"data\":{\"x\":[1,{\"y\":null}]},\"revision\":1}"

/* A creation, as webhooks are shown it. */
static struct webhook_question question_of(enum webhook_phase phase, struct arena *a)
{
	struct webhook_question q = {.base.arena = a, .phase = phase, .operation = "CREATE", .ns = STR("n")};
	struct object *object;
	struct str reason;
	struct json *sent;
	size_t at;
	q.kind = kind_by_resource(STR("annals.dev"), STR("v1"), STR("controllerrevisions"), false, &q.version);
	CHECK(json_parse(&sent, a, STR(OBJECT), JSON_LIMITS_DEFAULT, &at) == 0);
	CHECK(object_decode(&object, q.kind, q.version, sent, NULL, a, NULL, &reason) == 0);
	q.object = object;
	return q;
}

static void check_refusal(const struct webhook_answer *answer)
{
	CHECK(answer->status.code >= 400 && answer->status.code <= 999);
	CHECK(answer->status.message.n > 0);
	CHECK((answer->outcome == OUTCOME_FAILED) == (answer->problem.n > 0));
	struct buf text;
	buf_init(&text, CEILING);
	CHECK(json_encode(&text, status_to_json(&answer->status, answer->status.arena)) || text.is_over);
	buf_done(&text);
}

static void check_patch(struct webhook_call *c, const struct webhook_question *q)
{
	struct webhook_patched patched = {0};
	webhook_patch(&patched, c, q, q->object);
	if (c->answer.outcome != OUTCOME_ALLOWED) {
		check_refusal(&c->answer);
		CHECK(!patched.object);
	} else if (patched.object) {
		CHECK(patched.operations);
		CHECK(json_is(object_to_json(patched.object, q->version, q->base.arena), JSON_OBJECT));
	}
}

static void check_answer(enum webhook_phase phase, struct str text, struct arena *a)
{
	const struct webhook hook = {.name = STR("a.example.com"), .review_version = text.n % 2 ? "v1" : "v1beta1"};
	struct webhook_question q = question_of(phase, a);
	struct webhook_call c = {.hook = &hook, .version = q.version};
	webhook_answer_read(&c.answer, &hook, phase, "0a0a", text.n % 5 ? 200 : 500, STR("text/plain"), text, a);
	if (c.answer.outcome != OUTCOME_ALLOWED) {
		check_refusal(&c.answer);
	} else if (c.answer.patch.n) {
		CHECK(phase == WEBHOOKS_MUTATING);
		check_patch(&c, &q);
	}
}

static void check_configuration(struct str text, struct arena *a)
{
	struct json *configuration;
	struct buf notices;
	size_t at;
	if (json_parse(&configuration, a, text, JSON_LIMITS_DEFAULT, &at)) {
		return;
	}
	buf_init(&notices, 4096);
	struct webhook_question q = question_of(WEBHOOKS_VALIDATING, a);
	struct webhook_set *set = webhook_set_new((const struct json *const[]){configuration}, 1, &notices);
	for (size_t i = 0; i < set->n; i++) {
		const struct webhook *h = &set->v[i];
		CHECK(!h->peer == (h->target_problem.n > 0));
		CHECK(h->index >= i);
		webhook_looks_at_namespace(h, &q);
		webhook_version(h, &q);
		if (!h->objects.problem.n) {
			webhook_selects_object(h, q.object, q.old, a);
		}
	}
	webhook_set_unref(set);
	buf_done(&notices);
}

/* The other version is one of the kind's own: without a schema nothing else of it counts. */
static void check_conversion(size_t n, struct str text, struct arena *a)
{
	const struct kind_hook hook = {.review_version = text.n % 2 ? "v1" : "v1beta1"};
	const struct str objects[] = {STR(OBJECT), STR(OBJECT)};
	const struct version *version;
	struct kind kind = *kind_by_resource(STR("apps"), STR("v1"), STR("controllerrevisions"), true, &version);
	struct conversion_question q = {.base.arena = a, .kind = &kind, .to = version, .objects = objects, .n = n};

	kind.hook = &hook;
	kind.settle = NULL;
	kind.restore = NULL;
	conversion_read(&q, "0a0a", text.n % 7 ? 200 : 500, STR("text/plain"), text);
	for (size_t i = 0; q.base.failure.n == 0 && i < n; i++) {
		CHECK(str_is(q.converted[i]->meta.name, "a") && str_is(q.converted[i]->meta.ns, "n"));
		CHECK(object_form(q.converted[i]) == version);
		CHECK(!q.converted[i]->meta.labels || json_is(q.converted[i]->meta.labels, JSON_OBJECT));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	if (n == 0) {
		return 0;
	}
	struct str text = {(const char *)data + 1, n - 1};
	struct arena a;
	arena_init(&a, CEILING);
	if (data[0] == 'c') {
		check_configuration(text, &a);
	} else if (data[0] == 'k' || data[0] == 'l') {
		check_conversion(data[0] == 'k' ? 1 : 2, text, &a);
	} else if (data[0] == 'm' || data[0] == 'v') {
		check_answer(data[0] == 'm' ? WEBHOOKS_MUTATING : WEBHOOKS_VALIDATING, text, &a);
	}
	arena_done(&a);
	return 0;
}
