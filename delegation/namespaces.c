/* The cluster's namespaces. The informer's answer "present" is trusted; its answer "absent" is
 * not, because the namespace may just have been made. Then kube-apiserver is asked. Such a
 * question is never shared: another's answer may be older than what this asker has seen. */
#include "delegation/namespaces.h"

#include "api/model/members.h"

#include <assert.h>
#include <stdio.h>

enum {
	TRY_MS = 10 * 1000,
	PATH_MAX_BYTES = 4096,
	NOTICE_MAX = 4096, /* bytes of a notice for the log */
	/* A short pause costs little: there is only one kube-apiserver and one resource. */
	RETRY_MAX_MS = 2000,
};

static const struct resource resource = {{"", 0}, {"v1", 2}, {"namespaces", 10}};

struct namespaces {
	struct namespaces_options options;
	struct flights *flights;
	struct informer *informer; /* NULL before the start */
};

static enum namespace_phase phase_of(const struct json *object)
{
	struct str phase = member_text(json_gets(object, "status"), "phase");
	return str_is(phase, "Terminating") ? NAMESPACE_TERMINATING : NAMESPACE_ACTIVE;
}

/* ---- memory ---- */

static void on_problem(void *ctx, bool is_over _unused_, struct str problem)
{
	const struct namespaces *n = ctx;
	_cleanup_(buf_done) struct buf text;
	buf_init(&text, NOTICE_MAX);
	buf_printf(&text, "namespaces of the cluster: " STR_FMT, STR_ARG(problem));
	if (n->options.on_notice) {
		n->options.on_notice(n->options.ctx, buf_str(&text));
	}
}

void namespaces_start(struct namespaces *n)
{
	n->informer = informer_new(&(struct informer_options){.client = n->options.client,
		.resource = resource,
		.left_out = item_managers,
		.retry_max_ms = RETRY_MAX_MS,
		.handlers = {.on_problem = on_problem},
		.ctx = n});
}

bool namespaces_are_known(const struct namespaces *n)
{
	return n->informer && informer_has_synced(n->informer);
}

struct item *namespaces_get(struct namespaces *n, struct str name)
{
	return n->informer ? informer_get(n->informer, STR(""), name) : NULL;
}

enum namespace_phase namespaces_phase(struct namespaces *n, struct str name)
{
	_cleanup_(item_unrefp) struct item *item = namespaces_get(n, name);
	return item ? phase_of(item->object) : NAMESPACE_ABSENT;
}

struct str namespaces_uid(struct namespaces *n, struct str name, struct arena *a)
{
	_cleanup_(item_unrefp) struct item *item = namespaces_get(n, name);
	return item ? arena_dup(a, member_text(item_meta(item), "uid")) : STR("");
}

/* ---- asking ---- */

struct answer_of_one {
	enum namespace_phase phase;
	char uid[NAMESPACE_UID_SIZE];
};

static bool read_answer(void *ctx _unused_, const struct call *c, struct finding *ret, struct buf *failure _unused_)
{
	bool is_absent = c->code == 404 && call_is_status(c, "NotFound");
	if (!is_absent && (c->failure.n || !str_is(member_text(c->answer, "kind"), "Namespace"))) {
		return false;
	}
	struct answer_of_one *answer = mem_new(struct answer_of_one);
	answer->phase = is_absent ? NAMESPACE_ABSENT : phase_of(c->answer);
	struct str uid = is_absent ? STR("") : member_text(json_gets(c->answer, "metadata"), "uid");
	snprintf(answer->uid, sizeof(answer->uid), STR_FMT, STR_ARG(uid));
	*ret = (struct finding){.value = answer, .n_bytes = sizeof(*answer)};
	return true;
}

static void give(struct question *base, const void *value)
{
	const struct answer_of_one *answer = value;
	struct namespace_question *q = container_of(base, struct namespace_question, base);
	q->phase = answer->phase;
	memcpy(q->uid, answer->uid, sizeof(q->uid));
}

static void free_answer(void *value)
{
	mem_free(value);
}

bool namespaces_ask(struct namespaces *n, struct namespace_question *q)
{
	_cleanup_(buf_done) struct buf path;
	buf_init(&path, PATH_MAX_BYTES);
	if (!target_path(&path, &(struct target){.resource = &resource, .name = q->name}) || !q->name.n) {
		q->base.failure = STR("this is no name of a namespace");
		return true;
	}
	return flights_ask(n->flights, &q->base, &(struct flight_request){.path = buf_str(&path)});
}

/* ---- lifetime ---- */

struct namespaces *namespaces_new(const struct namespaces_options *options)
{
	struct namespaces *n = mem_new(struct namespaces);
	n->options = *options;
	n->flights = flights_new(&(struct flights_options){.client = options->client,
		.server = options->server,
		.method = "GET",
		.subject = "get namespaces",
		.try_ms = TRY_MS,
		.read = read_answer,
		.give = give,
		.free_value = free_answer,
		.ctx = n,
		.on_notice = options->on_notice,
		.notice_ctx = options->ctx,
		.what = "about a namespace"});
	return n;
}

void namespaces_stop(struct namespaces *n)
{
	flights_stop(n->flights);
}

void namespaces_end(struct namespaces *n)
{
	n->informer = informer_free(n->informer);
}

struct namespaces *namespaces_free(struct namespaces *n)
{
	if (n) {
		assert(!n->informer); /* namespaces_end() came before */
		flights_free(n->flights);
		mem_free(n);
	}
	return NULL;
}
