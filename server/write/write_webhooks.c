/* Webhooks are shown what upstream shows them at this place of the chain, which is not what will be
 * stored: a new object has no uid yet, and a generated name is not told. What comes back is decoded
 * like a client's body, and then what is the server's is put back: a webhook has no rights that a
 * client lacks. */
#include "server/write/write_webhooks.h"

#include "server/request/request_audit.h"
#include "server/write/write_body.h"

/* ---- the question ---- */

static const char *operation_name(enum admission_operation operation)
{
	switch (operation) {
	case ADMIT_CREATE:
		return "CREATE";
	case ADMIT_UPDATE:
		return "UPDATE";
	case ADMIT_DELETE:
		return "DELETE";
	case ADMIT_CONNECT:
		return "CONNECT";
	}
	return "";
}

/* Of what a request does, not of how it was sent: a patch is an update, or an apply that creates. */
static const char *options_kind(struct str operation)
{
	return str_is(operation, "CREATE") ? "CreateOptions" : str_is(operation, "UPDATE") ? "UpdateOptions" : "DeleteOptions";
}

static void add_param(struct request *q, struct json *options, const char *name)
{
	json_add_text(q->a, options, str_of(name), params_get(&q->route.params, name));
}

/* metav1's options of the request, as the query or the body of a deletion gave them. */
static const struct json *options_of(struct request *q, const struct write *w, const char *operation)
{
	struct json *options = w->delete_options ? json_copy(q->a, w->delete_options) : json_object(q->a);

	json_set(q->a, options, STR("kind"), json_string(q->a, str_of(options_kind(str_of(operation)))));
	json_set(q->a, options, STR("apiVersion"), json_string(q->a, STR("meta.k8s.io/v1")));
	if (w->delete_options) {
		return options;
	}
	if (q->is_dry_run) {
		struct json *all = json_array(q->a);
		json_append(q->a, all, json_string(q->a, STR("All")));
		json_set(q->a, options, STR("dryRun"), all);
	}
	add_param(q, options, "fieldManager");
	add_param(q, options, "fieldValidation");
	add_param(q, options, "propagationPolicy");
	return options;
}

/* What the path or the body calls the object; nothing where there are many, or where the name is to be generated. */
static struct str name_of(const struct request *q, const struct write *w)
{
	return w->has_generated_name || q->route.action == VERB_DELETECOLLECTION ? STR("") : w->name;
}

/* As this request sees objects. */
static const struct object *seen(struct request *q, const struct object *o)
{
	return o && q->route.sub && q->route.sub->view ? view_show(q->route.sub->view, o, q->a) : o;
}

static struct webhook_question question_of(struct request *q, struct write *w, enum admission_operation operation,
	enum webhook_phase phase)
{
	return (struct webhook_question){
		.phase = phase,
		.operation = operation_name(operation),
		.kind = q->route.kind,
		.door = q->route.door,
		.sub = q->route.sub,
		.subresource = q->route.subresource,
		.ns = request_ns(q),
		.name = name_of(q, w),
		.user = q->user,
		.is_dry_run = q->is_dry_run,
		.object = seen(q, w->object),
		.old = operation == ADMIT_CREATE ? NULL : seen(q, w->present),
		.audit_id = q->audit_id,
	};
}

/* ---- the answer ---- */

static int take_verdict(struct request *q, const struct webhook_question *answer)
{
	for (size_t i = 0; i < answer->n_warnings; i++) {
		request_warn(q, answer->warnings[i]);
	}
	for (size_t i = 0; i < answer->n_annotations; i++) {
		request_audit_annotate(q, answer->annotations[i].key, answer->annotations[i].value);
	}
	if (answer->base.failure.n > 0) {
		status_internal(&q->st, STR_FMT, STR_ARG(answer->base.failure));
		return 1;
	}
	if (answer->st.code) {
		q->st = answer->st;
		return 1;
	}
	return 0;
}

/* 0 with the answer in *ret; 1; or ASK_FIRST. */
static int ask(struct request *q, const struct write *w, struct webhook_question *what, const struct webhook_question **ret)
{
	what->options = options_of(q, w, what->operation);
	*ret = questions_webhooks(&q->questions, what);
	return *ret ? take_verdict(q, *ret) : ASK_FIRST;
}

/* What the server owns stays, whatever a webhook has made of it. */
static void keep_own(struct object *to, const struct object *from)
{
	to->meta.uid = from->meta.uid;
	to->meta.creation_timestamp = from->meta.creation_timestamp;
	to->meta.deletion_timestamp = from->meta.deletion_timestamp;
	to->meta.has_grace_period = from->meta.has_grace_period;
	to->meta.grace_period_s = from->meta.grace_period_s;
	to->meta.generation = from->kind->keeps_generation && !from->mod_revision ? to->meta.generation : from->meta.generation;
	to->mod_revision = from->mod_revision;
}

/* Of a new object: a webhook may rename it. One that was named by generateName keeps that name unless it does. */
static void take_name(struct request *q, struct write *w, struct object *fresh)
{
	if (fresh->meta.name.n == 0 && fresh->meta.generate_name.n > 0) {
		fresh->meta.name = w->object->meta.name;
	}
	if (fresh->meta.name.n > 0 && !str_eq(fresh->meta.name, w->name)) {
		write_rename(q, w, fresh->meta.name);
	}
}

static int take_change(struct request *q, struct write *w, enum admission_operation operation, const struct json *changed)
{
	struct object *fresh;
	struct str reason;

	if (object_decode(&fresh, q->route.body_kind, q->route.body_door, changed, w->object, q->a, NULL, &reason)) {
		status_internal(&q->st, "what admission webhooks have made of the object cannot be read: " STR_FMT, STR_ARG(reason));
		return 1;
	}
	if (write_match_namespace(q, fresh)) {
		return 1;
	}
	if (q->route.body_kind != q->route.kind) {
		struct object *o = object_copy(w->object, q->a);
		q->route.sub->view->take(o, fresh, q->a);
		w->object = o;
		return 0;
	}
	keep_own(fresh, w->object);
	if (operation == ADMIT_CREATE) {
		take_name(q, w, fresh);
	}
	w->object = fresh;
	return 0;
}

/* A new object is shown without what it has only once it is stored. */
static const struct object *unborn(const struct write *w, struct arena *a)
{
	struct object *shown = object_copy(w->object, a);

	if (w->has_generated_name) {
		shown->meta.name = STR("");
	}
	shown->meta.uid = shown->meta.creation_timestamp = STR("");
	return shown;
}

int write_ask_mutating(struct request *q, struct write *w, enum admission_operation operation)
{
	struct webhook_question what = question_of(q, w, operation, WEBHOOKS_MUTATING);
	const struct webhook_question *answer;

	/* Most writes concern no webhook: known before anything is made for one. */
	if (!questions_has_webhooks(&q->questions, &what)) {
		return 0;
	}
	if (operation == ADMIT_CREATE) {
		what.object = unborn(w, q->a);
	}
	int r = ask(q, w, &what, &answer);
	return r || !answer->changed ? r : take_change(q, w, operation, answer->changed);
}

int write_ask_validating(struct request *q, struct write *w, enum admission_operation operation)
{
	struct webhook_question what = question_of(q, w, operation, WEBHOOKS_VALIDATING);
	const struct webhook_question *answer;

	return questions_has_webhooks(&q->questions, &what) ? ask(q, w, &what, &answer) : 0;
}
