/* POST to a collection.
 *
 * At the end: requests that are no CRUD. Some kinds have such requests, which are posted like an object. */
#include "server/verbs/verbs.h"

#include "api/core/pod_rules.h"
#include "api/rules/validate.h"
#include "server/request/agreed_version.h"
#include "server/request/respond.h"
#include "server/revisions/revisions.h"
#include "server/write/write.h"

#include <assert.h>

#define GENERATE_ATTEMPTS_MAX 8 /* kube's maxNameGenerationCreateAttempts */

struct creation {
	struct write write;
	struct write_options options;
	struct write_rules rules;
	struct object *sent;
	bool is_generated;           /* the name is ours: another one may be tried */
	unsigned generated;
	struct str name;             /* once it was generated */
};

static enum decision create_exists(struct request *q, const struct write *w)
{
	status_already_exists(&q->st, request_group(q), q->route.resource, w->name);
	if (w->present && meta_is_deleting(&w->present->meta)) {
		q->st.message = arena_printf(q->a, "object is being deleted: " STR_FMT, STR_ARG(q->st.message));
	}
	return DECIDE_REFUSE;
}

static int create_read(struct request *q, struct creation *c, enum field_validation validation)
{
	struct body body;

	return write_read_body(q, &body) || write_decode(q, &body, validation, NULL, &c->sent) || write_match_namespace(q, c->sent);
}

/* The first reading has given the warnings, so this one ignores what is odd. */
static int create_read_again(struct request *q, struct write *w)
{
	struct creation *c = container_of(w, struct creation, write);
	int r = create_read(q, c, VALIDATE_IGNORE);
	if (!r && c->is_generated) {
		c->sent->meta.name = c->name;
	}
	return r;
}

static enum decision create_decide(struct request *q, struct write *w)
{
	struct creation *c = container_of(w, struct creation, write);

	if (write_read_again(q, w, create_read_again)) {
		return DECIDE_REFUSE;
	}
	if (w->present && c->is_generated && c->generated < GENERATE_ATTEMPTS_MAX) {
		c->sent->meta.name = STR("");
		meta_generate_name(&c->sent->meta, q->a);
		c->generated++;
		c->name = c->sent->meta.name = arena_dup(c->write.arena, c->sent->meta.name);
		write_rename(q, &c->write, c->name);
	}
	w->object = object_copy(c->sent, q->a);
	if (write_admit_create(q, w, &c->rules)) {
		return DECIDE_REFUSE;
	}
	return w->present ? create_exists(q, w) : DECIDE_PUT;
}

static void create_finish(struct request *q, struct write *w)
{
	write_reply(q, 201, w);
}

/* Options outlive the body's tree, which a write that waits drops: they are read before write_begin_reading(). */
static int create_parse(struct request *q, struct creation *c)
{
	assert(!q->writing);
	if (write_options_parse(&c->options, &q->route.params, "CreateOptions", false, q->a, &q->st)) {
		return 1;
	}
	c->rules.manager = request_manager(q, c->options.field_manager);
	q->is_dry_run = c->options.dry_run;
	return 0;
}

void verb_create(struct request *q)
{
	struct creation *c = arena_new(q->a, struct creation);

	if (create_parse(q, c)) {
		reply_status(q);
		return;
	}
	write_begin_reading(q);
	if (create_read(q, c, c->options.field_validation)) {
		reply_status(q);
		return;
	}
	c->is_generated = c->sent->meta.name.n == 0 && c->sent->meta.generate_name.n > 0;
	if (c->is_generated) {
		meta_generate_name(&c->sent->meta, q->a);
	}
	c->name = arena_dup(http_arena(q->x), c->sent->meta.name);
	c->write.has_generated_name = c->is_generated;
	c->write.name = c->name;
	c->write.shedding = SHED_IF_TOO_LARGE;
	c->write.decide = create_decide;
	c->write.finish = create_finish;
	write_run(q, &c->write);
}

int create_read_question(struct request *q, struct object **ret, struct str *ret_manager)
{
	struct creation *c = arena_new(q->a, struct creation);

	if (create_parse(q, c) || create_read(q, c, c->options.field_validation)) {
		return 1;
	}
	*ret = c->sent;
	*ret_manager = c->rules.manager;
	return 0;
}

/* ---- binding ---- */

/* Binding a pod to a node, as BindingREST upstream: the object changes in one guarded transaction, past its own rules and
 * admission. uid and resourceVersion of the body say which object, and which version of it, is meant. */
struct binding {
	struct write write;
	struct write_options options;
	struct object *sent;
};

static int binding_read(struct request *q, struct binding *b, enum field_validation validation)
{
	struct body body;

	write_begin_reading(q);
	return write_read_body(q, &body) || write_decode(q, &body, validation, NULL, &b->sent) ||
		write_match_namespace(q, b->sent);
}

