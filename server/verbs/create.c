/* POST to a collection. */
#include "server/verbs/verbs.h"

#include "api/rules/validate.h"
#include "server/request/respond.h"
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
