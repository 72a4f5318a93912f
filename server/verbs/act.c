/* Binding a pod to a node, as BindingREST upstream: the object is changed in one guarded transaction, past
 * its own rules and admission. uid and resourceVersion of what is sent say which object, and which version
 * of it, is meant. */
#include "server/verbs/act.h"

#include "server/request/agreed_version.h"
#include "server/request/respond.h"
#include "server/write/write.h"
#include "server/write/write_body.h"

struct action {
	struct write write;
	struct write_options options;
	struct object *sent;
};

static int act_read(struct request *q, struct action *c, enum field_validation validation)
{
	struct body body;

	write_begin_reading(q);
	return write_read_body(q, &body) || write_decode(q, &body, validation, NULL, &c->sent) ||
		write_match_namespace(q, c->sent);
}

static int act_read_again(struct request *q, struct action *c)
{
	if (!c->write.is_forgotten) {
		return 0;
	}
	c->write.is_forgotten = false;
	int r = act_read(q, c, VALIDATE_IGNORE);
	write_begin_deciding(q);
	return r;
}

static int act_check_sent(struct request *q, const struct object *sent)
{
	const struct kind *k = sent->kind;
	struct field_errors errors;

	if (!str_eq(sent->meta.name, q->route.name)) {
		status_bad_request(&q->st, "name in URL does not match name in " STR_FMT " object", STR_ARG(str_of(k->kind)));
		return 1;
	}
	field_errors_init(&errors, q->a);
	k->validate(sent, &errors);
	if (errors.n > 0) {
		status_invalid(&q->st, str_of(k->doors[0].group), str_of(k->kind), q->route.name, &errors);
	}
	return errors.n > 0;
}

/* Is it the object, and the version, that is meant, and can it be done? */
static int act_check_present(struct request *q, const struct action *c)
{
	const struct object *present = c->write.present, *sent = c->sent;
	struct str uid = sent->meta.uid, version = sent->meta.resource_version, own = present->meta.uid;
	struct str now = arena_printf(q->a, "%lld", (long long)present->mod_revision);

	if (uid.n > 0 && !str_eq(uid, own)) {
		return write_refuse_precondition(q, q->route.resource, q->route.name, "UID", uid, own);
	}
	if (version.n > 0 && !str_eq(version, now)) {
		return write_refuse_precondition(q, q->route.resource, q->route.name, "ResourceVersion", version, now);
	}
	struct str why = q->route.sub->view->refuse(present, q->a);
	struct str resource =
		arena_printf(q->a, STR_FMT "/" STR_FMT, STR_ARG(q->route.resource), STR_ARG(q->route.subresource));
	if (why.n > 0) {
		status_conflict(&q->st, request_group(q), resource, q->route.name, STR_FMT, STR_ARG(why));
	}
	return why.n > 0;
}

static enum decision act_decide(struct request *q, struct write *w)
{
	struct action *c = container_of(w, struct action, write);

	if (act_read_again(q, c) || act_check_sent(q, c->sent)) {
		return DECIDE_REFUSE;
	}
	if (!w->present) {
		agreed_version_not_found(q, w->name);
		return DECIDE_REFUSE;
	}
	if (act_check_present(q, c)) {
		return DECIDE_REFUSE;
	}
	w->object = object_copy(w->present, q->a);
	q->route.sub->view->take(w->object, c->sent, q->a);
	return DECIDE_PUT;
}

static void act_finish(struct request *q, struct write *w _unused_)
{
	enum { CREATED = 201 };

	struct json *done = json_object(q->a);
	json_add(q->a, done, STR("kind"), json_string(q->a, STR("Status")));
	json_add(q->a, done, STR("apiVersion"), json_string(q->a, STR("v1")));
	json_add(q->a, done, STR("metadata"), json_object(q->a));
	json_add(q->a, done, STR("status"), json_string(q->a, STR("Success")));
	json_add(q->a, done, STR("code"), json_int(q->a, CREATED));
	reply_json(q, CREATED, done);
}

void verb_act(struct request *q)
{
	struct action *c = arena_new(q->a, struct action);

	if (write_options_parse(&c->options, &q->route.params, "CreateOptions", false, q->a, &q->st) ||
		act_read(q, c, c->options.field_validation)) {
		reply_status(q);
		return;
	}
	q->is_dry_run = c->options.dry_run;
	c->write.name = q->route.name;
	c->write.decide = act_decide;
	c->write.finish = act_finish;
	write_run(q, &c->write);
}
