/* Questions to the cluster, and their answers. A step that has to wait runs again from its start
 * and asks the same, so an answer is found by its question. Rights are compared member by
 * member. Questions for webhooks are compared as JSON text, because each attempt decodes the
 * object anew, at another address. */
#include "server/access/questions.h"

#include "base/clock.h"

#include <assert.h>

/* As upstream's delegating authentication and authorization wait for the cluster. */
#define QUESTION_MS 10000
#define WEBHOOKS_MS 60000 /* they have time limits of their own, within that of the request */
#define OBJECT_TEXT_MAX ((size_t)64 << 20)

/* ---- noting ---- */

static void note(
	struct questions *a, struct question *q, struct arena *arena, int64_t at_most_ms, bool (*start)(struct questions *a))
{
	assert(!a->noted && start);
	q->arena = arena;
	q->done = a->done;
	q->ctx = a->ctx;
	q->deadline_ms = MIN(a->deadline_ms, clock_mono_ms() + at_most_ms);
	/* One question at a time: the caller unwinds now, and later questions may depend on this
	 * answer. */
	a->noted = q;
	a->start = start;
}

static bool is_answered(const struct questions *a, const struct question *q)
{
	return q != a->noted;
}

bool questions_start(struct questions *a)
{
	bool (*start)(struct questions * a) = a->start;
	assert(a->noted && start);

	a->start = NULL;
	if (!start(a)) {
		return false;
	}
	a->noted = NULL;
	return true;
}

/* ---- tokens ---- */

static bool start_token(struct questions *a)
{
	assert(a->token && a->delegates);
	return a->delegates->ask_token(a->delegates->ctx, a->token);
}

const struct token_question *questions_token(struct questions *a, struct str token, struct str source)
{
	if (!a->token) {
		a->token = arena_new(a->arena, struct token_question);
		a->token->token = token;
		a->token->source = source;
		note(a, &a->token->base, a->arena, QUESTION_MS, start_token);
	}
	assert(str_eq(a->token->token, token)); /* a request has only one token */
	return is_answered(a, &a->token->base) ? a->token : NULL;
}

/* ---- access ---- */

static bool is_same_access(const struct authz_attributes *x, const struct authz_attributes *y)
{
	return x->user == y->user && x->is_resource == y->is_resource && str_eq(x->verb, y->verb) && str_eq(x->group, y->group) &&
		str_eq(x->version, y->version) && str_eq(x->resource, y->resource) && str_eq(x->subresource, y->subresource) &&
		str_eq(x->ns, y->ns) && str_eq(x->name, y->name) && str_eq(x->path, y->path) &&
		str_eq(x->field_selector, y->field_selector) && str_eq(x->label_selector, y->label_selector);
}

/* Copies the texts: they may belong to an object that each attempt decodes anew. */
static struct authz_attributes keep_access(const struct authz_attributes *what, struct arena *a)
{
	struct authz_attributes kept = *what;
	struct str *const texts[] = {&kept.verb, &kept.group, &kept.version, &kept.resource, &kept.subresource, &kept.ns,
		&kept.name, &kept.path, &kept.field_selector, &kept.label_selector};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		*texts[i] = arena_dup(a, *texts[i]);
	}
	return kept;
}

/* The latest is the first. */
static bool start_access(struct questions *a)
{
	assert(a->accesses && a->delegates);
	return a->delegates->ask_access(a->delegates->ctx, &a->accesses->q);
}

const struct access_question *questions_access(struct questions *a, const struct authz_attributes *what)
{
	for (struct questions_access *it = a->accesses; it; it = it->next) {
		if (is_same_access(&it->q.what, what)) {
			return is_answered(a, &it->q.base) ? &it->q : NULL;
		}
	}
	struct questions_access *fresh = arena_new(a->arena, struct questions_access);
	fresh->q.what = keep_access(what, a->arena);
	fresh->next = a->accesses;
	a->accesses = fresh;
	note(a, &fresh->q.base, a->arena, QUESTION_MS, start_access);
	return NULL;
}

/* ---- namespaces ---- */

static bool start_namespace(struct questions *a)
{
	assert(a->ns && a->delegates);
	return a->delegates->ask_namespace(a->delegates->ctx, a->ns);
}

const struct namespace_question *questions_namespace(struct questions *a, struct str name)
{
	/* A request that writes in several asks about one after the other. */
	if (!a->ns || !str_eq(a->ns->name, name)) {
		a->ns = arena_new(a->arena, struct namespace_question);
		a->ns->name = arena_dup(a->arena, name);
		note(a, &a->ns->base, a->arena, QUESTION_MS, start_namespace);
	}
	return is_answered(a, &a->ns->base) ? a->ns : NULL;
}

/* ---- webhooks ---- */

static bool start_mutating(struct questions *a)
{
	return a->delegates->ask_webhooks(a->delegates->ctx, &a->webhooks[WEBHOOKS_MUTATING]->q);
}

static bool start_validating(struct questions *a)
{
	return a->delegates->ask_webhooks(a->delegates->ctx, &a->webhooks[WEBHOOKS_VALIDATING]->q);
}

static void write_text(struct buf *out, const struct object *o)
{
	buf_init(out, OBJECT_TEXT_MAX);
	if (o) {
		object_encode_stored(out, o, &o->kind->versions[0]);
	}
}

