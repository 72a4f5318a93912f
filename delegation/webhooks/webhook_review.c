/* kind and resource name the door through which the webhook wants to see the write, requestKind and
 * requestResource the one that the client used: webhooks tell both apart. The tree lives as long as
 * its text is being written. */
#include "delegation/webhooks/webhook_review.h"

static struct json *text(struct arena *a, const char *s)
{
	return json_string(a, str_of(s));
}

/* GroupVersionKind, GroupVersionResource. */
static struct json *name_door(const struct door *door, const char *last, const char *value, struct arena *a)
{
	struct json *j = json_object(a);
	json_add(a, j, STR("group"), text(a, door->group));
	json_add(a, j, STR("version"), text(a, door->version));
	json_add(a, j, str_of(last), text(a, value));
	return j;
}

static struct json *shown(const struct object *o, const struct door *door, struct arena *a)
{
	return o ? object_to_json(history_shown(o, door, a), door, a) : json_null(a);
}

static struct json *request_of(const struct webhook_question *q, const struct door *door, const struct object *object,
	const char *uid, struct arena *a)
{
	struct json *j = json_object(a);
	json_add(a, j, STR("uid"), text(a, uid));
	const struct door *shown_door = subresource_door(q->sub, door), *sent_door = subresource_door(q->sub, q->door);
	const char *kind = subresource_kind(q->sub, q->kind)->kind;
	json_add(a, j, STR("kind"), name_door(shown_door, "kind", kind, a));
	json_add(a, j, STR("resource"), name_door(door, "resource", q->kind->resource, a));
	json_add_text(a, j, STR("subResource"), q->subresource);
	json_add(a, j, STR("requestKind"), name_door(sent_door, "kind", kind, a));
	json_add(a, j, STR("requestResource"), name_door(q->door, "resource", q->kind->resource, a));
	json_add_text(a, j, STR("requestSubResource"), q->subresource);
	json_add_text(a, j, STR("name"), q->name);
	json_add_text(a, j, STR("namespace"), q->ns);
	json_add(a, j, STR("operation"), text(a, q->operation));
	json_add(a, j, STR("userInfo"), user_info_json(q->user, a));
	json_add(a, j, STR("object"), shown(object, shown_door, a));
	json_add(a, j, STR("oldObject"), shown(q->old, shown_door, a));
	json_add(a, j, STR("dryRun"), json_bool(a, q->is_dry_run));
	json_add(a, j, STR("options"), q->options ? json_copy(a, q->options) : json_null(a));
	return j;
}

bool webhook_review_write(struct buf *out, const struct webhook *h, const struct webhook_question *q, const struct door *door,
	const struct object *object, const char *uid)
{
	struct arena a;
	_Alignas(16) char first[8192];
	arena_init_with(&a, SIZE_MAX, first, sizeof(first));
	struct json *j = json_object(&a);
	json_add(&a, j, STR("kind"), text(&a, "AdmissionReview"));
	json_add(&a, j, STR("apiVersion"), json_string(&a, arena_printf(&a, "admission.k8s.io/%s", h->review_version)));
	json_add(&a, j, STR("request"), request_of(q, door, object, uid, &a));
	bool fits = json_encode(out, j);
	arena_done(&a);
	return fits;
}