static int binding_read_again(struct request *q, struct write *w)
{
	return binding_read(q, container_of(w, struct binding, write), VALIDATE_IGNORE);
}

static int binding_check_sent(struct request *q, const struct object *sent)
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
		status_invalid(&q->st, str_of(k->versions[0].group), str_of(k->kind), q->route.name, &errors);
	}
	return errors.n > 0;
}

/* Checks that uid and resourceVersion mean this object, and that it can take the body. */
static int binding_check_present(struct request *q, const struct binding *b)
{
	const struct object *present = b->write.present, *sent = b->sent;
	struct str uid = sent->meta.uid, version = sent->meta.resource_version, own = present->meta.uid;
	struct str now = arena_printf(q->a, "%lld", (long long)present->mod_revision);

	if (uid.n > 0 && !str_eq(uid, own)) {
		return write_refuse_precondition(q, q->route.resource, q->route.name, "UID", uid, own);
	}
	if (version.n > 0 && !str_eq(version, now)) {
		return write_refuse_precondition(q, q->route.resource, q->route.name, "ResourceVersion", version, now);
	}
	struct str why = pod_refuse_binding(present, q->a);
	struct str resource =
		arena_printf(q->a, STR_FMT "/" STR_FMT, STR_ARG(q->route.resource), STR_ARG(q->route.subresource));
	if (why.n > 0) {
		status_conflict(&q->st, request_group(q), resource, q->route.name, STR_FMT, STR_ARG(why));
	}
	return why.n > 0;
}

static enum decision binding_decide(struct request *q, struct write *w)
{
	struct binding *b = container_of(w, struct binding, write);

	if (write_read_again(q, w, binding_read_again) || binding_check_sent(q, b->sent)) {
		return DECIDE_REFUSE;
	}
	if (!w->present) {
		agreed_version_not_found(q, w->name);
		return DECIDE_REFUSE;
	}
	if (binding_check_present(q, b)) {
		return DECIDE_REFUSE;
	}
	w->object = object_copy(w->present, q->a);
	q->route.sub->view->take(q->route.sub->view, w->object, b->sent, q->a);
	return DECIDE_PUT;
}

static void binding_finish(struct request *q, struct write *w _unused_)
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

static void binding_answer(struct request *q)
{
	struct binding *b = arena_new(q->a, struct binding);

	if (write_options_parse(&b->options, &q->route.params, "CreateOptions", false, q->a, &q->st) ||
		binding_read(q, b, b->options.field_validation)) {
		reply_status(q);
		return;
	}
	q->is_dry_run = b->options.dry_run;
	b->write.name = q->route.name;
	b->write.decide = binding_decide;
	b->write.finish = binding_finish;
	write_run(q, &b->write);
}

/* ---- requests that are no CRUD ----
 *
 * A kind or a subresource that names an extension is answered by a row of the table below, not by its
 * verb. docs/development/adding-a-verb.md shows how to add one. */

static const struct extension_row {
	/* For a subresource: answers the request as it came. */
	void (*answer)(struct request *q);
	/* For a kind: answers the posted object, which has been read and decoded. manager: for managedFields. */
	void (*answer_object)(struct request *q, struct object *sent, struct str manager);
	/* Chooses the answer's media type from Accept: 0; or 1 with 406 in q->media_status. NULL: JSON or YAML, as for a Status. */
	int (*negotiate)(struct request *q);
} extensions[] = {
	[EXTENSION_REVIEW] = {.answer_object = review_answer},
	[EXTENSION_SNAPSHOT] = {.answer_object = snapshot_answer},
	[EXTENSION_RECORDING] = {.answer_object = recording_answer},
	[EXTENSION_BINDING] = {.answer = binding_answer},
	[EXTENSION_ADMISSION] = {.answer = hook_answer},
	[EXTENSION_DIFF] = {.answer = diff_answer, .negotiate = diff_negotiate},
};

bool extension_negotiate(struct request *q, int *ret)
{
	assert(extension_of(&q->route) < ARRAY_SIZE(extensions));
	int (*negotiate)(struct request * q) = extensions[extension_of(&q->route)].negotiate;

	if (negotiate) {
		*ret = negotiate(q);
	}
	return negotiate != NULL;
}

void extension_answer(struct request *q)
{
	assert(extension_of(&q->route) < ARRAY_SIZE(extensions) && extension_of(&q->route) != EXTENSION_NONE);
	const struct extension_row *row = &extensions[extension_of(&q->route)];
	struct object *sent;
	struct str manager;

	assert(!row->answer != !row->answer_object);
	if (row->answer) {
		row->answer(q);
	} else if (create_read_question(q, &sent, &manager)) {
		reply_status(q);
	} else {
		row->answer_object(q, sent, manager);
	}
}