static bool would_ask(const struct questions *a, const struct webhook_question *what)
{
	const struct delegates *d = a->delegates;

	return d && d->ask_webhooks && (!d->has_webhooks || d->has_webhooks(d->ctx, what));
}

bool questions_has_webhooks(struct questions *a, const struct webhook_question *what)
{
	assert(what->phase < ARRAY_SIZE(a->webhooks));
	struct asked_passed *passed = &a->passed[what->phase];
	int64_t revision = what->old ? what->old->mod_revision : 0;

	if (a->webhooks[what->phase]) {
		return true;
	}
	if (passed->is_set && passed->revision == revision) {
		return false;
	}
	*passed = (struct asked_passed){.is_set = !would_ask(a, what), .revision = revision};
	return !passed->is_set;
}

const struct webhook_question *questions_webhooks(struct questions *a, const struct webhook_question *what)
{
	assert(what->phase < ARRAY_SIZE(a->webhooks) && a->by_phase);
	struct questions_webhooks *before = a->webhooks[what->phase], *fresh;
	struct arena *arena = &a->by_phase[what->phase];
	_cleanup_(buf_done) struct buf object, old;

	write_text(&object, what->object);
	write_text(&old, what->old);
	if (before && str_eq(before->object, buf_str(&object)) && str_eq(before->old, buf_str(&old))) {
		return is_answered(a, &before->q.base) ? &before->q : NULL;
	}
	/* The object has changed. The answers about the old one are freed, so that rounds do not
	 * add up. */
	arena_clear(arena);
	fresh = arena_new(arena, struct questions_webhooks);
	*fresh = (struct questions_webhooks){
		.q = *what, .object = arena_dup(arena, buf_str(&object)), .old = arena_dup(arena, buf_str(&old))};
	a->webhooks[what->phase] = fresh;
	note(a, &fresh->q.base, arena, WEBHOOKS_MS, what->phase == WEBHOOKS_MUTATING ? start_mutating : start_validating);
	return NULL;
}

/* ---- conversions ---- */

static bool start_conversion_of_present(struct questions *a)
{
	return a->converter->ask(a->converter->ctx, &a->conversions[CONVERSION_OF_PRESENT]->q);
}

static bool start_conversion_of_new(struct questions *a)
{
	return a->converter->ask(a->converter->ctx, &a->conversions[CONVERSION_OF_NEW]->q);
}

const struct conversion_question *questions_conversion(struct questions *a, enum questions_conversion_of which,
	const struct kind *k, const struct version *to, struct str object)
{
	assert(which < CONVERSIONS && a->by_phase && a->converter);
	struct arena *arena = &a->by_phase[ARRAY_SIZE(a->webhooks) + which];
	struct questions_conversion *before = a->conversions[which], *fresh;

	if (before && before->q.kind == k && before->q.to == to && str_eq(before->object, object)) {
		return is_answered(a, &before->q.base) ? &before->q : NULL;
	}
	arena_clear(arena);
	fresh = arena_new(arena, struct questions_conversion);
	fresh->object = arena_dup(arena, object);
	fresh->q = (struct conversion_question){.kind = k, .to = to, .objects = &fresh->object, .n = 1};
	a->conversions[which] = fresh;
	note(a, &fresh->q.base, arena, WEBHOOKS_MS,
		which == CONVERSION_OF_PRESENT ? start_conversion_of_present : start_conversion_of_new);
	return NULL;
}

void questions_keep_change(struct questions *a)
{
	struct questions_webhooks *w = a->webhooks[WEBHOOKS_MUTATING];
	struct arena *arena = &a->by_phase[WEBHOOKS_MUTATING];
	_cleanup_(buf_done) struct buf text;
	struct json *kept;
	size_t at;

	buf_init(&text, OBJECT_TEXT_MAX);
	if (!w || w->is_kept || !w->q.changed || !is_answered(a, &w->q.base)) {
		return;
	}
	if (!json_encode(&text, w->q.changed) ||
		json_parse(&kept, arena, arena_dup(arena, buf_str(&text)), JSON_LIMITS_DEFAULT, &at)) {
		w->q.base.failure = STR("what admission webhooks have made of the object is too large");
		kept = NULL;
	}
	w->q.changed = kept;
	w->is_kept = true;
}

void questions_begin_write(struct questions *a, struct arena *by_phase)
{
	assert(by_phase);
	a->by_phase = by_phase;
	a->webhooks[WEBHOOKS_MUTATING] = a->webhooks[WEBHOOKS_VALIDATING] = NULL;
	memset(a->conversions, 0, sizeof(a->conversions));
	a->passed[WEBHOOKS_MUTATING] = a->passed[WEBHOOKS_VALIDATING] = (struct asked_passed){0};
}

void questions_forget_webhooks(struct questions *a)
{
	for (size_t i = 0; i < ARRAY_SIZE(a->webhooks); i++) {
		a->webhooks[i] = NULL;
		arena_done(&a->by_phase[i]);
	}
	for (size_t i = 0; i < CONVERSIONS; i++) {
		a->conversions[i] = NULL;
		arena_done(&a->by_phase[ARRAY_SIZE(a->webhooks) + i]);
	}
}
