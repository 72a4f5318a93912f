/* A patch is applied to the object as the webhook saw it, through its door. Then it is decoded like
 * a client's, so a webhook can make no object that a client could not. What cannot be decoded is
 * the webhook's failure; what cannot be applied refuses the write: it has answered, but not about
 * this object. */
#include "delegation/webhooks/webhook_patch.h"

#include "api/patch/patch.h"

#include <stdlib.h>

static void refuse(struct webhook_call *c, struct arena *a, const char *format, ...) _printf_(3, 4);

/* In any case: no failurePolicy is about that. */
static void refuse(struct webhook_call *c, struct arena *a, const char *format, ...)
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

/* Members sorted by name, as Go writes them. */
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

/* Upstream's own json-patch is not kube-apiserver's for clients, which says nothing of what is wrong; this one says as little. */
static int apply(
	struct json **ret, struct webhook_call *c, const struct json *before, const struct json *operations, struct arena *a)
{
	struct status st;
	status_init(&st, a);
	if (patch_json(ret, before, operations, a, &st)) {
		refuse(c, a, "the patch of admission webhook " STR_FMT " cannot be applied",
			STR_ARG(go_quote(a, c->hook->name)));
		return 1;
	}
	return 0;
}

/* In the words of Go's decoder, whose types are json-patch's own. */
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
		refuse(c, a,
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
	const struct door *door = subresource_door(q->sub, c->door);
	struct json *shown = object_to_json(history_shown(object, door, a), door, a);
	if (apply(&after, c, shown, operations, a)) {
		return;
	}
	if (object_decode(&decoded, subresource_kind(q->sub, q->kind), door, after, object, a, NULL, &reason)) {
		refuse(c, a, STR_FMT, STR_ARG(reason));
		return;
	}
	history_take_back(decoded, object, door, a);
	decoded->mod_revision = object->mod_revision;
	ret->object = decoded;
	ret->operations = shown_operations(operations, a);
	ret->has_changed = !json_equal(object_to_json(object, door, a), object_to_json(decoded, door, a));
}
