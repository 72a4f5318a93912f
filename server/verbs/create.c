/* POST to a collection. */
#include "server/verbs/verbs.h"

#include "api/rules/validate.h"
#include "server/request/respond.h"
#include "server/verbs/act.h"
#include "server/verbs/hook.h"
#include "server/verbs/reviews.h"
#include "server/verbs/snapshot.h"
#include "server/write/write.h"
#include "server/write/write_body.h"

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

static void create_generate(struct request *q, struct creation *c)
{
	c->sent->meta.name = STR("");
	meta_generate_name(&c->sent->meta, q->a);
	c->generated++;
	c->name = c->sent->meta.name = arena_dup(c->write.arena, c->sent->meta.name);
	write_rename(q, &c->write, c->name);
}

static int create_read(struct request *q, struct creation *c, enum field_validation validation)
{
	struct body body;

	return write_read_body(q, &body) || write_decode(q, &body, validation, NULL, &c->sent) || write_match_namespace(q, c->sent);
}

/* What was warned of when it was read for the first time has been said. */
static int create_read_again(struct request *q, struct creation *c)
{
	if (!c->write.is_forgotten) {
		return 0;
	}
	c->write.is_forgotten = false;
	write_begin_reading(q);
	int r = create_read(q, c, VALIDATE_IGNORE);
	write_begin_deciding(q);
	if (!r && c->is_generated) {
		c->sent->meta.name = c->name;
	}
	return r;
}

static enum decision create_decide(struct request *q, struct write *w)
{
	struct creation *c = container_of(w, struct creation, write);

	if (create_read_again(q, c)) {
		return DECIDE_REFUSE;
	}
	if (w->present && c->is_generated && c->generated < GENERATE_ATTEMPTS_MAX) {
		create_generate(q, c);
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

static int create_parse(struct request *q, struct creation *c)
{
	if (write_options_parse(&c->options, &q->route.params, "CreateOptions", false, q->a, &q->st)) {
		return 1;
	}
	c->rules.manager = request_manager(q, c->options.field_manager);
	if (!q->route.kind->is_answered) {
		write_begin_reading(q);
	}
	return create_read(q, c, c->options.field_validation);
}

void verb_create(struct request *q)
{
	if (q->route.sub) {
		(q->route.sub->view->is_hook ? hook_answer : verb_act)(q);
		return;
	}
	struct creation *c = arena_new(q->a, struct creation);

	if (create_parse(q, c)) {
		reply_status(q);
		return;
	}
	q->is_dry_run = c->options.dry_run;
	if (q->route.kind->is_answered) {
		(snapshot_is(q->route.kind) ? snapshot_answer : review_answer)(q, c->sent, c->rules.manager);
		return;
	}
	c->is_generated = c->sent->meta.name.n == 0 && c->sent->meta.generate_name.n > 0;
	if (c->is_generated) {
		meta_generate_name(&c->sent->meta, q->a);
	}
	c->name = arena_dup(http_arena(q->x), c->sent->meta.name);
	c->write.has_generated_name = c->is_generated;
	c->write.name = c->name;
	c->write.may_shed = true;
	c->write.decide = create_decide;
	c->write.finish = create_finish;
	write_run(q, &c->write);
}
